//! What is written in the browser instead of `larder.toml`: a connection as text, and what somebody says of one that is to come of a recipe.
//! Must not know in which words a connection is written.

use super::ids::ConnectionKey;
use super::time::Stamp;

/// How far a stored connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is tried by hand, and asks nothing by itself.
    OnTrial,
    Saved,
}

/// A connection that is stored in the data file, beside those of `larder.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredConnection {
    /// The text of one `[[connection]]`. No secret is in it.
    pub text: String,
    pub standing: Standing,
    /// Who wrote it last, and from where.
    pub by: String,
    pub at: Stamp,
}

/// Where a connection that runs is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// `larder.toml`.
    Configured,
    Stored {
        standing: Standing,
        by: String,
        at: Stamp,
    },
}

impl Provenance {
    pub fn of(stored: &StoredConnection) -> Provenance {
        Provenance::Stored { standing: stored.standing, by: stored.by.clone(), at: stored.at }
    }
    pub fn is_on_trial(&self) -> bool {
        matches!(self, Provenance::Stored { standing: Standing::OnTrial, .. })
    }
}

/// The last answer of a target that was kept, to try other words on. Costs nothing to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub at: Stamp,
    /// Without any known secret.
    pub body: Vec<u8>,
}

/// A connection that is to come of a recipe, as somebody fills in the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    pub key: ConnectionKey,
    pub recipe: String,
    /// Where the recipe leaves it to the connection.
    pub base_url: Option<String>,
    /// A limit of its own where the recipe has none: requests, and the length of their rolling window.
    pub limit: Option<(u64, String)>,
    /// As the file spells it; `None`: as the recipe says.
    pub interval: Option<String>,
    /// Where the recipe's tokens renew themselves.
    pub client: Option<Client>,
}

/// Who renews the tokens, as somebody fills in the form. Its secret is not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub id: String,
    /// It has a secret, which is set beside the refresh token; a public client has none.
    pub has_secret: bool,
    /// Tells accounts of one client apart.
    pub account: Option<String>,
}

/// What a recipe says of itself, and what it leaves to the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecipeSheet {
    pub name: String,
    pub provider: String,
    pub about: String,
    /// A user's own file, not one of this binary.
    pub is_own: bool,
    pub needs_base_url: bool,
    pub needs_limit: bool,
    pub needs_secret: bool,
    /// Its tokens renew themselves: it wants a client and a refresh token.
    pub renews: bool,
    /// Names, and what is asked.
    pub targets: Vec<(String, String)>,
    pub patterns: Vec<String>,
    /// Each limit in words.
    pub limits: Vec<String>,
    /// The claim, where it was read, and when.
    pub facts: Vec<(String, String, String)>,
}

/// One connection of a text that was handed over, on its way into the data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    pub key: ConnectionKey,
    pub text: String,
    /// What is left out of it or is another here, as sentences.
    pub notes: Vec<String>,
}
