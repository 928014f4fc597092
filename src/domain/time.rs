//! Time as values. Nothing here reads a clock; `crate::clock` is the only file that does.
//!
//! Two timelines, both in milliseconds:
//! * [`Steady`] never steps and never goes back, also across restarts; budgets, holds and schedules live on it.
//! * [`Wall`] is what a calendar says (Unix time, UTC); pages and provider calendars need it, and it may be wrong.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span(pub u64);

impl Span {
    pub const ZERO: Span = Span(0);

    pub const fn from_millis(ms: u64) -> Span {
        Span(ms)
    }
    pub const fn from_secs(s: u64) -> Span {
        Span(s.saturating_mul(1000))
    }
    pub const fn as_millis(self) -> u64 {
        self.0
    }
    /// Whole seconds, rounded down (an age of 59.9 s is 59 s old).
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }
    /// Whole seconds, rounded up (a wait of 0.1 s is a `Retry-After: 1`).
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1000)
    }
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }
}

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads as people write it: `45 s`, `6 min`, `3 h 12 min`, `2 d 4 h`.
impl Span {
    /// `250ms`, `75s`, `5m`, `48h`, `7d`: the whole text or an error (A17: a unit is never guessed).
    pub fn parse(text: &str) -> Result<Span, String> {
        let wrong = || {
            format!(
                "{text:?} is not a duration; write a whole number and one of ms, s, m, h, d, such as \"75s\" or \"5m\""
            )
        };
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let (_, length) = UNITS.iter().find(|(word, _)| *word == unit).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        // Ten thousand years: beyond it sums with moments would lose their meaning.
        number
            .checked_mul(*length)
            .filter(|ms| *ms <= 10_000 * 366 * 86_400_000)
            .map(Span)
            .ok_or_else(|| format!("{text:?} is longer than any provider's window"))
    }

    /// As somebody chose it, to the millisecond below an hour: `7.5 s`, `75 s`, `5 min`.
    pub fn exact(self) -> String {
        match self.0 {
            ms if ms >= 3_600_000 || (ms >= 120_000 && ms.is_multiple_of(60_000)) => self.to_string(),
            ms if ms.is_multiple_of(1000) => format!("{} s", ms / 1000),
            ms => {
                let decimals = format!("{}.{:03}", ms / 1000, ms % 1000);
                format!("{} s", decimals.trim_end_matches('0'))
            }
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.as_secs();
        let (d, h, m) = (s / 86_400, s % 86_400 / 3600, s % 3600 / 60);
        match (d, h, m) {
            (0, 0, 0) => write!(f, "{s} s"),
            (0, 0, 1) if s < 120 => write!(f, "{s} s"),
            (0, 0, m) => write!(f, "{m} min"),
            (0, h, 0) => write!(f, "{h} h"),
            (0, h, m) => write!(f, "{h} h {m} min"),
            (d, 0, _) => write!(f, "{d} d"),
            (d, h, _) => write!(f, "{d} d {h} h"),
        }
    }
}

/// A moment on the timeline that never steps, in milliseconds. Its zero means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Steady(pub u64);

impl Steady {
    pub const MAX: Steady = Steady(u64::MAX);

    /// How long after `earlier` this is; zero if it is before it.
    pub const fn since(self, earlier: Steady) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Steady {
    type Output = Steady;
    fn add(self, rhs: Span) -> Steady {
        Steady(self.0.saturating_add(rhs.0))
    }
}

/// A moment by the wall clock: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Wall(pub i64);

impl Wall {
    pub const fn since(self, earlier: Wall) -> Span {
        let ms = self.0.saturating_sub(earlier.0);
        Span(if ms > 0 { ms as u64 } else { 0 })
    }
}

impl Add<Span> for Wall {
    type Output = Wall;
    fn add(self, rhs: Span) -> Wall {
        Wall(self.0.saturating_add_unsigned(rhs.0))
    }
}

impl Sub<Span> for Wall {
    type Output = Wall;
    fn sub(self, rhs: Span) -> Wall {
        Wall(self.0.saturating_sub_unsigned(rhs.0))
    }
}

/// One moment on both timelines. `era` counts the boots over which the length of the darkness was not measured:
/// inside one era `steady` differences are exact, across eras only the wall clock knows how long it was dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub steady: Steady,
    pub wall: Wall,
    pub era: u32,
}

impl Add<Span> for Stamp {
    type Output = Stamp;
    fn add(self, rhs: Span) -> Stamp {
        Stamp { steady: self.steady + rhs, wall: self.wall + rhs, era: self.era }
    }
}

/// Whether the wall clock may be believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockTrust {
    #[default]
    Trusted,
    /// The wall clock stands behind the newest moment that this installation has durably seen.
    Untrusted,
}

/// "Now", handed to every rule that needs time. `wall == steady + offsets[0]`.
///
/// `offsets` (wall minus steady, ms) has one entry while the clock is quiet. After a step of the wall clock nobody can say
/// which clock was right, so the older offsets stay listed for a while and calendar limits must hold under all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Now {
    pub steady: Steady,
    pub era: u32,
    pub trust: ClockTrust,
    pub offsets: Vec<i64>,
}

impl Now {
    pub fn wall(&self) -> Wall {
        Wall((self.steady.0 as i64).saturating_add(self.offsets.first().copied().unwrap_or(0)))
    }
    pub fn stamp(&self) -> Stamp {
        Stamp { steady: self.steady, wall: self.wall(), era: self.era }
    }
    /// The age of something stamped at `then`: exact inside an era; across eras the greater of what the two timelines say,
    /// so that no restart and no step of the clock makes an answer younger.
    pub fn age_of(&self, then: Stamp) -> Span {
        let steady = self.steady.since(then.steady);
        if then.era == self.era { steady } else { steady.max(self.wall().since(then.wall)) }
    }
    /// The age of what a provider dates at `observed` in an answer that arrived at `arrived`: how old it was then, by the wall
    /// clock of that moment, and what has passed since. Never younger than the answer; unknown while the clock is in doubt.
    pub fn age_of_reading(&self, observed: Wall, arrived: Stamp) -> Option<Span> {
        let lag = arrived.wall.since(observed);
        (self.trust == ClockTrust::Trusted).then(|| Span(self.age_of(arrived).0.saturating_add(lag.0)))
    }
    /// How long until `then` (zero if past), by the same reckoning as [`Now::age_of`].
    pub fn until(&self, then: Stamp) -> Span {
        let steady = then.steady.since(self.steady);
        if then.era == self.era { steady } else { steady.min(then.wall.since(self.wall())) }
    }
    /// What the wall clock of today would call the steady moment `at`. For display.
    pub fn wall_of(&self, at: Steady) -> Wall {
        Wall((at.0 as i64).saturating_add(self.offsets.first().copied().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_dated_by_the_wall_of_its_arrival_and_ages_on_the_steady_timeline() {
        let arrived = Stamp { steady: Steady(1_000_000), wall: Wall(1_796_007_373_000), era: 1 };
        let five_hours_before = arrived.wall - Span::from_secs(18_000);
        let mut now = Now { steady: Steady(1_120_000), era: 1, trust: ClockTrust::Trusted, offsets: vec![0] };
        // Whatever the wall clock says now: it stepped, the reading did not.
        for offset in [0, 1_796_006_373_000, i64::MAX] {
            now.offsets = vec![offset];
            assert_eq!(now.age_of_reading(five_hours_before, arrived), Some(Span::from_secs(18_120)));
            assert_eq!(now.age_of_reading(arrived.wall + Span(9), arrived), Some(now.age_of(arrived)), "never younger");
        }
        now.trust = ClockTrust::Untrusted;
        assert_eq!(now.age_of_reading(five_hours_before, arrived), None);
    }
}
