//! A disk that is full by the time that an answer has come: what was sent is said to have been sent.

use crate::disk::Disk;
use crate::machine::{FakeClock, Machine};
use crate::scenario::{connection, limit, target};
use crate::stage::{BEGAN, Stage, play};
use bytes::Bytes;
use hyper::{HeaderMap, Method};
use larder::clock::Clock;
use larder::domain::gateway::{Allow, GatewaySpec};
use larder::domain::ids::{CredentialId, Organization};
use larder::domain::limit::Kind;
use larder::domain::reply::{Failure, Reply};
use larder::domain::spec::ConnectionSpec;
use larder::domain::time::Span;
use larder::engine::gateway::given::{Given, Halt, HaltKind};
use larder::engine::gateway::write::Write;
use larder::rules::budget::Permit;
use larder::store::{Options, Store, Writer};
use larder::upstream::pass::{Passed, Passing, Relayed};
use larder::upstream::{Door, Request};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Answers its first request 503, and fills the disk before it answers the second 201.
struct Filling {
    disk: Disk,
    clock: Arc<FakeClock>,
    asked: Arc<AtomicUsize>,
}

impl Door for Filling {
    fn send(&self, _permit: Permit, _request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        let arrived_at = self.clock.now().stamp();
        Box::pin(async move { Reply { arrived_at, result: Err(Failure::NotSent), detail: "not polled".to_owned() } })
    }
    fn pass(&self, _permit: Permit, _passing: Passing) -> Pin<Box<dyn Future<Output = Passed> + Send + '_>> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        self.disk.fill(number > 0);
        let relayed = Relayed {
            status: if number > 0 { 201 } else { 503 },
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: b"{}".to_vec(),
            in_utf8: None,
            cut: false,
            rest: None,
        };
        let arrived_at = self.clock.now().stamp();
        Box::pin(async move { Passed { arrived_at, result: Ok(relayed), detail: String::new() } })
    }
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

fn posting() -> ConnectionSpec {
    let many = limit("hour", 10, Kind::Rolling { window: Span::from_secs(3600) });
    let one = vec![target("one", "/one", Span::from_secs(300))];
    let mut spec = connection("yard", Span::from_secs(60), vec![many], one);
    spec.targets.clear();
    let allow = vec![Allow { methods: vec!["POST".to_owned()], path: "/**".to_owned() }];
    spec.gateway = GatewaySpec { allow, ..GatewaySpec::default() };
    spec
}

async fn posts(stage: &Stage) -> Result<u16, Arc<Halt>> {
    let entrance = stage.appliance.entrance(&Organization::default(), "yard").expect("a gateway");
    let address = entrance.address("/runs").expect("a path");
    let (headers, by) = (HeaderMap::new(), "somebody".to_owned());
    let write = Write { address, method: Method::POST, headers, body: Bytes::from_static(b"{}"), by };
    match entrance.write(write).await.given {
        Given::Passed { answer, .. } => Ok(answer.status),
        Given::Denied { halt, .. } => Err(halt),
        Given::Shelf { .. } | Given::Long { .. } => panic!("of a write"),
    }
}

#[test]
fn a_write_that_was_sent_is_said_to_have_been_sent_where_its_answer_cannot_be_written_down() {
    play(async {
        let (machine, disk) = (Machine::new(BEGAN), Disk::default());
        let options = Options { writer: Writer::Inline, cache_bytes: 1 << 20 };
        let (store, mut opening) = Store::open_backend(disk.open(), options).expect("a new file");
        opening.installation = [9; 32];
        let clock = Arc::new(FakeClock::start(&machine, opening.mark.clone(), opening.high_water, 1000));
        let asked = Arc::new(AtomicUsize::new(0));
        let door = Filling { disk: disk.clone(), clock: clock.clone(), asked: asked.clone() };
        let of = (posting(), CredentialId([3; 16]));
        let stage = Stage::set(&machine, (store, opening), clock, door, of).await;
        assert_eq!(posts(&stage).await.map_err(|halt| halt.sentence.clone()), Ok(503));
        let told = posts(&stage).await.expect_err("the disk is full");
        assert_eq!(told.kind, HaltKind::Unrecorded, "{told:?}");
        assert!(told.sentence.contains("was asked and answered 201"), "{told:?}");
        assert_eq!(told.retry_after_s, None, "nobody is told to send it again");
        // Nothing is sent that cannot be charged, and that is another thing.
        let told = posts(&stage).await.expect_err("the disk is full");
        assert_eq!((told.kind, asked.load(Ordering::SeqCst)), (HaltKind::Unavailable, 2), "{told:?}");
    });
}
