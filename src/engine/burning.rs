//! How a limit's units go, as it is shown: from the ledger, the charges or their sums, and the plans. Decides nothing.

use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::snapshot::Snapshot;
use super::view::{BurnView, Denied, LevelView, Seconds, When};
use crate::domain::charge::{Charge, Settlement};
use crate::domain::ids::ConnectionKey;
use crate::domain::limit::Kind;
use crate::domain::spend::{Hour, Spend, SpendLine};
use crate::domain::time::{Now, Span, Stamp, Steady, Wall};
use crate::rules::budget::Usage;
use crate::rules::calendar::Calendar;
use crate::rules::plan::burn::{Burn, Facts, Level, Period, Went, burn};
use crate::rules::plan::{Plan, Share};
use crate::store::StoreError;
use std::collections::BTreeMap;

/// Of longer windows the hours are enough.
const EACH_CHARGE: Span = Span::from_secs(7_200);

impl Appliance {
    /// Of the limit of that name, for that endpoint where each has its own book; else of the one with the longest window, and of several the
    /// one that is used most. `None`: no limit of this connection is used up over a time.
    pub fn burn(&self, key: &ConnectionKey, wanted: Option<(&str, Option<&str>)>) -> Result<Option<BurnView>, Denied> {
        let conn = self.conn(key)?;
        let Snapshot { now, usage, .. } = Snapshot::take(&self.core, &conn)?;
        let usage: Vec<(Usage, Period)> =
            usage.into_iter().filter_map(|u| Some((u.clone(), period(&u, &now)?))).collect();
        let is_wanted = |u: &Usage| {
            wanted.is_some_and(|(limit, endpoint)| {
                u.limit.name == limit && u.endpoint.as_ref().map(|e| e.as_str()) == endpoint
            })
        };
        let longest = || usage.iter().rev().max_by_key(|(u, _)| (u.limit.kind.nominal_window(), u.used));
        let Some((shown, period)) = usage.iter().find(|(u, _)| is_wanted(u)).or_else(longest) else { return Ok(None) };
        let went = went(&self.core, &conn, shown, (*period, &now))?;
        let share = asked(&conn.plan(), shown);
        let burn = burn(&Facts {
            now: now.wall(),
            amount: shown.limit.amount,
            used: shown.used,
            foreign: shown.foreign,
            kept: shown.kept,
            period: *period,
            went: &went,
            planned: share.unwrap_or(0.0),
        });
        let limits = usage.iter().map(|(u, _)| (u.limit.name.clone(), u.endpoint.as_ref().map(ToString::to_string)));
        Ok(Some(view(shown, *period, burn, &now, limits.collect())))
    }
}

/// Units that all plans together take of it in a window. Of a limit that counts each endpoint by itself, the plan tells the fullest book.
pub(super) fn asked(plan: &Plan, usage: &Usage) -> Option<f64> {
    let is_planned = |s: &&Share| s.limit == usage.limit.name && s.endpoint == usage.endpoint;
    plan.kept.shares.iter().find(is_planned).map(|s| s.asked)
}

/// `None`: it has no window whose units are used up.
pub(super) fn period(usage: &Usage, now: &Now) -> Option<Period> {
    let ends = usage.resets_at.map(|at| now.wall_of(at));
    match (&usage.limit.kind, ends) {
        (_, _) if usage.limit.amount == 0 => None,
        (Kind::Pace { .. } | Kind::Concurrent, _) => None,
        (Kind::Anchored { window }, Some(ends)) => Some(Period::Turns { began: ends - *window, ends }),
        (Kind::Rolling { window } | Kind::Anchored { window }, _) => Some(Period::Rolls { window: *window }),
        (kind, ends) => {
            let began = Calendar::of(kind)?.last_turn(now.wall()).latest;
            Some(Period::Turns { began, ends: ends? })
        }
    }
}

/// What all who spend with the same credential took of it, for as long as the plot looks back.
fn went(core: &Core, conn: &Conn, usage: &Usage, (period, now): (Period, &Now)) -> Result<Vec<Went>, StoreError> {
    let (window, back) = match period {
        Period::Turns { began, ends } => {
            (ends.since(began), now.wall().since(began).max(Span(ends.since(began).0 / 4)))
        }
        Period::Rolls { window } => (window, Span(window.0.saturating_mul(2))),
    };
    let members: Vec<ConnectionKey> = conn.sharing.asked().into_iter().map(|(key, ..)| key).collect();
    if window > EACH_CHARGE {
        return by_hours(core, &members, usage, now.wall() - back, now.wall());
    }
    let from = Stamp { steady: Steady(now.steady.0.saturating_sub(back.0)), wall: now.wall() - back, era: now.era };
    let is_of = |charge: &Charge| {
        let voided = charge.resolution.as_ref().is_some_and(|r| r.settlement == Settlement::Voided);
        !voided && charge.credential == conn.credential && usage.endpoint.as_ref().is_none_or(|e| *e == charge.endpoint)
    };
    let mut went = Vec::new();
    for key in &members {
        let charges = core.store.charges_since(key, from)?;
        went.extend(charges.iter().filter(|charge| is_of(charge)).map(|charge| {
            let at = now.wall_of(charge.reserved_at.steady).min(now.wall());
            Went { from: at, until: at, units: charge.cost.into() }
        }));
    }
    went.sort_by_key(|w| w.from);
    Ok(went)
}

fn by_hours(
    core: &Core,
    members: &[ConnectionKey],
    usage: &Usage,
    from: Wall,
    now: Wall,
) -> Result<Vec<Went>, StoreError> {
    let hours = Hour::of(from)..Hour::from(now);
    let hour = |line: &SpendLine| {
        let is_of = members.contains(&line.connection) && usage.endpoint.as_ref().is_none_or(|e| *e == line.endpoint);
        is_of.then_some(line.hour)
    };
    let sums: BTreeMap<Hour, Spend> = core.store.spend(&hours, hour)?;
    let stretch = |(hour, spend): (Hour, Spend)| {
        let until = Hour(hour.0.saturating_add(1)).begins().min(now);
        Went { from: hour.begins().min(now), until, units: spend.units }
    };
    Ok(sums.into_iter().map(stretch).collect())
}

fn view(usage: &Usage, period: Period, burn: Burn, now: &Now, limits: Vec<(String, Option<String>)>) -> BurnView {
    let levels = |of: Vec<Level>| of.into_iter().map(|(at, left)| LevelView { at: When(at), left }).collect();
    BurnView {
        limit: usage.limit.name.clone(),
        endpoint: usage.endpoint.as_ref().map(ToString::to_string),
        requests: usage.limit.amount,
        used: usage.used,
        foreign: usage.foreign,
        remaining: usage.remaining(),
        kept: usage.kept,
        resets_at: match period {
            Period::Turns { ends, .. } => Some(When(ends)),
            Period::Rolls { .. } => None,
        },
        from: When(burn.from),
        now: When(now.wall()),
        until: When(burn.until),
        actual: levels(burn.actual),
        planned: levels(burn.planned),
        projected: levels(burn.projected),
        looked_at_seconds: Seconds(burn.looked_at),
        runs_out_at: burn.runs_out_at.map(When),
        spare: burn.spare as u64,
        limits,
    }
}
