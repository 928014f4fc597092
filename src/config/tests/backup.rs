//! `[backup]`: one time of its own, and nothing that means nothing.

use super::*;
use crate::domain::backup::{BackupSpec, KEEP, When};
use crate::domain::limit::TimeOfDay;
use crate::domain::time::Span;

fn of(keys: &str) -> Result<Option<BackupSpec>, String> {
    let text = format!("[backup]\n{keys}\n");
    let file = std::path::Path::new("/etc/larder/larder.toml");
    let read = parse(&text, file, &Environment::default(), &Recipes::default());
    read.map(|settings| settings.backup)
        .map_err(|errors| errors.into_iter().map(|e| e.0).collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_so_often_or_daily() {
    let spec = |when, keep| BackupSpec { folder: "/etc/larder/b".into(), when, keep };
    assert_eq!(of("folder = \"b\"\nevery = \"6h\""), Ok(Some(spec(When::Every(Span::from_secs(21_600)), KEEP))));
    let daily = |zone: &str| When::Daily { at: TimeOfDay(210), time_zone: zone.to_owned() };
    assert_eq!(of("folder = \"b\"\nat = \"03:30\"\nkeep = 2"), Ok(Some(spec(daily("UTC"), 2))));
    let berlin = of("folder = \"b\"\nat = \"03:30\"\ntime_zone = \"Europe/Berlin\"");
    assert_eq!(berlin, Ok(Some(spec(daily("Europe/Berlin"), KEEP))));
}

#[test]
fn what_is_wrong_is_named() {
    for (keys, words) in [
        ("every = \"6h\"", "folder"),
        ("folder = \"b\"", "needs one of every"),
        ("folder = \"b\"\nevery = \"6h\"\nat = \"03:30\"", "needs one of every"),
        ("folder = \"b\"\nevery = \"6h\"\ntime_zone = \"UTC\"", "means something only with at"),
        ("folder = \"b\"\nevery = \"6h\"\nkeep = 0", "from 1 to 10000"),
        ("folder = \"\"\nevery = \"6h\"", "must be the path of a folder"),
        ("folder = \"b\"\nevery = \"6h\"\nkeeps = 3", "did you mean"),
    ] {
        let said = of(keys).unwrap_err();
        assert!(said.contains(words), "{keys}: {said}");
    }
}

#[test]
fn without_the_table_none_is_made_and_variables_can_make_one() {
    let file = std::path::Path::new("/etc/larder/larder.toml");
    let read = |environment: &Environment| parse("", file, environment, &Recipes::default()).map(|s| s.backup);
    assert_eq!(read(&Environment::default()), Ok(None));
    let set = [("LARDER_BACKUP_FOLDER", "/b"), ("LARDER_BACKUP_EVERY", "1h"), ("LARDER_BACKUP_KEEP", "3")];
    let environment = Environment::new(set.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let when = When::Every(Span::from_secs(3_600));
    assert_eq!(read(&environment), Ok(Some(BackupSpec { folder: "/b".into(), when, keep: 3 })));
}
