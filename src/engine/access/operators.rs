//! Operators: who there is, how one more comes in, and how one goes. Everything that is done to one is told, with who did it.

use super::claims::{self, Issued};
use super::sessions::SignedIn;
use super::{Book, change, passwords, sessions};
use crate::domain::operator::{Operator, Session, Used, check_name, key_of};
use crate::engine::appliance::Appliance;
use crate::engine::view::{Denied, When};
use crate::store::Write;
use serde::Serialize;
use utoipa::ToSchema;

/// An operator, as pages and API show it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct OperatorView {
    pub name: String,
    pub added_at: When,
    pub added_by: String,
    /// `None`: there is none yet.
    pub password_at: Option<When>,
    /// Newest first.
    pub sessions: Vec<SessionView>,
}

/// A browser in which somebody is signed in.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SessionView {
    pub from: String,
    pub begun_at: When,
    pub seen_at: When,
}

pub(super) fn sessions_of<'a>(book: &'a Book, name: &str) -> impl Iterator<Item = &'a Session> {
    let key = key_of(name);
    book.sessions.values().filter(move |session| session.operator == key)
}

pub(super) fn unknown(name: &str) -> Denied {
    Denied::NotFound(format!("there is no operator \"{name}\""))
}

impl Appliance {
    pub fn has_operators(&self) -> Result<bool, Denied> {
        Ok(!self.core.book()?.operators.is_empty())
    }

    /// The name of an operator as it is kept, by any spelling of it.
    pub fn operator(&self, name: &str) -> Option<String> {
        self.core.book().ok()?.operators.get(&key_of(name)).map(|operator| operator.name.clone())
    }

    pub fn operators(&self) -> Result<Vec<OperatorView>, Denied> {
        let (book, now) = (self.core.book()?, self.now());
        let seen = |s: &Session| self.core.access.used(&Used::Session(s.digest)).unwrap_or(s.begun_at);
        let view = |o: &Operator| {
            let mut open: Vec<&Session> =
                sessions_of(&book, &o.name).filter(|s| !sessions::is_over(&self.core, s, &now)).collect();
            open.sort_by_key(|s| std::cmp::Reverse(s.begun_at.steady));
            let shown = |s: &Session| SessionView {
                from: s.from.clone(),
                begun_at: When(s.begun_at.wall),
                seen_at: When(seen(s).wall),
            };
            OperatorView {
                name: o.name.clone(),
                added_at: When(o.added_at.wall),
                added_by: o.added_by.clone(),
                password_at: o.password_at.map(|at| When(at.wall)),
                sessions: open.into_iter().map(shown).collect(),
            }
        };
        Ok(book.operators.values().map(view).collect())
    }

    /// Adds one without a password; the code lets that one set it.
    pub async fn add_operator(&self, name: &str, by: &str) -> Result<Issued, Denied> {
        let (core, name, by) = (self.core.clone(), name.trim().to_owned(), by.to_owned());
        self.to_the_end(async move {
            check_name(&name).map_err(Denied::Invalid)?;
            let _turn = core.access.changing.lock().await;
            if let Some(there) = core.book()?.operators.get(&key_of(&name)) {
                return Err(Denied::Invalid(format!("there is an operator \"{}\" already", there.name)));
            }
            let at = core.clock.now().stamp();
            let operator =
                Operator { name: name.clone(), password: None, added_at: at, added_by: by.clone(), password_at: None };
            let by = format!("{by}, who added the operator {name}");
            claims::issue(&core, Some(&name), vec![Write::Operator(operator)], &by).await
        })
        .await
    }

    /// Another one has to stay: else nobody could let anybody in but at the machine.
    pub async fn remove_operator(&self, name: &str, by: &str) -> Result<(), Denied> {
        let (core, key, by) = (self.core.clone(), key_of(name), by.to_owned());
        self.to_the_end(async move {
            let _turn = core.access.changing.lock().await;
            let book = core.book()?;
            let operator = book.operators.get(&key).ok_or_else(|| unknown(&key))?;
            let others = book.operators.values().filter(|o| key_of(&o.name) != key && o.password.is_some());
            if others.count() == 0 {
                let why = format!("{} is the last operator with a password; add another one first", operator.name);
                return Err(Denied::Invalid(why));
            }
            let mut writes = vec![Write::DropOperator(operator.name.clone())];
            writes.extend(sessions_of(&book, &key).map(|s| Write::EndSession(s.digest)));
            let theirs = book.claims.iter().filter(|claim| claim.operator.as_deref() == Some(key.as_str()));
            writes.extend(theirs.map(|claim| Write::EndClaim(claim.digest)));
            change(&core, (writes, format!("{} is no operator any more, by {by}", operator.name))).await
        })
        .await
    }

    /// Another password for who is signed in and knows the old one. Every other browser is signed out, and this one gets a new session. `None`:
    /// the old password is wrong.
    pub async fn change_password(
        &self,
        who: SignedIn,
        old: &str,
        new: &str,
        from: &str,
    ) -> Result<Option<String>, Denied> {
        let core = self.core.clone();
        let (key, old, new, from) = (key_of(&who.operator), old.to_owned(), new.to_owned(), from.to_owned());
        self.to_the_end(async move {
            let hash = core.book()?.operators.get(&key).and_then(|operator| operator.password.clone());
            if !passwords::is_right(&core, old, hash.clone()).await? {
                return Ok(None);
            }
            passwords::check(&new, &who.operator).map_err(Denied::Invalid)?;
            let fresh = passwords::hash(&core, new).await?;
            let _turn = core.access.changing.lock().await;
            let (book, at) = (core.book()?, core.clock.now().stamp());
            let Some(operator) = book.operators.get(&key).filter(|operator| operator.password == hash) else {
                return Ok(None);
            };
            let operator = Operator { password: Some(fresh), password_at: Some(at), ..operator.clone() };
            let (session, secret) = sessions::mint(&operator, &from, at)?;
            let mut writes: Vec<Write> = sessions_of(&book, &key).map(|s| Write::EndSession(s.digest)).collect();
            let message =
                format!("{} changed the password and is signed out everywhere else, from {from}", operator.name);
            writes.extend([Write::Operator(operator), Write::Session(session)]);
            change(&core, (writes, message)).await?;
            Ok(Some(secret))
        })
        .await
    }
}
