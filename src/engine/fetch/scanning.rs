//! A page of a scan: the path of every request, and what it says goes into the file with the charge that paid for it. Nothing of it is
//! published before the reading came to its proven end; one that cannot is given up whole (T7). Must not know what a reading makes of its
//! targets.

use super::doubt::{self, Broken};
use super::exchange::Exchanged;
use super::learn::{Content, Judged, Learned, hear, settle, unexpected};
use super::{By, Done, Round, Stopped, Wish, trouble};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::{TargetKey, TargetName};
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::page;
use crate::domain::reply::Reply;
use crate::domain::scan::{Building, Discarded, ScanState};
use crate::domain::target::{TargetState, Trouble};
use crate::domain::time::{Span, Stamp};
use crate::engine::core::{Conn, Core};
use crate::engine::findings;
use crate::engine::scans::{Scan, Work, publish};
use crate::engine::words::{self, Telling};
use crate::rules::budget::Refusal;
use crate::rules::extract::wrong_shape;
use crate::rules::feed::{self, Keep, Named, Owner, Taken};
use crate::rules::paging::{Ask, Page, Step, Trail, Usual, digest};
use crate::store::{Commit, Generation, GenerationRow, Write};
use serde_json::Value;

/// Rows of what a page said, in one row of the file.
const SEEN: usize = 1_024;

/// Asks the provider for the next page of a scan. With the last one it is published.
pub async fn fetch(
    core: &Core,
    conn: &Conn,
    scan: &Scan,
    by: By<'_>,
    mut round: Option<&mut Round>,
    wish: Wish,
) -> Result<Done, Stopped> {
    let mut work = scan.work.lock().await;
    work.read(core, scan)?;
    let before = core.store.target(scan.key())?.unwrap_or_default();
    let is_fulfilled = wish.is_fulfilled(&before, |reading| work.is_at(reading));
    if work.is_whole() {
        publish::publish(core, conn, scan, &mut work).await?;
    }
    if is_fulfilled {
        if let (Some(round), Some(as_of)) = (round, before.as_of) {
            super::satisfied(core, conn, round, as_of).await?;
        }
        return Ok(Done { outcome: Outcome::Data, asked: false, goes_on: None });
    }
    let question = super::question(core, conn, &scan.question)?;
    let place = question.0.location.clone();
    let ask = work.next_page(core, conn, scan, question.ask()).await?;
    let endpoint = super::endpoint(&scan.question, &place, &ask.location);
    let asked = (&before, endpoint, question.page(conn, ask.clone()));
    let exchanged = match super::ask(core, conn, &scan.question, by, asked, round.as_deref_mut()).await {
        Ok(exchanged) => exchanged,
        Err(stopped) => {
            waits(core, conn, scan, &mut work, (before, &stopped, super::patience(conn, by.caller))).await?;
            return Err(stopped);
        }
    };
    let before = TargetState { attempted_at: Some(exchanged.reserved_at), ..before };
    let asked = Asked { core, conn, scan, before: &before, round: round.as_deref() };
    let taken = asked.take_in(&mut work, ask, exchanged).await;
    if taken.is_err() {
        work.doubt();
    }
    taken
}

/// Whose page it is.
struct Asked<'a> {
    core: &'a Core,
    conn: &'a Conn,
    scan: &'a Scan,
    before: &'a TargetState,
    round: Option<&'a Round>,
}

/// What one page made of the reading.
enum Turn {
    On(Ask),
    Whole,
    /// It ends here, for this reason.
    Broken(Broken),
    /// This page was not good; perhaps it is the next time.
    Failed,
}

impl Asked<'_> {
    /// Write 2 for a page, and with the last the publication.
    async fn take_in(&self, work: &mut Work, ask: Ask, mut exchanged: Exchanged) -> Result<Done, Stopped> {
        let Asked { core, conn, scan, before, round } = *self;
        let (reply, verdict, body) = hear(core, conn, scan.question.cost_from.as_ref(), &mut exchanged, false);
        let Some(mut building) = work.state.building.clone() else { return Err(Stopped::Paused) };
        let asked = Ask { location: exchanged.location.clone(), body: ask.body };
        let (verdict, turn, mut writes) = self.judge(work, &mut building, &asked, &reply, verdict, body)?;
        let number = building.number;
        let (state, learned) = match turn {
            Turn::On(next) => {
                (ScanState { building: Some(Building { next: Some(next), ..building }), ..work.state.clone() }, quiet())
            }
            Turn::Whole => {
                let whole = ScanState { building: Some(Building { next: None, ..building }), ..work.state.clone() };
                (whole, Learned { quiet: false, ..quiet() })
            }
            Turn::Broken(broken) => self.gives_up(work, building, &verdict, broken, reply.arrived_at),
            Turn::Failed => self.failed(work, building, &verdict, &reply),
        };
        writes.push(Write::Scan(scan.key().clone(), state.clone()));
        let learned = Learned { writes: [writes, learned.writes].concat(), ..learned };
        let judged = Judged { reply, verdict, content: Content::Ready(Box::new(learned)), conditional: false };
        let done = settle(core, conn, &scan.question, before, &exchanged, judged, round).await?;
        work.state = state;
        if work.state.building.is_none() {
            work.gathering = None;
        }
        if work.is_whole() {
            publish::publish(core, conn, scan, work).await?;
        }
        Ok(Done { goes_on: work.is_at(number).then_some(number).filter(|_| done.outcome.is_good()), ..done })
    }

    /// Is it a page, what does it say, and what follows? What is no page does not touch the reading.
    fn judge(
        &self,
        work: &mut Work,
        building: &mut Building,
        asked: &Ask,
        reply: &Reply,
        verdict: Verdict,
        body: Option<Value>,
    ) -> Result<(Verdict, Turn, Vec<Write>), Stopped> {
        let Asked { core, conn, scan, .. } = *self;
        let failed = |why: &str| Ok((unexpected(core, conn, reply, why), Turn::Failed, Vec::new()));
        let (Outcome::Data, Ok(answer)) = (verdict.outcome, &reply.result) else {
            return Ok((verdict, Turn::Failed, Vec::new()));
        };
        let Some(body) = body else { return failed("empty answer") };
        let feeds = |row: &Value| scan.feeds.of(row);
        let rows = match scan.question.extractor.extract_with(&body, &answer.headers, reply.arrived_at, feeds) {
            Ok(rows) => rows,
            Err(sentence) => return failed(&wrong_shape(&sentence)),
        };
        let said = digest(rows.iter().map(|(_, row)| row));
        let taken = self.gather(work, building, rows)?;
        let page = Page {
            asked,
            headers: &answer.headers,
            body: &body,
            rows: scan.question.extractor.rows(&body),
            again: taken.again,
            digest: said,
            bytes: answer.body.len() as u64,
        };
        let mut trail = Trail::from(std::mem::take(&mut building.walked));
        let (base_url, usual) = (&conn.spec.base_url, Usual::of(self.before));
        let step = scan.question.pager.as_ref().map(|pager| pager.follow(base_url, usual, &mut trail, &page));
        trail.pages = trail.pages.max(1);
        building.walked = trail.walked();
        building.as_of = building.as_of.or(Some(reply.arrived_at));
        (building.last_at, building.failures) = (reply.arrived_at, 0);
        let turn = match step {
            Some(Step::Next(ask)) => Turn::On(ask),
            Some(Step::Incomplete(why)) => {
                let broken = doubt::broken(core, conn, &scan.question, self.before, &why, reply.arrived_at)?;
                broken.map_or(Turn::Whole, Turn::Broken)
            }
            Some(Step::Complete(_)) | None => Turn::Whole,
        };
        if let Turn::Broken(_) = turn {
            return Ok((verdict, turn, Vec::new()));
        }
        if matches!(turn, Turn::Whole) && building.count.is_nobodys() {
            let verdict = unexpected(core, conn, reply, feed::NOBODYS);
            return Ok((verdict, Turn::Broken(feed::NOBODYS.into()), Vec::new()));
        }
        let generation = Generation { scan: scan.key().clone(), number: building.number };
        Ok((verdict, turn, self.rows(work, &generation, taken)))
    }

    fn gather(&self, work: &mut Work, building: &mut Building, rows: Vec<Named>) -> Result<Taken, Stopped> {
        let Asked { core, conn, .. } = *self;
        let targets = conn.targets.now();
        let whose = |name: &TargetName| match targets.named(name) {
            Some(target) if conn.feeder(target).is_none_or(|feeder| std::ptr::eq(feeder.as_ref(), self.scan)) => {
                if target.is_watched() {
                    Owner::Fed
                } else {
                    Owner::Unwatched
                }
            }
            _ => Owner::Nobody,
        };
        let place = |(label, row): &Named| {
            let target = label.as_ref().map_or_else(|| "".into(), |label| label.name.clone());
            (TargetKey { connection: conn.spec.key.clone(), target }, row.key.clone())
        };
        let wanted: Vec<(TargetKey, String)> = rows.iter().map(place).collect();
        let wanted: Vec<(TargetKey, &str)> = wanted.iter().map(|(key, item)| (key.clone(), item.as_str())).collect();
        let shelf = core.store.items_named(&wanted)?;
        let Some(gathering) = &mut work.gathering else { return Ok(Taken::default()) };
        Ok(gathering.take(rows, &shelf, whose, &mut building.count))
    }

    /// What the file keeps of a page.
    fn rows(&self, work: &mut Work, generation: &Generation, taken: Taken) -> Vec<Write> {
        let row = |row| Write::Generation(generation.clone(), row);
        let mut writes = Vec::with_capacity(taken.keep.len() + 2);
        for seen in taken.seen.chunks(SEEN) {
            writes.push(row(GenerationRow::Seen(work.next_seen, seen.to_vec())));
            work.next_seen += 1;
        }
        writes.extend(taken.keep.into_iter().map(|keep| match keep {
            Keep::Row(name, sighting) => row(GenerationRow::Row(name, sighting)),
            Keep::Gone(name, key) => row(GenerationRow::Gone(name, key)),
        }));
        writes
    }

    /// A page that was not good.
    fn failed(&self, work: &Work, building: Building, verdict: &Verdict, reply: &Reply) -> (ScanState, Learned) {
        let failures = building.failures + 1;
        let status = reply.result.as_ref().ok().map(|a| a.status);
        let why = trouble::reason(verdict, status, reply);
        if !trouble::is_passing(verdict.outcome) || failures >= trouble::MOST_FAILURES {
            return self.gives_up(work, building, verdict, why.as_str().into(), reply.arrived_at);
        }
        let trouble = self.trouble(verdict, part_of(&building, &why), reply.arrived_at);
        let learned = self.troubled((trouble, verdict), self.before.scan.clone(), reply.arrived_at);
        (ScanState { building: Some(Building { failures, ..building }), ..work.state.clone() }, learned)
    }

    /// The reading ends here, and nothing of it is published.
    fn gives_up(
        &self,
        work: &Work,
        building: Building,
        verdict: &Verdict,
        Broken { why, silent_since }: Broken,
        at: Stamp,
    ) -> (ScanState, Learned) {
        let Building { number, walked, count, .. } = &building;
        let (pages, of) = (walked.pages, walked.of);
        let usual_pages = self.before.scan.as_ref().map_or(0, |scan| scan.usual_pages);
        let read = page::Scan { pages, of, incomplete: Some(why.clone()), at, usual_pages };
        let trouble = self.trouble(verdict, part_of(&building, &why), at);
        let mut learned = self.troubled((trouble, verdict), Some(read.clone()), at);
        // A first page that failed is a trouble like any other.
        let found = (pages > 0).then(|| findings::scan_incomplete(self.conn, &self.scan.question, &read, silent_since));
        learned.findings.extend(found.into_iter().flatten());
        let discarded = Discarded { number: *number, at, pages, of, rows: count.rows, why };
        (ScanState { building: None, discarded: Some(discarded), ..work.state.clone() }, learned)
    }

    fn trouble(&self, verdict: &Verdict, reason: String, at: Stamp) -> Trouble {
        let before = self.before.trouble.as_ref();
        Trouble {
            since: before.map_or(at, |t| t.since),
            outcome: if verdict.outcome.is_good() { Outcome::Unexpected } else { verdict.outcome },
            reason,
            said: verdict.said.clone(),
            failures: before.map_or(0, |t| t.failures).saturating_add(1),
        }
    }

    fn troubled(&self, (trouble, verdict): (Trouble, &Verdict), read: Option<page::Scan>, at: Stamp) -> Learned {
        // A good page among those that do not add up: what is wrong with them is the reason.
        let rule: &str = if verdict.outcome.is_good() { &trouble.reason } else { &verdict.rule };
        let events = told(self.conn, self.scan, self.before, (&trouble, Some(rule)), at).into_iter().collect();
        let state = TargetState { trouble: Some(trouble), scan: read, ..self.before.clone() };
        let writes = vec![Write::Target(self.scan.key().clone(), state)];
        Learned { writes, events, findings: Vec::new(), quiet: false }
    }
}

fn quiet() -> Learned {
    Learned { writes: Vec::new(), events: Vec::new(), findings: Vec::new(), quiet: true }
}

fn part_of(Building { walked, .. }: &Building, why: &str) -> String {
    trouble::incomplete((walked.pages, walked.of), why)
}

/// A trouble is told when it begins, and when it becomes another; with the rule of the answer that made it, if one did.
fn told(
    conn: &Conn,
    scan: &Scan,
    before: &TargetState,
    (trouble, rule): (&Trouble, Option<&str>),
    at: Stamp,
) -> Option<NewEvent> {
    let news = trouble.is_news(before.trouble.as_ref());
    let message = || {
        let sentence = format!("scan {}: {}; its targets keep what they have", scan.name(), trouble.reason);
        let decided = |rule| words::decided(&sentence, trouble.outcome, rule, trouble.said.as_deref());
        rule.map_or_else(|| sentence.clone(), decided)
    };
    let connection = Some(conn.spec.key.clone());
    news.then(|| NewEvent { kind: EventKind::ScanTroubled, at, connection, target: None, message: message() })
}

/// The next page is not asked now. Where that is for longer than `patience`, the targets say so until it is; the reading goes on then.
async fn waits(
    core: &Core,
    conn: &Conn,
    scan: &Scan,
    work: &mut Work,
    (before, stopped, patience): (TargetState, &Stopped, Span),
) -> Result<(), Stopped> {
    let now = core.clock.now();
    let Some(building) = &work.state.building else { return Ok(()) };
    let pages = building.walked.pages;
    let why = match (stopped, stopped.refusal()) {
        (_, Some(Refusal::NotUntil { at, .. } | Refusal::Probing { at })) if *at <= now.steady + patience => {
            return Ok(());
        }
        (stopped, _) if stopped.was_sent() => words::why(stopped, &now, Telling::Kept),
        (_, Some(Refusal::NotUntil { limit, .. } | Refusal::NeverFits { limit })) if pages > 0 => {
            format!("the next page waits for the budget (limit \"{limit}\")")
        }
        _ => return Ok(()),
    };
    if work.told == Some(pages) {
        return Ok(());
    }
    let at = now.stamp();
    let trouble = trouble::waiting(before.trouble.as_ref(), at, part_of(building, &why));
    let events = told(conn, scan, &before, (&trouble, None), at).into_iter().collect();
    let state = TargetState { trouble: Some(trouble), ..before };
    let writes = vec![Write::Target(scan.key().clone(), state)];
    let events = core.commit(Commit { writes, events, ..Commit::default() }).await?;
    core.publish(events);
    work.told = Some(pages);
    Ok(())
}
