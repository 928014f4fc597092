//! The socket and the first words to a broker: address, TLS, user, password, last will. TLS is the one that everything here uses, put under the
//! protocol by a connector of our own. And what went wrong, in one sentence that says what to do. Must not know what is told.

use super::Broker;
use crate::domain::mqtt::BrokerAddress;
use bytes::Bytes;
use rumqttc::{
    AsyncClient, ConnectReturnCode, ConnectionError, EventLoop, LastWill, MqttOptions, NetworkOptions, QoS, StateError,
    default_socket_connect,
};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt;
use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use tokio_rustls::TlsConnector;

/// Requests that wait for the link.
const WAITING: usize = 64;
const KEEP_ALIVE_S: u16 = 30;
const CONNECT_TIMEOUT_S: u64 = 10;
/// The longest message either way: a device with thousands of values.
const LONGEST: usize = 4 << 20;

/// `will`: what the broker says of us once we are silent.
pub fn open(broker: &Broker, client_id: String, will: LastWill) -> (AsyncClient, EventLoop) {
    let address = &broker.spec.broker;
    let mut options = MqttOptions::new(client_id, (address.host.as_str(), address.port));
    options.set_keep_alive(KEEP_ALIVE_S).set_clean_session(true).set_last_will(will);
    options.set_max_packet_size(LONGEST, LONGEST);
    match (&broker.spec.user, &broker.password) {
        (Some(user), Some(password)) => {
            options.set_credentials(user, Bytes::copy_from_slice(password.expose().as_bytes()));
        }
        (Some(user), None) => _ = options.set_username(user),
        (None, _) => {}
    }
    if address.tls {
        let (host, tls) = (address.host.clone(), tls(broker));
        options.set_socket_connector(move |to, network| secure(tls.clone(), host.clone(), to, network));
    }
    let (client, mut line) = AsyncClient::builder(options).capacity(WAITING).build();
    let mut network = line.network_options();
    network.set_connection_timeout(CONNECT_TIMEOUT_S);
    line.set_network_options(network);
    (client, line)
}

type Secured = tokio_rustls::client::TlsStream<tokio::net::TcpStream>;

/// With the authorities of this machine, which are read once: a process goes by those that it began with. Where there are none it is tried again.
fn tls(broker: &Broker) -> Option<Arc<ClientConfig>> {
    if broker.tls.get().is_none() {
        let read = ClientConfig::with_platform_verifier().ok()?;
        let _ = broker.tls.set(Arc::new(read));
    }
    broker.tls.get().cloned()
}

#[derive(Debug)]
struct NoAuthorities;

impl fmt::Display for NoAuthorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this machine has no certificate authorities")
    }
}

impl Error for NoAuthorities {}

async fn secure(
    tls: Option<Arc<ClientConfig>>,
    host: String,
    to: String,
    network: NetworkOptions,
) -> io::Result<Secured> {
    let config = tls.ok_or_else(|| io::Error::other(NoAuthorities))?;
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let tcp = default_socket_connect(to, network).await?;
    TlsConnector::from(config).connect(name, tcp).await
}

pub const fn will(topic: String, message: Bytes) -> LastWill {
    LastWill { topic, message, qos: QoS::AtLeastOnce, retain: true }
}

/// Why there is no link, for people.
pub fn words(error: &ConnectionError, to: &BrokerAddress) -> String {
    match error {
        ConnectionError::ConnectionRefused(code) => match code {
            ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized => format!(
                "The broker at {to} refuses the user or the password: put those that it knows into `user` and `password` under [mqtt]."
            ),
            ConnectReturnCode::ServiceUnavailable => format!("The broker at {to} says that it is not available now."),
            _ => format!("The broker at {to} does not speak MQTT 3.1.1 with us ({code:?})."),
        },
        ConnectionError::Io(e) | ConnectionError::MqttState(StateError::Io(e)) => of_socket(e, to),
        ConnectionError::MqttState(StateError::ConnectionAborted) => closed(to),
        ConnectionError::MqttState(StateError::AwaitPingResp)
        | ConnectionError::NetworkTimeout
        | ConnectionError::FlushTimeout => format!("The broker at {to} does not answer."),
        _ => format!("The link to the broker at {to} ended: it does not keep to the protocol."),
    }
}

fn closed(to: &BrokerAddress) -> String {
    format!("The broker at {to} closed the link.")
}

fn of_socket(e: &io::Error, to: &BrokerAddress) -> String {
    let tls = e.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    if e.get_ref().is_some_and(|inner| inner.is::<NoAuthorities>()) {
        return format!(
            "This machine has no certificate authorities to check the broker at {to} with: install the package ca-certificates, or name a bundle \
             in SSL_CERT_FILE."
        );
    }
    match (tls, e.kind()) {
        (Some(rustls::Error::InvalidCertificate(why)), _) => format!(
            "The certificate of the broker at {to} is not one that this machine trusts ({why:?}): name the bundle with its authority in \
             SSL_CERT_FILE, and start again."
        ),
        (Some(_), _) => format!("The broker at {to} does not speak TLS as we do: is it mqtt:// that it speaks there?"),
        (_, ErrorKind::ConnectionRefused) => {
            format!("Nobody listens at {to}: is the broker running, and is `broker` under [mqtt] its address?")
        }
        (_, ErrorKind::TimedOut) => format!("The broker at {to} does not answer."),
        (
            _,
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof,
        ) => closed(to),
        (_, kind) => {
            let source = e.source().map_or(String::new(), |source| format!(": {source}"));
            format!("The broker at {to} cannot be reached ({kind}{source}).")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_one_sentence_that_names_the_broker() {
        let to = BrokerAddress { tls: false, host: "::1".to_owned(), port: 1883 };
        let io = |kind| ConnectionError::Io(io::Error::from(kind));
        for (error, said) in [
            (ConnectionError::ConnectionRefused(ConnectReturnCode::NotAuthorized), "refuses the user or the password"),
            (io(ErrorKind::ConnectionRefused), "Nobody listens at mqtt://[::1]:1883"),
            (io(ErrorKind::UnexpectedEof), "closed the link"),
            (ConnectionError::MqttState(StateError::ConnectionAborted), "closed the link"),
            (ConnectionError::NetworkTimeout, "does not answer"),
            (ConnectionError::Io(io::Error::other(rustls::Error::DecryptError)), "does not speak TLS as we do"),
            (ConnectionError::Io(io::Error::other(NoAuthorities)), "has no certificate authorities"),
        ] {
            let words = words(&error, &to);
            assert!(words.contains(said) && words.contains("mqtt://[::1]:1883"), "{error:?}: {words}");
            assert!(words.ends_with(['.', '?']), "{words}");
        }
    }
}
