//! Local rates: how fast wrong tokens may be tried and changes be asked for. Bounded in memory; `now` is an argument where a
//! block has to be remembered.

use super::{OBSERVATIONS, RateKey};
use crate::domain::time::{Span, Steady};
use crate::rules::attempts::Attempts;
use axum::http::Method;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

/// Wrong tokens that a peer may show at once; one more is free every 6 s.
const WRONG_TOKENS: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// Changes that a token may ask for at once; two more are free every second.
const CHANGES: NonZeroU32 = NonZeroU32::new(20).unwrap();
const CHANGES_PER_SECOND: NonZeroU32 = NonZeroU32::new(2).unwrap();
/// Targets come by the thousand and cost no request: what of them a token may put, change and take away at once, and what is free every
/// second.
const TARGETS: NonZeroU32 = NonZeroU32::new(2000).unwrap();
const TARGETS_PER_SECOND: NonZeroU32 = NonZeroU32::new(100).unwrap();
/// Requests that push observations, each with many: what a token may send at once, and what is free every second.
const PUSHES: NonZeroU32 = NonZeroU32::new(600).unwrap();
const PUSHES_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// How long a peer that ran out of wrong tokens is not listened to.
pub const BLOCK: Span = Span::from_secs(6);
/// Peers that are remembered at most.
const PEERS: usize = 4096;

/// The rates of one process, shared by its listeners.
pub struct Limits {
    wrong: DefaultKeyedRateLimiter<Peer>,
    changes: DefaultKeyedRateLimiter<RateKey>,
    targets: DefaultKeyedRateLimiter<RateKey>,
    pushes: DefaultKeyedRateLimiter<RateKey>,
    blocked: Mutex<HashMap<Peer, Steady>>,
    /// Passwords and claim codes.
    tries: Mutex<Attempts<Peer>>,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Target,
    Observations,
    Other,
}

impl Change {
    /// How the rate of such changes is called.
    pub const fn word(self) -> &'static str {
        match self {
            Change::Target => "changes of targets",
            Change::Observations => "observations",
            Change::Other => "changes",
        }
    }
    /// Of a request to the API.
    pub fn of(method: &Method, path: &str) -> Change {
        if path == OBSERVATIONS {
            return Change::Observations;
        }
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["", "api", "v1", "connections", _, "targets", _]
                if [Method::PUT, Method::PATCH, Method::DELETE].contains(method) =>
            {
                Change::Target
            }
            _ => Change::Other,
        }
    }
}

/// An address as far as one household has it: IPv4, or the /64 of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(u128);

impl Peer {
    /// `None` stands for all whose address is not known.
    pub fn of(ip: Option<IpAddr>) -> Peer {
        Peer(match ip.map(|ip| ip.to_canonical()) {
            None => 0,
            Some(IpAddr::V4(v4)) => u128::from(v4.to_bits()) | 1 << 64,
            Some(IpAddr::V6(v6)) => v6.to_bits() >> 64 << 64 | 2,
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            wrong: RateLimiter::keyed(Quota::per_minute(WRONG_TOKENS)),
            changes: RateLimiter::keyed(Quota::per_second(CHANGES_PER_SECOND).allow_burst(CHANGES)),
            targets: RateLimiter::keyed(Quota::per_second(TARGETS_PER_SECOND).allow_burst(TARGETS)),
            pushes: RateLimiter::keyed(Quota::per_second(PUSHES_PER_SECOND).allow_burst(PUSHES)),
            blocked: Mutex::new(HashMap::new()),
            tries: Mutex::default(),
        }
    }
}

impl Limits {
    /// Whether this peer's tokens are looked at now.
    pub fn listens_to(&self, peer: Peer, now: Steady) -> bool {
        let blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        blocked.get(&peer).is_none_or(|until| *until <= now)
    }

    /// A wrong token was shown.
    pub fn wrong_token(&self, peer: Peer, now: Steady) {
        if self.wrong.len() > PEERS {
            self.wrong.retain_recent();
        }
        if self.wrong.check_key(&peer).is_ok() {
            return;
        }
        let mut blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        if blocked.len() >= PEERS {
            blocked.retain(|_, until| *until > now);
        }
        if blocked.len() < PEERS {
            blocked.insert(peer, now + BLOCK);
        }
    }

    /// A password or a code is tried. `Err`: not before so long.
    pub fn tries(&self, peer: Peer, now: Steady) -> Result<(), Span> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).begin(&peer, now)
    }

    /// It was right.
    pub fn was_right(&self, peer: Peer) {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).succeed(&peer);
    }

    /// It was wrong; whether that is worth telling.
    pub fn was_wrong(&self, peer: Peer) -> bool {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).has_just_run_out(&peer)
    }

    /// Whether a change by the holder of this key fits now.
    pub fn admits_change(&self, key: RateKey, change: Change) -> bool {
        let rate = match change {
            Change::Target => &self.targets,
            Change::Observations => &self.pushes,
            Change::Other => &self.changes,
        };
        if rate.len() > PEERS {
            rate.retain_recent();
        }
        rate.check_key(&key).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_guesses_is_not_listened_to_for_a_while() {
        let limits = Limits::default();
        let (guesser, other) = (Peer::of("10.0.0.9".parse().ok()), Peer::of("10.0.0.8".parse().ok()));
        let now = Steady(1_000_000);
        for _ in 0..10 {
            limits.wrong_token(guesser, now);
            assert!(limits.listens_to(guesser, now));
        }
        limits.wrong_token(guesser, now);
        assert!(!limits.listens_to(guesser, now));
        assert!(limits.listens_to(other, now), "only the guesser waits");
        assert!(limits.listens_to(guesser, now + BLOCK), "and not for ever");
    }

    #[test]
    fn changes_have_a_rate_by_token() {
        let limits = Limits::default();
        assert!((0..20).all(|_| limits.admits_change(RateKey::Token(7), Change::Other)));
        assert!(!limits.admits_change(RateKey::Token(7), Change::Other));
        assert!(limits.admits_change(RateKey::Token(8), Change::Other));
        assert!(
            (0..2000).all(|_| limits.admits_change(RateKey::Token(7), Change::Target)),
            "targets come by the thousand"
        );
        let target = "/api/v1/connections/field/targets/ECO-1";
        for (method, path, change) in [
            (Method::PUT, target.to_owned(), Change::Target),
            (Method::DELETE, target.to_owned(), Change::Target),
            (Method::POST, format!("{target}/refresh"), Change::Other),
            (Method::PATCH, "/api/v1/connections/field".to_owned(), Change::Other),
        ] {
            assert_eq!(Change::of(&method, &path), change, "{method} {path}");
        }
    }

    #[test]
    fn a_household_is_one_peer() {
        let peer = |ip: &str| Peer::of(ip.parse().ok());
        assert_eq!(peer("fd00::1"), peer("fd00::2"));
        assert_ne!(peer("fd00:0:0:1::1"), peer("fd00:0:0:2::1"));
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.1"), peer("10.0.0.2"));
    }
}
