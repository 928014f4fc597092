//! Event streams of all kinds: how many may be open at once, and for how long one stays open. Must not know what a stream tells.

use super::errors::{Kind, Problem};
use super::serving::Bounds;
use axum::http::{HeaderName, HeaderValue, header};
use futures_util::{Stream, StreamExt};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Each holds one socket and one place in the broadcast.
const MOST: usize = 1024;
/// They never take more than this share of the sockets: a page must always find one.
const SHARE: usize = 2;
/// The longest life of one: who reads it comes back, and is looked at again.
const LIFETIME: Duration = Duration::from_secs(3600);
const RETRY_AFTER_S: u64 = 15;

/// The places for them.
pub struct Places {
    free: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Places {
    /// All streams end when `stop` is cancelled, so that a graceful stop does not wait for them.
    pub fn new(stop: CancellationToken) -> Places {
        let most = MOST.min(Bounds::of_machine().sockets / SHARE);
        Places { free: Arc::new(Semaphore::new(most)), stop }
    }

    pub fn take(&self) -> Result<Place, Problem> {
        match self.free.clone().try_acquire_owned() {
            Ok(held) => Ok(Place { held, stop: self.stop.clone() }),
            Err(_) => Err(Problem::new(Kind::Busy, "Too many event streams are open.").retry_after(RETRY_AFTER_S)),
        }
    }
}

/// A place that is taken.
pub struct Place {
    held: OwnedSemaphorePermit,
    stop: CancellationToken,
}

impl Place {
    /// What is told, as long as it may last. The place is free again when it is dropped.
    pub fn lasting<T>(self, told: impl Stream<Item = T>) -> impl Stream<Item = Result<T, Infallible>> {
        let Place { held, stop } = self;
        let end = async move {
            tokio::select! { () = stop.cancelled() => {} () = tokio::time::sleep(LIFETIME) => {} }
        };
        told.take_until(end).map(move |one| {
            let _held = &held;
            Ok(one)
        })
    }
}

/// For the caches and proxies on its way.
pub fn unbuffered() -> [(HeaderName, HeaderValue); 2] {
    [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_place_is_told_when_to_come_again_and_a_place_that_was_left_is_free() {
        let places = Places { free: Arc::new(Semaphore::new(1)), stop: CancellationToken::new() };
        let held = places.take().ok();
        let refused = places.take().err().unwrap();
        assert_eq!((refused.kind, refused.retry_after_s), (Kind::Busy, Some(RETRY_AFTER_S)));
        drop(held);
        assert!(places.take().is_ok());
    }
}
