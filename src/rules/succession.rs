//! From one secret to the next: which budget requests with it spend from (F1). Knows fingerprints; must not know where they come from.

use crate::domain::credential::{CredentialState, Had, NewSecret};
use crate::domain::ids::CredentialId;
use crate::domain::time::Stamp;

/// Secrets of a connection that are remembered: rotated every day, those of two months.
const MOST_HAD: usize = 64;

/// Two secrets are said to be one account's, and spend from two budgets: what was spent with one would not count for the other (law 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoBudgets;

/// What is remembered of a connection once it has this secret. `known`: what is remembered of all others, which may have had it before or
/// have it now; two connections with one secret spend from one budget, whatever each of them says of its account.
///
/// `before` is `None` for a connection that nothing is remembered of: then its secret is the first of its account.
pub fn succeed(
    before: Option<&CredentialState>,
    known: &[CredentialState],
    secret: CredentialId,
    new: NewSecret,
    now: Stamp,
) -> Result<CredentialState, TwoBudgets> {
    let (first, unknown) = (CredentialState::default(), before.is_none());
    let before = before.unwrap_or(&first);
    if before.had.last().is_some_and(|had| had.secret == secret) {
        return Ok(before.clone());
    }
    let elsewhere = || known.iter().find_map(|state| state.counted(secret));
    let as_before = || before.counts_for().filter(|_| new == NewSecret::SameAccount);
    let known_as = before.counted(secret).or_else(elsewhere);
    if known_as.zip(as_before()).is_some_and(|(of_secret, of_before)| of_secret != of_before) {
        return Err(TwoBudgets);
    }
    let counts_for = known_as.or_else(as_before).unwrap_or(secret);
    let mut had: Vec<Had> = before.had.iter().filter(|had| had.secret != secret).copied().collect();
    had.push(Had { secret, counts_for });
    had.drain(..had.len().saturating_sub(MOST_HAD));
    let stays = unknown || before.counts_for().is_none_or(|of_before| of_before == counts_for);
    let since = if stays { before.since } else { now };
    Ok(CredentialState { had, since, set: before.set.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{Steady, Wall};
    use proptest::prelude::*;

    const A: CredentialId = CredentialId([1; 16]);
    const B: CredentialId = CredentialId([2; 16]);
    const C: CredentialId = CredentialId([3; 16]);

    fn at(n: u64) -> Stamp {
        Stamp { steady: Steady(n), wall: Wall(n as i64), era: 0 }
    }

    fn first(secret: CredentialId) -> CredentialState {
        succeed(None, &[], secret, NewSecret::OwnBudget, at(5)).unwrap()
    }

    fn next(before: &CredentialState, secret: CredentialId, new: NewSecret, n: u64) -> CredentialState {
        succeed(Some(before), &[], secret, new, at(n)).unwrap()
    }

    #[test]
    fn the_first_secret_is_its_own_account_and_always_was() {
        let state = first(A);
        assert_eq!((state.counts_for(), state.since), (Some(A), Stamp::default()));
    }

    #[test]
    fn the_same_secret_again_changes_nothing() {
        let state = next(&first(A), B, NewSecret::OwnBudget, 9);
        assert_eq!(next(&state, B, NewSecret::SameAccount, 50), state);
    }

    #[test]
    fn another_secret_begins_a_budget_and_goes_back_to_its_own() {
        let second = next(&first(A), B, NewSecret::OwnBudget, 9);
        assert_eq!((second.counts_for(), second.since), (Some(B), at(9)));
        let back = next(&second, A, NewSecret::OwnBudget, 20);
        assert_eq!((back.counts_for(), back.since), (Some(A), at(20)));
    }

    #[test]
    fn another_key_of_the_same_account_counts_on() {
        let second = next(&first(A), B, NewSecret::SameAccount, 9);
        assert_eq!((second.counts_for(), second.since), (Some(A), Stamp::default()));
        let third = next(&second, C, NewSecret::SameAccount, 10);
        assert_eq!(third.counts_for(), Some(A));
        // Said no more: what was counted for the account stays so.
        let apart = next(&third, B, NewSecret::OwnBudget, 11);
        assert_eq!(apart.counts_for(), Some(A));
    }

    #[test]
    fn f1_who_gets_the_secret_of_another_spends_from_its_budget() {
        let account = next(&first(A), B, NewSecret::SameAccount, 9);
        let other = succeed(Some(&first(C)), std::slice::from_ref(&account), B, NewSecret::OwnBudget, at(12)).unwrap();
        assert_eq!((other.counts_for(), other.since), (Some(A), at(12)));
        let new = succeed(None, &[account], B, NewSecret::OwnBudget, at(12)).unwrap();
        assert_eq!(new.counts_for(), Some(A));
    }

    #[test]
    fn law_1_one_account_is_not_spent_from_two_budgets() {
        let (mine, others) = (first(A), first(B));
        let same = |known: &[CredentialState]| succeed(Some(&mine), known, B, NewSecret::SameAccount, at(9));
        assert_eq!(same(std::slice::from_ref(&others)), Err(TwoBudgets), "another connection spends from B's own");
        let gone_over = next(&mine, B, NewSecret::OwnBudget, 9);
        assert_eq!(succeed(Some(&gone_over), &[], A, NewSecret::SameAccount, at(10)), Err(TwoBudgets), "nor back");
        // It is the account's already.
        let sibling = next(&first(A), B, NewSecret::SameAccount, 8);
        assert_eq!(same(&[sibling]).map(|state| state.counts_for()), Ok(Some(A)));
    }

    proptest! {
        /// Law 1 over any number of rotations: one secret never spends from two budgets, and an account that says so has one.
        #[test]
        fn f1_one_secret_spends_from_one_budget(
            steps in proptest::collection::vec((0..3usize, 0..6u8, any::<bool>()), 1..60),
        ) {
            let mut states: Vec<Option<CredentialState>> = vec![None; 3];
            for (n, (connection, secret, same)) in steps.into_iter().enumerate() {
                let secret = CredentialId([secret; 16]);
                let new = if same { NewSecret::SameAccount } else { NewSecret::OwnBudget };
                let known: Vec<CredentialState> = states.iter().flatten().cloned().collect();
                let before = states[connection].clone();
                let seen_before = known.iter().any(|state| state.counted(secret).is_some());
                let Ok(next) = succeed(before.as_ref(), &known, secret, new, at(n as u64)) else {
                    prop_assert!(same && seen_before, "refused without a reason");
                    continue;
                };
                prop_assert_eq!(next.had.last().map(|had| had.secret), Some(secret));
                if let Some(before) = before.filter(|_| same) {
                    prop_assert_eq!(next.counts_for(), before.counts_for(), "what was spent counts on");
                }
                states[connection] = Some(next);
                let of_secret = |s: &CredentialState| s.counted(secret);
                let mut budgets: Vec<CredentialId> = states.iter().flatten().filter_map(of_secret).collect();
                budgets.dedup();
                prop_assert!(budgets.len() <= 1, "{:?} spends from {:?}", secret, budgets);
            }
        }
    }
}
