//! A simulated task service for work orders in the field, with the true rules of one: so many requests a day, two in a second, five at
//! once, pages of a bounded size, and a bare 429 for whatever is too much (CASES F). It keeps its own count.
//! It is somebody else's API: nothing here may know Larder.

mod quota;
mod server;
pub mod tasks;
#[cfg(test)]
mod tests;

pub use quota::{Limits, Standing};

use super::serving::{self, TimeSource};
use quota::Quota;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tasks::Projects;
use tokio::task::JoinHandle;

/// The endpoint that answers with tasks.
pub const TASKS: &str = "/v2/tasks";
/// The header that carries the key.
pub const KEY_HEADER: &str = "x-api-key";

/// How strict the provider is, what it knows, and where it keeps its count.
#[derive(Clone)]
pub struct Rules {
    pub limits: Limits,
    /// Rows of a page, unless the request asks for fewer.
    pub page_size: usize,
    pub projects: Projects,
    /// The only key that it accepts.
    pub key: String,
    /// On loopback; 0 takes a free one.
    pub port: u16,
    /// Since 1970.
    pub time: TimeSource,
    /// Where it remembers the count of its day over a restart.
    pub book: Option<PathBuf>,
}

impl Rules {
    /// As the service is: 10,000 a day, 2 a second, 5 at once, pages of 2,000.
    pub fn real(projects: Projects, time: TimeSource) -> Rules {
        Rules {
            limits: Limits { day: 10_000, second: 2, at_once: 5 },
            page_size: 2000,
            projects,
            key: "field-key-81c4".to_owned(),
            port: 0,
            time,
            book: None,
        }
    }
}

/// A running provider; dropping it stops it and breaks its sockets.
pub struct Provider {
    shared: Arc<Shared>,
    address: SocketAddr,
    loop_: JoinHandle<()>,
}

struct Shared {
    rules: Rules,
    quota: Mutex<Quota>,
}

impl Provider {
    /// On the current tokio runtime. Fails if the port is taken or the book cannot be read.
    pub fn bind(rules: Rules) -> io::Result<Provider> {
        let (listener, address) = serving::bind(rules.port)?;
        let quota = Mutex::new(Quota::open(rules.limits, rules.book.clone(), (rules.time)())?);
        let shared = Arc::new(Shared { rules, quota });
        let loop_ = tokio::spawn(serving::accept(listener, shared.clone(), server::answer));
        Ok(Provider { shared, address, loop_ })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// What belongs into `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v2", self.address)
    }
    pub fn control_url(&self) -> String {
        format!("http://{}/control", self.address)
    }
    pub fn key(&self) -> &str {
        &self.shared.rules.key
    }
    pub fn standing(&self) -> Standing {
        self.shared.quota().standing()
    }
    /// Takes the rest of the day away, as if somebody else with the same key had been greedy.
    pub fn exhaust(&self) {
        self.shared.quota().exhaust((self.shared.rules.time)());
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.loop_.abort();
    }
}

impl Shared {
    /// A panic in a test's thread must not take the provider with it.
    fn quota(&self) -> MutexGuard<'_, Quota> {
        self.quota.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
