//! The whole key space on one page. Knows names and keys; must not know what the values mean.
//!
//! Every table is bytes to bytes. Keys are written by hand so that their order is the order of reading: numbers are
//! big-endian, texts end with a zero byte (which is escaped inside), and the organization comes first. Values are
//! records of `codec`: one version byte, then the payload.
//!
//! | table         | key                                                   | value            | rows                          | written with                        |
//! |---------------|-------------------------------------------------------|------------------|-------------------------------|-------------------------------------|
//! | `meta`        | a word: `format` `installation` `mark` `written_by` `summed` `polling` `copied` `home` | see [`meta`] | 5 to 8 | open, `Write::Mark`, `Write::Polling`, `backup` |
//! | `state`       | organization, connection, `c`                         | connection state | connections                   | `Write::Connection`                 |
//! |               | organization, connection, `t`, target                 | target state     | targets                       | `Write::Target`                     |
//! |               | organization, connection, `l`, target                 | life of a target | targets that left their first phase | `Write::Life`                |
//! | `targets`     | organization, connection, target                      | put target       | targets put by an operator    | `Write::PutTarget`, `Write::DropTarget` |
//! | `charges`     | charge number                                         | charge           | requests of 40 days           | admit; overwritten when resolved    |
//! | `credentials` | fingerprint of the secret (16 bytes)                  | hold             | credentials that are held     | `Commit::hold`                      |
//! |               | fingerprint of the secret, endpoint                   | hold             | endpoints held by themselves  | `Commit::hold`                      |
//! | `items`       | organization, connection, target, item key            | item             | items, removed ones too       | `Write::Item`                       |
//! | `history`     | organization, connection, target, sequence            | history entry    | every change there ever was   | `Write::History`                    |
//! | `jobs`        | job number                                            | job              | commands there ever were      | `create_job`, `Write::Job`          |
//! | `job_keys`    | organization, connection, idempotency key             | job number       | at most one per job           | `create_job`                        |
//! | `open_jobs`   | job number                                            | nothing          | jobs that are not final       | with `jobs`                         |
//! | `events`      | event number                                          | event            | the newest 100,000            | `Commit::events`, `create_job`      |
//! | `tokens`      | token number                                          | token            | tokens, revoked ones too      | `create_token`, `Write::Token`      |
//! | `findings`    | finding number                                        | finding          | open ones, newest 1,000 closed | `Commit::findings`                 |
//! | `open_findings` | organization, connection, target, kind, subject     | finding number   | open findings                 | with `findings`                     |
//! | `learned`     | fingerprint of the secret, limit, endpoint            | what was learned | limits that a provider speaks of | `Commit::learned`                |
//! | `scans`       | organization, connection, scan, `s`                   | scan state       | scans                         | `Write::Scan`                       |
//! |               | organization, connection, scan, `m`                   | names            | scans that were published     | `Write::Members`                    |
//! | `scan_rows`   | organization, connection, scan, generation, and       |                  | of the generation that is built | `Write::Generation`               |
//! |               | ... `n`, number                                       | names            | targets that it is for, some a row |                                |
//! |               | ... `p`, number                                       | rows seen        | pages, some a row             |                                     |
//! |               | ... `r`, target, item key                             | row              | those that say something new  |                                     |
//! |               | ... `w`, tag of the table, key there                  | as in that table | what it will write            |                                     |
//! | `switched`    | organization, connection, scan, generation            | nothing          | published, and not yet moved to its place | `Write::Generation`     |
//! | `secrets`     | identity of the credential (16 bytes)                 | sealed secret    | credentials that learn theirs | `swap_sealed`                       |
//! | `accounts`    | organization, connection                              | credential state | connections                   | `Write::Credential`                 |
//! | `spend`       | hour, organization, connection, caller, outcome, endpoint, target | sum of requests | at most 500,000, of 400 days | the writer, now and then |
//! | `webhooks`    | organization, connection, webhook                     | webhook state    | webhooks                      | `Write::Webhook`                    |
//! | `dead_letters` | organization, connection, webhook, event number      | dead letter      | the newest 1,000 of a webhook | `Write::DeadLetter`                 |
//! | `shelf`       | organization, connection, `h`, fingerprint of the secret, entry | head of an answer | answers of the gateway, in bytes at most `shelf_disk` | `Write::Shelve`, `Write::Reshelve` |
//! |               | organization, connection, `b`, fingerprint of the secret, entry | its body  | as many                       | `Write::Shelve`                     |
//! | `operators`   | name as it is compared                                | operator         | operators                     | `Write::Operator`                   |
//! | `sessions`    | digest of the cookie                                  | session          | at most 32 of an operator     | `Write::Session`                    |
//! | `claims`      | digest of the code                                    | claim            | at most 16                    | `Write::Claim`                      |
//! | `uses`        | `t`, token number                                     | moment           | tokens                        | `Write::Use`                        |
//! |               | `s`, digest of the cookie                             | moment           | sessions                      | `Write::Use`                        |
//! | `connections` | organization, connection                              | stored connection | connections written in the browser | `Write::Stored`, `Write::DropStored` |
//! | `samples`     | organization, connection, target                      | sample of an answer | targets, of each the last that was kept | `Write::Sample` |
//! | `stood`       | organization, connection, steady ms                   | state, and since when | changes of 8 days             | `Write::Stood` |
//! | `observations` | organization, connection, `i`, id                    | observation      | pushed answers of 8 days      | `Write::Observe`, `Write::ForgetObservation` |
//! |               | organization, connection, `r`, steady ms of arrival, id | nothing        | one per observation           | with them                           |
//! |               | organization, connection, `t`, target                 | observation      | targets that are shown by a pushed answer, or were | `Write::Observe` |
//!
//! `credentials`, `learned` and `secrets` have no organization in their keys: the secret is the budget boundary, whoever holds it.
//! What a copy of the file tells: everything but secrets. Of them it has keyed fingerprints, whose key is in the file too (`installation`): a
//! guess can be tried with it, a long random key not be found. `secrets` and what is set in `accounts` are sealed with a key beside the file; with
//! `secrets` lie the fingerprints of the credential that they come from, and of the one that was rejected last. What stands below `w` of a generation
//! in `switched` is in force as if it stood in its own table: see `generation`.
//! Of operators it has slow, salted hashes of their passwords; of tokens, sessions and claims digests of what is random: none of them opens anything.
//! An answer of the gateway is two rows, so that one that is confirmed rewrites no body, and all heads are read without any.
//! A charge or a job of one connection is found by its record, not by an index. A sum of `spend` begins with its hour: what is old is in front.
//! The small rows that change with every poll share one table, so that a poll dirties few pages.

use crate::domain::connection::HoldScope;
use crate::domain::finding::Matter;
use crate::domain::ids::{ConnectionKey, CredentialId, Endpoint, TargetKey, TargetName, WebhookKey};
use crate::domain::quota::LimitKey;
use crate::domain::time::Steady;
use redb::TableDefinition;

mod access;
mod observations;
mod shelf;
mod sums;

pub(super) use access::{used, used_of};
pub(super) use observations::{observation, observation_row, received, received_before, standing};
pub(super) use shelf::{BODY, HEAD, shelf_part, shelf_row, shelf_tag};
pub(super) use sums::{hour, read_hour, sum, sum_line, sums_of};

macro_rules! tables {
    ($($table:ident = $name:literal),+ $(,)?) => {
        /// A table of the file. The order is the order in which a commit writes them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Table { $($table),+ }

        impl Table {
            pub const ALL: [Table; [$($name),+].len()] = [$(Table::$table),+];

            pub const fn name(self) -> &'static str {
                match self { $(Table::$table => $name),+ }
            }
        }
    };
}

tables! {
    Meta = "meta",
    State = "state",
    Charges = "charges",
    Credentials = "credentials",
    Items = "items",
    History = "history",
    Jobs = "jobs",
    JobKeys = "job_keys",
    OpenJobs = "open_jobs",
    Events = "events",
    Tokens = "tokens",
    Findings = "findings",
    OpenFindings = "open_findings",
    Learned = "learned",
    Secrets = "secrets",
    Spend = "spend",
    Scans = "scans",
    ScanRows = "scan_rows",
    Switched = "switched",
    Targets = "targets",
    Webhooks = "webhooks",
    DeadLetters = "dead_letters",
    Shelf = "shelf",
    Accounts = "accounts",
    Operators = "operators",
    Sessions = "sessions",
    Claims = "claims",
    Uses = "uses",
    Stood = "stood",
    Connections = "connections",
    Samples = "samples",
    Observations = "observations",
}

impl Table {
    pub const fn definition(self) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
        TableDefinition::new(self.name())
    }
}

/// The words of `meta`.
pub(super) mod meta {
    /// Version of the file as a whole, 8 bytes big-endian. See `migrate`.
    pub const FORMAT: &[u8] = b"format";
    /// Random key of this installation, 32 bytes.
    pub const INSTALLATION: &[u8] = b"installation";
    /// The clock mark, a record.
    pub const MARK: &[u8] = b"mark";
    /// Only in a backup: the clock mark of the moment at which it was made.
    pub const COPIED: &[u8] = b"copied";
    /// What tells the file that this is from every copy of it; see `whereabouts`. Not in a backup.
    pub const HOME: &[u8] = b"home";
    /// Up to which charge, and from which hour on, spending is summed: two numbers. See `sums`.
    pub const SUMMED: &[u8] = b"summed";
    /// What operators set of the whole process's polling, a record; absent before the first time.
    pub const POLLING: &[u8] = b"polling";
    /// Which larder and which redb wrote last, text.
    pub const WRITTEN_BY: &[u8] = b"written_by";
}

const CONNECTION_TAG: u8 = b'c';
const TARGET_TAG: u8 = b't';
const LIFE_TAG: u8 = b'l';

/// Appends a text and its end: a zero byte. The bytes 0 and 1 inside become `01 01` and `01 02`: the end stands nowhere
/// else, so that no name is the beginning of another, and the order stays that of the texts.
fn push_text(key: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            0 | 1 => key.extend([1, byte + 1]),
            _ => key.push(byte),
        }
    }
    key.push(0);
}

/// Prefix of everything that belongs to a connection.
pub(super) fn connection_prefix(connection: &ConnectionKey) -> Vec<u8> {
    let mut key = Vec::with_capacity(48);
    push_text(&mut key, connection.organization.as_str());
    push_text(&mut key, connection.connection.as_str());
    key
}

/// Prefix of the items, and of the history, of a target.
pub(super) fn target_prefix(target: &TargetKey) -> Vec<u8> {
    let mut key = connection_prefix(&target.connection);
    push_text(&mut key, target.target.as_str());
    key
}

pub(super) fn connection_state(connection: &ConnectionKey) -> Vec<u8> {
    let mut key = connection_prefix(connection);
    key.push(CONNECTION_TAG);
    key
}

pub(super) fn target_state(target: &TargetKey) -> Vec<u8> {
    let mut key = connection_prefix(&target.connection);
    key.push(TARGET_TAG);
    push_text(&mut key, target.target.as_str());
    key
}

/// In which phase a target is, apart from what its answers say.
pub(super) fn life(target: &TargetKey) -> Vec<u8> {
    let mut key = connection_prefix(&target.connection);
    key.push(LIFE_TAG);
    push_text(&mut key, target.target.as_str());
    key
}

/// Which of the records a key of `state` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateRow {
    Connection,
    Target,
    Life,
}

/// Reads the tag behind the two texts; `None` if the key was not written by this file.
pub(super) fn state_row(key: &[u8]) -> Option<StateRow> {
    let rest = skip_text(skip_text(key)?)?;
    match rest.split_first()? {
        (&CONNECTION_TAG, []) => Some(StateRow::Connection),
        (&TARGET_TAG, _) => Some(StateRow::Target),
        (&LIFE_TAG, _) => Some(StateRow::Life),
        _ => None,
    }
}

/// What follows the third text: the item's key, or the sequence, of a row below a target.
pub(super) fn below_target(key: &[u8]) -> Option<&[u8]> {
    skip_text(skip_text(skip_text(key)?)?)
}

fn skip_text(key: &[u8]) -> Option<&[u8]> {
    let end = key.iter().position(|b| *b == 0)?;
    key.get(end + 1..)
}

/// The text at the front of a key, and what follows it.
pub(super) fn take_text(key: &[u8]) -> Option<(String, &[u8])> {
    let end = key.iter().position(|b| *b == 0)?;
    let (text, rest) = (key.get(..end)?, key.get(end + 1..)?);
    let mut bytes = Vec::with_capacity(text.len());
    let mut text = text.iter();
    while let Some(byte) = text.next() {
        bytes.push(if *byte == 1 { text.next()?.checked_sub(1)? } else { *byte });
    }
    Some((String::from_utf8(bytes).ok()?, rest))
}

/// The item's own key is the last part and needs no end.
pub(super) fn item(target: &TargetKey, item: &str) -> Vec<u8> {
    let mut key = target_prefix(target);
    key.extend_from_slice(item.as_bytes());
    key
}

pub(super) fn history(target: &TargetKey, seq: u64) -> Vec<u8> {
    let mut key = target_prefix(target);
    key.extend_from_slice(&number(seq));
    key
}

pub(super) fn job_key(connection: &ConnectionKey, idempotency_key: &str) -> Vec<u8> {
    let mut key = connection_prefix(connection);
    key.extend_from_slice(idempotency_key.as_bytes());
    key
}

/// `kind` is the byte of its word. Of the connection as a whole the target is empty, which no target's name is.
pub(super) fn open_finding(about: &Matter, kind: u8) -> Vec<u8> {
    let mut key = connection_prefix(&about.connection);
    push_text(&mut key, about.target.as_ref().map_or("", TargetName::as_str));
    key.push(kind);
    key.extend_from_slice(about.subject.as_bytes());
    key
}

pub(super) const fn number(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// A number at the end of a key or as a value.
pub(super) fn read_number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_be_bytes)
}

/// The endpoint is the last part and needs no end; without one the hold is the credential's.
pub(super) fn hold(credential: &CredentialId, scope: &HoldScope) -> Vec<u8> {
    let mut key = credential.0.to_vec();
    key.extend(scope.endpoint().iter().flat_map(|endpoint| endpoint.as_str().bytes()));
    key
}

/// Whom the hold stops whose row has this key; `None` if the key was not written by this file.
pub(super) fn hold_scope(key: &[u8]) -> Option<HoldScope> {
    let (_, endpoint) = key.split_first_chunk::<16>()?;
    if endpoint.is_empty() {
        return Some(HoldScope::Credential);
    }
    Some(HoldScope::Endpoint(Endpoint(std::str::from_utf8(endpoint).ok()?.to_owned())))
}

/// Of the limit as a whole the endpoint is empty, which no endpoint is.
pub(super) fn learned(credential: &CredentialId, about: &LimitKey) -> Vec<u8> {
    let mut key = credential.0.to_vec();
    push_text(&mut key, &about.limit);
    push_text(&mut key, about.endpoint.as_ref().map_or("", Endpoint::as_str));
    key
}

/// Tags of `scans`: where it stands, and whom it feeds.
pub(super) const STANDS: u8 = b's';
pub(super) const MEMBERS: u8 = b'm';
/// Tags of `scan_rows`.
pub(super) const NAMES: u8 = b'n';
pub(super) const SEEN: u8 = b'p';
pub(super) const ROW: u8 = b'r';
pub(super) const WRITES: u8 = b'w';

pub(super) fn scan_state(scan: &TargetKey) -> Vec<u8> {
    [target_prefix(scan), vec![STANDS]].concat()
}

pub(super) fn scan_members(scan: &TargetKey) -> Vec<u8> {
    [target_prefix(scan), vec![MEMBERS]].concat()
}

/// What a row of `scans` is.
pub(super) fn scan_tag(key: &[u8]) -> Option<u8> {
    match below_target(key)? {
        [tag] => Some(*tag),
        _ => None,
    }
}

/// Prefix of everything of one generation, and its key in `switched`.
pub(super) fn generation(scan: &TargetKey, generation: u64) -> Vec<u8> {
    [target_prefix(scan), number(generation).to_vec()].concat()
}

/// That part of the key of a row.
pub(super) fn generation_of(key: &[u8]) -> Option<&[u8]> {
    let behind = below_target(key)?.len().checked_sub(8)?;
    key.get(..key.len() - behind)
}

/// A row of a generation.
pub(super) fn scan_row(generation: &[u8], tag: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(generation.len() + 1 + rest.len());
    key.extend_from_slice(generation);
    key.push(tag);
    key.extend_from_slice(rest);
    key
}

/// What belongs to one target in a generation, below `r`.
pub(super) fn scan_target(target: &TargetName, item: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(48);
    push_text(&mut key, target.as_str());
    key.extend_from_slice(item.as_bytes());
    key
}

/// Also the prefix of the letters that it could not deliver.
pub(super) fn webhook(key: &WebhookKey) -> Vec<u8> {
    let mut bytes = connection_prefix(&key.connection);
    push_text(&mut bytes, key.webhook.as_str());
    bytes
}

pub(super) fn dead_letter(key: &WebhookKey, event: u64) -> Vec<u8> {
    let mut bytes = webhook(key);
    bytes.extend_from_slice(&number(event));
    bytes
}

/// A change of a connection's state: in the order of the timeline that never steps.
pub(super) fn stood(connection: &ConnectionKey, since: Steady) -> Vec<u8> {
    [connection_prefix(connection), number(since.0).to_vec()].concat()
}

/// The first key behind every key that begins with `prefix`. `None`: there is none.
pub(super) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xFF {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
