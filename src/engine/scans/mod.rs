//! Scans as they run (F12): one reading, page by page, that feeds many targets. Pages are asked by `fetch::scanning`, a whole reading is put
//! in force by [`publish`]; [`show`] tells readers about both. Knows who is fed by whom.
//!
//! What a page said is in the file with the charge that paid for it, so that a crash goes on with the next page and asks none again; the
//! reading is given up where its question or the credential is another by then, or its last page is too old.

pub mod publish;
pub mod show;

use super::core::{Conn, Core};
use super::fetch::scan::RESUME_WITHIN;
use super::targets::{Target, TargetSet};
use crate::domain::ids::{TargetKey, TargetName};
use crate::domain::page::Ask;
use crate::domain::scan::{Building, ScanSpec, ScanState};
use crate::domain::time::{Now, Span};
use crate::rules::feed::{Feeds, Gathering};
use crate::rules::plan::Demand;
use crate::rules::plan::choice::{Choice, Way, choose};
use crate::store::{Commit, Generation, GenerationRow, Lane, Store, StoreError, Write};
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

/// Names in one row of the file.
const NAMES: usize = 512;
/// Rows that are written, moved or taken away in one transaction: a charge that waits behind it waits for some hundredths of a second.
pub const BATCH: usize = 2_048;

/// After a failure of the store: how long before the next attempt.
const PAUSE: Span = Span::from_secs(60);
/// Rounds come a little early or late; an interval is kept to the round that is nearest, up to this.
const NEAREST: Span = Span::from_secs(5);

/// A scan of a connection.
pub struct Scan {
    /// What it asks, under its own name. It has no items: they are its targets'.
    pub question: Arc<Target>,
    pub feeds: Feeds,
    pub interval: Option<Span>,
    /// The targets that its generations have named, as durable.
    members: RwLock<Arc<HashSet<TargetName>>>,
    /// One page at a time. Inside: the reading under way.
    pub work: tokio::sync::Mutex<Work>,
}

/// Where a scan stands, as whoever asks its next page has it.
#[derive(Default)]
pub struct Work {
    pub state: ScanState,
    /// Of the reading under way.
    pub gathering: Option<Gathering>,
    /// Number of its next row of what pages said.
    pub next_seen: u64,
    /// Pages with which it was said to wait.
    pub told: Option<u32>,
    is_read: bool,
}

impl Scan {
    pub fn new(question: Target, spec: &ScanSpec, store: &Store) -> Result<Scan, String> {
        let members = store.scan_members(&question.key).map_err(|e| e.to_string())?;
        Ok(Scan {
            feeds: Feeds::compile(&spec.feeds)?,
            interval: spec.interval,
            members: RwLock::new(Arc::new(members.into_iter().collect())),
            work: tokio::sync::Mutex::default(),
            question: Arc::new(question),
        })
    }

    pub fn key(&self) -> &TargetKey {
        &self.question.key
    }

    pub fn name(&self) -> &str {
        self.question.key.target.as_str()
    }

    /// Its targets are asked one by one meanwhile, which costs less.
    pub fn rests(&self) -> bool {
        self.question.is_spared()
    }

    pub fn members(&self) -> Arc<HashSet<TargetName>> {
        Arc::clone(&self.members.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// After they became durable.
    fn set_members(&self, members: HashSet<TargetName>) {
        *self.members.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(members);
    }

    fn generation(&self, number: u64) -> Generation {
        Generation { scan: self.question.key.clone(), number }
    }

    /// Whether a new reading may begin: its interval has passed since the last began. One under way goes on with every round.
    pub fn is_due(&self, state: Option<&ScanState>, now: &Now) -> bool {
        let Some(interval) = self.interval else { return true };
        let Some(state) = state else { return true };
        if state.building.is_some() {
            return true;
        }
        let published = state.published.as_ref().map(|p| p.as_of.steady);
        let last = published.max(state.discarded.as_ref().map(|d| d.at.steady));
        let early = NEAREST.min(Span(interval.0 / 20));
        last.is_none_or(|last| now.steady + early >= last + interval)
    }
}

impl Conn {
    /// Looks whom polls ask about now: whose phase says so, and who is not fed by a scan. Whether there is anybody.
    pub fn look(&self, grace: Option<Span>, now: &Now) -> bool {
        let mut any = false;
        self.targets.now().iter().for_each(|target| any |= target.look(grace, now));
        self.scans.iter().for_each(|scan| any |= scan.question.look(None, now));
        self.spare_fed();
        any
    }

    /// Who is fed by a scan is not polled besides; and a scan rests while its targets cost less one by one.
    fn spare_fed(&self) {
        let targets = self.targets.now();
        self.scans.iter().for_each(|scan| scan.question.spare(self.way(scan, &targets).way == Way::Single));
        let is_fed = |target: &Target| self.feeder(target).is_some_and(|scan| !scan.rests());
        targets.iter().for_each(|target| target.spare(is_fed(target)));
    }

    /// What costs less now: a request for each target that is watched, or the scan that feeds them (F12). Before its first reading nobody
    /// knows whom it feeds; with an interval of its own it is asked as often as that says; where a target cannot be asked by itself there is
    /// no choice; and one that no scan has named yet, though it is asked like those of this one, may belong to it.
    pub fn way(&self, scan: &Scan, targets: &TargetSet) -> Choice {
        let demand = |target: &Arc<Target>| Demand::of(&target.spec, target.pages.get(), target.cost());
        let whole: Vec<Demand> = demand(&scan.question).into_iter().collect();
        if scan.interval.is_some() || scan.members().is_empty() {
            return choose(None, &whole);
        }
        let watched = || targets.iter().filter(|target| target.is_watched());
        let is_own = |target: &&Arc<Target>| self.feeder(target).is_some_and(|f| std::ptr::eq(f.as_ref(), scan));
        let asked: HashSet<_> = watched().filter(is_own).filter_map(|target| target.endpoint.clone()).collect();
        let may_be = |target: &Arc<Target>| target.endpoint.as_ref().is_none_or(|own| asked.contains(own));
        let is_new = |target: &Arc<Target>| self.feeder(target).is_none() && may_be(target);
        let single: Option<Vec<Demand>> = watched().filter(is_own).map(demand).collect();
        choose(single.filter(|_| !watched().any(is_new)).as_deref(), &whole)
    }

    /// The scan that a target is fed by: the one that named it. Where a connection has one scan alone, it feeds whoever cannot be asked.
    pub fn feeder(&self, target: &Target) -> Option<&Arc<Scan>> {
        let named = self.scans.iter().find(|scan| scan.members().contains(&target.key.target));
        let only =
            || self.scans.first().filter(|_| self.scans.len() == 1 && target.endpoint.is_none() && !target.spec.push);
        named.or_else(only)
    }

    /// The scan that has to be asked for a target that cannot be asked by itself.
    pub fn asked_by(&self, target: &Target) -> Option<&Arc<Scan>> {
        self.feeder(target).filter(|_| target.endpoint.is_none())
    }

    /// Whose request it is that is made for a target: its own, or that of the scan that feeds it where it has none.
    pub fn asked_for<'a>(&'a self, target: &'a Target) -> &'a Target {
        self.asked_by(target).map_or(target, |scan| scan.question.as_ref())
    }

    /// How far apart the readings of a target are planned: rounds, or those of a scan that has an interval of its own.
    pub fn renewed_every(&self, target: &Target, rounds: Span) -> Span {
        let feeder = self.feeder(target).filter(|scan| !scan.rests());
        rounds.max(feeder.and_then(|scan| scan.interval).unwrap_or_default())
    }

    pub fn scan(&self, name: &TargetName) -> Option<&Arc<Scan>> {
        self.scans.iter().find(|scan| scan.question.key.target == *name)
    }
}

impl Work {
    /// What the file knows, once.
    pub fn read(&mut self, core: &Core, scan: &Scan) -> Result<(), StoreError> {
        if self.is_read {
            return Ok(());
        }
        self.state = core.store.scan(scan.key())?.unwrap_or_default();
        if let Some(building) = &self.state.building {
            let generation = scan.generation(building.number);
            let names = core.store.generation_names(&generation)?;
            let (seen, next) = core.store.generation_seen(&generation)?;
            // Without names it was taken away while the scan was not in the configuration.
            match names.is_empty() {
                true => self.state.building = None,
                false => self.gathering = Some(Gathering::resumed(names, seen)),
            }
            self.next_seen = next;
        }
        self.is_read = true;
        Ok(())
    }

    /// After a commit of which nobody knows whether it is in the file.
    pub fn doubt(&mut self) {
        *self = Work::default();
    }

    /// The reading `number` waits for its next page.
    pub fn is_at(&self, number: u64) -> bool {
        self.state.building.as_ref().is_some_and(|b| b.number == number && b.next.is_some())
    }

    /// Read to its end, and not in force yet: a crash came between, or the file took no writes.
    pub fn is_whole(&self) -> bool {
        self.state.building.as_ref().is_some_and(|b| b.next.is_none())
    }

    /// The page to ask: of the reading under way, or the first of a new one. A new one is for the targets of this moment.
    pub async fn next_page(&mut self, core: &Core, conn: &Conn, scan: &Scan, question: Ask) -> Result<Ask, StoreError> {
        let now = core.clock.now();
        if let Some(Building { question: asked, next: Some(next), last_at, begun_at, .. }) = &self.state.building
            && *asked == question
            && now.age_of(*last_at) <= RESUME_WITHIN
            && begun_at.steady >= conn.since.steady
        {
            return Ok(next.clone());
        }
        let first = scan.question.pager.as_ref().map_or_else(|| question.clone(), |pager| pager.first(&question));
        let names = conn.candidates(scan);
        let number = self.state.readings + 1;
        let building = Building {
            number,
            question,
            next: Some(first.clone()),
            walked: Default::default(),
            begun_at: now.stamp(),
            as_of: None,
            last_at: now.stamp(),
            failures: 0,
            count: Default::default(),
        };
        let state = ScanState { readings: number, building: Some(building), ..self.state.clone() };
        let generation = scan.generation(number);
        let rows = names
            .chunks(NAMES)
            .zip(0u64..)
            .map(|(names, n)| Write::Generation(generation.clone(), GenerationRow::Names(n, names.to_vec())));
        let writes = rows.chain([Write::Scan(scan.key().clone(), state.clone())]).collect();
        // It rides on the charge of its first page: without that there is nothing to remember.
        core.store.commit(Commit { writes, lane: Lane::Lazy, ..Commit::default() }).await?;
        self.state = state;
        self.gathering = Some(Gathering::new(names));
        (self.next_seen, self.told) = (0, None);
        Ok(first)
    }
}

impl Conn {
    /// The targets that a new reading is for: all that are watched and not fed by another scan.
    fn candidates(&self, scan: &Scan) -> Vec<TargetName> {
        let targets = self.targets.now();
        let is_free = |t: &&Arc<Target>| self.feeder(t).is_none_or(|feeder| std::ptr::eq(feeder.as_ref(), scan));
        targets.iter().filter(|t| t.is_watched()).filter(is_free).map(|t| t.key.target.clone()).collect()
    }
}

/// Runs until the engine stops: moves what is published, also by a run before this one, to its place, in small transactions behind
/// everybody who waits.
pub async fn move_on(core: Arc<Core>) {
    while !core.stop.is_cancelled() {
        let done = settle(&core).await;
        if let Err(e) = &done {
            tracing::warn!("what scans published is not all in its place yet; readers see it all the same: {e}");
        }
        let again = async {
            match done {
                Ok(()) => std::future::pending().await,
                Err(_) => core.clock.sleep_until(core.clock.now().steady + PAUSE).await,
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => {}
            () = core.moving.notified() => {}
            () = again => {}
        }
    }
}

/// Moves what is published to its place, and takes away what nothing needs any more.
async fn settle(core: &Core) -> Result<(), StoreError> {
    let scans: Vec<Arc<Scan>> = core.connections.values().flat_map(|conn| conn.scans.clone()).collect();
    let known: Vec<TargetKey> = scans.iter().map(|scan| scan.key().clone()).collect();
    while !core.stop.is_cancelled() && core.store.settle_generation(BATCH).await? {
        tokio::task::yield_now().await;
    }
    while !core.stop.is_cancelled() && core.store.sweep_generations(&known, BATCH).await? {
        tokio::task::yield_now().await;
    }
    Ok(())
}
