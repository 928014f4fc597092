//! Sessions: signing in and out, and how long a browser stays signed in. The cookie's value is random, made anew at each sign-in (what a browser
//! brought along is never taken over), and its digest is what the file has.
//!
//! Not `tower-sessions`: it dates sessions by the wall clock, which steps on machines without a battery, keeps their ids as they are shown, so
//! that a copy of the file would open the door, and writes with every request that touches one.

use super::{change, digest_of, mint_secret, note_use, operators, passwords};
use crate::domain::operator::{Digest, Operator, Session, Used, key_of};
use crate::domain::time::{Now, Span, Stamp};
use crate::engine::appliance::Appliance;
use crate::engine::core::Core;
use crate::engine::view::Denied;
use crate::store::Write;
use std::sync::Arc;

/// A browser that is not seen for so long has to sign in again ...
pub const IDLE: Span = Span::from_secs(7 * 86_400);
/// ... and every browser after this.
pub const LONGEST: Span = Span::from_secs(30 * 86_400);
/// Browsers that one operator may be signed in with; the one that signed in first makes room.
const MOST: usize = 32;

/// Who is signed in, as a request shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    pub operator: String,
    pub session: Digest,
}

pub(super) fn is_over(core: &Core, session: &Session, now: &Now) -> bool {
    let seen = core.access.used(&Used::Session(session.digest)).unwrap_or(session.begun_at);
    now.age_of(session.begun_at) >= LONGEST || now.age_of(seen) >= IDLE
}

/// A session and what its browser is to show.
pub(super) fn mint(operator: &Operator, from: &str, at: Stamp) -> Result<(Session, String), Denied> {
    let secret = mint_secret()?;
    let from = from.to_owned();
    Ok((Session { digest: digest_of(&secret), operator: key_of(&operator.name), begun_at: at, from }, secret))
}

impl Appliance {
    /// Signs in from `from`; the session that the browser had before ends. `None`: name or password are wrong, and it took as long.
    pub async fn sign_in(
        &self,
        name: &str,
        password: &str,
        from: &str,
        before: Option<Digest>,
    ) -> Result<Option<String>, Denied> {
        let core = self.core.clone();
        let (key, password, from) = (key_of(name), password.to_owned(), from.to_owned());
        self.to_the_end(async move {
            let hash = core.book()?.operators.get(&key).and_then(|operator| operator.password.clone());
            if !passwords::is_right(&core, password.clone(), hash.clone()).await? {
                return Ok(None);
            }
            let renewed = match hash.as_ref().is_some_and(passwords::is_outdated) {
                true => Some(passwords::hash(&core, password).await?),
                false => None,
            };
            let _turn = core.access.changing.lock().await;
            let (book, now) = (core.book()?, core.clock.now());
            // Removed, or given another password, while the hash was made.
            let Some(operator) = book.operators.get(&key).filter(|operator| operator.password == hash) else {
                return Ok(None);
            };
            let (session, secret) = mint(operator, &from, now.stamp())?;
            let mut writes: Vec<Write> = before.map(Write::EndSession).into_iter().collect();
            writes.extend(room(&core, operators::sessions_of(&book, &key).collect(), &now));
            writes.extend(renewed.map(|hash| Write::Operator(Operator { password: Some(hash), ..operator.clone() })));
            writes.push(Write::Session(session));
            change(&core, (writes, format!("{} signed in, from {from}", operator.name))).await?;
            Ok(Some(secret))
        })
        .await
    }

    /// Whose session this is, if it is one that is not over.
    pub fn check_session(&self, secret: &str) -> Option<SignedIn> {
        let (book, now, digest) = (self.core.book().ok()?, self.now(), digest_of(secret));
        let session = book.sessions.get(&digest).filter(|session| !is_over(&self.core, session, &now))?;
        let operator = book.operators.get(&session.operator)?;
        note_use(&self.core, Used::Session(digest), &now);
        Some(SignedIn { operator: operator.name.clone(), session: digest })
    }

    /// Whether a session is still one: for what goes on after it was judged.
    pub fn has_session(&self, digest: &Digest) -> bool {
        let Ok(book) = self.core.book() else { return false };
        let session = book.sessions.get(digest).filter(|session| !is_over(&self.core, session, &self.now()));
        session.is_some_and(|session| book.operators.contains_key(&session.operator))
    }

    pub async fn sign_out(&self, who: SignedIn, from: &str) -> Result<(), Denied> {
        let (core, from) = (self.core.clone(), from.to_owned());
        self.to_the_end(async move {
            let _turn = core.access.changing.lock().await;
            let message = format!("{} signed out, from {from}", who.operator);
            change(&core, (vec![Write::EndSession(who.session)], message)).await
        })
        .await
    }

    /// Of every browser.
    pub async fn sign_out_everywhere(&self, name: &str, by: &str) -> Result<(), Denied> {
        let (core, key, by) = (self.core.clone(), key_of(name), by.to_owned());
        self.to_the_end(async move {
            let _turn = core.access.changing.lock().await;
            let book = core.book()?;
            let operator = book.operators.get(&key).ok_or_else(|| operators::unknown(&key))?;
            let writes: Vec<Write> = operators::sessions_of(&book, &key).map(|s| Write::EndSession(s.digest)).collect();
            let message =
                format!("{} is signed out everywhere (sessions: {} → 0), by {by}", operator.name, writes.len());
            change(&core, (writes, message)).await
        })
        .await
    }
}

/// What goes so that one more fits.
fn room(core: &Arc<Core>, mut there: Vec<&Session>, now: &Now) -> Vec<Write> {
    there.sort_by_key(|session| session.begun_at.steady);
    let many = there.len().saturating_sub(MOST - 1);
    let goes = |(at, session): &(usize, &Session)| *at < many || is_over(core, session, now);
    there.into_iter().enumerate().filter(goes).map(|(_, session)| Write::EndSession(session.digest)).collect()
}
