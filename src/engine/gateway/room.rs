//! How much of the shelf fits in memory. What goes first decides `rules::gateway`.

use super::place::{Entry, Place};
use crate::domain::gateway::{Head, ShelfKey, ShelfSpec, Shelved};
use crate::engine::core::{Conn, Core};
use crate::rules::gateway::{self, Worth, digest, surplus};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use tokio::sync::Notify;

/// A full shelf is emptied to this many eighths, so that not every answer has to look for room.
const LEFT_IN_EIGHTHS: u64 = 7;

/// The file's part is held against its bound each time that one in so many of its bytes was filed.
const FILED_PART: u64 = 8;

/// The room of all gateways together.
#[derive(Debug, Default)]
pub struct Room {
    pub spec: ShelfSpec,
    bytes: AtomicI64,
    /// Bytes that were filed since the file's part was last held against its bound.
    filed: AtomicU64,
    full: Notify,
}

impl Room {
    pub fn new(spec: ShelfSpec) -> Room {
        Room { spec, ..Room::default() }
    }

    pub fn bytes(&self) -> u64 {
        u64::try_from(self.bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// So many bytes go to the file.
    pub fn files(&self, bytes: u64) {
        if self.filed.fetch_add(bytes, Ordering::Relaxed) + bytes > self.spec.disk / FILED_PART {
            self.full.notify_one();
        }
    }

    /// Waits until much was filed since [`Room::counts_anew`].
    pub async fn much_filed(&self) {
        self.full.notified().await;
    }

    pub fn counts_anew(&self) {
        self.filed.store(0, Ordering::Relaxed);
    }

    fn changes(&self, by: i64) {
        self.bytes.fetch_add(by, Ordering::Relaxed);
    }
}

/// The largest body that is kept.
pub fn largest(core: &Core) -> u64 {
    gateway::largest(&core.room.spec)
}

/// Onto the shelf, and others off it where it is full. `None`: a change has overtaken it, and it does not come there.
pub fn put(core: &Core, conn: &Conn, place: &Place, shelved: Shelved) -> Option<Arc<Entry>> {
    let entry = Arc::new(Entry::new(shelved, core.clock.now().steady));
    core.room.changes(conn.desk.unless_overtaken(entry.head(), || place.put(entry.clone()))?);
    if core.room.bytes() > core.room.spec.memory {
        make_room(core);
    }
    tracing::trace!(connection = %conn.spec.key, bytes = entry.head().bytes(), "on the shelf");
    Some(entry)
}

/// Takes from a place what `is_one` names.
pub fn drop_from(core: &Core, place: &Place, is_one: impl Fn(&Entry) -> bool) -> usize {
    let gone = place.remove(is_one);
    let bytes: u64 = gone.iter().map(|entry| entry.head().bytes()).sum();
    core.room.changes(-i64::try_from(bytes).unwrap_or(i64::MAX));
    gone.len()
}

fn make_room(core: &Core) {
    let now = core.clock.now().steady;
    let places = || core.connections.values().flat_map(|conn| conn.desk.kept());
    let worth = |entry: &Entry| Worth {
        cost: entry.head().cost,
        bytes: entry.head().bytes(),
        idle: now.since(entry.last_used()),
    };
    let all: Vec<_> = places()
        .flat_map(|place| place.with(<[_]>::to_vec).into_iter().map(move |entry| (place.clone(), entry)))
        .map(|(place, entry)| {
            let worth = worth(&entry);
            ((place, entry), worth)
        })
        .collect();
    for (place, entry) in surplus(&all, core.room.spec.memory / 8 * LEFT_IN_EIGHTHS) {
        drop_from(core, &place, |one| one.id == entry.id);
        // The file may have it still.
        place.looked.store(false, Ordering::Relaxed);
    }
}

/// A list that was taken out of a wider one: as old as that, with a body and validators of its own.
pub fn narrowed(wider: &Entry, target: &str, body: Vec<u8>) -> Shelved {
    let head = wider.head();
    let own = |name: &str| matches!(name, "etag" | "last-modified" | "content-length" | "link");
    Shelved {
        head: Head {
            key: ShelfKey { target: target.to_owned(), ..head.key.clone() },
            headers: head.headers.iter().filter(|(name, _)| !own(name)).cloned().collect(),
            digest: digest(&body),
            body_bytes: body.len() as u64,
            ..head.clone()
        },
        body: body.into(),
    }
}
