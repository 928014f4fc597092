//! How connections are written, for the engine, which must not know: recipes and `larder.toml` read by `config`. Puts together; decides nothing.

use super::reload::putting;
use crate::cli::Failure;
use crate::config::{self, Environment, Recipes, Settings, stored};
use crate::domain::ids::{ConnectionKey, TargetName};
use crate::domain::setup::{Import, Provenance, RecipeSheet, Sketch};
use crate::engine::setup::{Scribe, Written};
use crate::store::Store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads beside this `larder.toml`.
pub struct Desk {
    config: PathBuf,
}

impl Desk {
    pub fn beside(config: &Path) -> Desk {
        Desk { config: config.to_owned() }
    }
}

/// Those that are stored run beside those of the file, which counts where both have one of a name. One that cannot be read any more stays where it
/// is and does not run.
pub fn take_in(
    config: &Path,
    settings: &mut Settings,
    store: &Store,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<ConnectionKey, Provenance>, Failure> {
    let mut taken = BTreeMap::new();
    for (key, connection) in store.stored_connections().map_err(Failure::failed)? {
        let (name, by) = (&key.connection, &connection.by);
        if settings.connections.iter().any(|spec| spec.key == key) {
            notes.push(in_both(&key, by));
            continue;
        }
        match stored::read_one(&connection.text, config) {
            Ok(stored::One { spec, puttable }) => {
                settings.connections.push(spec);
                settings.puttable.merge(puttable);
                taken.insert(key, Provenance::of(&connection));
            }
            Err(wrong) => notes.push(format!(
                "connection {name}, written here by {by}, cannot be read any more and does not run ({}); write it anew",
                wrong.join("; ")
            )),
        }
    }
    Ok(taken)
}

/// `by`: who wrote it here.
pub fn in_both(key: &ConnectionKey, by: &str) -> String {
    format!("connection {} was written here by {by} and is in larder.toml now, which counts", key.connection)
}

impl Scribe for Desk {
    fn recipes(&self) -> Vec<(String, String, String)> {
        let recipes = Recipes::beside(&self.config);
        let line = |name: &str| {
            let recipe = recipes.get(name)?.ok()?;
            let word = |key: &str| recipe.word(key).unwrap_or_default();
            Some((name.to_owned(), word("provider"), word("about")))
        };
        recipes.names().filter_map(line).collect()
    }

    fn sheet(&self, name: &str) -> Result<RecipeSheet, String> {
        let recipes = Recipes::beside(&self.config);
        let recipe = recipes.get(name).ok_or_else(|| recipes.no_such(name))??;
        stored::sheet(&recipe, recipes.own(name).is_some()).map_err(|wrong| wrong.join("; "))
    }

    fn compose(&self, sketch: &Sketch) -> Result<String, String> {
        Ok(stored::compose(sketch, &self.sheet(&sketch.recipe)?))
    }

    fn read(&self, text: &str) -> Result<Written, Vec<String>> {
        let stored::One { spec, puttable } = stored::read_one(text, &self.config)?;
        Ok(Written { spec, putting: putting(&puttable) })
    }

    fn imports(&self, text: &str) -> Result<(Vec<Import>, Vec<String>), Vec<String>> {
        stored::imports(text)
    }

    fn target(&self, text: &str, target: &TargetName) -> Option<String> {
        stored::target_text(text, &self.config, target)
    }

    fn target_in_file(&self, connection: &ConnectionKey, target: &TargetName) -> Option<String> {
        let (imports, _) = stored::imports(&self.file().ok()?).ok()?;
        let import = imports.into_iter().find(|import| import.key == *connection)?;
        self.target(&import.text, target)
    }

    fn with_target(&self, text: &str, target: &TargetName, words: &str) -> Result<String, String> {
        stored::with_target(text, target, words)
    }

    fn as_put(&self, words: &str) -> Result<String, String> {
        stored::as_put(words)
    }

    fn as_words(&self, body: &str) -> Option<String> {
        stored::as_words(body)
    }

    fn file(&self) -> Result<String, String> {
        std::fs::read_to_string(&self.config)
            .map_err(|e| format!("{}: cannot be read ({})", self.config.display(), e.kind()))
    }

    fn variables(&self, connection: &ConnectionKey) -> Vec<String> {
        config::variables_of(&Environment::of_process(), connection.connection.as_str())
    }
}
