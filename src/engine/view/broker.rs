//! Read model of the link to a broker of MQTT.

use super::When;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerView {
    /// `mqtt://host:port`
    pub to: String,
    /// `None`: it is not connected.
    pub connected_since: Option<When>,
    /// What went wrong last, in one sentence; also while it is connected again.
    pub trouble: Option<(When, String)>,
}
