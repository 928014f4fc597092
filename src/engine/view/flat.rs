//! Read models of what programs read value by value. Knows values and what they belong to; must not know how a key is spelled.

use super::FieldShown;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Ref, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A connection, value by value, in the order of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatView {
    pub organization: String,
    pub connection: String,
    pub provider: String,
    pub values: Vec<FlatValue>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FlatValue {
    /// Within the connection: `state`, `controller__age_seconds`, `controller__1__remaining`.
    pub key: String,
    pub of: FlatOf,
    /// The last part of the key.
    pub name: String,
    pub kind: FlatKind,
    /// Null: there is none that may be used.
    pub value: Value,
}

/// What a value is; its JSON is a text, a number or a truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlatKind {
    Text,
    Number,
    /// Whole seconds.
    Seconds,
    /// RFC 3339, UTC.
    Moment,
    Flag,
    /// Nothing is known of it now.
    Unknown,
}

/// What a value belongs to. Of targets also what their keys begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlatOf {
    Connection,
    Target { target: String, key: String },
    Item { target: String, title: String },
}

/// One flat object, in the document of the API.
pub struct FlatDocument;

impl PartialSchema for FlatDocument {
    fn schema() -> RefOr<Schema> {
        let doc = "Values by key: `{connection}__{word}`, `{connection}__{target}__{word}`, `{connection}__{target}__{item}__{field}`.";
        let value = RefOr::<Schema>::Ref(Ref::from_schema_name("FieldShown"));
        let object = ObjectBuilder::new().schema_type(Type::Object).description(Some(doc));
        object.additional_properties(Some(AdditionalProperties::RefOr(value))).into()
    }
}

impl ToSchema for FlatDocument {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("FieldShown".to_owned(), FieldShown::schema()));
    }
}

/// As JSON has it.
pub type Flat = BTreeMap<String, Value>;
