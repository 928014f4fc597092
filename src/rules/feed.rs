//! Scans: one reading whose rows belong to many targets (F12, T7). Whose a row is, what of a page is worth keeping, and what a reading that
//! came to its end makes of each target. Unvisited is never absent: a target takes its rows from a whole reading that was for it from the
//! beginning, or not at all. Must not know how pages are asked, nor where rows are kept.

#[cfg(test)]
mod tests;

use crate::domain::ids::TargetName;
use crate::domain::item::{Item, Sighting};
use crate::domain::scan::{Count, Seen, Unmatched};
use crate::domain::target::TargetState;
use crate::domain::time::{Span, Stamp};
use crate::rules::extract::path::Path;
use crate::rules::extract::text_of;
use crate::rules::reconcile::{self, Reconciled, reconcile_fed};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Of so many unmatched rows somebody is told which.
const EXAMPLES: usize = 5;
/// What an example shows of a key or a name, in characters.
const SHOWN: usize = 80;

/// Stands for the place of a target where a row belongs to none.
const STRAY: u32 = u32::MAX;

/// No row names a target of this scan: the field that says whose it is has another name now, or another meaning.
pub const NOBODYS: &str = "no row of the scan belongs to a target; look at `feeds`";

/// Where a row says to which target it belongs.
#[derive(Debug)]
pub struct Feeds(Path);

impl Feeds {
    pub fn compile(text: &str) -> Result<Feeds, String> {
        Path::parse(text).map(Feeds).map_err(|why| format!("feeds: {why}"))
    }

    /// `None`: it says nothing, or nothing that is a name.
    pub fn of(&self, row: &Value) -> Option<Label> {
        self.0.one(row).and_then(text_of).filter(|said| !said.trim().is_empty()).map(|said| Label::of(&said))
    }
}

/// Whose a row says that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// As the row says it.
    pub said: String,
    /// As targets are named: in lower case, and `-` for whatever a name does not have. `Sector 12` is `sector-12`.
    pub name: TargetName,
}

impl Label {
    /// The target's name as the row says it, and as it is written otherwise.
    fn names(&self) -> [TargetName; 2] {
        [TargetName(self.said.trim().to_owned()), self.name.clone()]
    }

    pub fn of(said: &str) -> Label {
        let letter = |c: char| match c.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' => c,
            _ => '-',
        };
        Label { said: said.to_owned(), name: TargetName(said.trim().chars().map(letter).collect()) }
    }
}

/// The targets of a reading and what was seen of each. The set is fixed when it begins: whoever comes later has missed pages, and waits
/// for the next.
#[derive(Debug, Default)]
pub struct Gathering {
    names: Vec<TargetName>,
    places: HashMap<TargetName, u32>,
    seen: HashMap<u64, Seen>,
    /// Rows of each target, each once.
    rows: Vec<u32>,
    /// What the rows of a target call it: another word that reads as the same name is another's.
    said: HashMap<u32, String>,
}

/// Whose a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Of this scan, and it is in the reading.
    Fed,
    /// Of this scan, and not watched any more.
    Unwatched,
    /// Of no target of this scan.
    Nobody,
}

/// What one row asks to be kept.
#[derive(Debug, PartialEq)]
pub enum Keep {
    /// A row that is not on the shelf as it is.
    Row(TargetName, Sighting),
    /// It was kept, and is not so any more.
    Gone(TargetName, String),
}

/// One page, taken in.
#[derive(Debug, Default, PartialEq)]
pub struct Taken {
    pub seen: Vec<Seen>,
    pub keep: Vec<Keep>,
    /// Rows that an earlier page had too.
    pub again: u64,
}

/// A row with the name that it gives.
pub type Named = (Option<Label>, Sighting);

impl Gathering {
    pub fn new(names: Vec<TargetName>) -> Gathering {
        let places = names.iter().zip(0u32..).map(|(name, at)| (name.clone(), at)).collect();
        Gathering { rows: vec![0; names.len()], places, names, ..Gathering::default() }
    }

    /// As it stood when the last page was kept.
    pub fn resumed(names: Vec<TargetName>, seen: Vec<Seen>) -> Gathering {
        let mut gathering = Gathering::new(names);
        for row in seen {
            gathering.note(row);
        }
        gathering
    }

    pub fn names(&self) -> &[TargetName] {
        &self.names
    }

    /// Rows of a target, each once.
    pub fn rows_of(&self, name: &TargetName) -> u32 {
        self.places.get(name).and_then(|at| self.rows.get(*at as usize)).copied().unwrap_or(0)
    }

    /// Takes a page in. `shelf`: the items of its rows as they are on the shelf, row by row; `whose`: of a name that is not in the
    /// reading. The newest of what is said twice stands.
    pub fn take(
        &mut self,
        page: Vec<Named>,
        shelf: &[Option<Item>],
        whose: impl Fn(&TargetName) -> Owner,
        count: &mut Count,
    ) -> Taken {
        let mut taken = Taken::default();
        let shelf = shelf.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        for ((label, row), item) in page.into_iter().zip(shelf) {
            let place = label.as_ref().and_then(|label| self.place_of(label));
            let target = place.unwrap_or(STRAY);
            let item = item.filter(|_| place.is_some());
            let same = item.filter(|item| reconcile::says_the_same(item, &row)).map(|item| print(&item.fingerprint));
            let now = Seen { target, key: digest(&row.key), same };
            let before = self.note(now);
            match (before, place) {
                (Some(_), _) => taken.again += 1,
                (None, Some(_)) => count.rows += 1,
                (None, None) => {
                    let owner = label.as_ref().map(|label| self.owner(label, &whose));
                    count.stray(&row.key, label.map(|label| label.said).as_deref(), owner);
                }
            }
            // What was kept of it elsewhere, or is on the shelf again as it was.
            if let Some(before) = before.filter(|b| b.same.is_none() && (b.target != target || same.is_some()))
                && let Some(name) = self.names.get(before.target as usize)
            {
                taken.keep.push(Keep::Gone(name.clone(), row.key.clone()));
            }
            taken.seen.push(now);
            if let (None, Some(name)) = (same, self.names.get(target as usize)) {
                taken.keep.push(Keep::Row(name.clone(), row));
            }
        }
        taken
    }

    fn place_of(&mut self, label: &Label) -> Option<u32> {
        let place = label.names().iter().find_map(|name| self.places.get(name)).copied()?;
        let said = self.said.entry(place).or_insert_with(|| label.said.clone());
        (*said == label.said).then_some(place)
    }

    /// Of a row that has no place.
    fn owner(&self, label: &Label, whose: impl Fn(&TargetName) -> Owner) -> Owner {
        let names = label.names();
        if names.iter().any(|name| self.places.contains_key(name)) {
            return Owner::Nobody;
        }
        names.iter().map(whose).find(|owner| *owner != Owner::Nobody).unwrap_or(Owner::Nobody)
    }

    /// The newest of a row; what was known of it before.
    fn note(&mut self, row: Seen) -> Option<Seen> {
        let before = self.seen.insert(row.key, row);
        let mut change = |target: u32, by: fn(u32) -> u32| {
            if let Some(rows) = self.rows.get_mut(target as usize) {
                *rows = by(*rows);
            }
        };
        if let Some(before) = before {
            change(before.target, |n| n.saturating_sub(1));
        }
        change(row.target, |n| n.saturating_add(1));
        before
    }

    /// What the reading makes of one target, now that it is whole. `kept`: the rows of it that were kept, `old`: every item of it.
    pub fn judge(
        &self,
        name: &TargetName,
        state: &TargetState,
        old: &[Item],
        kept: Vec<Sighting>,
        time: Time,
    ) -> Judged {
        if state.as_of.is_some_and(|own| own.steady > time.as_of.steady) {
            return Judged::Fresher;
        }
        let Some(place) = self.places.get(name).copied() else { return Judged::Fresher };
        let kept_keys: HashSet<&str> = kept.iter().map(|row| row.key.as_str()).collect();
        let mut same = HashSet::new();
        for item in old.iter().filter(|item| !kept_keys.contains(item.key.as_str())) {
            let seen = self.seen.get(&digest(&item.key)).filter(|seen| seen.target == place);
            match seen.and_then(|seen| seen.same) {
                // It was on the shelf as the page had it, and somebody has written there since.
                Some(said) if said != print(&item.fingerprint) || item.removed.is_some() => return Judged::Fresher,
                Some(_) => drop(same.insert(item.key.as_str())),
                None => {}
            }
        }
        // Each row of the reading is accounted for, or the shelf is not the one that it was compared with.
        if self.rows.get(place as usize).is_none_or(|rows| *rows as usize != same.len() + kept.len()) {
            return Judged::Fresher;
        }
        if same.is_empty()
            && let Some(since) = reconcile::doubted(state, &kept, time.empty_since, time.ended_at, time.interval)
        {
            return Judged::Doubted(since);
        }
        Judged::Publish(Box::new(reconcile_fed(state, old, kept, &same, time.ended_at, time.as_of)))
    }
}

/// When a reading was.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Arrival of its first page: nothing that it says is newer than that.
    pub as_of: Stamp,
    /// Arrival of its last.
    pub ended_at: Stamp,
    /// How far apart readings are.
    pub interval: Span,
    /// Since when the target is said to be empty, where it is.
    pub empty_since: Option<Stamp>,
}

/// What becomes of one target.
#[derive(Debug)]
pub enum Judged {
    Publish(Box<Reconciled>),
    /// An answer of its own arrived after the reading began, and stands.
    Fresher,
    /// It had items and has none: believed if it is still so a while later (law 4). Since when.
    Doubted(Stamp),
}

impl Count {
    fn stray(&mut self, key: &str, name: Option<&str>, owner: Option<Owner>) {
        self.rows += 1;
        if let Some(Owner::Unwatched | Owner::Fed) = owner {
            self.unwatched += 1;
            return;
        }
        self.unmatched += 1;
        if self.examples.len() < EXAMPLES {
            let short = |text: &str| text.chars().take(SHOWN).collect::<String>();
            self.examples.push(Unmatched { key: short(key), names: name.map(short) });
        }
    }

    /// Whether a reading can be believed at all: rows that nobody owns are another answer, not empty targets.
    pub fn is_nobodys(&self) -> bool {
        self.rows > 0 && self.rows == self.unmatched
    }
}

fn digest(key: &str) -> u64 {
    let hash = blake3::hash(key.as_bytes());
    hash.as_bytes().first_chunk().copied().map_or(0, u64::from_le_bytes)
}

fn print(fingerprint: &[u8; 16]) -> u64 {
    fingerprint.first_chunk().copied().map_or(0, u64::from_le_bytes)
}
