//! Watches one socket come up, so that the door knows for certain whether a request can have been seen. Knows nothing of
//! URLs, headers or credentials.
//!
//! An error text cannot tell "never connected" from "connected, then lost"; this can. Until the socket (with TLS, where
//! it is used) is up, the provider has seen nothing and the charge may be voided; from then on it may have.

use super::http::Fault;
use crate::clock::Clock;
use crate::domain::reply::Failure;
use crate::domain::time::{Span, Steady};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::Notify;
use tower::{Layer, Service};

pub(super) type AnyError = Box<dyn std::error::Error + Send + Sync>;

tokio::task_local! {
    /// The attempt that the running request belongs to.
    static ATTEMPT: Arc<Attempt>;
}

/// How far the socket of one request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing can have been written.
    Connecting,
    /// Still not up after the connect timeout.
    TooSlow,
    /// The time to send ran out first, or the socket came up after it and was closed unused.
    TooLate,
    /// Up since then: from here on the provider may have seen the request.
    Up(Steady),
}

/// One request's way to its socket.
pub(super) struct Attempt {
    clock: Arc<dyn Clock>,
    send_by: Steady,
    connect_by: Steady,
    progress: Mutex<Progress>,
    up: Notify,
}

impl Attempt {
    /// The error says that it is too late to begin.
    pub(super) fn begin(clock: Arc<dyn Clock>, send_by: Steady, connect_timeout: Span) -> Result<Arc<Attempt>, Fault> {
        let now = clock.now().steady;
        if now > send_by {
            return Err((Failure::NotSent, "The time to send was over before anything was written.".to_owned()));
        }
        let (connect_by, progress) = (now + connect_timeout, Mutex::new(Progress::Connecting));
        Ok(Arc::new(Attempt { clock, send_by, connect_by, progress, up: Notify::new() }))
    }

    /// Runs `request` so that the gate finds this attempt.
    pub(super) async fn run<F: Future>(self: &Arc<Attempt>, request: F) -> F::Output {
        ATTEMPT.scope(self.clone(), request).await
    }

    pub(super) fn progress(&self) -> Progress {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the socket is up; for ever where it never is.
    pub(super) async fn came_up(&self) -> Steady {
        loop {
            let up = self.up.notified();
            if let Progress::Up(at) = self.progress() {
                return at;
            }
            up.await;
        }
    }

    fn set(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
        self.up.notify_waiters();
    }

    /// The last look at the clock before the request is written.
    fn socket_is_up(&self) -> Result<(), AnyError> {
        let now = self.clock.now().steady;
        if now > self.send_by {
            self.set(Progress::TooLate);
            return Err("the time to send is over".into());
        }
        self.set(Progress::Up(now));
        Ok(())
    }

    /// Waits for a socket that comes up in time; from then on it may have been seen.
    pub(super) async fn comes_up<S>(
        &self,
        connecting: impl Future<Output = Result<S, AnyError>>,
    ) -> Result<S, AnyError> {
        let socket = tokio::select! {
            biased;
            socket = connecting => socket?,
            why = self.ran_out() => return Err(why),
        };
        self.socket_is_up()?;
        Ok(socket)
    }

    async fn ran_out(&self) -> AnyError {
        self.clock.sleep_until(self.send_by.min(self.connect_by)).await;
        self.set(if self.connect_by < self.send_by { Progress::TooSlow } else { Progress::TooLate });
        "the socket did not come up in time".into()
    }
}

/// Put around reqwest's connector.
#[derive(Clone, Debug)]
pub(super) struct GateLayer;

impl<S> Layer<S> for GateLayer {
    type Service = Gate<S>;
    fn layer(&self, inner: S) -> Gate<S> {
        Gate { inner }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Gate<S> {
    inner: S,
}

impl<S, R> Service<R> for Gate<S>
where
    S: Service<R, Error = AnyError>,
    S::Future: Send + 'static,
    S::Response: Send,
{
    type Response = S::Response;
    type Error = AnyError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, AnyError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AnyError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, to: R) -> Self::Future {
        // The pool is off, so the client connects in the task of its request. A socket that belongs to no attempt would
        // be one that nobody paid for: it is refused.
        let Ok(attempt) = ATTEMPT.try_with(Arc::clone) else {
            return Box::pin(async { Err("a socket without a request".into()) });
        };
        let connecting = self.inner.call(to);
        Box::pin(async move { attempt.comes_up(connecting).await })
    }
}
