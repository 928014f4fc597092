//! How a field of an item went: a line for numbers, bands for words. Where there was nothing, nothing is drawn; where nobody knows whether it
//! was still so, the ground is hatched and the line is thin.

use super::plot::{Anchor, Plot, Point};
use super::ticks::{self, Axis};
use crate::domain::time::{Span, Wall};

/// From a moment until the next; `None`: there was nothing.
pub type Step<T> = (Wall, Option<T>);

pub struct Frame<'a> {
    pub from: Wall,
    pub until: Wall,
    /// When no good answer was young enough; in order.
    pub stale: &'a [(Wall, Wall)],
}

const HEIGHT: u32 = 196;
const TOP: f64 = 18.0;
const GROUND: f64 = 172.0;
const BAND: (f64, f64) = (8.0, 48.0);
const BANDS_TOP: f64 = 2.0;
const BANDS_GROUND: f64 = 56.0;
/// More steps than that are drawn as what they lie between, so many columns wide.
const STEPS: usize = 300;
const COLUMNS: i64 = 150;
/// Words that have a tone of their own.
const TONES: usize = 6;

/// A value that stood from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: Wall,
    until: Wall,
    value: f64,
    is_stale: bool,
}

pub fn line(frame: &Frame<'_>, steps: &[Step<f64>], axis: &Axis<'_>) -> String {
    let mut plot = Plot::new("plot series", HEIGHT);
    let pieces = pieces(frame, steps);
    let values = || pieces.iter().map(|p| p.value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let lines = ticks::values(low, high);
    let (bottom, top) = (lines.first().copied().unwrap_or(0.0), lines.last().copied().unwrap_or(1.0));
    let y = |value: f64| GROUND - (value - bottom) / (top - bottom).max(f64::MIN_POSITIVE) * (GROUND - TOP);
    ground(&mut plot, frame, (TOP, GROUND));
    lines.iter().for_each(|n| plot.level("grid", y(*n)));
    if pieces.len() > STEPS {
        band(&mut plot, frame, &pieces, y);
    }
    for run in runs(&pieces) {
        let class = if run.is_stale { "actual old" } else { "actual" };
        let thinned = thinned(frame, run.pieces);
        let corners = thinned.iter().flat_map(|p| [(p.from, p.value), (p.until, p.value)]);
        let before = run.before.map(|value| (run.pieces.first().map_or(frame.from, |p| p.from), value));
        let points: Vec<Point> = before
            .into_iter()
            .chain(corners)
            .map(|(at, value)| (ticks::place(frame.from, frame.until, at), y(value)))
            .collect();
        plot.path(class, &points);
    }
    for n in lines {
        plot.text(
            "scale",
            (0.0, y(n) - 4.0),
            Anchor::Start,
            &axis.decimal.written(&crate::web::pages::show::number(n)),
        );
    }
    plot.level("axis", GROUND);
    ticks::below(&mut plot, (frame.from, frame.until), GROUND, axis);
    plot.done()
}

/// A band for as long as a word stood, with the word in it.
pub fn words(frame: &Frame<'_>, steps: &[Step<&str>], axis: &Axis<'_>) -> String {
    let mut plot = Plot::new("plot series", (BANDS_GROUND + 24.0) as u32);
    let known = known(steps);
    for (n, (at, word)) in steps.iter().enumerate() {
        let Some(word) = word else { continue };
        let ends = steps.get(n + 1).map_or(frame.until, |(next, _)| *next);
        let place = |at: Wall| ticks::place(frame.from, frame.until, at);
        let tone = known.iter().find(|(one, _)| one == word).map_or(0, |(_, tone)| *tone);
        plot.named(&format!("word w{tone}"), (place(*at), place(ends)), BAND, word);
    }
    // Over the bands: what is below it may not have been so.
    ground(&mut plot, frame, (BANDS_TOP, BANDS_GROUND));
    plot.level("axis", BANDS_GROUND);
    ticks::below(&mut plot, (frame.from, frame.until), BANDS_GROUND, axis);
    plot.done()
}

/// The words in the order in which they come, each with the number of its tone.
pub fn known<'a>(steps: &[Step<&'a str>]) -> Vec<(&'a str, usize)> {
    let mut known: Vec<&str> = Vec::new();
    for word in steps.iter().filter_map(|(_, word)| *word) {
        if !known.contains(&word) {
            known.push(word);
        }
    }
    known.into_iter().enumerate().map(|(n, word)| (word, n % TONES)).collect()
}

/// What nobody knew, as one where the gaps between are too small to see.
fn ground(plot: &mut Plot, frame: &Frame<'_>, sides: (f64, f64)) {
    let near = Span(frame.until.since(frame.from).0 / 400);
    let mut spans: Vec<(Wall, Wall)> = Vec::new();
    for (from, until) in frame.stale {
        match spans.last_mut() {
            Some((_, ends)) if from.since(*ends) <= near => *ends = (*ends).max(*until),
            _ => spans.push((*from, *until)),
        }
    }
    for (from, until) in spans {
        let place = |at: Wall| ticks::place(frame.from, frame.until, at);
        plot.block("old-ground", (place(from), place(until)), sides);
    }
}

/// Each step until the next, cut where it was not known any more.
fn pieces(frame: &Frame<'_>, steps: &[Step<f64>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (n, (at, value)) in steps.iter().enumerate() {
        let Some(value) = *value else { continue };
        let (mut from, until) = (*at, steps.get(n + 1).map_or(frame.until, |(next, _)| *next));
        for (begins, ends) in frame.stale.iter().filter(|(begins, ends)| *begins < until && *ends > *at) {
            let (begins, ends) = ((*begins).max(from), (*ends).min(until));
            pieces.push(Piece { from, until: begins, value, is_stale: false });
            pieces.push(Piece { from: begins, until: ends, value, is_stale: true });
            from = ends;
        }
        pieces.push(Piece { from, until, value, is_stale: false });
    }
    pieces.retain(|p| p.from < p.until);
    pieces
}

/// Pieces without a gap between them, all known or all not.
struct Run<'a> {
    pieces: &'a [Piece],
    is_stale: bool,
    /// The value that it comes from, where there is no gap before it.
    before: Option<f64>,
}

fn runs(pieces: &[Piece]) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for of in pieces.chunk_by(|a, b| a.until == b.from && a.is_stale == b.is_stale) {
        let last = runs.last().and_then(|run| run.pieces.last());
        let from = of.first().map(|p| p.from);
        let before = last.filter(|p| Some(p.until) == from).map(|p| p.value);
        runs.push(Run { pieces: of, is_stale: of.first().is_some_and(|p| p.is_stale), before });
    }
    runs
}

fn column(frame: &Frame<'_>, at: Wall) -> i64 {
    (ticks::place(frame.from, frame.until, at) * COLUMNS as f64) as i64
}

/// One piece of each column is enough of many: the band says what was between.
fn thinned(frame: &Frame<'_>, pieces: &[Piece]) -> Vec<Piece> {
    if pieces.len() <= STEPS {
        return pieces.to_vec();
    }
    let last = pieces.chunk_by(|a, b| column(frame, a.from) == column(frame, b.from)).filter_map(<[Piece]>::last);
    last.copied().collect()
}

/// From the least to the greatest of each column.
fn band(plot: &mut Plot, frame: &Frame<'_>, pieces: &[Piece], y: impl Fn(f64) -> f64) {
    for of in pieces.chunk_by(|a, b| column(frame, a.from) == column(frame, b.from)) {
        let known = || of.iter().filter(|p| !p.is_stale).map(|p| p.value);
        let (least, most) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        let Some(first) = of.first().filter(|_| least <= most) else { continue };
        let left = column(frame, first.from) as f64 / COLUMNS as f64;
        plot.block("between", (left, left + 1.0 / COLUMNS as f64), (y(most) - 0.5, y(least) + 0.5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(stale: &[(Wall, Wall)]) -> Frame<'_> {
        Frame { from: Wall(0), until: Wall(1000), stale }
    }

    fn drawn(steps: &[(i64, Option<f64>)], stale: &[(Wall, Wall)]) -> String {
        let steps: Vec<Step<f64>> = steps.iter().map(|(at, value)| (Wall(*at), *value)).collect();
        line(&frame(stale), &steps, &ticks::UTC)
    }

    #[test]
    fn a_value_stands_until_the_next_and_a_gap_stays_a_gap() {
        let drawn = drawn(&[(0, Some(10.0)), (250, Some(20.0)), (500, None), (750, Some(10.0))], &[]);
        assert!(drawn.contains("<path class=\"actual\" d=\"M0 172L250 172L250 18L500 18\"/>"), "{drawn}");
        assert!(drawn.contains("<path class=\"actual\" d=\"M750 172L1000 172\"/>"), "{drawn}");
        assert_eq!(drawn.matches("<path").count(), 2, "nothing is drawn across the gap: {drawn}");
    }

    #[test]
    fn what_nobody_knows_is_hatched_and_thin() {
        let stale = [(Wall(400), Wall(600))];
        let drawn = drawn(&[(0, Some(1.0)), (500, Some(3.0))], &stale);
        assert!(
            drawn.contains("<rect class=\"old-ground\" x=\"40%\" y=\"18\" width=\"20%\" height=\"154\"/>"),
            "{drawn}"
        );
        assert!(drawn.contains("<path class=\"actual old\" d=\"M400 172L400 172L500 172L500 18L600 18\"/>"), "{drawn}");
        assert!(drawn.contains("<path class=\"actual\" d=\"M600 18L600 18L1000 18\"/>"), "{drawn}");
    }

    #[test]
    fn many_values_become_a_band_of_bounded_size() {
        let steps: Vec<(i64, Option<f64>)> = (0..1000).map(|n| (n, Some((n % 7) as f64))).collect();
        let drawn = drawn(&steps, &[]);
        assert!(drawn.contains("class=\"between\""));
        assert!(drawn.len() < 22_000, "{} bytes", drawn.len());
    }

    #[test]
    fn words_are_bands_with_the_word_in_them_whatever_it_is() {
        let steps =
            [(Wall(0), Some("idle")), (Wall(400), Some("<b>run</b>")), (Wall(600), None), (Wall(700), Some("idle"))];
        let drawn = words(&frame(&[]), &steps, &ticks::UTC);
        assert_eq!(drawn.matches("class=\"word w0\"").count(), 2, "{drawn}");
        assert!(drawn.contains("&lt;b&gt;run&lt;/b&gt;</text>") && !drawn.contains("<b>"), "{drawn}");
    }

    #[test]
    fn a_value_that_never_moves_has_a_line_too() {
        let drawn = drawn(&[(0, Some(21.5))], &[]);
        assert!(drawn.contains("class=\"actual\"") && !drawn.contains("NaN"), "{drawn}");
        assert!(line(&frame(&[]), &[], &ticks::UTC).ends_with("</svg>"));
    }
}
