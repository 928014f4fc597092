//! Organizations that spend with one credential, and what is configured of their parts. How a budget is divided is for
//! `rules::budget::parts`; must not know what is spent.

use super::appliance::Appliance;
use crate::domain::ids::CredentialId;
use crate::domain::part::PartsByOrganization;
use crate::rules::budget::parts::Parts;
use std::collections::BTreeSet;

/// Floors are of the same whole. The error is a sentence.
pub fn check(parts: &Parts) -> Result<(), String> {
    let floors = parts.percent_of_floors();
    if floors <= 100 {
        return Ok(());
    }
    let names: Vec<&str> = parts.names().map(|name| name.as_str()).collect();
    Err(format!(
        "{} spend with one credential, and their floors under [[organization]] are {floors} % of it together: lower them to 100 % or less",
        names.join(", ")
    ))
}

impl Appliance {
    /// Organizations have these parts from now on. A sentence where they cannot: those of before stay in force then.
    pub fn reread_organizations(&self, configured: &PartsByOrganization) -> Option<String> {
        if self.core.organizations() == *configured {
            return None;
        }
        let (mut known, mut divided) = (BTreeSet::<CredentialId>::new(), Vec::new());
        for conn in self.core.connections.values() {
            let Some(parts) = conn.sharing.parts().filter(|_| known.insert(conn.credential)) else { continue };
            let parts = (*parts).clone().configured(configured);
            if let Err(why) = check(&parts) {
                return Some(format!("the parts of organizations stay as they were: {why}"));
            }
            divided.push((conn, parts));
        }
        self.core.divide(configured);
        divided.into_iter().for_each(|(conn, parts)| conn.sharing.divide(parts, &self.core.store));
        self.core.connections.values().for_each(|conn| self.core.wake(&conn));
        None
    }
}
