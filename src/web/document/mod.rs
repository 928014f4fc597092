//! The document of the API (OpenAPI 3.1), at `/openapi.json`. What stands at the handlers and read models makes it; what holds of many routes alike
//! (who may, how errors look, what an address names) is added by rule, so that no handler can forget it; and what was answered, as an example. Knows routers; must not know what a
//! handler does.

mod examples;
mod problem;
pub mod routes;
mod rules;

use super::headers;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use routes::{Routes, listed};
use serde_json::Value;
use std::sync::OnceLock;

/// The document, made once: it is the same for everybody and as long as the process runs.
pub struct Document {
    pub value: Value,
    text: Bytes,
    tag: String,
}

/// The routes beside `/api/v1` that programs ask.
pub fn routes() -> Routes {
    Routes::default()
        .with(listed!(crate::web::health: livez))
        .with(listed!(crate::web::health: readyz))
        .with(listed!(crate::web::metrics: page))
        .with(listed!(crate::web::document: file))
}

pub fn document() -> &'static Document {
    static DOCUMENT: OnceLock<Document> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let api = super::api::routes().described().merge(super::api::unhurried().described());
        let routes = routes().described().nest("/api/v1", api);
        // Structures of texts and numbers: they always become JSON.
        let mut value = serde_json::to_value(routes.into_openapi()).unwrap_or_default();
        rules::complete(&mut value);
        examples::show(&mut value);
        let text = Bytes::from(value.to_string());
        let tag = headers::tag_of(&text);
        Document { value, text, tag }
    })
}

/// This document: OpenAPI 3.1.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "openapi", tag = "Health",
    responses((status = 200, description = "Every route that programs ask.", body = Value)),
)]
pub async fn file(request: HeaderMap) -> Response {
    let document = document();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    let mut response = match headers::is_known(&request, &document.tag) {
        true => (StatusCode::NOT_MODIFIED, headers).into_response(),
        false => (headers, document.text.clone()).into_response(),
    };
    if let Ok(tag) = HeaderValue::from_str(&document.tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
