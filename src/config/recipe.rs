//! What is known about providers, as data: the files of `src/recipes`, built into the binary, and a user's own in the folder
//! `recipes` beside `larder.toml`. Knows their names and texts, and reads one only when it is asked for; their keys are those of
//! a connection, read by `draft`.

use super::place::nearest;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(rust_embed::RustEmbed)]
#[folder = "src/recipes"]
struct Files;

/// The folder beside `larder.toml`.
pub const FOLDER: &str = "recipes";

/// Where a recipe is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    BuiltIn,
    /// A user's own file; it may stand before a built-in recipe of its name.
    Own(PathBuf),
    /// Handed over as a value.
    Text(String),
}

/// Recipes by name (`hydrawise` for `hydrawise.toml`). Holds no text of a file: most are never used.
#[derive(Clone, Debug, Default)]
pub struct Recipes(BTreeMap<String, Origin>);

/// One recipe with its text, as it was written.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub name: String,
    pub origin: Origin,
    pub text: Cow<'static, str>,
}

impl Recipes {
    pub fn new(recipes: impl IntoIterator<Item = (String, String)>) -> Recipes {
        Recipes(recipes.into_iter().map(|(name, text)| (name, Origin::Text(text))).collect())
    }

    /// Those of this binary.
    pub fn embedded() -> Recipes {
        let name = |file: Cow<'static, str>| Some((file.strip_suffix(".toml")?.to_owned(), Origin::BuiltIn));
        Recipes(Files::iter().filter_map(name).collect())
    }

    /// Those of this binary, and before them a user's own, in the folder `recipes` beside `config`. A folder that is not there
    /// is an empty one.
    pub fn beside(config: &Path) -> Recipes {
        let mut recipes = Recipes::embedded();
        let folder = config.parent().unwrap_or(Path::new("")).join(FOLDER);
        let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        recipes.0.extend(files.filter_map(|file| Some((own_name(&file)?, Origin::Own(file)))));
        recipes
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Its text is read now. The outer `None`: there is none of this name; the error is a sentence.
    pub fn get(&self, name: &str) -> Option<Result<Recipe, String>> {
        let (name, origin) = self.0.get_key_value(name)?;
        let text = match origin {
            Origin::BuiltIn => Ok(built_in(name)?),
            Origin::Own(file) => read(file).map(Cow::Owned),
            Origin::Text(text) => Ok(Cow::Owned(text.clone())),
        };
        Some(text.map(|text| Recipe { name: name.clone(), origin: origin.clone(), text }))
    }

    /// Says that there is no recipe of this name, and which was probably meant.
    pub fn no_such(&self, name: &str) -> String {
        let known: Vec<&str> = self.names().collect();
        match (nearest(name, known.iter().copied()), known.len()) {
            (Some(meant), _) => format!("there is no recipe {name:?}; did you mean {meant:?}?"),
            (None, 1..=8) => format!("there is no recipe {name:?}; there is: {}", known.join(", ")),
            (None, _) => format!("there is no recipe {name:?}; `larder recipes` lists them"),
        }
    }

    /// A user's own file of this name, where there is one.
    pub fn own(&self, name: &str) -> Option<&Path> {
        match self.0.get(name)? {
            Origin::Own(file) => Some(file),
            _ => None,
        }
    }
}

impl Recipe {
    /// A file anywhere, under the name of the file.
    pub fn open(file: &Path) -> Result<Recipe, String> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Recipe { name, origin: Origin::Own(file.to_owned()), text: Cow::Owned(read(file)?) })
    }

    /// How errors name it.
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::Own(file) => file.display().to_string(),
            Origin::BuiltIn | Origin::Text(_) => format!("recipe {}", self.name),
        }
    }

    /// A text at the top of the file, such as `provider`; `None` also where the file is not sound.
    pub fn word(&self, key: &str) -> Option<String> {
        let table: toml::Table = self.text.parse().ok()?;
        table.get(key)?.as_str().map(str::to_owned)
    }
}

/// Whether this binary has a recipe of this name.
pub fn is_built_in(name: &str) -> bool {
    Files::iter().any(|file| file.strip_suffix(".toml") == Some(name))
}

fn built_in(name: &str) -> Option<Cow<'static, str>> {
    Some(match Files::get(&format!("{name}.toml"))?.data {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    })
}

fn own_name(file: &Path) -> Option<String> {
    let is_recipe = file.extension().is_some_and(|extension| extension == "toml") && file.is_file();
    is_recipe.then(|| file.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned)).flatten()
}

fn read(file: &Path) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("{}: cannot be read ({})", file.display(), e.kind()))?;
    String::from_utf8(bytes).map_err(|_| format!("{}: is not UTF-8 text", file.display()))
}
