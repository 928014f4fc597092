//! One value of an answer, out of its body or a header. Knows how providers spell "none", "yes" and numbers; not what they mean.

use crate::domain::page::ValueSource;
use crate::rules::extract::path::{Path, kind_of};
use serde_json::Value;

#[derive(Clone, Debug)]
pub(super) enum Source {
    Json(Path),
    Header(String),
}

/// What stands there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// It does not stand there at all.
    Absent,
    /// Null, empty or `false`.
    Nothing,
    True,
    Text(String),
    /// Something that is neither a text nor a number nor a yes: what it is, in words.
    Odd(&'static str),
}

impl Source {
    pub fn compile(source: &ValueSource) -> Result<Source, String> {
        Ok(match source {
            ValueSource::Json(path) => Source::Json(Path::parse(path)?),
            ValueSource::Header(name) => Source::Header(name.clone()),
        })
    }

    /// For sentences.
    pub fn name(&self) -> &str {
        match self {
            Source::Json(path) => path.text(),
            Source::Header(name) => name,
        }
    }

    pub fn read(&self, headers: &[(String, String)], body: &Value) -> Found {
        match self {
            Source::Json(path) => match path.nodes(body).as_slice() {
                [] => Found::Absent,
                [one] => of_json(one),
                _ => Found::Odd("several values"),
            },
            Source::Header(name) => {
                let value = headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.trim());
                value.map_or(Found::Absent, of_text)
            }
        }
    }

    /// A token that the body has as a number: what takes a number back is not content with its digits in quotes.
    pub fn as_it_came(&self, body: &Value) -> Option<Value> {
        match self {
            Source::Json(path) => path.one(body).filter(|value| value.is_number()).cloned(),
            Source::Header(_) => None,
        }
    }

    /// A count; `None` where there is none that can be read.
    pub fn count(&self, headers: &[(String, String)], body: &Value) -> Option<u64> {
        match self.read(headers, body) {
            Found::Text(text) => text.trim().parse().ok(),
            // `false` is no number, but a zero reads as one.
            _ => None,
        }
    }
}

fn of_text(text: &str) -> Found {
    match text.trim() {
        "" => Found::Nothing,
        word if word.eq_ignore_ascii_case("true") => Found::True,
        word if word.eq_ignore_ascii_case("false") || word.eq_ignore_ascii_case("null") => Found::Nothing,
        _ => Found::Text(text.to_owned()),
    }
}

fn of_json(value: &Value) -> Found {
    match value {
        Value::Null | Value::Bool(false) => Found::Nothing,
        Value::Bool(true) => Found::True,
        Value::Number(n) => Found::Text(n.to_string()),
        Value::String(text) if text.trim().is_empty() => Found::Nothing,
        Value::String(text) => Found::Text(text.clone()),
        other => Found::Odd(kind_of(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn none_yes_and_numbers_in_their_spellings() {
        let source = Source::compile(&ValueSource::Json("$.next".to_owned())).unwrap();
        for (body, found) in [
            (json!({}), Found::Absent),
            (json!({"next": null}), Found::Nothing),
            (json!({"next": " "}), Found::Nothing),
            (json!({"next": false}), Found::Nothing),
            (json!({"next": true}), Found::True),
            (json!({"next": "abc"}), Found::Text("abc".to_owned())),
            // A cursor may be any text: only a header has to spell its booleans as words.
            (json!({"next": "false"}), Found::Text("false".to_owned())),
            (json!({"next": 7}), Found::Text("7".to_owned())),
            (json!({"next": {"href": "x"}}), Found::Odd("an object")),
        ] {
            assert_eq!(source.read(&[], &body), found, "{body}");
        }
        let several = Source::compile(&ValueSource::Json("$.all[*]".to_owned())).unwrap();
        assert_eq!(several.read(&[], &json!({"all": [1, 2]})), Found::Odd("several values"));
        let header = Source::compile(&ValueSource::Header("x-more".to_owned())).unwrap();
        let more = |value: &str| header.read(&[("x-more".to_owned(), value.to_owned())], &Value::Null);
        assert_eq!((more("True"), more("false"), more("")), (Found::True, Found::Nothing, Found::Nothing));
        assert_eq!(header.read(&[], &Value::Null), Found::Absent);
        assert_eq!(source.count(&[], &json!({"next": "12"})), Some(12));
        for odd in [json!(-1), json!(1.5), json!("many"), json!(true), json!([3])] {
            assert_eq!(source.count(&[], &json!({"next": odd})), None, "{odd}");
        }
    }
}
