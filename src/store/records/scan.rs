//! Records of scans: where one stands, and the rows of a generation.

use super::shelf::{field_down, field_up, state_down, state_up};
use super::{MEMBERS, SHELF_MOST, SHELF_READ, V1, bounded, down, unknown_version, up, v1};
use crate::domain::ids::TargetName;
use crate::domain::item::Sighting;
use crate::domain::page::Ask;
use crate::domain::scan::{Building, Count, Discarded, Published, ScanState, Seen, Unmatched, Walked};
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn scan(s: &ScanState) -> Result<Vec<u8>, Damaged> {
    let record = v1::Scan {
        readings: s.readings,
        building: s.building.as_ref().map(building_down),
        published: s.published.as_ref().map(published_down),
        discarded: s.discarded.as_ref().map(discarded_down),
    };
    codec::encode(V1, &record, SHELF_MOST)
}

pub(in crate::store) fn scan_of(bytes: &[u8]) -> Result<ScanState, Damaged> {
    let s: v1::Scan = read(bytes)?;
    Ok(ScanState {
        readings: s.readings,
        building: s.building.map(building_up),
        published: s.published.map(published_up),
        discarded: s.discarded.map(discarded_up),
    })
}

fn read<T: bincode::Decode<()>>(bytes: &[u8]) -> Result<T, Damaged> {
    match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, SHELF_READ>(payload),
        (other, _) => unknown_version(other),
    }
}

fn building_down(b: &Building) -> v1::Building {
    v1::Building {
        number: b.number,
        question: ask_down(&b.question),
        next: b.next.as_ref().map(ask_down),
        walked: walked_down(&b.walked),
        begun_at: down(b.begun_at),
        as_of: b.as_of.map(down),
        last_at: down(b.last_at),
        failures: b.failures,
        count: count_down(&b.count),
    }
}

fn building_up(b: v1::Building) -> Building {
    Building {
        number: b.number,
        question: ask_up(b.question),
        next: b.next.map(ask_up),
        walked: walked_up(b.walked),
        begun_at: up(b.begun_at),
        as_of: b.as_of.map(up),
        last_at: up(b.last_at),
        failures: b.failures,
        count: count_up(b.count),
    }
}

fn ask_down(ask: &Ask) -> (String, Vec<u8>) {
    (ask.location.clone(), ask.body.clone())
}

fn ask_up((location, body): (String, Vec<u8>)) -> Ask {
    Ask { location, body }
}

fn walked_down(w: &Walked) -> v1::Walked {
    let Walked { pages, of, rows, total, bytes, asked, said } = w.clone();
    v1::Walked { pages, of, rows, total, bytes, asked, said }
}

fn walked_up(w: v1::Walked) -> Walked {
    let v1::Walked { pages, of, rows, total, bytes, asked, said } = w;
    Walked { pages, of, rows, total, bytes, asked, said }
}

fn count_down(c: &Count) -> v1::Count {
    let examples = c.examples.iter().map(|u| (u.key.clone(), u.names.clone())).collect();
    v1::Count { rows: c.rows, unmatched: c.unmatched, unwatched: c.unwatched, examples }
}

fn count_up(c: v1::Count) -> Count {
    let examples = c.examples.into_iter().map(|(key, names)| Unmatched { key, names }).collect();
    Count { rows: c.rows, unmatched: c.unmatched, unwatched: c.unwatched, examples }
}

fn published_down(p: &Published) -> v1::Published {
    v1::Published {
        number: p.number,
        as_of: down(p.as_of),
        at: down(p.at),
        pages: p.pages,
        count: count_down(&p.count),
        targets: p.targets,
        changed: p.changed,
        fresher: p.fresher,
    }
}

fn published_up(p: v1::Published) -> Published {
    Published {
        number: p.number,
        as_of: up(p.as_of),
        at: up(p.at),
        pages: p.pages,
        count: count_up(p.count),
        targets: p.targets,
        changed: p.changed,
        fresher: p.fresher,
    }
}

fn discarded_down(d: &Discarded) -> v1::Discarded {
    v1::Discarded { number: d.number, at: down(d.at), pages: d.pages, of: d.of, rows: d.rows, why: d.why.clone() }
}

fn discarded_up(d: v1::Discarded) -> Discarded {
    Discarded { number: d.number, at: up(d.at), pages: d.pages, of: d.of, rows: d.rows, why: d.why }
}

pub(in crate::store) fn names(names: &[TargetName]) -> Result<Vec<u8>, Damaged> {
    let names: Vec<String> = names.iter().map(|name| name.0.clone()).collect();
    codec::encode(V1, &names, SHELF_MOST)
}

pub(in crate::store) fn names_of(bytes: &[u8]) -> Result<Vec<TargetName>, Damaged> {
    Ok(read::<Vec<String>>(bytes)?.into_iter().map(TargetName).collect())
}

pub(in crate::store) fn seen(seen: &[Seen]) -> Result<Vec<u8>, Damaged> {
    if seen.len() > MEMBERS {
        return Err(Damaged(format!("it has {} rows and at most {MEMBERS} are kept", seen.len())));
    }
    codec::encode(V1, &v1::Seen(seen.iter().map(|s| (s.target, s.key, s.same)).collect()), SHELF_MOST)
}

pub(in crate::store) fn seen_of(bytes: &[u8]) -> Result<Vec<Seen>, Damaged> {
    let v1::Seen(seen) = read(bytes)?;
    Ok(bounded(seen)?.into_iter().map(|(target, key, same)| Seen { target, key, same }).collect())
}

pub(in crate::store) fn row(s: &Sighting) -> Result<Vec<u8>, Damaged> {
    let record = v1::Sighting {
        title: s.title.clone(),
        state: s.state.as_ref().map(state_down),
        fields: bounded(s.fields.iter().map(|(name, value)| (name.clone(), field_down(value))).collect())?,
        fingerprint: s.fingerprint,
    };
    codec::encode(V1, &record, SHELF_MOST)
}

pub(in crate::store) fn row_of(key: String, bytes: &[u8]) -> Result<Sighting, Damaged> {
    let s: v1::Sighting = read(bytes)?;
    Ok(Sighting {
        key,
        title: s.title,
        state: s.state.map(state_up),
        fields: bounded(s.fields)?.into_iter().map(|(name, value)| (name, field_up(value))).collect(),
        fingerprint: s.fingerprint,
    })
}
