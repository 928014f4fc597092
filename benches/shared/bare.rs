//! The floor: redb alone, with a writer's thread that takes what waits, puts one row of a charge's size each into one table, commits, and
//! answers. Nothing is decided, encoded or remembered. What is above this is Larder's own; what is below it is not to be had with one
//! durable commit of this library.

use redb::{Database, TableDefinition};
use std::path::Path;
use std::thread::{self, JoinHandle};
use tokio::sync::{mpsc, oneshot};

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
/// What the charge of the benchmark has on disk.
const VALUE: [u8; 72] = [7; 72];
/// As the store's writer.
const BATCH: usize = 1024;

pub struct Bare {
    queue: mpsc::Sender<oneshot::Sender<()>>,
    writer: JoinHandle<()>,
}

impl Bare {
    pub fn start(path: &Path, cache: usize) -> Bare {
        let db = Database::builder().set_cache_size(cache).create(path).expect("a file");
        let (queue, work) = mpsc::channel(BATCH);
        Bare { queue, writer: thread::spawn(move || write(&db, work)) }
    }

    /// Returns when the row is on the disk.
    pub async fn put(&self) {
        let (tell, told) = oneshot::channel();
        self.queue.send(tell).await.expect("a writer");
        told.await.expect("a commit");
    }

    pub fn stop(self) {
        drop(self.queue);
        self.writer.join().expect("a writer that ended well");
    }
}

fn write(db: &Database, mut work: mpsc::Receiver<oneshot::Sender<()>>) {
    let (mut batch, mut number) = (Vec::new(), 0u64);
    while work.blocking_recv_many(&mut batch, BATCH) > 0 {
        let txn = db.begin_write().expect("a transaction");
        let mut rows = txn.open_table(ROWS).expect("a table");
        for _ in &batch {
            number += 1;
            rows.insert(number.to_be_bytes().as_slice(), VALUE.as_slice()).expect("a row");
        }
        drop(rows);
        txn.commit().expect("a commit");
        // A waiter that is gone needs no answer.
        for waiter in batch.drain(..) {
            let _ = waiter.send(());
        }
    }
}
