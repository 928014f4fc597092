//! One-time codes: whoever has one becomes an operator, or gets a new password. Printed while there is no operator, by `larder operator reset`, and
//! for somebody whom another operator adds. Good for half an hour, on the timeline that no clock can step.

use super::{change, digest_of, operators, passwords, sessions};
use crate::domain::operator::{Claim, Digest, Operator, check_name, key_of};
use crate::domain::time::{Now, Span};
use crate::engine::appliance::Appliance;
use crate::engine::core::Core;
use crate::engine::view::{Denied, When};
use crate::store::{Commit, Write};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// How long a code is good.
pub const LIFETIME: Span = Span::from_secs(30 * 60);
/// Codes that are good at once; the oldest makes room.
pub const MOST: usize = 16;

/// Twelve of thirty-two letters are 60 bits: with the back-off of guesses nobody finds one in half an hour.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: usize = 12;

/// A code, for the one who asked for it, and until when it is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    pub code: String,
    pub until: When,
}

/// A claim and the text of its code; the text exists nowhere else. Error: a sentence.
pub fn mint(operator: Option<&str>, now: &Now) -> Result<(Claim, Issued), String> {
    let mut bytes = [0u8; LENGTH];
    getrandom::fill(&mut bytes).map_err(|e| format!("the system has no random numbers: {e}"))?;
    let letters: Vec<char> = bytes.iter().map(|b| char::from(LETTERS[usize::from(b & 31)])).collect();
    let code = letters.chunks(4).map(String::from_iter).collect::<Vec<_>>().join("-");
    let claim = Claim { digest: digest(&code), operator: operator.map(key_of), issued_at: now.stamp() };
    Ok((claim, Issued { code, until: When(now.wall() + LIFETIME) }))
}

/// Of a code as people type it: any case, with or without hyphens, and letters that look like digits for those.
fn digest(code: &str) -> Digest {
    let letters = code.chars().filter(char::is_ascii_alphanumeric).map(|c| match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    });
    digest_of(&letters.collect::<String>())
}

pub(super) fn is_over(claim: &Claim, now: &Now) -> bool {
    now.age_of(claim.issued_at) >= LIFETIME
}

/// The writes that make room for one more, of those that there are: what is over goes, and the oldest where there are too many.
pub fn room(there: &[Claim], now: &Now) -> Vec<Write> {
    let (over, mut good): (Vec<&Claim>, Vec<&Claim>) = there.iter().partition(|claim| is_over(claim, now));
    good.sort_by_key(|claim| claim.issued_at.steady);
    let many = good.len().saturating_sub(MOST - 1);
    over.into_iter().chain(good.into_iter().take(many)).map(|claim| Write::EndClaim(claim.digest)).collect()
}

impl Appliance {
    /// While there is no operator: a code for whoever can read what the appliance prints.
    pub async fn first_claim(&self) -> Result<Option<Issued>, Denied> {
        if self.has_operators()? {
            return Ok(None);
        }
        let core = self.core.clone();
        self.to_the_end(async move {
            let _turn = core.access.changing.lock().await;
            let (writes, issued) = minted(&core, None)?;
            // The log has it. On the activity list stands what people did, and nobody did this.
            let committed = core.store.commit(Commit { writes, ..Commit::default() }).await;
            core.access.forget_book();
            committed?;
            Ok(Some(issued))
        })
        .await
    }

    /// A code; `operator`: good for that one alone.
    pub async fn issue_claim(&self, operator: Option<&str>, by: &str) -> Result<Issued, Denied> {
        let (core, operator, by) = (self.core.clone(), operator.map(str::to_owned), by.to_owned());
        self.to_the_end(async move {
            let _turn = core.access.changing.lock().await;
            issue(&core, operator.as_deref(), Vec::new(), &by).await
        })
        .await
    }

    /// Whoever has a good code chooses a name and a password, and is signed in from `from`. `None`: the code is not good.
    pub async fn claim(&self, code: &str, name: &str, password: &str, from: &str) -> Result<Option<String>, Denied> {
        let core = self.core.clone();
        let (digest, name, password, from) =
            (digest(code), name.trim().to_owned(), password.to_owned(), from.to_owned());
        self.to_the_end(async move {
            let Some(claim) = good(&core, &digest)? else { return Ok(None) };
            let wrong = |why: String| Denied::Invalid(why);
            check_name(&name).map_err(wrong)?;
            if claim.operator.is_some_and(|only| only != key_of(&name)) {
                return Err(wrong("this code is for another name".to_owned()));
            }
            passwords::check(&password, &name).map_err(wrong)?;
            let hash = passwords::hash(&core, password).await?;
            let _turn = core.access.changing.lock().await;
            // Used meanwhile, by the same form sent twice.
            if good(&core, &digest)?.is_none() {
                return Ok(None);
            }
            let at = core.clock.now().stamp();
            let book = core.book()?;
            let known = book.operators.get(&key_of(&name));
            let message = match known {
                Some(known) => format!("{} set a new password with a claim code, from {from}", known.name),
                None => format!("{name} became an operator with a claim code, from {from}"),
            };
            let new = || Operator {
                name: name.clone(),
                password: None,
                added_at: at,
                added_by: "a claim code".to_owned(),
                password_at: None,
            };
            let operator =
                Operator { password: Some(hash), password_at: Some(at), ..known.cloned().unwrap_or_else(new) };
            let (session, secret) = sessions::mint(&operator, &from, at)?;
            let mut writes = vec![Write::EndClaim(digest)];
            if book.operators.is_empty() {
                // What was printed for the first one is for no second.
                writes.extend(book.claims.iter().filter(|c| c.operator.is_none()).map(|c| Write::EndClaim(c.digest)));
            }
            writes.extend(operators::sessions_of(&book, &operator.name).map(|s| Write::EndSession(s.digest)));
            writes.extend([Write::Operator(operator), Write::Session(session)]);
            change(&core, (writes, message)).await?;
            Ok(Some(secret))
        })
        .await
    }

    /// Whether a code would be looked at: there is one, or there is no operator yet.
    pub fn is_claimable(&self) -> Result<bool, Denied> {
        let (book, now) = (self.core.book()?, self.now());
        Ok(book.operators.is_empty() || book.claims.iter().any(|claim| !is_over(claim, &now)))
    }
}

/// To be called under `changing`; `with` rides in the same transaction.
pub(super) async fn issue(
    core: &Arc<Core>,
    operator: Option<&str>,
    with: Vec<Write>,
    by: &str,
) -> Result<Issued, Denied> {
    let (mut writes, issued) = minted(core, operator)?;
    writes.extend(with);
    change(core, (writes, told(operator, by))).await?;
    Ok(issued)
}

/// A claim in the place that is made for it.
fn minted(core: &Core, operator: Option<&str>) -> Result<(Vec<Write>, Issued), Denied> {
    let now = core.clock.now();
    let (claim, issued) = mint(operator, &now).map_err(Denied::Unavailable)?;
    let mut writes = room(&core.book()?.claims, &now);
    writes.push(Write::Claim(claim));
    Ok((writes, issued))
}

/// `a claim code was made, good for 30 min and for ann alone, by ben (page, 192.0.2.7)`
pub fn told(operator: Option<&str>, by: &str) -> String {
    let whom = operator.map_or("whoever has it".to_owned(), |name| format!("{name} alone"));
    format!("a claim code was made, good for {LIFETIME} and for {whom}, by {by}")
}

fn good(core: &Core, digest: &Digest) -> Result<Option<Claim>, Denied> {
    let (book, now) = (core.book()?, core.clock.now());
    let is = |claim: &&Claim| bool::from(claim.digest.ct_eq(digest)) && !is_over(claim, &now);
    Ok(book.claims.iter().find(is).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{ClockTrust, Stamp, Steady};

    fn at(s: u64) -> Now {
        Now { steady: Steady(s * 1000), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }

    #[test]
    fn a_code_is_typed_in_any_way() {
        let (claim, issued) = mint(Some("Ann"), &at(0)).unwrap();
        assert_eq!(issued.code.len(), 14, "{}", issued.code);
        assert_eq!(claim.operator.as_deref(), Some("ann"));
        assert_eq!(claim.digest, digest(&issued.code));
        assert_eq!(digest("0A1B-1C2D-3E4F"), digest(" oalb ic2d 3e4f "));
        assert_ne!(digest("0A1B-1C2D-3E4F"), digest("0A1B-1C2D-3E4G"));
        assert_ne!(mint(None, &at(0)).unwrap().1.code, issued.code);
    }

    #[test]
    fn a_code_is_over_after_half_an_hour() {
        let (claim, _) = mint(None, &at(10)).unwrap();
        assert!(!is_over(&claim, &at(10 + 1799)));
        assert!(is_over(&claim, &at(10 + 1800)));
    }

    #[test]
    fn there_is_room_for_the_newest() {
        let claim = |n: u8, s: u64| Claim {
            digest: [n; 32],
            operator: None,
            issued_at: Stamp { steady: Steady(s * 1000), ..Stamp::default() },
        };
        let there: Vec<Claim> = (0..20).map(|n| claim(n, 2000 + u64::from(n))).chain([claim(99, 0)]).collect();
        let gone = room(&there, &at(2100));
        let expected: Vec<Write> = [99, 0, 1, 2, 3, 4].map(|n| Write::EndClaim([n; 32])).to_vec();
        assert_eq!(gone, expected);
    }
}
