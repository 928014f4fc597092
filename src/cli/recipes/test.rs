//! `larder recipes test`: what Larder would make of an answer, and why. The decisions are `rules::trial`'s; this file reads what
//! was typed and tells them.

use super::named;
use crate::cli::args::TestArgs;
use crate::cli::ending::{Ending, Failure, Outcome as Ended};
use crate::cli::table::Table;
use crate::cli::text::{count, show, span};
use crate::clock::{Clock, SystemClock};
use crate::config::{Recipe, Recipes, recipe_alone};
use crate::domain::item::{Sighting, observed_at};
use crate::domain::outcome::Outcome;
use crate::domain::reply::Answer;
use crate::domain::spec::{Conditional, ConnectionSpec, TargetSpec};
use crate::domain::time::{Span, Wall};
use crate::engine::words::UNDATED;
use crate::rules::calendar::rfc3339;
use crate::rules::classify::in_words;
use crate::rules::paging::Step;
use crate::rules::reconcile::shown;
use crate::rules::trial::{Trial, trial};
use serde_json::{Map, Value, json};
use std::io::Read;
use std::path::Path;

pub fn run(recipes: &Recipes, args: &TestArgs) -> Ended {
    let recipe = find(recipes, &args.recipe)?;
    let spec = recipe_alone(&recipe)
        .map_err(|errors| Failure { ending: Ending::Usage, sentences: errors.into_iter().map(|e| e.0).collect() })?;
    let at = arrival(args.at.as_deref())?;
    let target = target(&spec, args.target.as_deref())?;
    let tried =
        trial(&spec, target, answer(args)?, at).map_err(|sentences| Failure { ending: Ending::Usage, sentences })?;
    if tried.verdict.outcome == Outcome::Data && target.is_none() && !spec.targets.is_empty() {
        return Err(Failure::usage(format!("The answer is data. Whose? Add --target: {}.", names(&spec))));
    }
    let report = Report { spec: &spec, recipe: &recipe, target, trial: &tried };
    show(&if args.format.json { format!("{:#}\n", report.json()) } else { report.text() })?;
    Ok(if is_understood(tried.verdict.outcome) { Ending::Fine } else { Ending::Failed })
}

/// What looks like a file is one.
fn find(recipes: &Recipes, text: &str) -> Result<Recipe, Failure> {
    if text.contains(std::path::MAIN_SEPARATOR) || text.ends_with(".toml") {
        return Recipe::open(Path::new(text)).map_err(Failure::usage);
    }
    named(recipes, text)
}

fn arrival(at: Option<&str>) -> Result<Wall, Failure> {
    let Some(text) = at else { return Ok(SystemClock::start(None, None).now().wall()) };
    let instant = text.parse::<jiff::Timestamp>();
    let wrong = |_| Failure::usage(format!("--at {text}: write a time such as 2026-11-30T12:00:00Z."));
    instant.map(|t| Wall(t.as_millisecond())).map_err(wrong)
}

/// The one that was named, else the only one; `None` where there are several, or none.
fn target<'s>(spec: &'s ConnectionSpec, wanted: Option<&str>) -> Result<Option<&'s TargetSpec>, Failure> {
    match (wanted, spec.targets.as_slice()) {
        (None, [only]) => Ok(Some(only)),
        (None, _) => Ok(None),
        (Some(name), targets) => {
            let unknown = || Failure::usage(format!("There is no target {name:?}; there is: {}.", names(spec)));
            targets.iter().find(|t| t.name.as_str() == name).map(Some).ok_or_else(unknown)
        }
    }
}

fn names(spec: &ConnectionSpec) -> String {
    let names: Vec<&str> = spec.targets.iter().map(|t| t.name.as_str()).collect();
    names.join(", ")
}

fn answer(args: &TestArgs) -> Result<Answer, Failure> {
    let headers = args.header.iter().map(|line| header(line)).collect::<Result<Vec<_>, _>>()?;
    let mut body = Vec::new();
    let read = match args.answer.as_deref() {
        None => Ok(0),
        Some(path) if path == Path::new("-") => std::io::stdin().lock().read_to_end(&mut body),
        Some(path) => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut body)),
    };
    let from = args.answer.as_deref().unwrap_or(Path::new("-")).display();
    read.map_err(|e| Failure::usage(format!("--answer {from}: cannot be read ({}).", e.kind())))?;
    Ok(Answer { status: args.status, headers, body })
}

fn header(line: &str) -> Result<(String, String), Failure> {
    let pair = line.split_once(':').filter(|(name, _)| !name.trim().is_empty());
    let wrong =
        || Failure::usage(format!("--header {line:?}: write it as in an answer, such as \"Retry-After: 120\"."));
    pair.map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned())).ok_or_else(wrong)
}

/// A refusal is understood as well as data is.
fn is_understood(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Unexpected | Outcome::Undecodable | Outcome::TooLarge)
}

/// What follows from a page.
fn follows(step: &Step) -> String {
    match step {
        Step::Next(ask) => format!("the next is {}", ask.location),
        Step::Complete(end) => format!("complete: {end}"),
        Step::Incomplete(why) => format!("incomplete: {why}"),
    }
}

struct Report<'a> {
    spec: &'a ConnectionSpec,
    recipe: &'a Recipe,
    target: Option<&'a TargetSpec>,
    trial: &'a Trial,
}

impl Report<'_> {
    fn text(&self) -> String {
        let Trial { verdict, hold, now, .. } = self.trial;
        let mut lines = vec![
            ("recipe", self.recipe.place()),
            ("arrived", rfc3339(now.wall())),
            ("outcome", format!("{}, {}", verdict.outcome, in_words(verdict.outcome))),
            ("rule", verdict.rule.clone()),
        ];
        lines.extend(verdict.said.iter().map(|said| ("said", said.clone())));
        lines.extend(verdict.wait.iter().map(|wait| ("wait", format!("{}, from {}", span(wait.wait), wait.source))));
        lines.extend(hold.iter().map(|hold| {
            let (length, until) = (span(hold.until.since(now.steady)), rfc3339(now.wall_of(hold.until)));
            let whom = hold.scope.word();
            ("hold", format!("{length}, until {until}, {} of the {whom}: {}", hold.reason.word(), hold.source))
        }));
        lines.push(("charge", self.charge().to_owned()));
        lines.extend(self.reading().map(|said| ("reading", said)));
        lines.extend(self.trial.follows.iter().map(|step| ("pages", follows(step))));
        let mut text = String::new();
        for (name, value) in lines {
            let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            text.push_str(&format!("{name:<8} {value}\n"));
        }
        text + &self.items()
    }

    /// What the answer costs.
    fn charge(&self) -> &'static str {
        let confirmed = self.trial.verdict.outcome == Outcome::NotModified;
        if confirmed && self.spec.conditional == Conditional::Free { "given back" } else { "spent" }
    }

    /// How old the newest reading is by the provider's own time.
    fn reading_age(&self) -> Option<Span> {
        let newest = self.trial.items.as_ref()?.iter().filter_map(|item| observed_at(&item.fields)).max();
        self.trial.now.age_of_reading(newest?, self.trial.now.stamp())
    }

    /// That in words, where the target says that the provider gives one.
    fn reading(&self) -> Option<String> {
        self.target?.observed_at.as_ref()?;
        self.trial.items.as_ref().filter(|items| !items.is_empty())?;
        let old = |age| format!("{} old by the provider's clock", span(age));
        Some(self.reading_age().map_or_else(|| UNDATED.to_owned(), old))
    }

    fn items(&self) -> String {
        let (Some(target), Some(items)) = (self.target, &self.trial.items) else { return String::new() };
        let mut table = Table::new(&["KEY", "TITLE", "STATE", "FIELDS"]);
        for item in items {
            let fields = item
                .fields
                .iter()
                .map(|(name, value)| format!("{name}={}", shown(value).unwrap_or_else(|| "unknown".to_owned())));
            let fields: Vec<String> = fields.collect();
            table.row([item.key.clone(), item.title.clone(), self.state(item).to_owned(), fields.join("  ")]);
        }
        let how_many = count(items.len() as u64, "item");
        let rows = if table.is_empty() { String::new() } else { table.to_string() };
        format!("{:<8} {} of {}\n{rows}", "items", how_many, target.name.as_str())
    }

    fn state<'i>(&self, item: &'i Sighting) -> &'i str {
        item.state.as_ref().map_or("-", |state| state.now(&self.trial.now))
    }

    fn json(&self) -> Value {
        let Trial { verdict, hold, now, items, .. } = self.trial;
        let hold = hold.as_ref().map(|hold| {
            json!({
                "reason": hold.reason.word(), "scope": hold.scope.word(), "until": rfc3339(now.wall_of(hold.until)),
                "seconds": hold.until.since(now.steady).as_secs_ceil(), "source": hold.source,
            })
        });
        let wait = verdict.wait.as_ref();
        json!({
            "recipe": self.recipe.name, "arrived_at": rfc3339(now.wall()), "outcome": verdict.outcome.word(),
            "understood": is_understood(verdict.outcome), "rule": verdict.rule, "said": verdict.said,
            "wait": wait.map(|w| json!({ "seconds": w.wait.as_secs_ceil(), "source": w.source })), "hold": hold,
            "charge": self.charge(), "reading_age_seconds": self.reading_age().map(Span::as_secs), "pages": self.trial.follows.as_ref().map(follows),
            "target": self.target.map(|t| t.name.as_str()),
            "items": items.as_ref().map(|items| items.iter().map(|i| self.item(i)).collect::<Vec<_>>()),
        })
    }

    fn item(&self, item: &Sighting) -> Value {
        let fields: Map<String, Value> =
            item.fields.iter().map(|(name, value)| (name.clone(), shown(value).into())).collect();
        json!({ "key": item.key, "title": item.title, "state": self.state(item), "fields": fields })
    }
}
