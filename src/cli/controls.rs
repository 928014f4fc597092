//! `larder polling`, `larder connection` and `larder target`: what operators switch and set while the appliance runs. Only the running appliance can
//! do it: what is set follows its clock, and before a start the configuration or the environment says the same.

use super::args::{ConnectionArgs, PollingArgs, Setting, Switching, TargetArgs};
use super::client::{Client, Trouble, escaped};
use super::ending::{Ending, Failure, Outcome};
use super::table::Table;
use super::text::show;
use crate::config::ServerSpec;
use crate::domain::time::Span;
use serde_json::{Map, Value};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(15);

pub async fn polling(server: &ServerSpec, args: PollingArgs) -> Outcome {
    let mut wanted = Map::new();
    if let Some(switch) = args.switch {
        wanted.insert("enabled".to_owned(), switched(switch));
    }
    if let Some(workers) = &args.workers {
        wanted.insert("workers".to_owned(), number(workers)?);
    }
    let view = ask(server, "/api/v1/polling", wanted, BEFORE_A_START).await?;
    match args.format.json {
        true => show(&format!("{view}\n"))?,
        false => show(&polled(&view))?,
    }
    Ok(Ending::Fine)
}

pub async fn connection(server: &ServerSpec, args: ConnectionArgs) -> Outcome {
    let path = format!("/api/v1/connections/{}?organization={}", escaped(&args.name), escaped(&args.organization));
    let view = ask(server, &path, wishes(&args), BEFORE_A_START).await?;
    match args.format.json {
        true => show(&format!("{}\n", view["controls"]))?,
        false => show(&controlled(&view))?,
    }
    Ok(Ending::Fine)
}

pub async fn target(server: &ServerSpec, args: TargetArgs) -> Outcome {
    let [connection, name, organization] = [&args.connection, &args.name, &args.organization].map(|name| escaped(name));
    let path = format!("/api/v1/connections/{connection}/targets/{name}?organization={organization}");
    let wanted = args.phase.into_iter().map(|phase| ("phase".to_owned(), Value::from(phase))).collect();
    let view = ask(server, &path, wanted, WHILE_IT_RUNS).await?;
    match args.format.json {
        true => show(&format!("{view}\n"))?,
        false => show(&lived(&view))?,
    }
    Ok(Ending::Fine)
}

/// The body of the `PATCH`; empty where nothing is to change.
fn wishes(args: &ConnectionArgs) -> Map<String, Value> {
    let mut wanted = Map::new();
    let given = [
        ("interval", &args.interval),
        ("interval_for", &args.lasts),
        ("inactivity_ttl", &args.inactivity_ttl),
        ("completion_grace", &args.completion_grace),
    ];
    for (key, value) in given {
        if let Some(value) = value {
            wanted.insert(key.to_owned(), Value::from(value.as_str()));
        }
    }
    if let Some(switch) = args.polling {
        wanted.insert("enabled".to_owned(), switched(switch));
    }
    for setting in &args.clear {
        let key = match setting {
            Setting::Polling => "enabled",
            Setting::Interval => "interval",
            Setting::InactivityTtl => "inactivity_ttl",
            Setting::CompletionGrace => "completion_grace",
        };
        wanted.insert(key.to_owned(), Value::Null);
    }
    wanted
}

fn switched(switch: Switching) -> Value {
    match switch {
        Switching::On => Value::Bool(true),
        Switching::Off => Value::Bool(false),
        Switching::Clear => Value::Null,
    }
}

fn number(text: &str) -> Result<Value, Failure> {
    if text == "clear" {
        return Ok(Value::Null);
    }
    text.parse::<u32>().map(Value::from).map_err(|_| Failure::usage(format!("--workers: {text:?} is no whole number.")))
}

const BEFORE_A_START: &str = "Before a start say it in the configuration ([polling] and [connection.poll]) or in the environment \
                              (LARDER_POLLING_ENABLED=false).";
const WHILE_IT_RUNS: &str = "Start `larder serve` first; `larder status` shows what its file knows.";

/// Reads where nothing is to change. `otherwise`: what to do where nothing runs.
async fn ask(server: &ServerSpec, path: &str, wanted: Map<String, Value>, otherwise: &str) -> Result<Value, Failure> {
    let client = Client::new(&server.socket, PATIENCE);
    let answer = match wanted.is_empty() {
        true => client.get(path).await,
        false => client.patch(path, Value::Object(wanted)).await,
    };
    answer.map(|answer| answer.body).map_err(|trouble| match trouble {
        Trouble::NotRunning => {
            Failure::failed(format!("Larder is not running, and this changes what runs. {otherwise}"))
        }
        Trouble::Refused(why) | Trouble::Broken(why) => Failure::failed(why),
    })
}

fn polled(view: &Value) -> String {
    let mut table = Table::new(&["CONTROL", "NOW", "CONFIGURED", "SET BY", "AT"]);
    for (name, key) in [("polling", "enabled"), ("workers", "workers")] {
        let (configured, set) = (&view[format!("{key}_configured")], &view[format!("{key}_set")]);
        table.row([name.to_owned(), word(&view[key]), word(configured), text(&set["by"]), text(&set["at"])]);
    }
    table.to_string()
}

fn controlled(view: &Value) -> String {
    let controls = &view["controls"];
    let mut table = Table::new(&["CONTROL", "NOW", "CONFIGURED", "SET BY", "AT", "UNTIL"]);
    for (name, key) in [
        ("polling", "enabled"),
        ("interval", "interval"),
        ("inactivity TTL", "inactivity_ttl_seconds"),
        ("completion grace", "completion_grace_seconds"),
    ] {
        let (configured, set) = (&controls[key]["configured"], &controls[key]["set"]);
        let now = if set.is_null() { configured } else { &set["value"] };
        let words: fn(&Value) -> String = if name == "polling" { word } else { length };
        let from = [text(&set["by"]), text(&set["at"]), text(&set["until"])];
        let [by, at, until] = from;
        table.row([name.to_owned(), words(now), words(configured), by, at, until]);
    }
    table.to_string()
}

fn lived(view: &Value) -> String {
    let mut table = Table::new(&["TARGET", "PHASE", "SINCE", "BY", "WHY", "STATE", "ITEMS"]);
    let cells = ["name", "phase", "phase_since", "phase_by", "phase_why", "state", "item_count"];
    table.row(cells.map(|key| text(&view[key])));
    format!("{table}\n{}\n", text(&view["sentence"]))
}

fn word(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        other => text(other),
    }
}

fn length(value: &Value) -> String {
    match value.as_f64() {
        Some(seconds) => Span((seconds * 1000.0) as u64).exact(),
        None if value.is_null() => "never".to_owned(),
        None => text(value),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn f13_the_table_shows_what_is_set_beside_what_is_configured() {
        let set = json!({"value": 60, "by": "ann", "at": "2026-11-30T10:00:00Z", "until": "2026-11-30T13:00:00Z"});
        let view = json!({"controls": {
            "enabled": {"configured": true, "set": null},
            "interval": {"configured": "auto", "set": set},
            "inactivity_ttl_seconds": {"configured": null, "set": null},
            "completion_grace_seconds": {"configured": 1800, "set": null},
        }});
        let expected = "\
CONTROL           NOW     CONFIGURED  SET BY  AT                    UNTIL
polling           on      on          -       -                     -
interval          60 s    auto        ann     2026-11-30T10:00:00Z  2026-11-30T13:00:00Z
inactivity TTL    never   never       -       -                     -
completion grace  30 min  30 min      -       -                     -
";
        assert_eq!(controlled(&view), expected);
    }

    #[test]
    fn f11_the_whole_process_reads_as_on_and_off() {
        let view = json!({"enabled": false, "enabled_configured": true, "workers": 8, "workers_configured": 8,
            "enabled_set": {"value": false, "by": "ann", "at": "2026-11-30T10:00:00Z"}, "workers_set": null});
        let expected = "\
CONTROL  NOW  CONFIGURED  SET BY  AT
polling  off  on          ann     2026-11-30T10:00:00Z
workers  8    8           -       -
";
        assert_eq!(polled(&view), expected);
    }

    #[test]
    fn f11_a_target_reads_with_who_put_it_where_it_is() {
        let view = json!({"name": "eco-1", "phase": "stopped", "phase_since": "2026-11-30T10:00:00Z", "phase_by": "ann",
            "phase_why": null, "state": "stale", "item_count": 4, "sentence": "Stopped by ann at 10:00."});
        let expected = "\
TARGET  PHASE    SINCE                 BY   WHY  STATE  ITEMS
eco-1   stopped  2026-11-30T10:00:00Z  ann  -    stale  4

Stopped by ann at 10:00.
";
        assert_eq!(lived(&view), expected);
    }
}
