//! Connections that spend together: who they are, and what their pollers want of what the limits give (F1). Plans as the running
//! appliance does; asks nobody.

use super::{Credentials, Line, every, name};
use crate::cli::pages::Pages;
use crate::domain::ids::CredentialId;
use crate::domain::limit::Limit;
use crate::domain::limit::merge;
use crate::domain::spec::{ConnectionSpec, SecretSource};
use crate::domain::time::Span;
use crate::rules::plan::{self, Demand, Plan, plan};

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
    limits
}

/// The plan of a connection among those that spend with it: its own requests, at an interval that all of them can keep up.
pub(super) fn plan_in(group: &[&ConnectionSpec], spec: &ConnectionSpec, pages: &Pages) -> Plan {
    let limits = limits_of(group);
    let all: Vec<Demand> = group.iter().flat_map(|member| pages.demands(member)).collect();
    let together = plan(&limits, &all, every(spec));
    let own = plan(&limits, &pages.demands(spec), Some(together.interval));
    Plan { requests_per_round: own.requests_per_round, requests_per_day: own.requests_per_day, ..together }
}

/// The groups of more than one, with what they want together.
pub(super) fn crowds(groups: &[Vec<&ConnectionSpec>], lines: &[Line<'_>], pages: &Pages) -> Vec<Crowd> {
    let crowd = |members: &Vec<&ConnectionSpec>| {
        let interval = |spec: &ConnectionSpec| -> Option<Span> {
            lines.iter().find(|l| l.spec.key == spec.key).map(|l| l.plan.interval)
        };
        let loads: Vec<(Vec<Demand>, Span)> =
            members.iter().filter_map(|spec| Some((pages.demands(spec), interval(spec)?))).collect();
        Crowd {
            names: members.iter().map(|spec| name(spec)).collect(),
            percent: plan::percent(&limits_of(members), &loads),
            is_nameless: members.iter().all(|spec| spec.secret == SecretSource::None),
        }
    };
    groups.iter().filter(|members| members.len() > 1).map(crowd).collect()
}
