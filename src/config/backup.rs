//! `[backup]`: backups that are made without anybody asking. Knows keys and words; when one is due is for `crate::rules::backup`.

use super::place::Problems;
use super::section::Section;
use super::words;
use crate::domain::backup::{BackupSpec, KEEP, When};
use std::path::Path;

pub(super) const BACKUP: [&str; 5] = ["folder", "every", "at", "time_zone", "keep"];

/// More would fill any disk.
const MOST: u64 = 10_000;

/// `folder` is where a relative one begins. `None`: there is no such table.
pub(super) fn read(section: Option<&Section<'_>>, folder: &Path, p: &mut Problems) -> Option<BackupSpec> {
    let section = section?;
    section.only(&BACKUP, &[], p);
    let place = section.parsed("folder", p, |text| match text.is_empty() {
        true => Err("must be the path of a folder".to_owned()),
        false => Ok(folder.join(text)),
    });
    let place = place.required(&section.place, "folder", "the folder that the backups are written to", p);
    let keep = section.whole("keep", (1, MOST), p).value().and_then(|n| u32::try_from(n).ok()).unwrap_or(KEEP);
    let every = section.span("every", p);
    let at = section.parsed("at", p, words::time_of_day);
    let time_zone = section.parsed("time_zone", p, words::time_zone);
    if section.has("every") == section.has("at") {
        p.add(&section.place, "needs one of every (such as \"24h\") and at (such as \"03:30\")");
        return None;
    }
    if section.has("time_zone") && !section.has("at") {
        p.add(&section.place_of("time_zone"), "means something only with at");
    }
    let when = match (every.value(), at.value()) {
        (Some(every), _) => When::Every(every),
        (None, Some(at)) => When::Daily { at, time_zone: time_zone.unwrap_or("UTC".to_owned()) },
        (None, None) => return None,
    };
    Some(BackupSpec { folder: place?, when, keep })
}
