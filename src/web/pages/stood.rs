//! How a connection stood over the last day: a strip, the same in a few words, and as a table. Must not know the rest of the page.

use super::show::{self, Chip, Face, Moment};
use crate::domain::state::State;
use crate::domain::time::{Span, Wall};
use crate::engine::view::{StoodStretch, StoodView};
use crate::web::svg::states;
use crate::web::texts;

pub const DAY: Span = Span::from_secs(86_400);
/// Cells of the strip: a quarter of an hour each.
const CELLS: usize = 96;
/// Lines of the table, the newest.
const LINES: usize = 30;

pub struct Stood {
    pub svg: String,
    /// `Last 24 h: held 10 min, not running 2 h.`
    pub sentence: String,
    pub lines: Vec<Line>,
    /// Lines that the table leaves out.
    pub more: Option<String>,
}

pub struct Line {
    pub from: Moment,
    /// `None`: it still stands so.
    pub until: Option<Moment>,
    /// `None`: Larder did not run.
    pub chip: Option<Chip>,
    pub long: String,
}

pub fn stood(face: &Face, view: &StoodView) -> Stood {
    let (from, until) = axis(view.until.0);
    let stretches: Vec<states::Stretch> = view.stretches.iter().map(|s| (s.from.0, s.until.0, s.state)).collect();
    let lines = view.stretches.iter().rev().take(LINES).map(|s| line(face, s, view)).collect();
    let more = view.stretches.len().saturating_sub(LINES);
    Stood {
        svg: states::strip(from, until, CELLS, &stretches),
        sentence: sentence(face, view),
        lines,
        more: (more > 0).then(|| show::count(more as u64)),
    }
}

/// Of the day up to now. Its cells begin with the quarters of the clock, so that the strip moves four times an hour and not with every look.
pub fn axis(now: Wall) -> (Wall, Wall) {
    let cell = i64::try_from(DAY.0 / CELLS as u64).unwrap_or(1);
    let until = Wall(now.0.div_euclid(cell).saturating_add(1).saturating_mul(cell));
    (until - DAY, until)
}

fn line(face: &Face, stretch: &StoodStretch, view: &StoodView) -> Line {
    Line {
        from: face.moment(stretch.from),
        until: (stretch.until != view.until).then(|| face.moment(stretch.until)),
        chip: stretch.state.map(Chip::of),
        long: show::span(stretch.until.0.since(stretch.from.0).as_secs()),
    }
}

/// Everything that was not well, the longest first. It says nothing that changes while all is well.
fn sentence(face: &Face, view: &StoodView) -> String {
    let trouble = view.stretches.iter().filter_map(|stretch| {
        let word = match stretch.state {
            Some(State::Fresh | State::Ageing) => return None,
            Some(State::Never) => texts::t("stood-not-polled-yet").plain(),
            Some(state) => show::word(state),
            None => texts::t("stood-table-not-running").plain(),
        };
        Some((word, stretch.until.0.since(stretch.from.0).as_secs()))
    });
    let sums = show::longest_first(trouble);
    let told: Vec<String> = sums.iter().map(|(word, seconds)| format!("{word} {}", show::span(*seconds))).collect();
    let first = view.stretches.first().map(|s| s.from).filter(|from| *from != view.from);
    let time = match first {
        Some(from) => texts::t("stood-since").with("from", face.clock(from)).plain(),
        None => texts::t("stood-last-24-h").plain(),
    };
    match (view.stretches.is_empty(), told.is_empty()) {
        (true, _) => texts::t("stood-how-it-stood-is").plain(),
        (false, true) => texts::t("stood-no-trouble").with("time", &time).plain(),
        (false, false) => format!("{time}: {}.", told.join(", ")),
    }
}
