//! The writer's thread and the thread that tells it that time passes. Started with the store, ended with it. Knows
//! threads and queues; must not know what is written. Reads no clock: it only sleeps.

use super::core::Core;
use super::work::{Reply, Work};
use super::{StoreError, TICK};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::sync::{mpsc, oneshot};

/// Work that may wait for the writer before senders have to.
const ROOM: usize = 4096;
/// Work that one commit takes at most.
const BATCH: usize = 1024;

/// The way to the writer, and the end of its thread.
pub(super) struct Queue {
    core: Arc<Core>,
    /// `None`: the writer works in its caller.
    queue: Option<mpsc::Sender<Work>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Dropped to end the ticking.
    ticking: Mutex<Option<SyncSender<()>>>,
}

impl Queue {
    pub fn inline(core: Arc<Core>) -> Queue {
        Queue { core, queue: None, threads: Mutex::default(), ticking: Mutex::default() }
    }

    pub fn threaded(core: Arc<Core>) -> Result<Queue, StoreError> {
        let (queue, work) = mpsc::channel(ROOM);
        let (ticking, stop) = sync_channel(0);
        let failed = |e: std::io::Error| StoreError::Io(format!("no thread could be started for the writer ({e})"));
        let mut to = Queue::inline(Arc::clone(&core));
        let writer = Arc::clone(&core);
        let writer = thread::Builder::new().name("larder-writer".into()).spawn(move || write(&writer, work));
        to.queue = Some(queue.clone());
        to.ticking = Mutex::new(Some(ticking));
        to.threads.get_mut().unwrap_or_else(PoisonError::into_inner).push(writer.map_err(failed)?);
        let ticker = thread::Builder::new().name("larder-ticks".into()).spawn(move || tick(&core, &queue, &stop));
        to.threads.get_mut().unwrap_or_else(PoisonError::into_inner).push(ticker.map_err(failed)?);
        Ok(to)
    }

    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Hands in work and waits for its answer: a commit, or a refusal.
    pub async fn submit<T>(&self, work: impl FnOnce(Reply<T>) -> Work) -> Result<T, StoreError> {
        if self.core.is_closed() {
            return Err(StoreError::Closed);
        }
        let (reply, answer) = oneshot::channel();
        match &self.queue {
            Some(queue) => queue.send(work(reply)).await.map_err(|_| StoreError::Closed)?,
            None => self.core.writing().run(&self.core, &mut vec![work(reply)]),
        }
        answer.await.unwrap_or_else(|_| {
            Err(StoreError::Io("the writer ended before it answered: whether this was written is not known".to_owned()))
        })
    }

    /// Ends the threads. Work that is still queued is refused if the store was closed, else done.
    pub fn stop(&self) {
        drop(self.ticking.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(queue) = &self.queue {
            // A full queue wakes the writer as well, and it looks after every batch.
            let _ = queue.try_send(Work::Stop);
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let me = thread::current().id();
        for thread in threads.into_iter().filter(|t| t.thread().id() != me) {
            // A panic was told where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.core.begin_stop();
        self.stop();
    }
}

fn write(core: &Core, mut work: mpsc::Receiver<Work>) {
    let mut batch = Vec::with_capacity(BATCH);
    while work.blocking_recv_many(&mut batch, BATCH) > 0 {
        core.writing().run(core, &mut batch);
        if core.is_stopping() {
            break;
        }
    }
    work.close();
    while let Ok(late) = work.try_recv() {
        core.writing().run(core, &mut vec![late]);
    }
}

fn tick(core: &Core, queue: &mpsc::Sender<Work>, stop: &Receiver<()>) {
    while stop.recv_timeout(TICK.to_std()) == Err(RecvTimeoutError::Timeout) {
        core.pin();
        // A full queue is about to be written anyway.
        let _ = queue.try_send(Work::Tick);
    }
}
