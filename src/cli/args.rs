//! What can be typed: clap's derive, and the examples that `--help` shows. Does nothing.

use super::config::{self, ConfigCommand};
use super::push::{self, PushArgs};
use crate::domain::target::Phase;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The only caller of a rate-limited API: polls inside the quota, keeps the answers, serves every local reader with an honest age.
#[derive(Debug, Parser)]
#[command(name = "larder", version, arg_required_else_help = true, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// The configuration file.
    #[arg(long, global = true, env = "LARDER_CONFIG", value_name = "FILE", default_value = "larder.toml")]
    pub config: PathBuf,
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  larder demo                                try it against a simulated provider, nothing to set up
  larder check                               is larder.toml valid, and can its plan be kept up?
  larder serve --config /etc/larder/larder.toml
  larder recipes                             what is known about which providers
  larder status                              how everything stands, from the running appliance

Exit codes: 0 fine, 1 failed, 2 bad usage or configuration; `status` also 3 stale, 4 quota exhausted, 5 credential rejected.
LARDER_LOG filters the log of `serve` and `demo` (warn, info, larder=debug).";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the appliance until SIGTERM or Ctrl-C.
    #[command(after_help = "Examples:\n  larder serve\n  LARDER_LOG=debug larder serve --config yard.toml")]
    Serve,
    /// Run the appliance against a simulated irrigation provider in this process, in a temporary folder.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    #[command(flatten)]
    Tool(Tool),
}

/// What is answered at once: by the running appliance, or from the files.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// Validate the configuration and show its plan; exit 1 if the limits cannot keep it up.
    #[command(after_help = "Examples:\n  larder check\n  larder check --json | jq .sustainable")]
    Check(Format),
    /// List the recipes, print one, or try one on an answer. Asks no provider.
    #[command(after_help = RECIPES_EXAMPLES, args_conflicts_with_subcommands = true)]
    Recipes(RecipesArgs),
    /// Show how every connection and target stands.
    #[command(after_help = STATUS_EXAMPLES)]
    Status(Format),
    /// Copy the data file while it is in use; the copy is verified before it gets its name.
    #[command(after_help = "Examples:\n  larder backup /var/backups/larder-$(date +%F).redb")]
    Backup {
        /// The file to write. It must not exist.
        destination: PathBuf,
    },
    /// Check every page and record of a data file or backup; the file itself is not touched.
    #[command(after_help = "Examples:\n  larder verify /var/backups/larder-2026-11-30.redb")]
    Verify { file: PathBuf },
    /// Put a backup, or another copy, in the place of the data file while Larder is stopped; what is there is kept.
    #[command(after_help = RESTORE_EXAMPLES)]
    Restore {
        /// The copy. It is checked first, and stays where it is.
        file: PathBuf,
        /// Also where the data file is newer than the copy.
        #[arg(long)]
        force: bool,
    },
    /// Show or switch the polling of the whole appliance, and how much it asks at once.
    #[command(after_help = POLLING_EXAMPLES)]
    Polling(PollingArgs),
    /// Show or change how one connection polls; what is set wins over the configuration until it is cleared.
    #[command(after_help = CONNECTION_EXAMPLES)]
    Connection(ConnectionArgs),
    /// Show one target, or put it into another phase; what is stopped is not asked about any more.
    #[command(after_help = TARGET_EXAMPLES)]
    Target(TargetArgs),
    /// List who may sign in, or print a one-time code with which somebody becomes an operator or sets a new password.
    #[command(after_help = OPERATOR_EXAMPLES)]
    Operator {
        #[command(subcommand)]
        command: OperatorCommand,
    },
    /// Take the whole configuration out of the running appliance as one text, or connections in.
    #[command(after_help = config::EXAMPLES)]
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Hand an answer that was given here to an appliance elsewhere: kept on the disk until that has it.
    #[command(after_help = push::EXAMPLES)]
    Push(PushArgs),
    /// Create, list and revoke the tokens that programs need.
    #[command(after_help = TOKEN_EXAMPLES)]
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
}

const RESTORE_EXAMPLES: &str = "\
Examples:
  systemctl stop larder
  larder restore /var/backups/larder-2026-11-30.redb
  larder restore --force backup.redb         the data file is newer, and gives way all the same

What was sent since the copy was made is not in it: when Larder starts next, its limits count as used as far as they can have been.";

const DEMO_EXAMPLES: &str = "\
Examples:
  larder demo
  larder demo --data /tmp/yard               keeps its folder: kill -9 it, start it again, nothing is forgotten
  larder demo --listen 127.0.0.1:9000";

const RECIPES_EXAMPLES: &str = "\
Examples:
  larder recipes
  larder recipes hydrawise > recipes/mine.toml
  larder recipes test hydrawise --answer lockout.txt
  curl -s https://api.example.test/status | larder recipes test recipes/mine.toml --answer - --target controller
  larder recipes test mine --status 429 --header 'Retry-After: 120'

Exit codes of `test`: 0 the answer is understood, 1 it is of no known shape, 2 bad usage or a recipe that is not sound.";

const STATUS_EXAMPLES: &str = "\
Examples:
  larder status
  larder status --json | jq '.connections[] | {name, state}'
  larder status >/dev/null || echo \"larder needs a look: $?\"

Exit codes: 0 fine, 1 failed or not running, 2 bad configuration, 3 stale, 4 quota exhausted, 5 credential rejected.";

const TOKEN_EXAMPLES: &str = "\
Examples:
  TOKEN=$(larder token create --name home-assistant --role admin)
  larder token create --name phone --role reader --expires-in 90d
  larder token list
  larder token revoke 3";

const OPERATOR_EXAMPLES: &str = "\
Examples:
  larder operator list
  larder operator reset                      a code for whoever has it: good once, for half an hour, at /claim
  larder operator reset --name ann           for ann alone";

const POLLING_EXAMPLES: &str = "\
Examples:
  larder polling                             on or off, how many workers, who set it
  larder polling off                         nothing is asked but what people ask for
  larder polling clear                       as the configuration says
  larder polling on --workers 2";

const CONNECTION_EXAMPLES: &str = "\
Examples:
  larder connection yard                     what is configured, and what is set instead
  larder connection yard --interval 60s --for 3h
  larder connection yard --clear interval
  larder connection yard --polling off       the kill switch: nothing is asked, by nobody
  larder connection yard --inactivity-ttl 48h --completion-grace 30m";

const TARGET_EXAMPLES: &str = "\
Examples:
  larder target field eco-1                  how it stands, and who put it there
  larder target field eco-1 --phase stopped
  larder target field eco-1 --phase active   it is asked at once";

#[derive(Debug, Args)]
pub struct PollingArgs {
    /// Switch it; `clear` leaves it to the configuration.
    #[arg(value_enum)]
    pub switch: Option<Switching>,
    /// Requests of the poller that may be under way at once: a number, or `clear`.
    #[arg(long, value_name = "NUMBER")]
    pub workers: Option<String>,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switching {
    On,
    Off,
    Clear,
}

#[derive(Debug, Args)]
pub struct ConnectionArgs {
    /// The connection.
    pub name: String,
    /// The organization that it belongs to.
    #[arg(long, default_value = "default")]
    pub organization: String,
    /// The kill switch; `clear` leaves it to the configuration.
    #[arg(long, value_enum)]
    pub polling: Option<Switching>,
    /// Poll this often instead: such as `60s` or `5m`, or `auto`.
    #[arg(long, value_name = "LENGTH")]
    pub interval: Option<String>,
    /// Go back to the configured interval after this long.
    #[arg(long = "for", value_name = "LENGTH", requires = "interval")]
    pub lasts: Option<String>,
    /// Stop polling a target that did not change for so long, or `never`.
    #[arg(long, value_name = "LENGTH")]
    pub inactivity_ttl: Option<String>,
    /// Stop polling a completed target after this long.
    #[arg(long, value_name = "LENGTH")]
    pub completion_grace: Option<String>,
    /// Leave this to the configuration again; can be given several times.
    #[arg(long, value_enum)]
    pub clear: Vec<Setting>,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct TargetArgs {
    /// The connection.
    pub connection: String,
    /// The target.
    pub name: String,
    /// The organization that they belong to.
    #[arg(long, default_value = "default")]
    pub organization: String,
    /// Put it into this phase.
    #[arg(long, value_parser = PossibleValuesParser::new(Phase::ALL.map(Phase::word)))]
    pub phase: Option<String>,
    #[command(flatten)]
    pub format: Format,
}

/// What can be cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Setting {
    Polling,
    Interval,
    InactivityTtl,
    CompletionGrace,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep everything in this folder instead of a temporary one.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Address of the dashboard [default: 127.0.0.1:8474, or a free port if that is taken].
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct Format {
    /// JSON on stdout instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RecipesArgs {
    #[command(subcommand)]
    pub command: Option<RecipesCommand>,
    /// Print this recipe instead of the list.
    pub name: Option<String>,
    /// JSON on stdout instead of text; for the list.
    #[arg(long, conflicts_with = "name")]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum RecipesCommand {
    /// Show what Larder would make of an answer, and why.
    #[command(after_help = RECIPES_EXAMPLES)]
    Test(TestArgs),
}

#[derive(Debug, Args)]
pub struct TestArgs {
    /// The recipe's file, or its name.
    pub recipe: String,
    /// The file that holds the answer's body, `-` for stdin [default: an empty body].
    #[arg(long, value_name = "BODY")]
    pub answer: Option<PathBuf>,
    /// The answer's status.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(100..600))]
    pub status: u16,
    /// A header of the answer; can be given several times.
    #[arg(long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Which target's items to read [default: the only one].
    #[arg(long)]
    pub target: Option<String>,
    /// When the answer arrived, such as 2026-11-30T12:00:00Z [default: now].
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Debug, Subcommand)]
pub enum OperatorCommand {
    /// List the operators, and in how many browsers each is signed in.
    List(Format),
    /// Print a one-time code alone on stdout. Who is an operator stays one, and keeps the password until the code is used.
    Reset {
        /// Whose password it sets [default: whoever has the code chooses the name].
        #[arg(long)]
        name: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token; its text alone is printed on stdout, once.
    Create {
        /// What it is for.
        #[arg(long)]
        name: String,
        #[arg(long, value_enum)]
        role: Role,
        /// The organization that it belongs to.
        #[arg(long, default_value = "default")]
        organization: String,
        /// It opens nothing any more after this long, such as `90d` [default: it lasts until it is revoked].
        #[arg(long, value_name = "LENGTH")]
        expires_in: Option<String>,
    },
    /// List all tokens, without anything that could be used.
    List(Format),
    /// Revoke a token for good.
    Revoke {
        /// Its number, as `larder token list` shows it.
        id: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    Admin,
    Owner,
    Reader,
    Agent,
}

impl Role {
    pub const fn word(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Owner => "owner",
            Role::Reader => "reader",
            Role::Agent => "agent",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_takes_a_config() {
        for line in [
            "larder serve",
            "larder demo",
            "larder check",
            "larder status --json",
            "larder backup b.redb",
            "larder verify b.redb",
            "larder restore b.redb --force",
            "larder token create --name x --role admin",
            "larder polling",
            "larder polling off --workers 2",
            "larder connection yard --interval 60s --for 3h",
            "larder connection yard --clear interval --clear polling",
            "larder target field eco-1 --phase stopped",
            "larder config export",
            "larder config import other.toml --dry-run",
            "larder token list",
            "larder push --connection cellar --target pump -",
            "larder push --retry-refused",
            "larder token revoke 7",
            "larder operator list --json",
            "larder operator reset --name ann",
            "larder recipes",
            "larder recipes hydrawise",
            "larder recipes test mine --status 429 --header a:b",
        ] {
            let cli = parse(&format!("{line} --config yard.toml")).unwrap();
            assert_eq!(cli.config, PathBuf::from("yard.toml"), "{line}");
        }
    }

    #[test]
    fn bad_usage_is_refused_with_the_code_two() {
        for line in [
            "larder launch",
            "larder backup",
            "larder restore --force",
            "larder token create --name x",
            "larder token create --name x --role king",
            "larder token revoke three",
            "larder push --connection cellar",
            "larder operator",
            "larder operator reset ann",
            "larder demo --listen here",
            "larder serve extra",
            "larder polling sideways",
            "larder connection",
            "larder connection yard --for 3h",
            "larder target field",
            "larder target field eco-1 --phase done",
            "larder recipes test",
            "larder recipes test mine --status 42",
            "larder recipes --json hydrawise",
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}: {error}");
        }
    }

    #[test]
    fn help_shows_examples_for_every_command() {
        for command in [
            "serve",
            "demo",
            "check",
            "recipes",
            "status",
            "backup",
            "verify",
            "restore",
            "polling",
            "connection",
            "target",
            "operator",
            "config",
            "push",
            "token",
        ] {
            let error = parse(&format!("larder {command} --help")).expect_err("help");
            assert_eq!((error.kind(), error.exit_code()), (ErrorKind::DisplayHelp, 0));
            assert!(error.to_string().contains("Examples:\n  "), "{command}: {error}");
        }
    }
}
