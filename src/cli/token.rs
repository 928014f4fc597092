//! `larder token`: creates, lists and revokes tokens; by the running appliance, else in its file.
//! A token's text exists once, on stdout; the file holds its hash.

use super::args::{Format, TokenCommand};
use super::client::{Client, Trouble};
use super::ending::{Ending, Failure, Outcome};
use super::offline::Offline;
use super::table::Table;
use super::text::{show, talk};
use crate::config::ServerSpec;
use crate::domain::ids::Organization;
use crate::domain::time::Stamp;
use crate::engine::operate::mint_token;
use crate::engine::words::token_taken;
use crate::rules::calendar::rfc3339;
use crate::store::{Commit, Store, StoreError, TokenRecord, Write};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(15);

pub async fn run(server: &ServerSpec, command: TokenCommand) -> Outcome {
    let client = Client::new(&server.socket, PATIENCE);
    match command {
        TokenCommand::Create { name, role, organization } => {
            let text = create(&client, &server.data, &name, role.word(), &organization).await?;
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

async fn create(client: &Client, data: &Path, name: &str, role: &str, organization: &str) -> Result<String, Failure> {
    let wanted = json!({ "name": name, "role": role, "organization": organization });
    match client.post("/api/v1/tokens", wanted).await {
        Ok(answer) => match answer.body.get("token").and_then(Value::as_str) {
            Some(text) => Ok(text.to_owned()),
            None => Err(Failure::failed("Larder answered without a token; is it of another version?")),
        },
        Err(Trouble::NotRunning) => {
            let file = Offline::open(data)?;
            let created = create_in(&file, name, role, organization).await;
            file.close(created)
        }
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

async fn create_in(file: &Offline, name: &str, role: &str, organization: &str) -> Result<String, Failure> {
    let known = file.store.tokens().map_err(Failure::failed)?;
    if known.iter().any(|t| t.name == name && t.revoked_at.is_none()) {
        return Err(Failure::failed(token_taken(name)));
    }
    let text = mint_token().map_err(Failure::failed)?;
    let record = TokenRecord {
        id: 0,
        name: name.to_owned(),
        hash: *blake3::hash(text.as_bytes()).as_bytes(),
        role: role.to_owned(),
        organization: Organization::from(organization),
        created_at: file.now.stamp(),
        revoked_at: None,
        expires_at: None,
    };
    file.store.create_token(record).await.map_err(Failure::failed)?;
    Ok(text)
}

async fn list(client: &Client, data: &Path) -> Result<Vec<Value>, Failure> {
    match client.get("/api/v1/tokens").await {
        Ok(answer) => Ok(answer.body.get("tokens").unwrap_or(&answer.body).as_array().cloned().unwrap_or_default()),
        Err(Trouble::NotRunning) => {
            let file = Offline::open(data)?;
            let records = file.store.tokens().map_err(Failure::failed);
            Ok(file.close(records)?.iter().map(shown).collect())
        }
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

fn shown(t: &TokenRecord) -> Value {
    json!({
        "id": t.id, "name": t.name, "role": t.role, "organization": t.organization.as_str(),
        "created_at": rfc3339(t.created_at.wall), "revoked_at": t.revoked_at.map(|s| rfc3339(s.wall)),
    })
}

fn listed(tokens: &[Value], format: Format) -> String {
    if format.json {
        return format!("{}\n", json!({ "tokens": tokens }));
    }
    let mut table = Table::new(&["ID", "NAME", "ROLE", "ORGANIZATION", "CREATED", "REVOKED"]);
    for token in tokens {
        let text = |key: &str| match &token[key] {
            Value::Null => "-".to_owned(),
            Value::String(s) => s.clone(),
            other => other.to_string(),
        };
        table.row(["id", "name", "role", "organization", "created_at", "revoked_at"].map(text));
    }
    if table.is_empty() { "There are no tokens.\n".to_owned() } else { table.to_string() }
}

async fn revoke(client: &Client, data: &Path, id: u64) -> Result<(), Failure> {
    match client.delete(&format!("/api/v1/tokens/{id}")).await {
        Ok(_) => Ok(()),
        Err(Trouble::NotRunning) => {
            let file = Offline::open(data)?;
            let revoked = revoke_in(&file.store, id, file.now.stamp()).await;
            file.close(revoked)
        }
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

/// Revoking twice is fine; the first moment stays.
async fn revoke_in(store: &Store, id: u64, now: Stamp) -> Result<(), Failure> {
    let failed = |e: StoreError| Failure::failed(e);
    let mut tokens = store.tokens().map_err(failed)?;
    let Some(token) = tokens.iter_mut().find(|t| t.id == id) else {
        return Err(Failure::failed(format!("There is no token {id}; `larder token list` shows them.")));
    };
    if token.revoked_at.is_some() {
        return Ok(());
    }
    token.revoked_at = Some(now);
    let writes = vec![Write::Token(token.clone())];
    let commit = Commit { writes, ..Commit::default() };
    store.commit(commit).await.map_err(failed).map(|_| ())
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
            "created_at": "2026-11-30T02:56:13Z", "revoked_at": null,
        });
        let expected = "\
ID  NAME            ROLE   ORGANIZATION  CREATED               REVOKED
3   home-assistant  admin  default       2026-11-30T02:56:13Z  -
";
        assert_eq!(listed(std::slice::from_ref(&token), text), expected);
        let parsed: Value = serde_json::from_str(&listed(&[token], Format { json: true })).unwrap();
        assert_eq!(parsed["tokens"][0]["id"], 3);
    }
}
