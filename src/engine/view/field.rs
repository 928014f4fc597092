//! A field of an item, as it stands when it is read. Knows values; must not know where they came from.

use super::When;
use crate::domain::item::FieldValue;
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

/// A field's value as it stands at the moment of reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FieldShown {
    Unknown,
    Text(String),
    Number(f64),
    Bool(bool),
    At(When),
    /// An instant that was announced: once it has passed and nobody said more, it is overdue (A52).
    Due(When),
    /// Whole seconds that are left, never negative.
    SecondsLeft(u64),
}

impl PartialSchema for FieldShown {
    fn schema() -> RefOr<Schema> {
        let types = [Type::String, Type::Number, Type::Boolean, Type::Null];
        let doc = "As it stands at the moment of reading: a text, a number, a truth, a moment (RFC 3339), or the seconds that are left.";
        ObjectBuilder::new().schema_type(SchemaType::from_iter(types)).description(Some(doc)).into()
    }
}

impl ToSchema for FieldShown {}

impl From<&FieldValue> for FieldShown {
    /// Without `Left`, which needs a `now`: see `engine::appliance`.
    fn from(v: &FieldValue) -> FieldShown {
        match v {
            FieldValue::Unknown | FieldValue::Left(_) => FieldShown::Unknown,
            FieldValue::Text(s) => FieldShown::Text(s.clone()),
            FieldValue::Number(n) => FieldShown::Number(*n),
            FieldValue::Bool(b) => FieldShown::Bool(*b),
            FieldValue::At(w) => FieldShown::At(When(*w)),
            FieldValue::Until(s) => FieldShown::Due(When(s.wall)),
        }
    }
}
