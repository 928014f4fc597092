//! The provider's own truth of its quota: a day that ends at midnight UTC, a sliding second, and sockets at once. Times are what the
//! provider's clock says. Knows nothing of how Larder counts.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

const DAY: u64 = 86_400;
const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests from midnight to midnight, UTC.
    pub day: u64,
    /// Requests in any second.
    pub second: usize,
    /// Requests that are being answered.
    pub at_once: usize,
}

/// How it stands, for the control page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub today: u64,
    pub in_flight: usize,
    /// Requests that asked for more than was allowed, but for those that were refused after the rest of a day was taken away.
    pub over_limit: u64,
    /// Refused with 429, for whatever reason.
    pub refused: u64,
    pub most_at_once: usize,
}

pub struct Quota {
    limits: Limits,
    book: Option<PathBuf>,
    /// Days since 1970.
    day: u64,
    recent: VecDeque<Duration>,
    standing: Standing,
    /// Somebody else took the rest of this day.
    exhausted_on: Option<u64>,
}

impl Quota {
    /// Reads back what was counted of the day that it is.
    pub fn open(limits: Limits, book: Option<PathBuf>, now: Duration) -> io::Result<Quota> {
        let day = now.as_secs() / DAY;
        let text = match book.as_ref().map(std::fs::read_to_string) {
            Some(Err(e)) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            Some(Ok(text)) => text,
            _ => String::new(),
        };
        let counted = text.split_once(' ').and_then(|(on, n)| Some((on.parse().ok()?, n.trim().parse().ok()?)));
        let today = counted.filter(|(on, _): &(u64, u64)| *on == day).map_or(0, |(_, n)| n);
        let standing = Standing { today, ..Standing::default() };
        Ok(Quota { limits, book, day, recent: VecDeque::new(), standing, exhausted_on: None })
    }

    /// Whether a request is served. One that is stays in flight until [`Quota::done`].
    pub fn ask(&mut self, now: Duration) -> bool {
        self.turn(now);
        while self.recent.front().is_some_and(|at| now.saturating_sub(*at) >= SECOND) {
            self.recent.pop_front();
        }
        let exhausted = self.exhausted_on == Some(self.day);
        let over = self.standing.today >= self.limits.day
            || self.recent.len() >= self.limits.second
            || self.standing.in_flight >= self.limits.at_once;
        if exhausted || over {
            self.standing.refused += 1;
            self.standing.over_limit += u64::from(!exhausted);
            return false;
        }
        self.recent.push_back(now);
        self.standing.today += 1;
        self.standing.in_flight += 1;
        self.standing.most_at_once = self.standing.most_at_once.max(self.standing.in_flight);
        if let Some(book) = &self.book {
            // A provider that cannot write its book goes on counting.
            _ = std::fs::write(book, format!("{} {}\n", self.day, self.standing.today));
        }
        true
    }

    pub fn done(&mut self) {
        self.standing.in_flight = self.standing.in_flight.saturating_sub(1);
    }

    pub fn exhaust(&mut self, now: Duration) {
        self.turn(now);
        self.exhausted_on = Some(self.day);
    }

    pub fn standing(&self) -> Standing {
        self.standing
    }

    fn turn(&mut self, now: Duration) {
        let day = now.as_secs() / DAY;
        if day != self.day {
            (self.day, self.standing.today) = (day, 0);
        }
    }
}
