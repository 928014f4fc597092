//! `larder config`: the configuration as one text, out of the running appliance and into it. Only the running appliance can do it: what is taken in
//! runs at once.

use super::args::Format;
use super::client::{Answer, Client, Trouble};
use super::ending::{Ending, Failure, Outcome};
use super::text::{show, talk};
use crate::config::ServerSpec;
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const EXAMPLES: &str = "\
Examples:
  larder config export > larder.toml         with what was written in the browser; no secret is in it
  larder config import other.toml --dry-run
  larder config import other.toml            its connections come on trial: set their credentials, try and save them";

const PATIENCE: Duration = Duration::from_secs(60);
const PATH: &str = "/api/v1/configuration";

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print it on stdout.
    Export,
    /// Take in the connections of another one; what stands in larder.toml stays as it is.
    Import {
        /// The file, `-` for stdin.
        file: PathBuf,
        /// Say what it would do, and change nothing.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        format: Format,
    },
}

pub async fn run(server: &ServerSpec, command: ConfigCommand) -> Outcome {
    let client = Client::new(&server.socket, PATIENCE);
    match command {
        ConfigCommand::Export => {
            let answer = heard(client.get(PATH).await)?;
            show(answer.body["text"].as_str().unwrap_or_default())?;
            Ok(Ending::Fine)
        }
        ConfigCommand::Import { file, dry_run, format } => {
            let answer = heard(client.post(PATH, json!({ "text": text(&file)?, "take": !dry_run })).await)?;
            match format.json {
                true => show(&format!("{}\n", answer.body))?,
                false => tell(&answer.body)?,
            }
            let is_whole =
                connections(&answer.body).all(|c| !matches!(c["becomes"].as_str(), Some("wrong" | "failed")));
            Ok(if is_whole { Ending::Fine } else { Ending::Failed })
        }
    }
}

fn heard(answer: Result<Answer, Trouble>) -> Result<Answer, Failure> {
    answer.map_err(|trouble| match trouble {
        Trouble::NotRunning => {
            Failure::failed("Larder is not running; before a start the configuration is larder.toml itself.")
        }
        Trouble::Refused(why) | Trouble::Broken(why) => Failure::failed(why),
    })
}

fn text(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().read_to_string(&mut text).map(drop),
        false => std::fs::read_to_string(file).map(|read| text = read),
    };
    read.map_err(|e| Failure::usage(format!("{}: cannot be read ({}).", file.display(), e.kind())))?;
    Ok(text)
}

fn connections(body: &Value) -> impl Iterator<Item = &Value> {
    body["connections"].as_array().into_iter().flatten()
}

fn tell(body: &Value) -> Result<(), Failure> {
    let would = if body["done"] == true { "" } else { "would be " };
    for connection in connections(body) {
        let name = connection["connection"].as_str().unwrap_or_default();
        let what = match connection["becomes"].as_str().unwrap_or_default() {
            "new" => format!("{would}added, on trial"),
            "replaces" => format!("{would}written over the one before"),
            "in_file" => "stands in larder.toml already, and stays as it is there".to_owned(),
            _ => "cannot be taken in".to_owned(),
        };
        let notes: Vec<&str> = connection["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(": {}", notes.join("; ")) };
        show(&format!("{name}: {what}{notes}\n"))?;
    }
    for part in body["left_out"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        talk(&format!("[{part}] is not taken in: it belongs into the file of this appliance."));
    }
    Ok(())
}
