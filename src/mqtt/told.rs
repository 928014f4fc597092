//! What a broker was told, and what it has to be told now: the difference, as messages. Pure. Must not know how they go.

use super::discovery::{self, Kinds, Topics};
use crate::domain::time::Span;
use crate::engine::view::{FlatKind, FlatView};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Everything is told again so often, changed or not: ages and countdowns go on.
pub const EVERY: Span = Span::from_secs(30);

/// A message that the broker keeps; an empty one takes away what it kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retained {
    pub topic: String,
    pub payload: String,
}

/// Whether what only counts on is told too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    News,
    All,
}

/// What one broker knows of us.
#[derive(Default)]
pub struct Told {
    devices: BTreeMap<(String, String), Device>,
}

#[derive(Default)]
struct Device {
    config: String,
    /// Without what counts on.
    state: String,
    kinds: Kinds,
    /// Parts that it may have and that were never written in `config`: of a run before this one.
    left: Vec<(String, &'static str)>,
}

impl Told {
    /// Everything has to be told anew: whoever listens there knows nothing.
    pub fn forget(&mut self) {
        for device in self.devices.values_mut() {
            device.config.clear();
            device.state.clear();
        }
    }

    /// A state that the broker had kept of this connection of ours: whether it is there still is seen in the next round.
    pub fn knew(&mut self, organization: &str, connection: &str, state: &Map<String, Value>) {
        let own = self.devices.entry((organization.to_owned(), connection.to_owned())).or_default();
        let parts = state.iter().filter(|(key, _)| !key.starts_with("larder_"));
        own.left = parts.map(|(key, value)| (key.clone(), discovery::platform(kind_of(value)))).collect();
    }

    /// What has to be told now, in this order.
    pub fn news(&mut self, topics: &Topics<'_>, flats: &[FlatView], round: Round) -> Vec<Retained> {
        let mut news = self.gone(topics, flats);
        for flat in flats {
            let key = (flat.organization.clone(), flat.connection.clone());
            let device = self.devices.entry(key).or_default();
            let before = std::mem::take(&mut device.kinds);
            device.kinds = before.clone();
            discovery::learn(&mut device.kinds, flat);
            let topic = topics.config(&flat.organization, &flat.connection);
            let mut say = |payload: String| news.push(Retained { topic: topic.clone(), payload });
            let gone = device.parts_that_went(&before, flat);
            let config = discovery::device(topics, flat, &device.kinds, &[]).to_string();
            if !gone.is_empty() {
                say(discovery::device(topics, flat, &device.kinds, &gone).to_string());
            }
            if config != device.config || !gone.is_empty() {
                say(config.clone());
                device.config = config;
            }
            let state = discovery::state(flat, topics.id);
            let lasting = lasting(&state, flat);
            if lasting != device.state || round == Round::All {
                let topic = topics.state(&flat.organization, &flat.connection);
                news.push(Retained { topic, payload: Value::Object(state).to_string() });
                device.state = lasting;
            }
        }
        news
    }

    /// Connections that are not there any more: their devices are taken away.
    fn gone(&mut self, topics: &Topics<'_>, flats: &[FlatView]) -> Vec<Retained> {
        let there: BTreeSet<(&str, &str)> =
            flats.iter().map(|flat| (flat.organization.as_str(), flat.connection.as_str())).collect();
        let is_there = |(organization, connection): &&(String, String)| {
            there.contains(&(organization.as_str(), connection.as_str()))
        };
        let gone: Vec<(String, String)> = self.devices.keys().filter(|key| !is_there(key)).cloned().collect();
        let mut news = Vec::new();
        for key in gone {
            let (organization, connection) = &key;
            for topic in [topics.config(organization, connection), topics.state(organization, connection)] {
                news.push(Retained { topic, payload: String::new() });
            }
            self.devices.remove(&key);
        }
        news
    }
}

impl Device {
    /// Home Assistant takes a part away that is told as its platform alone; once.
    fn parts_that_went(&mut self, before: &Kinds, flat: &FlatView) -> Vec<(String, &'static str)> {
        let there: BTreeSet<&str> = flat.values.iter().map(|value| value.key.as_str()).collect();
        let told = before.iter().map(|(key, kind)| (key.clone(), discovery::platform(*kind)));
        let left = std::mem::take(&mut self.left);
        left.into_iter().chain(told).filter(|(key, _)| !there.contains(key.as_str())).collect()
    }
}

fn kind_of(value: &Value) -> FlatKind {
    if value.is_boolean() { FlatKind::Flag } else { FlatKind::Text }
}

fn lasting(state: &Map<String, Value>, flat: &FlatView) -> String {
    let seconds = flat.values.iter().filter(|v| v.kind == FlatKind::Seconds);
    let counts_on: BTreeSet<&str> = seconds.map(|v| v.key.as_str()).collect();
    let lasting = state.iter().filter(|(key, _)| !counts_on.contains(key.as_str()));
    Value::Object(lasting.map(|(k, v)| (k.clone(), v.clone())).collect()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::mqtt::{BrokerAddress, MqttSpec};
    use crate::domain::spec::SecretSource;
    use crate::engine::view::{FlatOf, FlatValue};
    use serde_json::json;

    fn spec() -> MqttSpec {
        MqttSpec {
            broker: BrokerAddress { tls: false, host: "127.0.0.1".to_owned(), port: 1883 },
            user: None,
            password: SecretSource::None,
            discovery_prefix: "homeassistant".to_owned(),
            base_topic: "larder".to_owned(),
        }
    }

    fn value(name: &str, kind: FlatKind, value: Value) -> FlatValue {
        let of = FlatOf::Item { target: "sky".to_owned(), title: "Roof".to_owned() };
        FlatValue { key: format!("sky__roof__{name}"), of, name: name.to_owned(), kind, value }
    }

    fn connection(name: &str, values: Vec<FlatValue>) -> FlatView {
        let [organization, provider] = ["default", "weather"].map(str::to_owned);
        FlatView { organization, connection: name.to_owned(), provider, values }
    }

    fn wind(speed: Value, kind: FlatKind) -> FlatView {
        connection("north", vec![value("wind", kind, speed), value("left", FlatKind::Seconds, 9.into())])
    }

    fn topics(news: &[Retained]) -> Vec<&str> {
        news.iter().map(|message| message.topic.rsplit('/').next().unwrap_or_default()).collect()
    }

    #[test]
    fn only_what_is_new_is_told_and_everything_in_its_turn() {
        let (spec, mut told) = (spec(), Told::default());
        let topic = Topics { spec: &spec, id: "ab12" };
        let five = wind(5.into(), FlatKind::Number);
        assert_eq!(topics(&told.news(&topic, std::slice::from_ref(&five), Round::News)), ["config", "state"]);
        let mut later = five.clone();
        later.values[1].value = 8.into();
        assert_eq!(told.news(&topic, &[later.clone()], Round::News), [], "a second less is no news");
        assert_eq!(topics(&told.news(&topic, &[later], Round::All)), ["state"]);
        assert_eq!(topics(&told.news(&topic, &[wind(6.into(), FlatKind::Number)], Round::News)), ["state"]);
        let expired = wind(Value::Null, FlatKind::Unknown);
        assert_eq!(
            topics(&told.news(&topic, std::slice::from_ref(&expired), Round::News)),
            ["state"],
            "its device stays as it is"
        );
        told.forget();
        assert_eq!(topics(&told.news(&topic, &[expired], Round::News)), ["config", "state"]);
    }

    #[test]
    fn what_is_gone_is_taken_away_also_where_an_earlier_run_had_told_it() {
        let (spec, mut told) = (spec(), Told::default());
        let topic = Topics { spec: &spec, id: "ab12" };
        let kept = json!({ "larder_installation": "ab12", "sky__roof__rain": true, "sky__roof__wind": 5 });
        told.knew("default", "north", kept.as_object().unwrap());
        told.knew("default", "south", kept.as_object().unwrap());
        let news = told.news(&topic, &[wind(5.into(), FlatKind::Number)], Round::News);
        let (gone, rest) = news.split_at(2);
        assert_eq!(
            gone[0],
            Retained {
                topic: "homeassistant/device/larder_ab12_default_south/config".to_owned(),
                payload: String::new()
            }
        );
        assert_eq!(gone[1], Retained { topic: "larder/default/south/state".to_owned(), payload: String::new() });
        let devices: Vec<Value> = rest[..2].iter().map(|m| serde_json::from_str(&m.payload).unwrap()).collect();
        assert_eq!(
            devices[0]["components"]["sky__roof__rain"],
            json!({ "platform": "binary_sensor" }),
            "told that it goes"
        );
        assert!(
            devices[1]["components"].get("sky__roof__rain").is_none()
                && devices[1]["components"]["sky__roof__wind"].is_object()
        );
        let calm = connection("north", vec![value("left", FlatKind::Seconds, 9.into())]);
        assert_eq!(topics(&told.news(&topic, std::slice::from_ref(&calm), Round::News)), ["config", "config", "state"]);
        assert_eq!(told.news(&topic, &[calm], Round::News), []);
        assert_eq!(topics(&told.news(&topic, &[], Round::News)), ["config", "state"]);
    }
}
