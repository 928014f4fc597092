//! The general header names by which providers state their count (`VENDORS` section 3): families of limit, remaining, used and
//! reset around the word `ratelimit`, the structured fields, and the few that say both figures in one value. Names that count
//! something else than requests are passed over. Never fails: what is not understood says nothing.

use crate::domain::quota::Claim;
use crate::domain::reply::Answer;
use crate::domain::time::{Span, Wall};
use crate::domain::wait::WaitForm;
use crate::rules::classify::waits::forms;
use crate::rules::ratelimit::{Policy, policies};
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// Most figures that one header may list, and most claims that one answer may make.
const MOST: usize = 8;

/// What a header of a family says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Total,
    Remaining,
    Used,
    Reset,
    /// Milliseconds of the window.
    Interval,
}

/// All claims of an answer, structured ones first.
pub(super) fn claims(answer: &Answer, now_wall: Wall, forms: &[(String, WaitForm)]) -> Vec<Claim> {
    let mut all = structured(answer, now_wall);
    all.extend(families(answer, now_wall, forms));
    all.extend(answer.headers.iter().filter_map(|(name, value)| both_figures(name, value)));
    all.truncate(MOST);
    all
}

/// A number without a sign: `5`, `5.0`, `588.4`.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |s: &str| !s.is_empty() && s.len() <= 15 && s.bytes().all(|b| b.is_ascii_digit());
    if digits(whole) && digits(part) { text.parse().ok() } else { None }
}

pub(super) fn up(n: f64) -> u64 {
    n.ceil() as u64
}

pub(super) fn down(n: f64) -> u64 {
    n.floor() as u64
}

/// Below 1e8 seconds that are left, else an epoch of which the magnitude tells the unit, or an instant as text.
pub(super) fn reset(text: &str, now_wall: Wall) -> Option<Span> {
    forms::auto(text, now_wall, &TimeZone::UTC)
}

/// The policies of the structured fields.
fn structured(answer: &Answer, now_wall: Wall) -> Vec<Claim> {
    let figure = |n: Option<f64>| n.filter(|n| *n >= 0.0);
    let claim = |policy: Policy| {
        let of = policy.name.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
        Some(Claim {
            source: format!("RateLimit{of}"),
            total: figure(policy.quota).map(down),
            remaining: Some(up(figure(policy.left)?)),
            used: None,
            window: policy.window_s.and_then(seconds),
            // The older form leaves open what its reset is.
            reset: policy.reset_s.and_then(|s| reset(&s.to_string(), now_wall)),
            name: policy.name,
        })
    };
    policies(answer).into_iter().take(MOST).filter_map(claim).collect()
}

fn seconds(n: f64) -> Option<Span> {
    (n > 0.0 && n < 1e8).then(|| Span((n * 1e3).ceil() as u64))
}

/// A number, and the window that stands beside it.
type Figure = (f64, Option<Span>);

/// What the headers of one family say: lists of figures, or a reset.
#[derive(Default)]
struct Figures {
    window: Option<Span>,
    lists: Vec<(What, Vec<Figure>, Option<Span>)>,
}

/// `own`: in which form a recipe says that a header tells its reset.
fn families(answer: &Answer, now_wall: Wall, own: &[(String, WaitForm)]) -> Vec<Claim> {
    let reset = |name: &str, value: &str| match own.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)) {
        Some((_, form)) => forms::read(*form, value, now_wall, &TimeZone::UTC),
        None => reset(value, now_wall),
    };
    let mut families: BTreeMap<String, Figures> = BTreeMap::new();
    for (name, value) in &answer.headers {
        let Some(Named { family, what, window }) = named(name) else { continue };
        let figures = families.entry(family).or_default();
        figures.window = figures.window.or(window);
        match what {
            What::Reset => figures.lists.push((what, Vec::new(), reset(name, value))),
            What::Interval => figures.window = decimal(value).map(|ms| Span(ms as u64)).filter(|w| *w > Span::ZERO),
            _ => figures.lists.extend(list(value).map(|list| (what, list, None))),
        }
    }
    families.into_iter().flat_map(|(family, figures)| figures.claims(&family)).collect()
}

impl Figures {
    fn claims(&self, family: &str) -> Vec<Claim> {
        let places = self.lists.iter().map(|(_, list, _)| list.len()).max().unwrap_or(0).min(MOST);
        // Lists of different length cannot be laid beside each other, but one figure may stand beside none.
        let even = self.lists.iter().all(|(what, list, _)| *what == What::Reset || list.len() == places);
        let claim = |place: usize| {
            let find = |what: What| self.lists.iter().find(|(w, ..)| *w == what);
            let at = |what: What| find(what).and_then(|(_, list, _)| list.get(place)).copied();
            let window = at(What::Total).or(at(What::Remaining)).and_then(|(_, w)| w).or(self.window);
            Claim {
                source: if place == 0 { family.to_owned() } else { format!("{family} ({})", place + 1) },
                name: None,
                total: at(What::Total).map(|(n, _)| down(n)),
                remaining: at(What::Remaining).map(|(n, _)| up(n)),
                used: at(What::Used).map(|(n, _)| down(n)),
                window,
                reset: find(What::Reset).and_then(|(.., reset)| *reset).filter(|_| places == 1),
            }
        };
        if even { (0..places).map(claim).collect() } else { Vec::new() }
    }
}

/// `100`, `100;w=60`, `200,2000`, and `100, 100;w=60, 1000;w=3600` whose first is the one in force.
fn list(value: &str) -> Option<Vec<Figure>> {
    let one = |text: &str| {
        let mut parts = text.split(';');
        let number = decimal(parts.next()?)?;
        let window = parts.filter_map(|p| p.trim().split_once('=')).find(|(k, _)| *k == "w");
        Some((number, window.and_then(|(_, v)| seconds(decimal(v)?))))
    };
    let all: Vec<_> = value.split(',').take(MOST).map(one).collect::<Option<_>>()?;
    let (bare, policies): (Vec<_>, Vec<_>) = all.iter().copied().partition(|(_, w)| w.is_none());
    match (bare.as_slice(), policies.is_empty()) {
        ([(number, _)], false) => {
            Some(vec![(*number, policies.iter().find(|(n, _)| n == number).and_then(|(_, w)| *w))])
        }
        _ => Some(all),
    }
}

struct Named {
    family: String,
    what: What,
    window: Option<Span>,
}

/// What a header's name says: `x-ratelimit-remaining-minute`, `anthropic-ratelimit-requests-limit`, `fitbit-rate-limit-reset`.
fn named(name: &str) -> Option<Named> {
    let name = name.to_ascii_lowercase().replace("rate-limit", "ratelimit");
    let (before, after) = name.split_once("ratelimit")?;
    let (mut what, mut window, mut rest) = (None, None, String::new());
    let words: Vec<&str> = after.split('-').filter(|w| !w.is_empty()).collect();
    if let ["interval", "milliseconds"] = words[..] {
        return Some(Named { family: format!("{before}ratelimit"), what: What::Interval, window });
    }
    for word in words {
        match word {
            "limit" | "max" => what = what.or(Some(What::Total)),
            "remaining" => what = Some(What::Remaining),
            "used" | "usage" | "observed" => what = Some(What::Used),
            "reset" | "after" => what = Some(What::Reset),
            "requests" | "period" => rest = format!("-{word}"),
            _ => {
                window = Some(period(word)?);
                rest = format!("-{word}");
            }
        }
    }
    let what = what.or_else(|| window.map(|_| What::Total))?;
    Some(Named { family: format!("{before}ratelimit{rest}"), what, window })
}

fn period(word: &str) -> Option<Span> {
    let seconds = match word {
        "second" | "secondly" => 1,
        "minute" => 60,
        "hour" | "hourly" => 3600,
        "day" | "daily" => 86_400,
        "week" | "weekly" => 7 * 86_400,
        "month" | "monthly" => 30 * 86_400,
        _ => return None,
    };
    Some(Span::from_secs(seconds))
}

/// `X-Shopify-Shop-Api-Call-Limit: 32/40` and `Sforce-Limit-Info: api-usage=18/5000`.
fn both_figures(name: &str, value: &str) -> Option<Claim> {
    let name = name.to_ascii_lowercase();
    let pair = match name.as_str() {
        "sforce-limit-info" => value.split(&[',', ';'][..]).find_map(|p| p.trim().strip_prefix("api-usage="))?,
        other if other.ends_with("call-limit") => value,
        _ => return None,
    };
    let (used, total) = pair.split_once('/')?;
    let (used, total) = (down(decimal(used)?), down(decimal(total)?));
    Some(Claim { source: name, total: Some(total), used: Some(used), ..Claim::default() })
}
