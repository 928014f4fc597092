//! What connections with one credential share (F1): the limits that they declare, and the targets that are polled with it. Follows the
//! targets as they change. Decides nothing: `rules::plan` does.

use super::targets::{Target, TargetSet};
use crate::domain::ids::{Caller, ConnectionKey, CredentialId, Endpoint};
use crate::domain::limit::Limit;
use crate::domain::time::Span;
use crate::rules::plan::{self, Demand};
use crate::store::Store;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Where each caller comes.
type Reach = BTreeMap<Caller, BTreeSet<Endpoint>>;

/// The budget of one credential, as the engine knows it.
pub struct Sharing {
    pub credential: CredentialId,
    /// As declared, of all connections together.
    pub limits: Vec<Limit>,
    /// Where commands go.
    commanded: BTreeSet<Endpoint>,
    /// The same with the amounts that the provider keeps to.
    in_force: RwLock<Arc<Vec<Limit>>>,
    members: RwLock<BTreeMap<ConnectionKey, Arc<TargetSet>>>,
    /// What the store was told last.
    told: Mutex<Option<Reach>>,
    figures: Mutex<Option<Arc<Figures>>>,
}

/// What follows from the members, until one of them is another.
struct Figures {
    of: u64,
    demands: Arc<Vec<Demand>>,
    in_use: Arc<Vec<Endpoint>>,
    shortest: Option<Span>,
}

impl Sharing {
    pub fn new(credential: CredentialId, limits: Vec<Limit>, commanded: BTreeSet<Endpoint>) -> Sharing {
        let (in_force, members, told, figures) = Default::default();
        Sharing { credential, limits, commanded, in_force, members, told, figures }
    }

    /// A connection polls these from now on. Where the callers come is told to the store before anything is asked.
    pub fn follow(&self, connection: &ConnectionKey, targets: Arc<TargetSet>, store: &Store) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        self.members.write().unwrap_or_else(PoisonError::into_inner).insert(connection.clone(), targets);
        let reach = self.reach();
        if told.as_ref() != Some(&reach) {
            store.set_reach(self.credential, &reach);
            *told = Some(reach);
            self.take_limits(store);
        }
    }

    /// Of what is kept for a caller nothing is kept where it never goes. What nobody polls now can be polled again.
    fn reach(&self) -> Reach {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let looked_at: BTreeSet<Endpoint> =
            members.values().flat_map(|set| set.iter()).filter_map(|target| target.endpoint.clone()).collect();
        let by_target = [Caller::Poller, Caller::Trigger, Caller::Refresh].map(|caller| (caller, looked_at.clone()));
        by_target.into_iter().chain([(Caller::Command, self.commanded.clone())]).collect()
    }

    /// The limits as the store knows them now.
    pub fn take_limits(&self, store: &Store) {
        let limits = Arc::new(store.limits_in_force(self.credential));
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = limits;
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub fn in_force(&self) -> Arc<Vec<Limit>> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What one round of everybody who spends from this budget takes.
    pub fn demands(&self) -> Arc<Vec<Demand>> {
        Arc::clone(&self.figures().demands)
    }

    /// The endpoints that are polled.
    pub fn in_use(&self) -> Arc<Vec<Endpoint>> {
        Arc::clone(&self.figures().in_use)
    }

    /// The shortest interval that the budget keeps up for ever; `None`: it leaves polls nothing.
    pub fn shortest(&self) -> Option<Span> {
        self.figures().shortest
    }

    /// A thousand targets are planned for with every answer: reckoned again only where one of them is another, costs more, has more
    /// pages or is not polled any more.
    fn figures(&self) -> Arc<Figures> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let polled = || members.values().flat_map(|set| set.iter()).filter(|target| target.is_polled());
        let of = polled().fold(0, |hash: u64, target| {
            let word = target.revision << 40 ^ u64::from(target.pages.get()) << 20 ^ u64::from(target.cost());
            (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
        });
        let mut kept = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = kept.as_ref().filter(|figures| figures.of == of) {
            return Arc::clone(figures);
        }
        let figures = Arc::new(self.reckoned(of, polled()));
        *kept = Some(Arc::clone(&figures));
        figures
    }

    fn reckoned<'a>(&self, of: u64, polled: impl Iterator<Item = &'a Arc<Target>> + Clone) -> Figures {
        let demands: Vec<Demand> = polled.clone().filter_map(|t| Demand::of(&t.spec, t.pages.get())).collect();
        let mut in_use: Vec<Endpoint> = polled.filter_map(|t| t.endpoint.clone()).collect();
        in_use.sort_unstable();
        in_use.dedup();
        let shortest = plan::plan(&self.in_force(), &demands, None).shortest_interval;
        Figures { of, demands: Arc::new(demands), in_use: Arc::new(in_use), shortest }
    }
}

/// All budgets by their credentials.
pub type Budgets = HashMap<CredentialId, Arc<Sharing>>;
