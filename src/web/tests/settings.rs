//! What concerns the installation and an organization as a whole, and what a form says before it is sent.

use super::*;
use crate::domain::setting::{Setting, Source};

fn site(listener: Listener) -> Site {
    let site = Site::at(listener, Sample::two_organizations());
    let setting = |key: &str, value: &str, source| Setting { key: key.to_owned(), value: value.to_owned(), source };
    let settings = vec![
        setting("server.listen", "127.0.0.1:8474", Source::Usual),
        setting("server.data", "/srv/<larder>.redb", Source::File { name: "larder.toml".to_owned(), line: 3 }),
        setting("polling.workers", "8", Source::Variable("LARDER_POLLING_WORKERS".to_owned())),
    ];
    site.state.configured().reread("server", settings.clone());
    site.state.configured().reread("polling", settings);
    site
}

async fn as_token(site: &Site, path: &str, token: &str) -> Response {
    let bearer = format!("Bearer {token}");
    site.send(
        ask(Method::GET, path, &[("accept", "text/html"), ("authorization", &bearer)]).body(Body::empty()).unwrap(),
    )
    .await
}

#[tokio::test]
async fn the_settings_tell_what_is_configured_and_by_whom() {
    let page = site(Listener::Loopback).page("/settings").await;
    for told in [
        "takes writes",
        "as usual",
        "larder.toml, line 3",
        "/srv/&#60;larder&#62;.redb",
        "the variable LARDER_POLLING_WORKERS",
        "*.home.arpa",
        "action=\"reader\"",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let network = site(Listener::Network);
    let admin = text(as_token(&network, "/settings", "admin-token").await).await;
    assert!(admin.contains("larder.toml, line 3"));
    for token in ["owner-token", "reader-token", "north-token"] {
        let page = as_token(&network, "/settings", token).await;
        assert_eq!(page.status(), StatusCode::OK, "{token}");
        assert!(
            !text(page).await.contains("larder.toml"),
            "where the file lies concerns no single organization: {token}"
        );
    }
}

#[tokio::test]
async fn an_organization_sees_its_own_usage_and_no_others() {
    let open = site(Listener::Loopback);
    let own = open.page("/o/default/usage").await;
    assert!(own.contains("Usage of default") && own.contains(">yard</a>") && !own.contains(">cellar</a>"), "{own}");
    assert!(own.contains("2 of 5 left") && own.contains("1 kept"), "{own}");
    let north = open.page("/o/north/usage").await;
    assert!(
        north.contains(">cellar</a>") && north.contains("organization=north") && !north.contains(">yard<"),
        "{north}"
    );
    assert_eq!(open.get("/o/nobody/usage").await.status(), StatusCode::NOT_FOUND);
    let network = site(Listener::Network);
    for (token, path, status) in [
        ("north-token", "/o/north/usage", 200),
        ("north-token", "/o/default/usage", 403),
        ("reader-token", "/o/default/usage", 200),
        ("reader-token", "/o/north/usage", 403),
        ("admin-token", "/o/north/usage", 200),
    ] {
        assert_eq!(as_token(&network, path, token).await.status().as_u16(), status, "{token} {path}");
    }
}

#[tokio::test]
async fn a_form_shows_its_effect_and_only_then_what_would_change_it() {
    let site = Site::loopback(Sample::calm());
    let effect = async |query: &str| {
        let page = site.page(&format!("/c/yard/controls{query}")).await;
        let from = page.find("id=\"effect\"").expect("there is a place for it");
        page[from..].split("</section>").next().unwrap_or_default().replace('\u{202f}', " ")
    };
    let blank = effect("").await;
    assert!(blank.contains("before anything is changed") && !blank.contains("<form"), "{blank}");
    let asked = effect("?interval=30s&interval_for=3h&inactivity_ttl=48h").await;
    for told in [
        "requests a day; now it is",
        "In 3 h that is",
        "not change for 48h",
        "name=\"interval\" value=\"30s\"",
        "name=\"csrf\"",
    ] {
        assert!(asked.contains(told), "{told}: {asked}");
    }
    for wrong in ["?interval=soon", "?interval=0s", "?interval_for=3h", "?completion_grace=%3Cb%3E"] {
        let refused = effect(wrong).await;
        assert!(
            !refused.contains("<form") && !refused.contains("<b>") && refused.contains("hedge"),
            "{wrong}: {refused}"
        );
    }
    assert!(site.sample.asked().is_empty(), "nothing was changed: {:?}", site.sample.asked());
    let fields = [("token", "owner-token"), ("interval", "30s")];
    let done = site.fill("/c/yard/controls?interval=30s", "c/yard/controls", &fields).await;
    assert_eq!(done.status(), StatusCode::SEE_OTHER);
    assert!(site.sample.asked().join("\n").contains("30000"), "{:?}", site.sample.asked());
}

#[tokio::test]
async fn a_backup_is_made_by_a_button_and_told_with_its_size_and_its_place() {
    let site = site(Listener::Loopback);
    let before = site.page("/settings").await;
    assert!(before.contains("/srv/&#60;b&#62;/backups") && before.contains("Back up now"), "{before}");
    assert!(!before.contains("whole, at"), "none was made in this run");
    for (token, status) in [("owner-token", 403), ("reader-token", 403), ("admin-token", 303)] {
        let sent = site.fill("/settings", "settings/backup", &[("token", token)]).await;
        assert_eq!(sent.status().as_u16(), status, "{token}");
    }
    assert_eq!(site.sample.asked().iter().filter(|line| line.ends_with("backs up")).count(), 1, "by who may");
    let after = site.page("/settings").await.replace('\u{a0}', " ");
    assert!(after.contains("1.6 MB in 0.42 s, whole, at <code>/srv/backups/larder-20261130T082000Z.redb"), "{after}");
    let network = Site::at(Listener::Network, Sample::calm());
    for (token, sees) in [("admin-token", true), ("reader-token", false)] {
        let page = text(as_token(&network, "/settings", token).await).await;
        assert_eq!(page.contains("id=\"backup\""), sees, "where the file lies is not for {token}");
    }
}

#[tokio::test]
async fn a_disk_without_room_is_told_in_a_sentence() {
    let site = Site::loopback(Sample { no_room: true, ..Sample::calm() });
    let refused = site.fill("/settings", "settings/backup", &[("token", "admin-token")]).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let page = text(refused).await;
    assert!(page.contains("there is no room for /srv/backups/larder.redb: free some space there"), "{page}");
}
