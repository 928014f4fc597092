//! The recipe `hydrawise` against answers written after their public shapes (the sources are the recipe's
//! facts): what it reads, and what it makes of refusals.

use super::*;
use crate::domain::outcome::Outcome;
use crate::domain::reply::{Answer, Reply};
use crate::domain::spec::{RuleSpec, WaitSpec};
use crate::domain::time::{ClockTrust, Now, Span, Steady, Wall};
use crate::rules::classify::Classifier;
use crate::rules::reconcile::reconcile;
use toml::{Table, Value as Toml};

const RECIPE: &str = include_str!("../../recipes/hydrawise.toml");
const STATUS: &str = include_str!("../../../tests/fixtures/hydrawise/status.json");
const LATER: &str = include_str!("../../../tests/fixtures/hydrawise/status_60s_later.json");
const LOCKOUT: &str = include_str!("../../../tests/fixtures/hydrawise/lockout.txt");
const BAD_KEY: &str = include_str!("../../../tests/fixtures/hydrawise/bad_key.txt");
const COMMAND_OK: &str = include_str!("../../../tests/fixtures/hydrawise/command_ok.json");
const COMMAND_REFUSED: &str = include_str!("../../../tests/fixtures/hydrawise/command_refused.json");

fn at(s: u64) -> Stamp {
    Stamp { steady: Steady(s * 1000), wall: Wall(1_796_007_373_000 + s as i64 * 1000), era: 1 }
}
fn now(s: u64) -> Now {
    Now { steady: Steady(s * 1000), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_796_007_373_000] }
}

fn text(table: &Table, key: &str) -> Option<String> {
    table.get(key).and_then(Toml::as_str).map(str::to_owned)
}
fn tables<'a>(table: &'a Table, key: &str) -> Vec<&'a Table> {
    table.get(key).and_then(Toml::as_array).into_iter().flatten().filter_map(Toml::as_table).collect()
}

fn target() -> TargetSpec {
    let recipe: Table = RECIPE.parse().unwrap();
    let target = tables(&recipe, "target")[0];
    let field = |(name, f): (&String, &Toml)| {
        let f = f.as_table().unwrap();
        let word = text(f, "as").unwrap();
        let kind = FieldKind::ALL.into_iter().find(|k| k.word() == word).unwrap();
        FieldSpec {
            name: name.clone(),
            path: text(f, "path").unwrap(),
            kind,
            when: text(f, "when"),
            volatile: false,
            plausible: Default::default(),
        }
    };
    let state = |s: &Table| StateSpec {
        is: text(s, "is").unwrap(),
        when: text(s, "when"),
        until: text(s, "until"),
        then: text(s, "then"),
    };
    TargetSpec {
        name: target["name"].as_str().unwrap().into(),
        get: text(target, "get"),
        send: crate::domain::send::SendSpec::default(),
        cost: 1,
        page: None,
        items: text(target, "items").unwrap(),
        key: text(target, "key").unwrap(),
        title: text(target, "title"),
        fresh_for: None,
        expires_after: None,
        fields: target["fields"].as_table().unwrap().iter().map(field).collect(),
        states: tables(target, "state").into_iter().map(state).collect(),
        volatile: vec![],
        observed_at: None,
        complete: None,
        push: false,
    }
}

fn classifier() -> Classifier {
    let recipe: Table = RECIPE.parse().unwrap();
    let rule = |r: &Table| RuleSpec {
        name: text(r, "name").unwrap(),
        outcome: Some(Outcome::from_word(&text(r, "outcome").unwrap()).unwrap()),
        status: r["status"].as_array().unwrap().iter().map(|s| s.as_integer().unwrap() as u16).collect(),
        header: None,
        body: text(r, "body"),
        json: text(r, "json"),
        hold: None,
        limit: None,
    };
    let rules: Vec<_> = tables(&recipe, "rule").into_iter().map(rule).collect();
    Classifier::compile(&rules, &WaitSpec::default()).unwrap()
}

fn outcome(status: u16, body: &str) -> (Outcome, String, Option<String>) {
    let answer = Answer { status, headers: vec![], body: body.as_bytes().to_vec() };
    let reply = Reply { arrived_at: at(0), result: Ok(answer), detail: String::new() };
    let v = classifier().classify(&reply, false, at(0).wall).verdict;
    (v.outcome, v.rule, v.said)
}

fn seen(body: &str, arrived: u64) -> Vec<Sighting> {
    let extractor = Extractor::compile(&target(), "UTC").unwrap();
    extractor.extract(&serde_json::from_str(body).unwrap(), &[], at(arrived)).unwrap()
}

fn field<'a>(sighting: &'a Sighting, name: &str) -> &'a FieldValue {
    &sighting.fields.iter().find(|(n, _)| n == name).unwrap().1
}

#[test]
fn an_idle_a_running_and_a_suspended_zone() {
    let zones = seen(STATUS, 0);
    let told: Vec<_> =
        zones.iter().map(|z| (z.key.as_str(), z.title.as_str(), z.state.as_ref().unwrap().now(&now(0)))).collect();
    assert_eq!(
        told,
        [("4100101", "Front lawn", "idle"), ("4100102", "Hedge", "running"), ("4100103", "Greenhouse", "suspended"),]
    );
    assert_eq!(field(&zones[0], "next_run"), &FieldValue::Until(at(7260)));
    assert_eq!(field(&zones[0], "remaining"), &FieldValue::Unknown);
    assert_eq!(field(&zones[0], "planned_seconds"), &FieldValue::Number(1200.0));
    assert_eq!(field(&zones[1], "next_run"), &FieldValue::Unknown);
    assert_eq!(field(&zones[1], "remaining"), &FieldValue::Left(at(545)));
    assert_eq!(field(&zones[2], "next_run"), &FieldValue::Unknown, "50 years is not a plan");
}

#[test]
fn i7_a_run_that_ended_reads_as_idle_without_another_answer() {
    let zone = &seen(STATUS, 0)[1];
    let state = zone.state.as_ref().unwrap();
    assert_eq!(state.now(&now(544)), "running");
    assert_eq!(state.now(&now(545)), "idle");
}

#[test]
fn i6_the_same_plan_read_a_minute_later_is_no_change() {
    let first = reconcile(&Default::default(), &[], seen(STATUS, 0), at(0));
    let second = reconcile(&first.state, &first.put, seen(LATER, 60), at(60));
    assert!(!second.changed && !second.moved && second.put.is_empty(), "{second:?}");
    assert_eq!(second.state.generation, 1);
}

#[test]
fn the_answers_of_the_provider() {
    use Outcome::*;
    let table = [
        (200, STATUS, Data),
        (200, COMMAND_OK, Data),
        (200, LOCKOUT, Limited),
        (200, "API rate limit exceeded. Try again in 5 minutes.", Limited),
        (429, "", Limited),
        (404, BAD_KEY, CredentialRejected),
        (404, "<h1>Not Found</h1>", Unexpected),
        (200, COMMAND_REFUSED, Unexpected),
        (200, r#"{"error_message":"unauthorised"}"#, Unexpected),
        (500, "", Overloaded),
    ];
    for (status, body, expected) in table {
        let (got, rule, _) = outcome(status, body);
        assert_eq!(got, expected, "{status} {body:.60}: {rule}");
    }
}

#[test]
fn i4_the_lockout_speaks_in_words() {
    let (_, rule, said) = outcome(200, LOCKOUT);
    assert!(rule.contains("lockout sentence") && rule.contains("rate limited"), "{rule}");
    assert!(said.unwrap().starts_with("You have made too many requests."));
}

#[test]
fn the_poller_leaves_the_fifth_request_alone() {
    let recipe: Table = RECIPE.parse().unwrap();
    let limit = tables(&recipe, "limit")[0];
    assert_eq!((limit["requests"].as_integer(), limit["window"].as_str()), (Some(5), Some("5m")));
    assert_eq!(recipe["poll"]["interval"].as_str(), Some("75s"));
    assert_eq!(Span::from_secs(300).as_millis() / Span::from_secs(75).as_millis(), 4);
    assert!(tables(&recipe, "fact").iter().all(|f| f.contains_key("source") && f.contains_key("date")));
}
