//! Putting a copy in the place of the data file: checked first, under a name of its own; then both change places in one step, so that a crash
//! leaves the one or the other and never none. What was there is kept. Must not know what an appliance makes of it: see `restored`.

use super::StoreError;
use super::backup;
use super::files::{self, End, Lent, Scratch};
use super::open::{self, Pages};
use super::sentences::{self, Doing};
use super::survey::Contents;
use crate::clock::ClockMark;
use crate::domain::time::Wall;
use crate::rules::calendar::{compact, rfc3339};
use redb::backends::FileBackend;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CACHE: usize = 8 << 20;

/// What becomes of a data file that is newer than the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newer {
    /// Nothing: the copy is refused.
    Stays,
    /// It is kept under another name, as an older one.
    GivesWay,
}

/// Puts a copy of `copy`, a backup or a plain copy, in the place of `data`. Refused while an appliance has `data` open. `at` names what was there.
/// Returns a sentence.
pub fn restore(copy: &Path, data: &Path, newer: Newer, at: Wall) -> Result<String, StoreError> {
    let (name, from) = (data.display().to_string(), copy.display().to_string());
    let folder = files::folder_of(data);
    if !folder.is_dir() {
        return Err(sentences::folder_missing(&name, &folder.display().to_string()));
    }
    let there = data.symlink_metadata().is_ok();
    if there && is_same(copy, data) {
        return Err(StoreError::Io(format!(
            "{from} is the data file itself: name a backup of it. Nothing was changed"
        )));
    }
    // Held to the end: nobody begins to use what is about to go.
    let _lock = if there { Some(open::locked(data)?) } else { None };
    let part = Scratch(files::beside(data, "restore"));
    let contents = checked(copy, &part, &name)?;
    if there && newer == Newer::Stays {
        refuse_newer((&name, data), (&from, &contents))?;
    }
    keep_owner(&part.0, if there { data } else { folder })
        .map_err(|e| sentences::explain_io(&name, Doing::Writing, &e))?;
    let was = take_place(part, data, there, at).map_err(|e| sentences::explain_io(&name, Doing::Writing, &e))?;
    let kept = was.map(|was| format!("; the file that was there is kept as {}", was.display())).unwrap_or_default();
    Ok(format!(
        "{name} is a copy of {from} now{kept}. In it are {}. At its next start Larder takes the limits as used as far as they can have been since",
        contents.sentence()
    ))
}

fn is_same(copy: &Path, data: &Path) -> bool {
    let of = |path: &Path| fs::metadata(path).map(|there| (there.dev(), there.ino())).ok();
    of(copy).is_some() && of(copy) == of(data)
}

/// Every page and record of it, as `larder verify` does; and from then on it knows what it is.
fn checked(copy: &Path, part: &Scratch, name: &str) -> Result<Contents, StoreError> {
    backup::copy_to(copy, part, |e| sentences::explain_io(name, Doing::Writing, &e))?;
    let from = copy.display().to_string();
    let contents = backup::check(&part.0, &from)?;
    let file = OpenOptions::new().read(true).write(true).open(&part.0);
    let failed = |e: io::Error| sentences::explain_io(&from, Doing::Opening, &e);
    let disk = FileBackend::new(file.map_err(failed)?).map_err(|e| sentences::explain(&from, Doing::Opening, e))?;
    let db = open::start(&from, Lent::new(Arc::new(disk), End::Closes), CACHE, Pages::Trusted)?;
    let newest = contents.newest.unwrap_or_default();
    let made = ClockMark { steady: newest.steady, wall: newest.wall, era: newest.era, ..ClockMark::default() };
    backup::mark(&db, &from, &made)?;
    db.close().map_err(|e| sentences::explain(&from, Doing::Closing, e))?;
    Ok(contents)
}

/// One that cannot be read is not newer than anything: it is kept as every other.
fn refuse_newer((name, data): (&str, &Path), (from, contents): (&str, &Contents)) -> Result<(), StoreError> {
    let Ok((_, current)) = backup::look_at(data) else { return Ok(()) };
    let wall = |contents: &Contents| contents.newest.map(|newest| newest.wall);
    let (Some(is), Some(was)) = (wall(&current), wall(contents).or(Some(Wall::default()))) else { return Ok(()) };
    if is <= was {
        return Ok(());
    }
    Err(StoreError::Io(format!(
        "{name} is newer than {from}: the newest in it is from {}, and of the copy from {}. Nothing was changed: say --force to put the copy in \
         its place all the same; what is there is kept under another name",
        rfc3339(is),
        if contents.newest.is_some() { rfc3339(was) } else { "no time at all".to_owned() }
    )))
}

/// Who restores as root does not take the file away from the user that runs Larder.
fn keep_owner(part: &Path, like: &Path) -> io::Result<()> {
    let (own, like) = (fs::metadata(part)?, fs::metadata(like)?);
    if (own.uid(), own.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    chown(part, Some(like.uid()), Some(like.gid()))
}

/// The name under which the file that was there is kept.
fn take_place(part: Scratch, data: &Path, there: bool, at: Wall) -> io::Result<Option<PathBuf>> {
    if !there {
        files::publish(&part.0, data)?;
        return Ok(None);
    }
    files::exchange(&part.0, data)?;
    // From here on this is the file that was there: whatever fails now, it is not scratch.
    let was = part.keep();
    files::settle(data)?;
    let mut kept = data.file_name().unwrap_or_default().to_owned();
    kept.push(format!(".before-restore-{}", compact(at)));
    let kept = files::folder_of(data).join(kept);
    // Two within a second: then it keeps the name that it has.
    Ok(Some(match files::publish(&was, &kept) {
        Ok(()) => kept,
        Err(_) => was,
    }))
}
