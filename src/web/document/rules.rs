//! What holds of many routes alike, added to the document by rule: parameters in addresses, who may, how errors look, that answers are whole.
//! Reads and writes JSON; must not know a handler.

use serde_json::{Map, Value, json};

/// What stands in the braces of an address.
const NAMES: [(&str, &str); 7] = [
    ("connection", "The name of a connection, as in the configuration."),
    ("target", "The name of a target."),
    ("webhook", "The name of a webhook."),
    ("command", "The name of a command."),
    ("job", "The number of a job."),
    ("token", "The number of a token, as the list has it."),
    ("organization", "The name of an organization."),
];
/// Those of them that are numbers.
const NUMBERS: [&str; 1] = ["token"];
/// The largest number that anything here has: what every JSON reader can hold.
const MOST: u64 = 9_007_199_254_740_991;

const DESCRIPTION: &str = "The only caller of rate-limited APIs. Reads come from the shelf: they cost the provider nothing and carry their age. On \
     a loopback address reading is open and changes need a token; on any other address everything needs one. Every answer of a provider is \
     also at `/gateway/{connection}/{path}`, any method, for programs that know nothing of Larder.";

/// Completes what the handlers say.
pub fn complete(document: &mut Value) {
    document["info"] = json!({
        "title": "Larder", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION,
        "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
    });
    // Relative to the document, so that it holds behind a proxy's prefix too.
    document["servers"] = json!([{ "url": "." }]);
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, item) in paths.iter_mut() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            let Some(operation) = operation.as_object_mut() else { continue };
            parameters(path, operation);
            secured(path, method, operation);
            validated(path, method, operation);
            linked(operation);
            problems(path, method, operation);
        }
    }
    let components = &mut document["components"];
    components["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer", "description": "`larder token create` prints one." },
    });
    components["responses"] = shared();
    whole(components);
}

/// Names in the address; `organization`, which every route of the API takes; and no null, which a query cannot have.
fn parameters(path: &str, operation: &mut Map<String, Value>) {
    let mut all = match operation.remove("parameters") {
        Some(Value::Array(all)) => all,
        _ => Vec::new(),
    };
    let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = named.map(|name| {
        let doc = NAMES.iter().find(|(known, _)| *known == name).map_or("", |(_, doc)| *doc);
        let schema = match NUMBERS.contains(&name) {
            true => json!({ "type": "integer", "minimum": 0, "maximum": MOST }),
            false => json!({ "type": "string", "minLength": 1 }),
        };
        json!({ "name": name, "in": "path", "required": true, "description": doc, "schema": schema })
    });
    all.splice(0..0, in_path);
    if path.starts_with("/api/") && !all.iter().any(|one| one["name"] == "organization" && one["in"] == "query") {
        let doc = "Whose; the caller's own unless said.";
        all.push(json!({ "name": "organization", "in": "query", "required": false, "description": doc, "schema": { "type": "string" } }));
    }
    all.iter_mut().for_each(|one| bounded(&mut one["schema"]));
    if !all.is_empty() {
        operation.insert("parameters".into(), all.into());
    }
}

/// The schema of a parameter.
fn bounded(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array() {
        let kept: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
        schema["type"] = if let [only] = kept.as_slice() { only.clone() } else { kept.into() };
    }
    if let Some(others) = schema["oneOf"].as_array() {
        let kept: Vec<Value> = others.iter().filter(|one| one["type"] != "null").cloned().collect();
        match kept.as_slice() {
            [only] => *schema = only.clone(),
            _ => schema["oneOf"] = kept.into(),
        }
    }
    if schema["type"] == "integer" && schema.get("maximum").is_none() {
        schema["maximum"] = MOST.into();
    }
}

fn is_open(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz")
}

/// Reading may be open; changing never is.
fn secured(path: &str, method: &str, operation: &mut Map<String, Value>) {
    let security = match (is_open(path), method) {
        (true, _) => json!([{}]),
        (false, "get") => json!([{}, { "token": [] }]),
        (false, _) => json!([{ "token": [] }]),
    };
    operation.insert("security".into(), security);
}

/// What is read as JSON has an entity tag, and who has it is told so.
fn validated(path: &str, method: &str, operation: &mut Map<String, Value>) {
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    let is_json = |response: &Value| response["content"].get("application/json").is_some();
    if method == "get" && !is_open(path) && responses.get("200").is_some_and(is_json) {
        let tag = json!({ "description": "For `If-None-Match`.", "required": false, "schema": { "type": "string" } });
        responses["200"]["headers"]["ETag"] = tag;
        responses.insert("304".into(), json!({ "description": "It is as `If-None-Match` knows it." }));
    }
}

/// A list that has pages tells where it goes on.
fn linked(operation: &mut Map<String, Value>) {
    let has_pages = |one: &Value| one["name"] == "after" && one["in"] == "query";
    if operation.get("parameters").and_then(Value::as_array).is_some_and(|all| all.iter().any(has_pages)) {
        let doc = "Where the list goes on (RFC 8288), if there may be more: `next`, or `prev` for what is older.";
        let link = json!({ "description": doc, "required": false, "schema": { "type": "string" } });
        operation["responses"]["200"]["headers"]["Link"] = link;
    }
}

/// Which errors a route can answer with, beside those that it names itself.
fn problems(path: &str, method: &str, operation: &mut Map<String, Value>) {
    let mut statuses = vec!["400", "408", "409", "500"];
    if !is_open(path) {
        statuses.extend(["401", "403", "421", "429", "503"]);
    }
    if path.contains('{') {
        statuses.push("404");
    }
    if method != "get" {
        statuses.push("422");
    }
    if operation.contains_key("requestBody") {
        statuses.extend(["413", "415"]);
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for status in statuses {
        let reference = || json!({ "$ref": format!("#/components/responses/Problem{status}") });
        responses.entry(status).or_insert_with(reference);
    }
    responses.sort_keys();
}

/// The errors that many routes share, by status.
fn shared() -> Value {
    const WHEN: [(&str, &str); 13] = [
        ("400", "The request cannot be read, or names a parameter that means nothing here."),
        ("401", "A token is needed, or this one is not valid."),
        ("403", "This viewer may not, or the request came from another site."),
        ("404", "There is no such thing, or not for this viewer."),
        ("408", "It took too long."),
        ("409", "The page that asks is from another build."),
        ("413", "The body is too large."),
        ("415", "The body has to be application/json."),
        ("421", "The Host is no name of this appliance; the detail says which line to add."),
        ("422", "It cannot be done as asked."),
        (
            "429",
            "Not yet: the quota, a hold, or the rate of this appliance. `Retry-After` and `not_before` say until when.",
        ),
        ("500", "Something went wrong in the appliance."),
        ("503", "The appliance cannot do this now."),
    ];
    let one = |(status, doc): (&str, &str)| {
        let content = json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
        let mut response = json!({ "description": doc, "content": content });
        if matches!(status, "429" | "503") {
            let schema = json!({ "type": "integer", "minimum": 0 });
            response["headers"] =
                json!({ "Retry-After": { "description": "Seconds.", "required": false, "schema": schema } });
        }
        (format!("Problem{status}"), response)
    };
    Value::Object(WHEN.into_iter().map(one).collect())
}

/// Answers are whole: each key is there, with null where there is nothing, and no key that is not told of. What a body may leave out says so itself.
fn whole(components: &mut Value) {
    let Some(schemas) = components["schemas"].as_object_mut() else { return };
    for (name, schema) in schemas {
        if !name.ends_with("Body") && name != "Problem" {
            let is_flat = schema.get("allOf").is_none();
            require_all(schema);
            if is_flat && schema.get("properties").is_some() && !name.ends_with("Figures") && name != "Spent" {
                schema["additionalProperties"] = false.into();
            }
        }
    }
}

fn require_all(schema: &mut Value) {
    if let Some(properties) = schema["properties"].as_object() {
        let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
        schema["required"] = names.into();
    }
    let parts = schema.get_mut("allOf").and_then(Value::as_array_mut);
    parts.into_iter().flatten().for_each(require_all);
}
