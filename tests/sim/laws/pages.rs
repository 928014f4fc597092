//! What holds of a list that comes page by page, and of which no row ever goes.

use super::{Verdict, broken};
use crate::machine::Ms;
use crate::record::{Fact, Meant, What};
use std::collections::BTreeSet;

fn rows(content: &str) -> impl Iterator<Item = &str> {
    content.split(',').filter(|row| !row.is_empty())
}

fn key(row: &str) -> &str {
    row.split('=').next().unwrap_or(row)
}

/// A33: whatever fails, breaks off or dies between two pages, what was shown once is shown for ever, and nothing is shown that no
/// page said.
pub fn pages_remove_nothing(record: &[Fact]) -> Verdict {
    const LAW: &str = "pages remove nothing";
    let (mut said, mut shown_keys): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    for fact in record {
        match &fact.what {
            What::Delivered { meant: Meant::Page { content, .. }, .. } => said.extend(rows(content)),
            What::Shown(shown) => {
                let Some(content) = &shown.content else { continue };
                if let Some(row) = rows(content).find(|row| !said.contains(row)) {
                    return broken(LAW, fact.at, format!("{row} is shown, which no page said"));
                }
                let now: BTreeSet<&str> = rows(content).map(key).collect();
                if let Some(gone) = shown_keys.difference(&now).next() {
                    return broken(LAW, fact.at, format!("{gone} was shown before and is not any more: {content}"));
                }
                shown_keys = now;
            }
            _ => {}
        }
    }
    Ok(())
}

/// An age is told only of a list that was read to its end, and nothing is called younger than the first page that it can have begun
/// with.
pub fn only_wholes_have_an_age(record: &[Fact]) -> Verdict {
    const LAW: &str = "only wholes have an age";
    let (mut began, mut ended): (Option<Ms>, bool) = (None, false);
    for fact in record {
        match &fact.what {
            What::Delivered { meant: Meant::Page { first, last, .. }, .. } => {
                began = if *first { Some(fact.at) } else { began };
                ended |= last;
            }
            What::Shown(shown) => {
                let Some(age_s) = shown.age_s else { continue };
                if !ended {
                    return broken(LAW, fact.at, "a list has an age whose last page never came");
                }
                let youngest = began.map_or(0, |began| (fact.at - began) / 1000);
                if !shown.clock_untrusted && (age_s as Ms) < youngest {
                    return broken(LAW, fact.at, format!("said to be {age_s} s old, and its first page is {youngest}"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A generation only grows, also across crashes.
pub fn generations_only_grow(record: &[Fact]) -> Verdict {
    let mut newest = 0;
    for fact in record {
        let What::Shown(shown) = &fact.what else { continue };
        if shown.generation < newest {
            let what = format!("from generation {newest} to {}", shown.generation);
            return broken("generations grow", fact.at, what);
        }
        newest = shown.generation;
    }
    Ok(())
}
