//! The key space: keys as they always were, and names that never mix.

use super::*;
use crate::domain::ids::Caller;
use crate::domain::spend::{Hour, SpendLine};
use proptest::prelude::*;

fn target(o: &str, c: &str, t: &str) -> TargetKey {
    TargetKey { connection: ConnectionKey { organization: o.into(), connection: c.into() }, target: t.into() }
}

#[test]
fn keys_are_as_they_always_were() {
    let t = target("default", "yard", "controller");
    assert_eq!(connection_state(&t.connection), b"default\0yard\0c");
    assert_eq!(target_state(&t), b"default\0yard\0tcontroller\0");
    assert_eq!(life(&t), b"default\0yard\0lcontroller\0");
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
    assert_eq!(state_row(&life(&t)), Some(StateRow::Life));
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
