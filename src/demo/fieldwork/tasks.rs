//! The provider's data: projects of work orders with tasks that are begun and done as time passes. Everything follows from the moment that
//! is asked about: nothing is kept.

use serde_json::{Value, json};
use std::time::Duration;

/// After so long the work begins anew.
const CYCLE: u64 = 1800;
/// How long a task is worked on.
const WORK: u64 = 240;

/// So many projects, called `P1`, `P2` ..., with so many work orders each, called `P1-101`, `P1-102` ..., and so many tasks in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projects {
    pub projects: usize,
    pub orders: usize,
    pub tasks: usize,
}

impl Projects {
    /// The names of the work orders of a project, by its number from 1.
    pub fn orders_of(&self, project: usize) -> impl Iterator<Item = String> + use<> {
        (0..self.orders).map(move |order| format!("P{project}-{}", 101 + order))
    }

    /// Every task of a project or of one work order, in the order of their numbers.
    pub fn tasks(&self, wanted: &Wanted<'_>, now: Duration) -> Vec<Value> {
        let all = (1..=self.projects)
            .flat_map(|project| self.orders_of(project).enumerate().map(move |(at, order)| (project, at, order)));
        let is_wanted = |(project, _, order): &(usize, usize, String)| match wanted {
            Wanted::Project(name) => name.strip_prefix('P').and_then(|n| n.parse().ok()) == Some(*project),
            Wanted::Order(name) => order == name,
        };
        let tasks_of = |(project, at, order): (usize, usize, String)| {
            (0..self.tasks).map(move |task| one(project, at, &order, task, now))
        };
        all.filter(is_wanted).flat_map(tasks_of).collect()
    }
}

/// What a request asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    Project(&'a str),
    Order(&'a str),
}

const WORKS: [&str; 8] = [
    "Isolate the line",
    "Lift the cover",
    "Replace the valve",
    "Test the seal",
    "Read the meter",
    "Refit the cover",
    "Photograph the site",
    "Sign the report",
];

fn one(project: usize, at: usize, order: &str, task: usize, now: Duration) -> Value {
    // Tasks of an order follow each other, orders are shifted against each other.
    let begins = (at as u64 * 61 + task as u64 * CYCLE / 16) % CYCLE;
    let within = now.as_secs() % CYCLE;
    let status = match within.checked_sub(begins) {
        None => "TASKED",
        Some(since) if since < WORK => "STARTED",
        Some(_) => "DONE",
    };
    json!({
        "id": project * 1_000_000 + at * 1000 + task,
        "subsector": order,
        "summary": WORKS[task % WORKS.len()],
        "step": task + 1,
        "status": status,
        "crew": if status == "TASKED" { Value::Null } else { json!(format!("crew {}", (at + task) % 4 + 1)) },
    })
}
