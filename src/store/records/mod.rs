//! Records: what a row's value means. Private, versioned mirrors of domain values, upgraded when read; written in the
//! newest form only. Knows the shapes of the domain; must not know tables, transactions or bincode.

mod access;
mod charge;
mod codes;
mod connection;
mod credential;
mod finding;
mod gateway;
mod learned;
mod life;
mod misc;
mod observation;
mod scan;
mod sealed;
mod shelf;
mod spend;
mod state;
mod stood;
mod v1;
mod v2;
mod v3;
mod v4;
mod v5;
mod webhook;

#[cfg(test)]
mod access_tests;
#[cfg(test)]
mod gateway_tests;
#[cfg(test)]
mod scan_tests;
#[cfg(test)]
mod tests;

pub(super) use access::{
    claim, claim_of, last_use, last_use_of, operator, operator_of, session, session_of, token, token_of,
};
pub(super) use charge::{charge, charge_of, hold, hold_of, peek};
pub(super) use codes::{caller, caller_of, outcome, outcome_of};
pub(super) use connection::{sample, sample_of, stored, stored_of};
pub(super) use credential::{credential, credential_of};
pub(super) use finding::{finding, finding_kind, finding_of};
pub(super) use gateway::{shelf_body, shelf_body_of, shelf_head, shelf_head_of};
pub(super) use learned::{learned, learned_of};
pub(super) use life::{life, life_of, put_target, put_target_of};
pub(super) use misc::{event, event_of, job, job_of, mark, mark_of, polling, polling_of};
pub(super) use observation::{observation, observation_of};
pub(super) use scan::{names, names_of, row, row_of, scan, scan_of, seen, seen_of};
pub(super) use sealed::{sealed, sealed_of};
pub(super) use shelf::{history, history_of, item, item_of};
pub(super) use spend::{Sum, sum, sum_of};
pub(super) use state::{connection, connection_of, target, target_of};
pub(super) use stood::{stood, stood_of};
pub(super) use webhook::{dead_letter, dead_letter_of, webhook, webhook_of};

use super::codec::Damaged;
use crate::domain::ids::ConnectionKey;
use crate::domain::time::{Stamp, Steady, Wall};

/// The versions that are written, each record in its newest.
const V1: u8 = 1;
const V2: u8 = 2;
const V3: u8 = 3;
const V4: u8 = 4;
/// Most bytes of a record about requests, jobs, states; what a provider sent goes into `SHELF_MOST`.
const MOST: usize = 64 << 10;
/// Memory that reading such a record may claim. Above `MOST`, since small numbers are shorter in the file.
const READ: usize = 256 << 10;
const SHELF_MOST: usize = 1 << 20;
const SHELF_READ: usize = 4 << 20;
/// Members that a nested collection may have.
const MEMBERS: usize = 1024;

fn unknown_version<T>(version: u8) -> Result<T, Damaged> {
    Err(Damaged(format!("it has the unknown version {version}")))
}

/// Checked when writing and when reading, so that nothing is written that cannot be read.
fn bounded<T>(members: Vec<T>) -> Result<Vec<T>, Damaged> {
    match members.len() {
        n if n > MEMBERS => Err(Damaged(format!("it has {n} members and at most {MEMBERS} are kept"))),
        _ => Ok(members),
    }
}

fn down(s: Stamp) -> v1::Stamp {
    v1::Stamp { steady: s.steady.0, wall: s.wall.0, era: s.era }
}

fn up(s: v1::Stamp) -> Stamp {
    Stamp { steady: Steady(s.steady), wall: Wall(s.wall), era: s.era }
}

fn key_of(organization: String, connection: String) -> ConnectionKey {
    ConnectionKey {
        organization: crate::domain::ids::Organization(organization),
        connection: crate::domain::ids::ConnectionName(connection),
    }
}
