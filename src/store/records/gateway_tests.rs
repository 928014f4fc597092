//! Records of the gateway's answers: golden bytes, round trips, hostile input.

use super::*;
use crate::domain::gateway::{Head, Kept, Reading, ShelfKey};
use crate::domain::ids::CredentialId;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn at(n: u64) -> Stamp {
    Stamp { steady: Steady(n), wall: Wall(n as i64 * 2), era: 1 }
}

fn a_head() -> Head {
    let text = str::to_owned;
    Head {
        key: ShelfKey {
            connection: ConnectionKey { organization: "default".into(), connection: "yard".into() },
            credential: CredentialId([0xAB; 16]),
            reading: Reading::Head,
            target: text("/tasks?page=2"),
        },
        variant: vec![(text("accept"), Some(text("text/csv"))), (text("accept-language"), None)],
        kept: Kept::NotReady,
        status: 409,
        headers: vec![(text("content-type"), text("application/json"))],
        asked_at: at(90),
        as_of: at(95),
        changed_at: at(50),
        digest: [7; 16],
        body_bytes: 300,
        cost: 2,
    }
}

#[test]
fn golden_bytes() {
    let hex = |bytes: Result<Vec<u8>, Damaged>| bytes.unwrap().iter().map(|b| format!("{b:02x}")).collect::<String>();
    let samples = [("head", shelf_head(&a_head())), ("body", shelf_body(b"[1]"))];
    let written: Vec<_> = samples.into_iter().map(|(name, bytes)| format!("{name} {}", hex(bytes))).collect();
    let golden: Vec<_> = include_str!("golden_shelf.txt").lines().collect();
    assert_eq!(written, golden);
}

#[test]
fn they_come_back() {
    assert_eq!(shelf_head_of(&shelf_head(&a_head()).unwrap()), Ok(a_head()));
    assert_eq!(shelf_body_of(&shelf_body(&[1, 0, 255]).unwrap()), Ok(&[1, 0, 255][..]));
    assert_eq!(shelf_body_of(&shelf_body(&[]).unwrap()), Ok(&[][..]));
    assert!(shelf_head_of(&[9, 0]).unwrap_err().0.contains("unknown version 9"));
    assert!(shelf_body_of(&[9, 0]).unwrap_err().0.contains("unknown version 9"));
    let crowded = Head { headers: vec![("a".into(), "b".into()); 1025], ..a_head() };
    assert!(shelf_head(&crowded).unwrap_err().0.contains("1024"));
}

proptest! {
    #[test]
    fn any_head_comes_back(
        texts in vec((".{0,9}", of(".{0,9}")), 0..9),
        headers in vec((".{0,9}", ".{0,9}"), 0..9),
        (target, status, bytes, not_ready) in (".{0,30}", any::<u16>(), any::<u64>(), any::<bool>()),
    ) {
        let kept = if not_ready { Kept::NotReady } else { Kept::Data };
        let key = ShelfKey { target, reading: Reading::Get, ..a_head().key };
        let head = Head { key, variant: texts, headers, status, body_bytes: bytes, kept, ..a_head() };
        prop_assert_eq!(shelf_head_of(&shelf_head(&head).unwrap()), Ok(head));
    }

    #[test]
    fn hostile_bytes_are_survived(mut bytes in vec(any::<u8>(), 0..200)) {
        for version in 0..3 {
            if let Some(first) = bytes.first_mut() {
                *first = version;
            }
            _ = (shelf_head_of(&bytes), shelf_body_of(&bytes));
        }
    }
}
