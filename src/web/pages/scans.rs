//! Scans on the page of their connection: how old what they published is, how the last reading went, and whose rows nobody took.

use super::show::{self, Age, Face, Moment};
use crate::engine::view::{FeedView, RunView, UnmatchedView};

pub(super) struct Scan {
    pub name: String,
    pub endpoint: String,
    pub targets: String,
    pub interval: Option<String>,
    pub as_of: Option<Moment>,
    pub age: Option<Age>,
    /// The newest reading that ended, and when.
    pub run: Option<(String, Moment)>,
    pub is_whole: bool,
    pub unmatched: Option<String>,
    pub building: Option<(String, Moment)>,
    pub trouble: Option<String>,
    pub resting: Option<String>,
}

pub(super) fn scan(face: &Face, view: &FeedView) -> Scan {
    let under_way = |b: &crate::engine::view::BuildingView| {
        let pages = format!("{} of {} pages", b.pages, b.of.map_or("?".to_owned(), show::count));
        (format!("{pages}, {} so far", show::counted(b.rows, "row")), face.moment(b.since))
    };
    Scan {
        name: view.name.clone(),
        endpoint: view.endpoint.clone(),
        targets: show::counted(view.targets, "target"),
        interval: view.interval_seconds.map(show::exact),
        as_of: face.maybe(view.as_of),
        age: view.as_of.map(|at| Age::since(face, at)),
        run: view.last_run.as_ref().map(|run| (told(run), face.moment(run.at))),
        is_whole: view.last_run.as_ref().is_none_or(|run| run.complete),
        unmatched: view.last_run.as_ref().and_then(strays),
        building: view.building.as_ref().map(under_way),
        trouble: view.stale.as_ref().map(|s| s.reason.clone()),
        resting: view.resting.clone(),
    }
}

fn told(run: &RunView) -> String {
    let pages = show::counted(run.pages.into(), "page");
    match &run.reason {
        Some(reason) => {
            let of = run.of.map_or_else(String::new, |of| format!(" of {}", show::count(of)));
            format!("Given up after {pages}{of}, because {reason}. Nothing of it was published.")
        }
        None => {
            let (rows, changed) = (show::counted(run.rows, "row"), show::counted(run.changed, "target"));
            format!("Complete: {rows} on {pages}; {changed} changed.")
        }
    }
}

/// Rows that belong to nobody, and some of them.
fn strays(run: &RunView) -> Option<String> {
    let one = |u: &UnmatchedView| match &u.names {
        Some(name) => format!("{} names {name}", u.key),
        None => format!("{} names nobody", u.key),
    };
    let some: Vec<String> = run.unmatched_examples.iter().map(one).collect();
    let such = if some.is_empty() { String::new() } else { format!(", such as: {}", some.join("; ")) };
    let belong = if run.unmatched == 1 { "belongs" } else { "belong" };
    (run.unmatched > 0).then(|| format!("{} {belong} to no target{such}.", show::counted(run.unmatched, "row")))
}
