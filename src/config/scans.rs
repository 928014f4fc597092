//! `[[connection.scan]]`: one reading that feeds many targets (F12). Its keys are those of a target's question, and whom the rows belong to;
//! how long an answer is fresh is for the targets to say.

use super::pages::{self, Bounds};
use super::place::{Placed, Problems};
use super::section::Section;
use super::targets;
use crate::domain::scan::ScanSpec;
use crate::rules::extract::path::Path;

pub(super) const SCAN: [&str; 18] = [
    "name",
    "get",
    "post",
    "body",
    "content_type",
    "headers",
    "cost",
    "cost_from",
    "page",
    "items",
    "key",
    "title",
    "fields",
    "state",
    "volatile",
    "observed_at",
    "feeds",
    "interval",
];

/// A thousand targets of some hundred rows each, and as much again.
const BOUNDS: Bounds = Bounds { pages: 1_000, items: 1_000_000, bytes: 1 << 30 };

pub(super) fn read(section: &Section<'_>, p: &mut Problems) -> Vec<Placed<Option<ScanSpec>>> {
    let sections = section.tables("scan", p);
    let read = |scan: Section<'_>| Placed { place: scan.place.clone(), value: read_one(&scan, p) };
    sections.into_iter().map(read).collect()
}

fn read_one(section: &Section<'_>, p: &mut Problems) -> Option<ScanSpec> {
    section.only(&SCAN, &[], p);
    let page = pages::read(section, BOUNDS, p);
    if page.as_ref().is_some_and(|page| page.as_ref().is_some_and(|page| page.first_confirms_all)) {
        let sentence = "does nothing for a scan, which is always read whole; take it out";
        p.add(&section.place_of("page").below("first_confirms_all"), sentence);
    }
    let name_of_target = "in each row the name of the target that it belongs to, such as \"$.subsector\"";
    let feeds = section.parsed("feeds", p, |text| Path::parse(text).map(|_| text.to_owned()));
    let feeds = feeds.required(&section.place, "feeds", name_of_target, p);
    let interval = section.span("interval", p).value();
    let question = targets::read_question(section, page, p)?;
    if question.get.is_none() && !section.has("get") && !section.has("post") {
        p.add(&section.place.below("get"), "is missing: the path to ask, here or as `post`");
    }
    Some(ScanSpec { question, feeds: feeds?, interval })
}
