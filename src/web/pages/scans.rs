//! Scans on the page of their connection: how old what they published is, how the last reading went, and whose rows nobody took.

use super::show::{self, Age, Face, Moment};
use crate::engine::view::{FeedView, RunView, UnmatchedView};
use crate::web::texts;

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
        let pages = texts::t("scans-of-pages")
            .with("pages", b.pages)
            .with("count", b.of.map_or("?".to_owned(), show::count))
            .plain();
        (
            texts::t("scans-so-far").with("pages", &pages).with("rows", show::counted(b.rows, show::Noun::Row)).plain(),
            face.moment(b.since),
        )
    };
    Scan {
        name: view.name.clone(),
        endpoint: view.endpoint.clone(),
        targets: show::counted(view.targets, show::Noun::Target),
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
    let pages = show::counted(run.pages.into(), show::Noun::Page);
    match &run.reason {
        Some(reason) => match run.of.map(show::count) {
            Some(of) => {
                texts::t("scans-given-up-after-of").with("pages", pages).with("of", of).with("reason", reason).plain()
            }
            None => texts::t("scans-given-up-after").with("pages", pages).with("reason", reason).plain(),
        },
        None => {
            let (rows, changed) =
                (show::counted(run.rows, show::Noun::Row), show::counted(run.changed, show::Noun::Target));
            texts::t("scans-complete-on-changed")
                .with("rows", &rows)
                .with("pages", &pages)
                .with("changed", &changed)
                .plain()
        }
    }
}

/// Rows that belong to nobody, and some of them.
fn strays(run: &RunView) -> Option<String> {
    let one = |u: &UnmatchedView| match &u.names {
        Some(name) => texts::t("scans-names").with("key", &u.key).with("name", name).plain(),
        None => texts::t("scans-names-nobody").with("key", &u.key).plain(),
    };
    let some: Vec<String> = run.unmatched_examples.iter().map(one).collect();
    let such = match some.is_empty() {
        true => String::new(),
        false => texts::t("scans-such-as").with("rows", some.join("; ")).plain(),
    };
    let rows = show::counted(run.unmatched, show::Noun::Row);
    let stray = texts::t("scans-belong-to-no-target").with("n", run.unmatched).with("rows", rows).with("such", such);
    (run.unmatched > 0).then(|| stray.plain())
}
