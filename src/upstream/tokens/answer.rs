//! What a token endpoint answers (RFC 6749 sections 5.1 and 5.2). Bytes in, tokens or a refusal out; sends and stores nothing.

use crate::domain::time::Span;
use crate::upstream::redact::Secret;
use serde_json::Value;

/// Tokens as they came.
#[derive(Debug)]
pub(super) struct Tokens {
    pub access: Secret,
    /// Absent: the old one stays.
    pub refresh: Option<Secret>,
    pub expires_in: Option<Span>,
}

#[derive(Debug)]
pub(super) enum Said {
    Tokens(Tokens),
    /// The refresh token is not accepted.
    InvalidGrant(String),
    /// The client is not accepted, or asks wrongly.
    Refused(String, String),
    /// Nothing of either form.
    Other,
}

/// Codes that mean the refresh token; `invalid_token` and the others are how some providers misspell the first.
const DEAD: [&str; 5] = ["invalid_grant", "invalid_token", "invalid_refresh_token", "expired_token", "token_expired"];
const REFUSED: [&str; 6] = [
    "invalid_client",
    "unauthorized_client",
    "invalid_scope",
    "unsupported_grant_type",
    "invalid_request",
    "access_denied",
];

pub(super) fn read(status: u16, body: &[u8]) -> Said {
    let Ok(Value::Object(answer)) = serde_json::from_slice::<Value>(body) else { return Said::Other };
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let secret = |key: &str| text(key).and_then(|t| Secret::learned(t.to_owned()).ok());
    if (200..300).contains(&status) {
        let Some(access) = secret("access_token") else { return Said::Other };
        return Said::Tokens(Tokens {
            access,
            refresh: secret("refresh_token"),
            expires_in: answer.get("expires_in").and_then(seconds),
        });
    }
    // A limit or an overload is never about the token, whatever its body says.
    let Some(code) = text("error").filter(|_| matches!(status, 400 | 401 | 403)) else { return Said::Other };
    // Where it says no more than the code, that is what it said.
    let words = text("error_description").filter(|words| !words.trim().is_empty()).unwrap_or(code).to_owned();
    match code {
        dead if DEAD.contains(&dead) => Said::InvalidGrant(words),
        refused if REFUSED.contains(&refused) => Said::Refused(refused.to_owned(), words),
        _ => Said::Other,
    }
}

/// A number or a number as text; nothing absurd. A token that is over when it comes is none: such a zero says nothing.
fn seconds(value: &Value) -> Option<Span> {
    let seconds = match value {
        Value::Number(n) => n.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (seconds.is_finite() && (1.0..=1e10).contains(&seconds)).then(|| Span::from_secs(seconds as u64))
}
