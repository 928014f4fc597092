//! How organizations that spend with one credential divide each limit: by weight, with floors. Pure arithmetic; must not know what
//! is spent.
//!
//! A *share* is what an organization can count on. What it does not use of it is lent, and comes back: what it used within a
//! window before is held for it (see `lending`), and a floor is never lent. Of those who ask more than their shares,
//! none has more than its weight gives it.

use crate::domain::ids::Organization;
use crate::domain::part::{Part, PartsByOrganization};

/// The organizations that spend from one budget: at least two, in the order of their names. One that has left has no part any more; what
/// it spent counts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts(Vec<(Organization, Option<Part>)>);

/// What one of them has of an amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entitled {
    pub share: u64,
    /// Of the share: never lent.
    pub floor: u64,
}

impl Parts {
    /// `None` where there are not two of them: nothing is shared then.
    pub fn of<'a>(
        organizations: impl IntoIterator<Item = &'a Organization>,
        configured: &PartsByOrganization,
    ) -> Option<Parts> {
        let mut names: Vec<Organization> = organizations.into_iter().cloned().collect();
        names.sort_unstable();
        names.dedup();
        let part = |name: Organization| {
            let part = configured.get(&name).copied().unwrap_or_default();
            (name, Some(part))
        };
        (names.len() > 1).then(|| Parts(names.into_iter().map(part).collect()))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn place(&self, organization: &Organization) -> Option<usize> {
        self.0.binary_search_by(|(name, _)| name.cmp(organization)).ok()
    }
    pub fn names(&self) -> impl Iterator<Item = &Organization> {
        self.0.iter().map(|(name, _)| name)
    }
    /// Whether it has a part.
    pub fn has(&self, place: usize) -> bool {
        self.0.get(place).is_some_and(|(_, part)| part.is_some())
    }
    /// Nothing of the credential is this one's any more.
    pub fn without(mut self, organization: &Organization) -> Parts {
        self.0.iter_mut().filter(|(name, _)| name == organization).for_each(|(_, part)| *part = None);
        self
    }
    /// The same organizations with the parts that are configured now.
    pub fn configured(mut self, parts: &PartsByOrganization) -> Parts {
        let there = self.0.iter_mut().filter(|(_, part)| part.is_some());
        there.for_each(|(name, part)| *part = Some(parts.get(name).copied().unwrap_or_default()));
        self
    }
    pub fn percent_of_floors(&self) -> u32 {
        self.0.iter().filter_map(|(_, part)| *part).map(|part| u32::from(part.floor)).sum()
    }
    /// Whether the same organizations are in both, whatever their parts.
    pub fn are_of_the_same(&self, other: &Parts) -> bool {
        self.names().eq(other.names())
    }

    /// What each has of `amount` units. The shares are never more than `amount` together; what no whole share comes of is whose
    /// asks first.
    pub fn entitled(&self, amount: u64) -> Vec<Entitled> {
        let floors = self.floors(amount);
        let shares = self.divided(amount, &vec![None; self.len()]);
        shares.into_iter().zip(floors).map(|(share, floor)| Entitled { share, floor }).collect()
    }

    /// `amount` among those who ask so much; `None`: as much as there is. Nobody has more than it asks, nobody who asks for
    /// its share or less has less, and nothing is left over (but what no whole unit comes of) while somebody asks for more.
    pub fn divided(&self, amount: u64, asks: &[Option<u64>]) -> Vec<u64> {
        let floors = self.least(amount);
        let mut given: Vec<Option<u64>> = vec![None; self.len()];
        loop {
            let taken = given.iter().flatten().sum::<u64>();
            let left = amount.saturating_sub(taken);
            let open: Vec<usize> = (0..self.len()).filter(|n| given[*n].is_none()).collect();
            let by_weight = self.by_weight(left, &open, &floors);
            let content = |n: usize, share: u64| asks.get(n).copied().flatten().filter(|ask| *ask <= share);
            let fed: Vec<(usize, u64)> =
                open.iter().zip(&by_weight).filter_map(|(n, share)| Some((*n, content(*n, *share)?))).collect();
            if fed.is_empty() {
                open.into_iter().zip(by_weight).for_each(|(n, share)| given[n] = Some(share));
                return given.into_iter().flatten().collect();
            }
            fed.into_iter().for_each(|(n, ask)| given[n] = Some(ask));
        }
    }

    /// `amount` among the `open` ones by weight, each with at least its floor.
    fn by_weight(&self, amount: u64, open: &[usize], floors: &[u64]) -> Vec<u64> {
        let mut raised = vec![false; open.len()];
        loop {
            let fixed: u64 = open.iter().zip(&raised).filter(|(_, r)| **r).map(|(n, _)| floors[*n]).sum();
            let left = u128::from(amount.saturating_sub(fixed));
            let weights: u128 =
                open.iter().zip(&raised).filter(|(_, r)| !**r).map(|(n, _)| u128::from(self.weight(*n))).sum();
            let share =
                |n: usize| u64::try_from(left * u128::from(self.weight(n)) / weights.max(1)).unwrap_or(u64::MAX);
            let low: Vec<usize> =
                (0..open.len()).filter(|at| !raised[*at] && share(open[*at]) < floors[open[*at]]).collect();
            if low.is_empty() {
                let given = |(n, raised): (&usize, &bool)| if *raised { floors[*n] } else { share(*n) };
                return open.iter().zip(&raised).map(given).collect();
            }
            low.into_iter().for_each(|at| raised[at] = true);
        }
    }

    fn weight(&self, place: usize) -> u32 {
        self.0[place].1.map_or(0, |part| part.weight.max(1))
    }

    fn floors(&self, amount: u64) -> Vec<u64> {
        let floor = |(_, part): &(Organization, Option<Part>)| {
            let percent = part.map_or(0, |part| part.floor.min(100));
            u64::try_from(u128::from(amount) * u128::from(percent) / 100).unwrap_or(amount)
        };
        self.0.iter().map(floor).collect()
    }

    /// The floors; and a unit for everybody, however small its weight, where there is one for each.
    fn least(&self, amount: u64) -> Vec<u64> {
        let floors = self.floors(amount);
        let one = |(place, floor): (usize, &u64)| (*floor).max(u64::from(self.has(place)));
        let raised: Vec<u64> = floors.iter().enumerate().map(one).collect();
        if raised.iter().sum::<u64>() <= amount { raised } else { floors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(of: &[(u32, u8)]) -> Parts {
        let name = |n: usize| Organization(format!("o{n:02}"));
        let of: PartsByOrganization = of
            .iter()
            .enumerate()
            .map(|(n, (weight, floor))| (name(n), Part { weight: *weight, floor: *floor }))
            .collect();
        Parts::of(of.keys(), &of).unwrap()
    }

    fn shares(of: &[(u32, u8)], amount: u64) -> Vec<u64> {
        parts(of).entitled(amount).iter().map(|e| e.share).collect()
    }

    #[test]
    fn t_one_organization_shares_nothing() {
        let alone = Organization::default();
        assert_eq!(Parts::of([&alone, &alone], &PartsByOrganization::new()), None);
    }

    #[test]
    fn shares_follow_weights_and_floors_raise_them() {
        assert_eq!(shares(&[(1, 0), (1, 0)], 5), [2, 2], "the fifth is whose asks first");
        assert_eq!(shares(&[(3, 0), (1, 0)], 100), [75, 25]);
        assert_eq!(shares(&[(3, 0), (1, 40)], 100), [60, 40]);
        assert_eq!(shares(&[(1000, 0), (1, 0)], 5), [4, 1], "a unit for everybody where there is one for each");
        assert_eq!(shares(&[(1, 0), (1, 0), (1, 0)], 2), [0, 0, 0]);
        assert_eq!(shares(&[(1, 50), (1, 50)], 5), [2, 2]);
        assert_eq!(shares(&[(1, 100), (1, 0)], 4), [4, 0], "a floor of everything leaves nobody a share");
    }

    #[test]
    fn what_one_does_not_ask_for_is_divided_among_the_others() {
        let three = parts(&[(1, 0), (1, 0), (2, 0)]);
        assert_eq!(three.divided(100, &[Some(5), None, None]), [5, 31, 63]);
        assert_eq!(three.divided(100, &[Some(5), Some(6), None]), [5, 6, 89]);
        assert_eq!(three.divided(100, &[Some(5), Some(6), Some(7)]), [5, 6, 7]);
    }

    type Some3 = (Vec<(u32, u8)>, u64, Vec<Option<u64>>);

    fn several() -> impl Strategy<Value = Some3> {
        (2usize..6).prop_flat_map(|n| {
            let floor = u8::try_from(100 / n).unwrap();
            let of = prop::collection::vec((1u32..20, 0..=floor), n);
            (of, 0u64..500, prop::collection::vec(prop::option::of(0u64..600), n))
        })
    }

    proptest! {
        #[test]
        fn law_shares_fit_together_and_meet_their_floors((of, amount, _) in several()) {
            let entitled = parts(&of).entitled(amount);
            prop_assert!(entitled.iter().map(|e| e.share).sum::<u64>() <= amount);
            for (e, (_, floor)) in entitled.iter().zip(&of) {
                prop_assert_eq!(e.floor, amount * u64::from(*floor) / 100);
                prop_assert!(e.share >= e.floor);
            }
            let units_left = amount - entitled.iter().map(|e| e.share).sum::<u64>();
            prop_assert!(units_left < of.len() as u64, "no more is left over than a unit for each");
        }

        #[test]
        fn law_nothing_lies_idle_and_nobody_within_its_share_has_less((of, amount, asks) in several()) {
            let parts = parts(&of);
            let (given, entitled) = (parts.divided(amount, &asks), parts.entitled(amount));
            prop_assert!(given.iter().sum::<u64>() <= amount);
            for ((given, ask), e) in given.iter().zip(&asks).zip(&entitled) {
                prop_assert!(ask.is_none_or(|ask| *given <= ask));
                prop_assert!(*given >= ask.unwrap_or(u64::MAX).min(e.share), "{given} of a share of {}", e.share);
            }
            let wants_more = given.iter().zip(&asks).any(|(given, ask)| ask.is_none_or(|ask| ask > *given));
            let left = amount - given.iter().sum::<u64>();
            prop_assert!(!wants_more || left < of.len() as u64, "{left} idle");
        }
    }
}
