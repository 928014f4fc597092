//! From specifications and the file to connections that can run: budgets installed, targets compiled, first polls spread. Sends
//! nothing and writes nothing but what the store needs to count.

use super::accounts::{Account, Remembered};
use super::core::Conn;
use super::gateway::desk::Desk;
use super::put::Putting;
use super::scans::Scan;
use super::sharing::{Budgets, Sharing};
use super::targets::{Known, Origin, Target, Targets};
use super::{Parts, accounts, controls, fetch, organizations, planning, webhooks};
use crate::domain::charge::Charge;
use crate::domain::connection::ConnectionState;
use crate::domain::ids::{ConnectionKey, CredentialId, TargetKey};
use crate::domain::limit::merge;
use crate::domain::part::PartsByOrganization;
use crate::domain::scan::ScanSpec;
use crate::domain::setup::Provenance;
use crate::domain::spec::{ConnectionSpec, TargetSpec};
use crate::domain::time::{Now, Stamp};
use crate::rules::budget::parts;
use crate::rules::classify::Classifier;
use crate::rules::quota::Reader;
use crate::rules::schedule;
use crate::store::{Store, Write};
use crate::upstream::keyring::Keyring;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};
use tokio_util::sync::CancellationToken;

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

/// What a connection is built on.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub store: &'a Store,
    pub installation: [u8; 32],
    pub putting: &'a Arc<Putting>,
}

pub fn build(parts: &Parts, now: &Now) -> Result<Built, String> {
    let Remembered { of: credentials, writes: mut firsts } = accounts::remembered(parts, now)?;
    let budgets = budgets(parts, &credentials, now)?;
    for spec in parts.connections.iter().filter(|spec| spec.oauth.is_some()) {
        let apart = fetch::token::apart(credential_of(&credentials, &spec.key)?);
        parts.store.install_budget(apart, fetch::token::own_pace(), now).map_err(|e| e.to_string())?;
    }
    let (mut conns, mut notes) = (Vec::new(), Vec::new());
    let ground = Ground { store: &parts.store, installation: parts.opening.installation, putting: &parts.putting };
    for spec in &parts.connections {
        let credential = credential_of(&credentials, &spec.key)?;
        let sharing = budgets.get(&credential).ok_or_else(|| format!("connection {} has no budget", spec.key))?;
        let (hooks, begun) = webhooks::hooks(&parts.store, spec).map_err(|e| e.to_string())?;
        firsts.extend(begun);
        let state = parts.store.connection(&spec.key).map_err(|e| e.to_string())?.unwrap_or_default();
        let (conn, targets) = connection(ground, spec, Arc::clone(sharing), (&state, now), Arc::default(), &mut notes)?;
        conn.targets.replace(targets);
        let since = credentials.get(&spec.key).map(|known| known.since).unwrap_or_default();
        let provenance = parts.stored.get(&spec.key).cloned().unwrap_or(Provenance::Configured);
        let lacks_secret = lacks_secret(parts.door.keyring(), spec);
        let conn = Conn { webhooks: hooks, since, provenance, lacks_secret, ..conn };
        sharing.wishes(&spec.key, conn.lasting_wish(&state));
        if let Some(vault) = parts.door.vault() {
            sharing.token_life.learn(vault.standing(credential, now.steady).lives);
        }
        let grace = conn.completion_grace();
        conn.look(grace, now);
        sharing.scan(&spec.key, conn.scans.clone());
        sharing.follow(&spec.key, conn.targets.now(), &parts.store);
        conns.push((conn, state));
    }
    // Only now is it known how long a round is.
    let conns = conns.into_iter().map(|(conn, state)| match first_poll(&conn, &state, now) {
        None => conn,
        Some(state) => {
            firsts.push(Write::Connection(conn.spec.key.clone(), state.clone()));
            Conn { state: Arc::new(tokio::sync::Mutex::new(state)), ..conn }
        }
    });
    Ok(Built { conns: conns.collect(), firsts, notes })
}

/// With nothing of one before it but its place among the targets, and those that it will have: apart, so that nothing is another before that
/// is durable.
pub fn connection(
    ground: Ground<'_>,
    spec: &ConnectionSpec,
    sharing: Arc<Sharing>,
    (state, now): (&ConnectionState, &Now),
    among: Arc<Targets>,
    notes: &mut Vec<String>,
) -> Result<(Conn, Vec<Arc<Target>>), String> {
    let targets = targets(ground, spec, &among, notes)?;
    let classifier = Classifier::compile(&spec.rules, &spec.waits).map_err(|e| e.join("; "))?;
    let conn = Conn {
        scans: scans(ground.store, spec, &among)?,
        edition: 0,
        putting: Arc::clone(ground.putting),
        provenance: Provenance::Configured,
        lacks_secret: false,
        left: CancellationToken::new(),
        credential: sharing.credential,
        since: Stamp::default(),
        secret_since: Stamp::default(),
        classifier: Arc::new(classifier.reading(&spec.reading)),
        targets: among,
        triggers: Arc::default(),
        installation: ground.installation,
        quota: Arc::new(Reader::compile(&spec.quotas, &spec.waits.sources).map_err(|e| e.join("; "))?),
        sharing,
        overrides: Arc::new(RwLock::new(controls::in_force(state, now))),
        stretch_told: Arc::default(),
        state: Arc::new(tokio::sync::Mutex::new(state.clone())),
        wake: Arc::default(),
        webhooks: Vec::new(),
        desk: Arc::new(Desk::new(spec)?),
        spec: spec.clone(),
    };
    Ok((conn, targets))
}

/// Whether it sends a credential that nobody has set yet.
pub fn lacks_secret(keyring: Option<&Keyring>, spec: &ConnectionSpec) -> bool {
    spec.waits_for_a_secret() && keyring.is_some_and(|keyring| !keyring.is_set(&spec.key))
}

/// The state with the first poll in it, of one that never polled.
pub fn first_poll(conn: &Conn, state: &ConnectionState, now: &Now) -> Option<ConnectionState> {
    let never = state.next_poll_at.is_none() && conn.has_polls();
    never.then(|| ConnectionState { next_poll_at: Some(schedule::first(now, conn.spread())), ..state.clone() })
}

/// Those of the file, and those that operators put. One that cannot be read any more stays where it is and does not run. `among`: what runs
/// of this connection, which they will be.
fn targets(
    ground: Ground<'_>,
    spec: &ConnectionSpec,
    among: &Targets,
    notes: &mut Vec<String>,
) -> Result<Vec<Arc<Target>>, String> {
    let (store, key) = (ground.store, &spec.key);
    let prices = prices(store, spec)?;
    let compile = |target: &TargetSpec, origin| {
        let known = known(store, spec, target, origin, &prices)?;
        Target::compile((key, &spec.time_zone), target.clone(), known, among).map(Arc::new)
    };
    let configured = spec.targets.iter().map(|target| compile(target, Origin::Configured));
    let mut targets = configured.collect::<Result<Vec<_>, String>>()?;
    for (name, put) in store.put_targets(key).map_err(|e| e.to_string())? {
        if spec.targets.iter().any(|target| target.name == name) {
            notes.push(format!(
                "target {name} of {} was put by {} and is in the configuration now, which counts",
                key.connection, put.by
            ));
            continue;
        }
        let origin = Origin::Put { by: put.by.clone(), at: put.at };
        let read = (ground.putting.read)(key, &name, &put.body).map_err(|e| e.join("; "));
        match read.and_then(|t| compile(&t, origin)) {
            Ok(target) => targets.push(target),
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

fn credential_of(credentials: &BTreeMap<ConnectionKey, Account>, key: &ConnectionKey) -> Result<CredentialId, String> {
    credentials.get(key).map(|known| known.credential).ok_or_else(|| format!("connection {key} has no credential"))
}

/// F1: what connections with one credential declare is one budget.
fn budgets(parts: &Parts, credentials: &BTreeMap<ConnectionKey, Account>, now: &Now) -> Result<Budgets, String> {
    let mut sharing: BTreeMap<CredentialId, Vec<&ConnectionSpec>> = BTreeMap::new();
    for spec in &parts.connections {
        sharing.entry(credential_of(credentials, &spec.key)?).or_default().push(spec);
    }
    let share = |(credential, specs): (CredentialId, Vec<&ConnectionSpec>)| {
        Ok((credential, shared(&parts.store, credential, &specs, &parts.organizations, now)?))
    };
    sharing.into_iter().map(share).collect()
}

/// Installs the budget of these connections together.
pub fn shared(
    store: &Store,
    credential: CredentialId,
    specs: &[&ConnectionSpec],
    configured: &PartsByOrganization,
    now: &Now,
) -> Result<Arc<Sharing>, String> {
    let (mut limits, mut commanded) = (Vec::new(), BTreeSet::new());
    for spec in specs {
        merge(&mut limits, &spec.limits);
        commanded.extend(spec.commands.iter().map(|command| command.endpoint()));
    }
    let parts = parts::Parts::of(specs.iter().map(|spec| &spec.key.organization), configured);
    parts.as_ref().map_or(Ok(()), organizations::check)?;
    store.install_divided(credential, (limits.clone(), parts.clone()), now).map_err(|e| e.to_string())?;
    Ok(Arc::new(Sharing::new(credential, limits, commanded, parts)))
}
