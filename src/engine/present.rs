//! From durable records and `now` to the read models of `view`. Pure but for reading the store's snapshots.

use super::accounts;
use super::budgets;
use super::controls;
use super::core::{Conn, Core};
use super::findings::MOST_OPEN;
use super::holding;
use super::items;
use super::phases;
use super::plans;
use super::scans::show;
use super::targets::{Origin, Target};
use super::view::*;
use super::voices::{self, Voice};
use super::words::{self, Said, Standing};
use crate::domain::connection::{Breaker, ConnectionState, Hold, HoldReason, HoldScope};
use crate::domain::event::Event;
use crate::domain::ids::{Caller, Endpoint};
use crate::domain::item::{HistoryEntry, Item};
use crate::domain::job::Job;
use crate::domain::spec::Retry;
use crate::domain::state::State;
use crate::domain::target::{Phase, TargetState};
use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady, Wall};
use crate::rules::budget::{Refusal, Usage};
use crate::rules::freshness::{self, Facts};
use crate::store::StoreError;

/// A connection at one moment: everything that its views are made of.
pub struct Snapshot {
    pub now: Now,
    pub state: ConnectionState,
    /// All that are not lifted.
    pub holds: Vec<Hold>,
    pub usage: Vec<Usage>,
    /// What the budget would tell the poller at its next poll.
    exhausted_until: Option<Steady>,
    /// As planned: what decides freshness. Neither a backoff nor a ramp makes an answer fresh for longer.
    planned: Span,
    /// As it is now: with the backoff and what the way back from a hold adds.
    pace: Span,
    /// Why nothing that comes in can be written, if so.
    store: Option<String>,
    /// Polling is off for the whole process; who switched it off and when, if that was an operator.
    all_off: Option<Option<(String, Wall)>>,
    /// How the scans stand.
    feeds: Vec<TargetState>,
}

impl Snapshot {
    pub fn take(core: &Core, conn: &Conn) -> Result<Snapshot, StoreError> {
        let now = core.clock.now();
        let state = core.store.connection(&conn.spec.key)?.unwrap_or_default();
        let targets = conn.targets.now();
        let mut endpoints: Vec<Endpoint> = targets.iter().filter_map(|t| t.endpoint.clone()).collect();
        endpoints.extend(conn.scans.iter().filter_map(|scan| scan.question.endpoint.clone()));
        endpoints.extend(conn.spec.commands.iter().map(|c| c.endpoint()));
        endpoints.sort_unstable();
        endpoints.dedup();
        let holds = core.store.holds(conn.credential);
        let planned = conn.base_interval();
        Ok(Snapshot {
            pace: conn.effective_interval(&state, &holds),
            holds,
            usage: core.store.usage(conn.credential, &now, &endpoints),
            exhausted_until: exhausted_until(core, conn, &state, planned, &now),
            all_off: core.polling.off(&core.store)?,
            store: core.store.health().err().map(|e| e.to_string()),
            feeds: show::asked(core, conn)?,
            state,
            planned,
            now,
        })
    }

    /// What stops everybody now.
    fn hold(&self) -> Option<&Hold> {
        self.holds.iter().find(|h| h.scope == HoldScope::Credential && h.is_in_force(self.now.steady))
    }

    /// What stops a target alone: a hold of its endpoint, in force.
    fn hold_of(&self, target: &Target) -> Option<&Hold> {
        let endpoint = HoldScope::Endpoint(target.endpoint.clone()?);
        self.holds.iter().find(|h| h.scope == endpoint && h.is_in_force(self.now.steady))
    }

    fn facts(&self, conn: &Conn, target: Option<(&Target, &TargetState)>) -> Facts {
        let spec = target.map(|(t, _)| &t.spec);
        let interval = target.map_or(self.planned, |(t, _)| conn.renewed_every(t, self.planned));
        Facts {
            clock_untrusted: self.now.trust == ClockTrust::Untrusted,
            enabled: self.is_polled(conn),
            hold: self.hold().map(|h| h.reason),
            endpoint_held: target.is_some_and(|(t, _)| self.hold_of(t).is_some()),
            exhausted: self.exhausted_until.is_some(),
            breaker_open: !matches!(self.state.breaker, Breaker::Closed),
            age: target.and_then(|(_, s)| s.as_of).map(|as_of| self.now.age_of(as_of)),
            reading_age: target.and_then(|(t, s)| s.reading_age(&t.spec, &self.now)),
            failing: self.store.is_some() || target.is_some_and(|(_, s)| s.trouble.is_some()),
            interval,
            fresh_for: spec.and_then(|s| s.fresh_for).unwrap_or(Span(interval.0.saturating_mul(2))),
            expires_after: spec.and_then(|s| s.expires_after),
        }
    }

    /// Whether Larder asks by itself.
    fn is_polled(&self, conn: &Conn) -> bool {
        conn.enabled(&self.state) && self.all_off.is_none()
    }

    fn at(&self, stamp: Stamp) -> When {
        When(stamp.wall)
    }

    fn steady(&self, at: Steady) -> When {
        When(self.now.wall_of(at))
    }
}

/// The budget is exhausted for the poller if it must skip a whole poll for it.
fn exhausted_until(core: &Core, conn: &Conn, state: &ConnectionState, interval: Span, now: &Now) -> Option<Steady> {
    let targets = conn.targets.now();
    let mut polled = conn.scans.iter().map(|scan| &scan.question).chain(targets.iter()).filter(|t| t.is_polled());
    let (target, endpoint) = polled.find_map(|t| Some((t, t.endpoint.clone()?)))?;
    let due = now.steady.max(state.next_poll_at.map(|at| at.steady).unwrap_or_default());
    let ask = conn.ask(Caller::Poller, endpoint, target.cost());
    match core.store.would_admit(conn.credential, now, &ask) {
        Err(Refusal::NotUntil { at, .. }) if at > due + interval => Some(at),
        Err(Refusal::NeverFits { .. }) => Some(Steady::MAX),
        _ => None,
    }
}

pub fn connection(core: &Core, conn: &Conn) -> Result<ConnectionView, StoreError> {
    let snapshot = Snapshot::take(core, conn)?;
    let (mut ages, mut voices) = (Vec::new(), Vec::new());
    let targets = conn.targets.now();
    for target in targets.iter() {
        if matches!(target.life().phase, Phase::Active | Phase::Pending) {
            let state =
                show::through(conn, target, core.store.target(&target.key)?.unwrap_or_default(), &snapshot.feeds);
            let facts = snapshot.facts(conn, Some((target, &state)));
            ages.push(facts.counted_age().map(Span::as_secs));
            voices.push(Voice::of(&target.key.target, &facts, state.trouble));
        }
    }
    let (state, trouble) = voices::spoken(&voices, freshness::state(&snapshot.facts(conn, None)));
    let standing = Standing { trouble, ..standing(conn, &snapshot, state, None) };
    let plan = conn.plan();
    Ok(ConnectionView {
        name: conn.spec.key.connection.to_string(),
        organization: conn.spec.key.organization.to_string(),
        provider: conn.spec.provider.clone(),
        state,
        sentence: words::connection_sentence(&standing, &snapshot.now),
        enabled: conn.enabled(&snapshot.state),
        hold: snapshot.hold().map(|h| holding::hold(&snapshot.now, h)),
        endpoint_holds: holding::alone(&snapshot.now, &snapshot.holds),
        passing_holds: holding::passing(&snapshot.now, &snapshot.holds),
        recovery: holding::recovery(&snapshot.now, &snapshot.holds),
        breaker: snapshot.state.breaker.word(),
        budget: snapshot.usage.iter().map(|usage| budgets::view(&snapshot.now, usage)).collect(),
        poll: PollView {
            interval_seconds: Seconds(plan.wished.interval),
            effective_interval_seconds: Seconds(snapshot.pace),
            stretched: plans::stretched(&plan),
            last_poll_at: snapshot.state.last_poll_at.map(|s| snapshot.at(s)),
            next_poll_at: next_poll(conn, &snapshot).map(|s| snapshot.steady(s)),
        },
        controls: controls::view(conn, &snapshot.state, &snapshot.now),
        credential: accounts::view(core, conn)?,
        forecast: plans::forecast(&plan),
        oldest_age_seconds: ages.iter().copied().collect::<Option<Vec<_>>>().and_then(|a| a.into_iter().max()),
        findings: core.store.open_findings(&conn.spec.key, MOST_OPEN)?.into_iter().map(FindingView::from).collect(),
        targets: targets.iter().map(|t| t.key.target.to_string()).collect(),
        commands: conn.spec.commands.iter().map(command).collect(),
    })
}

fn command(spec: &crate::domain::spec::CommandSpec) -> CommandView {
    let retry = match spec.retry {
        Retry::Never => "never",
        Retry::Idempotent => "idempotent",
    };
    CommandView { name: spec.name.clone(), parameters: crate::rules::asking::parameters(&spec.path, &spec.send), retry }
}

/// When the poller will ask next, as far as is known now.
fn next_poll(conn: &Conn, s: &Snapshot) -> Option<Steady> {
    if !s.is_polled(conn) || !conn.has_polls() {
        return None;
    }
    let mut at = s.now.steady.max(s.state.next_poll_at.map(|due| due.steady).unwrap_or_default());
    at = at.max(conn.held_until(&s.holds, &s.now).unwrap_or_default());
    if let Breaker::Open { until, .. } = s.state.breaker {
        at = at.max(until);
    }
    at = at.max(s.exhausted_until.filter(|e| *e != Steady::MAX).unwrap_or_default());
    Some(at)
}

/// `target`: whose own hold counts; `None`: the connection's, and where it has none the longest of an endpoint.
fn standing<'a>(conn: &'a Conn, s: &'a Snapshot, state: State, target: Option<&Target>) -> Standing<'a> {
    let switch = s.state.enabled.as_ref().filter(|e| !e.on);
    Standing {
        state,
        conn,
        hold: s.hold().or(match target {
            Some(target) => s.hold_of(target),
            None => s.holds.iter().filter(|h| h.is_in_force(s.now.steady)).max_by_key(|h| h.until),
        }),
        recovery: holding::recovery(&s.now, &s.holds).map(|r| r.sentence),
        next_poll: next_poll(conn, s),
        breaker_until: match s.state.breaker {
            Breaker::Open { until, .. } => Some(until),
            _ => None,
        },
        recent: s.state.recent,
        next_free: s.exhausted_until.filter(|at| *at != Steady::MAX),
        disabled_by: switch.map(|e| (e.by.clone(), e.at.wall)),
        all_off: s.all_off.clone().filter(|_| conn.enabled(&s.state)),
        trouble: None,
        store: s.store.as_deref(),
    }
}

/// A target with the items that the caller read in the same breath; empty in lists.
pub fn target(
    core: &Core,
    conn: &Conn,
    s: &Snapshot,
    target: &Target,
    items: &[Item],
) -> Result<TargetView, StoreError> {
    let state = show::through(conn, target, core.store.target(&target.key)?.unwrap_or_default(), &s.feeds);
    let facts = s.facts(conn, Some((target, &state)));
    let word = freshness::state(&facts);
    let age = facts.counted_age();
    let fresh = age.is_some_and(|age| age <= facts.fresh_for) && !facts.failing;
    // An age that may be greater than shown is not fresh.
    let fresh = fresh && !facts.clock_untrusted;
    let fresh = fresh && facts.expires_after.is_none_or(|bound| age.is_some_and(|age| age <= bound));
    let standing = standing(conn, s, word, Some(target));
    let life = target.life();
    let reason = |said| match phases::left_alone(target, &life, &s.now) {
        Some(sentence) => sentence,
        None => words::target_reason(&state, &standing, &s.now, said),
    };
    let (reason, quoting) = (reason(Said::Beside), reason(Said::Quoted));
    let dated = target.spec.observed_at.as_ref();
    let is_undated = dated.is_some() && state.item_count > 0 && state.observed_at.is_none();
    let shown: Vec<ItemView> = items.iter().map(|i| items::item(&s.now, &target.spec, &state, i)).collect();
    Ok(TargetView {
        name: target.key.target.to_string(),
        organization: target.key.connection.organization.to_string(),
        connection: target.key.connection.connection.to_string(),
        phase: life.phase.word(),
        phase_since: life.since.map(|at| s.at(at)),
        phase_by: life.by.clone(),
        phase_why: life.why.clone(),
        origin: match target.origin {
            Origin::Configured => "configured",
            Origin::Put { .. } => "put",
        },
        endpoint: target.endpoint.as_ref().map(ToString::to_string),
        state: word,
        sentence: words::target_sentence(&state, &facts, is_undated, &quoting, &s.now),
        as_of: state.as_of.map(|a| s.at(a)),
        age_seconds: age.map(Span::as_secs),
        observed_at: dated.and(state.observed_at).map(When),
        reading_age_seconds: facts.reading_age.map(Span::as_secs),
        fresh,
        fresh_for_seconds: Seconds(facts.fresh_for),
        stale: stale(s, target, &state, &facts, &reason).filter(|_| !fresh),
        changed_at: state.changed_at.map(|a| s.at(a)),
        attempted_at: state.attempted_at.map(|a| s.at(a)),
        item_count: state.item_count,
        generation: state.generation,
        scan: target.pager.as_ref().and(state.scan.as_ref()).map(show::pages),
        fed_by: show::fed(conn, target, &s.feeds),
        refresh: show::refresh(conn, target),
        etag: etag(&state, &shown, word),
        items: shown,
        reason,
        is_undated,
    })
}

/// Law 5: since when, why, and what the provider said.
fn stale(s: &Snapshot, target: &Target, state: &TargetState, facts: &Facts, reason: &str) -> Option<StaleView> {
    let until = state.as_of? + facts.fresh_for;
    let until = if until.steady > s.now.steady { s.now.stamp() } else { until };
    // By the provider's time it was so already when it arrived.
    let until = facts.reading_age.and(state.observed_at).map_or(until.wall, |at| until.wall.min(at + facts.fresh_for));
    Some(match (&s.store, &state.trouble) {
        // Whatever the provider says, it cannot be kept.
        (Some(why), trouble) => StaleView {
            since: When(trouble.as_ref().map_or(until, |t| t.since.wall)),
            reason: why.clone(),
            said: trouble.as_ref().and_then(|t| t.said.clone()),
        },
        (None, Some(t)) => StaleView { since: s.at(t.since), reason: t.reason.clone(), said: t.said.clone() },
        (None, None) => StaleView {
            since: When(until),
            reason: reason.to_owned(),
            said: s
                .hold()
                .or(s.hold_of(target))
                .filter(|h| h.reason != HoldReason::Exhausted)
                .and_then(|h| h.said.clone()),
        },
    })
}

/// A strong tag for what the view says beside its age: content, as-of, the words, and what has decayed since.
fn etag(state: &TargetState, items: &[ItemView], word: State) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&state.generation.to_be_bytes());
    hash.update(&state.fingerprint);
    hash.update(word.word().as_bytes());
    let scanned = state.scan.as_ref().map(|scan| scan.at);
    for stamp in [state.as_of, state.attempted_at, state.trouble.as_ref().map(|t| t.since), scanned] {
        hash.update(&stamp.map_or(0, |s| s.steady.0).to_be_bytes());
    }
    for item in items {
        hash.update(item.key.as_bytes());
        hash.update(item.state.as_deref().unwrap_or("").as_bytes());
        hash.update(&[u8::from(item.removed_at.is_some())]);
        for (_, field) in &item.fields {
            if let FieldShown::SecondsLeft(n) = field {
                hash.update(&n.to_be_bytes());
            }
        }
    }
    hash.finalize().to_hex()[..24].to_owned()
}

pub fn history(entry: HistoryEntry) -> HistoryView {
    let change =
        |c: crate::domain::item::FieldChange| FieldChangeView { field: c.field, before: c.before, after: c.after };
    HistoryView {
        seq: entry.seq,
        at: When(entry.at.wall),
        generation: entry.generation,
        kind: entry.kind.word(),
        key: entry.key,
        title: entry.title,
        state: entry.state,
        changes: entry.detail.into_iter().map(change).collect(),
    }
}

pub fn job(job: Job) -> JobView {
    JobView {
        id: job.id,
        organization: job.connection.organization.to_string(),
        connection: job.connection.connection.to_string(),
        command: job.command,
        parameters: job.parameters,
        state: job.state.word(),
        created_at: When(job.created_at.wall),
        updated_at: When(job.updated_at.wall),
        by: job.by,
        message: job.message,
        refresh: job.refresh.map(|r| JobRefreshView { target: r.target.to_string(), result: r.result }),
    }
}

pub fn event(event: &Event) -> EventView {
    let body = &event.body;
    EventView {
        id: event.id,
        kind: body.kind.word(),
        at: When(body.at.wall),
        organization: body.connection.as_ref().map(|c| c.organization.to_string()),
        connection: body.connection.as_ref().map(|c| c.connection.to_string()),
        target: body.target.as_ref().map(|t| t.to_string()),
        message: body.message.clone(),
    }
}
