//! https against a provider with a certificate of our own. Which authorities a process trusts is decided by its
//! environment, so each case runs in a child process of this test binary.

use super::*;
use crate::domain::reply::Failure;
use crate::upstream::pass::{Passed, Passing};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/upstream/tests/tls").join(name)
}

/// Runs one of the ignored tests below in a process that trusts the authorities in `bundle` alone.
fn in_a_process_that_trusts(bundle: &Path, test: &str) {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("upstream::tests::tls::{test}"), "--include-ignored"])
        .env("SSL_CERT_FILE", bundle)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

/// Answers every socket over TLS with the named certificate; the base URL.
async fn secure_provider(certificate: &str) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let chain = vec![CertificateDer::from_pem_file(file(certificate)).unwrap()];
    let key = PrivateKeyDer::from_pem_file(file("key.pem")).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let Ok(mut socket) = acceptor.accept(socket).await else { continue };
            let mut head = vec![0; 4096];
            let read = socket.read(&mut head).await.unwrap_or(0);
            // Echoes the request line, so that the key meets the redactor on the way back.
            let line = String::from_utf8_lossy(&head[..read]).lines().next().unwrap_or_default().to_owned();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{line}", line.len());
            let _ = socket.write_all(answer.as_bytes()).await;
            let _ = socket.shutdown().await;
        }
    });
    base_url
}

#[test]
fn https_works_with_the_authorities_of_the_machine() {
    in_a_process_that_trusts(&file("authority.pem"), "child_asks_over_https");
}

#[tokio::test]
#[ignore = "run by https_works_with_the_authorities_of_the_machine in a process of its own"]
async fn child_asks_over_https() {
    let bench = Bench::new(&secure_provider("provider.pem").await, query());
    for _ in 0..2 {
        let answer = bench.ask(get("/status")).await.result.unwrap();
        assert_eq!(answer.body, b"GET /status?api_key=*** HTTP/1.1");
        // What is passed on for clients goes by sockets of its own, in the client's spelling.
        let passed = passed_on(&bench).await.result.unwrap();
        assert_eq!(passed.body, b"GET /it's?api_key=*** HTTP/1.1");
    }
    for (certificate, words) in
        [("early.pem", "not valid yet; check the clock"), ("late.pem", "has expired; check the clock")]
    {
        let bench = Bench::new(&secure_provider(certificate).await, query());
        let reply = bench.ask(get("/status")).await;
        assert_eq!(reply.result, Err(Failure::Connect));
        assert!(reply.detail.contains(words), "{}", reply.detail);
        let passed = passed_on(&bench).await;
        assert_eq!(passed.result.unwrap_err(), Failure::Connect);
        assert!(passed.detail.contains(words), "{}", passed.detail);
    }
}

async fn passed_on(bench: &Bench) -> Passed {
    let now = bench.clock.now().steady;
    let passing = Passing {
        connection: yard(),
        method: hyper::Method::GET,
        location: "/it's".to_owned(),
        headers: hyper::HeaderMap::new(),
        body: bytes::Bytes::new(),
        most: 50_000,
        in_time: false,
    };
    bench.door.pass_within(None, now + Span(1500), now + Span(5000), passing).await
}

#[tokio::test]
async fn an_unknown_authority_is_told_and_nothing_was_counted() {
    let reply = Bench::new(&secure_provider("provider.pem").await, query()).ask(get("/status")).await;
    assert_eq!(reply.result, Err(Failure::Connect));
    assert!(reply.detail.contains("signed by nobody that this machine trusts"), "{}", reply.detail);
}

#[test]
fn a_machine_without_authorities_polls_its_own_network_and_says_what_https_needs() {
    in_a_process_that_trusts(&file("none.pem"), "child_has_no_authorities");
}

#[test]
#[ignore = "run by a_machine_without_authorities_polls_its_own_network_and_says_what_https_needs"]
fn child_has_no_authorities() {
    let open =
        |base_url| door(&[spec(base_url, Carrier::None, quick())], BTreeMap::new(), Arc::new(JumpClock::default()));
    assert!(open("http://10.0.0.1").is_ok());
    let said = open("https://api.test").err().unwrap();
    assert_eq!(
        said,
        "Connection default/yard uses https, but this machine has no certificate authorities to check the provider with; \
         install the package ca-certificates, or name a bundle in SSL_CERT_FILE."
    );
}
