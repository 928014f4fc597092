//! Single values: durations, times of day, names, addresses. Each text in, value or sentence out; knows no key.

pub(super) use crate::rules::gateway::is_token;

use super::place::{nearest, suggestion};
use crate::domain::limit::TimeOfDay;
use crate::domain::spec::{Format, Salvage};
use crate::domain::time::Span;
use std::net::IpAddr;

/// `250ms`, `75s`, `5m`, `48h`, `7d`.
pub(super) fn span(text: &str) -> Result<Span, String> {
    Span::parse(text)
}

/// `00:00` to `23:59`.
pub(super) fn time_of_day(text: &str) -> Result<TimeOfDay, String> {
    let minutes = || {
        let (hours, minutes) = text.split_once(':')?;
        let two_digits = |t: &str| t.len() == 2 && t.bytes().all(|b| b.is_ascii_digit());
        if !two_digits(hours) || !two_digits(minutes) {
            return None;
        }
        let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
        (hours < 24 && minutes < 60).then_some(TimeOfDay(hours * 60 + minutes))
    };
    minutes().ok_or_else(|| format!("{text:?} is not a time of day; write it as \"00:00\" to \"23:59\""))
}

/// A name of the IANA time zone database.
pub(super) fn time_zone(text: &str) -> Result<String, String> {
    if jiff::tz::db().get(text).is_ok() {
        return Ok(text.to_owned());
    }
    let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    let meant = nearest(text, known.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |zone| format!("; did you mean {zone:?}?"));
    Err(format!("{text:?} is not a time zone{meant}"))
}

/// A name of a target, which another system may have given it: letters of either case, digits, `-`, `_` and `.`.
pub(super) fn target_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > 64 {
        return Err("must have 1 to 64 characters".to_owned());
    }
    if !text.chars().all(fits) || !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err(format!(
            "{text:?} is not the name of a target; use letters, digits, -, _ and ., beginning with a letter or a digit"
        ));
    }
    Ok(text.to_owned())
}

/// A name that fits a URL and a metric label: lower-case letters, digits, `-` and `_`.
pub(super) fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if text.is_empty() || text.len() > 64 {
        return Err("must have 1 to 64 characters".to_owned());
    }
    if !text.chars().all(fits) || !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err(format!("{text:?} is not a name; use a-z, 0-9, - and _, beginning with a letter or a digit"));
    }
    Ok(text.to_owned())
}

/// `scheme://host[:port][/path]` without a trailing slash. The sentence does not quote the text: a key may be in it.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let rest = rest.ok_or("must begin with http:// or https://")?;
    if text.contains(['?', '#']) {
        return Err("must have no ? and no #; parameters belong to `get`, the key to `credential`".to_owned());
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("must have no spaces".to_owned());
    }
    let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.contains('@') {
        return Err("must have no user name and no password; use `credential`".to_owned());
    }
    host_and_port(authority)?;
    Ok(text.trim_end_matches('/').to_owned())
}

fn host_and_port(authority: &str) -> Result<(), String> {
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (authority, None),
    };
    if let Some(port) = port
        && !port.parse::<u16>().is_ok_and(|p| p > 0)
    {
        return Err("has a port that is not a number from 1 to 65535".to_owned());
    }
    match name.strip_prefix('[') {
        Some(v6) if v6.strip_suffix(']').is_some_and(|a| a.parse::<std::net::Ipv6Addr>().is_ok()) => Ok(()),
        Some(_) => Err("has brackets around what is no IPv6 address".to_owned()),
        None => host(name).map(|_| ()).map_err(|_| "has no valid host name".to_owned()),
    }
}

/// A host name or an IP address, without port.
pub(super) fn host(text: &str) -> Result<String, String> {
    let label = |l: &str| {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !l.is_empty() && l.len() <= 63 && l.bytes().all(fits)
    };
    let named = text.len() <= 253 && text.trim_end_matches('.').split('.').all(label);
    if named || text.parse::<IpAddr>().is_ok() {
        return Ok(text.to_ascii_lowercase());
    }
    Err(format!("{text:?} is not a host name; write it without scheme and port, such as \"larder.home.arpa\""))
}

/// What stands behind the host in a request: begins with `/`, has no fragment and no blanks.
pub(super) fn request_path(text: &str) -> Result<String, String> {
    if !text.starts_with('/') {
        return Err("must begin with /; it is added to base_url".to_owned());
    }
    if text.contains('#') {
        return Err("must have no #; a fragment is never sent".to_owned());
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("must have no spaces; write %20".to_owned());
    }
    Ok(text.to_owned())
}

/// A label of the WHATWG Encoding Standard.
pub(super) fn charset(text: &str) -> Result<String, String> {
    match crate::rules::text::knows_charset(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is not a character set that is known, such as \"utf-16le\" or \"iso-8859-1\"")),
    }
}

pub(super) fn salvage(text: &str) -> Result<Salvage, String> {
    match text {
        "nan" => Ok(Salvage::Nan),
        _ => Err(format!("{text:?} is unknown; \"nan\" reads NaN and Infinity as unknown")),
    }
}

pub(super) fn format(text: &str) -> Result<Format, String> {
    match text {
        "json" => Ok(Format::Json),
        "xml" => Ok(Format::Xml),
        _ => Err(format!("{text:?} is no format of answers{}", suggestion(text, &["json", "xml"]))),
    }
}

/// Bytes: `10MiB`, `512KiB`, `2000`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" => Some(1u64),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        _ => None,
    };
    let bytes = number.parse::<u64>().ok().zip(factor).and_then(|(n, f)| n.checked_mul(f));
    bytes
        .filter(|n| (1..=1 << 30).contains(n))
        .ok_or_else(|| format!("{text:?} is not a size; write bytes or \"512KiB\", \"10MiB\", up to \"1024MiB\""))
}
