//! `[[connection.quota]]`: where a provider states its own count of one limit. Knows keys; what follows from a count is for
//! `crate::rules`.

use super::place::{Placed, Problems, suggestion};
use super::section::Section;
use crate::domain::limit::Limit;
use crate::domain::quota::{CountPlace, QuotaSpec};
use crate::rules::extract::path::Path;

pub(super) const QUOTA: [&str; 5] = ["limit", "total", "remaining", "used", "reset"];
pub(super) const FIGURE: [&str; 2] = ["header", "json"];

pub(super) fn read(section: &Section<'_>, p: &mut Problems) -> Vec<Placed<Option<QuotaSpec>>> {
    let sections = section.tables("quota", p);
    sections.into_iter().map(|quota| Placed { value: read_one(&quota, p), place: quota.place.clone() }).collect()
}

fn read_one(section: &Section<'_>, p: &mut Problems) -> Option<QuotaSpec> {
    section.only(&QUOTA, &[], p);
    let limit = section.text("limit", p).required(&section.place, "limit", "the name of the limit that is counted", p);
    if !["total", "remaining", "used"].iter().any(|key| section.has(key)) {
        p.add(&section.place, "needs at least one of total, remaining and used: where the provider states its count");
        return None;
    }
    let mut figure = |key| section.table(key, p).map(|table| read_figure(&table, p));
    let (total, remaining, used, reset) = (figure("total"), figure("remaining"), figure("used"), figure("reset"));
    let sound = |place: Option<Option<CountPlace>>| place.map_or(Some(None), |inner| inner.map(Some));
    Some(QuotaSpec {
        limit: limit?,
        total: sound(total)?,
        remaining: sound(remaining)?,
        used: sound(used)?,
        reset: sound(reset)?,
    })
}

/// `{ header = "x-left" }` or `{ json = "$.quota.left" }`.
fn read_figure(table: &Section<'_>, p: &mut Problems) -> Option<CountPlace> {
    table.only(&FIGURE, &[], p);
    let header = table.text("header", p).value().map(|name| CountPlace::Header(name.to_ascii_lowercase()));
    let path = |text: &str| Path::parse(text).map(|_| text.to_owned());
    let json = table.parsed("json", p, path).value().map(CountPlace::Json);
    if FIGURE.iter().filter(|key| table.has(key)).count() != 1 {
        p.add(&table.place, "needs exactly one of header and json: where the figure stands");
        return None;
    }
    header.or(json)
}

/// Each speaks of a limit that is declared.
pub(super) fn finish(quotas: Vec<Placed<Option<QuotaSpec>>>, limits: &[Limit], p: &mut Problems) -> Vec<QuotaSpec> {
    let names: Vec<&str> = limits.iter().map(|limit| limit.name.as_str()).collect();
    let sound = quotas.into_iter().filter_map(|placed| Some((placed.place, placed.value?)));
    sound
        .inspect(|(place, quota)| {
            if !names.contains(&quota.limit.as_str()) {
                let nearest = suggestion(&quota.limit, &names);
                p.add(
                    &place.below("limit"),
                    format!("there is no limit {:?} in this connection{nearest}", quota.limit),
                );
            }
        })
        .map(|(_, quota)| quota)
        .collect()
}
