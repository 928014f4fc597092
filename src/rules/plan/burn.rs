//! How the units of a limit go: what was left at each moment, what the plans leave, and how it goes on at the pace of lately. For people who
//! look: nothing is decided by it, the budget has the last word at every request. Must not know where the figures come from, nor a clock.

use crate::domain::time::{Span, Wall};

/// When units come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// All of them at `ends`.
    Turns { began: Wall, ends: Wall },
    /// Each so long after it went.
    Rolls { window: Span },
}

impl Period {
    /// The part of it that is over, 0 to 1: so much of what is planned for it would have gone. A window that rolls is always full.
    pub fn gone(self, now: Wall) -> f64 {
        match self {
            Period::Rolls { .. } => 1.0,
            Period::Turns { began, ends } => {
                let (gone, whole) = (now.since(began).0, ends.since(began).0.max(1));
                (gone as f64 / whole as f64).min(1.0)
            }
        }
    }
}

/// Units that went evenly between two moments; at once, where they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Went {
    pub from: Wall,
    pub until: Wall,
    pub units: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub now: Wall,
    /// Units of the limit: in all, those that count now, those of others among what is gone, those that only their caller may take.
    pub amount: u64,
    pub used: u64,
    pub foreign: u64,
    pub kept: u64,
    pub period: Period,
    /// Oldest first, none later than now.
    pub went: &'a [Went],
    /// Units that all plans together take in a window.
    pub planned: f64,
}

/// Units that are left at a moment.
pub type Level = (Wall, f64);

#[derive(Clone, Debug, PartialEq)]
pub struct Burn {
    pub from: Wall,
    pub until: Wall,
    /// Up to now. What others took is known of now alone: it is a step at the end.
    pub actual: Vec<Level>,
    pub planned: Vec<Level>,
    /// From now on.
    pub projected: Vec<Level>,
    /// How long the pace was looked at.
    pub looked_at: Span,
    /// When the projection has nothing left but what is kept.
    pub runs_out_at: Option<Wall>,
    /// What the projection leaves of the rest where it is least.
    pub spare: f64,
}

/// More stretches than that are put together.
const STRETCHES: usize = 120;

pub fn burn(facts: &Facts<'_>) -> Burn {
    let went = few(facts.went);
    let window = facts.window();
    let (from, until) = match facts.period {
        Period::Turns { began, ends } => (began.min(facts.now), ends.max(facts.now)),
        Period::Rolls { window } => (facts.now - window, facts.now + window),
    };
    let amount = facts.amount as f64;
    let planned_end = (amount - facts.planned).max(0.0);
    let planned_start = if matches!(facts.period, Period::Turns { .. }) { amount } else { planned_end };
    let (pace, looked_at) = pace(&went, facts.now, window);
    let projected = projected(facts, &went, pace, until);
    let kept = facts.kept as f64;
    Burn {
        from,
        until,
        actual: actual(facts, &went, from),
        planned: vec![(from, planned_start), (until, planned_end)],
        looked_at,
        runs_out_at: meets(&projected, kept),
        spare: projected.iter().map(|(_, left)| left - kept).fold(f64::INFINITY, f64::min).max(0.0),
        projected,
    }
}

impl Facts<'_> {
    fn window(&self) -> Span {
        match self.period {
            Period::Turns { began, ends } => ends.since(began),
            Period::Rolls { window } => window,
        }
    }
    fn left_now(&self) -> f64 {
        self.amount.saturating_sub(self.used).saturating_sub(self.foreign) as f64
    }
}

fn few(went: &[Went]) -> Vec<Went> {
    let together = went.len().div_ceil(STRETCHES).max(1);
    let one = |some: &[Went]| {
        let (first, last) = (some.first()?, some.last()?);
        let units = some.iter().fold(0u64, |sum, w| sum.saturating_add(w.units));
        Some(Went { from: first.from, until: last.until, units })
    };
    went.chunks(together).filter_map(one).collect()
}

/// Units that had gone by a moment.
fn gone(went: &[Went], at: Wall) -> f64 {
    let of = |w: &Went| match (w.until.since(w.from).0, at.since(w.from).0) {
        _ if at < w.from => 0.0,
        (0, _) => w.units as f64,
        (length, since) => w.units as f64 * (since as f64 / length as f64).min(1.0),
    };
    went.iter().map(of).sum()
}

/// The moments at which the line bends, between two. What went at once is a step: just before it, and at it.
fn bends(went: &[Went], later: Span, from: Wall, until: Wall) -> Vec<Wall> {
    let of = |w: &Went| {
        let (begins, ends) = (w.from + later, w.until + later);
        if begins == ends { [begins - Span(1), begins] } else { [begins, ends] }
    };
    went.iter().flat_map(of).filter(|at| *at > from && *at < until).collect()
}

fn actual(facts: &Facts<'_>, went: &[Went], from: Wall) -> Vec<Level> {
    let amount = facts.amount as f64;
    let mut moments = bends(went, Span::ZERO, from, facts.now);
    if let Period::Rolls { window } = facts.period {
        moments.extend(bends(went, window, from, facts.now));
    }
    moments.push(from);
    moments.sort_unstable();
    moments.dedup();
    let before = |at: Wall| match facts.period {
        Period::Turns { began, .. } => began - Span(1),
        Period::Rolls { window } => at - window,
    };
    let left = |at: Wall| (amount - (gone(went, at) - gone(went, before(at)))).clamp(0.0, amount);
    let own = facts.amount.saturating_sub(facts.used) as f64;
    let mut levels: Vec<Level> = moments.into_iter().map(|at| (at, left(at))).collect();
    levels.push((facts.now, own));
    if facts.foreign > 0 {
        levels.push((facts.now, facts.left_now()));
    }
    levels
}

/// Units a millisecond over the last quarter of a window, or since the first of them where that is less.
fn pace(went: &[Went], now: Wall, window: Span) -> (f64, Span) {
    let quarter = Span((window.0 / 4).max(1));
    let known = went.first().map_or(quarter, |w| now.since(w.from));
    let looked_at = quarter.min(known.max(Span(window.0 / 24))).max(Span(1));
    let units = gone(went, now) - gone(went, now - looked_at);
    (units / looked_at.0 as f64, looked_at)
}

fn projected(facts: &Facts<'_>, went: &[Went], pace: f64, until: Wall) -> Vec<Level> {
    let mut moments = vec![facts.now, until];
    let back = |at: Wall| match facts.period {
        Period::Turns { .. } => 0.0,
        Period::Rolls { window } => gone(went, at - window) - gone(went, facts.now - window),
    };
    if let Period::Rolls { window } = facts.period {
        moments.extend(bends(went, window, facts.now, until));
    }
    moments.sort_unstable();
    moments.dedup();
    let level = |at: Wall| facts.left_now() + back(at) - pace * at.since(facts.now).0 as f64;
    let levels: Vec<Level> = moments.into_iter().map(|at| (at, level(at).min(facts.amount as f64))).collect();
    // Below nothing there is nothing: the line goes along the ground.
    match meets(&levels, 0.0).filter(|at| *at > facts.now) {
        Some(empty) => {
            let above = levels.iter().copied().filter(|(at, _)| *at < empty);
            let along = levels.iter().filter(|(at, _)| *at > empty).map(|(at, left)| (*at, left.max(0.0)));
            above.chain([(empty, 0.0)]).chain(along).collect()
        }
        None => levels.into_iter().map(|(at, left)| (at, left.max(0.0))).collect(),
    }
}

/// When a falling line first is at `floor`.
fn meets(levels: &[Level], floor: f64) -> Option<Wall> {
    if levels.first().is_some_and(|(_, left)| *left <= floor) {
        return levels.first().map(|(at, _)| *at);
    }
    levels.windows(2).find_map(|pair| {
        let [(at, left), (next, after)] = pair else { return None };
        (*after <= floor).then(|| {
            let share = (left - floor) / (left - after).max(f64::MIN_POSITIVE);
            *at + Span((next.since(*at).0 as f64 * share.clamp(0.0, 1.0)) as u64)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: i64 = 3_600_000;

    fn hours(n: i64) -> Wall {
        Wall(n * HOUR)
    }

    fn hourly(units: &[u64]) -> Vec<Went> {
        (0i64..).zip(units).map(|(n, units)| Went { from: hours(n), until: hours(n + 1), units: *units }).collect()
    }

    /// A day of 300 of which 12 hours are over, with 10 an hour: as planned.
    fn day(went: &[Went]) -> Facts<'_> {
        Facts {
            now: hours(12),
            amount: 300,
            used: went.iter().map(|w| w.units).sum(),
            foreign: 0,
            kept: 20,
            period: Period::Turns { began: hours(0), ends: hours(24) },
            went,
            planned: 240.0,
        }
    }

    #[test]
    fn so_much_of_a_period_is_over_and_never_more_than_all() {
        let day = Period::Turns { began: hours(0), ends: hours(24) };
        for (at, gone) in [(-1, 0.0), (0, 0.0), (6, 0.25), (24, 1.0), (30, 1.0)] {
            assert_eq!(day.gone(hours(at)), gone, "{at}");
        }
        assert_eq!(Period::Turns { began: hours(3), ends: hours(3) }.gone(hours(3)), 0.0);
        assert_eq!(
            Period::Rolls { window: Span::from_secs(60) }.gone(hours(3)),
            1.0,
            "as planned it is always as full"
        );
    }

    #[test]
    fn a_day_as_planned_leaves_what_the_plan_leaves() {
        let went = hourly(&[10; 12]);
        let burn = burn(&day(&went));
        assert_eq!((burn.from, burn.until), (hours(0), hours(24)));
        assert_eq!(burn.planned, [(hours(0), 300.0), (hours(24), 60.0)]);
        assert_eq!(burn.actual.last(), Some(&(hours(12), 180.0)));
        assert!(burn.actual.contains(&(hours(6), 240.0)), "{:?}", burn.actual);
        assert_eq!(burn.projected, [(hours(12), 180.0), (hours(24), 60.0)]);
        assert_eq!((burn.runs_out_at, burn.spare, burn.looked_at), (None, 40.0, Span(6 * HOUR as u64)));
    }

    #[test]
    fn a_day_that_is_spent_too_fast_says_when_it_ends() {
        let went = hourly(&[20; 12]);
        let burn = burn(&day(&went));
        // 60 are left, 20 of them kept: two hours more for the others.
        assert_eq!(burn.runs_out_at, Some(hours(14)));
        assert_eq!(burn.spare, 0.0);
        assert_eq!(burn.projected, [(hours(12), 60.0), (hours(15), 0.0), (hours(24), 0.0)]);
    }

    #[test]
    fn what_others_took_is_a_step_of_now() {
        let went = hourly(&[10; 12]);
        let burn = burn(&Facts { foreign: 100, ..day(&went) });
        assert_eq!(&burn.actual[burn.actual.len() - 2..], [(hours(12), 180.0), (hours(12), 80.0)]);
        assert_eq!(burn.projected.first(), Some(&(hours(12), 80.0)));
    }

    /// Five in five minutes, one of them kept: four polls, 75 s apart.
    #[test]
    fn units_that_come_back_one_by_one_are_steps_up() {
        let second = |n: i64| Wall(n * 1000);
        let went: Vec<Went> = (0..8).map(|n| Went { from: second(n * 75), until: second(n * 75), units: 1 }).collect();
        let now = second(560);
        let period = Period::Rolls { window: Span::from_secs(300) };
        let facts = Facts { now, amount: 5, used: 4, foreign: 0, kept: 1, period, went: &went, planned: 4.0 };
        let burn = burn(&facts);
        assert_eq!((burn.from, burn.until), (second(260), second(860)));
        assert_eq!(burn.planned, [(second(260), 1.0), (second(860), 1.0)]);
        assert!(burn.actual.iter().all(|(_, left)| (1.0..=2.0).contains(left)), "{:?}", burn.actual);
        // At 300 s the first poll comes back and the fifth goes.
        assert!(burn.actual.contains(&(second(300), 1.0)), "{:?}", burn.actual);
        assert!(burn.projected.iter().any(|(at, left)| *at == second(600) && *left > 1.0), "{:?}", burn.projected);
    }

    #[test]
    fn nothing_spent_is_nothing_to_fear() {
        let burn = burn(&Facts { used: 0, ..day(&[]) });
        assert_eq!((burn.runs_out_at, burn.spare), (None, 280.0));
        assert_eq!(burn.actual, [(hours(0), 300.0), (hours(12), 300.0)]);
    }

    proptest! {
        #[test]
        fn every_level_is_one_of_the_limit_and_time_goes_on(
            units in proptest::collection::vec(0u64..50, 0..400),
            amount in 1u64..500, used in 0u64..600, foreign in 0u64..100, kept in 0u64..50, rolls in any::<bool>(),
        ) {
            let went = hourly(&units);
            let now = hours(units.len() as i64);
            let window = Span(24 * HOUR as u64);
            let period = if rolls { Period::Rolls { window } } else { Period::Turns { began: now - window, ends: now + Span(1) } };
            let burn = burn(&Facts { now, amount, used, foreign, kept, period, went: &went, planned: 70.0 });
            for line in [&burn.actual, &burn.planned, &burn.projected] {
                prop_assert!(line.windows(2).all(|w| w[0].0 <= w[1].0), "{:?}", line);
                prop_assert!(line.iter().all(|(at, left)| (0.0..=amount as f64).contains(left) && *at >= burn.from && *at <= burn.until), "{:?}", line);
            }
            prop_assert!(burn.actual.len() <= 6 * STRETCHES);
            prop_assert!(burn.spare >= 0.0 && burn.spare.is_finite());
            prop_assert_eq!(burn.runs_out_at.is_some(), burn.projected.iter().any(|(_, left)| *left <= kept as f64));
        }
    }
}
