//! The time that a provider gives its reading (A27): many return the last value that they know, hours old and without a flag.
//! Must not know what becomes of it.

use super::path::Path;
use super::value;
use crate::domain::item::FieldValue;
use crate::domain::spec::{FieldKind, ObservedKind, ObservedSpec, Plausible};
use crate::domain::time::{Span, Stamp, Wall};
use serde_json::Value;

/// A clock may go ahead of ours by this much. Beyond it the time is no reading's: a forecast, another time zone, another unit.
const AHEAD: Span = Span::from_secs(300);

/// 2000-01-01. Times before are sentinels, counters since a start, and seconds that were read as milliseconds.
const EARLIEST: Wall = Wall(946_684_800_000);

#[derive(Debug)]
pub(super) struct Observed {
    path: Path,
    kind: ObservedKind,
}

impl Observed {
    pub(super) fn compile(spec: &ObservedSpec) -> Result<Observed, String> {
        Ok(Observed { path: Path::parse(&spec.path)?, kind: spec.kind })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A time that cannot be believed is unknown.
    pub(super) fn read(&self, item: &Value, arrived_at: Stamp) -> FieldValue {
        let as_field = |kind| value::read(kind, &Plausible::default(), self.path.one(item), arrived_at);
        let said = match self.kind {
            ObservedKind::Time => as_field(FieldKind::Time),
            ObservedKind::EpochS => as_field(FieldKind::EpochS),
            ObservedKind::EpochMs => as_field(FieldKind::EpochMs),
            ObservedKind::SecondsAgo => before(as_field(FieldKind::Number), arrived_at.wall),
        };
        match said {
            FieldValue::At(at) if at >= EARLIEST && at <= arrived_at.wall + AHEAD => said,
            _ => FieldValue::Unknown,
        }
    }
}

/// So many seconds before the arrival. (What is too large for a span saturates, and is then too early.)
fn before(seconds: FieldValue, arrived: Wall) -> FieldValue {
    match seconds {
        FieldValue::Number(s) if s >= 0.0 => FieldValue::At(arrived - Span::from_millis((s * 1000.0).round() as u64)),
        _ => FieldValue::Unknown,
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

    fn read(kind: ObservedKind, value: Value) -> FieldValue {
        let spec = ObservedSpec { path: "$.at".into(), kind };
        Observed::compile(&spec).unwrap().read(&json!({ "at": value }), ARRIVED)
    }

    #[test]
    fn every_spelling_of_five_hours_ago() {
        let five_hours_ago = FieldValue::At(ARRIVED.wall - Span::from_secs(5 * 3600));
        for (kind, value) in [
            (ObservedKind::Time, json!("2026-11-29T21:56:13Z")),
            (ObservedKind::Time, json!("2026-11-29T22:56:13+01:00")),
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
            (ObservedKind::Time, json!("2026-11-29 21:56:13")),
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

    proptest! {
        #[test]
        fn whatever_is_said_a_time_is_credible_or_unknown(kind in 0..4usize, n in any::<f64>(), i in any::<i64>()) {
            for value in [json!(n), json!(i), json!(i.to_string())] {
                if let FieldValue::At(at) = read(ObservedKind::ALL[kind], value) {
                    prop_assert!(at >= EARLIEST && at <= ARRIVED.wall + AHEAD);
                }
            }
        }
    }
}
