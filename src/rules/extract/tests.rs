//! Extraction as its readers meet it: shapes, keys, states, fingerprints, and what is refused.

use super::*;
use crate::domain::spec::{ObservedKind, ObservedPlace, ObservedSpec};
use crate::domain::time::{Span, Steady, Wall};
use proptest::prelude::*;
use serde_json::json;

pub(super) const ARRIVED: Stamp = Stamp { steady: Steady(1_000_000), wall: Wall(1_796_007_373_000), era: 3 };

pub(super) fn target() -> TargetSpec {
    TargetSpec {
        name: "t".into(),
        get: Some("/t".into()),
        send: crate::domain::send::SendSpec::default(),
        cost: 1,
        page: None,
        items: "$.data[*]".into(),
        key: "$.id".into(),
        title: Some("$.name".into()),
        fresh_for: None,
        expires_after: None,
        fields: vec![],
        states: vec![],
        volatile: vec![],
        observed_at: None,
        complete: None,
        push: false,
    }
}

pub(super) fn field(name: &str, path: &str, kind: FieldKind) -> FieldSpec {
    FieldSpec { name: name.into(), path: path.into(), kind, when: None, volatile: false, plausible: Default::default() }
}

fn state(is: &str, when: Option<&str>, decay: Option<(&str, &str)>) -> StateSpec {
    StateSpec {
        is: is.into(),
        when: when.map(Into::into),
        until: decay.map(|d| d.0.into()),
        then: decay.map(|d| d.1.into()),
    }
}

fn zones() -> TargetSpec {
    TargetSpec {
        fields: vec![
            field("remaining", "$.run", FieldKind::SecondsLeft),
            field("level", "$.level", FieldKind::Number),
            FieldSpec { volatile: true, ..field("signal", "$.signal", FieldKind::Number) },
        ],
        states: vec![state("running", Some("@.on == true"), Some(("remaining", "idle"))), state("idle", None, None)],
        ..target()
    }
}

fn observed_at_of(sighting: &Sighting) -> Option<Wall> {
    crate::domain::item::observed_at(&sighting.fields)
}

pub(super) fn observed(place: ObservedPlace, kind: ObservedKind) -> Option<ObservedSpec> {
    Some(ObservedSpec { place, kind, time_zone: None })
}

fn extract(spec: &TargetSpec, body: Value) -> Result<Vec<Sighting>, String> {
    Extractor::compile(spec, "UTC").unwrap().extract(&body, &[], ARRIVED)
}

fn one(spec: &TargetSpec, item: Value) -> Sighting {
    extract(spec, json!({"data": [item]})).unwrap().remove(0)
}

#[test]
fn keys_are_text_and_titles_have_a_fallback() {
    let table = [
        (json!({"id": "a", "name": "Lawn"}), "a", "Lawn"),
        (json!({"id": 7, "name": ""}), "7", "7"),
        (json!({"id": 7.0}), "7", "7"),
        (json!({"id": -1, "name": null}), "-1", "-1"),
        (json!({"id": 18446744073709551615u64, "name": 3}), "18446744073709551615", "3"),
    ];
    for (item, key, title) in table {
        let sighting = one(&target(), item);
        assert_eq!((sighting.key.as_str(), sighting.title.as_str()), (key, title));
        assert_eq!(sighting.state, None);
    }
}

#[test]
fn an_answer_of_another_shape_is_an_error_in_words() {
    let long = "k".repeat(2000);
    let table = [
        (json!({"data": [{"id": 1}, {"name": "x"}]}), "item 2: there is no key `$.id`"),
        (json!({"data": [{"id": null}]}), "item 1: the key `$.id` is null, not text or a number"),
        (json!({"data": [{"id": ""}]}), "item 1: the key `$.id` is empty"),
        (json!({"data": [{"id": 1}, {"id": "1"}]}), "item 2: the key `1` was already taken by another item"),
        (json!({"data": ["limit exceeded"]}), "item 1: there is no key `$.id`"),
        (json!({"data": [{"id": long}]}), "item 1: its key is longer than 1024 bytes"),
        (json!({"data": "API token limit exceeded"}), "items: `$.data` is a text, not a list"),
        (json!({"statusCode": 190, "body": {}, "message": "daily limit"}), "items: there is no `$.data`"),
        (json!([{"id": 1}]), "items: there is no `$.data`"),
    ];
    for (body, sentence) in table {
        assert_eq!(extract(&target(), body).unwrap_err(), sentence);
    }
}

#[test]
fn an_empty_list_is_an_answer() {
    assert_eq!(extract(&target(), json!({"data": []})), Ok(vec![]));
}

#[test]
fn one_object_is_one_item() {
    let spec = TargetSpec { items: "$".into(), key: "$.serial".into(), title: None, ..target() };
    let seen = extract(&spec, json!({"serial": "A1", "power": 3})).unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].key, "A1");
}

#[test]
fn countdowns_hang_on_the_arrival() {
    let sighting = one(&zones(), json!({"id": 1, "on": true, "run": 40, "level": "-3.5"}));
    let ends = ARRIVED + Span::from_secs(40);
    assert_eq!(sighting.fields[0], ("remaining".into(), FieldValue::Left(ends)));
    assert_eq!(sighting.fields[1], ("level".into(), FieldValue::Number(-3.5)));
    assert_eq!(sighting.fields[2], ("signal".into(), FieldValue::Unknown));
    assert_eq!(sighting.state, Some(ItemState { word: "running".into(), decays: Some((ends, "idle".into())) }));
}

#[test]
fn a_state_without_a_known_countdown_does_not_decay() {
    let sighting = one(&zones(), json!({"id": 1, "on": true, "run": -1}));
    assert_eq!(sighting.state, Some(ItemState { word: "running".into(), decays: None }));
    let sighting = one(&zones(), json!({"id": 1, "on": false, "run": 40}));
    assert_eq!(sighting.state, Some(ItemState { word: "idle".into(), decays: None }));
}

#[test]
fn a_field_is_unknown_where_its_condition_does_not_hold_or_its_path_is_ambiguous() {
    let spec = TargetSpec {
        fields: vec![
            FieldSpec { when: Some("@.time > 1".into()), ..field("next", "$.time", FieldKind::SecondsUntil) },
            field("many", "$.list[*]", FieldKind::Number),
        ],
        ..target()
    };
    let at = |item| one(&spec, item).fields;
    assert_eq!(at(json!({"id": 1, "time": 1}))[0].1, FieldValue::Unknown);
    assert_eq!(at(json!({"id": 1, "time": 2}))[0].1, FieldValue::Until(ARRIVED + Span::from_secs(2)));
    assert_eq!(at(json!({"id": 1, "list": [1, 2]}))[1].1, FieldValue::Unknown);
    assert_eq!(at(json!({"id": 1, "list": [1]}))[1].1, FieldValue::Number(1.0));
}

#[test]
fn what_moves_by_itself_is_not_in_the_fingerprint() {
    let base = json!({"id": 1, "name": "x", "on": true, "run": 40, "level": 1, "signal": 5});
    let print = |change: Value| {
        let mut item = base.clone();
        item.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        one(&zones(), item).fingerprint
    };
    let same = print(json!({}));
    for change in
        [json!({"run": 39}), json!({"run": null}), json!({"signal": 9}), json!({"note": "x"}), json!({"level": 1.0})]
    {
        assert_eq!(print(change.clone()), same, "{change}");
    }
    for change in
        [json!({"id": 2}), json!({"name": "y"}), json!({"on": false}), json!({"level": 2}), json!({"level": null})]
    {
        assert_ne!(print(change.clone()), same, "{change}");
    }
}

#[test]
fn without_fields_the_fingerprint_is_over_the_item_but_for_what_is_volatile() {
    let spec = TargetSpec { volatile: vec!["$.seen".into(), "$.parts[*].at".into()], ..target() };
    let print = |item| one(&spec, item).fingerprint;
    let same = print(json!({"id": 1, "seen": 5, "parts": [{"n": 1, "at": 7}]}));
    assert_eq!(print(json!({"parts": [{"at": 8, "n": 1.0}], "id": 1})), same);
    assert_ne!(print(json!({"id": 1, "parts": [{"n": 2, "at": 7}]})), same);
    assert_ne!(one(&target(), json!({"id": 1, "seen": 5})).fingerprint, one(&target(), json!({"id": 1})).fingerprint);
}

#[test]
fn the_time_of_a_reading_is_read_and_is_no_change() {
    let at = |path: &str| observed(ObservedPlace::Item(path.into()), ObservedKind::EpochS);
    for bare in [target(), zones()] {
        let spec = TargetSpec { observed_at: at("$.at"), ..bare };
        let seen = |at: Value| one(&spec, json!({"id": 1, "on": true, "run": 40, "level": 1, "at": at}));
        let (old, new) = (seen(json!(1_795_989_373)), seen(json!(1_795_992_973)));
        assert_eq!(old.fingerprint, new.fingerprint);
        assert_eq!(observed_at_of(&old), Some(Wall(1_795_989_373_000)));
        assert_eq!(old.fingerprint, seen(json!(null)).fingerprint);
        assert_eq!((observed_at_of(&seen(json!(0))), seen(json!(0)).fields.len()), (None, old.fields.len()));
    }
    let wrong = TargetSpec { observed_at: at("at"), ..target() };
    assert!(Extractor::compile(&wrong, "UTC").unwrap_err()[0].starts_with("observed_at: "));
}

#[test]
fn the_order_of_the_fields_in_the_file_is_not_content() {
    let mut turned = zones();
    turned.fields.reverse();
    let item = json!({"id": 1, "on": true, "run": 40, "level": 1});
    assert_eq!(one(&zones(), item.clone()).fingerprint, one(&turned, item).fingerprint);
}

#[test]
fn every_mistake_is_told_with_its_key() {
    let spec = TargetSpec {
        items: "data[*]".into(),
        key: "$.".into(),
        title: Some("".into()),
        fields: vec![
            field("level", "level", FieldKind::Number),
            FieldSpec { when: Some("time = 1".into()), ..field("level", "$.x", FieldKind::Text) },
        ],
        states: vec![
            state("a", Some("@.x =="), None),
            state("b", None, Some(("nothing", "idle"))),
            state("c", None, Some(("level", "idle"))),
            StateSpec { then: Some("idle".into()), ..state("d", None, None) },
            StateSpec { until: Some("level".into()), ..state("e", None, None) },
            state("", None, None),
        ],
        volatile: vec!["x".into()],
        ..target()
    };
    let errors = Extractor::compile(&spec, "UTC").unwrap_err();
    let starts = [
        "items: ",
        "key: ",
        "title: ",
        "volatile: ",
        "fields.level.path: ",
        "fields.level: there are two fields of this name",
        "fields.level.when: ",
        "state.a.when: ",
        "state.b.until: there is no field `nothing`",
        "state.c.until: the field `level` is `number`, not a countdown",
        "state.d: `then` needs `until`",
        "state.e: `until` needs `then`",
        "state: `is` is empty",
    ];
    for start in starts {
        assert!(errors.iter().any(|e| e.starts_with(start)), "{start} in {errors:#?}");
    }
    assert_eq!(errors.len(), starts.len(), "{errors:#?}");
}

/// Shapes of Prometheus's HTTP API, polled without a recipe.
#[test]
fn prometheus_targets_and_series() {
    let targets = TargetSpec {
        items: "$.data.activeTargets[*]".into(),
        key: "$.scrapeUrl".into(),
        title: Some("$.labels.job".into()),
        states: vec![state("up", Some("@.health == 'up'"), None), state("down", None, None)],
        ..target()
    };
    let body = json!({"status": "success", "data": {"activeTargets": [
        {"scrapeUrl": "http://localhost:9090/metrics", "labels": {"job": "prometheus"}, "health": "up", "lastScrapeDuration": 0.01},
    ]}});
    let seen = extract(&targets, body).unwrap();
    assert_eq!((seen[0].key.as_str(), seen[0].title.as_str()), ("http://localhost:9090/metrics", "prometheus"));
    assert_eq!(seen[0].state.as_ref().unwrap().word, "up");

    let series = TargetSpec {
        items: "$.data.result[*]".into(),
        key: "$.metric.instance".into(),
        title: None,
        fields: vec![
            FieldSpec { volatile: true, ..field("at", "$.value[0]", FieldKind::EpochS) },
            field("value", "$.value[1]", FieldKind::Number),
        ],
        ..target()
    };
    let body = json!({"status": "success", "data": {"resultType": "vector", "result": [
        {"metric": {"__name__": "up", "instance": "localhost:9090"}, "value": [1796007373.781, "1"]},
        {"metric": {"__name__": "up", "instance": "localhost:9100"}, "value": [1796007373.781, "NaN"]},
    ]}});
    let seen = extract(&series, body).unwrap();
    assert_eq!(seen[0].fields[0].1, FieldValue::At(Wall(1_796_007_373_781)));
    assert_eq!(seen[0].fields[1].1, FieldValue::Number(1.0));
    assert_eq!(seen[1].fields[1].1, FieldValue::Unknown);
    assert!(extract(&series, json!({"status": "error", "errorType": "timeout", "error": "query timed out"})).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 16.0)),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map("id|name|data|on|run|level", inner, 0..5)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_answer_panics_and_keys_are_distinct(body in any_json(), item in any_json()) {
        let extractor = Extractor::compile(&zones(), "UTC").unwrap();
        for body in [body, json!({"data": [item]})] {
            if let Ok(seen) = extractor.extract(&body, &[], ARRIVED) {
                let keys: HashSet<_> = seen.iter().map(|s| &s.key).collect();
                prop_assert_eq!(keys.len(), seen.len());
            }
        }
    }

    #[test]
    fn spelling_is_not_content(item in any_json()) {
        let spec = target();
        let body = json!({"data": [{"id": 1, "x": item}]});
        let again: Value = serde_json::from_str(&serde_json::to_string_pretty(&body).unwrap()).unwrap();
        prop_assert_eq!(extract(&spec, body).unwrap()[0].fingerprint, extract(&spec, again).unwrap()[0].fingerprint);
    }

    #[test]
    fn no_expression_panics(text in r"[$@\[\]?*.'a-z0-9 <>=&|:,()-]{0,20}") {
        let _ = Extractor::compile(&TargetSpec { items: text.clone(), key: text.clone(), ..target() }, "UTC");
        let _ = ItemsPath::parse(&text);
        let _ = Filter::parse(&text);
    }
}
