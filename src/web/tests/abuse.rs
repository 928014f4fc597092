//! What attackers write: addresses that lead elsewhere, lines for a header, markup and turned letters wherever a provider has a say. As tables: a new
//! place is a line of one.

use super::document::routes;
use super::pages::part;
use super::rights::filled;
use super::*;
use crate::engine::view::{ConnectionView, FieldChangeView, FieldShown, StaleView};

/// Markup for texts and for attributes, a line of its own for feeds and headers, letters that turn, signs of several points of code.
const HOSTILE: &str = "\u{202e}\"'><script>alert(1)</script><img src=x onerror=alert(2)>\u{5e9}\u{5dc}\u{1f469}\u{200d}\u{1f33e}\r\nevent: evil\r\ndata: {}\r\n\r\n";

type Place = (&'static str, fn(&mut Sample));

fn yard(sample: &mut Sample) -> &mut ConnectionView {
    &mut sample.connections[0]
}

/// Wherever what a provider says, or is called by it, comes into what is shown.
const PLACES: [Place; 24] = [
    ("an item's title", |s| s.targets[0].items[0].title = HOSTILE.to_owned()),
    ("an item's key", |s| s.targets[0].items[0].key = HOSTILE.to_owned()),
    ("an item's state", |s| s.targets[0].items[0].state = Some(HOSTILE.to_owned())),
    ("what an item was seen as", |s| s.targets[0].items[0].decays.as_mut().unwrap().seen = HOSTILE.to_owned()),
    ("a value", |s| s.targets[0].items[0].fields[0].1 = FieldShown::Text(HOSTILE.to_owned())),
    ("a removed item's title", |s| s.targets[0].items[4].title = HOSTILE.to_owned()),
    ("a target's sentence", |s| {
        (s.targets[0].sentence, s.targets[0].reason) = (HOSTILE.to_owned(), HOSTILE.into());
        (s.targets[0].banner.what, s.targets[0].banner.change) = (HOSTILE.into(), HOSTILE.into());
    }),
    ("why it is stale", |s| {
        let stale = StaleView { since: ago(9), reason: HOSTILE.to_owned(), said: Some(HOSTILE.to_owned()) };
        s.targets[0].stale = Some(stale);
    }),
    ("who stopped it, and why", |s| {
        (s.targets[0].phase_by, s.targets[0].phase_why) = (Some(HOSTILE.to_owned()), Some(HOSTILE.to_owned()));
    }),
    ("a connection's sentence", |s| {
        (yard(s).sentence, yard(s).banner.what) = (HOSTILE.to_owned(), HOSTILE.into());
    }),
    ("the name of a provider", |s| yard(s).provider = HOSTILE.to_owned()),
    ("what a hold was told", |s| yard(s).hold.as_mut().unwrap().said = Some(HOSTILE.to_owned())),
    ("where a hold comes from", |s| {
        let hold = yard(s).hold.as_mut().unwrap();
        (hold.rule, hold.source) = (HOSTILE.to_owned(), HOSTILE.to_owned());
    }),
    ("a finding", |s| {
        let finding = &mut yard(s).findings[0];
        (finding.sentence, finding.detail) = (HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
    }),
    ("a line of history", |s| {
        (s.history[3].title, s.history[3].state) = (HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
    }),
    ("the key of a line of history", |s| s.history[3].key = HOSTILE.to_owned()),
    ("a change", |s| {
        let (field, said) = (HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
        s.history[3].changes = vec![FieldChangeView { field, before: said.clone(), after: said }];
    }),
    ("an event", |s| s.events.iter_mut().for_each(|e| e.message = HOSTILE.to_owned())),
    ("what became of a job", |s| s.jobs.iter_mut().for_each(|j| j.message = Some(HOSTILE.to_owned()))),
    ("a parameter of a job", |s| {
        s.jobs.iter_mut().for_each(|j| j.parameters.values_mut().for_each(|v| *v = HOSTILE.to_owned()));
    }),
    ("who asked for a job", |s| s.jobs.iter_mut().for_each(|j| j.by = HOSTILE.to_owned())),
    ("what a request was told", |s| s.charges.iter_mut().for_each(|c| c.said = Some(HOSTILE.to_owned()))),
    ("an endpoint", |s| s.charges.iter_mut().for_each(|c| c.endpoint = HOSTILE.to_owned())),
    ("a note of the appliance", |s| s.notes = vec![HOSTILE.to_owned()]),
];

/// Every page for people that a sample can be behind, and every reading of the API.
async fn read() -> (Vec<String>, Vec<String>) {
    let of_an_appliance = |path: &str| path.contains("setup") || path.ends_with("/edit");
    let reads = routes().await.into_iter().filter(|(path, methods)| methods.contains("GET") && !of_an_appliance(path));
    let beside = ["/static/{name}", "/reader", "/live", "/api/v1/events"];
    let (api, pages): (Vec<String>, Vec<String>) =
        reads.map(|(path, _)| path).filter(|path| !beside.contains(&path.as_str())).partition(|path| {
            path.starts_with("/api/v1") || ["/metrics", "/livez", "/readyz", "/openapi.json"].contains(&path.as_str())
        });
    let filled = |paths: Vec<String>| paths.iter().map(|path| filled(path)).collect::<Vec<_>>();
    (filled(pages), filled(api))
}

/// What is read on it, without its tags.
fn texts(page: &str) -> String {
    page.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

#[tokio::test]
async fn whatever_a_provider_says_is_text_on_every_page() {
    let (pages, api) = read().await;
    assert!(pages.len() > 15 && api.len() > 15, "{pages:?} {api:?}");
    for (place, put) in PLACES {
        let mut sample = Sample::locked_out();
        put(&mut sample);
        let site = Site::at(Listener::Local, sample);
        let mut shown = 0;
        for path in &pages {
            let page = site.page(path).await;
            for markup in ["<script>alert", "<img src", "\"'>"] {
                assert!(!page.contains(markup), "{place} on {path}: {markup}");
            }
            assert!(!texts(&page).contains('\u{202e}'), "{place} on {path} turns what stands around it");
            assert!(page.matches("<h1").count() == 1 && page.len() < 50_000, "{place} on {path}: {}", page.len());
            shown += page.matches("&#60;script").count();
        }
        for path in &api {
            let answer = site.get(path).await;
            let kind = head(answer.headers(), "content-type").to_owned();
            assert!(!kind.starts_with("text/html"), "{place} on {path}: {kind}");
            assert_eq!(head(answer.headers(), "x-content-type-options"), "nosniff", "{path}");
            let body = text(answer).await;
            shown += body.matches("<script>alert").count();
            let is_json = kind.starts_with("application/json") || kind.starts_with("application/problem+json");
            assert!(!is_json || serde_json::from_str::<Value>(&body).is_ok(), "{place} on {path}");
            assert!(is_json || !body.contains("\nevent: evil"), "{place} on {path}: {body}");
        }
        assert!(shown > 0, "{place} is shown nowhere: the table looks at nothing");
    }
}

#[tokio::test]
async fn whatever_a_provider_says_is_one_event_of_a_feed() {
    let mut sample = Sample::locked_out();
    sample.events.iter_mut().for_each(|e| e.message = HOSTILE.to_owned());
    let site = Site::at(Listener::Local, sample);
    let request = ask(Method::GET, "/api/v1/events", &[("last-event-id", "0")]).body(Body::empty()).unwrap();
    let mut body = site.send(request).await.into_body();
    let mut told = String::new();
    while told.matches("\n\n").count() < 4 {
        told.push_str(std::str::from_utf8(&body.frame().await.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
    let fields = ["id:", "event:", "data:", "retry:", ":"];
    for line in told.lines().filter(|line| !line.is_empty()) {
        assert!(fields.iter().any(|field| line.starts_with(field)), "{line:?}");
        assert!(!line.starts_with("event: evil"), "{told}");
        if let Some(data) = line.strip_prefix("data: ") {
            assert!(serde_json::from_str::<Value>(data).is_ok_and(|data| data != serde_json::json!({})), "{data}");
        }
    }
}

/// Nothing that lies elsewhere is found, nothing breaks, and no answer is longer for it.
#[tokio::test]
async fn addresses_that_lead_elsewhere_lead_nowhere() {
    let deep = "/a".repeat(20_000);
    let slashes = "/".repeat(50_000);
    let long = format!("/c/{}", "x".repeat(60_000));
    let sealed = |n: usize| format!("/c/{}", "%2525".repeat(n));
    let site = Site::loopback(Sample::calm());
    for (path, statuses) in [
        ("/static/..%2f..%2fCargo.toml", vec![404]),
        ("/static/%2e%2e/%2e%2e/etc/passwd", vec![404]),
        ("/static/%252e%252e%252fapp.css", vec![404]),
        ("/static/../c/yard", vec![404]),
        ("/static/app.css%00.html", vec![404]),
        ("/static//etc/passwd", vec![404]),
        ("/c/yard/../../settings", vec![404]),
        ("/c/%2e%2e/settings", vec![404]),
        ("/c/yard%2ft%2fcontroller", vec![404]),
        ("/c/yard%252ft%252fcontroller", vec![404]),
        ("/c/yard%00", vec![404]),
        ("/c/yard%0d%0aSet-Cookie:%20a=b", vec![404]),
        ("/c/yard;/t/controller", vec![404]),
        ("/c/%ff%fe", vec![400, 404]),
        ("/c/yard\\..\\settings", vec![404]),
        ("/c//t/controller", vec![404]),
        ("//evil.example/c/yard", vec![404]),
        ("/%2fevil.example/", vec![308, 404]),
        ("/./c/yard", vec![404]),
        ("/setup/..%2f..%2fetc%2fpasswd", vec![403, 404, 503]),
        ("/api/operations/..%2f..%2fCargo.toml", vec![404]),
        ("/api/v1/connections/..%2f..%2ftokens", vec![404]),
        ("/api/v1/connections/yard/targets/..%2f..%2f..%2ftokens", vec![404]),
        ("/api/v1/connections/yard%2ftargets", vec![404]),
        ("/api/v1/connections/%00", vec![404]),
        ("/api/v1/jobs/7%00", vec![404]),
        ("/api/v1/../v1/tokens", vec![404]),
        ("/api/v1/connections?organization=..%2fnorth", vec![200]),
        ("/api/v1/connections?after=%00%ff", vec![200, 400]),
        ("/c/yard/t/controller?from=%00%0d%0a", vec![200]),
        ("/c/yard/t/controller?item=%00%0d%0a", vec![200]),
        ("/gateway/yard/..%2f..%2fapi%2fv1%2ftokens", vec![404]),
        ("/gateway/../api/v1/tokens", vec![404]),
        ("/live?page=%2f%2fevil.example%2f", vec![400, 404]),
        ("/live?page=%2flive%3fpage%3d%2f", vec![400, 404]),
        (&deep, vec![404]),
        (&slashes, vec![404]),
        (&long, vec![404]),
        (&sealed(5_000), vec![404]),
    ] {
        for accept in ["text/html", "application/json"] {
            let Ok(request) = ask_raw(path, accept) else { panic!("{path} is no address") };
            let answer = site.send(request).await;
            let shown = &path[..path.len().min(80)];
            assert!(statuses.contains(&answer.status().as_u16()), "{shown}: {}", answer.status());
            let location = head(answer.headers(), "location").to_owned();
            assert!(!location.starts_with("//") && !location.contains("://"), "{shown} leads to {location}");
            let headers: usize = answer.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
            // What is asked for may be told back to a program, once.
            let longest = if accept == "text/html" { 50_000 } else { 50_000.max(path.len() + 2_000) };
            let body = text(answer).await;
            assert!(headers < 4_000 && body.len() < longest, "{shown}: {headers} and {} bytes", body.len());
            assert!(!body.contains("[package]") && !body.contains("root:"), "{shown}: {body}");
        }
    }
    assert!(site.sample.asked().is_empty());
}

fn ask_raw(path: &str, accept: &str) -> Result<Request<Body>, axum::http::Error> {
    Request::builder().uri(path).header(header::HOST, "127.0.0.1:8474").header("accept", accept).body(Body::empty())
}

/// Lines and colons in whatever may become a part of a header.
#[tokio::test]
async fn no_text_becomes_a_header() {
    const LINES: &str = "x%0d%0aSet-Cookie:%20evil=1%0d%0a%0d%0a%3cscript%3e";
    let site = || Site::at(Listener::Local, Sample::calm());
    let form = |path: &str, body: String| {
        let headers = [
            ("accept", "text/html"),
            ("origin", "http://127.0.0.1:8474"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        ask(Method::POST, path, &headers).body(Body::from(body)).unwrap()
    };
    let get = |path: String| ask(Method::GET, &path, &[("accept", "text/html")]).body(Body::empty()).unwrap();
    let json_of = |method: Method, path: &str, body: String| {
        ask(method, path, &[("content-type", "application/json")]).body(Body::from(body)).unwrap()
    };
    let escaped = "x\\r\\nSet-Cookie: evil=1\\r\\n\\r\\n";
    let requests: Vec<(&str, Request<Body>)> = vec![
        ("the way back of a sign-in", get(format!("/sign-in?next=%2f{LINES}"))),
        ("a code", get(format!("/claim?code={LINES}"))),
        ("a path that lacks no slash", get("/c/yard%0d%0aSet-Cookie:evil=1/".to_owned())),
        ("an item", get(format!("/c/yard/t/controller?item={LINES}"))),
        ("a key", get(format!("/c/yard/t/controller?until={LINES}"))),
        ("a place in a list", get(format!("/api/v1/connections?limit=1&after={LINES}"))),
        ("an organization", get(format!("/api/v1/connections?organization={LINES}"))),
        ("a zone of a reader", get(format!("/reader?zone={LINES}&back={LINES}"))),
        ("a file's name", get(format!("/api/v1/connections/yard/targets/controller/history?format=csv&item={LINES}"))),
        (
            "a token's name",
            json_of(Method::POST, "/api/v1/tokens", format!("{{\"name\": \"{escaped}\", \"role\": \"reader\"}}")),
        ),
        (
            "an operator's name",
            json_of(Method::POST, "/api/v1/operators/claims", format!("{{\"operator\": \"{escaped}\"}}")),
        ),
        (
            "a target's name",
            json_of(Method::PUT, &format!("/api/v1/connections/yard/targets/{LINES}"), "{}".to_owned()),
        ),
        ("a copy's place", json_of(Method::POST, "/api/v1/backup", format!("{{\"destination\": \"/tmp/{escaped}\"}}"))),
        (
            "a command's parameter",
            json_of(Method::POST, "/api/v1/connections/yard/commands/run-zone", format!("{{\"item\": \"{escaped}\"}}")),
        ),
        ("a form without its field", form("/settings/tokens", format!("csrf={LINES}&name={LINES}"))),
    ];
    for (what, request) in requests {
        let answer = site().send(request).await;
        assert!(answer.status().as_u16() < 500, "{what}: {}", answer.status());
        assert!(answer.headers().get("set-cookie").is_none_or(|v| !v.as_bytes().starts_with(b"evil")), "{what}");
        for (name, value) in answer.headers() {
            assert!(!value.as_bytes().iter().any(|b| b"\r\n".contains(b)), "{what}: {name}");
            assert!(!value.as_bytes().starts_with(b"//"), "{what}: {name} leads elsewhere");
        }
        let is_page = head(answer.headers(), "content-type").starts_with("text/html");
        assert!(!is_page || !text(answer).await.contains("<script>"), "{what}");
    }
    let site = site();
    let filled =
        [("name", "p\r\nSet-Cookie: evil=1"), ("role", "reader"), ("organization", "o\r\nX: y"), ("lasts", "90d")];
    let made = site.fill("/settings/tokens", "settings/tokens", &filled).await;
    assert!(made.status().as_u16() < 500 && made.headers().get("set-cookie").is_none(), "{}", made.status());
}

/// A name from right to left stands in an element of its own.
#[tokio::test]
async fn a_name_of_another_direction_stands_by_itself() {
    let mut sample = Sample::locked_out();
    sample.targets[0].items[0].title = "\u{5de}\u{5d9}\u{5dd} 7".to_owned();
    let page = Site::loopback(sample).page("/c/yard/t/controller").await;
    assert!(page.contains("<bdi>\u{5de}\u{5d9}\u{5dd} 7</bdi> was last seen"), "{}", part(&page, "banner"));
    assert!(page.contains("<h3>\u{5de}\u{5d9}\u{5dd} 7</h3>"), "{page}");
}
