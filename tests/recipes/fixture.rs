//! A file of answers and what each must become. Reads TOML strictly: a misspelt expectation would be no expectation.

use larder::domain::item::Sighting;
use larder::domain::reply::Answer as Reply;
use larder::domain::spec::{ConnectionSpec, TargetSpec};
use larder::domain::time::Wall;
use larder::rules::paging::{End, Step};
use larder::rules::reconcile::shown;
use larder::rules::trial::{Trial, trial};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub fn folder() -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/fixtures")
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// When the answers arrived, where one does not say otherwise.
    #[serde(default = "noon")]
    pub at: String,
    #[serde(rename = "answer")]
    pub answers: Vec<Answer>,
}

/// One answer: what came, and what it must become.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    pub name: String,
    /// Whose answer it is, where the recipe has several targets.
    pub target: Option<String>,
    pub at: String,
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// The word.
    pub outcome: String,
    /// The rule's name, without `recipe: `; absent: a general rule.
    pub rule: Option<String>,
    /// Part of what is quoted.
    pub said: Option<String>,
    /// Seconds; absent: no wait is read.
    pub wait: Option<u64>,
    /// Part of the name of its source.
    pub from: Option<String>,
    /// Seconds.
    pub hold: Option<u64>,
    pub items: Option<usize>,
    /// Of a page: `next`, `end` (it says that it is the last), `silence` (it says nothing, and is the last by that) or `unfinished`.
    pub follows: Option<String>,
    /// Part of what is asked next: of its address, or of its body.
    pub asks: Option<String>,
    /// Key -> field (or `title`, `state`) -> what is shown.
    pub item: BTreeMap<String, BTreeMap<String, String>>,
}

fn noon() -> String {
    "2026-11-30T12:00:00Z".to_owned()
}

impl Fixture {
    pub fn of(recipe: &str) -> Fixture {
        let file = folder().join(format!("{recipe}.toml"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        Fixture::read(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    }

    pub fn read(text: &str) -> Result<Fixture, toml::de::Error> {
        let mut fixture: Fixture = toml::from_str(text)?;
        for answer in fixture.answers.iter_mut().filter(|answer| answer.at.is_empty()) {
            answer.at = fixture.at.clone();
        }
        Ok(fixture)
    }
}

impl Answer {
    pub fn target<'s>(&self, spec: &'s ConnectionSpec) -> Option<&'s TargetSpec> {
        match (&self.target, spec.targets.as_slice()) {
            (Some(name), targets) => targets.iter().find(|target| target.name.as_str() == name),
            (None, [only]) => Some(only),
            _ => None,
        }
    }

    pub fn tried(&self, spec: &ConnectionSpec) -> Trial {
        let at = self.at.parse::<jiff::Timestamp>().unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let headers = self.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
        let answer = Reply { status: self.status, headers, body: self.body.clone().into_bytes() };
        trial(spec, self.target(spec), answer, Wall(at.as_millisecond())).expect("compiled before")
    }

    /// What is not as it must be, a sentence each.
    pub fn check(&self, spec: &ConnectionSpec) -> Vec<String> {
        let tried = self.tried(spec);
        let mut wrong = Vec::new();
        let mut same = |what: &str, is: String, must: String| {
            if is != must {
                wrong.push(format!("{} / {}: {what} is {is}, not {must}", spec.key.connection, self.name));
            }
        };
        let verdict = &tried.verdict;
        same("outcome", verdict.outcome.word().to_owned(), self.outcome.clone());
        let rule =
            verdict.rule.strip_prefix("recipe: ").map(|rule| rule.trim_end_matches(" (rate limited)").to_owned());
        same("rule", format!("{rule:?} ({}; {:?})", verdict.rule, verdict.said), {
            format!("{:?} ({}; {:?})", self.rule, verdict.rule, verdict.said)
        });
        let wait = verdict.wait.as_ref();
        same("wait", format!("{:?}", wait.map(|w| w.wait.as_secs_ceil())), format!("{:?}", self.wait));
        let source = wait.map(|w| w.source.clone()).unwrap_or_default();
        if let Some(from) = self.from.as_ref().filter(|from| !source.contains(from.as_str())) {
            same("source of the wait", source, from.clone());
        }
        let said = verdict.said.clone().unwrap_or_default();
        if let Some(part) = self.said.as_ref().filter(|part| !said.contains(part.as_str())) {
            same("what was said", said, part.clone());
        }
        let hold = tried.hold.as_ref().map(|hold| hold.until.since(tried.now.steady).as_secs_ceil());
        if self.hold.is_some() {
            same("hold", format!("{hold:?}"), format!("{:?}", self.hold));
        }
        let items = tried.items.as_deref().unwrap_or_default();
        same("number of items", format!("{:?}", tried.items.as_ref().map(Vec::len)), format!("{:?}", self.items));
        let follows = tried.follows.as_ref();
        same("what follows", format!("{:?} ({follows:?})", follows.map(word)), {
            format!("{:?} ({follows:?})", self.follows.as_deref())
        });
        let asked = follows.map(asked).unwrap_or_default();
        if let Some(part) = self.asks.as_ref().filter(|part| !asked.contains(part.as_str())) {
            same("what is asked next", asked, part.clone());
        }
        for (key, fields) in &self.item {
            let item = items.iter().find(|item| item.key == *key);
            for (name, must) in fields {
                let is = item.map_or("no such item".to_owned(), |item| self.shown(item, name, &tried));
                same(&format!("{name} of {key}"), is, must.clone());
            }
        }
        wrong
    }

    fn shown(&self, item: &Sighting, name: &str, tried: &Trial) -> String {
        let field = || item.fields.iter().find(|(field, _)| field == name);
        match name {
            "title" => item.title.clone(),
            "state" => item.state.as_ref().map_or("none", |state| state.now(&tried.now)).to_owned(),
            _ => field().map_or("no such field".to_owned(), |(_, v)| shown(v).unwrap_or("unknown".to_owned())),
        }
    }
}

/// What follows from a page, in a word.
pub fn word(step: &Step) -> &'static str {
    match step {
        Step::Next(_) => "next",
        Step::Complete(End::Unsaid) => "silence",
        Step::Complete(_) => "end",
        Step::Incomplete(_) => "unfinished",
    }
}

fn asked(step: &Step) -> String {
    match step {
        Step::Next(ask) => format!("{} {}", ask.location, String::from_utf8_lossy(&ask.body)),
        Step::Complete(_) | Step::Incomplete(_) => String::new(),
    }
}
