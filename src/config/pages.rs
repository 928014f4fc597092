//! `page` of a target: how the provider hands out a long list, and what says that it ended. Knows keys and words; what follows from
//! an answer is for `crate::rules::paging`.

use super::place::{Placed, Problems, Slot, suggestion};
use super::section::Section;
use super::words;
use crate::domain::page::{Ends, PageSize, PageSpec, PageStyle, Placing, Step, ValueSource};
use crate::domain::send::SendSpec;
use crate::rules::asking::is_json;

/// Every key of the table. Of these a style has [`COMMON`] and its own.
pub(super) const PAGE: [&str; 19] = [
    "style",
    "size",
    "size_param",
    "total",
    "first_confirms_all",
    "max_pages",
    "max_items",
    "max_bytes",
    "next",
    "absent_ends",
    "more",
    "param",
    "variable",
    "member",
    "first",
    "total_pages",
    "short_page",
    "empty_page",
    "page_info",
];
/// `{ header = "x-next" }` or `{ json = "$.next" }`.
pub(super) const SOURCE: [&str; 2] = ["header", "json"];

/// Keys of every style: the first of [`PAGE`].
const COMMON: usize = 8;

/// Each style with the keys that belong to it alone.
const STYLES: [(&str, &[&str]); 7] = [
    ("link", &["absent_ends"]),
    ("next-url", &["next", "absent_ends"]),
    ("cursor", &["next", "absent_ends", "more", "param", "variable", "member"]),
    (
        "page-number",
        &["param", "variable", "member", "first", "total_pages", "next", "absent_ends", "short_page", "empty_page"],
    ),
    ("offset", &["param", "variable", "member", "first", "next", "absent_ends", "short_page", "empty_page"]),
    ("until-empty", &["param", "variable", "member", "first"]),
    ("relay", &["page_info", "param", "variable", "member"]),
];

/// Where a reading ends that says nothing of its bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub pages: u32,
    pub items: u64,
    pub bytes: u64,
}

/// Of a target.
pub(super) const BOUNDS: Bounds = Bounds { pages: 100, items: 100_000, bytes: 64 << 20 };

/// `Some(None)`: the target has no pages. `None`: what it says of them is wrong, and told.
pub(super) fn read(target: &Section<'_>, bounds: Bounds, p: &mut Problems) -> Option<Option<PageSpec>> {
    if !target.has("page") {
        return Some(None);
    }
    let section = target.table("page", p)?;
    let style = section.parsed("style", p, style_word).required(
        &section.place,
        "style",
        "how the next page is found, such as \"link\" or \"cursor\"",
        p,
    );
    let (word, own) = style?;
    section.only(&PAGE, &[], p);
    refuse_other_styles(word, own, &section, p);
    let (size, total) = (read_size(&section, p), source(&section, "total", p));
    let style = read_style(word, &section, size.as_ref(), total.is_absent(), p);
    let max_bytes = section.parsed("max_bytes", p, words::size).unwrap_or(bounds.bytes);
    let spec = PageSpec {
        style: style?,
        size,
        total: total.value(),
        absent_ends: section.flag("absent_ends", p).unwrap_or(false),
        first_confirms_all: section.flag("first_confirms_all", p).unwrap_or(false),
        max_pages: section.whole("max_pages", (1, 10_000), p).unwrap_or(u64::from(bounds.pages)) as u32,
        max_items: section.whole("max_items", (1, 10_000_000), p).unwrap_or(bounds.items),
        max_bytes,
    };
    Some(Some(spec))
}

/// A key of another style is a misunderstanding: it would do nothing.
fn refuse_other_styles(word: &str, own: &[&str], section: &Section<'_>, p: &mut Problems) {
    for key in PAGE.iter().skip(COMMON).filter(|key| section.has(key) && !own.contains(key)) {
        let others = STYLES.iter().filter(|(_, keys)| keys.contains(key)).map(|(style, _)| *style);
        let others: Vec<&str> = others.collect();
        p.add(&section.place_of(key), format!("is no key of style {word:?}; it belongs to {}", others.join(", ")));
    }
}

fn style_word(text: &str) -> Result<(&'static str, &'static [&'static str]), String> {
    let known = STYLES.map(|(word, _)| word);
    let found = STYLES.into_iter().find(|(word, _)| *word == text);
    found.ok_or_else(|| format!("{text:?} is not a page style{}", suggestion(text, &known)))
}

fn read_style(
    word: &str,
    section: &Section<'_>,
    size: Option<&PageSize>,
    without_total: bool,
    p: &mut Problems,
) -> Option<PageStyle> {
    let at = &section.place;
    let address = "where the answer has the address of the next page, such as \"$.next\"";
    match word {
        "link" => Some(PageStyle::Link),
        "next-url" => Some(PageStyle::NextUrl { next: source(section, "next", p).required(at, "next", address, p)? }),
        "cursor" => {
            let token =
                "where the answer has the token of the next page, such as \"$.cursor\" or { header = \"x-next\" }";
            let next = source(section, "next", p).required(at, "next", token, p);
            let (placing, more) = (placing(section, p), source(section, "more", p).value());
            Some(PageStyle::Cursor { next: next?, placing: placing?, more })
        }
        "relay" => {
            let info = "the JSONPath of the connection's pageInfo, such as \"$.data.tasks.pageInfo\"";
            let page_info = section.text("page_info", p).required(at, "page_info", info, p);
            Some(PageStyle::Relay { placing: placing(section, p)?, page_info: page_info? })
        }
        counted => {
            let placing = placing(section, p);
            let step = if counted == "offset" { Step::Rows } else { Step::Pages };
            let first = section.whole("first", (0, 1_000_000), p).unwrap_or(u64::from(step == Step::Pages));
            let ends = read_ends(counted, section, size, without_total, p);
            Some(PageStyle::Numbered { placing: placing?, first, step, ends })
        }
    }
}

/// A reading that can never prove its end would stay incomplete for ever: told here, not at the first answer.
fn read_ends(
    word: &str,
    section: &Section<'_>,
    size: Option<&PageSize>,
    without_total: bool,
    p: &mut Problems,
) -> Ends {
    if word == "until-empty" {
        return Ends { empty_page: true, ..Ends::default() };
    }
    let short_page = section.flag("short_page", p).unwrap_or(false);
    if short_page && size.is_none() && !section.has("size") {
        p.add(&section.place_of("short_page"), "needs `size`: only against it is a page short");
    }
    if section.has("absent_ends") && !section.has("next") {
        p.add(
            &section.place_of("absent_ends"),
            "needs `next`: of a key that is not named nobody can say that it is absent",
        );
    }
    let told = ["total_pages", "next", "short_page", "empty_page"].iter().any(|key| section.has(key));
    if !told && without_total {
        let total_pages = if word == "offset" { "" } else { "total_pages or " };
        let sentence = format!(
            "does not say what proves that there is no other page: add {total_pages}total or next (where the answer tells \
             it), or short_page = true or empty_page = true where the provider's documentation says so"
        );
        p.add(&section.place, sentence);
    }
    Ends {
        total_pages: source(section, "total_pages", p).value(),
        next: source(section, "next", p).value(),
        short_page,
        empty_page: section.flag("empty_page", p).unwrap_or(false),
    }
}

fn read_size(section: &Section<'_>, p: &mut Problems) -> Option<PageSize> {
    let rows = section.whole("size", (1, 1_000_000), p);
    let param = section.text("size_param", p);
    if rows.is_absent() && !param.is_absent() {
        p.add(&section.place_of("size_param"), "needs `size`: how many rows to ask for");
    }
    rows.value().map(|rows| PageSize { param: param.value(), rows })
}

/// Exactly one of `param`, `variable` and `member`.
fn placing(section: &Section<'_>, p: &mut Problems) -> Option<Placing> {
    const WHERE: &str = "param (a query parameter), variable (of a GraphQL query) or member (of a JSON body)";
    let found = [
        section.text("param", p).value().map(Placing::Query),
        section.text("variable", p).value().map(Placing::Variable),
        section.parsed("member", p, pointer).value().map(Placing::Member),
    ];
    match ["param", "variable", "member"].iter().filter(|key| section.has(key)).count() {
        1 => return found.into_iter().flatten().next(),
        0 => p.add(&section.place, format!("does not say where a request names its page: add {WHERE}")),
        _ => p.add(&section.place, format!("has more than one of {WHERE}; the page is named in one of them")),
    }
    None
}

/// RFC 6901, below the body itself.
fn pointer(text: &str) -> Result<String, String> {
    let is_name = |name: &str| !name.is_empty() && name.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    match text.strip_prefix('/') {
        Some(names) if names.split('/').all(is_name) => Ok(text.to_owned()),
        _ => Err(format!("{text:?} is not a JSON Pointer to a member; write it as \"/cursor\" or \"/page/after\"")),
    }
}

/// A page that is named in the body needs a body that can name it.
pub(super) fn check_body(section: &Section<'_>, page: Option<&PageSpec>, send: &SendSpec, p: &mut Problems) {
    use PageStyle::{Cursor, Link, NextUrl, Numbered, Relay};
    let placing = match page.map(|page| &page.style) {
        None | Some(Link | NextUrl { .. }) => return,
        Some(Cursor { placing, .. } | Numbered { placing, .. } | Relay { placing, .. }) => placing,
    };
    if matches!(placing, Placing::Member(_)) && !(send.body.is_some() && is_json(&send.content_type)) {
        let place = section.table("page", &mut Problems::default()).map(|page| page.place_of("member"));
        let sentence = "needs a body of JSON: post = \"/path\" with body = { ... }";
        p.add(&place.unwrap_or_else(|| section.place_of("page")), sentence);
    }
}

/// `"$.path"`, or `{ header = "name" }`.
fn source(section: &Section<'_>, key: &str, p: &mut Problems) -> Slot<ValueSource> {
    if section.word(key).is_some() {
        return match section.text(key, p) {
            Slot::Set(Placed { value, place }) => Slot::Set(Placed { value: ValueSource::Json(value), place }),
            Slot::Absent => Slot::Absent,
            Slot::Bad => Slot::Bad,
        };
    }
    if !section.has(key) {
        return Slot::Absent;
    }
    let Some(table) = section.table(key, p) else { return Slot::Bad };
    table.only(&SOURCE, &[], p);
    let place = table.place.clone();
    match (table.text("header", p), table.text("json", p)) {
        (Slot::Set(header), Slot::Absent) => {
            Slot::Set(Placed { value: ValueSource::Header(header.value.to_ascii_lowercase()), place })
        }
        (Slot::Absent, Slot::Set(json)) => Slot::Set(Placed { value: ValueSource::Json(json.value), place }),
        _ => {
            p.add(&place, "must be a JSONPath in quotes, { header = \"name\" } or { json = \"$.path\" }");
            Slot::Bad
        }
    }
}
