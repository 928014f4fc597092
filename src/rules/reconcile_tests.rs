//! Reconciliation: single steps as tables, and whole lives of targets as properties.

use super::*;
use crate::domain::outcome::Outcome;
use crate::domain::target::Trouble;
use crate::domain::time::{Steady, Wall};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn at(s: u64) -> Stamp {
    Stamp { steady: Steady(s * 1000), wall: Wall(1_796_007_373_000 + s as i64 * 1000), era: 1 }
}

/// A zone as an answer at `arrived` tells it; `left`: seconds until it ends. Its content is `word`.
fn zone(key: &str, word: &str, arrived: u64, left: Option<u64>) -> Sighting {
    let ends = left.map(|s| at(arrived + s));
    Sighting {
        key: key.into(),
        title: format!("Zone {key}"),
        state: Some(ItemState { word: word.into(), decays: ends.map(|e| (e, "idle".into())) }),
        fields: vec![
            ("left".into(), ends.map_or(FieldValue::Unknown, FieldValue::Left)),
            ("mode".into(), FieldValue::Text(word.into())),
        ],
        fingerprint: *blake3::hash(word.as_bytes()).as_bytes().first_chunk().unwrap(),
    }
}

/// The shelf of one target, as the store would keep it.
#[derive(Clone, Default)]
struct Shelf {
    state: TargetState,
    items: BTreeMap<String, Item>,
    history: Vec<HistoryEntry>,
}

impl Shelf {
    fn answered(&mut self, s: u64, seen: Vec<Sighting>) -> Reconciled {
        let old: Vec<Item> = self.items.values().cloned().collect();
        let r = reconcile(&self.state, &old, seen, at(s));
        self.state = r.state.clone();
        self.items.extend(r.put.iter().map(|i| (i.key.clone(), i.clone())));
        self.history.extend(r.history.clone());
        r
    }
    fn kinds(&self) -> Vec<(ChangeKind, &str)> {
        self.history.iter().map(|h| (h.kind, h.key.as_str())).collect()
    }
}

/// A gauge whose provider dates its reading at `read`.
fn gauge(key: &str, word: &str, read: u64) -> Sighting {
    let mut gauge = zone(key, word, 0, None);
    gauge.fields.push((OBSERVED_AT.into(), FieldValue::At(at(read).wall)));
    gauge
}

#[test]
fn a_target_is_as_old_as_its_newest_reading_and_a_newer_time_is_no_change() {
    let mut shelf = Shelf::default();
    shelf.answered(100, vec![gauge("1", "low", 40), gauge("2", "low", 70)]);
    assert_eq!(shelf.state.observed_at, Some(at(70).wall));
    let again = shelf.answered(200, vec![gauge("1", "low", 150), gauge("2", "low", 70)]);
    assert!(!again.changed && again.moved && again.history.is_empty());
    assert_eq!((shelf.state.observed_at, shelf.state.generation), (Some(at(150).wall), 1));
    assert_eq!(observed_at(&shelf.items["1"].fields), Some(at(150).wall), "and it is kept");
    let higher = shelf.answered(300, vec![gauge("1", "high", 250), gauge("2", "low", 70)]);
    let told: Vec<&str> = higher.history[0].detail.iter().map(|c| c.field.as_str()).collect();
    assert_eq!(told, ["state", "mode"], "what goes on by itself is not told");
    assert_eq!(confirm(&shelf.state, at(400)).observed_at, Some(at(250).wall), "a 304 makes no reading newer");
    // What a part of the pages says belongs to no as-of.
    let old: Vec<Item> = shelf.items.values().cloned().collect();
    let part = reconcile_pages(&shelf.state, &old, vec![gauge("1", "high", 450)], at(500), Extent::Part);
    assert_eq!((part.state.as_of, part.state.observed_at), (shelf.state.as_of, Some(at(250).wall)));
    shelf.answered(600, vec![zone("1", "high", 600, None)]);
    assert_eq!(shelf.state.observed_at, None, "nothing is dated any more");
}

#[test]
fn the_life_of_an_item() {
    use ChangeKind::*;
    let mut shelf = Shelf::default();
    assert!(shelf.answered(10, vec![zone("1", "idle", 10, None)]).changed);
    let quiet = shelf.answered(20, vec![zone("1", "idle", 20, None)]);
    assert!(!quiet.changed && !quiet.moved && quiet.put.is_empty() && quiet.history.is_empty());
    shelf.answered(30, vec![zone("1", "running", 30, Some(60))]);
    shelf.answered(40, vec![]);
    let gone = &shelf.items["1"];
    assert_eq!(gone.removed, Some(super::Removed { at: at(40), last_seen: at(30) }));
    assert_eq!((gone.first_seen, gone.changed), (at(10), at(30)));
    assert!(!shelf.answered(50, vec![]).changed, "removed once");
    shelf.answered(60, vec![zone("1", "running", 60, Some(60))]);
    let back = &shelf.items["1"];
    assert_eq!((back.removed, back.first_seen, back.changed), (None, at(10), at(60)));
    assert_eq!(shelf.kinds(), [(Appeared, "1"), (Changed, "1"), (Removed, "1"), (Reappeared, "1")]);
    let told: Vec<_> = shelf.history.iter().map(|h| (h.seq, h.generation, h.at, h.state.as_deref().unwrap())).collect();
    assert_eq!(
        told,
        [(1, 1, at(10), "idle"), (2, 2, at(30), "running"), (3, 3, at(40), "running"), (4, 4, at(60), "running")]
    );
    assert_eq!((shelf.state.generation, shelf.state.next_seq, shelf.state.item_count), (4, 5, 1));
    assert_eq!((shelf.state.as_of, shelf.state.changed_at), (Some(at(60)), Some(at(60))));
}

#[test]
fn a29_received_and_changed_are_two_things() {
    let mut shelf = Shelf::default();
    for s in 1..=20 {
        shelf.answered(s, vec![zone("1", "idle", s, None)]);
    }
    assert_eq!((shelf.state.as_of, shelf.state.changed_at), (Some(at(20)), Some(at(1))));
    assert_eq!((shelf.state.generation, shelf.history.len()), (1, 1));
}

#[test]
fn the_first_answer_makes_a_generation_even_if_it_is_empty() {
    let mut shelf = Shelf::default();
    assert!(shelf.answered(1, vec![]).changed);
    assert!(!shelf.answered(2, vec![]).changed);
    assert_eq!((shelf.state.generation, shelf.state.item_count, shelf.state.changed_at), (1, 0, Some(at(1))));
}

#[test]
fn a_countdown_within_the_jitter_is_not_written_and_does_not_creep() {
    let mut shelf = Shelf::default();
    shelf.answered(0, vec![zone("1", "running", 0, Some(600))]);
    // Each answer is a second later than the one before would have had it: against the old anchor the third is beyond.
    for (s, left, moves) in [(60, 541, false), (120, 482, false), (180, 423, true), (240, 363, false)] {
        let r = shelf.answered(s, vec![zone("1", "running", s, Some(left))]);
        assert_eq!((r.moved, r.put.len(), r.changed, r.history.len()), (moves, usize::from(moves), false, 0), "{s}");
    }
    assert_eq!(shelf.items["1"].fields[0].1, FieldValue::Left(at(603)));
    assert_eq!((shelf.items["1"].changed, shelf.state.as_of), (at(0), Some(at(240))));
}

#[test]
fn a_countdown_that_stopped_or_started_moved() {
    let mut shelf = Shelf::default();
    shelf.answered(0, vec![zone("1", "idle", 0, None)]);
    assert!(shelf.answered(1, vec![zone("1", "idle", 1, Some(60))]).moved);
    assert!(shelf.answered(2, vec![zone("1", "idle", 2, None)]).moved);
    assert_eq!(shelf.history.len(), 1);
}

#[test]
fn a_volatile_value_is_kept_up_to_date_without_history() {
    let with = |level: f64| {
        let mut sighting = zone("1", "idle", 0, None);
        sighting.fields.push(("level".into(), FieldValue::Number(level)));
        sighting
    };
    let mut shelf = Shelf::default();
    shelf.answered(0, vec![with(1.0)]);
    let r = shelf.answered(1, vec![with(2.0)]);
    assert!(r.moved && !r.changed && r.history.is_empty());
    assert_eq!(shelf.items["1"].fields[2].1, FieldValue::Number(2.0));
}

#[test]
fn an_anchor_of_an_older_era_is_renewed() {
    let mut shelf = Shelf::default();
    shelf.answered(0, vec![zone("1", "running", 0, Some(600))]);
    let mut sighting = zone("1", "running", 60, Some(540));
    let ends = Stamp { era: 2, ..at(600) };
    sighting.fields[0].1 = FieldValue::Left(ends);
    sighting.state.as_mut().unwrap().decays = Some((ends, "idle".into()));
    let r = shelf.answered(60, vec![sighting]);
    assert!(r.moved && !r.changed);
    assert_eq!(shelf.items["1"].fields[0].1, FieldValue::Left(ends));
}

#[test]
fn a_change_is_told_field_by_field_but_for_countdowns() {
    let mut shelf = Shelf::default();
    let mut first = zone("1", "idle", 0, None);
    first.fields.push(("due".into(), FieldValue::At(at(0).wall)));
    first.fields.push(("old".into(), FieldValue::Bool(true)));
    shelf.answered(0, vec![first]);
    let mut second = zone("1", "running", 5, Some(60));
    second.title = "Lawn".into();
    second.fields.push(("due".into(), FieldValue::Unknown));
    second.fields.push(("level".into(), FieldValue::Number(2.0)));
    let r = shelf.answered(5, vec![second]);
    let told: Vec<_> =
        r.history[0].detail.iter().map(|c| (c.field.as_str(), c.before.as_deref(), c.after.as_deref())).collect();
    assert_eq!(
        told,
        [
            ("title", Some("Zone 1"), Some("Lawn")),
            ("state", Some("idle"), Some("running")),
            ("mode", Some("idle"), Some("running")),
            ("due", Some(rfc3339(at(0).wall).as_str()), None),
            ("level", None, Some("2")),
            ("old", Some("true"), None),
        ]
    );
}

#[test]
fn a_good_answer_ends_the_trouble_and_leaves_the_rest() {
    let trouble =
        Trouble { since: at(1), outcome: Outcome::Limited, reason: "rate limited".into(), said: None, failures: 3 };
    let state = TargetState {
        trouble: Some(trouble),
        etag: Some("\"x\"".into()),
        attempted_at: Some(at(8)),
        as_of: Some(at(1)),
        changed_at: Some(at(1)),
        generation: 7,
        next_seq: 9,
        ..TargetState::default()
    };
    let r = reconcile(&state, &[], vec![], at(9));
    assert_eq!(r.state.trouble, None);
    assert_eq!((r.state.etag, r.state.attempted_at, r.state.generation), (state.etag.clone(), Some(at(8)), 7));
    let c = confirm(&state, at(10));
    assert_eq!((c.as_of, c.changed_at, c.generation, c.trouble), (Some(at(10)), Some(at(1)), 7, None));
    assert_eq!(c.etag, state.etag);
}

#[test]
fn a_part_renews_what_it_saw_and_removes_nothing() {
    let zones = vec![zone("1", "idle", 0, None), zone("2", "idle", 0, None)];
    let whole = reconcile(&TargetState::default(), &[], zones, at(10));
    let state = TargetState { etag: Some("\"x\"".into()), ..whole.state };
    let seen = vec![zone("2", "running", 20, None), zone("3", "idle", 20, None)];
    let part = reconcile_pages(&state, &whole.put, seen.clone(), at(20), Extent::Part);
    let kinds: Vec<_> = part.history.iter().map(|h| (h.key.as_str(), h.kind)).collect();
    assert_eq!(kinds, [("2", ChangeKind::Changed), ("3", ChangeKind::Appeared)]);
    assert_eq!((part.state.as_of, part.state.item_count, part.state.generation), (Some(at(10)), 3, 2));
    assert!(part.put.iter().all(|item| item.removed.is_none()));

    // The rest of the same reading proves its end: now 1 is gone, and everything is as old as the first page.
    let shelf: Vec<Item> = [part.put.clone(), whole.put.iter().filter(|i| i.key == "1").cloned().collect()].concat();
    let rest = reconcile_pages(&part.state, &shelf, seen, at(30), Extent::Whole { as_of: at(15) });
    let kinds: Vec<_> = rest.history.iter().map(|h| (h.key.as_str(), h.kind, h.at)).collect();
    assert_eq!(kinds, [("1", ChangeKind::Removed, at(30))]);
    assert_eq!((rest.state.as_of, rest.state.item_count, rest.state.changed_at), (Some(at(15)), 2, Some(at(30))));
    let empty = reconcile_pages(&rest.state, &[], vec![], at(40), Extent::Part);
    assert_eq!((empty.changed, empty.state.generation), (false, 3), "a part that says nothing changes nothing");
}

#[test]
fn a_first_part_makes_no_whole_answer() {
    let part = reconcile_pages(&TargetState::default(), &[], vec![zone("1", "idle", 0, None)], at(5), Extent::Part);
    assert_eq!((part.state.as_of, part.state.generation, part.state.item_count), (None, 1, 1));
    let whole = Extent::Whole { as_of: at(5) };
    let same = reconcile_pages(&part.state, &part.put, vec![zone("1", "idle", 0, None)], at(6), whole);
    assert_eq!((same.state.as_of, same.state.generation, same.changed), (Some(at(5)), 1, false));
}

#[test]
fn sudden_emptiness_is_believed_when_it_is_still_so_a_while_later() {
    let mut state = TargetState { item_count: 3, ..TargetState::default() };
    let quarter = Span::from_secs(900);
    let ask = |state: &TargetState, since: Option<u64>, s: u64| doubted(state, &[], since.map(at), at(s), quarter);
    assert_eq!(doubted(&state, &[zone("1", "idle", 0, None)], None, at(0), quarter), None);
    assert_eq!(ask(&state, None, 100), Some(at(100)));
    let trouble = |reason: &str| Trouble {
        since: at(1),
        outcome: Outcome::Unexpected,
        reason: reason.into(),
        said: None,
        failures: 1,
    };
    state.trouble = Some(trouble("no answer within 30 s"));
    assert_eq!(ask(&state, Some(100), 1_000), Some(at(100)), "another trouble came between");
    state.trouble = Some(trouble(SUDDENLY_EMPTY));
    assert_eq!(ask(&state, Some(100), 101), Some(at(100)), "somebody impatient asked again");
    assert_eq!(ask(&state, Some(100), 909), Some(at(100)));
    assert_eq!(ask(&state, Some(100), 910), None, "the next poll");
    assert_eq!(ask(&state, None, 910), Some(at(910)), "nobody knows since when");
    assert_eq!(ask(&TargetState::default(), None, 0), None, "an account may be empty from the start");
    assert_eq!(believed_after(Span::from_secs(2)), Span::from_secs(60), "however often it is polled");
}

#[test]
fn the_order_of_the_answer_is_not_content() {
    let (a, b) = (zone("1", "idle", 0, None), zone("2", "running", 0, Some(9)));
    let one = reconcile(&TargetState::default(), &[], vec![a.clone(), b.clone()], at(0));
    let two = reconcile(&TargetState::default(), &[], vec![b, a], at(0));
    assert_eq!(one.state.fingerprint, two.state.fingerprint);
}

#[test]
fn a_key_twice_counts_once() {
    let r =
        reconcile(&TargetState::default(), &[], vec![zone("1", "idle", 0, None), zone("1", "running", 0, None)], at(0));
    assert_eq!((r.put.len(), r.history.len(), r.state.item_count), (1, 1, 1));
}

/// An answer: for each of some keys whether it is there, what it says, and its countdown.
fn answers() -> impl Strategy<Value = Vec<BTreeMap<u8, (u8, Option<u64>)>>> {
    let zone = (0..3u8, proptest::option::of(0..300u64));
    proptest::collection::vec(proptest::collection::btree_map(0..6u8, zone, 0..6), 1..25)
}

/// Rebuilds the present items, as key to state word, from nothing but history.
fn replay(history: &[HistoryEntry]) -> BTreeMap<String, String> {
    let mut present = BTreeMap::new();
    for entry in history {
        match entry.kind {
            ChangeKind::Removed => drop(present.remove(&entry.key)),
            ChangeKind::Appeared => {
                assert!(present.insert(entry.key.clone(), entry.state.clone().unwrap()).is_none());
            }
            ChangeKind::Changed | ChangeKind::Reappeared => {
                present.insert(entry.key.clone(), entry.state.clone().unwrap());
            }
        }
    }
    present
}

proptest! {
    #[test]
    fn law_7_history_is_the_whole_story(answers in answers()) {
        let mut shelf = Shelf::default();
        for (n, answer) in answers.iter().enumerate() {
            let s = n as u64 * 60;
            let word = |w: u8| ["idle", "running", "suspended"][usize::from(w)];
            let seen = answer.iter().map(|(k, (w, left))| zone(&k.to_string(), word(*w), s, *left)).collect();
            let before = shelf.clone();
            let r = shelf.answered(s, seen);

            let step = shelf.state.generation - before.state.generation;
            prop_assert_eq!(step, u64::from(r.changed), "a generation grows by one, only on a change");
            prop_assert_eq!(r.changed, n == 0 || before.state.fingerprint != shelf.state.fingerprint);
            prop_assert!(r.history.iter().all(|h| h.generation == shelf.state.generation && h.at == at(s)));
            for (key, item) in &before.items {
                prop_assert_eq!(item.first_seen, shelf.items[key].first_seen, "first_seen never changes");
            }
            let told: BTreeMap<_, _> = answer.iter().map(|(k, (w, _))| (k.to_string(), word(*w).to_owned())).collect();
            prop_assert_eq!(&replay(&shelf.history), &told, "history replays to the answer");
            let present: BTreeMap<_, _> = shelf.items.values().filter(|i| i.removed.is_none())
                .map(|i| (i.key.clone(), i.state.as_ref().unwrap().word.clone())).collect();
            prop_assert_eq!(present, told, "and the shelf holds it");
            prop_assert_eq!(shelf.state.item_count as usize, answer.len());
            for (k, (_, left)) in answer {
                if let (Some(left), FieldValue::Left(ends)) = (left, &shelf.items[&k.to_string()].fields[0].1) {
                    let off = ends.steady.since(at(s + left).steady).max(at(s + left).steady.since(ends.steady));
                    prop_assert!(off <= JITTER, "no countdown on the shelf is further off than the jitter");
                }
            }
        }
        let seqs: Vec<u64> = shelf.history.iter().map(|h| h.seq).collect();
        prop_assert_eq!(seqs, (1..shelf.state.next_seq.max(1)).collect::<Vec<_>>(), "no gap");
    }
}
