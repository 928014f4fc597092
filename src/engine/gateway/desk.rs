//! What a connection's gateway has in memory: its addresses with their answers, the flights under way, what happened lately, and its
//! counts. Asks nobody.

use super::flight::{Flight, FlightKey};
use super::given::How;
use super::place::{Address, Place};
use crate::domain::gateway::{Head, Until};
use crate::domain::spec::{Carrier, ConnectionSpec};
use crate::domain::time::{Stamp, Steady};
use crate::rules::gateway::{Gate, Happened, Location, Unsafe};
use hyper::header::HeaderValue;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Addresses that are remembered, whether or not anything is kept under them; beyond it those go under which nothing is.
const MOST_PLACES: usize = 8192;
/// Bytes of an address that is remembered though nothing is kept under it. A longer one is read anew each time.
const LONGEST: usize = 2048;
/// So many of those that are longer may have nothing kept under them before they are looked through.
const FEW: usize = 8;
/// Bytes of all addresses together that are remembered so: what somebody could have remembered by asking for ever new ones.
const MOST_BYTES: usize = 4 << 20;
/// Changes that are remembered for requests under way: as many as can be made while one waits for its answer.
const MOST_CHANGES: usize = 256;

type Limits = Option<(HeaderValue, HeaderValue)>;

pub struct Desk {
    pub gate: Gate,
    /// By how clients write them.
    addresses: RwLock<Named<Address>>,
    /// By what they are kept under.
    places: RwLock<Named<Place>>,
    flights: Mutex<HashMap<FlightKey, Arc<Flight>>>,
    happened: RwLock<Happened>,
    /// The last that may have changed something, and when they were over.
    changes: Mutex<VecDeque<(Location, Steady)>>,
    counts: [AtomicU64; How::ALL.len()],
    /// As of a second.
    limits: RwLock<Option<(u64, Limits)>>,
}

/// What is remembered by names, and how many bytes these have.
struct Named<T> {
    all: HashMap<Box<str>, Arc<T>>,
    bytes: usize,
    /// Names that are longer than [`LONGEST`], now and after they were looked through last.
    long: usize,
    long_then: usize,
}

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named { all: HashMap::new(), bytes: 0, long: 0, long_then: 0 }
    }
}

impl<T> Named<T> {
    fn has_room_for(&self, name: &str) -> bool {
        self.all.len() < MOST_PLACES && self.bytes + name.len() <= MOST_BYTES
    }

    fn add(&mut self, name: &str, what: Arc<T>) {
        if self.all.insert(name.into(), what).is_none() {
            self.bytes += name.len();
            self.long += usize::from(name.len() > LONGEST);
        }
    }

    /// Twice as many as were needed the last time: each is looked through a few times, however many come.
    fn has_many_long_ones(&self) -> bool {
        self.long >= FEW + 2 * self.long_then
    }

    fn retain(&mut self, is_kept: impl Fn(&str, &Arc<T>) -> bool) {
        self.all.retain(|name, what| is_kept(name, what));
        self.bytes = self.all.keys().map(|name| name.len()).sum();
        self.long = self.all.keys().filter(|name| name.len() > LONGEST).count();
        self.long_then = self.long;
    }
}

impl Desk {
    /// The error is a sentence.
    pub fn new(spec: &ConnectionSpec) -> Result<Desk, String> {
        let gate = Gate::compile(&spec.gateway, &spec.commands).map_err(|e| e.join("; "))?;
        Ok(Desk::behind(gate))
    }

    fn behind(gate: Gate) -> Desk {
        let (addresses, places, flights, happened, counts, limits) = Default::default();
        Desk { gate, addresses, places, flights, happened, changes: Mutex::default(), counts, limits }
    }

    /// `raw`: path and query as they stood in a request line.
    pub fn address(&self, raw: &str, carrier: &Carrier) -> Result<Arc<Address>, Unsafe> {
        if let Some(known) = self.addresses.read().unwrap_or_else(PoisonError::into_inner).all.get(raw) {
            return Ok(known.clone());
        }
        let location = Location::read(raw)?;
        let location = match carrier {
            Carrier::Query { name } => location.without(name),
            _ => location,
        };
        let place = self.place(location.target());
        let address = Arc::new(Address::new(location, place, &self.gate));
        address.place.asked.store(true, Ordering::Relaxed);
        if raw.len() > LONGEST {
            return Ok(address);
        }
        let mut addresses = self.addresses.write().unwrap_or_else(PoisonError::into_inner);
        if !addresses.has_room_for(raw) {
            *addresses = Named::default();
        }
        addresses.add(raw, address.clone());
        Ok(address)
    }

    /// Where answers to this target are kept.
    pub fn place(&self, target: String) -> Arc<Place> {
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.all.get(target.as_str()) {
            return known.clone();
        }
        let is_needed = |place: &Arc<Place>| !place.is_empty() || Arc::strong_count(place) > 1;
        if !places.has_room_for(&target) {
            // Who has one in hand keeps it; what is put there then is found no more, and asked for again.
            places.retain(|_, place| is_needed(place));
        } else if target.len() > LONGEST && places.has_many_long_ones() {
            places.retain(|known, place| known.len() <= LONGEST || is_needed(place));
        }
        let place = Arc::new(Place::new(target));
        places.add(&place.target, place.clone());
        place
    }

    /// Every place under which something is kept.
    pub fn kept(&self) -> Vec<Arc<Place>> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        places.all.values().filter(|place| !place.is_empty()).cloned().collect()
    }

    pub fn flights(&self) -> MutexGuard<'_, HashMap<FlightKey, Arc<Flight>>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever comes from now on asks anew.
    pub fn boards_no_more(&self, key: &FlightKey, flight: &Arc<Flight>) {
        let mut flights = self.flights();
        if flights.get(key).is_some_and(|known| Arc::ptr_eq(known, flight)) {
            flights.remove(key);
        }
    }

    /// Something happened that a "not ready" may have waited for.
    pub fn happens(&self, what: Until, at: Stamp) {
        self.happened.write().unwrap_or_else(PoisonError::into_inner).note(what, at);
    }

    pub fn with_happened<T>(&self, look: impl FnOnce(&Happened) -> T) -> T {
        look(&self.happened.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something was written there, and its answer was heard then: nobody boards a flight any more that asked for it before.
    pub fn changes(&self, written: &Location, at: Steady) {
        {
            let mut changes = self.noted();
            changes.retain(|(known, _)| known != written);
            if changes.len() >= MOST_CHANGES {
                changes.pop_front();
            }
            changes.push_back((written.clone(), at));
        }
        self.flights().retain(|key, _| !self.gate.forgets_at(written, &key.target));
    }

    /// It was asked for before what it may show was changed: nobody knows which of both it shows.
    pub fn is_overtaken(&self, head: &Head) -> bool {
        self.unless_overtaken(head, || ()).is_none()
    }

    /// What `put` makes of it, unless it is overtaken; a change that comes meanwhile waits, and finds what was put.
    pub fn unless_overtaken<T>(&self, head: &Head, put: impl FnOnce() -> T) -> Option<T> {
        let changes = self.noted();
        let overtakes = |(written, at): &(Location, Steady)| {
            *at >= head.asked_at.steady && self.gate.forgets_at(written, &head.key.target)
        };
        (!changes.iter().any(overtakes)).then(put)
    }

    fn noted(&self) -> MutexGuard<'_, VecDeque<(Location, Steady)>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn count(&self, how: How) {
        self.counts[how as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> [(How, u64); How::ALL.len()] {
        How::ALL.map(|how| (how, self.counts[how as usize].load(Ordering::Relaxed)))
    }

    /// Made once a second, however many ask.
    pub fn limits(&self, second: u64, make: impl FnOnce() -> Limits) -> Limits {
        if let Some((of, limits)) = &*self.limits.read().unwrap_or_else(PoisonError::into_inner)
            && *of == second
        {
            return limits.clone();
        }
        let limits = make();
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = Some((second, limits.clone()));
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gateway::GatewaySpec;

    #[test]
    fn long_addresses_are_remembered_while_somebody_holds_them_and_few_besides() {
        let desk = Desk::behind(Gate::compile(&GatewaySpec::default(), &[]).unwrap());
        let long = |n: usize| format!("/x?n={n}&fill={}", "f".repeat(LONGEST));
        let sizes = || (desk.addresses.read().unwrap().all.len(), desk.places.read().unwrap().all.len());
        let held = desk.address(&long(0), &Carrier::None).unwrap();
        for n in 1..100 {
            desk.address(&long(n), &Carrier::None).unwrap();
        }
        assert!(sizes().0 == 0 && sizes().1 <= FEW + 2, "the one in hand, and the last few: {:?}", sizes());
        let again = desk.address(&long(0), &Carrier::None).unwrap();
        assert!(Arc::ptr_eq(&held.place, &again.place), "two who ask for it at once ask together");
        for n in 0..100 {
            desk.address(&format!("/x?n={n}"), &Carrier::None).unwrap();
        }
        assert_eq!(sizes().0, 100);
    }

    #[test]
    fn addresses_are_remembered_within_a_number_of_bytes_too() {
        let desk = Desk::behind(Gate::compile(&GatewaySpec::default(), &[]).unwrap());
        let name = |n: usize| format!("/x?n={n}&fill={}", "f".repeat(1900));
        let held = desk.address(&name(0), &Carrier::None).unwrap();
        let mut most = (0, 0);
        for n in 1..6000 {
            desk.address(&name(n), &Carrier::None).unwrap();
            let bytes = (desk.addresses.read().unwrap().bytes, desk.places.read().unwrap().bytes);
            most = (most.0.max(bytes.0), most.1.max(bytes.1));
        }
        // The last addresses still hold their places.
        assert!(most.0 <= MOST_BYTES && most.1 <= MOST_BYTES + 2 * LONGEST, "{most:?}");
        assert!(most.0 > MOST_BYTES / 2, "{most:?}");
        assert!(Arc::ptr_eq(&held.place, &desk.place(held.place.target.clone())), "the one in hand stays");
    }
}
