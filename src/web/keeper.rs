//! What the web needs of the appliance to know who may come in: the part of its facade that judges and changes operators, sessions, claim codes
//! and tokens, as a trait, so that the same doors stand before a hand-made appliance in tests.

use super::shelf::Slow;
use crate::domain::operator::Digest;
use crate::engine::access::claims::Issued;
use crate::engine::access::operators::OperatorView;
use crate::engine::access::sessions::SignedIn;
use crate::engine::access::tokens::{NewToken, TokenInfo};
use crate::engine::appliance::Appliance;
use crate::engine::view::Denied;

/// Each method means what it means in [`Appliance`].
pub trait Keeper: Send + Sync + 'static {
    fn tag(&self) -> String;
    fn has_operators(&self) -> Result<bool, Denied>;
    fn is_claimable(&self) -> Result<bool, Denied>;
    fn operator(&self, name: &str) -> Option<String>;
    fn operators(&self) -> Result<Vec<OperatorView>, Denied>;
    fn check_session(&self, secret: &str) -> Option<SignedIn>;
    fn has_session(&self, digest: &Digest) -> bool;
    fn has_token(&self, id: u64) -> bool;
    /// `None`: name or password are wrong.
    fn sign_in<'a>(
        &'a self,
        name: &'a str,
        password: &'a str,
        from: &'a str,
        before: Option<Digest>,
    ) -> Slow<'a, Option<String>>;
    fn sign_out<'a>(&'a self, who: SignedIn, from: &'a str) -> Slow<'a, ()>;
    fn sign_out_everywhere<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, ()>;
    fn claim<'a>(&'a self, code: &'a str, name: &'a str, password: &'a str, from: &'a str) -> Slow<'a, Option<String>>;
    fn issue_claim<'a>(&'a self, operator: Option<&'a str>, by: &'a str) -> Slow<'a, Issued>;
    fn add_operator<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, Issued>;
    fn remove_operator<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, ()>;
    fn change_password<'a>(
        &'a self,
        who: SignedIn,
        old: &'a str,
        new: &'a str,
        from: &'a str,
    ) -> Slow<'a, Option<String>>;
    fn guessed(&self, from: &str);
    fn create_token<'a>(&'a self, wanted: NewToken, by: &'a str) -> Slow<'a, String>;
    fn tokens(&self) -> Result<Vec<TokenInfo>, Denied>;
    fn revoke_token<'a>(&'a self, id: u64, by: &'a str) -> Slow<'a, ()>;
    fn check_token(&self, text: &str) -> Option<TokenInfo>;
}

impl Keeper for Appliance {
    fn tag(&self) -> String {
        Appliance::tag(self)
    }
    fn has_operators(&self) -> Result<bool, Denied> {
        Appliance::has_operators(self)
    }
    fn is_claimable(&self) -> Result<bool, Denied> {
        Appliance::is_claimable(self)
    }
    fn operator(&self, name: &str) -> Option<String> {
        Appliance::operator(self, name)
    }
    fn operators(&self) -> Result<Vec<OperatorView>, Denied> {
        Appliance::operators(self)
    }
    fn check_session(&self, secret: &str) -> Option<SignedIn> {
        Appliance::check_session(self, secret)
    }
    fn has_session(&self, digest: &Digest) -> bool {
        Appliance::has_session(self, digest)
    }
    fn has_token(&self, id: u64) -> bool {
        Appliance::has_token(self, id)
    }
    fn sign_in<'a>(
        &'a self,
        name: &'a str,
        password: &'a str,
        from: &'a str,
        before: Option<Digest>,
    ) -> Slow<'a, Option<String>> {
        Box::pin(Appliance::sign_in(self, name, password, from, before))
    }
    fn sign_out<'a>(&'a self, who: SignedIn, from: &'a str) -> Slow<'a, ()> {
        Box::pin(Appliance::sign_out(self, who, from))
    }
    fn sign_out_everywhere<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, ()> {
        Box::pin(Appliance::sign_out_everywhere(self, name, by))
    }
    fn claim<'a>(&'a self, code: &'a str, name: &'a str, password: &'a str, from: &'a str) -> Slow<'a, Option<String>> {
        Box::pin(Appliance::claim(self, code, name, password, from))
    }
    fn issue_claim<'a>(&'a self, operator: Option<&'a str>, by: &'a str) -> Slow<'a, Issued> {
        Box::pin(Appliance::issue_claim(self, operator, by))
    }
    fn add_operator<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, Issued> {
        Box::pin(Appliance::add_operator(self, name, by))
    }
    fn remove_operator<'a>(&'a self, name: &'a str, by: &'a str) -> Slow<'a, ()> {
        Box::pin(Appliance::remove_operator(self, name, by))
    }
    fn change_password<'a>(
        &'a self,
        who: SignedIn,
        old: &'a str,
        new: &'a str,
        from: &'a str,
    ) -> Slow<'a, Option<String>> {
        Box::pin(Appliance::change_password(self, who, old, new, from))
    }
    fn guessed(&self, from: &str) {
        Appliance::guessed(self, from);
    }
    fn create_token<'a>(&'a self, wanted: NewToken, by: &'a str) -> Slow<'a, String> {
        Box::pin(Appliance::create_token(self, wanted, by))
    }
    fn tokens(&self) -> Result<Vec<TokenInfo>, Denied> {
        Appliance::tokens(self)
    }
    fn revoke_token<'a>(&'a self, id: u64, by: &'a str) -> Slow<'a, ()> {
        Box::pin(Appliance::revoke_token(self, id, by))
    }
    fn check_token(&self, text: &str) -> Option<TokenInfo> {
        Appliance::check_token(self, text)
    }
}
