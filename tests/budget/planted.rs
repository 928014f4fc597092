//! Judges are judged too: a mistake is planted in front of the ledger, and the property that is there for it must see it.

use crate::book::Book;
use crate::laws::hold_all;
use crate::trace::{self, Trace};
use larder::domain::charge::{Charge, Resolution, Settlement};
use larder::domain::connection::Ask;
use larder::domain::ids::{Caller, ChargeId, Endpoint};
use larder::domain::limit::{Kind, Limit, Scope, Weekday};
use larder::domain::outcome::Outcome;
use larder::domain::time::{Now, Span, Steady};
use larder::rules::budget::{Ledger, Refusal, Request, Usage};
use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A mistake: what it changes on the way to the ledger and back. By default nothing.
trait Mistake: Clone {
    fn limit(limit: Limit) -> Limit {
        limit
    }
    fn now(now: &Now) -> Now {
        now.clone()
    }
    fn restored(charge: &Charge) -> Option<Charge> {
        Some(charge.clone())
    }
    /// What is told right after the admission.
    fn at_once(_charge: &Charge) -> Option<Resolution> {
        None
    }
    fn resolution(_charge: &Charge, resolution: Resolution) -> Resolution {
        resolution
    }
    fn refusal(refusal: Refusal) -> Refusal {
        refusal
    }
    fn usage(usage: Usage) -> Usage {
        usage
    }
    fn horizon(horizon: Steady, _now: &Now) -> Steady {
        horizon
    }
    /// What to take although the request was refused.
    fn consolation(_request: &Request) -> Option<Request> {
        None
    }
    fn forgets_in_sweep() -> bool {
        false
    }
    /// Whether to say yes when asked, whatever it will be.
    fn promises(_ask: &Ask) -> bool {
        false
    }
}

#[derive(Clone)]
struct Planted<M> {
    inner: Ledger,
    limits: Vec<Limit>,
    charges: BTreeMap<ChargeId, Charge>,
    mistake: PhantomData<M>,
}

impl<M: Mistake> Book for Planted<M> {
    fn open(limits: &[Limit]) -> Self {
        let limits: Vec<Limit> = limits.iter().cloned().map(M::limit).collect();
        Planted { inner: <Ledger as Book>::open(&limits), limits, charges: BTreeMap::new(), mistake: PhantomData }
    }
    fn restore(&mut self, charge: &Charge) {
        if let Some(charge) = M::restored(charge) {
            self.inner.restore(&charge);
        }
    }
    fn admit(&mut self, now: &Now, id: ChargeId, request: &Request) -> Result<Charge, Refusal> {
        match Book::admit(&mut self.inner, &M::now(now), id, request) {
            Ok(mut charge) => {
                charge.reserved_at = now.stamp();
                if let Some(resolution) = M::at_once(&charge) {
                    self.inner.resolve(id, &resolution);
                }
                self.charges.insert(id, charge.clone());
                Ok(charge)
            }
            Err(refusal) => {
                if let Some(request) = M::consolation(request) {
                    let _ = Book::admit(&mut self.inner, &M::now(now), id, &request);
                }
                Err(M::refusal(refusal))
            }
        }
    }
    fn would_admit(&self, now: &Now, ask: &Ask) -> Result<(), Refusal> {
        if M::promises(ask) {
            return Ok(());
        }
        self.inner.would_admit(&M::now(now), ask).map_err(M::refusal)
    }
    fn resolve(&mut self, id: ChargeId, resolution: &Resolution) {
        if let Some(charge) = self.charges.get(&id) {
            self.inner.resolve(id, &M::resolution(charge, resolution.clone()));
        }
    }
    fn sweep(&mut self, now: &Now) {
        if M::forgets_in_sweep() {
            self.inner = <Ledger as Book>::open(&self.limits);
        }
        self.inner.sweep(&M::now(now));
    }
    fn usage(&self, now: &Now, endpoints: &[Endpoint]) -> Vec<Usage> {
        self.inner.usage(&M::now(now), endpoints).into_iter().map(M::usage).collect()
    }
    fn horizon(limits: &[Limit], now: &Now) -> Steady {
        let limits: Vec<Limit> = limits.iter().cloned().map(M::limit).collect();
        M::horizon(Ledger::horizon(&limits, now), now)
    }
}

/// Tells stories until the mistake is seen. The law that saw it must be the one that is there for it.
fn seen<M: Mistake>(stories: BoxedStrategy<Trace>, law: &str) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[42; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut others = BTreeMap::new();
    for _ in 0..4000 {
        let story = stories.new_tree(&mut runner).expect("a story").current();
        match hold_all::<Planted<M>>(&story) {
            Err(broken) if broken.law == law => return,
            Err(broken) => *others.entry(broken.law).or_insert(0) += 1,
            Ok(()) => {}
        }
    }
    panic!("nobody saw it by {law:?}; other laws: {others:?}");
}

macro_rules! mistakes {
    ($($(#[$doc:meta])* $test:ident: $name:ident, $stories:expr, $law:literal, { $($body:item)* })*) => {$(
        #[derive(Clone)]
        struct $name;
        impl Mistake for $name { $($body)* }
        $(#[$doc])*
        #[test]
        fn $test() {
            seen::<$name>($stories, $law);
        }
    )*};
}

mistakes! {
    a_slot_that_frees_a_window_after_sending: FreesAtSent, trace::traces(trace::rolling(), 1..=1), "never over", {
        fn resolution(charge: &Charge, mut resolution: Resolution) -> Resolution {
            resolution.at = charge.reserved_at;
            resolution
        }
    }
    pending_charges_forgotten_after_a_restart: ForgetsPending, trace::traces(trace::rolling(), 1..=1), "never over", {
        fn restored(charge: &Charge) -> Option<Charge> {
            charge.resolution.is_some().then(|| charge.clone())
        }
    }
    pending_charges_of_a_day_forgotten_after_a_restart: ForgetsPendingOfTheDay, trace::traces(trace::daily(), 1..=1), "never over", {
        fn restored(charge: &Charge) -> Option<Charge> {
            charge.resolution.is_some().then(|| charge.clone())
        }
    }
    pending_after_a_restart_counted_from_its_reservation: PendingArrivedAtOnce, trace::traces(trace::fixed(), 1..=1), "never over", {
        fn restored(charge: &Charge) -> Option<Charge> {
            Some(Charge { deadline: charge.reserved_at.steady, ..charge.clone() })
        }
    }
    a_lost_answer_that_is_given_back: VoidsTheLost, trace::traces(trace::rolling(), 1..=1), "never over", {
        fn resolution(_: &Charge, mut resolution: Resolution) -> Resolution {
            if resolution.outcome == Outcome::TimedOut {
                resolution.settlement = Settlement::Voided;
            }
            resolution
        }
    }
    a_rolling_window_kept_as_a_fixed_one: RollingAsFixed, trace::traces(trace::rolling(), 1..=1), "never over", {
        fn limit(limit: Limit) -> Limit {
            match limit.kind {
                Kind::Rolling { window } => Limit { kind: Kind::Fixed { window }, ..limit },
                _ => limit,
            }
        }
    }
    a_pace_kept_as_a_rolling_window: PaceAsRolling, trace::traces(trace::pace(), 1..=1), "never over", {
        fn limit(limit: Limit) -> Limit {
            match limit.kind {
                Kind::Pace { window } => Limit { kind: Kind::Rolling { window }, ..limit },
                _ => limit,
            }
        }
    }
    a_fixed_window_by_a_clock_that_is_wrong: FixedByAWrongClock, trace::traces(trace::fixed(), 1..=1), "never over", {
        fn now(now: &Now) -> Now {
            Now { offsets: now.offsets.iter().map(|o| o + 2_300).collect(), ..now.clone() }
        }
    }
    a_day_counted_in_utc: DayInUtc, trace::traces(trace::daily(), 1..=1), "never over", {
        fn limit(limit: Limit) -> Limit {
            match limit.kind {
                Kind::Daily { resets_at, .. } => {
                    Limit { kind: Kind::Daily { resets_at, time_zone: "UTC".to_owned() }, ..limit }
                }
                _ => limit,
            }
        }
    }
    a_day_that_is_always_24_hours: DayWithoutDst, trace::traces(trace::daily(), 1..=1), "never over", {
        fn limit(limit: Limit) -> Limit {
            match limit.kind {
                Kind::Daily { resets_at, time_zone } => {
                    let time_zone = match time_zone.as_str() {
                        "America/New_York" => "Etc/GMT+5".to_owned(),
                        "Europe/Berlin" => "Etc/GMT-1".to_owned(),
                        _ => time_zone,
                    };
                    Limit { kind: Kind::Daily { resets_at, time_zone }, ..limit }
                }
                _ => limit,
            }
        }
    }
    a_month_from_the_first: MonthFromTheFirst, trace::traces(trace::monthly(), 1..=1), "never over", {
        fn limit(limit: Limit) -> Limit {
            match limit.kind {
                Kind::Monthly { resets_at, time_zone, .. } => {
                    Limit { kind: Kind::Monthly { day: 1, resets_at, time_zone }, ..limit }
                }
                _ => limit,
            }
        }
    }
    a_week_that_turns_a_day_early: WeekTurnsEarly, trace::traces(trace::weekly(), 1..=1), "never over", {
        fn limit(limit: Limit) -> Limit {
            match limit.kind {
                Kind::Weekly { day, resets_at, time_zone } => {
                    let day = Weekday::ALL[(day as usize + 6) % 7];
                    Limit { kind: Kind::Weekly { day, resets_at, time_zone }, ..limit }
                }
                _ => limit,
            }
        }
    }
    an_anchored_window_kept_as_a_fixed_one: AnchoredAsFixed, trace::traces(trace::anchored(), 1..=1), "never over", {
        fn limit(limit: Limit) -> Limit {
            match limit.kind {
                Kind::Anchored { window } => Limit { kind: Kind::Fixed { window }, ..limit },
                _ => limit,
            }
        }
    }
    an_anchored_window_that_ends_a_window_after_sending: AnchoredAtSending, trace::traces(trace::anchored(), 1..=1), "never over", {
        fn resolution(charge: &Charge, mut resolution: Resolution) -> Resolution {
            resolution.at = charge.reserved_at;
            resolution
        }
    }
    a_lost_request_that_is_sure_to_have_opened_its_window: LostIsSure, trace::traces(trace::anchored(), 1..=1), "never over", {
        fn resolution(_: &Charge, mut resolution: Resolution) -> Resolution {
            resolution.status = Some(200);
            resolution
        }
    }
    only_the_newest_reading_of_the_clock: NewestOffsetAlone, trace::traces(trace::daily(), 1..=1), "never over", {
        fn now(now: &Now) -> Now {
            Now { offsets: now.offsets[..1].to_vec(), ..now.clone() }
        }
    }
    a_request_that_leaves_the_flight_at_once: LeavesAtOnce, trace::traces(trace::concurrent(), 1..=1), "never over", {
        fn at_once(charge: &Charge) -> Option<Resolution> {
            let (at, settlement, outcome) = (charge.reserved_at, Settlement::Posted, Outcome::Data);
            Some(Resolution { at, settlement, outcome, status: None, rule: String::new(), said: None, cost: None })
        }
    }
    flight_forgotten_after_a_restart: FlightForgotten, trace::traces(trace::concurrent(), 1..=1), "never over", {
        fn restored(_: &Charge) -> Option<Charge> {
            None
        }
    }
    endpoints_counted_apart_where_they_are_counted_together: EndpointsApart, trace::traces(trace::any_kind(), 1..=1), "never over", {
        fn limit(limit: Limit) -> Limit {
            Limit { scope: Scope::Endpoint, ..limit }
        }
        fn usage(usage: Usage) -> Usage {
            Usage { endpoint: None, ..usage }
        }
    }
    a_restart_that_reads_back_too_little: ShortHorizon, trace::traces(trace::daily(), 1..=1), "never over", {
        fn horizon(horizon: Steady, now: &Now) -> Steady {
            Steady(horizon.0 + now.steady.since(horizon).0 / 2)
        }
    }
    a_sweep_that_forgets_too_much: SweepsAll, trace::traces(trace::rolling(), 1..=1), "never over", {
        fn forgets_in_sweep() -> bool {
            true
        }
    }
    coarse_slots_rounded_the_wrong_way: CoarseDown, trace::large(trace::rolling()), "never over", {
        fn resolution(charge: &Charge, mut resolution: Resolution) -> Resolution {
            let early = resolution.at.steady.0 - resolution.at.steady.0 % 5_000;
            resolution.at.steady = Steady(early.max(charge.reserved_at.steady.0));
            resolution
        }
    }
    a_gauge_that_shows_one_less: ShowsOneLess, trace::traces(trace::any_kind(), 1..=1), "shows no less", {
        fn usage(usage: Usage) -> Usage {
            Usage { used: usage.used.saturating_sub(1), ..usage }
        }
    }
    a_gauge_that_shows_too_much: ShowsTooMuch, trace::traces(trace::rolling(), 1..=1), "shows no more", {
        fn usage(usage: Usage) -> Usage {
            Usage { used: usage.used + u64::from(usage.used > 0), ..usage }
        }
    }
    a_refusal_that_names_a_moment_too_early: TooEarly, trace::traces(trace::any_kind(), 1..=2), "exact moment", {
        fn refusal(refusal: Refusal) -> Refusal {
            match refusal {
                Refusal::NotUntil { at, limit } => Refusal::NotUntil { at: Steady(at.0 - 1), limit },
                other => other,
            }
        }
    }
    a_refusal_that_names_a_moment_too_late: TooLate, trace::traces(trace::any_kind(), 1..=2), "exact moment", {
        fn refusal(refusal: Refusal) -> Refusal {
            match refusal {
                Refusal::NotUntil { at, limit } => Refusal::NotUntil { at: at + Span(1), limit },
                other => other,
            }
        }
    }
    kept_units_that_others_may_take: IgnoresKeep, trace::traces(trace::rolling(), 1..=1), "kept from others", {
        fn limit(limit: Limit) -> Limit {
            Limit { keep: BTreeMap::new(), ..limit }
        }
        fn promises(ask: &Ask) -> bool {
            matches!(ask.caller, Caller::Refresh | Caller::Command)
        }
    }
    kept_units_that_nobody_gets: KeepsFromTheKeeper, trace::traces(trace::rolling(), 1..=1), "kept is kept", {
        fn limit(limit: Limit) -> Limit {
            let kept = limit.kept();
            let keep = limit.keep.keys().map(|caller| (*caller, 0)).collect();
            Limit { amount: limit.amount - kept, keep, ..limit }
        }
    }
    a_cap_that_nobody_heeds: IgnoresCap, trace::traces(trace::concurrent(), 1..=1), "cap", {
        fn limit(limit: Limit) -> Limit {
            Limit { cap: BTreeMap::new(), ..limit }
        }
    }
    a_refusal_that_takes_something: TakesSomething, trace::traces(trace::rolling(), 1..=1), "refusal takes nothing", {
        fn consolation(request: &Request) -> Option<Request> {
            let mut request = request.clone();
            request.ask.cost = 1;
            Some(request)
        }
    }
}
