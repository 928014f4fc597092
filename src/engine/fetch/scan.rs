//! A list that comes page by page. Every page is a request of its own: admitted, charged and resolved by itself. What the pages
//! said is gathered in memory and reaches the shelf in one transaction: whole, when [`crate::rules::paging`] has proof of the end;
//! else as what was seen, and said to be a part (A33). A crash in between publishes nothing.

use super::doubt::Broken;
use super::exchange::Exchanged;
use super::learn::{Content, Judged, hear, settle, unexpected};
use super::part::{self, Part, Why};
use super::{Done, Round, Stopped, Wish, doubt, trouble, validators};
use crate::domain::ids::CredentialId;
use crate::domain::item::Sighting;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::page::Scan;
use crate::domain::reply::Reply;
use crate::domain::target::TargetState;
use crate::domain::time::{Now, Span, Stamp};
use crate::engine::core::{Conn, Core};
use crate::engine::targets::Target;
use crate::rules::budget::Refusal;
use crate::rules::extract::wrong_shape;
use crate::rules::paging::{Ask, Page, Pager, Step, Trail, Usual, digest};
use crate::rules::reconcile::{self, Extent, Reconciled, reconcile_pages};
use serde_json::Value;
use std::collections::HashMap;

/// Why a 304 to one page is no answer.
pub const UNCHANGED_PAGE: &str = "a page that is said to be unchanged says nothing of the others";

/// A reading that was interrupted is gone on with if its last page is not older: a day, the longest common window, and an hour.
pub const RESUME_WITHIN: Span = Span::from_secs(25 * 3600);

/// The reading under way. Held by whoever asks for a page.
#[derive(Default)]
pub struct Flight {
    readings: u64,
    scan: Option<Scanning>,
}

/// A reading between two of its pages.
pub struct Scanning {
    /// Tells readings of one target apart.
    pub number: u64,
    /// Of the target that asks: another one of its name reads in another way.
    revision: u64,
    /// That reads: another one may see another list.
    credential: CredentialId,
    /// What to ask next.
    pub ask: Ask,
    /// The question that it is an answer to: one about another day is another question.
    question: Ask,
    trail: Trail,
    /// Every item once, as it was seen last.
    seen: Vec<Sighting>,
    places: HashMap<String, usize>,
    began: Option<Stamp>,
    last: Stamp,
    /// `etag` and `last-modified` of the first page.
    validators: (Option<String>, Option<String>),
    /// At this page.
    failures: u32,
    /// Pages with which it was said to be a part.
    told: Option<u32>,
}

/// What a reading is an answer to: who asks what, with which credential.
pub struct Asks {
    pub question: Ask,
    pub revision: u64,
    pub credential: CredentialId,
}

impl Flight {
    /// Whether the reading `number` still waits for its next page.
    pub fn is_at(&self, number: u64) -> bool {
        self.scan.as_ref().is_some_and(|scan| scan.number == number)
    }

    /// The reading to go on with, or a new one.
    pub fn take(
        &mut self,
        pager: &Pager,
        Asks { question, revision, credential }: Asks,
        wish: Wish,
        now: &Now,
    ) -> Scanning {
        let goes_on = |scan: &Scanning| {
            let young = now.age_of(scan.last) <= RESUME_WITHIN;
            scan.revision == revision
                && scan.credential == credential
                && (wish == Wish::PageOf(scan.number) || young && scan.question == question)
        };
        if let Some(scan) = self.scan.take().filter(goes_on) {
            return scan;
        }
        self.readings += 1;
        Scanning {
            number: self.readings,
            revision,
            credential,
            ask: pager.first(&question),
            question,
            trail: Trail::default(),
            seen: Vec::new(),
            places: HashMap::new(),
            began: None,
            last: now.stamp(),
            validators: (None, None),
            failures: 0,
            told: None,
        }
    }

    /// Puts it back. A reading without a page is nothing to go on with.
    pub fn keep(&mut self, scan: Scanning) {
        if scan.trail.pages > 0 {
            self.scan = Some(scan);
        }
    }
}

/// What one page made of the reading.
enum Turn {
    On,
    Whole,
    /// A 304 to the first page, which speaks for all.
    Confirmed,
    /// It ends here, for this reason.
    Broken(Broken),
    /// This page was not good; perhaps it is the next time.
    Failed,
}

impl Scanning {
    pub fn is_first(&self) -> bool {
        self.trail.pages == 0
    }

    /// Judges a reply: is it a page, and what follows? What is no page does not touch what was seen.
    fn take_in(&mut self, asked: Asked<'_>, exchanged: &Exchanged, got: Got<'_>) -> Result<(Verdict, Turn), Stopped> {
        let Asked { core, conn, target, before, .. } = asked;
        let Got { pager, reply, verdict, body } = got;
        let failed = |why: &str| Ok((unexpected(core, conn, reply, why), Turn::Failed));
        let body = match (verdict.outcome, body) {
            (Outcome::Data, Some(body)) => body,
            (Outcome::Data, None) => return failed("empty answer"),
            (Outcome::NotModified, _) if !validators::is_confirmed(before, reply) => {
                return failed(validators::ANOTHER);
            }
            (Outcome::NotModified, _) if self.is_first() && pager.spec().first_confirms_all => {
                return Ok((verdict, Turn::Confirmed));
            }
            (Outcome::NotModified, _) => {
                return failed(UNCHANGED_PAGE);
            }
            _ => return Ok((verdict, Turn::Failed)),
        };
        let seen = match target.extractor.extract(&body, reply.headers(), reply.arrived_at) {
            Ok(seen) => seen,
            Err(sentence) => return failed(&wrong_shape(&sentence)),
        };
        let ask = Ask { location: exchanged.location.clone(), body: self.ask.body.clone() };
        let (again, digest) = self.gathered(reply, seen);
        let answer = reply.result.as_ref().ok();
        let page = Page {
            asked: &ask,
            headers: reply.headers(),
            body: &body,
            rows: target.extractor.rows(&body),
            again,
            digest,
            bytes: answer.map_or(0, |answer| answer.body.len() as u64),
        };
        let turn = match pager.follow(&conn.spec.base_url, Usual::of(before), &mut self.trail, &page) {
            Step::Next(ask) => {
                self.ask = ask;
                Turn::On
            }
            Step::Complete(_) => Turn::Whole,
            Step::Incomplete(why) => {
                let broken = doubt::broken(core, conn, target, before, &why, reply.arrived_at)?;
                broken.map_or(Turn::Whole, Turn::Broken)
            }
        };
        Ok((verdict, turn))
    }

    /// Takes in what a good page said: overlapping rows count once, the newest stands. How many overlap, and the page's digest.
    fn gathered(&mut self, reply: &Reply, seen: Vec<Sighting>) -> (u64, [u8; 16]) {
        if self.began.is_none() {
            let first = validators::with(TargetState::default(), &TargetState::default(), reply);
            (self.began, self.validators) = (Some(reply.arrived_at), (first.etag, first.last_modified));
        }
        (self.last, self.failures) = (reply.arrived_at, 0);
        let digest = digest(&seen);
        let mut again = 0;
        for sighting in seen {
            match self.places.get(&sighting.key) {
                Some(at) => {
                    again += 1;
                    self.seen[*at] = sighting;
                }
                None => {
                    self.places.insert(sighting.key.clone(), self.seen.len());
                    self.seen.push(sighting);
                }
            }
        }
        (again, digest)
    }

    /// What was seen, reconciled with the shelf as far as it reaches.
    fn reconciled(
        &self,
        core: &Core,
        target: &Target,
        before: &TargetState,
        (seen, extent): (Vec<Sighting>, Extent),
    ) -> Result<Reconciled, Stopped> {
        let old = core.store.items(&target.key)?;
        Ok(reconcile_pages(before, &old, seen, self.last, extent))
    }

    /// Law 4 for the whole list: sudden emptiness is believed the second time.
    fn whole(&mut self, asked: Asked<'_>, pager: &Pager) -> Result<Whole, Stopped> {
        let Asked { core, conn, target, before, .. } = asked;
        if let Some(since) = doubt::doubt(core, conn, target, before, &self.seen, self.last)? {
            return Ok(Whole::Doubted(since));
        }
        let as_of = self.began.unwrap_or(self.last);
        let seen = std::mem::take(&mut self.seen);
        let mut result = self.reconciled(core, target, before, (seen, Extent::Whole { as_of }))?;
        let (etag, last_modified) = self.validators.clone();
        let sound = pager.spec().first_confirms_all;
        result.state.etag = etag.filter(|_| sound);
        result.state.last_modified = last_modified.filter(|_| sound);
        let Trail { pages, of, .. } = self.trail;
        result.state.scan = Some(Scan { pages, of, incomplete: None, at: self.last, usual_pages: pages });
        Ok(Whole::Result(Box::new(result)))
    }

    fn part(&self, core: &Core, target: &Target, before: &TargetState, why: Why) -> Result<Box<Part>, Stopped> {
        let result = match self.is_first() {
            true => None,
            false => Some(self.reconciled(core, target, before, (self.seen.clone(), Extent::Part))?),
        };
        Ok(Box::new(Part { result, pages: self.trail.pages, of: self.trail.of, why }))
    }
}

/// A reply on its way into a reading.
struct Got<'a> {
    pager: &'a Pager,
    reply: &'a Reply,
    verdict: Verdict,
    body: Option<Value>,
}

enum Whole {
    Result(Box<Reconciled>),
    Doubted(Stamp),
}

/// Whose page it is.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub core: &'a Core,
    pub conn: &'a Conn,
    pub target: &'a Target,
    pub before: &'a TargetState,
    pub round: Option<&'a Round>,
}

/// Write 2 for a page.
pub async fn from_page(
    asked: Asked<'_>,
    pager: &Pager,
    flight: &mut Flight,
    mut scan: Scanning,
    mut exchanged: Exchanged,
    conditional: bool,
) -> Result<Done, Stopped> {
    let Asked { core, conn, target, before, round } = asked;
    let (reply, verdict, body) = hear(core, conn, target.cost_from.as_ref(), &mut exchanged, conditional);
    let got = Got { pager, reply: &reply, verdict, body };
    let (mut verdict, turn) = scan.take_in(asked, &exchanged, got)?;
    let part = |scan: &Scanning, words, silent_since| {
        Ok::<_, Stopped>(Content::Part(scan.part(
            core,
            target,
            before,
            Why { words, at: reply.arrived_at, is_wait: false, silent_since },
        )?))
    };
    let content = match &turn {
        Turn::On => Content::Page,
        Turn::Confirmed => Content::Confirmed,
        Turn::Failed => part(&scan, None, None)?,
        Turn::Broken(Broken { why, silent_since }) => part(&scan, Some(why.clone()), *silent_since)?,
        Turn::Whole => match scan.whole(asked, pager)? {
            Whole::Result(result) => Content::Replaced(result),
            Whole::Doubted(since) => {
                verdict = unexpected(core, conn, &reply, reconcile::SUDDENLY_EMPTY);
                Content::Doubted(since)
            }
        },
    };
    let usual = match &content {
        Content::Replaced(result) => result.state.scan.clone(),
        _ => None,
    };
    let outcome = verdict.outcome;
    let done =
        settle(core, conn, target, before, &exchanged, Judged { reply, verdict, content, conditional }, round).await?;
    if usual.is_some() {
        target.pages.learn(usual.as_ref());
    }
    let goes_on = matches!(turn, Turn::On).then_some(scan.number);
    if goes_on.is_some() || matches!(turn, Turn::Failed) && scan.may_be_asked_again(outcome) {
        flight.keep(scan);
    }
    Ok(Done { goes_on, ..done })
}

impl Scanning {
    /// After a page that was not good: is the address worth another request later?
    fn may_be_asked_again(&mut self, outcome: Outcome) -> bool {
        self.failures += 1;
        self.told = Some(self.trail.pages);
        trouble::is_passing(outcome) && self.failures < trouble::MOST_FAILURES
    }
}

/// The next page is not asked now. Where that is for longer than `patience`, what was seen is published as the part that it is; the
/// reading is gone on with when its next page is asked for.
pub async fn interrupted(
    asked: Asked<'_>,
    scan: &mut Scanning,
    stopped: &Stopped,
    patience: Span,
) -> Result<(), Stopped> {
    let Asked { core, target, before, .. } = asked;
    let now = core.clock.now();
    if let Stopped::Refused(Refusal::NotUntil { at, .. } | Refusal::Probing { at }) = stopped
        && *at <= now.steady + patience
    {
        return Ok(());
    }
    let words = match (stopped, stopped.refusal()) {
        (_, Some(Refusal::NotUntil { limit, .. } | Refusal::NeverFits { limit })) => {
            format!("the next page waits for the budget (limit \"{limit}\")")
        }
        (_, Some(Refusal::Held(_) | Refusal::Probing { .. })) => "the credential is held".to_owned(),
        (Stopped::Paused, _) => "paused".to_owned(),
        _ => return Ok(()),
    };
    if scan.is_first() || scan.told == Some(scan.trail.pages) {
        return Ok(());
    }
    scan.told = Some(scan.trail.pages);
    let at = now.stamp();
    let part = scan.part(core, target, before, Why { words: Some(words), at, is_wait: true, silent_since: None })?;
    part::waits(asked, *part, at).await
}
