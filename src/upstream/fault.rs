//! Errors of the client as our own words. Knows the error types of reqwest, hyper and rustls; prints none of them raw,
//! since they carry URLs and headers (A46, A47): only the innermost cause is quoted, and the door redacts that too.

use super::gate::{Attempt, Progress};
use super::http::out_of_time;
use super::route::Route;
use crate::domain::reply::Failure;
use rustls::CertificateError;
use std::error::Error;
use std::io;

/// The longest quotation of a library's own words.
const LONGEST_CAUSE: usize = 160;

/// Why no socket came up, to follow "No connection to HOST: ".
pub(super) fn connect_words(error: &(dyn Error + 'static)) -> String {
    let chain = chain(error);
    if let Some(tls) = chain.iter().find_map(|e| e.downcast_ref::<rustls::Error>()) {
        return tls_words(tls);
    }
    let io = chain.iter().rev().find_map(|e| e.downcast_ref::<io::Error>());
    match io.map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "nobody listens there (connection refused)".to_owned(),
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            "there is no way to it from this network".to_owned()
        }
        Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            "the socket was closed before it was up".to_owned()
        }
        _ if is_about_names(&chain) => format!("its name cannot be resolved ({})", innermost(&chain)),
        _ => innermost(&chain),
    }
}

fn tls_words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "its certificate is not valid yet; check the clock of this machine".to_owned(),
        rustls::Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired; check the clock of this machine".to_owned()
        }
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is signed by nobody that this machine trusts".to_owned()
        }
        other => format!("no TLS ({})", cut(&other.to_string())),
    }
}

/// Why there is not even the head of an answer.
pub(super) fn no_head(error: &reqwest::Error, attempt: &Attempt, route: &Route) -> (Failure, String) {
    match attempt.progress() {
        Progress::Up(_) => before_body(error),
        Progress::Connecting => {
            (Failure::Connect, format!("No connection to {}: {}.", route.origin(), connect_words(error)))
        }
        Progress::TooSlow | Progress::TooLate => out_of_time(attempt, route),
    }
}

/// What an error between the first byte of the request and the end of the answer's head is, and why.
pub(super) fn before_body(error: &(dyn Error + 'static)) -> (Failure, String) {
    let chain = chain(error);
    match hyper_error(&chain) {
        Some(e) if e.is_parse() || e.is_parse_status() => {
            (Failure::Undecodable, format!("What the provider sent is not HTTP ({}).", innermost(&chain)))
        }
        Some(e) if e.is_incomplete_message() => {
            (Failure::Dropped, "The provider closed the socket without an answer.".to_owned())
        }
        _ => (Failure::Dropped, format!("The socket broke before the answer came ({}).", innermost(&chain))),
    }
}

/// What an error after the head is. `got` is the number of bytes of the body so far.
pub(super) fn in_body(error: &(dyn Error + 'static), got: usize) -> (Failure, String) {
    let chain = chain(error);
    let kind = chain.iter().rev().find_map(|e| e.downcast_ref::<io::Error>()).map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe) => {
            (Failure::Dropped, format!("The socket broke after {got} bytes of the answer."))
        }
        Some(io::ErrorKind::UnexpectedEof) => {
            (Failure::Undecodable, format!("The answer was cut off after {got} bytes."))
        }
        _ => (Failure::Undecodable, format!("The answer was cut off after {got} bytes ({}).", innermost(&chain))),
    }
}

/// Whether it was the look-up of the name that failed: the clients say so in types of their own.
fn is_about_names(chain: &[&(dyn Error + 'static)]) -> bool {
    chain
        .iter()
        .any(|e| e.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_dns) || e.to_string() == "dns error")
}

fn hyper_error<'e>(chain: &[&'e (dyn Error + 'static)]) -> Option<&'e hyper::Error> {
    chain.iter().find_map(|e| e.downcast_ref::<hyper::Error>())
}

/// The error and all its causes. `io::Error::source` skips the error that it wraps, so wrapped ones are looked into.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> Vec<&'e (dyn Error + 'static)> {
    let mut found = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        found.push(error);
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    found
}

fn innermost(chain: &[&(dyn Error + 'static)]) -> String {
    match chain.last() {
        // An error of reqwest itself prints its URL; its other causes do not know one.
        Some(e) if e.is::<reqwest::Error>() => "no cause given".to_owned(),
        Some(e) => cut(&e.to_string()),
        None => "no cause given".to_owned(),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST_CAUSE).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
