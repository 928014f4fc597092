//! Answers that were given: what an appliance of the tests answered to each operation (`tests/e2e/examples.rs` asks them again, and writes them anew
//! where it is told to). Knows where in the document they stand, and nothing of what they say.

use serde_json::{Map, Value};

/// By operation: `{"status": 200, "answer": {...}}`; and of the errors by the name that the document has for them.
const EXAMPLES: &str = include_str!("examples.json");

/// Puts each beside the schema of what it is an answer of.
pub fn show(document: &mut Value) {
    let examples: Map<String, Value> = serde_json::from_str(EXAMPLES).unwrap_or_default();
    for (name, mut example) in examples {
        let status = example["status"].to_string();
        let kind = if name.starts_with("Problem") { "application/problem+json" } else { "application/json" };
        let response = match document["components"]["responses"].get_mut(&name) {
            Some(response) => Some(response),
            None => operation(document, &name).and_then(|one| one["responses"].get_mut(&status)),
        };
        if let Some(content) = response.and_then(|response| response["content"].get_mut(kind)) {
            content["example"] = example["answer"].take();
        }
    }
}

fn operation<'d>(document: &'d mut Value, id: &str) -> Option<&'d mut Value> {
    let items = document["paths"].as_object_mut()?.values_mut().filter_map(Value::as_object_mut);
    items.flat_map(Map::values_mut).find(|one| one["operationId"] == id)
}
