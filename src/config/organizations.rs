//! `[[organization]]`: what an organization has of the credentials that it shares with others. Knows keys and words; who shares is not
//! known before the secrets are read, how it is divided is for `crate::rules::budget::parts`.

use super::place::Problems;
use super::section::Section;
use super::words;
use crate::domain::ids::Organization;
use crate::domain::part::{Part, PartsByOrganization};

pub(super) const ORGANIZATION: [&str; 3] = ["name", "weight", "floor"];

/// More would say nothing more.
const HEAVIEST: u64 = 1000;

pub(super) fn read(sections: Vec<Section<'_>>, p: &mut Problems) -> PartsByOrganization {
    let mut parts = PartsByOrganization::new();
    for section in sections {
        section.only(&ORGANIZATION, &[], p);
        let name =
            section.parsed("name", p, words::name).required(&section.place, "name", "which organization is meant", p);
        let weight = section.whole("weight", (1, HEAVIEST), p).value().and_then(|n| u32::try_from(n).ok());
        let floor = section.parsed("floor", p, percent).value();
        let part =
            Part { weight: weight.unwrap_or(Part::default().weight), floor: floor.unwrap_or(Part::default().floor) };
        let Some(name) = name else { continue };
        if parts.insert(Organization(name.clone()), part).is_some() {
            p.add(&section.place, format!("there is another organization named {name:?}"));
        }
    }
    parts
}

fn percent(text: &str) -> Result<u8, String> {
    let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let percent = digits.and_then(|digits| digits.parse::<u8>().ok()).filter(|percent| *percent <= 100);
    percent.ok_or_else(|| format!("{text:?} is not a part of a limit; write a percentage from \"0%\" to \"100%\""))
}
