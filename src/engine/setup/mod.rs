//! Setup in the browser: a connection comes of a recipe, is tried by hand with its cost told, and is saved or thrown away; a target is written
//! otherwise after a look at what that makes of the answer that is kept. Everything that spends is a probe, and asks the budget. Must not know in
//! which words a connection is written: that is the [`Scribe`]'s.

mod import;
pub mod preview;

pub use import::{ImportLine, ImportView};
pub use preview::{PreviewView, TrialView};

use super::appliance::Appliance;
use super::core::Conn;
use super::put::Putting;
use super::roster::Joining;
use super::view::{Denied, When};
use crate::domain::ids::{ConnectionKey, TargetKey, TargetName};
use crate::domain::oauth::OAuthSpec;
use crate::domain::setup::{Import, Provenance, RecipeSheet, Sketch, Standing, StoredConnection};
use crate::domain::spec::ConnectionSpec;
use crate::upstream::boundary::Secrets;
use crate::upstream::keyring::Pasted;
use crate::upstream::redact::Secret;
use std::sync::Arc;

/// A text that was read: what runs, and how targets are read that are put to it.
pub struct Written {
    pub spec: ConnectionSpec,
    pub putting: Arc<Putting>,
}

/// How connections are written: what is known of recipes and of `larder.toml`, for those who must not. Errors are sentences.
pub trait Scribe: Send + Sync + 'static {
    /// Name, provider and one sentence of each recipe.
    fn recipes(&self) -> Vec<(String, String, String)>;
    fn sheet(&self, recipe: &str) -> Result<RecipeSheet, String>;
    fn compose(&self, sketch: &Sketch) -> Result<String, String>;
    fn read(&self, text: &str) -> Result<Written, Vec<String>>;
    /// The connections of a whole text, and what else is in it.
    fn imports(&self, text: &str) -> Result<(Vec<Import>, Vec<String>), Vec<String>>;
    /// The words of one target in the text of a connection or in its recipe.
    fn target(&self, text: &str, target: &TargetName) -> Option<String>;
    /// The same, in `larder.toml` as it lies there.
    fn target_in_file(&self, connection: &ConnectionKey, target: &TargetName) -> Option<String>;
    fn with_target(&self, text: &str, target: &TargetName, words: &str) -> Result<String, String>;
    /// The words of a target as it is put, and the way back.
    fn as_put(&self, words: &str) -> Result<String, String>;
    fn as_words(&self, body: &str) -> Option<String>;
    /// `larder.toml` as it lies there.
    fn file(&self) -> Result<String, String>;
    /// Variables of the environment that decide for a connection of the file.
    fn variables(&self, connection: &ConnectionKey) -> Vec<String>;
}

/// Where a connection is written.
#[derive(Clone, Debug)]
pub struct OriginView {
    pub connection: ConnectionKey,
    pub recipe: Option<String>,
    /// `larder.toml`, or who stored it and when.
    pub stored: Option<(String, When)>,
    pub on_trial: bool,
    /// Variables of the environment that win over the file.
    pub variables: Vec<String>,
    /// It sends a credential, and there is none yet.
    pub lacks_secret: bool,
    /// Its credential is a refresh token.
    pub renews: bool,
}

/// What somebody typed into the form. Kept nowhere but sealed.
#[derive(Default)]
pub struct Typed {
    /// The credential; where tokens are renewed the refresh token.
    pub secret: Option<String>,
    /// Of a client that renews its tokens and is no public one.
    pub client_secret: Option<String>,
}

impl Typed {
    /// `None`: nothing was typed. The error is for who typed it.
    pub fn pasted(self) -> Result<Option<Pasted>, Denied> {
        let read = |what: &str, text: Option<String>| {
            let unusable = |why| Denied::Invalid(format!("the {what} cannot be used: {why}"));
            text.map(Secret::new).transpose().map_err(unusable)
        };
        match (read("credential", self.secret)?, read("client secret", self.client_secret)?) {
            (Some(secret), client) => Ok(Some(Pasted { secret, client })),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Denied::Invalid("the client secret needs its refresh token beside it".to_owned())),
        }
    }
}

impl Appliance {
    /// From now on connections can be written in the browser.
    pub fn employ(&self, scribe: Arc<dyn Scribe>) {
        // There is one of them.
        let _ = self.core.scribe.set(scribe);
    }

    pub(super) fn scribe(&self) -> Result<&Arc<dyn Scribe>, Denied> {
        let none = || Denied::Unavailable("connections cannot be written here".to_owned());
        self.core.scribe.get().ok_or_else(none)
    }

    pub fn recipes(&self) -> Result<Vec<(String, String, String)>, Denied> {
        Ok(self.scribe()?.recipes())
    }

    pub fn recipe(&self, name: &str) -> Result<RecipeSheet, Denied> {
        self.scribe()?.sheet(name).map_err(Denied::NotFound)
    }

    pub fn origin(&self, key: &ConnectionKey) -> Result<OriginView, Denied> {
        let conn = self.conn(key)?;
        let stored = match &conn.provenance {
            Provenance::Configured => None,
            Provenance::Stored { by, at, .. } => Some((by.clone(), When(at.wall))),
        };
        let variables = match (&stored, self.core.scribe.get()) {
            (None, Some(scribe)) => scribe.variables(key),
            _ => Vec::new(),
        };
        Ok(OriginView {
            connection: key.clone(),
            recipe: conn.spec.recipe.clone(),
            stored,
            on_trial: conn.provenance.is_on_trial(),
            variables,
            lacks_secret: conn.lacks_secret,
            renews: conn.spec.oauth.is_some(),
        })
    }

    /// A connection that comes of a recipe. It is on trial: it can be probed, and asks nothing by itself.
    pub async fn sketch(&self, sketch: &Sketch, secrets: Typed, by: &str) -> Result<(), Denied> {
        if self.core.connections.get(&sketch.key).is_some() {
            let taken = format!("there is a connection \"{}\" already; choose another name", sketch.key.connection);
            return Err(Denied::Invalid(taken));
        }
        let text = self.scribe()?.compose(sketch).map_err(Denied::Invalid)?;
        self.store(&text, Standing::OnTrial, secrets.pasted()?, by).await.map(drop)
    }

    /// Stores a connection as it is written, and it runs.
    pub async fn store(
        &self,
        text: &str,
        standing: Standing,
        set: Option<Pasted>,
        by: &str,
    ) -> Result<ConnectionKey, Denied> {
        let Written { spec, putting } = self.scribe()?.read(text).map_err(|why| Denied::Invalid(why.join("; ")))?;
        let key = spec.key.clone();
        self.refuse_configured(&key)?;
        if set.is_some() {
            self.refuse_shared_client(&spec)?;
        }
        let (text, by) = (text.to_owned(), by.to_owned());
        let stored = StoredConnection { text, standing, by: by.clone(), at: self.now().stamp() };
        let joining = Joining { spec, secrets: Secrets::default(), putting, by, stored: Some(stored), set };
        self.join(joining).await?;
        Ok(key)
    }

    /// The trial is over: it is polled from now on.
    pub async fn save(&self, key: &ConnectionKey, by: &str) -> Result<(), Denied> {
        let stored = self.stored(key)?;
        if self.origin(key)?.lacks_secret {
            return Err(Denied::Invalid(format!("{} has no credential yet; set it first", key.connection)));
        }
        self.store(&stored.text, Standing::Saved, None, by).await.map(drop)
    }

    /// Takes a stored connection away, and forgets its credential. What is known of it stays.
    pub async fn discard(&self, key: &ConnectionKey, by: &str) -> Result<(), Denied> {
        self.stored(key)?;
        self.refuse_configured(key)?;
        self.part(key, by).await
    }

    /// Another question of a target that was put, or of a connection that is stored.
    pub async fn rewrite_target(&self, key: &TargetKey, words: &str, by: &str) -> Result<(), Denied> {
        let (conn, target) = self.target_of(key)?;
        let scribe = self.scribe()?;
        if let super::targets::Origin::Put { .. } = target.origin {
            let body = scribe.as_put(words).map_err(Denied::Invalid)?;
            return self.put_target(key, &body, None, by).await.map(drop);
        }
        self.refuse_configured(&conn.spec.key)?;
        let stored = self.stored(&conn.spec.key)?;
        let text = scribe.with_target(&stored.text, &key.target, words).map_err(Denied::Invalid)?;
        self.store(&text, stored.standing, None, by).await.map(drop)
    }

    /// The words of a target, and whether they can be changed here.
    pub fn target_words(&self, key: &TargetKey) -> Result<(String, bool), Denied> {
        let (conn, target) = self.target_of(key)?;
        let scribe = self.scribe()?;
        if let super::targets::Origin::Put { .. } = target.origin {
            let put = self.core.store.put_target(key)?;
            return Ok((put.and_then(|put| scribe.as_words(&put.body)).unwrap_or_default(), true));
        }
        let (words, is_stored) = match &conn.provenance {
            Provenance::Configured => (scribe.target_in_file(&conn.spec.key, &key.target), false),
            Provenance::Stored { .. } => (scribe.target(&self.stored(&conn.spec.key)?.text, &key.target), true),
        };
        Ok((words.unwrap_or_default(), is_stored))
    }

    /// Its tokens are one connection's: another refresh token would take the place of those of another account.
    fn refuse_shared_client(&self, spec: &ConnectionSpec) -> Result<(), Denied> {
        let Some(oauth) = &spec.oauth else { return Ok(()) };
        let is_same = |other: &OAuthSpec| {
            (&other.token_url, &other.client_id, &other.account) == (&oauth.token_url, &oauth.client_id, &oauth.account)
        };
        let shares = |conn: &Arc<Conn>| conn.spec.key != spec.key && conn.spec.oauth.as_ref().is_some_and(is_same);
        match self.core.connections.values().find(shares) {
            None => Ok(()),
            Some(other) => Err(Denied::Invalid(format!(
                "connection {} has tokens of this client already. For another account of it say which under Account; of the same account no \
                 second connection is needed, its targets can be put to {0}",
                other.spec.key.connection
            ))),
        }
    }

    fn stored(&self, key: &ConnectionKey) -> Result<StoredConnection, Denied> {
        let missing = || Denied::NotFound(format!("no connection \"{}\" is stored here", key.connection));
        self.stored_connection(key)?.ok_or_else(missing)
    }

    /// What the file says is changed in the file.
    fn refuse_configured(&self, key: &ConnectionKey) -> Result<(), Denied> {
        match self.core.connections.get(key).map(|conn| conn.provenance.clone()) {
            Some(Provenance::Configured) => Err(Denied::Configured(format!(
                "{} stands in larder.toml, and is changed and taken away there (SIGHUP has it read anew).",
                key.connection
            ))),
            _ => Ok(()),
        }
    }
}
