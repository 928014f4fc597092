//! A connection as one flat list of values, for programs that read a value by its name alone. Made from the read models, so that it cannot say
//! otherwise than they do: what is too old to be used has no value. Pure. Must not know who asks, nor how names are joined into addresses.

use super::budgets::tightest;
use super::view::{
    ConnectionView, FieldShown, Flat, FlatKind, FlatOf, FlatValue, FlatView, ItemView, TargetView, When,
};
use crate::rules::calendar::rfc3339;
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// Items of a target that are told one by one; one with more tells how many they are.
pub const MOST_ITEMS: u64 = 100;

/// What every item has.
const OF_ITEMS: [&str; 2] = ["title", "state"];

/// Signs of a name in a key: of a longer one the beginning, and a digest of itself.
const LONGEST: usize = 64;

/// Between the names that a key is made of. In none of them two stand side by side.
const JOINT: &str = "__";

/// `targets` of the connection, all or some, with their items: those of one that has more than [`MOST_ITEMS`] are left out.
pub fn flat(connection: &ConnectionView, targets: &[TargetView]) -> FlatView {
    let all = &connection.targets;
    let keys = slugs(all.iter().map(String::as_str));
    let key_of = |name: &str| all.iter().position(|one| one == name).and_then(|at| keys.get(at).cloned());
    let mut values = of_connection(connection);
    for target in targets {
        values.extend(of_target(target, &key_of(&target.name).unwrap_or_else(|| slug(&target.name))));
    }
    FlatView {
        organization: connection.organization.clone(),
        connection: connection.name.clone(),
        provider: connection.provider.clone(),
        values,
    }
}

/// Each value of the connections by its key in one document: the connection's name stands before it.
pub fn document(connections: Vec<FlatView>) -> Flat {
    let names = slugs(connections.iter().map(|c| c.connection.as_str()));
    let named = connections.into_iter().zip(names);
    let keyed = |(c, name): (FlatView, String)| {
        c.values.into_iter().map(move |value| (format!("{name}{JOINT}{}", value.key), value.value))
    };
    named.flat_map(keyed).collect()
}

/// The names as keys have them: small letters, digits, and `_` for all else. Where two become one, each but the one that is written so has a
/// digest of itself behind it: the same in every document.
pub fn slugs<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let plain: Vec<(&str, String)> = names.map(|name| (name, slug(name))).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    plain.iter().for_each(|(_, slug)| *times.entry(slug).or_default() += 1);
    let told = |(name, slug): &(&str, String)| match times.get(slug.as_str()) {
        Some(2..) if name != slug => format!("{slug}_{}", &blake3::hash(name.as_bytes()).to_hex()[..6]),
        _ => slug.clone(),
    };
    plain.iter().map(told).collect()
}

fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if slug.len() > LONGEST {
            break;
        }
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            _ if slug.ends_with('_') || slug.is_empty() => {}
            _ => slug.push('_'),
        }
    }
    let is_cut = slug.len() > LONGEST;
    let kept = slug.trim_end_matches('_').len();
    slug.truncate(kept);
    let digest = || blake3::hash(name.as_bytes()).to_hex()[..6].to_owned();
    match is_cut {
        true => format!("{}_{}", slug[..LONGEST - 8].trim_end_matches('_'), digest()),
        // Of a name without a letter of this alphabet nothing is left.
        false if slug.is_empty() => format!("x{}", digest()),
        false => slug,
    }
}

/// A value and what it is.
type Told = (FlatKind, Value);

fn number(n: u64) -> Told {
    (FlatKind::Number, n.into())
}

fn seconds(n: u64) -> Told {
    (FlatKind::Seconds, n.into())
}

fn moment(when: When) -> Told {
    (FlatKind::Moment, rfc3339(when.0).into())
}

fn text(text: impl Into<String>) -> Told {
    (FlatKind::Text, Value::String(text.into()))
}

fn flag(flag: bool) -> Told {
    (FlatKind::Flag, flag.into())
}

/// There is none that may be used. Of what every connection or target has it is known what it would be.
fn maybe<T>(value: Option<T>, told: fn(T) -> Told, kind: FlatKind) -> Told {
    value.map_or((kind, Value::Null), told)
}

fn field(value: &FieldShown) -> Told {
    match value {
        FieldShown::Unknown => (FlatKind::Unknown, Value::Null),
        FieldShown::Text(said) => text(said.clone()),
        FieldShown::Number(n) => (FlatKind::Number, exact(*n)),
        FieldShown::Bool(is) => flag(*is),
        FieldShown::At(when) | FieldShown::Due(when) => moment(*when),
        FieldShown::SecondsLeft(left) => seconds(*left),
    }
}

/// A whole number is written without a fraction: templates show what is written.
fn exact(n: f64) -> Value {
    const MOST: f64 = 9_007_199_254_740_991.0;
    match n.fract() == 0.0 && n.abs() <= MOST {
        true => (n as i64).into(),
        false => Number::from_f64(n).map_or(Value::Null, Value::Number),
    }
}

fn values<'a>(of: &FlatOf, above: &str, told: impl IntoIterator<Item = (&'a str, Told)>) -> Vec<FlatValue> {
    let value = |(name, (kind, value)): (&str, Told)| {
        let key = if above.is_empty() { name.to_owned() } else { format!("{above}{JOINT}{name}") };
        FlatValue { key, of: of.clone(), name: name.to_owned(), kind, value }
    };
    told.into_iter().map(value).collect()
}

fn of_connection(c: &ConnectionView) -> Vec<FlatValue> {
    let tightest = tightest(&c.budget);
    let resets = tightest.and_then(|b| b.resets_at.or(b.next_free_at));
    let told = [
        ("state", text(c.state.word())),
        ("problem", flag(c.state.is_trouble())),
        ("age_seconds", maybe(c.oldest_age_seconds, seconds, FlatKind::Seconds)),
        ("limit", maybe(tightest.map(|b| b.requests), number, FlatKind::Number)),
        ("remaining", maybe(tightest.map(|b| b.remaining), number, FlatKind::Number)),
        ("resets_at", maybe(resets, moment, FlatKind::Moment)),
        ("next_poll_at", maybe(c.poll.next_poll_at, moment, FlatKind::Moment)),
        ("findings", number(c.findings.len() as u64)),
    ];
    values(&FlatOf::Connection, "", told)
}

fn of_target(t: &TargetView, name: &str) -> Vec<FlatValue> {
    let told = [
        ("state", text(t.state.word())),
        ("problem", flag(t.state.is_trouble())),
        ("available", flag(t.available)),
        ("as_of", maybe(t.as_of, moment, FlatKind::Moment)),
        ("age_seconds", maybe(t.age_seconds, seconds, FlatKind::Seconds)),
        ("count", maybe(t.available.then_some(t.item_count), number, FlatKind::Number)),
    ];
    let of = FlatOf::Target { target: t.name.clone(), key: name.to_owned() };
    let mut flat = values(&of, name, told);
    let told = if t.item_count <= MOST_ITEMS { &t.items[..] } else { &[] };
    let present: Vec<&ItemView> = told.iter().filter(|i| i.removed_at.is_none()).collect();
    let keys = slugs(present.iter().map(|i| i.key.as_str()));
    for (item, key) in present.into_iter().zip(keys) {
        let of = FlatOf::Item { target: name.to_owned(), title: item.title.clone() };
        flat.extend(of_item(item, &of, &format!("{name}{JOINT}{key}")));
    }
    flat
}

fn of_item(item: &ItemView, of: &FlatOf, above: &str) -> Vec<FlatValue> {
    let mut names = slugs(item.fields.iter().map(|(name, _)| name.as_str()));
    // A field that is called as what every item has is told apart from it.
    names.iter_mut().filter(|name| OF_ITEMS.contains(&name.as_str())).for_each(|name| name.push_str("_field"));
    let state = item.state.clone();
    let own = [(OF_ITEMS[0], text(item.title.clone())), (OF_ITEMS[1], maybe(state, text, FlatKind::Text))];
    let fields = names.iter().map(String::as_str).zip(item.fields.iter().map(|(_, value)| field(value)));
    values(of, above, own.into_iter().chain(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_whole_number_has_no_fraction() {
        let told = [5.0, -0.0, 21.5, 1e300, f64::NAN].map(|n| exact(n).to_string());
        assert_eq!(told, ["5", "0", "21.5", "1e+300", "null"]);
    }

    #[test]
    fn names_become_keys_that_templates_can_spell() {
        let names = ["Front Lawn", "front-lawn", "front_lawn", "--Öl--", "東", "a__b", "9"];
        let keys = slugs(names.into_iter());
        assert_eq!(keys[2], "front_lawn", "who is written so keeps it");
        assert!(keys[0].starts_with("front_lawn_") && keys[1].starts_with("front_lawn_"), "{keys:?}");
        assert_eq!((&keys[3][..], &keys[5][..], &keys[6][..]), ("l", "a_b", "9"));
        assert!(keys[4].starts_with('x'), "{keys:?}");
        let long = ["a", "b"].map(|end| format!("{}{end}", "long name ".repeat(1000)));
        let keys = slugs(long.iter().map(String::as_str));
        assert!(keys[0] != keys[1] && keys.iter().all(|key| key.len() <= LONGEST), "{keys:?}");
    }

    proptest! {
        /// No two names share a key, whatever they are, and where a name stands among the others does not matter.
        #[test]
        fn every_name_has_a_key_of_its_own(names in proptest::collection::btree_set("[a-zA-Zä _.-]{1,6}", 1..20)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let keys = slugs(names.iter().copied());
            let unique: std::collections::BTreeSet<&String> = keys.iter().collect();
            prop_assert_eq!(unique.len(), names.len());
            prop_assert!(keys.iter().all(|k| !k.contains(JOINT) && !k.starts_with('_') && !k.ends_with('_')));
            let back = slugs(names.iter().rev().copied());
            prop_assert_eq!(back.into_iter().rev().collect::<Vec<_>>(), keys);
        }
    }
}
