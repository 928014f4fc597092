//! Where a provider sends us next: a redirect's `Location`, the address of a next page. What it gives is resolved against what was
//! asked, and never leaves the origin of `base_url`: the credential is not shown to anybody else. Must not know who asks or why.

use url::Url;

/// Why an address is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    NotAnAddress,
    /// The host that it leads to.
    OtherOrigin(String),
}

/// `given` as the provider wrote it, resolved against `asked` (RFC 3986 section 5). `asked` and the result stand below `base_url`
/// where they can (`/tasks?page=2`), so that the charge is counted on the same endpoint as a direct request; else they are whole.
pub fn resolve(base_url: &str, asked: &str, given: &str) -> Result<String, Elsewhere> {
    let base = base_url.trim_end_matches('/');
    let from = if asked.starts_with('/') { format!("{base}{asked}") } else { asked.to_owned() };
    let parsed = |text: &str| Url::parse(text).map_err(|_| Elsewhere::NotAnAddress);
    let (from, home) = (parsed(&from)?, parsed(base)?);
    let mut to = from.join(given.trim()).map_err(|_| Elsewhere::NotAnAddress)?;
    let is_web = matches!(to.scheme(), "http" | "https");
    if !is_web || to.origin() != home.origin() || !to.username().is_empty() || to.password().is_some() {
        return Err(Elsewhere::OtherOrigin(to.host_str().unwrap_or("no host").to_owned()));
    }
    to.set_fragment(None);
    // Compared in the parser's own spelling: an upper-case host or a default port must not hide the base.
    Ok(match to.as_str().strip_prefix(home.as_str().trim_end_matches('/')) {
        Some(below) if below.starts_with('/') => below.to_owned(),
        _ => to.to_string(),
    })
}

/// The request line with the query parameter `name` set to `value`; what else stands in the query is left as it was written.
pub fn with_parameter(location: &str, name: &str, value: &str) -> String {
    let (path, query) = location.split_once('?').unwrap_or((location, ""));
    let own = |pair: &&str| {
        let decoded = url::form_urlencoded::parse(pair.as_bytes()).next();
        !pair.is_empty() && decoded.is_none_or(|(n, _)| n != name)
    };
    let mut pairs: Vec<String> = query.split('&').filter(own).map(str::to_owned).collect();
    pairs.push(url::form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish());
    format!("{path}?{}", pairs.join("&"))
}

/// The value of a query parameter, decoded.
pub fn parameter(location: &str, name: &str) -> Option<String> {
    let (_, query) = location.split_once('?')?;
    url::form_urlencoded::parse(query.as_bytes()).find(|(n, _)| n == name).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: &str = "https://api.example.test/v1";

    #[test]
    fn what_is_given_is_resolved_and_stays_at_home() {
        let elsewhere = |host: &str| Err(Elsewhere::OtherOrigin(host.to_owned()));
        for (given, expected) in [
            ("/v1/tasks?page=2", Ok("/tasks?page=2".to_owned())),
            ("?page=2", Ok("/tasks?page=2".to_owned())),
            ("tasks/", Ok("/tasks/".to_owned())),
            ("/login", Ok("https://api.example.test/login".to_owned())),
            ("https://api.example.test/v1/tasks?page=2#top", Ok("/tasks?page=2".to_owned())),
            ("https://API.example.test:443/v1/tasks?page=2", Ok("/tasks?page=2".to_owned())),
            ("//api.example.test/v1/x", Ok("/x".to_owned())),
            ("https://api.example.test/v2/tasks", Ok("https://api.example.test/v2/tasks".to_owned())),
            ("https://api.example.test/v10/tasks", Ok("https://api.example.test/v10/tasks".to_owned())),
            ("http://api.example.test/v1/tasks", elsewhere("api.example.test")),
            ("https://api.example.test:8443/v1/tasks", elsewhere("api.example.test")),
            ("//evil.test/v1/tasks", elsewhere("evil.test")),
            ("https://me:secret@api.example.test/v1/tasks", elsewhere("api.example.test")),
            ("file:///etc/passwd", elsewhere("no host")),
            ("https://[nonsense", Err(Elsewhere::NotAnAddress)),
        ] {
            assert_eq!(resolve(BASE, "/tasks?page=1", given), expected, "{given}");
        }
        let from_v2 = resolve(BASE, "https://api.example.test/v2/tasks?page=1", "?page=2");
        assert_eq!(from_v2, Ok("https://api.example.test/v2/tasks?page=2".to_owned()));
    }

    #[test]
    fn a_parameter_replaces_its_like_and_nothing_else() {
        for (location, value, expected) in [
            ("/tasks", "2", "/tasks?page=2"),
            ("/tasks?", "2", "/tasks?page=2"),
            ("/tasks?a=%20x&page=1&b", "2", "/tasks?a=%20x&b&page=2"),
            ("/tasks?p%61ge=1&pages=7", "2", "/tasks?pages=7&page=2"),
            ("/tasks", "a+b/c=&d", "/tasks?page=a%2Bb%2Fc%3D%26d"),
        ] {
            let set = with_parameter(location, "page", value);
            assert_eq!(set, expected);
            assert_eq!(parameter(&set, "page").as_deref(), Some(value));
        }
        assert_eq!(parameter("/tasks?page=1", "pag"), None);
    }

    proptest! {
        #[test]
        fn nothing_that_is_given_leaves_the_origin(given in ".{0,60}", slashed in "[/\\\\?#@:.a-z]{0,30}") {
            for given in [given, slashed] {
                if let Ok(to) = resolve(BASE, "/tasks", &given) {
                    let whole = if to.starts_with('/') { format!("{BASE}{to}") } else { to };
                    let whole = Url::parse(&whole).unwrap();
                    prop_assert_eq!(whole.origin().ascii_serialization(), "https://api.example.test");
                    prop_assert!(whole.username().is_empty());
                }
            }
        }

        #[test]
        fn any_value_comes_back(value in ".{0,40}", name in "[a-z\\[\\]]{1,6}") {
            let set = with_parameter("/x?q=1", &name, &value);
            prop_assert_eq!(parameter(&set, &name), Some(value));
        }
    }
}
