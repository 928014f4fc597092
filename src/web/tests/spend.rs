//! Who spent what: the page and its JSON.

use super::pages::part;
use super::*;

#[tokio::test]
async fn the_page_says_who_spent_what() {
    let site = Site::loopback(Sample::calm());
    let page = site.page("/spend").await;
    insta::assert_snapshot!("spend_groups", part(&page, "groups"));
    insta::assert_snapshot!("spend_form", part(&page, "ask"));
    let sentence = "1 217 requests of 1 257 units together from 29 Nov, 09:00 to 09:20, most by poller (99 %).";
    assert!(page.replace(['\u{202f}', '\u{a0}'], " ").contains(sentence), "{page}");
    let chart = part(&page, "chart");
    assert_eq!(chart.matches("class=\"bed\"").count(), 25, "a bar for each hour");
    assert_eq!(chart.matches("<tr><th scope=\"row\">").count(), 25, "and a line of the table");
    let week = part(&site.page("/spend?range=7d&by=outcome").await, "groups");
    assert!(week.contains("unreachable</th><td>2</td><td>0</td><td>0"), "counted as requests, of no units: {week}");
    let empty = site.page("/spend?from=2026-11-01&to=2026-11-02&connection=cellar").await;
    assert!(empty.contains("Nobody has asked anything since 1 Nov, 00:00.") && empty.contains("value=\"2026-11-01\""));
    assert!(site.page("/").await.contains("href=\"spend\""), "every page leads there");
}

#[tokio::test]
async fn a_long_time_has_wider_bars_and_not_more_of_them() {
    let site = Site::loopback(Sample::calm());
    for (range, bar) in [("range=7d&per=hour", "4 h a bar"), ("range=90d", "2 d a bar"), ("range=400d", "9 d a bar")] {
        let chart = part(&site.page(&format!("/spend?{range}")).await, "chart").replace('\u{a0}', " ");
        assert!(chart.contains(bar), "{range}: {chart}");
        assert!(chart.matches("class=\"bed\"").count() <= 48);
    }
}

#[tokio::test]
async fn spending_is_json_too() {
    let site = Site::loopback(Sample::calm());
    insta::assert_snapshot!(
        "json_spend",
        pretty(site.get("/api/v1/spend?from=2026-11-30T07:00:00Z&by=endpoint").await).await
    );
    let days = json(site.get("/api/v1/spend?range=7d&connection=yard&by=target").await).await;
    assert_eq!((&days["per"], &days["time_zone"]), (&"day".into(), &"Europe/Zurich".into()));
    assert_eq!(days["slices"][7]["at"], "2026-11-29T23:00:00Z", "a day begins when it begins here");
    assert_eq!(days["groups"][0]["name"], "controller", "of one connection names need no connection");
    assert_eq!(days["groups"][1]["name"], "(no target)");
    let sum = |of: &Value| {
        of["slices"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|s| s["groups"].as_object().unwrap().values())
            .map(|g| g["requests"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(sum(&days), days["requests"].as_u64().unwrap());
    let empty = Site::loopback(Sample::calm()).get("/api/v1/spend?by=organization&from=2026-10-01&to=2026-10-02").await;
    assert_eq!(json(empty).await["groups"], Value::Array(vec![]));
    for wrong in ["by=colour", "per=week", "from=x", "range=1y", "form=2026-11-01"] {
        let problem = site.get(&format!("/api/v1/spend?{wrong}")).await;
        assert_eq!(problem.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
}

/// T: nobody sees what another organization spends, put together by organization or not.
#[tokio::test]
async fn an_organization_sees_its_own_spending_alone() {
    let site = Site::at(Listener::Network, Sample::calm());
    let ask_as = async |token: &str, path: &str| {
        let bearer = format!("Bearer {token}");
        json(site.send(ask(Method::GET, path, &[("authorization", &bearer)]).body(Body::empty()).unwrap()).await).await
    };
    for by in ["caller", "organization", "connection"] {
        let path = format!("/api/v1/spend?by={by}");
        assert_eq!(ask_as("north-token", &path).await["requests"], 0, "{by}");
        assert_eq!(ask_as("reader-token", &path).await["requests"], 1217, "{by}");
        assert_eq!(ask_as("north-token", &format!("{path}&organization=default")).await["status"], 403);
    }
}
