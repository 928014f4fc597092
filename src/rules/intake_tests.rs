//! No order of arrival makes another answer, and no clock a younger one.

use super::*;
use crate::domain::item::{Item, Sighting};
use crate::rules::reconcile::reconcile;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn now(steady: u64) -> Now {
    Now { steady: Steady(steady), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_000_000] }
}

fn at(steady: u64) -> Stamp {
    now(steady).stamp()
}

#[test]
fn an_age_is_never_less_than_either_clock_says() {
    let now = now(100_000_000);
    let own = now.wall();
    let table = [
        // as-of and sent, relative to this clock in seconds; the age that follows
        (-30, None, Ok(30)),
        (0, None, Ok(0)),
        (2, None, Ok(0)),
        (3, None, Err(Undated::Ahead(Span::from_secs(3)))),
        // A clock that is an hour ahead, and says so: thirty seconds old.
        (3570, Some(3600), Ok(30)),
        // One that is behind makes it look older, and that is believed.
        (-3630, Some(-3600), Ok(3630)),
        (-30, Some(0), Ok(30)),
        (1, Some(0), Err(Undated::AfterSent)),
        (-200_000, None, Err(Undated::BeforeTime)),
    ];
    let wall = |s: i64| Wall(own.0 + s * 1000);
    for (as_of, sent, expected) in table {
        let found = dated(wall(as_of), sent.map(wall), &now);
        let age = found.map(|stamp| {
            assert_eq!(now.age_of(stamp), own.since(stamp.wall), "both timelines tell one age");
            now.age_of(stamp).as_secs()
        });
        assert_eq!(age, expected, "{as_of} sent {sent:?}");
    }
    let doubtful = Now { trust: ClockTrust::Untrusted, ..now };
    assert_eq!(dated(own, None, &doubtful), Err(Undated::OwnClock));
}

#[test]
fn what_was_made_in_a_darkness_of_unknown_length_is_newer_only_where_both_timelines_say_so() {
    let shown = TargetState { as_of: Some(Stamp { era: 0, ..at(1000) }), ..TargetState::default() };
    let pushed = |steady, wall| Stamp { steady: Steady(steady), wall: Wall(wall), era: 1 };
    let base = at(1000).wall.0;
    let newer = |stamp| is_newer((stamp, "a"), &shown, None);
    assert!(newer(pushed(1001, base + 1)));
    assert!(!newer(pushed(999, base + 1)) && !newer(pushed(1001, base)) && !newer(pushed(1000, base + 1)));
}

/// A shelf as the engine keeps one, by the rules alone.
#[derive(Default)]
struct Shelf {
    state: TargetState,
    items: BTreeMap<String, Item>,
    standing: Option<(Stamp, String)>,
    taken: Vec<String>,
    history: Vec<crate::domain::item::HistoryEntry>,
}

impl Shelf {
    fn put(&mut self, said: &[Sighting], at: Stamp) {
        let old: Vec<Item> = self.items.values().cloned().collect();
        let result = reconcile(&self.state, &old, said.to_vec(), at);
        self.items.extend(result.put.into_iter().map(|item| (item.key.clone(), item)));
        self.history.extend(result.history);
        self.state = result.state;
    }

    fn push(&mut self, id: &str, said: &[Sighting], at: Stamp) {
        let standing = self.standing.as_ref().map(|(at, id)| (*at, id.as_str()));
        if is_newer((at, id), &self.state, standing) {
            self.put(said, at);
            self.standing = Some((at, id.to_owned()));
            self.taken.push(id.to_owned());
        }
    }

    /// What a reader is shown.
    fn shown(&self) -> Shown {
        let there = self.items.values().filter(|item| item.removed.is_none());
        let items = there.map(|item| (item.key.clone(), item.fingerprint)).collect();
        (self.state.as_of, self.state.fingerprint, self.state.item_count, items)
    }
}

/// As-of, fingerprint and number of the items, and each of them.
type Shown = (Option<Stamp>, [u8; 16], u64, Vec<(String, [u8; 16])>);

/// One answer: at which moment, whether it was polled, and what it says, item by item.
#[derive(Clone, Debug)]
struct Said {
    at: u64,
    polled: bool,
    items: Vec<Sighting>,
    /// How long after it was made it arrives, and how often.
    late: u64,
    copies: usize,
}

prop_compose! {
    fn said()(at in 1u64..60, polled in prop::bool::weighted(0.3), late in 0u64..60, copies in 1usize..4,
              content in prop::collection::btree_map("[a-d]", 0u8..3, 1..4)) -> Said {
        let sighting = |(key, value): (String, u8)| Sighting {
            title: key.clone(), key, state: None, fields: Vec::new(), fingerprint: [value; 16],
        };
        Said { at, polled, items: content.into_iter().map(sighting).collect(), late, copies }
    }
}

/// Of one moment there is one polled answer at most: a target is asked one request at a time.
fn id(n: usize) -> String {
    format!("o{n:03}")
}

proptest! {
    #[test]
    fn any_order_of_arrival_ends_with_the_newest_answer_and_tells_each_change_once(
        mut all in prop::collection::vec(said(), 1..14)
    ) {
        let mut polled = std::collections::BTreeSet::new();
        // Two answers to polls have two moments, and nothing else has theirs.
        for (n, one) in all.iter_mut().enumerate() {
            one.at = one.at * 100 + if one.polled { 50 + n as u64 } else { 0 };
            one.late *= 100;
            polled.extend(one.polled.then_some(one.at));
        }
        // (moment of arrival, which)
        let mut arrivals: Vec<(u64, usize)> = Vec::new();
        for (n, one) in all.iter().enumerate() {
            let copies = if one.polled { 1 } else { one.copies };
            arrivals.extend((0..copies).map(|copy| (one.at + if one.polled { 0 } else { one.late * (copy as u64 + 1) }, n)));
        }
        arrivals.sort_unstable();
        let deliver = |order: &[usize]| {
            let mut shelf = Shelf::default();
            for n in order {
                let one = &all[*n];
                match one.polled {
                    true => shelf.put(&one.items, at(one.at)),
                    false => shelf.push(&id(*n), &one.items, at(one.at)),
                }
            }
            shelf
        };
        let arrived = deliver(&arrivals.iter().map(|(_, n)| *n).collect::<Vec<_>>());
        let mut in_order: Vec<usize> = (0..all.len()).collect();
        in_order.sort_by_key(|n| (all[*n].at, *n));
        let ideal = deliver(&in_order);
        prop_assert_eq!(arrived.shown(), ideal.shown());
        let mut once = arrived.taken.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), arrived.taken.len(), "no observation takes effect twice");
        prop_assert!(arrived.history.iter().zip(1u64..).all(|(line, seq)| line.seq == seq), "the history has no gap");
        prop_assert!(arrived.history.windows(2).all(|w| w[0].at.steady <= w[1].at.steady), "and goes one way");
        // Told once: each line follows from the one before it about the same item.
        let mut there = BTreeMap::new();
        for line in &arrived.history {
            use crate::domain::item::ChangeKind::*;
            let was: bool = there.get(&line.key).copied().unwrap_or(false);
            prop_assert_eq!(was, matches!(line.kind, Changed | Removed), "{:?}", line);
            there.insert(line.key.clone(), line.kind != Removed);
        }
    }
}
