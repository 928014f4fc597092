//! Operators, sessions, claims and last uses, as they are kept: found again after a crash and in a backup, gone when they are ended.

use super::*;
use crate::domain::operator::{Claim, Operator, PasswordHash, Session, Used};

fn ann() -> Operator {
    let password = Some(PasswordHash("$argon2id$...".to_owned()));
    Operator { name: "Ann".into(), password, added_at: at(1).stamp(), added_by: "a code".into(), password_at: None }
}

fn session(n: u8) -> Session {
    Session { digest: [n; 32], operator: "ann".into(), begun_at: at(5).stamp(), from: "192.0.2.7".into() }
}

#[tokio::test]
async fn who_may_come_in_is_kept_and_what_ended_is_gone() {
    let disk = Disk::default();
    let store = on(&disk, 300, &at(0));
    let claim = Claim { digest: [3; 32], operator: None, issued_at: at(2).stamp() };
    let (ones, others) = (Used::Session([1; 32]), Used::Session([2; 32]));
    let writes = vec![
        Write::Operator(ann()),
        Write::Session(session(1)),
        Write::Session(session(2)),
        Write::Claim(claim.clone()),
        Write::Use(Used::Token(7), at(6).stamp()),
        Write::Use(ones, at(6).stamp()),
        Write::Use(others, at(6).stamp()),
    ];
    store.commit(only(writes, Lane::Durable)).await.unwrap();
    assert_eq!(store.operators().unwrap(), [ann()]);
    assert_eq!(store.claims().unwrap(), [claim]);
    // The same person, however the name is written.
    let renamed = Operator { name: "ANN".into(), ..ann() };
    let writes = vec![Write::Operator(renamed.clone()), Write::EndSession([1; 32]), Write::EndClaim([3; 32])];
    store.commit(only(writes, Lane::Durable)).await.unwrap();
    drop(store);

    let store = on(&disk, 300, &at(0));
    assert_eq!(store.operators().unwrap(), [renamed]);
    assert_eq!(store.sessions().unwrap(), [session(2)]);
    assert_eq!(store.claims().unwrap(), []);
    let uses: Vec<_> = store.uses().unwrap().into_iter().collect();
    assert_eq!(
        uses,
        [(Used::Token(7), at(6).stamp()), (others, at(6).stamp())],
        "with its session its last use is forgotten"
    );
    store.commit(only(vec![Write::DropOperator("Ann".into())], Lane::Durable)).await.unwrap();
    assert_eq!(store.operators().unwrap(), []);
}
