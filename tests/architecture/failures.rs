//! What went wrong in the field with other programs (VENDORS section 5, numbered A1 to A53) has a test of its own here, whose name begins
//! with the number: `a07_...`, or several of them. Knows names only.

use std::collections::BTreeSet;
use std::path::Path;

const LAST: u8 = 53;

/// Those that cannot happen here, and why.
pub const NOT_OURS: &[(u8, &str)] =
    &[(48, "a stream that reconnects: Larder keeps no socket to a provider open, so there is nothing to set up again")];

/// The numbers at the beginning of a test's name: `a10_a14_what_is_proved` proves two.
pub fn numbers(name: &str) -> Vec<u8> {
    let number = |word: &str| match word.strip_prefix('a')?.as_bytes() {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => Some((tens - b'0') * 10 + (ones - b'0')),
        _ => None,
    };
    name.split('_').map_while(number).collect()
}

/// Names of all functions below `folder` that are tests by their form.
fn collect(folder: &Path, into: &mut BTreeSet<u8>) {
    let entries = std::fs::read_dir(folder).expect("a folder of the crate");
    for path in entries.map(|e| e.expect("an entry").path()) {
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let names = text.lines().filter_map(|line| line.trim_start().split_once("fn "));
            into.extend(names.flat_map(|(_, name)| numbers(name)));
        }
    }
}

/// What lacks its test, or has both a test and an excuse.
pub fn unproved(root: &Path, excused: &[(u8, &str)]) -> Vec<String> {
    let mut proved = BTreeSet::new();
    collect(&root.join("src"), &mut proved);
    collect(&root.join("tests"), &mut proved);
    let excuse = |n: u8| excused.iter().find(|(number, _)| *number == n);
    let wrong = |n: u8| match (proved.contains(&n), excuse(n)) {
        (false, None) => Some(format!("A{n} has no test named a{n:02}_...")),
        (true, Some((_, why))) => Some(format!("A{n} has a test, and is excused: {why}")),
        _ => None,
    };
    let strange = proved.iter().filter(|n| !(1..=LAST).contains(*n)).map(|n| format!("there is no A{n}"));
    (1..=LAST).filter_map(wrong).chain(strange).collect()
}
