//! A world by its seed: the real engine on a crashing disk, in virtual time, between a provider with a mind of its own, operators and
//! readers, until its three hours are over. What happened is in the record; judging it is the laws' business.

use crate::dice::Dice;
use crate::disk::{Cut, Disk};
use crate::issuer::refresh_token;
use crate::machine::{FakeClock, Machine, Ms};
use crate::provider::{FakeDoor, Leak, Provider};
use crate::readers::{self, Look};
use crate::record::{End, Record, What};
use crate::scenario::{Clocks, HOUR, MINUTE, Scenario};
use larder::domain::ids::{ConnectionKey, CredentialId};
use larder::domain::spec::ConnectionSpec;
use larder::engine::appliance::Appliance;
use larder::engine::{Parts, Running};
use larder::store::{Options, Store, Writer};
use larder::upstream::boundary::Secrets;
use larder::upstream::keyring::Keyring;
use larder::upstream::redact::{Redactor, Secret};
use larder::upstream::tokens::{Joining, SealKey, Vault};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinSet;

/// Mistakes that are planted into a world, to see that somebody notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plant {
    pub leak: Leak,
    /// The disk says that it synced, and did not.
    pub disk_lies: bool,
    /// The file is gone after every death.
    pub wipes: bool,
    /// How fast the appliance's clock runs, in permille.
    pub clock_rate: u64,
}

impl Plant {
    pub const NOTHING: Plant = Plant { leak: Leak::None, disk_lies: false, wipes: false, clock_rate: 1000 };
}

/// Lives the world of a seed to its end.
pub fn live(seed: u64, plant: Plant) -> (Scenario, Record) {
    live_in(Scenario::draw(seed), seed, plant)
}

pub fn live_in(scenario: Scenario, seed: u64, plant: Plant) -> (Scenario, Record) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    let record = runtime.block_on(async {
        let mut world = World::new(&scenario, seed, plant);
        world.live().await;
        world.provider.record()
    });
    (scenario, record)
}

struct World<'s> {
    scenario: &'s Scenario,
    plant: Plant,
    dice: Dice,
    machine: Machine,
    disk: Disk,
    provider: Provider,
    operators: readers::Operators,
    /// When the wall clock is next set.
    clock_set_at: Ms,
    /// When the disk fills, or while it is full, when somebody frees some space.
    disk_turns_at: Ms,
    is_full: bool,
    /// Beside the simulated disk: where the key of sealed tokens lies.
    key_folder: tempfile::TempDir,
}

/// One life of the process.
struct Life {
    appliance: Appliance,
    running: Running,
    alive: Arc<AtomicBool>,
    /// What operators wait for.
    errands: JoinSet<()>,
}

impl<'s> World<'s> {
    fn new(scenario: &'s Scenario, seed: u64, plant: Plant) -> World<'s> {
        let mut dice = Dice::new(seed);
        let machine = Machine::new(scenario.began);
        let provider = Provider::new(&machine, scenario, &mut dice, plant.leak);
        World {
            scenario,
            plant,
            disk: if plant.disk_lies { Disk::lying() } else { Disk::default() },
            operators: readers::Operators::new(dice.fork()),
            clock_set_at: dice.between(1, 90) as Ms * MINUTE,
            disk_turns_at: if scenario.fills { dice.between(2, 40) as Ms * MINUTE } else { Ms::MAX },
            is_full: false,
            key_folder: tempfile::tempdir().expect("a folder"),
            dice,
            machine,
            provider,
        }
    }

    async fn live(&mut self) {
        let mut stillborn = 0;
        while self.machine.true_ms() < self.scenario.lasts {
            if self.dice.chance(400) {
                self.disk.fail_after(self.dice.between(1, 400), self.dice.chance(500));
            }
            match self.start().await {
                Ok(life) => {
                    stillborn = 0;
                    self.provider.note(What::Started);
                    self.run(life).await;
                }
                Err(_) if self.disk.is_dead() => self.die(None).await,
                Err(said) => {
                    self.provider.note(What::StartFailed(said));
                    return;
                }
            }
            stillborn += 1;
            if stillborn > 50 {
                return self.provider.note(What::StartFailed("fifty times in a row".to_owned()));
            }
            self.darkness().await;
        }
    }

    async fn start(&mut self) -> Result<Life, String> {
        let options = Options { writer: Writer::Inline, cache_bytes: 1 << 20 };
        let opened = Store::open_backend(self.disk.open(), options);
        let (store, mut opening) = opened.map_err(|e| e.to_string())?;
        // Random, made with the file: a world must replay.
        opening.installation = [9; 32];
        let rate = self.plant.clock_rate;
        let clock = Arc::new(FakeClock::start(&self.machine, opening.mark.clone(), opening.high_water, rate));
        let alive = Arc::new(AtomicBool::new(true));
        let keyring = if self.scenario.rotates { Some(self.keyring(&store, opening.installation)?) } else { None };
        let credentials = match &keyring {
            None => self.scenario.credentials.clone(),
            Some(keyring) => fingerprints(self.scenario, keyring),
        };
        let door: FakeDoor = self.provider.door(clock.clone(), alive.clone(), self.vault(&store)?, keyring);
        let parts = Parts {
            shelf: Default::default(),
            store,
            opening,
            clock,
            door: Arc::new(door),
            connections: self.scenario.connections.clone(),
            polling: Default::default(),
            credentials,
            organizations: Default::default(),
            stored: Default::default(),
            putting: Default::default(),
            notes: Vec::new(),
        };
        let (appliance, running) = larder::engine::start(parts).await?;
        Ok(Life { appliance, running, alive, errands: JoinSet::new() })
    }

    /// As at boot: what is configured, and what operators set before.
    fn keyring(&self, store: &Store, installation: [u8; 32]) -> Result<Keyring, String> {
        let first = Secret::new("the-first-secret".to_owned())?;
        let connections = &self.scenario.connections;
        let own = connections.iter().map(|c| (c.key.clone(), first.clone())).collect();
        let secrets = Secrets { own, ..Secrets::default() };
        let data = self.key_folder.path().join("larder.redb");
        let keyring = Keyring::new(installation, data, connections, &secrets, Redactor::default());
        for spec in connections {
            let state = store.credential(&spec.key).map_err(|e| e.to_string())?;
            if let Some(set) = state.and_then(|state| state.set) {
                keyring.restore(&spec.key, set.sealed)?;
            }
        }
        Ok(keyring)
    }

    /// Now and then somebody replaces a credential, by one of a few, or clears what was set. Nobody waits for it.
    fn rotate(&mut self, life: &mut Life) {
        if !self.scenario.rotates || !self.dice.chance(60) {
            return;
        }
        let key = self.dice.pick(&self.scenario.connections).key.clone();
        let secret = self.dice.below(4).checked_sub(1).map(|n| format!("secret-number-{n}"));
        let appliance = life.appliance.clone();
        life.errands.spawn(async move {
            // A disk that is full or dead takes none.
            let _ = appliance.set_credential(&key, secret, "somebody").await;
        });
    }

    /// As at boot: from what is stored, else from the operator's refresh token. The key file survives everything.
    fn vault(&self, store: &Store) -> Result<Option<Vault>, String> {
        let renewing = self.scenario.connections.iter().filter_map(|c| Some((c, c.oauth.as_ref()?)));
        let (mut vault, refresh) = (None, Secret::new(refresh_token(0))?);
        for (connection, spec) in renewing {
            let credential = self.scenario.credentials[&connection.key];
            let stored = store.sealed(credential).map_err(|e| e.to_string())?;
            let stored = stored.map(|sealed| (sealed.version, sealed.bytes));
            let connection = connection.key.clone();
            let (key, _) = SealKey::beside(&self.key_folder.path().join("larder.redb"))?;
            let vault = vault.get_or_insert_with(|| Vault::new(key, Redactor::new([])));
            vault.join(Joining { connection, credential, spec, refresh: &refresh, client_secret: None, stored });
        }
        Ok(vault)
    }

    /// Until something ends it: a moment drawn by chance, the disk, or the end of the world.
    async fn run(&mut self, mut life: Life) {
        let dies_at = self.machine.true_ms() + 1 + self.dice.below(2 * self.scenario.lives as u64) as Ms;
        let ends_at = dies_at.min(self.scenario.lasts);
        let mut look = Look::Thorough;
        loop {
            let now = self.machine.true_ms();
            let next = (now + self.dice.between(500, 25_000) as Ms).min(ends_at);
            let dead = tokio::select! {
                biased;
                () = self.disk.died() => true,
                () = tokio::time::sleep_until(self.machine.instant(next)) => false,
            };
            if dead || next == ends_at {
                return self.die(Some(life)).await;
            }
            self.set_the_clock();
            if now >= self.disk_turns_at {
                self.turn_the_disk();
            }
            settle().await;
            if self.disk.is_dead() {
                return self.die(Some(life)).await;
            }
            if self.scenario.fills {
                self.provider.note(What::Health { ok: life.appliance.health().store.is_ok() });
            }
            readers::look(self.scenario, &life.appliance, &self.provider, &self.operators, look);
            look = if self.dice.chance(150) { Look::Thorough } else { Look::Glance };
            self.operators.act(self.scenario, &life.appliance, &self.provider, &mut life.errands);
            self.rotate(&mut life);
            settle().await;
        }
    }

    /// The process ends: it is stopped in order, killed, or loses its power.
    async fn die(&mut self, life: Option<Life>) {
        let broke = self.disk.is_dead();
        let power = self.scenario.clocks.power_may_fail() && self.dice.chance(400);
        let end = match (broke, power) {
            (false, false) if self.dice.chance(400) => End::Stopped,
            (_, true) => End::PowerCut,
            (_, false) => End::Killed,
        };
        if let Some(life) = life {
            let Life { appliance, running, alive, mut errands } = life;
            if end == End::Stopped {
                let _ = running.stop().await;
            } else {
                drop(running);
            }
            alive.store(false, Ordering::Relaxed);
            self.provider.note(What::Ended(end));
            errands.abort_all();
            drop(appliance);
        }
        let cut = if end == End::PowerCut { Cut::Power } else { Cut::Process };
        self.disk.crash(cut, &mut self.dice);
        settle().await;
        if self.is_full {
            self.turn_the_disk();
        }
        if self.plant.wipes {
            self.disk.wipe();
        }
        if end == End::PowerCut {
            self.lose_power().await;
        }
    }

    async fn lose_power(&mut self) {
        let dark = self.dark_ms(3600);
        tokio::time::sleep_until(self.machine.instant(self.machine.true_ms() + dark)).await;
        let uptime = (self.dice.between(2, 40) as Ms * 1000).min(dark);
        let now = self.machine.true_ms();
        let error = match self.scenario.clocks {
            // The date of the firmware: a day before this world began, plus the uptime. Or the time service was quicker than us.
            Clocks::NoBattery if self.dice.chance(700) => uptime - now - 24 * HOUR,
            _ => 0,
        };
        self.machine.reboot(uptime, error);
        self.provider.note(What::Rebooted { dark, wall_error: self.machine.wall_error() });
        self.clock_set_at = now + self.dice.between(1, 600) as Ms * 1000;
    }

    fn dark_ms(&mut self, most_s: u64) -> Ms {
        let most = *self.dice.pick(&[2, 20, 200, most_s]);
        self.dice.between(1, most.min(most_s)) as Ms * 1000
    }

    /// Between two lives.
    async fn darkness(&mut self) {
        if self.dice.chance(700) {
            let dark = self.dark_ms(600);
            tokio::time::sleep_until(self.machine.instant(self.machine.true_ms() + dark)).await;
        }
        self.set_the_clock();
    }

    /// The disk is full for a while; whoever starts the appliance again has seen to it that there is room.
    fn turn_the_disk(&mut self) {
        self.is_full = !self.is_full;
        let lasts = if self.is_full { self.dice.between(5, 900) } else { self.dice.between(600, 3600) };
        self.disk_turns_at = self.machine.true_ms() + lasts as Ms * 1000;
        self.disk.fill(self.is_full);
        self.provider.note(What::Disk { full: self.is_full });
    }

    /// The wall clock is set wrong where the world is so, and every time put right before it is set wrong again.
    fn set_the_clock(&mut self) {
        let now = self.machine.true_ms();
        if now < self.clock_set_at {
            return;
        }
        self.clock_set_at = now + self.dice.between(1, 40) as Ms * MINUTE;
        let error = self.machine.wall_error();
        match self.scenario.clocks {
            Clocks::Stepping if error == 0 => {
                let size = *self.dice.pick(&[5_000, 60_000, 3_600_000, 7_200_000]);
                let ahead = self.dice.chance(500);
                self.machine.set_wall_error(if ahead { size } else { -size });
            }
            _ if error != 0 => self.machine.set_wall_error(0),
            _ => return,
        }
        self.provider.note(What::ClockSet { wall_error: self.machine.wall_error() });
    }
}

fn fingerprints(scenario: &Scenario, keyring: &Keyring) -> BTreeMap<ConnectionKey, CredentialId> {
    let print = |spec: &ConnectionSpec| Some((spec.key.clone(), keyring.fingerprint(&spec.key, None)?));
    scenario.connections.iter().filter_map(print).collect()
}

/// Lets every task do what it can do at this moment.
pub async fn settle() {
    for _ in 0..40 {
        tokio::task::yield_now().await;
    }
}
