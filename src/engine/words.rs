//! The sentences: what happened, since when, what still works, when it changes. One place, so that log, page, API and event
//! say the same.

mod holds;
mod shares;
mod states;

pub use holds::{KEY_FILE, TOKEN_ENDPOINT, easing, hold_ended, hold_sentence, hold_started, probing, ramp_began};
pub use shares::share;
pub use states::{Parts, parts, turned, turned_between, works};

use super::core::Conn;
use super::fetch::Stopped;
use super::fetch::exchange::Exchanged;
use super::targets::Target;
use super::view::{Sentence, instant};
use crate::domain::connection::{Hold, Recent};
use crate::domain::ids::TargetName;
use crate::domain::item::{ChangeKind, HistoryEntry};
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::state::State;
use crate::domain::target::{TargetState, Trouble};
use crate::domain::time::{Now, Span, Steady, Wall};
use crate::rules::budget::Refusal;
use crate::rules::classify;
use crate::rules::extract::shape_flaw;
use crate::rules::freshness::Facts;
use jiff::tz::TimeZone;
use std::sync::OnceLock;

/// The zone of this machine: people read local times.
pub fn local_zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(TimeZone::system)
}

/// Two tokens of one name could not be told apart in the log or when one is to be revoked.
pub fn token_taken(name: &str) -> String {
    format!("there is a token named \"{name}\" already; take another name, or revoke that one first")
}

/// `larder.toml` was to be read anew and cannot be: `why`, in sentences.
pub fn not_read_anew(why: &str) -> String {
    format!("the configuration could not be read anew, and the one of before stays in force: {why}")
}

/// `10:30 CET`, with the day where it is not today: `1 Dec 10:30 CET`. Seconds where it is less than two minutes away. Who reads it may be elsewhere,
/// so it says by which clock.
pub fn clock_time(at: Wall, now: Wall) -> String {
    let zoned =
        |w: Wall| jiff::Timestamp::from_millisecond(w.0).ok().map(|t| t.to_zoned_datetime(local_zone().clone()));
    let (Some(t), Some(n)) = (zoned(at), zoned(now)) else { return "an unknown time".to_owned() };
    let near = at.0.abs_diff(now.0) < 120_000;
    let format = match (t.date() == n.date(), near) {
        (true, true) => "%H:%M:%S %Z",
        (true, false) => "%H:%M %Z",
        (false, _) => "%-d %b %H:%M %Z",
    };
    t.strftime(format).to_string()
}

/// `1 Dec 2026`: what is far away is known by its day.
pub fn calendar_day(at: Wall) -> String {
    let day =
        jiff::Timestamp::from_millisecond(at.0).map(|t| local_zone().to_datetime(t).strftime("%-d %b %Y").to_string());
    day.unwrap_or_else(|_| "an unknown day".to_owned())
}

/// Whether a sentence is made anew for each reader, or kept as it is told first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// May count down.
    Anew,
    /// Stays true however late it is read: the instant alone.
    Kept,
    /// The text of a [`Sentence`]: instants alone, and apart from the words.
    Apart,
}

/// A moment, in a sentence that is told so.
pub fn moment(at: Wall, now: &Now, telling: Telling) -> String {
    let here = clock_time(at, now.wall());
    if telling == Telling::Apart { instant(at, &here) } else { here }
}

/// `10:30 CET (in 3 h 12 min)`, or what of it may be kept.
pub fn time_ahead(at: Steady, now: &Now, telling: Telling) -> String {
    let wall = moment(now.wall_of(at), now, telling);
    match (telling, at.since(now.steady)) {
        (Telling::Kept | Telling::Apart, _) => wall,
        (Telling::Anew, Span(0)) => "now".to_owned(),
        (Telling::Anew, left) => format!("{wall} (in {})", ceil(left)),
    }
}

/// `at 10:30 CET (in 3 h 12 min)`, `now`.
fn when(at: Steady, now: &Now, telling: Telling) -> String {
    match at.since(now.steady) {
        Span(0) => "now".to_owned(),
        _ => format!("at {}", time_ahead(at, now, telling)),
    }
}

/// `1 item`, `2 items`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A text with a full stop behind it, unless it ends like a sentence already.
pub fn ended(text: &str) -> String {
    let ends = text.trim_end_matches(['\u{201d}', '"', ')']).ends_with(['.', '!', '?']);
    if ends { text.to_owned() } else { format!("{text}.") }
}

/// Waits are told rounded up: `in 1 s`, never `in 0 s`.
fn ceil(span: Span) -> Span {
    Span::from_secs(span.as_secs_ceil())
}

pub fn reason(outcome: Outcome, status: Option<u16>, detail: &str) -> String {
    let code = status.map(|s| format!(" ({s})")).unwrap_or_default();
    let why = classify::in_words(outcome);
    // The sentence around it ends by itself.
    let detail = detail.trim_end_matches('.');
    if detail.is_empty() { format!("{why}{code}") } else { format!("{why}{code}: {detail}") }
}

fn quoted(said: Option<&str>) -> String {
    said.map(|s| format!(" It said: \u{201c}{}\u{201d}", ended(s))).unwrap_or_default()
}

/// Why a caller was stopped, in words.
pub fn why(stopped: &Stopped, now: &Now, telling: Telling) -> String {
    match stopped {
        Stopped::Refused(refusal) | Stopped::Midway(refusal) => refused(refusal, now, telling),
        Stopped::Unrenewed(refusal) => format!(
            "the access token is not accepted any more, and no other is to be had: {}",
            refused(refusal, now, telling)
        ),
        Stopped::Unrepeated(refusal) => {
            format!("there is a new access token, and nothing to ask again with: {}", refused(refusal, now, telling))
        }
        Stopped::Paused => "the connection is paused".to_owned(),
        Stopped::Superseded => "the connection was changed meanwhile".to_owned(),
        Stopped::Unaskable(why) => format!("the request {why}"),
        Stopped::Store(e) => e.to_string(),
        Stopped::Unrecorded { status, error } => {
            let answered = status.map(|status| format!(" and answered {status}")).unwrap_or_default();
            format!("the provider was asked{answered}, and that could not be written down: {error}")
        }
    }
}

fn refused(refusal: &Refusal, now: &Now, telling: Telling) -> String {
    match refusal {
        Refusal::NotUntil { at, limit } if *at != Steady::MAX => {
            format!("limit \"{limit}\" has nothing left until {}", time_ahead(*at, now, telling))
        }
        Refusal::Held(hold) => {
            let said = hold.said.as_ref().map(|s| format!("; the provider said: {s}")).unwrap_or_default();
            let held = hold.scope.endpoint().map_or_else(|| "the credential".to_owned(), |e| e.to_string());
            format!("{held} is held until {}{said}", time_ahead(hold.until, now, telling))
        }
        Refusal::Probing { .. } => {
            "the hold has just ended, and one request is finding out whether the provider agrees".to_owned()
        }
        Refusal::NotUntil { limit, .. } | Refusal::NeverFits { limit } => {
            format!("limit \"{limit}\" can never fund it")
        }
    }
}

/// A sentence about an answer, with what the ledger keeps of the same decision: the outcome, the rule that matched, the provider's words.
/// A rule that the sentence tells already is not told again.
pub fn decided(sentence: &str, outcome: Outcome, rule: &str, said: Option<&str>) -> String {
    let told = sentence.contains(shape_flaw(rule).unwrap_or(rule));
    let by = if told { String::new() } else { format!(" by rule \u{201c}{rule}\u{201d}") };
    format!("{} Outcome {outcome}{by}.{}", ended(sentence), quoted(said))
}

/// `rule`: of the answer that made the trouble; what only waits has none.
pub fn troubled(conn: &Conn, trouble: &Trouble, rule: Option<&str>) -> String {
    let sentence = format!("{}: {}", conn.spec.provider, trouble.reason);
    match rule {
        Some(rule) => decided(&sentence, trouble.outcome, rule, trouble.said.as_deref()),
        None => format!("{}{}", ended(&sentence), quoted(trouble.said.as_deref())),
    }
}

/// `2 appeared, 1 changed: Front lawn idle -> running`.
pub fn changed(history: &[HistoryEntry]) -> String {
    let count = |kind: ChangeKind| history.iter().filter(|h| h.kind == kind).count();
    let counts: Vec<String> = [ChangeKind::Appeared, ChangeKind::Changed, ChangeKind::Removed, ChangeKind::Reappeared]
        .into_iter()
        .filter_map(|k| Some(count(k)).filter(|n| *n > 0).map(|n| format!("{n} {}", k.word())))
        .collect();
    let detail = match history {
        [one] => one
            .detail
            .iter()
            .map(|c| format!("{} {} \u{2192} {}", c.field, value(&c.before), value(&c.after)))
            .collect::<Vec<_>>()
            .join(", "),
        _ => String::new(),
    };
    let title = if history.len() == 1 { history.first().map(|h| format!(": {}", h.title)) } else { None };
    format!("{}{} {detail}", counts.join(", "), title.unwrap_or_default()).trim_end().to_owned()
}

fn value(v: &Option<String>) -> &str {
    v.as_deref().unwrap_or("nothing")
}

/// The sentence of a connection's state.
pub struct Standing<'a> {
    pub state: State,
    pub conn: &'a Conn,
    pub hold: Option<&'a Hold>,
    /// The way back after one.
    pub recovery: Option<Sentence>,
    pub next_poll: Option<Steady>,
    pub breaker_since: Option<Wall>,
    pub breaker_until: Option<Steady>,
    pub recent: Recent,
    pub next_free: Option<Steady>,
    pub disabled_by: Option<(String, Wall)>,
    /// The connection is on, and polling is off for the whole process: by whom, where it was an operator.
    pub all_off: Option<Option<(String, Wall)>>,
    /// Of the target that speaks for the connection: its last attempt was not good.
    pub trouble: Option<(&'a TargetName, &'a Trouble)>,
    /// Why nothing that comes in can be written, if so.
    pub store: Option<&'a str>,
}

pub fn connection_sentence(s: &Standing, now: &Now, telling: Telling) -> String {
    let beside = beside(s, now, telling);
    std::iter::once(parts(s, now, telling).sentence()).chain(beside).collect::<Vec<_>>().join(" ")
}

/// What is true beside the state and must not be left unsaid.
pub fn beside(s: &Standing, now: &Now, telling: Telling) -> Vec<String> {
    let unwritten = s.store.map(unwritten);
    // One endpoint that waits by itself is not the connection's state.
    let alone = s.hold.filter(|h| h.scope.endpoint().is_some() && s.state > State::Held);
    let alone = alone.map(|hold| hold_sentence(s.conn, hold, now, telling));
    let by_age = matches!(s.state, State::Expired | State::Stale | State::Ageing | State::Fresh | State::Never);
    let recovery = s.recovery.as_ref().filter(|_| by_age).map(|sentence| match telling {
        Telling::Apart => sentence.text().to_owned(),
        Telling::Anew | Telling::Kept => sentence.to_string(),
    });
    [unwritten, alone, recovery].into_iter().flatten().collect()
}

/// `renewed since 07:55:03: unexpected answer (500). It said: ...`
fn renewed_since(t: &Trouble, now: &Now, said: Said, telling: Telling) -> String {
    let since = moment(t.since.wall, now, telling);
    format!("renewed since {since}: {}{}", ended(&t.reason), said.of(t))
}

fn no_answer_yet(t: &Trouble, said: Said) -> String {
    format!("No good answer yet: {}{}", ended(&t.reason), said.of(t))
}

/// Where the provider's words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Quoted,
    Beside,
}

impl Said {
    fn of(self, trouble: &Trouble) -> String {
        quoted(trouble.said.as_deref().filter(|_| self == Said::Quoted))
    }
}

/// The store's own words, as a sentence.
fn unwritten(why: &str) -> String {
    format!("New answers cannot be kept: {}", ended(why))
}

/// Why a target is not renewed, without its age; empty where there is nothing to say. What the provider said is quoted in it, or
/// stands beside it.
pub fn target_reason(state: &TargetState, standing: &Standing, now: &Now, (said, telling): (Said, Telling)) -> String {
    let sentence = match (&state.trouble, state.as_of, standing.state) {
        (Some(t), None, _) => no_answer_yet(t, said),
        (Some(t), Some(_), _) => format!("Not {}", renewed_since(t, now, said, telling)),
        (None, Some(_), State::Fresh) => return String::new(),
        (None, ..) => return connection_sentence(standing, now, telling),
    };
    match standing.store {
        Some(why) => format!("{sentence} {}", unwritten(why)),
        None => sentence,
    }
}

/// What is said where the provider should date its readings.
pub const UNDATED: &str = "The provider gives them no time that can be believed; their age is that of the answer.";

/// The sentence of a target: its age first, then why it is not renewed.
pub fn target_sentence(state: &TargetState, facts: &Facts, is_undated: bool, reason: &str, now: &Now) -> String {
    let Some((as_of, age)) = state.as_of.zip(facts.age) else { return reason.to_owned() };
    let at = clock_time(as_of.wall, now.wall());
    let seen = match facts.reading_age {
        Some(old) => format!("Answered at {at}, {age} ago; the reading is {old} old by the provider's clock."),
        None if is_undated => format!("Values of {at}, {age} old. {UNDATED}"),
        None => format!("Values of {at}, {age} old."),
    };
    format!("{seen} {reason}").trim_end().to_owned()
}

/// One log line for each answer: what happened, in words (I4).
pub fn log_outcome(conn: &Conn, target: &Target, verdict: &Verdict, status: Option<u16>, detail: &str) {
    let said = verdict.said.as_deref().unwrap_or("");
    let words = reason(verdict.outcome, status, detail);
    let (connection, target) = (&conn.spec.key, &target.key.target);
    if verdict.outcome.is_good() || verdict.outcome == Outcome::NotReady {
        tracing::debug!(%connection, %target, outcome = verdict.outcome.word(), "answered");
    } else {
        tracing::warn!(%connection, %target, outcome = verdict.outcome.word(), rule = verdict.rule, said, "{words}");
    }
}

/// The same of an answer to a client of the gateway. That there is nothing where it looked is its own matter, and no warning.
pub fn log_passed(conn: &Conn, exchanged: &Exchanged, verdict: &Verdict, status: Option<u16>, detail: &str) {
    let (connection, endpoint, caller) = (&conn.spec.key, &exchanged.asked, exchanged.caller);
    let outcome = verdict.outcome;
    let is_answer = status.is_some() && matches!(outcome, Outcome::NotReady | Outcome::Unexpected | Outcome::Gone);
    if outcome.is_good() || outcome == Outcome::Redirected || is_answer {
        tracing::debug!(%connection, %endpoint, %caller, outcome = outcome.word(), rule = verdict.rule, "passed on");
    } else {
        let (said, words) = (verdict.said.as_deref().unwrap_or(""), reason(outcome, status, detail));
        tracing::warn!(%connection, %endpoint, %caller, outcome = outcome.word(), rule = verdict.rule, said, "{words}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::ClockTrust;

    fn now() -> Now {
        Now { steady: Steady(60_000), era: 1, trust: ClockTrust::Trusted, offsets: vec![1_796_007_373_000] }
    }

    #[test]
    fn what_is_kept_names_the_instant_alone() {
        let at = now().steady + Span::from_secs(5);
        let clock = clock_time(now().wall_of(at), now().wall());
        let zone = jiff::Timestamp::from_millisecond(now().wall().0)
            .map(|t| local_zone().to_offset_info(t).abbreviation().to_owned());
        assert!(clock.ends_with(&format!(" {}", zone.unwrap())), "{clock}");
        assert_eq!(time_ahead(at, &now(), Telling::Kept), clock);
        let apart = Sentence::from(time_ahead(at, &now(), Telling::Apart));
        assert_eq!(
            (apart.to_string(), apart.by(|at| at.0.to_string())),
            (clock.clone(), now().wall_of(at).0.to_string())
        );
        assert_eq!(time_ahead(at, &now(), Telling::Anew), format!("{clock} (in 5 s)"));
        assert_eq!(when(at, &now(), Telling::Anew), format!("at {clock} (in 5 s)"));
        assert_eq!(when(now().steady, &now(), Telling::Kept), "now", "and never \"at now\"");
        let stopped = Stopped::Refused(Refusal::NotUntil { at, limit: "day".into() });
        assert!(!why(&stopped, &now(), Telling::Kept).contains("(in "));
    }

    #[test]
    fn a_sentence_ends_once() {
        for (text, expected) in [
            ("refused", "refused."),
            ("refused.", "refused."),
            ("(os error 111)", "(os error 111)."),
            ("it refused (\u{201c}No.\u{201d})", "it refused (\u{201c}No.\u{201d})"),
            ("Wait!", "Wait!"),
        ] {
            assert_eq!(ended(text), expected);
        }
        assert_eq!(reason(Outcome::Unreachable, None, "connection refused."), "unreachable: connection refused");
    }

    #[test]
    fn a_decision_is_told_with_its_outcome_its_rule_and_the_words_and_each_once() {
        assert_eq!(
            decided("yard: rate limited (429)", Outcome::Limited, "status 429", Some("Slow down")),
            "yard: rate limited (429). Outcome limited by rule \u{201c}status 429\u{201d}. It said: \u{201c}Slow down.\u{201d}"
        );
        let flaw = crate::rules::extract::wrong_shape("relays is no list");
        let sentence = format!("yard: unexpected answer (200): {}", shape_flaw(&flaw).unwrap());
        assert_eq!(decided(&sentence, Outcome::Unexpected, &flaw, None), format!("{sentence}. Outcome unexpected."));
    }
}
