//! `/c/{connection}/t/{target}`: the items of one target, how old they are, and what happened to them. On a stale answer it
//! hedges: it says what was last seen and when, not what is (I7).

use super::banner::{Banner, banner};
use super::history::{History, history, tail};
use super::show::{self, Age, Chip, Face, Moment, Shown};
use super::snippets::{Snippets, snippets};
use super::{Action, Frame, Visit, html, segment, with_age};
use crate::domain::cursor::{Edge, Filling, ItemsAsk};
use crate::domain::ids::{TargetKey, TargetName};
use crate::domain::state::State as Word;
use crate::engine::flat::MOST_ITEMS;
use crate::engine::view::{ConnectionView, ItemView, ScanView, TargetView};
use crate::engine::words::UNDATED;
use crate::web::WebState;
use crate::web::access::proxy::Came;
use crate::web::errors::Problem;
use crate::web::texts::{self, Text};
use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

/// Items on one page.
const ITEMS: usize = 25;
/// The longest key that an address leads to.
const LONGEST_STEP: usize = 1_000;
/// Removed items in the fold.
const REMOVED: usize = 40;
/// Items that the banner names.
const HEDGED: usize = 3;

#[derive(Template)]
#[template(path = "target.html")]
struct Page {
    frame: Frame,
    connection: String,
    connection_href: String,
    name: String,
    chip: Chip,
    /// The age stands by itself, so that it can grow.
    banner: Banner,
    /// There is nothing to say but the age.
    is_plain: bool,
    available: bool,
    /// When it is so no more.
    expires: Option<Moment>,
    is_fresh: bool,
    hedges: Vec<Hedge>,
    said: Option<String>,
    stale_since: Option<Moment>,
    as_of: Option<Moment>,
    age: Option<Age>,
    /// By the provider's own time: the answer is younger.
    is_dated: bool,
    undated: Option<&'static str>,
    changed: Option<Moment>,
    attempted: Option<Moment>,
    fresh_for: String,
    count: String,
    items: Vec<Item>,
    pages: Option<Pages>,
    removed: Vec<Item>,
    history: History,
    refresh: Action,
    phase: Standing,
    cost: String,
    scan: Option<Scan>,
    /// The scan that brings its items, and when its newest reading began.
    fed_by: Option<(String, Option<Moment>)>,
    /// Who pushed its answer, and when it came.
    pushed: Option<(String, Moment)>,
    next_poll: Option<Moment>,
    snippets: Option<Snippets>,
}

/// What was last seen of something that moves: `Water was last seen running at 07:14`.
struct Hedge {
    title: String,
    state: String,
    at: Moment,
}

struct Item {
    title: String,
    key: String,
    state: Option<String>,
    /// It is in a state that ends by itself: something is going on.
    active: bool,
    /// Its countdown has ended since the answer: what was seen, and until when it was to last.
    assumed: Option<(String, Moment)>,
    fields: Vec<(String, Shown)>,
    changed: Moment,
    /// The provider's own time of the reading.
    observed: Option<Moment>,
    first_seen: Moment,
    last_seen: Moment,
    removed: Option<Moment>,
}

/// In which phase it is, and what an operator can do about it.
struct Standing {
    word: &'static str,
    since: Option<Moment>,
    by: Option<String>,
    why: Option<String>,
    others: Vec<(&'static str, Text)>,
    change: Action,
    /// Only what was put is taken away here.
    remove: Option<Action>,
}

/// Where this page stands in a long list.
struct Pages {
    sentence: String,
    /// To the first ones, to those before these, and to those behind them.
    first: Option<String>,
    back: Option<String>,
    on: Option<String>,
    /// In the form that leads to a key.
    from: String,
}

pub async fn page(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    came: Option<Extension<Came>>,
    headers: HeaderMap,
    visit: Visit,
) -> Result<Response, Problem> {
    let now = web.shelf().now().wall();
    let face = visit.face(&web);
    let key = TargetKey { connection: visit.connection(&connection), target: TargetName(target) };
    let owner = web.shelf().connection(&key.connection)?;
    let from = edge(&visit)?;
    let ask = ItemsAsk { from: from.clone(), filling: Filling::Present, limit: ITEMS };
    let view = web.shelf().target(&key, &ask)?;
    let frame = visit.frame(&web, &face, Some(&connection));
    let history = history(&web, &visit, &face, &frame.root, &key)?;
    // Other programs are told of what the flat document has, whichever page of the items is looked at.
    let is_page = view.item_count <= MOST_ITEMS && (from != Edge::First || view.next.is_some());
    let few = ItemsAsk { filling: Filling::Present, limit: MOST_ITEMS as usize, ..ItemsAsk::default() };
    let told = if is_page { Some(web.shelf().target(&key, &few)?) } else { None };
    let told = told.as_ref().unwrap_or(&view);
    let snippets = came.map(|Extension(came)| snippets((&web, &visit), (&headers, &came), &owner, told));
    let built = build(&web, &visit, &face, frame, &owner, &view, (history, snippets));
    let page = Page { pages: pages(&visit, &from, &view), ..built };
    Ok(with_age(html(StatusCode::OK, &page), &view, now))
}

fn build(
    web: &WebState,
    visit: &Visit,
    face: &Face,
    frame: Frame,
    owner: &ConnectionView,
    view: &TargetView,
    (history, snippets): (History, Option<Snippets>),
) -> Page {
    let present = view.items.iter().filter(|i| i.removed_at.is_none());
    let removed = view.items.iter().filter(|i| i.removed_at.is_some());
    let address = format!("c/{}/t/{}/refresh", segment(&owner.name), segment(&view.name));
    Page {
        connection: owner.name.clone(),
        connection_href: format!("../../{}{}", segment(&owner.name), visit.suffix()),
        name: view.name.clone(),
        chip: Chip::turning(view.state, &view.turns),
        banner: banner(face, visit, &frame.root, &owner.name, &view.banner),
        is_plain: view.reason.is_empty(),
        available: view.available,
        expires: face.maybe(view.expires_at),
        is_fresh: matches!(view.state, Word::Fresh | Word::Ageing | Word::Never),
        hedges: hedges(face, view),
        said: view.stale.as_ref().and_then(|s| s.said.clone()),
        stale_since: view.stale.as_ref().map(|s| face.moment(s.since)),
        as_of: face.maybe(view.as_of),
        age: view.aged_since.map(|at| Age::since(face, at)),
        is_dated: view.reading_age_seconds.is_some(),
        undated: view.is_undated.then_some(UNDATED),
        changed: face.maybe(view.changed_at),
        attempted: face.maybe(view.attempted_at),
        fresh_for: show::exact(view.fresh_for_seconds),
        count: show::count(view.item_count),
        items: present.map(|i| item(face, i)).collect(),
        pages: None,
        removed: removed.take(REMOVED).map(|i| item(face, i)).collect(),
        history,
        refresh: visit.action(web, &frame.root, &address),
        phase: standing(web, visit, face, &frame.root, owner, view),
        cost: cost(owner, view),
        scan: view.scan.as_ref().map(|s| scan(face, s)),
        fed_by: view.fed_by.as_ref().map(|fed| (fed.scan.clone(), face.maybe(fed.as_of))),
        pushed: view.pushed.as_ref().map(|one| (one.by.clone(), face.moment(one.received_at))),
        next_poll: face.maybe(owner.poll.next_poll_at),
        snippets,
        frame,
    }
}

fn standing(
    web: &WebState,
    visit: &Visit,
    face: &Face,
    root: &str,
    owner: &ConnectionView,
    view: &TargetView,
) -> Standing {
    let at = |what: &str| format!("c/{}/t/{}/{what}", segment(&owner.name), segment(&view.name));
    let others = [
        ("active", texts::t("target-to-active")),
        ("pending", texts::t("target-to-pending")),
        ("completed", texts::t("target-to-completed")),
        ("stopped", texts::t("target-to-stopped")),
    ];
    Standing {
        word: view.phase,
        since: face.maybe(view.phase_since),
        by: view.phase_by.clone(),
        why: view.phase_why.clone(),
        others: others.into_iter().filter(|(word, _)| *word != view.phase).collect(),
        change: visit.action(web, root, &at("phase")),
        remove: (view.origin == "put").then(|| visit.action(web, root, &at("remove"))),
    }
}

/// The items that were seen in a state that ends by itself, if the answer is too old to say that they still are.
fn hedges(face: &Face, view: &TargetView) -> Vec<Hedge> {
    let Some(as_of) = view.as_of.filter(|_| !view.fresh) else { return Vec::new() };
    let moving = view.items.iter().filter(|i| i.removed_at.is_none()).filter_map(|i| {
        let decay = i.decays.as_ref()?;
        Some(Hedge {
            title: show::shorten(&i.title, 80),
            state: show::state(&decay.seen),
            at: face.moment(i.observed_at.unwrap_or(as_of)),
        })
    });
    moving.take(HEDGED).collect()
}

/// Which part of the list is asked for.
fn edge(visit: &Visit) -> Result<Edge, Problem> {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let query = &visit.query;
    match (said(&query.from), said(&query.behind), said(&query.until)) {
        (None, None, None) => Ok(Edge::First),
        (Some(from), None, None) => Ok(Edge::From(from)),
        (None, Some(behind), None) => Ok(Edge::After(behind)),
        (None, None, Some(until)) => Ok(Edge::Before(until)),
        _ => Err(Problem::bad_request("One of \"from\", \"behind\" and \"until\" says which items are shown.")),
    }
}

/// `None`: all of them are on this page. A key that is too long for an address leads nowhere.
fn pages(visit: &Visit, from: &Edge, view: &TargetView) -> Option<Pages> {
    if *from == Edge::First && view.next.is_none() {
        return None;
    }
    let link = |name: &str, key: Option<&str>| {
        let key = key.filter(|key| key.len() <= LONGEST_STEP)?;
        Some(format!("{}#items", tail(visit, &[(name, Some(key))])))
    };
    let (first, last) = (view.items.first().map(|i| i.key.as_str()), view.items.last().map(|i| i.key.as_str()));
    let is_back = matches!(from, Edge::Before(_));
    // Whoever came from behind came from somewhere; and whoever began at a key has something before it, as far as is known.
    let (before, behind) = match from {
        Edge::Before(edge) => (view.next.as_ref().and(first), Some(edge.as_str())),
        Edge::From(edge) | Edge::After(edge) => (first.or(Some(edge)), view.next.as_deref()),
        Edge::First => (None, view.next.as_deref()),
    };
    let shown = view.items.iter().filter(|i| i.removed_at.is_none()).count();
    let (some, all) = (show::count(shown as u64), show::count(view.item_count));
    let sentence = match first.zip(last) {
        Some((first, last)) => texts::t("target-of-in-order")
            .with("shown", some)
            .with("all", all)
            .with("first", show::shorten(first, 60))
            .with("last", show::shorten(last, 60)),
        None => texts::t("target-of").with("shown", some).with("all", all),
    };
    Some(Pages {
        sentence: sentence.plain(),
        first: (*from != Edge::First).then(|| format!("{}#items", tail(visit, &[]))),
        back: link("until", before),
        on: match is_back {
            true => link("from", behind),
            false => link("behind", behind),
        },
        from: visit.query.from.clone().unwrap_or_default(),
    })
}

fn item(face: &Face, item: &ItemView) -> Item {
    let running = item.decays.as_ref().is_some_and(|d| item.state.as_deref() == Some(d.seen.as_str()));
    Item {
        title: show::shorten(&item.title, 120),
        key: show::shorten(&item.key, 60),
        state: item.state.as_deref().map(show::state),
        active: running,
        assumed: item.decays.as_ref().filter(|_| !running).map(|d| (show::state(&d.seen), face.moment(d.ends_at))),
        fields: item.fields.iter().map(|(n, v)| (show::label(n), show::field(face, v))).collect(),
        changed: face.moment(item.changed_at),
        observed: face.maybe(item.observed_at),
        first_seen: face.moment(item.first_seen_at),
        last_seen: face.moment(item.last_seen_at),
        removed: face.maybe(item.removed_at),
    }
}

/// What a refresh takes, said before it is asked for. The kept units are named only where one limit keeps any: with more it
/// depends on the endpoint, which the engine decides.
fn cost(owner: &ConnectionView, view: &TargetView) -> String {
    let kept: Vec<u64> = owner.budget.iter().map(|b| b.kept).filter(|k| *k > 0).collect();
    let free = owner.budget.iter().map(|b| b.remaining).min();
    let asked = match (view.refresh.requests, view.refresh.units_each) {
        (1, 1) => texts::t("target-1-request").plain(),
        (1, units) => texts::t("target-1-request-of-units").with("units", show::count(units)).plain(),
        (requests, 1) => texts::t("target-about-requests-one-for").with("requests", show::count(requests)).plain(),
        (requests, units) => {
            let all = requests.saturating_mul(units);
            texts::t("target-about-requests-one-for-each")
                .with("requests", show::count(requests))
                .with("all", show::count(all))
                .plain()
        }
    };
    match (kept.as_slice(), free) {
        (_, Some(0)) => texts::t("target-none-is-left-now").with("asked", &asked).plain(),
        ([kept], _) => texts::t("target-of-the-kept").with("asked", &asked).with("kept", kept).plain(),
        (_, Some(free)) => texts::t("target-of-left").with("asked", &asked).with("free", show::count(free)).plain(),
        (_, None) => asked,
    }
}

/// How the last reading of the pages went.
struct Scan {
    is_complete: bool,
    sentence: String,
    at: Moment,
}

fn scan(face: &Face, scan: &ScanView) -> Scan {
    let sentence = match &scan.reason {
        None => {
            texts::t("target-read-completely").with("pages", show::counted(scan.pages.into(), show::Noun::Page)).plain()
        }
        Some(why) => {
            let of = scan.of.map_or_else(|| "?".to_owned(), show::count);
            texts::t("target-incomplete-of-pages-because")
                .with("pages", show::count(scan.pages.into()))
                .with("of", &of)
                .with("why", why)
                .plain()
        }
    };
    Scan { is_complete: scan.complete, sentence, at: face.moment(scan.at) }
}
