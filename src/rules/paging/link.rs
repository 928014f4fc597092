//! `Link` headers (RFC 8288 section 3): the target of the link whose relation is `next`. Knows the syntax alone.

/// A value that could not be read to its end: what it does not say is no evidence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// The first target with relation `next` in the values of all `Link` headers; `None` only where all of them could be read.
pub(super) fn next<'a>(values: impl Iterator<Item = &'a str>) -> Result<Option<&'a str>, Broken> {
    let mut broken = false;
    for value in values {
        let (links, rest) = links(value);
        if let Some(link) = links.into_iter().find(|link| link.is_next) {
            return Ok(Some(link.target));
        }
        broken |= !rest.is_empty();
    }
    if broken { Err(Broken) } else { Ok(None) }
}

struct Link<'a> {
    target: &'a str,
    is_next: bool,
}

/// The links of one header value, and the rest from where it is no link: nothing behind that can be trusted.
fn links(value: &str) -> (Vec<Link<'_>>, &str) {
    let mut found = Vec::new();
    let mut rest = value.trim_start_matches([' ', '\t', ',']);
    while let Some((target, after)) = rest.strip_prefix('<').and_then(|inner| inner.split_once('>')) {
        let (parameters, behind) = cut(after, ',');
        if !parameters.trim_start().is_empty() && !parameters.trim_start().starts_with(';') {
            break;
        }
        found.push(Link { target: target.trim(), is_next: relation(parameters).is_some_and(says_next) });
        rest = behind.trim_start_matches([' ', '\t', ',']);
    }
    (found, rest)
}

/// Cuts before the first `end`; one inside quotes belongs to them.
fn cut(text: &str, end: char) -> (&str, &str) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if c == end && !quoted => return text.split_at(at),
            _ => {}
        }
    }
    (text, "")
}

/// The first `rel` parameter: section 3.3 lets later ones be ignored.
fn relation(parameters: &str) -> Option<&str> {
    let mut rest = parameters;
    loop {
        let (parameter, behind) = cut(rest, ';');
        if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("rel")
        {
            return Some(value.trim().trim_matches('"'));
        }
        rest = behind.strip_prefix(';')?;
    }
}

/// Relations are a list of words without regard to case.
fn says_next(relation: &str) -> bool {
    relation.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("next"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_as_providers_write_them() {
        for (value, expected) in [
            (
                r#"<https://a.test/x?page=2>; rel="next", <https://a.test/x?page=9>; rel="last""#,
                Some("https://a.test/x?page=2"),
            ),
            (
                r#"<https://a.test/x?page=9>; rel="last",<https://a.test/x?page=2>;rel="next""#,
                Some("https://a.test/x?page=2"),
            ),
            ("</x?page=2>; rel=next", Some("/x?page=2")),
            ("</x?a=1,2;b>; title=\"one, two; three\"; REL=\"prefetch NEXT\"", Some("/x?a=1,2;b")),
            (r#"</a>; title="\", <b>; rel=next"; rel="prev""#, None),
            (r#"</x>; rel="nextish""#, None),
            (r#"</x>; rel="prev"; rel="next""#, None),
            ("<>; rel=next", Some("")),
            ("", None),
        ] {
            assert_eq!(next([value].into_iter()), Ok(expected), "{value}");
        }
        let two = ["</a>; rel=prev", "</b>; rel=next"];
        assert_eq!(next(two.into_iter()), Ok(Some("/b")), "several headers are one list (RFC 9110 section 5.3)");
    }

    #[test]
    fn what_cannot_be_read_to_its_end_proves_no_end() {
        for value in ["/x?page=2; rel=next", r#"<>,>; rel="next""#, "</a>; rel=prev, next", r#"</a>b; rel="next""#] {
            assert_eq!(next([value].into_iter()), Err(Broken), "{value}");
        }
        assert_eq!(next(["nonsense", "</b>; rel=next"].into_iter()), Ok(Some("/b")), "another header says it");
    }

    proptest! {
        #[test]
        fn no_text_panics(value in "[<>;,=\" \\\\a-z]{0,60}", any in ".{0,60}") {
            let _ = next([value.as_str(), any.as_str()].into_iter());
        }
    }
}
