//! From an answer's JSON to sightings of items, offsets anchored to its arrival.

use crate::domain::item::Sighting;
use crate::domain::spec::TargetSpec;
use crate::domain::time::Stamp;

#[derive(Debug)]
pub struct Extractor {}

impl Extractor {
    /// Errors are sentences that name the key (`items`, `fields.next_run.path`).
    pub fn compile(_spec: &TargetSpec) -> Result<Extractor, Vec<String>> {
        todo!()
    }
    /// An answer without the expected shape (the items path matches nothing and is not an empty list, an item without
    /// key, the same key twice) is an error in words: never data.
    pub fn extract(&self, _body: &serde_json::Value, _arrived_at: Stamp) -> Result<Vec<Sighting>, String> {
        todo!()
    }
}
