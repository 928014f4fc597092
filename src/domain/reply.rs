//! What came back from the provider, before anybody judged it.

use super::charge::Settlement;
use super::time::Stamp;

/// A complete answer. Header names are lower case; values that are not text are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Decompressed body, at most the cap. Read as bytes, then as text, then parsed (I4).
    pub body: Vec<u8>,
}

impl Answer {
    /// The first value of a header, by lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Why there is no complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// DNS, TCP or TLS did not come up. The provider never saw the request: the charge is voided.
    Connect,
    /// The permit's time to send ran out before anything was written. Voided.
    NotSent,
    Timeout,
    Dropped,
    TooLarge,
    /// Cut off, or not what its `Content-Encoding` promised.
    Undecodable,
    RedirectRefused,
}

/// An answer or its absence, with the moment at which that was known.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub arrived_at: Stamp,
    pub result: Result<Answer, Failure>,
    /// A plain sentence about the failure, without secrets; empty for an answer.
    pub detail: String,
}

impl Reply {
    /// Of the answer; none where there is no answer. Names are lower case.
    pub fn headers(&self) -> &[(String, String)] {
        self.result.as_ref().map_or(&[][..], |answer| &answer.headers)
    }

    /// What the charge of this request counts: given back only where nothing can have reached the provider (law 1).
    pub fn settlement(&self) -> Settlement {
        match self.result {
            Err(Failure::Connect | Failure::NotSent) => Settlement::Voided,
            _ => Settlement::Posted,
        }
    }
}
