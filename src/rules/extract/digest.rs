//! The fingerprint: a digest of an item's canonical content, without what moves by itself. Equal content has one spelling here
//! (members sorted, `1` and `1.0` the same), different content never the same (every part is framed by its tag and length).
//! Must not know paths or kinds.

use super::value::is_exact_integer;
use crate::domain::item::FieldValue;
use serde_json::Value;
use std::collections::HashSet;

/// The values inside an item that are left out, by their address in the parsed answer.
pub(super) type LeftOut = HashSet<*const Value>;

pub(super) struct Digest(blake3::Hasher);

impl Digest {
    pub(super) fn new() -> Digest {
        Digest(blake3::Hasher::new())
    }

    /// The first 16 bytes: enough to tell the versions of one item apart.
    pub(super) fn finish(&self) -> [u8; 16] {
        let mut short = [0; 16];
        short.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        short
    }

    fn part(&mut self, tag: u8, bytes: &[u8]) {
        self.0.update(&[tag]);
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.part(b's', text.as_bytes());
    }

    /// A text that may be absent; absent is not empty.
    pub(super) fn optional(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.part(b'z', &[]),
        }
    }

    fn number(&mut self, f: f64) {
        if is_exact_integer(f) {
            self.part(b'i', &(f as i64).to_le_bytes());
        } else {
            self.part(b'f', &f.to_bits().to_le_bytes());
        }
    }

    pub(super) fn field(&mut self, value: &FieldValue) {
        match value {
            FieldValue::Text(s) => self.text(s),
            FieldValue::Number(n) => self.number(*n),
            FieldValue::Bool(b) => self.part(b'b', &[u8::from(*b)]),
            FieldValue::At(at) => self.part(b't', &at.0.to_le_bytes()),
            FieldValue::Unknown | FieldValue::Until(_) | FieldValue::Left(_) => self.part(b'z', &[]),
        }
    }

    /// Any JSON without the values in `left_out`. Recursion is bounded by the parser's own depth limit (128).
    pub(super) fn json(&mut self, value: &Value, left_out: &LeftOut) {
        match value {
            Value::Null => self.part(b'0', &[]),
            Value::Bool(b) => self.part(b'b', &[u8::from(*b)]),
            Value::String(s) => self.text(s),
            Value::Number(n) => match (n.as_i64(), n.as_u64(), n.as_f64()) {
                (Some(i), ..) => self.part(b'i', &i.to_le_bytes()),
                (_, Some(u), _) => self.part(b'u', &u.to_le_bytes()),
                (.., f) => self.number(f.unwrap_or(f64::NAN)),
            },
            Value::Array(list) => {
                self.part(b'[', &[]);
                for element in list.iter().filter(|v| !left_out.contains(&std::ptr::from_ref(*v))) {
                    self.json(element, left_out);
                }
                self.part(b']', &[]);
            }
            Value::Object(members) => {
                self.part(b'{', &[]);
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_unstable_by_key(|(name, _)| *name);
                for (name, member) in sorted.into_iter().filter(|(_, v)| !left_out.contains(&std::ptr::from_ref(*v))) {
                    self.text(name);
                    self.json(member, left_out);
                }
                self.part(b'}', &[]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> [u8; 16] {
        let mut digest = Digest::new();
        digest.json(&serde_json::from_str(text).unwrap(), &LeftOut::new());
        digest.finish()
    }

    #[test]
    fn one_content_has_one_digest() {
        assert_eq!(of(r#"{"a":1,"b":[true,null]}"#), of(r#"{ "b": [true, null], "a": 1.0 }"#));
        assert_eq!(of("1e2"), of("100"));
        assert_eq!(of("-0.0"), of("0"));
    }

    #[test]
    fn different_contents_have_different_digests() {
        let all = [
            "null",
            "0",
            "false",
            "\"\"",
            "[]",
            "{}",
            "[[]]",
            "[null]",
            "[0,1]",
            "[1,0]",
            r#"{"a":{}}"#,
            r#"{"a":null}"#,
            r#"["ab"]"#,
            r#"["a","b"]"#,
            "1.5",
            "2",
            "\"2\"",
            "18446744073709551615",
            "-1",
            r#"{"a":"b"}"#,
            r#"["a",{"b":0}]"#,
        ];
        let distinct: HashSet<_> = all.iter().map(|t| of(t)).collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn what_is_left_out_does_not_matter() {
        let digest = |text: &str| {
            let value: Value = serde_json::from_str(text).unwrap();
            let left_out = value.get("at").map(std::ptr::from_ref).into_iter().collect();
            let mut digest = Digest::new();
            digest.json(&value, &left_out);
            digest.finish()
        };
        assert_eq!(digest(r#"{"id":1,"at":5}"#), digest(r#"{"id":1,"at":"later"}"#));
        assert_eq!(digest(r#"{"id":1,"at":5}"#), digest(r#"{"id":1}"#));
        assert_ne!(digest(r#"{"id":1,"at":5}"#), digest(r#"{"id":2,"at":5}"#));
    }
}
