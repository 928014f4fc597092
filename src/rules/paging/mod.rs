//! Following the pages of a long list: (what was asked, what was answered, the trail so far) -> the next page, the end, or why this
//! reading stays incomplete. Complete only on positive evidence of the end: an error, a page that comes again, an address that leads
//! elsewhere or a bound that is met never look like one (A33). Must not know who asks, and for how many targets.
//!
//! * `source` reads a value of an answer · `link` reads `Link` headers · `place` puts a token or a number into a request · `step` is the
//!   decision · `silence` judges an answer without the key that would name another page

#[cfg(test)]
mod graph_tests;
mod link;
mod place;
mod silence;
#[cfg(test)]
mod silence_tests;
mod source;
mod step;
#[cfg(test)]
mod tests;

pub use crate::domain::page::Ask;
pub use silence::Usual;
#[cfg(test)]
use silence::doubted;
pub use step::{End, Step, Unfinished};

use crate::domain::item::Sighting;
use crate::domain::page::{PageSize, PageSpec, PageStyle, Placing, Step as Unit, ValueSource};
use crate::domain::scan::Walked;
use crate::rules::address::with_parameter;
use crate::rules::extract::path::Path;
use serde_json::Value;
use source::Source;
use std::collections::HashSet;

/// A page specification with its expressions compiled.
#[derive(Clone, Debug)]
pub struct Pager {
    spec: PageSpec,
    style: Style,
    total: Option<Source>,
}

/// As [`PageStyle`], compiled.
#[derive(Clone, Debug)]
enum Style {
    Link,
    NextUrl { next: Source },
    Cursor { next: Source, placing: Placing, more: Option<Source> },
    Numbered { placing: Placing, first: u64, unit: Unit, total_pages: Option<Source>, next: Option<Source> },
    Relay { page_info: Path, placing: Placing },
}

/// One good page: an answer that was classified as data and had the items' list.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The request that it answers, after redirects.
    pub asked: &'a Ask,
    pub headers: &'a [(String, String)],
    pub body: &'a Value,
    /// Entries of the list, whether they are items or not.
    pub rows: u64,
    /// Those of them that an earlier page of this reading had too.
    pub again: u64,
    /// Over what was read of it: see [`digest`].
    pub digest: [u8; 16],
    pub bytes: u64,
}

/// What was met so far in one reading.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    pub pages: u32,
    /// Pages of which the provider spoke last.
    pub of: Option<u64>,
    /// Each once.
    rows: u64,
    /// How many rows the provider last said that there are.
    total: Option<u64>,
    bytes: u64,
    asked: HashSet<[u8; 16]>,
    digests: HashSet<[u8; 16]>,
}

impl Trail {
    /// As it is kept between two pages.
    pub fn walked(&self) -> Walked {
        let sorted = |set: &HashSet<[u8; 16]>| {
            let mut all: Vec<_> = set.iter().copied().collect();
            all.sort_unstable();
            all
        };
        Walked {
            pages: self.pages,
            of: self.of,
            rows: self.rows,
            total: self.total,
            bytes: self.bytes,
            asked: sorted(&self.asked),
            said: sorted(&self.digests),
        }
    }
}

impl From<Walked> for Trail {
    fn from(walked: Walked) -> Trail {
        let Walked { pages, of, rows, total, bytes, asked, said } = walked;
        Trail { pages, of, rows, total, bytes, asked: asked.into_iter().collect(), digests: said.into_iter().collect() }
    }
}

impl Pager {
    /// Errors are sentences that name the key (`page.next`).
    pub fn compile(spec: &PageSpec) -> Result<Pager, Vec<String>> {
        let mut errors = Vec::new();
        let total = optional("total", spec.total.as_ref(), &mut errors);
        let style = compile_style(&spec.style, &mut errors);
        match style {
            Some(style) if errors.is_empty() => Ok(Pager { spec: spec.clone(), style, total }),
            _ => Err(errors),
        }
    }

    pub fn spec(&self) -> &PageSpec {
        &self.spec
    }

    /// The first page of a question.
    pub fn first(&self, question: &Ask) -> Ask {
        let location = &question.location;
        let sized = match &self.spec.size {
            Some(PageSize { param: Some(param), rows }) => with_parameter(location, param, &rows.to_string()),
            _ => location.clone(),
        };
        let sized = Ask { location: sized, body: question.body.clone() };
        match &self.style {
            // Where it has no place the page after it cannot be asked either: that is told then.
            Style::Numbered { placing, first, .. } => {
                place::put(&sized, placing, &Value::from(*first)).unwrap_or(sized)
            }
            _ => sized,
        }
    }
}

fn compile_style(style: &PageStyle, errors: &mut Vec<String>) -> Option<Style> {
    Some(match style {
        PageStyle::Link => Style::Link,
        PageStyle::NextUrl { next } => Style::NextUrl { next: compiled("next", next, errors)? },
        PageStyle::Cursor { next, placing, more } => {
            let (next, more) = (compiled("next", next, errors), optional("more", more.as_ref(), errors));
            Style::Cursor { next: next?, placing: placing.clone(), more }
        }
        PageStyle::Numbered { placing, first, step, ends } => Style::Numbered {
            placing: placing.clone(),
            first: *first,
            unit: *step,
            total_pages: optional("total_pages", ends.total_pages.as_ref(), errors),
            next: optional("next", ends.next.as_ref(), errors),
        },
        PageStyle::Relay { page_info, placing } => {
            let page_info = Path::parse(page_info).map_err(|why| errors.push(format!("page.page_info: {why}")));
            Style::Relay { page_info: page_info.ok()?, placing: placing.clone() }
        }
    })
}

fn compiled(key: &str, source: &ValueSource, errors: &mut Vec<String>) -> Option<Source> {
    Source::compile(source).map_err(|why| errors.push(format!("page.{key}: {why}"))).ok()
}

fn optional(key: &str, source: Option<&ValueSource>, errors: &mut Vec<String>) -> Option<Source> {
    source.and_then(|source| compiled(key, source, errors))
}

/// Over the keys and fingerprints of a page's items, in their order: two pages that say the same have one digest, whatever moves
/// by itself in them.
pub fn digest<'a>(seen: impl IntoIterator<Item = &'a Sighting>) -> [u8; 16] {
    let mut hash = blake3::Hasher::new();
    for sighting in seen {
        hash.update(&(sighting.key.len() as u64).to_le_bytes());
        hash.update(sighting.key.as_bytes());
        hash.update(&sighting.fingerprint);
    }
    short(&hash)
}

fn short(hash: &blake3::Hasher) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&hash.finalize().as_bytes()[..16]);
    short
}
