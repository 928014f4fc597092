//! Under which path readers have the site. Links are relative, so what a proxy takes away before it asks needs nothing here; what it leaves in
//! place (`base_path` under `[server]`) is taken away by [`strip`] before any router, guard or gateway reads the path.
//! Must not know what lies behind a path.

use crate::domain::base_path::BasePath;
use axum::body::Body;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// What proxies say that they took away: Home Assistant's ingress, and others by the usual name.
pub static TOLD: [HeaderName; 2] =
    [HeaderName::from_static("x-ingress-path"), HeaderName::from_static("x-forwarded-prefix")];

/// Takes `base` away where the proxy left it. Where nothing is behind it, not even a slash, the answer leads to the slash: the page's own links
/// begin there.
pub fn strip(base: &BasePath, request: &mut Request<Body>) -> Result<(), Response> {
    if base.is_root() {
        return Ok(());
    }
    if request.uri().path() == base.as_str() {
        return Err(to_the_slash(request.uri()));
    }
    let Some(below) = base.below(request.uri().path()) else { return Ok(()) };
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    // The same octets: nothing is decoded on the way.
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = format!("{below}{query}").parse::<PathAndQuery>().ok();
    match Uri::from_parts(parts) {
        Ok(uri) => {
            *request.uri_mut() = uri;
            Ok(())
        }
        Err(_) => Err(StatusCode::BAD_REQUEST.into_response()),
    }
}

/// Relative, so that it holds behind another proxy too.
fn to_the_slash(uri: &Uri) -> Response {
    let last = uri.path().rsplit('/').next().unwrap_or_default();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    match HeaderValue::from_str(&format!("{last}/{query}")) {
        Ok(there) => (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, there)]).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_proxy_left_in_place_is_taken_away_and_nothing_is_decoded() {
        let base = BasePath::read("/larder").unwrap();
        for (asked, seen) in [
            ("/larder/", "/"),
            ("/larder/c/yard?page=2", "/c/yard?page=2"),
            ("/larder/gateway/yard/a%2Fb//c?x=%20", "/gateway/yard/a%2Fb//c?x=%20"),
            ("/larder//larder/", "//larder/"),
            ("/", "/"),
            ("/c/yard", "/c/yard"),
            ("/larders/", "/larders/"),
            ("/%6Carder/", "/%6Carder/"),
        ] {
            let mut request = Request::get(asked).body(Body::empty()).unwrap();
            strip(&base, &mut request).unwrap();
            assert_eq!(request.uri().to_string(), seen, "{asked}");
        }
        let mut bare = Request::get("/larder?a=b").body(Body::empty()).unwrap();
        let led = strip(&base, &mut bare).unwrap_err();
        assert_eq!((led.status().as_u16(), &led.headers()["location"]), (308, &"larder/?a=b".parse().unwrap()));
    }
}
