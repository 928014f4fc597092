//! `larder backup`: a verified copy of the data file, also while it is in use. On a terminal it says how far it is.

mod progress;

use super::client::{Client, Trouble};
use super::ending::{Ending, Failure, Outcome};
use super::offline::Offline;
use super::text::{show, talk};
use crate::config::ServerSpec;
use progress::Progress;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A large file on a small card takes its time.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

pub async fn run(server: &ServerSpec, destination: &Path) -> Outcome {
    // The appliance stands in another folder than whoever asks it.
    let destination = std::path::absolute(destination)
        .map_err(|e| Failure::usage(format!("{} is no destination: {e}.", destination.display())))?;
    let progress = Progress::of(&destination, &server.data);
    let sentence = progress.until(copied(server, &destination)).await?;
    talk(&sentence);
    show(&format!("{}\n", destination.display()))?;
    Ok(Ending::Fine)
}

/// By the running appliance, else from the file.
async fn copied(server: &ServerSpec, destination: &Path) -> Result<String, Failure> {
    let client = Client::new(&server.socket, PATIENCE);
    let asked = client.post("/api/v1/backup", json!({ "destination": destination })).await;
    match asked {
        Ok(answer) => Ok(answer.body.get("message").and_then(Value::as_str).unwrap_or("Done.").to_owned()),
        Err(Trouble::NotRunning) => copy(&server.data, destination).await,
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

async fn copy(data: &Path, destination: &Path) -> Result<String, Failure> {
    let file = Offline::open(data)?;
    let copied = file.store.backup(destination, file.mark.clone()).await.map_err(Failure::failed);
    file.close(copied)
}
