//! The shell: loops that drain, handlers that are plain functions. Only `fetch` sees both store and upstream.
//!
//! * [`core`] what everybody shares, [`turns`] who asks first · [`fetch`] the one path · [`poller`] a loop a connection · [`jobs`] commands
//! * [`appliance`] the facade of every surface · [`operate`] what operators do · [`present`] builds the read models of [`view`], [`holding`] those of holds
//! * [`restored`] the first start from a backup
//! * [`findings`] what the owners should know · [`words`] the sentences

pub mod appliance;
pub mod core;
pub mod fetch;
pub mod findings;
pub mod holding;
pub mod items;
pub mod jobs;
pub mod operate;
pub mod poller;
pub mod present;
pub mod restored;
pub mod spending;
pub mod turns;
pub mod view;
pub mod words;

use crate::clock::{Clock, ClockMark};
use crate::domain::charge::{Charge, Resolution, Settlement};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::{Caller, ConnectionKey, CredentialId, Endpoint, TargetKey};
use crate::domain::limit::Limit;
use crate::domain::limit::merge;
use crate::domain::outcome::Outcome;
use crate::domain::spec::{ConnectionSpec, TargetSpec};
use crate::domain::time::{ClockTrust, Now, Span, Stamp};
use crate::rules::asking::CostFrom;
use crate::rules::classify::Classifier;
use crate::rules::extract::Extractor;
use crate::rules::paging::Pager;
use crate::rules::quota::Reader;
use crate::rules::schedule;
use crate::store::{Commit, Opening, Store, Write};
use crate::upstream::Door;
use core::{Conn, Core, Pages, Seams, Sharer, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, RwLock};

/// Requests in flight get this long at a stop.
const STOP_PATIENCE: Span = Span::from_secs(5);

/// Of so many charges of a connection the dearest is remembered over a restart.
const PRICES: usize = 200;

/// What the engine is built from.
pub struct Parts {
    pub store: Store,
    pub opening: Opening,
    pub clock: Arc<dyn Clock>,
    pub door: Arc<dyn Door>,
    pub connections: Vec<ConnectionSpec>,
    /// Computed by `app` from the installation key and each secret: the budget boundary.
    pub credentials: BTreeMap<ConnectionKey, CredentialId>,
    /// What was noticed at start, for people.
    pub notes: Vec<String>,
}

/// The running loops; dropping it aborts them (a crash), `stop` ends them in order.
pub struct Running {
    core: Arc<Core>,
    /// Schedules of connections that never polled.
    firsts: Vec<Write>,
    /// Set at the first start from a backup.
    copied: Option<ClockMark>,
}

impl Running {
    /// Settles what a crash left behind and starts the loops on the current tokio runtime. Costs no request. Operators'
    /// wishes that came in meanwhile are heard after it.
    pub async fn begin(&mut self) -> Result<(), String> {
        let core = &self.core;
        announce(core, std::mem::take(&mut self.firsts), self.copied.take()).await?;
        settle_pending(core)?;
        fetch::token::begin(core).await.map_err(|e| e.to_string())?;
        jobs::recover(core).await?;
        for conn in core.connections.values() {
            core.spawn(poller::run(core.clone(), conn.clone()));
        }
        core.spawn(watch(core.clone()));
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
    let (conns, firsts) = build(&parts, &now)?;
    let notes = [notes(&parts.opening, &now), parts.notes].concat();
    let seams = Seams { store: parts.store, clock: parts.clock, door: parts.door };
    let core = Arc::new(Core::new(seams, conns, notes));
    let running = Running { core: core.clone(), firsts, copied: parts.opening.copied };
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

/// The connections, and the schedule of those that never polled: written down at once, so that restarts do not postpone it.
fn build(parts: &Parts, now: &Now) -> Result<(Vec<Conn>, Vec<Write>), String> {
    let budgets = budgets(parts)?;
    for (credential, (limits, _)) in &budgets {
        parts.store.install_budget(*credential, limits.clone(), now).map_err(|e| e.to_string())?;
    }
    for spec in parts.connections.iter().filter(|spec| spec.oauth.is_some()) {
        let apart = fetch::token::apart(credential_of(parts, &spec.key)?);
        parts.store.install_budget(apart, fetch::token::own_pace(), now).map_err(|e| e.to_string())?;
    }
    let (mut conns, mut firsts) = (Vec::new(), Vec::new());
    for spec in &parts.connections {
        let credential = credential_of(parts, &spec.key)?;
        let (limits, budget_targets) = budgets.get(&credential).cloned().unwrap_or_default();
        let state = parts.store.connection(&spec.key).map_err(|e| e.to_string())?.unwrap_or_default();
        let prices = prices(&parts.store, spec)?;
        let own = |t| target(spec, t, &budget_targets, &prices);
        let mut conn = Conn {
            credential,
            classifier: Classifier::compile(&spec.rules, &spec.waits)
                .map_err(|e| e.join("; "))?
                .salvaging(spec.reading.salvage),
            targets: spec.targets.iter().map(own).collect::<Result<_, _>>()?,
            in_use: budget_targets.iter().map(|t| t.spec.endpoint()).collect(),
            installation: parts.opening.installation,
            budget_targets,
            in_force: RwLock::new(Arc::new(parts.store.limits_in_force(credential))),
            quota: Reader::compile(&spec.quotas).map_err(|e| e.join("; "))?,
            limits,
            overrides: RwLock::new(state.overrides.clone()),
            state: tokio::sync::Mutex::new(state),
            wake: tokio::sync::Notify::new(),
            spec: spec.clone(),
        };
        if conn.state.get_mut().next_poll_at.is_none() && !conn.targets.is_empty() {
            conn.state.get_mut().next_poll_at = Some(schedule::first(now, conn.spread()));
            firsts.push(Write::Connection(spec.key.clone(), conn.state.get_mut().clone()));
        }
        conns.push(conn);
    }
    Ok((conns, firsts))
}

fn target(
    spec: &ConnectionSpec,
    target: &TargetSpec,
    sharers: &[Sharer],
    prices: &[Charge],
) -> Result<Arc<Target>, String> {
    let cost_from = target.send.cost_from.as_deref().map(CostFrom::parse).transpose()?;
    let own = prices.iter().filter(|c| cost_from.is_some() && c.target.as_ref() == Some(&target.name));
    let learned_cost = own.map(|c| c.cost).max().unwrap_or(0);
    let key = TargetKey { connection: spec.key.clone(), target: target.name.clone() };
    let shared = sharers.iter().find(|s| s.key == key).map(|s| s.pages.clone());
    Ok(Arc::new(Target {
        cost_from,
        learned_cost: AtomicU32::new(learned_cost),
        key,
        extractor: Extractor::compile(target, &spec.time_zone).map_err(|e| e.join("; "))?,
        pager: target.page.as_ref().map(Pager::compile).transpose().map_err(|e| e.join("; "))?,
        spec: target.clone(),
        flight: tokio::sync::Mutex::default(),
        pages: shared.unwrap_or_else(|| Pages::known(None)),
    }))
}

/// The newest charges, where a target of the connection learns from the provider what a request costs.
fn prices(store: &Store, spec: &ConnectionSpec) -> Result<Vec<Charge>, String> {
    match spec.targets.iter().any(|t| t.send.cost_from.is_some()) {
        true => store.charges(&spec.key, None, PRICES).map_err(|e| e.to_string()),
        false => Ok(Vec::new()),
    }
}

fn credential_of(parts: &Parts, key: &ConnectionKey) -> Result<CredentialId, String> {
    parts.credentials.get(key).copied().ok_or_else(|| format!("connection {key} has no credential"))
}

/// The limits of each credential, and everything that is polled with it.
type Budgets = BTreeMap<CredentialId, (Vec<Limit>, Vec<Sharer>)>;

/// F1: what connections with one credential declare and poll is one budget.
fn budgets(parts: &Parts) -> Result<Budgets, String> {
    let mut all = Budgets::new();
    for spec in &parts.connections {
        let Some(credential) = parts.credentials.get(&spec.key) else { continue };
        let (limits, targets) = all.entry(*credential).or_default();
        merge(limits, &spec.limits);
        for target in &spec.targets {
            let key = TargetKey { connection: spec.key.clone(), target: target.name.clone() };
            let state = parts.store.target(&key).map_err(|e| e.to_string())?;
            let pages = Pages::known(state.and_then(|s| s.scan).as_ref());
            targets.push(Sharer { key, spec: target.clone(), pages });
        }
    }
    for (credential, (limits, targets)) in &mut all {
        let spends = |spec: &&ConnectionSpec| parts.credentials.get(&spec.key) == Some(credential);
        let commands = parts.connections.iter().filter(spends).flat_map(|spec| &spec.commands);
        let looked_at: BTreeSet<Endpoint> = targets.iter().map(|t| t.spec.endpoint()).collect();
        let commanded: BTreeSet<Endpoint> = commands.map(|c| c.endpoint()).collect();
        let reach = [(Caller::Poller, &looked_at), (Caller::Refresh, &looked_at), (Caller::Command, &commanded)];
        for limit in limits {
            limit.reach = reach.iter().map(|(caller, endpoints)| (*caller, (*endpoints).clone())).collect();
        }
    }
    Ok(all)
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

async fn announce(core: &Arc<Core>, mut writes: Vec<Write>, copied: Option<ClockMark>) -> Result<(), String> {
    let mut message = "started; nothing is requested before it is due".to_owned();
    for note in &core.notes {
        message.push_str("; ");
        message.push_str(note);
    }
    let event = NewEvent { kind: EventKind::Appliance, at: core.started, connection: None, target: None, message };
    writes.push(Write::Mark(core.clock.mark()));
    let findings = findings::orphans(core, &core.clock.now()).map_err(|e| e.to_string())?;
    let commit = Commit { findings, ..commit(writes, vec![event]) };
    let events = match copied {
        Some(copied) => restored::take_over(core, &copied, commit).await,
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
