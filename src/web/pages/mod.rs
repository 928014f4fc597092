//! The pages: read models in, HTML out. Every page is complete without JavaScript; every number carries its age. Times are shown
//! in the zone of this machine. Must not know how a view came about.

pub mod actions;
pub mod activity;
mod ahead;
pub mod backups;
mod banner;
mod burn;
pub mod connection;
pub mod controls;
mod counted;
pub mod credential;
mod direction;
pub mod door;
pub mod error;
mod headline;
pub mod history;
mod lately;
mod latency;
pub mod overview;
pub mod plan;
pub mod polling;
pub mod reader;
pub mod reference;
mod saved;
mod scans;
pub mod series;
pub mod settings;
pub mod setup;
pub mod show;
mod snippets;
pub mod spend;
mod stood;
pub mod target;
pub mod targets;
pub mod usage;
pub mod webhooks;

use super::WebState;
use super::access::Viewer;
use super::access::guard::Bound;
use super::api::scope;
use super::errors::{Kind, Problem};
use super::texts::{self, Text};
use super::{assets, build, headers, live};
use crate::domain::ids::{ConnectionKey, ConnectionName, Organization};
use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use reader::Reader;
use serde::de::DeserializeOwned;
use show::Face;

/// What the frame around every page needs.
pub struct Frame {
    /// From this page to the root of the site: empty, or `../` as often as needed. Links are relative, so that a proxy may put
    /// the whole site under a prefix.
    pub root: String,
    pub css: String,
    pub js: String,
    pub icon: String,
    /// `HH:MM` and zone of the moment this page was made.
    pub made_at: show::Moment,
    pub zone: String,
    /// The installation's zone by its name in the time zone database; empty where it has none.
    pub home_zone: String,
    /// What the installation's clock shows, where its reader's shows another time.
    pub at_home: Option<String>,
    /// The first segment of the page's path, for the navigation.
    pub here: String,
    /// Empty for the default organization, else `?organization=...`, for links.
    pub suffix: String,
    /// Who looks at it.
    pub who: door::Who,
    /// Which build made the page.
    pub build: &'static str,
    /// Where the page listens to what changes; empty: it does not.
    pub live: String,
    pub organization: Option<String>,
}

/// Who looks at which organization.
pub struct Visit {
    pub viewer: Viewer,
    pub organization: Organization,
    path: String,
    /// The path with its query.
    wanted: String,
    pub query: Query,
    reader: Reader,
    bound: Bound,
}

#[derive(Default, serde::Deserialize)]
pub struct Query {
    organization: Option<String>,
    /// Page of a long list of targets, from 1.
    pub page: Option<usize>,
    /// Of a long list of items: which are shown, by their keys: from this one on, those behind this one, or those before it.
    pub from: Option<String>,
    pub behind: Option<String>,
    pub until: Option<String>,
    /// Of a history: one item's, by its key; and where the page begins.
    pub item: Option<String>,
    pub before: Option<u64>,
    pub after: Option<u64>,
    /// The limit that is looked at, and the endpoint where each has a book of its own.
    pub limit: Option<String>,
    pub endpoint: Option<String>,
}

impl Query {
    /// The organization whose page it is of: `default` where none is named.
    pub(super) fn organization(&self) -> Organization {
        self.organization.as_deref().map_or_else(Organization::default, Organization::from)
    }
}

/// What a page of its own is asked for, beside what every page is.
pub struct Asked<Q>(pub Q);

impl<Q: DeserializeOwned> FromRequestParts<WebState> for Asked<Q> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &WebState) -> Result<Self, Problem> {
        let query = axum::extract::Query::<Q>::try_from_uri(&parts.uri);
        query.map(|query| Asked(query.0)).map_err(|_| Problem::bad_request("The address cannot be read."))
    }
}

impl FromRequestParts<WebState> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, web: &WebState) -> Result<Self, Problem> {
        let Asked(query) = Asked::<Query>::from_request_parts(parts, web).await?;
        let viewer = parts.extensions.get::<Viewer>().cloned();
        let viewer = viewer.ok_or_else(|| Problem::new(Kind::TokenNeeded, "This page needs a token."))?;
        let organization = scope(&viewer, query.organization.as_deref())?;
        let reader = Reader::of(&parts.headers);
        let bound = parts.extensions.get::<Bound>().cloned().unwrap_or_default();
        let wanted = parts.uri.path_and_query().map_or("/", |wanted| wanted.as_str()).to_owned();
        Ok(Visit { viewer, organization, path: parts.uri.path().to_owned(), wanted, query, reader, bound })
    }
}

impl Visit {
    pub fn connection(&self, name: &str) -> ConnectionKey {
        ConnectionKey { organization: self.organization.clone(), connection: ConnectionName(name.to_owned()) }
    }
    pub fn suffix(&self) -> String {
        suffix(&self.organization)
    }
    /// The same behind a query that there is.
    pub fn suffix_more(&self) -> String {
        self.suffix().replace('?', "&")
    }
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
    /// The same visitor, looking at an organization that the path names.
    pub fn of(self, organization: &str) -> Result<Visit, Problem> {
        let organization = scope(&self.viewer, Some(organization))?;
        Ok(Visit { organization, ..self })
    }
    /// This moment, as the visitor reads times.
    pub fn face(&self, web: &WebState) -> Face {
        Face::of(web, &self.reader)
    }
    /// The frame of this page, listening to the events of `connection` or of all.
    fn frame(&self, web: &WebState, face: &Face, connection: Option<&str>) -> Frame {
        let mut frame = Frame::plain(web, face, &self.path);
        frame.suffix = self.suffix();
        frame.who = door::Who::of(Some(&self.viewer), &frame.root, &self.wanted);
        let page = segment(&self.wanted);
        let mut live = format!("{}live?page={page}&build={}", frame.root, frame.build);
        if self.organization != Organization::default() {
            live.push_str(&format!("&organization={}", segment(self.organization.as_str())));
            frame.organization = Some(self.organization.0.clone());
        }
        if let Some(connection) = connection {
            live.push_str(&format!("&connection={}", segment(connection)));
        }
        frame.live = live;
        frame
    }
    /// What a form of this page needs. `address` is relative to the root and unencoded text is not allowed in it.
    fn action(&self, web: &WebState, root: &str, address: &str) -> Action {
        let now = web.shelf().now().steady;
        Action {
            action: format!("{root}{address}{}", self.suffix()),
            csrf: web.form_key().issue(&format!("/{address}"), &self.bound, now),
            once: web.form_key().issue(&format!("once {} {address}", web.next_request_id()), &self.bound, now),
            needs_token: !self.viewer.may_change(&self.organization),
            sign_in: door::sign_in_from(root, &self.wanted),
        }
    }
}

/// Where a form goes, with its hidden fields.
pub struct Action {
    pub action: String,
    pub csrf: String,
    /// Sent as the idempotency key: the form sent twice is one command.
    pub once: String,
    pub needs_token: bool,
    /// Where who has no token signs in.
    pub sign_in: String,
}

impl Frame {
    /// The pages of the whole site: address below the root, name, and whether this is it.
    fn site(&self) -> [(&'static str, Text, bool); 6] {
        let page = |address, name, first: &str| (address, name, self.here == first);
        [
            page("./", texts::t("site-overview"), ""),
            page("plan", texts::t("site-plan"), "plan"),
            page("spend", texts::t("site-spending"), "spend"),
            page("activity", texts::t("site-activity"), "activity"),
            page("settings", texts::t("site-settings"), "settings"),
            page("setup", texts::t("site-setup"), "setup"),
        ]
    }
    /// A frame without an organization and without events.
    fn plain(web: &WebState, face: &Face, path: &str) -> Frame {
        Frame {
            root: root_of(path),
            css: assets::address("app.css"),
            js: assets::address("app.js"),
            icon: assets::address("icon.svg"),
            made_at: face.moment(face.now()),
            zone: face.zone_name(),
            home_zone: web.zone().iana_name().unwrap_or_default().to_owned(),
            at_home: face.at_home(),
            here: path.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned(),
            suffix: String::new(),
            who: door::Who::of(None, &root_of(path), path),
            build: build::BUILD,
            live: String::new(),
            organization: None,
        }
    }
}

fn suffix(organization: &Organization) -> String {
    if *organization == Organization::default() {
        return String::new();
    }
    format!("?organization={}", segment(organization.as_str()))
}

/// No page lies deeper.
const DEEPEST: usize = 16;

/// `/c/yard` is one step below the root, `/c/yard/t/x` three. An address of slashes alone is told that there is nothing, and not at length.
fn root_of(path: &str) -> String {
    "../".repeat(path.bytes().filter(|b| *b == b'/').count().saturating_sub(1).min(DEEPEST))
}

/// One segment of a path, or one value of a query, percent-encoded (RFC 3986 unreserved characters stay).
pub fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A page as a response. Pages are never kept: an old page must not look current.
fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => {
            let text = live::parts::marked(&direction::straightened(text));
            let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
            (status, headers, text).into_response()
        }
        Err(e) => Problem::new(Kind::Internal, format!("The page cannot be drawn: {e}.")).into_response(),
    }
}

/// The page of a target carries the shelf's headers too (law 5), but is not validated: its forms are new each time.
fn with_age(
    mut response: Response,
    target: &crate::engine::view::TargetView,
    now: crate::domain::time::Wall,
) -> Response {
    let mut headers = headers::shelf_headers(target, now);
    headers.remove(header::ETAG);
    headers.remove(header::CACHE_CONTROL);
    response.headers_mut().extend(headers);
    response
}
