//! Two hundred tabs on the wall: they see everything and spend nothing (CASES I3; law 3).

use crate::support::sse::Events;
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_open_tabs_spend_nothing() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    app.has_polled("yard", "controller").await;
    let asked = provider.count();

    let mut streams = Vec::new();
    for n in 0..200 {
        let page = ["%2F", "%2Fc%2Fyard", "%2Fc%2Fyard%2Ft%2Fcontroller"][n % 3];
        let mut stream = Events::open(app.address, &Ask::get(&format!("/live?page={page}"))).await;
        assert_eq!(stream.status, 200);
        stream.until("now", SOON).await;
        streams.push(stream);
    }
    let mut readers = app.readers(200).await;
    let paths = ["/", "/c/yard", "/c/yard/t/controller", "/api/v1/connections/yard/targets/controller"];
    for _ in 0..3 {
        let replies = readers.load(&paths).await;
        assert_eq!(replies.len(), 200 * paths.len());
    }
    assert_eq!(provider.count(), asked, "a reader reached the provider");

    // All of them hear of one refresh, which costs one request.
    eventually("the answer is old enough for a refresh", SOON, || async {
        let reply = app.operator().refreshes("yard", "controller").await;
        (reply.status == 200).then_some(())
    })
    .await;
    for stream in &mut streams {
        stream.until("patch", SOON).await;
    }
    assert_eq!(provider.count(), asked + 1, "200 tabs and one refresh");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stops_reading_holds_nobody_up() {
    let provider = FakeProvider::unlimited().await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"))).await;
    app.has_polled("yard", "controller").await;
    // A socket that asks for the stream and never reads it.
    let mut lazy = tokio::net::TcpStream::connect(app.address).await.expect("it listens");
    let request = format!("GET /api/v1/events HTTP/1.1\r\nhost: {}\r\n\r\n", app.address);
    tokio::io::AsyncWriteExt::write_all(&mut lazy, request.as_bytes()).await.expect("a request is small");
    let asked = provider.count();
    provider.has_seen(asked + 3, SOON).await;
    assert_eq!(app.target("yard", "controller").await["state"], "fresh");
}
