//! The whole key space on one page. Knows names and keys; must not know what the values mean.
//!
//! Every table is bytes to bytes. Keys are written by hand so that their order is the order of reading: numbers are
//! big-endian, texts end with a zero byte (which is escaped inside), and the organization comes first. Values are
//! records of `codec`: one version byte, then the payload.
//!
//! | table         | key                                                   | value            | rows                          | written with                        |
//! |---------------|-------------------------------------------------------|------------------|-------------------------------|-------------------------------------|
//! | `meta`        | a word: `format` `installation` `mark` `written_by` `summed` `copied` | see [`meta`] | 5, in a backup 6   | open, `Write::Mark`, `backup`       |
//! | `state`       | organization, connection, `c`                         | connection state | connections                   | `Write::Connection`                 |
//! |               | organization, connection, `t`, target                 | target state     | targets                       | `Write::Target`                     |
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
//! | `secrets`     | identity of the credential (16 bytes)                 | sealed secret    | credentials that learn theirs | `swap_sealed`                       |
//! | `spend`       | hour, organization, connection, caller, outcome, endpoint, target | sum of requests | at most 500,000, of 400 days | the writer, now and then |
//!
//! `credentials`, `learned` and `secrets` have no organization in their keys: the secret is the budget boundary, whoever holds it.
//! What a copy of the file tells: everything but secrets. Of them it has keyed fingerprints, whose key is in the file too (`installation`): a
//! guess can be tried with it, a long random key not be found. `secrets` are sealed with a key that is not in the file but beside it.
//! A charge or a job of one connection is found by its record, not by an index: a table less to write per admission.
//! A sum of `spend` begins with its hour, so that what is written lies together and what is old is in front.
//! The small rows that change with every poll share one table, so that a poll dirties few pages.

use crate::domain::connection::HoldScope;
use crate::domain::finding::Matter;
use crate::domain::ids::{
    Caller, ConnectionKey, ConnectionName, CredentialId, Endpoint, Organization, TargetKey, TargetName,
};
use crate::domain::quota::LimitKey;
use crate::domain::spend::{Hour, SpendLine};
use redb::TableDefinition;

/// A table of the file. The order is the order in which a commit writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Table {
    Meta,
    State,
    Charges,
    Credentials,
    Items,
    History,
    Jobs,
    JobKeys,
    OpenJobs,
    Events,
    Tokens,
    Findings,
    OpenFindings,
    Learned,
    Secrets,
    Spend,
}

impl Table {
    pub const ALL: [Table; 16] = [
        Table::Meta,
        Table::State,
        Table::Charges,
        Table::Credentials,
        Table::Items,
        Table::History,
        Table::Jobs,
        Table::JobKeys,
        Table::OpenJobs,
        Table::Events,
        Table::Tokens,
        Table::Findings,
        Table::OpenFindings,
        Table::Learned,
        Table::Secrets,
        Table::Spend,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Table::Meta => "meta",
            Table::State => "state",
            Table::Charges => "charges",
            Table::Credentials => "credentials",
            Table::Items => "items",
            Table::History => "history",
            Table::Jobs => "jobs",
            Table::JobKeys => "job_keys",
            Table::OpenJobs => "open_jobs",
            Table::Events => "events",
            Table::Tokens => "tokens",
            Table::Findings => "findings",
            Table::OpenFindings => "open_findings",
            Table::Learned => "learned",
            Table::Secrets => "secrets",
            Table::Spend => "spend",
        }
    }

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
    /// Up to which charge, and from which hour on, spending is summed: two numbers. See `sums`.
    pub const SUMMED: &[u8] = b"summed";
    /// Which larder and which redb wrote last, text.
    pub const WRITTEN_BY: &[u8] = b"written_by";
}

const CONNECTION_TAG: u8 = b'c';
const TARGET_TAG: u8 = b't';

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

/// Which of the two records a key of `state` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateRow {
    Connection,
    Target,
}

/// Reads the tag behind the two texts; `None` if the key was not written by this file.
pub(super) fn state_row(key: &[u8]) -> Option<StateRow> {
    let rest = skip_text(skip_text(key)?)?;
    match rest.split_first()? {
        (&CONNECTION_TAG, []) => Some(StateRow::Connection),
        (&TARGET_TAG, _) => Some(StateRow::Target),
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
fn take_text(key: &[u8]) -> Option<(String, &[u8])> {
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

/// Prefix of the sums of an hour; in the order of time, before 1970 too.
pub(super) const fn hour(hour: Hour) -> [u8; 8] {
    number(hour.0 as u64 ^ 1 << 63)
}

pub(super) fn read_hour(bytes: &[u8]) -> Option<Hour> {
    Some(Hour((read_number(bytes)? ^ 1 << 63) as i64))
}

/// Prefix of the sums of one connection in an hour.
pub(super) fn sums_of(hour: Hour, connection: &ConnectionKey) -> Vec<u8> {
    [self::hour(hour).as_slice(), &connection_prefix(connection)].concat()
}

/// A sum of resolved requests. `caller` and `outcome` are the bytes of their words. Without a target its text is empty, which no target's name is.
pub(super) fn sum(line: &SpendLine, caller: u8, outcome: u8) -> Vec<u8> {
    let mut key = sums_of(line.hour, &line.connection);
    key.extend([caller, outcome]);
    push_text(&mut key, line.endpoint.as_str());
    push_text(&mut key, line.target.as_ref().map_or("", TargetName::as_str));
    key
}

/// What a sum is the sum of, without the two words, which come as their bytes. `None` if the key was not written by this file.
pub(super) fn sum_line(key: &[u8]) -> Option<(SpendLine, u8, u8)> {
    let (hour, rest) = key.split_first_chunk::<8>()?;
    let (organization, rest) = take_text(rest)?;
    let (connection, rest) = take_text(rest)?;
    let (&[caller, outcome], rest) = rest.split_first_chunk::<2>()?;
    let (endpoint, rest) = take_text(rest)?;
    let (target, rest) = take_text(rest)?;
    let connection = ConnectionKey { organization: Organization(organization), connection: ConnectionName(connection) };
    let line = SpendLine {
        hour: read_hour(hour)?,
        connection,
        caller: Caller::Poller,
        outcome: None,
        endpoint: Endpoint(endpoint),
        target: Some(target).filter(|t| !t.is_empty()).map(TargetName),
    };
    rest.is_empty().then_some((line, caller, outcome))
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(o: &str, c: &str, t: &str) -> TargetKey {
        TargetKey { connection: ConnectionKey { organization: o.into(), connection: c.into() }, target: t.into() }
    }

    #[test]
    fn keys_are_as_they_always_were() {
        let t = target("default", "yard", "controller");
        assert_eq!(connection_state(&t.connection), b"default\0yard\0c");
        assert_eq!(target_state(&t), b"default\0yard\0tcontroller\0");
        assert_eq!(item(&t, "zone 3"), b"default\0yard\0controller\0zone 3");
        assert_eq!(history(&t, 258), b"default\0yard\0controller\0\0\0\0\0\0\0\x01\x02");
        assert_eq!(job_key(&t.connection, "k1"), b"default\0yard\0k1");
        let about = |target| {
            let (kind, subject) = (crate::domain::finding::FindingKind::LowerLimit, "day".to_owned());
            Matter { connection: t.connection.clone(), target, kind, subject }
        };
        let of_day = |endpoint| LimitKey { limit: "day".to_owned(), endpoint };
        assert_eq!(learned(&CredentialId([b'k'; 16]), &of_day(None)), b"kkkkkkkkkkkkkkkkday\0\0");
        assert_eq!(learned(&CredentialId([b'k'; 16]), &of_day(Some("/a".into()))), b"kkkkkkkkkkkkkkkkday\0/a\0");
        assert_eq!(open_finding(&about(None), 1), b"default\0yard\0\0\x01day");
        assert_eq!(open_finding(&about(Some(t.target.clone())), 1), b"default\0yard\0controller\0\x01day");
    }

    #[test]
    fn a_hold_is_found_by_whom_it_stops() {
        let credential = CredentialId([7; 16]);
        for scope in [HoldScope::Credential, HoldScope::Endpoint("/a".into())] {
            assert_eq!(hold_scope(&hold(&credential, &scope)), Some(scope));
        }
        assert_eq!(hold(&credential, &HoldScope::Credential), [7; 16], "as it always was");
        assert_eq!(hold_scope(b"short"), None);
        assert_eq!(hold_scope(&[0xFF; 20]), None);
    }

    #[test]
    fn one_table_has_one_name() {
        let mut names: Vec<_> = Table::ALL.iter().map(|t| t.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Table::ALL.len());
        assert!(Table::ALL.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn state_rows_tell_what_they_are() {
        let t = target("a\0b", "c", "d");
        assert_eq!(state_row(&connection_state(&t.connection)), Some(StateRow::Connection));
        assert_eq!(state_row(&target_state(&t)), Some(StateRow::Target));
        assert_eq!(state_row(b"short"), None);
        assert_eq!(below_target(&item(&t, "i")), Some(&b"i"[..]));
    }

    proptest! {
        /// Two targets never share a row, whatever bytes their names have, and the order of keys is the order of names.
        #[test]
        fn prefixes_tell_names_apart(a in ["[\\x00-\\x02a]{0,3}", "[\\x00-\\x02a]{0,3}", "[\\x00-\\x02a]{0,3}"],
                                     b in ["[\\x00-\\x02a]{0,3}", "[\\x00-\\x02a]{0,3}", "[\\x00-\\x02a]{0,3}"]) {
            let (x, y) = (target(&a[0], &a[1], &a[2]), target(&b[0], &b[1], &b[2]));
            let (kx, ky) = (target_prefix(&x), target_prefix(&y));
            prop_assert_eq!(x == y, kx == ky);
            prop_assert!(x == y || !kx.starts_with(&ky));
            prop_assert_eq!(x.cmp(&y), kx.cmp(&ky));
        }

        /// A sum is found by its line and tells it; the order is that of time.
        #[test]
        fn a_line_of_spending_comes_back(hours in [any::<i64>(), any::<i64>()], words in ["[\\x00-\\x02a]{0,3}", "[\\x00-\\x02a]{0,3}", "[\\x00-\\x02a]{0,3}"], name in "[\\x00-\\x02a]{1,3}", has in any::<bool>()) {
            let of = target(&words[0], &words[1], "");
            let line = |hour| SpendLine {
                hour: Hour(hour),
                connection: of.connection.clone(),
                caller: Caller::Poller,
                outcome: None,
                endpoint: Endpoint(words[2].clone()),
                target: has.then(|| TargetName(name.clone())),
            };
            let key = sum(&line(hours[0]), 3, 14);
            prop_assert_eq!(sum_line(&key), Some((line(hours[0]), 3, 14)));
            prop_assert!(key.starts_with(&sums_of(Hour(hours[0]), &of.connection)));
            prop_assert_eq!(sum_line(&key[..key.len() - 1]), None);
            prop_assert_eq!(hours[0].cmp(&hours[1]), hour(Hour(hours[0])).cmp(&hour(Hour(hours[1]))));
        }

        #[test]
        fn the_end_of_a_prefix_is_behind_it(prefix in proptest::collection::vec(any::<u8>(), 1..6), tail in proptest::collection::vec(any::<u8>(), 0..4)) {
            let key = [prefix.clone(), tail].concat();
            if let Some(end) = after_prefix(&prefix) {
                prop_assert!(key < end);
                prop_assert!(prefix < end);
            }
        }
    }
}
