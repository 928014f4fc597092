//! Sentences for people: about the last start, about a configuration that was read anew since, and about a backup that was not made.

use std::sync::{PoisonError, RwLock};

pub struct Notes {
    start: Vec<String>,
    /// What of the configuration is not in force.
    unapplied: RwLock<Vec<String>>,
    backup: RwLock<Option<String>>,
}

impl Notes {
    pub fn of_start(start: Vec<String>) -> Notes {
        Notes { start, unapplied: RwLock::default(), backup: RwLock::default() }
    }

    pub fn start(&self) -> &[String] {
        &self.start
    }

    /// From now on, and nothing else of it.
    pub fn unapplied(&self, notes: Vec<String>) {
        *self.unapplied.write().unwrap_or_else(PoisonError::into_inner) = notes;
    }

    /// Why the last one was not made; `None`: it was.
    pub fn backup(&self, failed: Option<String>) {
        *self.backup.write().unwrap_or_else(PoisonError::into_inner) = failed;
    }

    pub fn all(&self) -> Vec<String> {
        let unapplied = self.unapplied.read().unwrap_or_else(PoisonError::into_inner);
        let backup = self.backup.read().unwrap_or_else(PoisonError::into_inner);
        self.start.iter().chain(unapplied.iter()).chain(backup.iter()).cloned().collect()
    }
}
