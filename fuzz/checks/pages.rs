//! Following pages, in every style, whatever the pages say: ends within its bounds, stays at home, is complete only where the last
//! page has something that can be taken for the end. Input: pages apart from each other by a line `--`; each is header lines, an empty line,
//! the body. They answer in turn, the last one for ever.

use larder::domain::page::{Ends, PageSize, PageSpec, PageStyle, Placing, Step as Unit, ValueSource};
use larder::rules::paging::{Ask, Page, Pager, Step, Trail, Usual};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

const BASE: &str = "https://api.example.test/v1";
const MAX_PAGES: u32 = 12;

static PAGERS: LazyLock<Vec<Pager>> = LazyLock::new(|| {
    let json = |path: &str| ValueSource::Json(path.to_owned());
    let numbered =
        |step, ends| PageStyle::Numbered { placing: Placing::Query("page".to_owned()), first: 1, step, ends };
    let ends = |total_pages: bool, next: bool, short_page: bool| Ends {
        total_pages: total_pages.then(|| json("$.pages")),
        next: next.then(|| json("$.next")),
        short_page,
        empty_page: !short_page,
    };
    let styles = [
        PageStyle::Link,
        PageStyle::NextUrl { next: json("$.next") },
        PageStyle::Cursor { next: json("$.next"), placing: Placing::Query("after".to_owned()), more: None },
        PageStyle::Cursor {
            next: ValueSource::Header("x-next".to_owned()),
            placing: Placing::Variable("after".to_owned()),
            more: Some(json("$.more")),
        },
        numbered(Unit::Pages, ends(true, false, true)),
        numbered(Unit::Pages, ends(false, true, false)),
        numbered(Unit::Rows, ends(false, false, false)),
        PageStyle::Relay { page_info: "$.pageInfo".to_owned(), placing: Placing::Variable("after".to_owned()) },
        PageStyle::Cursor {
            next: json("$.next"),
            placing: Placing::Member("/page/after".to_owned()),
            more: Some(json("$.more")),
        },
        PageStyle::Numbered {
            placing: Placing::Member("/from".to_owned()),
            first: 0,
            step: Unit::Rows,
            ends: ends(false, true, false),
        },
    ];
    let spec = |(at, style): (usize, PageStyle)| PageSpec {
        style,
        size: Some(PageSize { param: Some("size".to_owned()), rows: 2 }),
        total: (at % 2 == 0).then(|| json("$.total")),
        absent_ends: false,
        first_confirms_all: false,
        max_pages: MAX_PAGES,
        max_items: 100,
        max_bytes: 1 << 20,
    };
    let compiled = styles.into_iter().enumerate().map(spec);
    compiled.map(|spec| Pager::compile(&spec).expect("paths that compile")).collect()
});

/// One answer.
struct Said {
    headers: Vec<(String, String)>,
    body: Value,
    bytes: u64,
}

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let said: Vec<Said> = text.split("\n--\n").map(read).collect();
    for pager in PAGERS.iter() {
        for body in [Vec::new(), br#"{"query":"q","variables":{}}"#.to_vec()] {
            for usual in [Usual::default(), Usual { pages: 3, items: 6 }] {
                follow(pager, &said, usual, Ask { location: "/list?x=1".to_owned(), body: body.clone() });
            }
        }
    }
}

fn read(text: &str) -> Said {
    let (head, body) = text.split_once("\n\n").unwrap_or(("", text));
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers = head.lines().filter_map(header).collect();
    Said { headers, body: serde_json::from_str(body).unwrap_or(Value::Null), bytes: body.len() as u64 }
}

fn follow(pager: &Pager, said: &[Said], usual: Usual, question: Ask) {
    let (mut trail, mut asked, mut seen) = (Trail::default(), pager.first(&question), BTreeSet::new());
    for turn in 0.. {
        assert!(turn < MAX_PAGES, "more pages than the bound");
        assert!(seen.insert((asked.location.clone(), asked.body.clone())), "asked twice: {asked:?}");
        let Some(answer) = said.get(turn as usize).or(said.last()) else { return };
        let rows = answer.body.get("rows").and_then(Value::as_array).map_or(0, |rows| rows.len() as u64);
        let mut digest = [0; 16];
        digest[..4].copy_from_slice(&(turn % 5).to_le_bytes());
        let headers = &answer.headers;
        let page = Page { asked: &asked, headers, body: &answer.body, rows, again: 0, digest, bytes: answer.bytes };
        match pager.follow(BASE, usual, &mut trail, &page) {
            Step::Next(next) => {
                let home = next.location.strip_prefix("https://api.example.test").unwrap_or(&next.location);
                assert!(home.starts_with('/') || home.starts_with('?'), "away from home: {next:?}");
                assert!(next.body.is_empty() == question.body.is_empty(), "a body that came or went: {next:?}");
                asked = next;
            }
            Step::Complete(_) => return,
            Step::Incomplete(why) => return assert!(!why.to_string().is_empty()),
        }
    }
}
