//! Simulated providers on loopback, for `larder demo` and the tests, and the words of the demo.
//! They are somebody else's API: they keep their own count by their own clock, and know nothing of Larder.

pub mod fieldwork;
pub mod irrigation;
pub mod scene;
pub mod serving;
