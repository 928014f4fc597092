//! Connections that are written in the browser: what they may say, and the way out of a text and in.

use crate::config::stored::{as_put, as_words, compose, imports, read_with, target_text, with_target};
use crate::config::{Recipes, recipe_alone};
use crate::domain::ids::ConnectionKey;
use crate::domain::setup::{Client, RecipeSheet, Sketch};
use crate::domain::spec::{Interval, SecretSource};
use crate::domain::time::Span;
use std::path::Path;

const RECIPE: &str = r#"
base_url = "https://api.example.test"
credential = { query = "key" }
[[limit]]
name = "day"
requests = 100
window = "24h"
kind = "rolling"
[[target]]
name = "zones"
get = "/zones"
items = "$[*]"
key = "$.id"
"#;

fn recipes() -> Recipes {
    let renewing = "credential = { oauth2 = { token_url = \"https://auth.example.test/token\", rotates = true } }";
    let renewing = RECIPE.replace("credential = { query = \"key\" }", renewing);
    Recipes::new([("sprinkler".to_owned(), RECIPE.to_owned()), ("heating".to_owned(), renewing)])
}

fn read(text: &str) -> Result<crate::config::stored::One, Vec<String>> {
    read_with(text, Path::new("larder.toml"), &recipes())
}

fn sketch() -> Sketch {
    Sketch {
        key: ConnectionKey { organization: Default::default(), connection: "pool".into() },
        recipe: "sprinkler".to_owned(),
        base_url: None,
        limit: Some((7, "1h".to_owned())),
        interval: Some("5m".to_owned()),
        client: None,
    }
}

#[track_caller]
fn refused(text: &str, part: &str) {
    let told = read(text).err().unwrap_or_default().join("; ");
    assert!(told.contains(part), "{told:?} of\n{text}");
}

#[test]
fn what_is_composed_is_read_as_it_was_meant() {
    let sheet = RecipeSheet { needs_secret: true, ..RecipeSheet::default() };
    let text = compose(&sketch(), &sheet);
    let spec = read(&text).unwrap().spec;
    assert_eq!((spec.key, spec.secret), (sketch().key, SecretSource::Sealed));
    assert_eq!(spec.poll.interval, Interval::Every(Span::from_secs(300)));
    assert_eq!(spec.limits.iter().map(|l| (l.name.as_str(), l.amount)).collect::<Vec<_>>(), [("own", 7), ("day", 100)]);
    assert!(recipe_alone(&recipes().get("sprinkler").unwrap().unwrap()).is_ok());
}

#[test]
fn a_client_that_renews_its_tokens_is_composed_without_a_secret_in_it() {
    let recipe = recipes().get("heating").unwrap().unwrap();
    let sheet = crate::config::stored::sheet(&recipe, false).unwrap();
    assert!(sheet.renews && !sheet.needs_secret);
    let client = |has_secret| Client { id: "larder".to_owned(), has_secret, account: Some("home".to_owned()) };
    let of = |has_secret| Sketch { recipe: "heating".to_owned(), client: Some(client(has_secret)), ..sketch() };
    for (has_secret, source) in [(true, SecretSource::Sealed), (false, SecretSource::None)] {
        let text = compose(&of(has_secret), &sheet);
        let spec = read(&text).unwrap().spec;
        let oauth = spec.oauth.unwrap();
        assert_eq!((spec.secret, oauth.client_secret), (SecretSource::Sealed, source), "{text}");
        assert_eq!((oauth.client_id.as_str(), oauth.account.as_str()), ("larder", "home"));
    }
    let text = compose(&of(true), &sheet);
    refused(&text.replace("sealed = true", "env = \"HOME\""), "names no place to read");
    let own = text.replacen("sealed = true", "file = \"/etc/shadow\"", 1);
    refused(&own, "names no place to read");
    let handed = "[[connection]]\nname = \"a\"\nrecipe = \"heating\"\ncredential = { env = \"R\", oauth2 = { client_id = \"larder\", \
                  client_secret = { env = \"S\" } } }\n";
    let import = imports(handed).unwrap().0.remove(0);
    assert_eq!(import.notes.len(), 2, "{:?}", import.notes);
    let oauth = read(&import.text).unwrap().spec.oauth.unwrap();
    assert_eq!(oauth.client_secret, SecretSource::Sealed);
}

#[test]
fn nothing_that_is_stored_names_a_place_to_read_a_secret_from() {
    let with = |line: &str| format!("[[connection]]\nname = \"x\"\nrecipe = \"sprinkler\"\n{line}\n");
    refused(&with("credential = { file = \"/etc/shadow\" }"), "names no place to read a secret from");
    refused(&with("credential = { env = \"HOME\" }"), "names no place to read a secret from");
    refused(&with("credential = { sealed = true, env = \"HOME\" }"), "the secret lies in one of them");
    refused(&with("credential = { sealed = false }"), "must be true");
    let hook = "credential = { sealed = true }\n[[connection.webhook]]\nname = \"h\"\nurl = { file = \"/etc/passwd\" }";
    refused(&with(hook), "webhook h");
    let two = with("credential = { sealed = true }");
    refused(&format!("{two}{}", two.replace("\"x\"", "\"y\"")), "one [[connection]]");
    refused("[server]\nlisten = \"0.0.0.0:80\"\n", "unknown key");
    refused(&"#".repeat(70_000), "may have 65536 bytes");
    refused("[[connection]]\nname = \"x\"\nrecipe = \"nobody\"\n", "there is no recipe");
}

#[test]
fn a_text_that_is_handed_over_loses_where_its_secrets_lie() {
    let text = "[server]\nlisten = \"0.0.0.0:80\"\n[[connection]]\nname = \"a\"\nrecipe = \"sprinkler\"\n\
                credential = { env = \"HOME\", header = \"X-Key\" }\n[[connection]]\nname = \"b\"\norganization = \"o\"\n";
    let (found, beside) = imports(text).unwrap();
    assert_eq!(found.iter().map(|i| i.key.to_string()).collect::<Vec<_>>().len(), 2);
    assert!(found[0].text.contains("sealed = true") && !found[0].text.contains("HOME"), "{}", found[0].text);
    assert!(found[0].notes[0].contains("env HOME"), "{:?}", found[0].notes);
    assert_eq!(read(&found[0].text).unwrap().spec.secret, SecretSource::Sealed);
    assert_eq!(found[1].key.organization.as_str(), "o");
    assert_eq!(beside, ["server"]);
    assert!(imports("nonsense").is_err() && imports("[server]\n").is_err());
}

#[test]
fn one_target_is_written_otherwise_and_the_rest_stays() {
    let text = compose(&sketch(), &RecipeSheet { needs_secret: true, ..RecipeSheet::default() });
    let words = "get = \"/zones?all=1\"\nitems = \"$.z[*]\"\nkey = \"$.id\"\n";
    let other = with_target(&text, &"zones".into(), words).unwrap();
    let (before, after) = (read(&text).unwrap().spec, read(&other).unwrap().spec);
    assert_eq!(after.targets[0].get.as_deref(), Some("/zones?all=1"));
    assert_eq!((&after.limits, &after.poll), (&before.limits, &before.poll));
    let said = target_text(&other, Path::new("larder.toml"), &"zones".into()).unwrap();
    assert!(said.contains("all=1") && !said.contains("name"), "{said}");
    assert_eq!(with_target(&other, &"zones".into(), &said).unwrap(), other, "what is shown can be saved as it is");
    assert!(with_target(&text, &"zones".into(), "= 1").is_err());
    let body = as_put(words).unwrap();
    assert_eq!(as_put(&as_words(&body).unwrap()).unwrap().len(), body.len());
}
