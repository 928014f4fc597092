//! `[mqtt]`: the broker that is told how everything stands. Knows keys; what is told, and how, is for `crate::mqtt`.

use super::draft;
use super::place::{Problems, Slot};
use super::section::Section;
use super::server::setting;
use super::webhooks::REFERENCE;
use crate::domain::mqtt::{BrokerAddress, MqttSpec};
use crate::domain::setting::Setting;
use crate::domain::spec::SecretSource;
use std::path::Path;

const MQTT: [&str; 5] = ["broker", "user", "password", "discovery_prefix", "base_topic"];
/// Where Home Assistant looks unless it was told otherwise.
const DISCOVERY: &str = "homeassistant";
const BASE: &str = "larder";
const LONGEST_TOPIC: usize = 100;

/// `None`: no broker is told anything.
pub(super) fn read(section: Option<&Section<'_>>, folder: &Path, p: &mut Problems) -> Option<MqttSpec> {
    let section = section?;
    section.only(&MQTT, &[], p);
    let at = &section.place;
    let broker = section.parsed("broker", p, address).required(
        at,
        "broker",
        "where the broker is, such as \"mqtt://127.0.0.1:1883\"",
        p,
    );
    let user = section.text("user", p).value();
    let password = read_password(section, folder, p);
    if user.is_none() && password.as_ref().is_some_and(|source| *source != SecretSource::None) {
        p.add(&at.below("user"), "is missing: brokers take a password for a user alone");
    }
    let topic = |key: &str, usual: &str, p: &mut Problems| section.parsed(key, p, topic).unwrap_or(usual.to_owned());
    let (discovery_prefix, base_topic) = (topic("discovery_prefix", DISCOVERY, p), topic("base_topic", BASE, p));
    if discovery_prefix == base_topic {
        p.add(&section.place_of("base_topic"), "must be another than discovery_prefix");
    }
    Some(MqttSpec { broker: broker?, user, password: password?, discovery_prefix, base_topic })
}

fn read_password(section: &Section<'_>, folder: &Path, p: &mut Problems) -> Option<SecretSource> {
    if !section.has("password") && section.table("password", &mut Problems::default()).is_none() {
        return Some(SecretSource::None);
    }
    if section.word("password").is_some() {
        p.add(
            &section.place_of("password"),
            "must not hold the password itself: put it into an environment variable or a file that only Larder can read, \
             and name that here: { env = \"NAME\" } or { file = \"PATH\" }",
        );
        return None;
    }
    let table = section.table("password", p)?;
    table.only(&REFERENCE, &[], p);
    match draft::read_source(&table, folder, p) {
        Slot::Absent => {
            p.add(&table.place, "does not say where it lies: { env = \"NAME\" } or { file = \"PATH\" }");
            None
        }
        source => source.value(),
    }
}

fn address(text: &str) -> Result<BrokerAddress, String> {
    let wrong =
        || format!("must be an address such as \"mqtt://127.0.0.1:1883\" or \"mqtts://broker.lan\"; {text:?} is not");
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "has a name or a password in front of the host; say user and password as keys of their own".to_owned()
        );
    }
    let tls = match url.scheme() {
        "mqtt" => false,
        "mqtts" => true,
        _ => return Err(wrong()),
    };
    let is_bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
    let host = url.host_str().filter(|host| !host.is_empty() && is_bare).ok_or_else(wrong)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(BrokerAddress { tls, host, port: url.port().unwrap_or(BrokerAddress::usual_port(tls)) })
}

/// What topics begin with: no wildcard, and nothing that a broker keeps for itself.
fn topic(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let fits =
        text.len() <= LONGEST_TOPIC && text.split('/').all(|level| !level.is_empty() && level.chars().all(plain));
    let wrong = "must be levels of letters, digits, -, . and _ with slashes between them, such as \"larder\"";
    if fits { Ok(text.to_owned()) } else { Err(format!("{wrong}; {text:?} is not")) }
}

/// Each key with what is in force and who said it; nothing where there is no broker. The password is named by where it lies.
pub(super) fn shown(section: Option<&Section<'_>>, spec: Option<&MqttSpec>) -> Vec<Setting> {
    let Some(spec) = spec else { return Vec::new() };
    let password = match &spec.password {
        SecretSource::None | SecretSource::Sealed => "none".to_owned(),
        SecretSource::Env(name) | SecretSource::Listed { name, .. } => format!("in the variable {name}"),
        SecretSource::File(path) => format!("in {}", path.display()),
    };
    let values = [
        ("broker", spec.broker.to_string()),
        ("user", spec.user.clone().unwrap_or_else(|| "none".to_owned())),
        ("password", password),
        ("discovery_prefix", spec.discovery_prefix.clone()),
        ("base_topic", spec.base_topic.clone()),
    ];
    values.into_iter().map(|(key, value)| setting("mqtt", section, key, value)).collect()
}
