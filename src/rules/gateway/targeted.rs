//! Words on caching that are said to some caches alone: targeted fields (RFC 9213), and `Surrogate-Control` before them (W3C, Edge Architecture
//! Specification 1.0), whose parameters name whom it means. Must not know which of them a connection listens to.

use super::directives::{directive, seconds, split};

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
    let mut found = Vec::new();
    for member in split(field, b',').into_iter().filter(|member| !member.trim().is_empty()) {
        let mut parts = split(member, b';').into_iter().map(str::trim);
        let first = parts.next()?;
        let others: Vec<&str> = parts.collect();
        let is_surrogate = name == SURROGATE;
        if is_surrogate && !others.is_empty() && !others.contains(&OWN) {
            continue;
        }
        let (word, value) = directive(first)?;
        // Beyond its life a surrogate may be told how much longer it may serve: `max-age=600+60`.
        let life = |value: String| if is_surrogate { value.split('+').next().map(str::to_owned) } else { Some(value) };
        let value = value.and_then(life);
        if matches!(word.as_str(), "max-age" | "s-maxage") {
            seconds(value.as_deref())?;
        }
        found.push((word, value));
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
        for field in ["", ",", "max-age =60", "max-age= 60", "max-age=x, no-store", "max-age=1.5", "\"x\""] {
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
