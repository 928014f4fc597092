//! Where a connection's requests may go, and how the credential gets onto them. Knows URLs and headers; sends nothing.

use super::coding;
use super::pass::{Passing, hop_names};
use super::redact::Secret;
use crate::domain::spec::{Carrier, ConnectionSpec, NetworkSpec, ReadingSpec, SecretSource};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, RANGE};
use zeroize::Zeroizing;

/// Set by the door or by HTTP itself; a caller's own would break framing, decompression or the rule that only the door
/// holds credentials.
const DOORS_OWN_HEADERS: [&str; 16] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// Headers of the door's that a client of the gateway may set: they change no framing and carry no credential.
const CLIENTS_OWN: [&str; 3] = ["accept-encoding", "range", "user-agent"];
/// What tells of the client's own network, or names Larder as the place that it looked at: nothing of that is for the provider. Nor are those
/// that begin with [`FORWARDED`].
const OF_THIS_HOUSE: [&str; 4] = ["forwarded", "origin", "referer", "x-real-ip"];
const FORWARDED: &str = "x-forwarded-";
/// What makes some servers take a request for another than its first line says, and so for none that the gate has let through.
const OF_ANOTHER_REQUEST: [&str; 5] =
    ["x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"];

/// A connection's base URL, its credential ready to travel, and its bounds.
pub(super) struct Route {
    /// `scheme://host[:port][/path]`, no trailing slash.
    base: String,
    parsed: Url,
    carrier: Carrier,
    /// What travels is a token that the vault got for the secret.
    pub(super) renews: bool,
    pub(super) network: NetworkSpec,
    pub(super) reading: ReadingSpec,
}

#[derive(Clone, Debug)]
pub(super) enum Attached {
    Nothing,
    Query(String, Secret),
    Header(HeaderName, HeaderValue),
}

/// Why a location is not asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoWay {
    OtherOrigin(String),
    NotALocation,
}

impl Route {
    /// The error is a sentence about the connection's configuration.
    pub(super) fn new(spec: &ConnectionSpec, secret: Option<&Secret>) -> Result<Route, String> {
        let name = &spec.key;
        let base = spec.base_url.trim_end_matches('/').to_owned();
        let parsed = Url::parse(&base).map_err(|e| format!("The base_url of connection {name} is not a URL: {e}."))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host().is_none() {
            return Err(format!("The base_url of connection {name} must begin with http:// or https:// and a host."));
        }
        // One that is set later is looked at then; before, nothing is sent.
        let comes_later = secret.is_none() && spec.secret == SecretSource::Sealed;
        if spec.oauth.is_none() && !comes_later {
            attach(&spec.carrier, secret).map_err(|why| format!("Connection {name}: {why}."))?;
        }
        let (carrier, renews) = (spec.carrier.clone(), spec.oauth.is_some());
        Ok(Route { base, parsed, carrier, renews, network: spec.network.clone(), reading: spec.reading.clone() })
    }

    /// The way to a token endpoint: nothing is attached, its own credential is in the request.
    pub(super) fn bare(url: &str, network: &NetworkSpec) -> Result<Route, String> {
        let parsed = Url::parse(url).map_err(|e| format!("The token_url {url} is not a URL: {e}."))?;
        let (network, reading) = (network.clone(), ReadingSpec::default());
        Ok(Route { base: url.to_owned(), parsed, carrier: Carrier::None, renews: false, network, reading })
    }

    pub(super) fn address(&self) -> Url {
        self.parsed.clone()
    }

    /// What a request carries that goes out with this secret. The error says why nothing can be sent.
    pub(super) fn credential(&self, secret: Option<&Secret>) -> Result<Attached, String> {
        attach(&self.carrier, secret).map_err(|why| format!("The credential cannot be sent: {why}."))
    }

    pub(super) fn uses_tls(&self) -> bool {
        self.parsed.scheme() == "https"
    }

    /// `scheme://host[:port]`, for sentences.
    pub(super) fn origin(&self) -> String {
        self.parsed.origin().ascii_serialization()
    }

    /// The full URL of `location` with the credential. Only the connection's own origin gets it.
    pub(super) fn url(&self, location: &str, credential: &Attached) -> Result<Url, NoWay> {
        let text = if location.starts_with('/') { format!("{}{location}", self.base) } else { location.to_owned() };
        let mut url = Url::parse(&text).map_err(|_| NoWay::NotALocation)?;
        if url.origin() != self.parsed.origin() || !url.username().is_empty() || url.password().is_some() {
            return Err(NoWay::OtherOrigin(url.host_str().unwrap_or("no host").to_owned()));
        }
        url.set_fragment(None);
        if let Attached::Query(name, secret) = credential {
            set_parameter(&mut url, name, secret.expose());
        }
        Ok(url)
    }

    /// The caller's headers without those that are the door's, and the credential. Headers that cannot be written are
    /// left out: at most a validator is lost, and the answer is a full one.
    pub(super) fn headers(asked: &[(String, String)], credential: &Attached) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in asked {
            let parsed = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value));
            if let (Ok(name), Ok(value)) = parsed
                && !DOORS_OWN_HEADERS.contains(&name.as_str())
            {
                headers.append(name, value);
            }
        }
        if let Attached::Header(name, value) = credential {
            headers.insert(name.clone(), value.clone());
        }
        headers
    }

    /// The request line's path and query: the base's path, and behind it what the client wrote, octet by octet, without its own value of
    /// a credential's parameter. The error is a sentence.
    pub(super) fn line(&self, location: &str, credential: &Attached) -> Result<String, String> {
        if !(location.is_empty() || location.starts_with(['/', '?'])) {
            return Err("The location is no path that begins with /.".to_owned());
        }
        let base = self.parsed.path().trim_end_matches('/');
        let root = if base.is_empty() && !location.starts_with('/') { "/" } else { base };
        let whole = format!("{root}{location}");
        let Attached::Query(name, secret) = credential else { return Ok(whole) };
        let (path, query) = whole.split_once('?').unwrap_or((&whole, ""));
        let is_own = |pair: &str| url::form_urlencoded::parse(pair.as_bytes()).next().is_some_and(|(n, _)| n == *name);
        let kept: Vec<&str> = query.split('&').filter(|pair| !is_own(pair)).collect();
        let own = url::form_urlencoded::Serializer::new(String::new()).append_pair(name, secret.expose()).finish();
        let before = kept.join("&");
        let joint = if before.is_empty() { "" } else { "&" };
        Ok(format!("{path}?{before}{joint}{own}"))
    }

    /// A client's headers, with the connection's credential and host.
    pub(super) fn outgoing(&self, passing: &Passing, credential: &Attached) -> HeaderMap {
        let named = hop_names(&passing.headers);
        let is_kept = |name: &str| {
            (!DOORS_OWN_HEADERS.contains(&name) || CLIENTS_OWN.contains(&name))
                && !OF_THIS_HOUSE.contains(&name)
                && !name.starts_with(FORWARDED)
                && !OF_ANOTHER_REQUEST.contains(&name)
                && !named.contains(name)
        };
        let mut headers = HeaderMap::new();
        for (name, value) in passing.headers.iter().filter(|(name, _)| is_kept(name.as_str())) {
            headers.append(name.clone(), value.clone());
        }
        // A part of an answer is one of its octets in their coding, and cannot be undone alone.
        let codings = if headers.contains_key(RANGE) { "identity" } else { coding::ACCEPTED };
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(codings));
        if let Attached::Header(name, value) = credential {
            headers.insert(name.clone(), value.clone());
        }
        if let Ok(host) = HeaderValue::from_str(self.parsed.authority()) {
            headers.insert(HOST, host);
        }
        headers
    }
}

pub(super) fn attach(carrier: &Carrier, secret: Option<&Secret>) -> Result<Attached, String> {
    match (carrier, secret) {
        (Carrier::None, _) => Ok(Attached::Nothing),
        (_, None) => Err("it has to send a credential, but none was read".to_owned()),
        (Carrier::Query { name }, Some(secret)) => Ok(Attached::Query(name.clone(), secret.clone())),
        (Carrier::Header { name, scheme }, Some(secret)) => {
            let header =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is not a header name"))?;
            let text = match scheme {
                Some(scheme) => Zeroizing::new(format!("{scheme} {}", secret.expose())),
                None => Zeroizing::new(secret.expose().to_owned()),
            };
            Ok(Attached::Header(header, sensitive(&text, name)?))
        }
        (Carrier::Basic { user }, Some(secret)) => {
            let pair = match user {
                Some(user) => Zeroizing::new(format!("{user}:{}", secret.expose())),
                None if secret.expose().contains(':') => Zeroizing::new(secret.expose().to_owned()),
                None => return Err("its credential is not of the form user:password, as basic = true says".to_owned()),
            };
            let text = Zeroizing::new(format!("Basic {}", *Zeroizing::new(STANDARD.encode(pair.as_bytes()))));
            Ok(Attached::Header(AUTHORIZATION, sensitive(&text, "Authorization")?))
        }
    }
}

/// Outside ASCII a header has no agreed reading, and no provider hands out such keys.
fn sensitive(text: &str, header: &str) -> Result<HeaderValue, String> {
    let value = if text.is_ascii() { HeaderValue::from_str(text).ok() } else { None };
    let mut value =
        value.ok_or_else(|| format!("its credential has characters that the header {header} cannot carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Replaces the parameter: a provider that echoes our query in a `Location` must not make us send it twice.
fn set_parameter(url: &mut Url, name: &str, value: &str) {
    let raw = url.query().unwrap_or_default();
    let pairs = raw.split('&').filter(|pair| !pair.is_empty());
    // Both sides skip empty pairs, so they run in step; the raw text is kept as the caller wrote it.
    let kept: Vec<&str> = pairs.zip(url.query_pairs()).filter(|(_, (n, _))| n != name).map(|(pair, _)| pair).collect();
    let kept = kept.join("&");
    url.set_query(if kept.is_empty() { None } else { Some(&kept) });
    url.query_pairs_mut().append_pair(name, value);
}
