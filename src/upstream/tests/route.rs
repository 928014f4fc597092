//! Where a credential may travel, and where it may not.

use super::super::route::{Attached, NoWay, Route};
use super::*;

fn route(base_url: &str, carrier: Carrier) -> Route {
    let secret = Secret::new(KEY.to_owned()).unwrap();
    Route::new(&spec(base_url, carrier, quick()), Some(&secret)).unwrap()
}

fn carried(r: &Route) -> Attached {
    r.credential(Some(&Secret::new(KEY.to_owned()).unwrap())).unwrap()
}

fn ask(r: &Route, location: &str) -> Result<reqwest::Url, NoWay> {
    r.url(location, &carried(r))
}

fn headers(r: &Route, asked: &[(String, String)]) -> reqwest::header::HeaderMap {
    Route::headers(asked, &carried(r))
}

#[test]
fn locations_stand_below_the_base_url_and_get_the_key() {
    let r = route("https://api.test/api/v1/", query());
    for (location, url) in [
        ("/status", "https://api.test/api/v1/status?api_key=k3y%2Fwith%2Bodd%3Dsigns"),
        ("/status?x=1&y=a%20b", "https://api.test/api/v1/status?x=1&y=a%20b&api_key=k3y%2Fwith%2Bodd%3Dsigns"),
        ("/status?api_key=***&x=1", "https://api.test/api/v1/status?x=1&api_key=k3y%2Fwith%2Bodd%3Dsigns"),
        ("/status?&x&api%5Fkey=1&&z#top", "https://api.test/api/v1/status?x&z&api_key=k3y%2Fwith%2Bodd%3Dsigns"),
        ("https://API.test:443/other", "https://api.test/other?api_key=k3y%2Fwith%2Bodd%3Dsigns"),
    ] {
        assert_eq!(ask(&r, location).unwrap().as_str(), url, "{location}");
    }
}

#[test]
fn no_other_origin_is_ever_asked() {
    let r = route("https://api.test", query());
    for location in [
        "http://api.test/x",
        "https://api.test:8443/x",
        "https://api.test.evil.example/x",
        "https://evil.example/x",
        "https://user@api.test/x",
        "https://api.test@evil.example/x",
        "file:///etc/passwd",
    ] {
        assert!(matches!(ask(&r, location), Err(NoWay::OtherOrigin(_))), "{location}");
    }
    for location in ["", "status", "@evil.example/x", "?x=1"] {
        assert_eq!(ask(&r, location), Err(NoWay::NotALocation), "{location}");
    }
    // These look like another host and are not: they are paths.
    for location in ["//evil.example/x", "/@evil.example", "/\\evil.example", "/.evil.example"] {
        assert_eq!(ask(&r, location).unwrap().host_str(), Some("api.test"), "{location}");
    }
}

#[test]
fn only_the_door_holds_credentials_and_framing() {
    let r = route("https://api.test", bearer());
    let asked = [
        ("If-None-Match", "\"v1\""),
        ("Authorization", "Bearer stolen"),
        ("Cookie", "session=1"),
        ("Host", "evil.example"),
        ("Accept-Encoding", "identity"),
        ("Transfer-Encoding", "chunked"),
        ("X-Broken", "a\r\nX-Smuggled: 1"),
        ("X Broken", "a"),
    ];
    let asked: Vec<_> = asked.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let headers = headers(&r, &asked);
    let names: Vec<&str> = headers.keys().map(|n| n.as_str()).collect();
    assert_eq!(names, ["if-none-match", "authorization"]);
    assert_eq!(headers["authorization"].to_str().unwrap(), format!("Bearer {KEY}"));
    assert!(!format!("{headers:?}").contains(KEY), "a header map prints without its credential");
}

#[test]
fn basic_is_user_and_secret_in_base64() {
    let with = |user: Option<&str>, secret: &str| {
        let carrier = Carrier::Basic { user: user.map(str::to_owned) };
        let secret = Secret::new(secret.to_owned()).unwrap();
        let route = Route::new(&spec("https://api.test", carrier, quick()), Some(&secret))?;
        let carried = route.credential(Some(&secret))?;
        Ok::<_, String>(Route::headers(&[], &carried)["authorization"].to_str().unwrap().to_owned())
    };
    // RFC 7617 section 2.
    assert_eq!(with(Some("Aladdin"), "open sesame").unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    assert_eq!(with(None, "Aladdin:open sesame").unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    let said = with(None, "open sesame").unwrap_err();
    assert!(said.ends_with("is not of the form user:password, as basic = true says."), "{said}");
}

#[test]
fn what_cannot_travel_is_told_at_start() {
    let secret = Secret::new("schlüssel".to_owned()).unwrap();
    let said = Route::new(&spec("https://api.test", bearer(), quick()), Some(&secret)).err().unwrap();
    assert!(said.contains("characters that the header Authorization cannot carry") && !said.contains("schl"), "{said}");
    let said = Route::new(&spec("https://api.test", bearer(), quick()), None).err().unwrap();
    assert_eq!(said, "Connection default/yard: it has to send a credential, but none was read.");
    let said = Route::new(&spec("ftp://api.test", Carrier::None, quick()), None).err().unwrap();
    assert!(said.contains("must begin with http:// or https://"), "{said}");
}
