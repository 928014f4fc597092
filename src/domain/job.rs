//! A job: a durable unit of work. Commands are jobs.

use super::ids::{ChargeId, ConnectionKey, JobId, TargetName};
use super::time::Stamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Accepted and durable; not yet sent.
    Queued,
    /// Charged, and sent or about to be. Found so after a crash, its fate is `unknown`.
    Sent,
    /// The provider accepted it.
    Done,
    /// The provider refused it, or it was never sent.
    Failed,
    /// It may or may not have reached the provider. Never sent again where `retry = "never"`.
    Unknown,
}

impl JobState {
    pub const fn word(self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Sent => "sent",
            JobState::Done => "done",
            JobState::Failed => "failed",
            JobState::Unknown => "unknown",
        }
    }
    pub const fn is_final(self) -> bool {
        matches!(self, JobState::Done | JobState::Failed | JobState::Unknown)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub connection: ConnectionKey,
    pub command: String,
    pub parameters: BTreeMap<String, String>,
    pub state: JobState,
    pub created_at: Stamp,
    pub updated_at: Stamp,
    /// Who asked: the name of a token, or `operator`.
    pub by: String,
    /// `Idempotency-Key` of the request that created it.
    pub idempotency_key: Option<String>,
    /// Digest of command and parameters, to refuse a key that is used for something else.
    pub request_digest: [u8; 16],
    pub charge: Option<ChargeId>,
    /// In words: what the provider answered, or why it was not sent.
    pub message: Option<String>,
    /// What became of the refresh afterwards: `None` while undecided or not asked for.
    pub refresh: Option<JobRefresh>,
}

/// The refresh that a command asks for after it was accepted (I2).
#[derive(Clone, Debug, PartialEq)]
pub struct JobRefresh {
    pub target: TargetName,
    /// In words: `refreshed`, or why not and from when.
    pub result: String,
}
