//! The only file that reads a clock.
//!
//! [`Timeline`] is the arithmetic: from readings of the boot clock and the wall clock to a steady timeline that goes on across
//! restarts, and to a judgement of the wall clock. [`SystemClock`] reads the machine's clocks and feeds it; the simulator feeds it
//! its own.

use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady, Wall};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

/// A difference between the clocks' rates below this is drift, not a step.
const STEP: u64 = 2_000;
/// Older clocks that a step left behind are believed for this long (the longest calendar period), at most this many of them.
const DOUBT: Span = Span::from_secs(32 * 86_400);
const DOUBTS: usize = 4;

/// What has to be durable so that the steady timeline goes on after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockMark {
    pub steady: Steady,
    pub wall: Wall,
    pub era: u32,
    /// Names the boot of the machine: inside one boot the steady timeline is measured through a restart of the process.
    pub boot_id: String,
    /// The boot clock (it goes on while suspended) at `steady`, ms.
    pub boottime_ms: u64,
    /// Wall minus steady under which calendar limits must hold, newest first, each with the moment it may be forgotten at.
    pub offsets: Vec<(i64, Steady)>,
}

/// Time for everybody who needs it.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Now;
    fn mark(&self) -> ClockMark;
    fn sleep_until(&self, at: Steady) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// From readings to `Now`. Pure.
#[derive(Clone, Debug)]
pub struct Timeline {
    boot_id: String,
    /// `steady = base + boottime`.
    base: i128,
    era: u32,
    /// Newest first; `offsets[0]` is in force.
    offsets: Vec<(i64, Steady)>,
    /// The newest wall moment that is durable, and the steady moment it belongs to.
    high_water: Option<Stamp>,
}

impl Timeline {
    /// Goes on from what is durable. In the same boot the dark time is measured. After a new boot it is what the wall clock says,
    /// if that is not behind the high-water mark; else the machine has at least been up for `boottime_ms`, and that is all that is
    /// known: budgets wait longer rather than shorter.
    pub fn resume(
        mark: Option<ClockMark>,
        high_water: Option<Stamp>,
        boot_id: &str,
        boottime_ms: u64,
        wall: Wall,
    ) -> Timeline {
        let Some(mark) = mark else {
            let steady = Steady(u64::try_from(wall.0).unwrap_or(0).max(high_water.map_or(0, |h| h.steady.0 + 1)));
            return Timeline::new(boot_id, steady, boottime_ms, 0, vec![offset(wall, steady)], high_water);
        };
        let newest = high_water.filter(|h| h.steady > mark.steady);
        let (last_steady, last_wall) = newest.map_or((mark.steady, mark.wall), |h| (h.steady, h.wall));
        let mut offsets: Vec<(i64, Steady)> = mark.offsets.clone();
        let same_boot = mark.boot_id == boot_id;
        if same_boot && boottime_ms >= mark.boottime_ms {
            let steady = (mark.steady + Span(boottime_ms - mark.boottime_ms)).max(last_steady);
            if offsets.is_empty() {
                offsets.push((mark.wall.0 - signed(mark.steady), Steady::MAX));
            }
            return Timeline::new(boot_id, steady, boottime_ms, mark.era, offsets, high_water);
        }
        // The uptime is certain; but not by a boot clock that went back inside one boot.
        let uptime = if same_boot { Span::ZERO } else { Span(boottime_ms) };
        // A step that is still doubted, or an earlier darkness that was not measured, may be inside the difference of the wall
        // clocks; charges from in between would free too early.
        let measured = offsets.len() <= 1 && wall >= last_wall;
        let dark = if measured { wall.since(last_wall).max(uptime) } else { uptime };
        let steady = last_steady + dark;
        // The clock before the darkness may have been the right one: calendar limits hold under it as well.
        let now = offset(wall, steady);
        if let Some(first) = offsets.first_mut() {
            first.1 = steady + DOUBT;
        }
        offsets.retain(|(o, _)| o.abs_diff(now.0) > STEP);
        offsets.insert(0, now);
        Timeline::new(boot_id, steady, boottime_ms, mark.era + 1, offsets, high_water)
    }

    fn new(
        boot_id: &str,
        steady: Steady,
        boottime_ms: u64,
        era: u32,
        mut offsets: Vec<(i64, Steady)>,
        high_water: Option<Stamp>,
    ) -> Timeline {
        offsets.truncate(DOUBTS);
        let base = i128::from(steady.0) - i128::from(boottime_ms);
        Timeline { boot_id: boot_id.to_owned(), base, era, offsets, high_water }
    }

    /// The moment of these readings. Notices steps of the wall clock.
    pub fn read(&mut self, boottime_ms: u64, wall: Wall) -> Now {
        let steady = self.steady(boottime_ms);
        let read = wall.0.saturating_sub(signed(steady));
        let current = self.offsets.first().map_or(read, |(o, _)| *o);
        if read.abs_diff(current) > STEP {
            if let Some(first) = self.offsets.first_mut() {
                first.1 = steady + DOUBT;
            }
            self.offsets.retain(|(o, until)| o.abs_diff(read) > STEP && *until > steady);
            self.offsets.insert(0, (read, Steady::MAX));
            self.offsets.truncate(DOUBTS);
        } else if let Some(first) = self.offsets.first_mut() {
            // Drift is followed: small corrections by a time service are not steps.
            first.0 = read;
        }
        let offsets = self.offsets.iter().filter(|(_, until)| *until > steady).map(|(o, _)| *o).collect();
        Now { steady, era: self.era, trust: self.trust(wall), offsets }
    }

    pub fn mark(&self, boottime_ms: u64, wall: Wall) -> ClockMark {
        ClockMark {
            steady: self.steady(boottime_ms),
            wall,
            era: self.era,
            boot_id: self.boot_id.clone(),
            boottime_ms,
            offsets: self.offsets.clone(),
        }
    }

    fn steady(&self, boottime_ms: u64) -> Steady {
        Steady(u64::try_from(self.base + i128::from(boottime_ms)).unwrap_or(0))
    }

    /// Behind the newest durable moment is proof of a wrong clock. A clock that was set ahead and then put right stands behind it too:
    /// it is believed again once it passes the mark.
    fn trust(&self, wall: Wall) -> ClockTrust {
        match self.high_water {
            Some(h) if wall.0 + i64::try_from(STEP).unwrap_or(0) < h.wall.0 => ClockTrust::Untrusted,
            _ => ClockTrust::Trusted,
        }
    }
}

fn signed(at: Steady) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

fn offset(wall: Wall, steady: Steady) -> (i64, Steady) {
    (wall.0.saturating_sub(signed(steady)), Steady::MAX)
}

/// The machine's clocks.
pub struct SystemClock {
    timeline: Mutex<Timeline>,
    /// What the time namespace of this process adds to the boot clock, ms.
    namespace: i64,
}

impl SystemClock {
    pub fn start(mark: Option<ClockMark>, high_water: Option<Stamp>) -> SystemClock {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = namespace_offset(&std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default());
        let timeline = Timeline::resume(mark, high_water, boot_id.trim(), boottime_ms(namespace), wall());
        SystemClock { timeline: Mutex::new(timeline), namespace }
    }

    fn with<T>(&self, f: impl FnOnce(&mut Timeline, u64, Wall) -> T) -> T {
        let mut timeline = self.timeline.lock().unwrap_or_else(PoisonError::into_inner);
        f(&mut timeline, boottime_ms(self.namespace), wall())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        self.with(Timeline::read)
    }

    fn mark(&self) -> ClockMark {
        self.with(|t, boottime, wall| t.mark(boottime, wall))
    }

    /// Sleeps in slices, so that a suspend of the machine does not lengthen the wait by its own length.
    fn sleep_until(&self, at: Steady) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            loop {
                let left = at.since(self.now().steady);
                if left == Span::ZERO {
                    return;
                }
                tokio::time::sleep(left.min(Span::from_secs(30)).to_std()).await;
            }
        })
    }
}

/// The boot clock of the machine: a container that is started in another time namespace must not see another one.
fn boottime_ms(namespace: i64) -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    millis(t.tv_sec, t.tv_nsec).saturating_add_signed(namespace.saturating_neg())
}

/// From `/proc/self/timens_offsets` (`time_namespaces(7)`): `boottime <seconds> <nanoseconds>`. Nothing is added where there is
/// no such file or line.
fn namespace_offset(offsets: &str) -> i64 {
    let boottime = offsets.lines().find_map(|line| line.trim_start().strip_prefix("boottime"));
    let mut numbers = boottime.unwrap_or_default().split_whitespace().map(str::parse::<i64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(seconds)), Some(Ok(nanos))) => seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000),
        _ => 0,
    }
}

fn wall() -> Wall {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Wall(i64::try_from(millis(t.tv_sec, t.tv_nsec)).unwrap_or(i64::MAX))
}

fn millis(seconds: i64, nanos: i64) -> u64 {
    let ms = seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
    u64::try_from(ms).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: i64 = 1_790_000_000_000;

    fn first() -> Timeline {
        Timeline::resume(None, None, "boot-a", 50_000, Wall(T0))
    }

    #[test]
    fn steady_starts_at_the_wall_clock_and_ignores_its_steps() {
        let mut t = first();
        let before = t.read(60_000, Wall(T0 + 10_000));
        let after = t.read(61_000, Wall(T0 + 10_000 + 7_200_000));
        assert_eq!(before.wall(), Wall(T0 + 10_000));
        assert_eq!(after.steady.since(before.steady), Span(1_000));
        assert_eq!(after.wall(), Wall(T0 + 7_210_000));
        assert_eq!(after.offsets.len(), 2);
    }

    #[test]
    fn a_restart_in_the_same_boot_is_measured_whatever_the_wall_clock_did() {
        let mut t = first();
        let at = t.read(60_000, Wall(T0 + 10_000));
        let mark = t.mark(60_000, Wall(T0 + 10_000));
        let mut again = Timeline::resume(Some(mark), Some(at.stamp()), "boot-a", 90_000, Wall(T0 - 99_000_000));
        let now = again.read(90_000, Wall(T0 - 99_000_000));
        assert_eq!(now.steady.since(at.steady), Span(30_000));
        assert_eq!((now.era, now.trust), (0, ClockTrust::Untrusted));
        assert_eq!(now.age_of(at.stamp()), Span(30_000));
        assert!(now.offsets.len() == 2);
    }

    #[test]
    fn a_boot_clock_that_goes_back_inside_one_boot_says_nothing_about_the_darkness() {
        let mut t = Timeline::resume(None, None, "boot-a", 864_050_000, Wall(T0));
        let at = t.read(864_060_000, Wall(T0 + 10_000));
        let mark = t.mark(864_060_000, Wall(T0 + 10_000));
        let mut back = Timeline::resume(Some(mark.clone()), Some(at.stamp()), "boot-a", 64_000, Wall(T0 + 14_000));
        assert_eq!(back.read(64_000, Wall(T0 + 14_000)).steady.since(at.steady), Span(4_000));
        let mut behind = Timeline::resume(Some(mark), Some(at.stamp()), "boot-a", 64_000, Wall(T0 - 99_000_000));
        assert_eq!(behind.read(64_000, Wall(T0 - 99_000_000)).steady.since(at.steady), Span::ZERO);
    }

    #[test]
    fn the_boot_clock_of_a_time_namespace_is_that_of_the_machine() {
        let away = "monotonic      172800         0\nboottime       864000 500000000\n";
        assert_eq!(namespace_offset(away), 864_000_500);
        assert_eq!(namespace_offset("boottime -3 0\n"), -3_000);
        assert_eq!(namespace_offset("monotonic           0         0\nboottime            0         0\n"), 0);
        assert_eq!(
            (namespace_offset(""), namespace_offset("boottime far away"), namespace_offset("boottime")),
            (0, 0, 0)
        );
    }

    #[test]
    fn after_a_power_cut_the_wall_clock_tells_how_long_it_was_dark() {
        let mut t = first();
        let at = t.read(60_000, Wall(T0 + 10_000));
        let mark = t.mark(60_000, Wall(T0 + 10_000));
        let mut again = Timeline::resume(Some(mark), Some(at.stamp()), "boot-b", 20_000, Wall(T0 + 3_610_000));
        let now = again.read(20_000, Wall(T0 + 3_610_000));
        assert_eq!(now.age_of(at.stamp()), Span::from_secs(3600));
        assert_eq!((now.era, now.trust), (1, ClockTrust::Trusted));
    }

    #[test]
    fn a39_a_clock_behind_its_high_water_mark_gives_only_the_uptime_and_is_not_trusted_until_it_passes_it() {
        let mut t = first();
        let at = t.read(60_000, Wall(T0 + 10_000));
        let mark = t.mark(60_000, Wall(T0 + 10_000));
        let mut again = Timeline::resume(Some(mark), Some(at.stamp()), "boot-b", 20_000, Wall(T0 - 86_400_000));
        let now = again.read(20_000, Wall(T0 - 86_400_000));
        assert_eq!((now.steady.since(at.steady), now.trust), (Span(20_000), ClockTrust::Untrusted));
        // The time service puts it right: the age is what it truly is, budgets stay on the safe side.
        let later = again.read(25_000, Wall(T0 + 7_210_000));
        assert_eq!((later.age_of(at.stamp()), later.trust), (Span::from_secs(7200), ClockTrust::Trusted));
        assert_eq!(later.steady.since(at.steady), Span(25_000));
    }

    #[test]
    fn a_clock_that_was_set_back_before_a_power_cut_and_ahead_after_it_is_not_taken_for_a_long_night() {
        let mut t = first();
        t.read(60_000, Wall(T0 + 7_210_000));
        let at = t.read(61_000, Wall(T0 + 11_000));
        let mark = t.mark(61_000, Wall(T0 + 11_000));
        let mut again = Timeline::resume(Some(mark), Some(at.stamp()), "boot-b", 20_000, Wall(T0 + 7_231_000));
        let now = again.read(20_000, Wall(T0 + 7_231_000));
        assert_eq!(now.steady.since(at.steady), Span(20_000));
    }

    #[test]
    fn darkness_that_was_not_measured_is_not_credited_at_the_next_power_cut() {
        let mut t = first();
        let at = t.read(60_000, Wall(T0 + 10_000));
        let mark = t.mark(60_000, Wall(T0 + 10_000));
        // Boots hours behind, sends something, and loses power again; then the clock is right.
        let mut wrong = Timeline::resume(Some(mark), Some(at.stamp()), "boot-b", 20_000, Wall(T0 - 86_400_000));
        let sent = wrong.read(30_000, Wall(T0 - 86_390_000));
        let mark = wrong.mark(30_000, Wall(T0 - 86_390_000));
        let mut right = Timeline::resume(Some(mark), Some(sent.stamp()), "boot-c", 15_000, Wall(T0 + 7_200_000));
        assert_eq!(right.read(15_000, Wall(T0 + 7_200_000)).steady.since(sent.steady), Span(15_000));
    }

    /// A boot clock of years on disk, and a boot clock of seconds after the reboot.
    #[test]
    fn a_reboot_after_years_of_uptime_blocks_nobody_for_years() {
        let years = 5 * 365 * 86_400_000;
        let mut t = Timeline::resume(None, None, "boot-a", years, Wall(T0));
        let at = t.read(years + 60_000, Wall(T0 + 60_000));
        let hold = at.steady + Span::from_secs(600);
        let mark = t.mark(years + 60_000, Wall(T0 + 60_000));
        let mut again = Timeline::resume(Some(mark), Some(at.stamp()), "boot-b", 5_000, Wall(T0 + 90_000));
        assert_eq!(hold.since(again.read(5_000, Wall(T0 + 90_000)).steady), Span::from_secs(570));
        assert_eq!(hold.since(again.read(575_000, Wall(T0 + 660_000)).steady), Span::ZERO);
    }

    #[test]
    fn no_step_and_no_restart_makes_anything_younger() {
        let mut t = first();
        let at = t.read(60_000, Wall(T0)).stamp();
        let mut oldest = Span::ZERO;
        for (boottime, wall) in [(61_000, T0 + 9), (62_000, T0 - 5_000_000), (63_000, T0 + 5_000_000), (64_000, T0)] {
            let age = t.read(boottime, Wall(wall)).age_of(at);
            assert!(age >= oldest);
            oldest = age;
        }
        let mark = t.mark(64_000, Wall(T0));
        let mut again = Timeline::resume(Some(mark), Some(at), "boot-c", 1_000, Wall(T0 - 1));
        assert!(again.read(1_000, Wall(T0 - 1)).age_of(at) >= oldest);
    }

    #[test]
    fn a_doubted_clock_is_forgotten_after_the_longest_calendar_period() {
        let mut t = first();
        t.read(60_000, Wall(T0));
        t.read(61_000, Wall(T0 + 86_400_000));
        let much_later = 61_000 + DOUBT.0 + 1;
        let wall = Wall(T0 + 86_400_000 + i64::try_from(DOUBT.0).unwrap_or(0));
        assert_eq!(t.read(much_later, wall).offsets.len(), 1);
    }
}
