//! The shell: loops that drain, handlers that are plain functions. Only `fetch` sees both store and upstream.
//!
//! * [`core`] what everybody shares, [`mod@conn`] a connection as it runs, [`connections`] those that run now, [`roster`] how they come, change and go, [`accounts`] what each spends as, [`targets`] the changing set of a connection, [`sharing`] what spends from one budget, [`members`] and who
//! * [`put`] targets that come and go, [`phases`] how they live, [`trigger`] those that became active
//! * [`turns`] who asks first · [`fetch`] the one path · [`poller`] a loop a connection · [`jobs`] commands
//! * [`access`] who may come in: operators, sessions, claim codes, tokens
//! * [`appliance`] the facade of every surface · [`operate`] what operators do, [`backups`] a backup by a button · [`present`] builds the read models of [`view`] from a [`snapshot`], [`banners`] the parts of a state, [`holding`] holds, [`budgets`] limits
//! * [`controls`] what they set of a connection, [`polling`] of the whole process
//! * [`scans`] readings that feed many targets · [`streams`] event streams that many read
//! * [`intake`] answers that others push
//! * [`gateway`] programs that know nothing of Larder ask the provider through it
//! * [`setup`] connections written in the browser
//! * [`rotation`] another credential while everything runs · [`mod@notes`] what people should know of start and configuration
//! * [`regular`] backups that nobody asks for · [`restored`] the first start from a backup or another copy · [`retention`] how long histories are kept, where somebody says so
//! * [`probe`] one question by hand, to see what the provider says
//! * [`burning`] how the units of a limit go · [`series`] how the fields of an item went
//! * [`stood`] how connections stood, change by change
//! * [`flat`] value by value, for other programs · [`broker`] whether one of MQTT is told · [`webhooks`] tell them · [`findings`] what the owners should know · [`words`] the sentences

pub mod access;
pub mod accounts;
pub mod appliance;
pub mod backups;
pub mod banners;
pub mod broker;
pub mod budgets;
pub mod build;
pub mod burning;
pub mod conn;
pub mod connections;
pub mod controls;
pub mod core;
pub mod fetch;
pub mod findings;
pub mod flat;
pub mod gateway;
pub mod holding;
pub mod intake;
pub mod items;
pub mod jobs;
pub mod members;
pub mod notes;
pub mod operate;
pub mod organizations;
pub mod phases;
pub mod planning;
pub mod plans;
pub mod poller;
pub mod polling;
pub mod present;
pub mod probe;
pub mod put;
pub mod regular;
pub mod restored;
pub mod retention;
pub mod roster;
pub mod rotation;
pub mod scans;
pub mod series;
pub mod setup;
pub mod sharing;
pub mod snapshot;
pub mod spending;
pub mod stood;
pub mod streams;
pub mod targets;
pub mod trigger;
pub mod turns;
pub mod view;
mod voices;
pub mod webhooks;
pub mod words;

use crate::clock::Clock;
use crate::domain::charge::{Charge, Resolution, Settlement};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::gateway::ShelfSpec;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::outcome::Outcome;
use crate::domain::part::PartsByOrganization;
use crate::domain::polling::PollingSpec;
use crate::domain::setup::Provenance;
use crate::domain::spec::ConnectionSpec;
use crate::domain::time::{ClockTrust, Now, Span, Stamp};
use crate::store::{Commit, Copied, Opening, Store, Write};
use crate::upstream::Door;
use access::Access;
use core::{Core, Seams};
use gateway::room::Room;
use polling::Polling;
use put::Putting;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Requests in flight get this long at a stop.
const STOP_PATIENCE: Span = Span::from_secs(5);

/// What the engine is built from.
pub struct Parts {
    pub store: Store,
    pub opening: Opening,
    pub clock: Arc<dyn Clock>,
    pub door: Arc<dyn Door>,
    pub connections: Vec<ConnectionSpec>,
    pub polling: PollingSpec,
    /// How much room the gateways' answers have.
    pub shelf: ShelfSpec,
    /// Computed by `app` from the installation key and each secret: the budget boundary.
    pub credentials: BTreeMap<ConnectionKey, CredentialId>,
    /// Those of them that are stored, and not in `larder.toml`.
    pub stored: BTreeMap<ConnectionKey, Provenance>,
    /// What each organization has of what it shares with others.
    pub organizations: PartsByOrganization,
    /// How targets that operators put are read.
    pub putting: Arc<Putting>,
    /// What was noticed at start, for people.
    pub notes: Vec<String>,
}

/// The running loops; dropping it aborts them (a crash), `stop` ends them in order.
pub struct Running {
    core: Arc<Core>,
    /// Schedules of connections that never polled.
    firsts: Vec<Write>,
    /// Set at the first start from a backup or another copy.
    copied: Option<Copied>,
    /// The newest moment of the run before this one.
    last_alive: Option<Stamp>,
}

impl Running {
    /// Settles what a crash left behind and starts the loops on the current tokio runtime. Costs no request. Operators'
    /// wishes that came in meanwhile are heard after it.
    pub async fn begin(&mut self) -> Result<(), String> {
        let core = &self.core;
        let copied = self.copied.take();
        let is_copy = copied.is_some();
        announce(core, std::mem::take(&mut self.firsts), copied).await?;
        access::begin(core, is_copy).await.map_err(|e| e.to_string())?;
        gateway::filed::forget_doubtful(core).await.map_err(|e| e.to_string())?;
        settle_pending(core)?;
        fetch::token::begin(core).await.map_err(|e| e.to_string())?;
        jobs::recover(core).await?;
        for conn in core.connections.values() {
            roster::begin(core, &conn);
        }
        core.spawn(controls::watch(core.clone()));
        core.spawn(retention::run(core.clone()));
        core.spawn(regular::run(core.clone()));
        core.spawn(scans::move_on(core.clone()));
        gateway::filed::restore(core).map_err(|e| e.to_string())?;
        core.spawn(gateway::filed::tidy(core.clone()));
        core.spawn(watch(core.clone()));
        core.spawn(stood::watch(core.clone(), self.last_alive));
        core.begun.cancel();
        Ok(())
    }

    /// Polling ends, requests in flight get 5 s, the store is flushed and closed.
    pub async fn stop(self) -> Result<(), String> {
        self.core.stop.cancel();
        let mut tasks = self.core.take_tasks();
        let until = self.core.clock.now().steady + STOP_PATIENCE;
        loop {
            tokio::select! {
                next = tasks.join_next() => if next.is_none() { break },
                () = self.core.clock.sleep_until(until) => break,
            }
        }
        tasks.shutdown().await;
        let mark = commit(vec![Write::Mark(self.core.clock.mark())], Vec::new());
        // A store that takes no writes is told by `close`.
        let _ = self.core.commit(mark).await;
        self.core.store.close().map_err(|e| e.to_string())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.core.stop.cancel();
        self.core.take_tasks().abort_all();
    }
}

/// Prepares, and begins at once.
pub async fn start(parts: Parts) -> Result<(appliance::Appliance, Running), String> {
    let (appliance, mut running) = prepare(parts)?;
    running.begin().await?;
    Ok((appliance, running))
}

/// Installs budgets and reads what is durable: from here on readers can be served. Nothing runs before [`Running::begin`].
pub fn prepare(parts: Parts) -> Result<(appliance::Appliance, Running), String> {
    let now = parts.clock.now();
    let build::Built { conns, firsts, notes: noticed } = build::build(&parts, &now)?;
    let notes = [notes(&parts.opening, &now), parts.notes, noticed].concat();
    let polling = Polling::new(parts.polling, parts.store.polling().map_err(|e| e.to_string())?.unwrap_or_default());
    let room = Room::new(parts.shelf);
    let installation = parts.opening.installation;
    let access = Access::new(&parts.store, &installation).map_err(|e| e.to_string())?;
    let (store, clock, door) = (parts.store, parts.clock, parts.door);
    let seams = Seams { store, clock, door, polling, installation, room, access };
    let core = Arc::new(Core::new(seams, conns, notes));
    core.divide(&parts.organizations);
    let Opening { copied, high_water: last_alive, .. } = parts.opening;
    let running = Running { core: core.clone(), firsts, copied, last_alive };
    Ok((appliance::Appliance::new(core), running))
}

/// The loops' sign of life, for `/readyz`.
async fn watch(core: Arc<Core>) {
    while !core.stop.is_cancelled() {
        core.beat();
        let until = core.clock.now().steady + Span::from_secs(5);
        tokio::select! {
            () = core.stop.cancelled() => {}
            () = core.clock.sleep_until(until) => {}
        }
    }
}

fn notes(opening: &Opening, now: &Now) -> Vec<String> {
    let mut notes: Vec<String> = opening.repaired.iter().cloned().collect();
    notes.extend(opening.copied.as_ref().map(|copied| restored::note(copied, now)));
    if now.trust == ClockTrust::Untrusted {
        notes.push(
            "this machine's clock is behind the newest entry of the file; ages from before the restart may be greater \
             than shown until it is set"
                .to_owned(),
        );
    }
    notes
}

async fn announce(core: &Arc<Core>, mut writes: Vec<Write>, copied: Option<Copied>) -> Result<(), String> {
    let mut message = "started; nothing is requested before it is due".to_owned();
    for note in core.notes.start() {
        message.push_str("; ");
        message.push_str(note);
    }
    let event = NewEvent { kind: EventKind::Appliance, at: core.started, connection: None, target: None, message };
    writes.push(Write::Mark(core.clock.mark()));
    writes.extend(webhooks::forgotten(core).map_err(|e| e.to_string())?);
    let findings = findings::orphans(core, &core.clock.now()).map_err(|e| e.to_string())?;
    let commit = Commit { findings, ..commit(writes, vec![event]) };
    let events = match copied {
        Some(copied) => restored::take_over(core, &copied.made, commit).await,
        None => core.commit(commit).await,
    };
    core.publish(events.map_err(|e| e.to_string())?);
    Ok(())
}

fn commit(writes: Vec<Write>, events: Vec<NewEvent>) -> Commit {
    Commit { writes, events, ..Commit::default() }
}

/// Charges that a crash left without an answer: counted as spent, and in flight until their deadline; then written down as lost.
fn settle_pending(core: &Arc<Core>) -> Result<(), String> {
    for charge in core.store.pending_charges().map_err(|e| e.to_string())? {
        let task_core = core.clone();
        core.spawn(async move {
            tokio::select! {
                () = task_core.stop.cancelled() => {}
                () = task_core.clock.sleep_until(charge.deadline) => lost(&task_core, charge).await,
            }
        });
    }
    Ok(())
}

async fn lost(core: &Core, charge: Charge) {
    let at = charge.reserved_at;
    let resolution = Resolution {
        at: Stamp { steady: charge.deadline, ..at + charge.deadline.since(at.steady) },
        settlement: Settlement::Posted,
        outcome: Outcome::Lost,
        status: None,
        rule: "the appliance stopped before the answer; the provider may have counted it".to_owned(),
        said: None,
        cost: None,
    };
    let resolve = Some((charge.credential, charge.id, resolution));
    let settled = Commit { resolve, ..commit(Vec::new(), Vec::new()) };
    if let Err(e) = core.commit(settled).await {
        tracing::error!(charge = charge.id.0, "{e}");
    }
}
