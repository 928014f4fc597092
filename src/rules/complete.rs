//! Whether a target is completed: a condition about the target as it is shown, with its present items. Pure; must not know how the
//! items were read (by a request of its own, page by page, or by a scan), nor what follows.
//!
//! `@` is `{"item_count": 2, "items": [{"key": "7", "title": "Meter", "state": "done", "fields": {"kwh": 4.5}}]}`. A text that is a
//! JSONPath (RFC 9535) beginning with `$` holds where it finds something; any other is a filter expression about `@`.

use super::calendar::rfc3339;
use super::extract::path::{Filter, Path, Subject};
use crate::domain::item::{FieldValue, Item};
use crate::domain::time::Stamp;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug)]
pub struct Completion(Condition);

#[derive(Clone, Debug)]
enum Condition {
    Finds(Path),
    Holds(Filter),
}

impl Completion {
    /// The error is a sentence.
    pub fn parse(text: &str) -> Result<Completion, String> {
        let condition = match text.trim_start().starts_with('$') {
            true => Path::parse(text).map(Condition::Finds).map_err(|why| {
                format!("{why}; a condition is a JSONPath that finds something, or a filter about the target `@`")
            }),
            false => Filter::parse(text).map(Condition::Holds),
        };
        condition.map(Completion)
    }

    /// Of what is on the shelf; what was removed is no member.
    pub fn holds(&self, items: &[Item]) -> bool {
        let present = items.iter().filter(|item| item.removed.is_none());
        let items: Vec<Value> = present.map(shown).collect();
        let target = json!({ "item_count": items.len(), "items": items });
        match &self.0 {
            Condition::Finds(path) => !path.nodes(&target).is_empty(),
            Condition::Holds(filter) => filter.holds(&Subject::of(&target)),
        }
    }
}

fn shown(item: &Item) -> Value {
    let fields: Map<String, Value> = item.fields.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
    json!({ "key": item.key, "title": item.title, "state": item.state.as_ref().map(|s| &s.word), "fields": fields })
}

/// As the API shows it; a countdown is the moment at which it ends.
fn plain(value: &FieldValue) -> Value {
    match value {
        FieldValue::Unknown => Value::Null,
        FieldValue::Text(text) => text.as_str().into(),
        FieldValue::Number(number) => (*number).into(),
        FieldValue::Bool(yes) => (*yes).into(),
        FieldValue::At(at) | FieldValue::Until(Stamp { wall: at, .. }) | FieldValue::Left(Stamp { wall: at, .. }) => {
            rfc3339(*at).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::item::{ItemState, Removed};

    fn task(key: &str, state: &str, minutes: f64) -> Item {
        let at = Stamp::default();
        Item {
            key: key.into(),
            title: format!("Task {key}"),
            state: Some(ItemState { word: state.into(), decays: None }),
            fields: vec![("minutes".into(), FieldValue::Number(minutes)), ("note".into(), FieldValue::Unknown)],
            fingerprint: [0; 16],
            first_seen: at,
            changed: at,
            removed: None,
        }
    }

    #[test]
    fn a_condition_is_about_the_target_as_it_is_shown() {
        let (open, done) = (vec![task("1", "done", 5.0), task("2", "open", 0.0)], vec![task("1", "done", 5.0)]);
        for (condition, of_open, of_done, of_none) in [
            ("@.item_count > 0 && !@.items[?@.state != 'done']", false, true, false),
            ("!@.items[?@.state != 'done']", false, true, true),
            ("$.items[?@.state == 'done']", true, true, false),
            ("$.items[?@.fields.minutes < 1]", true, false, false),
            ("@.items[0].fields.note == null", true, true, false),
            ("@.item_count == 1", false, true, false),
            ("count(@.items[?@.title == 'Task 2']) == 1", true, false, false),
        ] {
            let condition = Completion::parse(condition).unwrap();
            let told = [&open, &done, &vec![]].map(|seen| condition.holds(seen));
            assert_eq!(told, [of_open, of_done, of_none], "{condition:?}");
        }
    }

    #[test]
    fn what_was_removed_is_no_member() {
        let at = Stamp::default();
        let gone = Item { removed: Some(Removed { at, last_seen: at }), ..task("2", "open", 1.0) };
        let items = [task("1", "done", 1.0), gone];
        assert!(Completion::parse("@.item_count == 1 && !@.items[?@.state != 'done']").unwrap().holds(&items));
    }

    #[test]
    fn what_is_no_condition_is_told() {
        assert!(Completion::parse("$.items[").unwrap_err().contains("a filter about the target `@`"));
        assert!(Completion::parse("state = 'done'").unwrap_err().contains("is not a filter expression"));
    }
}
