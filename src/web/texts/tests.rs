//! The catalogue and its users say the same keys and values; a second language would be chosen by its reader, and lacks nothing.

use super::catalogue::{Catalogue, MARKS, all};
use super::choice::{chosen, told, wishes};
use super::*;
use axum::http::{HeaderMap, HeaderValue, header};
use std::collections::BTreeSet;

#[test]
fn what_is_asked_for_is_there_with_the_same_values() {
    let texts = sources::texts(&sources::source("en.ftl"));
    let asked = sources::asked();
    assert!(asked.len() > 500, "{} texts are asked for", asked.len());
    for (path, (key, names)) in asked {
        assert_eq!(texts.get(&key), Some(&names), "{key} in {path}");
    }
}

#[test]
fn what_is_there_is_asked_for() {
    let asked: BTreeSet<String> = sources::asked().into_iter().map(|(_, (key, _))| key).collect();
    let texts = sources::texts(&sources::source("en.ftl"));
    let unused: Vec<&String> = texts.keys().filter(|key| !asked.contains(*key)).collect();
    assert!(unused.is_empty(), "nobody asks for {unused:?}");
}

/// A translation has no text that English lacks, and asks for no other values.
#[test]
fn every_language_says_the_texts_of_english() {
    let english = sources::texts(&sources::source("en.ftl"));
    for name in sources::names() {
        for (key, values) in sources::texts(&sources::source(&name)) {
            let known = english.get(&key).unwrap_or_else(|| panic!("{name}: {key} is no key of en.ftl"));
            assert!(values.is_subset(known), "{name}: {key} has {known:?}");
        }
    }
}

/// What is not a mark goes to the page as it stands.
#[test]
fn no_text_has_other_markup() {
    for name in sources::names() {
        let source = sources::source(&name);
        let marks = MARKS.iter().map(|(mark, _)| *mark).chain(["<b>", "</b>", "<code>", "</code>", "<bdi>", "</bdi>"]);
        let texts = source.lines().filter(|line| !line.starts_with('#'));
        for line in texts {
            let bare = marks.clone().fold(line.to_owned(), |line, mark| line.replace(mark, ""));
            let bare = bare.replace("->", "");
            assert!(!bare.contains(['<', '>', '&', '"', '\'']), "{name}: {line}");
        }
    }
}

#[test]
fn values_are_escaped_and_elements_are_not() {
    let text = t("code-a-code-for").with("name", "<b>&\"x\"'");
    assert_eq!(text.to_string(), "A code for &#60;b&#62;&#38;&#34;x&#34;&#39;");
    assert_eq!(text.plain(), "A code for <b>&\"x\"'");
    let link = t("tokens-what-programs-show-instead").href("href", "operators", "?organization=\"o");
    assert!(link.to_string().ends_with("<a href=\"operators?organization=&#34;o\">operators</a>."), "{link}");
    assert_eq!(t("overview-more-limits").with("more", 1_u64).to_string(), "1 more limit on its page");
    assert_eq!(t("overview-more-limits").with("more", 2_u64).to_string(), "2 more limits on its page");
}

#[tokio::test]
async fn what_a_language_lacks_or_cannot_say_is_said_in_english() {
    let own = "any-show = Montrer\nany-newer = { $nothing }\nany-older = {";
    let own: &'static Catalogue = Box::leak(Box::new(Catalogue::read("fr".parse().unwrap(), own)));
    let said = told(own, async { ["any-show", "any-newer", "any-older", "any-look-at"].map(|key| t(key).plain()) });
    assert_eq!(said.await, ["Montrer", "Newer", "Older", "Look at"]);
    assert_eq!(told(own, async { language() }).await, "fr");
    assert_eq!(language(), "en");
}

fn reads(header: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, HeaderValue::from_static(header))])
}

#[test]
fn the_reader_chooses_among_languages_that_there_are() {
    let some = |tag: &str| Catalogue::read(tag.parse().unwrap(), "any-show = x");
    let there: &'static [Catalogue] = Vec::leak(vec![some("en"), some("de"), some("fr")]);
    let tag = |header| chosen(&reads(header), there).map(|own| own.language.to_string());
    for (header, best) in [
        ("de-CH,de;q=0.9,en;q=0.8", "de"),
        ("en;q=0.2, fr;q=0.7", "fr"),
        ("fr;q=0, de;q=0.1", "de"),
        ("ja", "en"),
        ("*", "en"),
        ("", "en"),
        (";;,q=,;q=2;", "en"),
    ] {
        assert_eq!(tag(header).as_deref(), Some(best), "{header}");
    }
    assert!(chosen(&HeaderMap::new(), there).is_none());
    assert!(chosen(&reads("de"), &there[..1]).is_none(), "with English alone nothing is chosen");
    assert_eq!(wishes("a;q=x, de ;q=0.5").len(), 1);
    assert_eq!(all().first().map(|one| one.language.to_string()).as_deref(), Some("en"));
}
