//! What a provider's own count teaches about a limit: how much of it others have taken, and whether it is what was declared. Whatever
//! it says, our share only ever becomes smaller than what is declared (the ledger is the bound), and a refusal outranks what its
//! headers claim (A22). Knows figures; must not know where they were read.
//!
//! An answer counts our own requests up to some moment between its asking and its arrival. Those that overlap it may be in it or
//! not, so others have taken between `used - possible` and `used - certain`. Only where the lower bound is above zero is it proved
//! that there are others at all; then the upper bound is taken off our share, since that is what keeps the limit.

use super::budget::Own;
use super::budget::window::SKEW;
use crate::domain::limit::Limit;
use crate::domain::quota::{Claim, Foreign, Learned, LimitKey};
use crate::domain::time::{Span, Stamp};

/// Answers in a row that make a matter believed.
pub const AGREE: u32 = 2;

/// What one answer alone takes off our share is given back after this, so that somebody may ask whether it was so.
const DOUBT: Span = Span::from_secs(300);

/// Others are gone when nothing was seen of them for this long, and for the whole window where that is longer.
const QUIET: Span = Span::from_secs(3600);

/// The answer that brought a claim.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// When its request was reserved.
    pub asked_at: Stamp,
    pub arrived_at: Stamp,
    pub answered: Answered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    Well,
    /// The provider says that a limit is exceeded.
    Refused,
}

/// What it means for the owners.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    pub learned: Learned,
    pub others: Others,
    pub amount: Amount,
}

/// Whether it has to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Nothing,
    /// Its loss in a crash would leave our share as it was, or smaller.
    Harmless,
    /// Our share is smaller than before.
    Stricter,
}

impl Lesson {
    pub fn news(&self, before: Option<&Learned>) -> News {
        let units = |l: &Learned| l.foreign.map_or(0, |f| f.units);
        let amount = |l: &Learned| l.adopted.unwrap_or(u64::MAX);
        let after = &self.learned;
        if units(after) > before.map_or(0, units) || amount(after) < before.map_or(u64::MAX, amount) {
            return News::Stricter;
        }
        let undated = before.map(|b| Learned { asked_at: after.asked_at, ..b.clone() });
        if undated.as_ref() == Some(after) { News::Nothing } else { News::Harmless }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Nothing new is known.
    Unknown,
    /// Every unit in the provider's count can be ours.
    None,
    /// And that for a while now.
    Gone,
    /// At least so many were not, and more than once.
    Spend { at_least: u64, of: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Not said, or said once, or said before.
    Unknown,
    /// For the first time since it was otherwise.
    AsDeclared,
    /// In force from now on.
    Lower(u64),
    /// Not in force: the owner may declare it.
    Higher(u64),
}

/// What is known after the claim about `limit`, as it is declared; `None` where it teaches nothing. `own` is absent where counts
/// cannot be compared.
pub fn learn(
    before: Option<&Learned>,
    about: &LimitKey,
    limit: &Limit,
    claim: &Claim,
    own: Option<Own>,
    evidence: &Evidence,
) -> Option<Lesson> {
    // Refused, although units are said to be left: those are another bucket's.
    let refused = evidence.answered == Answered::Refused;
    if refused && claim.remaining != Some(0) {
        return None;
    }
    // Overtaken by an answer that was asked for later.
    if before.is_some_and(|b| evidence.asked_at.steady < b.asked_at.steady) {
        return None;
    }
    let before = before.cloned().unwrap_or_else(|| Learned::nothing(about.clone()));
    let mut learned = Learned { source: claim.source.clone(), asked_at: evidence.asked_at, ..before };
    let amount = amount(&mut learned, limit.amount, claim.total.filter(|t| *t > 0));
    let others = others(&mut learned, limit, claim, own, evidence);
    learned.nothing_left = claim.remaining == Some(0);
    Some(Lesson { learned, others, amount })
}

/// Both of two answers in a row must allow what is adopted, and both must be back at what is declared to lift it.
fn amount(learned: &mut Learned, declared: u64, total: Option<u64>) -> Amount {
    let Some(total) = total else { return Amount::Unknown };
    let before = learned.stated.replace(total);
    let same_side = before.is_some_and(|b| b.cmp(&declared) == total.cmp(&declared));
    let believed = same_side && learned.stated_streak >= AGREE;
    learned.stated_streak = if same_side { (learned.stated_streak + 1).min(AGREE) } else { 1 };
    if learned.stated_streak < AGREE {
        return Amount::Unknown;
    }
    learned.adopted = (total < declared).then(|| total.max(before.unwrap_or(total)));
    match learned.adopted {
        Some(lower) => Amount::Lower(lower),
        None if total > declared => Amount::Higher(total),
        None if believed => Amount::Unknown,
        None => Amount::AsDeclared,
    }
}

fn others(learned: &mut Learned, limit: &Limit, claim: &Claim, own: Option<Own>, evidence: &Evidence) -> Others {
    let of = claim.total.filter(|t| *t > 0).unwrap_or(learned.adopted.unwrap_or(limit.amount));
    let used = claim.used.or_else(|| Some(of.saturating_sub(claim.remaining?)));
    // Refused: it was full before this request, or has counted this one beyond what is there.
    let used = if evidence.answered == Answered::Refused { used.map(|u| u.max(of.saturating_add(1))) } else { used };
    let (Some(used), Some(own)) = (used, own) else { return Others::Unknown };
    let at_least = used.saturating_sub(own.possible);
    let doubted = learned.foreign.filter(|_| learned.foreign_streak < AGREE).and_then(|f| f.until);
    let tried = learned.nothing_left && doubted.is_some_and(|until| until <= evidence.asked_at.steady);
    if tried && claim.remaining == Some(0) && evidence.answered == Answered::Well {
        // Asked to see whether nothing is left, and answered as before: it counts something else.
        (learned.foreign, learned.foreign_streak) = (None, 0);
        return Others::Unknown;
    }
    if at_least == 0 {
        if own.certain < own.possible {
            return Others::Unknown;
        }
        (learned.foreign, learned.foreign_streak) = (None, 0);
        let quiet = limit.kind.nominal_window().unwrap_or_default().max(QUIET);
        let last = learned.foreign_seen_at.filter(|at| evidence.arrived_at.steady.since(at.steady) >= quiet);
        return if last.is_some() {
            learned.foreign_seen_at = None;
            Others::Gone
        } else {
            Others::None
        };
    }
    learned.foreign_streak = (learned.foreign_streak + 1).min(AGREE);
    learned.foreign_seen_at = Some(evidence.arrived_at);
    let at = evidence.arrived_at.steady;
    let proved = learned.foreign_streak >= AGREE || evidence.answered == Answered::Refused;
    let reset = claim.reset.map(|r| at + r + SKEW);
    let until = if proved { reset } else { Some(reset.map_or(at + DOUBT, |r| r.min(at + DOUBT))) };
    learned.foreign = Some(Foreign { units: used.saturating_sub(own.certain), at, until });
    // What is said approximately may be a little off.
    if proved && at_least > of / 100 { Others::Spend { at_least, of } } else { Others::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::limit::{Kind, Scope};
    use crate::domain::time::{Steady, Wall};
    use Answered::{Refused, Well};

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

    #[test]
    fn who_answers_while_nothing_is_left_counts_something_else() {
        let mut class = Class::new();
        class.left(0, (1, 0));
        assert_eq!(class.foreign(), 99);
        class.second += 300;
        assert_eq!(class.left(0, (2, 0)), Some(Others::Unknown));
        assert_eq!(class.foreign(), 0);
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
        assert_eq!(all, [Harmless, Harmless, Nothing, Stricter, Harmless, Harmless]);
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
}
