//! What the provider says of its own count, laid beside the ledger, and of its own end: what is to be written down, and what to be
//! told. The rules decide.

use super::exchange::Exchanged;
use super::learn::Consequences;
use crate::domain::finding::FindingChange;
use crate::domain::outcome::Outcome;
use crate::domain::quota::LimitKey;
use crate::domain::reply::Reply;
use crate::domain::time::Now;
use crate::engine::core::{Conn, Core};
use crate::engine::findings;
use crate::rules::learn::{Answered, Evidence, News, learn};
use crate::rules::quota::{Said, is_believed};
use serde_json::Value;

/// What an answer says of its provider's count, of which limits.
pub fn claims(core: &Core, conn: &Conn, exchanged: &Exchanged, reply: &Reply, body: Option<&Value>) -> Said {
    let Ok(answer) = &reply.result else { return Said::default() };
    let speaker = |about: &LimitKey| core.store.learned(conn.credential, about).map(|l| l.source);
    conn.quota.claims(answer, body, &conn.sharing.limits, &exchanged.endpoint, &speaker, reply.arrived_at.wall)
}

/// Adds what was learned to what follows from the answer: of the end of what was asked, and of the count.
pub fn take(core: &Core, conn: &Conn, exchanged: &Exchanged, reply: &Reply, now: &Now, after: &mut Consequences) {
    let ending = findings::ending(conn, &exchanged.asked, reply, after.verdict.outcome);
    // What is told must not be forgotten by a crash.
    after.must_last |= matches!(ending, Some(FindingChange::Seen(_)));
    after.findings.extend(ending);
    let answered = match after.verdict.outcome {
        Outcome::Data | Outcome::NotModified | Outcome::NotReady => Answered::Well,
        Outcome::Limited => Answered::Refused,
        outcome if is_believed(outcome, exchanged.brought) => Answered::Emptily,
        // Who else answers may not be the one who counts.
        _ => return,
    };
    let evidence = Evidence { asked_at: exchanged.reserved_at, arrived_at: reply.arrived_at, answered };
    for (about, claim) in &exchanged.claims.known {
        let Some(limit) = conn.sharing.limits.iter().find(|l| l.name == about.limit) else { continue };
        let before = core.store.learned(conn.credential, about);
        let asked = (exchanged.reserved_at, exchanged.charged);
        let own = core.store.own_spending(conn.credential, &limit.name, &exchanged.endpoint, asked, now);
        let Some(lesson) = learn(before.as_ref(), about, limit, claim, own, &evidence) else { continue };
        after.findings.extend(findings::others(core, conn, &lesson, evidence.arrived_at));
        after.findings.extend(findings::amount(core, conn, limit, &lesson, evidence.arrived_at));
        let news = lesson.news(before.as_ref());
        // A smaller share must not be forgotten by a crash.
        after.must_last |= news == News::Stricter;
        if news != News::Nothing {
            after.learned.push((conn.credential, lesson.learned));
        }
    }
}
