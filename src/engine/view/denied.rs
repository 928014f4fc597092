//! Why something is not done, in a sentence for people.

use super::When;

/// Why an operation was refused, for problem+json and pages.
#[derive(Clone, Debug, PartialEq)]
pub enum Denied {
    NotFound(String),
    /// The budget, a hold or the minimum age says no until `not_before`.
    NotYet {
        sentence: String,
        /// The limit that says so, where one does.
        limit: Option<String>,
        not_before: Option<When>,
        retry_after_s: Option<u64>,
    },
    /// An operator switched the connection off; no time is known at which that ends.
    Paused(String),
    /// It can never be done as asked.
    Invalid(String),
    /// It stands in the configuration, which is changed there.
    Configured(String),
    /// An `Idempotency-Key` that was used for another request.
    KeyReused(String),
    /// An id that stands for something else.
    OtherContent(String),
    /// The store cannot write (full disk, stopped).
    Unavailable(String),
}

impl Denied {
    /// `why`: a sentence about a secret, without it.
    pub fn unusable(why: String) -> Denied {
        Denied::Invalid(format!("the credential cannot be used: {why}"))
    }

    pub fn sentence(&self) -> &str {
        match self {
            Denied::NotYet { sentence, .. } => sentence,
            Denied::NotFound(why)
            | Denied::Paused(why)
            | Denied::Invalid(why)
            | Denied::Configured(why)
            | Denied::KeyReused(why)
            | Denied::OtherContent(why)
            | Denied::Unavailable(why) => why,
        }
    }
}
