//! A list out of a wider one (P2): what `?status=live` asks for stands in the list that is there already. Members that do not fit are taken
//! out of the answer, and everything else in it is left as it was. Must not know how fresh the wider answer is.

use super::location::Location;
use crate::domain::gateway::{Head, NarrowSpec};
use crate::rules::extract::path::{Filter, Path, Subject};
use crate::rules::extract::text_of;
use serde_json::Value;
use serde_json_path::JsonPath;

/// Beyond so many digits a number may not come out as it went in.
const MOST_DIGITS: usize = 15;

/// Compiled once.
#[derive(Debug)]
pub struct Narrower {
    parameter: String,
    items: JsonPath,
    field: Path,
    whole: Option<Filter>,
}

impl Narrower {
    /// The error is a sentence.
    pub fn compile(spec: &NarrowSpec) -> Result<Narrower, String> {
        let items =
            JsonPath::parse(&spec.items).map_err(|e| format!("items: `{}` is not a JSONPath: {e}", spec.items))?;
        let field = Path::parse(&spec.field).map_err(|why| format!("field: {why}"))?;
        let whole = spec.whole.as_deref().map(Filter::parse).transpose().map_err(|why| format!("whole: {why}"))?;
        Ok(Narrower { parameter: spec.parameter.clone(), items, field, whole })
    }

    /// The wider question, and by which value its members are picked. `None`: there is none wider.
    pub fn wider(&self, location: &Location) -> Option<(Location, String)> {
        let value = location.parameter(&self.parameter).filter(|_| location.parameters(&self.parameter) == 1)?;
        Some((location.clone().without(&self.parameter), value))
    }

    /// The body with the members that fit alone. `None`: the wider answer is not the whole list, or no list of that kind.
    pub fn narrow(&self, wider: &Head, body: &[u8], value: &str) -> Option<Vec<u8>> {
        if wider.list("link").is_some_and(|link| names_a_next_page(&link)) || has_long_numbers(body) {
            return None;
        }
        let mut answer: Value = serde_json::from_slice(body).ok()?;
        if self.whole.as_ref().is_some_and(|whole| !whole.holds(&Subject::of(&answer))) {
            return None;
        }
        // The places of those that do not fit, the last first: taking one out moves those behind it.
        let mut others = Vec::new();
        for node in self.items.query_located(&answer).all() {
            let at = node.location().last()?.as_index()?;
            let fits = self.field.one(node.node()).and_then(text_of).is_some_and(|text| text == value);
            let pointer = node.location().to_json_pointer();
            let list = pointer.rsplit_once('/').map(|(list, _)| list.to_owned())?;
            others.extend((!fits).then_some((list, at)));
        }
        others.sort_unstable_by(|a, b| b.cmp(a));
        for (list, at) in others {
            answer.pointer_mut(&list)?.as_array_mut()?.remove(at);
        }
        serde_json::to_vec(&answer).ok()
    }
}

/// RFC 8288: `<...>; rel="next"`.
fn names_a_next_page(link: &str) -> bool {
    link.split(';').map(|part| part.split(',').next().unwrap_or_default().trim().to_ascii_lowercase()).any(
        |parameter| {
            let relations = parameter.strip_prefix("rel=").map(|value| value.trim_matches('"').to_owned());
            relations.is_some_and(|relations| relations.split_whitespace().any(|relation| relation == "next"))
        },
    )
}

/// Whether a number outside of texts has more digits than a reader keeps.
fn has_long_numbers(body: &[u8]) -> bool {
    let (mut quoted, mut escaped, mut digits) = (false, false, 0);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => {
                quoted = !quoted;
                digits = 0;
            }
            _ if quoted => {}
            b'0'..=b'9' => {
                digits += 1;
                if digits > MOST_DIGITS {
                    return true;
                }
            }
            b'.' | b'e' | b'E' | b'+' | b'-' => {}
            _ => digits = 0,
        }
    }
    false
}
