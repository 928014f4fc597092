//! Who may sign in, and who is signed in. Knows names, moments and digests: no password and no cookie comes here.

use super::time::Stamp;
use std::fmt;

/// Characters that a name may have.
pub const LONGEST_NAME: usize = 64;
/// What the book calls those who have no name of their own.
const RESERVED: [&str; 3] = ["operator", "nobody", "larder"];

/// A person who may read and change everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// As it was given; unique by [`key_of`].
    pub name: String,
    /// `None` until one was set: such an operator comes in by a claim code or through a trusted proxy alone.
    pub password: Option<PasswordHash>,
    pub added_at: Stamp,
    /// Who let this operator in.
    pub added_by: String,
    /// When the password became the one of now.
    pub password_at: Option<Stamp>,
}

/// A slow, salted hash in the PHC string format. What it says is nobody's to see.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub String);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// The digest of a random secret that is shown elsewhere, once.
pub type Digest = [u8; 32];

/// One browser in which an operator is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Of the cookie's value.
    pub digest: Digest,
    /// By [`key_of`].
    pub operator: String,
    pub begun_at: Stamp,
    /// The address that it began from, for people.
    pub from: String,
}

/// A code with which somebody becomes an operator, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Of the code as it is compared.
    pub digest: Digest,
    /// Whose password it sets; `None`: whoever has the code chooses the name.
    pub operator: Option<String>,
    pub issued_at: Stamp,
}

/// What is noted of when it was used last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Used {
    Token(u64),
    Session(Digest),
}

/// What two spellings of one name have in common.
pub fn key_of(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Whether a person may be called so; the error is a sentence. Letters and digits of any script and `-_.@ `: a name stands in the activity list
/// and must not look like something else there.
pub fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_alphanumeric() || "-_.@ ".contains(c);
    if name.is_empty() || name.trim() != name || name.chars().count() > LONGEST_NAME || !name.chars().all(fits) {
        return Err(format!(
            "a name has 1 to {LONGEST_NAME} characters: letters, digits, and inside it spaces, hyphens, dots, underscores and @"
        ));
    }
    if RESERVED.contains(&key_of(name).as_str()) {
        return Err(format!("\"{name}\" is what the activity list calls somebody else; take another name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_for_people_to_read() {
        for name in ["ann", "Ann Lee", "anna@example.org", "Жанна", "a"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(65);
        for name in
            ["", " ann", "ann ", "a\u{202e}b", "a\nb", "<b>", "a/b", "a\"b", "Operator", "nobody", long.as_str()]
        {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert_eq!(key_of(" Ann "), key_of("ANN"));
    }

    #[test]
    fn a_hash_is_not_shown() {
        assert!(!format!("{:?}", PasswordHash("$argon2id$secret".to_owned())).contains("secret"));
    }
}
