//! Every input that was ever kept (`fuzz/corpus`), and for each a bounded number of seeded mutations, through the checks of the fuzzer. The
//! fuzzer itself looks further: see `fuzz/README.md`.

#[path = "../../fuzz/checks/mod.rs"]
mod checks;
mod mutate;

use mutate::Mutator;
use std::path::Path;

/// Mutations of each input; `LARDER_FUZZ_MUTATIONS` overrides.
const MUTATIONS: usize = 200;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut inputs: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{} has no inputs", folder.display());
    let read = |path: &std::path::PathBuf| std::fs::read(path).expect("a readable input");
    let corpus: Vec<Vec<u8>> = inputs.iter().map(read).collect();
    let wanted = std::env::var("LARDER_FUZZ_MUTATIONS").ok().and_then(|n| n.parse().ok());
    for (path, input) in inputs.iter().zip(&corpus) {
        let name = path.display();
        try_one(check, input, || format!("{name}"));
        let mut mutator = Mutator::new(input);
        for n in 0..wanted.unwrap_or(MUTATIONS) {
            let mutated = mutator.next(&corpus);
            try_one(check, &mutated, || format!("mutation {n} of {name}: {:?}", String::from_utf8_lossy(&mutated)));
        }
    }
}

/// Says which input it was, beside what was wrong with it.
fn try_one(check: fn(&[u8]), input: &[u8], what: impl Fn() -> String) {
    if std::panic::catch_unwind(|| check(input)).is_err() {
        panic!("broken by {}", what());
    }
}

#[test]
fn answers() {
    replay("answers", checks::answers::check);
}

#[test]
fn waits() {
    replay("waits", checks::waits::check);
}

#[test]
fn records() {
    replay("records", checks::records::check);
}

#[test]
fn configuration() {
    replay("configuration", checks::configuration::check);
}

#[test]
fn pages() {
    replay("pages", checks::pages::check);
}
