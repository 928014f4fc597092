//! The connections as they run now. One that gets another credential or another specification is put in the place of the one before, which
//! ends what it began; everything that does not hang on them is the same in both. Decides nothing.

use super::core::Conn;
use crate::domain::ids::ConnectionKey;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

pub struct Connections {
    all: RwLock<BTreeMap<ConnectionKey, Arc<Conn>>>,
    /// Grows with each change of them.
    version: AtomicU64,
    /// One connection comes, changes or goes at a time.
    pub rotating: tokio::sync::Mutex<()>,
}

impl Connections {
    pub fn new(connections: impl IntoIterator<Item = Conn>) -> Connections {
        let keyed = connections.into_iter().map(|conn| (conn.spec.key.clone(), Arc::new(conn)));
        Connections {
            all: RwLock::new(keyed.collect()),
            version: AtomicU64::default(),
            rotating: tokio::sync::Mutex::default(),
        }
    }

    /// The same only as long as all are the same.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn get(&self, key: &ConnectionKey) -> Option<Arc<Conn>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// All of this moment, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = Arc<Conn>> + use<> {
        let all: Vec<Arc<Conn>> = self.all.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        all.into_iter()
    }

    /// From now on these are the ones of their keys. All at once: nobody sees one of two that share a credential without the other.
    pub fn replace(&self, connections: Vec<Conn>) {
        self.changes().extend(connections.into_iter().map(|conn| (conn.spec.key.clone(), Arc::new(conn))));
    }

    pub fn remove(&self, key: &ConnectionKey) {
        self.changes().remove(key);
    }

    /// Whoever sees the new version waits for what is changed.
    fn changes(&self) -> RwLockWriteGuard<'_, BTreeMap<ConnectionKey, Arc<Conn>>> {
        let all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        self.version.fetch_add(1, Ordering::AcqRel);
        all
    }

    /// Whether another one stands in this one's place, with another credential or another specification.
    pub fn is_superseded(&self, conn: &Conn) -> bool {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let is_another = |now: &Arc<Conn>| now.credential != conn.credential || now.edition != conn.edition;
        all.get(&conn.spec.key).is_some_and(is_another)
    }
}
