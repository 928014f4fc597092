//! How the limits of a ledger stand, for those who look at them. Decides nothing.

use super::Ledger;
use super::counter::{Counter, Role};
use crate::domain::ids::Endpoint;
use crate::domain::limit::{Limit, Scope};
use crate::domain::time::Now;
use crate::rules::budget::open::Open;
use crate::rules::budget::parts::{Entitled, Parts};
use crate::rules::budget::share::unused_keep;
use crate::rules::budget::window::{Window, just_after_minus};
use crate::rules::budget::{PartUsage, Usage};

impl Counter {
    fn usage(&self, key: &Option<Endpoint>, now: &Now, open: &Open, parts: Option<&Parts>) -> Usage {
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
            parts: parts.filter(|_| self.lends()).map(|parts| self.parts(key, now, open, parts)).unwrap_or_default(),
            resets_at: match (in_force, book) {
                (Window::Anchored { .. }, Some(b)) => b.counting(in_force, now).last().map(|(release, _)| release),
                (window, _) => window.resets_at(now),
            },
        }
    }

    fn parts(&self, key: &Option<Endpoint>, now: &Now, open: &Open, parts: &Parts) -> Vec<PartUsage> {
        let others = self.shares.get(key).and_then(|share| share.taken(now)).map_or(0, |(units, _)| units);
        let look = self.look(key, parts, open, now);
        let standing = parts.names().zip(self.entitled(key, parts, others)).enumerate();
        let there = standing.filter(|(place, _)| parts.has(*place));
        let usage = there.map(|(place, (name, Entitled { share, floor }))| {
            let (used, held) = (look.used(place), look.held_for(place, Entitled { share, floor }));
            PartUsage { organization: name.clone(), share, floor, used, held }
        });
        usage.collect()
    }
}

impl Ledger {
    /// How every limit stands. Limits by endpoint are told for `endpoints` and for every endpoint that still counts.
    pub fn usage(&self, now: &Now, endpoints: &[Endpoint]) -> Vec<Usage> {
        let mut all = Vec::new();
        for counter in self.counters.iter().filter(|c| c.role == Role::Shown) {
            match counter.limit.scope {
                Scope::Credential => all.push(counter.usage(&None, now, &self.open, self.parts.as_ref())),
                Scope::Endpoint => {
                    let counted = counter.books.keys().filter_map(Clone::clone);
                    let mut keys: Vec<Endpoint> = endpoints.iter().cloned().chain(counted).collect();
                    keys.sort();
                    keys.dedup();
                    all.extend(keys.into_iter().map(|k| counter.usage(&Some(k), now, &self.open, self.parts.as_ref())));
                }
            }
        }
        all
    }
}
