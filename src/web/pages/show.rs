//! How values read: times, ages, numbers, states. A [`Face`] is one moment in one time zone; everything on a page is shown from
//! the same one. Must not read a clock.

pub use super::counted::{Noun, counted};
use super::reader::{Clock, Decimal, Reader};
use crate::domain::state::State;
use crate::domain::time::{Span, Wall};
use crate::engine::view::{FieldShown, Seconds, Sentence, TurnView, When};
use crate::rules::calendar::rfc3339;
use crate::web::WebState;
use crate::web::svg::ticks::Axis;
use crate::web::texts;
use askama::Template;
use askama::filters::HtmlSafe;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// One moment, seen from one place.
pub struct Face {
    now: Wall,
    zone: TimeZone,
    clock: Clock,
    decimal: Decimal,
    /// Of the installation, where that shows another time.
    home: Option<TimeZone>,
}

/// A time to show: absolute, and relative to the moment the page was made. In a template it is its `<time>` element.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(ext = "html", source = r#"<time datetime="{{ iso }}" title="{{ full }}">{{ clock }}</time>"#)]
pub struct Moment {
    pub iso: String,
    /// `07:14`, with the date where it is another day.
    pub clock: String,
    /// With date and zone, for the tooltip.
    pub full: String,
    /// Seconds from the moment to now; negative while it lies ahead.
    pub age_seconds: i64,
    /// `6 min ago`, `in 3 h 12 min`, `now`.
    pub relative: String,
}

/// How long ago or ahead; the script re-labels it as time passes.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(ext = "html", source = r#"<time class="rel" datetime="{{ iso }}">{{ text }}</time>"#)]
pub struct Relative {
    iso: String,
    text: String,
}

/// An announced moment: `in 3 h`, and from then on `overdue by 2 min`.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(ext = "html", source = r#"<time class="rel" data-as="due" datetime="{{ iso }}">{{ text }}</time>"#)]
pub struct Due {
    iso: String,
    text: String,
}

/// An age without a direction (`6 min`); the script lets it grow.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(ext = "html", source = r#"<time class="rel" data-as="age" datetime="{{ iso }}">{{ text }}</time>"#)]
pub struct Age {
    iso: String,
    text: String,
}

/// Seconds that are left; the script lets them shrink, never below zero.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(ext = "html", source = r#"<time class="rel" data-as="left" datetime="{{ iso }}">{{ text }}</time>"#)]
pub struct Left {
    iso: String,
    text: String,
}

/// A state: icon, word and colour together.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(
    ext = "html",
    source = r##"<span class="chip s-{{ id }}"{% if !turns.is_empty() %} data-turns="{{ turns }}"{% endif %}><svg class="i" aria-hidden="true"><use href="#i-{{ id }}"/></svg>{{ word }}</span>"##
)]
pub struct Chip {
    pub id: &'static str,
    pub word: String,
    /// What it becomes by age alone, and when, for the script: `stale 2026-11-30T08:20:50Z,expired ...`.
    pub turns: String,
}

/// A number of a field: short, as its reader writes it; and beside it exactly as it is stored, where that is longer or another sign.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(
    ext = "html",
    source = r#"<data class="num" value="{{ exact }}"{% if *text != *exact %} title="{{ exact }}"{% endif %}>{{ text }}</data>"#
)]
pub struct Number {
    exact: String,
    pub text: String,
}

impl HtmlSafe for Number {}
impl HtmlSafe for Moment {}
impl HtmlSafe for Relative {}
impl HtmlSafe for Due {}
impl HtmlSafe for Age {}
impl HtmlSafe for Left {}
impl HtmlSafe for Chip {}

impl Moment {
    pub fn rel(&self) -> Relative {
        Relative { iso: self.iso.clone(), text: self.relative.clone() }
    }
    pub fn due(&self) -> Due {
        let text = match self.age_seconds {
            1.. => texts::t("any-overdue-by").with("span", span(self.age_seconds.unsigned_abs())).plain(),
            _ => self.relative.clone(),
        };
        Due { iso: self.iso.clone(), text }
    }
}

impl Age {
    /// Counted from `since`.
    pub fn since(face: &Face, since: When) -> Age {
        let seconds = u64::try_from((face.now.0 - since.0.0).div_euclid(1000)).unwrap_or(0);
        Age { iso: rfc3339(since.0), text: span(seconds) }
    }
}

impl Left {
    pub fn until(face: &Face, end: When) -> Left {
        let seconds = u64::try_from((end.0.0 - face.now.0).div_euclid(1000)).unwrap_or(0);
        Left { iso: rfc3339(end.0), text: span(seconds) }
    }
    fn of(face: &Face, seconds: u64) -> Left {
        Left { iso: rfc3339(face.now + Span::from_secs(seconds)), text: span(seconds) }
    }
}

impl Chip {
    pub fn of(state: State) -> Chip {
        Chip { id: state.word(), word: word(state), turns: String::new() }
    }
    /// One that turns in an open page, whether or not that is told.
    pub fn turning(state: State, turns: &[TurnView]) -> Chip {
        let turn = |turn: &TurnView| format!("{} {}", turn.state, rfc3339(turn.at.0));
        Chip { turns: turns.iter().map(turn).collect::<Vec<_>>().join(","), ..Chip::of(state) }
    }
}

impl Face {
    /// As the installation has it.
    pub fn new(now: Wall, zone: TimeZone) -> Face {
        Face { now, zone, clock: Clock::default(), decimal: Decimal::default(), home: None }
    }
    /// Now, as this reader has it.
    pub fn of(web: &WebState, reader: &Reader) -> Face {
        Face::new(web.shelf().now().wall(), web.zone().clone()).read_by(reader)
    }
    fn read_by(mut self, reader: &Reader) -> Face {
        (self.clock, self.decimal) = (reader.clock, reader.decimal);
        if let Some(zone) = reader.zone.clone() {
            let home = std::mem::replace(&mut self.zone, zone);
            self.home = Some(home).filter(|home| self.in_zone(home, self.now(), "%z") != self.format(self.now(), "%z"));
        }
        self
    }
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }
    /// What the clock of the installation shows, where that is another time: what was written down goes by that, and says so.
    pub fn at_home(&self) -> Option<String> {
        self.home.as_ref().map(|home| self.in_zone(home, self.now(), "%H:%M %Z"))
    }
    pub fn now(&self) -> When {
        When(self.now)
    }
    pub fn moment(&self, when: When) -> Moment {
        let age_seconds = (self.now.0 - when.0.0).div_euclid(1000);
        Moment {
            iso: rfc3339(when.0),
            clock: self.clock(when),
            full: self.format(when, &format!("%a %d %b %Y, {} %Z", self.seconds_too())),
            age_seconds,
            relative: relative(age_seconds),
        }
    }
    pub fn maybe(&self, when: Option<When>) -> Option<Moment> {
        when.map(|w| self.moment(w))
    }
    /// `07:14`, or `28 Nov, 07:14` on another day, or with the year in another year.
    pub fn clock(&self, when: When) -> String {
        let day = |w: When| self.format(w, "%Y-%m-%d");
        if day(when) == day(self.now()) {
            return self.format(when, self.hours());
        }
        let same_year = self.format(when, "%Y") == self.format(self.now(), "%Y");
        let date = if same_year { "%-d %b" } else { "%-d %b %Y" };
        self.format(when, &format!("{date}, {}", self.hours()))
    }
    /// A sentence with its instants by this reader's clock; with seconds where one is less than two minutes away.
    pub fn told(&self, sentence: &Sentence) -> String {
        sentence.by(|at| match at.0.abs_diff(self.now.0) {
            0..120_000 => self.format(When(at), self.seconds_too()),
            _ => self.clock(When(at)),
        })
    }
    /// For plots: times of the day as its reader writes them.
    pub const fn axis(&self) -> Axis<'_> {
        Axis { zone: &self.zone, hours: self.hours(), seconds: self.seconds_too(), decimal: self.decimal }
    }
    /// As this reader writes it, short.
    pub fn number(&self, n: f64) -> String {
        self.decimal.written(&number(n))
    }
    const fn hours(&self) -> &'static str {
        match self.clock {
            Clock::Hours24 => "%H:%M",
            Clock::Hours12 => "%-I:%M\u{a0}%p",
        }
    }
    const fn seconds_too(&self) -> &'static str {
        match self.clock {
            Clock::Hours24 => "%H:%M:%S",
            Clock::Hours12 => "%-I:%M:%S\u{a0}%p",
        }
    }
    pub fn zone_name(&self) -> String {
        self.format(self.now(), "%Z")
    }
    fn format(&self, when: When, form: &str) -> String {
        self.in_zone(&self.zone, when, form)
    }
    fn in_zone(&self, zone: &TimeZone, when: When, form: &str) -> String {
        match Timestamp::from_millisecond(when.0.0) {
            Ok(t) => t.to_zoned_datetime(zone.clone()).strftime(form).to_string(),
            Err(_) => texts::t("any-beyond-all-calendars").plain(),
        }
    }
}

/// An age in seconds as people say it; negative means that it lies ahead.
pub fn relative(age_seconds: i64) -> String {
    match age_seconds {
        0 => texts::t("any-now-3").plain(),
        1.. => texts::t("any-ago").with("span", span(age_seconds.unsigned_abs())).plain(),
        _ => texts::t("any-in").with("span", span(age_seconds.unsigned_abs())).plain(),
    }
}

/// `45 s`, `6 min`, `3 h 12 min`.
pub fn span(seconds: u64) -> String {
    unbroken(&Span::from_secs(seconds).to_string())
}

/// A length that somebody chose: `7.5 s`, `75 s`, `5 min`.
pub fn exact(length: Seconds) -> String {
    unbroken(&length.0.exact())
}

/// No line ends between a number and its unit.
fn unbroken(length: &str) -> String {
    let words: Vec<&str> = length.split(' ').collect();
    words.chunks(2).map(|pair| pair.join("\u{a0}")).collect::<Vec<_>>().join(" ")
}

/// `12 345`, with a narrow no-break space between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

/// How long each lasted altogether, the longest first.
pub fn longest_first<T: PartialEq>(lasted: impl IntoIterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut sums: Vec<(T, u64)> = Vec::new();
    for (one, seconds) in lasted {
        match sums.iter_mut().find(|(known, _)| *known == one) {
            Some((_, sum)) => *sum += seconds,
            None => sums.push((one, seconds)),
        }
    }
    sums.sort_by_key(|(_, seconds)| std::cmp::Reverse(*seconds));
    sums
}

/// `37 kB`, `1.5 MB`, `12 MB`: thousands, as makers of memory cards count.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let (mut size, mut unit) = (n as f64 / 1000.0, 0);
    while size >= 999.5 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    match unit {
        1.. if size < 9.95 => format!("{size:.1}\u{a0}{}", UNITS[unit]),
        _ => format!("{}\u{a0}{}", size.ceil(), UNITS[unit]),
    }
}

/// A number as it stands; long fractions are cut after four places.
pub fn number(n: f64) -> String {
    if !n.is_finite() {
        return texts::t("any-unknown").plain();
    }
    if n.fract() == 0.0 && n.abs() < 1e15 {
        return format!("{n:.0}");
    }
    let text = format!("{n:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The state's word as people read it: the same word, with spaces.
pub fn word(state: State) -> String {
    state.word().replace('_', " ")
}

/// How serious a state is for the headline, worst first. Not the precedence of states: a pause that somebody wanted is no trouble.
pub fn severity(state: State) -> u8 {
    match state {
        State::ClockUntrusted => 0,
        State::CredentialRejected => 1,
        State::Expired => 2,
        State::Exhausted => 3,
        State::BreakerOpen => 4,
        State::Held => 5,
        State::Stale => 6,
        State::Disabled => 7,
        State::Ageing => 8,
        State::Never => 9,
        State::Fresh => 10,
    }
}

/// A field's value, ready for its template.
pub enum Shown {
    Text(String),
    Number(Number),
    Time(Moment),
    Due(Moment),
    Left(Left),
    Unknown,
}

/// Bytes of a key that a page has in a link or in a form; what has a longer one is reached by the API.
pub const LONGEST_KEY: usize = 200;
/// Characters of a state.
const LONGEST_STATE: usize = 40;

/// The state of an item, as the provider or a rule of its own calls it.
pub fn state(word: &str) -> String {
    shorten(word, LONGEST_STATE)
}

/// The longest text of a field that a page shows; JSON has all of it.
const LONGEST: usize = 240;

pub fn field(face: &Face, value: &FieldShown) -> Shown {
    match value {
        FieldShown::Unknown => Shown::Unknown,
        FieldShown::Text(text) => Shown::Text(shorten(text, LONGEST)),
        FieldShown::Number(n) => Shown::Number(Number { exact: n.to_string(), text: face.number(*n) }),
        FieldShown::Bool(b) => Shown::Text(if *b { texts::t("any-yes") } else { texts::t("any-no") }.plain()),
        FieldShown::At(when) => Shown::Time(face.moment(*when)),
        FieldShown::Due(when) => Shown::Due(face.moment(*when)),
        FieldShown::SecondsLeft(seconds) => Shown::Left(Left::of(face, *seconds)),
    }
}

/// At most `longest` characters, with an ellipsis for what is cut.
pub fn shorten(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// `next_run` reads as `next run`.
pub fn label(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn face(iso: &str, zone: &str) -> Face {
        let zone = TimeZone::get(zone).unwrap();
        Face::new(when(iso).0, zone)
    }
    fn when(iso: &str) -> When {
        When(Wall(iso.parse::<Timestamp>().unwrap().as_millisecond()))
    }

    #[test]
    fn times_read_in_the_zone_of_the_machine() {
        let face = face("2026-11-30T08:20:00Z", "Europe/Zurich");
        let m = face.moment(when("2026-11-30T06:14:10Z"));
        assert_eq!((m.clock.as_str(), m.relative.as_str()), ("07:14", "2\u{a0}h 5\u{a0}min ago"));
        assert_eq!(m.iso, "2026-11-30T06:14:10Z");
        assert_eq!(face.clock(when("2026-11-29T23:30:00Z")), "00:30", "today there, though yesterday in UTC");
        assert_eq!(face.clock(when("2026-11-28T06:14:10Z")), "28 Nov, 07:14");
        assert_eq!(face.clock(when("2025-11-28T06:14:10Z")), "28 Nov 2025, 07:14");
        assert_eq!(face.moment(when("2026-11-30T11:32:00Z")).relative, "in 3\u{a0}h 12\u{a0}min");
    }

    #[test]
    fn times_read_in_the_zone_and_by_the_clock_of_who_reads() {
        let home = || face("2026-11-30T08:20:00Z", "Europe/Zurich");
        let reader = |zone: &str, clock| Reader { zone: TimeZone::get(zone).ok(), clock, ..Reader::default() };
        let tokyo = home().read_by(&reader("Asia/Tokyo", Clock::Hours12));
        let m = tokyo.moment(when("2026-11-30T06:14:10Z"));
        assert_eq!((m.clock.as_str(), m.iso.as_str()), ("3:14\u{a0}PM", "2026-11-30T06:14:10Z"));
        assert_eq!(m.full, "Mon 30 Nov 2026, 3:14:10\u{a0}PM JST");
        assert_eq!(tokyo.clock(when("2026-11-30T16:00:00Z")), "1 Dec, 1:00\u{a0}AM", "tomorrow there");
        assert_eq!(tokyo.at_home().as_deref(), Some("09:20 CET"), "sentences go by the appliance's own clock");
        let vienna = home().read_by(&reader("Europe/Vienna", Clock::Hours24));
        assert_eq!((vienna.clock(when("2026-11-30T06:14:10Z")), vienna.at_home()), ("07:14".to_owned(), None));
        assert_eq!(home().read_by(&Reader::default()).at_home(), None);
    }

    #[test]
    fn numbers_read_plainly() {
        for (n, text) in [(3.0, "3"), (-0.5, "-0.5"), (21.37, "21.37"), (1.0 / 3.0, "0.3333"), (f64::NAN, "unknown")] {
            assert_eq!(number(n), text);
        }
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(300), "300");
        for (n, text) in [
            (0, "0 kB"),
            (1, "1 kB"),
            (36_900, "37 kB"),
            (1_500_000, "1.5 MB"),
            (11_000_000, "11 MB"),
            (u64::MAX, "18446745 TB"),
        ] {
            assert_eq!(bytes(n).replace('\u{a0}', " "), text);
        }
    }

    #[test]
    fn a_number_is_short_in_its_readers_writing_and_exact_beside_it() {
        let of = |decimal, n| {
            let face = face("2026-11-30T08:20:00Z", "UTC").read_by(&Reader { decimal, ..Reader::default() });
            match field(&face, &FieldShown::Number(n)) {
                Shown::Number(number) => number.to_string(),
                _ => String::new(),
            }
        };
        assert_eq!(of(Decimal::Point, 21.5), "<data class=\"num\" value=\"21.5\">21.5</data>");
        assert_eq!(of(Decimal::Comma, 21.5), "<data class=\"num\" value=\"21.5\" title=\"21.5\">21,5</data>");
        assert_eq!(of(Decimal::Comma, 3.0), "<data class=\"num\" value=\"3\">3</data>");
        let long = of(Decimal::Point, 21.123456);
        assert!(long.contains("title=\"21.123456\">21.1235<"), "{long}");
    }

    #[test]
    fn every_state_has_its_own_rank() {
        let ranks: std::collections::BTreeSet<u8> = State::ALL.into_iter().map(severity).collect();
        assert_eq!(ranks.len(), State::ALL.len());
    }
}
