//! `larder check`: is the configuration valid, can its credentials be read, and can the limits keep its plan up for ever (F13)? Asks
//! nobody.

mod crowd;

use super::args::Format;
use super::ending::{Ending, Failure, Outcome};
use super::expected::Expected;
use super::run::settings;
use super::table::Table;
use super::text::{count, setting, show, span};
use crate::config::{Recipes, Settings, is_built_in};
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::oauth::Counted;
use crate::domain::spec::{ConnectionSpec, Interval};
use crate::domain::time::Span;
use crate::rules::plan::{Plan, Rate, UNKNOWN_LIFE};
use crowd::Crowd;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Which credential each connection is, and a sentence for each that cannot be read.
#[derive(Default)]
pub struct Credentials {
    pub of: BTreeMap<ConnectionKey, CredentialId>,
    pub unreadable: Vec<(ConnectionKey, String)>,
}

/// Reads the secrets, compares them, and forgets them: this room never sees one.
pub type Identify = fn(&[ConnectionSpec]) -> Credentials;

pub async fn run(config: &Path, format: Format, identify: Identify) -> Outcome {
    let settings = settings(config)?;
    let known = identify(&settings.connections);
    let report = Report::of(&settings, known, &Recipes::beside(config), &Expected::known(&settings).await);
    show(&if format.json { format!("{:#}\n", report.json()) } else { report.text(config) })?;
    match (report.unreadable.is_empty(), report.is_sustainable()) {
        // As `serve` would end.
        (false, _) => Err(Failure { ending: Ending::Usage, sentences: report.unreadable }),
        (true, true) => Ok(Ending::Fine),
        (true, false) => Ok(Ending::Failed),
    }
}

/// The plans of all connections, and what those that share a credential need together.
struct Report<'a> {
    lines: Vec<Line<'a>>,
    crowds: Vec<Crowd>,
    /// A user's own recipe stands before a built-in one of its name.
    own: Vec<String>,
    /// What is taken for granted of targets of which something is learned.
    learned: Vec<String>,
    /// Credentials that `serve` could not start with.
    unreadable: Vec<String>,
}

struct Line<'a> {
    spec: &'a ConnectionSpec,
    plan: Plan,
}

impl<'a> Report<'a> {
    fn of(settings: &'a Settings, known: Credentials, recipes: &Recipes, expected: &Expected) -> Report<'a> {
        let groups = crowd::groups(&settings.connections, &known);
        let line = |spec: &'a ConnectionSpec| {
            let group = groups.iter().find(|members| members.iter().any(|m| m.key == spec.key));
            Line {
                spec,
                plan: crowd::plan_in(group.map_or(&[spec], Vec::as_slice), spec, &settings.organizations, expected),
            }
        };
        let lines: Vec<Line> = settings.connections.iter().map(line).collect();
        let crowds = crowd::crowds(&groups, &lines, expected);
        let own = settings.connections.iter().filter_map(|spec| own_recipe(spec, recipes)).collect();
        let unreadable = known.unreadable.into_iter().map(|(_, why)| why).collect();
        Report { lines, crowds, own, learned: expected.sentences(settings), unreadable }
    }

    fn is_sustainable(&self) -> bool {
        self.lines.iter().all(Line::is_sustainable) && self.crowds.iter().all(|c| c.percent <= 100)
    }

    fn json(&self) -> Value {
        let shared: Vec<Value> =
            self.crowds.iter().map(|c| json!({ "connections": c.names, "percent": c.percent })).collect();
        json!({
            "sustainable": self.is_sustainable(),
            "connections": self.lines.iter().map(Line::json).collect::<Vec<_>>(),
            "shared_credentials": shared,
            "own_recipes": self.own,
            "pages": self.learned,
            "unreadable_credentials": self.unreadable,
        })
    }

    fn text(&self, config: &Path) -> String {
        let connections = count(self.lines.len() as u64, "connection");
        let mut text = format!("{} is valid: {connections}.\n", config.display());
        if self.lines.is_empty() {
            return text;
        }
        let headings = [
            "CONNECTION",
            "PROVIDER",
            "INTERVAL",
            "REQUESTS A DAY",
            "UNITS",
            "BOUND BY",
            "SHORTEST",
            "CEILING",
            "A 304",
        ];
        let mut table = Table::new(&headings);
        self.lines.iter().for_each(|line| table.row(line.cells()));
        text.push_str(&format!("\n{table}\n"));
        self.lines.iter().for_each(|line| text.push_str(&format!("{}\n", line.sentence())));
        self.lines.iter().filter_map(Line::renewal).for_each(|renewal| text.push_str(&format!("{renewal}\n")));
        self.crowds.iter().for_each(|crowd| text.push_str(&format!("{}\n", crowd.sentence())));
        self.own.iter().for_each(|sentence| text.push_str(&format!("{sentence}\n")));
        self.learned.iter().for_each(|sentence| text.push_str(&format!("{sentence}\n")));
        text
    }
}

impl Line<'_> {
    fn name(&self) -> String {
        name(self.spec)
    }
    fn is_polled(&self) -> bool {
        self.spec.poll.enabled
    }
    /// What is not polled is no burden to any limit.
    fn is_sustainable(&self) -> bool {
        !self.is_polled() || self.plan.sustainable()
    }
    fn shortest(&self) -> String {
        self.plan.shortest_interval.map_or("never".to_owned(), span)
    }

    fn cells(&self) -> [String; 9] {
        let interval = match (self.is_polled(), self.spec.poll.interval) {
            (false, _) => "off".to_owned(),
            (true, Interval::Every(every)) => span(every),
            (true, Interval::Auto) => format!("{} (auto)", self.shortest()),
        };
        let Rate { requests_per_day, units_per_day, .. } = self.plan.wished;
        let a_day = |n: u64| if self.is_polled() { n.to_string() } else { "0".to_owned() };
        [
            self.name(),
            self.spec.provider.clone(),
            interval,
            a_day(requests_per_day),
            a_day(units_per_day),
            self.plan.bound_by.clone().unwrap_or_else(|| "-".to_owned()),
            self.shortest(),
            self.plan.ceiling_targets.map_or("-".to_owned(), |n| count(n, "target")),
            if self.is_polled() { self.spec.conditional.word().to_owned() } else { "-".to_owned() },
        ]
    }

    fn sentence(&self) -> String {
        let (name, plan) = (self.name(), &self.plan);
        let bound = plan.bound_by.as_deref().map(|b| format!(" (limit \"{b}\")")).unwrap_or_default();
        let Some(shortest) = plan.shortest_interval else {
            return format!("{name}: CANNOT be polled at all: the limits leave its poller nothing{bound}.");
        };
        let (safe, interval) = (span(shortest), span(plan.wished.interval));
        if !self.is_polled() {
            format!("{name}: polling is off; it could poll every {safe}{bound}.")
        } else if plan.sustainable() {
            format!("{name}: can be kept up for ever; the shortest safe interval is {safe}{bound}.")
        } else {
            let requests = count(plan.requests_per_round, "request");
            format!(
                "{name}: CANNOT be kept up: {requests} every {interval}; the shortest safe interval is {safe}{bound}, and \
                 that is how often it would poll. Set poll.interval to \"{}\" or \"auto\".",
                setting(shortest)
            )
        }
    }

    /// What a credential that renews itself asks beside its polls.
    fn renewal(&self) -> Option<String> {
        let oauth = self.spec.oauth.as_ref()?;
        let takes = match oauth.counted {
            Counted::Budget => format!(
                "each renewal takes one request of its limits; planned with one every {UNKNOWN_LIFE}, until its provider says \
                 how long a token lives"
            ),
            Counted::Apart => "renewals are not counted in its limits".to_owned(),
        };
        Some(format!("{}: renews its access token at {}; {takes}.", self.name(), oauth.token_url))
    }

    fn json(&self) -> Value {
        let seconds = |s: Span| s.as_millis() as f64 / 1000.0;
        json!({
            "name": self.spec.key.connection.as_str(), "organization": self.spec.key.organization.as_str(),
            "provider": self.spec.provider, "enabled": self.is_polled(),
            "interval_seconds": seconds(self.plan.wished.interval),
            "effective_interval_seconds": seconds(self.plan.kept.interval), "auto": self.spec.poll.interval == Interval::Auto,
            "requests_per_round": self.plan.requests_per_round, "units_per_round": self.plan.units_per_round,
            "requests_per_day": self.plan.wished.requests_per_day, "units_per_day": self.plan.wished.units_per_day,
            "bound_by": self.plan.bound_by, "shortest_interval_seconds": self.plan.shortest_interval.map(seconds),
            "ceiling_targets": self.plan.ceiling_targets, "sustainable": self.is_sustainable(),
            "conditional": self.spec.conditional.word(), "recipe": self.spec.recipe,
            "sentence": self.sentence(),
        })
    }
}

/// Said where it matters: the same name means something else than in the manual.
fn own_recipe(spec: &ConnectionSpec, recipes: &Recipes) -> Option<String> {
    let recipe = spec.recipe.as_deref()?;
    let file = recipes.own(recipe).filter(|_| is_built_in(recipe))?;
    let (name, file) = (name(spec), file.display());
    Some(format!("{name}: its recipe is {file}, a file of your own, which wins over the built-in recipe \"{recipe}\"."))
}

/// The organization is named where it is not the only one.
fn name(spec: &ConnectionSpec) -> String {
    match spec.key.organization.as_str() {
        "default" => spec.key.connection.to_string(),
        _ => spec.key.to_string(),
    }
}

#[cfg(test)]
mod tests;
