//! How an item's fields went: put together from the lines of its history, which tell what was before and after each change, and from the charges,
//! which tell when good answers came. Reads only.

use super::appliance::Appliance;
use super::core::Conn;
use super::scans::show;
use super::targets::Target;
use super::view::{Denied, FieldSeries, Seconds, SeriesView, When};
use crate::domain::cursor::{Cursor, HistoryAsk};
use crate::domain::ids::TargetKey;
use crate::domain::item::{ChangeKind, HistoryEntry, Item, OBSERVED_AT};
use crate::domain::spec::{FieldSpec, TargetSpec};
use crate::domain::target::TargetState;
use crate::domain::time::{Now, Span, Stamp, Steady, Wall};
use crate::rules::reconcile::shown;
use crate::store::StoreError;
use std::collections::BTreeSet;

/// Changes of one item that are looked through.
const MOST: usize = 5_000;
/// Lines of a history that are read at once.
const STEP: usize = 1_000;
/// Charges that are looked through for when answers came.
const CHARGES: usize = 50_000;

/// When no answer was young enough, in order; and from when on that is known, where not of the whole time.
type Stale = (Vec<(Wall, Wall)>, Option<Wall>);

/// The name under which an item's state stands among its fields.
pub const STATE: &str = "state";
const TITLE: &str = "title";

impl Appliance {
    /// How the fields of one item went for so long, up to now.
    pub fn series(&self, key: &TargetKey, item: &str, long: Span) -> Result<SeriesView, Denied> {
        let (conn, target) = self.target_of(key)?;
        let now = self.now();
        let missing = || Denied::NotFound(format!("{} has no item \"{item}\"", key.target));
        let item = self.core.store.item(key, item)?.ok_or_else(missing)?;
        let from = now.wall() - long;
        let (lines, cut_at) = self.lines(key, &item.key, from)?;
        let begins = cut_at.unwrap_or(from);
        let (stale, known_from) = self.stale(&conn, &target, &now, from)?;
        Ok(SeriesView {
            fields: fields(&target.spec, &item, &lines, begins),
            title: item.title,
            key: item.key,
            from: When(from),
            until: When(now.wall()),
            stale: stale.into_iter().map(|(from, until)| (When(from), When(until))).collect(),
            stale_known_from: known_from.map(When),
            cut_at: cut_at.map(When),
            kept_for: conn.spec.keep_history.map(Seconds),
        })
    }

    /// The item's lines since then, oldest first; and where they begin, if there are more.
    fn lines(&self, key: &TargetKey, item: &str, from: Wall) -> Result<(Vec<HistoryEntry>, Option<Wall>), StoreError> {
        let (mut lines, mut cursor, mut looks) = (Vec::new(), Cursor::Newest, 0);
        loop {
            let ask = HistoryAsk { from: cursor, item: Some(item.to_owned()), limit: STEP };
            let page = self.core.store.history_page(key, &ask)?;
            let first = page.rows.first().map(|line| line.at.wall);
            lines.splice(0..0, page.rows.into_iter().filter(|line| line.at.wall >= from));
            looks += 1;
            match page.on {
                Some(on) if first.is_none_or(|at| at >= from) => {
                    if lines.len() >= MOST || looks >= MOST / STEP {
                        let cut = lines.first().map(|line| line.at.wall);
                        return Ok((lines, cut.or(Some(self.now().wall()))));
                    }
                    cursor = Cursor::Before(on);
                }
                _ => return Ok((lines, None)),
            }
        }
    }

    /// When no good answer was young enough, as far as it is known. A list of many pages is as old as its whole reading, of which only the last
    /// is known.
    fn stale(&self, conn: &Conn, target: &Target, now: &Now, from: Wall) -> Result<Stale, StoreError> {
        let feeds = show::asked(&self.core, conn)?;
        let state = show::through(conn, target, self.core.store.target(&target.key)?.unwrap_or_default(), &feeds);
        let fresh_for = target.spec.fresh_within(conn.renewed_every(target, conn.base_interval()));
        let is_paged = target.pager.is_some() || show::fed(conn, target, &feeds).is_some();
        if is_paged {
            return Ok(of_now(&state, fresh_for, now, from));
        }
        let back = now.wall().since(from).0.saturating_add(fresh_for.0);
        let since = Steady(now.steady.0.saturating_sub(back));
        let answered = self.core.store.answered(&target.key, since, CHARGES)?;
        let dated = |at: Stamp| now.wall() - now.age_of(at);
        let arrivals: Vec<Wall> = answered.at.into_iter().rev().map(dated).collect();
        let known_from = answered.looked_back_to.map(|at| dated(at) + fresh_for).filter(|at| *at > from);
        Ok((gaps(&arrivals, fresh_for, known_from.unwrap_or(from), now.wall()), known_from))
    }
}

fn of_now(state: &TargetState, fresh_for: Span, now: &Now, from: Wall) -> Stale {
    let Some(as_of) = state.as_of else { return (Vec::new(), Some(now.wall())) };
    let arrived = (now.wall() - now.age_of(as_of)).max(from);
    (gaps(&[arrived], fresh_for, arrived, now.wall()), Some(arrived).filter(|at| *at > from))
}

/// Where no arrival is at most `fresh_for` ago.
fn gaps(arrivals: &[Wall], fresh_for: Span, from: Wall, until: Wall) -> Vec<(Wall, Wall)> {
    let (mut gaps, mut good_until) = (Vec::new(), from);
    for at in arrivals.iter().chain([&until]) {
        if *at > good_until {
            gaps.push((good_until, (*at).min(until)));
        }
        good_until = good_until.max(*at + fresh_for);
    }
    gaps.retain(|(begins, ends)| begins < ends);
    gaps
}

/// What moves by itself has no lines, and no series.
fn fields(spec: &TargetSpec, item: &Item, lines: &[HistoryEntry], from: Wall) -> Vec<FieldSeries> {
    let changed = lines.iter().flat_map(|line| &line.detail).map(|change| change.field.as_str());
    let has = item.fields.iter().filter(|(_, value)| !value.is_countdown()).map(|(name, _)| name.as_str());
    let moves = |name: &str| {
        let of = |f: &FieldSpec| f.volatile || spec.volatile.iter().any(|path| f.path.starts_with(path.as_str()));
        name == OBSERVED_AT || spec.fields.iter().any(|f| f.name == name && of(f))
    };
    let is_field = |name: &&str| *name != TITLE && *name != STATE && !moves(name);
    let names: BTreeSet<&str> = changed.clone().chain(has).filter(is_field).collect();
    let has_state = item.state.is_some() || changed.clone().any(|name| name == STATE);
    let all = has_state.then_some(STATE).into_iter().chain(names);
    all.map(|field| FieldSeries { field: field.to_owned(), points: points(item, lines, field, from) }).collect()
}

/// Each change says what was before it: so the first one of the time says how it began.
fn points(item: &Item, lines: &[HistoryEntry], field: &str, from: Wall) -> Vec<(When, Option<String>)> {
    let change = |line: &HistoryEntry| line.detail.iter().find(|c| c.field == field).cloned();
    let now = match field {
        STATE => item.state.as_ref().map(|state| state.word.clone()),
        _ => item.fields.iter().find(|(name, _)| name == field).and_then(|(_, value)| shown(value)),
    };
    let mut value = lines.iter().find_map(change).map_or(now, |first| first.before);
    let is_there = match lines.first().map(|line| line.kind) {
        Some(ChangeKind::Appeared | ChangeKind::Reappeared) => false,
        Some(ChangeKind::Changed | ChangeKind::Removed) => true,
        None => item.removed.is_none_or(|removed| removed.at.wall > from),
    };
    let begins = from.max(item.first_seen.wall);
    let mut points = vec![(When(begins), value.clone().filter(|_| is_there))];
    for line in lines {
        let at = When(line.at.wall.max(begins));
        let change = change(line);
        let is_new = change.is_some() || line.kind != ChangeKind::Changed;
        value = change.map_or(value, |change| change.after);
        if is_new {
            points.push((at, value.clone().filter(|_| line.kind != ChangeKind::Removed)));
        }
    }
    // What was before it began is nothing, and needs no point.
    points.dedup_by(|later, before| later.1 == before.1);
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::item::{FieldChange, FieldValue, Removed};

    fn at(ms: u64) -> Stamp {
        Stamp { steady: Steady(ms), wall: Wall(ms as i64), era: 0 }
    }

    fn zone(level: f64) -> Item {
        Item {
            key: "7".into(),
            title: "Roses".into(),
            state: None,
            fields: vec![("level".into(), FieldValue::Number(level))],
            fingerprint: [0; 16],
            first_seen: at(100),
            changed: at(100),
            removed: None,
        }
    }

    fn line(ms: u64, kind: ChangeKind, change: Option<(&str, &str)>) -> HistoryEntry {
        let detail = change.into_iter().map(|(before, after)| FieldChange {
            field: "level".into(),
            before: Some(before.into()),
            after: Some(after.into()),
        });
        HistoryEntry {
            seq: ms,
            at: at(ms),
            generation: 1,
            kind,
            key: "7".into(),
            title: "Roses".into(),
            state: None,
            detail: detail.collect(),
        }
    }

    fn told(item: &Item, lines: &[HistoryEntry], from: i64) -> Vec<(i64, Option<String>)> {
        points(item, lines, "level", Wall(from)).into_iter().map(|(at, value)| (at.0.0, value)).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn the_first_change_says_how_it_began() {
        use ChangeKind::{Appeared, Changed, Reappeared};
        let lines = [
            line(100, Appeared, None),
            line(300, Changed, Some(("5", "6"))),
            line(400, ChangeKind::Removed, None),
            line(500, Reappeared, Some(("6", "9"))),
        ];
        let all = told(&zone(9.0), &lines, 0);
        assert_eq!(all, [(100, None), (100, some("5")), (300, some("6")), (400, None), (500, some("9"))]);
        let later = told(&zone(9.0), &lines[1..], 250);
        assert_eq!(later, [(250, some("5")), (300, some("6")), (400, None), (500, some("9"))]);
        assert_eq!(told(&zone(9.0), &[], 600), [(600, some("9"))], "nothing happened: it is as it was");
        let gone = Item { removed: Some(Removed { at: at(400), last_seen: at(390) }), ..zone(9.0) };
        assert_eq!(told(&gone, &[], 600), [(600, None)], "it was gone already");
        assert_eq!(told(&zone(9.0), &lines[3..], 450), [(450, None), (500, some("9"))]);
    }

    #[test]
    fn what_no_answer_reaches_is_a_gap() {
        let walls = |ms: &[i64]| ms.iter().map(|ms| Wall(*ms)).collect::<Vec<_>>();
        let told = |arrivals: &[i64]| -> Vec<(i64, i64)> {
            gaps(&walls(arrivals), Span(10), Wall(100), Wall(200)).into_iter().map(|(a, b)| (a.0, b.0)).collect()
        };
        assert_eq!(told(&[]), [(100, 200)]);
        assert_eq!(told(&[95, 104, 113, 150]), [(123, 150), (160, 200)]);
        assert_eq!(told(&[100, 110, 120, 130, 140, 150, 160, 170, 180, 190]), []);
        assert_eq!(told(&[190]), [(100, 190)]);
    }
}
