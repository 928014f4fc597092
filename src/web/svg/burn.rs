//! How the units of a limit go: what was left until now, what the plans leave, how it goes on at the pace of lately, and what is kept.

use super::plot::{Anchor, Plot, Point};
use super::ticks::{self, Axis};
use crate::domain::time::Wall;
use crate::web::pages::show::count;

/// Units that are left at a moment.
pub type Level = (Wall, f64);

pub struct Burn<'a> {
    pub from: Wall,
    pub now: Wall,
    pub until: Wall,
    pub amount: u64,
    pub kept: u64,
    pub actual: &'a [Level],
    pub planned: &'a [Level],
    pub projected: &'a [Level],
}

const HEIGHT: u32 = 196;
const TOP: f64 = 22.0;
const GROUND: f64 = 172.0;
/// A line so near the top one is not drawn beside it.
const NEAR: f64 = 0.88;

pub fn burn(burn: &Burn<'_>, axis: &Axis<'_>) -> String {
    let mut plot = Plot::new("plot burn", HEIGHT);
    let amount = burn.amount.max(1);
    let y = |left: f64| GROUND - (left / amount as f64).clamp(0.0, 1.0) * (GROUND - TOP);
    let x = |at: Wall| ticks::place(burn.from, burn.until, at);
    let points = |levels: &[Level]| -> Vec<Point> { levels.iter().map(|(at, left)| (x(*at), y(*left))).collect() };
    let inner = ticks::units(amount).into_iter().filter(|n| (*n as f64) < amount as f64 * NEAR);
    let lines: Vec<u64> = inner.chain([amount]).collect();
    lines.iter().for_each(|n| plot.level("grid", y(*n as f64)));
    plot.block("keep", (0.0, 1.0), (y(burn.kept as f64), GROUND));
    let actual = points(burn.actual);
    plot.area("under", &actual, GROUND);
    plot.path("planned", &points(burn.planned));
    plot.path("projected", &points(burn.projected));
    plot.path("actual", &actual);
    plot.level("axis", GROUND);
    plot.upright("now", x(burn.now), (TOP - 8.0, GROUND));
    plot.text("scale", (x(burn.now), TOP - 11.0), Anchor::near(x(burn.now)), "now");
    for n in lines {
        plot.text("scale", (0.0, y(n as f64) - 4.0), Anchor::Start, &count(n));
    }
    ticks::below(&mut plot, (burn.from, burn.until), GROUND, axis);
    plot.done()
}

/// What a line says of a moment; of a step what is after it. `None`: it does not reach there.
pub fn level(levels: &[Level], at: Wall) -> Option<f64> {
    let after = levels.partition_point(|(moment, _)| *moment <= at);
    let (before, left) = levels.get(after.checked_sub(1)?)?;
    match levels.get(after) {
        None if *before < at => None,
        None => Some(*left),
        Some((next, then)) => Some(left + (then - left) * ticks::place(*before, *next, at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn a_day_half_spent_is_drawn_from_full_to_what_is_left() {
        let at = |n: i64| Wall(n * HOUR);
        let drawn = burn(
            &Burn {
                from: at(0),
                now: at(12),
                until: at(24),
                amount: 300,
                kept: 30,
                actual: &[(at(0), 300.0), (at(12), 150.0)],
                planned: &[(at(0), 300.0), (at(24), 60.0)],
                projected: &[(at(12), 150.0), (at(24), 0.0)],
            },
            &ticks::UTC,
        );
        assert!(drawn.contains("<path class=\"actual\" d=\"M0 22L500 97\"/>"), "{drawn}");
        assert!(drawn.contains("<path class=\"planned\" d=\"M0 22L1000 142\"/>"), "{drawn}");
        assert!(drawn.contains("<path class=\"projected\" d=\"M500 97L1000 172\"/>"), "{drawn}");
        assert!(drawn.contains("<rect class=\"keep\" x=\"0%\" y=\"157\" width=\"100%\" height=\"15\"/>"), "{drawn}");
        for label in [">300</text>", ">now</text>", ">12:00</text>"] {
            assert!(drawn.contains(label), "{label}: {drawn}");
        }
    }

    #[test]
    fn the_table_says_what_the_lines_say() {
        let line = [(Wall(0), 10.0), (Wall(100), 0.0), (Wall(100), 8.0), (Wall(200), 8.0)];
        for (at, left) in
            [(0, Some(10.0)), (50, Some(5.0)), (100, Some(8.0)), (200, Some(8.0)), (201, None), (-1, None)]
        {
            assert_eq!(level(&line, Wall(at)), left, "{at}");
        }
    }
}
