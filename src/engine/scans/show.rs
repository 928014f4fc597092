//! Scans for readers: the read models, and the sentences of their activity.

use super::Scan;
use crate::domain::page;
use crate::domain::scan::{Building, Count, Discarded, Published, ScanState, Unmatched};
use crate::domain::target::{TargetState, Trouble};
use crate::domain::time::{Now, Span};
use crate::engine::core::{Conn, Core};
use crate::engine::targets::Target;
use crate::engine::view::{
    BuildingView, FedView, FeedView, RefreshCost, RunView, ScanView, Seconds, StaleView, UnmatchedView, When,
};
use crate::engine::words::counted;
use crate::rules::plan::choice::{Choice, Cost};
use crate::store::StoreError;
use std::sync::Arc;

/// The scans of a connection, in the order of the file.
pub fn feeds(core: &Core, conn: &Conn) -> Result<Vec<FeedView>, StoreError> {
    let now = core.clock.now();
    conn.scans.iter().map(|scan| feed(core, conn, scan, &now)).collect()
}

fn feed(core: &Core, conn: &Conn, scan: &Scan, now: &Now) -> Result<FeedView, StoreError> {
    let state = core.store.scan(scan.key())?.unwrap_or_default();
    let asked = core.store.target(scan.key())?.unwrap_or_default();
    let fed = |target: &&Arc<Target>| conn.feeder(target).is_some_and(|f| std::ptr::eq(f.as_ref(), scan));
    Ok(FeedView {
        name: scan.name().to_owned(),
        organization: conn.spec.key.organization.to_string(),
        connection: conn.spec.key.connection.to_string(),
        endpoint: scan.question.endpoint.as_ref().map_or_else(String::new, ToString::to_string),
        interval_seconds: scan.interval.map(Seconds),
        as_of: asked.as_of.map(|at| When(at.wall)),
        age_seconds: asked.as_of.map(|at| Span::as_secs(now.age_of(at))),
        targets: conn.targets.now().iter().filter(fed).count() as u64,
        last_run: last_run(&state),
        building: state.building.as_ref().map(building),
        stale: stale(&asked),
        resting: scan.rests().then(|| resting(&conn.way(scan, &conn.targets.now()))),
    })
}

fn resting(choice: &Choice) -> String {
    let cost = |cost: Cost| match cost.requests == cost.units {
        true => format!("{}", cost.requests),
        false => format!("{} ({} units)", cost.requests, cost.units),
    };
    let single = choice.single.map_or_else(|| "fewer".to_owned(), cost);
    format!(
        "Its targets are asked one by one, which takes {single} requests a round; the scan would take {}. It goes on as soon as it is the \
         cheaper way.",
        cost(choice.scan)
    )
}

fn stale(asked: &TargetState) -> Option<StaleView> {
    let trouble = asked.trouble.as_ref()?;
    Some(StaleView { since: When(trouble.since.wall), reason: trouble.reason.clone(), said: trouble.said.clone() })
}

fn last_run(state: &ScanState) -> Option<RunView> {
    match (&state.published, &state.discarded) {
        (Some(published), Some(discarded)) if discarded.number > published.number => Some(given_up(discarded)),
        (Some(published), _) => Some(whole(published)),
        (None, discarded) => discarded.as_ref().map(given_up),
    }
}

fn whole(run: &Published) -> RunView {
    RunView {
        generation: run.number,
        at: When(run.at.wall),
        complete: true,
        reason: None,
        pages: run.pages,
        of: None,
        rows: run.count.rows,
        unmatched: run.count.unmatched,
        unmatched_examples: examples(&run.count),
        unwatched: run.count.unwatched,
        changed: run.changed,
        kept_own: run.fresher,
    }
}

fn given_up(run: &Discarded) -> RunView {
    RunView {
        generation: run.number,
        at: When(run.at.wall),
        complete: false,
        reason: Some(run.why.clone()),
        pages: run.pages,
        of: run.of,
        rows: run.rows,
        unmatched: 0,
        unmatched_examples: Vec::new(),
        unwatched: 0,
        changed: 0,
        kept_own: 0,
    }
}

fn examples(count: &Count) -> Vec<UnmatchedView> {
    let shown = |u: &Unmatched| UnmatchedView { key: u.key.clone(), names: u.names.clone() };
    count.examples.iter().map(shown).collect()
}

fn building(b: &Building) -> BuildingView {
    let (pages, of) = (b.walked.pages, b.walked.of);
    BuildingView { generation: b.number, since: When(b.begun_at.wall), pages, of, rows: b.count.rows }
}

/// How the scans of a connection stand, in their order: their attempts and troubles.
pub fn asked(core: &Core, conn: &Conn) -> Result<Vec<TargetState>, StoreError> {
    core.store.targets(conn.scans.iter().map(|scan| scan.key()))
}

/// A target as its readers are told about it: whose scan cannot be read is not renewed, unless an answer of its own came since.
pub fn through(conn: &Conn, target: &Target, state: TargetState, asked: &[TargetState]) -> TargetState {
    let Some((_, scan)) = fed_from(conn, target, asked) else { return state };
    let since = |trouble: &&Trouble| state.as_of.is_none_or(|own| own.steady <= trouble.since.steady);
    let trouble = state.trouble.clone().or_else(|| scan.trouble.as_ref().filter(since).cloned());
    let attempted_at = state.attempted_at.into_iter().chain(scan.attempted_at).max_by_key(|at| at.steady);
    TargetState { trouble, attempted_at, ..state }
}

/// By whom a target is fed.
pub fn fed(conn: &Conn, target: &Target, asked: &[TargetState]) -> Option<FedView> {
    let (scan, state) = fed_from(conn, target, asked)?;
    Some(FedView { scan: scan.name().to_owned(), as_of: state.as_of.map(|at| When(at.wall)) })
}

fn fed_from<'a>(conn: &'a Conn, target: &Target, asked: &'a [TargetState]) -> Option<(&'a Scan, &'a TargetState)> {
    let feeder = conn.feeder(target).filter(|scan| !scan.rests())?;
    let mut both = conn.scans.iter().zip(asked);
    both.find(|(scan, _)| Arc::ptr_eq(scan, feeder)).map(|(scan, state)| (scan.as_ref(), state))
}

/// How the last reading of a target's own pages went.
pub fn pages(scan: &page::Scan) -> ScanView {
    ScanView {
        pages: scan.pages,
        of: scan.of,
        complete: scan.incomplete.is_none(),
        reason: scan.incomplete.clone(),
        at: When(scan.at.wall),
        usual_pages: scan.usual_pages,
    }
}

/// What a refresh takes: the target's own request, or all pages of the scan where it has none.
pub fn refresh(conn: &Conn, target: &Target) -> RefreshCost {
    let question = conn.asked_for(target);
    RefreshCost { requests: u64::from(question.pages.get()), units_each: u64::from(question.cost()) }
}

/// What a publication is told as.
pub fn published(scan: &Scan, run: &Published) -> String {
    let (rows, pages) = (counted(run.count.rows, "row", "rows"), counted(run.pages.into(), "page", "pages"));
    let mut text = format!(
        "scan {}: {rows} on {pages}, {} of {} changed",
        scan.name(),
        run.changed,
        counted(run.targets, "target", "targets")
    );
    if run.fresher > 0 {
        text.push_str(&format!(
            "; {}",
            counted(run.fresher, "target keeps an answer of its own", "targets keep answers of their own")
        ));
    }
    if run.count.unmatched > 0 {
        let names: Vec<&str> = run.count.examples.iter().filter_map(|u| u.names.as_deref()).take(3).collect();
        let such = if names.is_empty() { String::new() } else { format!(" (of {})", names.join(", ")) };
        text.push_str(&format!("; {} to no target{such}", counted(run.count.unmatched, "row belongs", "rows belong")));
    }
    text
}
