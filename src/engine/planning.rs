//! What the connections that spend from one budget ask of it, as `rules::plan` wants to know it: how often, at what price, and how often
//! a token is renewed. Learned while it runs; must not know what is spent.

use super::core::{Conn, Core};
use super::fetch::Round;
use super::plans;
use crate::domain::charge::Charge;
use crate::domain::connection::{ConnectionState, IntervalOverride};
use crate::domain::limit::Limit;
use crate::domain::oauth::Counted;
use crate::domain::spec::{Interval, TargetSpec, endpoint_of};
use crate::domain::time::Span;
use crate::rules::plan::among::Among;
use crate::rules::plan::{self, Load, Plan, Question, UNKNOWN_LIFE};
use crate::store::{Commit, Lane, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

/// The highest cost that these charges of its connection show for a target whose answers name it; 0 where none does.
pub fn price(target: &TargetSpec, charges: &[Charge]) -> u32 {
    let own = charges.iter().filter(|c| target.send.cost_from.is_some() && c.target.as_ref() == Some(&target.name));
    own.map(|c| c.cost).max().unwrap_or(0)
}

/// How long the access tokens of a credential live, as its provider says with each.
#[derive(Debug, Default)]
pub struct TokenLife(AtomicU64);

impl TokenLife {
    /// From here on a token is taken not to end by itself.
    const FOR_EVER: Span = Span::from_secs(366 * 86_400);

    /// `None`: nobody has said it yet.
    pub fn learn(&self, lives: Option<Span>) {
        self.0.store(lives.map_or(0, |lives| lives.0.max(1)), Ordering::Relaxed);
    }
    pub fn learned(&self) -> Option<Span> {
        Some(self.0.load(Ordering::Relaxed)).filter(|lives| *lives > 0).map(Span)
    }
    pub fn get(&self) -> Span {
        match self.0.load(Ordering::Relaxed) {
            0 => UNKNOWN_LIFE,
            lives => Span(lives),
        }
    }
}

/// Zero where the interval is `auto`.
fn every(interval: Interval) -> Span {
    match interval {
        Interval::Every(span) => span,
        Interval::Auto => Span::ZERO,
    }
}

impl Conn {
    /// The interval that an operator set, or as configured; zero: `auto`. With how long it has to be kept, where not for ever.
    pub fn wish(&self) -> (Span, Option<Span>) {
        let set = self.overrides().interval;
        let bounded = |set: &IntervalOverride| set.until.map(|until| until.steady.since(set.at.steady));
        let over = set.as_ref().and_then(bounded);
        (every(set.map_or(self.spec.poll.interval, |set| set.interval)), over)
    }

    /// What it wishes for those who spend with it; `None`: it is not polled. What an operator set for a bounded time is not in it: it is
    /// paid with what is left over, and slows nobody else down.
    pub(super) fn lasting_wish(&self, state: &ConnectionState) -> Option<Span> {
        let lasting = state.overrides.lasting_interval();
        self.enabled(state).then(|| every(lasting.map_or(self.spec.poll.interval, |set| set.interval)))
    }

    /// The plan of what is polled now.
    pub fn plan(&self) -> Arc<Plan> {
        let wish = self.wish();
        self.sharing.plan((&self.spec.key, wish), |limits| self.question(limits, wish))
    }

    /// Once for each stretch: the log says from what to what, and why.
    pub fn tell_stretch(&self) {
        let plan = self.plan();
        let mut told = self.stretch_told.lock().unwrap_or_else(PoisonError::into_inner);
        if *told == plan.stretched() {
            return;
        }
        *told = plan.stretched();
        match plans::stretched(&plan) {
            Some(stretch) => tracing::warn!(connection = %self.spec.key, "{}", stretch.sentence),
            None => {
                tracing::info!(connection = %self.spec.key, "its interval of {} can be kept up again", plan.kept.interval.exact())
            }
        }
    }

    /// What there is to plan, at any interval.
    pub fn question<'a>(&self, limits: &'a [Limit], (every, over): (Span, Option<Span>)) -> Question<'a> {
        let (mut own, mut others, mut among) = (None, Vec::new(), self.among());
        for (key, asked, wish) in self.sharing.asked() {
            match wish {
                _ if key == self.spec.key => own = Some(asked),
                Some(every) if key.organization != self.spec.key.organization && among.is_some() => {
                    let Some(among) = &mut among else { continue };
                    let Some(place) = among.parts.place(&key.organization) else { continue };
                    let loads =
                        std::iter::once(Load { demands: asked.demands.clone(), every }).chain(asked.beside(every));
                    among.loads.extend(loads.map(|load| (place, load)));
                }
                Some(every) => {
                    others.push(Load { demands: asked.demands.clone(), every });
                    others.extend(asked.beside(every));
                }
                None => {}
            }
        }
        let own = own.unwrap_or_default();
        Question {
            limits,
            targets: own.targets,
            own: Load { demands: own.demands.clone(), every },
            beside: own.beside(every).chain(self.renewals(every)).collect(),
            others,
            among,
            over,
        }
    }

    /// Who else divides the budget; `None`: nobody does.
    fn among(&self) -> Option<Among> {
        let parts = self.sharing.parts()?;
        Some(Among { place: parts.place(&self.spec.key.organization)?, parts, loads: Vec::new() })
    }

    /// Where the provider counts them, and the tokens end.
    pub(super) fn renewals(&self, asked_every: Span) -> Option<Load> {
        let oauth = self.spec.oauth.as_ref().filter(|oauth| oauth.counted == Counted::Budget)?;
        let lives = Some(self.sharing.token_life.get()).filter(|lives| *lives < TokenLife::FOR_EVER)?;
        Some(plan::renewals(endpoint_of(&oauth.token_url), lives, asked_every))
    }
}

/// The next round was stamped by the plan as it was while this one went on. What it learned, as how few pages a scan takes in place of its
/// targets, may make it due earlier; never sooner than an interval after this one began (law 8).
pub async fn due_anew(core: &Core, conn: &Conn, round: Round) {
    let mut state = conn.state.lock().await;
    let due = round.next(conn, state.failures, &core.store.holds(conn.credential));
    if due.zip(state.next_poll_at).is_none_or(|(due, stamped)| due.steady >= stamped.steady) {
        return;
    }
    let next = ConnectionState { next_poll_at: due, ..state.clone() };
    // A crash that takes it leaves a later round.
    let writes = vec![Write::Connection(conn.spec.key.clone(), next.clone())];
    if core.commit(Commit { writes, lane: Lane::Lazy, ..Commit::default() }).await.is_ok() {
        *state = next;
    }
}
