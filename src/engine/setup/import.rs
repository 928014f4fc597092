//! The configuration as one text, out and in: `larder.toml` with what is stored behind it, and the connections of a text that was handed over. What
//! the file says is not stored a second time; a secret goes neither way.

use crate::domain::ids::ConnectionKey;
use crate::domain::setup::{Import, Provenance, Standing};
use crate::engine::appliance::Appliance;
use crate::engine::view::Denied;
use crate::rules::calendar::rfc3339;
use serde::Serialize;
use utoipa::ToSchema;

/// What becomes of one connection of the text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ImportLine {
    pub organization: String,
    pub connection: String,
    /// `new`, `replaces` one that is stored, `in_file`, or `wrong`; once it was taken in also `failed`.
    pub becomes: &'static str,
    /// Sentences about it.
    pub notes: Vec<String>,
}

/// What becomes of a text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ImportView {
    pub connections: Vec<ImportLine>,
    /// Parts that are not taken in.
    pub left_out: Vec<String>,
    /// It was taken in, and not only looked at.
    pub done: bool,
}

/// Each connection of a text with what becomes of it, and what is left out.
type Looked = (Vec<(Import, ImportLine)>, Vec<String>);

impl Appliance {
    /// The whole configuration as `larder.toml`.
    pub fn export(&self) -> Result<String, Denied> {
        let mut text = self.scribe()?.file().map_err(Denied::Unavailable)?;
        for (key, stored) in self.core.store.stored_connections()? {
            if self.is_configured(&key) {
                continue;
            }
            let (by, at) = (&stored.by, rfc3339(stored.at.wall));
            let trial = if stored.standing == Standing::OnTrial { ", and still on trial" } else { "" };
            let by: String = by.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            text.push_str(&format!(
                "\n# Written in the browser by {by} at {at}{trial}. Its credential is sealed in the data file and not here.\n{}",
                stored.text
            ));
        }
        // A text in the file may hold an address with a secret in it.
        Ok(self.core.door.redact(&text))
    }

    /// What taking in this text would do. Changes nothing.
    pub fn look_at_import(&self, text: &str) -> Result<ImportView, Denied> {
        let (looked, left_out) = self.looked_at(text)?;
        Ok(ImportView { connections: looked.into_iter().map(|(_, line)| line).collect(), left_out, done: false })
    }

    fn looked_at(&self, text: &str) -> Result<Looked, Denied> {
        let (imports, left_out) = self.scribe()?.imports(text).map_err(|wrong| Denied::Invalid(wrong.join("; ")))?;
        let look = |import: Import| self.line(&import).map(|line| (import, line));
        Ok((imports.into_iter().map(look).collect::<Result<_, _>>()?, left_out))
    }

    /// Takes in the connections of a text: each is on trial until its credential is set and somebody saves it. One that replaces a stored one
    /// keeps its credential and how far it was.
    pub async fn import(&self, text: &str, by: &str) -> Result<ImportView, Denied> {
        let (looked, left_out) = self.looked_at(text)?;
        let mut connections = Vec::new();
        for (import, line) in looked {
            connections.push(match line.becomes {
                "new" | "replaces" => self.take_in(&import, line, by).await?,
                _ => line,
            });
        }
        Ok(ImportView { connections, left_out, done: true })
    }

    async fn take_in(&self, import: &Import, line: ImportLine, by: &str) -> Result<ImportLine, Denied> {
        let before = self.core.store.stored_connection(&import.key)?;
        let standing = before.map_or(Standing::OnTrial, |stored| stored.standing);
        Ok(match self.store(&import.text, standing, None, by).await {
            Ok(_) => line,
            Err(denied) => {
                let notes = [line.notes, vec![denied.sentence().to_owned()]].concat();
                ImportLine { becomes: "failed", notes, ..line }
            }
        })
    }

    fn line(&self, import: &Import) -> Result<ImportLine, Denied> {
        let mut notes = import.notes.clone();
        let becomes = match (self.is_configured(&import.key), self.scribe()?.read(&import.text)) {
            (true, _) => "in_file",
            (false, Err(wrong)) => {
                notes = wrong;
                "wrong"
            }
            (false, Ok(_)) if self.core.store.stored_connection(&import.key)?.is_some() => "replaces",
            (false, Ok(_)) => "new",
        };
        let ConnectionKey { organization, connection } = &import.key;
        Ok(ImportLine { organization: organization.0.clone(), connection: connection.0.clone(), becomes, notes })
    }

    fn is_configured(&self, key: &ConnectionKey) -> bool {
        self.core.connections.get(key).is_some_and(|conn| conn.provenance == Provenance::Configured)
    }
}
