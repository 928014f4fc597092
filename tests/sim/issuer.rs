//! The token endpoint of the provider, and its own truth of which tokens lead in.

use crate::dice::Dice;
use crate::machine::Ms;
use larder::domain::reply::{Answer, Failure};
use std::collections::BTreeMap;

/// What an access token is good for, unless the provider thinks better of it.
pub const LIFETIME: Ms = 600_000;

pub const ENDPOINT: &str = "https://login.provider.test/token";

/// Numbers of refresh tokens, and of the access tokens that came with them. 0 is what the operator configured.
#[derive(Debug, Default)]
pub struct Issuer {
    newest: u64,
    /// The newest of which the provider saw a use: what is older is dead.
    used: u64,
    issued_at: BTreeMap<u64, Ms>,
    /// Up to here access tokens were taken back.
    taken_back: u64,
}

/// What the endpoint makes of one renewal.
pub struct Grant {
    pub dead: bool,
    pub granted: Option<u64>,
    pub result: Result<Answer, Failure>,
}

pub fn refresh_token(number: u64) -> String {
    format!("refresh-token-{number:08}")
}

/// The number in what `Vault::asking` writes.
pub fn number_in(form: &str) -> u64 {
    let digits = form.split_once("refresh-token-").map_or("", |(_, rest)| &rest[..8.min(rest.len())]);
    digits.parse().unwrap_or_default()
}

impl Issuer {
    /// A refresh token is shown to the provider.
    pub fn present(&mut self, refresh: u64, at: Ms, dice: &mut Dice, trouble: u64) -> Grant {
        let dead = refresh < self.used;
        if dice.chance(trouble) {
            return Grant { dead, granted: None, result: Ok(in_trouble(dice)) };
        }
        if dead {
            let body = r#"{"error":"invalid_grant","error_description":"the token was used before"}"#;
            return Grant { dead, granted: None, result: Ok(json(400, body)) };
        }
        self.used = self.used.max(refresh);
        self.newest += 1;
        let number = self.newest;
        self.issued_at.insert(number, at);
        let body = serde_json::json!({
            "access_token": format!("access-token-{number:08}"),
            "refresh_token": refresh_token(number),
            "expires_in": LIFETIME / 1000,
        });
        // The answer may be lost on the way; the grant stands.
        let result = if dice.chance(trouble / 2) { Err(Failure::Dropped) } else { Ok(json(200, &body.to_string())) };
        Grant { dead, granted: result.is_ok().then_some(number), result }
    }

    /// Whether a request with this access token is let in.
    pub fn lets_in(&mut self, access: u64, at: Ms, dice: &mut Dice) -> bool {
        if dice.chance(15) {
            self.taken_back = self.taken_back.max(access);
        }
        let in_time = self.issued_at.get(&access).is_some_and(|since| at - since < LIFETIME);
        let good = in_time && access > self.taken_back && access >= self.used;
        if good {
            self.used = access;
        }
        good
    }
}

fn in_trouble(dice: &mut Dice) -> Answer {
    let mut limited = json(429, r#"{"error":"slow_down"}"#);
    limited.headers.push(("retry-after".to_owned(), "40".to_owned()));
    dice.pick(&[
        json(500, "out of order"),
        json(503, ""),
        json(200, "{}"),
        json(200, "<html>one moment</html>"),
        limited,
    ])
    .clone()
}

fn json(status: u16, body: &str) -> Answer {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Answer { status, headers, body: body.as_bytes().to_vec() }
}
