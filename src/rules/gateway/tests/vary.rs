//! RFC 9111 sections 2, 4 and 4.1: which answer a request means.

use super::*;
use proptest::collection::vec as many;
use proptest::prelude::*;

fn entry(vary: &str, asked: &[(&str, &str)], seconds: u64) -> Head {
    let variant = variant(&pairs(&[("vary", vary)]), &pairs(asked)).unwrap();
    Head { variant, as_of: at(seconds).stamp(), ..head(&[("vary", vary)]) }
}

fn meant<'h>(entries: &'h [Head], asked: &[(&str, &str)]) -> Option<&'h Head> {
    select(entries, Reading::Get, &pairs(asked), |_| true)
}

#[test]
fn without_vary_any_request_headers_fit() {
    let entries = [entry("", &[("accept", "a")], 0)];
    assert!(meant(&entries, &[("accept", "b")]).is_some() && meant(&entries, &[]).is_some());
}

#[test]
fn a_named_header_has_to_be_the_same_and_its_absence_too() {
    let csv = [("accept", "text/csv")];
    let entries = [entry("Accept", &csv, 0)];
    assert!(meant(&entries, &csv).is_some());
    assert!(meant(&entries, &[("accept", "text/html")]).is_none());
    assert!(meant(&entries, &[]).is_none());
    let entries = [entry("Accept", &[], 0)];
    assert!(meant(&entries, &[]).is_some());
    assert!(meant(&entries, &[("accept", "")]).is_none(), "empty is not absent");
}

#[test]
fn every_named_header_counts_in_whatever_order_and_spacing() {
    let asked = [("accept-language", "de,  en"), ("accept", "a")];
    let entries = [entry("accept-language , ACCEPT", &asked, 0)];
    assert!(meant(&entries, &[("accept", "a"), ("accept-language", "de"), ("accept-language", "en")]).is_some());
    assert!(meant(&entries, &[("accept", "a"), ("accept-language", "en, de")]).is_none());
    assert!(meant(&entries, &[("accept-language", "de, en")]).is_none());
}

#[test]
fn of_several_that_fit_the_newest_is_meant() {
    let entries = [entry("", &[], 5), entry("", &[], 9), entry("accept", &[("accept", "x")], 20)];
    assert_eq!(meant(&entries, &[]).unwrap().as_of, at(9).stamp());
    assert_eq!(meant(&entries, &[("accept", "x")]).unwrap().as_of, at(20).stamp());
}

#[test]
fn a_get_answers_a_head_and_no_head_a_get() {
    let get = head(&[]);
    let by_head = Head { key: key_of(Reading::Head, "/tasks"), ..head(&[]) };
    assert!(select([&get], Reading::Head, &[], |_| true).is_some());
    assert!(select([&by_head], Reading::Get, &[], |_| true).is_none());
    assert!(select([&by_head], Reading::Head, &[], |_| true).is_some());
}

#[test]
fn what_is_not_ready_any_more_gives_way_to_the_last_good_answer() {
    let good = head(&[]);
    let not_ready = Head { kept: Kept::NotReady, as_of: at(9).stamp(), ..head(&[]) };
    let of = |in_force| select([&good, &not_ready], Reading::Get, &[], move |_| in_force).unwrap().kept;
    assert_eq!((of(true), of(false)), (Kept::NotReady, Kept::Data));
    assert_ne!(EntryId::of(&good), EntryId::of(&not_ready), "one does not take the place of the other");
}

#[test]
fn another_credential_connection_target_or_variant_is_another_entry() {
    let one = head(&[]);
    let id = EntryId::of(&one);
    let with = |key: ShelfKey| EntryId::of(&Head { key, ..one.clone() });
    assert_ne!(id, with(ShelfKey { credential: CredentialId([1; 16]), ..one.key.clone() }), "a rotated key (P1)");
    let other = ConnectionKey { connection: "other".into(), ..yard() };
    assert_ne!(id, with(ShelfKey { connection: other, ..one.key.clone() }));
    assert_ne!(id, with(ShelfKey { target: "/tasks?".into(), ..one.key.clone() }));
    assert_ne!(id, with(ShelfKey { reading: Reading::Head, ..one.key.clone() }));
    let absent = Head { variant: vec![("accept".into(), None)], ..one.clone() };
    let empty = Head { variant: vec![("accept".into(), Some(String::new()))], ..one.clone() };
    assert_ne!(EntryId::of(&absent), EntryId::of(&empty));
    assert_eq!(id, EntryId::of(&Head { as_of: at(99).stamp(), status: 203, ..one.clone() }), "and nothing else");
}

#[test]
fn one_question_has_one_key() {
    let of = |raw: &str| key(&yard(), CredentialId([9; 16]), Reading::Get, &location(raw));
    assert_eq!(of("/t%61sks?a=%7e"), of("/tasks?a=~"));
    assert_ne!(of("/tasks?a=1&b=2"), of("/tasks?b=2&a=1"), "what an order means is the provider's");
    assert_ne!(of("/tasks/a%2Fb"), of("/tasks/a/b"));
}

#[test]
fn the_case_of_a_language_means_nothing_and_its_order_may() {
    let of =
        |asked: &str| variant(&pairs(&[("vary", "accept-language")]), &pairs(&[("accept-language", asked)])).unwrap();
    assert_eq!(of("en, de"), of("eN ,De"));
    assert_ne!(of("en, de"), of("de, en"));
    let other = |asked: &str| variant(&pairs(&[("vary", "x-own")]), &pairs(&[("x-own", asked)])).unwrap();
    assert_ne!(other("a"), other("A"));
}

proptest! {
    /// A request fits the answer to itself, and only that of its own named headers.
    #[test]
    fn a_request_means_the_answer_to_itself(
        asked in many(("[a-c]", "[x-z, ]{0,3}"), 0..4),
        other in many(("[a-c]", "[x-z, ]{0,3}"), 0..4),
        vary in "([a-c]|,| ){0,4}",
    ) {
        let answered = vec![("vary".to_owned(), vary)];
        let (own, others) = (variant(&answered, &asked).unwrap(), variant(&answered, &other).unwrap());
        prop_assert!(fits(&own, &asked));
        prop_assert_eq!(fits(&own, &other), own == others);
    }
}
