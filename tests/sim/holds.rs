//! A long hold and the way back from it, as the provider meets it and as it is shown all the while.

use crate::machine::{FakeClock, Machine, Ms};
use crate::scenario::{connection, limit, target};
use crate::stage::{Asked, BEGAN, Script, Stage, file, play};
use larder::domain::ids::CredentialId;
use larder::domain::limit::Kind;
use larder::domain::reply::Answer;
use larder::domain::time::Span;
use larder::engine::view::HoldView;
use std::sync::Arc;

const MINUTE: Ms = 60_000;
const HOUR: Ms = 60 * MINUTE;
/// Between two looks.
const EVERY: Ms = 4_000;
const SAID: &str = "Come back in an hour";

fn good() -> Answer {
    Answer { status: 200, headers: vec![], body: br#"{"items":[{"id":"a","name":"a","level":1}]}"#.to_vec() }
}

fn refusal() -> Answer {
    let headers = vec![("retry-after".to_owned(), "3600".to_owned())];
    Answer { status: 429, headers, body: format!("{{\"message\":\"{SAID}\"}}").into_bytes() }
}

/// What was shown of the hold at a moment.
struct Seen {
    at: Ms,
    phase: Option<&'static str>,
    held: Option<HoldView>,
    passing: Vec<HoldView>,
}

/// Two targets, a poll a minute; the requests of these numbers are refused.
fn lived(refused: impl Fn(usize) -> bool + Send + Sync + 'static, lasts: Ms) -> (Vec<(Ms, String)>, Vec<Seen>) {
    play(async move {
        let machine = Machine::new(BEGAN);
        let (store, opening) = file();
        let clock = Arc::new(FakeClock::start(&machine, opening.mark.clone(), opening.high_water, 1000));
        let asked = Asked::default();
        let answer = move |n, _: &str| if refused(n) { refusal() } else { good() };
        let door = Script { machine: machine.clone(), clock: clock.clone(), asked: asked.clone(), answer };
        let many = limit("hour", 1000, Kind::Rolling { window: Span::from_secs(3600) });
        let targets = ["/one", "/two"].map(|path| target(&path[1..], path, Span::from_secs(300))).into_iter().collect();
        let spec = connection("yard", Span::from_secs(60), vec![many], targets);
        let stage = Stage::set(&machine, (store, opening), clock, door, (spec, CredentialId([3; 16]))).await;
        let mut seen = Vec::new();
        let look = |at, view: &larder::engine::view::ConnectionView| {
            let phase = view.recovery.as_ref().map(|r| r.phase);
            seen.push(Seen { at, phase, held: view.hold.clone(), passing: view.passing_holds.clone() });
        };
        stage.until(lasts, EVERY, look).await;
        let asked = asked.lock().expect("nobody panicked").clone();
        (asked, seen)
    })
}

/// The beginnings of rounds, and how many requests each had.
fn rounds(asked: &[(Ms, String)]) -> Vec<(Ms, usize)> {
    let mut rounds: Vec<(Ms, usize)> = Vec::new();
    for (at, _) in asked {
        match rounds.last_mut() {
            Some((since, many)) if at - *since < 20_000 => *many += 1,
            _ => rounds.push((*at, 1)),
        }
    }
    rounds
}

fn tells(hold: &HoldView, of: &HoldView) -> bool {
    (hold.since, hold.until, &hold.rule, &hold.said) == (of.since, of.until, &of.rule, &of.said)
}

#[test]
fn after_a_long_hold_one_request_finds_out_polls_come_back_by_steps_and_the_hold_is_shown_until_it_is_over() {
    let (asked, seen) = lived(|n| n == 2, 3 * HOUR);
    let refused_at = asked[2].0;
    let after: Vec<_> = asked.iter().filter(|(at, _)| *at > refused_at + 1000).cloned().collect();
    assert!(after[0].0 >= refused_at + HOUR, "an hour is an hour: {:?}", &asked[..5]);
    assert!(after[0].0 <= refused_at + HOUR + MINUTE + 1000, "and a little more");
    let back = rounds(&after);
    let gaps: Vec<Ms> = back.windows(2).map(|w| (w[1].0 - w[0].0 + 500) / 1000).collect();
    assert_eq!(back[0].1, 1, "one request alone: {back:?}");
    assert!(back[1..10].iter().all(|(_, many)| *many == 2), "then everything: {back:?}");
    for (gap, least) in gaps.iter().zip([240, 180, 120]) {
        assert!((least - 2..=least + 62).contains(gap), "a quarter, a third, half of the rate: {gaps:?}");
    }
    assert!(gaps[3..8].iter().all(|gap| (58..=62).contains(gap)), "and all of it: {gaps:?}");

    let held = seen.iter().find_map(|s| s.held.clone()).expect("a hold");
    assert_eq!(held.said.as_deref(), Some(SAID));
    assert!(held.rule.starts_with("status 429"), "{}", held.rule);
    let (probe, over) = (back[0].0, back[3].0);
    for s in &seen {
        let phase = match s.at {
            at if at <= refused_at || at > over + EVERY => None,
            at if at < refused_at + HOUR => {
                assert!(s.held.as_ref().is_some_and(|h| tells(h, &held)) && s.passing.is_empty(), "at {at}");
                continue;
            }
            at if at < probe => Some("probing"),
            at if at > probe + EVERY && at < over => Some("ramp"),
            // Between the change and the next look.
            _ => continue,
        };
        assert_eq!((s.phase, s.held.is_some()), (phase, false), "at {}", s.at);
        assert_eq!(s.passing.iter().filter(|h| tells(h, &held)).count(), usize::from(phase.is_some()), "at {}", s.at);
    }
    assert!(seen.iter().any(|s| s.phase == Some("probing")), "somebody saw it before the request");
}

#[test]
fn a_second_refusal_after_the_announced_time_lengthens_the_hold() {
    let (asked, seen) = lived(|n| n == 2 || n == 3, 5 * HOUR);
    let (first, second, third) = (asked[2].0, asked[3].0, asked[4].0);
    assert!((HOUR..HOUR + MINUTE + 1000).contains(&(second - first)), "one hour as announced: {:?}", &asked[..6]);
    assert!(third - second >= 2 * HOUR, "then two, although one was announced again: {:?}", &asked[..6]);
    let strikes: Vec<u32> = seen.iter().filter_map(|s| s.held.as_ref()).map(|h| h.strikes).collect();
    assert_eq!((strikes.first(), strikes.last()), (Some(&1), Some(&2)));
}
