//! The binary: parses the command line and hands over. Decides nothing.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    larder::app::main(larder::cli::Cli::parse())
}
