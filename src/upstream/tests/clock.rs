//! A clock that moves only when a sleep ends: each wait takes its real time, and nothing reads the machine's clock.

use crate::clock::{Clock, ClockMark};
use crate::domain::time::{ClockTrust, Now, Span, Steady};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Default)]
pub struct JumpClock(AtomicU64);

impl JumpClock {
    pub fn jump(&self, by: Span) {
        self.0.fetch_add(by.0, Ordering::SeqCst);
    }
}

impl Clock for JumpClock {
    fn now(&self) -> Now {
        let steady = Steady(self.0.load(Ordering::SeqCst));
        Now { steady, era: 0, trust: ClockTrust::Trusted, offsets: vec![0] }
    }
    fn mark(&self) -> ClockMark {
        ClockMark::default()
    }
    fn sleep_until(&self, at: Steady) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let wait = at.since(self.now().steady);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(wait.0)).await;
            self.0.fetch_max(at.0, Ordering::SeqCst);
        })
    }
}
