//! The limits of an organization that divides them with others: what it can count on while the others ask what they wish to. So its
//! plan fits beside theirs, and however much one of them wishes for stretches nobody else's polls beyond its share.

use super::Load;
use crate::domain::ids::Endpoint;
use crate::domain::limit::{Kind, Limit, Scope};
use crate::domain::time::Span;
use crate::rules::budget::parts::Parts;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Who else divides the budget, and what they ask.
#[derive(Clone, Debug)]
pub struct Among {
    pub parts: Arc<Parts>,
    /// Whose plan it is.
    pub place: usize,
    /// Of the others: whose, and what.
    pub loads: Vec<(usize, Load)>,
}

impl Among {
    /// What of the limits is left for the own organization, which asks at these endpoints.
    pub fn limits(&self, limits: &[Limit], own: &BTreeSet<&Endpoint>) -> Vec<Limit> {
        limits.iter().map(|limit| self.limit(limit, own)).collect()
    }

    fn limit(&self, limit: &Limit, own: &BTreeSet<&Endpoint>) -> Limit {
        let Some(window) = limit.kind.nominal_window() else { return limit.clone() };
        let divided = limit.amount.saturating_sub(limit.kept());
        let at = |endpoint: Option<&Endpoint>| {
            let asks: Vec<Option<u64>> = (0..self.parts.len()).map(|of| self.asks(of, window, endpoint)).collect();
            self.parts.divided(divided, &asks).get(self.place).copied().unwrap_or_default()
        };
        let share = match limit.scope {
            Scope::Credential => at(None),
            Scope::Endpoint => own.iter().map(|endpoint| at(Some(endpoint))).min().unwrap_or(divided),
        };
        if share > 0 || divided == 0 {
            return Limit { amount: share + limit.kept(), ..limit.clone() };
        }
        // Fewer units than organizations: they take turns.
        let turns = |window: Span| Span(window.0.saturating_mul(self.parts.len() as u64));
        let kind = match &limit.kind {
            Kind::Rolling { window } => Kind::Rolling { window: turns(*window) },
            Kind::Fixed { window } => Kind::Fixed { window: turns(*window) },
            Kind::Anchored { window } => Kind::Anchored { window: turns(*window) },
            Kind::Pace { window } => Kind::Pace { window: turns(*window) },
            other => other.clone(),
        };
        Limit { amount: 1 + limit.kept(), kind, ..limit.clone() }
    }

    /// Units that an organization asks in a window at most; `None`: as many as it gets, and so the own one.
    fn asks(&self, of: usize, window: Span, endpoint: Option<&Endpoint>) -> Option<u64> {
        if of == self.place {
            return None;
        }
        let own = self.loads.iter().filter(|(whose, _)| *whose == of).map(|(_, load)| load);
        let mut all = 0u64;
        for load in own {
            let meant = load.demands.iter().filter(|demand| endpoint.is_none_or(|at| *at == demand.endpoint));
            let units = meant.map(super::Demand::units).fold(0, u64::saturating_add);
            match (units, load.every) {
                (0, _) => {}
                (_, Span::ZERO) => return None,
                (units, every) => all = all.saturating_add(units.saturating_mul(window.0.div_ceil(every.0))),
            }
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Organization;
    use crate::domain::part::{Part, PartsByOrganization};
    use crate::rules::plan::{Demand, Plan, Question, plan};

    fn load(requests: u64, every: u64) -> Load {
        let demands = vec![Demand { endpoint: "/status".into(), cost: 1, requests }];
        Load { demands, every: Span::from_secs(every) }
    }

    fn limit(amount: u64, kind: Kind) -> Limit {
        let (keep, reach, cap) = Default::default();
        Limit { name: "status".into(), amount, kind, scope: Scope::Endpoint, keep, reach, cap }
    }

    /// The plan of `quiet`, which asks one request so often, beside `loud`.
    fn beside(limit: Limit, every: u64, loud: Load, weight: u32) -> Plan {
        let names: [Organization; 2] = ["loud".into(), "quiet".into()];
        let configured: PartsByOrganization = [(names[1].clone(), Part { weight, floor: 0 })].into();
        let parts = Parts::of(&names, &configured).map(Arc::new).unwrap();
        let among = Some(Among { place: parts.place(&names[1]).unwrap(), parts, loads: vec![(0, loud)] });
        plan(&Question { limits: &[limit], own: load(1, every), targets: 1, among, ..Question::default() })
    }

    fn five() -> Limit {
        limit(5, Kind::Rolling { window: Span::from_secs(300) })
    }

    #[test]
    fn t_a_neighbour_who_wants_everything_stretches_nobody_within_its_share() {
        let plan = beside(five(), 150, load(100, 10), 1);
        assert_eq!(plan.kept.interval, Span::from_secs(150), "two in a window are its share");
        let plan = beside(five(), 75, load(100, 10), 1);
        assert!(plan.kept.interval > Span::from_secs(100), "more than its share is lent, and not counted on: {plan:?}");
        assert_eq!(beside(five(), 100, load(100, 0), 3).kept.interval, Span::from_secs(100), "a weight of 3 is 3 of 5");
    }

    #[test]
    fn t_what_the_neighbour_does_not_ask_for_can_be_counted_on() {
        assert_eq!(beside(five(), 75, load(1, 300), 1).kept.interval, Span::from_secs(75));
    }

    #[test]
    fn t_where_there_are_fewer_units_than_organizations_they_take_turns() {
        let one = limit(1, Kind::Rolling { window: Span::from_secs(10) });
        let plan = beside(one, 0, load(1, 0), 1);
        assert!(plan.kept.interval >= Span::from_secs(20) && plan.kept.interval < Span::from_secs(60), "{plan:?}");
    }
}
