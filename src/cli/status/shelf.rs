//! What the file knew when the appliance stopped, in the shapes of the API as far as they can be told without it.
//! Budgets and holds are not read: only a running appliance can say what they mean now.

use super::Readings;
use crate::cli::ending::Failure;
use crate::cli::expected::{Expected, Round, put_targets, renewed_every};
use crate::cli::offline::Offline;
use crate::config::Settings;
use crate::domain::ids::{ConnectionKey, TargetKey};
use crate::domain::spec::{ConnectionSpec, Interval, TargetSpec};
use crate::domain::state::State;
use crate::domain::target::{Phase, TargetState};
use crate::domain::time::{ClockTrust, Now, Span};
use crate::engine::findings::MOST_OPEN;
use crate::engine::view::FindingView;
use crate::rules::calendar::rfc3339;
use crate::rules::freshness::{Facts, state};
use crate::rules::plan::{Load, Question, plan};
use serde_json::{Value, json};

pub(super) fn read(settings: &Settings) -> Result<Readings, Failure> {
    let file = Offline::open(&settings.server.data)?;
    let read = read_from(&file, settings);
    file.close(read)
}

fn read_from(file: &Offline, settings: &Settings) -> Result<Readings, Failure> {
    let (mut connections, mut targets) = (Vec::new(), Vec::new());
    for spec in &settings.connections {
        let expected = Expected::read(&file.store, spec, &settings.puttable);
        let stored = file.store.connection(&spec.key).map_err(Failure::failed)?.unwrap_or_default();
        let enabled = stored.enabled.map_or(spec.poll.enabled, |s| s.on);
        let interval = match spec.poll.interval {
            Interval::Every(every) => every,
            Interval::Auto => shortest(spec, &expected),
        };
        let mut worst: Option<(State, Option<Span>)> = None;
        let put = put_targets(&file.store, spec, &settings.puttable).map_err(Failure::failed)?;
        for target in spec.targets.iter().chain(&put) {
            let interval = renewed_every(&file.store, spec, target, interval);
            let key = TargetKey { connection: spec.key.clone(), target: target.name.clone() };
            let kept = file.store.target(&key).map_err(Failure::failed)?.unwrap_or_default();
            let facts = facts(&kept, target, enabled, interval, &file.now);
            let (word, age) = (state(&facts), facts.counted_age());
            let life = file.store.life(&key).map_err(Failure::failed)?.unwrap_or_default();
            // What is not watched any more may be as old as it likes.
            if matches!(life.phase, Phase::Active | Phase::Pending) {
                worst = worst.map_or(Some((word, age)), |w| Some(graver(w, (word, age))));
            }
            targets.push(target_row(spec, target, (&kept, life.phase), &facts));
        }
        let (word, age) = worst.unwrap_or((State::Never, None));
        connections.push(json!({
            "name": spec.key.connection.as_str(), "organization": spec.key.organization.as_str(),
            "provider": spec.provider, "state": word.word(), "enabled": enabled,
            "oldest_age_seconds": age.map(Span::as_secs), "findings": findings(file, &spec.key)?,
        }));
    }
    Ok(Readings { running: false, connections, targets, date: None })
}

/// The interval that `auto` means, for this connection alone.
fn shortest(spec: &ConnectionSpec, expected: &Expected) -> Span {
    let Round { demands, beside, .. } = expected.round(spec);
    let own = Load { demands, every: Span::ZERO };
    plan(&Question { limits: &spec.limits, own, beside, ..Question::default() }).kept.interval
}

/// The open ones, in the shape of the API.
fn findings(file: &Offline, key: &ConnectionKey) -> Result<Vec<FindingView>, Failure> {
    let open = file.store.open_findings(key, MOST_OPEN).map_err(Failure::failed)?;
    Ok(open.into_iter().map(FindingView::from).collect())
}

/// The state that precedes, with the greater age.
fn graver(a: (State, Option<Span>), b: (State, Option<Span>)) -> (State, Option<Span>) {
    let age = a.1.zip(b.1).map(|(a, b)| a.max(b));
    (a.0.min(b.0), age)
}

fn facts(kept: &TargetState, spec: &TargetSpec, enabled: bool, interval: Span, now: &Now) -> Facts {
    Facts {
        clock_untrusted: now.trust == ClockTrust::Untrusted,
        enabled,
        hold: None,
        endpoint_held: false,
        exhausted: false,
        breaker_open: false,
        age: kept.as_of.map(|at| now.age_of(at)),
        reading_age: kept.reading_age(spec, now),
        failing: kept.trouble.is_some(),
        interval,
        fresh_for: spec.fresh_within(interval),
        expires_after: spec.expires_after,
    }
}

fn target_row(
    spec: &ConnectionSpec,
    target: &TargetSpec,
    (kept, phase): (&TargetState, Phase),
    facts: &Facts,
) -> Value {
    let observed_at = target.observed_at.as_ref().and(kept.observed_at);
    json!({
        "name": target.name.as_str(), "organization": spec.key.organization.as_str(),
        "connection": spec.key.connection.as_str(), "phase": phase.word(), "state": state(facts).word(),
        "as_of": kept.as_of.map(|s| rfc3339(s.wall)), "age_seconds": facts.counted_age().map(Span::as_secs),
        "observed_at": observed_at.map(rfc3339), "reading_age_seconds": facts.reading_age.map(Span::as_secs),
        "item_count": kept.item_count, "generation": kept.generation,
        "trouble": kept.trouble.as_ref().map(|t| json!({
            "since": rfc3339(t.since.wall), "reason": t.reason, "said": t.said,
        })),
    })
}
