//! The broker of the configuration with its password, read once. Decides nothing else.

use crate::domain::mqtt::MqttSpec;
use crate::mqtt::Broker;
use crate::upstream::redact::{Redactor, read_secret};

/// The error is a sentence.
pub fn broker(spec: Option<&MqttSpec>) -> Result<Option<Broker>, String> {
    let Some(spec) = spec else { return Ok(None) };
    let password =
        read_secret(&spec.password).map_err(|why| format!("The password of the broker under [mqtt]: {why}"))?;
    Ok(Some(Broker::new(spec.clone(), password)))
}

/// From now on no text has it.
pub fn hide(redactor: &Redactor, broker: Option<&Broker>) {
    broker.and_then(|broker| broker.password()).into_iter().for_each(|password| redactor.keep(password));
}
