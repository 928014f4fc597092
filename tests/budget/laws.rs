//! The evidence of a story before the judges. Every law holds wherever between reservation and arrival the provider counts.

use crate::book::Book;
use crate::judges::calendar::{Period, Zoned};
use crate::judges::concurrency::{Concurrency, Stay};
use crate::judges::counts::{FixedWindows, Gcra, Opened, SlidingLog};
use crate::judges::{Judge, judge_all};
use crate::run::{Broken, Evidence, Look, Sent, broken, endpoints, live, true_offset};
use crate::trace::Trace;
use larder::domain::ids::{Caller, Endpoint};
use larder::domain::limit::{Kind, Limit, Scope};
use larder::domain::time::Steady;
use larder::rules::budget::Usage;

/// Where in its allowed interval the provider counts each request.
#[derive(Clone, Copy, Debug)]
enum Assign {
    AsDrawn,
    AllEarly,
    AllLate,
}

impl Assign {
    const ALL: [Assign; 3] = [Assign::AsDrawn, Assign::AllEarly, Assign::AllLate];

    fn at(self, sent: &Sent) -> Option<Steady> {
        let drawn = sent.counted?;
        Some(match self {
            Assign::AsDrawn => sent.counted_at(drawn),
            Assign::AllEarly => sent.counted_at(0),
            Assign::AllLate => sent.end,
        })
    }
}

/// Lives the story and holds every law to it.
pub fn hold_all<B: Book>(trace: &Trace) -> Result<(), Broken> {
    let evidence = live::<B>(trace)?;
    for limit in &trace.limits {
        for scope in scopes(limit) {
            let bench = Bench { trace, evidence: &evidence, limit, scope: &scope };
            for assign in Assign::ALL {
                bench.never_over(assign)?;
                bench.others_leave_what_is_kept(assign)?;
                bench.shows_no_less(assign)?;
            }
            bench.caps_hold()?;
            bench.rolling_shows_no_more()?;
        }
    }
    Ok(())
}

/// The endpoints that a limit counts apart.
fn scopes(limit: &Limit) -> Vec<Option<Endpoint>> {
    match limit.scope {
        Scope::Credential => vec![None],
        Scope::Endpoint => endpoints().into_iter().map(Some).collect(),
    }
}

/// One limit, for one endpoint where it is scoped so, before its judges.
struct Bench<'a> {
    trace: &'a Trace,
    evidence: &'a Evidence,
    limit: &'a Limit,
    scope: &'a Option<Endpoint>,
}

impl<'a> Bench<'a> {
    fn sent(&self) -> impl Iterator<Item = &'a Sent> + use<'a> {
        self.first_sent(usize::MAX)
    }

    fn first_sent(&self, n: usize) -> impl Iterator<Item = &'a Sent> + use<'a> {
        let scope = self.scope;
        self.evidence.sent.iter().take(n).filter(move |s| scope.as_ref().is_none_or(|e| *e == s.record.endpoint))
    }

    /// The provider's clock, on which judges live.
    fn wall(&self, at: Steady) -> i64 {
        at.0 as i64 + true_offset(self.trace)
    }

    fn judges(&self, amount: u64) -> Vec<Box<dyn Judge>> {
        let skew = self.trace.skew;
        match &self.limit.kind {
            Kind::Rolling { window } => vec![Box::new(SlidingLog::new(amount, window.0))],
            Kind::Fixed { window } => vec![Box::new(FixedWindows::new(amount, window.0, skew))],
            Kind::Anchored { window } => vec![Box::new(Opened::new(amount, window.0))],
            Kind::Daily { resets_at, time_zone } => Zoned::all(amount, time_zone, Period::Day, resets_at.0, skew),
            Kind::Weekly { day, resets_at, time_zone } => {
                Zoned::all(amount, time_zone, Period::Week(*day as u8), resets_at.0, skew)
            }
            Kind::Monthly { day, resets_at, time_zone } => {
                Zoned::all(amount, time_zone, Period::Month(*day), resets_at.0, skew)
            }
            Kind::Pace { window } => {
                vec![Box::new(SlidingLog::new(amount, window.0)), Box::new(Gcra::new(amount, window.0, 0))]
            }
            Kind::Concurrent => Vec::new(),
        }
    }

    fn counted(&self, assign: Assign) -> impl Iterator<Item = (i64, u64)> {
        self.first_counted(assign, usize::MAX)
    }

    /// Of the first `n` requests of the story.
    fn first_counted(&self, assign: Assign, n: usize) -> impl Iterator<Item = (i64, u64)> {
        self.first_sent(n).filter_map(move |s| Some((self.wall(assign.at(s)?), u64::from(s.record.cost))))
    }

    /// Law 1.
    fn never_over(&self, assign: Assign) -> Result<(), Broken> {
        for mut judge in self.judges(self.limit.amount) {
            if let Err(over) = judge_all(judge.as_mut(), self.counted(assign)) {
                return broken("never over", format!("{over} ({:?}, counted {assign:?})", self.limit));
            }
        }
        match self.limit.kind {
            Kind::Concurrent => self.in_flight(assign, self.limit.amount, |_| true),
            _ => Ok(()),
        }
    }

    fn in_flight(&self, assign: Assign, limit: u64, whose: impl Fn(Caller) -> bool) -> Result<(), Broken> {
        self.flight(assign, limit, usize::MAX, whose)
            .verdict()
            .or_else(|over| broken("never over", format!("{over} ({:?}, counted {assign:?})", self.limit)))
    }

    fn flight(&self, assign: Assign, limit: u64, first: usize, whose: impl Fn(Caller) -> bool) -> Concurrency {
        let mut judge = Concurrency::new(limit);
        for sent in self.first_sent(first).filter(|s| whose(s.record.caller)) {
            if let Some(from) = assign.at(sent) {
                judge.stay(Stay { from: self.wall(from), until: self.wall(sent.end), cost: 1 });
            }
        }
        judge
    }

    /// Everybody but the one for whom units are kept stays below the rest.
    fn others_leave_what_is_kept(&self, assign: Assign) -> Result<(), Broken> {
        for (keeper, kept) in &self.limit.keep {
            let rest = self.limit.amount - kept;
            for mut judge in self.judges(rest) {
                // The keeper's requests weigh nothing here; they still open windows.
                let weight = |s: &Sent| if s.record.caller == *keeper { 0 } else { u64::from(s.record.cost) };
                let counted = self.sent().filter_map(|s| Some((self.wall(assign.at(s)?), weight(s))));
                if let Err(over) = judge_all(judge.as_mut(), counted) {
                    return broken("kept from others", format!("{over} besides {keeper} ({:?})", self.limit));
                }
            }
            if self.limit.kind == Kind::Concurrent {
                let over = self.in_flight(assign, rest, |caller| caller != *keeper);
                over.or_else(|b| broken("kept from others", b.detail))?;
            }
        }
        Ok(())
    }

    fn caps_hold(&self) -> Result<(), Broken> {
        for (caller, cap) in &self.limit.cap {
            let over = self.in_flight(Assign::AllEarly, *cap, |c| c == *caller);
            over.or_else(|b| broken("cap", format!("{caller}: {}", b.detail)))?;
        }
        Ok(())
    }

    fn shown<'l>(&self, look: &'l Look) -> Result<&'l Usage, Broken> {
        let found = look.usage.iter().find(|u| u.limit.name == self.limit.name && u.endpoint == *self.scope);
        match found {
            Some(usage) => Ok(usage),
            None => broken("shows every limit", format!("{} {:?} in {:?}", self.limit.name, self.scope, look.usage)),
        }
    }

    /// A reader never sees less than the provider has counted.
    fn shows_no_less(&self, assign: Assign) -> Result<(), Broken> {
        for look in &self.evidence.looks {
            let (usage, at) = (self.shown(look)?, self.wall(look.at));
            let mut counted: Vec<_> = self.first_counted(assign, look.sent).filter(|(then, _)| *then <= at).collect();
            counted.sort_unstable();
            let sliding = if matches!(self.limit.kind, Kind::Pace { .. }) { 1 } else { usize::MAX };
            let level = match &self.limit.kind {
                Kind::Concurrent => self.flight(assign, u64::MAX, look.sent, |_| true).level(at),
                // GCRA's level is a length of time; what went out over the window is the sliding count.
                _ => {
                    let judges = self.judges(u64::MAX / 2).into_iter().take(sliding);
                    judges.map(|judge| level(judge, &counted, at)).max().unwrap_or(0)
                }
            };
            if usage.used < level {
                let what =
                    format!("shown {} where the provider has {level} at {:?} ({:?})", usage.used, look.at, self.limit);
                return broken("shows no less", what);
            }
        }
        Ok(())
    }

    /// Small rolling limits are kept to the millisecond: neither a unit more nor longer than the rule demands.
    fn rolling_shows_no_more(&self) -> Result<(), Broken> {
        let Kind::Rolling { window } = self.limit.kind else { return Ok(()) };
        if self.limit.amount > 100 || self.trace.steps.iter().any(|s| matches!(s, crate::trace::Step::Restart { .. })) {
            return Ok(());
        }
        // what was told by the end is what was told at the last look: the story ends with it
        let Some(look) = self.evidence.looks.last() else { return Ok(()) };
        let holds = |s: &&Sent| s.held_until(window).is_some_and(|until| until > look.at);
        let right: u64 = self.sent().filter(holds).map(|s| u64::from(s.record.cost)).sum();
        let used = self.shown(look)?.used;
        if used == right { Ok(()) } else { broken("shows no more", format!("{used} where the rule holds {right}")) }
    }
}

fn level(mut judge: Box<dyn Judge>, counted: &[(i64, u64)], at: i64) -> u64 {
    for (then, cost) in counted {
        let _ = judge.count(*then, *cost);
    }
    judge.level(at)
}
