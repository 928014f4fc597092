//! The laws are themselves tested: each is given a violation, which it must name, and the innocent look-alike, which it must pass.

use crate::laws::{self, Allowed, Room};
use crate::reading::Tree;

type Law = fn(&Tree) -> Vec<String>;

struct Plant {
    law: Law,
    path: &'static str,
    text: &'static str,
    /// Part of the one violation that must be found; `None`: there must be none.
    found: Option<&'static str>,
}

const fn caught(law: Law, path: &'static str, text: &'static str, found: &'static str) -> Plant {
    Plant { law, path, text, found: Some(found) }
}

const fn passed(law: Law, path: &'static str, text: &'static str) -> Plant {
    Plant { law, path, text, found: None }
}

#[track_caller]
fn try_all(plants: &[Plant]) {
    for plant in plants {
        let violations = (plant.law)(&Tree::of(&[(plant.path, plant.text)]));
        match plant.found {
            Some(part) => assert!(
                violations.len() == 1 && violations[0].contains(part) && violations[0].starts_with(plant.path),
                "{}\n{}\nwanted {part:?}, got {violations:?}",
                plant.path,
                plant.text
            ),
            None => assert!(violations.is_empty(), "{}\n{}\ngot {violations:?}", plant.path, plant.text),
        }
    }
}

#[test]
fn a_room_that_looks_up_is_caught() {
    try_all(&[
        caught(laws::directions, "src/rules/plan.rs", "use crate::store::Store;", ":1: rules must not know store"),
        caught(laws::directions, "src/rules/plan.rs", "fn f() { crate::engine::start() }", "(in `f`)"),
        caught(laws::directions, "src/rules/plan.rs", "use super::super::store;", "crate::store"),
        caught(
            laws::directions,
            "src/web/api.rs",
            "use crate::{domain::ids, upstream::{self as up}};",
            "crate::upstream",
        ),
        caught(laws::directions, "src/store/read.rs", "fn f(x: crate::engine::Parts) {}", "engine::Parts"),
        caught(laws::directions, "src/store/read.rs", "mod deep { use super::super::super::web; }", "crate::web"),
        caught(laws::directions, "src/store/read.rs", "use larder::web::api;", "crate::web::api"),
        caught(laws::directions, "src/store/read.rs", "fn f() { info!(x = crate::web::x()); }", "crate::web::x"),
        caught(laws::directions, "src/demo/mod.rs", "use crate::clock::Clock;", "demo must not know clock"),
        caught(laws::directions, "src/demo/mod.rs", "use crate::*;", "must not know *"),
        caught(laws::directions, "src/main.rs", "fn main() { larder::store::verify() }", "main must not know store"),
        caught(laws::directions, "src/lib.rs", "pub use store::Store;", "lib must not know store"),
        passed(
            laws::directions,
            "src/web/api.rs",
            "use crate::engine::view::When; use super::pages; use crate::web::x;",
        ),
        passed(laws::directions, "src/rules/plan.rs", "// use crate::store;\nconst S: &str = \"crate::store::Store\";"),
        passed(laws::directions, "src/rules/plan.rs", "#[cfg(test)] mod tests { use crate::store::Store; }"),
        passed(laws::directions, "src/rules/plan.rs", "pub(in crate::rules) fn f() { let store = 1; store.max(2); }"),
    ]);
}

#[test]
fn a_test_module_in_its_own_file_is_known_as_one() {
    let files = [
        ("src/rules/budget/mod.rs", "#[cfg(test)] mod tests; mod pace;"),
        ("src/rules/budget/tests/deep.rs", "use crate::store::Store;"),
        ("src/rules/plan.rs", "#[cfg(test)] #[path = \"plan_tests.rs\"] mod tests;"),
        ("src/rules/plan_tests.rs", "use crate::store::Store;"),
        ("src/rules/budget/tests.rs", "use crate::store::Store;"),
        ("src/rules/budget/pace.rs", "use crate::store::Store;"),
    ];
    let violations = laws::directions(&Tree::of(&files));
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert!(violations[0].starts_with("src/rules/budget/pace.rs:1"), "{violations:?}");
}

#[test]
fn a_circle_in_the_table_is_caught() {
    let circle = [Room { name: "a", may_use: &["b"] }, Room { name: "b", may_use: &["a"] }];
    assert_eq!(laws::table_is_ordered(&circle), ["b uses a, which does not stand below it"]);
    let unknown = [Room { name: "a", may_use: &["cellar"] }];
    assert_eq!(laws::table_is_ordered(&unknown).len(), 1);
}

#[test]
fn a_second_path_through_the_door_is_caught() {
    try_all(&[
        caught(
            laws::one_path,
            "src/engine/poller.rs",
            "fn f() { core.door.send(permit, request); }",
            "only engine/fetch",
        ),
        caught(
            laws::one_path,
            "src/engine/jobs.rs",
            "fn f() { select! { r = self.door.send(p, r) => r } }",
            "`door.send()`",
        ),
        caught(laws::one_path, "src/web/api.rs", "fn f() { go(Door::send); }", "only engine/fetch"),
        caught(laws::one_path, "src/app.rs", "fn f() { http_door.send(p, r); }", "`http_door.send()`"),
        caught(laws::one_path, "src/engine/streams/drive.rs", "fn f() { core.door.open(p, &r); }", "`door.open()`"),
        passed(laws::one_path, "src/engine/fetch/exchange.rs", "fn f() { core.door.send(permit, request); }"),
        passed(laws::one_path, "src/engine/events.rs", "fn f() { channel.send(event); door.redact(text); }"),
    ]);
}

#[test]
fn a_crate_outside_its_room_is_caught() {
    try_all(&[
        caught(laws::crates, "src/engine/jobs.rs", "use redb::Database;", "redb belongs to store"),
        caught(
            laws::crates,
            "src/engine/jobs.rs",
            "fn f() -> ::reqwest::Client { todo() }",
            "reqwest belongs to upstream",
        ),
        caught(laws::crates, "src/cli/mod.rs", "fn f() { axum::serve(a, b); }", "axum belongs to web"),
        caught(laws::crates, "src/app/mqtt.rs", "use rumqttc::AsyncClient;", "rumqttc belongs to mqtt"),
        caught(laws::crates, "src/demo/page.rs", "#[derive(askama::Template)] struct P;", "askama belongs to web"),
        caught(
            laws::crates,
            "src/app.rs",
            "use {rust_embed as e}; type X = e::Y;",
            "rust_embed belongs to web, config",
        ),
        passed(laws::crates, "src/store/mod.rs", "use redb::Database;"),
        passed(
            laws::crates,
            "src/engine/jobs.rs",
            "/// Not like redb::Database.\nfn redb() { let axum = 1; drop(axum) }",
        ),
    ]);
}

#[test]
fn impurity_is_caught() {
    try_all(&[
        caught(laws::purity, "src/rules/plan.rs", "use std::fs;", "std::fs"),
        caught(laws::purity, "src/rules/plan.rs", "use std::{collections::BTreeMap, io::Read};", "std::io::Read"),
        caught(laws::purity, "src/domain/ids.rs", "fn f() { std::env::var(\"X\"); }", "std::env::var"),
        caught(laws::purity, "src/rules/plan.rs", "fn f() { tokio::spawn(x) }", "tokio::spawn"),
        caught(laws::purity, "src/rules/plan.rs", "async fn f() {}", "`async`"),
        caught(laws::purity, "src/rules/plan.rs", "fn f() { m!(x.await) }", "`await`"),
        caught(laws::purity, "src/domain/ids.rs", "fn f() -> impl Future { async { 1 } }", "`async`"),
        passed(laws::purity, "src/store/mod.rs", "use std::fs; async fn f() { x.await }"),
        passed(laws::purity, "src/rules/plan.rs", "// async is not here\nfn f() { let io = \"std::io\"; }"),
    ]);
    let little =
        |text| laws::domain_knows_little(&Tree::of(&[("src/domain/ids.rs", text)]), &["jiff".into(), "serde".into()]);
    assert_eq!(little("use jiff::Timestamp;").len(), 1);
    assert_eq!(little("use serde::Serialize; use std::fmt; use super::time::Span;"), [""; 0]);
}

#[test]
fn a_second_clock_is_caught() {
    try_all(&[
        caught(
            laws::clocks,
            "src/engine/poller.rs",
            "fn f() { std::time::Instant::now(); }",
            "std::time::Instant::now",
        ),
        caught(
            laws::clocks,
            "src/engine/poller.rs",
            "use std::time::Instant as I; fn f() { I::now(); }",
            "Instant::now",
        ),
        caught(
            laws::clocks,
            "src/engine/poller.rs",
            "use std::time; fn f() { g(time::SystemTime::now) }",
            "SystemTime::now",
        ),
        caught(laws::clocks, "src/web/api.rs", "fn f() { jiff::Timestamp::now(); }", "Timestamp::now"),
        caught(laws::clocks, "src/web/api.rs", "fn f() { debug!(at = %jiff::Zoned::now()); }", "Zoned::now"),
        caught(laws::clocks, "src/cli/mod.rs", "use rustix::time::clock_gettime;", "clock_gettime"),
        caught(laws::clocks, "src/store/write.rs", "fn f(began: I) { began.elapsed(); }", "`.elapsed()`"),
        passed(laws::clocks, "src/clock.rs", "fn f() { std::time::Instant::now(); }"),
        passed(laws::clocks, "src/engine/poller.rs", "fn f(now: Now, c: C) { c.now(); ItemState::now(s, now); }"),
        passed(laws::clocks, "src/engine/poller.rs", "#[test] fn f() { std::time::Instant::now(); }"),
    ]);
}

#[test]
fn a_timer_where_nobody_may_wait_is_caught() {
    try_all(&[
        caught(laws::timers, "src/store/write.rs", "use tokio::time::sleep;", "store must not wait"),
        caught(
            laws::timers,
            "src/config/mod.rs",
            "use tokio::time; fn f() { time::interval(x); }",
            "tokio::time::interval",
        ),
        caught(laws::timers, "src/store/write.rs", "use tokio::time::*;", "tokio::time::*"),
        passed(laws::timers, "src/engine/poller.rs", "fn f() { tokio::time::timeout(a, b); }"),
        passed(laws::timers, "src/store/write.rs", "fn f() { rx.recv_timeout(x); thread::sleep(y); }"),
    ]);
}

#[test]
fn a_second_mint_is_caught() {
    try_all(&[
        caught(laws::permits, "src/engine/fetch.rs", "fn f(r: Reserved) { r.durable(); }", "only the store mints"),
        caught(laws::permits, "src/engine/fetch.rs", "fn f() { r.map(Reserved::durable); }", "only the store mints"),
        caught(laws::permits, "src/engine/fetch.rs", "fn f() { m!(r.durable()) }", "only the store mints"),
        caught(
            laws::permits,
            "src/upstream/http.rs",
            "fn f() { let p = budget::Permit { charge }; }",
            "builds a `Permit`",
        ),
        caught(laws::permits, "src/store/write.rs", "fn f() { let p = Reserved { charge }; }", "builds a `Reserved`"),
        caught(
            laws::permits,
            "src/rules/budget/mod.rs",
            "#[derive(Debug, Clone)] struct Permit;",
            "must not derive Clone",
        ),
        passed(laws::permits, "src/store/write.rs", "fn f(r: Reserved) { r.durable(); }"),
        passed(laws::permits, "src/rules/budget/mod.rs", "fn f() { Permit { charge }; }"),
        passed(
            laws::permits,
            "src/rules/budget/mod.rs",
            "#[derive(Debug)] struct Permit; #[derive(Clone)] struct Usage;",
        ),
    ]);
}

#[test]
fn a_file_without_a_head_is_caught() {
    try_all(&[
        caught(
            laws::headers,
            "src/store/mod.rs",
            "use redb::X;\n// The only room that knows redb.",
            ":1: does not open",
        ),
        caught(laws::headers, "src/store/mod.rs", "//!\nfn f() {}", ":1: does not open"),
        passed(laws::headers, "src/store/mod.rs", "//! The only room that knows redb.\nfn f() {}"),
    ]);
}

fn lines(n: usize) -> String {
    "    x();\n".repeat(n)
}

#[test]
fn size_is_caught() {
    let sizes = |text: &str, allowed: &[Allowed]| laws::sizes(&Tree::of(&[("src/web/api.rs", text)]), allowed);
    let function = |n: usize| format!("/// Doc.\nfn long() {{\n{}}}\n", lines(n));
    assert_eq!(sizes(&function(58), &[]), [""; 0]);
    assert!(sizes(&function(59), &[])[0].contains("`long` has 61 lines"));
    assert_eq!(sizes(&format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(500)), &[]), [""; 0]);
    let many = "fn f() {}\n".repeat(401);
    assert!(sizes(&many, &[])[0].contains("401 lines"));

    let reason = "one table, easier to read whole";
    let fits = [Allowed { file: "src/web/api.rs", inside: "long", why: reason }];
    assert_eq!(sizes(&function(59), &fits), [""; 0]);
    assert!(sizes(&function(5), &fits)[0].contains("nothing needs the exception"));
    let bare = [Allowed { file: "src/web/api.rs", inside: "long", why: "long" }];
    assert!(sizes(&function(59), &bare)[0].contains("has no reason"));
}

#[test]
fn unfinished_work_is_caught() {
    try_all(&[
        caught(laws::unfinished, "src/web/api.rs", "fn f() { todo!() }", "`todo!`"),
        caught(laws::unfinished, "src/web/api.rs", "fn f() { unimplemented!() }", "`unimplemented!`"),
        caught(laws::unfinished, "src/web/api.rs", "fn f() { let x = vec![dbg!(1)]; }", "`dbg!`"),
        caught(laws::unfinished, "src/web/api.rs", "#[test] fn f() { std::todo!() }", "`todo!`"),
        caught(laws::unfinished, "src/web/api.rs", "// TODO: later\nfn f() {}", ":1: left for later"),
        passed(laws::unfinished, "src/web/api.rs", "/// Not a todo!() but done; AUTODOC.\nfn todo() { todo() }"),
    ]);
}

#[test]
fn a_panic_in_waiting_is_caught() {
    let panics = |text: &str, allowed: &[Allowed]| laws::panics(&Tree::of(&[("src/web/api.rs", text)]), allowed);
    for text in [
        "fn f() { x.unwrap(); }",
        "fn f() { x.expect(\"y\"); }",
        "fn f() { x.map(Option::unwrap); }",
        "fn f() { println!(\"{}\", x.unwrap()); }",
        "static S: L = L::new(|| x.unwrap());",
    ] {
        assert_eq!(panics(text, &[]).len(), 1, "{text}");
    }
    for text in [
        "fn f() { x.unwrap_or(1); x.unwrap_or_else(PoisonError::into_inner); }",
        "#[cfg(test)] mod tests { fn f() { x.unwrap(); } }",
        "const N: NonZeroU32 = NonZeroU32::new(5).unwrap();",
        "// x.unwrap()\nfn f() { \"x.unwrap()\"; }",
        "#[expect(dead_code)] fn f() {}",
    ] {
        assert_eq!(panics(text, &[]), [""; 0], "{text}");
    }
    let allowed = [Allowed { file: "src/web/api.rs", inside: "S", why: "a constant expression, tried by a test" }];
    assert_eq!(panics("static S: L = L::new(|| x.unwrap());", &allowed), [""; 0]);
    assert_eq!(panics("fn f() {}", &allowed).len(), 1);
}

#[test]
fn a_room_off_the_map_is_caught() {
    let lib = "//! Larder.\n//!\n//! ```text\n//! main.rs    boots\n//! store/     keeps\n//! ```\npub mod store;";
    let map = |folder: &[&str]| {
        let folder: Vec<String> = folder.iter().map(|s| (*s).to_owned()).collect();
        laws::map(&Tree::of(&[("src/lib.rs", lib)]), &folder)
    };
    assert_eq!(map(&["main.rs", "store/"]), [""; 0]);
    assert_eq!(map(&["main.rs", "store/", "web/"]), ["src/web/ is not on the map in lib.rs"]);
    assert_eq!(map(&["main.rs"]), ["the map names src/store/, which is not there"]);
    assert!(map(&["main.rs", "store/", "cellar/"]).contains(&"no direction is fixed for cellar".to_owned()));
}
