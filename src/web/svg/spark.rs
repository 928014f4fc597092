//! Counts one beside the other, as small as a word: a bar for each, and for the last one, where it is not over, a lighter one.

use super::plot::Plot;

const HEIGHT: u32 = 30;
const GROUND: f64 = 29.0;
/// The least that is seen of a count.
const LEAST: f64 = 2.0;
/// Of the width of a bar, what is left free on either side of it.
const GAP: f64 = 0.12;

/// Between which parts of the width, and how many.
pub type Counted = ((f64, f64), u64);

/// Whether the last of them may still become more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    Open,
    Over,
}

pub fn bars(counts: &[Counted], last: Last) -> String {
    let mut plot = Plot::new("plot spark", HEIGHT);
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    plot.block("bed", (0.0, 1.0), (GROUND, f64::from(HEIGHT)));
    for (n, ((from, until), count)) in counts.iter().enumerate().filter(|(_, (_, count))| *count > 0) {
        let free = (until - from) * GAP;
        let high = (*count as f64 / most as f64 * GROUND).max(LEAST);
        let class = if last == Last::Open && n + 1 == counts.len() { "n open" } else { "n" };
        plot.block(class, (from + free, until - free), (GROUND - high, GROUND));
    }
    plot.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_count_fills_the_height_and_none_that_is_there_is_too_small_to_see() {
        let drawn = bars(&[((0.0, 0.25), 1000), ((0.25, 0.5), 0), ((0.5, 0.75), 1), ((0.75, 1.0), 500)], Last::Open);
        assert_eq!(drawn.matches("<rect class=\"n\"").count(), 2, "{drawn}");
        assert!(drawn.contains("<rect class=\"n\" x=\"3%\" y=\"0\" width=\"19%\" height=\"29\"/>"), "{drawn}");
        assert!(drawn.contains("x=\"53%\" y=\"27\" width=\"19%\" height=\"2\""), "{drawn}");
        assert!(drawn.contains("<rect class=\"n open\" x=\"78%\" y=\"14.5\""), "{drawn}");
        assert_eq!(bars(&[], Last::Over).matches("class=\"n").count(), 0);
    }
}
