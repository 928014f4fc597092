//! One request under way for everybody who asks the same. It belongs to nobody who waits for it: who goes away cancels it only if nobody
//! else waits and nothing was sent yet. Knows nothing of what is asked.

use super::given::{Halt, PassedOn};
use super::place::Entry;
use crate::domain::gateway::{Reading, Variant};
use crate::domain::ids::CredentialId;
use crate::upstream::pass::Rest;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What is asked: the address as it is kept, and the headers that answers there are known to vary by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlightKey {
    /// What one key reads is not for another (P1).
    pub credential: CredentialId,
    pub target: String,
    pub reading: Reading,
    pub varied: Vec<(String, String)>,
    /// Numbers those that nobody shares.
    pub alone: Option<u64>,
}

/// What a request sends of these headers: every line of each.
pub fn varied(names: &[String], sent: &[(String, String)]) -> Vec<(String, String)> {
    names.iter().flat_map(|name| sent.iter().filter(move |(n, _)| n == name)).cloned().collect()
}

/// What a flight brought.
#[expect(clippy::large_enum_variant, reason = "there is one of them for each flight, behind an Arc")]
pub enum Landing {
    /// On the shelf now. `status`: what the provider answered.
    Shelved {
        entry: Arc<Entry>,
        status: Option<u16>,
        /// As it came, for who asked first, where not all of its headers are kept.
        own: Option<Arc<PassedOn>>,
    },
    Passed {
        answer: Arc<PassedOn>,
        /// Others who waited may have it too, where these headers are the same in their requests.
        shared: Option<Variant>,
        /// A good status, and no answer that could be believed: what is on the shelf is better.
        doubted: Option<Arc<Halt>>,
        /// Why it is not kept.
        word: &'static str,
    },
    /// Too long to be held: whoever comes first has it.
    Long(Mutex<Option<(PassedOn, Rest)>>),
    Halted(Arc<Halt>),
    /// It was given up before anything was sent: nobody waited. Who came meanwhile asks anew.
    GivenUp,
}

impl Landing {
    /// The long answer, if nobody has it yet.
    pub fn take(long: &Mutex<Option<(PassedOn, Rest)>>) -> Option<(PassedOn, Rest)> {
        long.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

pub struct Flight {
    landing: watch::Sender<Option<Arc<Landing>>>,
    waiting: AtomicUsize,
    pub unwanted: CancellationToken,
}

impl Default for Flight {
    fn default() -> Flight {
        Flight { landing: watch::channel(None).0, waiting: AtomicUsize::new(0), unwanted: CancellationToken::new() }
    }
}

impl Flight {
    /// The first place, in a flight that nobody knows yet.
    pub fn boards_first(self: &Arc<Flight>) -> Passenger {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Passenger { landing: self.landing.subscribe(), flight: self.clone() }
    }

    /// A place among those who wait; `None`: it is being given up.
    pub fn board(self: &Arc<Flight>) -> Option<Passenger> {
        let passenger = self.boards_first();
        (!self.unwanted.is_cancelled()).then_some(passenger)
    }

    pub fn lands(&self, landing: Landing) {
        self.landing.send_replace(Some(Arc::new(landing)));
    }
}

/// Somebody who waits. Dropping it is going away.
pub struct Passenger {
    landing: watch::Receiver<Option<Arc<Landing>>>,
    flight: Arc<Flight>,
}

impl Passenger {
    pub async fn arrival(mut self) -> Arc<Landing> {
        match self.landing.wait_for(Option::is_some).await {
            Ok(landed) => landed.clone().unwrap_or_else(|| Arc::new(Landing::GivenUp)),
            // The sender is in the flight that this holds.
            Err(_) => Arc::new(Landing::GivenUp),
        }
    }
}

impl Drop for Passenger {
    fn drop(&mut self) {
        if self.flight.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.flight.unwanted.cancel();
        }
    }
}

/// Lands a flight whose task ends without a word (the appliance stops), so that nobody waits for ever.
pub struct Pilot {
    pub flight: Arc<Flight>,
    pub landed: bool,
}

impl Drop for Pilot {
    fn drop(&mut self) {
        if !self.landed {
            self.flight.lands(Landing::Halted(Arc::new(Halt::stopping())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_differs_in_a_later_line_of_a_header_asks_something_else() {
        let sent = |lines: &[(&str, &str)]| -> Vec<(String, String)> {
            lines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let one = sent(&[("accept", "a/b"), ("x-user", "ann"), ("accept", "c/d")]);
        let other = sent(&[("accept", "a/b"), ("x-user", "ann"), ("accept", "e/f")]);
        let names = ["accept".to_owned()];
        assert_eq!(varied(&names, &one), sent(&[("accept", "a/b"), ("accept", "c/d")]));
        assert_ne!(varied(&names, &one), varied(&names, &other));
        assert_eq!(varied(&["x-user".to_owned()], &one), varied(&["x-user".to_owned()], &other));
    }
}
