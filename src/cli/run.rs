//! From a parsed command to its answer. Each command has its own file; this one only finds it.

use super::args::Tool;
use super::check::Identify;
use super::ending::{Ending, Failure, Outcome};
use super::push::Lend;
use super::text::show;
use super::{backup, check, config as configuration, controls, operator, push, recipes, restore, status, token};
use crate::config::{self, Settings};
use std::path::Path;

/// Answers everything that is not `serve` or `demo`.
pub async fn run(config: &Path, tool: Tool, (identify, lend): (Identify, Lend)) -> Outcome {
    match tool {
        Tool::Recipes(args) => recipes::run(config, args),
        Tool::Check(format) => check::run(config, format, identify).await,
        Tool::Status(format) => status::run(&settings(config)?, format).await,
        Tool::Backup { destination } => backup::run(&settings(config)?.server, &destination).await,
        Tool::Verify { file } => verify(&file),
        Tool::Restore { file, force } => restore::run(&settings(config)?.server, &file, force),
        Tool::Polling(args) => controls::polling(&settings(config)?.server, args).await,
        Tool::Connection(args) => controls::connection(&settings(config)?.server, args).await,
        Tool::Target(args) => controls::target(&settings(config)?.server, args).await,
        Tool::Operator { command } => operator::run(&settings(config)?.server, command).await,
        Tool::Config { command } => configuration::run(&settings(config)?.server, command).await,
        Tool::Push(args) => push::run(args, lend).await,
        Tool::Token { command } => token::run(&settings(config)?.server, command).await,
    }
}

/// The validated configuration, or all its errors at once.
pub fn settings(path: &Path) -> Result<Settings, Failure> {
    config::load(path)
        .map_err(|errors| Failure { ending: Ending::Usage, sentences: errors.into_iter().map(|e| e.0).collect() })
}

fn verify(file: &Path) -> Outcome {
    let sentence = crate::store::verify(file).map_err(Failure::failed)?;
    show(&format!("{sentence}\n"))?;
    Ok(Ending::Fine)
}
