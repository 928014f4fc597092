//! `page` of a target, right and wrong.

use super::*;
use crate::domain::page::{Ends, PageSize, PageSpec, PageStyle, Placing, Step, ValueSource};

fn target(page: &str) -> String {
    format!("[[connection.target]]\nname = \"t\"\nget = \"/t\"\nitems = \"$[*]\"\nkey = \"$.id\"\npage = {page}\n")
}

fn page(page: &str) -> PageSpec {
    let settings = sound(&yard(&target(page)));
    settings.connections[0].targets[0].page.clone().expect("a paged target")
}

fn json(path: &str) -> ValueSource {
    ValueSource::Json(path.to_owned())
}

#[test]
fn every_style_as_people_write_it() {
    let plain = page("{ style = \"link\" }");
    let expected = PageSpec {
        style: PageStyle::Link,
        size: None,
        total: None,
        absent_ends: false,
        first_confirms_all: false,
        max_pages: 100,
        max_items: 100_000,
        max_bytes: 64 << 20,
    };
    assert_eq!(plain, expected);
    assert!(page("{ style = \"link\", absent_ends = true }").absent_ends);
    assert!(page("{ style = \"offset\", param = \"o\", next = \"$.more\", absent_ends = true }").absent_ends);
    assert_eq!(page("{ style = \"next-url\", next = \"$.next\" }").style, PageStyle::NextUrl { next: json("$.next") });
    assert_eq!(
        page("{ style = \"cursor\", next = { header = \"X-Next\" }, param = \"after\", more = \"$.more\" }").style,
        PageStyle::Cursor {
            next: ValueSource::Header("x-next".to_owned()),
            placing: Placing::Query("after".to_owned()),
            more: Some(json("$.more")),
        }
    );
    assert_eq!(
        page("{ style = \"relay\", page_info = \"$.data.x.pageInfo\", variable = \"after\" }").style,
        PageStyle::Relay { page_info: "$.data.x.pageInfo".to_owned(), placing: Placing::Variable("after".to_owned()) }
    );
    let numbered = page(
        "{ style = \"page-number\", param = \"page\", size_param = \"page_size\", size = 2000, next = \"$.next_page\" }",
    );
    assert_eq!(numbered.size, Some(PageSize { param: Some("page_size".to_owned()), rows: 2000 }));
    let ends = Ends { next: Some(json("$.next_page")), ..Ends::default() };
    assert_eq!(
        numbered.style,
        PageStyle::Numbered { placing: Placing::Query("page".to_owned()), first: 1, step: Step::Pages, ends }
    );
    let offset = page(
        "{ style = \"offset\", param = \"start\", total = { json = \"$.total\" }, max_pages = 7, max_items = 9, \
         max_bytes = \"1MiB\", first_confirms_all = true }",
    );
    assert_eq!(
        offset,
        PageSpec {
            style: PageStyle::Numbered {
                placing: Placing::Query("start".to_owned()),
                first: 0,
                step: Step::Rows,
                ends: Ends::default()
            },
            total: Some(json("$.total")),
            absent_ends: false,
            first_confirms_all: true,
            max_pages: 7,
            max_items: 9,
            max_bytes: 1 << 20,
            size: None,
        }
    );
    let ends = Ends { empty_page: true, ..Ends::default() };
    assert_eq!(
        page("{ style = \"until-empty\", param = \"p\", first = 0 }").style,
        PageStyle::Numbered { placing: Placing::Query("p".to_owned()), first: 0, step: Step::Pages, ends }
    );
    assert_eq!(sound(&yard("")).connections[0].targets.len(), 0);
    let search = target("{ style = \"offset\", member = \"/page/from\", short_page = true, size = 5 }");
    let search = search.replace("get = \"/t\"", "post = \"/t\"\nbody = { filter = \"x\" }");
    let settings = sound(&yard(&search));
    let style = settings.connections[0].targets[0].page.as_ref().map(|page| &page.style);
    let from = Placing::Member("/page/from".to_owned());
    assert!(matches!(style, Some(PageStyle::Numbered { placing, first: 0, .. }) if *placing == from), "{style:?}");
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (page, says) in [
        (
            "{}",
            "10: connection[yard].target[t].page.style: is missing: how the next page is found, such as \"link\" or \"cursor\"",
        ),
        (
            "{ style = \"page-nummer\" }",
            "10: connection[yard].target[t].page.style: \"page-nummer\" is not a page style; did you mean `page-number`?",
        ),
        (
            "{ style = \"link\", max_page = 3, more = \"$.more\" }",
            "10: connection[yard].target[t].page.max_page: unknown key; did you mean `max_pages`?\n\
             10: connection[yard].target[t].page.more: is no key of style \"link\"; it belongs to cursor",
        ),
        (
            "{ style = \"offset\", param = \"o\", total = \"$.all\", absent_ends = true }",
            "10: connection[yard].target[t].page.absent_ends: needs `next`: of a key that is not named nobody can say that it is \
             absent",
        ),
        (
            "{ style = \"until-empty\", param = \"p\", absent_ends = true }",
            "10: connection[yard].target[t].page.absent_ends: is no key of style \"until-empty\"; it belongs to link, next-url, \
             cursor, page-number, offset",
        ),
        (
            "{ style = \"next-url\" }",
            "10: connection[yard].target[t].page.next: is missing: where the answer has the address of the next page, such as \
             \"$.next\"",
        ),
        (
            "{ style = \"cursor\", next = \"$.c\" }",
            "10: connection[yard].target[t].page: does not say where a request names its page: add param (a query \
             parameter), variable (of a GraphQL query) or member (of a JSON body)",
        ),
        (
            "{ style = \"relay\", page_info = \"$.p\", param = \"a\", variable = \"b\" }",
            "10: connection[yard].target[t].page: has more than one of param (a query parameter), variable (of a GraphQL \
             query) or member (of a JSON body); the page is named in one of them",
        ),
        (
            "{ style = \"cursor\", next = \"$.c\", member = \"cursor\" }",
            "10: connection[yard].target[t].page.member: \"cursor\" is not a JSON Pointer to a member; write it as \"/cursor\" or \
             \"/page/after\"",
        ),
        (
            "{ style = \"cursor\", next = \"$.c\", member = \"/cursor\" }",
            "10: connection[yard].target[t].page.member: needs a body of JSON: post = \"/path\" with body = { ... }",
        ),
        (
            "{ style = \"page-number\", param = \"page\" }",
            "10: connection[yard].target[t].page: does not say what proves that there is no other page: add total_pages or total \
             or next (where the answer tells it), or short_page = true or empty_page = true where the provider's documentation \
             says so",
        ),
        (
            "{ style = \"offset\", param = \"o\", short_page = true }",
            "10: connection[yard].target[t].page.short_page: needs `size`: only against it is a page short",
        ),
        (
            "{ style = \"link\", size_param = \"per_page\" }",
            "10: connection[yard].target[t].page.size_param: needs `size`: how many rows to ask for",
        ),
        (
            "{ style = \"link\", max_pages = 0, total = { } }",
            "10: connection[yard].target[t].page.total: must be a JSONPath in quotes, { header = \"name\" } or { json = \
             \"$.path\" }\n10: connection[yard].target[t].page.max_pages: must be from 1 to 10000, not 0",
        ),
        ("7", "10: connection[yard].target[t].page: must be a table, not a number"),
    ] {
        assert_eq!(wrong_below(&target(page)), says, "\n--- for\n{page}");
    }
}

#[test]
fn a_wrong_path_of_a_page_is_told_at_start() {
    let text = yard(&target("{ style = \"next-url\", next = \"next\" }"));
    let recipes = Recipes::new([]);
    let environment = Environment::new([]);
    let path = Path::new("/etc/larder/larder.toml");
    let errors = read(&text, path, &environment, &recipes, compile_expressions).expect_err("a wrong path");
    let said = told(errors);
    assert!(
        said.starts_with("larder.toml:5: connection[yard].target[t]: page.next: `next` is not a JSONPath"),
        "{said}"
    );
}
