//! Counting charges in windows that open with the first request after the last one ended. Knows when each request can have been
//! counted, and from that alone where a window can have opened.
//!
//! A request was counted somewhere between its reservation and its arrival, so the window that it opened, if it did, began somewhere
//! in between; one that was under way when a window ended fell into the old one or opened the next; and one that was never answered
//! was perhaps never counted. All that is possible is carried along: the stretches in which the window of each charge may have
//! opened. A charge stops counting when the latest of them is a window ago, for then its window has certainly ended; or when its own
//! arrival is, for no window is longer.
//!
//! Each of the two is a proof about a pair: no window holds both the charge and a request that is sent from then on.

use super::book::Posting;
use super::slots::Units;
use super::window::just_after_minus;
use crate::domain::ids::Caller;
use crate::domain::time::{Span, Steady};

/// More possibilities than this are taken together: stricter, and cheap.
const MOST_STRETCHES: usize = 8;

/// What was before the first charge of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Nobody asked for longer than a window: the first request opens one.
    Quiet,
    /// Nobody knows: a window may be open, from anywhere within its length.
    Unknown,
}

/// Whether the provider counted a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// It answered.
    Surely,
    /// No answer came, or none yet.
    Perhaps,
}

/// A stretch in which a window may have opened, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    earliest: Steady,
    latest: Steady,
}

/// Where the newest window may have opened, and whether perhaps none is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Possible {
    stretches: Vec<Stretch>,
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    reserved: Steady,
    /// Or feared to arrive.
    arrived: Steady,
    caller: Caller,
    units: u64,
    seen: Seen,
}

impl Entry {
    fn of(posting: Posting) -> Entry {
        let Posting { reserved, arrived, caller, units, seen } = posting;
        Entry { reserved, arrived, caller, units, seen }
    }
}

/// Posted charges of one limit (for one endpoint where scoped so), in the order of their reservations.
#[derive(Clone, Debug)]
pub struct Anchors {
    span: Span,
    /// After the last forgotten charge; `None` where nothing is known.
    before: Option<Possible>,
    entries: Vec<Entry>,
}

impl Anchors {
    pub fn new(span: Span, past: Past) -> Anchors {
        let quiet = Possible { stretches: Vec::new(), closed: true };
        Anchors { span, before: (past == Past::Quiet).then_some(quiet), entries: Vec::new() }
    }

    pub fn post(&mut self, posting: Posting) {
        let entry = Entry::of(posting);
        let place = self.entries.partition_point(|e| *e <= entry);
        self.entries.insert(place, entry);
    }

    /// Takes out what `post` put in with the same argument.
    pub fn withdraw(&mut self, posting: Posting) {
        if let Ok(place) = self.entries.binary_search(&Entry::of(posting)) {
            self.entries.remove(place);
        }
    }

    /// Charges that count at `now`, with the moment from which each does not any more: the next to be free first.
    pub fn counting(&self, now: Steady) -> Vec<(Steady, Units)> {
        let mut all: Vec<(Steady, Units)> = self
            .releases()
            .filter(|(release, _)| *release > now)
            .map(|(release, entry)| {
                let mut units = Units::default();
                units.add(entry.caller, entry.units);
                (release, units)
            })
            .collect();
        all.sort_by_key(|(release, _)| *release);
        all
    }

    /// The arrival of each charge and when it stops counting, in the order of arrivals.
    pub fn opened(&self) -> Vec<(Steady, Steady)> {
        let mut all: Vec<(Steady, Steady)> = self.releases().map(|(release, entry)| (entry.arrived, release)).collect();
        all.sort_unstable();
        all
    }

    fn releases(&self) -> impl Iterator<Item = (Steady, &Entry)> {
        let mut possible = self.before.clone();
        self.entries.iter().map(move |entry| {
            let after = self.after(possible.take(), entry);
            let release = self.release(&after, entry);
            possible = Some(after);
            (release, entry)
        })
    }

    fn release(&self, possible: &Possible, entry: &Entry) -> Steady {
        let latest = possible.stretches.iter().map(|s| s.latest).max().unwrap_or(entry.arrived);
        latest.min(entry.arrived) + self.span
    }

    /// What is possible once `entry` was sent, after what was possible before it.
    fn after(&self, before: Option<Possible>, entry: &Entry) -> Possible {
        let Some(before) = before else {
            let earliest = just_after_minus(entry.reserved, self.span);
            let stretches = vec![Stretch { earliest, latest: entry.arrived }];
            return Possible { stretches, closed: entry.seen == Seen::Perhaps };
        };
        let first_end = before.stretches.iter().map(|s| s.earliest + self.span).min();
        let opens_from = first_end.filter(|_| !before.closed).unwrap_or(entry.reserved).max(entry.reserved);
        let open = |s: &Stretch| s.latest + self.span > entry.reserved;
        let ended = before.closed || !before.stretches.iter().all(open);
        let mut stretches = before.stretches;
        stretches.retain(open);
        if entry.arrived >= opens_from {
            stretches.push(Stretch { earliest: opens_from, latest: entry.arrived });
        }
        while stretches.len() > MOST_STRETCHES {
            let oldest = stretches.remove(0);
            let next = &mut stretches[0];
            next.earliest = next.earliest.min(oldest.earliest);
            next.latest = next.latest.max(oldest.latest);
        }
        Possible { stretches, closed: ended && entry.seen == Seen::Perhaps }
    }

    /// Forgets the charges that stopped counting before `horizon`, and keeps what they say about the windows after them.
    pub fn forget(&mut self, horizon: Steady) {
        let mut gone = 0;
        for entry in &self.entries {
            let next = self.after(self.before.clone(), entry);
            if self.release(&next, entry) >= horizon {
                break;
            }
            (self.before, gone) = (Some(next), gone + 1);
        }
        self.entries.drain(..gone);
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(past: Past, charges: &[(u64, u64)]) -> Anchors {
        let mut anchors = Anchors::new(Span(100), past);
        charges.iter().for_each(|(from, to)| anchors.post(posting(*from, *to, Seen::Surely)));
        anchors
    }

    fn posting(from: u64, to: u64, seen: Seen) -> Posting {
        Posting { reserved: Steady(from), arrived: Steady(to), caller: Caller::Poller, units: 1, seen }
    }

    fn releases(anchors: &Anchors) -> Vec<u64> {
        anchors.releases().map(|(release, _)| release.0).collect()
    }

    #[test]
    fn a_window_ends_a_window_after_the_latest_moment_at_which_it_can_have_opened() {
        assert_eq!(releases(&book(Past::Quiet, &[(0, 3), (50, 55), (90, 97)])), [103, 103, 103]);
        // The next window opens with the first request after that, not where the last one ended.
        assert_eq!(releases(&book(Past::Quiet, &[(0, 3), (150, 151), (170, 171)])), [103, 251, 251]);
    }

    #[test]
    fn a_request_under_way_when_a_window_ends_counts_in_both() {
        // Sent in the old window, perhaps counted at 101 as the first of the new one.
        let both = book(Past::Quiet, &[(0, 3), (99, 105), (110, 112)]);
        assert_eq!(releases(&both), [103, 205, 212]);
        // Perhaps counted at 99 in the old one: then the next opened at 110 to 112.
        assert_eq!(releases(&book(Past::Quiet, &[(0, 3), (99, 99), (110, 112)])), [103, 103, 212]);
    }

    #[test]
    fn of_an_unknown_past_a_rolling_window_is_the_strictest_reading_until_a_window_passed_in_silence() {
        let unknown =
            book(Past::Unknown, &[(1_000, 1_001), (1_050, 1_052), (1_090, 1_091), (1_191, 1_193), (1_200, 1_201)]);
        assert_eq!(releases(&unknown), [1_101, 1_152, 1_191, 1_293, 1_293]);
    }

    #[test]
    fn a_request_without_an_answer_perhaps_opened_a_window_and_perhaps_not() {
        let mut lost = book(Past::Quiet, &[(40, 41)]);
        lost.post(posting(0, 30, Seen::Perhaps));
        assert_eq!(releases(&lost), [130, 141]);
        let mut lost = book(Past::Quiet, &[(0, 3), (140, 141), (150, 152)]);
        lost.post(posting(110, 130, Seen::Perhaps));
        assert_eq!(releases(&lost), [103, 230, 241, 241]);
    }

    #[test]
    fn what_is_forgotten_still_says_where_the_windows_are() {
        let all = book(Past::Quiet, &[(0, 3), (50, 55), (101, 104), (150, 151), (190, 192)]);
        let mut later = all.clone();
        later.forget(Steady(200));
        assert_eq!(later.entries.len(), 3);
        assert_eq!(releases(&later), releases(&all)[2..]);
    }
}
