//! Reply in, verdict out: the closed word for what happened, why, and how long to wait.

use crate::domain::outcome::Verdict;
use crate::domain::reply::Reply;
use crate::domain::spec::{RuleSpec, WaitSpec};
use crate::domain::time::Wall;

/// Rules of a connection, compiled once.
#[derive(Debug)]
pub struct Classifier {}

/// The verdict, and the parsed body where there is one.
pub struct Classified {
    pub verdict: Verdict,
    pub body: Option<serde_json::Value>,
}

impl Classifier {
    /// Errors are sentences that name the rule.
    pub fn compile(_rules: &[RuleSpec], _waits: &WaitSpec) -> Result<Classifier, Vec<String>> {
        todo!()
    }
    /// `validators_sent`: a 304 is only an answer to a conditional request. `now_wall`: for HTTP-dates.
    pub fn classify(&self, _reply: &Reply, _validators_sent: bool, _now_wall: Wall) -> Classified {
        todo!()
    }
}
