//! A broker of MQTT that is told how everything stands: where it is and by which names. std only.

use super::spec::SecretSource;
use std::fmt;

/// `[mqtt]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqttSpec {
    pub broker: BrokerAddress,
    /// `None`: the broker lets anybody in.
    pub user: Option<String>,
    pub password: SecretSource,
    /// Below which Home Assistant looks for devices, and says that it was born.
    pub discovery_prefix: String,
    /// What our own topics begin with.
    pub base_topic: String,
}

/// `mqtt://host[:port]`, or `mqtts://host[:port]` for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerAddress {
    pub tls: bool,
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    pub port: u16,
}

impl BrokerAddress {
    /// What the two ways have as a port unless one is named (RFC 6335 registry).
    pub const fn usual_port(tls: bool) -> u16 {
        if tls { 8883 } else { 1883 }
    }
}

impl fmt::Display for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}
