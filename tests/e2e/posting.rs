//! Questions and commands with a body: GraphQL with a cost of its own, dates in the provider's zone, redirects of a POST.

use crate::support::operator::job_id;
use crate::support::script::Script;
use crate::support::wire::{http, json};
use crate::support::*;
use serde_json::{Value, json};

/// A GraphQL target with a declared cost of 10, in a budget of 1000 an hour.
const GRAPHQL: &str = r#"
time_zone = "Pacific/Kiritimati"

[[connection.limit]]
name = "points"
requests = 1000
window = "1h"
kind = "rolling"

[connection.poll]
interval = "60s"

[[connection.target]]
name  = "homes"
post  = "/graphql?day={today}"
body  = { query = "{homes{id name}}", variables = { from = "{today-1d}", first = 50 } }
headers = { x-client = "larder {now:%Y}" }
items = "$.data.homes[*]"
key   = "$.id"
cost  = 10
cost_from = "$.extensions.cost.actualQueryCost"

[[connection.command]]
name = "boil"
post = "/boil/{item}"
body = '{"id":"{item}","minutes":{minutes},"say":"{words}"}'
retry = "never"
"#;

fn kitchen(provider: &Script) -> Config {
    let text = GRAPHQL
        .replace("time_zone", &format!("refresh_min_age = \"0s\"\nbase_url = \"{}\"\ntime_zone", provider.base_url()));
    Config { extra: format!("\n[[connection]]\nname = \"kitchen\"\n{text}"), ..Config::new() }
}

fn homes(names: &[&str], cost: u32, errors: Value) -> Vec<u8> {
    let homes: Vec<Value> = names.iter().map(|n| json!({"id": n, "name": n})).collect();
    let mut body = json!({"data": {"homes": homes}, "extensions": {"cost": {"actualQueryCost": cost}}});
    if !errors.is_null() {
        body["errors"] = errors;
    }
    json_answer(&body)
}

fn json_answer(body: &Value) -> Vec<u8> {
    json(200, &[], &body.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graphql_question_costs_what_the_provider_says_and_partial_data_is_no_data() {
    let errors = json!([{"message": "the second home could not be read"}]);
    let provider = Script::answering(move |asked| match asked.number {
        0 => homes(&["a", "b"], 400, Value::Null),
        _ => homes(&["a"], 400, errors.clone()),
    })
    .await;
    let mut app = TestApp::start(kitchen(&provider)).await;
    let first = app.has_polled("kitchen", "homes").await;
    assert_eq!(first["item_count"], 2);

    let asked = provider.asked().remove(0);
    assert_eq!((asked.method.as_str(), asked.header("content-type")), ("POST", "application/json"));
    let body: Value = serde_json::from_str(&asked.body).expect("a JSON body");
    let from = body["variables"]["from"].as_str().expect("a date").to_owned();
    assert_eq!(body, json!({"query": "{homes{id name}}", "variables": {"from": from, "first": 50}}));
    let today = asked.location.strip_prefix("/graphql?day=").expect("the query");
    assert!(today > from.as_str() && from.len() == 10, "yesterday is before today: {from}, {today}");
    assert!(asked.header("x-client").starts_with("larder 2"), "{asked:?}");

    let budget = |c: &Value| c["budget"][0]["used"].as_u64();
    assert_eq!(
        budget(&app.connection("kitchen").await),
        Some(400),
        "the provider's word counts, not the declared cost"
    );
    assert_eq!(app.ledger("kitchen").await[0]["cost"], 400);
    assert_eq!(first["refresh"], json!({"requests": 1, "units_each": 400}), "and the next is known to cost as much");
    // Of a thousand an hour that is two, and not one every minute; the page tells units from requests.
    let connection = app.connection("kitchen").await;
    assert_eq!(connection["poll"]["stretched"]["to_seconds"], 1_800, "{connection}");
    assert_eq!(
        (&connection["forecast"]["requests_per_day"], &connection["forecast"]["units_per_day"]),
        (&json!(48), &json!(19_200))
    );
    let said = app.larder_here(&["check"]).await.expect(1).stdout;
    assert!(said.contains("kitchen/homes: planned with 400 units a request, as the provider named it."), "{said}");

    let reply = app.operator().refreshes("kitchen", "homes").await;
    let refreshed = reply.expect(200).json();
    assert_eq!(refreshed["target"]["item_count"], 2, "the last whole answer stays: {refreshed}");
    assert_eq!(refreshed["target"]["stale"]["said"], "the second home could not be read", "{refreshed}");
    assert_eq!(app.ledger("kitchen").await[1]["outcome"], "unexpected");
    assert_eq!(app.ledger("kitchen").await[1]["endpoint"], "/graphql", "one endpoint, whatever the day");

    // 800 of 1000 are spent; the next would cost 400 as far as is known, also after a restart.
    app.restart().await;
    let said = app.operator().refreshes("kitchen", "homes").await.expect(429).body;
    assert!(said.contains("points"), "{said}");
    assert_eq!(provider.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_keeps_its_body_over_307_and_drops_it_over_303() {
    let provider = Script::answering(|asked| match (asked.path(), asked.number) {
        ("/graphql", 0) => http(307, &[("location", "/moved")], b""),
        ("/graphql", _) => http(303, &[("location", "/result")], b""),
        _ => homes(&["a"], 0, Value::Null),
    })
    .await;
    let app = TestApp::start(kitchen(&provider)).await;
    app.has_polled("kitchen", "homes").await;
    app.operator().refreshes("kitchen", "homes").await.expect(200);
    let seen: Vec<_> = provider.asked().iter().map(|a| (a.method.clone(), a.path().to_owned(), a.body.len())).collect();
    let whole = seen[0].2;
    let expected =
        [("POST", "/graphql", whole), ("POST", "/moved", whole), ("POST", "/graphql", whole), ("GET", "/result", 0)];
    assert_eq!(seen, expected.map(|(m, p, n)| (m.to_owned(), p.to_owned(), n)));
    assert_eq!(provider.asked()[3].header("content-type"), "");
    let ledger = app.ledger("kitchen").await;
    assert_eq!(ledger.len(), 4, "each hop is charged: {ledger:#?}");
    assert!(ledger.iter().all(|c| c["cost"] == 10), "{ledger:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_stays_a_value_in_a_body() {
    let provider = Script::answering(|_| json_answer(&json!({"data": {"homes": []}, "message": "boiling"}))).await;
    let app = TestApp::start(kitchen(&provider)).await;
    let words = "\"}, \"admin\": true, {\"x\":\"";
    let ask = json!({"item": "kettle/1", "minutes": "3", "words": words});
    let accepted = app.operator().commands("kitchen", "boil", &ask, None).await.expect(202).json();
    app.operator().sees_job(job_id(&accepted), "done").await;
    let sent = provider.asked().into_iter().find(|a| a.path().starts_with("/boil")).expect("sent");
    assert_eq!(sent.path(), "/boil/kettle%2F1");
    let body: Value = serde_json::from_str(&sent.body).expect("JSON");
    assert_eq!(body, json!({"id": "kettle/1", "minutes": 3, "say": words}));

    let smuggled = json!({"item": "1", "minutes": "3,\"admin\":true", "words": "x"});
    let said = app.operator().commands("kitchen", "boil", &smuggled, None).await.expect(422).body;
    assert!(said.contains("must be a number, true, false or null"), "{said}");
}

/// A search by POST that hands out its rows page by page: what names the next page stands in the body.
const SEARCH: &str = r#"
[[connection.limit]]
name = "hour"
requests = 100
window = "1h"
kind = "rolling"

[connection.poll]
interval = "60s"

[[connection.target]]
name  = "found"
post  = "/search"
body  = { filter = "open", page = { size = 2 } }
items = "$.rows[*]"
key   = "$"
page  = { style = "cursor", next = "$.next", more = "$.more", member = "/page/after" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_search_goes_on_from_page_to_page_in_its_body() {
    let provider = Script::answering(|asked| {
        let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let after = body["page"]["after"].as_u64().unwrap_or(0);
        let rows: Vec<String> = (after..5).take(2).map(|n| format!("row {n}")).collect();
        json_answer(&json!({"rows": rows, "next": after + 2, "more": after + 2 < 5}))
    })
    .await;
    let text = format!("base_url = \"{}\"\n{SEARCH}", provider.base_url());
    let config = Config { extra: format!("\n[[connection]]\nname = \"shop\"\n{text}"), ..Config::new() };
    let app = TestApp::start(config).await;
    let whole = app.target_when("shop", "found", "the list is complete", |t| t["scan"]["complete"] == true).await;
    assert_eq!((&whole["scan"]["pages"], &whole["item_count"]), (&json!(3), &json!(5)), "{whole}");
    let bodies: Vec<Value> = provider.asked().iter().map(|a| serde_json::from_str(&a.body).expect("JSON")).collect();
    let page = |page: Value| json!({"filter": "open", "page": page});
    let asked = [json!({"size": 2}), json!({"size": 2, "after": 2}), json!({"size": 2, "after": 4})].map(page);
    assert_eq!(bodies, asked);
    assert_eq!(app.ledger("shop").await.len(), 3, "each page is charged");
}
