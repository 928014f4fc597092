//! A target that is put while the appliance runs: the keys of a `[[connection.target]]` as a JSON object, held to the same rules as the
//! file. Knows the patterns that it may be like, of the connection's recipe and its own; knows no appliance.

use super::place::Problems;
use super::section::{Document, Section};
use super::{compile_question, finish, targets};
use crate::domain::ids::{ConnectionKey, TargetName};
use crate::domain::spec::{ConnectionSpec, TargetSpec};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What each connection says about targets that are put.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Puttable(BTreeMap<ConnectionKey, Ground>);

#[derive(Clone, Debug, PartialEq)]
struct Ground {
    patterns: Vec<(String, Map<String, Value>)>,
    /// For those that say nothing themselves.
    complete: Option<String>,
    spec: ConnectionSpec,
}

/// Patterns as they are written, each with its name.
pub(super) type Patterns = Vec<(String, Map<String, Value>)>;

impl Puttable {
    pub(super) fn add(&mut self, spec: &ConnectionSpec, patterns: Patterns, complete: Option<String>) {
        self.0.insert(spec.key.clone(), Ground { patterns, complete, spec: spec.clone() });
    }

    /// With those of others.
    pub fn merge(&mut self, others: Puttable) {
        self.0.extend(others.0);
    }

    /// Whether what is put to this connection is read in the same way by both.
    pub fn agrees(&self, other: &Puttable, connection: &ConnectionKey) -> bool {
        let said = |puttable: &Puttable| {
            let ground = puttable.0.get(connection);
            ground.map(|ground| (ground.patterns.clone(), ground.complete.clone()))
        };
        said(self) == said(other)
    }

    /// What a target of each connection may be like.
    pub fn patterns(&self) -> BTreeMap<ConnectionKey, Vec<String>> {
        let names = |ground: &Ground| ground.patterns.iter().map(|(name, _)| name.clone()).collect();
        self.0.iter().map(|(key, ground)| (key.clone(), names(ground))).collect()
    }

    /// The errors are sentences that begin with the key.
    pub fn read(&self, connection: &ConnectionKey, name: &TargetName, body: &str) -> Result<TargetSpec, Vec<String>> {
        let ground = self.0.get(connection).ok_or_else(|| vec![format!("there is no connection {connection}")])?;
        let body = match serde_json::from_str(body) {
            Ok(Value::Object(body)) => body,
            _ => return Err(vec!["a target is a JSON object".to_owned()]),
        };
        let whole = ground.whole(name, body).map_err(|why| vec![why])?;
        let text = toml::to_string(&whole).map_err(|_| vec!["null is no value here; leave the key out".to_owned()])?;
        let mut p = Problems::default();
        let document = Document::new(0, "", &text);
        let table = document.tables(&text, &mut p);
        let section = table.as_ref().map(|table| Section::root(&document, table.get_ref()));
        let read = section.as_ref().and_then(|section| targets::read_one(section, &mut p));
        let read = read.map(|target| TargetSpec { complete: target.complete.or(ground.complete.clone()), ..target });
        if let (Some(target), Some(section)) = (&read, &section) {
            finish::check_question(&ground.spec, target, &section.place, &mut p);
            for sentence in compile_question(target, &ground.spec.time_zone) {
                p.add(&section.place, sentence);
            }
        }
        read.filter(|_| p.is_empty()).ok_or_else(|| p.into_sentences())
    }
}

impl Ground {
    /// With its name, and with the keys of what it is like where it says nothing itself.
    fn whole(&self, name: &TargetName, mut body: Map<String, Value>) -> Result<Map<String, Value>, String> {
        if body.get("name").is_some_and(|said| said.as_str() != Some(name.as_str())) {
            return Err(format!("name: is not {:?}, by which it is put", name.as_str()));
        }
        if self.spec.scans.iter().any(|scan| scan.question.name == *name) {
            return Err(format!("name: there is a scan {:?}; the ledger could not tell who asked", name.as_str()));
        }
        body.insert("name".to_owned(), name.as_str().into());
        let like = match (body.remove("pattern"), body.remove("like")) {
            (Some(_), Some(_)) => return Err("pattern: means the same as `like`; name one of them".to_owned()),
            (pattern, like) => pattern.or(like),
        };
        let Some(like) = like else { return Ok(body) };
        let like = like.as_str().unwrap_or_default();
        let Some((_, pattern)) = self.patterns.iter().find(|(name, _)| name == like) else {
            let names: Vec<&str> = self.patterns.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!("pattern: there is no pattern {like:?}{}", super::place::suggestion(like, &names)));
        };
        let mut whole = pattern.clone();
        whole.extend(body);
        Ok(whole)
    }
}
