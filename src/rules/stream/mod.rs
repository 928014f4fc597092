//! One event stream of a provider that any number of readers share (P4, P5): when to open it, when to try again, when to close it, and
//! what each reader is told.
//!
//! * [`reading`] bytes to [`event`]s · [`buffer`] the last of them, by number and by id
//!
//! Pure; must not know sockets, nor who pays for an opening.

pub mod buffer;
pub mod event;
pub mod reading;

use crate::domain::time::{Span, Steady};
use buffer::{At, Bounds, Buffer};
use bytes::Bytes;
use reading::{Heard, MOST_BYTES};
use std::sync::Arc;

/// How long a stream stays open that nobody reads: a page that is loaded anew comes back within it.
pub const GRACE: Span = Span::from_secs(15);
/// What readers may come back for, or be behind.
const KEPT: Bounds = Bounds { events: 1000, bytes: 2 * MOST_BYTES.get() };
/// The first pause; each is twice as long as the one before ...
const FIRST_PAUSE: Span = Span::from_secs(1);
/// ... up to this.
const LONGEST_PAUSE: Span = Span::from_secs(300);
/// A stream that ends before this has not lasted, also where it brought something.
const LASTING: Span = Span::from_secs(45);
/// So many of these in a row are nothing unusual; from then on pauses grow, up to this.
const FORGIVEN: u32 = 5;
const LONGEST_AFTER_BRIEF: Span = Span::from_secs(120);
/// No wish of a provider for a longer pause is believed.
const LONGEST_RETRY: Span = Span::from_secs(3600);

const TOO_SLOW: &str = "the reader was too slow";
const TOO_LATE: &str = "what came after that event is not kept any more";
const TOO_LARGE: &str = "an event was too large";
const NO_RESUME: &str = "the provider's stream was interrupted, and it gives its events no ids to go on from";

/// Where the stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nobody reads it.
    Closed,
    /// Not opened before its pause, or what refused it, is over.
    Waiting,
    /// Its request is under way.
    Opening,
    /// The provider accepted, and has not said anything yet.
    Opened,
    /// It has brought an event.
    Connected,
    /// The provider said that there is nothing more to come.
    Over,
}

impl Phase {
    pub fn is_open(self) -> bool {
        matches!(self, Phase::Opened | Phase::Connected)
    }
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Open,
    /// Nothing before this moment.
    WaitUntil(Steady),
    /// Read on, until then if nobody comes.
    Read {
        close_at: Option<Steady>,
    },
    /// Nothing more.
    End,
}

/// Where a reader begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub number: u64,
    /// Told first: not everything since its last event is to be had.
    pub gap: Option<Bytes>,
}

/// The course of one stream.
#[derive(Debug)]
pub struct Course {
    phase: Phase,
    readers: usize,
    /// Since when it has none.
    left_at: Option<Steady>,
    /// Openings in a row that brought no event.
    failures: u32,
    /// Openings in a row that brought one and did not last.
    brief: u32,
    /// The provider's own wish for a pause.
    retry: Span,
    /// The end of the pause.
    again_at: Steady,
    /// Until then the budget or a hold refuses it.
    refused_until: Steady,
    /// Whether it ever was open.
    has_opened: bool,
    /// Where the provider goes on from.
    last: Option<Arc<str>>,
    buffer: Buffer,
}

impl Default for Course {
    fn default() -> Course {
        Course {
            phase: Phase::Closed,
            readers: 0,
            left_at: None,
            failures: 0,
            brief: 0,
            retry: Span::ZERO,
            again_at: Steady(0),
            refused_until: Steady(0),
            has_opened: false,
            last: None,
            buffer: Buffer::new(KEPT),
        }
    }
}

impl Course {
    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub fn readers(&self) -> usize {
        self.readers
    }

    pub fn has_opened(&self) -> bool {
        self.has_opened
    }

    /// The id that the provider is asked to go on from. An empty one was taken back by it.
    pub fn last(&self) -> Option<Arc<str>> {
        self.last.clone().filter(|id| !id.is_empty())
    }

    /// When it may be opened again.
    pub fn not_before(&self) -> Steady {
        self.again_at.max(self.refused_until)
    }

    /// Whether there is nothing any more that a reader could come back for, and no pause that it must keep to.
    pub fn is_forgotten(&self, now: Steady, after: Span) -> bool {
        let left = self.left_at.unwrap_or(now);
        self.phase == Phase::Closed && left + after <= now && self.not_before() <= now
    }

    /// One reader more. `id`: the last event that it knows. Where nothing was asked for yet, the provider is asked to go on from there.
    pub fn joins(&mut self, id: Option<&str>) -> Place {
        let begins = self.phase == Phase::Closed;
        self.readers += 1;
        self.left_at = None;
        if begins {
            self.phase = Phase::Waiting;
        }
        match id.map(|id| (id, self.buffer.after(id))) {
            Some((_, Some(number))) => Place { number, gap: None },
            Some((id, None)) if begins || self.is_unasked() => self.begins_after(Some(id.into())),
            Some((_, None)) => Place { number: self.buffer.first(), gap: Some(event::gap(TOO_LATE, None)) },
            None if begins => self.begins_after(None),
            None => Place { number: self.buffer.end(), gap: None },
        }
    }

    /// Whether no id was given by anybody, and no request is out.
    fn is_unasked(&self) -> bool {
        self.phase == Phase::Waiting && !self.has_opened && self.last.is_none() && self.buffer.is_empty()
    }

    fn begins_after(&mut self, id: Option<Arc<str>>) -> Place {
        self.buffer.begin_after(id.clone());
        self.last = id;
        Place { number: self.buffer.end(), gap: None }
    }

    pub fn leaves(&mut self, now: Steady) {
        self.readers = self.readers.saturating_sub(1);
        if self.readers == 0 {
            self.left_at = Some(now);
        }
    }

    pub fn step(&self, now: Steady) -> Step {
        let close_at = self.left_at.map(|left| left + GRACE);
        match self.phase {
            Phase::Closed | Phase::Over => Step::End,
            // Nothing is open that somebody could come back to in time.
            Phase::Waiting if self.readers == 0 => Step::End,
            Phase::Waiting if self.not_before() > now => Step::WaitUntil(self.not_before()),
            Phase::Waiting => Step::Open,
            Phase::Opening | Phase::Opened | Phase::Connected if close_at.is_some_and(|at| at <= now) => Step::End,
            Phase::Opening | Phase::Opened | Phase::Connected => Step::Read { close_at },
        }
    }

    /// Its request goes out.
    pub fn asks(&mut self) {
        self.phase = Phase::Opening;
    }

    /// The provider accepted. Where it cannot be told where to go on, what came meanwhile is lost, and that is said.
    pub fn opened(&mut self) {
        if self.has_opened && self.last().is_none() && !self.buffer.is_empty() {
            self.tell(event::gap(NO_RESUME, None));
        }
        (self.phase, self.has_opened) = (Phase::Opened, true);
    }

    /// P5: the pauses begin anew with the first event, and with nothing before it.
    pub fn hears(&mut self, heard: Heard) {
        match heard {
            Heard::Event(event) => {
                (self.phase, self.failures) = (Phase::Connected, 0);
                self.last = event.id.clone();
                self.tell(event.written());
            }
            Heard::Id(id) => self.last = Some(id),
            Heard::Retry(wish) => self.retry = wish.min(LONGEST_RETRY),
            Heard::TooLarge => self.tell(event::gap(TOO_LARGE, Some(1))),
        }
    }

    fn tell(&mut self, block: Bytes) {
        self.buffer.push(block, self.last.clone());
    }

    /// It ended, or never opened: a pause of 1 s, 2 s, 4 s, and no shorter than the provider wishes; `spread` gives a part of a span, so
    /// that not everything comes back in one instant. Each opening costs: one that is broken off again and again comes ever more rarely,
    /// although each time it brings something (A48).
    pub fn ended(&mut self, now: Steady, spread: impl Fn(Span) -> Span) {
        self.failures = self.failures.saturating_add(1);
        if self.phase == Phase::Connected {
            let lasted = now.since(self.again_at) >= LASTING;
            self.brief = if lasted { 0 } else { self.brief.saturating_add(1) };
        }
        let flapping = pause(self.brief.saturating_sub(FORGIVEN)).min(LONGEST_AFTER_BRIEF);
        let pause = pause(self.failures).max(flapping).max(self.retry);
        self.again_at = self.again_at.max(now + pause + spread(Span(pause.0 / 4)));
        self.phase = Phase::Waiting;
    }

    /// The budget, a hold or an operator says not before `until`. Nothing was sent.
    pub fn refused(&mut self, until: Steady) {
        (self.phase, self.refused_until) = (Phase::Waiting, until);
    }

    /// What refused it is gone earlier than it said. The pause is not.
    pub fn eased(&mut self) {
        self.refused_until = Steady(0);
    }

    /// The provider wants nobody to come again (HTTP 204).
    pub fn over(&mut self) {
        self.phase = Phase::Over;
    }

    /// Nobody cares for it any more. What is kept stays for who comes back.
    pub fn closed(&mut self, now: Steady) {
        self.phase = Phase::Closed;
        self.left_at = self.left_at.or(Some(now));
    }

    /// What a reader at `number` is told next, and where it then is.
    pub fn tells(&self, number: u64) -> Option<(Bytes, u64)> {
        match self.buffer.at(number) {
            At::Block(text) => Some((text, number + 1)),
            At::Gone { missed, next } => Some((event::gap(TOO_SLOW, Some(missed)), next)),
            At::Nothing => None,
        }
    }
}

/// After so many openings in a row without an event.
fn pause(failures: u32) -> Span {
    let factor = 1u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
    Span(FIRST_PAUSE.0.saturating_mul(factor)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests;
