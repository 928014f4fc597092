//! How Home Assistant finds a connection: one device, each value a part of it (device discovery, `homeassistant/device/{id}/config`). Pure: values in,
//! topics and JSON out. Keys are written out, since one that it does not know has the whole device refused. Must not know when anything is sent.

use crate::domain::mqtt::MqttSpec;
use crate::domain::state::State;
use crate::engine::view::{FlatKind, FlatOf, FlatValue, FlatView};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Without another word for so long a value is none any more: what is told is told again every [`super::told::EVERY`].
const EXPIRE_AFTER_S: u64 = 180;
/// Home Assistant takes no longer state.
const LONGEST_STATE: usize = 255;

pub const ONLINE: &str = "online";
pub const OFFLINE: &str = "offline";

/// What is said of us, and where.
pub struct Topics<'a> {
    pub spec: &'a MqttSpec,
    /// Of this installation.
    pub id: &'a str,
}

impl Topics<'_> {
    /// Whether we are there.
    pub fn status(&self) -> String {
        format!("{}/status", self.spec.base_topic)
    }
    /// Home Assistant says here that it was born.
    pub fn birth(&self) -> String {
        format!("{}/status", self.spec.discovery_prefix)
    }
    pub fn state(&self, organization: &str, connection: &str) -> String {
        format!("{}/{organization}/{connection}/state", self.spec.base_topic)
    }
    /// Every state that is told below our base, whoever told it.
    pub fn states(&self) -> String {
        self.state("+", "+")
    }
    /// Comes back once everything that was retained has come.
    pub fn echo(&self) -> String {
        format!("{}/echo/{}", self.spec.base_topic, self.id)
    }
    pub fn config(&self, organization: &str, connection: &str) -> String {
        format!("{}/device/{}/config", self.spec.discovery_prefix, self.device(organization, connection))
    }
    /// Of these parts none has two of these signs side by side, or one at its end, that could be taken for the one in between.
    fn device(&self, organization: &str, connection: &str) -> String {
        format!("larder_{}_{organization}_{connection}", self.id)
    }
}

/// Organization and connection of a topic of [`Topics::states`].
pub fn of_state_topic<'t>(topic: &'t str, base: &str) -> Option<(&'t str, &'t str)> {
    let names = topic.strip_prefix(base)?.strip_prefix('/')?.strip_suffix("/state")?;
    names.split_once('/').filter(|(_, connection)| !connection.contains('/'))
}

/// The values of a connection in one message.
pub fn state(flat: &FlatView, id: &str) -> Map<String, Value> {
    let own = [
        ("larder_installation", id),
        ("larder_organization", &flat.organization),
        ("larder_connection", &flat.connection),
    ];
    let own = own.map(|(key, value)| (key.to_owned(), Value::from(value)));
    own.into_iter().chain(flat.values.iter().map(|v| (v.key.clone(), short(&v.value)))).collect()
}

/// Whether a state is of this installation, whatever wrote it.
pub fn is_own(state: &Map<String, Value>, id: &str) -> bool {
    state.get("larder_installation").is_some_and(|own| own == id)
}

fn short(value: &Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > LONGEST_STATE => {
            text.chars().take(LONGEST_STATE).collect::<String>().into()
        }
        other => other.clone(),
    }
}

/// What each value was when it was known last: of one that is unknown now Home Assistant is told nothing else.
pub type Kinds = BTreeMap<String, FlatKind>;

/// What is known of the values now, over what was known before.
pub fn learn(kinds: &mut Kinds, flat: &FlatView) {
    let there: BTreeSet<&str> = flat.values.iter().map(|v| v.key.as_str()).collect();
    kinds.retain(|key, _| there.contains(key.as_str()));
    for value in &flat.values {
        let known = kinds.entry(value.key.clone()).or_insert(value.kind);
        if value.kind != FlatKind::Unknown {
            *known = value.kind;
        }
    }
}

/// The device with its parts; `gone`: parts that it had and has no more, by their platform.
pub fn device(topics: &Topics<'_>, flat: &FlatView, kinds: &Kinds, gone: &[(String, &'static str)]) -> Value {
    let device = topics.device(&flat.organization, &flat.connection);
    let state_topic = topics.state(&flat.organization, &flat.connection);
    let mut components = Map::new();
    for value in flat.values.iter().filter(|v| is_shown(v)) {
        let kind = kinds.get(&value.key).copied().unwrap_or(FlatKind::Unknown);
        components.insert(
            value.key.clone(),
            component(&device, flat, value, kind, &availability(topics, &state_topic, value)),
        );
    }
    for (key, platform) in gone {
        components.insert(key.clone(), json!({ "platform": platform }));
    }
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "device": {
            "identifiers": [device], "name": format!("Larder {}", flat.connection), "manufacturer": "Larder",
            "model": flat.provider, "sw_version": version,
        },
        "origin": { "name": "Larder", "sw_version": version },
        "state_topic": state_topic,
        "components": components,
    })
}

/// Ages are told by the moment from which they are counted: one that ticks would be written down every time.
fn is_shown(value: &FlatValue) -> bool {
    !matches!(value.name.as_str(), "age_seconds" | "title" | "available") || field_of(value)
}

/// A field of an item, and none of the words that every item, target or connection has.
fn field_of(value: &FlatValue) -> bool {
    matches!(value.of, FlatOf::Item { .. }) && !matches!(value.name.as_str(), "title" | "state")
}

/// We are there, and what is told is not too old to be used.
fn availability(topics: &Topics<'_>, state_topic: &str, value: &FlatValue) -> Value {
    let own = json!({ "topic": topics.status(), "payload_available": ONLINE, "payload_not_available": OFFLINE });
    match &value.of {
        FlatOf::Item { target, .. } => {
            let template = format!("{{{{ '{ONLINE}' if value_json['{target}__available'] else '{OFFLINE}' }}}}");
            json!([own, { "topic": state_topic, "value_template": template }])
        }
        FlatOf::Connection | FlatOf::Target { .. } => json!([own]),
    }
}

/// As which kind of entity a value is shown. The state says it too: what is true or false is a `binary_sensor`.
pub fn platform(kind: FlatKind) -> &'static str {
    if kind == FlatKind::Flag { "binary_sensor" } else { "sensor" }
}

fn component(device: &str, flat: &FlatView, value: &FlatValue, kind: FlatKind, availability: &Value) -> Value {
    let (key, platform) = (&value.key, platform(kind));
    let template = match kind {
        // A truth that is not known is neither on nor off.
        FlatKind::Flag => {
            format!("{{% set v = value_json['{key}'] %}}{{{{ 'None' if v is none else ('ON' if v else 'OFF') }}}}")
        }
        _ => format!("{{{{ value_json['{key}'] }}}}"),
    };
    let mut component = json!({
        "platform": platform,
        "name": name(value),
        "unique_id": format!("{device}__{key}"),
        "default_entity_id": format!("{platform}.larder_{}_{key}", flat.connection.replace('-', "_")),
        "value_template": template,
        "availability": availability,
        "availability_mode": "all",
        "expire_after": EXPIRE_AFTER_S,
    });
    let mut say = |key: &str, said: Value| component[key] = said;
    let of_state = value.name == "state" && !matches!(value.of, FlatOf::Item { .. });
    match kind {
        _ if of_state => {
            say("device_class", "enum".into());
            say("options", State::ALL.map(State::word).to_vec().into());
        }
        FlatKind::Moment => say("device_class", "timestamp".into()),
        FlatKind::Seconds => {
            say("device_class", "duration".into());
            say("unit_of_measurement", "s".into());
        }
        FlatKind::Number => say("state_class", "measurement".into()),
        FlatKind::Flag if value.name == "problem" && !field_of(value) => say("device_class", "problem".into()),
        FlatKind::Flag | FlatKind::Text | FlatKind::Unknown => {}
    }
    if !matches!(value.of, FlatOf::Item { .. }) {
        say("entity_category", "diagnostic".into());
    }
    component
}

fn name(value: &FlatValue) -> String {
    let word = value.name.replace('_', " ");
    match &value.of {
        FlatOf::Connection => word,
        FlatOf::Target { target, .. } => format!("{target} {word}"),
        FlatOf::Item { title, .. } if value.name == "state" => title.clone(),
        FlatOf::Item { title, .. } => format!("{title} {word}"),
    }
}
