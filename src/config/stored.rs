//! Connections that are written in the browser and stored in the data file: composed from a recipe, read under the rules of the file and a few
//! more, changed target by target, and taken out of a text that was handed over. What is stored names no secret, neither by value nor by a
//! place to read one from: who may write it must not have this machine read files for him. Knows no appliance.

use super::place::Problems;
use super::recipe::{Recipe, Recipes};
use super::section::{Document, Section};
use super::{Environment, Puttable, Reader, compile_expressions, recipe_alone};
use crate::domain::ids::{ConnectionKey, Organization, TargetName};
use crate::domain::limit::Limit;
use crate::domain::setup::{Client, Import, RecipeSheet, Sketch};
use crate::domain::spec::{Carrier, ConnectionSpec, SecretSource};
use crate::domain::webhook::WebhookUrl;
use std::path::Path;
use toml::{Table, Value};

/// Bytes that the text of one connection may have.
const MOST_TEXT: usize = 64 * 1024;

/// A stored connection, as it can run.
pub struct One {
    pub spec: ConnectionSpec,
    /// For targets that are put to it.
    pub puttable: Puttable,
}

/// Reads the text of one connection. The errors are sentences.
pub fn read_one(text: &str, config: &Path) -> Result<One, Vec<String>> {
    read_with(text, config, &Recipes::beside(config))
}

pub(super) fn read_with(text: &str, config: &Path, recipes: &Recipes) -> Result<One, Vec<String>> {
    if text.len() > MOST_TEXT {
        return Err(vec![format!("the text of a connection may have {MOST_TEXT} bytes; this one has {}", text.len())]);
    }
    let mut p = Problems::default();
    let document = Document::new(0, "", text);
    let told = |p: Problems| p.into_sentences();
    let Some(table) = document.tables(text, &mut p) else { return Err(told(p)) };
    let root = Section::root(&document, table.get_ref());
    root.only(&["connection"], &[], &mut p);
    let sections = root.tables("connection", &mut p);
    let folder = config.parent().unwrap_or(Path::new(""));
    // What is set in the environment of this process is for the file.
    let environment = Environment::default();
    let mut reader = Reader::new(folder, &environment, recipes, compile_expressions);
    let mut read: Vec<_> = sections.into_iter().filter_map(|s| reader.connection(s, &mut p)).collect();
    let puttable = std::mem::take(&mut reader.puttable);
    if !p.is_empty() {
        return Err(told(p));
    }
    match (read.pop(), read.is_empty()) {
        (Some(spec), true) => refuse(&spec).map_or(Ok(One { spec, puttable }), |why| Err(vec![why])),
        _ => Err(vec!["it is not the text of one [[connection]]".to_owned()]),
    }
}

/// Why a connection that runs by the file is not stored.
fn refuse(spec: &ConnectionSpec) -> Option<String> {
    let names_a_place = |source: &SecretSource| !matches!(source, SecretSource::None | SecretSource::Sealed);
    if spec.oauth.as_ref().is_some_and(|oauth| names_a_place(&oauth.client_secret)) {
        return Some("credential: what is stored names no place to read a client's secret from; write client_secret = { sealed = true } and set it beside the refresh token".to_owned());
    }
    if names_a_place(&spec.secret) {
        return Some("credential: what is stored names no place to read a secret from; write credential = { sealed = true } and set it on the connection's page".to_owned());
    }
    let secret_hook = |hook: &&crate::domain::webhook::WebhookSpec| {
        names_a_place(&hook.secret) || matches!(&hook.url, WebhookUrl::Secret(_))
    };
    let hook = spec.webhooks.iter().find(secret_hook)?;
    Some(format!("webhook {}: one with a secret is written in larder.toml", hook.name))
}

/// The text of a connection that comes of a recipe.
pub fn compose(sketch: &Sketch, sheet: &RecipeSheet) -> String {
    let mut connection = Table::new();
    connection.insert("name".to_owned(), sketch.key.connection.as_str().into());
    if sketch.key.organization != Organization::default() {
        connection.insert("organization".to_owned(), sketch.key.organization.as_str().into());
    }
    connection.insert("recipe".to_owned(), sketch.recipe.as_str().into());
    connection.extend(sketch.base_url.as_deref().map(|url| ("base_url".to_owned(), url.into())));
    match &sketch.client {
        Some(client) => {
            let oauth = [("oauth2".to_owned(), Value::Table(renewing(client)))].into_iter().collect();
            connection.insert("credential".to_owned(), Value::Table(sealed(oauth)));
        }
        None if sheet.needs_secret => {
            connection.insert("credential".to_owned(), Value::Table(sealed(Table::new())));
        }
        None => {}
    }
    if let Some((requests, window)) = &sketch.limit {
        let limit = [
            ("name", Value::from("own")),
            ("requests", i64::try_from(*requests).unwrap_or(i64::MAX).into()),
            ("window", window.as_str().into()),
            ("kind", "rolling".into()),
        ];
        let limit: Table = limit.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        connection.insert("limit".to_owned(), Value::Array(vec![Value::Table(limit)]));
    }
    if let Some(interval) = &sketch.interval {
        let poll: Table = [("interval".to_owned(), interval.as_str().into())].into_iter().collect();
        connection.insert("poll".to_owned(), Value::Table(poll));
    }
    written(connection)
}

/// `{ client_id = "...", client_secret = { sealed = true } }`; the rest is the recipe's.
fn renewing(client: &Client) -> Table {
    let mut oauth = Table::new();
    oauth.insert("client_id".to_owned(), client.id.as_str().into());
    if client.has_secret {
        oauth.insert("client_secret".to_owned(), Value::Table(sealed(Table::new())));
    }
    oauth.extend(client.account.as_deref().map(|account| ("account".to_owned(), account.into())));
    oauth
}

fn sealed(mut credential: Table) -> Table {
    credential.insert("sealed".to_owned(), true.into());
    credential
}

fn written(connection: Table) -> String {
    let whole: Table = [("connection".to_owned(), Value::Array(vec![Value::Table(connection)]))].into_iter().collect();
    // A table of texts, numbers and tables can always be written.
    toml::to_string(&whole).unwrap_or_default()
}

/// Every connection of a text that was handed over, as it can be stored, and the keys of what it has beside them. The errors are sentences.
pub fn imports(text: &str) -> Result<(Vec<Import>, Vec<String>), Vec<String>> {
    let table: Table = text.parse().map_err(|e: toml::de::Error| vec![format!("it is not TOML: {}", e.message())])?;
    let Some(Value::Array(connections)) = table.get("connection") else {
        return Err(vec!["it has no [[connection]]".to_owned()]);
    };
    let read = |value: &Value| match value {
        Value::Table(connection) => importable(connection.clone()),
        _ => Err("connection: must be a table".to_owned()),
    };
    let imports = connections.iter().map(read).collect::<Result<_, _>>().map_err(|why| vec![why])?;
    Ok((imports, table.keys().filter(|key| *key != "connection").cloned().collect()))
}

fn word(table: &Table, key: &str) -> Option<String> {
    table.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn importable(mut connection: Table) -> Result<Import, String> {
    let name = word(&connection, "name").ok_or("a connection without a name")?;
    let organization = word(&connection, "organization").map_or_else(Organization::default, Organization);
    let mut notes = Vec::new();
    if let Some(Value::Table(credential)) = connection.remove("credential") {
        let (places, travel): (Table, Table) =
            credential.into_iter().partition(|(key, _)| key == "env" || key == "file");
        let place = places.iter().next().map(|(key, value)| format!("{key} {}", value.as_str().unwrap_or_default()));
        notes.extend(place.map(|place| format!("its credential ({place}) does not come along: set it here")));
        let mut travel = travel;
        let client = travel.get_mut("oauth2").and_then(|oauth| oauth.get_mut("client_secret"));
        if let Some(secret) = client.filter(|secret| secret.get("sealed").is_none()) {
            notes.push("the secret of its client does not come along either".to_owned());
            *secret = Value::Table(sealed(Table::new()));
        }
        connection.insert("credential".to_owned(), Value::Table(sealed(travel)));
    }
    let key = ConnectionKey { organization, connection: name.as_str().into() };
    Ok(Import { key, text: written(connection), notes })
}

/// The words of one target in the text of a connection, else in its recipe's, as they stand there.
pub fn target_text(text: &str, config: &Path, target: &TargetName) -> Option<String> {
    let connection = only_connection(text)?;
    let recipe = connection.get("recipe").and_then(Value::as_str);
    let recipe = recipe.and_then(|name| Recipes::beside(config).get(name)?.ok());
    let of_recipe = recipe.and_then(|recipe| recipe.text.parse::<Table>().ok());
    let found = [Some(&connection), of_recipe.as_ref()].into_iter().flatten().find_map(|table| named(table, target));
    let mut found = found?.clone();
    found.remove("name");
    toml::to_string(&found).ok()
}

fn only_connection(text: &str) -> Option<Table> {
    let table: Table = text.parse().ok()?;
    table.get("connection")?.as_array()?.first()?.as_table().cloned()
}

fn named<'t>(table: &'t Table, target: &TargetName) -> Option<&'t Table> {
    let targets = table.get("target")?.as_array()?.iter().filter_map(Value::as_table);
    targets.into_iter().find(|t| t.get("name").and_then(Value::as_str) == Some(target.as_str()))
}

/// The text of a connection, with these words for one target. The error is a sentence.
pub fn with_target(text: &str, target: &TargetName, words: &str) -> Result<String, String> {
    let mut connection = only_connection(text).ok_or("the connection cannot be read any more")?;
    let mut own: Table = words.parse().map_err(|e: toml::de::Error| format!("it is not TOML: {}", e.message()))?;
    own.insert("name".to_owned(), target.as_str().into());
    let targets = connection.entry("target").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(targets) = targets else { return Err("target: must be a list of tables".to_owned()) };
    let is_it = |value: &Value| value.get("name").and_then(Value::as_str) == Some(target.as_str());
    match targets.iter_mut().find(|value| is_it(value)) {
        Some(old) => *old = Value::Table(own),
        None => targets.push(Value::Table(own)),
    }
    Ok(written(connection))
}

/// The words of a target, as it is put: a JSON object. The error is a sentence.
pub fn as_put(words: &str) -> Result<String, String> {
    let table: Table = words.parse().map_err(|e: toml::de::Error| format!("it is not TOML: {}", e.message()))?;
    serde_json::to_string(&table).map_err(|e| e.to_string())
}

/// A target as it was put, in the words of the file.
pub fn as_words(body: &str) -> Option<String> {
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(body).ok()?;
    object.remove("name");
    toml::to_string(&object).ok()
}

/// What a recipe says of itself.
pub fn sheet(recipe: &Recipe, is_own: bool) -> Result<RecipeSheet, Vec<String>> {
    let spec = recipe_alone(recipe).map_err(|errors| errors.into_iter().map(|e| e.0).collect::<Vec<_>>())?;
    let table: Table = recipe.text.parse().unwrap_or_default();
    let renews = table.get("credential").is_some_and(|credential| credential.get("oauth2").is_some());
    let said = |table: &Table, key: &str| word(table, key).unwrap_or_default();
    let listed = |key: &str| table.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table);
    Ok(RecipeSheet {
        name: recipe.name.clone(),
        provider: word(&table, "provider").filter(|p| !p.is_empty()).unwrap_or_else(|| recipe.name.clone()),
        about: said(&table, "about"),
        is_own,
        needs_base_url: table.get("base_url").is_none(),
        needs_limit: spec.limits.is_empty(),
        needs_secret: spec.carrier != Carrier::None && !renews,
        renews,
        targets: listed("target").map(|target| (said(target, "name"), said(target, "get"))).collect(),
        patterns: listed("pattern").map(|pattern| said(pattern, "name")).collect(),
        limits: spec.limits.iter().map(limit).collect(),
        facts: listed("fact").map(|fact| (said(fact, "text"), said(fact, "source"), said(fact, "date"))).collect(),
    })
}

/// `status: 5 in 5 min, an endpoint`
fn limit(limit: &Limit) -> String {
    let window = limit.kind.nominal_window().map(|window| format!(" in {window}")).unwrap_or_default();
    format!("{}: {}{window}", limit.name, limit.amount)
}
