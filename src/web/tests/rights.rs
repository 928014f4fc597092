//! Who may do what, route by route: the routes are those that the router itself names, so that a new one is in the table from its first day. Each is
//! asked by everybody there is, over each listener; what comes back is held against one rule for each kind of route. The whole table, expected and
//! actual: `cargo test --lib every_route_asks -- --nocapture`.

use super::document::routes;
use super::*;
use crate::web::access::guard::Bound;
use crate::web::sample::keeper::secret;

/// What a route is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Anybody: probes, styles, what stands before the door.
    Open,
    /// A form before the door: the page that it came from is judged, not who sends it.
    Front,
    /// Reading of an organization.
    Read,
    /// Reading of what each reader has an own of.
    ReadOwn,
    /// Reading of what concerns who may come in.
    ReadAdmin,
    /// Changes in an organization, by the API.
    Change,
    /// Changes of the whole installation, by the API.
    ChangeAdmin,
    /// Pushing observations to an organization.
    Push,
    /// A form of a page, by which an organization is changed.
    Form,
    /// A form of a page, by which the whole installation is changed.
    FormAdmin,
    /// Only who is signed in with a password has one.
    FormOwn,
}

/// Where nothing is said here a GET reads, another method of the API changes, and any other is a form.
fn kind(method: &str, path: &str) -> Kind {
    let front = ["/sign-in", "/claim"];
    let open = ["/livez", "/readyz", "/static/{name}"];
    let installation =
        ["/api/v1/tokens", "/api/v1/operators", "/api/v1/backup", "/api/v1/polling", "/api/v1/configuration"];
    let admin = installation.iter().any(|own| path.starts_with(own));
    match method {
        "GET" if open.contains(&path) || front.contains(&path) => Kind::Open,
        "GET" if path.starts_with("/settings/") && path != "/settings/reader" || admin && path != "/api/v1/polling" => {
            Kind::ReadAdmin
        }
        "GET" if path == "/setup/larder.toml" => Kind::ReadAdmin,
        "GET" if ["/metrics", "/reader", "/openapi.json"].contains(&path) => Kind::ReadOwn,
        "GET" => Kind::Read,
        _ if path.starts_with("/api/v1/intake/") => Kind::Push,
        _ if path.starts_with("/api/") && admin => Kind::ChangeAdmin,
        _ if path.starts_with("/api/") => Kind::Change,
        _ if front.contains(&path) => Kind::Front,
        _ if ["/sign-out", "/settings/password"].contains(&path) => Kind::FormOwn,
        _ if path.starts_with("/settings/") || path.starts_with("/setup/") || path == "/polling" => Kind::FormAdmin,
        _ => Kind::Form,
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    Nobody,
    Token(&'static str),
    /// Signed in.
    Ann,
}

const ASKERS: [Asker; 9] = [
    Asker::Nobody,
    Asker::Token("wrong"),
    Asker::Token("revoked-token"),
    Asker::Token("agent-token"),
    Asker::Token("reader-token"),
    Asker::Token("north-token"),
    Asker::Token("owner-token"),
    Asker::Token("admin-token"),
    Asker::Ann,
];

/// 401, 403, or `None`: the door lets it through, whatever the room behind then says.
fn expected(kind: Kind, listener: Listener, asker: Asker) -> Option<u16> {
    use Asker::{Ann, Nobody, Token};
    let local = listener == Listener::Local;
    match (kind, asker) {
        (Kind::Open | Kind::Front, _) => None,
        (Kind::FormOwn, Ann) if !local => None,
        (Kind::FormOwn, _) if local => Some(400),
        _ if local => None,
        (_, Token("wrong" | "revoked-token")) => Some(401),
        (Kind::Read | Kind::ReadOwn, Nobody) if listener == Listener::Loopback => None,
        (Kind::ReadAdmin, Nobody) if listener == Listener::Loopback => Some(403),
        (_, Nobody) => Some(401),
        (Kind::Push, Token("agent-token")) => None,
        (_, Token("agent-token")) => Some(403),
        (Kind::Read, Token("north-token")) => Some(403),
        (Kind::Read | Kind::ReadOwn, _) => None,
        (_, Token("reader-token")) => Some(403),
        (Kind::Change | Kind::Push | Kind::Form, Token("north-token")) => Some(403),
        // By the cookie alone the API changes nothing.
        (Kind::Change | Kind::ChangeAdmin | Kind::Push, Ann) => Some(403),
        (Kind::Change | Kind::Push | Kind::Form, _) => None,
        (Kind::ReadAdmin | Kind::ChangeAdmin | Kind::FormAdmin, Token("admin-token") | Ann) => None,
        (Kind::ReadAdmin | Kind::ChangeAdmin | Kind::FormAdmin, _) => Some(403),
        (Kind::FormOwn, _) => Some(400),
    }
}

pub fn filled(path: &str) -> String {
    let known = [
        ("{connection}", "yard"),
        ("{organization}", "default"),
        ("{target}", "controller"),
        ("{command}", "run-zone"),
        ("{webhook}", "dispatch"),
        ("{job}", "7"),
        ("{token}", "3"),
        ("{id}", "3"),
        ("{operation}", "connections"),
        ("{type}", "When"),
        ("{name}", if path.starts_with("/static/") { "app.css" } else { "ann" }),
    ];
    let path = known.iter().fold(path.to_owned(), |path, (hole, value)| path.replace(hole, value));
    path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect::<Vec<_>>().join("/")
}

async fn answer(site: &Site, (method, path): (&str, &str), kind: Kind, asker: Asker) -> u16 {
    let is_form = matches!(kind, Kind::Form | Kind::FormAdmin | Kind::FormOwn | Kind::Front);
    let mut request =
        ask(method.parse().unwrap(), &format!("{path}?organization=default"), &[("origin", "http://127.0.0.1:8474")]);
    let bound = match asker {
        Asker::Nobody => Bound::default(),
        Asker::Token(text) => {
            request = request.header("authorization", format!("Bearer {text}"));
            let token = site.sample.tokens.iter().find(|(known, _)| *known == text);
            Bound(token.map_or(String::new(), |(_, info)| format!("token {}", info.id)))
        }
        Asker::Ann => {
            request = request.header("cookie", Site::cookie('a'));
            Bound(format!("session {}", blake3::hash(secret('a').as_bytes())))
        }
    };
    let front_or_local = kind == Kind::Front || site.state.access().listener == Listener::Local;
    let bound = if front_or_local { Bound::default() } else { bound };
    let own = site.state.form_key().issue(path, &bound, site.sample.now().steady);
    let (content, body) = match is_form {
        true => ("application/x-www-form-urlencoded", format!("csrf={own}")),
        false => ("application/json", String::new()),
    };
    let request = request.header("content-type", content).body(Body::from(body)).unwrap();
    site.send(request).await.status().as_u16()
}

#[tokio::test]
async fn every_route_asks_who_it_is() {
    let mut wrong = Vec::new();
    for (path, methods) in routes().await {
        let path_asked = filled(&path);
        for method in &methods {
            let kind = kind(method, &path);
            for listener in [Listener::Loopback, Listener::Network, Listener::Local] {
                for asker in ASKERS {
                    // Each a site of its own: the local rates are in no one's way.
                    let site = Site::at(listener, Sample::calm());
                    let expected = expected(kind, listener, asker);
                    let status = answer(&site, (method, &path_asked), kind, asker).await;
                    println!(
                        "| {method} {path} | {kind:?} | {listener:?} | {asker:?} | {} | {status} |",
                        expected.map_or("in".to_owned(), |e| e.to_string())
                    );
                    let fits = match expected {
                        Some(status_expected) => status == status_expected,
                        None => !matches!(status, 401 | 421) && (status != 403 || kind == Kind::Front),
                    };
                    let changed = site.sample.asked();
                    if !fits || expected.is_some() && !changed.is_empty() {
                        wrong.push(format!("{method} {path} ({kind:?}) over {listener:?} by {asker:?}: {status}, expected {expected:?}; {changed:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells of the table are otherwise:\n{}", wrong.len(), wrong.join("\n"));
}
