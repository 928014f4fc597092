//! The targets of a connection as they run: a set that changes while it runs. Readers and rounds take a snapshot; who changes it writes
//! down the change first and publishes the new set then. Must not know how a target is asked.

use super::fetch::scan::Flight;
use crate::domain::ids::{ConnectionKey, Endpoint, TargetKey, TargetName};
use crate::domain::observation::Became;
use crate::domain::page::Scan;
use crate::domain::spec::TargetSpec;
use crate::domain::target::Life;
use crate::domain::time::{Now, Span, Stamp, Steady};
use crate::rules::asking::CostFrom;
use crate::rules::complete::Completion;
use crate::rules::extract::Extractor;
use crate::rules::lifecycle;
use crate::rules::paging::Pager;
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// A target as it runs. What it asks does not change: another question is another `Target` of the same name.
pub struct Target {
    pub key: TargetKey,
    pub spec: TargetSpec,
    /// Where its requests are counted; `None`: it is fed by scans alone.
    pub endpoint: Option<Endpoint>,
    pub origin: Origin,
    pub extractor: Extractor,
    pub completion: Option<Completion>,
    pub cost_from: Option<CostFrom>,
    /// The most that an answer said its request cost; 0 before the first.
    learned_cost: AtomicU32,
    /// Set where its list comes page by page.
    pub pager: Option<Pager>,
    /// One request for a target at a time; followers find the leader's answer on the shelf. Inside: the reading under way. Shared with
    /// the target of this name before and after it.
    pub flight: Arc<tokio::sync::Mutex<Flight>>,
    /// Tells the questions of one name apart.
    pub revision: u64,
    pub pages: Pages,
    /// What is durable of its life.
    life: RwLock<Life>,
    watched: AtomicBool,
    spared: AtomicBool,
    /// Steady ms of the answer that was kept last to try words on; 0: none by this process.
    sampled_at: AtomicU64,
}

/// Who wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `larder.toml` or the recipe.
    Configured,
    Put {
        by: String,
        at: Stamp,
    },
}

/// What is known of a target beside its question.
pub struct Known {
    pub origin: Origin,
    pub life: Life,
    pub scan: Option<Scan>,
    pub learned_cost: u32,
}

impl Target {
    /// `time_zone`: the provider's. The error is a sentence.
    pub fn compile(
        (connection, time_zone): (&ConnectionKey, &str),
        spec: TargetSpec,
        known: Known,
        targets: &Targets,
    ) -> Result<Target, String> {
        let key = TargetKey { connection: connection.clone(), target: spec.name.clone() };
        Ok(Target {
            endpoint: spec.endpoint(),
            origin: known.origin,
            extractor: Extractor::compile(&spec, time_zone).map_err(|e| e.join("; "))?,
            completion: spec.complete.as_deref().map(Completion::parse).transpose()?,
            cost_from: spec.send.cost_from.as_deref().map(CostFrom::parse).transpose()?,
            learned_cost: AtomicU32::new(known.learned_cost),
            pager: spec.page.as_ref().map(Pager::compile).transpose().map_err(|e| e.join("; "))?,
            flight: targets.flight(&spec.name),
            revision: targets.revisions.fetch_add(1, Ordering::Relaxed),
            pages: Pages::known(known.scan.as_ref()),
            watched: AtomicBool::new(false),
            spared: AtomicBool::new(false),
            sampled_at: AtomicU64::new(0),
            life: RwLock::new(known.life),
            key,
            spec,
        })
    }

    /// What the next request takes: as declared, or as much as the provider ever named since.
    pub fn cost(&self) -> u32 {
        self.spec.cost.max(self.learned_cost.load(Ordering::Relaxed))
    }
    pub fn learn_cost(&self, cost: Option<u32>) {
        self.learned_cost.fetch_max(cost.unwrap_or(0), Ordering::Relaxed);
    }

    /// Whether the answer that is kept to try words on is so old.
    pub fn is_sample_due(&self, now: Steady, every: Span) -> bool {
        let last = self.sampled_at.load(Ordering::Relaxed);
        last == 0 || now >= Steady(last) + every
    }
    pub fn is_sampled(&self, at: Steady) {
        self.sampled_at.store(at.0.max(1), Ordering::Relaxed);
    }

    pub fn life(&self) -> Life {
        self.life.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// After it became durable.
    pub fn live(&self, life: Life) {
        *self.life.write().unwrap_or_else(PoisonError::into_inner) = life;
    }

    /// Whether its changes are told and its condition is asked.
    pub fn speaks(&self) -> bool {
        lifecycle::speaks(self.life.read().unwrap_or_else(PoisonError::into_inner).phase)
    }

    /// Whether polls ask about it, as far as its phase goes. What polls keep to until they look again.
    pub fn look(&self, grace: Option<Span>, now: &Now) -> bool {
        let watched = lifecycle::is_watched(&self.life.read().unwrap_or_else(PoisonError::into_inner), grace, now);
        self.watched.store(watched, Ordering::Relaxed);
        watched
    }
    /// As it was at the last look.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }
    /// Whether polls leave it out: a target to which a scan brings its rows, or a scan whose targets are asked one by one. Who asks about it
    /// alone may do so all the same.
    pub fn spare(&self, spared: bool) {
        self.spared.store(spared, Ordering::Relaxed);
    }
    pub fn is_spared(&self) -> bool {
        self.spared.load(Ordering::Relaxed)
    }
    /// Whether rounds renew it: by a request of its own, or by a scan that brings it its rows.
    pub fn is_renewed(&self) -> bool {
        self.is_watched() && (self.endpoint.is_some() || self.is_spared())
    }
    /// Whether it costs anything to poll it.
    pub fn is_polled(&self) -> bool {
        self.endpoint.is_some() && self.is_watched() && !self.is_spared()
    }
}

/// Pages that a reading of a target is expected to take: as many as the last complete one, one before it. Its durable form is
/// [`crate::domain::page::Scan::usual_pages`].
#[derive(Debug)]
pub struct Pages(AtomicU32);

impl Pages {
    pub fn known(scan: Option<&Scan>) -> Pages {
        let pages = Pages(AtomicU32::default());
        pages.learn(scan);
        pages
    }
    pub fn learn(&self, scan: Option<&Scan>) {
        self.0.store(scan.map_or(1, |scan| scan.usual_pages.max(1)), Ordering::Relaxed);
    }
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The targets of a connection at one moment: those of the file in its order, then those that were put.
#[derive(Clone, Default)]
pub struct TargetSet {
    list: Vec<Arc<Target>>,
    places: HashMap<TargetName, usize>,
}

impl Deref for TargetSet {
    type Target = [Arc<Target>];
    fn deref(&self) -> &[Arc<Target>] {
        &self.list
    }
}

impl TargetSet {
    pub fn of(list: Vec<Arc<Target>>) -> TargetSet {
        let places = list.iter().enumerate().map(|(at, target)| (target.key.target.clone(), at)).collect();
        TargetSet { list, places }
    }
    pub fn named(&self, name: &TargetName) -> Option<&Arc<Target>> {
        self.places.get(name).and_then(|at| self.list.get(*at))
    }
    fn with(&self, target: Arc<Target>) -> TargetSet {
        let mut set = self.clone();
        match set.places.get(&target.key.target).copied() {
            Some(at) => set.list[at] = target,
            None => {
                set.places.insert(target.key.target.clone(), set.list.len());
                set.list.push(target);
            }
        }
        set
    }
    fn without(&self, name: &TargetName) -> TargetSet {
        TargetSet::of(self.list.iter().filter(|target| target.key.target != *name).cloned().collect())
    }
}

/// The set as it changes.
#[derive(Default)]
pub struct Targets {
    set: RwLock<Arc<TargetSet>>,
    /// Held over the commit of a change, so that what is durable and what runs keep one order.
    pub changing: tokio::sync::Mutex<()>,
    /// One pushed answer at a time is looked up and written down: of two with one id one is the first.
    pub intake: tokio::sync::Mutex<()>,
    /// What became of those that were pushed since the start.
    pub pushed: Mutex<BTreeMap<Became, u64>>,
    /// Of targets that run, or ran and still have a request out.
    flights: Mutex<HashMap<TargetName, Weak<tokio::sync::Mutex<Flight>>>>,
    revisions: AtomicU64,
}

impl Targets {
    /// Cheap: a round, a page, an answer takes one.
    pub fn now(&self) -> Arc<TargetSet> {
        Arc::clone(&self.set.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// In the place of the one of its name, or behind the others.
    pub fn put(&self, target: Arc<Target>) {
        let mut set = self.set.write().unwrap_or_else(PoisonError::into_inner);
        *set = Arc::new(set.with(target));
    }

    /// All of them, in this order.
    pub fn replace(&self, targets: Vec<Arc<Target>>) {
        *self.set.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(TargetSet::of(targets));
    }

    pub fn remove(&self, name: &TargetName) {
        let mut set = self.set.write().unwrap_or_else(PoisonError::into_inner);
        *set = Arc::new(set.without(name));
    }

    /// The one request at a time of everything that ever has this name: an answer to an old question and one to a new must not write
    /// over each other.
    fn flight(&self, name: &TargetName) -> Arc<tokio::sync::Mutex<Flight>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(name).and_then(Weak::upgrade) {
            return flight;
        }
        flights.retain(|_, flight| flight.strong_count() > 0);
        let flight = Arc::default();
        flights.insert(name.clone(), Arc::downgrade(&flight));
        flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::send::SendSpec;
    use crate::domain::target::Phase;
    use crate::domain::time::ClockTrust;

    fn target(name: &str, targets: &Targets) -> Arc<Target> {
        let spec = TargetSpec {
            name: name.into(),
            get: Some("/tasks?job={target}".into()),
            send: SendSpec::default(),
            cost: 1,
            page: None,
            items: "$[*]".into(),
            key: "$.id".into(),
            title: None,
            fresh_for: None,
            expires_after: None,
            fields: vec![],
            states: vec![],
            volatile: vec![],
            observed_at: None,
            complete: None,
            push: false,
        };
        let connection = ConnectionKey { organization: Default::default(), connection: "field".into() };
        let known = Known { origin: Origin::Configured, life: Life::default(), scan: None, learned_cost: 0 };
        Arc::new(Target::compile((&connection, "UTC"), spec, known, targets).unwrap())
    }

    fn names(set: &TargetSet) -> Vec<&str> {
        set.iter().map(|t| t.key.target.as_str()).collect()
    }

    #[test]
    fn a_snapshot_stays_while_the_set_changes() {
        let targets = Targets::default();
        ["a", "b", "c"].into_iter().for_each(|name| targets.put(target(name, &targets)));
        let before = targets.now();
        targets.remove(&"b".into());
        targets.put(target("d", &targets));
        let anew = target("a", &targets);
        targets.put(Arc::clone(&anew));
        assert_eq!(names(&before), ["a", "b", "c"]);
        assert_eq!(names(&targets.now()), ["a", "c", "d"]);
        assert_eq!(targets.now().named(&"a".into()).unwrap().revision, anew.revision);
        assert_ne!(before[0].revision, anew.revision);
        assert!(targets.now().named(&"b".into()).is_none());
    }

    #[test]
    fn whoever_has_a_name_asks_behind_who_had_it_before() {
        let targets = Targets::default();
        let (first, other) = (target("a", &targets), target("b", &targets));
        let out = first.flight.try_lock().unwrap();
        let second = target("a", &targets);
        assert!(second.flight.try_lock().is_err(), "a request is out for its name");
        assert!(other.flight.try_lock().is_ok());
        drop(out);
        assert!(second.flight.try_lock().is_ok());
    }

    #[test]
    fn polls_keep_to_the_last_look() {
        let targets = Targets::default();
        let target = target("a", &targets);
        let now = Now { steady: Steady(1000), era: 0, trust: ClockTrust::Trusted, offsets: vec![0] };
        assert!(target.look(None, &now) && target.is_polled());
        target.live(lifecycle::moved(&target.life(), Phase::Stopped, ("ann", None), now.stamp()));
        assert!(!target.look(None, &now) && !target.is_polled());
    }
}
