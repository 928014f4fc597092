//! Every recipe of this binary, tried on answers of its provider: what is read of a good one, what is made of each refusal. The
//! path is that of `larder recipes test`; the answers are data, in `fixtures`.

mod cases;
mod cover;
mod fixture;
mod planted;

use fixture::Fixture;
use larder::config::{Environment, Recipe, Recipes, parse, recipe_alone};
use larder::domain::spec::{ConnectionSpec, Interval};
use larder::rules::plan::{Demand, Load, Question, plan};
use std::collections::BTreeSet;
use std::path::Path;

/// The recipes of this binary with what they say, by name.
fn all() -> Vec<(Recipe, ConnectionSpec)> {
    let recipes = Recipes::embedded();
    let one = |name: &str| {
        let recipe = recipes.get(name).expect("its own name").expect("text");
        let spec = recipe_alone(&recipe).unwrap_or_else(|errors| {
            panic!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        });
        (recipe, spec)
    };
    recipes.names().map(one).collect()
}

#[track_caller]
fn holds(violations: Vec<String>) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

/// Each answer becomes what its fixture says, by the rule and with the wait that it says.
#[test]
fn every_answer_becomes_what_its_provider_means() {
    let tried = all().into_iter().flat_map(|(recipe, spec)| {
        let fixture = Fixture::of(&recipe.name);
        fixture.answers.iter().flat_map(|answer| answer.check(&spec)).collect::<Vec<_>>()
    });
    holds(tried.collect());
}

/// A recipe that declares a form which no answer shows, or an answer's shape that nobody has tried, is only a claim.
#[test]
fn every_form_that_a_recipe_declares_is_shown_by_an_answer() {
    holds(
        all().iter().flat_map(|(recipe, spec)| cover::violations(recipe, spec, &Fixture::of(&recipe.name))).collect(),
    );
}

#[test]
fn every_recipe_says_who_says_so() {
    holds(all().iter().flat_map(|(recipe, _)| cover::unsourced(recipe)).collect());
}

#[test]
fn every_fixture_belongs_to_a_recipe() {
    let names: BTreeSet<String> = all().into_iter().map(|(recipe, _)| recipe.name).collect();
    let files = std::fs::read_dir(fixture::folder()).expect("fixtures").map(|entry| entry.expect("an entry").path());
    let stems = files.map(|file| file.file_stem().expect("a name").to_string_lossy().into_owned());
    let strays: Vec<String> = stems.filter(|stem| !names.contains(stem)).collect();
    assert!(strays.is_empty(), "fixtures without a recipe: {strays:?}");
}

/// What a recipe proposes must be possible: its interval, with all of its targets and one target like each of its patterns.
#[test]
fn every_recipe_can_keep_up_its_own_interval() {
    let unkept = all().into_iter().filter_map(|(recipe, spec)| {
        let Interval::Every(every) = spec.poll.interval else { return None };
        let own = Load { demands: spec.targets.iter().filter_map(|t| Demand::of(t, 1, 0)).collect(), every };
        let plan = plan(&Question { limits: &spec.limits, own, ..Question::default() });
        (!plan.sustainable()).then(|| format!("{}: {every} is below {:?}", recipe.name, plan.shortest_interval))
    });
    holds(unkept.collect());
}

#[test]
fn there_are_recipes_for_thirty_providers_and_more() {
    let providers: BTreeSet<String> = all().into_iter().map(|(_, spec)| spec.provider).collect();
    assert!(providers.len() >= 30, "{}: {providers:?}", providers.len());
}

/// The lines that a recipe's own head shows to people make a connection, word by word.
#[test]
fn every_recipe_shows_a_connection_that_is_sound() {
    let recipes = Recipes::embedded();
    for (recipe, spec) in all() {
        let shown: Vec<&str> = recipe.text.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
        let environment = Environment::new([]);
        let settings =
            parse(&shown.join("\n"), Path::new("larder.toml"), &environment, &recipes).unwrap_or_else(|errors| {
                let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
                panic!("{}: the connection that it shows:\n{}", recipe.name, told.join("\n"))
            });
        let shown = &settings.connections[0];
        assert_eq!(shown.recipe.as_deref(), Some(recipe.name.as_str()));
        assert!(!shown.targets.is_empty() || spec.targets.is_empty(), "{}: what it shows asks nothing", recipe.name);
    }
}
