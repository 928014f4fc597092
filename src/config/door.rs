//! `[server]`: which proxy in front is believed, and which sites may show the pages inside their own.

use super::place::Problems;
use super::section::Section;
use super::words;
use crate::domain::proxy::{Network, TrustedProxy};

pub(super) const TRUSTED_PROXY: [&str; 2] = ["addresses", "user_header"];

/// `trusted_proxy = { addresses = ["127.0.0.1"], user_header = "Remote-User" }`
pub(super) fn trusted_proxy(table: &Section<'_>, p: &mut Problems) -> Option<TrustedProxy> {
    table.only(&TRUSTED_PROXY, &[], p);
    let missing = "where the proxy asks from, such as [\"127.0.0.1\"]";
    let addresses = table.texts("addresses", p).required(&table.place, "addresses", missing, p);
    let place = table.place_of("addresses");
    let mut networks = Vec::new();
    for text in addresses.iter().flatten() {
        match Network::parse(text) {
            Ok(network) => networks.push(network),
            Err(sentence) => p.add(&place, sentence),
        }
    }
    if addresses.is_some_and(|all| all.is_empty()) {
        p.add(&place, format!("is empty; it has to say {missing}"));
    }
    let header = table.parsed("user_header", p, |name| match words::is_token(name) {
        true => Ok(name.to_ascii_lowercase()),
        false => Err(format!("must be the name of a header, such as \"Remote-User\"; {name:?} is not")),
    });
    let known = |name: &String| {
        let ours = ["authorization", "cookie", "host", "origin", "x-forwarded-for", "x-forwarded-proto", "forwarded"];
        ours.contains(&name.as_str()).then(|| "is a header that means something else".to_owned())
    };
    Some(TrustedProxy { networks, user_header: header.checked(p, known).value() })
}

/// `frame_ancestors = ["'self'", "http://homeassistant.local:8123"]`
pub(super) fn frame_ancestors(section: &Section<'_>, p: &mut Problems) -> Vec<String> {
    let place = section.place_of("frame_ancestors");
    let (mut sources, all) = (Vec::new(), section.texts("frame_ancestors", p).unwrap_or_default());
    for source in all {
        if is_source(&source) {
            sources.push(source);
        } else {
            p.add(
                &place,
                format!(
                    "{source:?} is no site that a page could be shown in; write \"'self'\", \"'none'\" or an origin such as \
                     \"https://home.example.org\" or \"http://homeassistant.local:8123\""
                ),
            );
        }
    }
    if sources.iter().any(|s| s == "'none'") && sources.len() > 1 {
        p.add(&place, "has 'none' beside others; leave one of them out");
    }
    sources
}

/// The keywords, or scheme, host and port: nothing that could end the directive.
fn is_source(text: &str) -> bool {
    if text == "'self'" || text == "'none'" {
        return true;
    }
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let (host, port) = rest.rsplit_once(':').unwrap_or((rest, "80"));
    ["http", "https"].contains(&scheme)
        && words::host(host).is_ok()
        && !port.is_empty()
        && port.len() <= 5
        && port.bytes().all(|b| b.is_ascii_digit())
}
