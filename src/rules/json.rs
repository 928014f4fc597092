//! JSON as strictly as it has to be read where a wrong reading is shown to people: no member twice, not deeper and not larger than
//! memory likes, no `NaN` unless it is to be salvaged. Text in, value or flaw out.

use crate::domain::spec::Salvage;
use serde::de::{self, Deserialize, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

/// Lists and objects inside each other. Below the parser's own bound (128), so that the sentence is ours.
const DEEPEST: usize = 100;

/// Values in one answer: 2 million are some 200 MB in memory as objects, 64 MB as a list of numbers.
pub const MOST_VALUES: usize = 2_000_000;

/// No `i64` is beyond this, and serde_json has a float for what no `i64` and no `u64` holds.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// Why a text is no JSON that can be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    NotJson,
    /// The same member twice in one object: RFC 8259 section 4 leaves open which one counts, and two programs that choose
    /// differently show two truths. So neither counts.
    Twice(String),
    TooDeep,
    TooMany,
    /// `NaN` or `Infinity` where JSON has no word for it.
    NoNumber,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::NotJson => f.write_str("with a body that is not JSON"),
            Flaw::Twice(key) => write!(f, "with JSON that has {key:?} twice in one object"),
            Flaw::TooDeep => write!(f, "with JSON that is nested deeper than {DEEPEST} levels"),
            Flaw::TooMany => write!(f, "with JSON of more than {MOST_VALUES} values"),
            Flaw::NoNumber => {
                f.write_str("with NaN or Infinity, which is not JSON (salvage = \"nan\" reads it as unknown)")
            }
        }
    }
}

/// Reads a whole text.
pub fn parse(text: &str, salvage: Salvage) -> Result<Value, Flaw> {
    let flaw = match read(text) {
        Ok(value) => return Ok(value),
        Err(flaw) => flaw,
    };
    if flaw != Flaw::NotJson {
        return Err(flaw);
    }
    let Cow::Owned(mended) = without_nan(text) else { return Err(flaw) };
    match (salvage, read(&mended)) {
        (Salvage::Nan, mended) => mended,
        (Salvage::Nothing, Ok(_)) => Err(Flaw::NoNumber),
        (Salvage::Nothing, Err(_)) => Err(flaw),
    }
}

fn read(text: &str) -> Result<Value, Flaw> {
    let (value, beyond) = read_as_it_is(text)?;
    if !beyond {
        return Ok(value);
    }
    match with_long_integers_as_text(text) {
        Cow::Borrowed(_) => Ok(value),
        Cow::Owned(kept) => read_as_it_is(&kept).map(|(value, _)| value),
    }
}

/// The value, and whether a number in it may have been an integer that no 64 bits hold.
fn read_as_it_is(text: &str) -> Result<(Value, bool), Flaw> {
    let reading = Reading { values: Cell::new(0), beyond: Cell::new(false), flaw: RefCell::new(None) };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Seed { reading: &reading, depth: 0 }.deserialize(&mut deserializer);
    match value.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => Ok((value, reading.beyond.get())),
        Err(_) => Err(reading.flaw.into_inner().unwrap_or(Flaw::NotJson)),
    }
}

/// Words that some serialisers write for what is no number, outside of texts, as `null`: unknown, and never a number.
fn without_nan(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 12] = [
        "-Infinity",
        "+Infinity",
        "Infinity",
        "-infinity",
        "infinity",
        "-inf",
        "inf",
        "-NaN",
        "NaN",
        "-nan",
        "nan",
        "+nan",
    ];
    rewritten(text, |rest| {
        let word = WORDS.iter().find(|word| rest.starts_with(word.as_bytes()))?;
        Some((word.len(), Some("null".to_owned())))
    })
}

/// Integers that neither `i64` nor `u64` holds, as texts of the same digits: as floats two identifiers would become one.
fn with_long_integers_as_text(text: &str) -> Cow<'_, str> {
    rewritten(text, |rest| {
        if !matches!(rest.first(), Some(b'-' | b'0'..=b'9')) {
            return None;
        }
        let length = rest.iter().take_while(|b| b"+-.eE0123456789".contains(b)).count();
        let token = std::str::from_utf8(&rest[..length]).ok()?;
        let digits = token.strip_prefix('-').unwrap_or(token);
        let is_integer = digits.bytes().all(|b| b.is_ascii_digit());
        let is_long = is_integer && token.parse::<i64>().is_err() && token.parse::<u64>().is_err();
        Some((length, is_long.then(|| format!("\"{token}\""))))
    })
}

/// Other tokens in the place of some that stand outside of texts. `token` looks at what begins at such a place: how many bytes belong
/// together, and what stands there instead, if anything.
fn rewritten(text: &str, token: impl Fn(&[u8]) -> Option<(usize, Option<String>)>) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut kept, mut at, mut inside) = (0, 0, false);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let found = if inside { None } else { token(&bytes[at..]) };
        if let Some((length, instead)) = found {
            if let Some(instead) = instead {
                out.extend([&text[kept..at], &instead]);
                kept = at + length;
            }
            at += length;
            continue;
        }
        match bytes[at] {
            b'\\' if inside => at += 1,
            b'"' => inside = !inside,
            _ => {}
        }
        at += 1;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// What is counted while a text is read.
struct Reading {
    values: Cell<usize>,
    beyond: Cell<bool>,
    flaw: RefCell<Option<Flaw>>,
}

impl Reading {
    fn fails<T, E: de::Error>(&self, flaw: Flaw) -> Result<T, E> {
        *self.flaw.borrow_mut() = Some(flaw);
        Err(E::custom("flawed"))
    }
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    reading: &'a Reading,
    depth: usize,
}

impl Seed<'_> {
    fn inside<E: de::Error>(self) -> Result<Self, E> {
        let deeper = Seed { depth: self.depth + 1, ..self };
        if deeper.depth > DEEPEST { self.reading.fails(Flaw::TooDeep) } else { Ok(deeper) }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let values = self.reading.values.get() + 1;
        self.reading.values.set(values);
        if values > MOST_VALUES {
            return self.reading.fails(Flaw::TooMany);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        self.reading.beyond.set(self.reading.beyond.get() || v.abs() >= BEYOND);
        Ok(Number::from_f64(v).map_or(Value::Null, Value::Number))
    }
    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(Value::String(v))
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: de::Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        Value::deserialize(d)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(inside)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if members.contains_key(&key) {
                return self.reading.fails(Flaw::Twice(key.chars().take(60).collect()));
            }
            members.insert(key, map.next_value_seed(inside)?);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flaw(text: &str) -> Flaw {
        parse(text, Salvage::Nothing).unwrap_err()
    }

    #[test]
    fn what_is_flawed_has_a_name() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&nested(DEEPEST), Salvage::Nothing).is_ok());
        assert_eq!(flaw(&nested(DEEPEST + 1)), Flaw::TooDeep);
        assert_eq!(flaw(&"[".repeat(5_000_000)), Flaw::TooDeep, "no stack overflows");
        assert_eq!(flaw(&"{\"a\":".repeat(1_000_000)), Flaw::TooDeep);
        assert_eq!(flaw(r#"{"time":1,"b":{"time":2},"time":3}"#), Flaw::Twice("time".to_owned()));
        assert_eq!(flaw(r#"[{"a":{"x":1,"x":1}}]"#), Flaw::Twice("x".to_owned()));
        assert!(parse(r#"[{"x":1},{"x":1}]"#, Salvage::Nothing).is_ok());
        assert_eq!(flaw(&format!("[{}1]", "1,".repeat(MOST_VALUES))), Flaw::TooMany);
        for text in ["", " ", "{", "{\"a\":1", "[1,]", "{\"a\":1} x", "1e999", "'a'", "\u{feff}1", "nul"] {
            assert_eq!(flaw(text), Flaw::NotJson, "{text}");
        }
    }

    #[test]
    fn nan_is_unknown_where_the_recipe_says_so_and_never_a_number() {
        let text = r#"{"a":NaN,"b":-nan,"c":Infinity,"d":-Infinity,"e":"NaN \" nan","f":[nan,1.5,+nan],"g":null,"Infinity":2}"#;
        assert_eq!(flaw(text), Flaw::NoNumber);
        let read = parse(text, Salvage::Nan).unwrap();
        let expected = serde_json::json!({"a": null, "b": null, "c": null, "d": null, "e": "NaN \" nan",
            "f": [null, 1.5, null], "g": null, "Infinity": 2});
        assert_eq!(read, expected);
        assert_eq!(parse(r#"{"a":NaN,"a":1}"#, Salvage::Nan), Err(Flaw::Twice("a".to_owned())));
        assert_eq!(parse("{\"a\":NaN", Salvage::Nan), Err(Flaw::NotJson));
        assert_eq!(flaw("{\"a\":nanny}"), Flaw::NotJson);
    }

    #[test]
    fn an_integer_that_no_64_bits_hold_keeps_its_digits() {
        let text = r#"{"a\"1":99999999999999999999991,"b":[-99999999999999999999992,18446744073709551615,18446744073709551616],
            "c":1e23,"d":99999999999999999999991.5,"e":"99999999999999999999993","f":-9223372036854775808,"g":-9223372036854775809}"#;
        let expected = serde_json::json!({"a\"1": "99999999999999999999991",
            "b": ["-99999999999999999999992", 18446744073709551615u64, "18446744073709551616"],
            "c": 1e23, "d": 1e23, "e": "99999999999999999999993", "f": i64::MIN, "g": "-9223372036854775809"});
        assert_eq!(parse(text, Salvage::Nothing), Ok(expected));
        assert_eq!(
            parse("[NaN,99999999999999999999991]", Salvage::Nan),
            Ok(serde_json::json!([null, "99999999999999999999991"]))
        );
        assert_eq!(flaw(r#"{"a":99999999999999999999991,"a":1}"#), Flaw::Twice("a".to_owned()));
    }

    /// As ours reads it: the digits where a float would round them.
    fn as_floats(value: Value) -> Value {
        match value {
            Value::String(s) if s.len() > 18 && s.parse::<f64>().is_ok() => s.parse::<f64>().unwrap().into(),
            Value::Array(list) => list.into_iter().map(as_floats).collect(),
            Value::Object(members) => members.into_iter().map(|(k, v)| (k, as_floats(v))).collect(),
            other => other,
        }
    }

    proptest! {
        #[test]
        fn what_serde_json_reads_without_doubt_is_read_the_same(text in "\\PC{0,60}|[\\[\\]{}\",:0-9eE.+\\- atrufalsn\\\\]{0,60}") {
            let ours = parse(&text, Salvage::Nothing);
            match serde_json::from_str::<Value>(&text) {
                Ok(theirs) => prop_assert!(ours.clone().map(as_floats) == Ok(as_floats(theirs)) || matches!(ours, Err(Flaw::Twice(_)))),
                Err(_) => prop_assert!(ours.is_err()),
            }
            let _ = parse(&text, Salvage::Nan);
        }
    }
}
