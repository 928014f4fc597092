//! Writes that make old, what is not ready, lists out of wider ones, and what goes first.

use super::super::ready::waits;
use super::*;
use crate::domain::event::EventKind;
use proptest::collection::vec as many;
use proptest::prelude::*;
use serde_json::json;

fn to(target: &str) -> Head {
    Head { key: key_of(Reading::Get, target), ..head(&[]) }
}

#[test]
fn a_write_forgets_what_it_wrote_to_and_what_its_rule_names() {
    let rule = PathRule {
        path: "/receipts/*".into(),
        forgets: vec!["/receipts/**".into(), "/sums".into()],
        ..PathRule::default()
    };
    let gate = gate_of(GatewaySpec { rules: vec![rule], ..GatewaySpec::default() });
    let forgotten = |written: &str, kept: &str| gate.forgets(&location(written), &to(kept));
    for kept in ["/receipts/7", "/receipts/7?full=1", "/receipts", "/receipts/8/lines", "/sums"] {
        assert!(forgotten("/receipts/7?x=1", kept), "{kept}");
    }
    assert!(!forgotten("/receipts/7", "/sums/1") && !forgotten("/receipts/7", "/other"));
    assert!(forgotten("/other", "/other?page=2") && !forgotten("/other", "/other/1"));
}

#[test]
fn what_is_not_ready_waits_for_its_time_or_for_what_happens() {
    let changed = Until::Event(EventKind::TargetChanged);
    let spec = NotReadySpec { status: vec![409], lasts: Span::from_secs(600), until: vec![Until::Write, changed] };
    let answer = Head { kept: Kept::NotReady, as_of: at(100).stamp(), ..head(&[]) };
    let mut happened = Happened::default();
    let left = |happened: &Happened, seconds| waits(&answer, Some(&spec), happened, &at(seconds)).as_secs();
    assert_eq!((left(&happened, 100), left(&happened, 400), left(&happened, 700)), (600, 300, 0));
    happened.note(Until::Write, at(99).stamp());
    happened.note(Until::Event(EventKind::HoldEnded), at(200).stamp());
    assert_eq!(left(&happened, 200), 500, "before it, and of another kind");
    happened.note(changed, at(150).stamp());
    assert_eq!(left(&happened, 200), 0);
    assert!(happened.ends(&answer, Some(&spec)) && !happened.ends(&answer, None));
    assert!(!happened.ends(&Head { kept: Kept::Data, ..answer.clone() }, Some(&spec)));
}

fn narrower() -> Narrower {
    let whole = Some("!@.next".to_owned());
    let text = str::to_owned;
    let spec = NarrowSpec { parameter: text("status"), items: text("$.data[*]"), field: text("$.status"), whole };
    Narrower::compile(&spec).unwrap()
}

fn narrowed(body: &serde_json::Value, value: &str) -> Option<serde_json::Value> {
    let narrowed = narrower().narrow(&head(&[]), body.to_string().as_bytes(), value)?;
    serde_json::from_slice(&narrowed).ok()
}

#[test]
fn a_list_is_served_out_of_the_wider_one() {
    let n = narrower();
    assert_eq!(n.wider(&location("/runs?page=1&status=live")), Some((location("/runs?page=1"), "live".to_owned())));
    assert_eq!(n.wider(&location("/runs?page=1")), None);
    assert_eq!(n.wider(&location("/runs?status=a&status=b")), None, "what two of them mean is the provider's");
    let runs = json!({"data": [{"id": 1, "status": "live"}, {"id": 2, "status": "done"}, {"id": 3}, {"id": 4, "status": "live"}], "at": 1.50});
    let live = json!({"data": [{"id": 1, "status": "live"}, {"id": 4, "status": "live"}], "at": 1.5});
    assert_eq!(narrowed(&runs, "live"), Some(live));
    assert_eq!(narrowed(&runs, "gone"), Some(json!({"data": [], "at": 1.5})));
}

#[test]
fn what_is_not_the_whole_list_narrows_nothing() {
    assert_eq!(narrowed(&json!({"data": [], "next": 2}), "live"), None);
    let next =
        head(&[("link", "<https://x.test/a;b>; rel=\"last\", <https://x.test/?page=2>; title=x; rel=\"prev NEXT\"")]);
    assert_eq!(narrower().narrow(&next, b"{\"data\":[]}", "live"), None);
    let last = head(&[("link", "<https://x.test/?page=1>; rel=\"prev\"")]);
    assert!(narrower().narrow(&last, b"{\"data\":[]}", "live").is_some());
    for body in ["no json", "{\"data\":[{\"id\":12345678901234567890}]}", "{\"data\":[1.2345678901234567]}"] {
        assert_eq!(narrower().narrow(&head(&[]), body.as_bytes(), "live"), None, "{body}");
    }
    let in_text = "{\"data\":[{\"id\":\"12345678901234567890\",\"status\":\"live\"}]}";
    assert_eq!(narrower().narrow(&head(&[]), in_text.as_bytes(), "live").unwrap(), in_text.as_bytes());
}

fn worth(cost: u32, bytes: u64, idle: u64) -> Worth {
    Worth { cost, bytes, idle: Span::from_secs(idle) }
}

#[test]
fn the_least_valuable_goes_first() {
    let all = [
        ("dear", worth(9, 100, 10)),
        ("large", worth(1, 900, 10)),
        ("idle", worth(1, 100, 99)),
        ("small", worth(1, 100, 10)),
    ];
    assert_eq!(surplus(&all, 1_200), Vec::<&str>::new());
    assert_eq!(surplus(&all, 1_199), ["idle"]);
    assert_eq!(surplus(&all, 300), ["idle", "large"]);
    assert_eq!(surplus(&all, 150), ["idle", "large", "small"]);
    assert_eq!(surplus(&all, 0).len(), 4);
    assert_eq!(surplus(&[("free", worth(0, 1, 0)), ("other", worth(1, 999, 999))], 999), ["free"], "it saves nothing");
}

proptest! {
    /// Whatever is there: what stays fits, and is worth more than what goes.
    #[test]
    fn what_stays_fits_and_is_worth_more(
        all in many((0u32..5, 0u64..1000, 0u64..1000), 0..20),
        most in 0u64..5000,
    ) {
        let all: Vec<(usize, Worth)> = all.into_iter().enumerate().map(|(n, (c, b, i))| (n, worth(c, b, i))).collect();
        let gone = surplus(&all, most);
        let stays: Vec<_> = all.iter().filter(|(n, _)| !gone.contains(n)).collect();
        prop_assert!(stays.iter().map(|(_, w)| w.bytes).sum::<u64>() <= most);
        for (_, stays) in &stays {
            for n in &gone {
                prop_assert!(all[*n].1.order(stays).is_le());
            }
        }
        // None goes in vain: with the last of them the rest would not fit.
        if let Some(last) = gone.last() {
            let with = stays.iter().map(|(_, w)| w.bytes).sum::<u64>() + all[*last].1.bytes;
            prop_assert!(with > most);
        }
    }

    #[test]
    fn narrowing_takes_out_exactly_what_does_not_fit(statuses in many("[ab]", 0..8), wanted in "[abc]") {
        let runs: Vec<_> = statuses.iter().enumerate().map(|(id, status)| json!({"id": id, "status": status})).collect();
        let fitting: Vec<_> = runs.iter().filter(|run| run["status"] == wanted.as_str()).cloned().collect();
        prop_assert_eq!(narrowed(&json!({"data": runs}), &wanted), Some(json!({"data": fitting})));
    }
}
