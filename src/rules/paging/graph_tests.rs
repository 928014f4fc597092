//! Arbitrary providers: pages that lead anywhere, in circles, to other hosts, with any bytes for a token. Whatever they do, a
//! reading ends within its bounds, never leaves the origin, and is complete only where the provider said so.

use super::tests::{at, json_at, spec};
use super::*;
use crate::domain::page::{Ends, Step as Unit};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

const BASE: &str = "https://api.example.test/v1";

/// What one page says of the others: any of it may be missing, wrong or hostile.
#[derive(Clone, Debug)]
struct Told {
    next: Option<Value>,
    more: Option<Value>,
    total: Value,
    /// And whether it is that of the next page.
    link: Option<(String, bool)>,
    rows: u64,
    again: u64,
    digest: u8,
}

fn addresses() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..9u8).prop_map(|n| format!("/v1/p{n}")),
        (0..9u8).prop_map(|n| format!("https://api.example.test/v1/p{n}?q={n}")),
        "[/?#:@.a-z\\\\%]{0,24}",
        Just("https://evil.test/v1/p1".to_owned()),
        ".{0,20}",
    ]
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..12u64).prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        addresses().prop_map(Value::from),
        Just(json!({"a": []})),
    ]
}

prop_compose! {
    fn pages()(next in proptest::option::weighted(0.8, values()), more in proptest::option::weighted(0.8, values()), total in values(),
               link in proptest::option::of((addresses(), any::<bool>())), rows in 0..4u64, again in 0..3u64, digest in 0..6u8) -> Told {
        let link = link.map(|(to, is_next)| (format!("<{to}>; rel=\"{}\"", if is_next { "next" } else { "prev" }), is_next));
        Told { next, more, total, link, rows, again: again.min(rows), digest }
    }
}

fn styles() -> impl Strategy<Value = PageStyle> {
    let ends =
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(a, b, short_page, empty_page)| Ends {
            total_pages: a.then(|| json_at("$.total")),
            next: b.then(|| json_at("$.next")),
            short_page,
            empty_page,
        });
    let placing = prop_oneof![
        Just(Placing::Query("c".into())),
        Just(Placing::Variable("c".into())),
        Just(Placing::Member("/c".into())),
    ];
    prop_oneof![
        Just(PageStyle::Link),
        Just(PageStyle::NextUrl { next: json_at("$.next") }),
        (placing.clone(), any::<bool>()).prop_map(|(placing, more)| PageStyle::Cursor {
            next: json_at("$.next"),
            placing,
            more: more.then(|| json_at("$.more")),
        }),
        (placing.clone(), ends, 0..2u64, any::<bool>()).prop_map(|(placing, ends, first, rows)| PageStyle::Numbered {
            placing,
            first,
            step: if rows { Unit::Rows } else { Unit::Pages },
            ends,
        }),
        placing.prop_map(|placing| PageStyle::Relay { page_info: "$.info".into(), placing }),
    ]
}

/// A GET, or a POST with a body.
fn question(posts: bool) -> Ask {
    let body = if posts { br#"{"query":"q"}"#.to_vec() } else { Vec::new() };
    Ask { body, ..at("/tasks?x=1") }
}

/// Whether the last page, and the rows that came, contain what the style calls its end: asked apart from the rule. `silent_end`: whether
/// silence is one here.
fn is_evidence(spec: &PageSpec, told: &Told, asked: &Ask, rows: u64, silent_end: bool) -> bool {
    let nothing =
        |v: &Value| matches!(v, Value::Null | Value::Bool(false)) || v.as_str().is_some_and(|s| s.trim().is_empty());
    let number = |v: &Value| v.as_u64().or_else(|| v.as_str()?.trim().parse().ok());
    let enough = spec.total.is_none() || number(&told.total).is_some_and(|of| rows >= of);
    let by_style = match &spec.style {
        PageStyle::Link => told.link.as_ref().map_or(silent_end, |(_, is_next)| !is_next),
        PageStyle::Cursor { more: Some(_), .. } => match &told.more {
            Some(more) => nothing(more),
            None => silent_end || told.next.as_ref().is_some_and(nothing),
        },
        PageStyle::NextUrl { .. } | PageStyle::Cursor { more: None, .. } => {
            told.next.as_ref().map_or(silent_end, nothing)
        }
        PageStyle::Relay { .. } => told.more == Some(Value::Bool(false)),
        PageStyle::Numbered { placing, first, ends, .. } => {
            let here = place::number(asked, placing).unwrap_or(*first);
            let last = ends.total_pages.is_some() && number(&told.total).is_some_and(|of| here + 1 >= first + of);
            let all = spec.total.is_some() && number(&told.total).is_some_and(|of| rows >= of);
            let short = ends.short_page && told.rows < spec.size.as_ref().map_or(0, |size| size.rows).max(1);
            let silent_end = silent_end && ends.total_pages.is_none();
            let told_so = ends.next.is_some() && told.next.as_ref().map_or(silent_end, nothing);
            last || all || told_so || short || ends.empty_page && told.rows == 0
        }
    };
    by_style && enough
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]
    #[test]
    fn whatever_a_provider_says(
        style in styles(), told in proptest::collection::vec(pages(), 1..8), totals in any::<bool>(),
        sized in proptest::option::of(1..4u64), max_pages in 1..9u32, max_items in 1..20u64,
        posts in any::<bool>(), absent_ends in any::<bool>(), usual in (0..4u32, 0..12u64).prop_map(|(pages, items)| Usual { pages, items }),
    ) {
        let total = totals.then(|| json_at("$.total"));
        let size = sized.map(|rows| PageSize { param: Some("size".into()), rows });
        let spec = PageSpec { total, size, max_pages, max_items, absent_ends, ..spec(style) };
        let pager = Pager::compile(&spec).unwrap();
        let (mut trail, mut asked, mut seen) = (Trail::default(), pager.first(&question(posts)), BTreeMap::new());
        let mut rows = 0;
        for turn in 0.. {
            prop_assert!(turn < max_pages, "more pages than the bound");
            prop_assert!(seen.insert((asked.location.clone(), asked.body.clone()), turn).is_none(), "asked twice: {:?}", asked);
            // Any page may be the answer to any address.
            let at = asked.location.bytes().chain(asked.body.iter().copied()).fold(0usize, |sum, b| sum.wrapping_mul(31).wrapping_add(b.into())) % told.len();
            let told = &told[at];
            let info = json!({"hasNextPage": told.more, "endCursor": told.next});
            let mut body = json!({"total": told.total, "info": info});
            for (key, value) in [("next", &told.next), ("more", &told.more)] {
                value.iter().for_each(|value| body[key] = (*value).clone());
            }
            let headers: Vec<_> = told.link.iter().map(|(v, _)| ("link".to_owned(), v.clone())).collect();
            let digest = [told.digest; 16];
            let page = Page { asked: &asked, headers: &headers, body: &body, rows: told.rows, again: told.again, digest, bytes: 9 };
            rows += told.rows - told.again;
            let is_short = sized.is_some_and(|size| told.rows < size && u64::from(usual.pages) <= usual.items.div_ceil(size));
            let is_usual = if usual.pages == 0 { absent_ends } else { usual.pages == 1 };
            let silent_end = turn > 0 || is_usual || told.rows == 0 || is_short || totals;
            match pager.follow(BASE, usual, &mut trail, &page) {
                Step::Next(to) => {
                    let whole = if to.location.starts_with('/') { format!("{BASE}{}", to.location) } else { to.location.clone() };
                    let whole = url::Url::parse(&whole).unwrap();
                    prop_assert_eq!(whole.origin().ascii_serialization(), "https://api.example.test");
                    asked = to;
                }
                Step::Complete(end) => {
                    prop_assert!(rows <= max_items);
                    prop_assert!(is_evidence(&spec, told, &asked, rows, silent_end), "{:?} without evidence: {:?}", end, told);
                    return Ok(());
                }
                Step::Incomplete(why) => {
                    prop_assert!(!why.to_string().is_empty());
                    return Ok(());
                }
            }
        }
    }
}
