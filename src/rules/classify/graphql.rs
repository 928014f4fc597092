//! GraphQL answers that say 200 and mean something else (GraphQL specification, section "Response Format"). Knows that shape alone;
//! what a provider's codes mean is for its recipe, which is asked first.

use crate::domain::outcome::Outcome;
use serde_json::Value;

/// Codes in `extensions` that servers commonly use for a credential that is not accepted.
const UNAUTHENTICATED: [&str; 3] = ["UNAUTHENTICATED", "INVALID_TOKEN", "TOKEN_EXPIRED"];

/// `errors` beside `data`: the outcome and what to call it. Partial data is not data: a list may be short because of the error.
/// `None`: no answer of this shape, or one without errors.
pub(super) fn errors(body: &Value) -> Option<(Outcome, &'static str)> {
    let body = body.as_object()?;
    // The format has no other members, so that an `errors` list of somebody else's is left alone.
    if !body.keys().all(|key| matches!(key.as_str(), "data" | "errors" | "extensions")) {
        return None;
    }
    let errors = body.get("errors")?.as_array()?;
    if errors.is_empty() || !errors.iter().all(|e| e.get("message").is_some_and(Value::is_string)) {
        return None;
    }
    let code = |e: &Value| e.pointer("/extensions/code").and_then(Value::as_str).unwrap_or_default().to_owned();
    if errors.iter().any(|e| UNAUTHENTICATED.contains(&code(e).as_str())) {
        return Some((Outcome::CredentialRejected, "with a GraphQL error about the credential"));
    }
    let partial = body.get("data").is_some_and(|data| !data.is_null());
    Some((Outcome::Unexpected, if partial { "with GraphQL errors beside partial data" } else { "with GraphQL errors" }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_beside_data_are_not_data() {
        let error = |code: &str| json!([{"message": "no", "extensions": {"code": code}}]);
        for (body, outcome) in [
            (json!({"data": {"a": 1}}), None),
            (json!({"data": {"a": 1}, "errors": []}), None),
            (json!({"data": null, "errors": error("X")}), Some(Outcome::Unexpected)),
            (json!({"errors": error("X")}), Some(Outcome::Unexpected)),
            (json!({"data": {"a": 1}, "errors": error("X"), "extensions": {}}), Some(Outcome::Unexpected)),
            (json!({"errors": error("UNAUTHENTICATED")}), Some(Outcome::CredentialRejected)),
            (json!({"errors": error("X"), "devices": []}), None),
            (json!({"data": [1], "errors": ["battery low"]}), None),
            (json!([{"errors": error("X")}]), None),
        ] {
            assert_eq!(errors(&body).map(|(outcome, _)| outcome), outcome, "{body}");
        }
    }
}
