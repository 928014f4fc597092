//! Whoever wants the process to end: SIGTERM, Ctrl-C, or a terminal that goes away.

use crate::cli::Failure;
use std::future::Future;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Resolves with the name of the first signal. Listens from the call on, so that none is lost while booting.
pub fn listen() -> Result<impl Future<Output = &'static str>, Failure> {
    let (mut term, mut int, mut hup) =
        (on(SignalKind::terminate())?, on(SignalKind::interrupt())?, on(SignalKind::hangup())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "Ctrl-C",
            _ = hup.recv() => "SIGHUP",
        }
    })
}

fn on(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|e| Failure::failed(format!("The system does not deliver signals: {e}.")))
}
