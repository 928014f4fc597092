//! A recipe's own source of waits, compiled: where it stands and how it is written. Where a recipe reads a header or a member, its
//! unit is the right one and the general reading is left out (A17). Must not know the general names.

use super::super::Reading;
use super::super::recipe;
use super::headers::Hint;
use super::{bodies, forms};
use crate::domain::time::{Span, Wall};
use crate::domain::wait::{WaitForm, WaitPlace, WaitSource};
use crate::rules::extract::path::Path;
use jiff::tz::TimeZone;
use regex::Regex;

#[derive(Debug)]
pub(super) struct Source {
    name: String,
    place: Place,
    form: WaitForm,
    status: Vec<u16>,
    zone: TimeZone,
}

#[derive(Debug)]
enum Place {
    Header(String),
    Json(Path),
    Text(Regex),
}

impl Source {
    pub(super) fn compile(spec: &WaitSource) -> Result<Source, String> {
        let wrong = |key: &str, why: String| format!("wait `{}`: {key}: {why}", spec.name);
        let place = match &spec.place {
            WaitPlace::Header(name) => Place::Header(name.to_ascii_lowercase()),
            WaitPlace::Json(path) => Place::Json(Path::parse(path).map_err(|why| wrong("json", why))?),
            WaitPlace::Text(pattern) => Place::Text(one_group(pattern).map_err(|why| wrong("text", why))?),
        };
        let zone = match &spec.time_zone {
            Some(name) => {
                TimeZone::get(name).map_err(|_| wrong("time_zone", format!("`{name}` is not a time zone")))?
            }
            None => TimeZone::UTC,
        };
        Ok(Source { name: spec.name.clone(), place, form: spec.form, status: spec.status.clone(), zone })
    }

    pub(super) fn reads_header(&self, name: &str) -> bool {
        matches!(&self.place, Place::Header(own) if own.eq_ignore_ascii_case(name))
    }

    pub(super) fn reads_json(&self) -> bool {
        matches!(self.place, Place::Json(_))
    }

    pub(super) fn hint(&self, reading: &Reading<'_>, now: Wall) -> Option<Hint> {
        if !self.status.is_empty() && !self.status.contains(&reading.answer.status) {
            return None;
        }
        let read = |text: &str| forms::read(self.form, text, now, &self.zone);
        let wait: Option<Span> = match &self.place {
            Place::Header(name) => {
                let own = reading.answer.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
                own.filter_map(|(_, value)| read(value)).max()
            }
            Place::Json(path) => {
                let nodes = reading.json.as_ref().map(|body| path.nodes(body)).unwrap_or_default();
                nodes.into_iter().filter_map(bodies::text_of).filter_map(|text| read(&text)).max()
            }
            Place::Text(pattern) => {
                let text = reading.text.as_ref();
                let text = &text[..text.floor_char_boundary(super::LOOKED_AT)];
                pattern.captures_iter(text).filter_map(|c| read(c.get(1)?.as_str())).max()
            }
        };
        Some((self.name.clone(), wait?))
    }
}

fn one_group(pattern: &str) -> Result<Regex, String> {
    let regex = recipe::regex(pattern)?;
    match regex.captures_len() {
        2 => Ok(regex),
        n => Err(format!("`{pattern}` has {} groups and needs exactly one, around the wait", n - 1)),
    }
}
