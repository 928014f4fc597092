//! The tests of this folder, tried on recipes and answers with a fault in them.

use crate::cover;
use crate::fixture::Fixture;
use larder::config::{Recipe, Recipes, recipe_alone};

const RECIPE: &str = r#"
provider = "test"
about = "A provider of this test."
[[target]]
name = "zones"
get = "/zones"
items = "$.zones[*]"
key = "$.id"
[target.fields]
level = { path = "$.level", as = "number" }
[[rule]]
name = "busy"
outcome = "limited"
json = '@.error == "busy"'
[[fact]]
text = "It is so."
source = "this test"
date = "2026-11-30"
"#;

const ANSWERS: &str = r#"
[[answer]]
name = "zones"
status = 200
body = '{"zones":[{"id":1,"level":7}]}'
outcome = "data"
items = 1
item.1 = { level = "7" }
[[answer]]
name = "busy"
status = 200
body = '{"error":"busy"}'
outcome = "limited"
rule = "busy"
"#;

fn recipe(text: &str) -> Recipe {
    Recipes::new([("planted".to_owned(), text.to_owned())]).get("planted").expect("it").expect("text")
}

/// All that is found wrong.
fn found(recipe_text: &str, answers: &str) -> String {
    let recipe = recipe(recipe_text);
    let spec = recipe_alone(&recipe).expect("sound");
    let fixture = Fixture::read(answers).expect("a fixture");
    let mut wrong: Vec<String> = fixture.answers.iter().flat_map(|answer| answer.check(&spec)).collect();
    wrong.extend(cover::violations(&recipe, &spec, &fixture));
    wrong.extend(cover::unsourced(&recipe));
    wrong.join("\n")
}

#[test]
fn what_is_right_passes() {
    assert_eq!(found(RECIPE, ANSWERS), "");
}

#[test]
fn every_fault_is_seen() {
    let edited = |from: &str, to: &str| {
        assert!(ANSWERS.contains(from) || RECIPE.contains(from), "{from}");
        found(&RECIPE.replace(from, to), &ANSWERS.replace(from, to))
    };
    for (from, to, told) in [
        ("outcome = \"data\"", "outcome = \"gone\"", "outcome is data, not gone"),
        ("items = 1", "items = 2", "number of items is Some(1), not Some(2)"),
        ("level = \"7\"", "level = \"8\"", "level of 1 is 7, not 8"),
        ("\"level\":7", "\"stand\":7", "no answer shows field level of target zones"),
        ("rule = \"busy\"", "rule = \"full\"", "rule is Some(\"busy\")"),
        ("rule = \"busy\"", "rule = \"busy\"\nwait = 60", "wait is None, not Some(60)"),
        ("'{\"error\":\"busy\"}'", "'{\"error\":\"late\"}'", "no answer shows rule \"busy\""),
        ("about = \"A provider of this test.\"", "", "`about` is missing"),
    ] {
        let said = edited(from, to);
        assert!(said.contains(told), "{from} -> {to}: {told} is not told:\n{said}");
    }
    let only_good = ANSWERS.split("[[answer]]").nth(1).map(|first| format!("[[answer]]{first}")).expect("the first");
    let said = found(RECIPE, &only_good);
    assert!(said.contains("no answer shows a refusal"), "{said}");
    let page = "page = { style = \"cursor\", next = \"$.next\", param = \"after\" }\n[target.fields]";
    let paged = RECIPE.replace("[target.fields]", page);
    for (next, follows, told) in [
        ("", "", "what follows is Some(\"unfinished\")"),
        ("", "follows = \"unfinished\"", "no answer shows the last page of target zones"),
        ("", "follows = \"unfinished\"", "no answer shows the first page of several of target zones"),
        (",\"next\":\"b\"", "follows = \"next\"", "no answer shows the last page of target zones"),
        (",\"next\":\"b\"", "follows = \"end\"", "what follows is Some(\"next\")"),
        (",\"next\":\"b\"", "follows = \"next\"\nasks = \"after=c\"", "what is asked next is /zones?after=b"),
        (",\"next\":[]", "follows = \"end\"", "what follows is Some(\"unfinished\")"),
    ] {
        let answers =
            ANSWERS.replace("7}]}", &format!("7}}]{next}}}")).replace("items = 1", &format!("items = 1\n{follows}"));
        let said = found(&paged, &answers);
        assert!(said.contains(told), "{next} {follows}: {told} is not told:\n{said}");
    }
    assert!(
        found(RECIPE, &ANSWERS.replace("items = 1", "items = 1\nfollows = \"end\"")).contains("what follows is None")
    );
    let silent = paged.replace("param = \"after\"", "param = \"after\", absent_ends = true");
    let said = found(&silent, &ANSWERS.replace("items = 1", "items = 1\nfollows = \"silence\""));
    assert!(said.contains("no fact says so of its last page") && !said.contains("what follows"), "{said}");
    let said = found(&silent.replace("It is so.", "The last page has none."), ANSWERS);
    assert!(!said.contains("no fact says so"), "{said}");
    let unsourced = RECIPE.split("[[fact]]").next().expect("before the facts");
    assert!(found(unsourced, ANSWERS).contains("nobody says so"));
    assert!(Fixture::read(&ANSWERS.replace("outcome", "outcom")).is_err(), "a misspelt expectation is refused");
}
