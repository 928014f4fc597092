//! How a command ends: the exit code, and the sentences on stderr. Knows no command.

use std::fmt;
use std::process::ExitCode;

/// The exit codes that DESIGN fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Fine,
    Failed,
    /// Bad usage or configuration. clap's own code for bad usage is the same.
    Usage,
    /// `status`: an answer on the shelf is stale, or was never there.
    Stale,
    /// `status`: a quota is spent.
    Exhausted,
    /// `status`: a provider does not accept its credential.
    CredentialRejected,
}

impl Ending {
    pub const fn code(self) -> u8 {
        match self {
            Ending::Fine => 0,
            Ending::Failed => 1,
            Ending::Usage => 2,
            Ending::Stale => 3,
            Ending::Exhausted => 4,
            Ending::CredentialRejected => 5,
        }
    }
}

/// What went wrong, in plain sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub ending: Ending,
    pub sentences: Vec<String>,
}

impl Failure {
    pub fn failed(sentence: impl fmt::Display) -> Failure {
        Failure { ending: Ending::Failed, sentences: vec![sentence.to_string()] }
    }
    pub fn usage(sentence: impl fmt::Display) -> Failure {
        Failure { ending: Ending::Usage, sentences: vec![sentence.to_string()] }
    }
}

pub type Outcome = Result<Ending, Failure>;

/// Tells a failure on stderr, and turns the outcome into the process's exit code.
pub fn conclude(outcome: Outcome) -> ExitCode {
    let ending = outcome.unwrap_or_else(|failure| {
        failure.sentences.iter().for_each(|s| super::text::talk(s));
        failure.ending
    });
    ExitCode::from(ending.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_a_promise_to_scripts() {
        let all =
            [Ending::Fine, Ending::Failed, Ending::Usage, Ending::Stale, Ending::Exhausted, Ending::CredentialRejected];
        assert_eq!(all.map(Ending::code), [0, 1, 2, 3, 4, 5]);
    }
}
