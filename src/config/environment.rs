//! `LARDER_*` variables laid over the file. One rule makes the names: the key path in capitals, with `_` for every other
//! sign: `server.listen` is `LARDER_SERVER_LISTEN`, `poll.interval` of connection `yard` is
//! `LARDER_CONNECTION_YARD_POLL_INTERVAL`. Reads no environment itself: it is handed one.

use super::backup::BACKUP;
use super::place::{Place, Problems, suggestion};
use std::collections::{BTreeMap, BTreeSet};

/// Variables that are not keys of the file.
pub const PLAIN_VARIABLES: [&str; 2] = ["LARDER_CONFIG", "LARDER_LOG"];

/// Keys of `[server]` that a variable can set.
const SERVER_KEYS: [&str; 9] = [
    "listen",
    "data",
    "hosts",
    "base_path",
    "trusted_proxy.addresses",
    "trusted_proxy.user_header",
    "frame_ancestors",
    "shelf_memory",
    "shelf_disk",
];

/// Keys of `[polling]`, each of which a variable can set.
pub(super) const POLLING: [&str; 2] = ["enabled", "workers"];

/// Keys of `[mqtt]` that a variable can set.
const MQTT_KEYS: [&str; 6] = ["broker", "user", "password.env", "password.file", "discovery_prefix", "base_topic"];

/// Keys of a `[[connection]]` that a variable can set.
const CONNECTION_KEYS: [&str; 14] = [
    "base_url",
    "credential.env",
    "credential.file",
    "poll.enabled",
    "poll.interval",
    "poll.inactivity_ttl",
    "poll.completion_grace",
    "refresh_min_age",
    "gateway.enabled",
    "gateway.fresh_for",
    "connect_timeout",
    "read_timeout",
    "request_timeout",
    "max_body",
];

/// The `LARDER_*` part of an environment.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Takes what begins with `LARDER_`.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Environment {
        Environment(variables.into_iter().filter(|(name, _)| name.starts_with("LARDER_")).collect())
    }

    /// This process's own.
    pub fn of_process() -> Environment {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            name.into_string().ok().zip(Some(value.to_string_lossy().into_owned()))
        };
        Environment::new(std::env::vars_os().filter_map(text))
    }

    pub(super) fn of_server(&self) -> Variables {
        self.pick("server", &SERVER_KEYS)
    }

    pub(super) fn of_polling(&self) -> Variables {
        self.pick("polling", &POLLING)
    }

    pub(super) fn of_backup(&self) -> Variables {
        self.pick("backup", &BACKUP)
    }

    pub(super) fn of_mqtt(&self) -> Variables {
        self.pick("mqtt", &MQTT_KEYS)
    }

    pub(super) fn of_connection(&self, name: &str) -> Variables {
        self.pick(&format!("connection.{name}"), &CONNECTION_KEYS)
    }

    fn pick(&self, prefix: &str, keys: &[&str]) -> Variables {
        let set = |key: &&str| {
            let name = variable(&format!("{prefix}.{key}"));
            let value = self.0.get(&name)?.clone();
            Some(((*key).to_owned(), (name, value)))
        };
        Variables(keys.iter().filter_map(set).collect())
    }

    /// Tells variables that mean nothing. `credentials` are the variables that credentials are read from.
    pub(super) fn check(&self, connections: &[String], credentials: &BTreeSet<String>, problems: &mut Problems) {
        let mut known: Vec<String> = PLAIN_VARIABLES.iter().map(|v| (*v).to_owned()).collect();
        known.extend(SERVER_KEYS.iter().map(|key| variable(&format!("server.{key}"))));
        known.extend(POLLING.iter().map(|key| variable(&format!("polling.{key}"))));
        known.extend(BACKUP.iter().map(|key| variable(&format!("backup.{key}"))));
        known.extend(MQTT_KEYS.iter().map(|key| variable(&format!("mqtt.{key}"))));
        let mut owners: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for name in connections {
            owners.entry(variable(name)).or_default().insert(name);
            known.extend(CONNECTION_KEYS.iter().map(|key| variable(&format!("connection.{name}.{key}"))));
        }
        for name in self.0.keys().filter(|name| !credentials.contains(*name)) {
            if !known.contains(name) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                problems.add(&Place::variable(name), format!("unknown variable{}", suggestion(name, &known)));
            }
        }
        for (shared, names) in owners.iter().filter(|(_, names)| names.len() > 1) {
            let prefix = shared.replacen("LARDER_", "LARDER_CONNECTION_", 1) + "_";
            if let Some(name) = self.0.keys().find(|name| name.starts_with(&prefix)) {
                let names: Vec<&str> = names.iter().copied().collect();
                problems.add(&Place::variable(name), format!("could mean any of the connections {}", names.join(", ")));
            }
        }
    }
}

/// The variable for a key path.
fn variable(path: &str) -> String {
    let capital = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("LARDER_{}", path.chars().map(capital).collect::<String>())
}

/// The variables for one table: key path below it -> name and value.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables(BTreeMap<String, (String, String)>);

impl Variables {
    pub fn get(&self, key: &str) -> Option<(&str, &str)> {
        self.0.get(key).map(|(name, value)| (name.as_str(), value.as_str()))
    }
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }
    /// As they are called in the environment.
    pub fn names(&self) -> Vec<String> {
        self.0.values().map(|(name, _)| name.clone()).collect()
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The same, seen from the table above.
    pub fn under(self, key: &str) -> Variables {
        Variables(self.0.into_iter().map(|(k, v)| (format!("{key}.{k}"), v)).collect())
    }
    /// Those of a sub-table.
    pub fn below(&self, key: &str) -> Variables {
        let prefix = format!("{key}.");
        let inner = self.0.iter().filter_map(|(k, v)| Some((k.strip_prefix(&prefix)?.to_owned(), v.clone())));
        Variables(inner.collect())
    }
}
