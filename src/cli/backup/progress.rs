//! How far a backup is, on a line of the terminal that is written over and gone at its end: seen by the size of the file that is being written.
//! Where nobody looks at a terminal nothing is said. Knows how that file is named, not how it is made.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(500);
/// Carriage return, and the rest of the line is erased (ECMA-48).
const AGAIN: &str = "\r\x1b[K";

pub struct Progress {
    /// `None`: nobody looks.
    folder: Option<PathBuf>,
    /// The file that is written has this name, a number and `.part`.
    prefix: OsString,
    /// The copy is no larger than the file.
    most: u64,
}

impl Progress {
    pub fn of(destination: &Path, data: &Path) -> Progress {
        let mut prefix = destination.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let most = std::fs::metadata(data).map_or(0, |data| data.len());
        let folder = destination.parent().filter(|_| std::io::stderr().is_terminal()).map(Path::to_owned);
        Progress { folder, prefix, most }
    }

    pub async fn until<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(folder) = &self.folder else { return work.await };
        tokio::pin!(work);
        let mut tick = tokio::time::interval(EVERY);
        let mut begun = false;
        loop {
            tokio::select! {
                done = &mut work => {
                    say(AGAIN);
                    return done;
                }
                _ = tick.tick() => {
                    let written = self.written(folder);
                    begun |= written.is_some();
                    say(&format!("{AGAIN}{}", line(begun, written, self.most)));
                }
            }
        }
    }

    fn written(&self, folder: &Path) -> Option<u64> {
        let ours = |name: &OsString| {
            let name = name.as_encoded_bytes();
            name.starts_with(self.prefix.as_encoded_bytes()) && name.ends_with(b".part")
        };
        let files = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
        files.filter(|file| ours(&file.file_name())).find_map(|file| file.metadata().ok()).map(|part| part.len())
    }
}

fn line(begun: bool, written: Option<u64>, most: u64) -> String {
    let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    match (written, begun) {
        (Some(written), _) => {
            format!("copying and checking: {} written, of {} at most ", mb(written), mb(most.max(written)))
        }
        (None, true) => "nearly done ".to_owned(),
        (None, false) => "asking Larder ".to_owned(),
    }
}

/// Where nobody can see it, nothing is lost.
fn say(text: &str) {
    let mut out = std::io::stderr().lock();
    _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_it_is() {
        assert_eq!(line(false, None, 9), "asking Larder ");
        assert_eq!(line(true, Some(1_540_000), 4_200_000), "copying and checking: 1.5 MB written, of 4.2 MB at most ");
        assert_eq!(line(true, None, 9), "nearly done ");
    }

    #[tokio::test]
    async fn the_file_that_is_written_is_found() {
        let folder = tempfile::TempDir::new().unwrap();
        let place = |name: &str| folder.path().join(name);
        let progress =
            Progress { folder: Some(folder.path().to_owned()), ..Progress::of(&place("b.redb"), &place("data")) };
        assert_eq!(progress.written(folder.path()), None);
        std::fs::write(place("c.redb.7.part"), "others").unwrap();
        std::fs::write(place("b.redb.7.part"), "ours").unwrap();
        assert_eq!(progress.written(folder.path()), Some(4));
        assert_eq!(progress.until(async { 5 }).await, 5);
    }
}
