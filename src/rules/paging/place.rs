//! Where a request carries the token or the number of its page: put there, and read from there. Must not know which page it is.

use super::Ask;
use crate::domain::page::Placing;
use crate::rules::address::{parameter, with_parameter};
use serde_json::{Map, Value};

/// The variables of a GraphQL request.
const VARIABLES: &str = "variables";

/// The request with `token` in its place; a number stays one where the place can tell. `None`: it has a body that has no such place.
pub(super) fn put(asked: &Ask, placing: &Placing, token: &Value) -> Option<Ask> {
    let Ask { location, body } = asked;
    let at = |location: String| Ask { location, body: body.clone() };
    match placing {
        Placing::Query(name) => Some(at(with_parameter(location, name, &text(token)))),
        Placing::Variable(name) if body.is_empty() => {
            let given = parameter(location, VARIABLES).and_then(|text| serde_json::from_str(&text).ok());
            let variables = with_member(given, &[name.as_str()], token)?;
            Some(at(with_parameter(location, VARIABLES, &variables.to_string())))
        }
        Placing::Variable(name) => in_the_body(asked, &[VARIABLES, name.as_str()], token),
        Placing::Member(pointer) => {
            let names = names(pointer);
            in_the_body(asked, &names.iter().map(String::as_str).collect::<Vec<_>>(), token)
        }
    }
}

/// The number that the request carries there, if it does.
pub(super) fn number(asked: &Ask, placing: &Placing) -> Option<u64> {
    let body = || serde_json::from_slice::<Value>(&asked.body).ok();
    let found = match placing {
        Placing::Query(name) => return parameter(&asked.location, name)?.trim().parse().ok(),
        Placing::Variable(name) if asked.body.is_empty() => {
            serde_json::from_str::<Value>(&parameter(&asked.location, VARIABLES)?).ok()?.get(name).cloned()
        }
        Placing::Variable(name) => body()?.get(VARIABLES)?.get(name).cloned(),
        Placing::Member(pointer) => body()?.pointer(pointer).cloned(),
    };
    text(&found?).trim().parse().ok()
}

fn in_the_body(asked: &Ask, names: &[&str], token: &Value) -> Option<Ask> {
    let body = with_member(Some(serde_json::from_slice(&asked.body).ok()?), names, token)?;
    Some(Ask { location: asked.location.clone(), body: body.to_string().into_bytes() })
}

/// Objects that are not there are made; anything but an object is no place for a member.
fn with_member(given: Option<Value>, names: &[&str], token: &Value) -> Option<Value> {
    let Some((name, deeper)) = names.split_first() else { return Some(token.clone()) };
    let mut members = match given {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(members)) => members,
        Some(_) => return None,
    };
    let inner = with_member(members.get_mut(*name).map(Value::take), deeper, token)?;
    members.insert((*name).to_owned(), inner);
    Some(Value::Object(members))
}

/// The names of a JSON Pointer (RFC 6901 section 4).
fn names(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ask(body: &Value) -> Ask {
        Ask { location: "/search".to_owned(), body: body.to_string().into_bytes() }
    }

    fn body_with(given: Value, pointer: &str, token: Value) -> Option<Value> {
        let asked = put(&ask(&given), &Placing::Member(pointer.to_owned()), &token)?;
        Some(serde_json::from_slice(&asked.body).unwrap())
    }

    #[test]
    fn a_member_of_a_body_is_put_at_its_pointer() {
        for (given, pointer, expected) in [
            (json!({"a": 1}), "/cursor", Some(json!({"a": 1, "cursor": "x"}))),
            (json!({"cursor": "old"}), "/cursor", Some(json!({"cursor": "x"}))),
            (json!({"page": {"size": 5}}), "/page/after", Some(json!({"page": {"size": 5, "after": "x"}}))),
            (json!({"page": null}), "/page/after", Some(json!({"page": {"after": "x"}}))),
            (json!({}), "/a~1b/c~0d", Some(json!({"a/b": {"c~d": "x"}}))),
            (json!({"page": 7}), "/page/after", None),
            (json!([1]), "/cursor", None),
        ] {
            assert_eq!(body_with(given.clone(), pointer, json!("x")), expected, "{given} {pointer}");
        }
        assert_eq!(put(&Ask { location: "/s".into(), body: vec![] }, &Placing::Member("/c".into()), &json!(1)), None);
        assert_eq!(body_with(json!({}), "/from", json!(20)), Some(json!({"from": 20})), "a number stays a number");
    }

    #[test]
    fn what_was_put_is_read_again() {
        let variables = Ask { location: "/graphql?query=q".into(), body: vec![] };
        for (asked, placing) in [
            (ask(&json!({"from": 3})), Placing::Member("/from".into())),
            (ask(&json!({"page": {"from": "3"}})), Placing::Member("/page/from".into())),
            (ask(&json!({})), Placing::Variable("skip".into())),
            (variables, Placing::Variable("skip".into())),
            (ask(&json!({})), Placing::Query("page".into())),
        ] {
            let put = put(&asked, &placing, &json!(40)).unwrap();
            assert_eq!(number(&put, &placing), Some(40), "{placing:?}");
        }
        assert_eq!(number(&ask(&json!({"page": {"from": "3"}})), &Placing::Member("/page/from".into())), Some(3));
        assert_eq!(number(&ask(&json!({})), &Placing::Member("/from".into())), None);
    }
}
