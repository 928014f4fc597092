//! Counts hour by hour, as small as a word: a bar for each, and for the last one, which is not over, a lighter one.

use super::plot::Plot;

const HEIGHT: u32 = 30;
const GROUND: f64 = 29.0;
/// The least that is seen of a count.
const LEAST: f64 = 2.0;
/// Of the width of a bar, what is left free on either side of it.
const GAP: f64 = 0.12;

pub fn bars(counts: &[u64]) -> String {
    let mut plot = Plot::new("plot spark", HEIGHT);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let width = 1.0 / counts.len().max(1) as f64;
    plot.block("bed", (0.0, 1.0), (GROUND, f64::from(HEIGHT)));
    for (n, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let sides = ((n as f64 + GAP) * width, (n as f64 + 1.0 - GAP) * width);
        let high = (*count as f64 / most as f64 * GROUND).max(LEAST);
        plot.block(if n + 1 == counts.len() { "n open" } else { "n" }, sides, (GROUND - high, GROUND));
    }
    plot.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_count_fills_the_height_and_none_that_is_there_is_too_small_to_see() {
        let drawn = bars(&[1000, 0, 1, 500]);
        assert_eq!(drawn.matches("<rect class=\"n\"").count(), 2, "{drawn}");
        assert!(drawn.contains("<rect class=\"n\" x=\"3%\" y=\"0\" width=\"19%\" height=\"29\"/>"), "{drawn}");
        assert!(drawn.contains("x=\"53%\" y=\"27\" width=\"19%\" height=\"2\""), "{drawn}");
        assert!(drawn.contains("<rect class=\"n open\" x=\"78%\" y=\"14.5\""), "{drawn}");
        assert_eq!(bars(&[]).matches("class=\"n").count(), 0);
    }
}
