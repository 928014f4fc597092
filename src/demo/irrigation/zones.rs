//! The valves behind the simulated API: daily programmes, a drip line that runs often enough to watch, runs by hand.
//! A pure function of the provider's clock, so that a restart of the provider changes nothing.

use serde_json::{Value, json};
use std::time::Duration;

/// What `time` says of a zone that is suspended: fifty years.
pub const SUSPENDED: u64 = 1_576_800_000;
/// What `time` says of a zone that is running.
const RUNNING: u64 = 1;
const DAY: u64 = 86_400;

#[derive(Clone, Debug)]
struct Zone {
    relay_id: u64,
    name: &'static str,
    programme: Option<Programme>,
    /// A run by hand, until then.
    by_hand: Option<Duration>,
    /// A run of the programme that began before this was stopped by hand.
    stopped_at: Option<Duration>,
    /// Planned length of a run.
    run_s: u64,
}

/// Runs at `offset_s` after every multiple of `period_s`.
#[derive(Clone, Copy, Debug)]
struct Programme {
    period_s: u64,
    offset_s: u64,
}

/// All zones of the one controller.
#[derive(Clone, Debug)]
pub struct Zones {
    zones: Vec<Zone>,
    next_poll_s: u64,
}

impl Zones {
    /// `window` of the quota sets the pace of the drip line: every three windows, for five sixths of one.
    pub fn new(window: Duration) -> Zones {
        let window_s = window.as_secs().max(6);
        let daily = |h: u64, m: u64| Some(Programme { period_s: DAY, offset_s: h * 3600 + m * 60 });
        let often = Some(Programme { period_s: window_s * 3, offset_s: window_s });
        let zone = |relay_id, name, programme, run_s| Zone {
            relay_id,
            name,
            programme,
            by_hand: None,
            stopped_at: None,
            run_s,
        };
        let zones = vec![
            zone(5101, "Front lawn", daily(6, 0), 1200),
            zone(5102, "Back lawn", daily(6, 20), 900),
            zone(5103, "Roses", daily(6, 40), 600),
            zone(5104, "Vegetable beds", daily(19, 30), 1800),
            zone(5105, "Greenhouse drip", often, window_s * 5 / 6),
            zone(5106, "Hedge", None, 900),
        ];
        Zones { zones, next_poll_s: (window_s / 5).max(1) }
    }

    /// The answer of `statusschedule.php`: offsets from now, and no time of day to check them against (I6).
    pub fn status(&self, now: Duration) -> Value {
        let relays: Vec<Value> =
            self.zones.iter().enumerate().map(|(i, zone)| zone.status(i as u64 + 1, now)).collect();
        json!({ "nextpoll": self.next_poll_s, "message": "", "relays": relays })
    }

    /// Starts a zone. Returns its name, or `None` if there is none.
    pub fn run(&mut self, relay_id: u64, seconds: Option<u64>, now: Duration) -> Option<&'static str> {
        let zone = self.zones.iter_mut().find(|z| z.relay_id == relay_id)?;
        zone.by_hand = Some(now + Duration::from_secs(seconds.unwrap_or(zone.run_s).min(DAY)));
        Some(zone.name)
    }

    pub fn stop(&mut self, relay_id: u64, now: Duration) -> Option<&'static str> {
        let zone = self.zones.iter_mut().find(|z| z.relay_id == relay_id)?;
        zone.stop(now);
        Some(zone.name)
    }

    pub fn stop_all(&mut self, now: Duration) {
        self.zones.iter_mut().for_each(|z| z.stop(now));
    }
}

impl Zone {
    fn stop(&mut self, now: Duration) {
        self.by_hand = None;
        self.stopped_at = Some(now);
    }

    /// When the run ends that is going on.
    fn running_until(&self, now: Duration) -> Option<Duration> {
        let by_hand = self.by_hand.filter(|until| *until > now);
        let by_programme = self.programme.and_then(|p| {
            let began = p.last(now)?;
            let until = began + Duration::from_secs(self.run_s);
            let stopped = self.stopped_at.is_some_and(|s| s >= began);
            (until > now && !stopped).then_some(until)
        });
        by_hand.max(by_programme)
    }

    fn status(&self, relay: u64, now: Duration) -> Value {
        let ceil = |d: Duration| d.as_millis().div_ceil(1000) as u64;
        let (time, timestr, run) = match (self.running_until(now), self.programme) {
            (Some(until), _) => (RUNNING, "Now".to_owned(), ceil(until - now)),
            (None, Some(p)) => {
                let next = p.next(now);
                (ceil(next - now).max(RUNNING + 1), time_of_day(next), self.run_s)
            }
            (None, None) => (SUSPENDED, String::new(), self.run_s),
        };
        json!({
            "relay_id": self.relay_id, "relay": relay, "name": self.name, "time": time, "timestr": timestr, "run": run,
            "type": 1, "period": self.programme.map_or(0, |p| p.period_s),
        })
    }
}

impl Programme {
    fn last(self, now: Duration) -> Option<Duration> {
        let since = now.as_secs().checked_sub(self.offset_s)? % self.period_s;
        Some(Duration::from_secs(now.as_secs() - since))
    }
    fn next(self, now: Duration) -> Duration {
        match self.last(now) {
            Some(last) => last + Duration::from_secs(self.period_s),
            None => Duration::from_secs(self.offset_s),
        }
    }
}

fn time_of_day(at: Duration) -> String {
    let s = at.as_secs() % DAY;
    format!("{:02}:{:02}", s / 3600, s % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEDGE: usize = 5;
    const DRIP: usize = 4;
    const ROSES: usize = 2;

    fn s(s: u64) -> Duration {
        Duration::from_secs(s)
    }
    /// `time`, `run` and `timestr` of a zone.
    fn line(zones: &Zones, zone: usize, now: Duration) -> (u64, u64, String) {
        let v = &zones.status(now)["relays"][zone];
        let number = |k: &str| v[k].as_u64().unwrap_or_default();
        (number("time"), number("run"), v["timestr"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn one_number_means_three_things() {
        let zones = Zones::new(s(30));
        assert_eq!(line(&zones, ROSES, s(0)), (24_000, 600, "06:40".into()), "seconds until the next run");
        assert_eq!(line(&zones, ROSES, s(24_010)), (1, 590, "Now".into()), "running, with what is left");
        assert_eq!(line(&zones, ROSES, s(24_600)).0, DAY - 600, "over: the next one is tomorrow");
        assert_eq!(line(&zones, HEDGE, s(0)), (1_576_800_000, 900, String::new()), "suspended");
    }

    #[test]
    fn the_drip_line_runs_every_three_windows() {
        let zones = Zones::new(s(30));
        let times: Vec<u64> = [29, 30, 54, 55, 119, 120].map(|t| line(&zones, DRIP, s(t)).0).into();
        assert_eq!(times, [2, 1, 1, 65, 2, 1], "one second before a run is told as two: one means running");
    }

    #[test]
    fn a_run_by_hand_starts_at_once_and_stops_at_once() {
        let mut zones = Zones::new(s(30));
        assert_eq!(zones.run(5103, Some(45), s(100)), Some("Roses"));
        assert_eq!(line(&zones, ROSES, s(101)), (1, 44, "Now".into()));
        assert_eq!(zones.stop(5103, s(102)), Some("Roses"));
        assert_eq!(line(&zones, ROSES, s(103)).0, 24_000 - 103);
        assert_eq!(zones.run(99, None, s(0)), None);
    }

    #[test]
    fn stopping_ends_a_run_of_the_programme_but_not_the_next() {
        let mut zones = Zones::new(s(30));
        zones.stop_all(s(35));
        assert_eq!(line(&zones, DRIP, s(36)).0, 84);
        assert_eq!(line(&zones, DRIP, s(121)).0, 1);
    }

    #[test]
    fn an_answer_holds_no_moment_only_offsets() {
        let text = Zones::new(s(300)).status(s(1_800_000_000)).to_string();
        assert!(!text.contains("1800000000"), "{text}");
        assert!(text.contains(r#""nextpoll":60"#));
    }
}
