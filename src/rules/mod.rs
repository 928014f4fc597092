//! Pure decisions. `now` is an argument; no I/O, no async, no clock.

pub mod address;
pub mod asking;
pub mod breaker;
pub mod budget;
pub mod calendar;
pub mod classify;
pub mod complete;
pub mod delivery;
pub mod ending;
pub mod extract;
pub mod feed;
pub mod freshness;
pub mod hold;
pub mod instant;
pub mod json;
pub mod learn;
pub mod lifecycle;
pub mod paging;
pub mod plan;
pub mod quota;
pub mod reconcile;
pub mod schedule;
pub mod template;
pub mod text;
pub mod trial;
pub mod xml;
