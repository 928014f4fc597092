//! Records of who may come in: golden bytes, round trips, hostile input.

use super::*;
use crate::domain::operator::{Claim, Operator, PasswordHash, Session};
use crate::store::TokenRecord;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn at(n: u64) -> Stamp {
    Stamp { steady: Steady(n), wall: Wall(n as i64 * 2), era: 1 }
}

fn a_token() -> TokenRecord {
    TokenRecord {
        id: 1,
        name: "phone".into(),
        hash: [6; 32],
        role: "reader".into(),
        organization: "default".into(),
        created_at: at(1),
        revoked_at: Some(at(2)),
        expires_at: Some(at(9)),
    }
}

fn ann() -> Operator {
    Operator {
        name: "Ann".into(),
        password: Some(PasswordHash("$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA".into())),
        added_at: at(3),
        added_by: "a claim code".into(),
        password_at: Some(at(4)),
    }
}

fn a_session() -> Session {
    Session { digest: [9; 32], operator: "ann".into(), begun_at: at(5), from: "192.0.2.7".into() }
}

fn a_claim() -> Claim {
    Claim { digest: [8; 32], operator: Some("ben".into()), issued_at: at(6) }
}

/// Never to be changed.
#[test]
fn golden_bytes() {
    let hex = |bytes: Result<Vec<u8>, Damaged>| bytes.unwrap().iter().map(|b| format!("{b:02x}")).collect::<String>();
    let samples = [
        ("token", token(&a_token())),
        ("operator", operator(&ann())),
        ("session", session(&a_session())),
        ("claim", claim(&a_claim())),
        ("use", last_use(at(7))),
    ];
    let written: Vec<_> = samples.into_iter().map(|(name, bytes)| format!("{name} {}", hex(bytes))).collect();
    assert_eq!(written, include_str!("golden_v5.txt").lines().collect::<Vec<_>>());
}

#[test]
fn they_come_back_and_another_version_is_named() {
    assert_eq!(token_of(1, &token(&a_token()).unwrap()), Ok(a_token()));
    assert_eq!(operator_of(&operator(&ann()).unwrap()), Ok(ann()));
    assert_eq!(session_of([9; 32], &session(&a_session()).unwrap()), Ok(a_session()));
    assert_eq!(claim_of([8; 32], &claim(&a_claim()).unwrap()), Ok(a_claim()));
    assert_eq!(last_use_of(&last_use(at(7)).unwrap()), Ok(at(7)));
    let newer = [9, 0];
    assert!(token_of(1, &newer).unwrap_err().0.contains("unknown version 9"));
    assert!(operator_of(&newer).unwrap_err().0.contains("unknown version 9"));
    assert!(session_of([0; 32], &newer).unwrap_err().0.contains("unknown version 9"));
    assert!(claim_of([0; 32], &newer).unwrap_err().0.contains("unknown version 9"));
    assert!(last_use_of(&newer).unwrap_err().0.contains("unknown version 9"));
}

proptest! {
    #[test]
    fn any_of_them_come_back(words in (".{0,9}", ".{0,9}", of(".{0,9}")), moments in (any::<u64>(), of(any::<u64>()), of(any::<u64>())), digest in any::<[u8; 32]>()) {
        let ((a, b, c), moment) = (words, |n: u64| Stamp { steady: Steady(n), wall: Wall(7), era: 2 });
        let (first, second, third) = (moment(moments.0), moments.1.map(moment), moments.2.map(moment));
        let t = TokenRecord { id: 7, name: a.clone(), hash: digest, role: b.clone(), organization: a.as_str().into(), created_at: first, revoked_at: second, expires_at: third };
        prop_assert_eq!(token_of(7, &token(&t).unwrap()), Ok(t));
        let o = Operator { name: a.clone(), password: c.clone().map(PasswordHash), added_at: first, added_by: b.clone(), password_at: second };
        prop_assert_eq!(operator_of(&operator(&o).unwrap()), Ok(o));
        let s = Session { digest, operator: a, begun_at: first, from: b };
        prop_assert_eq!(session_of(digest, &session(&s).unwrap()), Ok(s));
        let c = Claim { digest, operator: c, issued_at: first };
        prop_assert_eq!(claim_of(digest, &claim(&c).unwrap()), Ok(c));
    }

    #[test]
    fn hostile_bytes_are_survived(mut bytes in vec(any::<u8>(), 0..200)) {
        for version in 0..4 {
            if let Some(first) = bytes.first_mut() {
                *first = version;
            }
            _ = (token_of(1, &bytes), operator_of(&bytes), session_of([0; 32], &bytes), claim_of([0; 32], &bytes), last_use_of(&bytes));
        }
    }
}
