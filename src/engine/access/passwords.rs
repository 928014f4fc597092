//! Passwords as slow hashes: argon2id, in the hands of `password-auth`. One at a time, since each takes megabytes and a tenth of a second: who
//! floods the door with tries keeps others waiting there and nowhere else.

use crate::domain::operator::{PasswordHash, key_of};
use crate::engine::core::Core;
use crate::engine::view::Denied;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// Characters that a password has at least.
const SHORTEST: usize = 10;
/// Bytes that one is read of at most.
const LONGEST: usize = 1024;
/// Tries that may wait for their turn.
const LINE: usize = 16;
/// A hash that no password has, as slow as every other: who does not exist takes as long as who does.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IG5vYm9keQ$KnmwZgSwJzSkBWgXyxQpCVX2mXxQv1UE5fLmfEeuK2Q";

/// Whether it may become a password; the error is a sentence.
pub(super) fn check(password: &str, name: &str) -> Result<(), String> {
    if password.len() > LONGEST {
        return Err(format!("a password has at most {LONGEST} bytes"));
    }
    if password.chars().count() < SHORTEST {
        return Err(format!("a password has at least {SHORTEST} characters; a few words do well"));
    }
    let (length, first) = (password.chars().count(), password.chars().next());
    let is_the_name = key_of(password).contains(&key_of(name)) && length < SHORTEST + name.chars().count();
    if is_the_name || password.chars().all(|c| Some(c) == first) {
        return Err("the password is easily guessed; take another one".to_owned());
    }
    Ok(())
}

/// A hash for the file.
pub(super) async fn hash(core: &Core, password: String) -> Result<PasswordHash, Denied> {
    slowly(core, move || PasswordHash(password_auth::generate_hash(password))).await
}

/// Whether this is the password; never where there is none.
pub(super) async fn is_right(core: &Core, password: String, hash: Option<PasswordHash>) -> Result<bool, Denied> {
    if password.len() > LONGEST {
        return Ok(false);
    }
    slowly(core, move || {
        let known = hash.as_ref().map_or(NOBODY, |hash| hash.0.as_str());
        password_auth::verify_password(password, known).is_ok() && hash.is_some()
    })
    .await
}

/// Whether the library would make it otherwise today.
pub(super) fn is_outdated(hash: &PasswordHash) -> bool {
    password_auth::is_hash_obsolete(&hash.0).unwrap_or(true)
}

async fn slowly<T: Send + 'static>(core: &Core, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Denied> {
    let turn = turn(core).await?;
    let done = tokio::task::spawn_blocking(move || {
        let result = work();
        // Also where nobody waits for it any more: until here it takes its memory.
        drop(turn);
        result
    });
    done.await.map_err(|_| Denied::Unavailable("the appliance is stopping".to_owned()))
}

async fn turn(core: &Core) -> Result<OwnedSemaphorePermit, Denied> {
    let hashing = &core.access.hashing;
    // The line is the holders of this Arc: the field itself, and whoever waits or works.
    if Arc::strong_count(hashing) > LINE {
        return Err(Denied::Unavailable("too many sign in at once; try again in a moment".to_owned()));
    }
    let line = hashing.clone().acquire_owned().await;
    line.map_err(|_| Denied::Unavailable("the appliance is stopping".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_not_the_name() {
        for good in ["correct horse", "aaaaaaaaab", "anna likes tea", "пароль паро"] {
            assert_eq!(check(good, "anna"), Ok(()), "{good}");
        }
        for bad in ["", "short", "aaaaaaaaaaaa", "annaannaan", "Annabella1", &"x".repeat(1025)] {
            assert!(check(bad, "anna").is_err(), "{bad}");
        }
    }

    /// Else the time would tell who exists.
    #[test]
    fn nobody_takes_as_long_as_somebody() {
        let work = |hash: &str| hash.rsplitn(3, '$').last().map(str::to_owned);
        assert_eq!(work(NOBODY), work(&password_auth::generate_hash("correct horse")));
        assert!(work(NOBODY).is_some_and(|w| w.starts_with("$argon2id$")));
        assert!(matches!(password_auth::is_hash_obsolete(NOBODY), Ok(false)));
        assert!(matches!(
            password_auth::verify_password("anything", NOBODY),
            Err(password_auth::VerifyError::PasswordInvalid)
        ));
    }
}
