//! Whose turn it is where several loops wait for one budget. The budget decides *whether*; this decides only *who asks first*, so
//! that connections that share a credential share it evenly (F1). Knows nothing of limits.

use crate::domain::connection::Ask;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// The waiting of one credential: first come, first asked.
pub struct Turns {
    waiting: Mutex<Waiting>,
    /// Rung when units may have come free earlier than was told: an answer arrived, a hold was lifted, somebody left the line.
    bell: watch::Sender<()>,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { waiting: Mutex::default(), bell: watch::channel(()).0 }
    }
}

/// Hears every ring since it last listened, also one that came before it began to wait.
pub struct Ear(watch::Receiver<()>);

impl Ear {
    /// Rings from now on count.
    pub fn listen(&mut self) {
        self.0.mark_unchanged();
    }
    pub async fn rung(&mut self) {
        // The bell is gone only with the engine, which ends the waiting by itself.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[derive(Default)]
struct Waiting {
    next: u64,
    line: BTreeMap<u64, Ask>,
}

/// A place in the line, left by dropping it.
pub struct Turn<'a> {
    turns: &'a Turns,
    number: u64,
}

impl Turns {
    pub fn enter(&self, ask: Ask) -> Turn<'_> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let number = waiting.next;
        waiting.next += 1;
        waiting.line.insert(number, ask);
        Turn { turns: self, number }
    }

    pub fn ring(&self) {
        self.bell.send_replace(());
    }

    pub fn ear(&self) -> Ear {
        Ear(self.bell.subscribe())
    }
}

impl Turn<'_> {
    /// Whether somebody who came earlier could go now. Who could not is passed: it waits for something else.
    pub fn somebody_before(&self, could_go: impl Fn(&Ask) -> bool) -> bool {
        let waiting = self.turns.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.line.range(..self.number).any(|(_, ask)| could_go(ask))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.waiting.lock().unwrap_or_else(PoisonError::into_inner).line.remove(&self.number);
        self.turns.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{Caller, Endpoint};

    fn ask(endpoint: &str) -> Ask {
        Ask { caller: Caller::Poller, endpoint: Endpoint::from(endpoint), cost: 1 }
    }

    #[test]
    fn first_come_first_asked_but_nobody_waits_behind_who_cannot_go() {
        let turns = Turns::default();
        let (first, second) = (turns.enter(ask("/a")), turns.enter(ask("/b")));
        assert!(!first.somebody_before(|_| true));
        assert!(second.somebody_before(|a| a.endpoint.as_str() == "/a"));
        assert!(!second.somebody_before(|_| false));
        drop(first);
        assert!(!second.somebody_before(|_| true));
    }

    #[tokio::test]
    async fn a_ring_between_asking_and_waiting_is_heard() {
        let turns = Turns::default();
        let mut ear = turns.ear();
        let turn = turns.enter(ask("/a"));
        ear.listen();
        drop(turn);
        ear.rung().await;
        let mut again = std::pin::pin!(ear.rung());
        assert!(futures_util::poll!(again.as_mut()).is_pending());
    }
}
