//! Lives a story on a book, and keeps what a provider and a reader would have seen. Checks on the way what only the book can answer:
//! that a refusal knows its moment, takes nothing, and respects what is kept.

use crate::book::{Book, CREDENTIAL};
use crate::trace::{Fate, Step, Trace};
use larder::domain::charge::{Charge, Resolution, Settlement};
use larder::domain::connection::Ask;
use larder::domain::ids::{Caller, ChargeId, ConnectionKey, ConnectionName, Endpoint, Organization};
use larder::domain::limit::{Kind, Limit};
use larder::domain::outcome::Outcome;
use larder::domain::time::{ClockTrust, Now, Span, Steady};
use larder::rules::budget::{Refusal, Request, Usage};

/// A law that did not hold. `law` is stable, for the planted mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub law: &'static str,
    pub detail: String,
}

pub fn broken<T>(law: &'static str, detail: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { law, detail: detail.into() })
}

/// A request that was sent. Times are steady.
#[derive(Clone, Debug)]
pub struct Sent {
    /// With the resolution that reached the disk.
    pub record: Charge,
    /// When the provider counted it, as a share of the time from reservation to `end`; `None`: it never saw it.
    pub counted: Option<u32>,
    /// The answer, or the latest moment that the provider may count at.
    pub end: Steady,
    /// What the book was told last: arrival and settlement.
    told: Option<(Steady, Settlement)>,
}

impl Sent {
    /// The instant at which the provider counts, for a share of the way.
    pub fn counted_at(&self, share: u32) -> Steady {
        let way = self.end.since(self.record.reserved_at.steady);
        self.record.reserved_at.steady + Span(way.0 * u64::from(share) / 1000)
    }
}

/// What a reader saw.
#[derive(Clone, Debug)]
pub struct Look {
    pub at: Steady,
    /// Requests that had been sent by then.
    pub sent: usize,
    pub usage: Vec<Usage>,
}

/// What is left of a story.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub sent: Vec<Sent>,
    pub looks: Vec<Look>,
}

/// Where the story begins on the steady line.
pub const START: Steady = Steady(50_000_000);

struct Flight {
    sent: usize,
    ends: Steady,
    settlement: Settlement,
    outcome: Outcome,
}

struct Run<'t, B> {
    trace: &'t Trace,
    book: B,
    now: Steady,
    /// Wall minus steady, newest first; the true one is always among them.
    offsets: Vec<i64>,
    flights: Vec<Flight>,
    evidence: Evidence,
    moment: Option<Steady>,
    /// A restart lost what was known about an answer, or a calendar stepped back: the ledger must fear more than before.
    fears_more: bool,
}

pub fn endpoints() -> Vec<Endpoint> {
    vec!["/a".into(), "/b".into()]
}

/// True wall minus steady.
pub fn true_offset(trace: &Trace) -> i64 {
    trace.begins - START.0 as i64
}

pub fn live<B: Book>(trace: &Trace) -> Result<Evidence, Broken> {
    let mut run = Run {
        trace,
        book: B::open(&trace.limits),
        now: START,
        offsets: vec![true_offset(trace)],
        flights: Vec::new(),
        evidence: Evidence::default(),
        moment: None,
        fears_more: false,
    };
    for step in &trace.steps {
        run.step(step)?;
    }
    run.look();
    Ok(run.evidence)
}

impl<B: Book> Run<'_, B> {
    fn step(&mut self, step: &Step) -> Result<(), Broken> {
        match step {
            Step::Ask { caller, second_endpoint, cost, fate } => {
                let endpoint = endpoints()[usize::from(*second_endpoint)].clone();
                self.ask(Ask { caller: *caller, endpoint, cost: *cost, organization: None }, *fate)?;
            }
            Step::Wait { limit, permille, and_ms } => {
                let limit = &self.trace.limits[limit % self.trace.limits.len()];
                let window = limit.kind.nominal_window().unwrap_or(self.trace.request_timeout);
                self.advance(self.now + Span(window.0 * u64::from(*permille) / 1000 + and_ms));
            }
            Step::UntilTheMoment => {
                if let Some(at) = self.moment.take() {
                    self.advance(at.max(self.now));
                }
            }
            Step::Look => self.look(),
            Step::Sweep => self.book.sweep(&self.now()),
            Step::Restart { lazy_ms } => self.restart(Span(*lazy_ms)),
            Step::WallWrong { by_ms } => {
                let right = true_offset(self.trace);
                self.fears_more = true;
                self.offsets.insert(0, right + by_ms);
                self.offsets.dedup();
            }
            Step::WallRight => self.offsets = vec![true_offset(self.trace)],
        }
        self.kept_units_are_there()
    }

    fn now(&self) -> Now {
        self.now_at(self.now)
    }
    fn now_at(&self, steady: Steady) -> Now {
        Now { steady, era: 0, trust: ClockTrust::Trusted, offsets: self.offsets.clone() }
    }

    /// Time passes; answers arrive on the way, each at its moment.
    fn advance(&mut self, to: Steady) {
        loop {
            let next = self.flights.iter().enumerate().filter(|(_, f)| f.ends <= to).min_by_key(|(_, f)| f.ends);
            let Some((index, _)) = next else { break };
            let flight = self.flights.swap_remove(index);
            self.now = self.now.max(flight.ends);
            self.resolve(&flight);
        }
        self.now = self.now.max(to);
    }

    fn resolve(&mut self, flight: &Flight) {
        let resolution = Resolution {
            at: self.now().stamp(),
            settlement: flight.settlement,
            outcome: flight.outcome,
            status: (flight.outcome == Outcome::Data).then_some(200),
            rule: String::new(),
            said: None,
            cost: None,
        };
        let sent = &mut self.evidence.sent[flight.sent];
        self.book.resolve(sent.record.id, &resolution);
        sent.told = Some((resolution.at.steady, resolution.settlement));
        sent.record.resolution = Some(resolution);
    }

    fn ask(&mut self, ask: Ask, fate: Fate) -> Result<(), Broken> {
        let (now, before) = (self.now(), self.book.usage(&self.now(), &endpoints()));
        let foretold = self.book.would_admit(&now, &ask);
        let id = ChargeId(self.evidence.sent.len() as u64 + 1);
        let request = Request {
            connection: ConnectionKey {
                organization: Organization::default(),
                connection: ConnectionName("story".to_owned()),
            },
            target: None,
            ask: ask.clone(),
            send_grace: self.trace.send_grace,
            request_timeout: self.trace.request_timeout,
        };
        match self.book.admit(&now, id, &request) {
            Ok(charge) => {
                if let Err(refusal) = foretold {
                    return broken("would admit", format!("{ask:?} was foretold {refusal:?} and admitted"));
                }
                self.check_charge(&charge, id, &request)?;
                self.launch(charge, fate);
            }
            Err(refusal) => {
                if foretold != Err(refusal.clone()) {
                    return broken("would admit", format!("{ask:?} was foretold {foretold:?} and met {refusal:?}"));
                }
                if before != self.book.usage(&now, &endpoints()) {
                    return broken("refusal takes nothing", format!("{ask:?} {refusal:?}"));
                }
                self.refused(&ask, &refusal)?;
            }
        }
        Ok(())
    }

    fn check_charge(&self, charge: &Charge, id: ChargeId, request: &Request) -> Result<(), Broken> {
        let deadline = self.now + request.send_grace + request.request_timeout;
        let right = charge.id == id
            && charge.credential == CREDENTIAL
            && charge.connection == request.connection
            && charge.caller == request.ask.caller
            && charge.endpoint == request.ask.endpoint
            && charge.cost == request.ask.cost
            && charge.reserved_at == self.now().stamp()
            && charge.deadline == deadline
            && charge.resolution.is_none();
        if right { Ok(()) } else { broken("charge says what was asked", format!("{request:?} became {charge:?}")) }
    }

    fn launch(&mut self, charge: Charge, fate: Fate) {
        let (from, deadline) = (charge.reserved_at.steady, charge.deadline);
        let way = |share: u32| from + Span(deadline.since(from).0 * u64::from(share) / 1000);
        let (counted, ends, resolved) = match fate {
            Fate::Answered { after, counted } => (Some(counted), way(after), Some((Settlement::Posted, Outcome::Data))),
            Fate::TimedOut { counted } => (Some(counted), deadline, Some((Settlement::Posted, Outcome::TimedOut))),
            Fate::Abandoned { counted } => (Some(counted), deadline, None),
            Fate::Swallowed { after } => (None, way(after), Some((Settlement::Posted, Outcome::Dropped))),
            Fate::Voided { after } => (None, way(after), Some((Settlement::Voided, Outcome::Unreachable))),
        };
        let sent = self.evidence.sent.len();
        self.evidence.sent.push(Sent { record: charge, counted, end: ends, told: None });
        if let Some((settlement, outcome)) = resolved {
            self.flights.push(Flight { sent, ends, settlement, outcome });
            self.advance(self.now);
        }
    }

    /// A refusal knows its moment: admitted then, refused a millisecond before. And never is never.
    fn refused(&mut self, ask: &Ask, refusal: &Refusal) -> Result<(), Broken> {
        let never = self.trace.limits.iter().find(|l| u64::from(ask.cost) > l.amount - l.kept_from(ask.caller));
        match (refusal, never) {
            (Refusal::NeverFits { .. }, Some(_)) => Ok(()),
            (Refusal::NeverFits { limit }, None) => broken("never is never", format!("{ask:?} fits into {limit}")),
            (_, Some(limit)) => broken("never is never", format!("{ask:?} can never fit into {limit:?}: {refusal:?}")),
            (Refusal::Held(hold), None) => broken("no hold was set", format!("{hold:?}")),
            (Refusal::Probing { at }, None) => broken("no hold was set", format!("a probe until {at:?}")),
            (Refusal::NotUntil { at, .. }, None) => {
                self.moment = Some(*at);
                self.check_moment(ask, *at)
            }
        }
    }

    fn check_moment(&self, ask: &Ask, at: Steady) -> Result<(), Broken> {
        if at <= self.now {
            return broken("exact moment", format!("{ask:?} refused at {:?} until {at:?}", self.now));
        }
        if let Err(refusal) = self.book.would_admit(&self.now_at(at), ask) {
            return broken("exact moment", format!("{ask:?} refused until {at:?}, and then {refusal:?}"));
        }
        let before = Steady(at.0 - 1);
        match self.book.would_admit(&self.now_at(before), ask) {
            Err(_) => Ok(()),
            Ok(()) => broken("exact moment", format!("{ask:?} refused until {at:?}, and admitted a moment before")),
        }
    }

    fn look(&mut self) {
        let usage = self.book.usage(&self.now(), &endpoints());
        self.evidence.looks.push(Look { at: self.now, sent: self.evidence.sent.len(), usage });
    }

    /// The process dies and starts again from what reached the disk. Sockets died with it; the provider
    /// may count what it had been sent until the deadline.
    fn restart(&mut self, lazy: Span) {
        let now = self.now();
        for sent in &mut self.evidence.sent {
            let young = sent.record.resolution.as_ref().is_some_and(|r| self.now.since(r.at.steady) < lazy);
            if young {
                self.fears_more = true;
                sent.record.resolution = None;
                sent.told = None;
            }
        }
        for flight in self.flights.drain(..) {
            let sent = &mut self.evidence.sent[flight.sent];
            sent.end = sent.record.deadline;
        }
        // What opened the window of an anchored limit may be forgotten: then it is kept more strictly than before.
        self.fears_more |= self.trace.limits.iter().any(|l| matches!(l.kind, Kind::Anchored { .. }));
        self.book = B::open(&self.trace.limits);
        let horizon = B::horizon(&self.trace.limits, &now);
        for sent in self.evidence.sent.iter().filter(|s| s.record.reserved_at.steady >= horizon) {
            self.book.restore(&sent.record);
        }
    }

    /// Whoever has kept units that are not used gets them, whatever the others did (of one limit alone: with several, another
    /// may refuse). Only new doubt may take them: safe comes before kept.
    fn kept_units_are_there(&self) -> Result<(), Broken> {
        let [limit] = &self.trace.limits[..] else { return Ok(()) };
        if self.fears_more {
            return Ok(());
        }
        for usage in self.book.usage(&self.now(), &endpoints()) {
            let endpoint = usage.endpoint.clone().unwrap_or_else(|| endpoints().remove(0));
            for (caller, kept) in &limit.keep {
                let used = usage.used_by.get(caller).copied().unwrap_or(0);
                if used >= *kept || capped(limit, *caller, used) {
                    continue;
                }
                let cost = if limit.kind == Kind::Concurrent { 1 } else { (kept - used) as u32 };
                let ask = Ask { caller: *caller, endpoint: endpoint.clone(), cost, organization: None };
                if let Err(refusal) = self.book.would_admit(&self.now(), &ask) {
                    return broken("kept is kept", format!("{ask:?} of its own {kept} met {refusal:?}"));
                }
            }
        }
        Ok(())
    }
}

fn capped(limit: &Limit, caller: Caller, used: u64) -> bool {
    limit.kind == Kind::Concurrent && limit.cap.get(&caller).is_some_and(|cap| *cap <= used)
}

impl Sent {
    /// Until when a rolling window holds the unit, by the rule: the arrival, or the deadline while nothing else is known.
    pub fn held_until(&self, window: Span) -> Option<Steady> {
        match self.told {
            Some((_, Settlement::Voided)) => None,
            Some((at, Settlement::Posted)) => Some(at + window),
            None => Some(self.record.deadline + window),
        }
    }
}
