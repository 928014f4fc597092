//! Reads the configuration anew while everything runs (SIGHUP): credentials become what it says now, all else is told to wait for a restart. What
//! cannot be read changes nothing. Decides nothing else.

use super::Live;
use crate::cli;
use crate::config::{ServerSpec, Settings};
use crate::domain::credential::NewSecret;
use crate::domain::polling::PollingSpec;
use crate::domain::spec::{ConnectionSpec, SecretSource};
use crate::domain::webhook::WebhookUrl;
use crate::engine::rotation::Reread;
use crate::upstream::Door;
use crate::upstream::boundary::read_secrets;
use std::path::Path;

/// What the process was started with.
pub struct Configured {
    pub server: ServerSpec,
    pub polling: PollingSpec,
    pub connections: Vec<ConnectionSpec>,
}

impl Live {
    pub async fn reload(&self, config: &Path) {
        let notes = match cli::settings(config) {
            Ok(settings) => self.take(&settings).await,
            Err(failure) => {
                let said = failure.sentences.join("; ");
                vec![format!("the configuration could not be read anew, and the one of before stays in force: {said}")]
            }
        };
        for note in &notes {
            tracing::warn!("{note}");
        }
        if notes.is_empty() {
            tracing::info!("the configuration was read anew");
        }
        if let Err(denied) = self.appliance.reloaded(notes).await {
            tracing::error!("{}", denied.sentence());
        }
    }

    /// What of it is not in force.
    async fn take(&self, settings: &Settings) -> Vec<String> {
        let mut notes = Vec::new();
        let runs = |spec: &&ConnectionSpec| self.configured.connections.iter().any(|own| own.key == spec.key);
        for spec in settings.connections.iter().filter(runs) {
            if matches!(spec.secret, SecretSource::Env(_)) {
                tracing::info!(
                    connection = %spec.key,
                    "its credential is in the environment of this process, which cannot change while it runs: name an environment_file under \
                     [server], or a credential file, to have another one read"
                );
            }
            notes.extend(self.take_secrets(spec).await);
        }
        notes.extend(waiting(&self.configured, settings));
        notes
    }

    /// A sentence where they cannot be read, or not be used.
    async fn take_secrets(&self, spec: &ConnectionSpec) -> Option<String> {
        let (mut secrets, unreadable) = read_secrets(std::slice::from_ref(spec));
        if !unreadable.is_empty() {
            let why: Vec<String> = unreadable.into_iter().map(|(_, why)| why).collect();
            return Some(self.keeps(spec, &why.join(" ")).await);
        }
        if let Some(Err(why)) = self.door.messenger().map(|messenger| messenger.renew(spec, &secrets)) {
            return Some(self.keeps(spec, &why).await);
        }
        let (own, client) = (secrets.own.remove(&spec.key), secrets.clients.remove(&spec.key));
        let said = Reread { source: spec.secret.clone(), new_secret: spec.new_secret, own, client };
        match self.appliance.reread_credential(&spec.key, said).await {
            Ok(_) => None,
            Err(denied) => Some(self.keeps(spec, denied.sentence()).await),
        }
    }

    async fn keeps(&self, spec: &ConnectionSpec, why: &str) -> String {
        if let Err(denied) = self.appliance.keep_credential(&spec.key, why).await {
            tracing::error!(connection = %spec.key, "{}", denied.sentence());
        }
        format!("the credential of connection {} stays as it was: {why}", spec.key.connection)
    }
}

/// What is another and waits for a restart.
fn waiting(runs: &Configured, said: &Settings) -> Option<String> {
    let mut others = Vec::new();
    let server = |spec: &ServerSpec| ServerSpec { environment_file: None, ..spec.clone() };
    others.extend((server(&runs.server) != server(&said.server)).then(|| "[server]".to_owned()));
    others.extend((runs.polling != said.polling).then(|| "[polling]".to_owned()));
    for spec in &said.connections {
        match runs.connections.iter().find(|own| own.key == spec.key) {
            None => others.push(format!("the new connection {}", spec.key.connection)),
            Some(own) if apart_from_secrets(own) != apart_from_secrets(spec) => {
                others.push(format!("connection {}", spec.key.connection));
            }
            Some(_) => (),
        }
    }
    let gone = runs.connections.iter().filter(|own| said.connections.iter().all(|spec| spec.key != own.key));
    others.extend(gone.map(|own| format!("connection {}, which is taken away", own.key.connection)));
    let others = others.join(", ");
    (!others.is_empty())
        .then(|| format!("the configuration is another, and waits for a restart as far as it concerns {others}"))
}

fn apart_from_secrets(spec: &ConnectionSpec) -> ConnectionSpec {
    let mut spec = ConnectionSpec { secret: SecretSource::None, new_secret: NewSecret::OwnBudget, ..spec.clone() };
    spec.oauth.iter_mut().for_each(|oauth| oauth.client_secret = SecretSource::None);
    for hook in &mut spec.webhooks {
        hook.secret = SecretSource::None;
        if let WebhookUrl::Secret(source) = &mut hook.url {
            *source = SecretSource::None;
        }
    }
    spec
}
