//! A whole reading comes into force, for all its targets at once (T7). What it makes of each is written beside the shelf in bounded batches;
//! one transaction puts it in force, and what is left to do is to move rows. A target whose own answer is newer, or under way, keeps it.

use super::{BATCH, Scan, Work, settle, show};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::finding::FindingChange;
use crate::domain::ids::TargetName;
use crate::domain::page;
use crate::domain::scan::{Building, Published, ScanState};
use crate::domain::target::TargetState;
use crate::domain::time::Stamp;
use crate::engine::core::{Conn, Core};
use crate::engine::fetch::{doubt, learn};
use crate::engine::targets::Target;
use crate::engine::{findings, phases};
use crate::rules::feed::{Gathering, Judged, Time};
use crate::store::{Commit, Generation, GenerationRow, StoreError, Write};
use std::collections::HashSet;
use std::sync::Arc;

/// Of more targets than this nobody is told one by one that they were seen.
const HINTED: usize = 200;

/// What a reading does, as far as it is known.
struct Draft<'a> {
    core: &'a Core,
    generation: Generation,
    /// Not written yet: as many as fit into one transaction, and one target's.
    rows: Vec<Write>,
    waits: bool,
    events: Vec<NewEvent>,
    findings: Vec<FindingChange>,
    seen: Vec<Arc<Target>>,
    /// Those that are completed with it (F4).
    completes: Vec<Arc<Target>>,
    changed: u64,
    fresher: u64,
}

/// Puts the reading in force that `work` has to its end.
pub async fn publish(core: &Core, conn: &Conn, scan: &Scan, work: &mut Work) -> Result<(), StoreError> {
    let published = publish_or_not(core, conn, scan, work).await;
    if published.is_err() {
        work.doubt();
    }
    published
}

async fn publish_or_not(core: &Core, conn: &Conn, scan: &Scan, work: &mut Work) -> Result<(), StoreError> {
    let (Some(building), Some(gathering)) = (work.state.building.clone(), work.gathering.take()) else { return Ok(()) };
    let as_of = building.as_of.unwrap_or(building.last_at);
    // One generation at a time waits to be moved, and of this one nothing may be left from an attempt before.
    settle(core).await?;
    let generation = scan.generation(building.number);
    while core.store.forget_waiting(&generation, BATCH).await? {}
    let mut draft = Draft::new(core, generation);
    // Held until it is in force: an answer of a target's own comes before all of it, or after.
    let mut flights = Vec::new();
    let members = conn.members_after(scan, &gathering);
    for name in gathering.names().iter().filter(|name| members.contains(*name)) {
        let Some(target) = conn.target(name).filter(|target| target.is_watched()) else { continue };
        match Arc::clone(&target.flight).try_lock_owned() {
            Ok(flight) => flights.push(flight),
            Err(_) => {
                draft.fresher += 1;
                continue;
            }
        }
        draft.take(conn, &target, &gathering, (as_of, building.last_at)).await?;
        tokio::task::yield_now().await;
    }
    let state = finished(core, scan, work, &building, &draft);
    let events = draft.switch(conn, scan, &state, &members).await?;
    drop(flights);
    scan.question.pages.learn(state.target.scan.as_ref());
    scan.set_members(members);
    conn.spare_fed();
    work.state = state.scan;
    tell(core, &draft.seen, events, as_of);
    core.moving.notify_one();
    Ok(())
}

/// Who was told that it changed knows that it was seen.
fn tell(core: &Core, seen: &[Arc<Target>], events: Vec<crate::domain::event::Event>, at: Stamp) {
    let told: HashSet<TargetName> = events.iter().filter_map(|e| e.body.target.clone()).collect();
    core.publish(events);
    if seen.len() <= HINTED {
        seen.iter().filter(|t| !told.contains(&t.key.target)).for_each(|t| core.hint_seen(&t.key, at, ", unchanged"));
    }
}

impl Conn {
    /// Whom the scan feeds with this reading: whom it fed before and who is still there, and whoever it names now.
    fn members_after(&self, scan: &Scan, gathering: &Gathering) -> HashSet<TargetName> {
        let targets = self.targets.now();
        let before = scan.members();
        let is_fed = |t: &&Arc<Target>| {
            let feeder = self.feeder(t);
            let own = feeder.is_some_and(|feeder| std::ptr::eq(feeder.as_ref(), scan));
            let named = feeder.is_none() && gathering.rows_of(&t.key.target) > 0;
            before.contains(&t.key.target) || own || named
        };
        targets.iter().filter(is_fed).map(|t| t.key.target.clone()).collect()
    }
}

impl<'a> Draft<'a> {
    fn new(core: &'a Core, generation: Generation) -> Draft<'a> {
        let (rows, events, findings, seen, completes) = Default::default();
        Draft { core, generation, rows, waits: false, events, findings, seen, completes, changed: 0, fresher: 0 }
    }

    /// What the reading makes of one target.
    async fn take(
        &mut self,
        conn: &Conn,
        target: &Arc<Target>,
        gathering: &Gathering,
        (as_of, ended_at): (Stamp, Stamp),
    ) -> Result<(), StoreError> {
        let store = &self.core.store;
        let before = store.target(&target.key)?.unwrap_or_default();
        let is_empty = gathering.rows_of(&target.key.target) == 0 && before.item_count > 0;
        let empty_since = if is_empty { findings::empty_since(self.core, target)? } else { None };
        let interval = conn.renewed_every(target, conn.base_interval());
        let time = Time { as_of, ended_at, interval, empty_since };
        let kept = store.generation_rows(&self.generation, &target.key.target)?;
        let learned = match gathering.judge(&target.key.target, &before, &store.items(&target.key)?, kept, time) {
            Judged::Fresher => {
                self.fresher += 1;
                return Ok(());
            }
            Judged::Doubted(since) => doubt::doubted(conn, target, &before, since, ended_at),
            Judged::Publish(result) => {
                self.changed += u64::from(result.changed);
                self.seen.push(Arc::clone(target));
                if phases::completes(self.core, target, Some(&result))? {
                    self.completes.push(Arc::clone(target));
                }
                learn::replaced(target, &before, *result, ended_at)
            }
        };
        self.rows.extend(learned.writes);
        self.events.extend(learned.events);
        self.findings.extend(learned.findings);
        while self.rows.len() >= BATCH {
            let rest = self.rows.split_off(BATCH);
            let rows = std::mem::replace(&mut self.rows, rest);
            self.wait(rows).await?;
        }
        Ok(())
    }

    async fn wait(&mut self, rows: Vec<Write>) -> Result<(), StoreError> {
        let row = |write| Write::Generation(self.generation.clone(), GenerationRow::Waits(Box::new(write)));
        let writes = rows.into_iter().map(row).collect();
        self.core.store.commit(Commit { writes, ..Commit::default() }).await?;
        self.waits = true;
        Ok(())
    }

    /// The one transaction in which all of it comes into force.
    async fn switch(
        &mut self,
        conn: &Conn,
        scan: &Scan,
        state: &Finished,
        members: &HashSet<TargetName>,
    ) -> Result<Vec<crate::domain::event::Event>, StoreError> {
        let mut writes = std::mem::take(&mut self.rows);
        if self.waits {
            writes.push(Write::Generation(self.generation.clone(), GenerationRow::Switch));
        }
        if *scan.members() != *members {
            let mut names: Vec<TargetName> = members.iter().cloned().collect();
            names.sort_unstable();
            writes.push(Write::Members(scan.key().clone(), names));
        }
        writes.push(Write::Scan(scan.key().clone(), state.scan.clone()));
        writes.push(Write::Target(scan.key().clone(), state.target.clone()));
        let mut events = std::mem::take(&mut self.events);
        if let Some(message) = &state.news {
            let (kind, at) = (EventKind::ScanPublished, state.at);
            let connection = Some(conn.spec.key.clone());
            events.push(NewEvent { kind, at, connection, target: None, message: message.clone() });
        }
        let mut findings = std::mem::take(&mut self.findings);
        findings.extend(state.whole.clone());
        // Whoever changes phases waits for this commit, or this one for theirs.
        let _changing = conn.targets.changing.lock().await;
        let completed = |target: &Arc<Target>| Some((Arc::clone(target), phases::completed(target, state.at)?));
        let lives: Vec<_> = self.completes.iter().filter_map(completed).collect();
        for (target, life) in &lives {
            events.push(phases::event(target, target.life().phase, life, state.at));
            writes.push(Write::Life(target.key.clone(), life.clone()));
        }
        let events = self.core.commit(Commit { writes, events, findings, ..Commit::default() }).await?;
        let now = self.core.clock.now();
        lives.into_iter().for_each(|(target, life)| phases::live(conn, &target, life, &now));
        Ok(events)
    }
}

/// Where the scan stands once its reading is in force.
struct Finished {
    scan: ScanState,
    target: TargetState,
    at: Stamp,
    /// What there is to tell of it, if anything.
    news: Option<String>,
    whole: Vec<FindingChange>,
}

fn finished(core: &Core, scan: &Scan, work: &Work, building: &Building, draft: &Draft<'_>) -> Finished {
    let before = core.store.target(scan.key()).ok().flatten().unwrap_or_default();
    let (at, as_of) = (building.last_at, building.as_of.unwrap_or(building.last_at));
    let published = Published {
        number: building.number,
        as_of,
        at,
        pages: building.walked.pages,
        count: building.count.clone(),
        targets: draft.seen.len() as u64,
        changed: draft.changed,
        fresher: draft.fresher,
    };
    let pages = building.walked.pages;
    let read = page::Scan { pages, of: building.walked.of, incomplete: None, at, usual_pages: pages };
    let changed = draft.changed > 0;
    let target = TargetState {
        as_of: Some(as_of),
        changed_at: if changed { Some(at) } else { before.changed_at },
        generation: building.number,
        item_count: building.count.rows,
        trouble: None,
        scan: Some(read),
        ..before.clone()
    };
    let last = work.state.published.as_ref();
    let strays = last.map(|p| p.count.unmatched) != Some(published.count.unmatched);
    let news = (changed || strays || before.trouble.is_some()).then(|| show::published(scan, &published));
    let whole = findings::scan_is_whole(&scan.question, &before, at);
    Finished {
        scan: ScanState { building: None, published: Some(published), ..work.state.clone() },
        target,
        at,
        news,
        whole,
    }
}
