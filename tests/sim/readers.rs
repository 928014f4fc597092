//! Those who look at the appliance and those who press its buttons. Both see only what any client sees.

use crate::dice::Dice;
use crate::provider::{Provider, canonical};
use crate::record::{Shown, TargetAt, What};
use crate::scenario::Scenario;
use larder::domain::cursor::{Cursor, HistoryAsk, ItemsAsk};
use larder::domain::ids::{EventId, JobId, TargetKey};
use larder::domain::spec::ConnectionSpec;
use larder::domain::state::State;
use larder::engine::appliance::Appliance;
use larder::engine::controls::Controls;
use larder::engine::view::{FieldShown, TargetView};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinSet;

fn targets(spec: &ConnectionSpec) -> impl Iterator<Item = (TargetAt, TargetKey)> {
    spec.targets.iter().map(|t| {
        let at = (spec.key.connection.to_string(), t.name.to_string());
        (at, TargetKey { connection: spec.key.clone(), target: t.name.clone() })
    })
}

/// How closely to look: lists that only grow are long, and read now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Glance,
    Thorough,
}

/// What can be seen at this moment, into the record. Waits for nothing.
pub fn look(scenario: &Scenario, appliance: &Appliance, provider: &Provider, operators: &Operators, look: Look) {
    for spec in &scenario.connections {
        for (at, key) in targets(spec) {
            if let Ok(view) = appliance.target(&key, &ItemsAsk::default()) {
                provider.note(What::Shown(shown(at, &view)));
            }
        }
        let Ok(view) = appliance.connection(&spec.key) else { continue };
        for budget in view.budget {
            let connection = view.name.clone();
            let (limit, endpoint, used) = (budget.limit, budget.endpoint, budget.used);
            provider.note(What::Budget { connection, limit, endpoint, used });
        }
        if look == Look::Thorough {
            read_lists(spec, appliance, provider);
        }
    }
    if look == Look::Thorough {
        read_events(appliance, provider);
    }
    for (job, tag) in operators.promised() {
        let state = match appliance.job(JobId(job)) {
            Ok(view) => Some(view.state),
            Err(larder::engine::view::Denied::NotFound(_)) => None,
            Err(_) => continue,
        };
        provider.note(What::Job { job, tag, state });
    }
}

fn read_lists(spec: &ConnectionSpec, appliance: &Appliance, provider: &Provider) {
    for (target, key) in targets(spec) {
        let ask = HistoryAsk { from: Cursor::After(0), item: None, limit: 1000 };
        if let Ok(history) = appliance.history(&key, &ask) {
            let entries = history.rows.iter().map(|h| (h.seq, format!("{h:?}"))).collect();
            provider.note(What::History { target, entries });
        }
    }
    if let Ok(charges) = appliance.ledger(&spec.key, None, 1000) {
        let lines = charges.iter().map(|c| (c.id.0, c.settlement)).collect();
        provider.note(What::Ledger { connection: spec.key.connection.to_string(), lines });
    }
}

/// Events are a history too: of everything.
fn read_events(appliance: &Appliance, provider: &Provider) {
    if let Ok(events) = appliance.events_after(EventId(0), 1000) {
        let entries = events.iter().map(|e| (e.id.0, format!("{e:?}"))).collect();
        provider.note(What::History { target: ("*".to_owned(), "events".to_owned()), entries });
    }
}

fn shown(target: TargetAt, view: &TargetView) -> Shown {
    let present = view.items.iter().filter(|i| i.removed_at.is_none());
    let levels: Vec<(&str, u64)> = present
        .map(|item| {
            let level = item.fields.iter().find_map(|(name, value)| match value {
                FieldShown::Number(n) if name == "level" => Some(*n as u64),
                _ => None,
            });
            (item.key.as_str(), level.unwrap_or(0))
        })
        .collect();
    Shown {
        target,
        content: view.as_of.map(|_| canonical(levels.into_iter())),
        age_s: view.age_seconds,
        fresh: view.fresh,
        clock_untrusted: view.state == State::ClockUntrusted,
        generation: view.generation,
    }
}

/// People with buttons: refreshes, commands (now and then the same one again), the switch.
pub struct Operators {
    dice: Dice,
    commands: u64,
    /// Jobs that were promised to them.
    jobs: Arc<Mutex<BTreeMap<u64, String>>>,
}

impl Operators {
    pub fn new(dice: Dice) -> Operators {
        Operators { dice, commands: 0, jobs: Arc::default() }
    }

    fn promised(&self) -> Vec<(u64, String)> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().map(|(job, tag)| (*job, tag.clone())).collect()
    }

    pub fn act(&mut self, scenario: &Scenario, appliance: &Appliance, provider: &Provider, errands: &mut JoinSet<()>) {
        let spec = self.dice.pick(&scenario.connections).clone();
        let (appliance, provider) = (appliance.clone(), provider.clone());
        match self.dice.below(100) {
            0..=7 => {
                let all: Vec<_> = targets(&spec).collect();
                let (target, key) = self.dice.pick(&all).clone();
                provider.note(What::RefreshAsked { target });
                errands.spawn(async move {
                    // Whether it is funded is the budget's business.
                    let _ = appliance.refresh(&key, "operator").await;
                });
            }
            8..=13 => self.command(spec, appliance, provider, errands),
            14..=15 => {
                let wanted = *self.dice.pick(&[Some(true), Some(false), None, None]);
                let (connection, on) = (spec.key.connection.to_string(), wanted.unwrap_or(spec.poll.enabled));
                provider.note(What::SwitchAsked { connection: connection.clone(), on });
                errands.spawn(async move {
                    if appliance.change(&spec.key, Controls::enabled(wanted), "operator").await.is_ok() {
                        provider.note(What::Switched { connection, on });
                    }
                });
            }
            _ => {}
        }
    }

    /// A new command, or the last one again with its key: whoever did not hear the answer asks again.
    fn command(&mut self, spec: ConnectionSpec, appliance: Appliance, provider: Provider, errands: &mut JoinSet<()>) {
        if self.commands == 0 || self.dice.chance(600) {
            self.commands += 1;
        }
        let tag = format!("c{}", self.commands);
        let key = format!("{}-{tag}", spec.key.connection);
        let tag = key.clone();
        let parameters = BTreeMap::from([("item".to_owned(), "z1".to_owned()), ("tag".to_owned(), tag.clone())]);
        let jobs = self.jobs.clone();
        errands.spawn(async move {
            let accepted = appliance.command(&spec.key, "run", parameters, Some(key), "operator").await;
            if let Ok(job) = accepted {
                provider.note(What::Accepted { tag: tag.clone(), job: job.id.0 });
                jobs.lock().unwrap_or_else(PoisonError::into_inner).insert(job.id.0, tag);
            }
        });
    }
}
