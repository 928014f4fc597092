//! What every test stands on: the appliance as a child process, a fake provider, a client, bounded waits.
//! Shared by the `e2e` and `browser` targets, neither of which uses all of it.
#![allow(dead_code, unused_imports)]

pub mod app;
pub mod config;
pub mod feed;
pub mod http;
pub mod operator;
pub mod paged;
pub mod process;
pub mod provider;
pub mod quota;
pub mod script;
pub mod secret;
pub mod sse;
pub mod wait;
pub mod wire;

pub use app::TestApp;
pub use config::{Config, Connection};
pub use http::Ask;
pub use paged::PagedProvider;
pub use provider::{FakeProvider, Mode, SET_ZONE, STATUS};
pub use std::time::Duration;
pub use wait::{SOON, eventually, stays};

pub const fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}
