//! What the bodies of changes look like, for the document of the API. They are read key by key, so that an error can name the key and what it may
//! be (`engine::controls`, `config`): here stands their shape alone. Knows no route.

use crate::engine::view::PhaseWord;
use serde_json::{Value, json};
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

macro_rules! bodies {
    ($($doc:literal $name:ident = $schema:expr;)*) => {$(
        #[doc = $doc]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.description(Some($doc)).into()
            }
        }

        impl ToSchema for $name {
            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                schemas.push((PhaseWord::name().into_owned(), PhaseWord::schema()));
            }
        }
    )*};
}

bodies! {
    "At least one of these; null clears what an operator set." ControlsBody = closed(vec![
        ("enabled", nullable(Type::Boolean, "Whether it is polled.", json!(false))),
        ("interval", duration("How often: a duration, seconds, or `auto`.", json!("5m"))),
        ("interval_for", duration("For how long `interval` holds; then the one before it is back.", json!("3h"))),
        ("inactivity_ttl", duration("After how long without a change a target rests; `never`.", json!("48h"))),
        ("completion_grace", duration("How long a completed target is still asked; `never`.", json!("30m"))),
    ], &[]).min_properties(Some(1));
    "The secret, and nothing else." SecretBody = closed(vec![
        ("secret", text("As the provider gave it.", json!("a-new-key"))),
    ], &["secret"]);
    "What the placeholders of the command's template stand for: texts, numbers or booleans." ParametersBody = ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(scalar()))))
        .examples([json!({"item": "5143", "seconds": 60})]);
    "The keys of a `[[connection.target]]`, as the configuration's manual lists them, with `pattern` and `phase`." TargetBody = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("pattern", text("The configured target that it is like.", json!("job")))
        .property("phase", Ref::from_schema_name(PhaseWord::name()))
        .property("get", text("What is asked: a path below `base_url`.", json!("/jobs/17")))
        .examples([json!({"pattern": "job", "phase": "pending"})]);
    "The phase that it is put into." PhaseBody = closed(vec![
        ("phase", RefOr::Ref(Ref::from_schema_name(PhaseWord::name()))),
    ], &["phase"]);
    "Whose token, and what it may do." TokenBody = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("name", bounded("How it is called in lists and in the activity.", json!("phone")))
        .property("role", word("What it may do.", &["admin", "owner", "reader", "agent"]))
        .property("organization", text("Whose; `default` unless said.", json!("default")))
        .property("expires_in", text("How long it is good: a whole number and ms, s, m, h or d. Unless said, until it is revoked.", json!("90d")))
        .required("name")
        .required("role");
    "For whom." ClaimBody = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("operator", nullable(Type::String, "Whose password it sets; null or nothing: whoever has the code chooses the name.", json!("ann")));
    "At least one of these; null clears what an operator set." PollingBody = closed(vec![
        ("enabled", nullable(Type::Boolean, "Whether anything is polled.", json!(true))),
        ("workers", nullable(Type::Integer, "Requests of the poller that may be under way at once.", json!(4))),
    ], &[]).min_properties(Some(1));
    "Where to." BackupBody = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("destination", bounded("An absolute path on the appliance's machine; nothing that is there is replaced.", json!("/backup/larder.redb")))
        .required("destination");
    "A configuration." ConfigurationBody = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("text", ObjectBuilder::new().schema_type(Type::String).description(Some("The text of a larder.toml.")))
        .property("take", ObjectBuilder::new().schema_type(Type::Boolean).description(Some("Whether it is taken in; else it is only looked at.")))
        .required("text");
    "How a history is told." FormatWord = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["json", "csv", "jsonl"]));
}

type Property = (&'static str, RefOr<Schema>);

/// With these keys and no others.
fn closed(properties: Vec<Property>, required: &[&str]) -> ObjectBuilder {
    let object = ObjectBuilder::new().schema_type(Type::Object);
    let object = properties.into_iter().fold(object, |object, (name, schema)| object.property(name, schema));
    let object = required.iter().fold(object, |object, name| object.required(*name));
    object.additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

fn text(doc: &str, example: Value) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).description(Some(doc)).examples([example]).into()
}

fn bounded(doc: &str, example: Value) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(4096));
    text.description(Some(doc)).examples([example]).into()
}

fn word(doc: &str, words: &[&'static str]) -> RefOr<Schema> {
    let words = words.iter().copied();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).description(Some(doc)).into()
}

fn nullable(kind: Type, doc: &str, example: Value) -> RefOr<Schema> {
    let types = SchemaType::from_iter([kind, Type::Null]);
    ObjectBuilder::new().schema_type(types).description(Some(doc)).examples([example]).into()
}

fn duration(doc: &str, example: Value) -> RefOr<Schema> {
    let types = SchemaType::from_iter([Type::String, Type::Number, Type::Null]);
    ObjectBuilder::new().schema_type(types).description(Some(doc)).examples([example]).into()
}

fn scalar() -> Schema {
    let one = |kind| ObjectBuilder::new().schema_type(kind);
    OneOfBuilder::new().item(one(Type::String)).item(one(Type::Number)).item(one(Type::Boolean)).into()
}
