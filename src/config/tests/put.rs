//! Targets that are put while the appliance runs, held to the rules of the file.

use super::*;
use crate::domain::ids::TargetName;
use crate::domain::spec::TargetSpec;

const JOBS: &str = r#"
[[connection.pattern]]
name = "job"
get  = "/tasks?job={target}"
items = "$.tasks[*]"
key   = "$.id"
fresh_for = "10m"
[connection.pattern.fields]
minutes = { path = "$.minutes", as = "number", min = 0 }
[[connection.pattern.state]]
is   = "done"
when = "@.state == 'done'"
"#;

fn put(more: &str, name: &str, body: &str) -> Result<TargetSpec, Vec<String>> {
    let settings = sound(&yard(&format!("{more}{JOBS}")));
    settings.puttable.read(&settings.connections[0].key, &TargetName::from(name), body)
}

#[test]
fn a_target_that_is_put_is_one_of_the_file() {
    let put_one = put("", "ECO-7", r#"{"pattern":"job","cost":2,"title":"$.name"}"#).unwrap();
    let text = yard(&format!(
        "{JOBS}\n[[connection.target]]\nname = \"ECO-7\"\nlike = \"job\"\ncost = 2\ntitle = \"$.name\"\n"
    ));
    assert_eq!(put_one, sound(&text).connections[0].targets[0]);
    let whole = r#"{"get":"/a","items":"$.a[*]","key":"$.id","fields":{"n":{"path":"$.n","as":"number","unknown":[-1,"n/a"]}},"page":{"style":"link"}}"#;
    let whole = put("", "a", whole).unwrap();
    assert_eq!((whole.get.as_deref(), whole.fields.len(), whole.page.is_some()), (Some("/a"), 1, true));
}

#[test]
fn the_connection_says_when_for_those_that_do_not() {
    let more = "complete = \"@.item_count == 0\"\n";
    assert_eq!(put(more, "a", r#"{"like":"job"}"#).unwrap().complete.as_deref(), Some("@.item_count == 0"));
    let own = put(more, "a", r#"{"like":"job","complete":"$.items[0]"}"#).unwrap();
    assert_eq!(own.complete.as_deref(), Some("$.items[0]"));
}

#[test]
fn what_is_wrong_is_told_by_its_key() {
    for (name, body, says) in [
        ("a", "[]", "a target is a JSON object"),
        ("a", r#"{"pattern":"job","like":"job"}"#, "pattern: means the same as `like`"),
        ("a", r#"{"pattern":"jab"}"#, "pattern: there is no pattern \"jab\"; did you mean `job`?"),
        ("a", r#"{"pattern":"job","fresh_for":null}"#, "null is no value here"),
        ("a", r#"{"pattern":"job","fresh_for":5}"#, "fresh_for: must be a duration in quotes"),
        ("a", r#"{"pattern":"job","phase":"active"}"#, "phase: unknown key"),
        ("a b", r#"{"pattern":"job"}"#, "name: \"a b\" is not the name of a target"),
        ("a", r#"{"pattern":"job","key":"$.["}"#, "key: "),
        ("a", r#"{"pattern":"job","cost":5000}"#, "can never be sent: a poll costs 5000"),
    ] {
        let told = put("", name, body).unwrap_err().join("\n");
        assert!(told.contains(says), "{body}: {told}");
    }
}
