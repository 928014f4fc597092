//! What the forms of the pages do. Each ends on the page it came from (303) or on a page that says why not. The guard has judged
//! token, origin and form before these run.

use super::reader::Reader;
use super::{Asked, Visit, segment};
use crate::domain::ids::{ConnectionKey, ConnectionName, Organization, TargetKey, TargetName};
use crate::engine::controls::Controls;
use crate::engine::view::Denied;
use crate::web::WebState;
use crate::web::access::Viewer;
use crate::web::access::forms::Form;
use crate::web::access::guard::{Bound, told_by};
use crate::web::api::sentence;
use crate::web::errors::{Kind, Problem};
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

/// A form: who sent it, from a page of which organization, and what was in it. A page of any organization but `default` names it in the
/// form's address: the token's own organization must not be meant, it may have a connection of the same name.
pub struct Sent {
    pub viewer: Viewer,
    pub organization: Organization,
    pub form: Form,
    pub reader: Reader,
    bound: Bound,
    by: String,
}

impl FromRequestParts<WebState> for Sent {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, web: &WebState) -> Result<Self, Problem> {
        let Asked(query) = Asked::<super::Query>::from_request_parts(parts, web).await?;
        // Neither of them means that no guard stood before this route: refuse.
        let let_in = parts.extensions.get::<Viewer>().cloned().zip(parts.extensions.get::<Form>().cloned());
        let (viewer, form) = let_in.ok_or_else(|| Problem::new(Kind::TokenNeeded, "This form needs a token."))?;
        let by = told_by(parts, &viewer, "page");
        let bound = parts.extensions.get::<Bound>().cloned().unwrap_or_default();
        Ok(Sent { viewer, organization: query.organization(), form, reader: Reader::of(&parts.headers), bound, by })
    }
}

impl Sent {
    /// The connection whose page the form was on, if its sender may change anything there.
    pub fn connection(&self, connection: String) -> Result<ConnectionKey, Problem> {
        let organization = self.organization.clone();
        if !self.viewer.may_change(&organization) {
            let detail = format!("This token may change nothing in the organization {organization}.");
            return Err(Problem::new(Kind::Forbidden, detail));
        }
        Ok(ConnectionKey { organization, connection: ConnectionName(connection) })
    }

    pub fn target(&self, connection: String, target: String) -> Result<TargetKey, Problem> {
        Ok(TargetKey { connection: self.connection(connection)?, target: TargetName(target) })
    }

    /// The page that the form was on, for one that comes back.
    pub fn visit(&self, path: &str) -> Visit {
        let (viewer, organization, reader) = (self.viewer.clone(), self.organization.clone(), self.reader.clone());
        let (path, wanted, query, bound) =
            (path.to_owned(), path.to_owned(), super::Query::default(), self.bound.clone());
        Visit { viewer, organization, path, wanted, query, reader, bound }
    }

    /// Who did it and from where, for the book.
    pub fn by(&self) -> &str {
        &self.by
    }
}

/// `on=true|false`; `on=clear` gives the word back to the file.
pub async fn polling(
    State(web): State<WebState>,
    Path(connection): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    let on = match sent.form.get("on") {
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some("clear") => None,
        _ => return Err(Problem::bad_request("The form does not say whether to pause or to resume.")),
    };
    web.shelf().change(&key, Controls::enabled(on), sent.by()).await?;
    Ok(back(&format!("../{}", segment(key.connection.as_str())), &key.organization, ""))
}

/// The fields of a `PATCH` of the API, of which blank ones keep; or `clear`, which names one that the file decides again.
pub async fn controls(
    State(web): State<WebState>,
    Path(connection): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    let wanted = match sent.form.get("clear") {
        Some(cleared) => Map::from_iter([(cleared.to_owned(), Value::Null)]),
        None => super::controls::wanted(|name| sent.form.get(name)),
    };
    let wanted = Controls::read(&wanted).map_err(|why| Problem::new(Kind::Invalid, sentence(&why)))?;
    web.shelf().change(&key, wanted, sent.by()).await?;
    Ok(back("controls", &key.organization, ""))
}

pub async fn command(
    State(web): State<WebState>,
    Path((connection, command)): Path<(String, String)>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    let once = sent.form.get("once").map(str::to_owned);
    // Parameters have a prefix of their own, so that none can be mistaken for a field of ours.
    let parameters =
        sent.form.0.iter().filter_map(|(k, v)| Some((k.strip_prefix("p.")?.to_owned(), v.trim().to_owned())));
    let job = web.shelf().command(&key, &command, parameters.collect(), once, sent.by()).await;
    match job {
        Ok(_) => Ok(back(&format!("../../{}", segment(key.connection.as_str())), &key.organization, "#jobs")),
        Err(Denied::KeyReused(_)) => {
            let detail = "This form was sent before, with other values. Load the page again and fill it in anew; nothing was done twice.";
            Err(Problem::new(Kind::KeyReused, detail))
        }
        Err(denied) => Err(denied.into()),
    }
}

pub async fn refresh(
    State(web): State<WebState>,
    Path((connection, target)): Path<(String, String)>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.target(connection, target)?;
    match web.shelf().refresh(&key, sent.by()).await {
        Ok(_) => Ok(back(&format!("../{}", segment(key.target.as_str())), &key.connection.organization, "")),
        Err(denied) => Err(not_asked(&web, &key.connection, denied)),
    }
}

/// Asks about the target that the page named: the cheapest.
pub async fn probe(
    State(web): State<WebState>,
    Path(connection): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let key = sent.connection(connection)?;
    match web.shelf().probe(&key, sent.form.get("target"), sent.by()).await {
        Ok(_) => Ok(back(&format!("../{}", segment(key.connection.as_str())), &key.organization, "#activity")),
        Err(denied) => Err(not_asked(&web, &key, denied)),
    }
}

/// Why the provider was not asked, beside the state that the connection is in.
fn not_asked(web: &WebState, key: &ConnectionKey, denied: Denied) -> Problem {
    Problem::from(denied).in_state(web.shelf().connection(key).ok().map(|c| c.state))
}

/// 303, to an address relative to the form's own.
pub(super) fn back(address: &str, organization: &Organization, fragment: &str) -> Response {
    let location = format!("{address}{}{fragment}", super::suffix(organization));
    match HeaderValue::from_str(&location) {
        Ok(value) => (StatusCode::SEE_OTHER, [(header::LOCATION, value)]).into_response(),
        Err(_) => Problem::new(Kind::Internal, "It was done, but the page cannot be found again.").into_response(),
    }
}
