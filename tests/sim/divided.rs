//! One credential, two organizations: one asks for everything that there is, and more; the other has a target that it polls within its share.

use crate::machine::{FakeClock, Machine, Ms};
use crate::scenario::{MINUTE, connection, limit, target};
use crate::stage::{Asked, BEGAN, Script, Stage, file, play};
use larder::domain::ids::{CredentialId, Organization};
use larder::domain::limit::Kind;
use larder::domain::reply::Answer;
use larder::domain::time::Span;
use std::sync::Arc;

const WINDOW: Ms = 5 * MINUTE;
/// The quiet one's: two in a window, which is its share of five.
const EVERY: Ms = WINDOW / 2;
const LASTS: Ms = 60 * MINUTE;

/// When the quiet one was asked, how many requests came in all, and the most in any window.
fn lived(loud: &str) -> (Vec<Ms>, usize, usize) {
    let loud = Organization::from(loud);
    play(async move {
        let machine = Machine::new(BEGAN);
        let (store, opening) = file();
        let clock = Arc::new(FakeClock::start(&machine, opening.mark.clone(), opening.high_water, 1000));
        let asked = Asked::default();
        let answer = |_, _: &str| Answer {
            status: 200,
            headers: vec![],
            body: br#"{"items":[{"id":"a","name":"a","level":1}]}"#.to_vec(),
        };
        let door = Script { machine: machine.clone(), clock: clock.clone(), asked: asked.clone(), answer };
        let five = limit("five", 5, Kind::Rolling { window: Span(WINDOW as u64) });
        let hour = Span::from_secs(3600);
        let quiet = vec![target("quiet", "/quiet", hour)];
        let quiet = connection("quiet", Span(EVERY as u64), vec![five.clone()], quiet);
        let flood = (0..40).map(|n| target(&format!("loud-{n}"), &format!("/loud/{n}"), hour)).collect();
        let mut flood = connection("loud", Span::from_secs(10), vec![five], flood);
        flood.key.organization = loud;
        let credential = CredentialId([3; 16]);
        let both = vec![(quiet, credential), (flood, credential)];
        let stage = Stage::of_several(&machine, (store, opening), clock, door, both).await;
        stage.until(LASTS, MINUTE, |_, _| ()).await;
        let asked = asked.lock().expect("nobody panicked").clone();
        let quiet = asked.iter().filter(|(_, at)| at.starts_with("/quiet")).map(|(at, _)| *at).collect();
        let most =
            asked.iter().map(|(at, _)| asked.iter().filter(|(other, _)| (*at..*at + WINDOW).contains(other)).count());
        (quiet, asked.len(), most.max().unwrap_or(0))
    })
}

/// The longest wait between two polls of the quiet one, from its third window on.
fn longest(polls: &[Ms]) -> Ms {
    let later: Vec<Ms> = polls.iter().copied().filter(|at| *at >= 2 * WINDOW).chain([LASTS]).collect();
    later.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(LASTS)
}

#[test]
fn t_a_flooding_neighbour_takes_a_quiet_organization_none_of_its_times() {
    let (polls, all, most) = lived("loud");
    assert!(longest(&polls) <= EVERY + 2_000, "{polls:?}");
    assert_eq!(most, 5, "and never more than the limit");
    let windows = (LASTS / WINDOW) as usize;
    assert!(all >= 5 * (windows - 1), "{all} requests: what the quiet one does not ask for is lent");
}

/// The check can fail: inside one organization connections are not kept apart so.
#[test]
fn a_flood_that_is_not_kept_to_its_share_is_noticed() {
    let (polls, ..) = lived("default");
    assert!(longest(&polls) > EVERY + 2_000, "{polls:?}");
}
