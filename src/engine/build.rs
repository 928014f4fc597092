//! From specifications and the file to connections that can run: budgets installed, targets compiled, first polls spread. Sends
//! nothing and writes nothing but what the store needs to count.

use super::core::Conn;
use super::gateway::desk::Desk;
use super::scans::Scan;
use super::sharing::{Budgets, Sharing};
use super::targets::{Known, Origin, Target, Targets};
use super::trigger::Triggers;
use super::{Parts, controls, fetch, planning, webhooks};
use crate::domain::charge::Charge;
use crate::domain::connection::ConnectionState;
use crate::domain::ids::{ConnectionKey, CredentialId, Endpoint, TargetKey};
use crate::domain::limit::{Limit, merge};
use crate::domain::scan::ScanSpec;
use crate::domain::spec::{ConnectionSpec, TargetSpec};
use crate::domain::time::Now;
use crate::rules::classify::Classifier;
use crate::rules::quota::Reader;
use crate::rules::schedule;
use crate::store::{Store, Write};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, RwLock};

/// Of so many charges of a connection the dearest is remembered over a restart.
pub const PRICES: usize = 200;

/// Connections that can run.
pub struct Built {
    pub conns: Vec<Conn>,
    /// The schedule of those that never polled: written down at once, so that restarts do not postpone it.
    pub firsts: Vec<Write>,
    /// What was noticed, for people.
    pub notes: Vec<String>,
}

pub fn build(parts: &Parts, now: &Now) -> Result<Built, String> {
    let budgets = budgets(parts, now)?;
    for spec in parts.connections.iter().filter(|spec| spec.oauth.is_some()) {
        let apart = fetch::token::apart(credential_of(parts, &spec.key)?);
        parts.store.install_budget(apart, fetch::token::own_pace(), now).map_err(|e| e.to_string())?;
    }
    let (mut conns, mut firsts, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for spec in &parts.connections {
        let credential = credential_of(parts, &spec.key)?;
        let sharing = budgets.get(&credential).ok_or_else(|| format!("connection {} has no budget", spec.key))?;
        let (hooks, begun) = webhooks::hooks(&parts.store, spec).map_err(|e| e.to_string())?;
        firsts.extend(begun);
        let mut conn = Conn { webhooks: hooks, ..connection(parts, spec, Arc::clone(sharing), now, &mut notes)? };
        let state = conn.state.get_mut().clone();
        sharing.wishes(&spec.key, conn.lasting_wish(&state));
        if let Some(vault) = parts.door.vault() {
            sharing.token_life.learn(vault.standing(credential, now.steady).lives);
        }
        let grace = conn.completion_grace();
        conn.look(grace, now);
        sharing.scan(&spec.key, conn.scans.clone());
        sharing.follow(&spec.key, conn.targets.now(), &parts.store);
        conns.push(conn);
    }
    // Only now is it known how long a round is.
    firsts.extend(conns.iter_mut().filter_map(|conn| first_poll(conn, now)));
    Ok(Built { conns, firsts, notes })
}

fn connection(
    parts: &Parts,
    spec: &ConnectionSpec,
    sharing: Arc<Sharing>,
    now: &Now,
    notes: &mut Vec<String>,
) -> Result<Conn, String> {
    let state = parts.store.connection(&spec.key).map_err(|e| e.to_string())?.unwrap_or_default();
    let classifier = Classifier::compile(&spec.rules, &spec.waits).map_err(|e| e.join("; "))?;
    let targets = targets(parts, spec, notes)?;
    Ok(Conn {
        scans: scans(&parts.store, spec, &targets)?,
        credential: sharing.credential,
        classifier: classifier.reading(&spec.reading),
        targets,
        triggers: Triggers::default(),
        installation: parts.opening.installation,
        quota: Reader::compile(&spec.quotas, &spec.waits.sources).map_err(|e| e.join("; "))?,
        sharing,
        overrides: RwLock::new(controls::in_force(&state, now)),
        stretch_told: Mutex::default(),
        state: tokio::sync::Mutex::new(state),
        wake: tokio::sync::Notify::new(),
        webhooks: Vec::new(),
        desk: Desk::new(spec)?,
        spec: spec.clone(),
    })
}

fn first_poll(conn: &mut Conn, now: &Now) -> Option<Write> {
    if conn.state.get_mut().next_poll_at.is_some() || !conn.has_polls() {
        return None;
    }
    let next_poll_at = Some(schedule::first(now, conn.spread()));
    let state = ConnectionState { next_poll_at, ..conn.state.get_mut().clone() };
    *conn.state.get_mut() = state.clone();
    Some(Write::Connection(conn.spec.key.clone(), state))
}

/// Those of the file, and those that operators put. One that cannot be read any more stays where it is and does not run.
fn targets(parts: &Parts, spec: &ConnectionSpec, notes: &mut Vec<String>) -> Result<Targets, String> {
    let (store, key) = (&parts.store, &spec.key);
    let prices = prices(store, spec)?;
    let targets = Targets::default();
    let compile = |target: &TargetSpec, origin| {
        let known = known(store, spec, target, origin, &prices)?;
        Target::compile((key, &spec.time_zone), target.clone(), known, &targets).map(Arc::new)
    };
    for target in &spec.targets {
        targets.put(compile(target, Origin::Configured)?);
    }
    for (name, put) in store.put_targets(key).map_err(|e| e.to_string())? {
        if targets.now().named(&name).is_some() {
            notes.push(format!(
                "target {name} of {} was put by {} and is in the configuration now, which counts",
                key.connection, put.by
            ));
            continue;
        }
        let origin = Origin::Put { by: put.by.clone(), at: put.at };
        match (parts.putting.read)(key, &name, &put.body).map_err(|e| e.join("; ")).and_then(|t| compile(&t, origin)) {
            Ok(target) => targets.put(target),
            Err(why) => notes.push(format!(
                "target {name} of {}, put by {}, cannot be read any more and is not asked about ({why}); put it anew",
                key.connection, put.by
            )),
        }
    }
    Ok(targets)
}

fn scans(store: &Store, spec: &ConnectionSpec, targets: &Targets) -> Result<Vec<Arc<Scan>>, String> {
    let prices = prices(store, spec)?;
    let scan = |scan: &ScanSpec| {
        let known = known(store, spec, &scan.question, Origin::Configured, &prices)?;
        let question = Target::compile((&spec.key, &spec.time_zone), scan.question.clone(), known, targets)?;
        Ok(Arc::new(Scan::new(question, scan, store)?))
    };
    spec.scans.iter().map(scan).collect()
}

/// What the file knows of a target, and what the newest charges say of its price.
fn known(
    store: &Store,
    spec: &ConnectionSpec,
    target: &TargetSpec,
    origin: Origin,
    prices: &[Charge],
) -> Result<Known, String> {
    let key = TargetKey { connection: spec.key.clone(), target: target.name.clone() };
    Ok(Known {
        origin,
        life: store.life(&key).map_err(|e| e.to_string())?.unwrap_or_default(),
        scan: store.target(&key).map_err(|e| e.to_string())?.and_then(|state| state.scan),
        learned_cost: planning::price(target, prices),
    })
}

/// The newest charges, where a target of the connection learns from the provider what a request costs.
fn prices(store: &Store, spec: &ConnectionSpec) -> Result<Vec<Charge>, String> {
    let questions = spec.targets.iter().chain(spec.scans.iter().map(|scan| &scan.question));
    match questions.into_iter().any(|t| t.send.cost_from.is_some()) {
        true => store.charges(&spec.key, None, PRICES).map_err(|e| e.to_string()),
        false => Ok(Vec::new()),
    }
}

fn credential_of(parts: &Parts, key: &ConnectionKey) -> Result<CredentialId, String> {
    parts.credentials.get(key).copied().ok_or_else(|| format!("connection {key} has no credential"))
}

/// F1: what connections with one credential declare is one budget.
fn budgets(parts: &Parts, now: &Now) -> Result<Budgets, String> {
    let mut declared: BTreeMap<CredentialId, (Vec<Limit>, BTreeSet<Endpoint>)> = BTreeMap::new();
    for spec in &parts.connections {
        let (limits, commanded) = declared.entry(credential_of(parts, &spec.key)?).or_default();
        merge(limits, &spec.limits);
        commanded.extend(spec.commands.iter().map(|command| command.endpoint()));
    }
    let install = |(credential, (limits, commanded)): (CredentialId, (Vec<Limit>, BTreeSet<Endpoint>))| {
        parts.store.install_budget(credential, limits.clone(), now).map_err(|e| e.to_string())?;
        Ok((credential, Arc::new(Sharing::new(credential, limits, commanded))))
    };
    declared.into_iter().map(install).collect()
}
