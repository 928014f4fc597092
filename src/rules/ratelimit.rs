//! The structured fields `RateLimit` and `RateLimit-Policy`: `"name";r=0;t=43200` with `"name";q=100;w=60` beside it
//! (draft-ietf-httpapi-ratelimit-headers from 08 on), or `limit=100, remaining=0, reset=50` with `100;w=60` (before). What is no
//! structured field (RFC 9651) is nothing. Must not know what follows from a policy.

use crate::domain::reply::Answer;
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser};

/// One policy as the two fields describe it together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    pub name: Option<String>,
    /// Units that a full window has.
    pub quota: Option<f64>,
    pub left: Option<f64>,
    pub reset_s: Option<f64>,
    pub window_s: Option<f64>,
}

impl Policy {
    pub fn is_spent(&self) -> bool {
        self.left.is_some_and(|left| left <= 0.0)
    }
}

/// Those of which the answer says how they stand.
pub fn policies(answer: &Answer) -> Vec<Policy> {
    let Some(field) = joined(answer, "ratelimit") else { return Vec::new() };
    let declared = joined(answer, "ratelimit-policy").and_then(|text| Parser::new(&text).parse::<List>().ok());
    let declared: Vec<Policy> = declared.unwrap_or_default().iter().filter_map(item).map(policy).collect();
    let newer = Parser::new(&field).parse::<List>().ok();
    let newer: Vec<Policy> = newer.unwrap_or_default().iter().filter_map(item).map(policy).collect();
    let mut found = match newer.iter().any(|policy| policy.left.is_some()) {
        true => newer,
        false => Parser::new(&field).parse::<Dictionary>().ok().and_then(|d| older(&d)).into_iter().collect(),
    };
    for policy in &mut found {
        let Some(same) = declared_as(policy, &declared) else { continue };
        policy.quota = same.quota.or(policy.quota);
        policy.window_s = same.window_s.or(policy.window_s);
    }
    found
}

fn joined(answer: &Answer, name: &str) -> Option<String> {
    let all = answer.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
    let all: Vec<&str> = all.collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// By its name, and of several the longest; without one by what it allows, or as the only one.
fn declared_as<'p>(policy: &Policy, declared: &'p [Policy]) -> Option<&'p Policy> {
    let same = declared.iter().filter(|d| d.name == policy.name && policy.name.is_some());
    let longest = same.max_by(|a, b| a.window_s.unwrap_or(0.0).total_cmp(&b.window_s.unwrap_or(0.0)));
    let allows = || declared.iter().find(|d| policy.name.is_none() && d.quota == policy.quota && d.quota.is_some());
    longest.or_else(allows).or_else(|| declared.first().filter(|_| declared.len() == 1))
}

fn item(entry: &ListEntry) -> Option<&Item> {
    match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    }
}

fn policy(item: &Item) -> Policy {
    let parameter = |name: &str| item.params.iter().find(|(key, _)| key.as_str() == name).and_then(|(_, v)| number(v));
    let text = item.bare_item.as_string().map(|s| s.as_str());
    Policy {
        name: text.or_else(|| item.bare_item.as_token().map(|t| t.as_str())).map(str::to_owned),
        // The older form has the number itself in the place of the name.
        quota: parameter("q").or_else(|| number(&item.bare_item)),
        left: parameter("r"),
        reset_s: parameter("t"),
        window_s: parameter("w"),
    }
}

fn older(fields: &Dictionary) -> Option<Policy> {
    let field = |name: &str| {
        let entry = fields.iter().find(|(key, _)| key.as_str() == name).map(|(_, entry)| entry)?;
        item(entry).and_then(|item| number(&item.bare_item))
    };
    let left = Some(field("remaining")?);
    Some(Policy { left, quota: field("limit"), reset_s: field("reset"), ..Policy::default() })
}

fn number(value: &BareItem) -> Option<f64> {
    let whole = value.as_integer().map(|n| i64::from(n) as f64);
    whole.or_else(|| value.as_decimal().map(f64::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: &str, policy: &str) -> Vec<(Option<String>, [Option<f64>; 4])> {
        let headers = [("ratelimit", field), ("ratelimit-policy", policy)];
        let headers = headers.iter().filter(|(_, v)| !v.is_empty()).map(|(n, v)| (n.to_string(), v.to_string()));
        let answer = Answer { status: 200, headers: headers.collect(), body: vec![] };
        let figures = |p: Policy| (p.name, [p.quota, p.left, p.reset_s, p.window_s]);
        policies(&answer).into_iter().map(figures).collect()
    }

    #[test]
    fn both_forms_say_the_same() {
        let day = (Some("day".to_owned()), [Some(1000.0), Some(0.0), Some(30.0), Some(86_400.0)]);
        assert_eq!(
            read("\"day\";r=0;t=30", "\"hour\";q=10;w=3600, \"day\";q=1000;w=86400"),
            std::slice::from_ref(&day)
        );
        assert_eq!(read("day;r=0;t=30", "day;q=1000;w=86400"), [day]);
        let minute = [Some(100.0), Some(2.5), Some(50.0), Some(60.0)];
        assert_eq!(read("limit=100, remaining=2.5, reset=50", "10;w=1, 100;w=60"), [(None, minute)]);
        assert_eq!(read("limit=90, remaining=1", "10;w=1, 100;w=60")[0].1[3], None, "neither of them");
        for nothing in ["", "soon", "limit=100", "\"day\"", "(\"day\");r=0", "remaining=many"] {
            assert_eq!(read(nothing, "100;w=60"), [], "{nothing}");
        }
    }
}
