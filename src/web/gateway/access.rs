//! Who stands before the gateway. An unmodified client puts Larder's token where the provider's key would go; that place is read here, and
//! nothing of it goes further. Who is signed in with a browser is nobody here. On loopback reading is open, as other reading is, but not to the pages of other sites: each may spend.

use crate::domain::ids::{ConnectionKey, Organization};
use crate::domain::spec::Carrier;
use crate::engine::gateway::Entrance;
use crate::web::WebState;
use crate::web::access::guard::{came_from, check_host, check_origin, check_rate, look_up};
use crate::web::access::limits::Change;
use crate::web::access::{Intent, Listener, Shown, Viewer, decide, decode_base64};
use crate::web::errors::{Kind, Problem};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Method, Request, header};
use std::net::IpAddr;

/// Every token of Larder's begins so; anything else in its place is what the client takes for the provider's key.
const OURS: &str = "larder_";

/// A client, and what it showed.
pub(super) struct Caller {
    listener: Listener,
    peer: Option<IpAddr>,
    shown: Shown,
    /// The token came by `Basic`: the one scheme that browsers send by themselves, whoever's page made them ask.
    is_by_basic: bool,
    headers_are_foreign: Result<(), Problem>,
}

impl Caller {
    /// By its `Authorization`; and the organization that it asks in.
    pub fn of(
        web: &WebState,
        request: &Request<Body>,
        peer: Option<IpAddr>,
    ) -> Result<(Caller, Organization), Problem> {
        let headers = request.headers();
        let came = came_from(web, peer, headers)?;
        let (listener, peer) = (came.listener, came.peer);
        let shown = match authorization(headers) {
            Some(token) if listener != Listener::Local => look_up(web, peer, &token)?,
            _ => Shown::Nothing,
        };
        let is_by_basic = matches!(shown, Shown::Token(_)) && is_basic(headers);
        let headers_are_foreign = check_origin(listener, headers);
        let caller = Caller { listener, peer, shown, is_by_basic, headers_are_foreign };
        let organization = caller.organization();
        Ok((caller, organization))
    }

    fn organization(&self) -> Organization {
        match &self.shown {
            Shown::Token(token) => Viewer::from_token(token).home(),
            Shown::Nothing | Shown::Refused | Shown::Operator { .. } => Organization::default(),
        }
    }

    /// It showed no token: its rights are those of its socket, and no revocation ends them.
    pub fn is_unknown(&self) -> bool {
        matches!(self.shown, Shown::Nothing)
    }

    /// By the place that a connection's own credential has, where `Authorization` said nothing; and by the name that it asked for. A token counts
    /// in the place of the connection that it is for, of its own organization: nothing is left out of any other place.
    /// Returns the connection that is asked.
    pub fn at_a_place(
        mut self,
        web: &WebState,
        request: &Request<Body>,
        (organization, name): (&Organization, &str),
        raw: &str,
    ) -> Result<(Caller, Option<Entrance>), Problem> {
        let mut asked = web.shelf().entrance(organization, name);
        if matches!(self.shown, Shown::Nothing) && self.listener != Listener::Local {
            let mut known: Option<(String, Shown)> = None;
            for entrance in web.shelf().entrances(name) {
                let Some(token) = in_place_of(entrance.carrier(), request.headers(), raw) else { continue };
                let shown = match known.take().filter(|(text, _)| *text == token) {
                    Some((_, shown)) => shown,
                    None => look_up(web, self.peer, &token)?,
                };
                if matches!(&shown, Shown::Token(of) if Viewer::from_token(of).home() == entrance.key().organization) {
                    (self.shown, asked) = (shown, Some(entrance));
                    break;
                }
                if asked.as_ref().is_some_and(|asked| asked.key() == entrance.key()) {
                    self.shown = shown.clone();
                }
                known = Some((token, shown));
            }
        }
        check_host(web, self.listener, &self.shown, request.headers())?;
        Ok((self, asked))
    }

    /// A reader's right is enough. `key`: of a connection that is there.
    pub fn may_read(&self, key: Option<&ConnectionKey>) -> Result<(), Problem> {
        self.may(Intent::Read, key).map(|_| ()).map_err(|problem| self.dressed(problem))
    }

    /// The right of commands, on every listener. Returns who it is, for the log. A link or a picture on a foreign page makes a browser send
    /// a GET with the token that it remembers for `Basic`, and over plain HTTP nothing in the request tells of that page: such a GET writes
    /// nothing. (With other methods browsers say the `Origin`.)
    pub fn may_write(&self, web: &WebState, key: &ConnectionKey, method: &Method) -> Result<String, Problem> {
        let viewer = self.may(Intent::Change, Some(key)).map_err(|problem| self.dressed(problem))?;
        if self.is_by_basic && method.is_safe() {
            let detail = format!(
                "A {method} that changes something takes no token by Basic: a page of another site could have a browser send it. Send the \
                 token as `Authorization: Bearer`, or where the connection's own credential goes. Nothing was sent."
            );
            return Err(Problem::new(Kind::Forbidden, detail));
        }
        check_rate(web, &viewer, Change::Other)?;
        Ok(viewer.by().to_owned())
    }

    fn may(&self, intent: Intent, key: Option<&ConnectionKey>) -> Result<Viewer, Problem> {
        self.headers_are_foreign.clone()?;
        let viewer = decide(self.listener, intent, &self.shown)?;
        let Some(key) = key else { return Ok(viewer) };
        let may = match intent {
            Intent::Read => viewer.may_read(&key.organization),
            Intent::Change | Intent::Push => viewer.may_change(&key.organization),
        };
        let detail = || format!("This token does not belong to the organization {}.", key.organization);
        if may { Ok(viewer) } else { Err(Problem::new(Kind::Forbidden, detail())) }
    }

    fn dressed(&self, problem: Problem) -> Problem {
        if problem.kind != Kind::TokenNeeded {
            return problem;
        }
        let detail = "The gateway needs a token of Larder's here: put one from `larder token create` where the client has the \
                      provider's key.";
        Problem { ask: self.listener == Listener::Network, ..Problem::new(Kind::TokenNeeded, detail) }
    }

    /// What must not leave: credentials, and sessions of this site.
    pub fn leave_out(&self, headers: &mut HeaderMap, carrier: &Carrier) {
        headers.remove(header::AUTHORIZATION);
        headers.remove(header::PROXY_AUTHORIZATION);
        headers.remove(header::COOKIE);
        if let Carrier::Header { name, .. } = carrier
            && let Ok(name) = HeaderName::try_from(name.as_str())
        {
            headers.remove(name);
        }
    }
}

/// A token of Larder's in `Authorization`: behind any scheme or none, or as user or password of `Basic`.
fn authorization(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let (_, rest) = value.split_once(' ').unwrap_or(("", value));
    if is_basic(headers) {
        let text = String::from_utf8(decode_base64(rest.trim())?).ok()?;
        let (user, password) = text.split_once(':').unwrap_or((&text, ""));
        return [password, user].into_iter().find_map(ours);
    }
    ours(rest)
}

fn is_basic(headers: &HeaderMap) -> bool {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::trim);
    value.and_then(|value| value.split_once(' ')).is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
}

fn in_place_of(carrier: &Carrier, headers: &HeaderMap, raw: &str) -> Option<String> {
    match carrier {
        Carrier::Header { name, scheme } => in_header(headers, name, scheme.as_deref()),
        Carrier::Query { name } => in_query(raw, name),
        Carrier::None | Carrier::Basic { .. } => None,
    }
}

fn in_header(headers: &HeaderMap, name: &str, scheme: Option<&str>) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    ours(scheme.and_then(|scheme| value.strip_prefix(scheme)).unwrap_or(value))
}

fn in_query(raw: &str, name: &str) -> Option<String> {
    let (_, query) = raw.split_once('?')?;
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.filter(|(n, _)| n == name).find_map(|(_, value)| ours(&value))
}

fn ours(text: &str) -> Option<String> {
    let text = text.trim();
    text.starts_with(OURS).then(|| text.to_owned())
}
