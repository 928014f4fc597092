//! The door as attackers and people try it: signing in, sessions, forms of other sites, guessers, proxies that lie, addresses that lead away.

use super::*;
use crate::domain::proxy::{Network, TrustedProxy};
use crate::web::sample::keeper::{CODE, PASSWORD, secret};
use axum::extract::ConnectInfo;
use std::net::SocketAddr;

const OWN: &str = "http://127.0.0.1:8474";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

impl Site {
    /// As ann, whose browser has this session.
    pub fn cookie(letter: char) -> String {
        format!("theme=dark; larder-sample={}", secret(letter))
    }
    async fn as_ann(&self, path: &str) -> Response {
        let headers = [("accept", "text/html"), ("cookie", &*Site::cookie('a'))];
        self.send(ask(Method::GET, path, &headers).body(Body::empty()).unwrap()).await
    }
    /// What a form of `page` for `action` has in its own field, as `cookie` sees it.
    async fn own_field(&self, page: &str, action: &str, cookie: &str) -> String {
        let request = ask(Method::GET, page, &[("accept", "text/html"), ("cookie", cookie)]);
        let html = text(self.send(request.body(Body::empty()).unwrap()).await).await;
        let form =
            html.split("<form ").skip(1).find(|f| f.contains(&format!("{action}\""))).expect("the page has that form");
        form.split("name=\"csrf\" value=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .expect("our field")
            .to_owned()
    }
    async fn post(&self, path: &str, headers: &[(&str, &str)], body: String) -> Response {
        let headers: Vec<_> = headers.iter().copied().chain([("accept", "text/html"), FORM]).collect();
        self.send(ask(Method::POST, path, &headers).body(Body::from(body)).unwrap()).await
    }
    /// Signs in from `peer`; with the cookie that the browser brings along.
    async fn signs_in(&self, (name, password): (&str, &str), next: &str, cookie: &str) -> Response {
        let own = self.own_field("/sign-in", "sign-in", cookie).await;
        let segment = rendered::segment;
        let body = format!("csrf={own}&name={}&password={}&next={}", segment(name), segment(password), segment(next));
        self.post("/sign-in", &[("origin", OWN), ("cookie", cookie)], body).await
    }
}

fn set_cookie(response: &Response) -> String {
    head(response.headers(), "set-cookie").to_owned()
}

#[tokio::test]
async fn on_the_network_a_browser_signs_in_where_it_wanted_to_go() {
    let site = Site::at(Listener::Network, Sample::calm());
    let wanted =
        site.send(ask(Method::GET, "/c/yard?page=2", &[("accept", "text/html")]).body(Body::empty()).unwrap()).await;
    assert_eq!(wanted.status(), StatusCode::UNAUTHORIZED);
    let mut challenges = wanted.headers().get_all("www-authenticate").iter();
    assert!(challenges.all(|c| !c.as_bytes().starts_with(b"Basic")), "the browser asks nothing by itself");
    let page = text(wanted).await;
    assert!(
        page.contains("action=\"../sign-in\"") && page.contains("name=\"next\" value=\"/c/yard?page=2\""),
        "{page}"
    );
    assert!(!page.contains("Fresh") && !page.contains("hydrawise"), "nothing of what is behind the door: {page}");

    let wrong = site.signs_in(("ann", "wrong horse"), "/c/yard?page=2", "").await;
    assert_eq!((wrong.status(), set_cookie(&wrong).as_str()), (StatusCode::FORBIDDEN, ""));
    let again = text(wrong).await;
    assert!(
        again.contains("The name or the password is not right.") && again.contains("value=\"/c/yard?page=2\""),
        "{again}"
    );
    assert!(!again.contains("wrong horse"), "what was typed as a password is on no page");

    let right = site.signs_in(("ann", PASSWORD), "/c/yard?page=2", "").await;
    assert_eq!((right.status(), head(right.headers(), "location")), (StatusCode::SEE_OTHER, "./c/yard?page=2"));
    let cookie = set_cookie(&right);
    assert!(cookie.starts_with("larder-sample=") && cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
    assert_eq!(head(right.headers(), "cache-control"), "");
    assert_eq!(site.as_ann("/c/yard").await.status(), StatusCode::OK);
    for way in ["//evil.example/x", "https://evil.example", "/\\evil.example"] {
        let led = site.signs_in(("ann", PASSWORD), way, "").await;
        assert_eq!(head(led.headers(), "location"), "./", "{way}");
    }
}

/// What a browser brings along is never taken over: who planted it there has nothing of it.
#[tokio::test]
async fn a_session_is_made_anew_at_each_sign_in() {
    let site = Site::at(Listener::Network, Sample::calm());
    let planted = format!("larder-sample={}", "e".repeat(64));
    let signed_in = site.signs_in(("ann", PASSWORD), "/", &planted).await;
    let fresh = set_cookie(&signed_in);
    assert!(!fresh.contains(&"e".repeat(64)), "{fresh}");
    let request = ask(Method::GET, "/", &[("cookie", &planted)]).body(Body::empty()).unwrap();
    assert_eq!(site.send(request).await.status(), StatusCode::UNAUTHORIZED, "the planted one is still nobody's");
    // And the one before ends.
    let rotated = site.signs_in(("ann", PASSWORD), "/", &Site::cookie('a')).await;
    assert_eq!(rotated.status(), StatusCode::SEE_OTHER);
    assert_eq!(site.as_ann("/").await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn signed_in_a_form_changes_and_the_api_does_not() {
    let site = Site::at(Listener::Network, Sample::calm());
    let cookie = Site::cookie('a');
    let page = text(site.as_ann("/c/yard").await).await;
    assert!(!page.contains("name=\"token\"") && page.contains("settings/operators\">ann</a>"), "{page}");
    let own = site.own_field("/c/yard", "c/yard/polling", &cookie).await;
    let done =
        site.post("/c/yard/polling", &[("origin", OWN), ("cookie", &cookie)], format!("csrf={own}&on=false")).await;
    assert_eq!(done.status(), StatusCode::SEE_OTHER);
    for (method, path, body) in [
        (Method::PATCH, "/api/v1/connections/yard", "{\"enabled\":true}"),
        (Method::POST, "/api/v1/connections/yard/targets/controller/refresh", ""),
        (Method::POST, "/api/v1/tokens", "{\"name\":\"x\",\"role\":\"admin\"}"),
    ] {
        let headers = [("origin", OWN), ("cookie", &*cookie), ("content-type", "application/json")];
        let refused = site.send(ask(method, path, &headers).body(Body::from(body)).unwrap()).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
    }
    let read = ask(Method::GET, "/api/v1/tokens", &[("cookie", &cookie)]);
    assert_eq!(site.send(read.body(Body::empty()).unwrap()).await.status(), StatusCode::OK, "reading is fine");
    let asked = site.sample.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].starts_with("ann (page, this machine) changes default/yard"), "{asked:?}");
}

/// Cross-site requests: each line is what a page of another site can make ann's browser send.
#[tokio::test]
async fn another_site_sends_nothing_in_the_name_of_who_is_signed_in() {
    let site = Site::at(Listener::Network, Sample::calm());
    let cookie = Site::cookie('a');
    let anns = site.own_field("/c/yard", "c/yard/polling", &cookie).await;
    let now = site.sample.now().steady;
    let key = site.state.form_key();
    let bound = |text: &str| crate::web::access::guard::Bound(text.to_owned());
    // An attacker who may look at pages gets fields of an own: as nobody on loopback, with a token, with another session.
    let others = [
        key.issue("/c/yard/polling", &bound(""), now),
        key.issue("/c/yard/polling", &bound("token 3"), now),
        key.issue("/c/yard/polling", &bound(&format!("session {}", blake3::hash(secret('b').as_bytes()))), now),
        key.issue("/c/yard/controls", &bound(&format!("session {}", blake3::hash(secret('a').as_bytes()))), now),
        String::new(),
    ];
    for other in others {
        let sent = site
            .post("/c/yard/polling", &[("origin", OWN), ("cookie", &cookie)], format!("csrf={other}&on=false"))
            .await;
        assert_eq!(sent.status(), StatusCode::FORBIDDEN, "{other}");
    }
    for headers in [
        vec![("origin", "http://evil.example")],
        vec![("origin", "null")],
        vec![("origin", "http://127.0.0.1:9000")],
        vec![("origin", OWN), ("sec-fetch-site", "cross-site")],
        vec![("sec-fetch-site", "same-site")],
        // A browser says where a form came from: without a word of it there is no session.
        vec![],
    ] {
        let headers: Vec<_> = headers.into_iter().chain([("cookie", &*cookie)]).collect();
        let sent = site.post("/c/yard/polling", &headers, format!("csrf={anns}&on=false")).await;
        assert_eq!(sent.status(), StatusCode::FORBIDDEN, "{headers:?}");
    }
    assert!(site.sample.asked().is_empty(), "{:?}", site.sample.asked());
    // Nor does it sign a browser in as somebody else.
    let own = site.own_field("/sign-in", "sign-in", "").await;
    let body = format!("csrf={own}&name=ann&password={}", rendered::segment(PASSWORD));
    for origin in ["http://evil.example", "null"] {
        assert_eq!(site.post("/sign-in", &[("origin", origin)], body.clone()).await.status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(site.post("/sign-in", &[], body).await.status(), StatusCode::FORBIDDEN);
    assert!(site.sample.asked().is_empty());
}

/// Back-off, not lock-out: who guesses waits, others do not, and nothing is counted that was not looked at.
#[tokio::test]
async fn guessing_passwords_and_codes_gets_slower() {
    let from = |site: &Site, peer: &str, path: &str, body: String| {
        let mut request =
            ask(Method::POST, path, &[("origin", OWN), FORM, ("accept", "text/html")]).body(Body::from(body)).unwrap();
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>(format!("{peer}:4711").parse().unwrap()));
        router(site.state.clone()).oneshot(request)
    };
    for (path, fields) in
        [("sign-in", "name=ann&password=guess"), ("claim", "code=0000&name=eve&password=long%20enough")]
    {
        let site = Site::at(Listener::Network, Sample::calm());
        let own = site.own_field(&format!("/{path}"), path, "").await;
        let body = format!("csrf={own}&{fields}");
        let path = format!("/{path}");
        for _ in 0..5 {
            let refused = from(&site, "192.0.2.66", &path, body.clone()).await.unwrap();
            assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        }
        let slowed = from(&site, "192.0.2.66", &path, body.clone()).await.unwrap();
        assert_eq!((slowed.status(), head(slowed.headers(), "retry-after")), (StatusCode::TOO_MANY_REQUESTS, "1"));
        let other = from(&site, "192.0.2.67", &path, body).await.unwrap();
        assert_eq!(other.status(), StatusCode::FORBIDDEN, "somebody else is looked at");
        let asked = site.sample.asked();
        assert_eq!(
            asked.iter().filter(|a| a.contains("192.0.2.66")).count(),
            6,
            "five tries and one that is told: {asked:?}"
        );
        assert!(asked.contains(&"192.0.2.66 has guessed".to_owned()), "{asked:?}");
    }
}

#[tokio::test]
async fn a_code_claims_the_appliance() {
    let site = Site::at(Listener::Network, Sample::calm());
    site.sample.door.operators.lock().unwrap().clear();
    let page = site.page("/").await;
    assert!(page.contains("has no operator yet") && page.contains("href=\"claim\""), "{page}");
    assert!(site.page("/claim").await.contains("Claim this appliance"));
    let own = site.own_field("/claim", "claim", "").await;
    let claim = |code: &str, password: &str| {
        let body = format!("csrf={own}&code={code}&name=ben&password={}", rendered::segment(password));
        site.post("/claim", &[("origin", OWN)], body)
    };
    for (code, password, said) in
        [("WRONG", "long enough", "This code is not good"), (CODE, "short", "A password has at least 10")]
    {
        let refused = claim(code, password).await;
        assert_eq!((refused.status(), set_cookie(&refused).as_str()), (StatusCode::FORBIDDEN, ""));
        let again = text(refused).await;
        assert!(again.contains(said) && again.contains("value=\"ben\""), "{again}");
    }
    let claimed = claim(CODE, "long enough").await;
    assert_eq!((claimed.status(), head(claimed.headers(), "location")), (StatusCode::SEE_OTHER, "./"));
    assert!(set_cookie(&claimed).starts_with("larder-sample="));
}

#[tokio::test]
async fn operators_and_tokens_are_kept_on_pages() {
    let site = Site::at(Listener::Network, Sample::calm());
    let cookie = Site::cookie('a');
    let send = async |page: &str, action: &str, fields: &str| {
        let own = site.own_field(page, action, &cookie).await;
        let path = format!("/{}", action.trim_start_matches("\"../"));
        site.post(&path, &[("origin", OWN), ("cookie", &cookie)], format!("csrf={own}&{fields}")).await
    };
    let added = send("/settings/operators", "settings/operators", "name=ben").await;
    assert_eq!((added.status(), head(added.headers(), "cache-control")), (StatusCode::OK, "no-store"));
    assert!(text(added).await.contains(CODE));
    let out = send("/settings/operators", "settings/operators/ann/sign-out", "").await;
    assert_eq!((out.status(), head(out.headers(), "location")), (StatusCode::SEE_OTHER, "../../operators"));
    assert_eq!(site.as_ann("/").await.status(), StatusCode::UNAUTHORIZED, "signed out everywhere");

    site.sample.door.sessions.lock().unwrap().push(secret('a'));
    let created =
        send("/settings/tokens", "settings/tokens", "name=phone&role=reader&organization=north&lasts=90d").await;
    assert!(text(created).await.contains("<code class=\"secret\">phone-reader</code>"));
    assert!(!text(site.as_ann("/settings/tokens").await).await.contains("phone-reader"), "shown once");
    assert_eq!(
        send("/settings/tokens", "settings/tokens", "name=x&role=reader&lasts=soon").await.status().as_u16(),
        422
    );
    let revoked = send("/settings/tokens", "settings/tokens/3/revoke", "").await;
    assert_eq!(head(revoked.headers(), "location"), "../../tokens");
    let wrong = send("/settings/operators", "settings/password", "old=wrong&new=another%20horse").await;
    assert_eq!(wrong.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let changed = send("/settings/operators", "settings/password", "old=correct%20horse&new=another%20horse").await;
    assert_eq!((changed.status(), head(changed.headers(), "location")), (StatusCode::SEE_OTHER, "./operators"));
    assert!(set_cookie(&changed).starts_with("larder-sample="), "and goes on with a new session");
    site.sample.door.sessions.lock().unwrap().push(secret('a'));
    let bye = send("/settings/operators", "\"../sign-out", "").await;
    assert!(set_cookie(&bye).contains("larder-sample=; Path=/; Max-Age=0"), "{}", set_cookie(&bye));
    assert_eq!(site.as_ann("/").await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(
        site.sample.asked(),
        [
            "ann (page, this machine) adds ben",
            "ann (page, this machine) signs ann out everywhere",
            "ann (page, this machine) creates the token phone (reader of north) for 90 d",
            "ann (page, this machine) revokes the token 3",
            "ann changes the password: false",
            "ann changes the password: true",
            "ann signs out from this machine",
        ]
    );
}

#[tokio::test]
async fn who_came_in_is_told_to_those_who_administer() {
    let mut sample = Sample::calm();
    sample.events.push(crate::web::sample::event(
        9,
        crate::domain::event::EventKind::AccessChanged,
        10,
        None,
        "ann signed in, from 192.0.2.7",
    ));
    let site = Site::loopback(sample);
    for (cookie, token, sees) in [
        ("", "", false),
        ("", "reader-token", false),
        ("", "owner-token", false),
        ("", "admin-token", true),
        (&*Site::cookie('a'), "", true),
    ] {
        let bearer = format!("Bearer {token}");
        for path in ["/activity", "/", "/api/v1/activity", "/api/v1/activity?kind=access_changed"] {
            let mut headers = vec![("accept", "text/html"), ("cookie", cookie)];
            if !token.is_empty() {
                headers.push(("authorization", &bearer));
            }
            let told = text(site.send(ask(Method::GET, path, &headers).body(Body::empty()).unwrap()).await).await;
            assert_eq!(told.contains("ann signed in"), sees, "{path} {cookie:?} {token:?}");
        }
    }
}

/// A proxy is believed where it is trusted, and nowhere else; and what it says for a browser is no more than a cookie is.
#[tokio::test]
async fn a_trusted_proxy_lets_operators_in() {
    let site = Site::at(Listener::Network, Sample::calm());
    let networks = vec![Network::parse("10.0.0.5").unwrap()];
    let proxy = TrustedProxy { networks, user_header: Some("remote-user".to_owned()) };
    let access = Access { listener: Listener::Network, ..Access::local() }.behind(Some(proxy));
    let site = site.behind(access);
    let send = |peer: &str, method: Method, path: &str, headers: &[(&str, &str)], body: String| {
        let headers: Vec<_> = headers.iter().copied().chain([("accept", "text/html"), FORM]).collect();
        let mut request = ask(method, path, &headers).body(Body::from(body)).unwrap();
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>(format!("{peer}:4711").parse().unwrap()));
        let router = router(site.state.clone());
        async move { router.oneshot(request).await.unwrap() }
    };
    let get = |peer, headers| send(peer, Method::GET, "/c/yard", headers, String::new());
    assert_eq!(get("10.0.0.5", &[("remote-user", "Ann")]).await.status(), StatusCode::OK);
    assert_eq!(get("10.0.0.6", &[("remote-user", "ann")]).await.status(), StatusCode::UNAUTHORIZED, "not the proxy");
    assert_eq!(get("10.0.0.5", &[]).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(
        get("10.0.0.5", &[("remote-user", "ann"), ("remote-user", "eve")]).await.status(),
        StatusCode::BAD_REQUEST
    );
    let stranger = get("10.0.0.5", &[("remote-user", "<b>mallory</b>")]).await;
    assert_eq!(stranger.status(), StatusCode::FORBIDDEN);
    let page = text(stranger).await;
    assert!(page.contains("no operator of that name") && !page.contains("<b>mallory"), "{page}");

    let named: &[(&str, &str)] = &[("remote-user", "ann"), ("x-forwarded-for", "192.0.2.7")];
    let page = text(send("10.0.0.5", Method::GET, "/c/yard", named, String::new()).await).await;
    let form = page.split("<form ").skip(1).find(|f| f.contains("c/yard/polling\"")).unwrap();
    let own = form.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let body = format!("csrf={own}&on=false");
    let with = |origin: &'static str| [named, &[("origin", origin)]].concat();
    let foreign = send("10.0.0.5", Method::POST, "/c/yard/polling", &with("http://evil.example"), body.clone()).await;
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    assert_eq!(
        send("10.0.0.5", Method::POST, "/c/yard/polling", named, body.clone()).await.status(),
        StatusCode::FORBIDDEN
    );
    let done = send("10.0.0.5", Method::POST, "/c/yard/polling", &with(OWN), body).await;
    assert_eq!(done.status(), StatusCode::SEE_OTHER);
    let asked = site.sample.asked();
    assert!(asked.len() == 1 && asked[0].starts_with("ann (page, 192.0.2.7) changes"), "{asked:?}");
}

#[tokio::test]
async fn over_tls_the_cookie_is_bound_to_it() {
    let site = Site::at(Listener::Network, Sample::calm());
    let proxy = TrustedProxy { networks: vec![Network::parse("10.0.0.5").unwrap()], user_header: None };
    let access = Access { listener: Listener::Network, ..Access::local() }.behind(Some(proxy));
    let site = site.behind(access);
    let get = |cookie: String| {
        let headers = [("cookie", &*cookie), ("x-forwarded-proto", "https"), ("x-forwarded-for", "192.0.2.7")];
        let mut request = ask(Method::GET, "/", &headers).body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>("10.0.0.5:4711".parse().unwrap()));
        router(site.state.clone()).oneshot(request)
    };
    let host_bound = format!("__Host-larder-sample={}", secret('a'));
    assert_eq!(get(host_bound).await.unwrap().status(), StatusCode::OK);
    assert_eq!(
        get(Site::cookie('a')).await.unwrap().status(),
        StatusCode::UNAUTHORIZED,
        "any neighbour could plant that one"
    );
}

/// The pages before the door are as choosy about names as the others.
#[tokio::test]
async fn a_rebound_name_finds_no_door() {
    let site = Site::loopback(Sample::calm());
    for (method, path) in [
        (Method::GET, "/sign-in"),
        (Method::GET, "/claim"),
        (Method::POST, "/sign-in"),
        (Method::POST, "/claim"),
        (Method::POST, "/sign-out"),
    ] {
        let request = Request::builder()
            .method(&method)
            .uri(path)
            .header("host", "evil.example")
            .header("origin", "http://evil.example");
        let refused = site.send(request.header("cookie", Site::cookie('a')).body(Body::empty()).unwrap()).await;
        assert_eq!(refused.status(), StatusCode::MISDIRECTED_REQUEST, "{method} {path}");
    }
}

#[tokio::test]
async fn every_answer_says_who_may_show_it_and_what_it_may_do() {
    for (sources, policy) in [
        (vec![], "frame-ancestors 'self'"),
        (vec!["'self'".to_owned(), "https://home.example".to_owned()], "frame-ancestors 'self' https://home.example"),
    ] {
        let access = Access { listener: Listener::Loopback, ..Access::local() }.framed_by(&sources);
        let site = Site::loopback(Sample::calm()).behind(access);
        for path in ["/", "/sign-in", "/nowhere", "/api/v1/connections", "/static/app.css"] {
            let answer = site.get(path).await;
            let said = head(answer.headers(), "content-security-policy");
            assert!(said.ends_with(policy) && said.starts_with("default-src 'none'"), "{path}: {said}");
            for (name, value) in [
                ("x-content-type-options", "nosniff"),
                ("cross-origin-opener-policy", "same-origin"),
                ("referrer-policy", "same-origin"),
            ] {
                assert_eq!(head(answer.headers(), name), value, "{path}");
            }
            assert!(head(answer.headers(), "permissions-policy").contains("camera=()"), "{path}");
        }
    }
}
