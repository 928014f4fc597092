//! Under which path readers have the site. Links are relative, so what a proxy takes away before it asks needs nothing here; what it leaves in
//! place (`base_path` under `[server]`) is taken away by [`strip`] before any router, guard or gateway reads the path.
//! Must not know what lies behind a path.

use crate::domain::base_path::BasePath;
use axum::body::Body;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// What proxies say that they took away: Home Assistant's ingress, and others by the usual name.
pub static TOLD: [HeaderName; 2] =
    [HeaderName::from_static("x-ingress-path"), HeaderName::from_static("x-forwarded-prefix")];

/// Where the one who sent this has the site: as the proxy says, else as configured. A hint: nothing is let in by it.
pub fn of(configured: &BasePath, headers: &HeaderMap) -> BasePath {
    let told = TOLD.iter().find_map(|name| headers.get(name)?.to_str().ok());
    // Each proxy of a chain adds its own behind a comma; the first is the browser's.
    let outermost = told.and_then(|text| BasePath::read(text.split(',').next().unwrap_or_default().trim()));
    outermost.unwrap_or_else(|| configured.clone())
}

/// Takes `base` away where the proxy left it. Where nothing is behind it, not even a slash, it returns the answer, which leads to the slash: the
/// page's own links begin there.
pub fn strip(base: &BasePath, request: &mut Request<Body>) -> Option<Response> {
    if base.is_root() {
        return None;
    }
    if request.uri().path() == base.as_str() {
        return Some(to_the_slash(request.uri()));
    }
    let below = base.below(request.uri().path())?;
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    // The same octets: nothing is decoded on the way.
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = format!("{below}{query}").parse::<PathAndQuery>().ok();
    match Uri::from_parts(parts) {
        Ok(uri) => {
            *request.uri_mut() = uri;
            None
        }
        Err(_) => Some(StatusCode::BAD_REQUEST.into_response()),
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
            assert!(strip(&base, &mut request).is_none());
            assert_eq!(request.uri().to_string(), seen, "{asked}");
        }
        let mut bare = Request::get("/larder?a=b").body(Body::empty()).unwrap();
        let led = strip(&base, &mut bare).unwrap();
        assert_eq!((led.status().as_u16(), &led.headers()["location"]), (308, &"larder/?a=b".parse().unwrap()));
    }

    #[test]
    fn the_first_proxy_of_a_chain_is_the_browsers() {
        let own = BasePath::read("/own").unwrap();
        let told = |name: &'static str, value: &'static str| {
            let header = (HeaderName::from_static(name), HeaderValue::from_static(value));
            of(&own, &HeaderMap::from_iter([header])).as_str().to_owned()
        };
        assert_eq!(told("x-forwarded-prefix", "/a, /b"), "/a");
        assert_eq!(told("x-ingress-path", "/api/hassio_ingress/x"), "/api/hassio_ingress/x");
        assert_eq!(told("x-forwarded-prefix", "javascript:alert(1)"), "/own");
        assert_eq!(told("accept", "text/html"), "/own");
    }
}
