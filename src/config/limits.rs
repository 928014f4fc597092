//! `[[connection.limit]]`: one rule of the provider. Knows which keys belong to which kind, and what can never be met.

use super::place::{Place, Placed, Problems, suggestion};
use super::section::Section;
use super::words;
use crate::domain::ids::Caller;
use crate::domain::limit::{Kind, Limit, Scope, TimeOfDay, Weekday};
use std::collections::BTreeMap;

pub(super) const LIMIT: [&str; 10] =
    ["name", "requests", "window", "kind", "scope", "keep", "cap", "resets_at", "day", "time_zone"];
const KINDS: [&str; 8] = ["rolling", "fixed", "anchored", "daily", "weekly", "monthly", "pace", "concurrent"];

/// The limits of a connection or a recipe; `None` for one that is wrong.
pub(super) fn read(section: &Section<'_>, problems: &mut Problems) -> Vec<Placed<Option<Limit>>> {
    let sections = section.tables("limit", problems);
    let read = |limit: Section<'_>| Placed { value: read_one(&limit, problems), place: limit.place.clone() };
    sections.into_iter().map(read).collect()
}

fn read_one(section: &Section<'_>, problems: &mut Problems) -> Option<Limit> {
    section.only(&LIMIT, &[], problems);
    let at = &section.place;
    let name = section.parsed("name", problems, words::name).required(
        at,
        "name",
        "how the limit is called in pages and refusals",
        problems,
    );
    let amount = section.whole("requests", (1, i64::MAX as u64), problems).required(
        at,
        "requests",
        "how many requests the provider allows",
        problems,
    );
    let kind = section.parsed("kind", problems, |text| one_of(text, &KINDS)).required(
        at,
        "kind",
        "one of rolling, fixed, anchored, daily, weekly, monthly, pace, concurrent",
        problems,
    );
    let kind = kind.and_then(|word| read_kind(section, &word, amount, problems));
    let scope = section.parsed("scope", problems, read_scope).unwrap_or_default();
    let keep = read_shares(section, "keep", amount, problems);
    let cap = read_shares(section, "cap", amount, problems);
    if !cap.is_empty() && kind.as_ref().is_some_and(|k| *k != Kind::Concurrent) {
        problems.add(&section.place_of("cap"), "belongs to kind \"concurrent\" only: it bounds what is in flight");
    }
    if !keep.is_empty() && matches!(kind, Some(Kind::Pace { .. })) {
        problems
            .add(&section.place_of("keep"), "means nothing for kind \"pace\": it lets one through, whoever asks first");
    }
    check_keep(section, amount, &keep, problems);
    Some(Limit { name: name?, amount: amount?, kind: kind?, scope, keep, reach: BTreeMap::new(), cap })
}

fn one_of(text: &str, words: &[&str]) -> Result<String, String> {
    if words.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("{text:?} is unknown{}", suggestion(text, words)))
}

fn read_scope(text: &str) -> Result<Scope, String> {
    match one_of(text, &["credential", "endpoint"])?.as_str() {
        "endpoint" => Ok(Scope::Endpoint),
        _ => Ok(Scope::Credential),
    }
}

fn read_kind(section: &Section<'_>, word: &str, amount: Option<u64>, problems: &mut Problems) -> Option<Kind> {
    refuse_foreign_keys(section, word, problems);
    let window = section.span("window", problems);
    let resets_at = section.parsed("resets_at", problems, words::time_of_day).unwrap_or(TimeOfDay(0));
    let time_zone = section.parsed("time_zone", problems, words::time_zone).unwrap_or("UTC".to_owned());
    let has_window = matches!(word, "rolling" | "fixed" | "anchored" | "pace");
    let window = if has_window {
        window.required(&section.place, "window", "how long the amount is counted over, such as \"5m\"", problems)?
    } else {
        window.value().unwrap_or_default()
    };
    Some(match word {
        "rolling" => Kind::Rolling { window },
        "fixed" => Kind::Fixed { window },
        "anchored" => Kind::Anchored { window },
        "pace" => {
            if amount.is_some_and(|n| n > window.as_millis()) {
                problems.add(
                    &section.place_of("window"),
                    "is too short: more than one request per millisecond has no pace",
                );
                return None;
            }
            Kind::Pace { window }
        }
        "daily" => Kind::Daily { resets_at, time_zone },
        "weekly" => {
            let what = "the day of the week on which it resets, such as \"monday\"";
            let day = section.parsed("day", problems, weekday).required(&section.place, "day", what, problems)?;
            Kind::Weekly { day, resets_at, time_zone }
        }
        "monthly" => {
            let day = section.whole("day", (1, 31), problems).unwrap_or(1) as u8;
            Kind::Monthly { day, resets_at, time_zone }
        }
        _ => Kind::Concurrent,
    })
}

fn weekday(text: &str) -> Result<Weekday, String> {
    Weekday::from_word(text).ok_or_else(|| {
        let days = Weekday::ALL.map(Weekday::word);
        format!("{text:?} is not a day of the week{}", suggestion(text, &days))
    })
}

/// A key that means nothing for the kind is a misunderstanding, and a misunderstood limit is an overrun.
fn refuse_foreign_keys(section: &Section<'_>, kind: &str, problems: &mut Problems) {
    let own: &[&str] = match kind {
        "rolling" | "fixed" | "anchored" | "pace" => &["window"],
        "daily" => &["resets_at", "time_zone"],
        "weekly" | "monthly" => &["resets_at", "time_zone", "day"],
        _ => &[],
    };
    for key in ["window", "resets_at", "time_zone", "day"] {
        if section.has(key) && !own.contains(&key) {
            problems.add(&section.place_of(key), format!("does not belong to kind {kind:?}"));
        }
    }
}

/// `{ refresh = 1 }`: a share of the amount for each caller named.
fn read_shares(
    section: &Section<'_>,
    key: &str,
    amount: Option<u64>,
    problems: &mut Problems,
) -> BTreeMap<Caller, u64> {
    let Some(table) = section.table(key, problems) else { return BTreeMap::new() };
    let callers = Caller::ALL.map(Caller::word);
    table.only(&callers, &[], problems);
    let most = amount.unwrap_or(i64::MAX as u64);
    let share = |caller: Caller| Some((caller, table.whole(caller.word(), (1, most), problems).value()?));
    Caller::ALL.into_iter().filter_map(share).collect()
}

fn check_keep(section: &Section<'_>, amount: Option<u64>, keep: &BTreeMap<Caller, u64>, problems: &mut Problems) {
    let kept = keep.values().fold(0u64, |sum, n| sum.saturating_add(*n));
    if let Some(amount) = amount
        && kept > amount
    {
        problems.add(&section.place_of("keep"), format!("keeps {kept} of {amount} requests; keep less than there is"));
    }
}

/// What a caller can have of a limit at best; a request that costs more would wait for ever.
pub(super) fn never_fits(limit: &Limit, caller: Caller, cost: u32, what: &str, at: &Place, problems: &mut Problems) {
    let best = limit.amount.saturating_sub(limit.kept_from(caller));
    // In flight is counted in requests, everything else in units of cost.
    let cost = if limit.kind == Kind::Concurrent { 1 } else { u64::from(cost) };
    if cost > best {
        let Limit { name, amount, .. } = limit;
        let sentence = format!(
            "can never be sent: {what} costs {cost}, and limit {name:?} leaves the {caller} {best} of {amount} at best; \
             lower `cost` or `keep`"
        );
        problems.add(at, sentence);
    }
}
