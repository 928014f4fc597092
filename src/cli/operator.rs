//! `larder operator`: lists who may sign in, and prints a one-time code with which somebody becomes an operator or sets a new password; by the
//! running appliance, else in its file. The code exists once, on stdout.

use super::args::{Format, OperatorCommand};
use super::client::{Client, Trouble};
use super::ending::{Ending, Failure, Outcome};
use super::offline::Offline;
use super::table::Table;
use super::text::{show, talk};
use super::token;
use crate::config::ServerSpec;
use crate::domain::operator::{Operator, key_of};
use crate::engine::access::claims::{self, Issued, LIFETIME};
use crate::rules::calendar::rfc3339;
use crate::store::Write;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(15);

pub async fn run(server: &ServerSpec, command: OperatorCommand) -> Outcome {
    let client = Client::new(&server.socket, PATIENCE);
    match command {
        OperatorCommand::List(format) => show(&listed(&list(&client, &server.data).await?, format))?,
        OperatorCommand::Reset { name } => {
            let (code, until, runs) = reset(&client, &server.data, name.as_deref()).await?;
            show(&format!("{code}\n"))?;
            let page = match server.listen {
                a if a.ip().is_unspecified() => format!("http://<this machine>:{}/claim", a.port()),
                a => format!("http://{a}/claim"),
            };
            let first = if runs { "Open" } else { "Start `larder serve` and open" };
            let whom = name.map_or(String::new(), |name| format!(" as {name}"));
            talk(&format!(
                "{first} {page} and set a password{whom} with this code. It is good once, until {until} ({LIFETIME})."
            ));
        }
    }
    Ok(Ending::Fine)
}

/// The code, until when it is good, and whether the appliance runs.
async fn reset(client: &Client, data: &Path, name: Option<&str>) -> Result<(String, String, bool), Failure> {
    match client.post("/api/v1/operators/claims", json!({ "operator": name })).await {
        Ok(answer) => {
            let text = |key: &str| answer.body.get(key).and_then(Value::as_str).map(str::to_owned);
            match text("code").zip(text("until")) {
                Some((code, until)) => Ok((code, until, true)),
                None => Err(Failure::failed("Larder answered without a code; is it of another version?")),
            }
        }
        Err(Trouble::NotRunning) => {
            let file = Offline::open(data)?;
            let issued = reset_in(&file, name).await;
            let Issued { code, until } = file.close(issued)?;
            Ok((code, rfc3339(until.0), false))
        }
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

async fn reset_in(file: &Offline, name: Option<&str>) -> Result<Issued, Failure> {
    let (claim, issued) = claims::mint(name, &file.now).map_err(Failure::failed)?;
    let mut writes = claims::room(&file.store.claims().map_err(Failure::failed)?, &file.now);
    writes.push(Write::Claim(claim));
    token::note(file, writes, claims::told(name, token::BY)).await?;
    Ok(issued)
}

async fn list(client: &Client, data: &Path) -> Result<Vec<Value>, Failure> {
    match client.get("/api/v1/operators").await {
        Ok(answer) => Ok(answer.body.get("operators").and_then(Value::as_array).cloned().unwrap_or_default()),
        Err(Trouble::NotRunning) => {
            let file = Offline::open(data)?;
            let (operators, sessions) = (file.store.operators(), file.store.sessions());
            let (operators, sessions) =
                file.close(operators.and_then(|o| Ok((o, sessions?))).map_err(Failure::failed))?;
            let shown = |o: &Operator| {
                let own = sessions.iter().filter(|s| s.operator == key_of(&o.name));
                json!({
                    "name": o.name, "added_at": rfc3339(o.added_at.wall), "added_by": o.added_by,
                    "password_at": o.password_at.map(|at| rfc3339(at.wall)),
                    "sessions": own.map(|s| json!({ "from": s.from, "begun_at": rfc3339(s.begun_at.wall) })).collect::<Vec<_>>(),
                })
            };
            Ok(operators.iter().map(shown).collect())
        }
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => Err(Failure::failed(why)),
    }
}

fn listed(operators: &[Value], format: Format) -> String {
    if format.json {
        return format!("{}\n", json!({ "operators": operators }));
    }
    let mut table = Table::new(&["NAME", "ADDED", "PASSWORD", "SIGNED IN"]);
    for operator in operators {
        let text = |key: &str| operator[key].as_str().unwrap_or("-").to_owned();
        let sessions = operator["sessions"].as_array().map_or(0, Vec::len).to_string();
        table.row([text("name"), text("added_at"), text("password_at"), sessions]);
    }
    if table.is_empty() {
        return "There are no operators. `larder serve` prints a code for the first, and so does `larder operator reset`.\n".to_owned();
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_aligned_and_says_when_it_is_empty() {
        let text = Format { json: false };
        assert!(listed(&[], text).starts_with("There are no operators. "));
        let ann = json!({
            "name": "ann", "added_at": "2026-11-30T02:56:13Z", "added_by": "a claim code", "password_at": null, "sessions": [{}, {}],
        });
        let expected = "\
NAME  ADDED                 PASSWORD  SIGNED IN
ann   2026-11-30T02:56:13Z  -         2
";
        assert_eq!(listed(std::slice::from_ref(&ann), text), expected);
        let parsed: Value = serde_json::from_str(&listed(&[ann], Format { json: true })).unwrap();
        assert_eq!(parsed["operators"][0]["name"], "ann");
    }
}
