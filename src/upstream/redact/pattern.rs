//! One pattern that matches every spelling of every secret. Knows encodings; knows nothing of where texts come from.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use regex::bytes::{Regex, RegexBuilder};
use std::fmt::Write;

/// Shortest stretch of base64 that is taken for a secret.
const SHORTEST_BASE64: usize = 6;

/// Shortest text behind a colon inside a secret that is taken for a password of its own.
const SHORTEST_PASSWORD: usize = 8;

/// Shortest secret that is looked for as hexadecimal digits too.
const SHORTEST_HEX: usize = 8;

/// Above this a value is found by its ends: signed tokens have kilobytes, and every byte of a pattern costs memory.
const LONG: usize = 256;
/// So much of each end.
const END: usize = 64;
/// Bytes that one byte of a value takes in its longest usual spelling: `\\\\u002F`, `%2525252F`.
const SPELLED: usize = 9;

/// The beginning with everything that can belong to a token behind it, or the end with everything before it (of a text that was cut
/// in front).
fn long_spelling(bytes: &[u8]) -> String {
    let (front, back) = (any_spelling(&bytes[..END]), any_spelling(&bytes[bytes.len() - END..]));
    format!(r"{front}[A-Za-z0-9._~+/=%\-]*|[A-Za-z0-9._~+-]*{back}")
}

/// `None` where there is nothing to find.
pub(super) fn compile(values: &[&str]) -> Option<Regex> {
    let mut needles: Vec<String> = values.iter().flat_map(|v| known_forms(v)).collect();
    // The longest first: a secret that begins like another one is removed whole.
    needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    needles.dedup();
    let mut pattern = String::new();
    for needle in &needles {
        let separator = if pattern.is_empty() { "" } else { "|" };
        let bytes = needle.as_bytes();
        let spelled = match needle.len() {
            n if n > LONG => long_spelling(bytes),
            n if n < SHORTEST_HEX => any_spelling(bytes),
            _ => format!("{}|{}", any_spelling(bytes), bytes.iter().map(|b| any_case_hex(*b)).collect::<String>()),
        };
        let _ = write!(pattern, "{separator}(?:{spelled})");
    }
    if pattern.is_empty() {
        return None;
    }
    // Every byte is spelled out by `any_spelling`, so the pattern is well formed; should the engine refuse it for its
    // size, a pattern that removes everything is the safe answer.
    let built = RegexBuilder::new(&pattern).unicode(false).size_limit(256 << 20).dfa_size_limit(16 << 20).build();
    built.or_else(|_| RegexBuilder::new("(?s).+").unicode(false).build()).ok()
}

/// Bytes within which every value shows itself, however it is spelled: whole, or by its front where it is found by its ends.
pub(super) fn reach(values: &[&str]) -> usize {
    let shown = |needle: String| if needle.len() > LONG { END } else { needle.len() };
    SPELLED * values.iter().flat_map(|value| known_forms(value)).map(shown).max().unwrap_or(0)
}

/// The value, what it hides if it is itself base64 of `user:password`, and each of them inside a longer base64 text.
fn known_forms(value: &str) -> Vec<String> {
    let mut plain = vec![value.to_owned()];
    // `basic = true`: the secret is `user:password`, and the password alone is as secret.
    plain.extend(
        value.split_once(':').map(|(_, password)| password.to_owned()).filter(|p| p.len() >= SHORTEST_PASSWORD),
    );
    let decoded = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some((user, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) {
        plain.push(format!("{user}:{password}"));
        if password.len() >= super::SHORTEST_SECRET {
            plain.push(password.to_owned());
        }
    }
    let encoded: Vec<String> = plain.iter().flat_map(|p| inside_base64(p.as_bytes())).collect();
    plain.extend(encoded);
    plain
}

/// How `bytes` look inside base64, at each of the three alignments, without the characters that their neighbours share.
fn inside_base64(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for (before, shared) in [(0, 0), (1, 2), (2, 3)] {
        let mut padded = vec![0; before];
        padded.extend_from_slice(bytes);
        let cut_end = usize::from(!padded.len().is_multiple_of(3));
        for text in [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            let core = text.get(shared..text.len() - cut_end).unwrap_or_default();
            if core.len() >= SHORTEST_BASE64 {
                found.push(core.to_owned());
            }
        }
    }
    found
}

/// Each byte as itself (with any escaping backslashes), as `%2F` (any case, also encoded again) or as `\u002f`; a letter beyond ASCII
/// also as the escapes of JSON, which are of UTF-16.
fn any_spelling(bytes: &[u8]) -> String {
    let mut pattern = String::with_capacity(bytes.len() * 40);
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let mut room = [0; 4];
            let spelled = each_byte(letter.encode_utf8(&mut room).as_bytes());
            let _ = match letter.is_ascii() {
                true => write!(pattern, "{spelled}"),
                false => write!(pattern, "(?:{spelled}|{})", json_escapes(letter)),
            };
        }
        pattern.push_str(&each_byte(chunk.invalid()));
    }
    pattern
}

fn json_escapes(letter: char) -> String {
    let mut room = [0; 2];
    let units = letter.encode_utf16(&mut room).iter();
    units.map(|unit| format!(r"\\+u{}{}", any_case_hex((unit >> 8) as u8), any_case_hex(*unit as u8))).collect()
}

fn each_byte(bytes: &[u8]) -> String {
    let mut pattern = String::with_capacity(bytes.len() * 40);
    for &b in bytes {
        let literal = if b == b' ' { r"[\x20+]".to_owned() } else { format!(r"\x{b:02X}") };
        let escape = if b.is_ascii_alphanumeric() { "" } else { r"\\*" };
        let hex = any_case_hex(b);
        let _ = write!(pattern, r"(?:{escape}{literal}|%(?:25)*{hex}|\\+u00{hex})");
    }
    pattern
}

fn any_case_hex(byte: u8) -> String {
    let digit = |d: char| {
        if d.is_ascii_digit() { d.to_string() } else { format!("[{}{d}]", d.to_ascii_lowercase()) }
    };
    format!("{byte:02X}").chars().map(digit).collect()
}
