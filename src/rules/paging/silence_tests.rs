//! Silence about other pages: whose end it is, whose it is not, and when it is believed all the same.

use super::tests::{at, json_at, spec};
use super::*;
use crate::domain::page::{Ends, Scan};
use crate::domain::time::{Span, Stamp, Steady, Wall};
use proptest::prelude::*;
use serde_json::json;

const BASE: &str = "https://api.example.test/v1";
const HAD_THREE: Usual = Usual { pages: 3, items: 150 };

fn cursor(more: Option<&str>) -> PageStyle {
    PageStyle::Cursor { next: json_at("$.next"), placing: Placing::Query("after".into()), more: more.map(json_at) }
}

fn numbered(ends: Ends) -> PageStyle {
    PageStyle::Numbered { placing: Placing::Query("page".into()), first: 1, step: Unit::Pages, ends }
}

/// Every style that can be silent.
fn styles() -> Vec<PageStyle> {
    let next = Some(json_at("$.next"));
    let ends = Ends { next, empty_page: true, ..Ends::default() };
    let header = PageStyle::NextUrl { next: ValueSource::Header("x-next".into()) };
    let url = PageStyle::NextUrl { next: json_at("$.next") };
    vec![PageStyle::Link, url, header, cursor(None), cursor(Some("$.more")), numbered(ends)]
}

/// A page of so many rows, as the one after `read` others.
fn page(spec: &PageSpec, usual: Usual, read: u32, rows: u64, body: Value) -> Step {
    let mut trail = Trail { pages: read, ..Trail::default() };
    let asked = at("/tasks");
    let page = Page { asked: &asked, headers: &[], body: &body, rows, again: 0, digest: [9; 16], bytes: 100 };
    Pager::compile(spec).unwrap().follow(BASE, usual, &mut trail, &page)
}

fn sized(style: PageStyle, rows: u64) -> PageSpec {
    PageSpec { size: Some(PageSize { param: None, rows }), ..spec(style) }
}

const SILENT: Step = Step::Incomplete(Unfinished::Silent { usual: 3 });
const END: Step = Step::Complete(End::Unsaid);

#[test]
fn a33_silence_is_no_end_where_the_last_reading_had_more_pages() {
    for style in styles() {
        let step = |usual, read, rows| page(&spec(style.clone()), usual, read, rows, json!({}));
        assert_eq!(step(HAD_THREE, 0, 50), SILENT, "{style:?}");
        assert_eq!(step(Usual { pages: 1, items: 50 }, 0, 50), END, "{style:?}: it had one page too");
        assert_eq!(step(HAD_THREE, 1, 50), END, "{style:?}: a page of this reading named the next");
        assert_eq!(step(HAD_THREE, 0, 0), END, "{style:?}: what is empty is doubted as such");
    }
    let said = Unfinished::Silent { usual: 3 }.to_string();
    assert!(said.ends_with("whether there is another page, and the last complete reading had 3"), "{said}");
}

/// There may be items all the same: of a part, or of the list before it was read page by page.
#[test]
fn a33_silence_is_no_end_of_a_first_reading_unless_the_provider_says_that_it_is() {
    for style in styles() {
        for items in [0, 150] {
            let first = Usual { pages: 0, items };
            let step = |spec: &PageSpec, usual, rows| page(spec, usual, 0, rows, json!({}));
            assert_eq!(step(&spec(style.clone()), first, 50), Step::Incomplete(Unfinished::Silent { usual: 0 }));
            assert_eq!(step(&spec(style.clone()), first, 0), END, "{style:?}: shorter than any size");
            assert_eq!(step(&sized(style.clone(), 51), first, 50), END, "{style:?}: it is not full");
            let says_so = PageSpec { absent_ends: true, ..spec(style.clone()) };
            assert_eq!(step(&says_so, first, 50), END, "{style:?}");
            assert_eq!(step(&says_so, HAD_THREE, 50), SILENT, "{style:?}: and has broken its word");
        }
    }
    let said = Unfinished::Silent { usual: 0 }.to_string();
    assert_eq!(said, "the answer does not say whether there is another page");
}

#[test]
fn what_is_there_and_says_no_is_an_end_whatever_there_was() {
    for style in styles().into_iter().filter(|style| !matches!(style, PageStyle::Link)) {
        if matches!(&style, PageStyle::NextUrl { next: ValueSource::Header(_) }) {
            continue;
        }
        for no in [json!(null), json!(""), json!(false)] {
            let body = json!({"next": no, "more": no});
            let step = page(&spec(style.clone()), HAD_THREE, 0, 50, body);
            assert!(matches!(step, Step::Complete(End::NoNext | End::SaidSo)), "{style:?} {no}: {step:?}");
        }
    }
    let headers = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let link = headers("link", "</v1/tasks?page=1>; rel=\"first\"");
    for (style, headers) in [
        (PageStyle::Link, link),
        (PageStyle::NextUrl { next: ValueSource::Header("x-next".into()) }, headers("x-next", "")),
    ] {
        let (asked, mut trail) = (at("/tasks"), Trail::default());
        let page =
            Page { asked: &asked, headers: &headers, body: &json!({}), rows: 9, again: 0, digest: [9; 16], bytes: 1 };
        let step = Pager::compile(&spec(style)).unwrap().follow(BASE, HAD_THREE, &mut trail, &page);
        assert_eq!(step, Step::Complete(End::NoNext));
    }
    // A token is no answer to the question that `more` leaves open; that there is none is one.
    let said = |body: Value| page(&spec(cursor(Some("$.more"))), HAD_THREE, 0, 50, body);
    assert_eq!(said(json!({"next": "abc"})), SILENT);
    assert_eq!(said(json!({"next": null})), Step::Complete(End::NoNext));
}

#[test]
fn a_page_that_is_not_full_ends_in_silence_where_pages_of_that_size_were_seen() {
    for style in styles() {
        let step = |size, rows| page(&sized(style.clone(), size), HAD_THREE, 0, rows, json!({}));
        assert_eq!(step(50, 49), END, "{style:?}");
        assert_eq!(step(50, 50), SILENT, "{style:?}: it is full");
        assert_eq!(step(100, 50), SILENT, "{style:?}: 150 rows on 3 pages were never pages of 100");
    }
}

#[test]
fn the_providers_own_counts_decide_before_silence_does() {
    for style in styles() {
        let spec = PageSpec { total: Some(json_at("$.total")), ..spec(style.clone()) };
        let told = |total: u64| page(&spec, HAD_THREE, 0, 50, json!({ "total": total }));
        assert!(matches!(told(50), Step::Complete(_)), "{style:?}");
        assert!(!matches!(told(150), Step::Complete(_)), "{style:?}");
    }
    let (total_pages, next) = (Some(json_at("$.pages")), Some(json_at("$.next")));
    let spec = spec(numbered(Ends { total_pages, next, ..Ends::default() }));
    let told = |pages: u64| page(&spec, Usual::default(), 0, 50, json!({ "pages": pages }));
    assert_eq!(told(1), Step::Complete(End::LastPage(1)));
    assert_eq!(told(3), Step::Incomplete(Unfinished::NoWayOn("$.next".into())));
}

fn stamp(s: u64) -> Stamp {
    Stamp { steady: Steady(s * 1000), wall: Wall(i64::try_from(s * 1000).unwrap()), era: 0 }
}

fn read(incomplete: Option<&str>) -> Scan {
    Scan { pages: 1, of: None, incomplete: incomplete.map(str::to_owned), at: stamp(0), usual_pages: 3 }
}

#[test]
fn silence_is_believed_when_it_is_so_again_late_enough() {
    let quarter = Span::from_secs(900);
    let ask = |before: Option<&str>, since: Option<u64>, s: u64| {
        doubted(Some(&read(before)), "silent", since.map(stamp), stamp(s), quarter)
    };
    assert_eq!(doubted(None, "silent", None, stamp(5), quarter), Some(stamp(5)), "the first time");
    assert_eq!(ask(None, None, 5), Some(stamp(5)));
    assert_eq!(ask(Some("silent"), Some(5), 6), Some(stamp(5)), "nobody hastens it");
    assert_eq!(ask(Some("rate limited"), Some(5), 905), Some(stamp(5)), "it was not said right before");
    assert_eq!(ask(Some("silent"), None, 905), Some(stamp(905)), "nobody knows since when");
    assert_eq!(ask(Some("silent"), Some(5), 905), None, "a round later");
    assert_eq!(doubted(Some(&read(Some("silent"))), "silent", Some(stamp(5)), stamp(64), Span::ZERO), Some(stamp(5)));
    assert_eq!(doubted(Some(&read(Some("silent"))), "silent", Some(stamp(5)), stamp(65), Span::ZERO), None);
}

/// A renamed key stays away, and so does a misspelt one.
#[test]
fn a33_silence_is_never_believed_without_the_providers_word_that_its_lists_end_so() {
    let quarter = Span::from_secs(900);
    for style in styles() {
        let ask = |absent_ends, s: u64| {
            let pager = Pager::compile(&PageSpec { absent_ends, ..spec(style.clone()) }).unwrap();
            pager.doubts(Some(&read(Some("silent"))), "silent", Some(stamp(5)), stamp(s), quarter)
        };
        assert_eq!((ask(true, 64), ask(true, 905)), (Some(stamp(5)), None), "{style:?}");
        assert_eq!((ask(false, 64), ask(false, 5_000_000)), (Some(stamp(5)), Some(stamp(5))), "{style:?}");
    }
}

proptest! {
    /// A provider that is asked at any moments, and is silent from some time on for good or for a while: nothing is believed before the least
    /// time, and what stays so is believed in the end.
    #[test]
    fn silence_is_believed_never_early_and_at_last(
        silent in proptest::collection::vec((1..400u64, any::<bool>()), 1..12), interval in 1..600u64,
    ) {
        let interval = Span::from_secs(interval);
        let least = crate::rules::reconcile::believed_after(interval);
        let (mut now, mut before, mut since): (u64, Option<Scan>, Option<Stamp>) = (0, Some(read(None)), None);
        let mut first = None;
        let ever = [(1, true), (2 * least.as_secs_ceil(), true)];
        let mut believed = false;
        for (gap, is_silent) in silent.into_iter().chain(ever) {
            now += gap;
            if !is_silent {
                (before, since, first, believed) = (Some(read(None)), None, None, false);
                continue;
            }
            let first = *first.get_or_insert(now);
            match doubted(before.as_ref(), "silent", since, stamp(now), interval) {
                Some(from) => (before, since, believed) = (Some(read(Some("silent"))), Some(from), false),
                None => {
                    prop_assert!(Span::from_secs(now - first) >= least, "{now} s, first at {first} s");
                    believed = true;
                }
            }
        }
        prop_assert!(believed, "it stays incomplete for ever");
    }
}
