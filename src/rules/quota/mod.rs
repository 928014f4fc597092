//! What a provider says of its own count, and of which of our limits it speaks. A claim that fits no declared limit, or more than
//! one, teaches nothing. Must not know the ledger; what follows from a claim is for `rules::learn`.

mod headers;
mod spent;

pub use spent::{Brought, Spent, is_believed, spent};

use super::calendar::Calendar;
use super::extract::path::Path;
use crate::domain::ids::Endpoint;
use crate::domain::limit::{Kind, Limit, Scope};
use crate::domain::quota::{Claim, CountPlace, LimitKey, QuotaSpec};
use crate::domain::reply::Answer;
use crate::domain::time::{Span, Wall};
use crate::domain::wait::{WaitForm, WaitPlace, WaitSource};
use serde_json::Value;

/// A stated reset may lie this far from the turn of a calendar that it is taken for: whole seconds, a slow answer, two clocks.
const NEAR: Span = Span::from_secs(5);

/// How the source of a total ends that names neither a limit nor a window.
pub const NAMELESS: &str = ", which names no limit and no window";

/// Where one figure stands, ready to be read.
#[derive(Clone, Debug)]
enum Place {
    Header(String),
    Json(Path),
}

/// `[[quota]]`, compiled.
#[derive(Clone, Debug)]
struct Own {
    limit: String,
    total: Option<Place>,
    remaining: Option<Place>,
    used: Option<Place>,
    reset: Option<Place>,
}

/// Reads what a provider says of its count.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    own: Vec<Own>,
    /// Headers of which a recipe says in which form they tell a reset (A17).
    forms: Vec<(String, WaitForm)>,
}

/// What an answer says of its provider's count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Of declared limits, at most once each.
    pub known: Vec<(LimitKey, Claim)>,
    /// Of buckets that are none of them, or of which it is not clear.
    pub others: Vec<Claim>,
}

impl Reader {
    /// Errors are sentences.
    pub fn compile(specs: &[QuotaSpec], waits: &[WaitSource]) -> Result<Reader, Vec<String>> {
        let mut errors = Vec::new();
        let own = specs.iter().map(|spec| {
            let mut place = |place: &Option<CountPlace>| match place.as_ref()? {
                CountPlace::Header(name) => Some(Place::Header(name.to_ascii_lowercase())),
                CountPlace::Json(path) => match Path::parse(path) {
                    Ok(path) => Some(Place::Json(path)),
                    Err(why) => {
                        errors.push(format!("quota of `{}`: json: {why}", spec.limit));
                        None
                    }
                },
            };
            Own {
                limit: spec.limit.clone(),
                total: place(&spec.total),
                remaining: place(&spec.remaining),
                used: place(&spec.used),
                reset: place(&spec.reset),
            }
        });
        let own = own.collect();
        let forms = waits.iter().filter_map(|source| match &source.place {
            WaitPlace::Header(name) => Some((name.to_ascii_lowercase(), source.form)),
            WaitPlace::Json(_) | WaitPlace::Text(_) => None,
        });
        if errors.is_empty() { Ok(Reader { own, forms: forms.collect() }) } else { Err(errors) }
    }

    /// What the answer to a request for `endpoint` says about which limit; a recipe's own places come first.
    /// `speaker` tells who spoke last about a limit: the same header family is taken to mean the same limit again.
    pub fn claims(
        &self,
        answer: &Answer,
        body: Option<&Value>,
        limits: &[Limit],
        endpoint: &Endpoint,
        speaker: &dyn Fn(&LimitKey) -> Option<String>,
        now_wall: Wall,
    ) -> Said {
        let key = |limit: &Limit| LimitKey {
            limit: limit.name.clone(),
            endpoint: (limit.scope == Scope::Endpoint).then(|| endpoint.clone()),
        };
        let countable: Vec<&Limit> = limits.iter().filter(|l| !matches!(l.kind, Kind::Concurrent)).collect();
        let mut said = Said::default();
        for own in &self.own {
            if let Some(limit) = countable.iter().find(|l| l.name == own.limit) {
                said.known.extend(own.claim(answer, body, now_wall).map(|claim| (key(limit), claim)));
            }
        }
        let general = headers::claims(answer, now_wall, &self.forms);
        let (alone, offer) = (alone(&general, &countable), offer(&general, &countable));
        for claim in general {
            let spoken = |l: &Limit| speaker(&key(l)).is_some_and(|source| source == claim.source);
            match meant(&claim, &countable, spoken, now_wall).or(alone).map(key) {
                Some(key) if said.known.iter().any(|(k, _)| *k == key) => {}
                Some(key) => said.known.push((key, claim)),
                None => said.others.push(claim),
            }
        }
        let offer = offer.map(|(limit, claim)| (key(limit), claim)).filter(|_| said.known.is_empty());
        // Where somebody has spoken of the limit who is known to mean it, he is the one to say how much it is.
        said.known.extend(offer.filter(|(key, claim)| speaker(key).is_none_or(|s| s.is_empty() || s == claim.source)));
        said
    }
}

impl Own {
    fn claim(&self, answer: &Answer, body: Option<&Value>, now_wall: Wall) -> Option<Claim> {
        let text = |place: &Option<Place>| match place.as_ref()? {
            Place::Header(name) => answer.header(name).map(str::to_owned),
            Place::Json(path) => match path.one(body?)? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            },
        };
        let number = |place| headers::decimal(&text(place)?);
        let claim = Claim {
            source: format!("[[quota]] of {}", self.limit),
            total: number(&self.total).map(headers::down),
            remaining: number(&self.remaining).map(headers::up),
            used: number(&self.used).map(headers::down),
            reset: text(&self.reset).and_then(|t| headers::reset(&t, now_wall)),
            ..Claim::default()
        };
        (claim.total.is_some() || claim.remaining.is_some() || claim.used.is_some()).then_some(claim)
    }
}

/// The one limit that a claim speaks of: by the policy's name, by its window, by its total, by who spoke before, by its reset.
fn meant<'l>(
    claim: &Claim,
    limits: &[&'l Limit],
    spoken: impl Fn(&Limit) -> bool,
    now_wall: Wall,
) -> Option<&'l Limit> {
    let named = |l: &Limit| claim.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(&l.name));
    let total = |l: &Limit| claim.total == Some(l.amount);
    let resets = |l: &Limit| claim.reset.is_some_and(|r| turns_at(&l.kind, now_wall + r, now_wall));
    if let Some(limit) = one(limits, named) {
        return Some(limit);
    }
    if let Some(window) = claim.window {
        let same = |l: &Limit| lasts(&l.kind, window);
        return one(limits, same).or_else(|| one(limits, |l| same(l) && total(l)));
    }
    one(limits, total)
        .or_else(|| one(limits, |l| total(l) && resets(l)))
        .or_else(|| one(limits, spoken))
        .or_else(|| one(limits, resets).filter(|_| claim.total.is_some() || claim.remaining.is_some()))
}

/// The limit that an answer speaks of where no other can be meant: it alone applies, and all that is said is a lower total, without a
/// name or a window, that begins anew within its window.
fn alone<'l>(general: &[Claim], limits: &[&'l Limit]) -> Option<&'l Limit> {
    unnamed(general, limits).filter(|(limit, total)| *total < limit.amount).map(|(limit, _)| limit)
}

/// The same with a higher total: it may be another's (A22), so nothing is counted by it and it takes nobody's place. The owner is told.
fn offer<'l>(general: &[Claim], limits: &[&'l Limit]) -> Option<(&'l Limit, Claim)> {
    let (limit, total) = unnamed(general, limits).filter(|(limit, total)| *total > limit.amount)?;
    let source = format!("{}{NAMELESS}", general.first()?.source);
    Some((limit, Claim { source, total: Some(total), ..Claim::default() }))
}

/// The only limit there is, and the only total that is said, without a name or a window; a reset that is said lies within its window.
fn unnamed<'l>(general: &[Claim], limits: &[&'l Limit]) -> Option<(&'l Limit, u64)> {
    let limit = one(limits, |_| true)?;
    let longest = longest_of(&limit.kind).filter(|_| !matches!(limit.kind, Kind::Pace { .. }))?;
    let total = general.first()?.total.filter(|total| *total > 0)?;
    let unnamed = |c: &Claim| c.name.is_none() && c.window.is_none() && c.total == Some(total);
    let fits = |c: &Claim| unnamed(c) && c.reset.is_none_or(|reset| reset <= longest);
    general.iter().all(fits).then_some((limit, total))
}

/// The longest that a window of the kind takes: a day of 25 hours, a month of 31 days.
fn longest_of(kind: &Kind) -> Option<Span> {
    let window = kind.nominal_window()?;
    let varies = matches!(kind, Kind::Daily { .. } | Kind::Weekly { .. } | Kind::Monthly { .. });
    Some(if varies { Span(window.0 + window.0 / 24) } else { window })
}

/// The only one of which it is true.
fn one<'l>(limits: &[&'l Limit], is: impl Fn(&Limit) -> bool) -> Option<&'l Limit> {
    let mut those = limits.iter().filter(|l| is(l));
    those.next().filter(|_| those.next().is_none()).copied()
}

/// Whether a window of that length is this kind's; a month may be told as 28 to 31 days.
fn lasts(kind: &Kind, window: Span) -> bool {
    let days = window.as_secs() / 86_400;
    match kind {
        Kind::Monthly { .. } => (28..=31).contains(&days),
        kind => kind.nominal_window() == Some(window),
    }
}

/// Whether the next turn of the kind's calendar is at `at`, or nearly.
fn turns_at(kind: &Kind, at: Wall, now_wall: Wall) -> bool {
    let Some(calendar) = Calendar::of(kind) else { return false };
    let turn = calendar.next_turn(now_wall);
    at >= turn.earliest - NEAR && at <= turn.latest + NEAR
}

#[cfg(test)]
mod tests;
