//! What went wrong in the field with other programs (VENDORS section 5, numbered A1 to A53) has a test of its own here, whose name begins
//! with the number: `a07_...`, or several of them. Knows names only.

use std::collections::BTreeSet;
use std::path::Path;

const LAST: u8 = 53;

/// Those that cannot happen here, and why: none.
pub const NOT_OURS: &[(u8, &str)] = &[];

/// Those that end here otherwise than their reporters wished, on purpose, and why. Their tests show that end.
pub const OTHERWISE: &[(u8, &str)] = &[(
    38,
    "an empty data file does not bring up an empty shelf: it may be a ledger that a power cut took. Who went on serving would send on a \
     budget that nobody knows (law 1) and show that there is nothing where there was something. It ends before it sends, leaves the file as \
     it is and names the way back, a backup; however often a supervisor starts it, no request is spent",
)];

/// The numbers at the beginning of a test's name: `a10_a14_what_is_proved` proves two.
pub fn numbers(name: &str) -> Vec<u8> {
    let number = |word: &str| match word.strip_prefix('a')?.as_bytes() {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => Some((tens - b'0') * 10 + (ones - b'0')),
        _ => None,
    };
    name.split('_').map_while(number).collect()
}

/// Names of the functions that are run as tests: between the attribute that makes them so and `fn` are only further attributes and comments.
pub fn tests(text: &str) -> Vec<&str> {
    let (mut names, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        let is_attribute = line.starts_with("#[");
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        if line.starts_with("//") {
            continue;
        }
        match line.split_once("fn ") {
            Some((_, name)) => {
                names.extend(Some(name).filter(|_| is_test));
                is_test = false;
            }
            None => is_test &= is_attribute,
        }
    }
    names
}

/// The numbers of all tests below `folder`.
fn collect(folder: &Path, into: &mut BTreeSet<u8>) {
    let entries = std::fs::read_dir(folder).expect("a folder of the crate");
    for path in entries.map(|e| e.expect("an entry").path()) {
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            into.extend(tests(&text).into_iter().flat_map(numbers));
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
    let both = OTHERWISE.iter().filter(|(n, _)| excuse(*n).is_some() || !proved.contains(n));
    let both = both.map(|(n, why)| format!("A{n} ends otherwise, and no test shows it: {why}"));
    (1..=LAST).filter_map(wrong).chain(strange).chain(both).collect()
}
