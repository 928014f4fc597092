//! Clients of the gateway that ask and write at the same moment: nobody gets another's answer, and nothing that a write has changed comes
//! back with a request that was under way (CASES P1; laws 4, 5).

use crate::support::script::{Asked, Script};
use crate::support::wire::{http, json};
use crate::support::*;

fn config(base_url: &str) -> Config {
    let gateway = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.allow]]\n\
                   methods = [\"GET\", \"HEAD\", \"PUT\"]\npath = \"/**\"\n";
    let connection = Connection::plain("hub", base_url).secret_in("HUB_KEY").bearer();
    Config::new().with(connection.body(gateway))
}

fn counting(asked: &Asked) -> Vec<u8> {
    json(200, &[], &format!("{{\"number\":{}}}", asked.number))
}

fn put(app: &TestApp, path: &str) -> Ask {
    Ask::new("PUT", path).token(app.token()).text("{}")
}

/// What is not kept is handed to those who wait only where its `Vary` says that it is theirs too.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_handed_an_answer_to_another() {
    let provider = Script::answering_after(Duration::from_millis(400), |asked| {
        let body = format!("{{\"user\":\"{}\"}}", asked.header("x-user"));
        match asked.path() {
            "/any" => json(200, &[("vary", "*")], &body),
            "/none" => json(404, &[("vary", "X-User")], &body),
            _ => json(404, &[], "{\"user\":\"all\"}"),
        }
    })
    .await;
    let app = TestApp::start(config(&provider.base_url())).await;
    let address = app.address;
    let of = |path: &'static str, user: &'static str| async move {
        let ask = Ask::get(path).header("x-user", user);
        http::send(address, &ask).await.json()["user"].clone()
    };
    for path in ["/gateway/hub/any", "/gateway/hub/none"] {
        let (a, b, c) = tokio::join!(of(path, "a"), of(path, "b"), of(path, "c"));
        assert_eq!((a, b, c), ("a".into(), "b".into(), "c".into()), "{path}");
    }
    let before = provider.asked().len();
    let (one, other) = tokio::join!(of("/gateway/hub/none", "d"), of("/gateway/hub/none", "d"));
    assert_eq!((one, other, provider.asked().len()), ("d".into(), "d".into(), before + 1), "whom it fits has it");
    let (one, other) = tokio::join!(of("/gateway/hub/all", "e"), of("/gateway/hub/all", "f"));
    assert_eq!((one, other, provider.asked().len()), ("all".into(), "all".into(), before + 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_written_reads_what_it_wrote_whoever_asked_before() {
    let slow = |asked: &Asked| Duration::from_millis(if asked.number == 0 { 1500 } else { 0 });
    let provider = Script::answering_each_after(slow, counting).await;
    let app = TestApp::start(config(&provider.base_url())).await;
    let address = app.address;
    let before = tokio::spawn(async move { http::send(address, &Ask::get("/gateway/hub/x")).await });
    eventually("the first is under way", SOON, || async { (!provider.asked().is_empty()).then_some(()) }).await;
    app.send(put(&app, "/gateway/hub/x")).await.expect(200);
    let own = app.get("/gateway/hub/x").await.expect(200);
    assert_eq!(own.json()["number"], 2, "not what was asked for before it wrote: {:?}", own.headers);
    assert_eq!(before.await.expect("it waits").expect(200).json()["number"], 0, "it asked before the write");
    let again = app.get("/gateway/hub/x").await.expect(200);
    assert_eq!((again.json()["number"].as_u64(), provider.asked().len()), (Some(2), 3));
}

/// Reading and write are answered in the same moment, again and again: whichever is heard first, what was asked for before the write was over
/// is not found any more, nor in the file. As many rounds as one token may write at once.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_while_a_write_is_put_down_does_not_stay() {
    const ROUNDS: usize = 20;
    let provider = Script::answering_together(2, counting).await;
    let mut app = TestApp::start(config(&provider.base_url())).await;
    let path = |round: usize| format!("/gateway/hub/x/{round}");
    // The first two are answered at once.
    app.get("/gateway/hub/a").await.expect(200);
    app.get("/gateway/hub/b").await.expect(200);
    for round in 0..ROUNDS {
        let path = path(round);
        let (read, written) = tokio::join!(app.get(&path), app.send(put(&app, &path)));
        read.expect(200);
        written.expect(200);
        let kept = app.send(Ask::kept(&path)).await;
        assert_eq!(kept.status, 504, "round {round}: {}", kept.body);
    }
    app.restart().await;
    for round in 0..ROUNDS {
        let kept = app.send(Ask::kept(&path(round))).await;
        assert_eq!(kept.status, 504, "round {round}, after a restart: {}", kept.body);
    }
}

/// Its request was sent, redirected, and the hop not funded: nobody knows what it did, and nothing of before is served.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_stopped_midway_is_forgotten_for_as_any_other() {
    let provider = Script::answering(|asked| match asked.method.as_str() {
        "POST" => http(303, &[("location", "/x/done")], b""),
        _ => counting(asked),
    })
    .await;
    let command = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.command]]\nname = \"switch\"\npost = \"/x\"\n\
                   retry = \"never\"\n";
    let two = "name = \"two\"\nrequests = 2\nwindow = \"1h\"\nkind = \"rolling\"";
    let hub = Connection::plain("hub", &provider.base_url()).limit_text(two).body(command);
    let mut app = TestApp::start(Config::new().with(hub)).await;
    app.get("/gateway/hub/x").await.expect(200);
    let accepted = app.operator().commands("hub", "switch", &serde_json::json!({}), None).await.expect(202).json();
    app.operator().sees_job(operator::job_id(&accepted), "unknown").await;
    assert_eq!(provider.asked().len(), 2, "no third was funded");
    let kept = || Ask::kept("/gateway/hub/x");
    assert_eq!(app.send(kept()).await.status, 504);
    app.restart().await;
    assert_eq!(app.send(kept()).await.status, 504);
}

/// Larder's own reading is an answer for clients too, unless somebody wrote while it was under way: a client, or a command.
#[tokio::test(flavor = "multi_thread")]
async fn a_reading_of_a_target_that_was_under_way_while_somebody_wrote_is_kept_for_no_client() {
    let tables = "[connection.gateway]\nfresh_for = \"1d\"\n[[connection.gateway.allow]]\nmethods = [\"GET\", \"PUT\"]\npath = \"/**\"\n\
                  [[connection.target]]\nname = \"x\"\nget = \"/x\"\nitems = \"$.rows[*]\"\nkey = \"$.id\"\n\
                  [[connection.command]]\nname = \"switch\"\npost = \"/x\"\nretry = \"never\"\n";
    for by_command in [false, true] {
        let slow = |asked: &Asked| Duration::from_millis(if asked.number == 1 { 2000 } else { 0 });
        let rows = |asked: &Asked| json(200, &[], &format!("{{\"rows\":[{{\"id\":{}}}]}}", asked.number));
        let provider = Script::answering_each_after(slow, rows).await;
        let hub = Connection::plain("hub", &provider.base_url()).min_age("0s").body(tables);
        let mut app = TestApp::start(Config::new().with(hub).by_hand()).await;
        let kept = || Ask::kept("/gateway/hub/x");
        app.get("/gateway/hub/x").await.expect(200);
        let operator = app.operator();
        let write = async {
            eventually("it is under way", SOON, || async { (provider.asked().len() == 2).then_some(()) }).await;
            if by_command {
                let accepted =
                    operator.commands("hub", "switch", &serde_json::json!({}), None).await.expect(202).json();
                operator.sees_job(operator::job_id(&accepted), "done").await;
            } else {
                app.send(put(&app, "/gateway/hub/x")).await.expect(200);
            }
        };
        let (read, ()) = tokio::join!(operator.refreshes("hub", "x"), write);
        read.expect(200);
        assert_eq!(app.send(kept()).await.status, 504, "by command: {by_command}");
        app.restart().await;
        assert_eq!(app.send(kept()).await.status, 504, "after a restart, by command: {by_command}");
    }
}

/// Nobody knows what a write did that was out when the process died, and what was read meanwhile may show the world before it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_while_a_write_was_out_that_a_crash_ended_is_not_served() {
    let slow = |asked: &Asked| Duration::from_secs(if asked.method == "PUT" { 60 } else { 0 });
    let provider = Script::answering_each_after(slow, counting).await;
    let mut app = TestApp::start(config(&provider.base_url())).await;
    app.get("/gateway/hub/before").await.expect(200);
    let (address, write) = (app.address, put(&app, "/gateway/hub/x"));
    let written = tokio::spawn(async move { http::try_send(address, &write).await });
    eventually("the write is out", SOON, || async { (provider.asked().len() == 2).then_some(()) }).await;
    app.get("/gateway/hub/x").await.expect(200);
    // What was read goes to the file with the next charge.
    app.get("/gateway/hub/after").await.expect(200);
    app.crash().await;
    assert_eq!(app.send(Ask::kept("/gateway/hub/x")).await.status, 504);
    app.send(Ask::kept("/gateway/hub/before")).await.expect(200);
    assert!(written.await.expect("it waits").is_err(), "nobody was told what it did");
}
