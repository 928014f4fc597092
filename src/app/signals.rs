//! Whoever wants the process to end, SIGTERM, Ctrl-C or a terminal that goes away, or to read its configuration anew: SIGHUP.

use crate::cli::Failure;
use std::io::IsTerminal;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What somebody wants.
pub enum Wish {
    /// By this signal.
    Stop(&'static str),
    Reload,
}

pub struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
    /// It was started from a terminal, whose end is a SIGHUP too.
    terminal: bool,
}

impl Signals {
    /// Listens from the call on, so that none is lost while booting.
    pub fn listen() -> Result<Signals, Failure> {
        Ok(Signals {
            term: on(SignalKind::terminate())?,
            int: on(SignalKind::interrupt())?,
            hup: on(SignalKind::hangup())?,
            terminal: has_terminal(),
        })
    }

    pub async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.term.recv() => Wish::Stop("SIGTERM"),
            _ = self.int.recv() => Wish::Stop("Ctrl-C"),
            _ = self.hup.recv() => if self.terminal && !has_terminal() { Wish::Stop("SIGHUP") } else { Wish::Reload },
        }
    }

    /// The name of the first signal, for what reads nothing anew.
    pub async fn end(&mut self) -> &'static str {
        match self.next().await {
            Wish::Stop(name) => name,
            Wish::Reload => "SIGHUP",
        }
    }
}

/// A terminal that has hung up is none any more.
fn has_terminal() -> bool {
    std::io::stdin().is_terminal() || std::io::stderr().is_terminal()
}

fn on(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|e| Failure::failed(format!("The system does not deliver signals: {e}.")))
}
