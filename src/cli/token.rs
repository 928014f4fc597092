//! `larder token`: creates, lists and revokes tokens; by the running appliance, else in its file.
//! A token's text exists once, on stdout; the file holds its hash.

use super::args::{Format, TokenCommand};
use super::client::{Client, Trouble};
use super::ending::{Ending, Failure, Outcome};
use super::offline::Offline;
use super::table::Table;
use super::text::{show, talk};
use crate::config::ServerSpec;
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::Organization;
use crate::domain::operator::Used;
use crate::domain::time::{Span, Stamp};
use crate::engine::access::tokens::{self, NewToken};
use crate::rules::calendar::rfc3339;
use crate::store::{Commit, TokenRecord, Write};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(15);

/// Who did it, for the book, where the appliance does not run.
pub(super) const BY: &str = "operator (command line, this machine)";

pub async fn run(server: &ServerSpec, command: TokenCommand) -> Outcome {
    let client = Client::new(&server.socket, PATIENCE);
    match command {
        TokenCommand::Create { name, role, organization, expires_in } => {
            let lasts = expires_in.as_deref().map(Span::parse).transpose().map_err(Failure::usage)?;
            let organization = Organization::from(organization.as_str());
            let wanted = NewToken { name, role: role.word().to_owned(), organization, lasts };
            let text = create(&client, &server.data, &wanted, expires_in.as_deref()).await?;
            show(&format!("{text}\n"))?;
        }
        TokenCommand::List(format) => show(&listed(&list(&client, &server.data).await?, format))?,
        TokenCommand::Revoke { id } => {
            revoke(&client, &server.data, id).await?;
            talk(&format!("Token {id} is revoked."));
        }
    }
    Ok(Ending::Fine)
}

async fn create(client: &Client, data: &Path, wanted: &NewToken, expires_in: Option<&str>) -> Result<String, Failure> {
    let body = json!({
        "name": wanted.name, "role": wanted.role, "organization": wanted.organization.as_str(), "expires_in": expires_in,
    });
    match client.post("/api/v1/tokens", body).await {
        Ok(answer) => match answer.body.get("token").and_then(Value::as_str) {
            Some(text) => Ok(text.to_owned()),
            None => Err(Failure::failed("Larder answered without a token; is it of another version?")),
        },
        Err(Trouble::NotRunning) => {
            let file = Offline::open(data)?;
            let created = create_in(&file, wanted).await;
            file.close(created)
        }
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

async fn create_in(file: &Offline, wanted: &NewToken) -> Result<String, Failure> {
    let there = file.store.tokens().map_err(Failure::failed)?;
    let (record, text) = wanted.mint(&there, &file.now).map_err(Failure::failed)?;
    let message = tokens::told_created(&record, BY);
    file.store.create_token(record).await.map_err(Failure::failed)?;
    note(file, Vec::new(), message).await?;
    Ok(text)
}

/// Changes who may come in, and tells it.
pub(super) async fn note(file: &Offline, writes: Vec<Write>, message: String) -> Result<(), Failure> {
    let (kind, at) = (EventKind::AccessChanged, file.now.stamp());
    let event = NewEvent { kind, at, connection: None, target: None, message };
    let commit = Commit { writes, events: vec![event], ..Commit::default() };
    file.store.commit(commit).await.map(drop).map_err(Failure::failed)
}

async fn list(client: &Client, data: &Path) -> Result<Vec<Value>, Failure> {
    match client.get("/api/v1/tokens").await {
        Ok(answer) => Ok(answer.body.get("tokens").unwrap_or(&answer.body).as_array().cloned().unwrap_or_default()),
        Err(Trouble::NotRunning) => {
            let file = Offline::open(data)?;
            let read = file.store.tokens().and_then(|tokens| Ok((tokens, file.store.uses()?)));
            let (tokens, uses) = file.close(read.map_err(Failure::failed))?;
            Ok(tokens.iter().map(|t| shown(t, uses.get(&Used::Token(t.id)))).collect())
        }
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

fn shown(t: &TokenRecord, used: Option<&Stamp>) -> Value {
    json!({
        "id": t.id, "name": t.name, "role": t.role, "organization": t.organization.as_str(),
        "created_at": rfc3339(t.created_at.wall), "revoked_at": t.revoked_at.map(|s| rfc3339(s.wall)),
        "expires_at": t.expires_at.map(|s| rfc3339(s.wall)), "used_at": used.map(|s| rfc3339(s.wall)),
    })
}

fn listed(tokens: &[Value], format: Format) -> String {
    if format.json {
        return format!("{}\n", json!({ "tokens": tokens }));
    }
    let mut table = Table::new(&["ID", "NAME", "ROLE", "ORGANIZATION", "CREATED", "EXPIRES", "LAST USED", "REVOKED"]);
    for token in tokens {
        let text = |key: &str| match &token[key] {
            Value::Null => "-".to_owned(),
            Value::String(s) => s.clone(),
            other => other.to_string(),
        };
        table
            .row(["id", "name", "role", "organization", "created_at", "expires_at", "used_at", "revoked_at"].map(text));
    }
    if table.is_empty() { "There are no tokens.\n".to_owned() } else { table.to_string() }
}

async fn revoke(client: &Client, data: &Path, id: u64) -> Result<(), Failure> {
    match client.delete(&format!("/api/v1/tokens/{id}")).await {
        Ok(_) => Ok(()),
        Err(Trouble::NotRunning) => {
            let file = Offline::open(data)?;
            let revoked = revoke_in(&file, id).await;
            file.close(revoked)
        }
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

/// Revoking twice is fine; the first moment stays.
async fn revoke_in(file: &Offline, id: u64) -> Result<(), Failure> {
    match tokens::revoked(&file.store, id, &file.now).map_err(Failure::failed)? {
        None => Err(Failure::failed(format!("There is no token {id}; `larder token list` shows them."))),
        Some(token) => {
            let message = tokens::told_revoked(&token, BY);
            note(file, vec![Write::Token(token)], message).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_aligned_and_says_when_it_is_empty() {
        let text = Format { json: false };
        assert_eq!(listed(&[], text), "There are no tokens.\n");
        let token = json!({
            "id": 3, "name": "home-assistant", "role": "admin", "organization": "default",
            "created_at": "2026-11-30T02:56:13Z", "revoked_at": null, "expires_at": null, "used_at": "2026-11-30T03:00:00Z",
        });
        let expected = "\
ID  NAME            ROLE   ORGANIZATION  CREATED               EXPIRES  LAST USED             REVOKED
3   home-assistant  admin  default       2026-11-30T02:56:13Z  -        2026-11-30T03:00:00Z  -
";
        assert_eq!(listed(std::slice::from_ref(&token), text), expected);
        let parsed: Value = serde_json::from_str(&listed(&[token], Format { json: true })).unwrap();
        assert_eq!(parsed["tokens"][0]["id"], 3);
    }
}
