//! Records of what a provider's own count has taught.

use super::{MOST, READ, V1, down, unknown_version, up, v1};
use crate::domain::ids::Endpoint;
use crate::domain::quota::{Foreign, Learned, LimitKey};
use crate::domain::time::Steady;
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn learned(l: &Learned) -> Result<Vec<u8>, Damaged> {
    let foreign = |f: Foreign| v1::Foreign { units: f.units, at: f.at.0, until: f.until.map(|u| u.0) };
    let record = v1::Learned {
        limit: l.about.limit.clone(),
        endpoint: l.about.endpoint.as_ref().map(|e| e.0.clone()),
        source: l.source.clone(),
        asked_at: down(l.asked_at),
        foreign: l.foreign.map(foreign),
        foreign_streak: l.foreign_streak,
        foreign_seen_at: l.foreign_seen_at.map(down),
        nothing_left: l.nothing_left,
        stated: l.stated,
        stated_streak: l.stated_streak,
        adopted: l.adopted,
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn learned_of(bytes: &[u8]) -> Result<Learned, Damaged> {
    let l: v1::Learned = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    let foreign = |f: v1::Foreign| Foreign { units: f.units, at: Steady(f.at), until: f.until.map(Steady) };
    Ok(Learned {
        about: LimitKey { limit: l.limit, endpoint: l.endpoint.map(Endpoint) },
        source: l.source,
        asked_at: up(l.asked_at),
        foreign: l.foreign.map(foreign),
        foreign_streak: l.foreign_streak,
        foreign_seen_at: l.foreign_seen_at.map(up),
        nothing_left: l.nothing_left,
        stated: l.stated,
        stated_streak: l.stated_streak,
        adopted: l.adopted,
    })
}
