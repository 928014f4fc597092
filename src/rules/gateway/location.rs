//! What a client of the gateway asks for: a path and a query below the connection's base URL, kept octet by octet. Knows encodings (RFC 3986)
//! and what a provider might make of them; must not know who asks or what is allowed.

use crate::domain::ids::Endpoint;
use std::fmt;

/// Octets may be encoded in octets that are encoded: so many layers are looked under.
const LAYERS: usize = 8;

/// A path and a query that stay below the base URL, however they are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    path: String,
    query: Option<String>,
}

/// Why an address is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsafe {
    /// It does not begin with `/`, or with two of them: it is another address and no path.
    Elsewhere,
    /// `.` or `..` as a segment, in whatever encoding: where it leads is not where it seems to.
    Climbs,
    /// A space, a control character, a backslash, what is not ASCII, or a `%` that encodes nothing.
    Octets,
}

impl fmt::Display for Unsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsafe::Elsewhere => "the address is no path below the provider's; begin it with one slash",
            Unsafe::Climbs => "the path has a segment `.` or `..`, written out or encoded; ask for where it leads",
            Unsafe::Octets => "the address has octets that none can have; encode them, such as %20 for a space",
        })
    }
}

impl Location {
    /// `raw` as it stood in the request line, behind the connection's name: `/tasks/a%2Fb?page=2`. Empty: the base URL itself.
    pub fn read(raw: &str) -> Result<Location, Unsafe> {
        let (path, query) = raw.split_once('?').map_or((raw, None), |(path, query)| (path, Some(query)));
        if !(path.is_empty() || path.starts_with('/')) || path.starts_with("//") {
            return Err(Unsafe::Elsewhere);
        }
        let is_sound = |b: u8| b.is_ascii_graphic() && b != b'\\' && b != b'#';
        if !raw.bytes().all(is_sound) {
            return Err(Unsafe::Octets);
        }
        look_under(path.as_bytes())?;
        Ok(Location { path: path.to_owned(), query: query.map(str::to_owned) })
    }

    /// As it is sent, octet by octet.
    pub fn sent(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// Where it is counted: by its path, whatever is encoded in it that need not be.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint(normalised(&self.path))
    }

    /// What it is kept under: needless encodings undone, all others in capitals (RFC 3986 section 6.2.2). The order of the query is left
    /// alone: it may mean something.
    pub fn target(&self) -> String {
        let query = self.query.as_deref().map(normalised);
        query.map_or_else(|| normalised(&self.path), |query| format!("{}?{query}", normalised(&self.path)))
    }

    /// The path in every way in which a provider may read it: an encoded slash may be one.
    pub(super) fn readings(&self) -> Vec<String> {
        let path = normalised(&self.path);
        let slashes = path.replace("%2F", "/").replace("%5C", "/");
        if slashes == path { vec![path] } else { vec![path, slashes] }
    }

    /// Without the query parameters of this name, whatever their case and encoding: where a credential goes, nobody else's may.
    pub fn without(self, parameter: &str) -> Location {
        let Some(query) = self.query else { return self };
        let is_it = |pair: &str| name_of(pair).eq_ignore_ascii_case(parameter);
        let left: Vec<&str> = query.split('&').filter(|pair| !is_it(pair)).collect();
        let query = if left.is_empty() { None } else { Some(left.join("&")) };
        Location { path: self.path, query }
    }

    /// The value of the first query parameter of this name, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let query = self.query.as_deref()?;
        url::form_urlencoded::parse(query.as_bytes()).find(|(n, _)| n == name).map(|(_, value)| value.into_owned())
    }

    /// How often it is there.
    pub(super) fn parameters(&self, name: &str) -> usize {
        self.query.as_deref().map_or(0, |query| query.split('&').filter(|pair| name_of(pair) == name).count())
    }
}

fn name_of(pair: &str) -> String {
    url::form_urlencoded::parse(pair.as_bytes()).next().map_or_else(String::new, |(name, _)| name.into_owned())
}

/// Refuses what climbs or cannot be read, under every layer of encoding.
fn look_under(path: &[u8]) -> Result<(), Unsafe> {
    let mut text = path.to_vec();
    for layer in 0..=LAYERS {
        if text.split(|b| matches!(b, b'/' | b'\\')).any(is_dots) {
            return Err(Unsafe::Climbs);
        }
        let decoded = decoded(&text);
        // Below the first layer a `%` may be meant.
        let decoded = if layer == 0 { decoded.ok_or(Unsafe::Octets)? } else { decoded.unwrap_or_else(|| text.clone()) };
        if decoded.iter().any(|b| b.is_ascii_control()) || decoded.windows(2).any(is_overlong) {
            return Err(Unsafe::Octets);
        }
        if decoded == text {
            return Ok(());
        }
        text = decoded;
    }
    Err(Unsafe::Climbs)
}

/// What some servers cut off a segment is not part of it: parameters, and spaces at its end.
fn is_dots(segment: &[u8]) -> bool {
    let end = segment.iter().position(|b| *b == b';').unwrap_or(segment.len());
    matches!(segment[..end].trim_ascii(), b"." | b"..")
}

/// ASCII in two bytes, as no UTF-8 has it: once a way to hide a dot.
fn is_overlong(pair: &[u8]) -> bool {
    matches!(pair, [0xC0 | 0xC1, 0x80..=0xBF])
}

/// One layer of percent-encoding off. `None`: a `%` that encodes nothing.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if *byte == b'%' {
            out.push(octet(text, at)?);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    Some(out)
}

/// The octet that is encoded at `at`.
fn octet(text: &[u8], at: usize) -> Option<u8> {
    let digit = |i: usize| char::from(*text.get(i)?).to_digit(16);
    let value = digit(at + 1)? * 16 + digit(at + 2)?;
    u8::try_from(value).ok()
}

/// RFC 3986 section 6.2.2: what need not be encoded is not, and what must be is in capitals.
pub(super) fn normalised(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let octet = if bytes[at] == b'%' { octet(bytes, at) } else { None };
        match octet {
            Some(b) if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => out.push(char::from(b)),
            Some(b) => out.push_str(&format!("%{b:02X}")),
            None => out.push(char::from(bytes[at])),
        }
        at += if octet.is_some() { 3 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(raw: &str) -> Location {
        Location::read(raw).unwrap_or_else(|why| panic!("{raw}: {why}"))
    }

    #[test]
    fn what_stays_below_is_kept_octet_by_octet() {
        for raw in [
            "",
            "/",
            "/a/b",
            "/a%2Fb/%c3%a9?x=%2e%2E&y=a+b",
            "/a//b",
            "/.well-known/x",
            "/...",
            "/a..b/..c",
            "/a;v=1/b",
            "/%41?",
            "/http://elsewhere.test/",
            "/@elsewhere.test",
            "/a%252Fb",
            "/100%25/x",
        ] {
            assert_eq!(read(raw).sent(), raw);
        }
    }

    #[test]
    fn dots_are_found_in_every_encoding() {
        for raw in [
            "/..",
            "/.",
            "/a/../b",
            "/a/./b",
            "/%2e%2e/b",
            "/.%2E",
            "/%252e%252e",
            "/%25252e%25252e/x",
            "/a%2F..%2Fb",
            "/a%2f%2e%2e",
            "/..%5Cx",
            "/..;/x",
            "/%2e%2e;a=1/x",
            "/..%20/x",
            "/%25%32%65%25%32%65",
        ] {
            assert_eq!(Location::read(raw), Err(Unsafe::Climbs), "{raw}");
        }
        for raw in ["/%c0%ae%c0%ae/x", "/a\\..\\b", "/a b", "/%00", "/a%0d%0ab", "/é", "/%", "/%zz", "/a#b", "/%250a"]
        {
            assert_eq!(Location::read(raw), Err(Unsafe::Octets), "{raw}");
        }
        for raw in ["//elsewhere.test/a", "http://elsewhere.test/", "elsewhere.test", "*", "@elsewhere.test/"] {
            assert_eq!(Location::read(raw), Err(Unsafe::Elsewhere), "{raw}");
        }
    }

    #[test]
    fn one_thing_has_one_name() {
        for (raw, target) in [
            ("/%61%2fb%c3%a9", "/a%2Fb%C3%A9"),
            ("/a?%71=%2d&b=%20", "/a?q=-&b=%20"),
            ("/a?b&a", "/a?b&a"),
            ("/a?", "/a?"),
            ("/a?x=%", "/a?x=%"),
        ] {
            assert_eq!(read(raw).target(), target);
        }
        assert_eq!(read("/st%61tus?x=1").endpoint(), Endpoint("/status".to_owned()));
        assert_eq!(read("/a%2Fb").readings(), ["/a%2Fb", "/a/b"]);
    }

    #[test]
    fn a_credential_s_parameter_goes_in_every_spelling() {
        let rest = |raw: &str| read(raw).without("api_key").sent();
        assert_eq!(rest("/a?api_key=1&x=2"), "/a?x=2");
        assert_eq!(rest("/a?x=2&API%5Fkey=1&api_key"), "/a?x=2");
        assert_eq!(rest("/a?api_key=1"), "/a");
        assert_eq!(rest("/a?api_keys=1"), "/a?api_keys=1");
        assert_eq!(read("/a?x=a+b&x=c").parameter("x"), Some("a b".to_owned()));
        assert_eq!(read("/a?x=a+b&x=c").parameters("x"), 2);
    }

    proptest! {
        /// Whatever is let through: the parser that browsers and clients share finds it where it seems to be, below the base.
        #[test]
        fn what_is_let_through_stays_below_the_base(raw in "(/|%2[eEfF]|%5[cC]|%25|[.a;:@?\\\\]|%[0-9a-f]{2}){0,12}") {
            let Ok(location) = Location::read(&raw) else { return Ok(()) };
            prop_assert_eq!(location.sent(), raw.as_str());
            let whole = format!("https://api.example.test/v1{raw}");
            let parsed = url::Url::parse(&whole).unwrap();
            prop_assert_eq!(parsed.host_str(), Some("api.example.test"));
            prop_assert!(parsed.path().starts_with("/v1"), "{}", parsed);
            let path = raw.split('?').next().unwrap_or_default();
            prop_assert_eq!(parsed.path(), format!("/v1{path}"));
        }

        #[test]
        fn normalising_twice_is_normalising_once(raw in "(/|%[0-9a-fA-F]{2}|[a-z?=&]){0,12}") {
            prop_assert_eq!(normalised(&normalised(&raw)), normalised(&raw));
        }
    }
}
