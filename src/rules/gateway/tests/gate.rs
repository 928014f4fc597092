//! What goes through, and what holds for a path.

use super::*;
use crate::domain::send::SendSpec;
use crate::domain::spec::{CommandSpec, Retry};

fn at(raw: &str) -> Location {
    Location::read(raw).unwrap()
}

fn command(path: &str, method: &'static str) -> CommandSpec {
    let send = SendSpec { method, ..SendSpec::default() };
    CommandSpec { name: "c".into(), path: path.into(), send, cost: 1, then_refresh: None, retry: Retry::Never }
}

fn allow(methods: &[&str], path: &str) -> Allow {
    Allow { methods: methods.iter().map(|m| (*m).to_owned()).collect(), path: path.to_owned() }
}

#[test]
fn without_a_word_everything_may_be_read_and_nothing_else() {
    let gate = Gate::compile(&GatewaySpec::default(), &[]).unwrap();
    for raw in ["", "/", "/a/b?c=d", "/a%2Fb"] {
        assert_eq!(gate.passage("GET", &at(raw)), Ok(Passage::Read(Reading::Get)));
        assert_eq!(gate.passage("HEAD", &at(raw)), Ok(Passage::Read(Reading::Head)));
        for method in ["POST", "DELETE", "get", "OPTIONS", "CONNECT"] {
            let both = vec!["GET".to_owned(), "HEAD".to_owned()];
            assert_eq!(gate.passage(method, &at(raw)), Err(NotAllowed::Method(both)));
        }
    }
    let off = Gate::compile(&GatewaySpec { enabled: false, ..GatewaySpec::default() }, &[]).unwrap();
    assert_eq!(off.passage("GET", &at("/a")), Err(NotAllowed::Off));
}

#[test]
fn a_list_allows_what_fits_and_nothing_beside_it() {
    let spec = GatewaySpec {
        allow: vec![allow(&["GET"], "/tasks/**"), allow(&["POST", "DELETE"], "/tasks/*")],
        ..GatewaySpec::default()
    };
    let gate = Gate::compile(&spec, &[]).unwrap();
    assert_eq!(gate.passage("GET", &at("/tasks/1/more")), Ok(Passage::Read(Reading::Get)));
    assert_eq!(gate.passage("POST", &at("/tasks/1")), Ok(Passage::Write));
    let all = ["DELETE", "GET", "POST"].map(str::to_owned).to_vec();
    assert_eq!(gate.passage("HEAD", &at("/tasks/1")), Err(NotAllowed::Method(all)));
    assert_eq!(gate.passage("GET", &at("/admin")), Err(NotAllowed::Path));
    assert_eq!(gate.passage("POST", &at("/tasks/1%2Fadmin")), Err(NotAllowed::Method(vec!["GET".to_owned()])));
}

/// Hydrawise opens a valve with a GET.
#[test]
fn a_command_in_disguise_is_no_reading() {
    let commands = [
        command("/setzone.php?action=run&relay_id={item}", "GET"),
        command("/devices/{item}", "POST"),
        command("/do?what={what}", "POST"),
    ];
    let gate = Gate::compile(&GatewaySpec::default(), &commands).unwrap();
    for raw in ["/setzone.php?action=run", "/SetZone.php", "//setzone.php", "/setzone.php/x", "/setzone.php;a?b", "/do"]
    {
        let Ok(location) = Location::read(raw) else { continue };
        assert_eq!(gate.passage("GET", &location), Ok(Passage::Write), "{raw}");
        assert_eq!(gate.passage("HEAD", &location), Ok(Passage::Write), "{raw}");
    }
    assert_eq!(gate.passage("GET", &at("/statusschedule.php")), Ok(Passage::Read(Reading::Get)));
    assert_eq!(
        gate.passage("GET", &at("/devices/1")),
        Ok(Passage::Read(Reading::Get)),
        "its command is a POST with a body"
    );
}

#[test]
fn each_matter_follows_the_first_rule_that_has_a_word_on_it() {
    let rule = |path: &str| PathRule { path: path.to_owned(), ..PathRule::default() };
    let rules = vec![
        PathRule { fresh_for: Some(Span::from_secs(30)), stream: Some(true), ..rule("/tasks/*") },
        PathRule { fresh_for: Some(Span::from_secs(60)), cost: Some(3), idempotent: Some(true), ..rule("/tasks/**") },
    ];
    let gate = Gate::compile(&GatewaySpec { rules, ..GatewaySpec::default() }, &[]).unwrap();
    let one = gate.policy(&at("/tasks/1"));
    assert_eq!((one.fresh_for, one.cost, one.freshness), (Span::from_secs(30), 3, Freshness::Memo));
    assert!(one.may_repeat("POST") && one.stream);
    let deeper = gate.policy(&at("/tasks/1/2"));
    assert_eq!((deeper.fresh_for, deeper.cost, deeper.stream), (Span::from_secs(60), 3, false));
    let other = gate.policy(&at("/other"));
    assert_eq!((other.fresh_for, other.cost), (Span::from_secs(5), 1));
    assert!(
        other.may_repeat("PUT")
            && other.may_repeat("DELETE")
            && !other.may_repeat("POST")
            && !other.may_repeat("PATCH")
    );
}

#[test]
fn wrong_patterns_and_paths_are_told_with_their_place() {
    let narrow = NarrowSpec { parameter: "s".into(), items: "x".into(), field: "$.a".into(), whole: None };
    let rules = vec![
        PathRule { path: "tasks".into(), ..PathRule::default() },
        PathRule { path: "/tasks".into(), forgets: vec!["/**/x".into()], ..PathRule::default() },
        PathRule { path: "/tasks".into(), narrow: Some(narrow), ..PathRule::default() },
    ];
    let spec = GatewaySpec { allow: vec![allow(&["GET"], "/a?b")], rules, ..GatewaySpec::default() };
    let errors = Gate::compile(&spec, &[]).unwrap_err();
    let places: Vec<&str> = errors.iter().map(|e| e.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["allow[#1].path", "rule[#1].path", "rule[#2].forgets", "rule[#3].narrow"], "{errors:?}");
}
