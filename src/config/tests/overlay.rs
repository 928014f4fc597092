//! What wins: the connection over its recipe, the environment over the file.

use super::*;
use crate::domain::limit::Kind;
use crate::domain::spec::{Carrier, Interval};
use crate::domain::time::Span;

const RECIPE: &str = r#"
provider = "Sprinkler"
base_url = "https://api.sprinkler.test/v1"
credential = { query = "api_key" }
refresh_min_age = "2m"
request_timeout = "20s"
[poll]
interval = "75s"
[waits]
floor = "10s"
[[limit]]
name = "status"
requests = 5
window = "5m"
kind = "rolling"
[[limit]]
name = "day"
requests = 1000
kind = "daily"
[[target]]
name = "controller"
get = "/status"
items = "$.relays[*]"
key = "$.id"
[[command]]
name = "run"
get = "/run?id={item}"
then_refresh = "controller"
[[rule]]
name = "lockout"
outcome = "limited"
body = "too many"
[[fact]]
text = "5 requests in 5 minutes"
source = "the provider's manual"
date = 2026-11-30
"#;

fn with_recipe(own: &str) -> Result<Settings, Vec<ConfigError>> {
    let text = format!("[[connection]]\nname = \"yard\"\nrecipe = \"sprinkler\"\n{own}");
    read_with(&text, &[], &[("sprinkler", RECIPE)])
}

fn only(settings: Result<Settings, Vec<ConfigError>>) -> ConnectionSpec {
    settings.unwrap_or_else(|errors| panic!("{}", told(errors))).connections.remove(0)
}

#[test]
fn a_recipe_and_a_key_are_a_connection() {
    let yard = only(with_recipe("credential = { env = \"YARD_KEY\" }"));
    assert_eq!((yard.provider.as_str(), yard.recipe.as_deref()), ("Sprinkler", Some("sprinkler")));
    assert_eq!(yard.base_url, "https://api.sprinkler.test/v1");
    assert_eq!(yard.secret, SecretSource::Env("YARD_KEY".to_owned()));
    assert_eq!(yard.carrier, Carrier::Query { name: "api_key".to_owned() });
    assert_eq!((yard.limits.len(), yard.targets.len(), yard.commands.len(), yard.rules.len()), (2, 1, 1, 1));
    assert_eq!(yard.refresh_min_age, Span::from_secs(120));
}

#[test]
fn the_connections_own_keys_win() {
    let yard = only(with_recipe(
        r#"
        base_url = "http://127.0.0.1:9000"
        credential = { file = "/run/key", header = "X-Key" }
        [connection.poll]
        enabled = false
        [connection.waits]
        ceiling = "1h"
        [[connection.limit]]
        name = "status"
        requests = 3
        window = "1m"
        kind = "fixed"
        [[connection.limit]]
        name = "mine"
        requests = 1
        kind = "concurrent"
        [[connection.rule]]
        name = "own"
        outcome = "overloaded"
        status = 530
        "#,
    ));
    assert_eq!(yard.base_url, "http://127.0.0.1:9000");
    assert_eq!(yard.carrier, Carrier::Header { name: "X-Key".to_owned(), scheme: None });
    assert!(!yard.poll.enabled);
    assert_eq!(yard.poll.interval, Interval::Every(Span::from_secs(75)), "what it does not say is the recipe's");
    assert_eq!((yard.waits.floor, yard.waits.ceiling), (Span::from_secs(10), Span::from_secs(3600)));
    let names: Vec<&str> = yard.limits.iter().map(|limit| limit.name.as_str()).collect();
    assert_eq!(names, ["status", "mine", "day"]);
    assert_eq!(yard.limits[0].kind, Kind::Fixed { window: Span::from_secs(60) });
    let rules: Vec<&str> = yard.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(rules, ["own", "lockout"], "own rules are asked first");
}

#[test]
fn a_recipe_is_held_to_the_same_rules() {
    let recipe = "base_url = \"https://x.test\"\nname = \"x\"\ncredential = { env = \"X\" }\nintervall = \"5m\"\n\
                  [[limit]]\nname = \"day\"\nrequests = 0\nwindow = \"1d\"\nkind = \"rolling\"\n[[fact]]\ntext = \"x\"\n";
    let text = "[[connection]]\nname = \"a\"\nrecipe = \"r\"\n[[connection]]\nname = \"b\"\nrecipe = \"r\"\n";
    let said = told(read_with(text, &[], &[("r", recipe)]).unwrap_err());
    assert_eq!(
        said,
        "recipe r:2: name: unknown key; the nearest are: fact, rule, wait\n\
         recipe r:3: credential.env: is not for a recipe: where the secret lies is for the connection to say\n\
         recipe r:4: intervall: unknown key; the nearest are: gateway, pattern, base_url\n\
         recipe r:7: limit[day].requests: must be at least 1, not 0\n\
         recipe r:10: fact[#1].source: is missing: a fact has a text, a source and the date when it was read\n\
         recipe r:10: fact[#1].date: is missing: a fact has a text, a source and the date when it was read"
    );
}

#[test]
fn a_recipe_that_is_not_there_names_the_nearest() {
    let text = "[[connection]]\nname = \"yard\"\nrecipe = \"sprinklr\"\n";
    let said = told(read_with(text, &[], &[("sprinkler", RECIPE), ("solar", RECIPE)]).unwrap_err());
    assert_eq!(
        said,
        "larder.toml:3: connection[yard].recipe: there is no recipe \"sprinklr\"; did you mean \"sprinkler\"?"
    );
    let text = text.replace("sprinklr", "tado");
    let said = told(read_with(&text, &[], &[("sprinkler", RECIPE), ("solar", RECIPE)]).unwrap_err());
    assert!(said.ends_with("there is no recipe \"tado\"; there is: solar, sprinkler"), "{said}");
}

/// `larder.toml` in a folder of its own, with a file of the name in `recipes`.
fn beside(own: &str, name: &str, recipe: &[u8]) -> (tempfile::TempDir, Result<Settings, Vec<ConfigError>>) {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("larder.toml");
    std::fs::create_dir(dir.path().join("recipes")).unwrap();
    std::fs::write(dir.path().join("recipes").join(format!("{name}.toml")), recipe).unwrap();
    std::fs::write(dir.path().join("recipes/notes.txt"), "not a recipe").unwrap();
    std::fs::write(&config, own).unwrap();
    let read = load(&config);
    (dir, read)
}

#[test]
fn a_users_own_recipe_works_like_a_built_in_one_and_wins_over_it() {
    let own = "[[connection]]\nname = \"yard\"\nrecipe = \"sprinkler\"\ncredential = { env = \"YARD_KEY\" }\n";
    let (dir, read) = beside(own, "sprinkler", RECIPE.as_bytes());
    assert_eq!(only(read).base_url, "https://api.sprinkler.test/v1");
    let recipes = Recipes::beside(&dir.path().join("larder.toml"));
    assert!(recipes.names().any(|name| name == "hydrawise") && !recipes.names().any(|name| name == "notes"));
    assert_eq!((recipes.own("hydrawise"), is_built_in("sprinkler")), (None, false));

    let (dir, read) = beside(&own.replace("sprinkler", "hydrawise"), "hydrawise", RECIPE.as_bytes());
    assert_eq!(
        only(read).base_url,
        "https://api.sprinkler.test/v1",
        "the file beside larder.toml, not the built-in one"
    );
    let recipes = Recipes::beside(&dir.path().join("larder.toml"));
    assert!(recipes.own("hydrawise").is_some() && is_built_in("hydrawise"));
}

#[test]
fn a_recipe_that_nobody_names_is_not_read() {
    let own = "[[connection]]\nname = \"yard\"\nbase_url = \"https://x.test\"\n\
               limit = [{ name = \"day\", requests = 5, window = \"5m\", kind = \"rolling\" }]\n";
    let (_dir, read) = beside(own, "broken", &[0xff, b'=', b'[']);
    assert_eq!(only(read).recipe, None);
}

#[test]
fn errors_of_a_users_own_recipe_name_its_file_line_and_key() {
    let own = "[[connection]]\nname = \"yard\"\nrecipe = \"sprinkler\"\ncredential = { env = \"YARD_KEY\" }\n";
    let broken = RECIPE.replace("interval = \"75s\"", "intervall = \"75s\"").replace("$.id", "$.[");
    let (dir, read) = beside(own, "sprinkler", broken.as_bytes());
    let said = told(read.unwrap_err());
    let folder = format!("{}/recipes/", dir.path().display());
    let lines: Vec<&str> = said.lines().map(|line| line.strip_prefix(folder.as_str()).unwrap_or(line)).collect();
    assert_eq!(lines[0], "sprinkler.toml:8: poll.intervall: unknown key; did you mean `interval`?");
    assert!(lines[1].starts_with("sprinkler.toml:20: target[controller]: key: `$.[` is not a JSONPath"), "{said}");

    let (_dir, read) = beside(own, "sprinkler", &[0xff]);
    let said = told(read.unwrap_err());
    assert!(said.contains("larder.toml:3: connection[yard].recipe: ") && said.ends_with("is not UTF-8 text"), "{said}");
}

#[test]
fn a_recipe_alone_needs_neither_secret_nor_address_nor_limit() {
    let alone = |text: &str| {
        let recipes = Recipes::new([("mine".to_owned(), text.to_owned())]);
        recipe_alone(&recipes.get("mine").unwrap().unwrap())
    };
    let spec = alone("credential = { header = \"x-key\" }\n").unwrap_or_else(|errors| panic!("{}", told(errors)));
    assert_eq!((spec.provider.as_str(), spec.limits.len(), spec.secret), ("mine", 0, SecretSource::None));
    let rule = "[[rule]]\nname = \"x\"\noutcome = \"limited\"\nbody = \"(\"\n";
    assert!(told(alone(rule).unwrap_err()).starts_with("recipe mine:1: rule[x]: "), "expressions are compiled");
}

const PATTERN: &str = "\n[[pattern]]\nname = \"zone\"\nitems = \"$\"\nkey = \"$.id\"\ntitle = \"$.name\"\n\
                       [pattern.fields]\nlevel = { path = \"$.level\", as = \"number\" }\n";

#[test]
fn a_target_that_is_like_a_pattern_has_its_keys_where_it_is_silent() {
    let recipe = RECIPE.to_owned() + PATTERN;
    let read = |own: &str| {
        let text = format!(
            "[[connection]]\nname = \"yard\"\nrecipe = \"sprinkler\"\ncredential = {{ env = \"K\" }}\n\
             [[connection.target]]\nname = \"front\"\nlike = \"zone\"\n{own}"
        );
        read_with(&text, &[], &[("sprinkler", &recipe)])
    };
    let yard = only(read("get = \"/zone/7\"\ntitle = \"$.label\"\n[[connection.target.state]]\nis = \"idle\"\n"));
    let [front, controller] = yard.targets.as_slice() else { panic!("its own and the recipe's: {:?}", yard.targets) };
    assert_eq!(
        (front.name.as_str(), front.get.as_deref(), controller.name.as_str()),
        ("front", Some("/zone/7"), "controller")
    );
    assert_eq!((front.key.as_str(), front.title.as_deref(), front.states.len()), ("$.id", Some("$.label"), 1));
    assert_eq!(front.fields.len(), 1, "a table is the pattern's whole");
    assert!(told(read("").unwrap_err()).contains("target[front]"), "the path is the connection's to say");
    let other = read("get = \"/zone/7\"\n").unwrap();
    assert_eq!(other.connections[0].targets[0].fields[0].name, "level");
}

#[test]
fn patterns_are_checked_and_unknown_ones_are_told() {
    let text = "[[connection]]\nname = \"yard\"\nrecipe = \"sprinkler\"\ncredential = { env = \"K\" }\n\
                [[connection.target]]\nname = \"front\"\nlike = \"zon\"\nget = \"/zone/7\"\n";
    let recipe = RECIPE.to_owned() + &PATTERN.replace("title", "titel");
    let said = told(read_with(text, &[], &[("sprinkler", &recipe)]).unwrap_err());
    let mut lines = said.lines();
    let like = "larder.toml:7: connection[yard].target[front].like: there is no pattern \"zon\"; did you mean `zone`?";
    assert_eq!(lines.next(), Some(like), "{said}");
    assert!(lines.next().is_some_and(|line| line.contains("pattern[zone].titel: unknown key; did you mean `title`?")));
    assert!(wrong_below("[[connection.target]]\nname = \"t\"\nlike = \"x\"\n").contains("there is no pattern"));
}

#[test]
fn a_recipe_without_the_secret_asks_for_it() {
    assert_eq!(
        told(with_recipe("").unwrap_err()),
        "larder.toml:1: connection[yard].credential: does not say where the secret lies: add credential = { env = \"NAME\" } or \
         { file = \"PATH\" }"
    );
}

#[test]
fn variables_win_over_the_file() {
    let variables = [
        ("LARDER_SERVER_LISTEN", "0.0.0.0:80"),
        ("LARDER_SERVER_DATA", "/var/lib/larder/larder.redb"),
        ("LARDER_SERVER_HOSTS", "larder.lan, pi.lan"),
        ("LARDER_CONNECTION_YARD_BASE_URL", "http://127.0.0.1:9000"),
        ("LARDER_CONNECTION_YARD_POLL_ENABLED", "false"),
        ("LARDER_CONNECTION_YARD_POLL_INTERVAL", "10m"),
        ("LARDER_CONNECTION_YARD_REQUEST_TIMEOUT", "3s"),
        ("LARDER_CONNECTION_YARD_MAX_BODY", "1MiB"),
        ("LARDER_CONNECTION_YARD_CREDENTIAL_FILE", "/run/secrets/yard"),
        ("LARDER_LOG", "debug"),
        ("LARDER_CONFIG", "/etc/larder/larder.toml"),
        ("PATH", "/bin"),
    ];
    let text = yard("credential = { env = \"YARD_KEY\", query = \"api_key\" }");
    let settings = read_with(&text, &variables, &[]).unwrap_or_else(|errors| panic!("{}", told(errors)));
    assert_eq!(settings.server.listen.to_string(), "0.0.0.0:80");
    assert_eq!(settings.server.data, Path::new("/var/lib/larder/larder.redb"));
    assert_eq!(settings.server.hosts, ["larder.lan", "pi.lan"]);
    let yard = &settings.connections[0];
    assert_eq!(yard.base_url, "http://127.0.0.1:9000");
    assert_eq!((yard.poll.enabled, yard.poll.interval), (false, Interval::Every(Span::from_secs(600))));
    assert_eq!((yard.network.request_timeout, yard.network.max_body), (Span::from_secs(3), 1 << 20));
    assert_eq!(yard.secret, SecretSource::File("/run/secrets/yard".into()));
}

#[test]
fn variables_are_checked_like_the_file() {
    let variables = [
        ("LARDER_SERVER_LISTN", "0.0.0.0:80"),
        ("LARDER_CONNECTION_YARD_POLL_INTERVAL", "often"),
        ("LARDER_CONNECTION_YARD_POLL_ENABLED", "yes"),
        ("LARDER_CONNECTION_ATTIC_BASE_URL", "http://x"),
        ("LARDER_YARD_KEY", "hunter2-hunter2"),
        ("LARDER_SPARE_KEY", "hunter2-hunter2"),
    ];
    let text = yard("credential = { env = \"LARDER_YARD_KEY\", query = \"api_key\" }");
    assert_eq!(
        told(read_with(&text, &variables, &[]).unwrap_err()),
        "environment: LARDER_CONNECTION_YARD_POLL_INTERVAL: \"often\" is not a duration; write a whole number and one of \
         ms, s, m, h, d, such as \"75s\" or \"5m\", or \"auto\"\n\
         environment: LARDER_CONNECTION_YARD_POLL_ENABLED: must be true or false\n\
         environment: LARDER_CONNECTION_ATTIC_BASE_URL: unknown variable; did you mean `LARDER_CONNECTION_YARD_BASE_URL`?\n\
         environment: LARDER_SERVER_LISTN: unknown variable; did you mean `LARDER_SERVER_LISTEN`?\n\
         environment: LARDER_SPARE_KEY: unknown variable; the nearest are: LARDER_SERVER_DATA, LARDER_BACKUP_KEEP, LARDER_MQTT_USER"
    );
}

#[test]
fn a_variable_that_could_mean_two_connections_is_refused() {
    let text = yard("").replace("\"yard\"", "\"a-b\"") + &yard("").replace("\"yard\"", "\"a_b\"");
    let said = told(read_with(&text, &[("LARDER_CONNECTION_A_B_POLL_INTERVAL", "5m")], &[]).unwrap_err());
    assert_eq!(said, "environment: LARDER_CONNECTION_A_B_POLL_INTERVAL: could mean any of the connections a-b, a_b");
}
