//! How a limit is shown: what is spent of it and by whom, what is kept, who may have how much in flight. Knows figures; must not know who
//! asks.

use super::burning::period;
use super::view::{BudgetView, PartView, Seconds, When};
use super::words;
use crate::domain::ids::{Caller, Organization};
use crate::domain::time::Now;
use crate::rules::budget::{PartUsage, Usage};
use std::collections::BTreeMap;

/// `asked`: units that all plans together take of it in a window.
pub fn view(now: &Now, usage: &Usage, asked: Option<f64>, organization: &Organization) -> BudgetView {
    let limit = &usage.limit;
    let at = |at| When(now.wall_of(at));
    BudgetView {
        limit: limit.name.clone(),
        endpoint: usage.endpoint.as_ref().map(ToString::to_string),
        kind: limit.kind.word(),
        requests: limit.amount,
        declared: usage.declared,
        window_seconds: limit.kind.nominal_window().map(Seconds),
        used: usage.used,
        foreign: usage.foreign,
        remaining: usage.remaining(),
        kept: usage.kept,
        next_free_at: usage.next_free_at.map(at),
        period_begins: limit.kind.begins(),
        resets_at: usage.resets_at.map(at),
        planned_used: asked.filter(|units| *units > 0.0).and_then(|units| {
            let gone = period(usage, now)?.gone(now.wall());
            Some((units * gone).round() as u64)
        }),
        used_by: by_caller(&usage.used_by),
        keeps: by_caller(&limit.keep),
        caps: by_caller(&limit.cap),
        share: part(usage, organization),
    }
}

/// Nothing of it names another organization, or tells them apart.
fn part(usage: &Usage, organization: &Organization) -> Option<PartView> {
    let own = usage.parts.iter().find(|part| part.organization == *organization)?;
    let others = || usage.parts.iter().filter(|part| part.organization != *organization);
    let (number, held_for_others) = (others().count() as u64, others().map(|part| part.held).sum());
    let PartUsage { share, floor, used, held, .. } = own;
    (number > 0).then(|| PartView {
        units: *share,
        floor: *floor,
        used: *used,
        held: *held,
        held_for_others,
        others: number,
        sentence: words::share(own, held_for_others, number),
    })
}

/// The limit of which the smallest share is left for everybody.
pub fn tightest(budget: &[BudgetView]) -> Option<&BudgetView> {
    let share = |b: &&BudgetView| {
        let free = b.remaining.saturating_sub(b.kept);
        // In millionths: compared, never shown.
        u128::from(free) * 1_000_000 / u128::from(b.requests.max(1))
    };
    budget.iter().min_by_key(share)
}

fn by_caller(units: &BTreeMap<Caller, u64>) -> BTreeMap<&'static str, u64> {
    units.iter().map(|(caller, n)| (caller.word(), *n)).collect()
}
