//! The only file that reads a clock.

use crate::domain::time::{Now, Steady, Wall};
use std::future::Future;
use std::pin::Pin;

/// What has to be durable so that the steady timeline goes on after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockMark {
    pub steady: Steady,
    pub wall: Wall,
    pub era: u32,
    /// `/proc/sys/kernel/random/boot_id`: inside one boot the steady timeline is measured through a restart.
    pub boot_id: String,
    /// CLOCK_BOOTTIME at `steady`, ms.
    pub boottime_ms: u64,
    /// Wall minus steady under which calendar limits must hold, newest first, each with the steady moment it may be forgotten at.
    pub offsets: Vec<(i64, Steady)>,
}

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Now;
    fn mark(&self) -> ClockMark;
    fn sleep_until(&self, at: Steady) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
