//! The time that a provider gives its reading (A27): many return the last value that they know, hours old and without a flag.
//! Must not know what becomes of it.

use super::path::Path;
use super::value::number;
use crate::domain::item::FieldValue;
use crate::domain::spec::{ObservedKind, ObservedPlace, ObservedSpec};
use crate::domain::time::{Span, Stamp, Wall};
use crate::rules::calendar::http_date;
use crate::rules::instant::{Doubt, instant};
use jiff::tz::TimeZone;
use serde_json::Value;

/// A clock may go ahead of ours by this much. Beyond it the time is no reading's: a forecast, another time zone, another unit.
const AHEAD: Span = Span::from_secs(300);

/// 2000-01-01. Times before are sentinels, counters since a start, and seconds that were read as milliseconds.
const EARLIEST: Wall = Wall(946_684_800_000);

#[derive(Debug)]
pub(super) struct Observed {
    place: Place,
    kind: ObservedKind,
    zone: TimeZone,
}

/// As [`ObservedPlace`], compiled.
#[derive(Debug)]
enum Place {
    Item(Path),
    Answer(Path),
    Header(String),
}

impl Observed {
    /// `time_zone`: of the connection. Errors are sentences about the key.
    pub(super) fn compile(spec: &ObservedSpec, time_zone: &str) -> Result<Observed, String> {
        let place = match &spec.place {
            ObservedPlace::Item(path) => Place::Item(Path::parse(path)?),
            ObservedPlace::Answer(path) => Place::Answer(Path::parse(path)?),
            ObservedPlace::Header(name) => Place::Header(name.clone()),
        };
        let zone = spec.time_zone.as_deref().unwrap_or(time_zone);
        let zone = TimeZone::get(zone).map_err(|_| format!("there is no time zone `{zone}`"))?;
        Ok(Observed { place, kind: spec.kind, zone })
    }

    /// Where it stands, if that is in an item.
    pub(super) fn inside(&self) -> Option<&Path> {
        match &self.place {
            Place::Item(path) => Some(path),
            Place::Answer(_) | Place::Header(_) => None,
        }
    }

    /// The time of everything in an answer; `None`: each item has its own.
    pub(super) fn of_the_answer(
        &self,
        body: &Value,
        headers: &[(String, String)],
        arrived_at: Stamp,
    ) -> Option<FieldValue> {
        let header = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| Value::from(value.trim()));
        match &self.place {
            Place::Item(_) => None,
            Place::Answer(path) => Some(self.read(path.one(body), arrived_at)),
            Place::Header(name) => Some(self.read(header(name).as_ref(), arrived_at)),
        }
    }

    pub(super) fn of_the_item(&self, item: &Value, arrived_at: Stamp) -> FieldValue {
        self.read(self.inside().and_then(|path| path.one(item)), arrived_at)
    }

    /// A time that cannot be believed is unknown.
    fn read(&self, value: Option<&Value>, arrived_at: Stamp) -> FieldValue {
        match value.and_then(|value| self.said(value, arrived_at.wall)) {
            Some(at) if at >= EARLIEST && at <= arrived_at.wall + AHEAD => FieldValue::At(at),
            _ => FieldValue::Unknown,
        }
    }

    /// Where a local time comes twice, the earlier: no reading is called younger than it may be. (What is too large for a number of
    /// milliseconds saturates, and is then too late or too early.)
    fn said(&self, value: &Value, arrived: Wall) -> Option<Wall> {
        let spoken = || value.as_str().map(str::trim);
        let epoch = |unit_ms: f64| number(value).map(|n| Wall((n * unit_ms).round() as i64));
        match self.kind {
            ObservedKind::Time => instant(spoken()?, &self.zone, Doubt::Earlier),
            ObservedKind::HttpDate => http_date(spoken()?),
            ObservedKind::EpochS => epoch(1e3),
            ObservedKind::EpochMs => epoch(1.0),
            ObservedKind::EpochUs => epoch(1e-3),
            ObservedKind::EpochNs => epoch(1e-6),
            ObservedKind::SecondsAgo => {
                let ago = number(value).filter(|s| *s >= 0.0)?;
                Some(arrived - Span::from_millis((ago * 1e3).round() as u64))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Steady;
    use proptest::prelude::*;
    use serde_json::json;

    /// 2026-11-30T02:56:13Z.
    const ARRIVED: Stamp = Stamp { steady: Steady(1_000_000), wall: Wall(1_796_007_373_000), era: 3 };

    fn observed(place: ObservedPlace, kind: ObservedKind) -> Observed {
        let spec = ObservedSpec { place, kind, time_zone: None };
        Observed::compile(&spec, "Europe/Berlin").unwrap()
    }

    fn read(kind: ObservedKind, value: Value) -> FieldValue {
        observed(ObservedPlace::Item("$.at".into()), kind).of_the_item(&json!({ "at": value }), ARRIVED)
    }

    #[test]
    fn every_spelling_of_five_hours_ago() {
        let five_hours_ago = FieldValue::At(ARRIVED.wall - Span::from_secs(5 * 3600));
        for (kind, value) in [
            (ObservedKind::Time, json!("2026-11-29T21:56:13Z")),
            (ObservedKind::Time, json!("2026-11-29T22:56:13+01:00")),
            (ObservedKind::Time, json!("2026-11-29t21:56:13z")),
            (ObservedKind::Time, json!(" 2026-11-29 21:56:13.0+00:00 ")),
            (ObservedKind::Time, json!("2026-11-29T22:56:13")),
            (ObservedKind::Time, json!("2026-11-29 22:56:13.000")),
            (ObservedKind::Time, json!("Sun, 29 Nov 2026 21:56:13 GMT")),
            (ObservedKind::Time, json!("Sun, 29 Nov 2026 22:56:13 +0100")),
            (ObservedKind::HttpDate, json!("Sun, 29 Nov 2026 21:56:13 GMT")),
            (ObservedKind::HttpDate, json!("Sunday, 29-Nov-26 21:56:13 GMT")),
            (ObservedKind::HttpDate, json!("Sun Nov 29 21:56:13 2026")),
            (ObservedKind::EpochUs, json!(1_795_989_373_000_000_i64)),
            (ObservedKind::EpochNs, json!("1795989373000000000")),
            (ObservedKind::EpochS, json!(1_795_989_373)),
            (ObservedKind::EpochS, json!("1795989373")),
            (ObservedKind::EpochMs, json!(1_795_989_373_000_i64)),
            (ObservedKind::SecondsAgo, json!(18_000)),
            (ObservedKind::SecondsAgo, json!("18000.0")),
        ] {
            assert_eq!(read(kind, value.clone()), five_hours_ago, "{value}");
        }
    }

    #[test]
    fn what_is_no_time_of_a_reading_is_unknown() {
        for (kind, value) in [
            (ObservedKind::Time, json!("2026-11-30T03:01:14Z")),
            (ObservedKind::Time, json!("2026-11-29")),
            (ObservedKind::Time, json!("yesterday 21:56:13")),
            (ObservedKind::Time, json!(1_795_989_373)),
            (ObservedKind::HttpDate, json!("2026-11-29T21:56:13Z")),
            (ObservedKind::EpochUs, json!(1_795_989_373_000_i64)),
            (ObservedKind::EpochNs, json!(1e300)),
            (ObservedKind::Time, json!("0001-01-01T00:00:00Z")),
            (ObservedKind::Time, json!(null)),
            (ObservedKind::EpochS, json!(0)),
            (ObservedKind::EpochS, json!(1_795_989_373_000_i64)),
            (ObservedKind::EpochMs, json!(1_795_989_373)),
            (ObservedKind::SecondsAgo, json!(-1)),
            (ObservedKind::SecondsAgo, json!(1e300)),
            (ObservedKind::SecondsAgo, json!([1])),
        ] {
            assert_eq!(read(kind, value.clone()), FieldValue::Unknown, "{value}");
        }
        assert!(
            matches!(read(ObservedKind::Time, json!("2026-11-30T03:01:13Z")), FieldValue::At(_)),
            "a clock may go ahead"
        );
    }

    #[test]
    fn one_time_for_all_items_may_stand_in_the_answer_or_in_a_header() {
        let five_hours_ago = FieldValue::At(ARRIVED.wall - Span::from_secs(5 * 3600));
        let body = json!({"timestamp": "2026-11-29T21:56:13Z", "items": []});
        let headers = [("age".to_owned(), " 18000 ".to_owned())];
        let said = |place, kind| observed(place, kind).of_the_answer(&body, &headers, ARRIVED);
        let stamp = || ObservedPlace::Answer("$.timestamp".into());
        assert_eq!(said(stamp(), ObservedKind::Time), Some(five_hours_ago.clone()));
        assert_eq!(said(stamp(), ObservedKind::EpochS), Some(FieldValue::Unknown));
        assert_eq!(said(ObservedPlace::Header("age".into()), ObservedKind::SecondsAgo), Some(five_hours_ago));
        let absent = ObservedPlace::Header("sc-data-age".into());
        assert_eq!(said(absent, ObservedKind::Time), Some(FieldValue::Unknown));
        assert_eq!(said(ObservedPlace::Item("$.at".into()), ObservedKind::Time), None, "each item has its own");
    }

    proptest! {
        #[test]
        fn whatever_is_said_a_time_is_credible_or_unknown(kind in 0..ObservedKind::ALL.len(), n in any::<f64>(), i in any::<i64>()) {
            for value in [json!(n), json!(i), json!(i.to_string())] {
                if let FieldValue::At(at) = read(ObservedKind::ALL[kind], value) {
                    prop_assert!(at >= EARLIEST && at <= ARRIVED.wall + AHEAD);
                }
            }
        }
    }
}
