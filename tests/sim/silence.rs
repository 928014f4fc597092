//! A provider that renames the key of the next page, for good (A33): what it had on the other pages stays, for hours of polls, and where the
//! provider's word is that its lists end so, what it says again is believed.

use crate::machine::{FakeClock, Machine, Ms};
use crate::scenario::{HOUR, MINUTE, Scenario};
use crate::stage::{Asked, BEGAN, Script, Stage, file, play};
use larder::domain::cursor::ItemsAsk;
use larder::domain::ids::{CredentialId, TargetKey};
use larder::domain::reply::Answer;
use std::sync::Arc;

/// Two pages of two rows, until the key has another name.
fn answer(at: Ms, location: &str) -> Answer {
    let rows = if location.contains("after=") { ["c", "d"] } else { ["a", "b"] };
    let rows = rows.map(|id| format!(r#"{{"id":"{id}","name":"{id}","level":1}}"#)).join(",");
    let next = if location.contains("after=") { "null" } else { "\"2\"" };
    let key = if at < RENAMED { "next" } else { "next_page" };
    Answer { status: 200, headers: vec![], body: format!(r#"{{"items":[{rows}],"{key}":{next}}}"#).into_bytes() }
}

const RENAMED: Ms = 10 * MINUTE;

/// Items after three hours, whether the last reading was complete, and what is found.
fn lived(absent_ends: bool) -> (u64, bool, Vec<&'static str>) {
    play(async move {
        let machine = Machine::new(BEGAN);
        let (store, opening) = file();
        let clock = Arc::new(FakeClock::start(&machine, opening.mark.clone(), opening.high_water, 1000));
        let mut spec = Scenario::draw_paged(3).connections.remove(0);
        let target = TargetKey { connection: spec.key.clone(), target: spec.targets[0].name.clone() };
        spec.targets[0].page.as_mut().expect("a list of pages").absent_ends = absent_ends;
        let provider = machine.clone();
        let answer = move |_, location: &str| answer(provider.true_ms(), location);
        let door = Script { machine: machine.clone(), clock: clock.clone(), asked: Asked::default(), answer };
        let stage = Stage::set(&machine, (store, opening), clock, door, (spec, CredentialId([3; 16]))).await;
        let items = || stage.appliance.target(&target, &ItemsAsk::default()).expect("a target").item_count;
        stage.until(RENAMED, MINUTE, |_, _| ()).await;
        assert_eq!(items(), 4, "two pages");
        let mut found = Vec::new();
        stage.until(3 * HOUR, MINUTE, |_, view| found = view.findings.iter().map(|f| f.kind).collect()).await;
        let complete = stage
            .appliance
            .target(&target, &ItemsAsk::default())
            .expect("a target")
            .scan
            .is_some_and(|scan| scan.complete);
        (items(), complete, found)
    })
}

#[test]
fn a33_what_a_renamed_key_hides_is_never_taken_for_gone() {
    assert_eq!(lived(false), (4, false, vec!["scan_incomplete"]));
}

#[test]
fn a_list_of_which_the_provider_says_that_it_ends_in_silence_is_believed_in_the_end() {
    assert_eq!(lived(true), (2, true, vec![]));
}
