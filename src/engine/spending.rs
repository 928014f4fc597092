//! What was spent, as it is shown: the ledger's lines, the chart of who spent it, and the sums of longer times.

use super::view::{ChargeView, SpendSlice, SpendStrip, SpendView, Spent, When};
use crate::domain::charge::{Charge, Settlement};
use crate::domain::spend::{PENDING, Spend, SpendAsk};
use crate::domain::time::{Now, Span, Steady, Wall};
use std::collections::BTreeMap;

pub fn charge(charge: Charge) -> ChargeView {
    let resolution = charge.resolution.as_ref();
    ChargeView {
        id: charge.id,
        at: When(charge.reserved_at.wall),
        connection: charge.connection.connection.to_string(),
        target: charge.target.as_ref().map(|t| t.to_string()),
        caller: charge.caller.word(),
        endpoint: charge.endpoint.to_string(),
        cost: charge.cost,
        outcome: resolution.map_or(PENDING, |r| r.outcome.word()),
        settlement: resolution.map_or("pending", |r| match r.settlement {
            Settlement::Posted => "posted",
            Settlement::Voided => "voided",
        }),
        status: resolution.and_then(|r| r.status),
        resolved_at: resolution.map(|r| When(r.at.wall)),
        rule: resolution.map(|r| r.rule.clone()),
        said: resolution.and_then(|r| r.said.clone()),
    }
}

/// `sums`: by slice and name, as [`SpendAsk::place`] gives them.
pub fn spend(ask: &SpendAsk, sums: BTreeMap<(usize, String), Spend>) -> SpendView {
    let slice = |at: &Wall| SpendSlice { at: When(*at), groups: BTreeMap::new() };
    let mut slices: Vec<SpendSlice> = ask.starts.iter().map(slice).collect();
    for ((at, name), Spend { requests, units }) in sums {
        if let Some(slice) = slices.get_mut(at) {
            slice.groups.insert(name, Spent { requests, units });
        }
    }
    SpendView::of(ask.by.word(), slices, When(ask.until))
}

/// Units that the provider may have counted, by caller, in equal slices that end now.
pub fn spend_strip(now: &Now, charges: &[Charge], window: Span, slices: usize) -> SpendStrip {
    let slices = slices.clamp(1, 288) as u64;
    let slice = Span(window.0.div_ceil(slices).max(1));
    let from = Steady(now.steady.0.saturating_sub(slice.0 * slices));
    let mut strip = vec![BTreeMap::new(); slices as usize];
    for charge in charges {
        let voided = charge.resolution.as_ref().is_some_and(|r| r.settlement == Settlement::Voided);
        let at = charge.reserved_at.steady;
        if voided || at < from {
            continue;
        }
        let index = (at.since(from).0 / slice.0).min(slices - 1) as usize;
        if let Some(counts) = strip.get_mut(index) {
            *counts.entry(charge.caller.word()).or_default() += u64::from(charge.cost);
        }
    }
    SpendStrip {
        from: When(now.wall_of(from)),
        until: When(now.wall()),
        slice_seconds: slice.as_secs_ceil(),
        slices: strip,
    }
}
