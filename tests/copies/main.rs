//! The live file may be copied: by whatever reads it from front to back, while another process writes to it as fast as it can. Every copy is
//! opened, checked, written to and opened again; it has to be whole, and to know everything that was confirmed before it was begun. What cannot
//! be whole has to say so. Some dozens of copies in every run; thousands by
//!
//! `cargo test --test copies -- --ignored --nocapture torture`

mod copier;
mod load;

use copier::{Copier, Ended};
use larder::store::{CopyKind, Store, StoreError, verify};
use load::{Appliance, OPTIONS};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// What a copy turned out to be.
#[derive(Debug, PartialEq)]
enum Found {
    Whole,
    /// With the sentence.
    Refused(String),
}

/// `confirmed`: the newest charge that was on the disk before the copy was begun.
fn look_at(copy: &Path, confirmed: u64) -> Found {
    match verify(copy) {
        Ok(sentence) => assert!(sentence.contains("is whole"), "{sentence}"),
        Err(StoreError::Corrupt(sentence)) => {
            assert!(
                sentence.contains("is damaged")
                    || sentence.contains("is not a larder file")
                    || sentence.contains("is empty")
            );
            let refused = Store::open(copy, OPTIONS);
            assert!(refused.is_err(), "verify says {sentence}, and it was opened");
            return Found::Refused(sentence);
        }
        Err(other) => panic!("{other}"),
    }
    let (store, opening) = Store::open(copy, OPTIONS).expect("a copy that was verified");
    assert!(!opening.created);
    assert_eq!(opening.copied.map(|copied| copied.kind), Some(CopyKind::Running), "it is known what it is");
    load::is_of_one_moment(&store);
    let newest = load::newest_charge(&store);
    assert!(newest >= confirmed, "it ends at charge {newest}, and {confirmed} was confirmed before it was begun");
    store.close().expect("closed");
    let (again, opening) = Store::open(copy, OPTIONS).expect("a copy that was closed");
    assert_eq!(opening.repaired, None);
    assert_eq!(load::newest_charge(&again), newest);
    Found::Whole
}

struct Yard {
    folder: TempDir,
    appliance: Appliance,
    made: usize,
}

impl Yard {
    fn new() -> Yard {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in target");
        let appliance = Appliance::start(&folder.path().join("larder.redb"));
        Yard { folder, appliance, made: 0 }
    }

    fn place(&mut self) -> PathBuf {
        self.made += 1;
        let folder = self.folder.path().join(format!("copy-{}", self.made));
        std::fs::create_dir(&folder).expect("a folder");
        folder.join("larder.redb")
    }

    /// Makes a copy and looks at it; it has to be whole.
    fn copies(&mut self, copier: Copier) {
        let (copy, confirmed) = (self.place(), self.appliance.confirmed());
        assert_eq!(copier.start(&self.appliance.file, &copy).wait(), Ended::Well, "{copier:?}");
        assert_eq!(look_at(&copy, confirmed), Found::Whole, "{copier:?}");
        self.forget(&copy);
    }

    /// Ends a copier in the middle. What it left is no copy, and says so, unless all of it was there already.
    fn kills_the_copier(&mut self, copier: Copier, after: Duration) -> bool {
        let (copy, confirmed) = (self.place(), self.appliance.confirmed());
        let running = copier.start(&self.appliance.file, &copy);
        std::thread::sleep(after);
        running.kill();
        let refused = copy.exists() && look_at(&copy, confirmed) != Found::Whole;
        self.forget(&copy);
        refused
    }

    /// Ends the appliance in the middle of a copy, which is none the worse for it. The appliance forgets nothing.
    fn kills_the_appliance(&mut self, copier: Copier) {
        let (copy, confirmed) = (self.place(), self.appliance.confirmed());
        let running = copier.start(&self.appliance.file, &copy);
        std::thread::sleep(Duration::from_millis(30));
        let at_the_end = self.appliance.kill();
        assert_eq!(running.wait(), Ended::Well, "{copier:?}");
        assert_eq!(look_at(&copy, confirmed), Found::Whole, "{copier:?}");
        self.forget(&copy);
        self.appliance.starts_again();
        self.appliance.until(at_the_end + 1);
        assert!(self.appliance.found() >= at_the_end, "what was confirmed is in its file");
    }

    /// What a copy across a restart is, is for luck to say; it is whole or says that it is not.
    fn restarts_meanwhile(&mut self, copier: Copier) -> Found {
        let (copy, confirmed) = (self.place(), self.appliance.confirmed());
        let running = copier.start(&self.appliance.file, &copy);
        std::thread::sleep(Duration::from_millis(30));
        self.appliance.kill();
        self.appliance.starts_again();
        assert_eq!(running.wait(), Ended::Well, "{copier:?}");
        let found = look_at(&copy, confirmed);
        self.forget(&copy);
        found
    }

    fn forget(&self, copy: &Path) {
        std::fs::remove_dir_all(copy.parent().expect("its folder")).expect("the copy goes");
    }
}

/// For the child: writes until it is ended.
#[test]
#[ignore = "the load; started by the other tests as a process of its own"]
fn load() {
    load::run();
}

#[test]
fn copies_of_a_file_under_load_are_whole() {
    let mut yard = Yard::new();
    for copier in Copier::installed() {
        (0..6).for_each(|_| yard.copies(copier));
    }
    yard.copies(Copier::Slow);
    yard.kills_the_appliance(Copier::Slow);
    let left: Vec<bool> =
        [5, 20, 40].map(|ms| yard.kills_the_copier(Copier::Slow, Duration::from_millis(ms))).into_iter().collect();
    assert!(left.contains(&true), "no copier was ended in the middle");
}

/// Neither is promised to be whole; neither is ever taken for what it is not.
#[test]
fn what_cannot_be_copied_so_says_so() {
    let mut yard = Yard::new();
    yard.restarts_meanwhile(Copier::Slow);
    let (copy, confirmed) = (yard.place(), yard.appliance.confirmed());
    let mut bytes = std::fs::read(&yard.appliance.file).expect("the file");
    // By then every page of the answer has been written anew.
    yard.appliance.until(confirmed + 64);
    let file = std::fs::File::open(&yard.appliance.file).expect("the file");
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes[..4096], 0).expect("the header");
    std::fs::write(&copy, bytes).expect("the copy");
    let found = look_at(&copy, confirmed);
    assert!(matches!(found, Found::Refused(_)), "its header names what was written after the rest was read: {found:?}");
}

/// How many, from the environment.
fn count(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().map_or(usual, |n| n.parse().expect("a number"))
}

#[test]
#[ignore = "half an hour; the command is in benches/README.md"]
fn torture() {
    let mut yard = Yard::new();
    let mut report = Vec::new();
    for copier in Copier::installed() {
        let most = match copier {
            Copier::Cp => count("COPIES_CP", 1_000),
            Copier::Rsync => count("COPIES_RSYNC", 200),
            Copier::Tar => count("COPIES_TAR", 200),
            _ => count("COPIES_OTHERS", 50),
        };
        (0..most).for_each(|_| yard.copies(copier));
        report.push(format!("{most} by {copier:?}: all whole, none older than its beginning"));
    }
    let kills = count("COPIES_KILLS", 100);
    (0..kills).for_each(|_| yard.kills_the_appliance(Copier::Slow));
    report.push(format!("{kills} while the appliance was ended by kill -9: all whole"));
    let refused =
        (0..kills).filter(|n| yard.kills_the_copier(Copier::Slow, Duration::from_millis(5 + *n as u64))).count();
    report.push(format!(
        "{kills} copiers ended in the middle: {refused} copies refused, the others were complete or not begun"
    ));
    let across = (0..kills).filter(|_| yard.restarts_meanwhile(Copier::Slow) != Found::Whole).count();
    report.push(format!("{kills} across a restart: {across} refused, the others whole"));
    println!("{}", report.join("\n"));
    println!("{}", yard.appliance.report());
    // What it costs that somebody has the file open, as a slow copier has.
    let size = |yard: &Yard| std::fs::metadata(&yard.appliance.file).expect("the file").len() >> 20;
    let (before, charge) = (size(&yard), yard.appliance.confirmed());
    let open = std::fs::File::open(&yard.appliance.file).expect("the file");
    std::thread::sleep(Duration::from_secs(20));
    drop(open);
    let charges = yard.appliance.confirmed() - charge;
    println!("open elsewhere for 20 s and {charges} charges: the file went from {before} MB to {} MB", size(&yard));
}
