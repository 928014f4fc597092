//! Those who spend with one credential: what they declare is one budget (F1), installed anew whenever one of them comes, becomes another or goes.

use super::build;
use super::core::{Conn, Core};
use super::targets::TargetSet;
use crate::domain::connection::ConnectionState;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::ConnectionSpec;
use crate::domain::time::{Now, Span};
use std::sync::Arc;

/// One of them: how often it wishes to be polled, and what it asks.
pub struct Member {
    conn: Conn,
    wish: Option<Span>,
    targets: Arc<TargetSet>,
}

impl Member {
    /// One that becomes another: as it will be, and what it will ask.
    pub fn new(conn: Conn, state: &ConnectionState, targets: Arc<TargetSet>) -> Member {
        Member { wish: conn.lasting_wish(state), targets, conn }
    }
}

/// Those that spend with this credential, beside one.
pub fn others(core: &Core, credential: CredentialId, beside: &ConnectionKey) -> Vec<Member> {
    let others = core.connections.values().filter(|conn| conn.credential == credential && conn.spec.key != *beside);
    let member = |conn: Arc<Conn>| {
        let (wish, targets) = (conn.sharing.wish(&conn.spec.key), conn.targets.now());
        Member { conn: (*conn).clone(), wish, targets }
    };
    others.map(member).collect()
}

/// Their one budget, installed anew. The error is a sentence, and nothing is another then.
pub fn together(core: &Core, credential: CredentialId, members: Vec<Member>, now: &Now) -> Result<Vec<Conn>, String> {
    let specs: Vec<&ConnectionSpec> = members.iter().map(|member| &member.conn.spec).collect();
    let sharing = build::shared(&core.store, credential, &specs, &core.organizations(), now)?;
    core.form_line(credential);
    for Member { conn, wish, targets } in &members {
        sharing.wishes(&conn.spec.key, *wish);
        if let Some(lives) = conn.sharing.token_life.learned() {
            sharing.token_life.learn(Some(lives));
        }
        sharing.scan(&conn.spec.key, conn.scans.clone());
        sharing.follow(&conn.spec.key, Arc::clone(targets), &core.store);
    }
    let shares = |member: Member| Conn { sharing: Arc::clone(&sharing), credential, ..member.conn };
    Ok(members.into_iter().map(shares).collect())
}
