//! Words on caching that are said to some caches alone: targeted fields (RFC 9213), and `Surrogate-Control` before them (W3C, Edge Architecture
//! Specification 1.0), whose parameters name whom it means. Must not know which of them a connection listens to.

use super::directives::{directive, seconds, split};
use sfv::{BareItem, Dictionary, Item, ListEntry, Parser};

/// By which name `Surrogate-Control` means this cache.
pub const CAPABILITY: &str = "larder=\"Surrogate/1.0\"";
const OWN: &str = "larder";
const SURROGATE: &str = "surrogate-control";

/// Whether a connection that listens to these headers announces itself to its provider, which addresses nobody unasked.
pub fn announces(targeted: &[String]) -> bool {
    targeted.iter().any(|name| name == SURROGATE)
}

/// The directives of a field of this name that are meant for this cache. `None`: none is, or it cannot be read, and others count.
pub(super) fn addressed(name: &str, field: &str) -> Option<Vec<(String, Option<String>)>> {
    if name != SURROGATE {
        return of_dictionary(field);
    }
    let mut found = Vec::new();
    for member in split(field, b',').into_iter().filter(|member| !member.trim().is_empty()) {
        let mut parts = split(member, b';').into_iter().map(str::trim);
        let first = parts.next()?;
        let others: Vec<&str> = parts.collect();
        if !others.is_empty() && !others.contains(&OWN) {
            continue;
        }
        let (word, value) = directive(first)?;
        // Beyond its life a surrogate may be told how much longer it may serve: `max-age=600+60`.
        let value = value.and_then(|value| value.split('+').next().map(str::to_owned));
        if matches!(word.as_str(), "max-age" | "s-maxage") {
            seconds(value.as_deref())?;
        }
        found.push((word, value));
    }
    (!found.is_empty()).then_some(found)
}

/// A targeted field is a dictionary (RFC 9213 section 2.1): what is none is as if it were not there, and so is one whose lifetime is no number
/// of seconds. Parameters mean nothing, and of two members the last counts.
fn of_dictionary(field: &str) -> Option<Vec<(String, Option<String>)>> {
    let members: Dictionary = Parser::new(field).parse().ok()?;
    let mut found = Vec::new();
    for (key, member) in &members {
        let value = match member {
            ListEntry::Item(Item { bare_item: BareItem::Boolean(true), .. }) => None,
            ListEntry::Item(Item { bare_item: BareItem::Boolean(false), .. }) => continue,
            ListEntry::Item(Item { bare_item: BareItem::Integer(number), .. }) => Some(number.to_string()),
            ListEntry::Item(_) | ListEntry::InnerList(_) => Some(String::new()),
        };
        if matches!(key.as_str(), "max-age" | "s-maxage") {
            seconds(value.as_deref())?;
        }
        found.push((key.as_str().to_owned(), value));
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Span;
    use crate::rules::gateway::directives::Directives;
    use proptest::prelude::*;

    fn of(headers: &[(&str, &str)], targeted: &[&str]) -> Directives {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let targeted: Vec<String> = targeted.iter().map(|name| (*name).to_owned()).collect();
        Directives::of(&headers.iter().map(owned).collect::<Vec<_>>(), &targeted)
    }

    #[test]
    fn what_is_said_to_this_cache_stands_in_place_of_what_is_said_to_all() {
        let both = [("cdn-cache-control", "max-age=60"), ("cache-control", "no-store, max-age=5")];
        let said = of(&both, &["cdn-cache-control"]);
        assert!(said.addressed && !said.no_store);
        assert_eq!(said.max_age, Some(Span::from_secs(60)));
        assert!(of(&both, &[]).no_store && of(&both, &["surrogate-control"]).no_store, "it is not listened to");
        let three = [both[0], both[1], ("surrogate-control", "no-store")];
        assert!(of(&three, &["surrogate-control", "cdn-cache-control"]).no_store, "the first that is there");
        assert!(!of(&three, &["cdn-cache-control", "surrogate-control"]).no_store);
    }

    #[test]
    fn what_cannot_be_read_is_not_listened_to() {
        for field in [
            "",
            ",",
            "max-age =60",
            "max-age= 60",
            "max-age=x, no-store",
            "max-age=1.5",
            "\"x\"",
            "max-age=\"60\"",
            "MaX-aGe=60",
            "max-age=-1",
            "max-age=60, &&&",
        ] {
            let said = of(&[("cdn-cache-control", field), ("cache-control", "max-age=5")], &["cdn-cache-control"]);
            assert_eq!((said.addressed, said.max_age), (false, Some(Span::from_secs(5))), "{field:?}");
        }
    }

    #[test]
    fn a_surrogate_heeds_what_means_it_or_all() {
        let life = |field: &str| {
            let said = of(&[("surrogate-control", field), ("cache-control", "max-age=5")], &["surrogate-control"]);
            said.max_age.map(Span::as_secs)
        };
        for (field, wanted) in [
            ("max-age=60", 60),
            ("MaX-aGe=60", 60),
            ("foobar, max-age=60", 60),
            ("max-age=60+600", 60),
            ("max-age=60;larder", 60),
            ("max-age=60;other, max-age=30", 30),
            ("max-age=60;other", 5),
        ] {
            assert_eq!(life(field), Some(wanted), "{field}");
        }
        let twice = of(&[("cdn-cache-control", "max-age=30, max-age=60")], &["cdn-cache-control"]);
        assert_eq!(twice.max_age, Some(Span::from_secs(60)), "the last counts");
        let parameters = of(&[("cdn-cache-control", "max-age=60;other")], &["cdn-cache-control"]);
        assert_eq!(parameters.max_age, Some(Span::from_secs(60)), "elsewhere parameters mean nothing");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,60}", surrogate in any::<bool>()) {
            _ = addressed(if surrogate { SURROGATE } else { "cdn-cache-control" }, &text);
        }
    }
}
