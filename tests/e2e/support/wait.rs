//! Bounded waiting. A test waits for a fact, never for a guess of how long something takes.

use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

/// How often a fact is asked for.
const STEP: Duration = Duration::from_millis(50);

/// Generous: the machine may be building something else meanwhile.
pub const SOON: Duration = Duration::from_secs(20);

/// Asks until the answer is `Some`; panics with `what` after `within`.
pub async fn eventually<T, F, A>(what: &str, within: Duration, mut ask: F) -> T
where
    F: FnMut() -> A,
    A: Future<Output = Option<T>>,
{
    let end = Instant::now() + within;
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(Instant::now() < end, "waited {within:?} in vain until {what}");
        tokio::time::sleep(STEP).await;
    }
}

/// Watches a value for the whole of `span` and panics once it is anything but `wanted`.
pub async fn stays<T, F>(what: &str, wanted: T, span: Duration, mut ask: F)
where
    T: PartialEq + Debug,
    F: FnMut() -> T,
{
    let end = Instant::now() + span;
    while Instant::now() < end {
        assert_eq!(ask(), wanted, "{what}");
        tokio::time::sleep(STEP).await;
    }
}
