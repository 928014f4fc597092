//! Reads the configuration anew while everything runs (SIGHUP): connections come, change and go, credentials become what it says now. What cannot
//! be in force at once is told; a file that cannot be read changes nothing. Decides nothing else.

use super::scribe::in_both;
use super::{Live, mqtt};
use crate::cli;
use crate::config::{Puttable, ServerSpec, Settings};
use crate::domain::credential::NewSecret;
use crate::domain::ids::{ConnectionKey, TargetName};
use crate::domain::mqtt::MqttSpec;
use crate::domain::setup::Provenance;
use crate::domain::spec::{ConnectionSpec, SecretSource};
use crate::domain::webhook::WebhookUrl;
use crate::engine::put::Putting;
use crate::engine::roster::Joining;
use crate::engine::rotation::Reread;
use crate::engine::view::Denied;
use crate::engine::words::not_read_anew;
use crate::upstream::Door;
use crate::upstream::boundary::read_secrets;
use std::path::Path;
use std::sync::Arc;

/// Who a change comes from that was read here.
const BY: &str = "the configuration";

/// What the process reads the configuration against. What runs is the appliance's to say.
pub struct Configured {
    pub server: ServerSpec,
    pub puttable: Puttable,
}

/// How targets are read that are put to the connections of these settings.
pub fn putting(puttable: &Puttable) -> Arc<Putting> {
    let (patterns, puttable) = (puttable.patterns(), puttable.clone());
    let read = move |key: &ConnectionKey, name: &TargetName, body: &str| puttable.read(key, name, body);
    Arc::new(Putting { read: Arc::new(read), patterns })
}

impl Live {
    pub async fn reload(&self, config: &Path) {
        let read = match cli::settings(config) {
            Ok(settings) => Ok(self.take(settings).await),
            Err(failure) => Err(failure.sentences.join("; ")),
        };
        match &read {
            Ok(notes) if notes.is_empty() => tracing::info!("the configuration was read anew"),
            Ok(notes) => notes.iter().for_each(|note| tracing::warn!("{note}")),
            Err(why) => tracing::warn!("{}", not_read_anew(why)),
        }
        if let Err(denied) = self.appliance.reloaded(read).await {
            tracing::error!("{}", denied.sentence());
        }
    }

    /// What of it is not in force.
    async fn take(&self, settings: Settings) -> Vec<String> {
        let mut configured = self.configured.lock().await;
        let (runs, stored) = self.runs();
        if settings.connections.is_empty() && !runs.is_empty() {
            return vec![
                "the configuration names no connection any more, as one does that is half written: those of before stay in force; a restart \
                 takes them away"
                    .to_owned(),
            ];
        }
        let mut notes: Vec<String> = waiting(&configured.server, &settings.server).into_iter().collect();
        self.appliance.reread_polling(settings.polling).await;
        notes.extend(self.appliance.reread_organizations(&settings.organizations));
        self.appliance.back_up_regularly(settings.backup);
        notes.extend(self.take_mqtt(settings.mqtt.as_ref()));
        for table in ["polling", "backup", "mqtt"] {
            self.serving.configured.reread(table, settings.shown.clone());
        }
        for gone in runs.iter().filter(|own| settings.connections.iter().all(|spec| spec.key != own.key)) {
            notes.extend(self.lets_go(gone).await);
        }
        let putting = putting(&settings.puttable);
        let mut all: Vec<&ConnectionSpec> = settings.connections.iter().collect();
        // As at a start: first those who say whose account their secret is, so that whoever shares it with them follows.
        all.sort_by_key(|spec| spec.new_secret != NewSecret::SameAccount);
        for spec in all {
            let own = runs.iter().find(|own| own.key == spec.key);
            let is_same = own.is_some_and(|own| apart_from_secrets(own) == apart_from_secrets(spec))
                && configured.puttable.agrees(&settings.puttable, &spec.key);
            if let Some((key, by)) = stored.iter().find(|(key, _)| *key == spec.key) {
                tracing::warn!("{}", in_both(key, by));
            }
            notes.extend(match is_same {
                true => self.take_secrets(spec).await,
                false => self.take_in(spec, &putting, self.appliance.has(&spec.key)).await,
            });
        }
        configured.puttable = settings.puttable;
        notes
    }

    /// The broker that is told from now on. A sentence where its password cannot be read: the one of before is told then.
    fn take_mqtt(&self, spec: Option<&MqttSpec>) -> Option<String> {
        match mqtt::broker(spec) {
            Ok(broker) => {
                mqtt::hide(&self.redactor, broker.as_ref());
                self.mqtt.takes(broker);
                None
            }
            Err(why) => Some(format!("the broker under [mqtt] stays as it was: {why}")),
        }
    }

    /// Those of the file that run, and those that are stored with who wrote them.
    fn runs(&self) -> (Vec<ConnectionSpec>, Vec<(ConnectionKey, String)>) {
        let (mut runs, mut stored) = (Vec::new(), Vec::new());
        for (spec, provenance) in self.appliance.roster() {
            match provenance {
                Provenance::Configured => runs.push(spec),
                Provenance::Stored { by, .. } => stored.push((spec.key, by)),
            }
        }
        (runs, stored)
    }

    /// It is not in the file any more. Where one of its name is stored, that counts again. A sentence where it cannot go.
    async fn lets_go(&self, gone: &ConnectionSpec) -> Option<String> {
        let why = self.gives_way(&gone.key).await.err()?;
        Some(format!("connection {} is not taken away: {}", gone.key.connection, why.sentence()))
    }

    async fn gives_way(&self, key: &ConnectionKey) -> Result<(), Denied> {
        let stored = self.appliance.stored_connection(key)?;
        self.appliance.part(key, BY).await?;
        if let Some(stored) = stored {
            self.appliance.store(&stored.text, stored.standing, None, BY).await?;
        }
        Ok(())
    }

    /// A connection that is new, or written otherwise. A sentence where it cannot be in force.
    async fn take_in(&self, spec: &ConnectionSpec, putting: &Arc<Putting>, runs: bool) -> Option<String> {
        let (secrets, unreadable) = read_secrets(std::slice::from_ref(spec));
        if !unreadable.is_empty() {
            let why: Vec<String> = unreadable.into_iter().map(|(_, why)| why).collect();
            let why = why.join(" ");
            return Some(match runs {
                true => self.keeps(spec, &why).await,
                false => format!("connection {} is not added: {why}", spec.key.connection),
            });
        }
        let joining = Joining {
            spec: spec.clone(),
            secrets,
            putting: putting.clone(),
            by: BY.to_owned(),
            stored: None,
            set: None,
        };
        let why = self.appliance.join(joining).await.err()?;
        let what = if runs { "stays as it was" } else { "is not added" };
        Some(format!("connection {} {what}: {}", spec.key.connection, why.sentence()))
    }

    /// A sentence where they cannot be read, or not be used.
    async fn take_secrets(&self, spec: &ConnectionSpec) -> Option<String> {
        if matches!(spec.secret, SecretSource::Env(_)) {
            tracing::info!(
                connection = %spec.key,
                "its credential is in the environment of this process, which cannot change while it runs: name an environment_file under \
                 [server], or a credential file, to have another one read"
            );
        }
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
fn waiting(runs: &ServerSpec, said: &ServerSpec) -> Option<String> {
    let server = |spec: &ServerSpec| ServerSpec { environment_file: None, ..spec.clone() };
    (server(runs) != server(said))
        .then(|| "the configuration is another, and waits for a restart as far as it concerns [server]".to_owned())
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
