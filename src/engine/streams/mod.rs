//! Event streams of providers, each opened once for all who read it (P4, P5). The course of a stream is [`crate::rules::stream`]'s; here
//! it is kept, driven by one task for each stream (`drive`), and read ([`Reader`]).
//!
//! A reader pulls: nothing waits in a queue of its own, so one that is slow costs nobody anything and finds out itself what it missed.

mod drive;

use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::fetch::open::Wanted;
use super::gateway::place::Address;
use super::gateway::{Entrance, ask};
use super::view::{Denied, When};
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::reply::Answer;
use crate::domain::time::{Now, Span};
use crate::rules::stream::{Course, Phase, Place};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Streams that are open, or that somebody may come back to.
const MOST: usize = 100;
/// How long a stream that nobody reads is remembered for who comes back.
const REMEMBERED: Span = Span::from_secs(600);
/// A reader is told at once what becomes of the first opening; of one that takes longer it hears nothing until there is something.
const FIRST_ANSWER: Span = Span::from_secs(10);

const RETRY_AFTER: &str = "retry-after";

/// Every stream, by what it is opened with and where.
#[derive(Default)]
pub struct Streams {
    known: Mutex<BTreeMap<(CredentialId, String), Arc<Shared>>>,
}

/// What a reader gets.
pub enum Joined {
    Reading(Reader, Came),
    /// The provider's answer, which is no stream.
    Answered(Answer),
}

/// Whose coming had the stream opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    First,
    ToOthers,
}

/// One stream.
struct Shared {
    conn: Arc<Conn>,
    wanted: Wanted,
    state: Mutex<State>,
    /// Counts what readers should look at.
    news: watch::Sender<u64>,
    /// Rung when a reader went.
    left: Notify,
}

#[derive(Default)]
struct State {
    course: Course,
    /// A task drives it.
    driven: bool,
    /// Attempts to open it so far, and what the last came to where that was no stream.
    attempts: u64,
    met: Option<Met>,
}

/// What an attempt came to that opened nothing.
#[derive(Clone)]
enum Met {
    Answer(Answer),
    Denied(Denied),
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the course, and lets the readers look.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.news.send_modify(|news| *news = news.wrapping_add(1));
        changed
    }
}

impl Streams {
    /// The stream at `address`, with one reader more, who knows the event `last`; `Came::First`: it is to be driven.
    fn join(
        &self,
        conn: &Arc<Conn>,
        address: &Address,
        last: Option<&str>,
        now: &Now,
    ) -> Result<(Arc<Shared>, Place, Came), Denied> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, shared| !shared.state().course.is_forgotten(now.steady, REMEMBERED));
        let base = conn.spec.base_url.trim_end_matches('/');
        let name = (conn.credential, format!("{base}{}", address.place.target));
        // A connection that was asks for nothing any more: whoever comes is given a stream of the one that is.
        if known.get(&name).is_some_and(|shared| shared.conn.edition < conn.edition) {
            known.remove(&name);
        }
        if !known.contains_key(&name) && known.len() >= MOST {
            return Err(Denied::Unavailable("as many streams are open as Larder keeps open".to_owned()));
        }
        let shared = known.entry(name).or_insert_with(|| {
            let cost = conn.desk.gate.policy(&address.location).cost;
            let wanted = Wanted { location: address.sent.clone(), endpoint: ask::endpoint(conn, address), cost };
            let (state, news, left) = (Mutex::default(), watch::Sender::new(0), Notify::new());
            Arc::new(Shared { conn: conn.clone(), wanted, state, news, left })
        });
        let shared = shared.clone();
        let mut state = shared.state();
        if let Some(denied) = resting(&state, now) {
            return Err(denied);
        }
        let place = state.course.joins(last);
        let came = if std::mem::replace(&mut state.driven, true) { Came::ToOthers } else { Came::First };
        drop(state);
        Ok((shared, place, came))
    }

    fn standing(&self) -> BTreeMap<ConnectionKey, Standing> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: BTreeMap<ConnectionKey, Standing> = BTreeMap::new();
        for shared in known.values() {
            let (standing, state) = (all.entry(shared.conn.spec.key.clone()).or_default(), shared.state());
            standing.open += u64::from(state.course.phase().is_open());
            standing.readers += state.course.readers() as u64;
        }
        all
    }
}

/// How many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub open: u64,
    pub readers: u64,
}

/// It never was a stream, and it is not asked for again before a while has passed.
fn resting(state: &State, now: &Now) -> Option<Denied> {
    let State { course, met, .. } = state;
    let is_waiting = matches!(course.phase(), Phase::Closed | Phase::Waiting);
    let at = course.not_before();
    if !is_waiting || course.has_opened() || at <= now.steady {
        return None;
    }
    let sentence = match met.as_ref()? {
        Met::Answer(answer) => {
            format!("The provider answered {} instead of a stream; it is asked again later.", answer.status)
        }
        Met::Denied(Denied::NotYet { sentence, .. } | Denied::Unavailable(sentence)) => sentence.clone(),
        Met::Denied(other) => return Some(other.clone()),
    };
    let (not_before, retry_after_s) = (Some(When(now.wall_of(at))), Some(at.since(now.steady).as_secs_ceil()));
    Some(Denied::NotYet { sentence, limit: None, not_before, retry_after_s })
}

/// One reader of a stream; dropping it is leaving.
pub struct Reader {
    core: Arc<Core>,
    shared: Arc<Shared>,
    news: watch::Receiver<u64>,
    number: u64,
    /// Told first.
    gap: Option<Bytes>,
}

impl Reader {
    /// The next block, as it is to be written; `None`: the stream is over. Nothing is lost where the waiting is broken off.
    pub async fn next(&mut self) -> Option<Bytes> {
        if let Some(gap) = self.gap.take() {
            return Some(gap);
        }
        loop {
            self.news.mark_unchanged();
            {
                let state = self.shared.state();
                if let Some((block, next)) = state.course.tells(self.number) {
                    self.number = next;
                    return Some(block);
                }
                if matches!(state.course.phase(), Phase::Over | Phase::Closed) {
                    return None;
                }
            }
            self.news.changed().await.ok()?;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let now = self.core.clock.now().steady;
        self.shared.state().course.leaves(now);
        self.shared.left.notify_one();
    }
}

impl Appliance {
    /// Streams by connection that are open now, and who reads them.
    pub fn streams(&self) -> BTreeMap<ConnectionKey, Standing> {
        self.core.streams.standing()
    }
}

impl Entrance {
    /// Whether what is read there is a stream of events, whatever a client says.
    pub fn is_stream(&self, address: &Address) -> bool {
        self.conn.desk.gate.policy_by(&address.rules).stream
    }

    /// Reads a stream of the provider together with everybody else who reads it, from behind the event `last`. Opened only if the budget
    /// funds it; who comes to a stream that was interrupted waits for it with the others.
    pub async fn stream(&self, address: &Address, last: Option<&str>) -> Result<Joined, Denied> {
        self.core.begun.cancelled().await;
        Appliance::new(self.core.clone()).refuse_while_paused(&self.conn).await?;
        let now = self.core.clock.now();
        let (shared, place, came) = self.core.streams.join(&self.conn, address, last, &now)?;
        let reader = Reader {
            core: self.core.clone(),
            news: shared.news.subscribe(),
            shared: shared.clone(),
            number: place.number,
            gap: place.gap,
        };
        let attempts = shared.state().attempts;
        if came == Came::First {
            self.core.spawn(drive::drive(self.core.clone(), shared.clone()));
        }
        match self.first_answer(&shared, attempts).await {
            None => Ok(Joined::Reading(reader, came)),
            Some(Met::Answer(answer)) => Ok(Joined::Answered(self.with_a_wait(&shared, answer))),
            Some(Met::Denied(denied)) => Err(denied),
        }
    }

    /// A refusal that does not say until when: until its hold and the pause of the stream are over.
    fn with_a_wait(&self, shared: &Shared, mut answer: Answer) -> Answer {
        if !matches!(answer.status, 429 | 503) || answer.header(RETRY_AFTER).is_some() {
            return answer;
        }
        let holds = self.core.store.holds(self.conn.credential);
        let held = holds.iter().filter(|hold| hold.scope.covers(&shared.wanted.endpoint)).map(|hold| hold.until);
        let until = held.chain([shared.state().course.not_before()]).max().unwrap_or_default();
        let wait = until.since(self.core.clock.now().steady).as_secs_ceil();
        answer.headers.push((RETRY_AFTER.to_owned(), wait.max(1).to_string()));
        answer
    }

    /// What the attempt after `attempts` came to, where it opened nothing and the stream never was open.
    async fn first_answer(&self, shared: &Shared, attempts: u64) -> Option<Met> {
        let mut news = shared.news.subscribe();
        let until = self.core.clock.now().steady + FIRST_ANSWER;
        loop {
            news.mark_unchanged();
            {
                let state = shared.state();
                match &state.met {
                    _ if state.course.phase().is_open() || state.course.has_opened() => return None,
                    Some(met) if state.attempts > attempts => return Some(met.clone()),
                    _ => {}
                }
            }
            tokio::select! {
                changed = news.changed() => changed.ok()?,
                () = self.core.clock.sleep_until(until) => return None,
                () = self.core.stop.cancelled() => {
                    return Some(Met::Denied(Denied::Unavailable("the appliance is stopping".to_owned())));
                }
            }
        }
    }
}
