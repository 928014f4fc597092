//! The page for people where something was refused: what happened, when it changes, where to go on.

use super::door::Who;
use super::reader::Reader;
use super::show::{self, Chip, Face, Moment};
use super::{Frame, html};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use crate::web::texts;
use askama::Template;
use axum::http::{StatusCode, Uri};
use axum::response::Response;

/// Characters of what is said of it: an address of any length may be in it.
const LONGEST: usize = 1_000;

#[derive(Template)]
#[template(path = "error.html")]
struct Page {
    frame: Frame,
    status: u16,
    title: &'static str,
    detail: String,
    state: Option<Chip>,
    not_before: Option<Moment>,
    /// Seconds, where no moment is known.
    wait: Option<u64>,
    /// The page that the form was on, relative.
    back: Option<String>,
    request: String,
}

pub fn page(web: &WebState, asked: &Uri, reader: &Reader, problem: &Problem, request: &str) -> Response {
    let face = Face::of(web, reader);
    let not_before = face.maybe(problem.not_before);
    let mut frame = Frame::plain(web, &face, asked.path());
    // Who asked is not known here, and may be signed in: only where nobody is, the head leads to the sign-in.
    if problem.kind.status() != StatusCode::UNAUTHORIZED {
        frame.who = Who::unknown();
    }
    let page = Page {
        frame,
        status: problem.kind.status().as_u16(),
        title: problem.kind.title(),
        detail: show::shorten(&problem.detail, LONGEST),
        state: problem.state.map(Chip::of),
        wait: problem.retry_after_s.filter(|_| not_before.is_none()),
        not_before,
        back: back(asked).filter(|_| !matches!(problem.kind, Kind::UnknownHost)),
        request: request.to_owned(),
    };
    html(problem.kind.status(), &page)
}

/// Where the form of this address was: `/c/yard/t/x/refresh` came from `/c/yard/t/x`.
fn back(asked: &Uri) -> Option<String> {
    let mut segments = asked.path().trim_start_matches('/').split('/');
    let root = super::root_of(asked.path());
    let page = match (segments.next(), segments.next(), segments.next(), segments.next(), segments.next()) {
        (Some("c"), Some(c), Some("t"), Some(t), Some("refresh")) => format!("{root}c/{c}/t/{t}"),
        (Some("c"), Some(c), Some("controls"), ..) => format!("{root}c/{c}/controls"),
        (Some("c"), Some(c), Some("polling" | "commands" | "webhooks"), ..) => format!("{root}c/{c}"),
        (Some("polling"), None, ..) => format!("{root}polling"),
        (Some(front @ ("sign-in" | "claim")), None, ..) => format!("{root}{front}"),
        (Some("settings"), Some(page @ ("operators" | "tokens")), ..) => format!("{root}settings/{page}"),
        (Some("settings"), Some("password"), ..) => format!("{root}settings/operators"),
        _ => return None,
    };
    Some(asked.query().map_or_else(|| page.clone(), |query| format!("{page}?{query}")))
}
