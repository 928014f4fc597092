//! Reads the keys of one TOML table, with the environment laid over it. Knows types and spans; knows no key and gives no
//! value a meaning. Errors quote a value only where the caller's parser does: a literal secret must not reach a terminal.

use super::environment::Variables;
use super::place::{Place, Placed, Problems, Slot, suggestion};
use super::value::{json_of, kind, scalar, text_of};
use super::words;
use crate::domain::time::Span;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file's name and the beginnings of its lines.
#[derive(Debug)]
pub(super) struct Document {
    order: usize,
    name: Arc<str>,
    line_starts: Vec<usize>,
}

impl Document {
    pub fn new(order: usize, name: &str, text: &str) -> Document {
        let after_breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Document { order, name: Arc::from(name), line_starts: std::iter::once(0).chain(after_breaks).collect() }
    }
    pub fn place(&self, offset: usize, key: &str) -> Place {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        Place { order: self.order, file: self.name.clone(), line, key: key.to_owned() }
    }
    /// The file as a whole.
    pub fn whole(&self) -> Place {
        Place { order: self.order, file: self.name.clone(), line: 0, key: String::new() }
    }

    /// The file's tables, or what TOML itself finds wrong. Only the message is told: the library's own rendering quotes
    /// the line, and a secret may stand on it.
    pub fn tables<'t>(&self, text: &'t str, problems: &mut Problems) -> Option<Spanned<DeTable<'t>>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let at = error.span().map_or_else(|| self.whole(), |span| self.place(span.start, ""));
            problems.add(&at, format!("is not TOML: {}", error.message()));
        }
        errors.is_empty().then_some(table)
    }
}

/// One table with what the environment says about its keys.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    document: &'a Document,
    /// `None` where only the environment speaks.
    table: Option<&'a DeTable<'a>>,
    variables: Variables,
    /// Asked for the keys that this one has not: what a target is `like`.
    below: Option<Box<Section<'a>>>,
    /// Of the table's header.
    pub place: Place,
}

/// A value as it was found.
enum Raw<'a> {
    Toml(&'a DeValue<'a>),
    Text(String),
}

impl<'a> Section<'a> {
    pub fn root(document: &'a Document, table: &'a DeTable<'a>) -> Section<'a> {
        Section { document, table: Some(table), variables: Variables::default(), below: None, place: document.whole() }
    }

    pub fn with_variables(mut self, variables: Variables) -> Section<'a> {
        self.variables = variables;
        self
    }

    /// This table, and another one's keys where it is silent.
    pub fn over(mut self, below: Section<'a>) -> Section<'a> {
        self.below = Some(Box::new(below));
        self
    }

    /// Refuses keys that are not in `known`. `later` are keys of the manual that this version does not support yet.
    pub fn only(&self, known: &[&str], later: &[&str], problems: &mut Problems) {
        for (key, span) in self.keys() {
            let place = self.document.place(span, &self.place.below(key).key);
            if later.contains(&key) {
                problems.add(&place, "is not supported by this version of Larder; remove it");
            } else if !known.contains(&key) {
                problems.add(&place, format!("unknown key{}", suggestion(key, known)));
            }
        }
    }

    /// Keys in the order of the file, with their offsets.
    pub fn keys(&self) -> Vec<(&'a str, usize)> {
        let Some(table) = self.table else { return Vec::new() };
        let mut keys: Vec<_> = table.iter().map(|(key, _)| (key.get_ref().as_ref(), key.span().start)).collect();
        keys.sort_by_key(|(_, at)| *at);
        keys
    }

    pub fn has(&self, key: &str) -> bool {
        self.variables.has(key) || self.has_itself(key) || self.below.as_ref().is_some_and(|below| below.has(key))
    }

    fn has_itself(&self, key: &str) -> bool {
        self.keys().iter().any(|(k, _)| *k == key)
    }

    /// Where `key` stands; the header if it is absent.
    pub fn place_of(&self, key: &str) -> Place {
        self.find(key).map_or_else(|| self.place.below(key), |(_, place)| place)
    }

    fn find(&self, key: &str) -> Option<(Raw<'a>, Place)> {
        if let Some((name, value)) = self.variables.get(key) {
            return Some((Raw::Text(value.to_owned()), Place::variable(name)));
        }
        let own = self.table.and_then(|table| table.iter().find(|(k, _)| k.get_ref().as_ref() == key));
        let Some((found, value)) = own else { return self.below.as_ref()?.find(key) };
        let place = self.document.place(found.span().start, &self.place.below(key).key);
        Some((Raw::Toml(value.get_ref()), place))
    }

    fn read<T>(&self, key: &str, problems: &mut Problems, convert: impl Fn(Raw<'a>) -> Result<T, String>) -> Slot<T> {
        let Some((raw, place)) = self.find(key) else { return Slot::Absent };
        match convert(raw) {
            Ok(value) => Slot::Set(Placed { value, place }),
            Err(sentence) => {
                problems.add(&place, sentence);
                Slot::Bad
            }
        }
    }

    /// A text that `parse` gives a meaning, or an error in words.
    pub fn parsed<T>(&self, key: &str, p: &mut Problems, parse: impl Fn(&str) -> Result<T, String>) -> Slot<T> {
        self.read(key, p, |raw| match raw {
            Raw::Text(text) => parse(&text),
            Raw::Toml(DeValue::String(text)) => parse(text),
            Raw::Toml(other) => Err(format!("must be a text in quotes, not {}", kind(other))),
        })
    }

    pub fn text(&self, key: &str, problems: &mut Problems) -> Slot<String> {
        self.parsed(key, problems, |text| match text.trim() {
            "" => Err("must not be empty".to_owned()),
            _ => Ok(text.to_owned()),
        })
    }

    /// A duration above zero.
    pub fn span(&self, key: &str, problems: &mut Problems) -> Slot<Span> {
        self.span_or_zero(key, problems)
            .checked(problems, |span| (*span == Span::ZERO).then(|| "must be longer than nothing".to_owned()))
    }

    pub fn span_or_zero(&self, key: &str, problems: &mut Problems) -> Slot<Span> {
        self.read(key, problems, |raw| match raw {
            Raw::Text(text) => words::span(&text),
            Raw::Toml(DeValue::String(text)) => words::span(text),
            Raw::Toml(DeValue::Integer(n)) => {
                Err(format!("must be a duration in quotes with a unit, such as \"{}s\"", n.as_str()))
            }
            Raw::Toml(other) => Err(format!("must be a duration such as \"75s\", not {}", kind(other))),
        })
    }

    /// A whole number from `least` to `most`.
    pub fn whole(&self, key: &str, (least, most): (u64, u64), problems: &mut Problems) -> Slot<u64> {
        let fits = |n: Option<u64>| n.filter(|n| (least..=most).contains(n));
        let range =
            if most >= i64::MAX as u64 { format!("at least {least}") } else { format!("from {least} to {most}") };
        self.read(key, problems, |raw| match raw {
            Raw::Text(text) => fits(text.parse().ok()).ok_or_else(|| format!("must be a whole number, {range}")),
            Raw::Toml(DeValue::Integer(n)) => fits(u64::from_str_radix(n.as_str(), n.radix()).ok()).ok_or_else(|| {
                let digits = n.as_str();
                let is_beyond =
                    !digits.starts_with('-') && most >= i64::MAX as u64 && digits.trim_start_matches('0').len() > 1;
                let range = if is_beyond { format!("at most {most}") } else { range.clone() };
                format!("must be {range}, not {digits}")
            }),
            Raw::Toml(other) => Err(format!("must be a whole number, {range}, not {}", kind(other))),
        })
    }

    /// Any finite number.
    pub fn number(&self, key: &str, problems: &mut Problems) -> Option<f64> {
        let finite = |text: &String| text.replace('_', "").parse().ok().filter(|n: &f64| n.is_finite());
        let one = |texts: &Vec<String>| texts.first().filter(|_| texts.len() == 1).and_then(finite);
        let wrong = |texts: &Vec<String>| one(texts).is_none().then(|| "must be a number".to_owned());
        one(&self.scalars(key, problems).checked(problems, wrong).value()?)
    }

    /// A list of numbers and texts, or one of them, each as it is written.
    pub fn scalars(&self, key: &str, problems: &mut Problems) -> Slot<Vec<String>> {
        self.read(key, problems, |raw| {
            let all = match raw {
                Raw::Text(text) => Some(text.split(',').map(|t| t.trim().to_owned()).collect()),
                Raw::Toml(DeValue::Array(list)) => list.iter().map(|v| scalar(v.get_ref())).collect(),
                Raw::Toml(value) => scalar(value).map(|text| vec![text]),
            };
            all.ok_or_else(|| "must be numbers or texts, such as [-888, \"n/a\"]".to_owned())
        })
    }

    pub fn flag(&self, key: &str, problems: &mut Problems) -> Slot<bool> {
        self.read(key, problems, |raw| match raw {
            Raw::Toml(DeValue::Boolean(flag)) => Ok(*flag),
            Raw::Text(text) => text.parse().map_err(|_| "must be true or false".to_owned()),
            Raw::Toml(other) => Err(format!("must be true or false, not {}", kind(other))),
        })
    }

    /// A list of texts; in the environment separated by commas.
    pub fn texts(&self, key: &str, problems: &mut Problems) -> Slot<Vec<String>> {
        self.read(key, problems, |raw| match raw {
            Raw::Text(text) => Ok(text.split(',').map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect()),
            Raw::Toml(DeValue::Array(list)) => list.iter().map(|v| text_of(v.get_ref())).collect(),
            Raw::Toml(other) => Err(format!("must be a list of texts, not {}", kind(other))),
        })
    }

    /// One number or a list of them.
    pub fn numbers(&self, key: &str, (least, most): (u16, u16), problems: &mut Problems) -> Slot<Vec<u16>> {
        let number = |value: &DeValue<'_>| match value {
            DeValue::Integer(n) => {
                u16::from_str_radix(n.as_str(), n.radix()).ok().filter(|n| (least..=most).contains(n))
            }
            _ => None,
        };
        self.read(key, problems, |raw| {
            let numbers = match raw {
                Raw::Toml(DeValue::Array(list)) => list.iter().map(|v| number(v.get_ref())).collect(),
                Raw::Toml(one) => number(one).map(|n| vec![n]),
                Raw::Text(text) => text.split(',').map(|n| n.trim().parse().ok()).collect(),
            };
            numbers.filter(|n| !n.is_empty()).ok_or_else(|| format!("must be whole numbers from {least} to {most}"))
        })
    }

    /// A text as it is, or a table or list as JSON. `None` where the key is absent, or holds neither (told).
    pub fn json(&self, key: &str, p: &mut Problems) -> Option<serde_json::Value> {
        let read = self.read(key, p, |raw| match raw {
            Raw::Text(text) => Ok(text.into()),
            Raw::Toml(value @ (DeValue::String(_) | DeValue::Table(_) | DeValue::Array(_))) => json_of(value),
            Raw::Toml(other) => Err(format!("must be a text or a table, not {}", kind(other))),
        });
        read.value()
    }

    /// The table as JSON, as far as JSON can say it.
    pub fn as_json(&self) -> serde_json::Map<String, serde_json::Value> {
        let member = |(key, _): (&str, usize)| Some((key.to_owned(), json_of(self.value(key)?).ok()?));
        self.keys().into_iter().filter_map(|(key, at)| member((key, at))).collect()
    }

    fn value(&self, key: &str) -> Option<&'a DeValue<'a>> {
        let (_, value) = self.table?.iter().find(|(k, _)| k.get_ref().as_ref() == key)?;
        Some(value.get_ref())
    }

    /// What stands under `key` without a look at it: a text or a date, else `None`.
    pub fn word(&self, key: &str) -> Option<String> {
        match self.find(key)? {
            (Raw::Toml(DeValue::String(text)), _) => Some(text.clone().into_owned()),
            (Raw::Toml(DeValue::Datetime(date)), _) => Some(date.to_string()),
            _ => None,
        }
    }

    /// A sub-table; also where only the environment has keys of it.
    pub fn table(&self, key: &str, problems: &mut Problems) -> Option<Section<'a>> {
        if let Some(below) = self.below.as_ref().filter(|_| !self.has_itself(key)) {
            return below.table(key, problems);
        }
        let variables = self.variables.below(key);
        let found = self.table.and_then(|t| t.iter().find(|(k, _)| k.get_ref().as_ref() == key));
        let Some((name, value)) = found else {
            let only_environment = !variables.is_empty();
            return only_environment.then(|| Section {
                document: self.document,
                table: None,
                variables,
                below: None,
                place: self.place.below(key),
            });
        };
        let place = self.document.place(name.span().start, &self.place.below(key).key);
        match value.get_ref() {
            DeValue::Table(table) => {
                Some(Section { document: self.document, table: Some(table), variables, below: None, place })
            }
            other => {
                problems.add(&place, format!("must be a table, not {}", kind(other)));
                None
            }
        }
    }

    /// The tables of `[[key]]`, each named by its `name` or else its number, from 1.
    pub fn tables(&self, key: &str, problems: &mut Problems) -> Vec<Section<'a>> {
        if let Some(below) = self.below.as_ref().filter(|_| !self.has_itself(key)) {
            return below.tables(key, problems);
        }
        let found = self.table.and_then(|t| t.iter().find(|(k, _)| k.get_ref().as_ref() == key));
        let Some((name, value)) = found else { return Vec::new() };
        let place = self.document.place(name.span().start, &self.place.below(key).key);
        let DeValue::Array(list) = value.get_ref() else {
            let header = strip_names(&place.key);
            problems.add(&place, format!("must be written [[{header}]], with two brackets: there can be several"));
            return Vec::new();
        };
        let element = |(at, element): (usize, &'a Spanned<DeValue<'a>>)| match element.get_ref() {
            DeValue::Table(table) => Some(self.element(&place, at, element.span().start, table)),
            _ => None,
        };
        let sections: Vec<_> = list.iter().enumerate().filter_map(element).collect();
        if sections.len() < list.len() {
            problems.add(&place, "must be a list of tables");
        }
        sections
    }

    fn element(&self, list: &Place, at: usize, offset: usize, table: &'a DeTable<'a>) -> Section<'a> {
        let mut section = Section {
            document: self.document,
            table: Some(table),
            variables: Variables::default(),
            below: None,
            place: list.clone(),
        };
        let name = section.word("name").or_else(|| section.word("is")).unwrap_or_else(|| format!("#{}", at + 1));
        section.place = self.document.place(offset, &format!("{}[{name}]", list.key));
        section
    }
}

/// `connection[yard].limit` -> `connection.limit`, the header as it is written in the file.
fn strip_names(key: &str) -> String {
    let mut inside = false;
    let outside = |c: &char| {
        match c {
            '[' => inside = true,
            ']' => {
                inside = false;
                return false;
            }
            _ => (),
        }
        !inside
    };
    key.chars().filter(outside).collect()
}
