//! The course of a stream under everything that can happen to it.

use super::event::Event;
use super::*;
use proptest::prelude::*;

fn event(data: &str, id: Option<&str>) -> Heard {
    Heard::Event(Event { kind: "message".to_owned(), data: data.to_owned(), id: id.map(Arc::from) })
}

fn at(s: u64) -> Steady {
    Steady(s * 1000)
}

fn no_spread(_: Span) -> Span {
    Span::ZERO
}

/// One reader, and the stream as far as `phase`.
fn come_to(phase: Phase) -> Course {
    let mut course = Course::default();
    course.joins(None);
    for reached in [Phase::Opening, Phase::Opened, Phase::Connected] {
        if course.phase == phase {
            break;
        }
        match reached {
            Phase::Opening => course.asks(),
            Phase::Opened => course.opened(),
            _ => course.hears(event("first", Some("1"))),
        }
    }
    course
}

fn ends(course: &mut Course, now: u64) -> u64 {
    course.ended(at(now), no_spread);
    course.not_before().since(at(now)).as_secs()
}

/// All that a reader at `number` is told.
fn told(course: &Course, mut number: u64) -> Vec<String> {
    let mut all = Vec::new();
    while let Some((text, next)) = course.tells(number) {
        all.push(String::from_utf8(text.to_vec()).unwrap());
        number = next;
    }
    all
}

#[test]
fn p5_pauses_double_and_begin_anew_only_with_an_event() {
    let mut course = come_to(Phase::Waiting);
    for (expected, opens) in [(1, false), (2, true), (4, true), (8, false), (16, true)] {
        course.asks();
        if opens {
            course.opened();
            course.hears(Heard::Retry(Span::ZERO));
            course.hears(Heard::Id("9".into()));
            course.hears(Heard::TooLarge);
            assert_eq!(course.phase(), Phase::Opened, "it has not spoken");
        }
        assert_eq!(ends(&mut course, 100), expected);
        course.again_at = Steady(0);
    }
    course.asks();
    course.opened();
    course.hears(event("a", None));
    assert_eq!((course.phase(), ends(&mut course, 100)), (Phase::Connected, 1));
    for _ in 0..80 {
        course.ended(at(100), no_spread);
    }
    assert_eq!(course.not_before(), at(100) + LONGEST_PAUSE);
}

/// A stream that is broken off every 30 s for a night, with an event each time.
#[test]
fn a48_a_stream_that_is_broken_off_all_night_is_opened_every_two_minutes_and_not_twice_a_minute() {
    let mut course = come_to(Phase::Waiting);
    let (mut now, mut openings) = (1000, Vec::new());
    while now < 1000 + 8 * 3600 {
        assert_eq!(course.step(at(now)), Step::Open);
        openings.push(now);
        course.asks();
        course.opened();
        course.hears(event("a", Some("1")));
        now += 30;
        now += ends(&mut course, now);
    }
    assert!(openings.len() < 210, "{} openings", openings.len());
    assert!(openings[..7].windows(2).all(|w| w[1] - w[0] == 31), "a few are nothing unusual: {:?}", &openings[..9]);
    assert!(openings[20..].windows(2).all(|w| w[1] - w[0] == 150), "then it is minutes");
    course.asks();
    course.opened();
    course.hears(event("b", Some("2")));
    now += LASTING.as_secs();
    assert_eq!(ends(&mut course, now), 1, "one that lasts ends that");
}

#[test]
fn a_providers_own_wish_makes_a_pause_longer_and_never_shorter() {
    let mut course = come_to(Phase::Connected);
    course.hears(Heard::Retry(Span::from_secs(30)));
    assert_eq!(ends(&mut course, 100), 30);
    course.hears(Heard::Retry(Span(10)));
    course.again_at = Steady(0);
    assert_eq!(ends(&mut course, 200), 2, "the second in a row");
    course.hears(Heard::Retry(Span(u64::MAX)));
    assert_eq!(ends(&mut course, 300), 3600);
}

#[test]
fn a_hold_stops_it_and_its_end_does_not_shorten_the_pause() {
    let mut course = come_to(Phase::Opened);
    ends(&mut course, 100);
    course.refused(at(500));
    assert_eq!(course.step(at(499)), Step::WaitUntil(at(500)));
    assert_eq!(course.step(at(500)), Step::Open);
    course.eased();
    assert_eq!(course.step(at(100)), Step::WaitUntil(at(101)));
    assert_eq!(course.step(at(101)), Step::Open);
}

#[test]
fn the_last_reader_gone_it_is_closed_after_the_grace_and_not_before() {
    let mut course = come_to(Phase::Connected);
    course.joins(None);
    course.leaves(at(10));
    assert_eq!(course.step(at(900)), Step::Read { close_at: None }, "one is still there");
    course.leaves(at(20));
    assert_eq!(course.step(at(20)), Step::Read { close_at: Some(at(20) + GRACE) });
    course.joins(None);
    assert_eq!(course.step(at(900)), Step::Read { close_at: None }, "somebody came back");
    course.leaves(at(900));
    assert_eq!(course.step(at(900) + GRACE), Step::End);
    let mut waiting = come_to(Phase::Opened);
    ends(&mut waiting, 5);
    waiting.leaves(at(5));
    assert_eq!(waiting.step(at(6)), Step::End, "nothing is opened for nobody");
}

#[test]
fn p4_who_comes_back_to_a_closed_stream_is_told_what_the_provider_has_since() {
    let mut course = come_to(Phase::Connected);
    course.hears(event("second", Some("2")));
    course.leaves(at(10));
    course.closed(at(40));
    let place = course.joins(Some("1"));
    assert_eq!((told(&course, place.number).len(), course.last()), (1, Some("2".into())), "{place:?}");
    course.leaves(at(50));
    course.closed(at(60));
    // Somebody who knows of nothing begins with what comes now.
    let place = course.joins(None);
    assert_eq!((told(&course, place.number).len(), course.last()), (0, None));
}

#[test]
fn p4_after_a_restart_the_provider_goes_on_from_where_the_readers_are() {
    let mut course = Course::default();
    let (first, second) = (course.joins(Some("41")), course.joins(Some("41")));
    assert_eq!((first.gap.clone(), course.last()), (None, Some("41".into())));
    assert_eq!(first, second, "the same place");
    let other = course.joins(Some("40"));
    assert!(other.gap.is_some(), "it was asked for another already");
    course.asks();
    course.opened();
    course.hears(event("next", Some("42")));
    assert_eq!(told(&course, first.number), ["id: 42\ndata: next\n\n"]);
}

#[test]
fn who_knows_of_nothing_does_not_hide_where_another_was() {
    let mut course = Course::default();
    course.joins(None);
    assert_eq!((course.joins(Some("7")).gap, course.last()), (None, Some("7".into())), "nothing is asked yet");
    let mut asked = come_to(Phase::Opening);
    assert!(asked.joins(Some("7")).gap.is_some());
}

#[test]
fn a_gap_is_told_where_the_buffer_does_not_reach() {
    let mut course = come_to(Phase::Connected);
    let slow = course.joins(None);
    for n in 2..=1500 {
        course.hears(event("x", Some(&n.to_string())));
    }
    let first = course.tells(slow.number).unwrap();
    assert_eq!(first.0, event::gap(TOO_SLOW, Some(499)));
    assert_eq!(told(&course, slow.number).len(), 1 + 1000);
    let back = course.joins(Some("3"));
    assert_eq!(
        (back.gap, course.tells(back.number).map(|(_, next)| next)),
        (Some(event::gap(TOO_LATE, None)), Some(501))
    );
    assert_eq!(course.joins(Some("1499")).gap, None);
}

#[test]
fn a_stream_without_ids_that_was_interrupted_has_a_gap() {
    let mut without = come_to(Phase::Opened);
    without.hears(event("a", None));
    ends(&mut without, 10);
    without.opened();
    without.hears(event("b", None));
    assert_eq!(
        told(&without, 1),
        [String::from_utf8(event::gap(NO_RESUME, None).to_vec()).unwrap(), "data: b\n\n".into()]
    );
    let mut with = come_to(Phase::Connected);
    ends(&mut with, 10);
    with.opened();
    assert_eq!(told(&with, 1), [""; 0], "the provider goes on from the id");
}

#[test]
fn what_is_over_stays_over_until_somebody_comes_anew() {
    let mut course = come_to(Phase::Connected);
    course.over();
    assert_eq!(course.step(at(1)), Step::End);
    course.leaves(at(1));
    course.closed(at(1));
    course.joins(Some("1"));
    assert_eq!(course.step(at(1)), Step::Open);
}

#[test]
fn it_is_forgotten_when_nobody_can_come_back_for_anything() {
    let mut course = come_to(Phase::Connected);
    let after = Span::from_secs(600);
    assert!(!course.is_forgotten(at(9000), after), "it is read");
    ends(&mut course, 10);
    course.refused(at(2000));
    course.leaves(at(10));
    course.closed(at(10));
    assert!(!course.is_forgotten(at(609), after) && !course.is_forgotten(at(1999), after));
    assert!(course.is_forgotten(at(2000), after));
}

#[derive(Clone, Debug)]
enum Happens {
    Joins,
    Leaves,
    Opens,
    Speaks,
    Ends,
    Refused(u64),
    Eased,
    Passes(u64),
}

fn happening() -> impl Strategy<Value = Happens> {
    prop_oneof![
        Just(Happens::Joins),
        Just(Happens::Leaves),
        Just(Happens::Opens),
        Just(Happens::Speaks),
        Just(Happens::Ends),
        (0..100u64).prop_map(Happens::Refused),
        Just(Happens::Eased),
        (0..40u64).prop_map(Happens::Passes),
    ]
}

proptest! {
    /// P5, law 8: whatever happens, between the end of one opening and the next lies the whole pause, each twice the one before until
    /// the stream has spoken; nothing is opened while it is refused, and nothing for nobody.
    #[test]
    fn no_opening_comes_early(events in proptest::collection::vec(happening(), 1..300)) {
        let mut course = Course::default();
        let (mut now, mut readers, mut silent) = (0u64, 0usize, 0u32);
        let (mut ended_at, mut held_until) = (None::<u64>, 0u64);
        for happens in events {
            match happens {
                Happens::Joins => {
                    course.joins(None);
                    readers += 1;
                }
                Happens::Leaves if readers > 0 => {
                    course.leaves(at(now));
                    readers -= 1;
                }
                Happens::Opens if course.phase() == Phase::Waiting && course.step(at(now)) == Step::Open => {
                    prop_assert!(readers > 0 && now >= held_until);
                    let least = (1u64 << silent.saturating_sub(1).min(20)).min(300);
                    prop_assert!(ended_at.is_none_or(|ended| now >= ended + least), "{silent} silent, at {now}");
                    course.asks();
                    course.opened();
                    ended_at = None;
                }
                Happens::Speaks if course.phase().is_open() => {
                    course.hears(event("x", None));
                    silent = 0;
                }
                Happens::Ends if course.phase().is_open() => {
                    course.ended(at(now), no_spread);
                    (ended_at, silent) = (Some(now), silent + 1);
                }
                Happens::Refused(s) if course.phase() == Phase::Waiting => {
                    held_until = now + s;
                    course.refused(at(held_until));
                }
                Happens::Eased => {
                    course.eased();
                    held_until = 0;
                }
                Happens::Passes(s) => now += s,
                _ => {}
            }
            if course.step(at(now)) == Step::End {
                course.closed(at(now));
            }
        }
    }
}
