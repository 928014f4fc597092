//! Moments and lengths as JSON has them. Knows nothing of what they belong to.

use crate::domain::time::{Span, Wall};
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

/// A moment to show: RFC 3339 UTC with whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct When(pub Wall);

impl Serialize for When {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&crate::rules::calendar::rfc3339(self.0))
    }
}

impl PartialSchema for When {
    fn schema() -> RefOr<Schema> {
        let moment = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
        moment.description(Some("A moment: RFC 3339, UTC, whole seconds.")).into()
    }
}

impl ToSchema for When {}

/// A length that somebody chose: seconds, with a fraction only where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub Span);

impl Seconds {
    pub const fn whole(seconds: u64) -> Seconds {
        Seconds(Span::from_secs(seconds))
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0.as_millis() {
            ms if ms.is_multiple_of(1000) => s.serialize_u64(ms / 1000),
            ms => s.serialize_f64(ms as f64 / 1000.0),
        }
    }
}

impl PartialSchema for Seconds {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0));
        number.description(Some("A length in seconds.")).into()
    }
}

impl ToSchema for Seconds {}

/// A length, or null for never, in the document of the API: `Option<Seconds>` inside other types.
pub struct NeverOrSeconds;

impl PartialSchema for NeverOrSeconds {
    fn schema() -> RefOr<Schema> {
        let number =
            ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::Number, Type::Null])).minimum(Some(0));
        number.description(Some("A length in seconds; null: never.")).into()
    }
}

impl ToSchema for NeverOrSeconds {}
