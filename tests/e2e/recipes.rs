//! `larder recipes`: the list, one, and a trial on an answer, with the exit codes that scripts go by.

use crate::support::*;
use serde_json::Value;

const OWN: &str = "provider = \"Pump house\"\nabout = \"A recipe of this test.\"\nbase_url = \"https://pump.test\"\n\
                   credential = { header = \"x-key\" }\n[[limit]]\nname = \"window\"\nrequests = 5\nwindow = \"5m\"\nkind = \"rolling\"\n\
                   [[target]]\nname = \"pumps\"\nget = \"/pumps\"\nitems = \"$.pumps[*]\"\nkey = \"$.id\"\ntitle = \"$.name\"\n\
                   observed_at = { path = \"$.at\" }\n[target.fields]\nlevel = { path = \"$.level\", as = \"number\" }\n\
                   [[rule]]\nname = \"dry\"\noutcome = \"not_ready\"\njson = '@.error == \"dry\"'\n";

/// A folder with a `larder.toml`, a recipe of the user's own, and answers.
fn house() -> TestApp {
    let app = TestApp::prepared(Config::yard("http://127.0.0.1:9"));
    std::fs::create_dir(app.folder().join("recipes")).expect("a folder");
    std::fs::write(app.folder().join("recipes/pump.toml"), OWN).expect("our own recipe");
    std::fs::write(
        app.folder().join("two.json"),
        r#"{"pumps":[{"id":1,"name":"North","level":7,"at":"2026-11-30T07:00:00Z"},{"id":2}]}"#,
    )
    .expect("ours");
    std::fs::write(app.folder().join("list.json"), r#"{"pumps":"none"}"#).expect("ours");
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn recipes_are_listed_and_printed_with_where_they_come_from() {
    let app = house();
    let said = app.larder_here(&["recipes"]).await.expect(0).stdout;
    let line = |name: &str| said.lines().find(|l| l.starts_with(&format!("{name} "))).unwrap_or_default().to_owned();
    assert!(line("hydrawise").contains("built in"), "{said}");
    assert!(line("pump").contains("recipes/pump.toml") && line("pump").contains("A recipe of this test."), "{said}");
    let listed: Value =
        serde_json::from_str(&app.larder_here(&["recipes", "--json"]).await.expect(0).stdout).expect("JSON");
    assert!(listed.as_array().is_some_and(|all| all.len() > 40), "{listed}");
    assert_eq!(app.larder_here(&["recipes", "pump"]).await.expect(0).stdout, OWN, "as it was written");
    let unknown = app.larder_here(&["recipes", "hydrawize"]).await.expect(2);
    assert!(unknown.stderr.contains("did you mean \"hydrawise\"?"), "{}", unknown.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_says_what_becomes_of_an_answer_and_why() {
    let app = house();
    let file = |name: &str| app.folder().join(name).display().to_string();
    let noon = ["--at", "2026-11-30T12:00:00Z"];
    let data = ["recipes", "test", "pump", "--answer", &file("two.json"), noon[0], noon[1]];
    let said = app.larder_here(&data).await.expect(0).stdout;
    for words in [
        "reading  5 h old by the provider's clock",
        "outcome  data",
        "status 200",
        "2 items of pumps",
        "North",
        "level=7",
        "level=unknown",
    ] {
        assert!(said.contains(words), "{words} is not told:\n{said}");
    }
    // A file works like a name.
    let path = file("recipes/pump.toml");
    let at = ["--at", "2026-11-30T12:00:00Z", "--json"];
    let limited = ["recipes", "test", &path, "--status", "429", "--header", "Retry-After: 120", at[0], at[1], at[2]];
    let told: Value = serde_json::from_str(&app.larder_here(&limited).await.expect(0).stdout).expect("JSON");
    assert_eq!((&told["outcome"], &told["wait"]["seconds"]), (&Value::from("limited"), &Value::from(120)), "{told}");
    assert_eq!(told["hold"]["until"], "2026-11-30T12:02:00Z", "{told}");
    // Without a hint the whole window (I5).
    let bare = app.larder_here(&["recipes", "test", "pump", "--status", "429"]).await.expect(0).stdout;
    assert!(bare.contains("hold     5 min, until ") && bare.contains("window of limit \"window\""), "{bare}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_fails_where_nothing_is_understood_and_refuses_what_is_not_sound() {
    let app = house();
    let file = |name: &str| app.folder().join(name).display().to_string();
    let shape = app.larder_here(&["recipes", "test", "pump", "--answer", &file("list.json")]).await.expect(1).stdout;
    assert!(shape.contains("unexpected") && shape.contains("shape of the answer"), "a type that changed: {shape}");
    app.larder_here(&["recipes", "test", "pump", "--status", "404"]).await.expect(1);
    app.larder_here(&["recipes", "test", "pump", "--answer", "nowhere.json"]).await.expect(2);
    app.larder_here(&["recipes", "test", "pump", "--target", "wells"]).await.expect(2);
    app.larder_here(&["recipes", "test", "pump", "--header", "no colon"]).await.expect(2);
    app.larder_here(&["recipes", "test", "pump", "--at", "noon"]).await.expect(2);
    std::fs::write(app.folder().join("recipes/pump.toml"), OWN.replace("kind", "kin")).expect("our own recipe");
    let wrong = app.larder_here(&["recipes", "test", "pump"]).await.expect(2).stderr;
    assert!(wrong.contains("pump.toml:9: limit[window].kin: unknown key; did you mean `kind`?"), "{wrong}");
}
