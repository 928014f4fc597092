//! What else a write changed, by its own answer. Must not know what is kept there.

use super::location::Location;
use crate::rules::address;

/// What `Location` and `Content-Location` name at the connection's own host (RFC 9111 section 4.4). `headers`: of the answer to a write to
/// `written`; lower-case names.
pub fn also_changed(base_url: &str, written: &Location, headers: &[(String, String)]) -> Vec<Location> {
    let named = headers.iter().filter(|(name, _)| matches!(name.as_str(), "location" | "content-location"));
    let at_home = named.filter_map(|(_, given)| address::resolve(base_url, &written.sent(), given).ok());
    // What leads below another base is a whole address, and none of this gateway's.
    at_home.filter_map(|below| Location::read(&below).ok()).collect()
}
