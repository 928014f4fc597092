//! `larder.toml`, recipes and `LARDER_*` environment -> validated settings. Knows the specs of `domain` and compiles every
//! expression with `rules`, so that a wrong path is told at start and not at the first answer.

use crate::domain::spec::ConnectionSpec;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub server: ServerSpec,
    pub connections: Vec<ConnectionSpec>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    pub listen: SocketAddr,
    pub data: PathBuf,
    /// The unix socket of the running appliance: beside `data`, `<data>.sock`.
    pub socket: PathBuf,
    /// Host names, beside loopback and IP literals, that a request may carry.
    pub hosts: Vec<String>,
}

/// One thing wrong, as a sentence that names file, line and key, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub String);

/// Reads and validates; all errors of a file are told at once.
pub fn load(_path: &Path) -> Result<Settings, Vec<ConfigError>> {
    todo!()
}
