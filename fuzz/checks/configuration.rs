//! Any text as `larder.toml`: settings, or sentences about what is wrong.

use larder::config::{Environment, Recipes, parse};
use std::path::Path;

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(errors) = parse(&text, Path::new("larder.toml"), &Environment::new([]), &Recipes::embedded()) {
        assert!(!errors.is_empty(), "refused without a reason");
        assert!(errors.iter().all(|e| e.0.starts_with("larder.toml") || e.0.starts_with("recipe ")), "{errors:?}");
    }
}
