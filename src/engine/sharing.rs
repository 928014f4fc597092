//! What connections with one credential share (F1): the limits that they declare, the targets that are polled with it, and how often each
//! wishes to. Follows them as they change. Decides nothing: `rules::plan` does.

use super::planning::TokenLife;
use super::scans::Scan;
use super::targets::{Target, TargetSet};
use crate::domain::ids::{Caller, ConnectionKey, CredentialId, Endpoint};
use crate::domain::limit::{Kind, Limit};
use crate::domain::time::Span;
use crate::rules::budget::parts::Parts;
use crate::rules::plan::{Demand, Load, Plan, Question, plan, together};
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
    /// Who divides them, where several organizations spend.
    parts: RwLock<Option<Arc<Parts>>>,
    members: RwLock<BTreeMap<ConnectionKey, Member>>,
    /// How often each wishes to be polled, zero: as often as the limits let it; `None`: not at all.
    wishes: RwLock<BTreeMap<ConnectionKey, Option<Span>>>,
    pub token_life: TokenLife,
    /// What the store was told last.
    told: Mutex<Option<Reach>>,
    figures: Mutex<Option<Arc<Figures>>>,
}

/// What a connection may ask: its targets as they are now, and its scans.
#[derive(Default)]
struct Member {
    targets: Arc<TargetSet>,
    scans: Vec<Arc<Scan>>,
}

impl Member {
    fn all(&self) -> impl Iterator<Item = &Arc<Target>> {
        self.targets.iter().chain(self.scans.iter().map(|scan| &scan.question))
    }
    fn polled(&self) -> impl Iterator<Item = &Arc<Target>> {
        self.all().filter(|target| target.is_polled())
    }
    /// What every round asks.
    fn in_each_round(&self) -> impl Iterator<Item = &Arc<Target>> {
        let scans = self.scans.iter().filter(|scan| scan.interval.is_none()).map(|scan| &scan.question);
        self.targets.iter().chain(scans).filter(|target| target.is_polled())
    }
    /// Scans that have an interval of their own.
    fn beside(&self) -> impl Iterator<Item = Load> {
        let polled = self.scans.iter().filter(|scan| scan.question.is_polled());
        polled.filter_map(|scan| Some(Load { demands: vec![demand(&scan.question)?], every: scan.interval? }))
    }
    /// Targets that its rounds renew, however few requests that takes.
    fn renewed(&self) -> u64 {
        self.targets.iter().filter(|target| target.is_renewed()).count() as u64
    }
}

/// What follows from the members, until one of them is another.
struct Figures {
    of: u64,
    asked: BTreeMap<ConnectionKey, Arc<Asked>>,
    in_use: Arc<Vec<Endpoint>>,
    plans: Mutex<HashMap<(ConnectionKey, Wish), Arc<Plan>>>,
}

/// What one round of a connection asks, and how many targets that renews.
#[derive(Default)]
pub struct Asked {
    pub demands: Vec<Demand>,
    pub targets: u64,
    /// What is not in each of them: scans that have an interval of their own.
    beside: Vec<Load>,
}

impl Asked {
    /// Rounds begin no more often than `every`, and neither does what has an interval of its own.
    pub fn beside(&self, every: Span) -> impl Iterator<Item = Load> {
        self.beside.iter().map(move |load| Load { every: load.every.max(every), ..load.clone() })
    }
}

/// How often, and for how long where not for ever.
type Wish = (Span, Option<Span>);

impl Sharing {
    pub fn new(
        credential: CredentialId,
        limits: Vec<Limit>,
        commanded: BTreeSet<Endpoint>,
        parts: Option<Parts>,
    ) -> Sharing {
        let (in_force, members, told, figures) = Default::default();
        let parts = RwLock::new(parts.map(Arc::new));
        let (wishes, token_life) = Default::default();
        Sharing { credential, limits, commanded, in_force, parts, members, wishes, token_life, told, figures }
    }

    /// Whether the provider counts what it has in hand at one moment.
    pub fn counts_in_flight(&self) -> bool {
        self.limits.iter().any(|limit| limit.kind == Kind::Concurrent)
    }

    /// The organizations that divide it; `None`: one has all of it.
    pub fn parts(&self) -> Option<Arc<Parts>> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// They have these parts from now on.
    pub fn divide(&self, parts: Parts, store: &Store) {
        store.divide(self.credential, parts.clone());
        *self.parts.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(parts));
        self.take_limits(store);
    }

    /// A connection wishes to be polled so often from now on; `None`: not at all.
    pub fn wishes(&self, connection: &ConnectionKey, every: Option<Span>) {
        self.wishes.write().unwrap_or_else(PoisonError::into_inner).insert(connection.clone(), every);
    }

    /// How often a connection wishes to be polled.
    pub fn wish(&self, connection: &ConnectionKey) -> Option<Span> {
        self.wishes.read().unwrap_or_else(PoisonError::into_inner).get(connection).copied().flatten()
    }

    /// A connection has another credential now: it asks nothing of this one any more.
    pub fn leave(&self, connection: &ConnectionKey, store: &Store) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        self.members.write().unwrap_or_else(PoisonError::into_inner).remove(connection);
        self.wishes.write().unwrap_or_else(PoisonError::into_inner).remove(connection);
        let reach = self.reach();
        store.set_reach(self.credential, &reach);
        *told = Some(reach);
        let stays = self
            .wishes
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .keys()
            .any(|key| key.organization == connection.organization);
        match self.parts().filter(|_| !stays) {
            Some(parts) => self.divide((*parts).clone().without(&connection.organization), store),
            None => self.take_limits(store),
        }
    }

    /// A connection has these scans. Said before it is followed.
    pub fn scan(&self, connection: &ConnectionKey, scans: Vec<Arc<Scan>>) {
        self.members.write().unwrap_or_else(PoisonError::into_inner).entry(connection.clone()).or_default().scans =
            scans;
    }

    /// A connection polls these from now on. Where the callers come is told to the store before anything is asked.
    pub fn follow(&self, connection: &ConnectionKey, targets: Arc<TargetSet>, store: &Store) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        self.members.write().unwrap_or_else(PoisonError::into_inner).entry(connection.clone()).or_default().targets =
            targets;
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
            members.values().flat_map(Member::all).filter_map(|target| target.endpoint.clone()).collect();
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

    /// What each connection asks in a round, and how often it wishes to.
    pub fn asked(&self) -> Vec<(ConnectionKey, Arc<Asked>, Option<Span>)> {
        let wishes = self.wishes.read().unwrap_or_else(PoisonError::into_inner).clone();
        let wish = |key: &ConnectionKey| wishes.get(key).copied().flatten();
        let figures = self.figures();
        figures.asked.iter().map(|(key, asked)| (key.clone(), Arc::clone(asked), wish(key))).collect()
    }

    /// The endpoints that are polled.
    pub fn in_use(&self) -> Arc<Vec<Endpoint>> {
        Arc::clone(&self.figures().in_use)
    }

    /// The plan of a connection; `question`: what there is to plan, where it was not planned yet.
    pub fn plan(
        &self,
        (connection, wish): (&ConnectionKey, Wish),
        question: impl for<'q> FnOnce(&'q [Limit]) -> Question<'q>,
    ) -> Arc<Plan> {
        let (figures, limits) = (self.figures(), self.in_force());
        let planned = || figures.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let about = (connection.clone(), wish);
        if let Some(plan) = planned().get(&about) {
            return Arc::clone(plan);
        }
        let plan = Arc::new(plan(&question(&limits)));
        planned().insert(about, Arc::clone(&plan));
        plan
    }

    /// A thousand targets are planned for with every answer: reckoned again only where one of them is another, costs more, has more
    /// pages or is not polled any more.
    fn figures(&self) -> Arc<Figures> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let mixed = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        let polled = members.values().flat_map(Member::polled);
        let of = polled.fold(self.token_life.get().0, |hash, target| {
            mixed(hash, target.revision << 40 ^ u64::from(target.pages.get()) << 20 ^ u64::from(target.cost()))
        });
        let of = members.values().map(Member::renewed).fold(of, mixed);
        let wishes = self.wishes.read().unwrap_or_else(PoisonError::into_inner);
        let of = wishes.values().fold(of, |hash, every| mixed(hash, every.map_or(u64::MAX, |every| every.0)));
        let mut kept = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = kept.as_ref().filter(|figures| figures.of == of) {
            return Arc::clone(figures);
        }
        let figures = Arc::new(reckoned(of, &members));
        *kept = Some(Arc::clone(&figures));
        figures
    }
}

/// As it is now.
fn demand(target: &Arc<Target>) -> Option<Demand> {
    Demand::of(&target.spec, target.pages.get(), target.cost())
}

fn reckoned(of: u64, members: &BTreeMap<ConnectionKey, Member>) -> Figures {
    let asked = |member: &Member| {
        let demands = together(member.in_each_round().filter_map(demand));
        Arc::new(Asked { demands, targets: member.renewed(), beside: member.beside().collect() })
    };
    let mut in_use: Vec<Endpoint> =
        members.values().flat_map(Member::polled).filter_map(|target| target.endpoint.clone()).collect();
    in_use.sort_unstable();
    in_use.dedup();
    let asked = members.iter().map(|(key, member)| (key.clone(), asked(member))).collect();
    Figures { of, asked, in_use: Arc::new(in_use), plans: Mutex::default() }
}

/// All budgets by their credentials.
pub type Budgets = HashMap<CredentialId, Arc<Sharing>>;
