//! The cookie in which a session travels: its name, its attributes, and what of a request's cookies is one. Text in, text out.
//!
//! Not for scripts, and never sent along by other sites but for a link that is followed, which only reads. Where the browser speaks TLS the name
//! begins with `__Host-`: no other name of the domain and no page over plain HTTP can plant one. The rest of the name is the installation's: browsers
//! share the cookies of a host between its ports.

use crate::engine::access::sessions::LONGEST;
use crate::web::headers::cookies;
use axum::http::{HeaderMap, HeaderValue};

/// Of a cookie's value, which is 256 bits in hexadecimal.
const LENGTH: usize = 64;
/// Cookies of that name that are looked at.
const LOOKED_AT: usize = 4;

/// How the cookie is called and to whom it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Cookie<'a> {
    /// Of the installation.
    pub tag: &'a str,
    /// Whether the browser speaks TLS.
    pub tls: bool,
    /// The path at which a proxy leaves the site; `/` where there is none.
    pub path: &'a str,
}

impl<'a> Cookie<'a> {
    fn name(self) -> String {
        let prefix = match (self.tls, self.path) {
            (false, _) => "",
            (true, "/") => "__Host-",
            (true, _) => "__Secure-",
        };
        format!("{prefix}larder-{}", self.tag)
    }

    /// The values that may be sessions; in practice one. Over TLS only what was set over TLS counts.
    pub fn shown(self, headers: &HeaderMap) -> Vec<&str> {
        let wanted = self.name();
        let ours = cookies(headers).filter(|(name, _)| *name == wanted).map(|(_, value)| value);
        let like = |value: &&str| value.len() == LENGTH && value.bytes().all(|b| b.is_ascii_hexdigit());
        ours.filter(like).take(LOOKED_AT).collect()
    }

    /// `Set-Cookie` of a new session.
    pub fn set(self, secret: &str) -> Option<HeaderValue> {
        self.written(secret, LONGEST.as_secs())
    }

    /// `Set-Cookie` that makes the browser forget it.
    pub fn forget(self) -> Option<HeaderValue> {
        self.written("", 0)
    }

    fn written(self, value: &str, seconds: u64) -> Option<HeaderValue> {
        let (name, path, secure) = (self.name(), self.path, if self.tls { "; Secure" } else { "" });
        let text = format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::from_str(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header;

    fn cookie(tls: bool, path: &'static str) -> Cookie<'static> {
        Cookie { tag: "t", tls, path }
    }

    #[test]
    fn a_cookie_is_not_for_scripts_nor_for_other_sites() {
        let secret = "ab".repeat(32);
        let set = |tls, path| cookie(tls, path).set(&secret).unwrap().to_str().unwrap().to_owned();
        let kept = "Max-Age=2592000; HttpOnly; SameSite=Lax";
        assert_eq!(set(false, "/"), format!("larder-t={secret}; Path=/; {kept}"));
        assert_eq!(set(true, "/"), format!("__Host-larder-t={secret}; Path=/; {kept}; Secure"));
        assert_eq!(set(true, "/larder"), format!("__Secure-larder-t={secret}; Path=/larder; {kept}; Secure"));
        assert!(cookie(true, "/").forget().unwrap().to_str().unwrap().contains("=; Path=/; Max-Age=0;"));
    }

    #[test]
    fn of_many_cookies_ours_is_found() {
        let (ours, planted) = ("ab".repeat(32), "cd".repeat(32));
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, format!("theme=dark; larder-t={ours}; larder-u={planted}").parse().unwrap());
        let second = format!("larder-t={planted}; larder-t=short; __Host-larder-t={planted}");
        headers.append(header::COOKIE, second.parse().unwrap());
        assert_eq!(cookie(false, "/").shown(&headers), [ours.as_str(), planted.as_str()]);
        assert_eq!(
            cookie(true, "/").shown(&headers),
            [planted.as_str()],
            "what was set without TLS counts for nothing with it"
        );
        assert!(cookie(false, "/").shown(&HeaderMap::new()).is_empty());
    }
}
