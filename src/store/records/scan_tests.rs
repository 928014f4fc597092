//! Records of scans: golden bytes, round trips, hostile input.

use super::*;
use crate::domain::item::{FieldValue, ItemState, Sighting};
use crate::domain::page::Ask;
use crate::domain::scan::{Building, Count, Discarded, Published, ScanState, Seen, Unmatched, Walked};
use proptest::collection::vec;
use proptest::prelude::*;

fn at(n: u64) -> Stamp {
    Stamp { steady: Steady(n), wall: Wall(n as i64 * 2), era: 1 }
}

fn a_count() -> Count {
    let examples = [("9", Some("S7")), ("10", None)];
    let examples = examples.map(|(key, names)| Unmatched { key: key.into(), names: names.map(str::to_owned) });
    Count { rows: 4_000, unmatched: 2, unwatched: 3, examples: examples.into() }
}

fn a_scan() -> ScanState {
    let ask = |location: &str| Ask { location: location.into(), body: vec![1, 2] };
    let building = Building {
        number: 8,
        question: ask("/tasks"),
        next: Some(ask("/tasks?page=3")),
        walked: Walked {
            pages: 2,
            of: Some(5),
            rows: 4_000,
            total: Some(9_100),
            bytes: 70_000,
            asked: vec![[1; 16], [2; 16], [3; 16]],
            said: vec![[4; 16]],
        },
        begun_at: at(90),
        as_of: Some(at(91)),
        last_at: at(95),
        failures: 1,
        count: a_count(),
    };
    let (count, targets, changed, fresher) = (a_count(), 12, 3, 1);
    ScanState {
        readings: 8,
        building: Some(building),
        published: Some(Published { number: 7, as_of: at(50), at: at(55), pages: 5, count, targets, changed, fresher }),
        discarded: Some(Discarded { number: 6, at: at(40), pages: 1, of: None, rows: 2_000, why: "no answer".into() }),
    }
}

fn a_row() -> Sighting {
    Sighting {
        key: "3".into(),
        title: "Roses".into(),
        state: Some(ItemState { word: "open".into(), decays: None }),
        fields: vec![("a".into(), FieldValue::Number(1.5)), ("b".into(), FieldValue::Until(at(9)))],
        fingerprint: [4; 16],
    }
}

fn some_seen() -> Vec<Seen> {
    vec![Seen { target: 1, key: u64::MAX, same: Some(5) }, Seen { target: 300, key: 7, same: None }]
}

#[test]
fn golden_bytes() {
    let hex = |bytes: Result<Vec<u8>, Damaged>| bytes.unwrap().iter().map(|b| format!("{b:02x}")).collect::<String>();
    let names = names(&["S1".into(), "S2".into()]);
    let samples = [("scan", scan(&a_scan())), ("names", names), ("seen", seen(&some_seen())), ("row", row(&a_row()))];
    let written: Vec<_> = samples.into_iter().map(|(name, bytes)| format!("{name} {}", hex(bytes))).collect();
    let golden: Vec<_> = include_str!("golden_scan.txt").lines().collect();
    assert_eq!(written, golden);
}

#[test]
fn they_come_back() {
    assert_eq!(scan_of(&scan(&a_scan()).unwrap()), Ok(a_scan()));
    assert_eq!(scan_of(&scan(&ScanState::default()).unwrap()), Ok(ScanState::default()));
    assert_eq!(names_of(&names(&["S1".into()]).unwrap()), Ok(vec!["S1".into()]));
    assert_eq!(row_of("3".into(), &row(&a_row()).unwrap()), Ok(a_row()));
    assert!(scan_of(&[9, 0]).unwrap_err().0.contains("unknown version 9"));
    assert!(seen(&vec![some_seen()[0]; 1025]).unwrap_err().0.contains("1024"));
}

proptest! {
    #[test]
    fn what_was_seen_comes_back(rows in vec((any::<u32>(), any::<u64>(), proptest::option::of(any::<u64>())), 0..1024)) {
        let rows: Vec<Seen> = rows.into_iter().map(|(target, key, same)| Seen { target, key, same }).collect();
        prop_assert_eq!(seen_of(&seen(&rows).unwrap()), Ok(rows));
    }

    #[test]
    fn hostile_bytes_are_survived(mut bytes in vec(any::<u8>(), 0..200)) {
        for version in 0..3 {
            if let Some(first) = bytes.first_mut() {
                *first = version;
            }
            _ = (scan_of(&bytes), names_of(&bytes), seen_of(&bytes), row_of(String::new(), &bytes));
        }
    }
}
