//! The provider's own truth of its quota: a sliding count per endpoint, and a lockout that every knock prolongs.
//! Times are what the provider's clock says. Knows nothing of how Larder counts.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What the provider made of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Counted, and served.
    Counted,
    /// One too many: it began a lockout. This is what Larder must never cause.
    OverLimit,
    /// Arrived during a lockout that the caller had earned, and prolonged it.
    Knock,
    /// Arrived during a lockout that was ordered from outside, and prolonged it.
    OrderedKnock,
    /// The lockout that was ordered from outside began here; nobody asked anything.
    Ordered,
    /// The key was wrong; nobody's quota was touched.
    WrongKey,
    /// Not counted: the provider was down, or told to refuse everything.
    Failed,
}

impl Verdict {
    const ALL: [Verdict; 7] = [
        Verdict::Counted,
        Verdict::OverLimit,
        Verdict::Knock,
        Verdict::OrderedKnock,
        Verdict::Ordered,
        Verdict::WrongKey,
        Verdict::Failed,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Counted => "counted",
            Verdict::OverLimit => "over_limit",
            Verdict::Knock => "knock",
            Verdict::OrderedKnock => "ordered_knock",
            Verdict::Ordered => "ordered",
            Verdict::WrongKey => "wrong_key",
            Verdict::Failed => "failed",
        }
    }
    pub fn from_word(word: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|v| v.word() == word)
    }
    /// Whether the caller asked for more than it was allowed.
    pub const fn is_over(self) -> bool {
        matches!(self, Verdict::OverLimit | Verdict::Knock)
    }
}

/// One line of the provider's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// By the provider's clock.
    pub at: Duration,
    /// Without a leading slash: `statusschedule.php`.
    pub endpoint: String,
    pub counted: bool,
    pub verdict: Verdict,
}

/// Lines of the log that are kept.
const LOG_MAX: usize = 10_000;

#[derive(Default)]
struct Endpoint {
    /// Counted requests that are still in the window.
    hits: VecDeque<Duration>,
    lockout: Option<Lockout>,
    counted: u64,
    seen: u64,
    /// The most that any window ever held.
    most: usize,
}

#[derive(Clone, Copy)]
struct Lockout {
    until: Duration,
    cause: Cause,
}

#[derive(Clone, Copy, PartialEq)]
enum Cause {
    Earned,
    Ordered,
}

/// `requests` per `window` and endpoint, by a sliding count: a request counts until `window` after it was counted.
pub struct Count {
    requests: usize,
    window: Duration,
    endpoints: BTreeMap<String, Endpoint>,
    log: VecDeque<Entry>,
    over: u64,
}

/// How an endpoint stands, for the control page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub endpoint: String,
    pub in_window: usize,
    pub most_in_a_window: usize,
    pub counted: u64,
    pub seen: u64,
    pub locked_for: Duration,
}

impl Count {
    pub fn new(requests: usize, window: Duration) -> Count {
        Count { requests, window, endpoints: BTreeMap::new(), log: VecDeque::new(), over: 0 }
    }

    /// What a request with the right key deserves now. To be taken into the books with [`Count::note`].
    pub fn judge(&mut self, endpoint: &str, now: Duration) -> Verdict {
        let (requests, window) = (self.requests, self.window);
        let e = self.endpoints.entry(endpoint.to_owned()).or_default();
        e.forget(now, window);
        match e.lockout {
            Some(Lockout { cause: Cause::Earned, .. }) => Verdict::Knock,
            Some(Lockout { cause: Cause::Ordered, .. }) => Verdict::OrderedKnock,
            None if e.hits.len() >= requests => Verdict::OverLimit,
            None => Verdict::Counted,
        }
    }

    /// Takes a line into the books: a fresh one, or one that was read back after a restart.
    pub fn note(&mut self, endpoint: &str, at: Duration, verdict: Verdict) -> Entry {
        let window = self.window;
        let e = self.endpoints.entry(endpoint.to_owned()).or_default();
        e.seen += u64::from(verdict != Verdict::Ordered);
        let lock = |cause| Some(Lockout { until: at + window, cause });
        match verdict {
            Verdict::Counted => e.hit(at, window),
            Verdict::OverLimit | Verdict::Knock => e.lockout = lock(Cause::Earned),
            Verdict::Ordered | Verdict::OrderedKnock => e.lockout = lock(Cause::Ordered),
            Verdict::WrongKey | Verdict::Failed => {}
        }
        self.over += u64::from(verdict.is_over());
        if self.log.len() == LOG_MAX {
            self.log.pop_front();
        }
        let entry = Entry { at, endpoint: endpoint.to_owned(), counted: verdict == Verdict::Counted, verdict };
        self.log.push_back(entry.clone());
        entry
    }

    /// Requests counted since the start.
    pub fn counted(&self, endpoint: &str) -> u64 {
        self.endpoints.get(endpoint).map_or(0, |e| e.counted)
    }
    /// Requests of any fate since the start.
    pub fn seen(&self, endpoint: &str) -> u64 {
        self.endpoints.get(endpoint).map_or(0, |e| e.seen)
    }
    /// Requests that asked for more than was allowed: law 1 says none.
    pub fn over_limit(&self) -> u64 {
        self.over
    }
    pub fn log(&self) -> Vec<Entry> {
        self.log.iter().cloned().collect()
    }

    pub fn standing(&mut self, now: Duration) -> Vec<Standing> {
        let window = self.window;
        let stand = |(name, e): (&String, &mut Endpoint)| {
            e.forget(now, window);
            Standing {
                endpoint: name.clone(),
                in_window: e.hits.len(),
                most_in_a_window: e.most,
                counted: e.counted,
                seen: e.seen,
                locked_for: e.lockout.map_or(Duration::ZERO, |l| l.until.saturating_sub(now)),
            }
        };
        self.endpoints.iter_mut().map(stand).collect()
    }
}

impl Endpoint {
    fn hit(&mut self, at: Duration, window: Duration) {
        self.forget(at, window);
        self.hits.push_back(at);
        self.counted += 1;
        self.most = self.most.max(self.hits.len());
    }
    fn forget(&mut self, now: Duration, window: Duration) {
        while self.hits.front().is_some_and(|at| now.saturating_sub(*at) >= window) {
            self.hits.pop_front();
        }
        if self.lockout.is_some_and(|l| now >= l.until) {
            self.lockout = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: &str = "statusschedule.php";

    fn at(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }
    fn five_in_thirty() -> Count {
        Count::new(5, at(30.0))
    }
    fn ask(count: &mut Count, endpoint: &str, now: Duration) -> Verdict {
        let verdict = count.judge(endpoint, now);
        count.note(endpoint, now, verdict).verdict
    }
    /// The verdicts of requests at these seconds.
    fn verdicts(times: &[f64]) -> Vec<&'static str> {
        let mut count = five_in_thirty();
        times.iter().map(|t| ask(&mut count, S, at(*t)).word()).collect()
    }

    #[test]
    fn five_fit_and_the_sixth_locks_out() {
        assert_eq!(verdicts(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])[4..], ["counted", "over_limit"]);
    }

    #[test]
    fn the_count_slides_it_is_not_aligned_to_anything() {
        let aligned_would_allow = [25.0, 26.0, 27.0, 28.0, 29.0, 31.0];
        assert_eq!(verdicts(&aligned_would_allow)[5], "over_limit");
        let first_has_left_the_window = [25.0, 26.0, 27.0, 28.0, 29.0, 55.0];
        assert_eq!(verdicts(&first_has_left_the_window)[5], "counted");
        let a_moment_too_early = [25.0, 26.0, 27.0, 28.0, 29.0, 54.999];
        assert_eq!(verdicts(&a_moment_too_early)[5], "over_limit");
    }

    #[test]
    fn the_lockout_lasts_a_whole_window_and_every_knock_prolongs_it() {
        let mut count = five_in_thirty();
        (0..6).for_each(|s| _ = ask(&mut count, S, at(f64::from(s))));
        assert_eq!(ask(&mut count, S, at(34.9)), Verdict::Knock, "locked until 35");
        assert_eq!(ask(&mut count, S, at(64.8)), Verdict::Knock, "the knock prolonged it until 64.9");
        assert_eq!(ask(&mut count, S, at(94.8)), Verdict::Counted);
        assert_eq!(count.over_limit(), 3);
    }

    #[test]
    fn endpoints_are_counted_apart() {
        let mut count = five_in_thirty();
        (0..6).for_each(|_| _ = ask(&mut count, S, at(0.0)));
        assert_eq!(ask(&mut count, "setzone.php", at(0.0)), Verdict::Counted);
        assert_eq!((count.counted(S), count.seen(S), count.counted("setzone.php")), (5, 6, 1));
    }

    #[test]
    fn an_ordered_lockout_blames_nobody() {
        let mut count = five_in_thirty();
        count.note(S, at(0.0), Verdict::Ordered);
        assert_eq!(ask(&mut count, S, at(10.0)), Verdict::OrderedKnock);
        assert_eq!(ask(&mut count, S, at(40.0)), Verdict::Counted);
        assert_eq!(count.over_limit(), 0);
    }

    #[test]
    fn books_read_back_give_the_same_verdicts() {
        let mut before = five_in_thirty();
        (0..5).for_each(|s| _ = ask(&mut before, S, at(f64::from(s))));
        let mut after = five_in_thirty();
        before.log().iter().for_each(|e| _ = after.note(&e.endpoint, e.at, e.verdict));
        assert_eq!(ask(&mut after, S, at(20.0)), Verdict::OverLimit);
        assert_eq!(after.standing(at(20.0))[0].locked_for, at(30.0));
    }
}
