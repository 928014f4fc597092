//! The command line: what can be asked, and the answers of everything that is not `serve` or `demo`.
//! Talks to a running appliance through its unix socket, else opens the file. Knows no HTTP framework and no secret.

pub mod args;
mod backup;
mod check;
mod client;
mod config;
mod controls;
pub mod ending;
mod expected;
mod offline;
mod operator;
mod push;
mod recipes;
mod restore;
mod run;
mod status;
mod table;
pub mod text;
mod token;

pub use args::{Cli, Command, DemoArgs};
pub use check::Credentials;
pub use ending::{Ending, Failure, Outcome};
pub use push::{Post, PushArgs};
pub use run::{run, settings};
