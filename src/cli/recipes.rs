//! `larder recipes`: the list, one recipe as it was written, and a trial of one on an answer. Asks no provider and opens no data
//! file.

mod test;

use super::args::{RecipesArgs, RecipesCommand};
use super::ending::{Ending, Failure, Outcome};
use super::table::Table;
use super::text::show;
use crate::config::{Recipe, Recipes, is_built_in};
use serde_json::{Value, json};
use std::path::Path;

pub fn run(config: &Path, args: RecipesArgs) -> Outcome {
    let recipes = Recipes::beside(config);
    match (args.command, args.name) {
        (Some(RecipesCommand::Test(args)), _) => test::run(&recipes, &args),
        (None, Some(name)) => {
            show(&named(&recipes, &name)?.text)?;
            Ok(Ending::Fine)
        }
        (None, None) => {
            show(&if args.json { format!("{:#}\n", listed(&recipes)?) } else { list(&recipes)? })?;
            Ok(Ending::Fine)
        }
    }
}

/// The recipe of this name, or a sentence that names what there is.
fn named(recipes: &Recipes, name: &str) -> Result<Recipe, Failure> {
    match recipes.get(name) {
        Some(recipe) => recipe.map_err(Failure::failed),
        None => Err(Failure::usage(recipes.no_such(name))),
    }
}

fn all(recipes: &Recipes) -> Result<Vec<Recipe>, Failure> {
    recipes.names().map(|name| named(recipes, name)).collect()
}

fn provider(recipe: &Recipe) -> String {
    recipe.word("provider").unwrap_or_else(|| recipe.name.clone())
}

fn from(recipes: &Recipes, recipe: &Recipe) -> String {
    match recipes.own(&recipe.name) {
        Some(file) if is_built_in(&recipe.name) => format!("{}, instead of the built-in one", file.display()),
        Some(file) => file.display().to_string(),
        None => "built in".to_owned(),
    }
}

fn list(recipes: &Recipes) -> Result<String, Failure> {
    let mut table = Table::new(&["NAME", "PROVIDER", "FROM", "ABOUT"]);
    for recipe in all(recipes)? {
        let about = recipe.word("about").unwrap_or_default();
        table.row([recipe.name.clone(), provider(&recipe), from(recipes, &recipe), about]);
    }
    Ok(table.to_string())
}

fn listed(recipes: &Recipes) -> Result<Value, Failure> {
    let one = |recipe: Recipe| {
        json!({
            "name": recipe.name, "provider": provider(&recipe), "about": recipe.word("about"),
            "built_in": recipes.own(&recipe.name).is_none(), "file": recipes.own(&recipe.name),
        })
    };
    Ok(Value::Array(all(recipes)?.into_iter().map(one).collect()))
}
