//! Whose the rows are, and what a whole reading makes of its targets.

use super::*;
use crate::domain::item::{ChangeKind, FieldValue};
use crate::domain::time::{Span, Steady, Wall};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

fn at(ms: u64) -> Stamp {
    Stamp { steady: Steady(ms), wall: Wall(ms as i64), era: 0 }
}

fn row(key: &str, word: &str) -> Sighting {
    let mut fingerprint = [0; 16];
    fingerprint.copy_from_slice(&blake3::hash(word.as_bytes()).as_bytes()[..16]);
    let fields = vec![("word".to_owned(), FieldValue::Text(word.to_owned()))];
    Sighting { key: key.to_owned(), title: key.to_owned(), state: None, fields, fingerprint }
}

fn names(all: &[&str]) -> Vec<TargetName> {
    all.iter().map(|name| TargetName::from(*name)).collect()
}

/// Targets on a shelf, and the rows that a reading keeps: the store of these tests.
#[derive(Clone, Debug, Default)]
struct Shelf {
    states: BTreeMap<TargetName, TargetState>,
    items: BTreeMap<(TargetName, String), Item>,
    kept: BTreeMap<(TargetName, String), Sighting>,
    empty_since: BTreeMap<TargetName, Stamp>,
}

impl Shelf {
    fn items(&self, name: &TargetName) -> Vec<Item> {
        self.items.iter().filter(|((of, _), _)| of == name).map(|(_, item)| item.clone()).collect()
    }

    fn present(&self, name: &str) -> Vec<(String, String)> {
        let present = self.items(&name.into()).into_iter().filter(|i| i.removed.is_none());
        present.map(|i| (i.key, reconcile::shown(&i.fields[0].1).unwrap_or_default())).collect()
    }

    fn page(&mut self, gathering: &mut Gathering, count: &mut Count, page: &[(&str, &str, &str)]) -> Taken {
        let on_shelf =
            |(name, key, _): &(&str, &str, &str)| self.items.get(&(Label::of(name).name, (*key).to_owned())).cloned();
        let shelf: Vec<Option<Item>> = page.iter().map(on_shelf).collect();
        let rows = page.iter().map(|(name, key, word)| (Some(Label::of(name)), row(key, word))).collect();
        let taken = gathering.take(rows, &shelf, |_| Owner::Nobody, count);
        for keep in &taken.keep {
            match keep {
                Keep::Row(name, row) => drop(self.kept.insert((name.clone(), row.key.clone()), row.clone())),
                Keep::Gone(name, key) => drop(self.kept.remove(&(name.clone(), key.clone()))),
            }
        }
        taken
    }

    fn judge(&self, gathering: &Gathering, name: &TargetName, time: Time) -> Judged {
        let kept = self.kept.iter().filter(|((of, _), _)| of == name).map(|(_, row)| row.clone()).collect();
        let state = self.states.get(name).cloned().unwrap_or_default();
        let time = Time { empty_since: self.empty_since.get(name).copied(), ..time };
        gathering.judge(name, &state, &self.items(name), kept, time)
    }

    /// Publishes all targets of the reading; how each was judged.
    fn publish(&mut self, gathering: &Gathering, time: Time) -> Vec<&'static str> {
        let mut words = Vec::new();
        for name in gathering.names() {
            match self.judge(gathering, name, time) {
                Judged::Fresher => words.push("fresher"),
                Judged::Doubted(since) => {
                    self.empty_since.insert(name.clone(), since);
                    let trouble = crate::domain::target::Trouble {
                        since: time.ended_at,
                        outcome: crate::domain::outcome::Outcome::Unexpected,
                        reason: reconcile::SUDDENLY_EMPTY.to_owned(),
                        said: None,
                        failures: 1,
                    };
                    self.states.entry(name.clone()).or_default().trouble = Some(trouble);
                    words.push("doubted");
                }
                Judged::Publish(result) => {
                    self.put(name, *result);
                    words.push("published");
                }
            }
        }
        self.kept.clear();
        words
    }

    fn put(&mut self, name: &TargetName, result: Reconciled) {
        result.put.into_iter().for_each(|item| drop(self.items.insert((name.clone(), item.key.clone()), item)));
        self.states.insert(name.clone(), result.state);
    }

    fn scan(&mut self, targets: &[&str], pages: &[&[(&str, &str, &str)]], time: Time) -> (Vec<&'static str>, Count) {
        let (mut gathering, mut count) = (Gathering::new(names(targets)), Count::default());
        for page in pages {
            self.page(&mut gathering, &mut count, page);
        }
        (self.publish(&gathering, time), count)
    }
}

fn time(as_of: u64, ended_at: u64) -> Time {
    Time { as_of: at(as_of), ended_at: at(ended_at), interval: Span::ZERO, empty_since: None }
}

#[test]
fn a_row_names_its_target_by_text_or_number() {
    let feeds = Feeds::compile("$.subsector").unwrap();
    for (row, name) in [
        (json!({"subsector": "S1"}), Some("S1")),
        (json!({"subsector": 17}), Some("17")),
        (json!({"subsector": null}), None),
        (json!({"subsector": " "}), None),
        (json!({"subsector": ["S1"]}), None),
        (json!({}), None),
    ] {
        assert_eq!(feeds.of(&row).map(|label| label.said).as_deref(), name, "{row}");
    }
    assert!(Feeds::compile("subsector").unwrap_err().starts_with("feeds: "));
}

#[test]
fn a_label_is_read_as_a_name_and_two_labels_of_one_name_are_not_mixed() {
    for (said, name) in [("S1", "s1"), (" Sector 12/b ", "sector-12-b"), ("a_b-c", "a_b-c"), ("Größe", "gr--e")] {
        assert_eq!(Label::of(said).name.as_str(), name);
    }
    let (mut gathering, mut count) = (Gathering::new(names(&["s-1"])), Count::default());
    let page = ["S 1", "S-1", "S 1"].into_iter().zip(["1", "2", "3"]);
    let page = page.map(|(said, key)| (Some(Label::of(said)), row(key, "open"))).collect();
    let taken = gathering.take(page, &[], |_| Owner::Fed, &mut count);
    assert_eq!((taken.keep.len(), count.rows, count.unmatched), (2, 3, 1), "the first word stands for the target");
    assert_eq!(count.examples, [Unmatched { key: "2".into(), names: Some("S-1".into()) }]);
}

#[test]
fn all_targets_have_their_rows_and_the_age_of_the_first_page() {
    let mut shelf = Shelf::default();
    let pages: [&[_]; 2] = [&[("S1", "1", "open"), ("S2", "2", "open")], &[("S1", "3", "done")]];
    let (words, count) = shelf.scan(&["s1", "s2", "s3"], &pages, time(100, 120));
    assert_eq!(words, ["published"; 3]);
    assert_eq!((count.rows, count.unmatched), (3, 0));
    assert_eq!(shelf.present("s1"), [("1".into(), "open".into()), ("3".into(), "done".into())]);
    assert_eq!(shelf.present("s2").len(), 1);
    for name in ["s1", "s2", "s3"] {
        let state = &shelf.states[&name.into()];
        assert_eq!((state.as_of, state.generation), (Some(at(100)), 1), "{name}: nothing is an answer too");
    }
}

#[test]
fn what_says_the_same_is_not_kept_and_not_written() {
    let mut shelf = Shelf::default();
    let page: &[_] = &[("S1", "1", "open"), ("S1", "2", "open")];
    shelf.scan(&["s1"], &[page], time(100, 100));
    let (mut gathering, mut count) = (Gathering::new(names(&["s1"])), Count::default());
    let taken = shelf.page(&mut gathering, &mut count, page);
    assert_eq!((taken.keep, taken.seen.len(), taken.again), (vec![], 2, 0));
    let Judged::Publish(result) = shelf.judge(&gathering, &"s1".into(), time(200, 210)) else { panic!() };
    assert_eq!((result.put, result.history.len(), result.changed), (vec![], 0, false));
    assert_eq!((result.state.as_of, result.state.item_count, result.state.generation), (Some(at(200)), 2, 1));
}

#[test]
fn what_is_not_in_a_whole_reading_is_removed_and_what_moved_is_elsewhere() {
    let mut shelf = Shelf::default();
    shelf.scan(&["s1", "s2"], &[&[("S1", "1", "open"), ("S1", "2", "open"), ("S2", "3", "open")]], time(100, 100));
    shelf.scan(&["s1", "s2"], &[&[("S1", "1", "open"), ("S2", "2", "open"), ("S2", "3", "open")]], time(200, 200));
    assert_eq!(shelf.present("s1").len(), 1);
    assert_eq!(shelf.present("s2").len(), 2);
    let gone = &shelf.items[&("s1".into(), "2".into())];
    assert_eq!(gone.removed.map(|r| (r.at, r.last_seen)), Some((at(200), at(100))));
}

#[test]
fn the_newest_of_what_is_said_twice_stands() {
    let mut shelf = Shelf::default();
    shelf.scan(&["s1", "s2"], &[&[("S1", "1", "open"), ("S2", "9", "open")]], time(100, 100));
    // It moves while it is read, comes back, and is as it was in the end.
    let pages: [&[_]; 4] = [
        &[("S1", "1", "busy"), ("S2", "9", "open")],
        &[("S2", "1", "busy")],
        &[("S1", "1", "done")],
        &[("S1", "1", "open")],
    ];
    let (words, count) = shelf.scan(&["s1", "s2"], &pages, time(200, 230));
    assert_eq!((words, count.rows), (vec!["published"; 2], 2));
    assert_eq!(shelf.present("s1"), [("1".into(), "open".into())]);
    assert_eq!(shelf.present("s2"), [("9".into(), "open".into())]);
    assert_eq!(shelf.states[&"s1".into()].generation, 1, "nothing was told");
}

#[test]
fn a_fresher_answer_of_its_own_stands_for_one_target_alone() {
    let mut shelf = Shelf::default();
    shelf.scan(&["s1", "s2"], &[&[("S1", "1", "open"), ("S2", "2", "open")]], time(100, 100));
    let (mut gathering, mut count) = (Gathering::new(names(&["s1", "s2"])), Count::default());
    shelf.page(&mut gathering, &mut count, &[("S1", "1", "old"), ("S2", "2", "new")]);
    // Between two pages a trigger asks about S1.
    let name = TargetName::from("s1");
    let own = reconcile::reconcile(&shelf.states[&name], &shelf.items(&name), vec![row("1", "newest")], at(205));
    shelf.put(&name, own);
    assert_eq!(shelf.publish(&gathering, time(200, 210)), ["fresher", "published"]);
    assert_eq!(shelf.present("s1"), [("1".into(), "newest".into())]);
    assert_eq!(shelf.states[&name].as_of, Some(at(205)), "as-of does not go back");
    assert_eq!(shelf.present("s2"), [("2".into(), "new".into())]);
}

/// An answer that arrived before the first page and was written after it was compared: the comparison is not worth anything.
#[test]
fn a_shelf_that_is_not_the_one_that_was_compared_with_is_left_alone() {
    let mut shelf = Shelf::default();
    shelf.scan(&["s1"], &[&[("S1", "1", "open"), ("S1", "2", "open")]], time(100, 100));
    for late in [vec![row("1", "busy"), row("2", "open")], vec![row("1", "open")]] {
        let mut shelf = shelf.clone();
        let (mut gathering, mut count) = (Gathering::new(names(&["s1"])), Count::default());
        shelf.page(&mut gathering, &mut count, &[("S1", "1", "open"), ("S1", "2", "open")]);
        let name = TargetName::from("s1");
        let own = reconcile::reconcile(&shelf.states[&name], &shelf.items(&name), late, at(190));
        shelf.put(&name, own);
        let before = shelf.present("s1");
        assert_eq!(shelf.publish(&gathering, time(200, 210)), ["fresher"]);
        assert_eq!(shelf.present("s1"), before);
    }
}

#[test]
fn a_target_that_is_suddenly_empty_is_believed_a_while_later() {
    let mut shelf = Shelf::default();
    let both: &[_] = &[("S1", "1", "open"), ("S2", "2", "open")];
    shelf.scan(&["s1", "s2"], &[both], time(100, 100));
    let rest: &[_] = &[("S2", "2", "open")];
    assert_eq!(shelf.scan(&["s1", "s2"], &[rest], time(200, 200)).0, ["doubted", "published"]);
    assert_eq!(shelf.present("s1").len(), 1);
    assert_eq!(shelf.states[&"s1".into()].as_of, Some(at(100)));
    assert_eq!(shelf.scan(&["s1", "s2"], &[rest], time(300, 60_199)).0, ["doubted", "published"], "too early");
    assert_eq!(shelf.scan(&["s1", "s2"], &[rest], time(60_200, 60_200)).0, ["published"; 2]);
    assert_eq!(shelf.present("s1").len(), 0);
}

/// Somebody's impatience, or the round of a shorter interval, does not hasten it.
#[test]
fn a_target_whose_readings_are_hours_apart_is_believed_empty_after_hours() {
    const HOUR: u64 = 3_600_000;
    let mut shelf = Shelf::default();
    let hourly = |ms: u64| Time { interval: Span(HOUR), ..time(ms, ms) };
    shelf.scan(&["s1"], &[&[("S1", "1", "open")]], hourly(100));
    let (nothing, rest): (&[_], &[_]) = (&[], &[("S9", "9", "open")]);
    assert_eq!(shelf.scan(&["s1"], &[nothing], hourly(HOUR)).0, ["doubted"]);
    assert_eq!(shelf.scan(&["s1"], &[rest], hourly(HOUR + 61_000)).0, ["doubted"], "a minute is not enough");
    assert_eq!(shelf.scan(&["s1"], &[nothing], hourly(2 * HOUR)).0, ["published"]);
    assert_eq!(shelf.present("s1").len(), 0);
}

#[test]
fn rows_of_nobody_are_counted_and_some_are_named() {
    let (mut gathering, mut count) = (Gathering::new(names(&["s1"])), Count::default());
    let whose = |name: &TargetName| if name.as_str() == "s2" { Owner::Unwatched } else { Owner::Nobody };
    let mut page: Vec<Named> =
        (0..9).map(|n| (Some(Label::of(&format!("X{n}"))), row(&format!("x{n}"), "open"))).collect();
    page.push((None, row("none", "open")));
    page.push((Some(Label::of("S2")), row("2", "open")));
    let taken = gathering.take(page.clone(), &[], whose, &mut count);
    assert_eq!(taken.keep, []);
    assert_eq!((count.rows, count.unmatched, count.unwatched, count.examples.len()), (11, 10, 1, 5));
    assert_eq!(count.examples[0], Unmatched { key: "x0".into(), names: Some("X0".into()) });
    assert!(!count.is_nobodys(), "one row belongs to somebody");
    let again = gathering.take(page, &[], whose, &mut count);
    assert_eq!((again.again, count.rows, count.unmatched), (11, 11, 10), "each row once");
}

#[test]
fn rows_that_all_belong_to_nobody_are_no_empty_targets() {
    let (mut gathering, mut count) = (Gathering::new(names(&["s1"])), Count::default());
    assert!(!count.is_nobodys(), "an empty list is another matter");
    gathering.take(vec![(None, row("1", "open"))], &[], |_| Owner::Nobody, &mut count);
    assert!(count.is_nobodys());
}

/// One page of rows: whose, which and what it says.
fn pages() -> impl Strategy<Value = Vec<Vec<(usize, usize, usize)>>> {
    let page = proptest::collection::btree_map(0usize..8, (0usize..4, 0usize..3), 0..5);
    let rows = page.prop_map(|rows| rows.into_iter().map(|(key, (name, word))| (name, key, word)).collect());
    proptest::collection::vec(rows, 0..5)
}

const NAMES: [&str; 4] = ["s1", "s2", "s3", "stranger"];
const KEYS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
const WORDS: [&str; 3] = ["open", "busy", "done"];

proptest! {
    /// A scan published at once says of each target what an answer of its own would have said that has its rows alone, and what it keeps
    /// of its pages may be read back from the file between any two of them.
    #[test]
    fn a_scan_is_as_an_answer_for_each_target(first in pages(), second in pages()) {
        let mut shelf = Shelf::default();
        for (round, pages) in [first, second].into_iter().enumerate() {
            let time = time(1_000 * (round as u64 + 1), 1_000 * (round as u64 + 1) + 500);
            let before = shelf.clone();
            let (mut gathering, mut count) = (Gathering::new(names(&NAMES[..3])), Count::default());
            let (mut kept, mut newest) = (Vec::new(), BTreeMap::new());
            for page in &pages {
                let page: Vec<_> = page.iter().map(|(n, k, w)| (NAMES[*n], KEYS[*k], WORDS[*w])).collect();
                kept.extend(shelf.page(&mut gathering, &mut count, &page).seen);
                gathering = Gathering::resumed(names(&NAMES[..3]), kept.clone());
                newest.extend(page.into_iter().map(|(name, key, word)| (key, (name, word))));
            }
            prop_assert_eq!(count.rows, newest.len() as u64);
            let words = shelf.publish(&gathering, time);
            for (name, word) in NAMES[..3].iter().zip(words) {
                let name = TargetName::from(*name);
                let rows: Vec<Sighting> = newest.iter().filter(|(_, (of, _))| *of == name.as_str()).map(|(key, (_, word))| row(key, word)).collect();
                let state = before.states.get(&name).cloned().unwrap_or_default();
                if reconcile::is_sudden(&state, &rows) {
                    prop_assert_eq!(word, "doubted");
                    prop_assert_eq!(shelf.items(&name), before.items(&name));
                    continue;
                }
                prop_assert_eq!(word, "published");
                let whole = reconcile::Extent::Whole { as_of: time.as_of };
                let alone = reconcile::reconcile_pages(&state, &before.items(&name), rows, time.ended_at, whole);
                let now = &shelf.states[&name];
                // Lines that were written in one moment have no order of their own.
                prop_assert_eq!((now.generation, now.item_count, now.fingerprint, now.as_of, now.next_seq), (alone.state.generation, alone.state.item_count, alone.state.fingerprint, alone.state.as_of, alone.state.next_seq));
                let mut expected: BTreeMap<String, Item> = before.items(&name).into_iter().map(|i| (i.key.clone(), i)).collect();
                expected.extend(alone.put.into_iter().map(|i| (i.key.clone(), i)));
                prop_assert_eq!(shelf.items(&name), expected.into_values().collect::<Vec<_>>());
            }
        }
    }

    /// History has one line for each change, numbered without gaps.
    #[test]
    fn history_has_no_gap(first in pages(), second in pages()) {
        let mut shelf = Shelf::default();
        let mut next: BTreeMap<TargetName, u64> = BTreeMap::new();
        for (round, pages) in [first, second].into_iter().enumerate() {
            let (mut gathering, mut count) = (Gathering::new(names(&NAMES[..3])), Count::default());
            for page in &pages {
                let page: Vec<_> = page.iter().map(|(n, k, w)| (NAMES[*n], KEYS[*k], WORDS[*w])).collect();
                shelf.page(&mut gathering, &mut count, &page);
            }
            let time = time(1_000 * (round as u64 + 1), 1_500 * (round as u64 + 1));
            for name in names(&NAMES[..3]) {
                let Judged::Publish(result) = shelf.judge(&gathering, &name, time) else { continue };
                for line in &result.history {
                    let expected = next.entry(name.clone()).or_insert(1);
                    prop_assert_eq!(line.seq, *expected);
                    *expected += 1;
                    prop_assert!(line.kind != ChangeKind::Removed || shelf.items.contains_key(&(name.clone(), line.key.clone())));
                }
                shelf.put(&name, *result);
            }
            shelf.kept.clear();
        }
    }
}

/// A name of another system is taken as it is where a target has it, else as targets are named otherwise.
#[test]
fn a_label_is_the_name_of_a_target_in_its_own_letters_or_in_ours() {
    let names = ["ECO-7".into(), "eco-8".into()];
    let mut gathering = Gathering::new(names.to_vec());
    let places: Vec<Option<u32>> =
        ["ECO-7", "ECO-8", "eco-8", "eco-7"].map(|said| gathering.place_of(&Label::of(said))).into();
    assert_eq!(places, [Some(0), Some(1), None, None], "two labels of one name are not mixed");
}
