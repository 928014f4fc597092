//! Pages as somebody in another zone reads them, and how that is kept.

use super::pages::part;
use super::*;

async fn page_with(cookie: &str) -> String {
    let site = Site::loopback(Sample::calm());
    let request = ask(Method::GET, "/c/yard", &[("accept", "text/html"), ("cookie", cookie)]);
    text(site.send(request.body(Body::empty()).unwrap()).await).await
}

#[tokio::test]
async fn a_page_tells_times_as_its_reader_does() {
    let made =
        |page: &str| page.split("page from ").nth(1).and_then(|rest| rest.split("</span>").next()).unwrap().to_owned();
    let own = page_with("").await;
    assert!(made(&own).ends_with(">09:20</time> CET") && own.contains("data-zone=\"Europe/Zurich\""), "{own}");
    assert!(!own.contains("appliance’s own time"), "there is no other");
    let tokyo = page_with("larder-reader=Asia/Tokyo~12").await;
    assert!(made(&tokyo).ends_with(">5:20\u{a0}PM</time> JST"), "{tokyo}");
    assert!(tokyo.contains("appliance’s own time, where it is 09:20 CET"), "{tokyo}");
    for nonsense in ["larder-reader=\"><script>~12", "larder-reader=Atlantis/Capital~99", "larder-reader=~~~~"] {
        let page = page_with(nonsense).await;
        assert!(made(&page).contains("CET") && !page.contains("Atlantis") && !page.contains("<script>"), "{nonsense}");
    }
    let site = Site::loopback(Sample::calm());
    let lost = ask(Method::GET, "/nowhere", &[("accept", "text/html"), ("cookie", "larder-reader=Asia/Tokyo~24")]);
    let lost = text(site.send(lost.body(Body::empty()).unwrap()).await).await;
    assert!(made(&lost).ends_with(">17:20</time> JST"), "{lost}");
}

/// What happened, until when it is held, of when the values are: by the clock of who reads, on every page that says it.
#[tokio::test]
async fn sentences_tell_times_as_their_reader_does() {
    let site = Site::loopback(Sample::locked_out());
    for path in ["/", "/c/yard", "/c/yard/t/controller"] {
        for (cookie, times, others) in [
            ("", ["rate limited us at 09:14", "eld until 09:24", "values of 09:13"], "17:"),
            ("larder-reader=Asia/Tokyo~24", ["rate limited us at 17:14", "eld until 17:24", "values of 17:13"], "09:1"),
            (
                "larder-reader=Asia/Tokyo~12",
                ["us at 5:14\u{a0}PM", "eld until 5:24\u{a0}PM", "values of 5:13\u{a0}PM"],
                "09:1",
            ),
        ] {
            let request = ask(Method::GET, path, &[("accept", "text/html"), ("cookie", cookie)]);
            let page = text(site.send(request.body(Body::empty()).unwrap()).await).await;
            let of = |id: &str| part(&page, id);
            let told = if path == "/" { of("headline") } else { of("banner") };
            for time in times {
                assert!(told.contains(time), "{path} {cookie:?} {time}: {told}");
            }
            assert!(!told.contains(others), "{path} {cookie:?}: {told}");
        }
    }
    let api = site.get("/api/v1/connections/yard").await;
    assert!(
        text(api).await.contains("rate limited us at 09:14 CET."),
        "for programs by the appliance's own, which it names"
    );
}

#[tokio::test]
async fn a_wish_is_kept_by_the_browser_for_the_whole_site_wherever_that_begins() {
    let site = Site::loopback(Sample::calm());
    let asked = async |query: &str, headers: &[(&str, &str)]| {
        site.send(ask(Method::GET, &format!("/reader{query}"), headers).body(Body::empty()).unwrap()).await
    };
    let kept = asked("?zone=America/New_York&clock=12", &[]).await;
    assert_eq!(kept.status(), StatusCode::SEE_OTHER);
    let cookie = head(kept.headers(), "set-cookie").to_owned();
    assert_eq!(cookie, "larder-reader=America/New_York~12~point; Max-Age=34560000; SameSite=Lax");
    assert!(!head(kept.headers(), "location").starts_with('/'), "relative: {:?}", kept.headers());
    let back = asked("?zone=&clock=24", &[]).await;
    assert!(head(back.headers(), "set-cookie").starts_with("larder-reader=~24~point;"), "{:?}", back.headers());
    let foreign = [("origin", "http://evil.example")];
    for (query, headers, status) in [
        ("?zone=Atlantis", &[][..], 422),
        ("?zone=UTC%0d%0aSet-Cookie:x=y", &[], 422),
        ("?zone=UTC", &foreign, 403),
        ("?zone=UTC", &[("sec-fetch-site", "cross-site")], 403),
    ] {
        let refused = asked(query, headers).await;
        assert_eq!((refused.status().as_u16(), head(refused.headers(), "set-cookie")), (status, ""), "{query}");
    }
}
