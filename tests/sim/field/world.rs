//! Three days of a field: the real engine on a crashing disk, between the office that has the tasks and those who send people out.

use super::office::{Office, OfficeDoor};
use super::scene::{Act, Field, SHOWN_EVERY, SHOWN_FOR, key};
use crate::dice::Dice;
use crate::disk::{Cut, Disk};
use crate::laws::field::{Look, Seen, Standing};
use crate::machine::{FakeClock, Machine, Ms};
use crate::record::{End, Record, What};
use crate::scenario::MINUTE;
use crate::world::{Plant, settle};
use larder::domain::cursor::{Cursor, HistoryAsk, ItemsAsk};
use larder::domain::ids::TargetKey;
use larder::domain::spec::Interval;
use larder::domain::time::Span;
use larder::engine::appliance::Appliance;
use larder::engine::controls::{Controls, IntervalWish, Wish};
use larder::engine::view::FieldShown;
use larder::engine::{Parts, Running};
use larder::store::{Options, Store, Writer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::task::JoinSet;

/// Orders that are looked at each time.
const SAMPLE: usize = 12;

/// Lives the field to its end.
pub fn live(field: Field, seed: u64, plant: Plant) -> (Arc<Field>, Record) {
    let field = Arc::new(field);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let record = runtime.expect("a runtime").block_on(async {
        let mut days = Days::new(field.clone(), seed, plant);
        days.live().await;
        days.office.record()
    });
    (field, record)
}

struct Days {
    field: Arc<Field>,
    plant: Plant,
    dice: Dice,
    machine: Machine,
    disk: Disk,
    office: Office,
    /// Of the acts, those that are in force.
    done: Arc<AtomicUsize>,
}

/// One life of the process.
struct Life {
    appliance: Appliance,
    running: Running,
    alive: Arc<AtomicBool>,
    errands: JoinSet<()>,
    /// What operators asked for in this life, up to here.
    asked: usize,
}

fn target(order: usize) -> TargetKey {
    TargetKey { connection: key(), target: format!("w{order}").as_str().into() }
}

impl Days {
    fn new(field: Arc<Field>, seed: u64, plant: Plant) -> Days {
        let mut dice = Dice::new(seed);
        let machine = Machine::new(field.scenario.began);
        let disk = if plant.disk_lies { Disk::lying() } else { Disk::default() };
        let office = Office::new(&machine, field.clone(), &disk, dice.fork(), plant.leak);
        Days { field, plant, dice, machine, disk, office, done: Arc::default() }
    }

    async fn live(&mut self) {
        let mut stillborn = 0;
        while self.machine.true_ms() < self.field.size.lasts {
            match self.start().await {
                Ok(life) => {
                    stillborn = 0;
                    self.office.note(What::Started);
                    self.run(life).await;
                }
                Err(_) if self.disk.is_dead() => self.die(None).await,
                Err(said) => return self.office.note(What::StartFailed(said)),
            }
            stillborn += 1;
            if stillborn > 50 {
                return self.office.note(What::StartFailed("fifty times in a row".to_owned()));
            }
            let dark = *self.dice.pick(&[2, 60, 600, 3000]);
            let dark = self.dice.between(1, dark) as Ms * 1000;
            tokio::time::sleep_until(self.machine.instant(self.machine.true_ms() + dark)).await;
        }
    }

    async fn start(&mut self) -> Result<Life, String> {
        let options = Options { writer: Writer::Inline, cache_bytes: 16 << 20 };
        let (store, mut opening) = Store::open_backend(self.disk.open(), options).map_err(|e| e.to_string())?;
        opening.installation = [9; 32];
        let rate = self.plant.clock_rate;
        let clock = Arc::new(FakeClock::start(&self.machine, opening.mark.clone(), opening.high_water, rate));
        let alive = Arc::new(AtomicBool::new(true));
        let door: OfficeDoor = self.office.door(clock.clone(), alive.clone());
        let parts = Parts {
            shelf: Default::default(),
            store,
            opening,
            clock,
            door: Arc::new(door),
            connections: self.field.scenario.connections.clone(),
            polling: Default::default(),
            credentials: self.field.scenario.credentials.clone(),
            organizations: Default::default(),
            stored: Default::default(),
            putting: Default::default(),
            notes: Vec::new(),
        };
        let (appliance, running) = larder::engine::start(parts).await?;
        let asked = self.done.load(Ordering::Relaxed);
        Ok(Life { appliance, running, alive, errands: JoinSet::new(), asked })
    }

    /// Until something ends it: a moment drawn by chance, the disk, or the end of the days.
    async fn run(&mut self, mut life: Life) {
        let dies_at = self.machine.true_ms() + 1 + self.dice.below(2 * self.field.size.lives as u64) as Ms;
        let ends_at = dies_at.min(self.field.size.lasts);
        loop {
            let now = self.machine.true_ms();
            let next_act = self.field.acts.get(life.asked).map_or(Ms::MAX, |(at, _)| (*at).max(now + 1));
            let next_look = now + self.dice.between(MINUTE as u64 / 4, self.field.size.looks as u64) as Ms;
            let next = next_look.min(next_act).min(ends_at);
            let dead = tokio::select! {
                biased;
                () = self.disk.died() => true,
                () = tokio::time::sleep_until(self.machine.instant(next)) => false,
            };
            if dead || next == ends_at {
                return self.die(Some(life)).await;
            }
            settle().await;
            if self.disk.is_dead() {
                return self.die(Some(life)).await;
            }
            self.act(&mut life);
            self.look(&life.appliance);
            settle().await;
        }
    }

    /// Whatever is due, one after the other; what a death left open is asked for again.
    fn act(&mut self, life: &mut Life) {
        let now = self.machine.true_ms();
        let due = self.field.acts.iter().skip(life.asked).take_while(|(at, _)| *at <= now);
        let due: Vec<Act> = due.map(|(_, act)| *act).collect();
        if due.is_empty() || life.asked > self.done.load(Ordering::Relaxed) {
            return;
        }
        life.asked += due.len();
        let (appliance, office, done) = (life.appliance.clone(), self.office.clone(), self.done.clone());
        life.errands.spawn(async move {
            for act in due {
                let number = done.load(Ordering::Relaxed);
                office.note(What::Field(Seen::Asked { number, act }));
                let heard = match act {
                    Act::Phase(order, phase) => appliance.set_phase(&target(order), phase, "dispatch").await.is_ok(),
                    Act::Refresh(order) => {
                        let _ = appliance.refresh(&target(order), "operator").await;
                        true
                    }
                    Act::Show => appliance.change(&key(), demonstration(), "operator").await.is_ok(),
                };
                if !heard {
                    return;
                }
                office.note(What::Field(Seen::Done { number, act }));
                done.store(number + 1, Ordering::Relaxed);
            }
        });
    }

    fn look(&mut self, appliance: &Appliance) {
        let Ok(plans) = appliance.plans() else { return };
        let Some(plan) = plans.first() else { return };
        let ms = |seconds: &larder::engine::view::Seconds| seconds.0.0 as Ms;
        let orders = self.field.size.orders;
        let first = self.dice.below(orders as u64) as usize;
        let sample = (0..SAMPLE.min(orders)).map(|n| (first + n * (orders / SAMPLE).max(1)) % orders);
        let look = Look {
            wished: ms(&plan.figures.interval_seconds),
            kept: ms(&plan.figures.effective_interval_seconds),
            orders: sample.filter_map(|order| standing(appliance, order)).collect(),
        };
        self.office.note(What::Field(Seen::Look(look)));
        if self.dice.chance(60) {
            self.read_books(appliance, first);
        }
    }

    fn read_books(&self, appliance: &Appliance, order: usize) {
        let name = key().connection.to_string();
        let ask = HistoryAsk { from: Cursor::After(0), item: None, limit: 1000 };
        if let Ok(history) = appliance.history(&target(order), &ask) {
            let entries = history.rows.iter().map(|h| (h.seq, format!("{h:?}"))).collect();
            self.office.note(What::History { target: (name.clone(), format!("w{order}")), entries });
        }
        if let Ok(charges) = appliance.ledger(&key(), None, 1000) {
            let lines = charges.iter().map(|c| (c.id.0, c.settlement)).collect();
            self.office.note(What::Ledger { connection: name, lines });
        }
    }

    async fn die(&mut self, life: Option<Life>) {
        let end = match (self.disk.is_dead(), self.dice.below(10)) {
            (_, 0..=2) => End::PowerCut,
            (false, 3..=5) => End::Stopped,
            _ => End::Killed,
        };
        if let Some(life) = life {
            let Life { appliance, running, alive, mut errands, .. } = life;
            if end == End::Stopped {
                let _ = running.stop().await;
            } else {
                drop(running);
            }
            alive.store(false, Ordering::Relaxed);
            self.office.note(What::Ended(end));
            errands.abort_all();
            drop(appliance);
        }
        let cut = if end == End::PowerCut { Cut::Power } else { Cut::Process };
        self.disk.crash(cut, &mut self.dice);
        settle().await;
        if self.plant.wipes {
            self.disk.wipe();
        }
        if end == End::PowerCut {
            let dark = self.dice.between(60, 1800) as Ms * 1000;
            tokio::time::sleep_until(self.machine.instant(self.machine.true_ms() + dark)).await;
            self.machine.reboot(self.dice.between(2, 40) as Ms * 1000, 0);
        }
    }
}

fn demonstration() -> Controls {
    let interval = Interval::Every(Span(SHOWN_EVERY as u64));
    let wish = IntervalWish { interval, lasts: Some(Span(SHOWN_FOR as u64)) };
    Controls { interval: Wish::Set(wish), ..Controls::default() }
}

fn standing(appliance: &Appliance, order: usize) -> Option<Standing> {
    let view = appliance.target(&target(order), &ItemsAsk::default()).ok()?;
    let row = |item: &larder::engine::view::ItemView| {
        let level = item.fields.iter().find_map(|(name, value)| match value {
            FieldShown::Number(level) if name == "level" => Some(*level as u32),
            _ => None,
        });
        Some((item.key.rsplit_once('-')?.1.parse().ok()?, level?))
    };
    let present = view.items.iter().filter(|item| item.removed_at.is_none());
    let rows = view.as_of.map(|_| present.filter_map(row).collect());
    Some(Standing { order: order as u16, rows, age: view.age_seconds.map(|s| s as Ms * 1000) })
}
