//! `get` or `post`, `body`, `content_type`, `headers`, `cost_from`: what a target or a command sends. Knows keys, and which headers are
//! not for a file to set.

use super::place::{Problems, Slot};
use super::section::Section;
use super::words;
use crate::domain::send::{JSON, SendSpec};
use crate::rules::asking::{Asker, CostFrom, check_body, check_text};
use serde_json::Value;

/// Headers that belong to the credential, to HTTP's framing or to Larder, and what to use instead.
const NOT_OURS: [(&[&str], &str); 4] = [
    (
        &["authorization", "proxy-authorization", "cookie"],
        "carries a credential; secrets travel by `credential` alone, which keeps them out of files and logs",
    ),
    (&["content-type"], "has a key of its own: content_type"),
    (
        &["if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range"],
        "is Larder's own: it asks conditionally by itself, and for whole answers only",
    ),
    (
        &[
            "accept-encoding",
            "connection",
            "content-encoding",
            "content-length",
            "expect",
            "host",
            "keep-alive",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "user-agent",
        ],
        "belongs to one hop of HTTP or to Larder's client; it is set for every request",
    ),
];

/// Words in a header's name that say that its value is a secret.
const SECRET_WORDS: [&str; 6] = ["api-key", "apikey", "api_key", "token", "secret", "password"];

/// Longest body in a file.
const LONGEST_BODY: usize = 64 * 1024;

/// Path and the rest, or `None` with the problems told. The path may be absent: who needs one says so.
pub(super) fn read(section: &Section<'_>, asker: Asker, p: &mut Problems) -> Option<(Option<String>, SendSpec)> {
    let path = |text: &str| {
        words::request_path(text)?;
        check_text(text, asker)?;
        Ok(text.to_owned())
    };
    let (method, path) = match (section.parsed("get", p, path), section.parsed("post", p, path)) {
        (Slot::Absent, Slot::Absent) => ("GET", absent(section, asker, p)),
        (get, Slot::Absent) => ("GET", get.value().map(Some)),
        (Slot::Absent, post) => ("POST", post.value().map(Some)),
        _ => {
            p.add(&section.place, "has both `get` and `post`; it is one request");
            ("GET", None)
        }
    };
    let content_type = section.parsed("content_type", p, media_type).unwrap_or(JSON.to_owned());
    let mut body = None;
    if method == "POST" {
        body = read_body(section, &content_type, asker, p);
    } else {
        for key in ["body", "content_type"].into_iter().filter(|key| section.has(key)) {
            p.add(&section.place_of(key), "belongs to `post`: a GET has no body");
        }
    }
    let headers = read_headers(section, asker, p)?;
    let cost_from = section.parsed("cost_from", p, |text| CostFrom::parse(text).map(|_| text.to_owned())).value();
    Some((path?, SendSpec { method, body, content_type, headers, cost_from }))
}

/// A command asks something. A target may be fed by a scan: whether there is one is not for this file to see.
fn absent(section: &Section<'_>, asker: Asker, p: &mut Problems) -> Option<Option<String>> {
    if asker == Asker::Target {
        return Some(None);
    }
    p.add(&section.place, "has neither `get` nor `post`: the path to ask, with parameters in braces");
    None
}

/// `type/subtype`, perhaps with parameters.
fn media_type(text: &str) -> Result<String, String> {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let fits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b));
    match essence.split_once('/') {
        Some((kind, sub)) if fits(kind) && fits(sub) && text.bytes().all(|b| (0x20..0x7f).contains(&b)) => {
            Ok(text.to_owned())
        }
        _ => Err("is no media type; write it as \"application/json\"".to_owned()),
    }
}

/// A text, sent as it is, or a table, sent as JSON.
fn read_body(section: &Section<'_>, content_type: &str, asker: Asker, p: &mut Problems) -> Option<String> {
    let text = match section.json("body", p)? {
        Value::String(text) => text,
        table => numbers_unquoted(&table.to_string()),
    };
    let place = section.place_of("body");
    if text.len() > LONGEST_BODY {
        p.add(&place, format!("is longer than {LONGEST_BODY} bytes"));
        return None;
    }
    check_body(&text, content_type, asker).map_err(|why| p.add(&place, why)).ok()?;
    Some(text)
}

/// `"{seconds:number}"` in a table becomes `{seconds}` without quotes: TOML has no other way to say it.
fn numbers_unquoted(json: &str) -> String {
    let (mut out, mut rest) = (String::new(), json);
    while let Some((before, after)) = rest.split_once("\"{") {
        out.push_str(before);
        match after.split_once(":number}\"") {
            Some((name, tail)) if name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') => {
                out.push_str(&format!("{{{name}}}"));
                rest = tail;
            }
            _ => {
                out.push_str("\"{");
                rest = after;
            }
        }
    }
    out + rest
}

/// `headers = { accept = "application/json" }`
fn read_headers(section: &Section<'_>, asker: Asker, p: &mut Problems) -> Option<Vec<(String, String)>> {
    let Some(table) = section.table("headers", p) else {
        return (!section.has("headers")).then(Vec::new);
    };
    let mut headers = Vec::new();
    for (name, _) in table.keys() {
        let value = table.parsed(name, p, |value| {
            check_name(name)?;
            if !value.bytes().all(|b| (0x20..0x7f).contains(&b)) {
                return Err("has characters that a header cannot carry".to_owned());
            }
            check_text(value, asker)?;
            Ok(value.to_owned())
        });
        headers.push(value.value().map(|value| (name.to_ascii_lowercase(), value)));
    }
    headers.into_iter().collect()
}

fn check_name(name: &str) -> Result<(), String> {
    if !words::is_token(name) {
        return Err("is not a header's name".to_owned());
    }
    let lower = name.to_ascii_lowercase();
    if let Some((_, why)) = NOT_OURS.iter().find(|(names, _)| names.contains(&lower.as_str())) {
        return Err((*why).to_owned());
    }
    if SECRET_WORDS.iter().any(|word| lower.contains(word)) {
        return Err(format!("reads like a secret; let it travel by credential = {{ header = {name:?}, ... }}"));
    }
    Ok(())
}
