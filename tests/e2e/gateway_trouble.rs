//! What goes wrong around a gateway: more than fits, bodies that are huge or break off, clients that are slow, a death while answers are put
//! down. Nobody is ever served anything wrong for it (laws 4, 6).

use crate::support::script::{Asked, Script};
use crate::support::wire::{http, json};
use crate::support::*;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const DAY: &str = "[connection.gateway]\nfresh_for = \"1d\"\n";

fn hub(provider: &Script) -> Config {
    Config::new().with(Connection::plain("hub", &provider.base_url()).body(DAY))
}

/// Names what was asked for, and fills the rest.
fn body_of(path: &str, bytes: usize) -> String {
    let filler = path.bytes().cycle().take(bytes).map(char::from).collect::<String>();
    format!("{{\"path\":\"{path}\",\"filler\":\"{filler}\"}}")
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_fits_pushes_others_out_and_mixes_none_up() {
    const KEYS: usize = 150;
    const EACH: usize = 4096;
    let provider = Script::answering(|asked| json(200, &[], &body_of(asked.path(), EACH))).await;
    // Fifty of them fit, about.
    let mut config = hub(&provider);
    config.server.extend(["shelf_memory = \"256KiB\"".to_owned(), "shelf_disk = \"256KiB\"".to_owned()]);
    let app = TestApp::start(config).await;
    let path = |key: usize| format!("/things/{key}");
    for round in 0..2 {
        for key in 0..KEYS {
            let reply = app.get(&format!("/gateway/hub{}", path(key))).await.expect(200);
            assert_eq!(reply.body, body_of(&path(key), EACH), "key {key} in round {round}");
        }
    }
    let asked = provider.asked().len();
    assert!(asked > KEYS + KEYS / 3, "what does not fit is not there: {asked} requests for {KEYS} keys");
    // What was asked for last is there.
    let last = app.get(&format!("/gateway/hub{}", path(KEYS - 1))).await.expect(200);
    assert!(last.header("cache-status").is_some_and(|s| s.starts_with("larder; hit")), "{:?}", last.headers);
    assert_eq!(provider.asked().len(), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_body_goes_through_whole_and_is_held_nowhere() {
    const BYTES: usize = 96 << 20;
    let provider = Script::answering(|_| http(200, &[("content-type", "text/plain")], &vec![b'x'; BYTES])).await;
    let app = TestApp::start(hub(&provider)).await;
    app.get("/livez").await.expect(200);
    for _ in 0..2 {
        let mut socket = TcpStream::connect(app.address).await.expect("it listens");
        let ask = format!("GET /gateway/hub/huge HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", app.address);
        socket.write_all(ask.as_bytes()).await.expect("a request");
        let (mut head, mut piece, mut got) = (Vec::new(), vec![0; 1 << 16], 0);
        let began = Instant::now();
        loop {
            let n = socket.read(&mut piece).await.expect("an answer");
            if n == 0 {
                break;
            }
            assert!(began.elapsed() < secs(60), "{got} bytes in a minute");
            if head.is_empty() {
                head.extend_from_slice(&piece[..n.min(1000)]);
            }
            got += piece[..n].iter().filter(|byte| **byte == b'x').count();
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        assert!(head.starts_with("http/1.1 200") && head.contains("detail=too_large"), "{head}");
        assert!((BYTES..BYTES + 200).contains(&got), "{got}");
    }
    assert_eq!(provider.asked().len(), 2, "nothing of it is kept");
    let peak = app.peak_kb().expect("a running appliance");
    assert!(peak < (BYTES >> 10) as u64 * 3 / 4, "{peak} kB at the most, for a body of {} kB", BYTES >> 10);
}

/// The provider has a request in hand until the last byte of its answer is out, however long a client takes to read it (law 1).
#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_is_in_flight_until_it_has_ended_or_its_client_is_gone() {
    const BYTES: usize = 48 << 20;
    let provider = Script::answering(|asked| match asked.path() {
        "/long" => http(200, &[("content-type", "text/plain")], &vec![b'x'; BYTES]),
        _ => json(200, &[], "{}"),
    })
    .await;
    let at_once = "name = \"at-once\"\nrequests = 1\nkind = \"concurrent\"";
    let hub = Connection::plain("hub", &provider.base_url()).limit_text(at_once);
    let allow = "[[connection.gateway.allow]]\nmethods = [\"GET\", \"POST\"]\npath = \"/**\"\n";
    let mut config = Config::new().with(hub.body(&format!("{DAY}{allow}")));
    config.server.push("shelf_memory = \"1MiB\"".to_owned());
    let app = TestApp::start(config).await;
    for (round, method) in ["GET", "POST", "GET"].into_iter().enumerate() {
        let mut slow = TcpStream::connect(app.address).await.expect("it listens");
        let token = app.token();
        let ask = format!(
            "{method} /gateway/hub/long HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-length: 0\r\n\
             connection: close\r\n\r\n",
            app.address
        );
        slow.write_all(ask.as_bytes()).await.expect("a request");
        let mut piece = vec![0; 1 << 16];
        let n = slow.read(&mut piece).await.expect("an answer");
        assert!(piece[..n].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&piece[..n]));
        let refused = app.get(&format!("/gateway/hub/x/{round}")).await.expect_problem(429);
        assert!(refused["detail"].as_str().is_some_and(|d| d.contains("\"at-once\"")), "{refused}");
        assert_eq!(provider.asked_of(&format!("/x/{round}")).len(), 0);
        // Read to its end, or left.
        let mut got = n;
        while round < 2 && got < BYTES {
            let n = slow.read(&mut piece).await.expect("more of it");
            assert!(n > 0, "it ended after {got} bytes");
            got += n;
        }
        drop(slow);
        eventually("the provider's hands are free", secs(20), async || (provider.in_hand() == 0).then_some(())).await;
        app.get(&format!("/gateway/hub/x/{round}")).await.expect(200);
    }
    assert_eq!(provider.most_in_hand(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_breaks_off_is_never_served_as_whole_nor_kept() {
    const LONG: usize = 24 << 20;
    let cut = |asked: &Asked| {
        match asked.path() {
        "/length" => b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"half\":".to_vec(),
        "/chunks" => {
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{\"half\":\r\n".to_vec()
        }
        // Longer than anything that is kept: it is on its way to the client when it breaks off.
        _ => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n", 2 * LONG);
            [head.as_bytes(), &vec![b'x'; LONG]].concat()
        }
    }
    };
    let provider = Script::answering(cut).await;
    let app = TestApp::start(hub(&provider)).await;
    let long = http::try_send(app.address, &Ask::get("/gateway/hub/long")).await;
    assert!(long.is_err(), "half of it looks like all of it: {} bytes", long.map_or(0, |reply| reply.body.len()));
    assert_eq!(provider.asked().len(), 1);
    for path in ["/length", "/chunks"] {
        let reply = app.get(&format!("/gateway/hub{path}")).await;
        assert!(!reply.body.contains("half"), "{path}: {reply:?}");
        reply.expect_problem(503);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_are_slow_slow_nobody() {
    let provider = Script::answering(|asked| json(200, &[], &body_of(asked.path(), 1 << 20))).await;
    let app = TestApp::start(hub(&provider)).await;
    let whole = app.get("/gateway/hub/slow").await.expect(200).body;

    let mut lorises = Vec::new();
    for n in 0..100 {
        let mut socket = TcpStream::connect(app.address).await.expect("it listens");
        let ask = format!("GET /gateway/hub/slow HTTP/1.1\r\nhost: {}\r\n", app.address);
        // Half of them never end their request, the others do not read what they are given.
        let ask = if n % 2 == 0 { ask } else { format!("{ask}\r\n") };
        socket.write_all(ask.as_bytes()).await.expect("a request");
        lorises.push(socket);
    }
    for round in 0..20 {
        let reply = app.get("/gateway/hub/slow").await.expect(200);
        assert_eq!(reply.body, whole);
        assert!(reply.took < secs(5), "round {round}: {:?}", reply.took);
    }
    // A cold key too: what the slow ones hold is no flight.
    assert_eq!(app.get("/gateway/hub/cold").await.expect(200).body, body_of("/cold", 1 << 20));
    assert_eq!(provider.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_while_answers_are_put_down_leaves_no_wrong_one() {
    const KEYS: usize = 60;
    let provider = Script::answering(|asked| {
        let tag = format!("\"{}-{}\"", asked.path(), asked.number);
        json(200, &[("etag", &tag)], &body_of(asked.path(), 2000 + asked.path().len() * 100))
    })
    .await;
    let mut app = TestApp::start(hub(&provider)).await;
    for life in 0..4u64 {
        let address = app.address;
        let mut crowd = tokio::task::JoinSet::new();
        for key in 0..KEYS {
            crowd.spawn(async move {
                let path = format!("/things/{life}/{key}");
                let reply = http::try_send(address, &Ask::get(&format!("/gateway/hub{path}"))).await;
                (path, reply)
            });
        }
        // In the middle of it.
        tokio::time::sleep(Duration::from_millis(20 + 60 * life)).await;
        app.kill_9();
        while let Some(done) = crowd.join_next().await {
            let (path, reply) = done.expect("no panic");
            if let Ok(reply) = reply
                && reply.status == 200
            {
                assert_eq!(reply.body, body_of(&path, 2000 + path.len() * 100));
            }
        }
        app.boots().await;
        for lived in 0..=life {
            for key in (0..KEYS).step_by(7) {
                let path = format!("/things/{lived}/{key}");
                let reply = app.get(&format!("/gateway/hub{path}")).await.expect(200);
                assert_eq!(reply.body, body_of(&path, 2000 + path.len() * 100), "{path} in life {life}");
                let tag = reply.header("etag").unwrap_or_default().to_owned();
                assert!(tag.starts_with(&format!("\"{path}-")), "{path}: {tag}");
            }
        }
    }
}
