//! The sheet that plots are drawn on. From side to side everything is a share of its width, whatever that will be on a screen; from top
//! to bottom it is pixels. So texts and strokes keep their size on a phone and on a wall.

use std::fmt::Write;

/// A place from side to side, 0 to 1, and pixels from the top.
pub type Point = (f64, f64);

/// Where a text stands of its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    const fn word(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
    /// Inside the sheet, however near its edge.
    pub fn near(x: f64) -> Anchor {
        match x {
            x if x < 0.06 => Anchor::Start,
            x if x > 0.94 => Anchor::End,
            _ => Anchor::Middle,
        }
    }
}

/// Narrower blocks have no name in them.
const ROOM: f64 = 0.04;

pub struct Plot {
    height: u32,
    out: String,
}

/// Writing to a String cannot fail.
macro_rules! draw {
    ($plot:expr, $($rest:tt)*) => { let _ = write!($plot.out, $($rest)*); };
}

impl Plot {
    pub fn new(class: &str, height: u32) -> Plot {
        let mut plot = Plot { height, out: String::new() };
        draw!(
            plot,
            "<svg class=\"{class}\" width=\"100%\" height=\"{height}\" aria-hidden=\"true\" focusable=\"false\">"
        );
        plot
    }

    pub fn block(&mut self, class: &str, (left, right): (f64, f64), (top, bottom): (f64, f64)) {
        let (left, right) = (inside(left), inside(right));
        let (width, height) = ((right - left).max(0.0), (bottom - top).max(0.0));
        if width > 0.0 && height > 0.0 {
            let (x, width, y, height) = (percent(left), percent(width), short(top), short(height));
            draw!(self, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
        }
    }

    /// From side to side.
    pub fn level(&mut self, class: &str, y: f64) {
        let y = short(y);
        draw!(self, "<line class=\"{class}\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>");
    }

    pub fn upright(&mut self, class: &str, x: f64, (top, bottom): (f64, f64)) {
        let (x, top, bottom) = (percent(inside(x)), short(top), short(bottom));
        draw!(self, "<line class=\"{class}\" x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{bottom}\"/>");
    }

    /// Through these points; nothing where they are fewer than two.
    pub fn path(&mut self, class: &str, points: &[Point]) {
        if points.len() < 2 {
            return;
        }
        let height = self.height;
        // Inside it a thousand is the whole width.
        draw!(
            self,
            "<svg width=\"100%\" height=\"{height}\" viewBox=\"0 0 1000 {height}\" preserveAspectRatio=\"none\"><path class=\"{class}\" d=\""
        );
        for (n, (x, y)) in points.iter().enumerate() {
            let (letter, x, y) = (if n == 0 { 'M' } else { 'L' }, short(inside(*x) * 1000.0), short(*y));
            draw!(self, "{letter}{x} {y}");
        }
        self.out.push_str("\"/></svg>");
    }

    /// The surface between a line and the ground.
    pub fn area(&mut self, class: &str, points: &[Point], ground: f64) {
        if let [first, .., last] = points {
            let closed: Vec<Point> =
                [&[(first.0, ground)], points, &[(last.0, ground)]].into_iter().flatten().copied().collect();
            self.path(class, &closed);
        }
    }

    pub fn text(&mut self, class: &str, (x, y): Point, anchor: Anchor, text: &str) {
        let (x, y, anchor, text) = (percent(inside(x)), short(y), anchor.word(), escaped(text));
        draw!(self, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>");
    }

    /// A block with its name inside, as far as there is room for it.
    pub fn named(&mut self, class: &str, (left, right): (f64, f64), (top, bottom): (f64, f64), name: &str) {
        let (left, right) = (inside(left), inside(right));
        if right - left < ROOM {
            return self.block(class, (left, right), (top, bottom));
        }
        let (x, width, y, height) = (percent(left), percent(right - left), short(top), short(bottom - top));
        let (base, name) = (short((bottom - top) / 2.0 + 4.0), escaped(name));
        draw!(
            self,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"><rect class=\"{class}\" width=\"100%\" height=\"100%\"/>\
             <text class=\"name\" x=\"6\" y=\"{base}\">{name}</text></svg>"
        );
    }

    pub fn done(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

fn inside(x: f64) -> f64 {
    if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.0 }
}

fn percent(x: f64) -> String {
    format!("{}%", short(x * 100.0))
}

/// Two places, and no zeros behind them.
fn short(n: f64) -> String {
    let n = if n.is_finite() { n } else { 0.0 };
    let text = format!("{n:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sheet_is_wide_in_shares_and_high_in_pixels() {
        let mut plot = Plot::new("plot", 100);
        plot.block("b", (0.25, 0.5), (10.0, 30.5));
        plot.path("p", &[(0.0, 0.0), (1.0, 50.0)]);
        plot.text("t", (0.5, 90.0), Anchor::Middle, "a < b & c");
        let drawn = plot.done();
        assert!(drawn.contains("<rect class=\"b\" x=\"25%\" y=\"10\" width=\"25%\" height=\"20.5\"/>"), "{drawn}");
        assert!(drawn.contains("d=\"M0 0L1000 50\""), "{drawn}");
        assert!(drawn.contains("x=\"50%\" y=\"90\" text-anchor=\"middle\">a &lt; b &amp; c</text>"), "{drawn}");
        assert!(!drawn.contains("style"), "{drawn}");
    }

    #[test]
    fn nothing_is_drawn_where_there_is_nothing() {
        let empty = Plot::new("plot", 100).done();
        let mut plot = Plot::new("plot", 100);
        plot.block("b", (0.5, 0.5), (0.0, 9.0));
        plot.path("p", &[(0.1, 1.0)]);
        plot.area("a", &[], 9.0);
        assert_eq!(plot.done(), empty);
    }

    proptest! {
        #[test]
        fn whatever_the_numbers_are_the_drawing_stays_on_its_sheet(x in any::<f64>(), width in any::<f64>(), y in any::<f64>()) {
            let mut plot = Plot::new("plot", 100);
            plot.block("b", (x, x + width), (0.0, y));
            plot.path("p", &[(x, y), (width, y)]);
            let drawn = plot.done();
            prop_assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{}", drawn);
            for share in drawn.split("x=\"").skip(1).filter_map(|rest| rest.split_once("%\"").map(|(n, _)| n)) {
                let share: f64 = share.parse().unwrap_or(0.0);
                prop_assert!((0.0..=100.0).contains(&share), "{}", drawn);
            }
        }
    }
}
