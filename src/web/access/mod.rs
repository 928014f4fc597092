//! Who may do what, over which listener (DESIGN "Access"): reading on loopback is open, changes need a token or a signed-in operator, and on any
//! other address everything does. The decisions are plain functions of what was presented; must not know what a page shows.

pub mod cookies;
pub mod forms;
pub mod front;
pub mod guard;
pub mod hosts;
pub mod limits;
pub mod proxy;

use super::errors::{Kind, Problem};
use super::headers;
use crate::domain::cursor::Audience;
use crate::domain::ids::Organization;
use crate::domain::operator::Digest;
use crate::domain::proxy::TrustedProxy;
use crate::engine::access::tokens::TokenInfo;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use std::net::SocketAddr;

/// Where a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// TCP on a loopback address: reading is open.
    Loopback,
    /// TCP on any other address, or a request that a proxy forwarded.
    Network,
    /// The unix socket beside the data file: whoever can open it is the operator.
    Local,
}

/// How one listener is guarded.
#[derive(Clone, Debug)]
pub struct Access {
    pub listener: Listener,
    /// Host names that a request may carry beside IP literals, `localhost`, `*.local` and `*.home.arpa`.
    pub hosts: Vec<String>,
    /// What this machine calls itself: a request may carry that too.
    pub own_name: Option<String>,
    /// Believed, where there is one.
    pub proxy: Option<TrustedProxy>,
    /// `Content-Security-Policy` of every answer.
    pub policy: HeaderValue,
}

impl Access {
    /// Access over TCP on `address`. The unspecified address is the network.
    pub fn tcp(address: SocketAddr, hosts: Vec<String>) -> Access {
        let listener = if address.ip().to_canonical().is_loopback() { Listener::Loopback } else { Listener::Network };
        Access { listener, hosts, ..Access::local() }
    }
    /// Access over the unix socket: full rights.
    pub fn local() -> Access {
        let policy = headers::policy(&[]);
        Access { listener: Listener::Local, hosts: Vec::new(), own_name: None, proxy: None, policy }
    }
    /// The name of the machine, as others on its network may ask for it.
    pub fn on_machine(self, name: Option<String>) -> Access {
        Access { own_name: name, ..self }
    }
    pub fn behind(self, proxy: Option<TrustedProxy>) -> Access {
        Access { proxy, ..self }
    }
    /// Which sites may show its pages inside their own, beside itself where the list is empty.
    pub fn framed_by(self, sources: &[String]) -> Access {
        Access { policy: headers::policy(sources), ..self }
    }
}

/// What a token's role allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads and changes everything.
    Admin,
    /// Reads and changes its own organization.
    Owner,
    /// Reads its own organization.
    Reader,
    /// Pushes observations to its own organization, and reads nothing.
    Agent,
    /// One that this version does not know: may do nothing.
    Unknown,
}

impl Role {
    pub fn from_word(word: &str) -> Role {
        match word {
            "admin" => Role::Admin,
            "owner" => Role::Owner,
            "reader" => Role::Reader,
            "agent" => Role::Agent,
            _ => Role::Unknown,
        }
    }
}

/// Who is looking, after the listener and the token were judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// Nobody said who they are, on a loopback address: may read.
    Passer,
    /// Over the unix socket.
    Local,
    /// Signed in. May do everything.
    Operator {
        name: String,
        means: Means,
    },
    Token {
        id: u64,
        name: String,
        role: Role,
        organization: Organization,
    },
}

/// How an operator shows who it is. Browsers send either along by themselves, whatever page made them ask: what changes something by it needs a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// A cookie; here the session's digest.
    Session(Digest),
    /// A trusted proxy has let the operator in.
    Proxy,
}

impl Viewer {
    pub fn from_token(token: &TokenInfo) -> Viewer {
        Viewer::Token {
            id: token.id,
            name: token.name.clone(),
            role: Role::from_word(&token.role),
            organization: token.organization.clone(),
        }
    }
    pub fn may_read(&self, organization: &Organization) -> bool {
        match self {
            Viewer::Passer | Viewer::Local | Viewer::Operator { .. } => true,
            Viewer::Token { role: Role::Admin, .. } => true,
            Viewer::Token { role: Role::Owner | Role::Reader, organization: own, .. } => own == organization,
            Viewer::Token { role: Role::Agent | Role::Unknown, .. } => false,
        }
    }
    pub fn may_change(&self, organization: &Organization) -> bool {
        match self {
            Viewer::Local | Viewer::Operator { .. } => true,
            Viewer::Token { role: Role::Admin, .. } => true,
            Viewer::Token { role: Role::Owner, organization: own, .. } => own == organization,
            Viewer::Passer | Viewer::Token { .. } => false,
        }
    }
    /// Who may push observations.
    pub fn may_push(&self, organization: &Organization) -> bool {
        match self {
            Viewer::Token { role: Role::Agent, organization: own, .. } => own == organization,
            other => other.may_change(organization),
        }
    }
    /// Tokens and backups concern the whole installation.
    pub fn may_administer(&self) -> bool {
        matches!(self, Viewer::Local | Viewer::Operator { .. } | Viewer::Token { role: Role::Admin, .. })
    }
    /// Who may read what is no single organization's: where the appliance listens, where its file lies, how much is read of it.
    pub fn sees_all(&self) -> bool {
        matches!(self, Viewer::Passer) || self.may_administer()
    }
    /// Which events are told: who came in, and who may, is for those who let others in.
    pub fn audience(&self) -> Audience {
        if self.may_administer() { Audience::Administrators } else { Audience::Readers }
    }
    /// The organization that is meant where a request names none: `default`, or their own for those who may not read that.
    pub fn home(&self) -> Organization {
        match self {
            Viewer::Token { role: Role::Admin, .. } => Organization::default(),
            Viewer::Token { organization, .. } => organization.clone(),
            _ => Organization::default(),
        }
    }
    /// The name that goes into the book for what this viewer changes.
    pub fn by(&self) -> &str {
        match self {
            Viewer::Passer => "nobody",
            Viewer::Local => "operator",
            Viewer::Operator { name, .. } | Viewer::Token { name, .. } => name,
        }
    }
    /// What local rates are counted by.
    pub fn rate_key(&self) -> RateKey {
        match self {
            Viewer::Passer | Viewer::Local => RateKey::Machine,
            Viewer::Operator { name, .. } => RateKey::Operator(name.clone()),
            Viewer::Token { id, .. } => RateKey::Token(*id),
        }
    }
    /// What the forms of a page are made out to, where the browser says by itself who looks at it: nobody else's form is sent in that one's name.
    pub fn binding(&self) -> String {
        match self {
            Viewer::Passer | Viewer::Local => String::new(),
            Viewer::Operator { means: Means::Session(digest), .. } => {
                format!("session {}", blake3::Hash::from(*digest))
            }
            Viewer::Operator { name, means: Means::Proxy } => format!("proxy {name}"),
            Viewer::Token { id, .. } => format!("token {id}"),
        }
    }
}

/// Whose changes are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RateKey {
    Machine,
    Operator(String),
    Token(u64),
}

/// What a request showed of itself.
#[derive(Clone, Debug)]
pub enum Shown {
    Nothing,
    /// A text that is no token, or a revoked one.
    Refused,
    Token(TokenInfo),
    /// By what a browser sends along by itself.
    Operator {
        name: String,
        means: Means,
    },
}

/// What a request wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    Read,
    Change,
    /// Pushing observations, which an agent may do too.
    Push,
}

impl Intent {
    pub fn of(method: &Method, path: &str) -> Intent {
        match path {
            _ if method.is_safe() => Intent::Read,
            OBSERVATIONS => Intent::Push,
            _ => Intent::Change,
        }
    }
}

/// Where observations are pushed.
pub const OBSERVATIONS: &str = "/api/v1/intake/observations";

/// The access table of DESIGN: listener, intent, token. Organizations are judged later, where one is named.
pub fn decide(listener: Listener, intent: Intent, shown: &Shown) -> Result<Viewer, Problem> {
    let viewer = match (listener, shown) {
        (Listener::Local, _) => return Ok(Viewer::Local),
        (_, Shown::Refused) => return Err(Problem::new(Kind::BadToken, BAD_TOKEN)),
        (Listener::Loopback, Shown::Nothing) if intent == Intent::Read => return Ok(Viewer::Passer),
        (_, Shown::Nothing) => return Err(Problem::new(Kind::TokenNeeded, needs_token(listener))),
        (_, Shown::Operator { name, means }) => {
            return Ok(Viewer::Operator { name: name.clone(), means: means.clone() });
        }
        (_, Shown::Token(token)) => Viewer::from_token(token),
    };
    match (intent, &viewer) {
        (_, Viewer::Token { role: Role::Admin | Role::Owner, .. }) => Ok(viewer),
        (Intent::Read, Viewer::Token { role: Role::Reader, .. }) => Ok(viewer),
        (Intent::Push, Viewer::Token { role: Role::Agent, .. }) => Ok(viewer),
        (Intent::Read, _) => Err(Problem::new(Kind::Forbidden, "This token may not read.")),
        (Intent::Push, _) => Err(Problem::new(
            Kind::Forbidden,
            "Observations are pushed with a token that has the role agent, owner or admin.",
        )),
        (Intent::Change, _) => {
            Err(Problem::new(Kind::Forbidden, "This token may read only. A change needs the role admin or owner."))
        }
    }
}

const BAD_TOKEN: &str =
    "This token is not known here, was revoked, or is over. `larder token list` shows the ones in force.";

fn needs_token(listener: Listener) -> &'static str {
    match listener {
        Listener::Network => {
            "From the network everything needs a sign-in or a token. People sign in with a browser; programs send a token as \
             `Authorization: Bearer`, or as the password of Basic. `larder token create` on the machine prints one."
        }
        _ => {
            "A change needs a signed-in operator or a token. `larder token create` prints one; send it as `Authorization: Bearer`, or \
             in the form's field."
        }
    }
}

/// The token text of an `Authorization` header: `Bearer`, or the password of `Basic` so that a browser can ask for it.
pub fn presented(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, rest) = value.split_once(' ').unwrap_or((value, ""));
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    if scheme.eq_ignore_ascii_case("basic") {
        let text = String::from_utf8(decode_base64(rest.trim())?).ok()?;
        return Some(text.split_once(':').map_or(String::new(), |(_, password)| password.to_owned()));
    }
    Some(String::new())
}

/// RFC 4648 section 4, padding optional. `None` for anything else.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits & 0xff) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests;
