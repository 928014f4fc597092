//! Sockets for what is passed on octet by octet: TCP, with TLS where the provider wants it. The client library of the room writes an
//! address in its own spelling (`'` becomes `%27`), and a provider that signs or compares paths would notice. Knows no request.

use super::clients::no_authorities;
use super::gate::AnyError;
use crate::domain::ids::ConnectionKey;
use hyper::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use reqwest::Url;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use tokio_rustls::TlsConnector;
use tower::ServiceExt;
use url::Host;

/// A socket to a provider, with or without TLS.
pub(super) trait Socket: hyper::rt::Read + hyper::rt::Write + Send + Unpin {}
impl<T: hyper::rt::Read + hyper::rt::Write + Send + Unpin> Socket for T {}

/// Makes sockets.
pub(super) struct Wire {
    tcp: HttpConnector,
    /// Set up when the first connection comes that uses https.
    tls: OnceLock<TlsConnector>,
}

impl Wire {
    pub(super) fn new() -> Wire {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Wire { tcp, tls: OnceLock::new() }
    }

    /// Sets up TLS, where it is not yet. The error is a sentence.
    pub(super) fn secure(&self, needed_by: &ConnectionKey) -> Result<(), String> {
        if self.tls.get().is_none() {
            let mut config = ClientConfig::with_platform_verifier().map_err(|_| no_authorities(needed_by))?;
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            // Who comes second throws his away.
            let _ = self.tls.set(TlsConnector::from(Arc::new(config)));
        }
        Ok(())
    }

    /// One socket to the origin of `base`.
    pub(super) async fn connect(&self, base: &Url) -> Result<Box<dyn Socket>, AnyError> {
        let origin: Uri = base.origin().ascii_serialization().parse()?;
        let tcp = self.tcp.clone().oneshot(origin).await?;
        if base.scheme() != "https" {
            return Ok(Box::new(tcp));
        }
        let tls = self.tls.get().ok_or("this door was set up without TLS")?;
        let name = match base.host() {
            Some(Host::Domain(name)) => ServerName::try_from(name.to_owned())?,
            Some(Host::Ipv4(ip)) => ServerName::from(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => ServerName::from(IpAddr::V6(ip)),
            None => return Err("the base URL names no host".into()),
        };
        Ok(Box::new(TokioIo::new(tls.connect(name, tcp.into_inner()).await?)))
    }
}
