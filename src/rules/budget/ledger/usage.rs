//! How the limits of a ledger stand, for those who look at them. Decides nothing.

use super::{Counter, Ledger, Role};
use crate::domain::ids::Endpoint;
use crate::domain::limit::{Limit, Scope};
use crate::domain::time::Now;
use crate::rules::budget::Usage;
use crate::rules::budget::open::Open;
use crate::rules::budget::share::unused_keep;
use crate::rules::budget::window::{Window, just_after_minus};

impl Counter {
    fn usage(&self, key: &Option<Endpoint>, now: &Now, open: &Open) -> Usage {
        let (book, in_force) = (self.books.get(key), self.window(key));
        let live = book.map(|b| b.live(in_force, now)).unwrap_or_default();
        let counting = live.plus(&self.standing(key, open));
        let shown = match (in_force, book) {
            // A paced limit forgets at once; people want to see what went out over the window it is declared for.
            (Window::Pace { window, .. }, Some(b)) => b.since(just_after_minus(now.steady, *window)),
            _ => counting,
        };
        let taken = self.shares.get(key).and_then(|share| share.taken(now));
        let own_free = book.and_then(|b| b.counting(in_force, now).next()).map(|(release, _)| release);
        Usage {
            limit: Limit { amount: self.in_force(key), ..self.limit.clone() },
            declared: self.limit.amount,
            endpoint: key.clone(),
            used: shown.total(),
            used_by: shown.by_caller(),
            foreign: taken.map_or(0, |(units, _)| units),
            kept: unused_keep(&self.limit, key.as_ref(), &counting, None),
            next_free_at: own_free.into_iter().chain(taken.map(|(_, release)| release)).min(),
            resets_at: match (in_force, book) {
                (Window::Anchored { .. }, Some(b)) => b.counting(in_force, now).last().map(|(release, _)| release),
                (window, _) => window.resets_at(now),
            },
        }
    }
}

impl Ledger {
    /// How every limit stands. Limits by endpoint are told for `endpoints` and for every endpoint that still counts.
    pub fn usage(&self, now: &Now, endpoints: &[Endpoint]) -> Vec<Usage> {
        let mut all = Vec::new();
        for counter in self.counters.iter().filter(|c| c.role == Role::Shown) {
            match counter.limit.scope {
                Scope::Credential => all.push(counter.usage(&None, now, &self.open)),
                Scope::Endpoint => {
                    let counted = counter.books.keys().filter_map(Clone::clone);
                    let mut keys: Vec<Endpoint> = endpoints.iter().cloned().chain(counted).collect();
                    keys.sort();
                    keys.dedup();
                    all.extend(keys.into_iter().map(|k| counter.usage(&Some(k), now, &self.open)));
                }
            }
        }
        all
    }
}
