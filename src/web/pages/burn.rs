//! How the units of a limit go, on its connection's page: a plot, the same in a sentence and as a table, and the way to the other limits. Must
//! not know the rest of the page.

use super::Visit;
use super::history::tail;
use super::show::{self, Face, Moment};
use crate::domain::ids::ConnectionKey;
use crate::domain::time::Wall;
use crate::engine::view::{BurnView, LevelView, When};
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::svg::{burn, ticks};
use crate::web::texts;

pub struct Burned {
    pub svg: String,
    pub limit: String,
    pub endpoint: Option<String>,
    pub sentence: String,
    pub kept: Option<String>,
    pub is_foreign: bool,
    /// At the pace of lately nothing is left before all units come back at once. Where they come back one by one, that is how a full plan looks.
    pub runs_out: bool,
    pub rows: Vec<Row>,
    /// The other limits, where there are any.
    pub others: Vec<(String, String)>,
}

/// A moment, what the plans leave, what is left.
pub struct Row {
    pub at: Moment,
    pub planned: String,
    pub left: String,
    /// It lies ahead.
    pub is_ahead: bool,
}

/// `None`: no limit of it is used up over a time.
pub fn burned(web: &WebState, visit: &Visit, face: &Face, key: &ConnectionKey) -> Result<Option<Burned>, Problem> {
    let wanted = visit.query.limit.as_deref().map(|limit| (limit, visit.query.endpoint.as_deref()));
    let Some(view) = web.shelf().burn(key, wanted)? else { return Ok(None) };
    let levels = |of: &[LevelView]| -> Vec<burn::Level> { of.iter().map(|l| (l.at.0, l.left)).collect() };
    let (actual, planned, projected) = (levels(&view.actual), levels(&view.planned), levels(&view.projected));
    let drawn = burn::Burn {
        from: view.from.0,
        now: view.now.0,
        until: view.until.0,
        amount: view.requests,
        kept: view.kept,
        actual: &actual,
        planned: &planned,
        projected: &projected,
    };
    Ok(Some(Burned {
        svg: burn::burn(&drawn, &face.axis()),
        sentence: sentence(face, &view),
        kept: (view.kept > 0).then(|| show::count(view.kept)),
        is_foreign: view.foreign > 0,
        runs_out: view.runs_out_at.is_some() && view.resets_at.is_some(),
        rows: rows(face, &drawn),
        others: others(visit, &view),
        limit: view.limit,
        endpoint: view.endpoint,
    }))
}

fn others(visit: &Visit, view: &BurnView) -> Vec<(String, String)> {
    let shown = (&view.limit, &view.endpoint);
    let others = view.limits.iter().filter(|(limit, endpoint)| (limit, endpoint) != shown);
    let other = |(limit, endpoint): &(String, Option<String>)| {
        let query = tail(visit, &[("limit", Some(limit)), ("endpoint", endpoint.as_deref())]);
        let name = endpoint.as_ref().map_or_else(|| limit.clone(), |e| format!("{limit} {}", show::shorten(e, 60)));
        (name, format!("{query}#burn"))
    };
    others.map(other).collect()
}

fn sentence(face: &Face, view: &BurnView) -> String {
    let pace =
        texts::t("burn-at-the-pace-of").with("span", show::span(view.looked_at_seconds.0.as_secs().max(1))).plain();
    let nothing = match view.kept {
        0 => texts::t("burn-nothing-is-left").plain(),
        kept => texts::t("burn-nothing-but-the-kept").with("kept", show::count(kept)).plain(),
    };
    let resets = view.resets_at.map(|at| face.clock(at));
    match (view.runs_out_at, resets) {
        (Some(at), Some(resets)) if at <= view.now => {
            texts::t("burn-now-it-resets-at").with("nothing", &nothing).with("resets", &resets).plain()
        }
        (Some(at), None) if at <= view.now => texts::t("burn-now-units-come-back").with("nothing", &nothing).plain(),
        (Some(at), Some(resets)) => texts::t("burn-from-it-resets-at")
            .with("pace", &pace)
            .with("nothing", &nothing)
            .with("at", face.clock(at))
            .with("resets", &resets)
            .plain(),
        (Some(at), None) => texts::t("burn-at-units-come-back")
            .with("pace", &pace)
            .with("nothing", &nothing)
            .with("at", face.clock(at))
            .plain(),
        (None, Some(resets)) => texts::t("burn-it-lasts-to-spare")
            .with("pace", &pace)
            .with("spare", show::count(view.spare))
            .with("resets", &resets)
            .plain(),
        (None, None) => {
            texts::t("burn-it-lasts-never-fewer").with("pace", &pace).with("spare", show::count(view.spare)).plain()
        }
    }
}

/// The moments that the plot names, and now.
fn rows(face: &Face, drawn: &burn::Burn<'_>) -> Vec<Row> {
    let named = ticks::times(drawn.from, drawn.until, &face.axis(), 10).into_iter().map(|tick| tick.at);
    let mut moments: Vec<Wall> = named.chain([drawn.from, drawn.now, drawn.until]).collect();
    moments.sort_unstable();
    moments.dedup();
    let told = |left: Option<f64>| left.map_or_else(|| "—".to_owned(), |left| show::count(left.round() as u64));
    let row = |at: Wall| {
        let is_ahead = at > drawn.now;
        let left = burn::level(if is_ahead { drawn.projected } else { drawn.actual }, at);
        Row { at: face.moment(When(at)), planned: told(burn::level(drawn.planned, at)), left: told(left), is_ahead }
    };
    moments.into_iter().map(row).collect()
}
