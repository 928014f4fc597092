//! How an error looks in the document: the members of problem+json (RFC 9457), and its types, as `web::errors` says them.

use crate::engine::view::{StateWord, When};
use crate::web::errors::{Kind, Problem};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

impl PartialSchema for Problem {
    fn schema() -> RefOr<Schema> {
        let text = |doc: &str| ObjectBuilder::new().schema_type(Type::String).description(Some(doc));
        let mut kinds: Vec<String> = Kind::ALL.into_iter().map(Kind::uri).collect();
        kinds.sort();
        kinds.dedup();
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("Why it was not done (RFC 9457)."))
            .property("type", text("What kind of trouble, for programs.").enum_values(Some(kinds)))
            .property("title", text("The kind in words."))
            .property("status", ObjectBuilder::new().schema_type(Type::Integer))
            .property("detail", text("What happened and what to do, in sentences."))
            .property("instance", text("The request, as `X-Request-Id` and the log name it."))
            .property("not_before", Ref::from_schema_name(When::name()))
            .property("state", Ref::from_schema_name(StateWord::name()))
            .property("violated-policies", ArrayBuilder::new().items(text("The name of a limit that is spent.")))
            .required("type")
            .required("title")
            .required("status")
            .required("detail")
            .required("instance")
            .into()
    }
}

impl ToSchema for Problem {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((When::name().into_owned(), When::schema()));
        schemas.push((StateWord::name().into_owned(), StateWord::schema()));
    }
}
