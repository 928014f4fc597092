//! Patterns of paths: `/tasks/*` and `/receipts/**`. Knows paths as text; must not know what a pattern is for.

use super::location::{Location, normalised};

/// `*` is anything inside a segment, also nothing; `**` as the last segment is any rest, also none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<String>,
    rest: bool,
}

impl Pattern {
    /// The error is a sentence.
    pub fn compile(text: &str) -> Result<Pattern, String> {
        let path = text.strip_prefix('/').ok_or_else(|| format!("{text:?} must begin with a slash"))?;
        if path.contains(['?', '#', ' ']) {
            return Err(format!("{text:?} is the pattern of a path: it has no query, no # and no spaces"));
        }
        let mut segments: Vec<String> = path.split('/').map(normalised).collect();
        let rest = segments.pop_if(|last| last == "**").is_some();
        if segments.iter().any(|segment| segment.contains("**")) {
            return Err(format!("{text:?} has ** in the middle; it is any rest, and stands alone at the end"));
        }
        Ok(Pattern { segments, rest })
    }

    /// What the requests of a path template look like (`/zones/{item}/run`), with whatever stands behind: some servers take that for
    /// arguments.
    pub fn of_template(template: &str) -> Pattern {
        let path = template.split(['?', '#']).next().unwrap_or_default();
        let mut literal = String::with_capacity(path.len());
        let mut rest = path;
        while let Some((before, after)) = rest.split_once('{') {
            literal.push_str(before);
            literal.push('*');
            rest = after.split_once('}').map_or("", |(_, behind)| behind);
        }
        literal.push_str(rest);
        let segments = bare_segments(&normalised(&literal));
        Pattern { segments, rest: true }
    }

    /// However a provider reads it.
    pub fn fits(&self, location: &Location) -> bool {
        location.readings().iter().all(|path| self.fits_path(path))
    }

    /// In any way in which a provider may read it: in other case, with more slashes, with parameters of segments.
    pub(super) fn may_fit(&self, location: &Location) -> bool {
        location.readings().iter().any(|path| self.fits_segments(&bare_segments(path)))
    }

    /// A path that is normalised.
    pub fn fits_path(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
        self.fits_segments(&segments)
    }

    fn fits_segments<S: AsRef<str>>(&self, segments: &[S]) -> bool {
        let long_enough = match self.rest {
            true => segments.len() >= self.segments.len(),
            false => segments.len() == self.segments.len(),
        };
        long_enough && self.segments.iter().zip(segments).all(|(pattern, segment)| glob(pattern, segment.as_ref()))
    }
}

fn bare_segments(path: &str) -> Vec<String> {
    let bare = |segment: &str| segment.split(';').next().unwrap_or_default().to_ascii_lowercase();
    path.split('/').map(bare).filter(|segment| !segment.is_empty()).collect()
}

/// `*` is any text.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, mut rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    while let Some((part, behind)) = rest.split_once('*') {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
        rest = behind;
    }
    text.ends_with(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(pattern: &str, raw: &str) -> bool {
        Pattern::compile(pattern).unwrap().fits(&Location::read(raw).unwrap())
    }

    #[test]
    fn a_star_stays_in_its_segment_and_two_take_the_rest() {
        for (pattern, raw, wanted) in [
            ("/**", "", true),
            ("/**", "/a/b?c", true),
            ("/", "/", true),
            ("/", "/a", false),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/", true),
            ("/a/*", "/a", false),
            ("/a/*", "/a/b/c", false),
            ("/a/**", "/a", true),
            ("/a/**", "/a/b/c", true),
            ("/a/**", "/ab", false),
            ("/a/*.json", "/a/x.json?y", true),
            ("/a/*.json", "/a/x.xml", false),
            ("/a/x*y*z", "/a/x1y2z", true),
            ("/a/x*y*z", "/a/x1z", false),
            ("/%61/*", "/a/b", true),
            ("/A", "/a", false),
        ] {
            assert_eq!(fits(pattern, raw), wanted, "{pattern} {raw}");
        }
    }

    #[test]
    fn an_encoded_slash_must_fit_both_as_one_and_as_a_letter() {
        assert!(!fits("/public/*", "/public/a%2Fb"), "it may be two segments");
        assert!(!fits("/*/admin", "/a%2Fadmin"), "it may be one");
        assert!(fits("/projects/**", "/projects/group%2Fproject"));
    }

    #[test]
    fn what_may_be_a_command_is_found_in_disguise() {
        let run = Pattern::of_template("/zones/{item}/run?seconds={seconds}");
        let may = |raw: &str| run.may_fit(&Location::read(raw).unwrap());
        for raw in [
            "/zones/1/run",
            "/ZONES/1/Run?x",
            "/zones//1/run/",
            "/zones/1/run;a=b",
            "/zones%2F1/run",
            "/zones/1/run/more",
        ] {
            assert!(may(raw), "{raw}");
        }
        assert!(!may("/zones/1") && !may("/zones/1/runs"));
        assert!(Pattern::of_template("/set-{what}.php").may_fit(&Location::read("/set-zone.php/x").unwrap()));
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        for text in ["a", "/a?b", "/**/a", "/a**", "/a b"] {
            assert!(Pattern::compile(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_path_fits_itself(path in "(/[a-z0-9.~-]{1,5}){1,4}") {
            prop_assume!(Location::read(&path).is_ok());
            prop_assert!(fits(&path, &path));
            prop_assert!(fits("/**", &path));
        }

        #[test]
        fn a_star_is_any_text(a in "[a-z]{0,4}", b in "[a-z]{0,4}", c in "[a-z]{0,4}") {
            let (pattern, whole, other) = (format!("{a}*{c}"), format!("{a}{b}{c}"), format!("1{a}{b}{c}"));
            prop_assert!(glob(&pattern, &whole));
            prop_assert!(!glob(&pattern, &other) || a.is_empty());
        }
    }
}
