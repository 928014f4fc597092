//! Whose turn it is where several wait for one budget, with the waiting around the rule ([`crate::rules::line`]). The budget decides
//! *whether*; this decides only *who asks first*, so that what people wait for comes before what comes again by itself, and connections
//! that share a credential share it evenly (F1, F2), and organizations by their weights.

use super::core::Core;
use crate::domain::connection::Ask;
use crate::domain::ids::CredentialId;
use crate::domain::part::PartsByOrganization;
use crate::domain::time::{Span, Steady};
use crate::rules::line::Line;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How often, and for how long each, somebody gives way to whoever comes before it and could go now. Then it asks all the same: who is
/// in the line may be busy with something else.
pub const COURTESIES: u32 = 25;
const COURTESY: Span = Span(20);

/// The waiting of one credential.
pub struct Turns {
    line: Mutex<Line>,
    /// Rung when units may have come free earlier than was told: an answer arrived, a hold was lifted, somebody left the line.
    bell: watch::Sender<()>,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { line: Mutex::default(), bell: watch::channel(()).0 }
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

/// The bell of a line; nothing rings where there is none.
pub async fn rung(ear: &mut Option<Ear>) {
    match ear {
        Some(ear) => ear.rung().await,
        None => std::future::pending().await,
    }
}

/// A place in the line, left by dropping it.
pub struct Turn<'a> {
    turns: &'a Turns,
    number: u64,
}

impl Turns {
    /// The weights of the organizations from now on.
    pub fn divide(&self, parts: PartsByOrganization) {
        self.line().divide(parts);
    }

    pub fn enter(&self, ask: Ask) -> Turn<'_> {
        Turn { turns: self, number: self.line().enter(ask) }
    }

    pub fn ring(&self) {
        self.bell.send_replace(());
    }

    pub fn ear(&self) -> Ear {
        Ear(self.bell.subscribe())
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Whether somebody who comes first could go now. Who could not is passed: it waits for something else.
    pub fn somebody_before(&self, could_go: impl Fn(&Ask) -> bool) -> bool {
        // The budget is not asked under the lock that everybody who comes and goes takes.
        let before: Vec<Ask> = self.turns.line().before(self.number).cloned().collect();
        before.iter().any(could_go)
    }

    /// The budget let it through: it waits no more, and has passed those behind it.
    pub fn went(&self) {
        self.turns.line().serve(self.number);
    }

    /// Until when to wait for somebody who comes first and could go now; at most [`COURTESIES`] times in a row.
    pub fn gives_way(&self, core: &Core, credential: CredentialId) -> Option<Steady> {
        let now = core.clock.now();
        let could_go = |ask: &Ask| core.store.would_admit(credential, &now, ask).is_ok();
        self.somebody_before(could_go).then(|| now.steady + COURTESY)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.line().leave(self.number);
        self.turns.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{Caller, Endpoint};

    fn ask(endpoint: &str) -> Ask {
        Ask { caller: Caller::Poller, endpoint: Endpoint::from(endpoint), cost: 1, organization: None }
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

    #[test]
    fn who_was_let_through_is_no_longer_waited_for() {
        let turns = Turns::default();
        let (first, second) = (turns.enter(ask("/a")), turns.enter(ask("/a")));
        first.went();
        assert!(!second.somebody_before(|_| true), "its request is under way");
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
