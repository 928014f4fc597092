//! What is known about providers, as data: the files of `src/recipes`, built into the binary. Knows their names and texts;
//! their keys are those of a connection, read by `draft`.

use std::collections::BTreeMap;

#[derive(rust_embed::RustEmbed)]
#[folder = "src/recipes"]
struct Files;

/// Recipes by name (`hydrawise` for `hydrawise.toml`).
#[derive(Clone, Debug, Default)]
pub struct Recipes(BTreeMap<String, String>);

impl Recipes {
    pub fn new(recipes: impl IntoIterator<Item = (String, String)>) -> Recipes {
        Recipes(recipes.into_iter().collect())
    }

    /// Those of this binary.
    pub fn embedded() -> Recipes {
        let recipe = |file: std::borrow::Cow<'static, str>| {
            let name = file.strip_suffix(".toml")?.to_owned();
            Some((name, String::from_utf8_lossy(&Files::get(&file)?.data).into_owned()))
        };
        Recipes(Files::iter().filter_map(recipe).collect())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The file as it was written.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}
