//! How a connection stood over a time: cells of equal length, each in the state that mattered in it. What is well is half as high as what is
//! not, and what nobody knows is a line: so it reads without its colours.

use super::plot::Plot;
use crate::domain::state::State;
use crate::domain::time::Wall;
use crate::web::pages::show::severity;

/// From, until, and how it stood; `None`: Larder did not run.
pub type Stretch = (Wall, Wall, Option<State>);

/// `None`: nobody knows.
type Cell = Option<Option<State>>;

const HEIGHT: u32 = 26;

pub fn strip(from: Wall, until: Wall, cells: usize, stood: &[Stretch]) -> String {
    let mut plot = Plot::new("plot states", HEIGHT);
    let cells = self::cells(from, until, cells, stood);
    let width = 1.0 / cells.len().max(1) as f64;
    let mut left = 0;
    for run in cells.chunk_by(|a, b| a == b) {
        let sides = (left as f64 * width, (left + run.len()) as f64 * width);
        left += run.len();
        match run.first().copied().flatten() {
            None => plot.block("st unknown", sides, (24.0, 26.0)),
            Some(None) => plot.block("st away", sides, (20.0, 26.0)),
            Some(Some(state)) => plot.block(&format!("st s-{state}"), sides, (top(state), 26.0)),
        }
    }
    plot.done()
}

/// Pixels from the top.
fn top(state: State) -> f64 {
    match state {
        State::Fresh | State::Ageing => 12.0,
        State::Disabled | State::Never => 18.0,
        _ => 0.0,
    }
}

/// The gravest trouble of a cell, however short; where there was none, what was longest.
fn cells(from: Wall, until: Wall, cells: usize, stood: &[Stretch]) -> Vec<Cell> {
    let edge = |n: usize| {
        let length = i128::from(until.0) - i128::from(from.0);
        let way = length * n as i128 / cells.max(1) as i128;
        Wall(i64::try_from(i128::from(from.0) + way).unwrap_or(until.0))
    };
    let cell = |n: usize| {
        let (begins, ends) = (edge(n), edge(n + 1));
        let inside = stood.iter().filter(|(from, until, _)| *from < ends && *until > begins);
        let mut longest: Vec<(Option<State>, u64)> = Vec::new();
        for (from, until, state) in inside {
            let length = (*until).min(ends).since((*from).max(begins)).0;
            match longest.iter_mut().find(|(known, _)| known == state) {
                Some((_, sum)) => *sum += length,
                None => longest.push((*state, length)),
            }
        }
        let grave = longest.iter().filter_map(|(state, _)| *state).filter(|state| state.is_trouble());
        match grave.min_by_key(|state| severity(*state)) {
            Some(state) => Some(Some(state)),
            None => longest.iter().max_by_key(|(_, length)| *length).map(|(state, _)| *state),
        }
    };
    (0..cells).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Ageing, Fresh, Held, Stale};

    fn stood(of: &[(i64, i64, Option<State>)]) -> Vec<Stretch> {
        of.iter().map(|(from, until, state)| (Wall(*from), Wall(*until), *state)).collect()
    }

    #[test]
    fn trouble_is_never_hidden_and_a_flicker_of_ageing_is() {
        let day = stood(&[
            (0, 95, Some(Fresh)),
            (95, 96, Some(Ageing)),
            (96, 120, Some(Fresh)),
            (120, 121, Some(Stale)),
            (121, 122, Some(Held)),
            (122, 200, Some(Fresh)),
            (200, 300, None),
        ]);
        let cells = cells(Wall(-100), Wall(300), 4, &day);
        assert_eq!(cells, [None, Some(Some(Fresh)), Some(Some(Held)), Some(None)]);
    }

    #[test]
    fn what_is_alike_is_drawn_once() {
        let day = stood(&[(0, 50, Some(Fresh)), (50, 75, Some(Held)), (75, 100, Some(Fresh))]);
        let drawn = strip(Wall(0), Wall(100), 96, &day);
        assert_eq!(drawn.matches("<rect").count(), 3, "{drawn}");
        assert!(drawn.contains("class=\"st s-fresh\" x=\"0%\" y=\"12\" width=\"50%\""), "{drawn}");
        assert!(drawn.contains("class=\"st s-held\" x=\"50%\" y=\"0\" width=\"25%\""), "{drawn}");
        assert!(strip(Wall(0), Wall(100), 0, &day).ends_with("</svg>"));
    }
}
