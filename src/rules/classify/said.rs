//! The provider's own words: which part of an answer speaks to people, cleaned and cut to 160 characters (I4). Must not know
//! what they mean. Secrets are not its business: they are removed before an answer comes here and again before it is shown.

use serde_json::Value;

/// The most that is kept, in characters.
pub const SAID: usize = 160;

/// Members that speak to people, best first. Names here and below are without case, `_` and `-`.
#[rustfmt::skip]
const SPEAKING: [&str; 23] = [
    "message", "errormessage", "errordescription", "detail", "details", "msg", "error", "errors", "fault", "faultstring",
    "note", "information", "info", "description", "title", "reason", "remark", "text", "result", "meta", "status", "code",
    "data",
];

/// Members whose text a limit may speak through although the answer is a 2xx (A10, A12 to A14).
#[rustfmt::skip]
const ERROR_LIKE: [&str; 21] = [
    "message", "msg", "error", "errors", "errormessage", "errordescription", "fault", "note", "information", "info", "detail",
    "details", "reason", "remark", "result", "status", "statusmessage", "code", "errorcode", "errortype", "data",
];

/// Members that stand beside an error and say nothing of their own.
#[rustfmt::skip]
const BESIDE: [&str; 22] = [
    "success", "ok", "cod", "statuscode", "failcode", "messagetype", "type", "timestamp", "time", "date", "path", "instance",
    "requestid", "traceid", "documentationurl", "retryafter", "lockduration", "limit", "remaining", "reset", "meta", "extensions",
];

/// Deeper than this nobody speaks to people.
const DEPTH: usize = 6;

/// The human message of a JSON body: `error.message`, `errors[0].detail`, the only member's text.
pub(super) fn message(value: &Value) -> Option<&str> {
    message_at(value, DEPTH)
}

/// A sentence that stands near the outside of an object: deeper, or in a list, it may be the text of a row.
pub(super) fn outer_message(value: &Value) -> Option<&str> {
    message_at(value.as_object().map(|_| value)?, 3).filter(|m| m.contains(' '))
}

fn message_at(value: &Value, depth: usize) -> Option<&str> {
    match value {
        _ if depth == 0 => None,
        Value::String(text) => Some(text.as_str()).filter(|t| !t.trim().is_empty()),
        Value::Array(list) => list.first().and_then(|first| message_at(first, depth - 1)),
        Value::Object(members) => {
            let named = |name: &str| members.iter().find(|(n, _)| is_one_of(&[name], n)).map(|(_, v)| v);
            let spoken = SPEAKING.iter().filter_map(|name| named(name)).find_map(|v| message_at(v, depth - 1));
            let only = members.values().next().filter(|_| members.len() == 1);
            spoken.or_else(|| only.and_then(|v| message_at(v, depth - 1)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Every text in a JSON body, outermost first, at most `limit` of them. Names of members are not texts.
pub(super) fn texts(value: &Value, limit: usize) -> Vec<&str> {
    let (mut found, mut layer) = (Vec::new(), vec![value]);
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for value in layer {
            match value {
                Value::String(text) => found.push(text.as_str()),
                Value::Array(list) => next.extend(list.iter().take(limit)),
                Value::Object(members) => next.extend(members.values().take(limit)),
                _ => {}
            }
            if found.len() >= limit {
                return found;
            }
        }
        layer = next;
    }
    found
}

/// The texts of a 2xx body that is evidently an error object: every member is about the error, stands beside it, or is empty.
/// Nothing for whatever could be data (a charger may well say `{"status": "limit reached", "soc": 80}`).
pub(super) fn error_texts(body: &Value) -> Vec<&str> {
    let members = match body {
        Value::String(text) => return vec![text],
        Value::Object(members) => members,
        _ => return Vec::new(),
    };
    let only_text = members.len() == 1 && members.values().all(Value::is_string);
    let speaks = |name: &str, v: &Value| {
        only_text || is_one_of(&ERROR_LIKE, name) && (!has_content(v) || is_one_of(&["error", "errors", "fault"], name))
    };
    let evident = |(name, v): (&String, &Value)| is_empty(v) || speaks(name, v) || is_one_of(&BESIDE, name);
    if !members.iter().all(evident) {
        return Vec::new();
    }
    members.iter().filter(|(name, v)| speaks(name, v)).flat_map(|(_, v)| texts(v, 32)).collect()
}

/// Members that say in so many words that it failed, where they have anything in them.
#[rustfmt::skip]
const FAILURES: [&str; 8] = [
    "error", "errors", "fault", "errormessage", "errorcode", "errortype", "errordescription", "failcode",
];

/// Whether a body is evidently an error object, by its members and by a sign of failure among them: whatever its wording, it is no
/// data (A13, A45).
pub(super) fn is_failure(body: &Value) -> bool {
    let Some(members) = body.as_object() else { return false };
    let denies =
        |v: &Value| matches!(v, Value::Bool(false)) || v.as_str().is_some_and(|s| s.eq_ignore_ascii_case("false"));
    let says_so = |v: &Value| match v {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(text) => !matches!(text.trim(), "" | "0" | "false" | "none" | "null" | "ok" | "OK"),
        Value::Array(_) | Value::Object(_) => has_content(v),
    };
    let sign = |(name, v): (&String, &Value)| {
        is_one_of(&["success", "ok"], name) && denies(v) || is_one_of(&FAILURES, name) && says_so(v)
    };
    let evident = |(name, v): (&String, &Value)| {
        is_empty(v)
            || is_one_of(&BESIDE, name)
            || is_one_of(&FAILURES, name)
            || is_one_of(&ERROR_LIKE, name) && !has_content(v)
    };
    members.iter().all(evident) && members.iter().any(sign)
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>().to_lowercase();
    names.contains(&plain.as_str())
}

pub(super) fn is_empty(value: &Value) -> bool {
    value.is_null()
        || value.as_str().is_some_and(str::is_empty)
        || !has_content(value) && (value.is_array() || value.is_object())
}

fn has_content(value: &Value) -> bool {
    match value {
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

/// One line, at most [`SAID`] characters: control characters and marks that turn the direction of text become spaces,
/// white space is collapsed. `None` if nothing is left.
pub(super) fn clean(text: &str) -> Option<String> {
    let blank = |c: char| {
        c.is_control()
            || c.is_whitespace()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffd}')
    };
    let mut line = String::new();
    let mut kept = 0;
    for word in text.split(blank).filter(|w| !w.is_empty()) {
        let room = SAID - kept;
        let gap = usize::from(!line.is_empty());
        if room <= gap {
            break;
        }
        if gap == 1 {
            line.push(' ');
        }
        let taken: String = word.chars().take(room - gap).collect();
        kept += gap + taken.chars().count();
        line.push_str(&taken);
    }
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn the_part_that_speaks_to_people() {
        let table = [
            (json!({"message": "Too many"}), Some("Too many")),
            (json!({"error": "limit"}), Some("limit")),
            (json!({"error": {"code": 26, "message": "User usage reached"}}), Some("User usage reached")),
            (
                json!({"errors": [{"message": "3500 daily call limit"}, {"message": "b"}]}),
                Some("3500 daily call limit"),
            ),
            (json!({"errors": ["first"]}), Some("first")),
            (json!({"code": "rate_limited", "message": "Slow down"}), Some("Slow down")),
            (json!({"title": "Too Many", "detail": "Wait a minute"}), Some("Wait a minute")),
            (json!({"Note": "Thank you"}), Some("Thank you")),
            (json!({"Information": "Our limit"}), Some("Our limit")),
            (json!({"status": {"error_code": 429, "error_message": "You've exceeded"}}), Some("You've exceeded")),
            (json!({"fault": {"faultstring": "Rate limit quota violation"}}), Some("Rate limit quota violation")),
            (json!({"ok": false, "error": "ratelimited"}), Some("ratelimited")),
            (json!({"whatever": "only member"}), Some("only member")),
            (json!([{"message": "TotalRequests Limit exceeded."}]), Some("TotalRequests Limit exceeded.")),
            (json!("text"), Some("text")),
            (json!({"message": "", "code": 5}), None),
            (json!({"a": 1, "b": "x"}), None),
            (json!(null), None),
        ];
        for (body, said) in table {
            assert_eq!(message(&body), said, "{body}");
        }
    }

    #[test]
    fn an_error_object_is_evident_or_it_is_data() {
        let evident = [
            json!({"Note": "x"}),
            json!({"error": "x"}),
            json!({"error": {"message": "x"}}),
            json!({"data": "x"}),
            json!({"anything": "x"}),
            json!({"status": "0", "message": "NOTOK", "result": "x"}),
            json!({"statusCode": 190, "body": {}, "message": "x"}),
            json!({"status": "x", "results": []}),
            json!({"errors": [{"message": "x", "extensions": {"code": "y"}}], "data": null}),
            json!({"errors": [{"message": "x"}], "extensions": {"cost": {"requested": 5}}}),
            json!({"success": false, "errors": [{"code": "606", "message": "x"}]}),
            json!("x"),
        ];
        for body in evident {
            assert!(error_texts(&body).contains(&"x"), "{body}");
        }
        let data = [
            json!([{"message": "x"}]),
            json!({"items": [{"message": "x"}], "message": "x"}),
            json!({"data": {"message": "x"}}),
            json!({"data": ["x"]}),
            json!({"id": 1, "title": "x"}),
            json!({"status": "x", "soc": 80}),
            json!({"id": 1, "message": "x"}),
            json!({"relays": [{"id": 1}], "message": "x"}),
            json!({}),
            json!(5),
        ];
        for body in data {
            assert!(!error_texts(&body).contains(&"x"), "{body}");
        }
    }

    #[test]
    fn a13_a_sign_of_failure_is_no_data_whatever_its_wording() {
        for body in [
            json!({"success": false, "code": 28_841_004}),
            json!({"success": false, "msg": "No permissions"}),
            json!({"ok": false, "error": "something"}),
            json!({"error": "device offline"}),
            json!({"error": {"code": 5, "message": "no"}}),
            json!({"errors": [{"detail": "no"}], "data": null}),
            json!({"success": "false", "data": []}),
        ] {
            assert!(is_failure(&body), "{body}");
        }
        for body in [
            json!({"success": true}),
            json!({"error": null, "result": "x"}),
            json!({"error": 0, "message": "ok"}),
            json!({"errors": [], "data": null}),
            json!({"error": "x", "devices": [1]}),
            json!({"success": false, "zones": {"a": 1}}),
            json!({"message": "started", "message_type": "info"}),
            json!([{"error": "x"}]),
            json!({}),
        ] {
            assert!(!is_failure(&body), "{body}");
        }
    }

    #[test]
    fn said_is_one_clean_line() {
        assert_eq!(clean(" a\r\n\tb\u{0}\u{7}c \u{202e}d "), Some("a b c d".into()));
        assert_eq!(clean(" \r\n\u{feff}"), None);
        let long = clean(&"ä".repeat(500)).unwrap();
        assert_eq!(long.chars().count(), SAID);
        let words = clean(&"word ".repeat(100)).unwrap();
        assert!(words.chars().count() <= SAID && words.ends_with("word"), "{words}");
    }

    proptest! {
        #[test]
        fn clean_is_bounded_and_never_panics(text in "(?s).{0,400}") {
            if let Some(line) = clean(&text) {
                prop_assert!(line.chars().count() <= SAID);
                prop_assert!(!line.chars().any(char::is_control));
                prop_assert_eq!(clean(&line), Some(line.clone()));
            }
        }
    }
}
