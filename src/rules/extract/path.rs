//! JSONPath (RFC 9535) as recipes use it: a path to one value, a filter about one value, a path to a list of items. Turns
//! mistakes into sentences; must not know what the values mean.

use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};

/// A path below some value.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    text: String,
    query: JsonPath,
}

impl Path {
    pub(crate) fn parse(text: &str) -> Result<Path, String> {
        match JsonPath::parse(text) {
            Ok(query) => Ok(Path { text: text.to_owned(), query }),
            Err(e) => Err(format!("`{text}` is not a JSONPath: {e}")),
        }
    }
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
    pub(crate) fn nodes<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.query.query(value).all()
    }
    /// The value, if there is exactly one.
    pub(crate) fn one<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.query.query(value).exactly_one().ok()
    }
}

/// A filter expression about a value `@` (RFC 9535 section 2.3.5), as in `@.time == 1 && @.run > 0`.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    query: JsonPath,
}

/// A value in the place where a filter can look at it: the only element of an array.
pub(crate) struct Subject(Value);

impl Subject {
    pub(crate) fn of(value: &Value) -> Subject {
        Subject(Value::Array(vec![value.clone()]))
    }
}

impl Filter {
    pub(crate) fn parse(expression: &str) -> Result<Filter, String> {
        match JsonPath::parse(&format!("$[?{expression}]")) {
            Ok(query) => Ok(Filter { query }),
            Err(e) => Err(format!("`{expression}` is not a filter expression: {}", e.message())),
        }
    }
    pub(crate) fn holds(&self, subject: &Subject) -> bool {
        !self.query.query(&subject.0).is_empty()
    }
}

/// Where an item stands in what holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot<'v> {
    /// Of a map.
    Name(&'v str),
    /// Of a list, from 0.
    Position(usize),
}

/// What holds the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    List,
    Map,
}

/// The path to the items. Knows the list that they stand in, so that a list that is empty can be told from one that is not there.
#[derive(Clone, Debug)]
pub(crate) struct ItemsPath {
    all: Path,
    /// The list, where the last segment picks from one (`[*]`, `.*`, a filter, a slice).
    list: Option<Path>,
    holder: Holder,
}

impl ItemsPath {
    pub(crate) fn parse(text: &str) -> Result<ItemsPath, String> {
        let all = Path::parse(text)?;
        let (parent, last) = split_last_segment(text);
        let list = if picks_from_a_list(last) { Some(Path::parse(parent)?) } else { None };
        Ok(ItemsPath { all, list, holder: Holder::List })
    }

    /// The same, where the items are the members of a map. An empty one is no list that became something else.
    pub(crate) fn of_a_map(self) -> ItemsPath {
        ItemsPath { holder: Holder::Map, ..self }
    }

    /// Whether what it finds stands in something.
    pub(crate) fn is_below(&self) -> bool {
        self.all.text().trim() != "$"
    }

    /// The items, or why this is not an answer of the expected shape (A10, A12): a missing list is not an empty one.
    pub(crate) fn items<'v>(&self, body: &'v Value) -> Result<Vec<&'v Value>, String> {
        let found = self.all.nodes(body);
        let Some(list) = &self.list else {
            return if found.is_empty() { Err(format!("items: there is no `{}`", self.all.text())) } else { Ok(found) };
        };
        let lists = list.nodes(body);
        if lists.is_empty() {
            return Err(format!("items: there is no `{}`", list.text()));
        }
        let (is_right, called): (fn(&Value, bool) -> bool, _) = match self.holder {
            Holder::List => (|v, found| v.is_array() || v.is_object() && found, "a list"),
            // Some languages cannot tell an empty map from an empty list.
            Holder::Map => (|v, _| v.is_object() || v.as_array().is_some_and(Vec::is_empty), "a map"),
        };
        match lists.iter().find(|v| !is_right(v, !found.is_empty())) {
            Some(other) => Err(format!("items: `{}` is {}, not {called}", list.text(), kind_of(other))),
            None => Ok(found),
        }
    }

    /// Where each of the items stands, in their order.
    pub(crate) fn spots<'v>(&self, body: &'v Value) -> Vec<Option<Spot<'v>>> {
        let spot = |element: &PathElement<'v>| match element {
            PathElement::Name(name) => Spot::Name(name),
            PathElement::Index(at) => Spot::Position(*at),
        };
        let located = self.all.query.query_located(body).all();
        located.into_iter().map(|node| node.location().last().map(spot)).collect()
    }

    /// Entries of the list; where there is none, what is found.
    pub(crate) fn rows(&self, body: &Value) -> u64 {
        let entries = |list: &Value| match list {
            Value::Array(all) => all.len() as u64,
            Value::Object(all) => all.len() as u64,
            _ => 0,
        };
        match &self.list {
            Some(list) => list.nodes(body).into_iter().map(entries).sum(),
            None => self.all.nodes(body).len() as u64,
        }
    }
}

/// What a value is, for sentences.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Cuts a valid path before its last segment. Brackets inside quotes and nested filters belong to their segment.
fn split_last_segment(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let (mut start, mut depth, mut quote, mut at) = (text.len(), 0usize, None, 0);
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(q), b) if b == q => quote = None,
            (Some(_), _) => {}
            (None, b @ (b'"' | b'\'')) => quote = Some(b),
            (None, b'[') => {
                if depth == 0 && !text[..at].trim_end().ends_with("..") {
                    start = at;
                }
                depth += 1;
            }
            (None, b']') => depth = depth.saturating_sub(1),
            (None, b'.') if depth == 0 => {
                start = at;
                if bytes.get(at + 1) == Some(&b'.') {
                    at += 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.split_at(start)
}

/// Whether a segment selects the elements of a list rather than a member by name or position.
fn picks_from_a_list(segment: &str) -> bool {
    let segment = segment.trim();
    let inner = match segment.strip_prefix('[').and_then(|s| s.strip_suffix(']')) {
        Some(inner) => inner.trim(),
        None => return segment.strip_prefix('.').is_some_and(|s| s.trim() == "*"),
    };
    let slice = inner.contains(':') && inner.bytes().all(|b| b.is_ascii_digit() || b"-: \t".contains(&b));
    inner == "*" || inner.starts_with('?') || slice
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_segment() {
        let table = [
            ("$", "$", "", false),
            ("$.relays[*]", "$.relays", "[*]", true),
            ("$.relays.*", "$.relays", ".*", true),
            ("$[*]", "$", "[*]", true),
            ("$.a['x]y'][*]", "$.a['x]y']", "[*]", true),
            (r#"$.a["it\"s"].b"#, r#"$.a["it\"s"]"#, ".b", false),
            ("$.a[?@.b[0] == 1]", "$.a", "[?@.b[0] == 1]", true),
            ("$.a[1:3]", "$.a", "[1:3]", true),
            ("$.a[0]", "$.a", "[0]", false),
            ("$.a['b:c']", "$.a", "['b:c']", false),
            ("$..zone", "$", "..zone", false),
            ("$..zones[*]", "$..zones", "[*]", true),
            ("$..[*]", "$", "..[*]", false),
            ("$.größe[*]", "$.größe", "[*]", true),
        ];
        for (path, parent, last, list) in table {
            assert_eq!(split_last_segment(path), (parent, last), "{path}");
            assert_eq!(picks_from_a_list(last), list, "{path}");
            ItemsPath::parse(path).unwrap();
        }
    }

    #[test]
    fn an_empty_list_is_not_a_missing_one() {
        let path = ItemsPath::parse("$.data[*]").unwrap();
        let table = [
            (json!({"data": []}), Ok(0)),
            (json!({"data": [1, 2]}), Ok(2)),
            (json!({"data": {"a": 1}}), Ok(1)),
            (json!({}), Err("items: there is no `$.data`")),
            (json!({"data": null}), Err("items: `$.data` is null, not a list")),
            (json!({"data": {}}), Err("items: `$.data` is an object, not a list")),
            (json!({"data": "API token limit exceeded"}), Err("items: `$.data` is a text, not a list")),
            (json!([]), Err("items: there is no `$.data`")),
        ];
        for (body, expected) in table {
            let got = path.items(&body).map(|items| items.len());
            assert_eq!(got.as_ref().map_err(String::as_str).copied(), expected, "{body}");
        }
    }

    #[test]
    fn members_of_a_map_have_names_and_an_empty_map_is_empty() {
        let path = ItemsPath::parse("$.zones.*").unwrap().of_a_map();
        for (body, expected) in [
            (json!({"zones": {"1": {}, "2": 7}}), Ok(vec![Some(Spot::Name("1")), Some(Spot::Name("2"))])),
            (json!({"zones": {}}), Ok(vec![])),
            (json!({"zones": []}), Ok(vec![])),
            (json!({"zones": [1]}), Err("items: `$.zones` is a list, not a map")),
            (json!({"zones": "later"}), Err("items: `$.zones` is a text, not a map")),
            (json!({}), Err("items: there is no `$.zones`")),
        ] {
            let got = path.items(&body).map(|_| path.spots(&body));
            assert_eq!(got.as_ref().map_err(String::as_str), expected.as_ref().map_err(|e| *e), "{body}");
        }
        let lists = ItemsPath::parse("$[?@.on == true]").unwrap();
        let spots = [Some(Spot::Position(0)), Some(Spot::Position(2))];
        assert_eq!(lists.spots(&json!([{"on": true}, {"on": false}, {"on": true}])), spots);
        assert_eq!(ItemsPath::parse("$").unwrap().spots(&json!({})), [None]);
    }

    #[test]
    fn a_list_among_several_that_became_a_text_is_told() {
        let path = ItemsPath::parse("$.controllers[*].relays[*]").unwrap();
        let body = json!({"controllers": [{"relays": [1]}, {"relays": "limit exceeded"}]});
        assert_eq!(path.items(&body), Err("items: `$.controllers[*].relays` is a text, not a list".to_owned()));
    }

    #[test]
    fn a_filter_may_leave_nothing_over_but_not_a_missing_list() {
        let path = ItemsPath::parse("$.data[?@.type == 1]").unwrap();
        assert_eq!(path.items(&json!({"data": [{"type": 2}]})), Ok(vec![]));
        assert!(path.items(&json!({"message": "try later"})).is_err());
        let rows = |text: &str, body: Value| ItemsPath::parse(text).unwrap().rows(&body);
        assert_eq!(
            rows("$.data[?@.type == 1]", json!({"data": [{"type": 2}, {"type": 1}]})),
            2,
            "a page is as full as it is"
        );
        assert_eq!((rows("$.data[*]", json!({"data": {"a": 1}})), rows("$", json!({"id": 1}))), (1, 1));
        assert_eq!(rows("$.all[*].list[*]", json!({"all": [{"list": [1]}, {"list": [2, 3]}, {}]})), 3);
    }

    #[test]
    fn one_object_is_one_item() {
        let body = json!({"id": 1});
        assert_eq!(ItemsPath::parse("$").unwrap().items(&body), Ok(vec![&body]));
    }

    #[test]
    fn filters_read_numbers_and_texts() {
        let filter = Filter::parse("@.time > 1 && @.time < 1576800000").unwrap();
        for (time, holds) in [(json!(0), false), (json!(1), false), (json!(5400), true), (json!(1576800000u64), false)]
        {
            assert_eq!(filter.holds(&Subject::of(&json!({"time": time}))), holds);
        }
        assert!(Filter::parse("@.status != 'success'").unwrap().holds(&Subject::of(&json!({"status": "error"}))));
        assert!(Filter::parse("@ == 'x'").unwrap().holds(&Subject::of(&json!("x"))));
    }

    #[test]
    fn mistakes_are_sentences() {
        assert!(Path::parse("relays[*]").unwrap_err().starts_with("`relays[*]` is not a JSONPath: "));
        assert!(Filter::parse("").unwrap_err().starts_with("`` is not a filter expression: "));
        assert!(Filter::parse("time = 1").is_err());
    }
}
