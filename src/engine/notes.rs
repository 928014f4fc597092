//! Sentences for people: about the last start, and about a configuration that was read anew since.

use std::sync::{PoisonError, RwLock};

pub struct Notes {
    start: Vec<String>,
    /// What of the configuration is not in force.
    unapplied: RwLock<Vec<String>>,
}

impl Notes {
    pub fn of_start(start: Vec<String>) -> Notes {
        Notes { start, unapplied: RwLock::default() }
    }

    pub fn start(&self) -> &[String] {
        &self.start
    }

    /// From now on, and nothing else of it.
    pub fn unapplied(&self, notes: Vec<String>) {
        *self.unapplied.write().unwrap_or_else(PoisonError::into_inner) = notes;
    }

    pub fn all(&self) -> Vec<String> {
        let unapplied = self.unapplied.read().unwrap_or_else(PoisonError::into_inner);
        self.start.iter().chain(unapplied.iter()).cloned().collect()
    }
}
