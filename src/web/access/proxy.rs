//! What a request says of where it came from, and how much of that is believed: everything of a trusted proxy, of others nothing. Plain functions
//! of addresses and headers; knows no token.

use super::Listener;
use crate::domain::proxy::TrustedProxy;
use crate::web::base;
use crate::web::errors::{Kind, Problem};
use axum::http::{HeaderMap, HeaderName, header};
use std::net::IpAddr;

/// What proxies say of who asked them.
static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
static FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// From where a request came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Came {
    pub listener: Listener,
    /// Of the browser or program, as far as that is known; `None`: over the unix socket.
    pub peer: Option<IpAddr>,
    /// Whether the browser speaks TLS, as a trusted proxy says.
    pub tls: bool,
    /// Whom a trusted proxy has let in.
    pub user: Option<String>,
}

impl Came {
    /// For the book: `192.0.2.7`.
    pub fn from(&self) -> String {
        self.peer.map_or("this machine".to_owned(), |peer| peer.to_canonical().to_string())
    }
}

/// `listener` is the socket's, `peer` the address at its other end. A request that came through any proxy is not from this machine, whatever
/// address it arrives at. Error: the proxy speaks twice.
pub fn came(
    listener: Listener,
    proxy: Option<&TrustedProxy>,
    peer: Option<IpAddr>,
    headers: &HeaderMap,
) -> Result<Came, Problem> {
    let plain = |listener| Came { listener, peer, tls: false, user: None };
    if listener == Listener::Local {
        return Ok(plain(Listener::Local));
    }
    let trusted = proxy.filter(|proxy| peer.is_some_and(|peer| proxy.is(peer)));
    let told = [&header::FORWARDED, &FORWARDED_FOR, &REAL_IP].into_iter().chain(&base::TOLD);
    let through = trusted.is_some() || told.into_iter().any(|name| headers.contains_key(name));
    let listener = if through { Listener::Network } else { listener };
    let Some(proxy) = trusted else { return Ok(plain(listener)) };
    let user = match &proxy.user_header {
        Some(name) => once(headers, name)?.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned),
        None => None,
    };
    let tls =
        once(headers, FORWARDED_PROTO.as_str())?.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"));
    Ok(Came { listener, peer: asker(proxy, headers).or(peer), tls, user })
}

/// The last address that no trusted proxy has: what stands before it, or before something that is no address, can be said by anybody.
fn asker(proxy: &TrustedProxy, headers: &HeaderMap) -> Option<IpAddr> {
    let lines = headers.get_all(&FORWARDED_FOR).iter().map(|line| line.to_str().unwrap_or_default());
    let hops: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    let addresses = hops.iter().rev().map_while(|hop| hop.parse::<IpAddr>().ok());
    addresses.into_iter().find(|address| !proxy.is(*address))
}

/// A header of which two lines contradict each other: one of them may be the client's own.
fn once<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Problem> {
    let mut lines = headers.get_all(name).iter();
    let first = lines.next();
    if lines.next().is_some() {
        let detail =
            format!("The proxy in front sends the header {name} twice; it has to replace what a client sends.");
        return Err(Problem::bad_request(detail));
    }
    match first.map(|line| line.to_str()) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(_)) => Err(Problem::bad_request(format!("The header {name} cannot be read."))),
    }
}

/// Whom the proxy let in is no operator here.
pub fn unknown_user(name: &str) -> Problem {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
    let detail = format!(
        "The proxy in front says that you are \"{shown}\", and there is no operator of that name. Another operator can add one under \
         Settings; on the machine `larder operator reset` prints a code for the first."
    );
    Problem::new(Kind::Forbidden, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::proxy::Network;
    use axum::http::HeaderValue;

    fn trusted() -> TrustedProxy {
        let networks = vec![Network::parse("10.0.0.0/24").unwrap()];
        TrustedProxy { networks, user_header: Some("remote-user".to_owned()) }
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        lines.iter().for_each(|(name, value)| {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        });
        headers
    }

    fn ip(text: &str) -> Option<IpAddr> {
        text.parse().ok()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        let said = headers(&[("remote-user", "ann"), ("x-forwarded-for", "192.0.2.7"), ("x-forwarded-proto", "https")]);
        let (proxy, stranger) = (ip("10.0.0.5"), ip("10.0.1.5"));
        let let_in = came(Listener::Network, Some(&trusted()), proxy, &said).unwrap();
        let expected = Came { listener: Listener::Network, peer: ip("192.0.2.7"), tls: true, user: Some("ann".into()) };
        assert_eq!(let_in, expected);
        let nobody = Came { listener: Listener::Network, peer: stranger, tls: false, user: None };
        assert_eq!(came(Listener::Network, Some(&trusted()), stranger, &said).unwrap(), nobody);
        assert_eq!(came(Listener::Loopback, None, stranger, &said).unwrap(), nobody, "off by default");
        let here =
            came(Listener::Loopback, Some(&trusted()), ip("127.0.0.1"), &headers(&[("remote-user", "ann")])).unwrap();
        assert_eq!((here.listener, here.user), (Listener::Loopback, None), "the header alone says nothing");
        let socket = came(Listener::Local, Some(&trusted()), None, &said).unwrap();
        assert_eq!((socket.listener, socket.user), (Listener::Local, None));
    }

    #[test]
    fn who_asked_is_the_last_that_is_not_ours() {
        for (lines, peer) in [
            (&["192.0.2.7"][..], "192.0.2.7"),
            (&["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
            (&["198.51.100.1", "192.0.2.7, 10.0.0.9"], "192.0.2.7"),
            (&["rubbish"], "10.0.0.5"),
            (&["192.0.2.7, rubbish"], "10.0.0.5"),
            (&["192.0.2.7", "ü"], "10.0.0.5"),
            (&[], "10.0.0.5"),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| ("x-forwarded-for", *line)).collect();
            let came = came(Listener::Network, Some(&trusted()), ip("10.0.0.5"), &headers(&lines)).unwrap();
            assert_eq!(came.peer, ip(peer), "{lines:?}");
        }
    }

    #[test]
    fn a_header_that_comes_twice_is_refused() {
        for name in ["remote-user", "x-forwarded-proto"] {
            let twice = headers(&[(name, "ann"), (name, "root")]);
            assert!(came(Listener::Network, Some(&trusted()), ip("10.0.0.5"), &twice).is_err(), "{name}");
        }
    }
}
