//! The log: one line per event on stderr, filtered by `LARDER_LOG`, and without any secret from the moment that one is read (A47).

use crate::cli::Failure;
use crate::upstream::redact::{Redacting, Redactor};
use std::io::{IsTerminal, Stderr};
use std::sync::{Arc, PoisonError, RwLock};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The variable that filters the log.
const FILTER: &str = "LARDER_LOG";

/// A handle to the log that runs.
pub struct Logs {
    redactor: Shared,
}

impl Logs {
    /// Installs the log for the process. `default` is the filter where the environment has none.
    pub fn start(default: &str) -> Result<Logs, Failure> {
        let wanted = std::env::var(FILTER).ok().filter(|f| !f.trim().is_empty());
        let filter = EnvFilter::try_new(wanted.as_deref().unwrap_or(default)).map_err(|e| {
            Failure::usage(format!("{FILTER} is no log filter ({e}); try `info` or `warn,larder=debug`."))
        })?;
        let logs = Logs { redactor: Shared::default() };
        let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(logs.redactor.clone())
            .with_ansi(colours)
            .with_target(false);
        // The journal has a clock of its own. A log that is installed already (in a test) stays.
        let _ = match std::env::var_os("JOURNAL_STREAM") {
            Some(_) => builder.without_time().try_init(),
            None => builder.try_init(),
        };
        Ok(logs)
    }

    /// From now on no line carries any of the secrets that this one knows or learns.
    pub fn hide(&self, redactor: Redactor) {
        *self.redactor.0.write().unwrap_or_else(PoisonError::into_inner) = redactor;
    }
}

/// stderr behind the redactor of the moment.
#[derive(Clone, Default)]
struct Shared(Arc<RwLock<Redactor>>);

impl<'a> MakeWriter<'a> for Shared {
    type Writer = <Redacting<fn() -> Stderr> as MakeWriter<'a>>::Writer;

    fn make_writer(&'a self) -> Self::Writer {
        let redactor = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        let stderr: fn() -> Stderr = std::io::stderr;
        Redacting::new(stderr, redactor).make_writer()
    }
}
