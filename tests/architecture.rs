//! The laws of the house, read from the sources themselves: directions between rooms, crates that stay in one room, pure rules,
//! one clock, one door, small files, nothing left for later. Each law is tried on a planted violation as well.

#[path = "architecture/allowed.rs"]
mod allowed;
#[path = "architecture/failures.rs"]
mod failures;
#[path = "architecture/laws.rs"]
mod laws;
#[path = "architecture/planted.rs"]
mod planted;
#[path = "architecture/reading.rs"]
mod reading;
#[path = "architecture/texts.rs"]
mod texts;
#[path = "architecture/visitor.rs"]
mod visitor;

use reading::Tree;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn house() -> Tree {
    Tree::read(root())
}

#[track_caller]
fn holds(violations: Vec<String>) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

/// The crates named in Cargo.toml, as code spells them.
fn dependencies() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml");
    let manifest: toml::Table = text.parse().expect("TOML");
    let tables = ["dependencies", "dev-dependencies"].into_iter().filter_map(|t| manifest.get(t)?.as_table());
    tables.flat_map(|t| t.keys()).map(|name| name.replace('-', "_")).collect()
}

/// What stands in `src`: folders with a slash, files with their name. A file with a folder of the same name is one room; `lib.rs` holds
/// the map and is not on it.
fn folder() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("src")).expect("src").map(|e| e.expect("an entry"));
    let named = entries.map(|e| {
        let name = e.file_name().to_string_lossy().into_owned();
        if e.path().is_dir() { format!("{name}/") } else { name }
    });
    let names: Vec<String> = named.filter(|n| n != "lib.rs").collect();
    let opened = |n: &str| n.strip_suffix('/').is_some_and(|room| names.contains(&format!("{room}.rs")));
    names.iter().filter(|n| !opened(n)).cloned().collect()
}

#[test]
fn rooms_know_only_what_is_below_them() {
    holds(laws::directions(&house()));
}

#[test]
fn the_directions_have_no_circle() {
    holds(laws::table_is_ordered(laws::ROOMS));
}

#[test]
fn templates_hold_no_english_of_their_own() {
    holds(texts::in_templates(root()));
    let said = |template: &str| texts::bare(template).join("; ");
    assert_eq!(said("<p>{{ texts::t(\"x\") }} · <code>larder check</code> <b title=\"{{ y }}\">{{ z }} %</b></p>"), "");
    assert_eq!(said("<h1>{% if a %}Two words{% endif %}</h1>"), "Two words");
    assert_eq!(said("<input placeholder=\"as it is\" name=\"n\"> {{ n }} left"), "as it is; left");
}

#[test]
fn only_the_fetch_path_sends() {
    holds(laws::one_path(&house()));
}

#[test]
fn foreign_crates_stay_in_their_rooms() {
    holds(laws::crates(&house()));
}

#[test]
fn rules_and_domain_are_pure() {
    holds(laws::purity(&house()));
}

#[test]
fn domain_knows_std_and_serde_only() {
    holds(laws::domain_knows_little(&house(), &dependencies()));
}

#[test]
fn one_file_reads_clocks() {
    holds(laws::clocks(&house()));
}

#[test]
fn only_the_shell_waits() {
    holds(laws::timers(&house()));
}

#[test]
fn only_the_store_mints_a_permit() {
    holds(laws::permits(&house()));
}

#[test]
fn every_file_says_what_it_is_for() {
    holds(laws::headers(&house()));
}

#[test]
fn files_and_functions_are_small() {
    holds(laws::sizes(&house(), allowed::SIZES));
}

#[test]
fn nothing_is_left_for_later() {
    holds(laws::unfinished(&house()));
}

#[test]
fn what_can_fail_says_how() {
    holds(laws::panics(&house(), allowed::PANICS));
}

#[test]
fn the_map_and_the_folder_agree() {
    holds(laws::map(&house(), &folder()));
}

#[test]
fn every_failure_of_the_field_has_its_test() {
    holds(failures::unproved(root(), failures::NOT_OURS));
}

#[test]
fn a_failure_without_its_test_is_noticed() {
    assert_eq!(failures::numbers("a10_a14_what_is_proved"), [10, 14]);
    assert!(failures::numbers("a_backup_is_whole").is_empty());
    let planted = [
        "fn a01_helper() {}",
        "#[test]",
        "/// Of it.",
        "#[ignore]",
        "async fn a02_test() {",
        "    fn a03_inside() {}",
        "#[tokio::test(flavor = \"x\")]",
        "pub async fn a04_too() {}",
        "#[test]",
        "mod m {}",
        "fn a05_not() {}",
        "// #[test]",
        "fn a06_not() {}",
    ];
    assert_eq!(failures::tests(&planted.join("\n")), ["a02_test() {", "a04_too() {}"]);
    assert_eq!(failures::unproved(root(), &[]).len(), failures::NOT_OURS.len());
    assert_eq!(failures::unproved(root(), &[(4, "planted")]).len(), failures::NOT_OURS.len() + 1);
}
