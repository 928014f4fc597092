//! A reading through the gateway: from the shelf where that is fresh, else by the one flight that asks it, else what there is, with its age
//! and why. Nobody who only reads waits for more than one request.

use super::ask::{self, Question, as_text};
use super::flight::{Flight, FlightKey, Landing, Passenger, Pilot, varied};
use super::given::{Given, Halt};
use super::place::{Address, Entry};
use super::{Entrance, filed, room};
use crate::domain::gateway::{Kept, Reading};
use crate::domain::spec::Conditional;
use crate::domain::time::Now;
use crate::rules::gateway::{
    CacheStatus, Decision, Fallback, Forward, Life, Wishes, decide, fits, is_revalidating, life, select, stands,
};
use hyper::header::{CACHE_CONTROL, HeaderMap, RANGE};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So often somebody waits for another's request in vain (it varied, it was too long) before it asks by itself.
const MOST_FLIGHTS: usize = 3;

const REVALIDATING: &str = "a newer one is asked for meanwhile (stale-while-revalidate)";

/// What a client reads.
pub struct Wanted {
    pub address: Arc<Address>,
    pub reading: Reading,
    /// Without any credential.
    pub headers: HeaderMap,
    /// It carried an `Authorization` of its own.
    pub authorized: bool,
}

/// What the shelf says to it.
struct Look {
    entry: Option<Arc<Entry>>,
    decision: Decision,
}

impl Entrance {
    /// From the shelf, without waiting for anything; `None`: somebody has to be asked, or the file.
    pub fn at_once(&self, wanted: &Wanted, now: &Now) -> Option<Given> {
        let is_simple = !wanted.headers.contains_key(CACHE_CONTROL);
        let wishes = if is_simple { Wishes::default() } else { Wishes::of(&as_text(&wanted.headers)) };
        let look = self.look(wanted, &wishes, None, now);
        self.renews(wanted, &wishes, &look);
        hit(&look, now)
    }

    /// From the shelf, else from the provider.
    pub async fn read(&self, wanted: Wanted) -> Given {
        let sent = as_text(&wanted.headers);
        let wishes = Wishes::of(&sent);
        let alone = wanted.headers.contains_key(RANGE)
            || ["if-match", "if-unmodified-since", "if-range"].iter().any(|name| wanted.headers.contains_key(*name));
        // What a crash left behind is settled first, and what the file kept is here again.
        self.core.begun.cancelled().await;
        filed::look_for(&self.core, &self.conn, &wanted.address.place);
        for flown in 0.. {
            let now = self.core.clock.now();
            let look = self.look(&wanted, &wishes, Some(&sent), &now);
            self.renews(&wanted, &wishes, &look);
            if let Some(given) = hit(&look, &now).or_else(|| self.narrowed(&wanted, &wishes, &sent, &look, &now)) {
                return given;
            }
            let (why, fallback) = match look.decision {
                Decision::Ask { why, fallback } if !alone => (why, fallback),
                Decision::Ask { fallback, .. } => (Forward::Bypass, fallback),
                Decision::Hit(_) | Decision::Meanwhile(_) | Decision::Unanswerable => {
                    return Given::Denied { halt: Arc::new(Halt::unanswerable()), how: CacheStatus::default() };
                }
            };
            let question = Question {
                address: wanted.address.clone(),
                reading: wanted.reading,
                headers: wanted.headers.clone(),
                sent: sent.clone(),
                wishes,
                authorized: wanted.authorized,
                alone,
                forwards: !alone && self.forwards(&sent, &look),
                known: look.entry.clone(),
            };
            let single = alone || wishes.no_store || flown >= MOST_FLIGHTS;
            let (passenger, leads) = self.boards(question, single);
            let landing = passenger.arrival().await;
            let how = CacheStatus { collapsed: !leads, ..CacheStatus::forwarded(why) };
            if let Some(given) = self.given(&landing, (&wanted, &sent), &look, fallback, (leads, how)) {
                return given;
            }
            if flown > 2 * MOST_FLIGHTS {
                break;
            }
        }
        Given::Denied { halt: Arc::new(Halt::crowded()), how: CacheStatus::default() }
    }

    fn look(&self, wanted: &Wanted, wishes: &Wishes, sent: Option<&[(String, String)]>, now: &Now) -> Look {
        let conn = &self.conn;
        let policy = conn.desk.gate.policy_by(&wanted.address.rules);
        let (entry, elsewhere) = wanted.address.place.with(|entries| {
            // Headers are only read where an answer varies by them.
            let varies = sent.is_none() && entries.iter().any(|e| !e.head().variant.is_empty());
            let read = if varies { as_text(&wanted.headers) } else { Vec::new() };
            let sent = sent.unwrap_or(&read);
            let own = entries.iter().filter(|e| self.is_served(e));
            let in_force = |head: &_| conn.desk.with_happened(|seen| stands(head, &policy, seen, now));
            let chosen = select(own.map(|e| e.head()), wanted.reading, sent, in_force);
            let entry = chosen.and_then(|head| entries.iter().find(|e| std::ptr::eq(e.head(), head)).cloned());
            (entry, !entries.is_empty())
        });
        let decision = decide(wishes, entry.as_ref().map(|e| e.head()), elsewhere, &policy, false, now);
        Look { entry, decision }
    }

    /// Whether the client's own condition goes out: where a 304 costs nothing, and nothing is kept that would be renewed.
    fn forwards(&self, sent: &[(String, String)], look: &Look) -> bool {
        let is_free = self.conn.spec.conditional == Conditional::Free && look.entry.is_none();
        is_free && sent.iter().any(|(name, _)| is_revalidating(name))
    }

    /// What was read with another key is not served for this one (P1).
    fn is_served(&self, entry: &Entry) -> bool {
        entry.head().key.credential == self.conn.credential
    }

    /// A list out of a wider one that is fresh (P2).
    fn narrowed(
        &self,
        wanted: &Wanted,
        wishes: &Wishes,
        sent: &[(String, String)],
        look: &Look,
        now: &Now,
    ) -> Option<Given> {
        let policy = self.conn.desk.gate.policy_by(&wanted.address.rules);
        let may = wanted.reading == Reading::Get
            && matches!(look.decision, Decision::Ask { why, .. } if why != Forward::Request);
        let (wider, value) = policy.narrow.filter(|_| may)?.wider(&wanted.address.location)?;
        let place = self.conn.desk.place(wider.target());
        let address = Arc::new(Address::new(wider, place, &self.conn.desk.gate));
        let wide =
            Wanted { address, reading: Reading::Get, headers: wanted.headers.clone(), authorized: wanted.authorized };
        let found = self.look(&wide, wishes, Some(sent), now);
        let (Decision::Hit(_), Some(entry)) = (found.decision, found.entry) else { return None };
        let entry = Some(entry).filter(|entry| entry.head().kept == Kept::Data)?;
        let body = policy.narrow?.narrow(entry.head(), &entry.body, &value)?;
        let shelved = room::narrowed(&entry, &wanted.address.place.target, body);
        let entry = room::put(&self.core, &self.conn, &wanted.address.place, shelved)?;
        let life = life(entry.head(), &policy, now);
        let how = CacheStatus { detail: Some("narrowed"), ..CacheStatus::hit(&life) };
        Some(Given::Shelf { entry, life, how, stale: None })
    }

    /// Asks for what is served though it is over; nobody waits for it.
    fn renews(&self, wanted: &Wanted, wishes: &Wishes, look: &Look) {
        if !matches!(look.decision, Decision::Meanwhile(_)) {
            return;
        }
        let question = Question {
            address: wanted.address.clone(),
            reading: wanted.reading,
            headers: wanted.headers.clone(),
            sent: as_text(&wanted.headers),
            wishes: *wishes,
            authorized: wanted.authorized,
            alone: false,
            forwards: false,
            known: look.entry.clone(),
        };
        let (passenger, leads) = self.boards(question, false);
        if leads {
            self.core.spawn(async move { _ = passenger.arrival().await });
        }
    }

    /// A seat in the flight that asks this, or in a new one. True: it is the first, and asks as it does.
    fn boards(&self, question: Question, single: bool) -> (Passenger, bool) {
        static ALONE: AtomicU64 = AtomicU64::new(0);
        let known = question.address.place.with(|entries| {
            let mut names: Vec<String> =
                entries.iter().flat_map(|e| e.head().variant.iter()).map(|(n, _)| n.clone()).collect();
            let own = question.sent.iter().filter(|(name, _)| question.forwards && is_revalidating(name));
            names.extend(own.map(|(name, _)| name.clone()));
            names.sort_unstable();
            names.dedup();
            names
        });
        let key = FlightKey {
            credential: self.conn.credential,
            target: question.address.place.target.clone(),
            reading: question.reading,
            varied: varied(&known, &question.sent),
            alone: single.then(|| ALONE.fetch_add(1, Ordering::Relaxed)),
        };
        let mut flights = self.conn.desk.flights();
        if let Some(passenger) = flights.get(&key).and_then(Flight::board) {
            return (passenger, false);
        }
        let flight = Arc::new(Flight::default());
        // It is new: nobody has given it up.
        let passenger = flight.boards_first();
        flights.insert(key.clone(), flight.clone());
        drop(flights);
        let (core, conn) = (self.core.clone(), self.conn.clone());
        let mut pilot = Pilot { flight, landed: false };
        self.core.spawn(async move {
            core.begun.cancelled().await;
            let (landing, late) = ask::ask(&core, &conn, &question, &pilot.flight.unwanted).await;
            // Who comes from now on finds it on the shelf, or asks anew.
            conn.desk.boards_no_more(&key, &pilot.flight);
            pilot.landed = true;
            pilot.flight.lands(landing);
            // A long answer that nobody takes ends with the last who could have.
            drop(pilot);
            if let Some(late) = late {
                late.settles(&core).await;
            }
        });
        (passenger, true)
    }

    /// What a landing is to somebody who waited for it; `None`: it is nothing for it.
    fn given(
        &self,
        landing: &Arc<Landing>,
        (wanted, sent): (&Wanted, &[(String, String)]),
        look: &Look,
        fallback: Fallback,
        (leads, how): (bool, CacheStatus),
    ) -> Option<Given> {
        let now = self.core.clock.now();
        match &**landing {
            Landing::Shelved { entry, own: Some(answer), .. } if leads => {
                let ttl_s = Some(self.life(wanted, entry, &now).ttl_s());
                Some(Given::Passed { answer: answer.clone(), how: CacheStatus { stored: true, ttl_s, ..how } })
            }
            Landing::Shelved { entry, status, .. } => {
                if !leads && !fits(&entry.head().variant, sent) {
                    return None;
                }
                let life = self.life(wanted, entry, &now);
                entry.is_used(now.steady);
                let other = status.filter(|status| *status != entry.head().status);
                let how = CacheStatus { stored: true, forward_status: other, ttl_s: Some(life.ttl_s()), ..how };
                Some(Given::Shelf { entry: entry.clone(), life, how, stale: None })
            }
            Landing::Passed { doubted: Some(halt), .. } if fallback == Fallback::Stale && look.entry.is_some() => {
                self.stale(wanted, look, halt, how)
            }
            Landing::Passed { answer, shared, word, .. }
                if leads || shared.as_ref().is_some_and(|variant| fits(variant, sent)) =>
            {
                let how = CacheStatus { forward_status: Some(answer.status), detail: Some(word), ..how };
                Some(Given::Passed { answer: answer.clone(), how })
            }
            // What is no good answer is asked for once, however many wait for it.
            Landing::Passed { doubted: Some(halt), .. } => Some(denied(halt, how)),
            Landing::Passed { .. } | Landing::GivenUp => None,
            Landing::Long(long) => Landing::take(long).map(|(answer, rest)| {
                let how = CacheStatus { detail: Some("too_large"), collapsed: false, ..how };
                Given::Long { answer, rest, how }
            }),
            Landing::Halted(halt) => match fallback {
                Fallback::Stale if look.entry.is_some() => self.stale(wanted, look, halt, how),
                _ => Some(denied(halt, how)),
            },
        }
    }

    /// The last good answer, with its age and why there is no other; `None`: what it shows was changed meanwhile, and it is asked for anew.
    fn stale(&self, wanted: &Wanted, look: &Look, halt: &Arc<Halt>, how: CacheStatus) -> Option<Given> {
        let now = self.core.clock.now();
        let entry = look.entry.clone().filter(|entry| !self.conn.desk.is_overtaken(entry.head()))?;
        let life = self.life(wanted, &entry, &now);
        entry.is_used(now.steady);
        let how = CacheStatus { ttl_s: Some(life.ttl_s()), detail: Some(halt.word), ..how };
        Some(Given::Shelf { entry, life, how, stale: Some(halt.sentence.clone()) })
    }

    fn life(&self, wanted: &Wanted, entry: &Entry, now: &Now) -> Life {
        let policy = self.conn.desk.gate.policy_by(&wanted.address.rules);
        life(entry.head(), &policy, now)
    }
}

fn denied(halt: &Arc<Halt>, how: CacheStatus) -> Given {
    Given::Denied { halt: halt.clone(), how: CacheStatus { detail: Some(halt.word), ..how } }
}

fn hit(look: &Look, now: &Now) -> Option<Given> {
    let entry = look.entry.as_ref()?;
    let (life, detail, stale) = match look.decision {
        Decision::Hit(life) => (life, (entry.head().kept == Kept::NotReady).then_some("not_ready"), None),
        Decision::Meanwhile(life) => (life, Some("revalidating"), Some(REVALIDATING.to_owned())),
        _ => return None,
    };
    entry.is_used(now.steady);
    let how = CacheStatus { detail, ..CacheStatus::hit(&life) };
    Some(Given::Shelf { entry: entry.clone(), life, how, stale })
}
