//! The decision about one page: go on, the end, or an unfinished reading. What speaks against the page is asked before what speaks
//! for the end, and silence is asked last.

use super::source::{Found, Source};
use super::{Ask, Page, Pager, Style, Trail, Usual, link, place, short};
use crate::domain::page::{PageStyle, Placing, Step as Unit};
use crate::rules::address::{self, Elsewhere};
use crate::rules::extract::path::Path;
use serde_json::Value;
use std::fmt;

/// No address of a page is longer, in bytes.
const LONGEST_ADDRESS: usize = 8 * 1024;

/// What follows from a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Next(Ask),
    Complete(End),
    Incomplete(Unfinished),
}

/// The evidence that there is no other page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the next page would be named, none is.
    NoNext,
    /// Not even the key is there, and what else is known of the list says that this is its last page.
    Unsaid,
    /// A word that says that there is no more.
    SaidSo,
    /// Of so many pages.
    LastPage(u64),
    /// All of so many rows.
    AllRows(u64),
    ShortPage,
    EmptyPage,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::NoNext => f.write_str("the answer names no next page"),
            End::Unsaid => {
                f.write_str("the answer does not speak of a next page, and by what is known of the list there is none")
            }
            End::SaidSo => f.write_str("the provider says that there is no more"),
            End::LastPage(of) => write!(f, "the last page of {of}"),
            End::AllRows(of) => write!(f, "all of {of} rows"),
            End::ShortPage => f.write_str("a page that is not full"),
            End::EmptyPage => f.write_str("an empty page"),
        }
    }
}

/// Why the end was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// A page says the same as one before it.
    PageAgain,
    /// The next page is one that was asked already.
    AskedBefore,
    MaxPages(u32),
    MaxItems(u64),
    MaxBytes(u64),
    /// The next page is at another host.
    OtherOrigin(String),
    NotAnAddress,
    /// The provider speaks of more rows than it gave.
    TooFew {
        rows: u64,
        of: u64,
    },
    /// It says that there is more, and not where.
    NoWayOn(String),
    /// Rows went away while it was read: what stood behind them moved to a page that was read already.
    Shrank,
    /// A page without a row in the middle of the list.
    EmptyInBetween,
    /// The key that would name the next page is not there; the last complete reading had so many, 0 before the first.
    Silent {
        usual: u32,
    },
    /// What stands where the end should be told, in words.
    Unreadable(String),
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfinished::PageAgain => f.write_str("a page says the same as one before it"),
            Unfinished::AskedBefore => f.write_str("the next page is one that was asked already"),
            Unfinished::MaxPages(most) => write!(f, "there are more pages than max_pages = {most}"),
            Unfinished::MaxItems(most) => write!(f, "there are more rows than max_items = {most}"),
            Unfinished::MaxBytes(most) => write!(f, "the pages together are longer than max_bytes = {most}"),
            Unfinished::OtherOrigin(host) => {
                write!(f, "the next page is at another origin ({host}); the credential does not go there")
            }
            Unfinished::NotAnAddress => f.write_str("the address of the next page cannot be read"),
            Unfinished::TooFew { rows, of } => write!(f, "the provider speaks of {of} rows and gave {rows}"),
            Unfinished::NoWayOn(key) => write!(f, "the provider says that there is more, and {key} does not say where"),
            Unfinished::Shrank => f.write_str("rows went away while the pages were read"),
            Unfinished::EmptyInBetween => f.write_str("a page in the middle of the list is empty"),
            Unfinished::Silent { usual: 0 } => f.write_str("the answer does not say whether there is another page"),
            Unfinished::Silent { usual } => write!(
                f,
                "the answer does not say any more whether there is another page, and the last complete reading had {usual}"
            ),
            Unfinished::Unreadable(what) => f.write_str(what),
        }
    }
}

/// Before the bounds: where to, or the end.
type Way = Result<Result<Ask, End>, Unfinished>;

impl Pager {
    /// Takes the page into the trail and decides. `base_url` is where the credential belongs, `usual` what was known of the list before
    /// this reading.
    pub fn follow(&self, base_url: &str, usual: Usual, trail: &mut Trail, page: &Page<'_>) -> Step {
        trail.asked.insert(mark(page.asked));
        trail.pages = trail.pages.saturating_add(1);
        trail.rows = trail.rows.saturating_add(page.rows.saturating_sub(page.again));
        trail.bytes = trail.bytes.saturating_add(page.bytes);
        trail.of = self.speaks_of(page).or(trail.of);
        let step = self.against(trail, page).and_then(|()| self.way(base_url, trail, page));
        match step {
            Err(unfinished) => Step::Incomplete(unfinished),
            Ok(Err(end)) => match self.missing(trail, page) {
                Some(too_few) => Step::Incomplete(too_few),
                None if end == End::Unsaid && !self.ends_in_silence(usual, trail, page) => {
                    Step::Incomplete(Unfinished::Silent { usual: usual.pages })
                }
                None => Step::Complete(end),
            },
            Ok(Ok(next)) => self.onward(trail, next),
        }
    }

    /// What speaks against going on at all, also where the end seems to be told.
    fn against(&self, trail: &mut Trail, page: &Page<'_>) -> Result<(), Unfinished> {
        // An empty page says nothing that could be said twice.
        if page.rows > 0 && !trail.digests.insert(page.digest) {
            return Err(Unfinished::PageAgain);
        }
        let spec = &self.spec;
        if trail.rows > spec.max_items {
            return Err(Unfinished::MaxItems(spec.max_items));
        }
        if trail.bytes > spec.max_bytes {
            return Err(Unfinished::MaxBytes(spec.max_bytes));
        }
        let total = self.total.as_ref().and_then(|total| total.count(page.headers, page.body));
        let before = std::mem::replace(&mut trail.total, total);
        if total.zip(before).is_some_and(|(now, before)| now < before) {
            return Err(Unfinished::Shrank);
        }
        Ok(())
    }

    fn onward(&self, trail: &mut Trail, next: Ask) -> Step {
        if next.location.len() > LONGEST_ADDRESS {
            return Step::Incomplete(Unfinished::NotAnAddress);
        }
        if trail.pages >= self.spec.max_pages {
            return Step::Incomplete(Unfinished::MaxPages(self.spec.max_pages));
        }
        if !trail.asked.insert(mark(&next)) {
            return Step::Incomplete(Unfinished::AskedBefore);
        }
        Step::Next(next)
    }

    /// The end is told, and the provider's own count says that something is missing.
    fn missing(&self, trail: &Trail, page: &Page<'_>) -> Option<Unfinished> {
        let total = self.total.as_ref()?;
        match total.count(page.headers, page.body) {
            Some(of) if of > trail.rows => Some(Unfinished::TooFew { rows: trail.rows, of }),
            Some(_) => None,
            None => Some(Unfinished::Unreadable(format!("there is no count of rows at {}", total.name()))),
        }
    }

    /// Pages altogether, where they can be told.
    fn speaks_of(&self, page: &Page<'_>) -> Option<u64> {
        if let Style::Numbered { total_pages: Some(total_pages), .. } = &self.style {
            return total_pages.count(page.headers, page.body);
        }
        let rows = self.total.as_ref()?.count(page.headers, page.body)?;
        let size = self.spec.size.as_ref()?.rows;
        Some(rows.div_ceil(size.max(1)).max(1))
    }

    fn way(&self, base_url: &str, trail: &Trail, page: &Page<'_>) -> Way {
        match &self.style {
            Style::Link => {
                let mut links =
                    page.headers.iter().filter(|(name, _)| name == "link").map(|(_, v)| v.as_str()).peekable();
                if links.peek().is_none() {
                    return Ok(Err(End::Unsaid));
                }
                match link::next(links) {
                    Ok(None) => Ok(Err(End::NoNext)),
                    Ok(Some(given)) => resolved(base_url, page.asked, given),
                    Err(link::Broken) => Err(Unfinished::Unreadable("the header Link cannot be read".to_owned())),
                }
            }
            Style::NextUrl { next } => match next.read(page.headers, page.body) {
                Found::Absent => Ok(Err(End::Unsaid)),
                Found::Nothing => Ok(Err(End::NoNext)),
                Found::Text(given) => resolved(base_url, page.asked, &given),
                odd => Err(unreadable(next, &odd, "an address")),
            },
            Style::Cursor { next, placing, more } => cursor(page, next, placing, more.as_ref()),
            Style::Relay { page_info, placing } => relay(page, page_info, placing),
            Style::Numbered { .. } => self.numbered(trail, page),
        }
    }

    /// Counted pages: every source that is declared is asked, and one that cannot be read is no evidence.
    fn numbered(&self, trail: &Trail, page: &Page<'_>) -> Way {
        let (Style::Numbered { placing, first, unit, total_pages, next }, PageStyle::Numbered { ends, .. }) =
            (&self.style, &self.spec.style)
        else {
            return Err(Unfinished::NotAnAddress);
        };
        let here = place::number(page.asked, placing).unwrap_or(*first);
        if let Some(end) = self.told_end(trail, page, (here, *first), total_pages.as_ref())? {
            return Ok(Err(end));
        }
        let mut on: u64 = match unit {
            Unit::Pages => here.saturating_add(1),
            Unit::Rows => here.saturating_add(page.rows),
        };
        match next.as_ref().map(|next| (next, next.read(page.headers, page.body))) {
            None | Some((_, Found::True)) => {}
            Some((_, Found::Nothing)) => return Ok(Err(End::NoNext)),
            // By the count of pages this is not the last.
            Some((next, Found::Absent)) if total_pages.is_some() => {
                return Err(Unfinished::NoWayOn(next.name().to_owned()));
            }
            Some((_, Found::Absent)) => return Ok(Err(End::Unsaid)),
            // A number is the next page's; an address says only that there is one.
            Some((_, Found::Text(text))) => on = text.trim().parse().unwrap_or(on),
            Some((next, odd)) => return Err(unreadable(next, &odd, "a number, an address or a yes")),
        }
        if on <= here && page.rows > 0 {
            return Err(Unfinished::AskedBefore);
        }
        if page.rows == 0 {
            return if ends.empty_page || ends.short_page {
                Ok(Err(End::EmptyPage))
            } else {
                Err(Unfinished::EmptyInBetween)
            };
        }
        let size = self.spec.size.as_ref().map(|size| size.rows);
        if ends.short_page && size.is_some_and(|size| page.rows < size) {
            return Ok(Err(End::ShortPage));
        }
        put(page.asked, placing, &Value::from(on))
    }

    /// By the provider's own counts.
    fn told_end(
        &self,
        trail: &Trail,
        page: &Page<'_>,
        (here, first): (u64, u64),
        total_pages: Option<&Source>,
    ) -> Result<Option<End>, Unfinished> {
        if let Some(source) = total_pages {
            let Some(of) = source.count(page.headers, page.body) else {
                return Err(Unfinished::Unreadable(format!("there is no count of pages at {}", source.name())));
            };
            let read = here.saturating_sub(first).saturating_add(1);
            return Ok((read >= of).then_some(End::LastPage(of)));
        }
        let Some(source) = &self.total else { return Ok(None) };
        match source.count(page.headers, page.body) {
            None => Err(Unfinished::Unreadable(format!("there is no count of rows at {}", source.name()))),
            Some(of) => Ok((trail.rows >= of).then_some(End::AllRows(of))),
        }
    }
}

fn cursor(page: &Page<'_>, next: &Source, placing: &Placing, more: Option<&Source>) -> Way {
    let token = next.read(page.headers, page.body);
    let says_more = match more.map(|more| (more, more.read(page.headers, page.body))) {
        None => false,
        Some((_, Found::Nothing)) => return Ok(Err(End::SaidSo)),
        Some((_, Found::True)) => true,
        // There may be a token on the last page too: it does not speak in the place of what is not there.
        Some((_, Found::Absent)) if token != Found::Nothing => return Ok(Err(End::Unsaid)),
        Some((_, Found::Absent)) => false,
        Some((more, odd)) => return Err(unreadable(more, &odd, "true or false")),
    };
    match token {
        Found::Text(token) => put(page.asked, placing, &next.as_it_came(page.body).unwrap_or(token.into())),
        Found::Nothing | Found::Absent if says_more => Err(Unfinished::NoWayOn(next.name().to_owned())),
        Found::Nothing => Ok(Err(End::NoNext)),
        Found::Absent => Ok(Err(End::Unsaid)),
        odd => Err(unreadable(next, &odd, "a token")),
    }
}

fn put(asked: &Ask, placing: &Placing, token: &Value) -> Way {
    let next = place::put(asked, placing, token);
    next.map(Ok).ok_or_else(|| {
        let place = match placing {
            Placing::Member(pointer) => format!("no JSON body with a place {pointer}"),
            Placing::Query(_) | Placing::Variable(_) => "no variables".to_owned(),
        };
        Unfinished::Unreadable(format!("the request has {place} that the next page could be named in"))
    })
}

/// GraphQL Cursor Connections, `PageInfo`: `hasNextPage` must be there and be a boolean.
fn relay(page: &Page<'_>, page_info: &Path, placing: &Placing) -> Way {
    let info = page_info.one(page.body);
    match info.and_then(|info| info.get("hasNextPage")) {
        Some(Value::Bool(false)) => Ok(Err(End::SaidSo)),
        Some(Value::Bool(true)) => match info.and_then(|info| info.get("endCursor")) {
            Some(token @ Value::String(text)) if !text.is_empty() => put(page.asked, placing, token),
            _ => Err(Unfinished::NoWayOn("endCursor".to_owned())),
        },
        _ => Err(Unfinished::Unreadable(format!("there is no hasNextPage at {}", page_info.text()))),
    }
}

fn resolved(base_url: &str, asked: &Ask, given: &str) -> Way {
    match address::resolve(base_url, &asked.location, given) {
        Ok(location) => Ok(Ok(Ask { location, body: asked.body.clone() })),
        Err(Elsewhere::NotAnAddress) => Err(Unfinished::NotAnAddress),
        Err(Elsewhere::OtherOrigin(host)) => Err(Unfinished::OtherOrigin(host)),
    }
}

fn unreadable(source: &Source, found: &Found, expected: &str) -> Unfinished {
    let what = match found {
        Found::Odd(kind) => kind,
        Found::True => "true",
        _ => "a text",
    };
    Unfinished::Unreadable(format!("{} is {what}, not {expected}", source.name()))
}

fn mark(ask: &Ask) -> [u8; 16] {
    let mut hash = blake3::Hasher::new();
    hash.update(&(ask.location.len() as u64).to_le_bytes());
    hash.update(ask.location.as_bytes());
    hash.update(&ask.body);
    short(&hash)
}
