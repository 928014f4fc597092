//! The budget gauge: a jar for each unit, or a bar where there are many. And any other whole, as such a bar.

use super::in_order;
use crate::engine::view::BudgetView;
use std::fmt::Write;

/// Up to this many units each one is drawn as its own jar; more become a bar.
const JARS: u64 = 24;
const WIDTH: f64 = 240.0;
/// Of the mark where the plans would be.
const TICK: f64 = 2.0;

/// A stretch of a gauge: class and units.
type Part = (String, u64);

/// Spent (by caller, then by others), free, kept: in this order, never more than the limit.
fn parts(budget: &BudgetView) -> Vec<Part> {
    let kept = budget.kept.min(budget.remaining).min(budget.requests);
    let used = budget.used.min(budget.requests - kept);
    let mut parts = Vec::new();
    let mut left = used;
    for (caller, units) in in_order(&budget.used_by) {
        let units = units.min(left);
        left -= units;
        parts.push((format!("c-{caller}"), units));
    }
    let others = budget.foreign.min(budget.requests - used - kept);
    parts.push(("c-other".to_owned(), left + others));
    parts.push(("free".to_owned(), budget.requests - used - kept - others));
    parts.push(("kept".to_owned(), kept));
    parts.retain(|(_, units)| *units > 0);
    parts
}

/// Whether its gauge marks what the plans would have taken: jars are counted as they stand.
pub fn has_tick(budget: &BudgetView) -> bool {
    budget.requests > JARS && budget.planned_used.is_some()
}

/// The gauge of one limit.
pub fn gauge(budget: &BudgetView) -> String {
    if budget.requests == 0 {
        return String::new();
    }
    if budget.requests <= JARS { jars(budget) } else { bar(budget) }
}

/// One jar for each unit, at most twelve in a row.
fn jars(budget: &BudgetView) -> String {
    let per_row = if budget.requests > 12 { budget.requests.div_ceil(2) } else { budget.requests };
    let rows = budget.requests.div_ceil(per_row);
    let mut out = format!(
        "<svg class=\"gauge jars\" viewBox=\"0 0 {} {}\" width=\"100%\" height=\"{}\" \
         preserveAspectRatio=\"xMinYMax\" aria-hidden=\"true\" focusable=\"false\">",
        per_row * 22 - 4,
        rows * 30 - 5,
        rows * 36,
    );
    let classes = parts(budget).into_iter().flat_map(|(class, units)| (0..units).map(move |_| class.clone()));
    for (class, at) in classes.zip(0u64..) {
        let (x, y) = (at % per_row * 22, at / per_row * 30);
        let lid =
            format!("<rect class=\"lid {class}\" x=\"{}\" y=\"{y}\" width=\"10\" height=\"4\" rx=\"1.5\"/>", x + 4);
        let glass =
            format!("<rect class=\"u {class}\" x=\"{}\" y=\"{}\" width=\"16\" height=\"19\" rx=\"4\"/>", x + 1, y + 6);
        out.push_str(&lid);
        out.push_str(&glass);
    }
    out.push_str("</svg>");
    out
}

fn bar(budget: &BudgetView) -> String {
    let parts = parts(budget);
    let parts: Vec<(&str, u64)> = parts.iter().map(|(class, units)| (class.as_str(), *units)).collect();
    stretches(&parts, budget.requests, budget.planned_used.map(|n| n.min(budget.requests)))
}

/// What a whole is made of, in one bar: class and count of each.
pub fn shares(parts: &[(&str, u64)]) -> String {
    stretches(parts, parts.iter().fold(0, |sum: u64, (_, n)| sum.saturating_add(*n)), None)
}

/// `tick`: a mark at so many.
fn stretches(parts: &[(&str, u64)], whole: u64, tick: Option<u64>) -> String {
    let mut out = format!(
        "<svg class=\"gauge bar\" viewBox=\"0 0 {WIDTH} 14\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\">"
    );
    let mut x = 0.0;
    for (class, units) in parts.iter().filter(|(_, units)| *units > 0) {
        let width = *units as f64 / whole.max(1) as f64 * WIDTH;
        // Writing to a String cannot fail.
        let _ = write!(out, "<rect class=\"u {class}\" x=\"{x:.2}\" y=\"0\" width=\"{width:.2}\" height=\"14\"/>");
        x += width;
    }
    if let Some(at) = tick {
        let x = (at as f64 / whole.max(1) as f64 * WIDTH - TICK / 2.0).clamp(0.0, WIDTH - TICK);
        let _ = write!(out, "<rect class=\"tick\" x=\"{x:.2}\" y=\"0\" width=\"{TICK}\" height=\"14\"/>");
    }
    out.push_str("</svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::view::Seconds;
    use std::collections::BTreeMap;

    fn budget(requests: u64, used: u64, kept: u64) -> BudgetView {
        BudgetView {
            limit: "status".into(),
            endpoint: None,
            kind: "rolling",
            requests,
            declared: requests,
            window_seconds: Some(Seconds::whole(300)),
            used,
            foreign: 0,
            remaining: requests.saturating_sub(used),
            kept,
            next_free_at: None,
            period_begins: None,
            resets_at: None,
            planned_used: None,
            used_by: BTreeMap::from([("poller", used)]),
            keeps: BTreeMap::new(),
            caps: BTreeMap::new(),
            share: None,
        }
    }

    #[test]
    fn a_gauge_never_draws_more_than_the_limit() {
        for requests in 1..40 {
            for used in 0..60 {
                for kept in 0..4 {
                    let budget = budget(requests, used, kept);
                    for foreign in [0, 1, 30] {
                        let budget = BudgetView { foreign, ..budget.clone() };
                        let drawn: u64 = parts(&budget).iter().map(|(_, n)| n).sum();
                        assert_eq!(drawn, requests, "{budget:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_fifth_jar_is_the_kept_one() {
        let parts = parts(&budget(5, 3, 1));
        assert_eq!(parts, [("c-poller".to_owned(), 3), ("free".to_owned(), 1), ("kept".to_owned(), 1)]);
        let drawn = gauge(&budget(5, 3, 1));
        assert_eq!(drawn.matches("class=\"u kept\"").count(), 1);
        assert_eq!(drawn.matches("class=\"u ").count(), 5);
    }

    #[test]
    fn a_bar_has_a_mark_where_the_plans_would_be() {
        let at = |planned_used| gauge(&BudgetView { planned_used, ..budget(300, 100, 0) });
        assert!(at(Some(150)).contains("<rect class=\"tick\" x=\"119.00\""), "{}", at(Some(150)));
        assert!(at(Some(9000)).contains("<rect class=\"tick\" x=\"238.00\""), "never beside the bar");
        assert!(!at(None).contains("tick"));
        assert!(!shares(&[("a", 1), ("b", 0)]).contains("tick"));
    }

    #[test]
    fn what_others_took_is_drawn_as_theirs() {
        let parts = parts(&BudgetView { foreign: 2, ..budget(10, 3, 1) });
        let expected = [("c-poller", 3), ("c-other", 2), ("free", 4), ("kept", 1)].map(|(c, n)| (c.to_owned(), n));
        assert_eq!(parts, expected);
    }
}
