//! The answers that stand in the document of the API as examples: each is asked again here, of a real appliance, and has to be as it was. With
//! `LARDER_EXAMPLES=write` they are written down anew: `LARDER_EXAMPLES=write cargo test --test e2e -- examples::`.

use crate::support::script::Script;
use crate::support::wire::http;
use crate::support::*;
use serde_json::{Map, Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/web/document/examples.json");
const YARD: &str = "/api/v1/connections/yard";

/// A yard that has a bit of everything: limits, a pattern, a command, a webhook.
async fn yard(provider: &FakeProvider, receiver: &Script) -> TestApp {
    let mut config = Config::yard(&provider.base_url()).tuned(|c| c.quiet().min_age("1ms"));
    config.environment.insert("HOOK_SECRET".to_owned(), "a signing secret of the dispatch desk".to_owned());
    config.extra = format!(
        "[[connection.webhook]]\nname = \"dispatch\"\nurl = \"{}/hook\"\nsecret = {{ env = \"HOOK_SECRET\" }}\n\
         [[connection.pattern]]\nname = \"bed\"\nget = \"/statusschedule.php?bed={{target}}\"\nitems = \"$.relays[*]\"\nkey = \"$.relay_id\"\n\
         [[connection.target]]\nname = \"pump\"\npush = true\nitems = \"$\"\nkey = \"'pump'\"\nfresh_for = \"1h\"\n",
        receiver.base_url()
    );
    let app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;
    app
}

/// Each operation once, in an order in which all of them succeed; behind them errors by their name in the document.
fn script(app: &TestApp) -> Vec<(&'static str, Ask)> {
    let at = |method: &'static str, path: &str| Ask::new(method, path).token(app.token());
    let yard = |method: &'static str, rest: &str| at(method, &format!("{YARD}{rest}"));
    let copy = app.folder().join("copy.redb").display().to_string();
    let configuration = "[[connection]]\nname = \"pool\"\nrecipe = \"hydrawise\"\ncredential = { env = \"POOL_KEY\", query = \"api_key\" }\n";
    let observation = json!({ "observations": [{
        "id": "pump-17", "connection": "yard", "target": "pump", "as_of": jiff::Timestamp::now().to_string(), "answer": { "bar": 2.5 },
    }] });
    vec![
        ("readyz", at("GET", "/readyz")),
        ("observe", at("POST", "/api/v1/intake/observations").json(&observation)),
        ("connections", at("GET", "/api/v1/connections?limit=1")),
        ("connection", yard("GET", "")),
        ("targets", yard("GET", "/targets?limit=1")),
        ("target", yard("GET", "/targets/controller?limit=2")),
        ("ha", at("GET", "/api/v1/ha")),
        ("probe_cost", yard("GET", "/probe")),
        ("probe", yard("POST", "/probe")),
        ("refresh", yard("POST", "/targets/controller/refresh")),
        ("command", yard("POST", "/commands/run-zone").json(&json!({ "item": "1", "seconds": 60 }))),
        ("job", at("GET", "/api/v1/jobs/1")),
        ("jobs", yard("GET", "/jobs?limit=2")),
        ("history", yard("GET", "/targets/controller/history?limit=2")),
        ("ledger", yard("GET", "/ledger?after=0&limit=2")),
        ("scans", yard("GET", "/scans")),
        ("change_connection", yard("PATCH", "").json(&json!({ "interval": "2h", "interval_for": "3h" }))),
        ("set_credential", yard("PUT", "/credential").json(&json!({ "secret": app.secret() }))),
        ("clear_credential", yard("DELETE", "/credential")),
        ("put_target", yard("PUT", "/targets/roses").json(&json!({ "pattern": "bed", "phase": "stopped" }))),
        ("change_target", yard("PATCH", "/targets/roses").json(&json!({ "phase": "stopped" }))),
        ("webhooks", yard("GET", "/webhooks")),
        ("test_webhook", yard("POST", "/webhooks/dispatch/test")),
        ("redeliver", yard("POST", "/webhooks/dispatch/redeliver")),
        ("activity", at("GET", "/api/v1/activity?after=0&limit=2")),
        ("findings", at("GET", "/api/v1/findings")),
        ("plan", at("GET", "/api/v1/plan?connection=yard&targets=3")),
        ("spend", at("GET", "/api/v1/spend?by=caller")),
        ("polling", at("GET", "/api/v1/polling")),
        ("change_polling", at("PATCH", "/api/v1/polling").json(&json!({ "workers": 2 }))),
        ("tokens", at("GET", "/api/v1/tokens")),
        ("create_token", at("POST", "/api/v1/tokens").json(&json!({ "name": "phone", "role": "reader" }))),
        ("operators", at("GET", "/api/v1/operators")),
        ("issue_claim", at("POST", "/api/v1/operators/claims").json(&json!({ "operator": null }))),
        ("configuration", at("GET", "/api/v1/configuration")),
        ("take_in_configuration", at("POST", "/api/v1/configuration").json(&json!({ "text": configuration }))),
        ("backup", at("POST", "/api/v1/backup").json(&json!({ "destination": copy }))),
        ("Problem401", Ask::post(&format!("{YARD}/probe"))),
        ("Problem404", Ask::get("/api/v1/connections/nowhere")),
        ("Problem422", yard("PATCH", "").json(&json!({ "interval": "soon" }))),
    ]
}

/// Without what is of this run alone: where it listens and lies, and what nobody should have.
fn told(app: &TestApp, provider: &FakeProvider, receiver: &Script, answer: &Value) -> Value {
    let mut text = answer.to_string();
    for (own, shown) in [
        (app.address.to_string(), "127.0.0.1:8474"),
        (provider.address.to_string(), "192.0.2.7:80"),
        (receiver.base_url(), "http://dispatch.home.arpa"),
        (app.folder().display().to_string(), "/var/lib/larder"),
    ] {
        text = text.replace(&own, shown);
    }
    let mut told: Value = serde_json::from_str(&text).expect("it was JSON");
    for secret in ["token", "code"] {
        if let Some(value) = told.get_mut(secret).filter(|value| value.is_string()) {
            *value = json!("shown once");
        }
    }
    told
}

/// Where one is built otherwise than the other: other members, or another kind of value. Null, and a list with nothing in it, stand for anything.
fn otherwise(shown: &Value, real: &Value, at: &str) -> Vec<String> {
    match (shown, real) {
        (Value::Null, _) | (_, Value::Null) => Vec::new(),
        (Value::Object(shown), Value::Object(real)) => {
            let gone = shown
                .keys()
                .filter(|name| !real.contains_key(*name))
                .map(|name| format!("{at}.{name} is not there any more"));
            let new = real.keys().filter(|name| !shown.contains_key(*name)).map(|name| format!("{at}.{name} is new"));
            let both = shown.iter().filter_map(|(name, one)| Some((name, one, real.get(name)?)));
            gone.chain(new)
                .chain(both.flat_map(|(name, one, other)| otherwise(one, other, &format!("{at}.{name}"))))
                .collect()
        }
        (Value::Array(shown), Value::Array(real)) => {
            shown.iter().zip(real).flat_map(|(one, other)| otherwise(one, other, &format!("{at}[]"))).collect()
        }
        _ if std::mem::discriminant(shown) == std::mem::discriminant(real) => Vec::new(),
        _ => vec![format!("{at} was {shown}, and is {real}")],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_the_document_are_what_an_appliance_answers() {
    let provider = FakeProvider::unlimited().await;
    let receiver = Script::answering(|_| http(200, &[], b"")).await;
    let app = yard(&provider, &receiver).await;
    let shown: Map<String, Value> =
        serde_json::from_str(&std::fs::read_to_string(FILE).expect("it is there")).expect("JSON");
    let (mut given, mut wrong) = (Map::new(), Vec::new());
    for (id, ask) in script(&app) {
        let reply = app.send(ask).await;
        let wanted = if id.starts_with("Problem") { 400..500 } else { 200..300 };
        assert!(wanted.contains(&reply.status), "{id}: {} {}", reply.status, reply.body);
        let answer = told(&app, &provider, &receiver, &reply.json());
        let before = shown.get(id).unwrap_or(&Value::Null);
        if before["status"] != json!(reply.status) {
            wrong.push(format!("{id} was answered with {}, and is with {}", before["status"], reply.status));
        }
        wrong.extend(otherwise(&before["answer"], &answer, id));
        given.insert(id.to_owned(), json!({ "status": reply.status, "answer": answer }));
    }
    if std::env::var("LARDER_EXAMPLES").as_deref() == Ok("write") {
        std::fs::write(FILE, serde_json::to_string(&given).expect("JSON") + "\n").expect("the sources are here");
        return;
    }
    let unknown: Vec<&String> = shown.keys().filter(|id| !given.contains_key(*id)).collect();
    assert!(wrong.is_empty() && unknown.is_empty(), "write them anew, as this file says: {wrong:#?} {unknown:?}");
}
