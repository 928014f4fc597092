//! What the limits can keep up for ever: the shortest interval, requests and units a day, the share of each limit, the ceiling of
//! targets; and whether a scan or a request for each target costs less. Must not know where loads come from, nor what is spent now:
//! the budget has the last word at every request.
//!
//! CASES F: `min safe interval = requests per cycle x window / amount`, for each limit; the slowest dictates. Requests are not
//! divisible: of five units, requests of two take four (see `book`). What answers take on their way comes on top, since a unit
//! comes free a window after its answer arrived.

pub mod among;
mod book;
pub mod burn;
pub mod choice;
#[cfg(test)]
mod tests;

use crate::domain::ids::Endpoint;
use crate::domain::limit::Limit;
use crate::domain::spec::TargetSpec;
use crate::domain::time::Span;
use among::Among;
use book::{Argument, Book, gaps};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// No plan polls faster than this.
pub const SHORTEST: Span = Span::from_secs(1);

pub const DAY: Span = Span::from_secs(86_400);

/// Of an access token of which nobody has said yet how long it lives: as in the examples of RFC 6749.
pub const UNKNOWN_LIFE: Span = Span::from_secs(3600);

/// Requests that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    pub endpoint: Endpoint,
    /// Units of the limits that each takes.
    pub cost: u32,
    pub requests: u64,
}

impl Demand {
    /// Of one reading of a target. `pages`: how many requests it takes, where its list does not come in one answer; `price`: the
    /// most that the provider said a request cost. `None`: it is not asked by itself.
    pub fn of(target: &TargetSpec, pages: u32, price: u32) -> Option<Demand> {
        let requests = if target.page.is_some() { u64::from(pages.max(1)) } else { 1 };
        Some(Demand { endpoint: target.endpoint()?, cost: target.cost.max(price), requests })
    }

    pub fn units(&self) -> u64 {
        u64::from(self.cost).saturating_mul(self.requests)
    }
}

/// What is asked again and again, all of it in each round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub demands: Vec<Demand>,
    /// Never sooner than this; zero: as often as the limits let it.
    pub every: Span,
}

/// Requests that are alike are one demand, however many targets they belong to.
pub fn together(demands: impl Iterator<Item = Demand>) -> Vec<Demand> {
    let mut alike: BTreeMap<(Endpoint, u32), u64> = BTreeMap::new();
    for demand in demands {
        *alike.entry((demand.endpoint, demand.cost)).or_default() += demand.requests;
    }
    alike.into_iter().map(|((endpoint, cost), requests)| Demand { endpoint, cost, requests }).collect()
}

impl Load {
    pub fn requests(&self) -> u64 {
        self.demands.iter().map(|d| d.requests).fold(0, u64::saturating_add)
    }
    pub fn units(&self) -> u64 {
        self.demands.iter().map(Demand::units).fold(0, u64::saturating_add)
    }
}

/// What is planned.
#[derive(Clone, Debug, Default)]
pub struct Question<'a> {
    pub limits: &'a [Limit],
    pub own: Load,
    /// Targets that `own` looks at: what the ceiling is counted in.
    pub targets: u64,
    /// What else the connection asks, at intervals of its own: scans that have one, renewals of its tokens.
    pub beside: Vec<Load>,
    /// What others ask of the same budget.
    pub others: Vec<Load>,
    /// Where several organizations divide the limits; `others` are those of its own then.
    pub among: Option<Among>,
    /// How long it has to be kept; `None`: for ever.
    pub over: Option<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Of one round of the own load.
    pub requests_per_round: u64,
    pub units_per_round: u64,
    /// At the interval that is wished for; where none is, at the shortest.
    pub wished: Rate,
    /// What comes of it: the wish, stretched where it cannot be kept; nothing a day where no interval can be.
    pub kept: Rate,
    /// The shortest interval that every limit can keep up, with what is kept for other callers left alone.
    /// `None`: a limit leaves the poller nothing that is enough for a request.
    pub shortest_interval: Option<Span>,
    /// Not even one request is ever funded; else, where there is no shortest interval, a round takes longer than a year.
    pub is_starved: bool,
    /// The limit that dictates it.
    pub bound_by: Option<String>,
    /// Targets of this kind that fit at the interval that is wished for; `None` where no limit bounds them.
    pub ceiling_targets: Option<u64>,
}

/// What an interval amounts to.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    pub interval: Span,
    /// Of the connection: its own, and what it asks beside.
    pub requests_per_day: u64,
    pub units_per_day: u64,
    pub shares: Vec<Share>,
}

/// What pollers take of one limit, of its fullest book.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    pub limit: String,
    pub endpoint: Option<Endpoint>,
    /// Units that pollers may have of a window.
    pub available: u64,
    /// Of those, rounded up: everybody's, and this connection's alone.
    pub percent: u64,
    pub own_percent: u64,
    /// Units that everybody together takes of it in a window.
    pub asked: f64,
}

impl Plan {
    pub fn sustainable(&self) -> bool {
        self.shortest_interval.is_some_and(|s| self.wished.interval >= s)
    }

    /// From and to, where the wish cannot be kept.
    pub fn stretched(&self) -> Option<(Span, Span)> {
        let (from, to) = (self.wished.interval, self.kept.interval);
        (from < to).then_some((from, to))
    }

    /// Requests of the own load in `span` at the interval that is kept.
    pub fn requests_in(&self, span: Span) -> u64 {
        per(span, self.requests_per_round, self.kept.interval)
    }
}

/// The renewals of a token that lives so long: one when it is over, and not before somebody asks.
pub fn renewals(endpoint: Endpoint, lives: Span, asked_every: Span) -> Load {
    Load { demands: vec![Demand { endpoint, cost: 1, requests: 1 }], every: lives.max(asked_every) }
}

/// Plans the own load among all that spends from one budget. Where it is too much for all of them, everybody who wishes to ask more
/// often than the shortest interval asks at that interval; so the plans of all who share a budget fit together.
pub fn plan(question: &Question<'_>) -> Plan {
    let Question { own, targets, over, .. } = question;
    let loads = question.loads();
    let limits = question.own_limits(&loads);
    let books: Vec<Book> = limits.iter().flat_map(|limit| Book::all_of(limit, &loads)).collect();
    let wishes: Vec<Span> = loads.iter().map(|load| load.every).collect();
    let unbound: Vec<Span> = std::iter::once(Span::ZERO).chain(wishes.iter().skip(1).copied()).collect();
    let needs = needs(&books, &unbound, question);
    let starved = needs.iter().find(|(_, span)| span.is_none());
    let tightest = needs.iter().filter_map(|(book, span)| Some((*book, (*span)?))).max_by_key(|(_, span)| *span);
    let shortest = match (starved, tightest) {
        (Some(_), _) => None,
        (None, tightest) => Some(tightest.map_or(SHORTEST, |(_, span)| span.max(SHORTEST))),
    };
    let wish = if own.every == Span::ZERO { shortest.unwrap_or(DAY) } else { own.every };
    let kept = wish.max(shortest.unwrap_or_default());
    // What holds back the others, where we ask no more often than we wish to.
    let bound = books.iter().filter_map(|book| book.shortest(&wishes, *over, Argument::Any)).max().unwrap_or_default();
    let at = |interval: Span| [vec![interval], gaps(&wishes, bound).split_off(1)].concat();
    let rate = |interval: Span| question.rate(interval, &books, &at(interval));
    let nothing = Rate { requests_per_day: 0, units_per_day: 0, ..rate(kept) };
    Plan {
        is_starved: books.iter().any(|book| !book.is_open()),
        requests_per_round: own.requests(),
        units_per_round: own.units(),
        wished: rate(wish),
        kept: if shortest.is_some() { rate(kept) } else { nothing },
        shortest_interval: shortest,
        bound_by: starved.map(|(book, _)| *book).or(tightest.map(|(book, _)| book)).map(|b| b.limit.name.clone()),
        ceiling_targets: books.iter().filter_map(|book| book.ceiling((*targets).max(1), &at(wish), *over)).min(),
    }
}

/// What each book needs. A round asks one request after the other: where one endpoint makes it wait in a book of its own, all others
/// wait too. So where there are several, each has whole rounds; and the waits of those whose rounds are too large for that add up.
fn needs<'b, 'a>(
    books: &'b [Book<'a>],
    unbound: &[Span],
    question: &Question<'_>,
) -> Vec<(&'b Book<'a>, Option<Span>)> {
    let first = question.own.demands.first();
    let is_one = question.own.demands.iter().all(|d| first.is_some_and(|f| f.endpoint == d.endpoint));
    let apart = |book: &Book<'_>| !is_one && book.endpoint.is_some();
    let waiting = |book: &&Book<'_>| apart(book) && book.waits_inside_a_round();
    let is_in_turn = books.iter().any(|book| waiting(&book));
    let need = |book: &'b Book<'a>| {
        let whole = !book.waits_inside_a_round() && (apart(book) || is_in_turn);
        let argument = if whole { Argument::WholeRounds } else { Argument::Any };
        (book, book.shortest(unbound, question.over, argument))
    };
    let mut needs: Vec<(&Book, Option<Span>)> = books.iter().map(need).collect();
    if !is_in_turn {
        return needs;
    }
    let mut turns: BTreeMap<Option<&Endpoint>, Span> = BTreeMap::new();
    for (book, needed) in needs.iter().filter(|(book, _)| book.waits_inside_a_round()) {
        let turn = turns.entry(book.endpoint.as_ref()).or_default();
        *turn = needed.unwrap_or_default().max(*turn);
    }
    let all = Span(turns.into_values().map(|turn| turn.0).fold(0, u64::saturating_add));
    for (_, needed) in needs.iter_mut().filter(|(book, _)| book.waits_inside_a_round()) {
        *needed = needed.map(|needed| needed.max(all));
    }
    needs
}

/// How much of what the limits give to pollers these take together, each at its own interval: percent, rounded up, of the limit
/// that is used most.
pub fn percent(limits: &[Limit], loads: &[Load]) -> u64 {
    let each = |one: usize| {
        let own = loads.get(one).into_iter();
        let all: Vec<&Load> =
            own.chain(loads.iter().enumerate().filter(|(at, _)| *at != one).map(|(_, l)| l)).collect();
        let every: Vec<Span> = all.iter().map(|load| load.every).collect();
        let books = limits.iter().flat_map(|limit| Book::all_of(limit, &all)).collect::<Vec<_>>();
        books.iter().filter_map(|book| share(book, &every)).map(|share| share.percent).max().unwrap_or(0)
    };
    (0..loads.len()).map(each).max().unwrap_or(0)
}

impl Question<'_> {
    /// What the organization can count on of the limits.
    fn own_limits(&self, loads: &[&Load]) -> Cow<'_, [Limit]> {
        match &self.among {
            None => Cow::Borrowed(self.limits),
            Some(among) => {
                let own = loads.iter().flat_map(|load| &load.demands).map(|demand| &demand.endpoint).collect();
                Cow::Owned(among.limits(self.limits, &own))
            }
        }
    }

    /// The own one first.
    fn loads(&self) -> Vec<&Load> {
        std::iter::once(&self.own).chain(&self.beside).chain(&self.others).collect()
    }

    fn rate(&self, interval: Span, books: &[Book<'_>], gaps: &[Span]) -> Rate {
        let connection = || std::iter::once(&self.own).chain(&self.beside).zip(gaps);
        let a_day = |of: fn(&Load) -> u64| {
            connection().map(|(load, gap)| per(DAY, of(load), *gap)).fold(0, u64::saturating_add)
        };
        let mut shares: Vec<Share> = Vec::new();
        for share in books.iter().filter_map(|book| share(book, gaps)) {
            match shares.iter_mut().find(|known| known.limit == share.limit) {
                Some(known) if known.percent >= share.percent => {}
                Some(known) => *known = share,
                None => shares.push(share),
            }
        }
        Rate { interval, requests_per_day: a_day(Load::requests), units_per_day: a_day(Load::units), shares }
    }
}

/// How often something is asked a day.
pub fn per_day(each: u64, gap: Span) -> u64 {
    per(DAY, each, gap)
}

fn per(span: Span, each: u64, gap: Span) -> u64 {
    let all = u128::from(each).saturating_mul(span.0.into()) / u128::from(gap.0.max(1));
    u64::try_from(all).unwrap_or(u64::MAX)
}

fn share(book: &Book<'_>, gaps: &[Span]) -> Option<Share> {
    let (window, available) = book.supply()?;
    let part = |(units, gap): (u64, &Span)| units as f64 * window.0 as f64 / gap.0.max(1) as f64 / available as f64;
    let parts: Vec<f64> = book.units().zip(gaps).filter(|(units, _)| *units > 0).map(part).collect();
    // Floats beyond a whole percent are not rounded up to the next.
    let percent = |share: f64| (share * 100.0 - 1e-6).ceil().max(0.0) as u64;
    let all: f64 = parts.iter().sum();
    Some(Share {
        limit: book.limit.name.clone(),
        endpoint: book.endpoint.clone(),
        available,
        percent: percent(all),
        own_percent: percent(parts.first().copied().unwrap_or(0.0)),
        asked: all * available as f64,
    })
}
