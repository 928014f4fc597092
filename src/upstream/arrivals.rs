//! Connections that come, become others and go while everything runs: what the door has to know of one is looked at as a whole, and in force
//! only when the engine says so. Decides nothing: whose budget pays, and when, is the engine's.

use super::Door;
use super::boundary::Secrets;
use super::http::HttpDoor;
use super::keyring::Considered;
use super::messenger::Addresses;
use super::route::Route;
use super::tokens::{Joining, identity};
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::spec::ConnectionSpec;

/// What the file has of a connection's secrets, sealed.
#[derive(Default)]
pub struct Stored {
    /// What an operator set in an earlier run.
    pub set: Option<Vec<u8>>,
    /// Version and bytes of tokens that renewed themselves.
    pub tokens: Option<(u64, Vec<u8>)>,
}

/// A connection that was looked at and is not in force yet.
pub struct Arrival {
    /// What its secret, or its client and account, make it.
    pub credential: CredentialId,
    /// The secret that travels is another than before. True of one that was not known.
    pub differs: bool,
    /// It sends a credential, and has none.
    pub lacks_secret: bool,
    /// What people should know of its secrets.
    pub note: Option<String>,
    spec: ConnectionSpec,
    considered: Considered,
    route: Route,
    /// To its token endpoint.
    renewing: Option<Route>,
    addresses: Option<Addresses>,
    tokens: Option<(u64, Vec<u8>)>,
}

impl HttpDoor {
    /// The error is a sentence, and nothing is another then.
    pub(super) fn looked_at(
        &self,
        spec: &ConnectionSpec,
        secrets: &Secrets,
        stored: Stored,
    ) -> Result<Arrival, String> {
        secrets.all().for_each(|secret| self.redactor.keep(secret));
        let (considered, note) = self.keyring.look_at(spec, secrets, stored.set)?;
        let route = Route::new(spec, considered.secrets().0)?;
        self.ways.prepare(&spec.key, &route)?;
        let renewing = spec.oauth.as_ref().map(|oauth| Route::bare(&oauth.token_url, &spec.network)).transpose()?;
        if let Some(renewing) = &renewing {
            self.ways.prepare(&spec.key, renewing)?;
            self.vault_or_new(self.keyring.data())?;
        }
        let addresses = self.messenger().map(|messenger| messenger.look_at(spec, secrets)).transpose()?;
        let credential = match &spec.oauth {
            Some(oauth) => identity(self.keyring.installation(), oauth),
            None => considered.fingerprint,
        };
        let lacks_secret = spec.waits_for_a_secret() && considered.secrets().0.is_none();
        let (spec, differs, tokens) = (spec.clone(), considered.differs, stored.tokens);
        Ok(Arrival { credential, differs, lacks_secret, note, spec, considered, route, renewing, addresses, tokens })
    }

    /// A sentence where what is stored of its tokens cannot be used.
    pub(super) fn welcomed(&self, arrival: Arrival, before: CredentialId, now: CredentialId) -> Option<String> {
        let Arrival { spec, considered, route, renewing, addresses, tokens, credential, .. } = arrival;
        let mut note = None;
        if let (Some(oauth), Some(vault), (Some(refresh), client_secret)) =
            (&spec.oauth, self.vault(), considered.secrets())
        {
            let joining = Joining {
                connection: spec.key.clone(),
                credential,
                spec: oauth,
                refresh,
                client_secret,
                stored: tokens,
            };
            note = vault.plant(joining);
        }
        if let Some(renewing) = renewing {
            self.ways.lead_to_tokens(credential, renewing);
        }
        self.keyring.adopt(considered, before, now);
        self.ways.lead(spec.key.clone(), route);
        if let (Some(messenger), Some(addresses)) = (self.messenger(), addresses) {
            messenger.take(&spec, addresses);
        }
        note
    }

    pub(super) fn dismissed(&self, key: &ConnectionKey) {
        self.ways.forget(key);
        self.keyring.forget(key);
        self.messenger().into_iter().for_each(|messenger| messenger.forget(key));
    }
}
