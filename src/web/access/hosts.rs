//! Which `Host` a request may carry, and whether its `Origin` is this site: the guards against DNS rebinding and against other
//! sites' forms. Text in, decision out.

use crate::web::errors::Problem;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// The name part of a `Host` value or of an authority: no port, no brackets, lower case, no final dot.
pub fn name_of(host: &str) -> Option<String> {
    let host = host.trim();
    let name = if let Some(rest) = host.strip_prefix('[') {
        let (inside, after) = rest.split_once(']')?;
        if !(after.is_empty() || is_port(after)) {
            return None;
        }
        inside
    } else {
        match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            Some(_) => return None,
            None => host,
        }
    };
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()))
}

/// IP literals, `localhost`, `*.local`, `*.home.arpa`, the machine's own name and what the configuration names.
pub fn is_allowed(name: &str, own_name: Option<&str>, configured: &[String]) -> bool {
    name.parse::<IpAddr>().is_ok()
        || name == "localhost"
        || [".localhost", ".local", ".home.arpa"]
            .iter()
            .any(|suffix| name.ends_with(suffix) && name.len() > suffix.len())
        || own_name.is_some_and(|own| is_own(own, name))
        || configured.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// A machine called `pi.example.org` is asked for as `pi` too.
fn is_own(own: &str, name: &str) -> bool {
    let label = own.split('.').next().unwrap_or(own);
    [own, label].iter().any(|own| !own.is_empty() && own.eq_ignore_ascii_case(name))
}

/// The sentence of the 421 that names the line to add.
pub fn advice(name: Option<&str>, configured: &[String]) -> String {
    let Some(name) =
        name.filter(|n| n.len() <= 253 && n.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)))
    else {
        return "The request carries no usable Host header.".to_owned();
    };
    let list: Vec<String> = configured.iter().map(String::as_str).chain([name]).map(|n| format!("\"{n}\"")).collect();
    format!(
        "This appliance was asked for by the name \"{name}\", which it does not know as its own. If it is, write under [server] in \
         larder.toml: hosts = [{}]",
        list.join(", ")
    )
}

/// The authority that the request was sent to: `Host`, as text.
pub fn host_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// A request that names two hosts is refused before anybody chooses one of them: a proxy in front may have chosen the other
/// (RFC 9112 section 3.2).
pub async fn one_host(request: Request, next: Next) -> Response {
    match names_one(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// The same, for who needs no layer.
pub fn names_one(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut asked = headers.get_all(header::HOST).iter().map(HeaderValue::as_bytes);
    let authority = uri.authority().map(|a| a.as_str().as_bytes());
    let differs = |host: &[u8]| authority.is_some_and(|own| !own.eq_ignore_ascii_case(host));
    if asked.next().is_some_and(differs) || asked.next().is_some() {
        return Err(Problem::bad_request("The request names more than one host."));
    }
    Ok(())
}

static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether the request may have been caused by a page of another site. Browsers send `Origin` with every change; a program that
/// sends none is judged by its token alone.
pub fn is_foreign(headers: &HeaderMap) -> bool {
    if headers.get(&SEC_FETCH_SITE).is_some_and(|v| v == "cross-site") {
        return true;
    }
    is_other_origin(headers).unwrap_or(false)
}

/// Whether a page of this very site sent the request, and the browser says so. What changes something in the name of a signed-in operator needs
/// that: an absent `Origin` proves nothing there.
pub fn is_own_page(headers: &HeaderMap) -> bool {
    let by_fetch = || headers.get(&SEC_FETCH_SITE).is_some_and(|v| v == "same-origin");
    !is_foreign(headers) && (headers.contains_key(header::ORIGIN) || by_fetch())
}

/// `None` where there is no `Origin`.
fn is_other_origin(headers: &HeaderMap) -> Option<bool> {
    let origin = headers.get(header::ORIGIN)?;
    let own = host_of(headers).map(str::to_ascii_lowercase);
    let theirs = origin.to_str().ok().and_then(|o| o.split_once("://")).map(|(scheme, rest)| {
        let default = if scheme == "https" { ":443" } else { ":80" };
        rest.strip_suffix(default).unwrap_or(rest).to_ascii_lowercase()
    });
    Some(match (own, theirs) {
        (Some(own), Some(theirs)) => own.strip_suffix(":80").or(own.strip_suffix(":443")).unwrap_or(&own) != theirs,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_ours() {
        let own = vec!["larder.example".to_owned()];
        for (host, ok) in [
            ("127.0.0.1:8474", true),
            ("192.168.1.7", true),
            ("[::1]:8474", true),
            ("[fd00::7]", true),
            ("localhost:8474", true),
            ("LOCALHOST.", true),
            ("pi.local:8474", true),
            ("pi.home.arpa", true),
            ("Larder.Example:80", true),
            ("Shelf:8474", true),
            ("shelf.example.org", true),
            ("other.example.org", false),
            ("shelf.evil.example", false),
            (".local", false),
            ("evil.example", false),
            ("local", false),
            ("127.0.0.1.evil.example", false),
            ("[::1", false),
            ("a:b:c", false),
            ("", false),
        ] {
            assert_eq!(name_of(host).is_some_and(|n| is_allowed(&n, Some("shelf.example.org"), &own)), ok, "{host}");
        }
    }

    #[test]
    fn the_advice_is_the_line_to_add() {
        let text = advice(Some("pantry.lan"), &["larder.example".to_owned()]);
        assert!(text.ends_with("hosts = [\"larder.example\", \"pantry.lan\"]"), "{text}");
        assert!(!advice(Some("<b>x</b>"), &[]).contains('<'));
    }

    #[test]
    fn origins() {
        for (host, origin, fetch_site, foreign) in [
            ("127.0.0.1:8474", None, None, false),
            ("127.0.0.1:8474", Some("http://127.0.0.1:8474"), None, false),
            ("Pi.local", Some("http://pi.local"), Some("same-origin"), false),
            ("pi.local:80", Some("http://pi.local"), None, false),
            ("pi.local", Some("https://pi.local:443"), None, false),
            ("127.0.0.1:8474", Some("http://127.0.0.1:9000"), None, true),
            ("127.0.0.1:8474", Some("https://evil.example"), None, true),
            ("127.0.0.1:8474", Some("null"), None, true),
            ("127.0.0.1:8474", None, Some("cross-site"), true),
            ("127.0.0.1:8474", None, Some("same-origin"), false),
            ("127.0.0.1:8474", Some("http://127.0.0.1:8474"), Some("cross-site"), true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(o) = origin {
                headers.insert(header::ORIGIN, o.parse().unwrap());
            }
            if let Some(f) = fetch_site {
                headers.insert("sec-fetch-site", f.parse().unwrap());
            }
            assert_eq!(is_foreign(&headers), foreign, "{host} {origin:?} {fetch_site:?}");
            let says_so = origin.is_some() || fetch_site == Some("same-origin");
            assert_eq!(is_own_page(&headers), !foreign && says_so, "{host} {origin:?} {fetch_site:?}");
        }
    }
}
