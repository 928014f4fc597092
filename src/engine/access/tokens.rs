//! Tokens of programs: shown once, kept as a digest, with a role, an organization and, where somebody wishes, an end. When each was used last is
//! written down now and then.

use super::{change, note_use};
use crate::domain::ids::Organization;
use crate::domain::operator::Used;
use crate::domain::time::{Now, Span};
use crate::engine::appliance::Appliance;
use crate::engine::view::{Denied, When};
use crate::engine::words;
use crate::store::{Store, StoreError, TokenRecord, Write};
use subtle::ConstantTimeEq;

/// What a token may be.
pub const ROLES: [&str; 4] = ["admin", "owner", "reader", "agent"];
/// Characters of a name.
const LONGEST_NAME: usize = 128;

/// A stored token, without anything that could be used.
#[derive(Clone, Debug)]
pub struct TokenInfo {
    pub id: u64,
    pub name: String,
    pub role: String,
    pub organization: Organization,
    pub created_at: When,
    pub revoked_at: Option<When>,
    /// From then on it opens nothing.
    pub expires_at: Option<When>,
    /// To the minute.
    pub used_at: Option<When>,
}

impl From<TokenRecord> for TokenInfo {
    fn from(t: TokenRecord) -> TokenInfo {
        TokenInfo {
            id: t.id,
            name: t.name,
            role: t.role,
            organization: t.organization,
            created_at: When(t.created_at.wall),
            revoked_at: t.revoked_at.map(|r| When(r.wall)),
            expires_at: t.expires_at.map(|e| When(e.wall)),
            used_at: None,
        }
    }
}

/// What a token is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    pub name: String,
    pub role: String,
    pub organization: Organization,
    /// `None`: until it is revoked.
    pub lasts: Option<Span>,
}

impl NewToken {
    /// Its record, without a number yet, and its text. Error: a sentence.
    pub fn mint(&self, there: &[TokenRecord], now: &Now) -> Result<(TokenRecord, String), String> {
        let Self { name, role, organization, lasts } = self;
        if !ROLES.contains(&role.as_str()) {
            return Err(format!("there is no role \"{role}\"; take admin, owner, reader or agent"));
        }
        if name.trim().is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(format!("a token has a name of 1 to {LONGEST_NAME} characters on one line"));
        }
        if there.iter().any(|t| t.name == *name && is_in_force(t, now)) {
            return Err(words::token_taken(name));
        }
        let text = mint_token()?;
        let record = TokenRecord {
            id: 0,
            name: name.clone(),
            hash: *blake3::hash(text.as_bytes()).as_bytes(),
            role: role.clone(),
            organization: organization.clone(),
            created_at: now.stamp(),
            revoked_at: None,
            expires_at: lasts.map(|span| now.stamp() + span),
        };
        Ok((record, text))
    }
}

/// A new token's text: 24 random bytes behind a prefix that scanners for leaked secrets can learn. Error: a sentence.
fn mint_token() -> Result<String, String> {
    let mut bytes = [0u8; 24];
    getrandom::fill(&mut bytes).map_err(|e| format!("the system has no random numbers: {e}"))?;
    Ok(bytes.iter().fold("larder_".to_owned(), |text, b| format!("{text}{b:02x}")))
}

/// Not revoked, and not over by either timeline.
fn is_in_force(token: &TokenRecord, now: &Now) -> bool {
    token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now.until(end) > Span::ZERO)
}

/// `reader of default, until 2026-12-30T10:00:00Z`
fn what_it_is(token: &TokenRecord) -> String {
    let end = token.expires_at.map(|e| format!(", until {}", crate::rules::calendar::rfc3339(e.wall)));
    format!("{} of {}{}", token.role, token.organization, end.unwrap_or_default())
}

pub fn told_created(token: &TokenRecord, by: &str) -> String {
    format!("the token \"{}\" was created: {}, by {by}", token.name, what_it_is(token))
}

pub fn told_revoked(token: &TokenRecord, by: &str) -> String {
    format!("the token \"{}\" ({}) was revoked, by {by}", token.name, what_it_is(token))
}

/// Revoked from now on; once revoked, the first moment stays.
pub fn revoked(store: &Store, id: u64, now: &Now) -> Result<Option<TokenRecord>, StoreError> {
    let token = store.tokens()?.into_iter().find(|t| t.id == id);
    Ok(token.map(|token| TokenRecord { revoked_at: token.revoked_at.or_else(|| Some(now.stamp())), ..token }))
}

impl Appliance {
    /// Returns the token's text, shown once; only its digest is kept.
    pub async fn create_token(&self, wanted: NewToken, by: &str) -> Result<String, Denied> {
        let (core, by) = (self.core.clone(), by.to_owned());
        self.to_the_end(async move {
            let _turn = core.access.changing.lock().await;
            let (record, text) = wanted.mint(&core.store.tokens()?, &core.clock.now()).map_err(Denied::Invalid)?;
            let message = told_created(&record, &by);
            core.store.create_token(record).await?;
            core.access.forget_book();
            change(&core, (Vec::new(), message)).await?;
            Ok(text)
        })
        .await
    }

    pub fn tokens(&self) -> Result<Vec<TokenInfo>, Denied> {
        let info = |t: &TokenRecord| TokenInfo {
            used_at: self.core.access.used(&Used::Token(t.id)).map(|at| When(at.wall)),
            ..TokenInfo::from(t.clone())
        };
        Ok(self.core.book()?.tokens.iter().map(info).collect())
    }

    pub async fn revoke_token(&self, id: u64, by: &str) -> Result<(), Denied> {
        let (core, by) = (self.core.clone(), by.to_owned());
        self.to_the_end(async move {
            let _turn = core.access.changing.lock().await;
            let now = core.clock.now();
            let Some(token) = revoked(&core.store, id, &now)? else {
                return Err(Denied::NotFound(format!("there is no token {id}")));
            };
            let message = told_revoked(&token, &by);
            change(&core, (vec![Write::Token(token)], message)).await
        })
        .await
    }

    /// Whether a token is still in force: for what goes on after it was judged.
    pub fn has_token(&self, id: u64) -> bool {
        let now = self.now();
        self.core.book().is_ok_and(|book| book.tokens.iter().any(|t| t.id == id && is_in_force(t, &now)))
    }

    /// The token that this text is, if it is one in force.
    pub fn check_token(&self, text: &str) -> Option<TokenInfo> {
        let (hash, now) = (blake3::hash(text.as_bytes()), self.now());
        let book = self.core.book().ok()?;
        let is = |t: &&TokenRecord| bool::from(t.hash.ct_eq(hash.as_bytes())) && is_in_force(t, &now);
        let token = book.tokens.iter().find(is)?;
        note_use(&self.core, Used::Token(token.id), &now);
        Some(TokenInfo::from(token.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{ClockTrust, Steady};

    fn at(s: u64) -> Now {
        Now { steady: Steady(s * 1000), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }

    fn phone(lasts: Option<Span>) -> NewToken {
        NewToken { name: "phone".into(), role: "reader".into(), organization: Organization::default(), lasts }
    }

    #[test]
    fn a_token_is_long_and_never_the_same() {
        let (one, two) = (mint_token(), mint_token());
        assert!(one.as_ref().is_ok_and(|t| t.len() == "larder_".len() + 48));
        assert_ne!(one, two);
    }

    #[test]
    fn a_token_ends_by_whichever_timeline_comes_first() {
        let (token, _) = phone(Some(Span::from_secs(60))).mint(&[], &at(10)).unwrap();
        assert!(is_in_force(&token, &at(69)) && !is_in_force(&token, &at(70)));
        // After a darkness that nobody measured the wall clock alone knows how long it was.
        let dark = Now { era: 1, offsets: vec![3_600_000], ..at(20) };
        assert!(!is_in_force(&token, &dark));
        let (lasting, _) = phone(None).mint(&[], &at(10)).unwrap();
        assert!(is_in_force(&lasting, &at(u64::MAX / 2000)));
    }

    #[test]
    fn what_is_no_token_is_refused_in_words() {
        let (there, _) = phone(None).mint(&[], &at(10)).unwrap();
        let taken = phone(None).mint(std::slice::from_ref(&there), &at(11)).unwrap_err();
        assert!(taken.contains("\"phone\" already"), "{taken}");
        let ended = TokenRecord { revoked_at: Some(at(10).stamp()), ..there };
        assert!(phone(None).mint(&[ended], &at(11)).is_ok(), "the name of one that is over is free");
        for wrong in [
            NewToken { role: "king".into(), ..phone(None) },
            NewToken { name: " ".into(), ..phone(None) },
            NewToken { name: "a\nb".into(), ..phone(None) },
        ] {
            assert!(wrong.mint(&[], &at(1)).is_err(), "{wrong:?}");
        }
    }
}
