//! Configuration as people write it, right and wrong. Error sentences are held word by word: they are the surface.

mod backup;
mod errors;
mod manual;
mod mqtt;
mod organizations;
mod overlay;
mod pages;
mod put;
mod scans;
mod schema;
mod stored;
mod values;
mod waits;
mod whole;

use super::*;

/// Reads `text` as `larder.toml` in `/etc/larder`, with the given variables and recipes.
fn read_with(text: &str, variables: &[(&str, &str)], recipes: &[(&str, &str)]) -> Result<Settings, Vec<ConfigError>> {
    let pair = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
    let environment = Environment::new(variables.iter().map(pair));
    let recipes = Recipes::new(recipes.iter().map(pair));
    parse(text, Path::new("/etc/larder/larder.toml"), &environment, &recipes)
}

fn sound(text: &str) -> Settings {
    read_with(text, &[], &[]).unwrap_or_else(|errors| panic!("{}", told(errors)))
}

fn told(errors: Vec<ConfigError>) -> String {
    let lines: Vec<String> = errors.into_iter().map(|e| e.0.replace("/etc/larder/", "")).collect();
    lines.join("\n")
}

/// All errors of a text, one a line.
fn wrong(text: &str) -> String {
    told(read_with(text, &[], &[]).expect_err("something is wrong"))
}

/// A connection that is sound, with more lines at its end.
fn yard(more: &str) -> String {
    format!(
        "[[connection]]\nname = \"yard\"\nbase_url = \"https://api.example.test/v1\"\n\
         limit = [{{ name = \"day\", requests = 5, window = \"5m\", kind = \"rolling\" }}]\n{more}"
    )
}

/// What is wrong with `more` below a sound connection, without the file's name.
fn wrong_below(more: &str) -> String {
    wrong(&yard(more)).replace("larder.toml:", "")
}
