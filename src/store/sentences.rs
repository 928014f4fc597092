//! Sentences about a file that cannot be used or written. Each says what is wrong, that nothing was lost, and what to
//! do next. Knows error kinds; must not open or change anything.

use super::codec::Damaged;
use super::pin::Told;
use super::tables::Table;
use super::{StoreError, TICK};
use crate::domain::time::Span;
use std::io;

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Opening,
    Reading,
    Writing,
    Closing,
}

pub(super) fn explain(place: &str, doing: Doing, error: impl Into<redb::Error>) -> StoreError {
    use redb::Error as E;
    match error.into() {
        E::DatabaseAlreadyOpen | E::LockProtocolMismatch => locked(place),
        E::UpgradeRequired(format) => StoreError::Corrupt(format!(
            "{place} has the old redb format {format}, which no larder ever wrote. Nothing was changed: move the file away \
             or name another one under `data`"
        )),
        E::Corrupted(detail) => corrupt(place, &detail),
        E::Io(error) => explain_io(place, doing, &error),
        E::DatabaseClosed => StoreError::Closed,
        E::PreviousIo => StoreError::Io(format!(
            "{place} could not be {}, because an earlier write failed; nothing that was confirmed is lost. It is opened \
             again with the next write",
            past(doing)
        )),
        other => StoreError::Io(format!("{place} could not be {}: {other}", past(doing))),
    }
}

pub(super) fn explain_io(place: &str, doing: Doing, error: &io::Error) -> StoreError {
    use io::ErrorKind as K;
    match error.kind() {
        K::StorageFull | K::QuotaExceeded => StoreError::Full(format!(
            "the disk is full: free some space beside {place}; nothing was lost, polling waits until a write works again"
        )),
        K::FileTooLarge => StoreError::Full(format!(
            "{place} has reached the largest size that its file system allows; nothing was lost, polling waits"
        )),
        K::PermissionDenied => StoreError::Io(format!(
            "{place} may not be {} by this user: give the file and its folder to the user that runs larder. Nothing was \
             changed",
            past(doing)
        )),
        K::ReadOnlyFilesystem => StoreError::Io(format!(
            "{place} is on a file system that is mounted read-only: mount it writable (a worn-out card does this by \
             itself: take a backup first). Nothing was changed"
        )),
        K::InvalidData => corrupt(place, &error.to_string()),
        // A copy that was broken off, or a card that lost the end of it.
        K::UnexpectedEof => corrupt(place, "it ends before its last page"),
        _ => StoreError::Io(format!(
            "{place} could not be {} ({error}); nothing that was confirmed is lost",
            past(doing)
        )),
    }
}

const fn past(doing: Doing) -> &'static str {
    match doing {
        Doing::Opening => "opened",
        Doing::Reading => "read",
        Doing::Writing => "written",
        Doing::Closing => "closed",
    }
}

pub(super) fn locked(place: &str) -> StoreError {
    StoreError::Locked(format!(
        "{place} is in use by another larder: stop that one, or talk to it (`larder status`). Two can never share a file"
    ))
}

pub(super) fn moved(place: &str) -> StoreError {
    StoreError::Io(format!(
        "{place} was moved or deleted while it is in use, so nothing is sent: move it back, and Larder goes on by itself; or \
         stop it, put the file or a backup in its place, and start again"
    ))
}

pub(super) fn replaced(place: &str) -> StoreError {
    StoreError::Io(format!(
        "{place} is another file than the one that is in use, so nothing is sent: move that one back, and Larder goes on by \
         itself; or stop it and start it again, and it takes the file that is there now"
    ))
}

pub(super) fn newer(place: &str, found: u64, known: u64) -> StoreError {
    StoreError::Newer(format!(
        "{place} was written by a newer larder (format {found}, this one knows up to {known}). Nothing was changed: start \
         the newer larder, or put back a backup from before the upgrade"
    ))
}

pub(super) fn older(place: &str) -> StoreError {
    StoreError::Io(format!("{place} was written by an older larder and has to be brought up to this one first"))
}

pub(super) fn newer_redb(place: &str, format: u8) -> StoreError {
    StoreError::Newer(format!(
        "{place} has the storage format {format}, which this larder does not know. Nothing was changed: start the larder \
         that wrote it"
    ))
}

pub(super) fn corrupt(place: &str, detail: &str) -> StoreError {
    StoreError::Corrupt(format!(
        "{place} is damaged ({detail}). Nothing was deleted: keep the file, put the newest backup in its place (`larder \
         verify BACKUP` says what is in it), and start again"
    ))
}

pub(super) fn foreign(place: &str) -> StoreError {
    StoreError::Corrupt(format!(
        "{place} is not a larder file. Nothing was changed: name another file under `data`, or move this one away"
    ))
}

pub(super) fn empty(place: &str) -> StoreError {
    StoreError::Corrupt(format!(
        "{place} is empty (0 bytes): a copy that failed, perhaps. Nothing was created over it: put a backup in its place, \
         or delete it to begin anew"
    ))
}

pub(super) fn folder_missing(place: &str, folder: &str) -> StoreError {
    StoreError::Io(format!(
        "{place} cannot be created, its folder {folder} does not exist: create the folder, or name another file"
    ))
}

pub(super) fn is_a_folder(place: &str) -> StoreError {
    StoreError::Io(format!("{place} is a folder: name a file inside it under `data`"))
}

pub(super) fn unreadable(place: &str, table: Table, damaged: &Damaged) -> StoreError {
    corrupt(place, &format!("a row of `{}` cannot be read: {}", table.name(), damaged.0))
}

pub(super) fn unwritable(table: Table, damaged: &Damaged) -> StoreError {
    StoreError::Io(format!("a row of `{}` was not written: {}", table.name(), damaged.0))
}

/// In the log: what became of the old pages of a file that somebody else has open.
pub(super) fn tell_copying(place: &str, told: Told) {
    let minutes = |ticks: u64| Span(TICK.0.saturating_mul(ticks));
    match told {
        Told::Kept { ticks } => {
            tracing::info!(
                "{place} was open elsewhere for {}; what a copy of it needs was kept meanwhile",
                minutes(ticks)
            );
        }
        Told::GivenUp { ticks, written } => tracing::warn!(
            "{place} has been open elsewhere for {}, and {} MB were written meanwhile: old pages are kept for that no longer. If it is a copy, \
             it will be refused when it is opened; `larder backup` makes one that takes as long as it likes",
            minutes(ticks),
            written >> 20
        ),
    }
}

pub(super) fn repaired(place: &str) -> String {
    format!("{place} was not closed by the last run: every page was checked and nothing that was confirmed is lost")
}

pub(super) fn copy_checked(place: &str) -> String {
    format!("{place} is a copy of a file that was in use: every page of it was checked, and it is whole")
}
