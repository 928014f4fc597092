//! `Cache-Control` as it is read: of a request (RFC 9111 section 5.2.1) and of a response (5.2.2). Knows the syntax and what is made of a
//! value that is none; must not know what follows.

use super::targeted;
use crate::domain::gateway::joined;
use crate::domain::time::Span;

/// Delta-seconds beyond this mean "very long" (RFC 9111 section 1.2.2).
const MOST_SECONDS: u64 = 1 << 31;

/// What a client asks of caches. All but `no_store` are wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    pub max_age: Option<Span>,
    /// Of an answer that is over, this long ago at most.
    pub max_stale: Option<Span>,
    pub min_fresh: Option<Span>,
    pub no_cache: bool,
    pub no_store: bool,
    pub only_if_cached: bool,
}

impl Wishes {
    /// `headers`: lower-case names. Of two values the stricter counts, and what is no number asks for nothing that is older.
    pub fn of(headers: &[(String, String)]) -> Wishes {
        let mut wishes = Wishes::default();
        let field = joined(headers, "cache-control").unwrap_or_default();
        for (name, value) in directives(&field) {
            let stricter = |known: Option<Span>, other: Span| Some(known.map_or(other, |known| known.min(other)));
            match name.as_str() {
                "max-age" => wishes.max_age = stricter(wishes.max_age, seconds(value.as_deref()).unwrap_or_default()),
                "max-stale" => {
                    let any = Span::from_secs(MOST_SECONDS);
                    let wanted = value.map_or(any, |value| seconds(Some(&value)).unwrap_or_default());
                    wishes.max_stale = stricter(wishes.max_stale, wanted);
                }
                "min-fresh" => {
                    let wanted = seconds(value.as_deref()).unwrap_or(Span::from_secs(MOST_SECONDS));
                    wishes.min_fresh = Some(wishes.min_fresh.map_or(wanted, |known| known.max(wanted)));
                }
                "no-cache" => wishes.no_cache = true,
                "no-store" => wishes.no_store = true,
                "only-if-cached" => wishes.only_if_cached = true,
                _ => {}
            }
        }
        wishes
    }
}

/// What a provider says to shared caches. `no-cache` and `private` are those of the whole answer: for single fields there is [`listed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    pub max_age: Option<Span>,
    pub s_maxage: Option<Span>,
    pub no_cache: bool,
    pub no_store: bool,
    pub private: bool,
    pub public: bool,
    pub must_revalidate: bool,
    pub proxy_revalidate: bool,
    pub must_understand: bool,
    /// How long after its end it may be served while it is asked for anew (RFC 5861).
    pub stale_while_revalidate: Option<Span>,
    /// It was said to this cache alone: what is said to all, also by `Expires`, does not count.
    pub addressed: bool,
}

impl Directives {
    /// What counts of the words of an answer: those in the first of the `targeted` headers that has any, else those to all. Lower-case names.
    pub fn of(headers: &[(String, String)], targeted: &[String]) -> Directives {
        let addressed = targeted.iter().find_map(|name| targeted::addressed(name, &joined(headers, name)?));
        match addressed {
            // Which fields those would be is looked for in `Cache-Control` alone.
            Some(told) => Directives { addressed: true, ..Directives::told(told, |_| false) },
            None => {
                let field = joined(headers, "cache-control").unwrap_or_default();
                Directives::told(directives(&field), |value| !fields(value).is_empty())
            }
        }
    }

    /// Of two lifetimes the first counts, and what is no number is none (RFC 9111 section 4.2.1).
    fn told(
        directives: impl IntoIterator<Item = (String, Option<String>)>,
        is_of_fields: impl Fn(&str) -> bool,
    ) -> Directives {
        let mut said = Directives::default();
        for (name, value) in directives {
            let first = |known: Option<Span>| known.or_else(|| Some(seconds(value.as_deref()).unwrap_or_default()));
            let of_all = !value.as_deref().is_some_and(&is_of_fields);
            match name.as_str() {
                "max-age" => said.max_age = first(said.max_age),
                "s-maxage" => said.s_maxage = first(said.s_maxage),
                "no-cache" => said.no_cache |= of_all,
                "no-store" => said.no_store = true,
                "private" => said.private |= of_all,
                "public" => said.public = true,
                "must-revalidate" => said.must_revalidate = true,
                "proxy-revalidate" => said.proxy_revalidate = true,
                "must-understand" => said.must_understand = true,
                "stale-while-revalidate" => said.stale_while_revalidate = first(said.stale_while_revalidate),
                _ => {}
            }
        }
        said
    }
}

/// The headers that are not kept, as the answer says: for one client alone, or not to be shown again without asking (RFC 9111 sections
/// 5.2.2.4 and 5.2.2.7). Lower-case names.
pub(super) fn listed(headers: &[(String, String)]) -> Vec<String> {
    let field = joined(headers, "cache-control").unwrap_or_default();
    let all = directives(&field).into_iter().filter(|(name, _)| matches!(name.as_str(), "no-cache" | "private"));
    all.flat_map(|(_, value)| value.as_deref().map(fields).unwrap_or_default()).collect()
}

/// Names of fields, in lower case; none, where it is no list of those.
fn fields(value: &str) -> Vec<String> {
    let names: Vec<String> = value.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
    if names.iter().all(|name| is_token(name)) { names } else { Vec::new() }
}

/// A token of HTTP (RFC 9110 section 5.6.2): the name of a header or of a method, a scheme.
pub fn is_token(text: &str) -> bool {
    let may_be = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(may_be)
}

/// Names in lower case, with their values without quotes. What is no directive is left out.
fn directives(field: &str) -> Vec<(String, Option<String>)> {
    split(field, b',').into_iter().filter_map(directive).collect()
}

/// At each `mark` that stands outside of quotes.
pub(super) fn split(field: &str, mark: u8) -> Vec<&str> {
    let (mut found, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in field.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if byte == mark && !quoted => {
                found.push(&field[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&field[start..]);
    found
}

/// `None`: it is none.
pub(super) fn directive(text: &str) -> Option<(String, Option<String>)> {
    let text = text.trim_matches([' ', '\t']);
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if !is_token(name) {
        return None;
    }
    let unquoted = |value: &str| match value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        Some(inside) => inside.replace('\\', ""),
        None => value.to_owned(),
    };
    Some((name.to_ascii_lowercase(), value.map(unquoted)))
}

/// Delta-seconds: digits alone.
pub(super) fn seconds(value: Option<&str>) -> Option<Span> {
    let value = value?;
    if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(Span::from_secs(value.parse().unwrap_or(MOST_SECONDS).min(MOST_SECONDS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(headers: &[(String, String)]) -> Directives {
        Directives::of(headers, &[])
    }

    fn field(value: &str) -> Vec<(String, String)> {
        vec![("cache-control".to_owned(), value.to_owned())]
    }

    #[test]
    fn a_response_is_read_whatever_its_case_and_quotes() {
        let said = of(&field("MAX-AGE=60, s-maxage=\"30\" ,Private=\"x, max-age=1\",no-cache, , must-understand"));
        assert_eq!((said.max_age, said.s_maxage), (Some(Span::from_secs(60)), Some(Span::from_secs(30))));
        assert!(said.no_cache && said.must_understand && !said.no_store && !said.public);
    }

    #[test]
    fn what_is_said_of_single_fields_is_not_said_of_the_whole() {
        for (value, names) in [
            ("no-cache=\"a, B\"", &["a", "b"][..]),
            ("private=Set-Token, max-age=60", &["set-token"]),
            ("no-cache=\"a\", private=\"b\"", &["a", "b"]),
        ] {
            let said = of(&field(value));
            assert!(!said.no_cache && !said.private, "{value}");
            assert_eq!(listed(&field(value)), names, "{value}");
        }
        for value in ["no-cache", "no-cache=", "no-cache=\"\"", "no-cache=\"a b\"", "no-cache=\"a\", no-cache"] {
            assert!(of(&field(value)).no_cache, "{value}");
        }
        let addressed = [("cdn-cache-control".to_owned(), "no-cache=\"a\"".to_owned())];
        assert!(Directives::of(&addressed, &["cdn-cache-control".to_owned()]).no_cache);
    }

    #[test]
    fn lifetimes_that_are_none_are_over_at_once() {
        for value in
            ["max-age", "max-age=", "max-age=x", "max-age=1.5", "max-age=-1", "max-age= 60", "max-age=x, max-age=60"]
        {
            assert_eq!(of(&field(value)).max_age, Some(Span::ZERO), "{value}");
        }
        let two = [field("max-age=60"), field("max-age=0")].concat();
        assert_eq!(of(&two).max_age, Some(Span::from_secs(60)), "the first counts");
        assert_eq!(of(&field("max-age =60")).max_age, None, "that is another directive");
        assert_eq!(of(&field("max-age=99999999999999999999999")).max_age, Some(Span::from_secs(MOST_SECONDS)));
    }

    #[test]
    fn a_client_s_wishes_are_read_strictly() {
        let wishes = Wishes::of(&field("max-age=9, max-age=3, max-stale, min-fresh=2, only-if-cached, no-transform"));
        assert_eq!(wishes.max_age, Some(Span::from_secs(3)));
        assert_eq!(wishes.max_stale, Some(Span::from_secs(MOST_SECONDS)));
        assert_eq!(wishes.min_fresh, Some(Span::from_secs(2)));
        assert!(wishes.only_if_cached && !wishes.no_cache && !wishes.no_store);
        assert_eq!(Wishes::of(&field("max-stale=x")).max_stale, Some(Span::ZERO));
        assert_eq!(Wishes::of(&[]), Wishes::default());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,60}") {
            _ = (of(&field(&text)), Wishes::of(&field(&text)));
        }
    }
}
