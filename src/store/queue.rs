//! The way to the writer: its thread, which takes what waits together; or, for who waits alone, its place. And the thread that tells
//! it that time passes. Started with the store, ended with it. Knows threads and queues; must not know what is written. Reads no
//! clock: it only sleeps.

use super::core::Core;
use super::line::{InPlace, Line};
use super::work::{Reply, Work};
use super::{StoreError, TICK};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::block_in_place;

/// The way to the writer, and the end of its thread.
pub(super) struct Queue {
    core: Arc<Core>,
    /// `None`: the writer works in its caller.
    queue: Option<Arc<Line<Work>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Dropped to end the ticking.
    ticking: Mutex<Option<SyncSender<()>>>,
}

impl Queue {
    pub fn inline(core: Arc<Core>) -> Queue {
        Queue { core, queue: None, threads: Mutex::default(), ticking: Mutex::default() }
    }

    pub fn threaded(core: Arc<Core>) -> Result<Queue, StoreError> {
        let queue = Arc::new(Line::new());
        let (ticking, stop) = sync_channel(0);
        let failed = |e: std::io::Error| StoreError::Io(format!("no thread could be started for the writer ({e})"));
        let mut to = Queue::inline(Arc::clone(&core));
        let (writer, work) = (Arc::clone(&core), Arc::clone(&queue));
        let writer = thread::Builder::new().name("larder-writer".into()).spawn(move || write(&writer, &work));
        to.queue = Some(Arc::clone(&queue));
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
            Some(queue) => match place(queue) {
                Some(place) => block_in_place(|| {
                    self.core.writing().run(&self.core, &mut vec![work(reply)]);
                    drop(place);
                }),
                None => queue.push(work(reply)).map_err(|_| StoreError::Closed)?,
            },
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
            // It may have ended by itself.
            let _ = queue.push_last(Work::Stop);
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

/// Who waits alone writes in the writer's place and is spared the way to its thread and back, where the runtime has threads for
/// what else there is to do meanwhile.
fn place(queue: &Line<Work>) -> Option<InPlace<'_, Work>> {
    let may_block = Handle::try_current().is_ok_and(|h| h.runtime_flavor() == RuntimeFlavor::MultiThread);
    if may_block { queue.take_place() } else { None }
}

fn write(core: &Core, work: &Line<Work>) {
    // Whatever ends this thread, nobody waits for it for ever.
    let _closed_at_the_end = Closing(work);
    let mut batch = Vec::new();
    while !core.is_stopping() {
        work.take(&mut batch);
        core.writing().run(core, &mut batch);
    }
    for late in work.close() {
        core.writing().run(core, &mut vec![late]);
    }
}

struct Closing<'a>(&'a Line<Work>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        drop(self.0.close());
    }
}

fn tick(core: &Core, queue: &Line<Work>, stop: &Receiver<()>) {
    while stop.recv_timeout(TICK.to_std()) == Err(RecvTimeoutError::Timeout) {
        core.pin();
        // It is told in the log.
        let _ = core.is_at_its_place();
        // Nobody to tell: it is ending.
        let _ = queue.push(Work::Tick);
    }
}
