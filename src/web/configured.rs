//! What is configured, as it is shown: another once the file was read anew. Knows keys and where they stand; must not know what they do.

use crate::domain::setting::Setting;
use std::sync::{Arc, PoisonError, RwLock};

/// Cheap to clone: one for all listeners, and for who reads the file.
#[derive(Clone, Debug, Default)]
pub struct Configured(Arc<RwLock<Vec<Setting>>>);

impl Configured {
    pub fn new(settings: Vec<Setting>) -> Configured {
        Configured(Arc::new(RwLock::new(settings)))
    }

    pub fn now(&self) -> Vec<Setting> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The keys of this table as they were read anew; those of the others wait for the next start, and stay as they are in force.
    pub fn reread(&self, table: &str, read: Vec<Setting>) {
        let is_of = |setting: &Setting| setting.key.split('.').next() == Some(table);
        let mut settings = self.0.write().unwrap_or_else(PoisonError::into_inner);
        settings.retain(|setting| !is_of(setting));
        settings.extend(read.into_iter().filter(is_of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::setting::Source;

    #[test]
    fn what_waits_for_a_start_is_shown_as_it_is_in_force() {
        let setting = |key: &str, value: &str| Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            source: Source::File { name: "larder.toml".to_owned(), line: 1 },
        };
        let configured = Configured::new(vec![setting("server.listen", "old"), setting("polling.workers", "8")]);
        configured.clone().reread("polling", vec![setting("server.listen", "new"), setting("polling.workers", "2")]);
        assert_eq!(configured.now(), [setting("server.listen", "old"), setting("polling.workers", "2")]);
    }
}
