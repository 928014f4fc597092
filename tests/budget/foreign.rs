//! A provider whose limit is shared with somebody who is not Larder, and who says after every answer what is left. Our requests are never
//! over unless the other has spent since the provider's last word; a word that can be our own takes nothing; refusals stay exact.

use crate::book::CREDENTIAL;
use crate::judges::Judge;
use crate::judges::counts::{FixedWindows, SlidingLog};
use larder::domain::charge::{Resolution, Settlement};
use larder::domain::connection::Ask;
use larder::domain::ids::{Caller, ChargeId, ConnectionKey, Endpoint};
use larder::domain::limit::{Kind, Limit, Scope};
use larder::domain::outcome::Outcome;
use larder::domain::quota::{Claim, Learned, LimitKey};
use larder::domain::time::{ClockTrust, Now, Span, Steady};
use larder::rules::budget::{Ledger, Refusal, Request};
use larder::rules::learn::{AGREE, Answered, Evidence, learn};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    /// The other spends so many units.
    Other(u64),
    /// We ask, if we may: the way there and the way back in ms.
    Ask(u64, u64),
    /// The process dies and reads back what it had written down.
    Restart,
}

fn step(others: bool) -> impl Strategy<Value = Step> {
    let other = if others { 3 } else { 0 };
    prop_oneof![
        3 => (0u64..30_000).prop_map(Step::Wait),
        other + 1 => (1u64..4).prop_map(move |n| Step::Other(if others { n } else { 0 })),
        8 => (0u64..1500, 0u64..1500).prop_map(|(there, back)| Step::Ask(there, back)),
        1 => Just(Step::Restart),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Style {
    Sliding,
    Aligned,
}

const WINDOW: u64 = 60_000;

fn limit(style: Style, amount: u64) -> Limit {
    let window = Span(WINDOW);
    let kind = match style {
        Style::Sliding => Kind::Rolling { window },
        Style::Aligned => Kind::Fixed { window },
    };
    let (keep, cap) = Default::default();
    Limit { name: "minute".into(), amount, kind, scope: Scope::Credential, keep, reach: Default::default(), cap }
}

struct Shared {
    limit: Limit,
    judge: Box<dyn Judge>,
    ledger: Ledger,
    learned: Option<Learned>,
    now: u64,
    asked: u64,
    charges: Vec<larder::domain::charge::Charge>,
    /// What the other has spent since the provider's last word that left no doubt.
    news: u64,
    /// That word, if it was heeded on probation only.
    probation_ends: Option<u64>,
    /// Requests of ours that the provider counted beyond its limit although it had told us enough.
    unforced: Vec<String>,
    refused: u64,
    /// A refusal holds the credential for the window, as it does where no other wait is given. What the provider counts beyond its limit
    /// it does not say, and by then it is over.
    held_until: u64,
    most_taken: u64,
}

impl Shared {
    fn new(style: Style, amount: u64) -> Shared {
        let limit = limit(style, amount);
        let judge: Box<dyn Judge> = match style {
            Style::Sliding => Box::new(SlidingLog::new(amount, WINDOW)),
            Style::Aligned => Box::new(FixedWindows::new(amount, WINDOW, 0)),
        };
        let ledger = Ledger::new(CREDENTIAL, vec![limit.clone()]);
        let (charges, unforced) = (Vec::new(), Vec::new());
        let (learned, probation_ends) = (None, None);
        let now = 10_000_000;
        Shared {
            limit,
            judge,
            ledger,
            learned,
            now,
            asked: 0,
            charges,
            news: 0,
            probation_ends,
            unforced,
            refused: 0,
            held_until: 0,
            most_taken: 0,
        }
    }

    fn at(&self, ms: u64) -> Now {
        Now { steady: Steady(ms), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }

    fn live(&mut self, steps: &[Step]) -> Result<(), TestCaseError> {
        for step in steps {
            match step {
                Step::Wait(ms) => self.now += ms,
                Step::Other(0) => {}
                Step::Other(units) => {
                    let _ = self.judge.count(self.now as i64, *units);
                    self.news += units;
                }
                Step::Ask(there, back) => self.ask(*there, *back)?,
                Step::Restart => self.restart(),
            }
            let usage = self.ledger.usage(&self.at(self.now), &[]);
            self.most_taken = self.most_taken.max(usage[0].foreign);
        }
        Ok(())
    }

    fn restart(&mut self) {
        self.ledger = Ledger::new(CREDENTIAL, vec![self.limit.clone()]);
        self.charges.iter().for_each(|c| self.ledger.restore(c));
        self.learned.iter().for_each(|l| self.ledger.teach(l));
    }

    fn ask(&mut self, there: u64, back: u64) -> Result<(), TestCaseError> {
        if self.now < self.held_until {
            return Ok(());
        }
        let ask = Ask { caller: Caller::Poller, endpoint: Endpoint::from("/a"), cost: 1, organization: None };
        let request = Request {
            connection: ConnectionKey { organization: "o".into(), connection: "c".into() },
            target: None,
            ask: ask.clone(),
            send_grace: Span(1000),
            request_timeout: Span(5000),
        };
        self.asked += 1;
        let asked = self.at(self.now);
        let reserved = match self.ledger.admit(&asked, ChargeId(self.asked), &request) {
            Ok(reserved) => reserved,
            Err(Refusal::NotUntil { at, .. }) => {
                prop_assert!(at > asked.steady);
                prop_assert!(self.ledger.would_admit(&self.at(at.0), &ask).is_ok(), "then it fits");
                prop_assert!(self.ledger.would_admit(&self.at(at.0 - 1), &ask).is_err(), "and not before");
                return Ok(());
            }
            Err(other) => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        let charge = reserved.durable().charge().clone();
        let counted = self.now + there;
        let over = self.judge.count(counted as i64, 1).is_err();
        let on_probation = self.probation_ends.is_some_and(|ends| ends <= self.now);
        if over {
            self.refused += 1;
            if self.news == 0 && !on_probation {
                self.unforced.push(format!("at {} of {:?}, learned {:?}", self.now, self.limit, self.learned));
            }
        }
        let left = self.limit.amount.saturating_sub(self.judge.level(counted as i64));
        self.now = counted + back;
        if over {
            self.held_until = self.now + WINDOW;
        }
        self.hear(&asked, left, over);
        let resolution = Resolution {
            at: self.at(self.now).stamp(),
            settlement: Settlement::Posted,
            outcome: if over { Outcome::Limited } else { Outcome::Data },
            status: None,
            rule: String::new(),
            said: None,
            cost: None,
        };
        self.ledger.resolve(charge.id, &resolution);
        self.charges.push(charge.resolved(resolution));
        Ok(())
    }

    fn hear(&mut self, asked: &Now, left: u64, over: bool) {
        let now = self.at(self.now);
        let about = LimitKey { limit: self.limit.name.clone(), endpoint: None };
        let claim = Claim { total: Some(self.limit.amount), remaining: Some(left), ..Claim::default() };
        let own = self.ledger.own("minute", &"/a".into(), asked.steady, 1, &now);
        let answered = if over { Answered::Refused } else { Answered::Well };
        let evidence = Evidence { asked_at: asked.stamp(), arrived_at: now.stamp(), answered };
        let Some(lesson) = learn(self.learned.as_ref(), &about, &self.limit, &claim, own, &evidence) else { return };
        let used = self.limit.amount - left + u64::from(over);
        let told = own.is_some_and(|own| own.certain == own.possible || used > own.possible);
        if told {
            // Nothing can be spent between the count and the arrival in this world.
            self.news = 0;
        }
        let foreign = lesson.learned.foreign.filter(|_| lesson.learned.foreign_streak < AGREE);
        self.probation_ends = foreign.and_then(|f| f.until).map(|until| until.0);
        self.ledger.teach(&lesson.learned);
        self.learned = Some(lesson.learned);
    }
}

fn style() -> impl Strategy<Value = Style> {
    prop_oneof![Just(Style::Sliding), Just(Style::Aligned)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a31_we_are_over_only_by_what_the_other_spent_since_the_last_word(
        style in style(), amount in 3u64..15, steps in proptest::collection::vec(step(true), 1..80),
    ) {
        let mut world = Shared::new(style, amount);
        world.live(&steps)?;
        prop_assert!(world.unforced.is_empty(), "{:#?}", world.unforced);
    }

    #[test]
    fn where_nobody_else_spends_nothing_is_taken(
        style in style(), amount in 3u64..15, steps in proptest::collection::vec(step(false), 1..80),
    ) {
        let mut world = Shared::new(style, amount);
        world.live(&steps)?;
        prop_assert_eq!((world.refused, world.most_taken), (0, 0), "law 1, and our share whole");
    }
}

/// The test must see the other: a steady one takes its part, and is let go a window after it has stopped.
#[test]
fn what_the_other_takes_comes_back_when_it_stops() {
    let mut world = Shared::new(Style::Sliding, 10);
    let busy = [Step::Other(2), Step::Ask(10, 10), Step::Wait(2000), Step::Ask(10, 10), Step::Wait(2000)];
    world.live(&busy).unwrap();
    assert_eq!(world.most_taken, 2);
    let taken = |world: &Shared| world.ledger.usage(&world.at(world.now), &[])[0].foreign;
    assert_eq!(taken(&world), 2);
    world.live(&[Step::Wait(WINDOW)]).unwrap();
    assert_eq!(taken(&world), 0);
    // A world that never learns is over: the property above would see it.
    let mut deaf = Shared::new(Style::Sliding, 3);
    deaf.live(&[Step::Other(3)]).unwrap();
    deaf.news = 0;
    deaf.live(&[Step::Ask(1, 1)]).unwrap();
    assert_eq!(deaf.unforced.len(), 1);
}
