//! What answers teach, one after the other: of others who spend, and of the amount.

use super::*;
use crate::domain::limit::{Kind, Scope};
use crate::domain::time::Wall;
use Answered::{Emptily, Refused, Well};

fn at(seconds: u64) -> Stamp {
    Stamp { steady: Steady(seconds * 1000), wall: Wall(seconds as i64 * 1000), era: 0 }
}

/// A limit of 100 and what was learned of it, one answer a second.
struct Class {
    learned: Learned,
    second: u64,
}

fn about() -> LimitKey {
    LimitKey { limit: "day".into(), endpoint: None }
}

fn limit() -> Limit {
    let kind = Kind::Rolling { window: Span::from_secs(7200) };
    let (keep, cap) = Default::default();
    Limit { name: "day".into(), amount: 100, kind, scope: Scope::Credential, keep, reach: Default::default(), cap }
}

impl Class {
    fn new() -> Class {
        Class { learned: Learned::nothing(about()), second: 1000 }
    }

    /// `ours` units are certainly counted, `perhaps` may be.
    fn hears(&mut self, claim: Claim, (ours, perhaps): (u64, u64), answered: Answered) -> Option<Lesson> {
        self.second += 1;
        let own = Some(Own { certain: ours, possible: ours + perhaps });
        let evidence = Evidence { asked_at: at(self.second), arrived_at: at(self.second), answered };
        let lesson = learn(Some(&self.learned), &about(), &limit(), &claim, own, &evidence)?;
        self.learned = lesson.learned.clone();
        Some(lesson)
    }

    fn left(&mut self, remaining: u64, ours: (u64, u64)) -> Option<Others> {
        let claim = Claim { total: Some(100), remaining: Some(remaining), ..Claim::default() };
        self.hears(claim, ours, Well).map(|l| l.others)
    }

    fn states(&mut self, total: u64) -> Amount {
        let claim = Claim { total: Some(total), ..Claim::default() };
        self.hears(claim, (0, 0), Well).unwrap().amount
    }

    fn foreign(&self) -> u64 {
        self.learned.foreign.map_or(0, |f| f.units)
    }
}

#[test]
fn a31_what_falls_faster_than_we_spend_is_somebody_else() {
    let mut class = Class::new();
    assert_eq!(class.left(97, (1, 0)), Some(Others::Unknown), "one answer is no proof");
    assert_eq!(class.foreign(), 2, "and is heeded for a while");
    assert_eq!(class.learned.foreign.unwrap().until, Some(at(1001).steady + DOUBT));
    assert_eq!(class.left(94, (2, 0)), Some(Others::Spend { at_least: 4, of: 100 }));
    assert_eq!(class.left(91, (3, 0)), Some(Others::Spend { at_least: 6, of: 100 }));
    assert_eq!(class.foreign(), 6);
    assert_eq!(class.learned.foreign.unwrap().until, None, "until the window has passed over it");
}

#[test]
fn a_count_that_can_be_ours_is_ours() {
    let mut class = Class::new();
    for (left, ours) in [(99, (1, 0)), (97, (3, 0)), (98, (3, 0)), (100, (1, 0)), (95, (3, 2))] {
        class.left(left, ours);
        assert_eq!((class.foreign(), class.learned.foreign_streak), (0, 0), "{left}");
    }
}

#[test]
fn one_odd_answer_is_taken_back_by_the_next() {
    let mut class = Class::new();
    class.left(10, (1, 0));
    assert_eq!(class.foreign(), 89);
    assert_eq!(class.left(98, (2, 0)), Some(Others::None));
    assert_eq!(class.foreign(), 0);
}

#[test]
fn what_was_proved_lives_for_its_window_whatever_is_said_meanwhile() {
    let mut class = Class::new();
    let mut ours = 0;
    let mut hears = |class: &mut Class, left| {
        ours += 1;
        class.left(left, (ours, 0));
        class.foreign()
    };
    let said = [99, 90, 80, 70, 60, 99, 94, 80, 58].map(|left| hears(&mut class, left));
    assert_eq!(said, [0, 8, 17, 26, 35, 35, 35, 35, 35], "another bucket's, nothing, less, and as before");
    class.second += 7200;
    class.left(97, (2, 0));
    assert_eq!(class.foreign(), 1, "its window has passed");
}

#[test]
fn what_was_proved_is_over_with_the_reset_that_was_stated() {
    let mut class = Class::new();
    let claim = |used| Claim { used: Some(used), reset: Some(Span::from_secs(30)), ..Claim::default() };
    class.hears(claim(50), (1, 0), Well);
    class.hears(claim(50), (2, 0), Well);
    class.hears(claim(3), (3, 0), Well);
    assert_eq!(class.foreign(), 48);
    class.second += 60;
    class.hears(claim(4), (4, 0), Well);
    assert_eq!(class.foreign(), 0);
}

#[test]
fn a_count_below_our_own_takes_no_doubt_back() {
    let mut class = Class::new();
    class.left(10, (5, 0));
    class.left(99, (6, 0));
    assert_eq!(class.foreign(), 85, "it speaks of another bucket");
    class.left(93, (7, 0));
    assert_eq!(class.foreign(), 0);
}

#[test]
fn requests_that_overlap_are_taken_off_the_share_only_where_others_are_proved() {
    let mut class = Class::new();
    assert_eq!(class.left(95, (2, 3)), Some(Others::Unknown));
    assert_eq!(class.foreign(), 0, "all five may be ours");
    class.left(90, (2, 3));
    assert_eq!(class.foreign(), 8, "five at least are not, eight at most");
    class.left(96, (2, 3));
    assert_eq!(class.foreign(), 8, "what proves nothing changes nothing");
}

#[test]
fn a22_a_refusal_outranks_what_its_headers_say() {
    let mut class = Class::new();
    class.left(50, (1, 0));
    class.left(49, (2, 0));
    let claim = |remaining| Claim { total: Some(100), remaining: Some(remaining), ..Claim::default() };
    assert_eq!(class.hears(claim(595), (2, 0), Refused), None, "another bucket's");
    assert_eq!(class.foreign(), 49, "nothing was given back");
    let spent = class.hears(claim(0), (3, 0), Refused).unwrap();
    assert_eq!((spent.others, class.foreign()), (Others::Spend { at_least: 98, of: 100 }, 98));
}

/// An answer with nothing in it makes our share smaller, and never larger.
#[test]
fn a07_of_an_empty_answer_only_that_nothing_is_left_is_believed() {
    let mut class = Class::new();
    let claim = |total, remaining| Claim { total: Some(total), remaining: Some(remaining), ..Claim::default() };
    assert_eq!(class.hears(claim(100, 60), (1, 0), Emptily), None, "what is left may be another bucket's");
    let nothing = class.hears(claim(100, 0), (3, 0), Emptily).unwrap();
    assert_eq!((nothing.others, class.foreign()), (Others::Unknown, 97), "heeded before it is proved");
    assert_eq!(class.hears(claim(100, 0), (100, 0), Emptily).unwrap().others, Others::Unknown);
    assert_eq!(class.foreign(), 97, "and nothing is given back");
    for _ in 0..3 {
        assert_eq!(class.hears(claim(900, 0), (100, 0), Emptily).unwrap().amount, Amount::Unknown);
    }
}

#[test]
fn who_answers_while_nothing_is_left_counts_something_else() {
    let mut class = Class::new();
    class.left(0, (1, 0));
    assert_eq!(class.foreign(), 99);
    class.second += 300;
    assert_eq!(class.left(0, (2, 0)), Some(Others::Unknown));
    assert_eq!(class.foreign(), 0);
}

/// Nothing is left of one window, and nothing of a later one: both times somebody else was there.
#[test]
fn a31_nothing_left_of_a_later_window_is_heeded_too() {
    let mut class = Class::new();
    class.left(0, (1, 0));
    class.second += 7200;
    class.left(0, (1, 0));
    assert_eq!(class.foreign(), 99);
}

#[test]
fn others_are_gone_when_nothing_was_seen_of_them_for_a_window() {
    let mut class = Class::new();
    class.left(90, (1, 0));
    class.left(90, (1, 0));
    assert_eq!(class.left(98, (2, 0)), Some(Others::None));
    class.second += 7200;
    assert_eq!(class.left(98, (2, 0)), Some(Others::Gone));
    assert_eq!(class.left(98, (2, 0)), Some(Others::None), "told once");
}

#[test]
fn only_what_changes_is_news() {
    let mut class = Class::new();
    let mut news = |claim: Claim, ours| {
        let before = class.learned.clone();
        class.hears(claim, ours, Well).unwrap().news(Some(&before))
    };
    let left = |n| Claim { total: Some(100), remaining: Some(n), ..Claim::default() };
    let all: Vec<News> =
        [(99, 1), (98, 2), (97, 3), (90, 4), (93, 5), (94, 6)].map(|(n, o)| news(left(n), (o, 0))).into();
    use News::*;
    assert_eq!(all, [Harmless, Harmless, Nothing, Stricter, Harmless, Nothing]);
    let lower = |n| Claim { total: Some(n), ..Claim::default() };
    assert_eq!(
        [news(lower(80), (0, 0)), news(lower(80), (0, 0)), news(lower(80), (0, 0))],
        [Harmless, Stricter, Nothing]
    );
}

#[test]
fn an_overtaken_answer_teaches_nothing() {
    let mut class = Class::new();
    class.left(90, (1, 0));
    class.second -= 5;
    assert_eq!(class.left(99, (1, 0)), None);
    assert_eq!(class.foreign(), 9);
}

#[test]
fn a_reset_that_is_stated_ends_it() {
    let mut class = Class::new();
    let claim = || Claim { used: Some(50), reset: Some(Span::from_secs(30)), ..Claim::default() };
    class.hears(claim(), (1, 0), Well);
    class.hears(claim(), (2, 0), Well);
    assert_eq!(class.learned.foreign.unwrap().until, Some(at(1002).steady + Span::from_secs(30) + SKEW));
}

#[test]
fn a_lower_amount_is_adopted_when_it_is_said_twice_and_lifted_the_same_way() {
    let mut class = Class::new();
    let said: Vec<Amount> = [80, 80, 70, 90, 100, 100, 100].into_iter().map(|t| class.states(t)).collect();
    use Amount::*;
    assert_eq!(said, [Unknown, Lower(80), Lower(80), Lower(90), Unknown, AsDeclared, Unknown]);
    assert_eq!(class.learned.adopted, None);
    assert_eq!((class.states(70), class.states(100)), (Unknown, Unknown), "once is odd");
    assert_eq!(class.learned.adopted, None);
}

#[test]
fn a_higher_amount_is_offered_and_never_taken() {
    let mut class = Class::new();
    assert_eq!((class.states(500), class.states(500)), (Amount::Unknown, Amount::Higher(500)));
    assert_eq!(class.learned.adopted, None);
    assert_eq!(class.states(0), Amount::Unknown, "zero is no amount");
}

#[test]
fn where_the_period_may_have_turned_no_count_is_compared() {
    let evidence = Evidence { asked_at: at(1), arrived_at: at(2), answered: Well };
    let claim = Claim { total: Some(100), remaining: Some(1), ..Claim::default() };
    let lesson = learn(None, &about(), &limit(), &claim, None, &evidence).unwrap();
    assert_eq!((lesson.others, lesson.learned.foreign), (Others::Unknown, None));
}
