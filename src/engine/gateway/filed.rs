//! The shelf's way to the file and back: what rides with a charge, what a start finds again, and what is swept. A restart asks nothing
//! (law 6). Knows the store; what an answer means is for `rules::gateway`.

use super::place::Place;
use super::room;
use crate::domain::event::Event;
use crate::domain::gateway::{Head, Kept, Reading, ShelfKey, Shelved, Until};
use crate::domain::ids::{Caller, ConnectionKey, CredentialId, EventId};
use crate::domain::time::Span;
use crate::engine::core::{Conn, Core};
use crate::rules::gateway::Location;
use crate::store::{Commit, StoreError, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// An answer with more headers, or longer ones, is in memory alone.
const MOST_HEADERS: usize = 512;
const MOST_HEAD: u64 = 256 << 10;
/// Heads that are read in one go.
const PAGE: usize = 256;
/// Events that are looked through for what ended a "not ready" while nobody watched.
const EVENTS: u64 = 1_000;
/// How often the file is held against its bound where little is filed, and how many answers go at a time.
const EVERY: Span = Span::from_secs(300);
const SWEPT: usize = 64;
/// Between two batches: polls and readers come first.
const PAUSE: Span = Span(200);

/// How an answer is filed: whole, or where its body stands in the file already, its head alone. `None`: no record has room for its headers,
/// and the charge that it would ride with must be written whatever it says.
pub fn filing(core: &Core, shelved: &Shelved) -> Option<Write> {
    let head = &shelved.head;
    let is_writable = head.headers.len().max(head.variant.len()) <= MOST_HEADERS
        && head.bytes().saturating_sub(head.body_bytes) <= MOST_HEAD;
    let filed = core.store.shelf_head(&head.key, &head.variant, head.kept).ok().flatten();
    let stands = filed.is_some_and(|filed| filed.digest == head.digest);
    if !is_writable {
        return None;
    }
    if stands {
        return Some(Write::Reshelve(head.clone()));
    }
    core.room.files(head.bytes());
    Some(Write::Shelve(shelved.clone()))
}

/// What a write to `written` makes void in the file.
pub fn forgetting(core: &Core, conn: &Conn, written: &Location) -> Vec<Write> {
    let heads = heads(core, conn, |head| conn.desk.gate.forgets(written, head));
    heads.unwrap_or_default().into_iter().map(Write::Unshelve).collect()
}

/// What was filed while a write was out whose answer a crash took: nobody knows which of before and after it shows, and it is not served.
pub async fn forget_doubtful(core: &Core) -> Result<(), StoreError> {
    let pending = core.store.pending_charges()?;
    for conn in core.connections.values().filter(|conn| conn.spec.gateway.enabled) {
        let writes = pending.iter().filter(|c| c.connection == conn.spec.key && c.caller == Caller::Command);
        let Some(since) = writes.map(|charge| charge.reserved_at.steady).min() else { continue };
        let doubtful = heads(core, &conn, |head| head.as_of.steady >= since)?;
        let writes: Vec<Write> = doubtful.into_iter().map(Write::Unshelve).collect();
        if !writes.is_empty() {
            core.commit(Commit { writes, ..Commit::default() }).await?;
        }
    }
    Ok(())
}

/// All heads of a connection that `is_one` names.
fn heads(core: &Core, conn: &Conn, is_one: impl Fn(&Head) -> bool) -> Result<Vec<Head>, StoreError> {
    let (mut found, mut from) = (Vec::new(), None);
    loop {
        let (page, on) = core.store.shelf_heads(&conn.spec.key, from.as_ref(), PAGE)?;
        found.extend(page.into_iter().filter(&is_one));
        match on {
            Some(on) => from = Some(on),
            None => return Ok(found),
        }
    }
}

/// What the file keeps, back in memory as far as it fits: the newest first.
pub fn restore(core: &Core) -> Result<(), StoreError> {
    let most = core.room.spec.memory / 8 * 7;
    for conn in core.connections.values().filter(|conn| conn.spec.gateway.enabled) {
        let mut heads = heads(core, &conn, |head| is_served(&conn, head))?;
        heads.sort_by_key(|head| std::cmp::Reverse((head.as_of.era, head.as_of.steady)));
        for head in heads {
            if core.room.bytes() + head.bytes() > most || !still_waits(core, &conn, &head)? {
                continue;
            }
            if let Some(body) = core.store.shelf_body(&head)? {
                let place = conn.desk.place(head.key.target.clone());
                place.asked.store(true, Ordering::Relaxed);
                room::put(core, &conn, &place, Shelved { head, body });
            }
        }
    }
    Ok(())
}

/// The first time that somebody asks for what memory had no room for: what answers to all alike.
pub fn look_for(core: &Core, conn: &Conn, place: &Arc<Place>) {
    if !place.is_empty() || place.looked.swap(true, Ordering::AcqRel) {
        return;
    }
    let (connection, credential, target) = (conn.spec.key.clone(), conn.credential, place.target.clone());
    // A GET answers a HEAD too.
    let key = ShelfKey { connection, credential, reading: Reading::Get, target };
    match core.store.shelved(&key, &Vec::new(), Kept::Data) {
        Ok(Some(shelved)) => _ = room::put(core, conn, place, shelved),
        Ok(None) => {}
        // It is asked for then.
        Err(e) => {
            tracing::warn!(connection = %conn.spec.key, "what the file keeps for the gateway cannot be read: {e}")
        }
    }
}

fn is_served(conn: &Conn, head: &Head) -> bool {
    head.key.credential == conn.credential
}

/// Whether nothing of what a "not ready" waits for is in the file behind it.
fn still_waits(core: &Core, conn: &Conn, head: &Head) -> Result<bool, StoreError> {
    if head.kept != Kept::NotReady {
        return Ok(true);
    }
    let Ok(location) = Location::read(&head.key.target) else { return Ok(false) };
    let Some(spec) = conn.desk.gate.policy(&location).not_ready else { return Ok(false) };
    let charges = core.store.charges_since(&conn.spec.key, head.as_of)?;
    if spec.until.contains(&Until::Write) && charges.iter().any(|charge| charge.caller == Caller::Command) {
        return Ok(false);
    }
    let from = EventId(core.store.last_event_id().0.saturating_sub(EVENTS));
    let ends = |event: &Event| {
        let own = event.body.connection.as_ref() == Some(&conn.spec.key);
        own && event.body.at.steady >= head.as_of.steady && spec.until.contains(&Until::Event(event.body.kind))
    };
    let events = core.store.events_after(from, usize::try_from(EVENTS).unwrap_or(usize::MAX))?;
    // Beyond what is looked through nobody knows.
    let all_seen = from.0 == 0 || events.first().is_some_and(|first| first.body.at.steady < head.as_of.steady);
    Ok(all_seen && !events.iter().any(ends))
}

/// Keeps the file's part within its bound, and takes away what nobody can mean any more. Runs until the engine stops.
pub async fn tidy(core: Arc<Core>) {
    loop {
        let due = core.clock.now().steady + EVERY;
        tokio::select! {
            () = core.stop.cancelled() => return,
            () = core.clock.sleep_until(due) => {}
            () = core.room.much_filed() => {}
        }
        core.room.counts_anew();
        if let Err(e) = sweep(&core).await {
            tracing::warn!("the gateway's part of the file is not tidied for now: {e}");
        }
    }
}

async fn sweep(core: &Core) -> Result<(), StoreError> {
    let alive: Vec<(ConnectionKey, Vec<CredentialId>)> =
        core.connections.values().map(|conn| (conn.spec.key.clone(), vec![conn.credential])).collect();
    while core.store.sweep_shelf(&alive, SWEPT).await? && !core.stop.is_cancelled() {
        core.clock.sleep_until(core.clock.now().steady + PAUSE).await;
    }
    while core.store.trim_shelf(core.room.spec.disk, &core.clock.now(), SWEPT).await? && !core.stop.is_cancelled() {
        core.clock.sleep_until(core.clock.now().steady + PAUSE).await;
    }
    Ok(())
}
