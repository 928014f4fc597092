//! What words make of an answer, for the pages that show it. Knows no form.

use super::super::show::{self, Face, Moment, Shown};
use crate::engine::setup::PreviewView;
use crate::engine::view::{ItemView, ProbeView};
use crate::web::texts;

/// An answer and what was read in it.
pub struct Tried {
    pub at: Option<Moment>,
    pub body: String,
    pub is_cut: bool,
    pub outcome: String,
    pub is_good: bool,
    pub rule: String,
    pub said: Option<String>,
    pub item_count: String,
    pub items: Vec<Item>,
    pub wrong: Vec<String>,
}

pub struct Item {
    pub key: String,
    pub title: String,
    pub state: Option<String>,
    pub fields: String,
}

impl Tried {
    pub fn of(face: &Face, view: PreviewView) -> Tried {
        Tried {
            at: face.maybe(view.at),
            is_good: view.outcome == "data",
            outcome: view.outcome.replace('_', " "),
            item_count: show::counted(view.item_count, show::Noun::Item),
            items: view.items.into_iter().map(|item| line(face, item)).collect(),
            body: view.body,
            is_cut: view.is_cut,
            rule: view.rule,
            said: view.said,
            wrong: view.wrong,
        }
    }
}

fn line(face: &Face, item: ItemView) -> Item {
    let field = |(name, value): &(String, _)| format!("{name} {}", in_words(show::field(face, value)));
    let fields: Vec<String> = item.fields.iter().map(field).collect();
    Item { key: item.key, title: item.title, state: item.state, fields: fields.join(" \u{b7} ") }
}

fn in_words(shown: Shown) -> String {
    match shown {
        Shown::Text(text) => text,
        Shown::Number(number) => number.text,
        Shown::Time(moment) | Shown::Due(moment) => moment.to_string(),
        Shown::Left(left) => left.to_string(),
        Shown::Unknown => texts::t("tried-unknown").plain(),
    }
}

/// `Uses 1 of 4 that are left of status, 5 in 5 min.`
pub fn cost(probe: &ProbeView) -> String {
    let limit = |budget: &crate::engine::view::BudgetView| {
        let (left, all) = (show::count(budget.remaining), show::count(budget.requests));
        let text = match budget.window_seconds.map(show::exact) {
            Some(window) => texts::t("tried-of-that-are-left-in")
                .with("units", show::count(probe.units.into()))
                .with("left", left)
                .with("limit", &budget.limit)
                .with("all", all)
                .with("window", window),
            None => texts::t("tried-of-that-are-left")
                .with("units", show::count(probe.units.into()))
                .with("left", left)
                .with("limit", &budget.limit)
                .with("all", all),
        };
        text.plain()
    };
    let limits: Vec<String> = probe.budget.iter().map(limit).collect();
    match limits.is_empty() {
        true => {
            texts::t("tried-uses").with("requests", show::counted(probe.requests.into(), show::Noun::Request)).plain()
        }
        false => texts::t("tried-uses-2").with("limits", limits.join("; ")).plain(),
    }
}
