//! From durable records and `now` to the read models of `view`. Pure but for reading the store's snapshots.

use super::accounts;
use super::banners;
use super::budgets;
use super::burning;
use super::controls;
use super::core::{Conn, Core};
use super::findings::MOST_OPEN;
use super::holding;
use super::items;
use super::phases;
use super::plans;
use super::scans::show;
use super::snapshot::{self, Snapshot, Watched};
use super::stood;
use super::targets::{Origin, Target};
use super::view::*;
use super::voices;
use super::words::{self, Said, Standing, Telling};
use crate::domain::connection::{Breaker, HoldReason};
use crate::domain::cursor::Paged;
use crate::domain::event::Event;
use crate::domain::item::{HistoryEntry, Item};
use crate::domain::job::Job;
use crate::domain::spec::Retry;
use crate::domain::state::State;
use crate::domain::target::TargetState;
use crate::domain::time::{Span, Steady};
use crate::rules::freshness::{self, Facts};
use crate::store::StoreError;
use std::sync::Arc;

pub fn connection(core: &Core, conn: &Conn) -> Result<ConnectionView, StoreError> {
    let snapshot = Snapshot::take(core, conn)?;
    let watched = snapshot::watched(core, conn, &snapshot)?;
    let voices = snapshot::voices(&watched);
    let spoken = voices::spoken(&voices, snapshot::own_word(conn, &snapshot));
    let standing = Standing { trouble: spoken.trouble, ..standing(conn, &snapshot, spoken.state, None) };
    let ages = watched.iter().map(|w| w.facts.counted_age()).collect::<Option<Vec<Span>>>();
    let oldest = ages.and_then(|ages| ages.into_iter().max());
    let stood = stood::since(core, &conn.spec.key, spoken.state)?;
    let plan = conn.plan();
    let budget = |usage| budgets::view(&snapshot.now, usage, burning::asked(&plan, usage), &conn.spec.key.organization);
    Ok(ConnectionView {
        name: conn.spec.key.connection.to_string(),
        organization: conn.spec.key.organization.to_string(),
        provider: conn.spec.provider.clone(),
        state: spoken.state,
        sentence: words::connection_sentence(&standing, &snapshot.now, Telling::Anew),
        banner: banners::of_connection(conn, (&snapshot, &standing), (&watched, &spoken), stood),
        turns: snapshot.turns(&spoken.turns),
        enabled: conn.enabled(&snapshot.state),
        hold: snapshot.hold().map(|h| holding::hold(&snapshot.now, h)),
        endpoint_holds: holding::alone(&snapshot.now, &snapshot.holds),
        passing_holds: holding::passing(&snapshot.now, &snapshot.holds),
        recovery: holding::recovery(&snapshot.now, &snapshot.holds),
        breaker: snapshot.state.breaker.word(),
        budget: snapshot.usage.iter().map(budget).collect(),
        poll: PollView {
            interval_seconds: Seconds(plan.wished.interval),
            effective_interval_seconds: Seconds(snapshot.pace),
            stretched: plans::stretched(&plan),
            last_poll_at: snapshot.state.last_poll_at.map(|s| snapshot.at(s)),
            next_poll_at: standing.next_poll.map(|s| snapshot.steady(s)),
        },
        controls: controls::view(conn, &snapshot.state, &snapshot.now),
        credential: accounts::view(core, conn)?,
        forecast: plans::forecast(&plan),
        oldest_age_seconds: oldest.map(Span::as_secs),
        oldest_since: oldest.map(|age| When(snapshot.now.wall() - age)),
        findings: core.store.open_findings(&conn.spec.key, MOST_OPEN)?.into_iter().map(FindingView::from).collect(),
        targets: conn.targets.now().iter().map(|t| t.key.target.to_string()).collect(),
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
        breaker_since: match s.state.breaker {
            Breaker::Open { since, .. } | Breaker::HalfOpen { since } => Some(since.wall),
            Breaker::Closed => None,
        },
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

/// A target, with its state and the items that the caller read in the same breath; without items in lists.
pub fn target(
    conn: &Conn,
    s: &Snapshot,
    target: &Arc<Target>,
    (state, items): (TargetState, &Paged<Item, String>),
) -> TargetView {
    let state = show::through(conn, target, state, &s.feeds);
    let facts = s.facts(conn, Some((target, &state)));
    let age = facts.counted_age();
    let available = age.is_some() && !freshness::is_expired(&facts);
    let fresh = available && age.is_some_and(|age| age <= facts.fresh_for) && !facts.failing;
    // An age that may be greater than shown is not fresh.
    let fresh = fresh && !facts.clock_untrusted;
    let shown = items.rows.iter().map(|i| items::item(&s.now, &target.spec, &state, i));
    let shown: Vec<ItemView> = shown.map(|i| if available { i } else { items::withheld(i) }).collect();
    let subject = Watched { target: target.clone(), state, facts };
    let told = told(conn, s, &subject, fresh);
    let (Watched { state, facts, .. }, life) = (subject, target.life());
    TargetView {
        name: target.key.target.to_string(),
        organization: target.key.connection.organization.to_string(),
        connection: target.key.connection.connection.to_string(),
        phase: life.phase.word(),
        phase_since: life.since.map(|at| s.at(at)),
        phase_by: life.by.clone(),
        phase_why: life.why.clone(),
        origin: if matches!(target.origin, Origin::Put { .. }) { "put" } else { "configured" },
        endpoint: target.endpoint.as_ref().map(ToString::to_string),
        state: told.word,
        sentence: told.sentence,
        banner: told.banner,
        turns: s.turns(&freshness::turns(&facts)),
        available,
        expires_at: expires_at(s, &facts).filter(|_| available),
        as_of: state.as_of.map(|a| s.at(a)),
        age_seconds: age.map(Span::as_secs),
        aged_since: age.map(|age| When(s.now.wall() - age)),
        observed_at: target.spec.observed_at.as_ref().and(state.observed_at).map(When),
        reading_age_seconds: facts.reading_age.map(Span::as_secs),
        fresh,
        fresh_for_seconds: Seconds(facts.fresh_for),
        stale: told.stale,
        changed_at: state.changed_at.map(|a| s.at(a)),
        attempted_at: state.attempted_at.map(|a| s.at(a)),
        item_count: state.item_count,
        generation: state.generation,
        scan: target.pager.as_ref().and(state.scan.as_ref()).map(show::pages),
        fed_by: show::fed(conn, target, &s.feeds),
        pushed: None,
        refresh: show::refresh(conn, target),
        etag: etag(&state, &shown, told.word),
        items: shown,
        next: items.on.clone(),
        reason: told.reason,
        is_undated: told.is_undated,
    }
}

/// What is said of a target.
struct Told {
    word: State,
    sentence: String,
    reason: Sentence,
    banner: BannerView,
    stale: Option<StaleView>,
    is_undated: bool,
}

fn told(conn: &Conn, s: &Snapshot, subject: &Watched, fresh: bool) -> Told {
    let Watched { target, state, facts } = subject;
    let word = freshness::state(facts);
    let standing = standing(conn, s, word, Some(target));
    let left_alone = phases::left_alone(target, &target.life(), &s.now);
    let reason = |told| match &left_alone {
        Some(sentence) => sentence.clone(),
        None => words::target_reason(state, &standing, &s.now, told).into(),
    };
    let (reason, quoting) = (reason((Said::Beside, Telling::Apart)), reason((Said::Quoted, Telling::Anew)).to_string());
    let is_undated = target.spec.observed_at.is_some() && state.item_count > 0 && state.observed_at.is_none();
    let stale = stale(s, target, state, facts, &reason.to_string()).filter(|_| !fresh);
    Told {
        word,
        sentence: words::target_sentence(state, facts, is_undated, &quoting, &s.now),
        banner: banners::of_target(conn, (s, &standing), subject, (left_alone, stale.as_ref())),
        reason,
        stale,
        is_undated,
    }
}

fn expires_at(s: &Snapshot, facts: &Facts) -> Option<When> {
    let (bound, age) = facts.expires_after.zip(facts.counted_age())?;
    Some(When(s.now.wall() + Span(bound.0.saturating_sub(age.0))))
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
