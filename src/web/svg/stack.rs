//! Who spent how much: a bar for each slice of time, callers in their fixed order from below.

use super::plot::{Anchor, Plot};
use super::ticks::{self, Axis};
use super::{in_order, total};
use crate::domain::time::Wall;
use std::collections::BTreeMap;

/// Units by caller, from this moment until the next bar begins.
pub struct Bar {
    pub at: Wall,
    pub units: BTreeMap<&'static str, u64>,
}

const HEIGHT: u32 = 156;
const TOP: f64 = 16.0;
const GROUND: f64 = 134.0;
/// Of the width of a bar, what is left free on either side of it.
const GAP: f64 = 0.1;

pub fn bars(bars: &[Bar], until: Wall, axis: &Axis<'_>) -> String {
    let mut plot = Plot::new("plot bars", HEIGHT);
    let lines = ticks::units(bars.iter().map(|bar| total(&bar.units)).max().unwrap_or(0));
    let top = lines.last().copied().unwrap_or(1);
    let y = |units: u64| GROUND - units as f64 / top as f64 * (GROUND - TOP);
    lines.iter().for_each(|n| plot.level("grid", y(*n)));
    let width = 1.0 / bars.len().max(1) as f64;
    for (n, bar) in bars.iter().enumerate() {
        let left = n as f64 * width;
        let sides = (left + GAP * width, left + (1.0 - GAP) * width);
        plot.block("bed", sides, (GROUND, GROUND + 2.0));
        let mut below = 0;
        for (caller, units) in in_order(&bar.units) {
            plot.block(&format!("u c-{caller}"), sides, (y(below + units), y(below)));
            below += units;
        }
    }
    // Over the bars, so that a full one does not hide what a line is called.
    for n in lines {
        plot.text("scale", (0.0, y(n) - 4.0), Anchor::Start, &crate::web::pages::show::count(n));
    }
    for tick in ticks::times(bars.first().map_or(until, |bar| bar.at), until, axis, 6) {
        let x = place(bars, until, tick.at) * width;
        plot.upright("grid", x, (GROUND, GROUND + 6.0));
        plot.text("time", (x, HEIGHT.into()), Anchor::near(x), &tick.label);
    }
    plot.done()
}

/// In bars from the left: days are of different lengths, and as wide as each other.
fn place(bars: &[Bar], until: Wall, at: Wall) -> f64 {
    let n = bars.partition_point(|bar| bar.at <= at).saturating_sub(1);
    let Some(bar) = bars.get(n) else { return 0.0 };
    n as f64 + ticks::place(bar.at, bars.get(n + 1).map_or(until, |next| next.at), at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn some(units: &[&[(&'static str, u64)]]) -> Vec<Bar> {
        let bar = |(n, units): (i64, &&[(&'static str, u64)])| Bar {
            at: Wall(n * HOUR),
            units: units.iter().copied().collect(),
        };
        (0i64..).zip(units).map(bar).collect()
    }

    #[test]
    fn every_slice_has_its_place_and_every_caller_its_own_above_the_others() {
        let drawn =
            bars(&some(&[&[("refresh", 1), ("poller", 1)], &[], &[("command", 4)]]), Wall(3 * HOUR), &ticks::UTC);
        assert_eq!(drawn.matches("class=\"bed\"").count(), 3);
        let at = |class: &str| drawn.find(&format!("u c-{class}\"")).unwrap();
        assert!(at("poller") < at("refresh"), "the poller's is below: {drawn}");
        assert!(drawn.contains("u c-command\" x=\"70%\" y=\"16\" width=\"26.67%\" height=\"118\""), "{drawn}");
        for label in [">4</text>", ">01:00</text>", ">02:00</text>"] {
            assert!(drawn.contains(label), "{label}: {drawn}");
        }
    }

    #[test]
    fn nothing_at_all_is_a_drawing_too() {
        assert!(bars(&[], Wall(0), &ticks::UTC).ends_with("</svg>"));
        assert_eq!(bars(&some(&[&[], &[]]), Wall(2 * HOUR), &ticks::UTC).matches("class=\"u ").count(), 0);
    }
}
