//! `[mqtt]` as people write it.

use super::*;
use crate::domain::mqtt::BrokerAddress;

fn mqtt(text: &str, variables: &[(&str, &str)]) -> Option<MqttSpec> {
    read_with(&format!("{text}\n{}", yard("")), variables, &[]).unwrap_or_else(|errors| panic!("{}", told(errors))).mqtt
}

#[test]
fn a_broker_is_named_in_the_file_or_the_environment_and_off_otherwise() {
    assert_eq!(mqtt("", &[]), None);
    let plain = mqtt("[mqtt]\nbroker = \"mqtt://broker.lan\"", &[]).unwrap();
    assert_eq!(plain.broker, BrokerAddress { tls: false, host: "broker.lan".to_owned(), port: 1883 });
    assert_eq!((plain.user, plain.password), (None, SecretSource::None));
    assert_eq!((plain.discovery_prefix.as_str(), plain.base_topic.as_str()), ("homeassistant", "larder"));
    let variables = [
        ("LARDER_MQTT_BROKER", "mqtts://[fe80::1]"),
        ("LARDER_MQTT_USER", "larder"),
        ("LARDER_MQTT_PASSWORD_FILE", "/run/secrets/mqtt"),
        ("LARDER_MQTT_BASE_TOPIC", "house/larder"),
    ];
    let named = mqtt("", &variables).unwrap();
    assert_eq!(named.broker.to_string(), "mqtts://[fe80::1]:8883");
    assert_eq!((named.user.as_deref(), named.base_topic.as_str()), (Some("larder"), "house/larder"));
    assert_eq!(named.password, SecretSource::File("/run/secrets/mqtt".into()));
    let own = "[server]\nenvironment_file = \"keys\"\n[mqtt]\nbroker = \"mqtt://a:1\"\nuser = \"x\"\npassword = { env = \"LARDER_BROKER\" }";
    let own = mqtt(own, &[("LARDER_BROKER", "a secret by a name of ours")]).unwrap();
    assert_eq!(
        own.password,
        SecretSource::Listed { file: "/etc/larder/keys".into(), name: "LARDER_BROKER".to_owned() }
    );
}

#[test]
fn what_is_wrong_with_a_broker_is_told_by_its_key() {
    for (text, said) in [
        ("user = \"x\"", "1: mqtt.broker: is missing: where the broker is, such as \"mqtt://127.0.0.1:1883\""),
        (
            "broker = \"http://a.test\"",
            "2: mqtt.broker: must be an address such as \"mqtt://127.0.0.1:1883\" or \"mqtts://broker.lan\"; \"http://a.test\" is not",
        ),
        (
            "broker = \"mqtt://x:y@a.test\"",
            "2: mqtt.broker: has a name or a password in front of the host; say user and password as keys of their own",
        ),
        (
            "broker = \"mqtt://a\"\npassword = { env = \"P\" }",
            "1: mqtt.user: is missing: brokers take a password for a user alone",
        ),
        (
            "broker = \"mqtt://a\"\nbase_topic = \"a/#\"",
            "3: mqtt.base_topic: must be levels of letters, digits, -, . and _ with slashes between them, such as \"larder\"; \"a/#\" is not",
        ),
        (
            "broker = \"mqtt://a\"\nuser = \"x\"\npassword = \"hunter2\"",
            "4: mqtt.password: must not hold the password itself: put it into an environment variable or a file that only Larder can \
             read, and name that here: { env = \"NAME\" } or { file = \"PATH\" }",
        ),
        (
            "broker = \"mqtt://a\"\nbase_topic = \"homeassistant\"",
            "3: mqtt.base_topic: must be another than discovery_prefix",
        ),
    ] {
        assert_eq!(wrong(&format!("[mqtt]\n{text}\n{}", yard(""))).replace("larder.toml:", ""), said, "{text}");
    }
}
