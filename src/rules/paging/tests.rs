//! Each style by the answers that providers give: the next page, the end, and what is neither.

use super::*;
use crate::domain::page::{Ends, Step as Unit};
use crate::rules::address::parameter;
use serde_json::json;

const BASE: &str = "https://api.example.test/v1";

pub(super) fn json_at(path: &str) -> ValueSource {
    ValueSource::Json(path.to_owned())
}

pub(super) fn spec(style: PageStyle) -> PageSpec {
    PageSpec {
        style,
        size: None,
        total: None,
        absent_ends: false,
        first_confirms_all: false,
        max_pages: 5,
        max_items: 1_000,
        max_bytes: 10_000,
    }
}

fn numbered(ends: Ends) -> PageSpec {
    let style = PageStyle::Numbered { placing: Placing::Query("page".into()), first: 1, step: Unit::Pages, ends };
    PageSpec { size: Some(PageSize { param: Some("size".into()), rows: 2 }), ..spec(style) }
}

fn cursor_style(more: Option<&str>) -> PageStyle {
    PageStyle::Cursor { next: json_at("$.cursor"), placing: Placing::Query("after".into()), more: more.map(json_at) }
}

/// One page of two rows, never the same twice.
/// No reading was complete before: see `silence_tests`.
const SILENT: Step = Step::Incomplete(Unfinished::Silent { usual: 0 });

fn one(pager: &Pager, trail: &mut Trail, asked: &Ask, headers: &[(&str, &str)], body: Value) -> Step {
    let rows = body.get("rows").and_then(Value::as_u64).unwrap_or(2);
    let headers: Vec<_> = headers.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let digest = [u8::try_from(trail.pages).unwrap() + 1; 16];
    let page = Page { asked, headers: &headers, body: &body, rows, again: 0, digest, bytes: 100 };
    pager.follow(BASE, Usual::default(), trail, &page)
}

fn first_page(spec: &PageSpec, headers: &[(&str, &str)], body: Value) -> Step {
    let pager = Pager::compile(spec).unwrap();
    one(&pager, &mut Trail::default(), &pager.first(&at("/tasks?x=1")), headers, body)
}

pub(super) fn at(location: &str) -> Ask {
    Ask { location: location.to_owned(), body: Vec::new() }
}

fn next(location: &str) -> Step {
    Step::Next(at(location))
}

fn unreadable(words: &str) -> Step {
    Step::Incomplete(Unfinished::Unreadable(words.to_owned()))
}

#[test]
fn link_headers() {
    let link = |value: &str| first_page(&spec(PageStyle::Link), &[("link", value)], json!({}));
    assert_eq!(link(r#"<https://api.example.test/v1/tasks?page=2>; rel="next""#), next("/tasks?page=2"));
    assert_eq!(link(r#"</v1/tasks?page=1>; rel="prev""#), Step::Complete(End::NoNext));
    assert_eq!(
        link(r#"<https://evil.test/v1/tasks?page=2>; rel="next""#),
        Step::Incomplete(Unfinished::OtherOrigin("evil.test".into()))
    );
    assert_eq!(link("<http://[>; rel=next"), Step::Incomplete(Unfinished::NotAnAddress));
    assert_eq!(first_page(&spec(PageStyle::Link), &[], json!({})), SILENT);
}

#[test]
fn addresses_in_the_body_on_the_same_origin_alone() {
    let style = PageStyle::NextUrl { next: json_at("$.next") };
    let given = |body: Value| first_page(&spec(style.clone()), &[], body);
    assert_eq!(given(json!({"next": "https://api.example.test/v1/tasks?c=a%2Bb"})), next("/tasks?c=a%2Bb"));
    assert_eq!(given(json!({"next": "?page=2"})), next("/tasks?page=2"));
    for end in [json!({"next": null}), json!({"next": ""}), json!({"next": false})] {
        assert_eq!(given(end.clone()), Step::Complete(End::NoNext), "{end}");
    }
    assert_eq!(given(json!({})), SILENT);
    assert_eq!(given(json!({"next": "//evil.test/x"})), Step::Incomplete(Unfinished::OtherOrigin("evil.test".into())));
    assert_eq!(given(json!({"next": {"href": "/x"}})), unreadable("$.next is an object, not an address"));
    assert_eq!(given(json!({"next": true})), unreadable("$.next is true, not an address"));
}

#[test]
fn cursors_end_when_they_are_empty() {
    let given = |body: Value| first_page(&spec(cursor_style(None)), &[], body);
    assert_eq!(given(json!({"cursor": "a+b/="})), next("/tasks?x=1&after=a%2Bb%2F%3D"));
    assert_eq!(given(json!({"cursor": 17})), next("/tasks?x=1&after=17"));
    for end in [json!({"cursor": null}), json!({"cursor": ""})] {
        assert_eq!(given(end.clone()), Step::Complete(End::NoNext), "{end}");
    }
    assert_eq!(given(json!({})), SILENT);
    assert_eq!(given(json!({"cursor": [1]})), unreadable("$.cursor is a list, not a token"));

    let said = |body: Value| first_page(&spec(cursor_style(Some("$.more"))), &[], body);
    assert_eq!(said(json!({"cursor": "abc", "more": true})), next("/tasks?x=1&after=abc"));
    assert_eq!(said(json!({"cursor": "abc", "more": false})), Step::Complete(End::SaidSo));
    assert_eq!(said(json!({"more": true})), Step::Incomplete(Unfinished::NoWayOn("$.cursor".into())));
    assert_eq!(said(json!({"cursor": "abc", "more": "perhaps"})), unreadable("$.more is a text, not true or false"));

    let style = PageStyle::Cursor {
        next: ValueSource::Header("x-next".into()),
        placing: Placing::Query("after".into()),
        more: None,
    };
    assert_eq!(first_page(&spec(style.clone()), &[("x-next", "k2")], json!({})), next("/tasks?x=1&after=k2"));
    assert_eq!(first_page(&spec(style), &[("x-next", "")], json!({})), Step::Complete(End::NoNext));
}

#[test]
fn counted_pages_end_by_the_evidence_that_is_declared() {
    let by = |ends: Ends, body: Value| first_page(&numbered(ends), &[], body);
    let total_pages = || Ends { total_pages: Some(json_at("$.pages")), ..Ends::default() };
    assert_eq!(by(total_pages(), json!({"pages": 3})), next("/tasks?x=1&size=2&page=2"));
    assert_eq!(by(total_pages(), json!({"pages": "1"})), Step::Complete(End::LastPage(1)));
    assert_eq!(by(total_pages(), json!({"pages": 0, "rows": 0})), Step::Complete(End::LastPage(0)));
    assert_eq!(by(total_pages(), json!({})), unreadable("there is no count of pages at $.pages"));
    assert_eq!(by(total_pages(), json!({"pages": 3, "rows": 0})), Step::Incomplete(Unfinished::EmptyInBetween));

    let short = || Ends { short_page: true, ..Ends::default() };
    assert_eq!(by(short(), json!({"rows": 2})), next("/tasks?x=1&size=2&page=2"));
    assert_eq!(by(short(), json!({"rows": 1})), Step::Complete(End::ShortPage));
    assert_eq!(by(short(), json!({"rows": 0})), Step::Complete(End::EmptyPage));

    let field = || Ends { next: Some(json_at("$.next")), ..Ends::default() };
    assert_eq!(by(field(), json!({"next": 2})), next("/tasks?x=1&size=2&page=2"));
    assert_eq!(by(field(), json!({"next": true, "rows": 1})), next("/tasks?x=1&size=2&page=2"));
    assert_eq!(by(field(), json!({"next": "/v1/tasks?page=2"})), next("/tasks?x=1&size=2&page=2"));
    assert_eq!(by(field(), json!({"next": null})), Step::Complete(End::NoNext));
    assert_eq!(by(field(), json!({"next": 0})), Step::Incomplete(Unfinished::AskedBefore), "0 is no way on");
    assert_eq!(by(field(), json!({"next": [2]})), unreadable("$.next is a list, not a number, an address or a yes"));

    let empty = || Ends { empty_page: true, ..Ends::default() };
    assert_eq!(by(empty(), json!({"rows": 1})), next("/tasks?x=1&size=2&page=2"), "a short page is no end here");
    assert_eq!(by(empty(), json!({"rows": 0})), Step::Complete(End::EmptyPage));
}

#[test]
fn offsets_grow_by_the_rows_that_came() {
    let style = PageStyle::Numbered {
        placing: Placing::Query("offset".into()),
        first: 0,
        step: Unit::Rows,
        ends: Ends::default(),
    };
    let spec = PageSpec {
        total: Some(json_at("$.total")),
        size: Some(PageSize { param: Some("limit".into()), rows: 9 }),
        ..spec(style)
    };
    let pager = Pager::compile(&spec).unwrap();
    let mut trail = Trail::default();
    let asked = pager.first(&at("/tasks"));
    assert_eq!(asked, at("/tasks?limit=9&offset=0"));
    // The provider caps the page at two rows, whatever was asked for.
    let step = one(&pager, &mut trail, &asked, &[], json!({"total": 3}));
    assert_eq!((step, trail.of), (next("/tasks?limit=9&offset=2"), Some(1)));
    assert_eq!(
        one(&pager, &mut trail, &at("/tasks?limit=9&offset=2"), &[], json!({"total": 3, "rows": 1})),
        Step::Complete(End::AllRows(3))
    );
}

#[test]
fn relay_cursors_and_their_variables() {
    let style = |placing| PageStyle::Relay { page_info: "$.data.all.pageInfo".into(), placing };
    let info = |info: Value| json!({"data": {"all": {"pageInfo": info}}});
    let given = |body: Value| first_page(&spec(style(Placing::Query("after".into()))), &[], body);
    assert_eq!(given(info(json!({"hasNextPage": true, "endCursor": "Y3="}))), next("/tasks?x=1&after=Y3%3D"));
    assert_eq!(given(info(json!({"hasNextPage": false, "endCursor": "Y3="}))), Step::Complete(End::SaidSo));
    assert_eq!(
        given(info(json!({"hasNextPage": true, "endCursor": null}))),
        Step::Incomplete(Unfinished::NoWayOn("endCursor".into()))
    );
    for body in [json!({"data": null}), info(json!({})), info(json!({"hasNextPage": "false"}))] {
        assert_eq!(given(body), unreadable("there is no hasNextPage at $.data.all.pageInfo"));
    }
    let variable = Pager::compile(&spec(style(Placing::Variable("after".into())))).unwrap();
    let body = info(json!({"hasNextPage": true, "endCursor": "Y3="}));
    let asked = at("/graphql?query=q&variables=%7B%22first%22%3A9%7D");
    let Step::Next(on) = one(&variable, &mut Trail::default(), &asked, &[], body.clone()) else {
        panic!("there is more")
    };
    assert_eq!(parameter(&on.location, "variables").as_deref(), Some(r#"{"first":9,"after":"Y3="}"#));
    assert_eq!(parameter(&on.location, "query").as_deref(), Some("q"));
    let post = |question: &str| {
        let asked = Ask { body: question.as_bytes().to_vec(), ..at("/graphql") };
        one(&variable, &mut Trail::default(), &asked, &[], body.clone())
    };
    for (question, then) in [
        (r#"{"query":"q","variables":{"first":9}}"#, r#"{"query":"q","variables":{"first":9,"after":"Y3="}}"#),
        (r#"{"query":"q","variables":{"after":null}}"#, r#"{"query":"q","variables":{"after":"Y3="}}"#),
        (r#"{"query":"q"}"#, r#"{"query":"q","variables":{"after":"Y3="}}"#),
    ] {
        assert_eq!(post(question), Step::Next(Ask { body: then.as_bytes().to_vec(), ..at("/graphql") }));
    }
    for question in ["q", "[]", r#"{"variables":[]}"#] {
        assert_eq!(
            post(question),
            unreadable("the request has no variables that the next page could be named in"),
            "{question}"
        );
    }
}

#[test]
fn the_providers_own_count_has_the_last_word() {
    let spec = PageSpec { total: Some(ValueSource::Header("x-total-count".into())), ..spec(PageStyle::Link) };
    let told = |of: &str| first_page(&spec, &[("x-total-count", of)], json!({}));
    assert_eq!(told("2"), Step::Complete(End::Unsaid));
    assert_eq!(told("3"), Step::Incomplete(Unfinished::TooFew { rows: 2, of: 3 }));
    assert_eq!(told("many"), unreadable("there is no count of rows at x-total-count"));
}

#[test]
fn what_comes_again_is_counted_once_and_never_the_end() {
    let spec = PageSpec { total: Some(json_at("$.total")), ..spec(cursor_style(None)) };
    let pager = Pager::compile(&spec).unwrap();
    let body = json!({"total": 4, "cursor": "b"});
    let (first, second) = (at("/t"), at("/t?after=b"));
    let page = |again, digest| Page { asked: &first, headers: &[], body: &body, rows: 2, again, digest, bytes: 1 };
    let mut trail = Trail::default();
    assert_eq!(pager.follow(BASE, Usual::default(), &mut trail, &page(0, [1; 16])), next("/t?after=b"));
    // Two rows more, one of which was there before: three of four.
    let last = json!({"total": 4});
    let overlapping = Page { asked: &second, body: &last, ..page(1, [2; 16]) };
    let step = pager.follow(BASE, Usual::default(), &mut trail.clone(), &overlapping);
    assert_eq!(step, Step::Incomplete(Unfinished::TooFew { rows: 3, of: 4 }));
    let same = Page { asked: &second, body: &last, ..page(2, [1; 16]) };
    assert_eq!(
        pager.follow(BASE, Usual::default(), &mut trail.clone(), &same),
        Step::Incomplete(Unfinished::PageAgain)
    );
    let round = Page { asked: &second, ..page(0, [3; 16]) };
    assert_eq!(
        pager.follow(BASE, Usual::default(), &mut trail.clone(), &round),
        Step::Incomplete(Unfinished::AskedBefore)
    );
    let fewer = json!({"total": 3});
    let shrunk = Page { asked: &second, body: &fewer, ..page(0, [3; 16]) };
    assert_eq!(pager.follow(BASE, Usual::default(), &mut trail, &shrunk), Step::Incomplete(Unfinished::Shrank));
}

#[test]
fn bounds_end_a_reading_as_incomplete() {
    let most = PageSpec { max_pages: 1, ..numbered(Ends { empty_page: true, ..Ends::default() }) };
    assert_eq!(first_page(&most, &[], json!({})), Step::Incomplete(Unfinished::MaxPages(1)));
    assert_eq!(
        first_page(&most, &[], json!({"rows": 0})),
        Step::Complete(End::EmptyPage),
        "the last page may be the last"
    );
    let items = PageSpec { max_items: 1, ..spec(PageStyle::Link) };
    assert_eq!(
        first_page(&items, &[], json!({})),
        Step::Incomplete(Unfinished::MaxItems(1)),
        "also where the end is told"
    );
    let bytes = PageSpec { max_bytes: 99, ..spec(PageStyle::Link) };
    assert_eq!(first_page(&bytes, &[], json!({})), Step::Incomplete(Unfinished::MaxBytes(99)));
    let long = "x".repeat(9_000);
    assert_eq!(
        first_page(&spec(cursor_style(None)), &[], json!({ "cursor": long })),
        Step::Incomplete(Unfinished::NotAnAddress)
    );
}

#[test]
fn mistakes_name_their_key() {
    let wrong = spec(PageStyle::NextUrl { next: json_at("next") });
    let said = Pager::compile(&PageSpec { total: Some(json_at("total")), ..wrong }).err().unwrap();
    assert!(said[0].starts_with("page.total: `total` is not a JSONPath"), "{said:?}");
    assert!(said[1].starts_with("page.next: `next` is not a JSONPath"), "{said:?}");
}

/// A search by POST: what names the next page stands in the body, and the address stays.
#[test]
fn a_page_may_be_named_in_the_body() {
    let asked = |body: Value| Ask { location: "/search".to_owned(), body: body.to_string().into_bytes() };
    let question = asked(json!({"filter": "open", "page_size": 2}));
    let follow = |style: PageStyle, question: &Ask, body: Value| {
        let pager = Pager::compile(&spec(style)).unwrap();
        one(&pager, &mut Trail::default(), &pager.first(question), &[], body)
    };
    let member = |pointer: &str| Placing::Member(pointer.to_owned());
    let cursor =
        PageStyle::Cursor { next: json_at("$.next"), placing: member("/start"), more: Some(json_at("$.more")) };
    for (token, sent) in [(json!("abc"), json!("abc")), (json!(7), json!(7)), (json!("7"), json!("7"))] {
        let next = follow(cursor.clone(), &question, json!({"next": token, "more": true}));
        assert_eq!(next, Step::Next(asked(json!({"filter": "open", "page_size": 2, "start": sent}))));
    }
    assert_eq!(follow(cursor.clone(), &question, json!({"next": null, "more": false})), Step::Complete(End::SaidSo));
    let offset = PageStyle::Numbered {
        placing: member("/page/from"),
        first: 0,
        step: Unit::Rows,
        ends: Ends { empty_page: true, ..Ends::default() },
    };
    let first = asked(json!({"filter": "open", "page_size": 2, "page": {"from": 0}}));
    assert_eq!(Pager::compile(&spec(offset.clone())).unwrap().first(&question), first);
    let second = asked(json!({"filter": "open", "page_size": 2, "page": {"from": 2}}));
    assert_eq!(follow(offset.clone(), &question, json!({})), Step::Next(second));
    assert_eq!(follow(offset, &question, json!({"rows": 0})), Step::Complete(End::EmptyPage));
    let nowhere = "the request has no JSON body with a place /start that the next page could be named in";
    assert_eq!(follow(cursor, &at("/search"), json!({"next": "x", "more": true})), unreadable(nowhere));
}
