//! Failures of the field that a recipe answers for (`VENDORS` section 5): the answers whose name begins with the case.

use crate::all;
use crate::fixture::Fixture;
use larder::domain::outcome::Outcome;

/// The answers of a case are what their fixture says, and there is one at least; what each of them became.
#[track_caller]
fn case(number: &str) -> Vec<(Outcome, bool)> {
    let named = |name: &str| name.strip_prefix(number).is_some_and(|rest| rest.starts_with(": "));
    let mut tried = Vec::new();
    for (recipe, spec) in all() {
        for answer in Fixture::of(&recipe.name).answers.iter().filter(|answer| named(&answer.name)) {
            let wrong = answer.check(&spec);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            let trial = answer.tried(&spec);
            tried.push((trial.verdict.outcome, trial.items.is_some()));
        }
    }
    assert!(!tried.is_empty(), "no answer shows {number}");
    tried
}

/// A limit in disguise: it holds, and nothing of it reaches the shelf.
#[track_caller]
fn is_a_limit_and_no_data(number: &str) {
    assert!(case(number).iter().all(|(outcome, items)| *outcome == Outcome::Limited && !items), "{number}");
}

#[test]
fn a10_a_limit_with_an_empty_body_is_no_empty_account() {
    is_a_limit_and_no_data("A10");
}

#[test]
fn a12_a_limit_text_where_a_list_was_is_no_data() {
    is_a_limit_and_no_data("A12");
}

#[test]
fn a13_a_limit_note_is_found_under_both_of_its_keys() {
    is_a_limit_and_no_data("A13");
    assert_eq!(case("A13").len(), 2);
}

#[test]
fn a14_a_limit_comes_before_the_meaning_of_a_negative_answer() {
    is_a_limit_and_no_data("A14");
}

#[test]
fn a53_a_limit_that_says_authorization_is_a_limit() {
    is_a_limit_and_no_data("A53");
}

#[test]
fn a30_a_vendors_word_for_no_value_is_unknown() {
    assert_eq!(case("A30"), [(Outcome::Data, true)]);
}
