//! Boot and stop. Puts the rooms together, in order: log, settings, secrets, store, clock, door, sockets, engine, web; and ends them:
//! HTTP, workers, store. Decides nothing else: every failure is a sentence and an exit code.

mod agent;
mod demonstration;
mod keys;
mod logging;
mod mqtt;
mod reload;
mod scribe;
mod signals;
mod sockets;
mod systemd;
mod vault;

use crate::cli::ending::conclude;
use crate::cli::text::{count, talk};
use crate::cli::{self, Cli, Command, Credentials, Ending, Failure, Outcome};
use crate::clock::{Clock, SystemClock};
use crate::config::{ServerSpec, Settings};
use crate::domain::spec::ConnectionSpec;
use crate::engine::access::claims::{self, Issued};
use crate::engine::appliance::Appliance;
use crate::engine::{self, Parts, Running};
use crate::mqtt::{Broker, Mqtt};
use crate::store::{Opening, Options, Store, Verdict, Writer};
use crate::upstream::boundary::{Secrets, credentials, read_secrets};
use crate::upstream::http::HttpDoor;
use crate::upstream::messenger::Messenger;
use crate::upstream::redact::Redactor;
use logging::Logs;
use reload::Configured;
use signals::{Signals, Wish};
use sockets::{Serving, Sockets};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// redb's cache: the shelf of a small site fits, and a small board has it to spare.
const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// Runs a parsed command to its end.
pub fn main(cli: Cli) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(dispatch(cli));
            // Sockets that would not end in time end here.
            runtime.shutdown_timeout(Duration::from_millis(200));
            outcome
        }
        Err(e) => Err(Failure::failed(format!("The system has no threads to spare: {e}."))),
    };
    conclude(outcome)
}

async fn dispatch(cli: Cli) -> Outcome {
    match cli.command {
        Command::Serve => serve(&cli.config).await,
        Command::Demo(args) => demonstration::run(args).await,
        Command::Tool(tool) => {
            let _logs = Logs::start("warn")?;
            cli::run(&cli.config, tool, (identify, agent::courier)).await
        }
    }
}

async fn serve(config: &Path) -> Outcome {
    let logs = Logs::start("info")?;
    let mut signals = Signals::listen()?;
    let live = Live::boot(config, &logs).await?;
    live.announce(config);
    live.offer_claim().await;
    let by = 'serving: loop {
        let mut wish = signals.next().await;
        loop {
            match wish {
                Wish::Stop(name) => break 'serving name,
                // Asked again meanwhile, it begins again: what was written since is read.
                Wish::Reload => tokio::select! {
                    () = live.reload(config) => break,
                    next = signals.next() => wish = next,
                },
            }
        }
    };
    talk(&format!("{by}: stopping."));
    live.stop().await
}

/// A running appliance with its surfaces.
struct Live {
    appliance: Appliance,
    running: Running,
    serving: Serving,
    server: ServerSpec,
    configured: Mutex<Configured>,
    door: Arc<HttpDoor>,
    mqtt: Mqtt,
    redactor: Redactor,
}

impl Live {
    /// Secrets are read before the file is opened: a missing key then touches nothing.
    async fn boot(config: &Path, logs: &Logs) -> Result<Live, Failure> {
        let settings = cli::settings(config)?;
        let secrets = secrets(&settings.connections)?;
        let broker = mqtt::broker(settings.mqtt.as_ref()).map_err(Failure::usage)?;
        let redactor = Redactor::new(secrets.all());
        mqtt::hide(&redactor, broker.as_ref());
        logs.hide(redactor.clone());
        let options = Options { writer: Writer::Thread, cache_bytes: CACHE_BYTES };
        let opened = Store::open_at_once(&settings.server.data, options).map_err(Failure::failed)?;
        let store = opened.0.clone();
        let live = Live::start(config, settings, (secrets, broker), redactor, opened).await;
        if live.is_err() {
            // The reason is told already; what the file could not keep would be told at its next start.
            let _ = store.close();
        }
        live
    }

    /// Sockets answer before the engine begins: what nobody can read does not spend. It begins when the file is known to be
    /// whole; until then readers are served from it and nothing is written or sent.
    async fn start(
        config: &Path,
        mut settings: Settings,
        (secrets, broker): (Secrets, Option<Broker>),
        redactor: Redactor,
        opened: (Store, Opening, Verdict),
    ) -> Result<Live, Failure> {
        let (store, opening, verdict) = opened;
        let mut notes = Vec::new();
        let stored = scribe::take_in(config, &mut settings, &store, &mut notes)?;
        let Settings { server, polling, mqtt: _, backup, organizations, connections, puttable, shown } = settings;
        let putting = reload::putting(&puttable);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start(opening.mark.clone(), opening.high_water));
        let keyring = keys::open(&server.data, &opening, &connections, &secrets, &store, redactor.clone(), &mut notes)?;
        let credentials = keys::credentials(&opening.installation, &connections, &keyring);
        let vault =
            vault::open(&server.data, &connections, &keyring, &credentials, &store, redactor.clone(), &mut notes)?;
        let messenger = Messenger::new(&connections, &secrets, redactor.clone(), clock.clone());
        let messenger = messenger.map_err(Failure::usage)?;
        let door = HttpDoor::new(&connections, keyring, clock.clone(), redactor.clone(), vault);
        let door = door.map_err(Failure::usage)?.telling(Some(messenger));
        let sockets = Sockets::bind(&server)?;
        let configured = Mutex::new(Configured { server: server.clone(), puttable });
        let (door, shelf) = (Arc::new(door), server.shelf);
        let parts = Parts {
            store,
            opening,
            clock,
            door: door.clone(),
            connections,
            organizations,
            stored,
            polling,
            shelf,
            credentials,
            putting,
            notes,
        };
        let (appliance, mut running) = match engine::prepare(parts) {
            Ok(prepared) => prepared,
            Err(why) => {
                // Damage explains best what is wrong with what was read.
                verdict.known().await.map_err(Failure::failed)?;
                return Err(Failure::failed(why));
            }
        };
        appliance.employ(Arc::new(scribe::Desk::beside(config)));
        appliance.back_up_regularly(backup);
        let serving = sockets.serve(&appliance, &server, shown);
        if let Err(failure) = begin(verdict, &mut running).await {
            serving.stop().await;
            return Err(failure);
        }
        let health = appliance.clone();
        systemd::ready(&format!("polling {}", count(appliance.roster().len() as u64, "connection")), move || {
            health.health().poller_alive
        });
        let mqtt = Mqtt::start(appliance.clone(), broker);
        Ok(Live { appliance, running, serving, server, configured, door, mqtt, redactor })
    }

    fn announce(&self, config: &Path) {
        let shown = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
        let version = env!("CARGO_PKG_VERSION");
        talk(&format!("Larder {version} listens on {}", self.serving.url()));
        talk(&format!("  data file      {} (back it up with `larder backup`)", shown(&self.server.data)));
        talk(&format!(
            "  configuration  {}, {}",
            shown(config),
            count(self.appliance.roster().len() as u64, "connection")
        ));
        talk(&format!("  command line   {}", shown(&self.server.socket)));
        // A file that was repaired, a clock that cannot be believed.
        self.appliance.health().notes.iter().for_each(|note| talk(&format!("  note           {note}")));
    }

    /// While there is no operator: the code that makes one, for whoever sees what is printed, and in the log.
    async fn offer_claim(&self) {
        match self.appliance.first_claim().await {
            Ok(None) => (),
            Ok(Some(Issued { code, .. })) => {
                let url = self.serving.url();
                talk(&format!("  first operator {url}claim with the code {code}, for {}", claims::LIFETIME));
                tracing::warn!(
                    "there is no operator yet: open {url}claim and claim this appliance with the code {code}, within {}",
                    claims::LIFETIME
                );
            }
            Err(denied) => tracing::warn!("no claim code could be made: {}", denied.sentence()),
        }
    }

    /// HTTP, workers, store.
    async fn stop(self) -> Outcome {
        systemd::stopping();
        self.serving.stop().await;
        self.mqtt.stop().await;
        self.running.stop().await.map_err(Failure::failed)?;
        Ok(Ending::Fine)
    }
}

async fn begin(verdict: Verdict, running: &mut Running) -> Result<(), Failure> {
    verdict.known().await.map_err(Failure::failed)?;
    running.begin().await.map_err(Failure::failed)
}

/// Every secret that the configuration names, or all that is wrong with them at once.
fn secrets(connections: &[ConnectionSpec]) -> Result<Secrets, Failure> {
    let (secrets, unreadable) = read_secrets(connections);
    if unreadable.is_empty() {
        return Ok(secrets);
    }
    Err(Failure { ending: Ending::Usage, sentences: unreadable.into_iter().map(|(_, why)| why).collect() })
}

/// For plans: two connections are one budget where this gives them one credential.
fn identify(connections: &[ConnectionSpec]) -> Credentials {
    let (secrets, unreadable) = read_secrets(connections);
    // Compared and thrown away: any key does.
    Credentials { of: credentials(&[0; 32], connections, &secrets), unreadable }
}
