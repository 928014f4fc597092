//! What happened: kept for good, read by item, taken away as a file; forgotten only where an operator wrote a rule
//! (CASES F10; law 7).

use crate::support::*;
use serde_json::Value;

const RELAY: &str = "{\"relays\":[{\"relay_id\":1,\"name\":\"Lawn\",\"time\":3,\"run\":600}]}";
const PATH: &str = "/api/v1/connections/yard/targets/controller/history";

fn seqs(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["seq"].as_u64().expect("a number")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_goes_only_by_a_rule_and_what_is_there_stays() {
    let provider = FakeProvider::unlimited().await;
    let config = |keep: &str| {
        let mut config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("60s").min_age("1ms"));
        config.extra = keep.to_owned();
        config
    };
    provider.is(Mode::Json(200, RELAY.to_owned()));
    let mut app = TestApp::start(config("")).await;
    app.has_polled("yard", "controller").await;
    for _ in 0..3 {
        provider.next(Mode::Json(200, RELAY.replace("}]", "},{\"relay_id\":2,\"name\":\"=Hedge\",\"time\":3}]")));
        app.operator().refreshes("yard", "controller").await;
        app.operator().refreshes("yard", "controller").await;
    }
    let all = app.history("yard", "controller").await;
    assert_eq!(seqs(&all), (1..=7).collect::<Vec<_>>(), "appeared; appeared, removed, and twice again: {all:?}");
    let hedge = app.get(&format!("{PATH}?item=2")).await.json();
    assert_eq!(hedge["history"].as_array().map(Vec::len), Some(6), "{hedge}");
    let csv = app.get(&format!("{PATH}?format=csv")).await.body;
    assert!(csv.lines().count() == 8 && csv.contains(",2,\"'=Hedge\","), "{csv}");
    let lines = app.get(&format!("{PATH}?format=jsonl")).await.body;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines, all, "a file has what the pages have");

    app.stop().await;
    app.configure(config("[connection.history]\nkeep = \"1s\"\n"));
    app.boots().await;
    let told = eventually("it is told what went", 2 * SOON, || async {
        let answer = app.get("/api/v1/activity?connection=yard&kind=appliance").await.json();
        answer["events"].as_array().and_then(|events| events.last().cloned())
    });
    let told = told.await;
    let words = told["message"].as_str().expect("a sentence");
    assert!(words.contains("6 lines of history and 1 item that was gone by then"), "{words}");
    assert_eq!(seqs(&app.history("yard", "controller").await), [7], "numbers go on");
    let target = app.target("yard", "controller").await;
    let items = target["items"].as_array().expect("items");
    assert_eq!(
        (items.len(), &items[0]["key"], &items[0]["first_seen_at"]),
        (1, &"1".into(), &all[0]["at"]),
        "{target}"
    );
    assert!(app.get("/activity?kind=appliance").await.body.contains("6 lines of history"));
    let page = app.get("/c/yard/t/controller?item=2").await.body;
    assert!(page.contains("History of =Hedge"), "{page}");
}
