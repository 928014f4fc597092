//! The provider's memory: its log on disk, so that it remembers its quota when the process that it lives in is killed.
//! A provider that forgot would make Larder's own memory look better than it is.

use super::count::{Count, Entry, Verdict};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// One line per request: `<ms by the provider's clock> <endpoint> <verdict>`.
pub struct Book {
    file: File,
}

impl Book {
    /// Reads back what still matters (younger than `window`) into `count`, and starts the book anew with it.
    pub fn open(path: &Path, count: &mut Count, now: Duration, window: Duration) -> io::Result<Book> {
        let old = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(e),
        };
        let young: Vec<Entry> = old.lines().filter_map(parse).filter(|e| now.saturating_sub(e.at) < window).collect();
        std::fs::write(path, young.iter().map(line).collect::<String>())?;
        young.iter().for_each(|e| _ = count.note(&e.endpoint, e.at, e.verdict));
        Ok(Book { file: OpenOptions::new().append(true).open(path)? })
    }

    /// A provider that cannot write its book goes on counting.
    pub fn write(&mut self, entry: &Entry) {
        _ = self.file.write_all(line(entry).as_bytes());
    }
}

fn line(e: &Entry) -> String {
    format!("{} {} {}\n", e.at.as_millis(), e.endpoint, e.verdict.word())
}

/// A line cut short by a kill is nobody's line.
fn parse(line: &str) -> Option<Entry> {
    let mut words = line.split(' ');
    let at = Duration::from_millis(words.next()?.parse().ok()?);
    let endpoint = words.next()?.to_owned();
    let verdict = Verdict::from_word(words.next()?)?;
    Some(Entry { at, endpoint, counted: verdict == Verdict::Counted, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_provider_remembers_the_window_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("provider.log");
        let window = Duration::from_secs(30);
        let second = Duration::from_secs;
        let mut count = Count::new(5, window);
        let mut book = Book::open(&path, &mut count, second(0), window).unwrap();
        for s in 0..5 {
            book.write(&count.note("statusschedule.php", second(s), Verdict::Counted));
        }
        drop(book);
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + "99 statussch").unwrap();

        let mut again = Count::new(5, window);
        _ = Book::open(&path, &mut again, second(31), window).unwrap();
        assert_eq!(again.standing(second(31))[0].in_window, 3, "those of second 0 and 1 are over");
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    }
}
