//! The document of the API against the router and against what is answered: no route that it does not tell of, none that is not there, and no
//! answer that is otherwise than it says.

use super::pages::part;
use super::*;
use crate::web::document::document;
use std::collections::{BTreeMap, BTreeSet};

/// What browsers ask beside pages: what those load and listen to, and where a wish is kept in a cookie.
const FOR_BROWSERS: [&str; 3] = ["/static/{name}", "/reader", "/live"];

/// Pages that need a whole appliance behind them, which no sample is: `tests/e2e/setup.rs` looks at them.
const OF_AN_APPLIANCE: [&str; 5] =
    ["/setup", "/setup/{recipe}", "/setup/larder.toml", "/c/{connection}/setup", "/c/{connection}/t/{target}/edit"];

/// Every address of the router with its methods, as the router itself says them.
pub async fn routes() -> BTreeMap<String, BTreeSet<String>> {
    // For each another site, so that the local rate of changes is in no one's way.
    let site = || Site::at(Listener::Local, Sample::calm());
    let told = format!("{:?}", router(site().state));
    let mut routes = BTreeMap::new();
    for part in told.split("RouteId(").skip(1) {
        let Some((_, rest)) = part.split_once("): \"") else { continue };
        let Some(path) = rest.split('"').next().filter(|path| path.starts_with('/') && !path.contains("__private"))
        else {
            continue;
        };
        let unknown = Request::builder().method("BREW").uri(path).header(header::HOST, "127.0.0.1:8474");
        let refused = site().send(unknown.body(Body::empty()).unwrap()).await;
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        let allowed = head(refused.headers(), "allow").split(',').map(|method| method.trim().to_owned());
        routes.insert(path.to_owned(), allowed.filter(|method| method != "HEAD").collect());
    }
    assert!(routes.len() > 40, "the router is read otherwise now: {told}");
    routes
}

fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let paths = document().value["paths"].as_object().unwrap();
    let methods = |item: &Value| item.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
    paths.iter().map(|(path, item)| (path.clone(), methods(item))).collect()
}

/// Whether it is for people: a page, or what a form of one sends.
async fn is_for_people(path: &str, method: &str) -> bool {
    let site = Site::at(Listener::Loopback, Sample::calm());
    let path = path.replace("{connection}", "yard").replace("{target}", "controller");
    let path = path.replace("{operation}", "connections").replace("{type}", "When");
    let path = path.replace("{organization}", "default");
    let path = path.as_str();
    let headers = [
        ("accept", "text/html"),
        ("authorization", "Bearer admin-token"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let request = ask(method.parse().unwrap(), path, &headers);
    let answer = site.send(request.body(Body::empty()).unwrap()).await;
    let is_page = head(answer.headers(), "content-type").starts_with("text/html");
    match method {
        "GET" => is_page && answer.status().is_success(),
        "POST" => {
            // Before the door it is the page that a form came from which is judged first.
            let told = answer.status() == StatusCode::FORBIDDEN;
            let page = text(answer).await;
            is_page && told && ["This form is too old", "came from another site"].iter().any(|why| page.contains(why))
        }
        _ => false,
    }
}

#[tokio::test]
async fn every_route_is_in_the_document_or_for_people() {
    let (there, told) = (routes().await, documented());
    let mut untold = Vec::new();
    for (path, methods) in &there {
        let known = told.get(path).cloned().unwrap_or_default();
        for method in methods.difference(&known).filter(|_| !FOR_BROWSERS.contains(&path.as_str())) {
            if method == "GET" && OF_AN_APPLIANCE.contains(&path.as_str()) {
                continue;
            }
            if path.starts_with("/api/v1") || !is_for_people(path, method).await {
                untold.push(format!("{method} {path}"));
            }
        }
    }
    assert!(untold.is_empty(), "give these `#[utoipa::path]` and `listed!`: {untold:#?}");
    for (path, methods) in &told {
        let gone: Vec<_> = methods.difference(there.get(path).unwrap_or(&BTreeSet::new())).cloned().collect();
        assert!(gone.is_empty(), "{path} has no {gone:?}");
    }
}

fn resolve<'a>(value: &'a Value, document: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(at) => document.pointer(at.trim_start_matches('#')).unwrap_or_else(|| panic!("{at} is not there")),
        None => value,
    }
}

/// What is otherwise than the schema says: the part of JSON Schema that the document uses.
fn otherwise(schema: &Value, value: &Value, document: &Value, at: &str) -> Vec<String> {
    let schema = resolve(schema, document);
    let mut found = Vec::new();
    if let Some(all) = schema["allOf"].as_array() {
        found.extend(all.iter().flat_map(|one| otherwise(one, value, document, at)));
    }
    if let Some(one_of) = schema["oneOf"].as_array() {
        let fits = one_of.iter().filter(|one| otherwise(one, value, document, at).is_empty()).count();
        if fits != 1 {
            found.push(format!("{at}: {value} fits {fits} of {}", schema["oneOf"]));
        }
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_u64() || n.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = |wanted: &Value| wanted == kind || (wanted == "number" && kind == "integer");
    let is_kind = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(fits),
        one => fits(one),
    };
    if !is_kind {
        found.push(format!("{at}: {value} is not {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        found.push(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    if let Some(items) = value.as_array().filter(|_| schema.get("items").is_some()) {
        found.extend(items.iter().flat_map(|item| otherwise(&schema["items"], item, document, &format!("{at}[]"))));
    }
    if let Some(object) = value.as_object() {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        found.extend(required.filter(|name| !object.contains_key(*name)).map(|name| format!("{at}: no {name}")));
        for (name, value) in object {
            let at = format!("{at}.{name}");
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => found.push(format!("{at} is not told of")),
                (Value::Null, more @ Value::Object(_)) => found.extend(otherwise(more, value, document, &at)),
                (Value::Null, _) => {}
                (property, _) => found.extend(otherwise(property, value, document, &at)),
            }
        }
    }
    found
}

/// What the document says of an answer to this.
fn schema_of(path: &str, method: &str, status: u16) -> Value {
    let document = &document().value;
    let responses = &document["paths"][path][method]["responses"];
    let response = resolve(&responses[status.to_string()], document);
    assert!(response.is_object(), "{method} {path} does not tell of {status}: {responses}");
    let contents = &response["content"];
    ["application/json", "application/problem+json"]
        .map(|kind| contents[kind]["schema"].clone())
        .into_iter()
        .find(|s| !s.is_null())
        .unwrap_or_default()
}

#[tokio::test]
async fn what_is_answered_is_as_the_document_says() {
    let values = [
        ("connection", "yard"),
        ("target", "controller"),
        ("job", "7"),
        ("token", "1"),
        ("command", "run-zone"),
        ("webhook", "house"),
    ];
    let mut seen = BTreeSet::new();
    for sample in [Sample::calm(), Sample::locked_out(), Sample::empty()] {
        let site = Site::at(Listener::Local, sample);
        for (path, methods) in documented() {
            let address =
                values.iter().fold(path.clone(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value));
            for method in methods {
                let id =
                    document().value["paths"][&path][method.to_lowercase()]["operationId"].as_str().unwrap().to_owned();
                if id == "events" {
                    continue;
                }
                let (query, body) = match id.as_str() {
                    "plan" => ("?connection=yard&targets=3", ""),
                    "change_connection" => ("", "{\"interval\": \"5m\"}"),
                    "set_credential" => ("", "{\"secret\": \"another\"}"),
                    "command" => ("", "{\"item\": \"5143\", \"seconds\": 60}"),
                    "put_target" => ("", "{\"get\": \"/x\", \"phase\": \"pending\"}"),
                    "change_target" => ("", "{\"phase\": \"stopped\"}"),
                    "change_polling" => ("", "{\"workers\": 2}"),
                    "create_token" => ("", "{\"name\": \"phone\", \"role\": \"reader\"}"),
                    "take_in_configuration" => ("", "{\"text\": \"[[connection]]\"}"),
                    "observe" => (
                        "",
                        "{\"observations\": [{\"id\": \"a\", \"connection\": \"yard\", \"target\": \"controller\", \
                         \"as_of\": \"2026-11-30T09:00:00Z\", \"answer\": {}}]}",
                    ),
                    "backup" => ("", "{\"destination\": \"/tmp/copy.redb\"}"),
                    _ => ("", ""),
                };
                let headers = [("content-type", "application/json")];
                let request = ask(method.parse().unwrap(), &format!("{address}{query}"), &headers);
                let answer = site.send(request.body(Body::from(body)).unwrap()).await;
                let status = answer.status().as_u16();
                let schema = schema_of(&path, &method.to_lowercase(), status);
                if answer.status().is_success() {
                    seen.insert(id.clone());
                }
                let kind = head(answer.headers(), "content-type").to_owned();
                if kind.starts_with("application/json") || kind.starts_with("application/problem+json") {
                    let wrong = otherwise(&schema, &json(answer).await, &document().value, "answer");
                    assert!(wrong.is_empty(), "{method} {address} ({status}): {wrong:#?}");
                }
            }
        }
    }
    let told: BTreeSet<String> = operations().map(|one| one["operationId"].as_str().unwrap().to_owned()).collect();
    let unseen: Vec<_> = told.difference(&seen).filter(|id| *id != "events").collect();
    assert!(unseen.is_empty(), "these never succeeded before the sample: {unseen:?}");
}

fn operations() -> impl Iterator<Item = &'static Value> {
    document().value["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
}

const ANEW: &str = "the examples of the document are written anew as tests/e2e/examples.rs says";

#[test]
fn every_operation_has_an_answer_that_was_given_and_is_as_its_schema_says() {
    let document = &document().value;
    for operation in operations() {
        let id = operation["operationId"].as_str().unwrap();
        let good = operation["responses"].as_object().unwrap().iter().filter(|(status, _)| status.starts_with('2'));
        let told: Vec<&Value> =
            good.map(|(_, one)| &one["content"]["application/json"]).filter(|c| c.is_object()).collect();
        let examples: Vec<&&Value> = told.iter().filter(|content| content.get("example").is_some()).collect();
        assert_eq!(examples.len(), usize::from(!told.is_empty() && id != "openapi"), "{id}: {ANEW}");
        for content in examples {
            let wrong = otherwise(&content["schema"], &content["example"], document, id);
            assert!(wrong.is_empty(), "{ANEW}: {wrong:#?}");
        }
    }
    for name in ["Problem401", "Problem404", "Problem422"] {
        let content = &document["components"]["responses"][name]["content"]["application/problem+json"];
        assert!(content["example"]["detail"].is_string(), "{name}");
        let wrong = otherwise(&content["schema"], &content["example"], document, name);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

fn walk(value: &Value, at: &mut impl FnMut(&Value)) {
    at(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, at)),
        // An answer that was given is no part of what the document says of others.
        Value::Object(members) => {
            members.iter().filter(|(name, _)| *name != "example").for_each(|(_, member)| walk(member, at));
        }
        _ => {}
    }
}

#[test]
fn the_document_is_whole() {
    let document = &document().value;
    assert_eq!(document["openapi"], "3.1.0");
    let mut names = BTreeSet::new();
    for operation in operations() {
        let id = operation["operationId"].as_str().unwrap();
        assert!(names.insert(id), "{id} is there twice");
        assert!(operation["summary"].as_str().is_some_and(|s| s.ends_with('.')), "{id} has no sentence");
        assert!(operation["tags"].as_array().is_some_and(|tags| tags.len() == 1), "{id}");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(parameter["schema"].is_object(), "{id}: {parameter}");
            let words = resolve(&parameter["schema"], document)["description"].as_str();
            let told = parameter["description"].as_str().or(words).unwrap_or_default();
            assert!(!told.is_empty(), "{id}: what is {}?", parameter["name"]);
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            let told = resolve(response, document)["description"].as_str().unwrap_or_default();
            assert!(!told.is_empty(), "{id}: what is {status}?");
        }
    }
    walk(document, &mut |value| {
        assert!(!value.is_null(), "a null is no schema, and no keyword has one");
        resolve(value, document);
    });
    assert!(!document.to_string().contains("ControlView_Option"), "a name for people");
}

#[tokio::test]
async fn the_document_is_read_as_pages_that_lead_from_one_to_the_next() {
    let site = Site::loopback(Sample::calm());
    let (mut waiting, mut seen) = (vec!["/api".to_owned()], BTreeSet::new());
    while let Some(path) = waiting.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let page = site.page(&path).await;
        assert!(page.matches("<h1").count() == 1 && page.len() < 50_000, "{path}: {}", page.len());
        assert!(!page.contains("<script"), "{path}");
        let up = path.matches('/').count() - 1;
        let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let links =
            links.filter_map(|link| link.strip_prefix(&"../".repeat(up)).filter(|link| link.starts_with("api/")));
        waiting.extend(links.filter(|link| !link.starts_with("api/v1")).map(|link| format!("/{link}")));
    }
    for one in operations() {
        assert!(seen.contains(&format!("/api/operations/{}", one["operationId"].as_str().unwrap())), "{one}");
    }
    // What is only ever a part of others is told with them.
    let mut parts = BTreeSet::new();
    walk(&document().value, &mut |value| {
        let refs = value["allOf"].as_array().into_iter().flatten().filter_map(|one| one["$ref"].as_str());
        parts.extend(refs.filter_map(|at| at.rsplit('/').next()).map(str::to_owned));
    });
    for name in
        document().value["components"]["schemas"].as_object().unwrap().keys().filter(|name| !parts.contains(*name))
    {
        assert!(seen.contains(&format!("/api/types/{name}")), "nothing leads to {name}");
    }
    assert_eq!(site.get("/api/operations/nothing").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(site.get("/api/types/Nothing").await.status(), StatusCode::NOT_FOUND);
    insta::assert_snapshot!("reference_operation", part(&site.page("/api/operations/change_target").await, "call"));
}

#[tokio::test]
async fn what_is_read_is_sent_again_only_if_it_is_another() {
    let site = Site::loopback(Sample::calm());
    for path in ["/api/v1/connections", "/api/v1/activity", "/api/v1/connections/yard/ledger", "/api/v1/plan"] {
        let tag = head(site.get(path).await.headers(), "etag").to_owned();
        assert_eq!(tag.len(), 34, "{path}");
        for (known, status) in [(tag.as_str(), 304), ("\"another\"", 200)] {
            let request = ask(Method::GET, path, &[("if-none-match", known)]).body(Body::empty()).unwrap();
            let answer = site.send(request).await;
            assert_eq!((answer.status().as_u16(), head(answer.headers(), "etag")), (status, tag.as_str()), "{path}");
            assert_eq!(text(answer).await.is_empty(), status == 304, "{path}");
        }
    }
}

#[tokio::test]
async fn the_document_is_served_to_whoever_may_read() {
    let site = Site::loopback(Sample::calm());
    let answer = site.get("/openapi.json").await;
    assert_eq!(head(answer.headers(), "content-type"), "application/json");
    let tag = head(answer.headers(), "etag").to_owned();
    assert_eq!(json(answer).await, document().value);
    let known = ask(Method::GET, "/openapi.json", &[("if-none-match", &tag)]).body(Body::empty()).unwrap();
    assert_eq!(site.send(known).await.status(), StatusCode::NOT_MODIFIED);
    let network = Site::at(Listener::Network, Sample::calm());
    assert_eq!(network.get("/openapi.json").await.status(), StatusCode::UNAUTHORIZED);
}
