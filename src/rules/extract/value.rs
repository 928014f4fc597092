//! One value of an answer as a field: by kind, anchored to the arrival of the answer (I6), and plausible or unknown (A30).
//! Must not know paths or items.

use crate::domain::item::FieldValue;
use crate::domain::spec::{FieldKind, Plausible, Sentinel};
use crate::domain::time::{Span, Stamp, Wall};
use serde_json::{Number, Value};

/// An instant further from the arrival than this, or an offset longer, is a sentinel and not a time (Hydrawise says 50 years
/// for "suspended", others `0001-01-01`).
const ABSURD: Span = Span::from_secs(100 * 31_557_600);

/// Integers up to here are the same as a 64-bit float.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// `value`: what the path found, if it found one value and the field's condition holds. A value of another kind is unknown,
/// never a guess; numbers may come as text, as many providers send them.
pub(super) fn read(kind: FieldKind, of: &Plausible, value: Option<&Value>, arrived_at: Stamp) -> FieldValue {
    let Some(value) = value.filter(|value| is_believed(of, value)) else { return FieldValue::Unknown };
    let read = match kind {
        FieldKind::Text => text(value).map(FieldValue::Text),
        FieldKind::Number => figure(value),
        FieldKind::Bool => boolean(value).map(FieldValue::Bool),
        FieldKind::Time => instant(value).and_then(|at| plausible(at, arrived_at)),
        FieldKind::EpochS => number(value).and_then(|s| epoch(s * 1000.0, arrived_at)),
        FieldKind::EpochMs => number(value).and_then(|ms| epoch(ms, arrived_at)),
        FieldKind::SecondsUntil => number(value).and_then(offset).map(|d| FieldValue::Until(arrived_at + d)),
        FieldKind::SecondsLeft => number(value).and_then(offset).map(|d| FieldValue::Left(arrived_at + d)),
    };
    read.unwrap_or(FieldValue::Unknown)
}

/// A sentinel is no value, and a number out of bounds is none either: the provider passes on what its sensor says (A30).
fn is_believed(of: &Plausible, value: &Value) -> bool {
    let sentinel = |unknown: &Sentinel| match (unknown, value) {
        (Sentinel::Number(n), _) => number(value) == Some(*n),
        (Sentinel::Text(text), Value::String(said)) => said.trim().eq_ignore_ascii_case(text.trim()),
        (Sentinel::Text(_), _) => false,
    };
    let bounded = |n: f64| of.min.is_none_or(|min| n >= min) && of.max.is_none_or(|max| n <= max);
    !of.unknown.iter().any(sentinel) && number(value).is_none_or(bounded)
}

/// A scalar as text.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(number_text(n)),
        Value::Bool(b) => Some(b.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number in one spelling: `5`, `5.0` and `5e0` are all `5`.
pub(super) fn number_text(n: &Number) -> String {
    match n.as_f64() {
        Some(f) if !(n.is_i64() || n.is_u64()) && is_exact_integer(f) => (f as i64).to_string(),
        _ => n.to_string(),
    }
}

pub(super) fn is_exact_integer(f: f64) -> bool {
    f.fract() == 0.0 && f.abs() <= EXACT_INTEGERS
}

/// A finite number, also in a text that is nothing but a decimal number.
pub(super) fn number(value: &Value) -> Option<f64> {
    let n = match value {
        Value::Number(n) => n.as_f64()?,
        Value::String(s) => {
            let s = s.trim();
            // `f64::from_str` would also take "inf", "NaN" and "infinity".
            if s.bytes().any(|b| !(b.is_ascii_digit() || b"+-.eE".contains(&b))) {
                return None;
            }
            s.parse().ok()?
        }
        _ => return None,
    };
    n.is_finite().then_some(n)
}

/// A number, or the digits of an integer that a 64-bit float would round: a wrong one looks just like a right one.
fn figure(value: &Value) -> Option<FieldValue> {
    let number = number(value)?;
    let digits = match value {
        Value::Number(n) => n.to_string(),
        Value::String(s) => s.trim().trim_start_matches('+').to_owned(),
        _ => String::new(),
    };
    let (sign, figures) = digits.strip_prefix('-').map_or(("", &*digits), |figures| ("-", figures));
    let figures = figures.trim_start_matches('0');
    let is_integer = !figures.is_empty() && figures.bytes().all(|b| b.is_ascii_digit());
    let is_exact = || figures.parse::<u64>().is_ok_and(|n| n <= EXACT_INTEGERS as u64);
    if is_integer && !is_exact() {
        return Some(FieldValue::Text(format!("{sign}{figures}")));
    }
    Some(FieldValue::Number(number))
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(b) => Some(*b),
        Value::String(s) if s.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(s) if s.trim().eq_ignore_ascii_case("false") => Some(false),
        Value::Number(_) | Value::String(_) => match number(value)? {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// RFC 3339. A date-time without offset is no instant.
fn instant(value: &Value) -> Option<Wall> {
    let at: jiff::Timestamp = value.as_str()?.trim().parse().ok()?;
    Some(Wall(at.as_millisecond()))
}

/// Zero and negative epochs are how providers say "never".
fn epoch(ms: f64, arrived_at: Stamp) -> Option<FieldValue> {
    (ms > 0.0 && ms <= EXACT_INTEGERS).then(|| Wall(ms.round() as i64)).and_then(|at| plausible(at, arrived_at))
}

fn plausible(at: Wall, arrived_at: Stamp) -> Option<FieldValue> {
    let distance = at.since(arrived_at.wall).max(arrived_at.wall.since(at));
    (distance <= ABSURD).then_some(FieldValue::At(at))
}

fn offset(seconds: f64) -> Option<Span> {
    let bound = ABSURD.as_secs() as f64;
    (0.0..=bound).contains(&seconds).then(|| Span((seconds * 1000.0).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Steady;
    use FieldValue::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// 2026-11-30T02:56:13Z
    const ARRIVED: Stamp = Stamp { steady: Steady(1_000_000), wall: Wall(1_796_007_373_000), era: 3 };

    fn read(kind: FieldKind, value: Value) -> FieldValue {
        super::read(kind, &Plausible::default(), Some(&value), ARRIVED)
    }

    #[test]
    fn every_kind_reads_what_it_is_and_nothing_else() {
        use FieldKind as K;
        let later = |s: u64| ARRIVED + Span::from_secs(s);
        let table = [
            (K::Text, json!("Lawn"), Text("Lawn".into())),
            (K::Text, json!(""), Text("".into())),
            (K::Text, json!(7), Text("7".into())),
            (K::Text, json!(7.0), Text("7".into())),
            (K::Text, json!(7.5), Text("7.5".into())),
            (K::Text, json!(true), Text("true".into())),
            (K::Text, json!(null), Unknown),
            (K::Text, json!(["x"]), Unknown),
            (K::Text, json!({"x": 1}), Unknown),
            (K::Number, json!(-888), Number(-888.0)),
            (K::Number, json!("0.25"), Number(0.25)),
            (K::Number, json!(" 12 "), Number(12.0)),
            (K::Number, json!("1e3"), Number(1000.0)),
            (K::Number, json!(9_007_199_254_740_992u64), Number(9_007_199_254_740_992.0)),
            (K::Number, json!(9_007_199_254_740_993u64), Text("9007199254740993".into())),
            (K::Number, json!(-9_007_199_254_740_993i64), Text("-9007199254740993".into())),
            (K::Number, json!("+09007199254740993"), Text("9007199254740993".into())),
            (K::Number, json!("99999999999999999999991"), Text("99999999999999999999991".into())),
            (K::Number, json!(1e23), Number(1e23)),
            (K::Number, json!("0"), Number(0.0)),
            (K::Number, json!("NaN"), Unknown),
            (K::Number, json!("+Inf"), Unknown),
            (K::Number, json!("infinity"), Unknown),
            (K::Number, json!("1e999"), Unknown),
            (K::Number, json!("0x10"), Unknown),
            (K::Number, json!("12 l"), Unknown),
            (K::Number, json!(""), Unknown),
            (K::Number, json!(true), Unknown),
            (K::Bool, json!(true), Bool(true)),
            (K::Bool, json!("False"), Bool(false)),
            (K::Bool, json!(1), Bool(true)),
            (K::Bool, json!("0"), Bool(false)),
            (K::Bool, json!(2), Unknown),
            (K::Bool, json!("on"), Unknown),
            (K::Time, json!("2026-11-30T03:56:13+01:00"), At(ARRIVED.wall)),
            (K::Time, json!("2026-11-30T03:56:13"), Unknown),
            (K::Time, json!("0001-01-01T00:00:00Z"), Unknown),
            (K::Time, json!("yesterday"), Unknown),
            (K::Time, json!(1_796_007_373), Unknown),
            (K::EpochS, json!(1_796_007_373), At(ARRIVED.wall)),
            (K::EpochS, json!("1796007373.0"), At(ARRIVED.wall)),
            (K::EpochS, json!(1_796_007_373_000u64), Unknown),
            (K::EpochS, json!(0), Unknown),
            (K::EpochS, json!(-1), Unknown),
            (K::EpochMs, json!(1_796_007_373_000u64), At(ARRIVED.wall)),
            (K::EpochMs, json!(1e300), Unknown),
            (K::SecondsUntil, json!(300), Until(later(300))),
            (K::SecondsUntil, json!("300"), Until(later(300))),
            (K::SecondsUntil, json!(0), Until(ARRIVED)),
            (K::SecondsUntil, json!(0.5), Until(ARRIVED + Span(500))),
            (K::SecondsUntil, json!(-1), Unknown),
            (K::SecondsUntil, json!("NaN"), Unknown),
            (K::SecondsUntil, json!(1e18), Unknown),
            (K::SecondsUntil, json!([300]), Unknown),
            (K::SecondsLeft, json!(1788), Left(later(1788))),
            (K::SecondsLeft, json!(3_155_760_000u64), Left(later(3_155_760_000))),
            (K::SecondsLeft, json!(3_155_760_001u64), Unknown),
        ];
        for (kind, value, expected) in table {
            assert_eq!(read(kind, value.clone()), expected, "{kind:?} of {value}");
        }
    }

    #[test]
    fn a30_a_sentinel_or_a_number_out_of_bounds_is_unknown() {
        let unknown = vec![Sentinel::Number(-888.0), Sentinel::Text("n/a".into())];
        let level = Plausible { min: Some(-50.0), max: Some(1200.0), unknown };
        let read = |kind, value: Value| super::read(kind, &level, Some(&value), ARRIVED);
        for (value, expected) in [
            (json!(-888), Unknown),
            (json!("-888.0"), Unknown),
            (json!(" N/A "), Unknown),
            (json!(-50), Number(-50.0)),
            (json!(-50.1), Unknown),
            (json!(1200), Number(1200.0)),
            (json!(1e9), Unknown),
            (json!("12.5"), Number(12.5)),
        ] {
            assert_eq!(read(FieldKind::Number, value.clone()), expected, "{value}");
        }
        assert_eq!(read(FieldKind::Text, json!("n/a")), Unknown);
        assert_eq!(read(FieldKind::Text, json!("high")), Text("high".into()));
        assert_eq!(read(FieldKind::SecondsUntil, json!(1201)), Unknown);
        assert_eq!(read(FieldKind::SecondsUntil, json!(1200)), Until(ARRIVED + Span::from_secs(1200)));
    }

    #[test]
    fn what_is_not_there_is_unknown() {
        for kind in FieldKind::ALL {
            assert_eq!(super::read(kind, &Plausible::default(), None, ARRIVED), Unknown);
            assert_eq!(read(kind, json!(null)), Unknown);
        }
    }

    #[test]
    fn numbers_have_one_spelling() {
        for (text, expected) in
            [("5", "5"), ("5.0", "5"), ("5e0", "5"), ("-0.0", "0"), ("18446744073709551615", "18446744073709551615")]
        {
            assert_eq!(number_text(&serde_json::from_str(text).unwrap()), expected);
        }
    }

    proptest! {
        #[test]
        fn no_offset_is_anchored_before_the_arrival_or_beyond_reason(n: f64, kind in 0..FieldKind::ALL.len()) {
            let kind = FieldKind::ALL[kind];
            for value in [json!(n), json!(n.to_string())] {
                match read(kind, value) {
                    Until(at) | Left(at) => {
                        prop_assert!(at.steady >= ARRIVED.steady && at.wall >= ARRIVED.wall);
                        prop_assert!(at.steady.since(ARRIVED.steady) <= ABSURD);
                        prop_assert_eq!(at.era, ARRIVED.era);
                    }
                    At(at) => prop_assert!(at.0.abs_diff(ARRIVED.wall.0) <= ABSURD.as_millis()),
                    Number(x) => prop_assert!(x.is_finite()),
                    _ => {}
                }
            }
        }
    }
}
