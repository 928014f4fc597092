//! An open page, as its script hears it.

use super::*;
use crate::domain::event::EventKind;
use crate::web::live::parts::parts;
use crate::web::sample::live;
use std::time::Duration;

/// What came until the sign that the page is whole, as the kind and the data of each event.
async fn heard(body: &mut Body) -> Vec<(String, Value)> {
    let (mut text, mut events) = (String::new(), Vec::new());
    loop {
        let frame = tokio::time::timeout(Duration::from_secs(20), body.frame()).await.expect("in time");
        text.push_str(std::str::from_utf8(&frame.expect("an open stream").unwrap().into_data().unwrap()).unwrap());
        while let Some(end) = text.find("\n\n") {
            let block: String = text.drain(..end + 2).collect();
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let Some(kind) = field("event:") else { continue };
            events.push((kind.to_owned(), serde_json::from_str(field("data:").unwrap()).unwrap()));
            if kind == "now" {
                return events;
            }
        }
    }
}

fn ids(events: &[(String, Value)]) -> Vec<&str> {
    let patches = events.iter().filter(|(kind, _)| kind == "patch");
    patches.map(|(_, data)| data["id"].as_str().unwrap()).collect()
}

async fn listen(site: &Site, page: &str, have: &str) -> Body {
    let address = format!("/live?page={}&have={}", rendered::segment(page), rendered::segment(have));
    let response = site.get(&address).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(head(response.headers(), "content-type"), "text/event-stream");
    response.into_body()
}

/// As the script reads them off the page.
fn versions(page: &str, but: &str) -> String {
    let all = parts(page).into_iter().filter(|part| part.id != but);
    all.map(|part| format!("{}.{}", part.id, part.version)).collect::<Vec<_>>().join(",")
}

#[tokio::test]
async fn a_page_is_sent_the_parts_that_it_lacks_and_no_others() {
    let site = Site::loopback(Sample::calm());
    for path in ["/", "/c/yard", "/c/yard/t/controller", "/c/yard/targets?page=1", "/plan", "/spend", "/activity"] {
        let page = site.page(path).await;
        let main = parts(&page).into_iter().find(|part| part.id == "main").expect("a main part");
        assert!(page[main.span].starts_with("<main id=\"main\" data-live data-v=\""), "{path}");
        let whole = heard(&mut listen(&site, path, &versions(&page, "")).await).await;
        assert_eq!(ids(&whole), [""; 0], "{path} has all");
        assert_eq!(whole[0].1["at"], NOW.0, "and hears what time it is");
        let nothing = heard(&mut listen(&site, path, "").await).await;
        assert!(ids(&nothing).contains(&"main") && !ids(&nothing).contains(&"banner"), "what is inside goes with it");
    }
    let page = site.page("/c/yard").await;
    let lacking = heard(&mut listen(&site, "/c/yard", &versions(&page, "targets")).await).await;
    assert_eq!(ids(&lacking), ["targets"]);
    let html = lacking[0].1["html"].as_str().unwrap();
    assert!(
        html.starts_with("<section class=\"panel\" id=\"targets\" data-live data-v=") && html.ends_with("</section>")
    );
}

#[tokio::test]
async fn what_happens_elsewhere_draws_nothing() {
    let site = Site::loopback(Sample::calm());
    let page = site.page("/c/yard").await;
    let address = format!("/live?page=%2Fc%2Fyard&connection=yard&have={}", rendered::segment(&versions(&page, "")));
    let mut body = site.get(&address).await.into_body();
    heard(&mut body).await;
    let say = |connection| _ = site.sample.live.send(live(9, EventKind::TargetSeen, Some(("default", connection))));
    say("cellar");
    let calm = tokio::time::timeout(Duration::from_secs(3), heard(&mut body)).await;
    assert!(calm.is_err(), "another connection: {calm:?}");
    say("yard");
    let drawn = tokio::time::timeout(Duration::from_secs(3), heard(&mut body)).await.expect("at once");
    assert_eq!(ids(&drawn), [""; 0], "drawn, and nothing in it is new");
}

#[tokio::test]
async fn who_may_not_read_a_page_may_not_listen_to_it() {
    let network = Site::at(Listener::Network, Sample::calm());
    assert_eq!(network.get("/live?page=%2F").await.status(), StatusCode::UNAUTHORIZED);
    let site = Site::loopback(Sample::two_organizations());
    for (page, status) in [
        ("/nowhere", StatusCode::NOT_FOUND),
        ("/api/v1/connections", StatusCode::NOT_FOUND),
        ("/live?page=/", StatusCode::NOT_FOUND),
        ("/c/none", StatusCode::NOT_FOUND),
        ("http://elsewhere.example/", StatusCode::BAD_REQUEST),
        ("", StatusCode::BAD_REQUEST),
    ] {
        let response = site.get(&format!("/live?page={}", rendered::segment(page))).await;
        assert_eq!(response.status(), status, "{page}");
    }
    let request =
        ask(Method::GET, "/live?page=%2F%3Forganization%3Dnorth", &[("authorization", "Bearer reader-token")]);
    assert_eq!(site.send(request.body(Body::empty()).unwrap()).await.status(), StatusCode::NOT_FOUND);
}
