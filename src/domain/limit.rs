//! A limit: a rule of the provider. All limits of one credential together are its budget.

use super::ids::{Caller, Endpoint};
use super::time::Span;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What the amount is counted over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Kind {
    /// Any stretch of `window`, wherever it starts.
    Rolling { window: Span },
    /// Stretches of `window` aligned to the provider's clock (Unix time divided by `window`).
    Fixed { window: Span },
    /// From `resets_at` to the next `resets_at` in `time_zone` (23 to 25 hours long across a DST change).
    Daily { resets_at: TimeOfDay, time_zone: String },
    /// From `resets_at` on `day` to the same a week later.
    Weekly { day: Weekday, resets_at: TimeOfDay, time_zone: String },
    /// From `resets_at` on day `day` (1 to 31; the last day where a month is shorter) to the same a month later: a calendar month, or
    /// a billing month from the day of the subscription.
    Monthly { day: u8, resets_at: TimeOfDay, time_zone: String },
    /// A stretch of `window` that opens with the first request after the last one ended.
    Anchored { window: Span },
    /// At most `requests` per `window`, evenly: after a request nothing for `window / requests` per unit of its cost, and in no
    /// stretch of `window` more than `requests`.
    Pace { window: Span },
    /// In flight at one moment.
    Concurrent,
}

impl Kind {
    pub const fn word(&self) -> &'static str {
        match self {
            Kind::Rolling { .. } => "rolling",
            Kind::Fixed { .. } => "fixed",
            Kind::Daily { .. } => "daily",
            Kind::Weekly { .. } => "weekly",
            Kind::Monthly { .. } => "monthly",
            Kind::Anchored { .. } => "anchored",
            Kind::Pace { .. } => "pace",
            Kind::Concurrent => "concurrent",
        }
    }
    /// Nominal length of the window: a day is 24 h, a week 7 days, a month 30; `None` for concurrent.
    pub const fn nominal_window(&self) -> Option<Span> {
        match self {
            Kind::Rolling { window } | Kind::Fixed { window } | Kind::Pace { window } | Kind::Anchored { window } => {
                Some(*window)
            }
            Kind::Daily { .. } => Some(Span::from_secs(86_400)),
            Kind::Weekly { .. } => Some(Span::from_secs(7 * 86_400)),
            Kind::Monthly { .. } => Some(Span::from_secs(30 * 86_400)),
            Kind::Concurrent => None,
        }
    }
}

impl Kind {
    /// Where a calendar period begins, in words: `00:00 UTC`, `monday 17:00 America/New_York`, `day 15, 00:00 UTC`.
    pub fn begins(&self) -> Option<String> {
        match self {
            Kind::Daily { resets_at, time_zone } => Some(format!("{resets_at} {time_zone}")),
            Kind::Weekly { day, resets_at, time_zone } => Some(format!("{} {resets_at} {time_zone}", day.word())),
            Kind::Monthly { day, resets_at, time_zone } => Some(format!("day {day}, {resets_at} {time_zone}")),
            Kind::Rolling { .. }
            | Kind::Fixed { .. }
            | Kind::Anchored { .. }
            | Kind::Pace { .. }
            | Kind::Concurrent => None,
        }
    }
}

/// Minutes after local midnight, 0 to 1439.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeOfDay(pub u16);

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

/// A day of the week, as ISO 8601 orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    pub const ALL: [Weekday; 7] = [
        Weekday::Monday,
        Weekday::Tuesday,
        Weekday::Wednesday,
        Weekday::Thursday,
        Weekday::Friday,
        Weekday::Saturday,
        Weekday::Sunday,
    ];

    /// The word in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Weekday::Monday => "monday",
            Weekday::Tuesday => "tuesday",
            Weekday::Wednesday => "wednesday",
            Weekday::Thursday => "thursday",
            Weekday::Friday => "friday",
            Weekday::Saturday => "saturday",
            Weekday::Sunday => "sunday",
        }
    }
    pub fn from_word(word: &str) -> Option<Weekday> {
        Weekday::ALL.into_iter().find(|d| d.word() == word)
    }
}

/// What the provider counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Everything sent with the credential.
    #[default]
    Credential,
    /// Each endpoint by itself.
    Endpoint,
}

/// A rule of the provider: `amount` units of cost over what `kind` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    pub name: String,
    /// Units of cost (a plain request costs 1) that fit.
    pub amount: u64,
    pub kind: Kind,
    pub scope: Scope,
    /// Units of `amount` that only the named caller may take (I1: the fifth request is the refresh's).
    pub keep: BTreeMap<Caller, u64>,
    /// Where each kept caller can come at all, resolved from the configuration; one that is not named comes everywhere. Of a limit by
    /// endpoint nothing is kept where its caller never goes.
    #[serde(default)]
    pub reach: BTreeMap<Caller, BTreeSet<Endpoint>>,
    /// The most that a caller may have in flight (F2); only meaningful for [`Kind::Concurrent`].
    pub cap: BTreeMap<Caller, u64>,
}

/// What two connections declare of one credential: the same limit declared twice is one limit, of two that differ both must hold (F1).
pub fn merge(into: &mut Vec<Limit>, more: &[Limit]) {
    for limit in more {
        if !into.contains(limit) {
            into.push(limit.clone());
        }
    }
}

/// Where each caller comes at all: polls and refreshes where targets are read, commands where they go.
pub fn reach(limits: &mut [Limit], looked_at: &BTreeSet<Endpoint>, commanded: &BTreeSet<Endpoint>) {
    let places = [(Caller::Poller, looked_at), (Caller::Refresh, looked_at), (Caller::Command, commanded)];
    for limit in limits {
        limit.reach = places.iter().map(|(caller, endpoints)| (*caller, (*endpoints).clone())).collect();
    }
}

impl Limit {
    /// The keeps that count in the book of `endpoint`; `None`: of all endpoints together.
    pub fn keeps_on<'a>(&'a self, endpoint: Option<&'a Endpoint>) -> impl Iterator<Item = (Caller, u64)> + 'a {
        let comes = move |caller: &Caller| match (endpoint, self.reach.get(caller)) {
            (Some(endpoint), Some(reach)) => reach.contains(endpoint),
            _ => true,
        };
        self.keep.iter().filter(move |(caller, _)| comes(caller)).map(|(caller, n)| (*caller, *n))
    }
    /// Units kept for callers other than `caller`.
    pub fn kept_from(&self, caller: Caller) -> u64 {
        self.keep.iter().filter(|(c, _)| **c != caller).map(|(_, n)| *n).sum()
    }
    /// Units kept altogether.
    pub fn kept(&self) -> u64 {
        self.keep.values().sum()
    }
}
