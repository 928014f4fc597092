//! When the next backup is due, how it is called, and which of those that lie there are too many. What lies there is told by its names alone, so
//! that a restart, or a backup by hand, is counted as every other.

use super::calendar::{Calendar, compact};
use crate::domain::backup::{BackupSpec, When};
use crate::domain::limit::Kind;
use crate::domain::time::{Span, Wall};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const BEFORE: &str = "larder-";
const BEHIND: &str = ".redb";
/// After one that failed.
const AGAIN: Span = Span::from_secs(3_600);

/// `larder-20261130T033000Z.redb`: in the order of their names they are in the order of their making.
pub fn name(at: Wall) -> String {
    format!("{BEFORE}{}{BEHIND}", compact(at))
}

/// When the backup of that name was made; `None`: it is not one of ours.
pub fn made(name: &str) -> Option<Wall> {
    let moment = name.strip_prefix(BEFORE)?.strip_suffix(BEHIND)?;
    let parsed = DateTime::strptime("%Y%m%dT%H%M%SZ", moment).ok()?;
    let at = Wall(TimeZone::UTC.to_ambiguous_timestamp(parsed).earlier().ok()?.as_millisecond());
    // The same moment can be written otherwise, and then it is not ours.
    Some(at).filter(|at| self::name(*at) == name)
}

/// What is known of the backups so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// When the newest of those that lie there was made.
    pub newest: Option<Wall>,
    /// Since when they are wanted as they are.
    pub since: Wall,
    /// When the last one failed, if none was made since.
    pub failed: Option<Wall>,
}

/// When the next one is due. May be in the past.
pub fn due(spec: &BackupSpec, past: Past, now: Wall) -> Wall {
    // One of the future was named by a clock that was wrong.
    let (newest, failed) = (past.newest.filter(|made| *made <= now), past.failed);
    let due = match &spec.when {
        When::Every(span) => newest.map_or(now, |made| made + *span),
        When::Daily { at, time_zone } => {
            let kind = Kind::Daily { resets_at: *at, time_zone: time_zone.clone() };
            match Calendar::of(&kind) {
                // What was missed is made up for; the first one waits for its time.
                Some(day) => day.next_turn(newest.unwrap_or(past.since.min(now))).latest,
                None => now,
            }
        }
    };
    due.max(failed.map_or(due, |failed| failed + again(spec)))
}

/// Backups that are made often are not tried less often for one that failed.
fn again(spec: &BackupSpec) -> Span {
    match spec.when {
        When::Every(span) => AGAIN.min(span),
        When::Daily { .. } => AGAIN,
    }
}

/// The names of those that are too many: the oldest. One of the future, by a clock that was wrong, is older than any. What is not ours is never
/// among them.
pub fn surplus(names: impl IntoIterator<Item = String>, keep: u32, now: Wall) -> Vec<String> {
    let mut ours: Vec<(bool, String)> =
        names.into_iter().filter_map(|name| Some((made(&name)? <= now, name))).collect();
    ours.sort();
    ours.truncate(ours.len().saturating_sub(keep.max(1) as usize));
    ours.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::limit::TimeOfDay;
    use jiff::Timestamp;

    fn wall(text: &str) -> Wall {
        Wall(text.parse::<Timestamp>().unwrap().as_millisecond())
    }

    fn spec(when: When) -> BackupSpec {
        BackupSpec { folder: "backups".into(), when, keep: 2 }
    }

    #[test]
    fn a_name_is_its_moment() {
        let at = wall("2026-11-30T03:30:00Z");
        assert_eq!(name(at + Span(999)), "larder-20261130T033000Z.redb");
        assert_eq!(made("larder-20261130T033000Z.redb"), Some(at));
        for other in [
            "larder.redb",
            "larder-2026-11-30.redb",
            "larder-20261130T033000Z.redb.9.part",
            "larder-20261330T033000Z.redb",
            "x",
        ] {
            assert_eq!(made(other), None, "{other}");
        }
    }

    fn past(newest: Option<&str>, failed: Option<&str>) -> Past {
        Past { newest: newest.map(wall), since: wall("2026-11-30T12:00:00Z"), failed: failed.map(wall) }
    }

    #[test]
    fn every_so_often_after_the_one_before() {
        let every = spec(When::Every(Span::from_secs(7_200)));
        let now = wall("2026-11-30T12:00:00Z");
        assert_eq!(due(&every, past(None, None), now), now, "the first at once");
        assert_eq!(due(&every, past(Some("2026-11-30T11:00:00Z"), None), now), wall("2026-11-30T13:00:00Z"));
        assert_eq!(due(&every, past(Some("2026-12-30T11:00:00Z"), None), now), now, "one of the future is none");
        let failed = past(None, Some("2026-11-30T12:00:00Z"));
        assert_eq!(due(&every, failed, now), wall("2026-11-30T13:00:00Z"), "not at once after a failure");
        let often = spec(When::Every(Span::from_secs(60)));
        assert_eq!(due(&often, failed, now), wall("2026-11-30T12:01:00Z"));
    }

    #[test]
    fn daily_at_its_time_and_later_if_it_was_missed() {
        let daily = spec(When::Daily { at: TimeOfDay(210), time_zone: "Europe/Berlin".to_owned() });
        let (now, then) = (wall("2026-11-30T12:00:00Z"), wall("2026-12-01T02:30:00Z"));
        assert_eq!(due(&daily, past(None, None), now), then);
        assert_eq!(due(&daily, past(None, None), then), then, "and then it is");
        assert_eq!(due(&daily, past(Some("2026-11-30T02:30:05Z"), None), now), then);
        let missed = past(Some("2026-11-28T02:30:05Z"), None);
        assert_eq!(due(&daily, missed, now), wall("2026-11-29T02:30:00Z"), "overdue");
        let failed = past(Some("2026-11-30T02:30:05Z"), Some("2026-12-01T02:30:05Z"));
        assert_eq!(due(&daily, failed, then), wall("2026-12-01T03:30:05Z"));
    }

    #[test]
    fn the_oldest_of_ours_are_too_many() {
        let names = [
            "larder-20261130T033000Z.redb",
            "larder-20261128T033000Z.redb",
            "notes.txt",
            "larder-20261129T033000Z.redb",
            "larder-a.redb",
        ];
        let surplus = |keep, now| surplus(names.map(str::to_owned), keep, wall(now));
        let now = "2026-11-30T03:30:00Z";
        assert_eq!(surplus(2, now), ["larder-20261128T033000Z.redb"]);
        assert!(surplus(9, now).is_empty());
        assert_eq!(surplus(0, now).len(), 2, "one stays");
        assert_eq!(surplus(2, "2026-11-29T12:00:00Z"), ["larder-20261130T033000Z.redb"], "the clock was wrong");
    }
}
