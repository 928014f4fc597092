//! `larder status`: how everything stands, by the running appliance; else what the file last knew, said as such.

mod shelf;

use super::args::Format;
use super::client::{Client, Trouble};
use super::ending::{Ending, Failure, Outcome};
use super::table::Table;
use super::text::{show, talk};
use crate::config::Settings;
use crate::domain::ids::Organization;
use crate::domain::time::Span;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

pub async fn run(settings: &Settings, format: Format) -> Outcome {
    let client = Client::new(&settings.server.socket, PATIENCE);
    let readings = match ask(&client, &organizations(settings)).await {
        Ok(readings) => readings,
        Err(Trouble::NotRunning) => shelf::read(settings)?,
        Err(Trouble::Refused(why) | Trouble::Broken(why)) => return Err(Failure::failed(why)),
    };
    show(&if format.json { format!("{:#}\n", readings.json()) } else { readings.text() })?;
    if !readings.running {
        let data = settings.server.data.display();
        talk(&format!("Larder is not running: nothing is polled. This is what {data} knew when it stopped."));
    }
    Ok(readings.ending())
}

/// Connections and targets in the shapes of the API.
struct Readings {
    running: bool,
    connections: Vec<Value>,
    targets: Vec<Value>,
    /// The appliance's clock.
    date: Option<Timestamp>,
}

/// Those of the configuration; where it names nobody, the one that is always there.
fn organizations(settings: &Settings) -> BTreeSet<Organization> {
    let named: BTreeSet<Organization> = settings.connections.iter().map(|c| c.key.organization.clone()).collect();
    if named.is_empty() { BTreeSet::from([Organization::default()]) } else { named }
}

async fn ask(client: &Client, organizations: &BTreeSet<Organization>) -> Result<Readings, Trouble> {
    let mut all = Readings { running: true, connections: Vec::new(), targets: Vec::new(), date: None };
    for organization in organizations {
        let path = format!("/api/v1/connections?organization={organization}");
        let (connections, date) = client.list(&path, "connections").await?;
        for connection in &connections {
            let name = word(connection, "name");
            let path = format!("/api/v1/connections/{name}/targets?organization={organization}");
            all.targets.extend(client.list(&path, "targets").await?.0);
        }
        all.connections.extend(connections);
        all.date = date;
    }
    Ok(all)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("-")
}

impl Readings {
    fn json(&self) -> Value {
        json!({ "running": self.running, "connections": self.connections, "targets": self.targets })
    }

    /// The gravest first. An answer is stale where the appliance says so, or where there never was one; targets that are
    /// not watched any more may be as old as they like.
    fn ending(&self) -> Ending {
        let any = |state: &str| self.connections.iter().any(|c| word(c, "state") == state);
        if !self.running {
            Ending::Failed
        } else if any("credential_rejected") {
            Ending::CredentialRejected
        } else if any("exhausted") {
            Ending::Exhausted
        } else if self.targets.iter().any(is_stale) {
            Ending::Stale
        } else {
            Ending::Fine
        }
    }

    fn text(&self) -> String {
        if self.connections.is_empty() {
            return "No connection is configured.\n".to_owned();
        }
        let mut connections = Table::new(&["CONNECTION", "STATE", "AGE", "BUDGET", "NEXT POLL"]);
        for c in &self.connections {
            let age = seconds(c.get("oldest_age_seconds"));
            connections.row([full_name(c), word(c, "state").to_owned(), age, budget(c), self.next_poll(c)]);
        }
        let mut targets = Table::new(&["TARGET", "STATE", "AGE", "ITEMS", "PHASE"]);
        for t in &self.targets {
            let name = format!("{}/{}", word(t, "connection"), word(t, "name"));
            let items = t.get("item_count").and_then(Value::as_u64).unwrap_or(0).to_string();
            let age = seconds(t.get("age_seconds"));
            targets.row([name, word(t, "state").to_owned(), age, items, word(t, "phase").to_owned()]);
        }
        let mut text = connections.to_string();
        if !targets.is_empty() {
            text.push_str(&format!("\n{targets}"));
        }
        let troubled = self.connections.iter().filter(|c| self.is_troubled(c));
        let sentences: Vec<String> =
            troubled.filter_map(|c| Some(format!("{}: {}", full_name(c), c.get("sentence")?.as_str()?))).collect();
        if !sentences.is_empty() {
            text.push_str(&format!("\n{}\n", sentences.join("\n")));
        }
        let findings: Vec<String> = self.connections.iter().flat_map(findings).collect();
        if !findings.is_empty() {
            text.push_str(&format!("\nWorth knowing:\n{}\n", findings.join("\n")));
        }
        text
    }

    /// Something keeps it, or one of its targets, from being renewed.
    fn is_troubled(&self, connection: &Value) -> bool {
        let of = |t: &&Value| {
            ["connection", "organization"].map(|k| t.get(k)) == ["name", "organization"].map(|k| connection.get(k))
        };
        let fails = |t: &Value| t.get("stale").is_some_and(|s| !s.is_null());
        !["fresh", "ageing", "-"].contains(&word(connection, "state")) || self.targets.iter().filter(of).any(fails)
    }

    /// `in 63 s`, by the appliance's own clock.
    fn next_poll(&self, connection: &Value) -> String {
        let at = connection.pointer("/poll/next_poll_at").and_then(Value::as_str).and_then(|t| t.parse().ok());
        match (at, self.date) {
            (Some(at), Some(now)) if Timestamp::as_second(at) > now.as_second() => {
                format!("in {}", Span::from_secs((at.as_second() - now.as_second()) as u64))
            }
            (Some(_), Some(_)) => "now".to_owned(),
            _ => "-".to_owned(),
        }
    }
}

fn is_stale(target: &Value) -> bool {
    let watched = ["active", "pending"].contains(&word(target, "phase"));
    let said_so = target.get("stale").is_some_and(|s| !s.is_null());
    // A renewal that failed is said; the answer is stale once its word is.
    watched
        && !["fresh", "ageing"].contains(&word(target, "state"))
        && (said_so || ["stale", "expired", "never"].contains(&word(target, "state")))
}

fn full_name(connection: &Value) -> String {
    match word(connection, "organization") {
        "default" | "-" => word(connection, "name").to_owned(),
        organization => format!("{organization}/{}", word(connection, "name")),
    }
}

fn seconds(value: Option<&Value>) -> String {
    value.and_then(Value::as_u64).map_or("-".to_owned(), |s| Span::from_secs(s).to_string())
}

/// `yard: Somebody else spends on this credential. (since 2026-11-30T07:14:00Z, seen 12 times)`
fn findings(connection: &Value) -> Vec<String> {
    let open = connection.get("findings").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let line = |f: &Value| {
        let times = match f.get("count").and_then(Value::as_u64) {
            Some(n) if n > 1 => format!(", seen {n} times"),
            _ => String::new(),
        };
        format!("{}: {} (since {}{times})", full_name(connection), word(f, "sentence"), word(f, "opened_at"))
    };
    open.iter().map(line).collect()
}

/// The limit with the least left, `1 of 5 left (1 kept)`.
fn budget(connection: &Value) -> String {
    let number = |limit: &Value, key: &str| limit.get(key).and_then(Value::as_u64).unwrap_or(0);
    let share = |l: &Value| number(l, "remaining") as f64 / number(l, "requests").max(1) as f64;
    let limits = connection.get("budget").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let counted = limits.iter().filter(|l| word(l, "kind") != "concurrent");
    match counted.min_by(|a, b| share(a).total_cmp(&share(b))) {
        Some(l) => {
            let kept = match number(l, "kept") {
                0 => String::new(),
                n => format!(" ({n} kept)"),
            };
            format!("{} of {} left{kept}", number(l, "remaining"), number(l, "requests"))
        }
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests;
