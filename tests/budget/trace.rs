//! What may happen to a ledger: limits, callers, latencies, lost answers, voids, restarts, steps of the wall clock.

use jiff::Timestamp;
use larder::domain::ids::Caller;
use larder::domain::limit::{Kind, Limit, Scope, TimeOfDay, Weekday};
use larder::domain::time::Span;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// A whole story, with everything that chance decides written out.
#[derive(Clone, Debug)]
pub struct Trace {
    pub limits: Vec<Limit>,
    /// Unix time at which it begins, ms.
    pub begins: i64,
    /// The provider's clock runs so far ahead of true time, ms.
    pub skew: i64,
    pub send_grace: Span,
    pub request_timeout: Span,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub enum Step {
    Ask {
        caller: Caller,
        second_endpoint: bool,
        cost: u32,
        fate: Fate,
    },
    /// A share of the window of one limit (counted round), and some milliseconds.
    Wait {
        limit: usize,
        permille: u32,
        and_ms: u64,
    },
    /// To the moment that the last refusal named.
    UntilTheMoment,
    Look,
    Sweep,
    /// The process dies. Resolutions of the last `lazy_ms` had not reached the disk.
    Restart {
        lazy_ms: u64,
    },
    /// The wall clock steps; the offset before it stays listed.
    WallWrong {
        by_ms: i64,
    },
    /// The wall clock is right again, and the steps before are forgotten.
    WallRight,
}

/// What becomes of a request. Shares are in permille: of the time until the deadline, and of the time
/// between reservation and end at which the provider counts.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    Answered {
        after: u32,
        counted: u32,
    },
    /// Given up at the deadline.
    TimedOut {
        counted: u32,
    },
    /// Nobody ever resolves it.
    Abandoned {
        counted: u32,
    },
    /// It broke on the way, and nobody knows that the provider never saw it.
    Swallowed {
        after: u32,
    },
    /// The provider never saw it, and that is known.
    Voided {
        after: u32,
    },
}

fn permille() -> impl Strategy<Value = u32> {
    prop_oneof![2 => 0u32..=1000, 1 => Just(0), 1 => Just(1000)]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Answered { after: 0, counted: 0 }),
        6 => (permille(), permille()).prop_map(|(after, counted)| Fate::Answered { after, counted }),
        2 => permille().prop_map(|counted| Fate::TimedOut { counted }),
        1 => permille().prop_map(|counted| Fate::Abandoned { counted }),
        1 => permille().prop_map(|after| Fate::Swallowed { after }),
        1 => permille().prop_map(|after| Fate::Voided { after }),
    ]
}

fn caller() -> impl Strategy<Value = Caller> {
    prop_oneof![
        4 => Just(Caller::Poller),
        2 => Just(Caller::Refresh),
        1 => Just(Caller::Command),
        1 => Just(Caller::Gateway),
    ]
}

fn step(cost: BoxedStrategy<u32>) -> impl Strategy<Value = Step> {
    let ask = (caller(), any::<bool>(), cost, fate()).prop_map(|(caller, second_endpoint, cost, fate)| Step::Ask {
        caller,
        second_endpoint,
        cost,
        fate,
    });
    let by_ms = prop_oneof![Just(3_600_000i64), Just(-3_600_000), -86_400_000i64..86_400_000, -5_000i64..5_000,];
    prop_oneof![
        10 => ask,
        2 => (0usize..3, 0u32..1300, 0u64..3).prop_map(|(limit, permille, and_ms)| Step::Wait { limit, permille, and_ms }),
        2 => (0usize..3, 0u32..120, 0u64..3).prop_map(|(limit, permille, and_ms)| Step::Wait { limit, permille, and_ms }),
        3 => Just(Step::UntilTheMoment),
        2 => Just(Step::Look),
        1 => Just(Step::Sweep),
        1 => (0u64..40_000).prop_map(|lazy_ms| Step::Restart { lazy_ms }),
        1 => by_ms.prop_map(|by_ms| Step::WallWrong { by_ms }),
        1 => Just(Step::WallRight),
    ]
}

fn window() -> impl Strategy<Value = Span> {
    prop_oneof![Just(1000u64), Just(10_000), Just(60_000), Just(300_000), Just(3_600_000), 500u64..100_000]
        .prop_map(Span)
}

fn zone() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("UTC"),
        Just("America/New_York"),
        Just("America/Los_Angeles"),
        Just("Europe/Berlin"),
        Just("Asia/Beirut"),
        Just("America/Santiago"),
        Just("Australia/Lord_Howe"),
        Just("Asia/Kolkata"),
        Just("Pacific/Apia"),
    ]
}

fn reset() -> impl Strategy<Value = TimeOfDay> {
    prop_oneof![3 => Just(0u16), 1 => Just(17 * 60), 1 => Just(150), 2 => 0u16..1440].prop_map(TimeOfDay)
}

pub fn rolling() -> BoxedStrategy<Kind> {
    window().prop_map(|window| Kind::Rolling { window }).boxed()
}
pub fn fixed() -> BoxedStrategy<Kind> {
    window().prop_map(|window| Kind::Fixed { window }).boxed()
}
pub fn pace() -> BoxedStrategy<Kind> {
    window().prop_map(|window| Kind::Pace { window }).boxed()
}
pub fn daily() -> BoxedStrategy<Kind> {
    (reset(), zone()).prop_map(|(resets_at, zone)| Kind::Daily { resets_at, time_zone: zone.to_owned() }).boxed()
}
pub fn monthly() -> BoxedStrategy<Kind> {
    (1u8..=31, reset(), zone())
        .prop_map(|(day, resets_at, zone)| Kind::Monthly { day, resets_at, time_zone: zone.to_owned() })
        .boxed()
}
pub fn weekly() -> BoxedStrategy<Kind> {
    (prop::sample::select(Weekday::ALL.to_vec()), reset(), zone())
        .prop_map(|(day, resets_at, zone)| Kind::Weekly { day, resets_at, time_zone: zone.to_owned() })
        .boxed()
}
pub fn anchored() -> BoxedStrategy<Kind> {
    window().prop_map(|window| Kind::Anchored { window }).boxed()
}
pub fn concurrent() -> BoxedStrategy<Kind> {
    Just(Kind::Concurrent).boxed()
}
pub fn any_kind() -> BoxedStrategy<Kind> {
    prop_oneof![
        3 => rolling(),
        2 => fixed(),
        2 => pace(),
        2 => daily(),
        1 => weekly(),
        1 => monthly(),
        2 => anchored(),
        2 => concurrent()
    ]
    .boxed()
}

/// A limit that leaves at least one unit to everybody. What is kept of a pace would mean nothing.
fn limit(kind: BoxedStrategy<Kind>, amounts: BoxedStrategy<u64>) -> impl Strategy<Value = Limit> {
    let keeper = prop_oneof![Just(Caller::Refresh), Just(Caller::Command)];
    let keep = btree_map(keeper, 1u64..=2, 0..=2);
    let cap = btree_map(caller(), 1u64..=2, 0..=2);
    let scope = prop_oneof![Just(Scope::Credential), Just(Scope::Endpoint)];
    (kind, amounts, scope, keep, cap).prop_map(|(kind, amount, scope, mut keep, mut cap)| {
        if matches!(kind, Kind::Pace { .. }) || keep.values().sum::<u64>() >= amount {
            keep.clear();
        }
        if kind != Kind::Concurrent {
            cap.clear();
        }
        Limit { name: String::new(), amount, kind, scope, keep, reach: Default::default(), cap }
    })
}

/// Around the changes of the clock of 2027, the ends of months, the day that Samoa left out, and anywhere.
fn begins() -> impl Strategy<Value = i64> {
    let interesting = [
        "2027-03-14T07:00:00Z",
        "2027-11-07T06:00:00Z",
        "2027-03-28T01:00:00Z",
        "2027-10-31T01:00:00Z",
        "2027-09-05T04:00:00Z",
        "2027-04-04T03:00:00Z",
        "2027-02-28T23:00:00Z",
        "2028-02-29T12:00:00Z",
        "2011-12-30T10:00:00Z",
        "2027-01-01T00:00:00Z",
    ];
    let instants: Vec<i64> =
        interesting.iter().map(|t| t.parse::<Timestamp>().expect("RFC 3339").as_millisecond()).collect();
    let day = 86_400_000i64;
    prop_oneof![
        3 => (prop::sample::select(instants), -2 * day..day / 2).prop_map(|(t, d)| t + d),
        1 => 1_800_000_000_000i64..1_900_000_000_000,
    ]
}

/// Stories about limits of these kinds.
pub fn traces(kind: BoxedStrategy<Kind>, limits: std::ops::RangeInclusive<usize>) -> BoxedStrategy<Trace> {
    stories(kind, limits, (1u64..=8).boxed(), prop_oneof![5 => Just(1u32), 1 => 1u32..=4].boxed())
}

/// Stories about amounts that may be kept in coarser slots. Costs are as large, so that they are spent.
pub fn large(kind: BoxedStrategy<Kind>) -> BoxedStrategy<Trace> {
    stories(kind, 1..=1, (50_000u64..=2_000_000).boxed(), (1u32..=300_000).boxed())
}

fn stories(
    kind: BoxedStrategy<Kind>,
    limits: std::ops::RangeInclusive<usize>,
    amounts: BoxedStrategy<u64>,
    cost: BoxedStrategy<u32>,
) -> BoxedStrategy<Trace> {
    let timeout = prop_oneof![Just(1000u64), Just(10_000), Just(30_000), 1u64..20_000];
    (
        vec(limit(kind, amounts), limits),
        begins(),
        prop_oneof![Just(0i64), Just(2000), Just(-2000), -2000i64..=2000],
        prop_oneof![Just(0u64), Just(2000), 0u64..3000],
        timeout,
        vec(step(cost), 1..70),
    )
        .prop_map(|(mut limits, begins, skew, grace, timeout, mut steps)| {
            for (n, limit) in limits.iter_mut().enumerate() {
                limit.name = format!("limit {n}");
            }
            if limits.iter().any(|l| l.kind == Kind::Concurrent) {
                plain_costs(&mut steps);
            }
            Trace { limits, begins, skew, send_grace: Span(grace), request_timeout: Span(timeout), steps }
        })
        .boxed()
}

/// In flight is one request, whatever it costs elsewhere: stories about flight stay with plain requests.
fn plain_costs(steps: &mut [Step]) {
    for step in steps {
        if let Step::Ask { cost, .. } = step {
            *cost = 1;
        }
    }
}
