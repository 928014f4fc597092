//! `[[connection.scan]]`, right and wrong.

use super::*;
use crate::domain::scan::ScanSpec;
use crate::domain::time::Span;

const PROJECT: &str = "[[connection.scan]]\nname = \"project-p1\"\nget = \"/tasks?project=P1\"\nitems = \"$.data[*]\"\n\
                       key = \"$.id\"\nfeeds = \"$.subsector\"\n";

fn scan(more: &str) -> ScanSpec {
    sound(&yard(&format!("{PROJECT}{more}"))).connections.remove(0).scans.remove(0)
}

#[test]
fn a_scan_is_a_question_whose_rows_name_their_targets() {
    let scan = scan("interval = \"10m\"\ncost = 2\ntitle = \"$.name\"\n");
    assert_eq!((scan.feeds.as_str(), scan.interval), ("$.subsector", Some(Span::from_secs(600))));
    let question = &scan.question;
    assert_eq!((question.name.as_str(), question.cost, question.title.as_deref()), ("project-p1", 2, Some("$.name")));
    assert_eq!((question.items.as_str(), question.key.as_str()), ("$.data[*]", "$.id"));
}

#[test]
fn a_scan_may_be_as_long_as_a_thousand_targets_make_it() {
    let page = scan("page = { style = \"link\" }\n").question.page.expect("pages");
    assert_eq!((page.max_pages, page.max_items, page.max_bytes), (1_000, 1_000_000, 1 << 30));
    let page = scan("page = { style = \"link\", max_pages = 7 }\n").question.page.expect("pages");
    assert_eq!(page.max_pages, 7);
}

#[test]
fn a_target_without_a_path_is_fed_by_a_scan() {
    let fed = "[[connection.target]]\nname = \"s1\"\nfresh_for = \"5m\"\n";
    let target = sound(&yard(&format!("{PROJECT}{fed}"))).connections.remove(0).targets.remove(0);
    assert_eq!((target.name.as_str(), target.get, target.fresh_for), ("s1", None, Some(Span::from_secs(300))));
    assert!(
        wrong_below(fed).contains("a target without one is fed by a [[connection.scan]], and this connection has none")
    );
}

#[test]
fn what_is_wrong_with_a_scan_is_told() {
    let bare = "[[connection.scan]]\nname = \"p\"\nget = \"/t\"\nitems = \"$[*]\"\nkey = \"$.id\"\n";
    let fed = format!("{bare}feeds = \"$.s\"\n");
    for (text, expected) in [
        (
            bare.to_owned(),
            "5: connection[yard].scan[p].feeds: is missing: in each row the name of the target that it belongs to",
        ),
        (format!("{bare}feeds = \"s\""), "10: connection[yard].scan[p].feeds: `s` is not a JSONPath"),
        (fed.replace("get = \"/t\"\n", ""), "5: connection[yard].scan[p].get: is missing: the path to ask"),
        (format!("{fed}fresh_for = \"1m\""), "11: connection[yard].scan[p].fresh_for: unknown key"),
        (format!("{fed}page = {{ style = \"link\", first_confirms_all = true }}"), "does nothing for a scan"),
        (format!("{fed}cost = 9"), "limit \"day\""),
        (format!("{fed}{fed}"), "11: connection[yard].scan[p]: there is another one named \"p\""),
        (
            format!("{fed}[[connection.target]]\nname = \"p\"\nget = \"/p\"\nitems = \"$\"\nkey = \"$\""),
            "is named like a target, \"p\"",
        ),
    ] {
        let said = wrong_below(&text);
        assert!(said.contains(expected), "{text}\n{said}");
    }
}

#[test]
fn a_connections_scan_stands_before_its_recipes() {
    let recipe = format!("provider = \"Field\"\n{}", PROJECT.replace("connection.scan", "scan"));
    let own = PROJECT.replace("P1", "P9");
    let with = |more: &str| {
        let text = yard(&format!("recipe = \"field\"\n{more}"));
        let settings = read_with(&text, &[], &[("field", &recipe)]).unwrap_or_else(|e| panic!("{}", told(e)));
        settings.connections[0].scans.iter().map(|scan| scan.question.get.clone()).collect::<Vec<_>>()
    };
    assert_eq!(with(""), [Some("/tasks?project=P1".to_owned())]);
    assert_eq!(with(&own), [Some("/tasks?project=P9".to_owned())]);
}
