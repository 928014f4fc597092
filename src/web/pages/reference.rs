//! `/api`: the document of the API as pages, for people: every route, each with what it takes and answers, and the types of those. Reads the
//! document alone, so that page and document cannot differ; nothing is fetched, and no script is needed.

use super::{Frame, Visit, html};
use crate::web::WebState;
use crate::web::document::document;
use crate::web::errors::Problem;
use crate::web::texts;
use askama::Template;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Map, Value};

pub fn router() -> Router<WebState> {
    Router::new()
        .route("/api", get(index))
        .route("/api/operations/{operation}", get(operation))
        .route("/api/types/{type}", get(kind))
}

#[derive(Template)]
#[template(path = "reference.html")]
struct Index {
    frame: Frame,
    about: Prose,
    groups: Vec<(String, Vec<Line>)>,
}

/// One operation in the list.
struct Line {
    id: String,
    method: String,
    path: String,
    summary: Prose,
}

#[derive(Template)]
#[template(path = "reference_operation.html")]
struct Operation {
    frame: Frame,
    line: Line,
    about: Prose,
    call: String,
    parameters: Vec<Row>,
    body: Option<Shape>,
    answers: Vec<Answer>,
    /// What was answered once, with its status.
    example: Option<(String, String)>,
}

struct Answer {
    status: String,
    about: Prose,
    contents: Vec<(String, Shape)>,
    headers: Vec<(String, Prose)>,
}

#[derive(Template)]
#[template(path = "reference_type.html")]
struct Type {
    frame: Frame,
    name: String,
    about: Prose,
    shape: Shape,
    rows: Vec<Row>,
    words: Vec<String>,
}

/// A parameter, or a member of an object.
struct Row {
    name: String,
    /// `path`, `query` or `header`; empty for members.
    place: String,
    shape: Shape,
    optional: bool,
    about: Prose,
}

/// A type in words, and whether each piece of it is a name that has a page: `list of` `ConnectionView` `or null`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shape(Vec<(bool, String)>);

impl Shape {
    fn plain(text: impl Into<String>) -> Shape {
        Shape(vec![(false, text.into())])
    }
    fn after(self, text: &str) -> Shape {
        Shape(std::iter::once((false, text.to_owned())).chain(self.0).collect())
    }
}

/// Text, and whether each piece of it is code.
struct Prose(Vec<(bool, String)>);

impl Prose {
    fn of(value: &Value) -> Prose {
        let text = value.as_str().unwrap_or_default();
        Prose(text.split('`').enumerate().map(|(n, piece)| (n % 2 == 1, piece.to_owned())).collect())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn resolved(value: &Value) -> &Value {
    match value["$ref"].as_str().and_then(|at| document().value.pointer(at.trim_start_matches('#'))) {
        Some(there) => there,
        None => value,
    }
}

/// Every operation with its method and path, in the order of the document.
fn operations() -> impl Iterator<Item = (&'static str, &'static str, &'static Value)> {
    members(&document().value["paths"])
        .flat_map(|(path, item)| members(item).map(move |(method, one)| (path.as_str(), method.as_str(), one)))
}

fn line(path: &str, method: &str, one: &Value) -> Line {
    Line {
        id: text(&one["operationId"]),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: Prose::of(&one["summary"]),
    }
}

/// A frame without a script: nothing here changes while the appliance runs.
fn still(visit: &Visit, web: &WebState) -> Frame {
    let mut frame = visit.frame(web, &visit.face(web), None);
    frame.live.clear();
    frame
}

async fn index(State(web): State<WebState>, visit: Visit) -> Result<Response, Problem> {
    let mut groups: Vec<(String, Vec<Line>)> = Vec::new();
    for (path, method, one) in operations() {
        let tag = text(&one["tags"][0]);
        match groups.iter_mut().find(|(name, _)| *name == tag) {
            Some((_, lines)) => lines.push(line(path, method, one)),
            None => groups.push((tag, vec![line(path, method, one)])),
        }
    }
    let about = Prose::of(&document().value["info"]["description"]);
    Ok(html(StatusCode::OK, &Index { frame: still(&visit, &web), about, groups }))
}

async fn operation(State(web): State<WebState>, Path(asked): Path<String>, visit: Visit) -> Result<Response, Problem> {
    let found = operations().find(|(_, _, one)| one["operationId"] == asked.as_str());
    let (path, method, one) = found.ok_or_else(|| Problem::not_found("The API has no such operation."))?;
    let body = resolved(&one["requestBody"])["content"].as_object().and_then(|content| content.values().next());
    let page = Operation {
        frame: still(&visit, &web),
        line: line(path, method, one),
        about: Prose::of(&one["description"]),
        call: call(path, method, body),
        parameters: one["parameters"].as_array().into_iter().flatten().map(parameter).collect(),
        body: body.map(|content| shape(&content["schema"])),
        answers: members(&one["responses"]).map(|(status, response)| answer(status, resolved(response))).collect(),
        example: members(&one["responses"]).find_map(|(status, response)| given(status, response)),
    };
    Ok(html(StatusCode::OK, &page))
}

fn given(status: &str, response: &Value) -> Option<(String, String)> {
    let example = response["content"]["application/json"].get("example")?;
    Some((status.to_owned(), serde_json::to_string_pretty(example).ok()?))
}

async fn kind(State(web): State<WebState>, Path(name): Path<String>, visit: Visit) -> Result<Response, Problem> {
    let schema = document().value["components"]["schemas"].get(&name);
    let schema = schema.ok_or_else(|| Problem::not_found("The API has no such type."))?;
    let mut rows = Vec::new();
    collect(schema, &mut rows);
    let words = schema["enum"].as_array().into_iter().flatten().map(text).collect();
    let about = Prose::of(&schema["description"]);
    Ok(html(StatusCode::OK, &Type { frame: still(&visit, &web), name, about, shape: shape(schema), rows, words }))
}

/// The members of an object, those of its parts first.
fn collect(schema: &Value, rows: &mut Vec<Row>) {
    schema["allOf"].as_array().into_iter().flatten().for_each(|part| collect(resolved(part), rows));
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    rows.extend(members(&schema["properties"]).map(|(name, property)| Row {
        name: name.clone(),
        place: String::new(),
        shape: shape(property),
        optional: !required(name),
        about: Prose::of(&property["description"]),
    }));
}

fn parameter(one: &Value) -> Row {
    Row {
        name: text(&one["name"]),
        place: text(&one["in"]),
        shape: shape(&one["schema"]),
        optional: one["required"] != true,
        about: Prose::of(if one["description"].is_null() {
            &resolved(&one["schema"])["description"]
        } else {
            &one["description"]
        }),
    }
}

fn answer(status: &str, response: &Value) -> Answer {
    Answer {
        status: status.to_owned(),
        about: Prose::of(&response["description"]),
        contents: members(&response["content"])
            .map(|(kind, content)| (kind.clone(), shape(&content["schema"])))
            .collect(),
        headers: members(&response["headers"])
            .map(|(name, one)| (name.clone(), Prose::of(&one["description"])))
            .collect(),
    }
}

/// The call as curl makes it. `$LARDER` is where the appliance is.
fn call(path: &str, method: &str, body: Option<&Value>) -> String {
    let mut call = "curl".to_owned();
    if method != "get" {
        call.push_str(&format!(" -X {} -H \"Authorization: Bearer $TOKEN\"", method.to_uppercase()));
    }
    if let Some(content) = body {
        let example = example(resolved(&content["schema"]));
        call.push_str(&format!(" \\\n     -H \"Content-Type: application/json\" -d '{example}'"));
    }
    format!("{call} \\\n     \"$LARDER{path}\"")
}

/// Of a body: what it says itself, or what its members say.
fn example(schema: &Value) -> Value {
    if let Some(first) = schema["examples"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    let one = |(name, property): (&String, &Value)| {
        let property = resolved(property);
        let said = [&property["examples"][0], &property["enum"][0]].into_iter().find(|value| !value.is_null());
        said.map(|value| (name.clone(), value.clone()))
    };
    Value::Object(members(&schema["properties"]).filter_map(one).collect())
}

fn shape(schema: &Value) -> Shape {
    if let Some(name) = schema["$ref"].as_str().and_then(|at| at.rsplit('/').next()) {
        return Shape(vec![(true, name.to_owned())]);
    }
    if let Some(ways) = schema["oneOf"].as_array() {
        let mut pieces = Vec::new();
        for way in ways {
            if !pieces.is_empty() {
                pieces.push((false, " or ".to_owned()));
            }
            pieces.extend(shape(way).0);
        }
        return Shape(pieces);
    }
    if schema.get("items").is_some() {
        return shape(&schema["items"]).after("list of ");
    }
    if schema["additionalProperties"].is_object() {
        return shape(&schema["additionalProperties"]).after("object of ");
    }
    if let Some(words) = schema["enum"].as_array() {
        return Shape::plain(words.iter().map(text).collect::<Vec<_>>().join(", "));
    }
    match &schema["type"] {
        Value::Array(kinds) => Shape::plain(kinds.iter().map(text).collect::<Vec<_>>().join(" or ")),
        Value::String(kind) if schema["format"] == "date-time" => Shape::plain(format!("{kind}, RFC 3339")),
        Value::String(kind) => Shape::plain(kind),
        _ if schema.get("allOf").is_some() => Shape::plain("object"),
        _ => Shape::plain("anything"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_type_is_told_in_words() {
        let reference = json!({ "$ref": "#/components/schemas/HoldView" });
        for (schema, told) in [
            (json!({ "type": "string" }), "string"),
            (json!({ "type": ["integer", "null"] }), "integer or null"),
            (json!({ "type": "string", "format": "date-time" }), "string, RFC 3339"),
            (json!({ "oneOf": [reference, { "type": "null" }] }), "[HoldView] or null"),
            (json!({ "type": "array", "items": reference }), "list of [HoldView]"),
            (json!({ "type": "object", "additionalProperties": { "type": "integer" } }), "object of integer"),
            (json!({ "type": "string", "enum": ["hour", "day"] }), "hour, day"),
            (json!({}), "anything"),
        ] {
            let pieces = shape(&schema).0.into_iter();
            let text: String =
                pieces.map(|(linked, piece)| if linked { format!("[{piece}]") } else { piece }).collect();
            assert_eq!(text, told, "{schema}");
        }
    }

    #[test]
    fn a_call_can_be_copied() {
        let body = json!({ "schema": { "properties": { "phase": { "enum": ["pending", "active"] } } } });
        let told = call("/api/v1/x", "patch", Some(&body));
        assert_eq!(
            told,
            "curl -X PATCH -H \"Authorization: Bearer $TOKEN\" \\\n     -H \"Content-Type: application/json\" -d '{\"phase\":\"pending\"}' \\\n     \
             \"$LARDER/api/v1/x\""
        );
        assert_eq!(call("/livez", "get", None), "curl \\\n     \"$LARDER/livez\"");
    }
}
