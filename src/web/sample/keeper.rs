//! Who may come in before the hand-made shelf: ann, whose password and session are known, and tokens. Remembers what was asked.

use super::*;
use crate::domain::operator::Digest;
use crate::engine::access::claims::Issued;
use crate::engine::access::operators::{OperatorView, SessionView};
use crate::engine::access::sessions::SignedIn;
use crate::engine::access::tokens::NewToken;
use crate::web::keeper::Keeper;

pub const PASSWORD: &str = "correct horse";
pub const CODE: &str = "0A1B-2C3D-4E5F";

/// What ann's browser shows: so many of the letter.
pub fn secret(letter: char) -> String {
    letter.to_string().repeat(64)
}

/// Sessions that are open: their secrets.
pub struct Door {
    pub operators: Mutex<Vec<&'static str>>,
    pub sessions: Mutex<Vec<String>>,
}

impl Default for Door {
    fn default() -> Door {
        Door { operators: Mutex::new(vec!["ann"]), sessions: Mutex::new(vec![secret('a')]) }
    }
}

fn digest(secret: &str) -> Digest {
    *blake3::hash(secret.as_bytes()).as_bytes()
}

impl Sample {
    /// Ends one, and opens the next.
    fn next_session(&self, before: Option<Digest>) -> String {
        let mut sessions = self.door.sessions.lock().unwrap();
        let fresh = secret(char::from(b'b' + u8::try_from(sessions.len() % 5).unwrap()));
        sessions.retain(|open| Some(digest(open)) != before);
        sessions.push(fresh.clone());
        fresh
    }
}

impl Keeper for Sample {
    fn tag(&self) -> String {
        "sample".to_owned()
    }
    fn has_operators(&self) -> Result<bool, Denied> {
        Ok(!self.door.operators.lock().unwrap().is_empty())
    }
    fn is_claimable(&self) -> Result<bool, Denied> {
        Ok(true)
    }
    fn operator(&self, name: &str) -> Option<String> {
        let known = self.door.operators.lock().unwrap();
        known.iter().find(|own| own.eq_ignore_ascii_case(name)).map(|own| (*own).to_owned())
    }
    fn operators(&self) -> Result<Vec<OperatorView>, Denied> {
        let session = SessionView { from: "192.0.2.7".to_owned(), begun_at: ago(7200), seen_at: ago(30) };
        let view = |name: &&str| OperatorView {
            name: (*name).to_owned(),
            added_at: ago(90_000),
            added_by: "a claim code".to_owned(),
            password_at: Some(ago(90_000)),
            sessions: vec![session.clone()],
        };
        Ok(self.door.operators.lock().unwrap().iter().map(view).collect())
    }
    fn check_session(&self, secret: &str) -> Option<SignedIn> {
        let open = self.door.sessions.lock().unwrap().iter().any(|known| known == secret);
        open.then(|| SignedIn { operator: "ann".to_owned(), session: digest(secret) })
    }
    fn has_session(&self, of: &Digest) -> bool {
        self.door.sessions.lock().unwrap().iter().any(|open| digest(open) == *of)
    }
    fn has_token(&self, id: u64) -> bool {
        self.tokens.iter().any(|(_, info)| info.id == id && info.revoked_at.is_none())
    }
    fn sign_in<'a>(
        &'a self,
        name: &'a str,
        password: &'a str,
        from: &'a str,
        before: Option<Digest>,
    ) -> Slow<'a, Option<String>> {
        let good = name == "ann" && password == PASSWORD;
        self.note(format!("sign-in as {name} from {from}: {good}"));
        Box::pin(async move { Ok(good.then(|| self.next_session(before))) })
    }
    fn sign_out<'a>(&'a self, who: SignedIn, from: &'a str) -> Slow<'a, ()> {
        self.note(format!("{} signs out from {from}", who.operator));
        self.door.sessions.lock().unwrap().retain(|open| digest(open) != who.session);
        Box::pin(async { Ok(()) })
    }
    fn sign_out_everywhere<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, ()> {
        self.note(format!("{by} signs {name} out everywhere"));
        self.door.sessions.lock().unwrap().clear();
        Box::pin(async { Ok(()) })
    }
    fn claim<'a>(&'a self, code: &'a str, name: &'a str, password: &'a str, from: &'a str) -> Slow<'a, Option<String>> {
        self.note(format!("{name} claims from {from}: {}", code == CODE));
        let weak = password.len() < 10;
        Box::pin(async move {
            if code != CODE {
                return Ok(None);
            }
            if weak {
                return Err(Denied::Invalid("a password has at least 10 characters".to_owned()));
            }
            Ok(Some(self.next_session(None)))
        })
    }
    fn issue_claim<'a>(&'a self, operator: Option<&'a str>, by: &'a str) -> Slow<'a, Issued> {
        self.note(format!("{by} has a code made for {}", operator.unwrap_or("anybody")));
        Box::pin(async { Ok(Issued { code: CODE.to_owned(), until: ago(-1800) }) })
    }
    fn add_operator<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, Issued> {
        self.note(format!("{by} adds {name}"));
        Box::pin(async { Ok(Issued { code: CODE.to_owned(), until: ago(-1800) }) })
    }
    fn remove_operator<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, ()> {
        self.note(format!("{by} removes {name}"));
        Box::pin(async { Ok(()) })
    }
    fn change_password<'a>(&'a self, who: SignedIn, old: &'a str, _: &'a str, _: &'a str) -> Slow<'a, Option<String>> {
        let good = old == PASSWORD;
        self.note(format!("{} changes the password: {good}", who.operator));
        Box::pin(async move { Ok(good.then(|| self.next_session(Some(who.session)))) })
    }
    fn guessed(&self, from: &str) {
        self.note(format!("{from} has guessed"));
    }
    fn create_token<'a>(&'a self, wanted: NewToken, by: &'a str) -> Slow<'a, String> {
        let lasts = wanted.lasts.map_or("for good".to_owned(), |span| format!("for {span}"));
        self.note(format!(
            "{by} creates the token {} ({} of {}) {lasts}",
            wanted.name, wanted.role, wanted.organization
        ));
        Box::pin(async move { Ok(format!("{}-{}", wanted.name, wanted.role)) })
    }
    fn tokens(&self) -> Result<Vec<TokenInfo>, Denied> {
        Ok(self.tokens.iter().map(|(_, info)| info.clone()).collect())
    }
    fn revoke_token<'a>(&'a self, id: u64, by: &'a str) -> Slow<'a, ()> {
        self.note(format!("{by} revokes the token {id}"));
        Box::pin(async { Ok(()) })
    }
    fn check_token(&self, text: &str) -> Option<TokenInfo> {
        self.tokens.iter().find(|(t, info)| *t == text && info.revoked_at.is_none()).map(|(_, info)| info.clone())
    }
}
