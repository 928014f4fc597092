//! Items that carry no key inside: members of a map, single objects, plain values, lists of nothing but values.

use super::tests::{ARRIVED, field, observed, target};
use super::*;
use crate::domain::page::{PageSpec, PageStyle};
use crate::domain::spec::{ObservedKind, ObservedPlace};
use crate::domain::time::Wall;
use serde_json::json;

fn spec(items: &str, key: &str) -> TargetSpec {
    TargetSpec { items: items.into(), key: key.into(), title: None, ..target() }
}

fn seen(spec: &TargetSpec, body: Value) -> Result<Vec<Sighting>, String> {
    Extractor::compile(spec, "UTC").unwrap().extract(&body, &[], ARRIVED)
}

fn keys(spec: &TargetSpec, body: Value) -> Result<Vec<String>, String> {
    Ok(seen(spec, body)?.into_iter().map(|sighting| sighting.key).collect())
}

fn refused(spec: &TargetSpec) -> String {
    Extractor::compile(spec, "UTC").unwrap_err().join("\n")
}

#[test]
fn the_members_of_a_map_are_known_by_their_names() {
    let zones = TargetSpec { fields: vec![field("on", "$.on", FieldKind::Bool)], ..spec("$.zones.*", "@name") };
    let body = json!({"zones": {"1": {"on": true}, "12": {"on": false}}});
    let seen = seen(&zones, body.clone()).unwrap();
    let shown: Vec<_> = seen.iter().map(|s| (s.key.as_str(), s.title.as_str(), s.fields[0].1.clone())).collect();
    assert_eq!(shown, [("1", "1", FieldValue::Bool(true)), ("12", "12", FieldValue::Bool(false))]);
    assert_eq!(keys(&spec("$.zones[?@.on == false]", "@name"), body), Ok(vec!["12".to_owned()]));
    assert_eq!(keys(&zones, json!({"zones": {}})), Ok(vec![]), "an empty map is an empty set");
    assert_eq!(keys(&zones, json!({"zones": []})), Ok(vec![]), "also in the spelling of PHP");
    for (body, why) in [
        (json!({"zones": [{"on": true}]}), "items: `$.zones` is a list, not a map"),
        (json!({"zones": null}), "items: `$.zones` is null, not a map"),
        (json!({"message": "later"}), "items: there is no `$.zones`"),
        (json!({"zones": {"": {}}}), "item 1: its name is empty"),
    ] {
        assert_eq!(keys(&zones, body), Err(why.to_owned()));
    }
    let twice = json!({"a": {"1": 1}, "b": {"1": 2}});
    let why = "item 2: the key `1` was already taken by another item";
    assert_eq!(keys(&spec("$.*.*", "@name"), twice), Err(why.to_owned()));
}

#[test]
fn a_single_object_is_known_by_a_word_of_the_recipe() {
    let battery = TargetSpec { fields: vec![field("level", "$.percent", FieldKind::Number)], ..spec("$", "'battery'") };
    let one = seen(&battery, json!({"percent": 0.8})).unwrap().remove(0);
    assert_eq!((one.key.as_str(), one.title.as_str()), ("battery", "battery"));
    assert_eq!(one.fields, [("level".to_owned(), FieldValue::Number(0.8))]);
    assert_eq!(keys(&spec("$.charge", "'charge'"), json!({})), Err("items: there is no `$.charge`".to_owned()));
    let why = "item 2: the key `x` was already taken by another item";
    assert_eq!(keys(&spec("$[*]", "'x'"), json!([1, 2])), Err(why.to_owned()), "it is for one");
}

#[test]
fn plain_values_are_items_too() {
    let of = |items: &str, key: &str, body: Value| keys(&spec(items, key), body);
    assert_eq!(of("$.cars[*]", "$", json!({"cars": ["a", "b"]})), Ok(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(of("$[*]", "$", json!([7, 8.0])), Ok(vec!["7".to_owned(), "8".to_owned()]));
    let value = TargetSpec { fields: vec![field("value", "$", FieldKind::Number)], ..spec("$.t.*", "@name") };
    let seen = seen(&value, json!({"t": {"in": 21.5, "out": -3}})).unwrap();
    let shown: Vec<_> = seen.iter().map(|s| (s.key.as_str(), s.fields[0].1.clone())).collect();
    assert_eq!(shown, [("in", FieldValue::Number(21.5)), ("out", FieldValue::Number(-3.0))]);
    let relays = TargetSpec { fields: vec![field("on", "$.on", FieldKind::Bool)], ..spec("$.relays[*]", "@position") };
    assert_eq!(
        keys(&relays, json!({"relays": [{"on": true}, {"on": true}]})),
        Ok(vec!["0".to_owned(), "1".to_owned()])
    );
    let why = "item 1: it has no position: it stands in a map and not in a list";
    assert_eq!(keys(&relays, json!({"relays": {"a": {}}})), Err(why.to_owned()));
}

/// Two that swap their places in a map are no change; two that swap their values are.
#[test]
fn the_key_beside_an_item_is_part_of_what_it_says() {
    let prints = |body| seen(&spec("$.*", "@name"), body).unwrap().into_iter().map(|s| (s.key, s.fingerprint));
    let (ab, ba): (Vec<_>, Vec<_>) =
        (prints(json!({"a": 1, "b": 2})).collect(), prints(json!({"b": 2, "a": 1})).collect());
    assert_eq!([&ab[0], &ab[1]], [&ba[1], &ba[0]]);
    assert_ne!(ab[0].1, prints(json!({"a": 2, "b": 1})).next().unwrap().1);
}

#[test]
fn keys_that_cannot_be_are_told() {
    for (key, why) in [
        ("@nam", "key: `@nam` is not a kind of key; there are @name and @position"),
        ("'battery", "key: the quote at the end is missing, as in \"'battery'\""),
        ("' '", "key: the text in quotes is empty"),
        ("'a'b'", "key: the text in quotes has a quote or a \\ in it, or is longer than 1024 bytes"),
    ] {
        assert_eq!(refused(&spec("$.a[*]", key)), why);
    }
    let said = refused(&spec("$.a", "battery"));
    assert!(
        said.starts_with("key: `battery` is not a JSONPath") && said.ends_with("written as \"'battery'\""),
        "{said}"
    );
    let root = "needs items that stand in a map or a list; `$` is the whole answer";
    assert_eq!(refused(&spec("$", "@name")), format!("key: `@name` {root}"));
    let page = PageSpec {
        style: PageStyle::Link,
        size: None,
        total: None,
        absent_ends: false,
        first_confirms_all: false,
        max_pages: 9,
        max_items: 9,
        max_bytes: 9,
    };
    for key in ["@position", "'x'"] {
        let paged = TargetSpec { page: Some(page.clone()), ..spec("$[*]", key) };
        assert_eq!(refused(&paged), format!("key: `{key}` would be the same on every page of the list"));
    }
    assert!(Extractor::compile(&TargetSpec { page: Some(page), ..spec("$.*", "@name") }, "UTC").is_ok());
}

#[test]
fn the_time_of_a_reading_may_stand_once_for_all_items() {
    let at = |place, kind| TargetSpec { observed_at: observed(place, kind), ..spec("$.t.*", "@name") };
    let times = |spec: &TargetSpec, headers: &[(String, String)]| {
        let body = json!({"timestamp": "2026-11-29T21:56:13Z", "t": {"in": 21.5, "out": -3}});
        let seen = Extractor::compile(spec, "UTC").unwrap().extract(&body, headers, ARRIVED).unwrap();
        seen.iter().map(|s| crate::domain::item::observed_at(&s.fields)).collect::<Vec<_>>()
    };
    let then = Some(Wall(1_795_989_373_000));
    assert_eq!(times(&at(ObservedPlace::Answer("$.timestamp".into()), ObservedKind::Time), &[]), [then, then]);
    let by_header = at(ObservedPlace::Header("sc-data-age".into()), ObservedKind::Time);
    let header = [("sc-data-age".to_owned(), "2026-11-29T21:56:13.000Z".to_owned())];
    assert_eq!(times(&by_header, &header), [then, then]);
    assert_eq!(times(&by_header, &[]), [None, None]);
}
