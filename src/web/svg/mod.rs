//! Drawings: SVG with classes, no colour and no style in it. Numbers, moments and words in, markup out: texts are escaped in one place, the
//! sheet. Each has its figures in words or in a table on the same page, so it is hidden
//! from those who listen. Must not know where the figures come from, nor a clock.
//!
//! * [`gauge`](gauge()) a limit · [`burn`](mod@burn) how its units go · [`stack`] who spent how much, bar by bar · [`states`] how a connection
//!   stood · [`series`] how a field went · [`spark`] counts hour by hour, small
//! * [`plot`] the sheet that they are drawn on, [`ticks`] the places of its lines and what they are called

pub mod burn;
mod gauge;
mod plot;
pub mod series;
pub mod spark;
pub mod stack;
pub mod states;
pub mod ticks;

pub use gauge::{gauge, has_tick, shares};

use crate::domain::ids::Caller;
use std::collections::BTreeMap;

/// Callers in their fixed order, whatever the map's: a colour keeps its place.
fn in_order(by: &BTreeMap<&'static str, u64>) -> impl Iterator<Item = (&'static str, u64)> {
    Caller::ALL.into_iter().filter_map(|c| by.get(c.word()).map(|n| (c.word(), *n)))
}

pub fn total(units: &BTreeMap<&'static str, u64>) -> u64 {
    units.values().fold(0, |sum, n| sum.saturating_add(*n))
}
