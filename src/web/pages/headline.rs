//! The worst state as one sentence, for the top of the overview: since when, what works meanwhile, what else needs a look; and a quiet one where
//! all is well. Must not know the rest of the page.

use super::show::{self, Age, Chip, Face, Moment};
use crate::domain::state::State as Word;
use crate::engine::view::{ConnectionView, TurnView};
use crate::web::texts;
use std::collections::BTreeMap;

pub struct Headline {
    pub chip: Chip,
    pub text: String,
    /// How long the worst has been so, where somebody noticed its beginning, and what works meanwhile.
    pub trouble: Option<Trouble>,
    /// What else is in trouble, or is not polled.
    pub more: Option<String>,
    /// Where nothing is in trouble.
    pub calm: Option<Calm>,
    /// The connection whose sentence it already says.
    pub says: Option<String>,
}

pub struct Trouble {
    pub lasts: Option<Age>,
    pub works: String,
}

/// What there is to say where nothing needs a look.
pub struct Calm {
    pub connections: String,
    pub oldest: Option<Age>,
    pub next: Option<Moment>,
}

pub fn headline(face: &Face, connections: &[ConnectionView]) -> Headline {
    let Some(worst) = connections.iter().min_by_key(|c| show::severity(c.state)) else {
        let (text, chip) = (texts::t("headline-the-shelf-is-empty").plain(), Chip::of(Word::Never));
        return Headline { chip, text, trouble: None, more: None, calm: None, says: None };
    };
    let said = |c: &ConnectionView| format!("{}: {}", c.name, told(face, c));
    let is_well = |c: &&ConnectionView| matches!(c.state, Word::Fresh | Word::Ageing);
    let in_trouble = worst.state.is_trouble();
    let (chip, text, more) = match connections.iter().find(is_well) {
        Some(_) if worst.state == Word::Fresh => {
            (worst.state, texts::t("headline-everything-on-the-shelf").plain(), None)
        }
        Some(well) if !in_trouble => {
            (well.state, texts::t("headline-nothing-needs-a-look").plain(), (!is_well(&worst)).then(|| said(worst)))
        }
        _ => (worst.state, said(worst), others(connections, worst)),
    };
    let says = (text == said(worst) || more == Some(said(worst))).then(|| worst.name.clone());
    let trouble = in_trouble.then(|| Trouble {
        lasts: worst.banner.since.map(|since| Age::since(face, since)),
        works: face.told(&worst.banner.works),
    });
    Headline {
        chip: Chip::turning(chip, &turns(connections, chip)),
        text,
        trouble,
        more,
        calm: connections.iter().any(|c| is_well(&c)).then(|| calm(face, connections)).filter(|_| !in_trouble),
        says,
    }
}

/// What happened and when it changes, without what counts down: the page lets that run beside it.
pub fn told(face: &Face, connection: &ConnectionView) -> String {
    let banner = &connection.banner;
    format!("{} {}", face.told(&banner.what), face.told(&banner.change)).trim_end().to_owned()
}

/// How many of them need a look, and why, worst first.
fn others(connections: &[ConnectionView], worst: &ConnectionView) -> Option<String> {
    let others: Vec<&ConnectionView> =
        connections.iter().filter(|c| c.state.is_trouble() && !std::ptr::eq(*c, worst)).collect();
    let mut counts: BTreeMap<u8, (String, usize)> = BTreeMap::new();
    for other in &others {
        counts.entry(show::severity(other.state)).or_insert_with(|| (show::word(other.state), 0)).1 += 1;
    }
    let counted: Vec<String> = counts.into_values().map(|(word, n)| format!("{n} {word}")).collect();
    match others.as_slice() {
        [] => None,
        [other] => Some(
            texts::t("headline-one-more-connection-needs")
                .with("name", &other.name)
                .with("state", show::word(other.state))
                .plain(),
        ),
        _ => Some(
            texts::t("headline-more-connections-need-a")
                .with("others", others.len())
                .with("counted", counted.join(", "))
                .plain(),
        ),
    }
}

fn calm(face: &Face, connections: &[ConnectionView]) -> Calm {
    let planned = connections.iter().filter(|c| c.enabled).filter_map(|c| c.poll.next_poll_at);
    Calm {
        connections: match connections.len() {
            1 => texts::t("headline-one-connection").plain(),
            n => texts::t("headline-connections").with("n", show::count(n as u64)).plain(),
        },
        oldest: connections.iter().filter_map(|c| c.oldest_since).min().map(|since| Age::since(face, since)),
        next: face.maybe(planned.min()),
    }
}

/// What the headline's word becomes by age alone, when the first connection comes to a graver one.
fn turns(connections: &[ConnectionView], now: Word) -> Vec<TurnView> {
    let mut turns: Vec<TurnView> = connections.iter().flat_map(|c| c.turns.iter().copied()).collect();
    turns.sort_by_key(|turn| turn.at);
    let mut word = now;
    turns.retain(|turn| {
        let graver = show::severity(turn.state) < show::severity(word);
        word = if graver { turn.state } else { word };
        graver
    });
    turns
}
