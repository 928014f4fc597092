//! Connections that spend together: who they are, and what their pollers want of what the limits give (F1). Plans as the running
//! appliance does; asks nobody.

use super::{Credentials, Line, name};
use crate::cli::expected::{Expected, Round};
use crate::domain::ids::CredentialId;
use crate::domain::limit::{self, Limit, merge};
use crate::domain::oauth::Counted;
use crate::domain::part::PartsByOrganization;
use crate::domain::spec::{CommandSpec, ConnectionSpec, Interval, SecretSource, TargetSpec, endpoint_of};
use crate::domain::time::Span;
use crate::rules::budget::parts::Parts;
use crate::rules::plan::among::Among;
use crate::rules::plan::{self, Load, Plan, Question, UNKNOWN_LIFE, plan};
use std::sync::Arc;

/// Connections that share one credential, and so one budget.
pub(super) struct Crowd {
    pub names: Vec<String>,
    /// Percent of what the limits give to pollers, at the intervals of the file; above 100 cannot be kept up.
    pub percent: u64,
    /// They have no secret: the provider counts this machine's address.
    pub is_nameless: bool,
}

impl Crowd {
    pub fn sentence(&self) -> String {
        let (names, percent) = (self.names.join(", "), self.percent);
        let what = if self.is_nameless { "ask one provider without a credential" } else { "share one credential" };
        match percent {
            0..=100 => format!("{names}: {what} and together use {percent} % of what pollers may have."),
            _ => format!(
                "{names}: {what} and together want {percent} % of what pollers may have: CANNOT be kept up. Lengthen their \
                 intervals."
            ),
        }
    }
}

/// What makes two connections one budget. A secret that cannot be read is at least the same as itself.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Boundary {
    Known(CredentialId),
    Unread(String),
}

/// Groups that are polled, in the order of the file, each with its members in that order.
pub(super) fn groups<'a>(connections: &'a [ConnectionSpec], known: &Credentials) -> Vec<Vec<&'a ConnectionSpec>> {
    let mut groups: Vec<(Boundary, Vec<&ConnectionSpec>)> = Vec::new();
    for spec in connections.iter().filter(|s| s.poll.enabled) {
        let is_read = known.unreadable.iter().all(|(key, _)| *key != spec.key);
        let boundary = match known.of.get(&spec.key).filter(|_| is_read) {
            Some(credential) => Boundary::Known(*credential),
            None => Boundary::Unread(format!("{:?}", spec.secret)),
        };
        match groups.iter_mut().find(|(known, _)| *known == boundary) {
            Some((_, members)) => members.push(spec),
            None => groups.push((boundary, vec![spec])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

fn limits_of(group: &[&ConnectionSpec]) -> Vec<Limit> {
    let mut limits = Vec::new();
    group.iter().for_each(|spec| merge(&mut limits, &spec.limits));
    let scans = group.iter().flat_map(|spec| &spec.scans).map(|scan| &scan.question);
    let looked_at = group.iter().flat_map(|spec| &spec.targets).chain(scans).filter_map(TargetSpec::endpoint).collect();
    let commanded = group.iter().flat_map(|spec| &spec.commands).map(CommandSpec::endpoint).collect();
    limit::reach(&mut limits, &looked_at, &commanded);
    limits
}

/// As the file wishes; zero: as often as the limits let it.
fn every(spec: &ConnectionSpec) -> Span {
    match spec.poll.interval {
        Interval::Every(every) => every,
        Interval::Auto => Span::ZERO,
    }
}

/// Its rounds first, then what it asks at intervals of its own, which no round is shorter than.
fn loads(spec: &ConnectionSpec, every: Span, expected: &Expected) -> Vec<Load> {
    let Round { demands, beside, .. } = expected.round(spec);
    let beside = beside.into_iter().map(|load| Load { every: load.every.max(every), ..load });
    std::iter::once(Load { demands, every }).chain(beside).collect()
}

/// Renewals of the connection's token, where the provider counts them. Nobody has been asked yet how long it lives.
fn renewals(spec: &ConnectionSpec) -> Option<Load> {
    let oauth = spec.oauth.as_ref().filter(|oauth| oauth.counted == Counted::Budget)?;
    Some(plan::renewals(endpoint_of(&oauth.token_url), UNKNOWN_LIFE, every(spec)))
}

/// The plan of a connection among those that spend with it.
pub(super) fn plan_in(
    group: &[&ConnectionSpec],
    spec: &ConnectionSpec,
    organizations: &PartsByOrganization,
    expected: &Expected,
) -> Plan {
    let others = group.iter().filter(|member| member.key != spec.key);
    let (others, neighbours): (Vec<_>, Vec<_>) =
        others.partition(|member| member.key.organization == spec.key.organization);
    let loads_of = |member: &&ConnectionSpec| loads(member, every(member), expected);
    let parts = Parts::of(group.iter().map(|member| &member.key.organization), organizations);
    let among = parts.and_then(|parts| {
        let place = parts.place(&spec.key.organization)?;
        let of = |member: &&ConnectionSpec| parts.place(&member.key.organization);
        let whose = neighbours.iter().filter_map(|member| Some((of(member)?, loads_of(member))));
        let loads = whose.flat_map(|(of, loads)| loads.into_iter().map(move |load| (of, load))).collect();
        Some(Among { place, loads, parts: Arc::new(parts) })
    });
    let mut own = loads(spec, every(spec), expected).into_iter();
    plan(&Question {
        limits: &limits_of(group),
        own: own.next().unwrap_or_default(),
        targets: expected.round(spec).targets,
        beside: own.chain(renewals(spec)).collect(),
        others: others.iter().flat_map(loads_of).collect(),
        among,
        over: None,
    })
}

/// The groups of more than one, with what they want together.
pub(super) fn crowds(groups: &[Vec<&ConnectionSpec>], lines: &[Line<'_>], expected: &Expected) -> Vec<Crowd> {
    let crowd = |members: &Vec<&ConnectionSpec>| {
        let interval = |spec: &ConnectionSpec| -> Option<Span> {
            lines.iter().find(|l| l.spec.key == spec.key).map(|l| l.plan.wished.interval)
        };
        let loads: Vec<Load> =
            members.iter().filter_map(|spec| Some(loads(spec, interval(spec)?, expected))).flatten().collect();
        Crowd {
            names: members.iter().map(|spec| name(spec)).collect(),
            percent: plan::percent(&limits_of(members), &loads),
            is_nameless: members.iter().all(|spec| spec.secret == SecretSource::None),
        }
    };
    groups.iter().filter(|members| members.len() > 1).map(crowd).collect()
}
