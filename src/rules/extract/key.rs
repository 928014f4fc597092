//! What an item is known by: a value inside it, its name or place among its kind, or a word of the recipe where there is only one.
//! Must not know which list the items come from.

use super::path::{Path, Spot, kind_of};
use super::value;
use serde_json::Value;

/// A key is an address in the store and in URLs: not an essay. Bytes.
const LONGEST: usize = 1024;

/// Keys that stand beside an item and not in it.
pub const WORDS: [&str; 2] = ["@name", "@position"];

#[derive(Clone, Debug)]
pub(super) enum Key {
    /// RFC 9535, from the item.
    Inside(Path),
    /// `@name`: the name of the member that the item is, of a map.
    Name,
    /// `@position`: its place in its list, from 0.
    Position,
    /// `'battery'`: the same for every answer.
    Fixed(String),
}

impl Key {
    pub(super) fn parse(text: &str) -> Result<Key, String> {
        match text {
            "@name" => return Ok(Key::Name),
            "@position" => return Ok(Key::Position),
            word if word.starts_with('@') => {
                return Err(format!("`{word}` is not a kind of key; there are {}", WORDS.join(" and ")));
            }
            _ => {}
        }
        match text.strip_prefix('\'') {
            Some(rest) => fixed(rest).map(Key::Fixed),
            None => Path::parse(text).map(Key::Inside).map_err(|why| match text.starts_with('$') {
                true => why,
                false => format!("{why}; the key of a single item without one is written as \"'{text}'\""),
            }),
        }
    }

    /// Whether one list can have several such keys, also over its pages.
    pub(super) fn is_for_pages(&self) -> bool {
        matches!(self, Key::Inside(_) | Key::Name)
    }

    /// The error is a sentence about the item.
    pub(super) fn of(&self, item: &Value, spot: Option<Spot<'_>>) -> Result<String, String> {
        let key = match (self, spot) {
            (Key::Inside(path), _) => inside(path, item)?,
            (Key::Fixed(text), _) => text.clone(),
            (Key::Name, Some(Spot::Name(name))) if !name.trim().is_empty() => name.to_owned(),
            (Key::Name, Some(Spot::Name(_))) => return Err("its name is empty".to_owned()),
            (Key::Name, _) => return Err("it has no name: it stands in a list and not in a map".to_owned()),
            (Key::Position, Some(Spot::Position(at))) => at.to_string(),
            (Key::Position, _) => return Err("it has no position: it stands in a map and not in a list".to_owned()),
        };
        if key.len() > LONGEST {
            return Err(format!("its key is longer than {LONGEST} bytes"));
        }
        Ok(key)
    }
}

/// What stands behind the first quote.
fn fixed(rest: &str) -> Result<String, String> {
    match rest.strip_suffix('\'') {
        Some(text) if text.trim().is_empty() => Err("the text in quotes is empty".to_owned()),
        Some(text) if !text.contains(['\'', '\\']) && text.len() <= LONGEST => Ok(text.to_owned()),
        Some(_) => Err(format!("the text in quotes has a quote or a \\ in it, or is longer than {LONGEST} bytes")),
        None => Err("the quote at the end is missing, as in \"'battery'\"".to_owned()),
    }
}

fn inside(path: &Path, item: &Value) -> Result<String, String> {
    let text = path.text();
    match path.nodes(item).as_slice() {
        [Value::String(key)] if !key.trim().is_empty() => Ok(key.clone()),
        [Value::String(_)] => Err(format!("the key `{text}` is empty")),
        [Value::Number(n)] => Ok(value::number_text(n)),
        [other] => Err(format!("the key `{text}` is {}, not text or a number", kind_of(other))),
        [] => Err(format!("there is no key `{text}`")),
        several => Err(format!("the key `{text}` is {} values, not one", several.len())),
    }
}
