//! `[connection.waits]` and `[[connection.wait]]`: what is credible of a provider's waits, and where its own stand. Knows keys and
//! words; how a wait is read from an answer is for `crate::rules::classify`.

use super::place::{Placed, Problems, Slot, suggestion};
use super::section::Section;
use super::words;
use crate::domain::time::Span;
use crate::domain::wait::{WaitForm, WaitPlace, WaitSource};

pub(super) const WAITS: [&str; 3] = ["floor", "ceiling", "default"];
pub(super) const WAIT: [&str; 7] = ["name", "header", "json", "text", "as", "status", "time_zone"];

/// Both, before the recipe's and the defaults are filled in.
#[derive(Clone, Debug)]
pub(super) struct WaitsDraft {
    pub floor: Slot<Span>,
    pub ceiling: Slot<Span>,
    pub default: Slot<Span>,
    pub sources: Vec<Placed<Option<WaitSource>>>,
}

pub(super) fn read(section: &Section<'_>, p: &mut Problems) -> WaitsDraft {
    let sources = section.tables("wait", p);
    let source = |wait: Section<'_>| Placed { value: read_source(&wait, p), place: wait.place.clone() };
    let sources = sources.into_iter().map(source).collect();
    let Some(table) = section.table("waits", p) else {
        return WaitsDraft { floor: Slot::Absent, ceiling: Slot::Absent, default: Slot::Absent, sources };
    };
    table.only(&WAITS, &[], p);
    WaitsDraft {
        floor: table.span("floor", p),
        ceiling: table.span("ceiling", p),
        default: table.span("default", p),
        sources,
    }
}

impl WaitsDraft {
    pub fn over(self, recipe: WaitsDraft) -> WaitsDraft {
        WaitsDraft {
            floor: self.floor.or(recipe.floor),
            ceiling: self.ceiling.or(recipe.ceiling),
            default: self.default.or(recipe.default),
            sources: super::draft::overlay(self.sources, recipe.sources, |source| source.name.clone()),
        }
    }
}

fn read_source(section: &Section<'_>, p: &mut Problems) -> Option<WaitSource> {
    section.only(&WAIT, &[], p);
    let at = &section.place;
    let name = section.text("name", p).required(at, "name", "where the wait stands, in words, for pages", p);
    let form = section.parsed("as", p, read_form);
    let form = form.required(at, "as", "how the wait is written, such as \"seconds\" or \"epoch-ms\"", p);
    let header = section.text("header", p).value().map(|name| WaitPlace::Header(name.to_ascii_lowercase()));
    let json = section.text("json", p).value().map(WaitPlace::Json);
    let text = section.text("text", p).value().map(WaitPlace::Text);
    let status = section.numbers("status", (100, 599), p).unwrap_or_default();
    let time_zone = section.parsed("time_zone", p, words::time_zone).value();
    let mut places: Vec<WaitPlace> = [header, json, text].into_iter().flatten().collect();
    if ["header", "json", "text"].iter().filter(|key| section.has(key)).count() != 1 {
        p.add(at, "needs exactly one of header, json and text: where the wait stands");
        return None;
    }
    Some(WaitSource { name: name?, place: places.pop()?, form: form?, status, time_zone })
}

fn read_form(text: &str) -> Result<WaitForm, String> {
    let words = WaitForm::ALL.map(WaitForm::word);
    WaitForm::from_word(text).ok_or_else(|| format!("{text:?} is not a form of wait{}", suggestion(text, &words)))
}
