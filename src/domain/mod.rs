//! The nouns. Knows `std` and `serde` only: no clock, no I/O, no decision.

pub mod charge;
pub mod connection;
pub mod cursor;
pub mod event;
pub mod finding;
pub mod gateway;
pub mod ids;
pub mod item;
pub mod job;
pub mod limit;
pub mod oauth;
pub mod outcome;
pub mod page;
pub mod polling;
pub mod quota;
pub mod reading;
pub mod reply;
pub mod scan;
pub mod send;
pub mod spec;
pub mod spend;
pub mod state;
pub mod target;
pub mod time;
pub mod wait;
pub mod webhook;
