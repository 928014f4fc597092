//! Tells a broker of MQTT how every connection stands, so that Home Assistant finds each as a device of its own. Off unless `[mqtt]` is there. The
//! only room that knows rumqttc. Reads what every surface reads, spends nothing, and nothing waits for it; must not know the store, nor a provider.
//!
//! One link at a time (`link`): each begins with what the broker still has of us, so that what is gone there is taken away. A broker that is away
//! is asked again later and later, and told how it is by then.

mod discovery;
mod link;
mod told;
mod wire;

use crate::domain::mqtt::MqttSpec;
use crate::domain::time::Span;
use crate::engine::appliance::Appliance;
use crate::engine::view::{BrokerView, When};
use crate::upstream::redact::Secret;
use link::End;
use rustls::ClientConfig;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use told::Told;

const FIRST_PAUSE: Span = Span::from_secs(1);
const LONGEST_PAUSE: Span = Span::from_secs(60);
/// How long a broker has to take the last word.
const GOODBYE: Duration = Duration::from_secs(2);

/// Which broker, and by which password.
pub struct Broker {
    spec: MqttSpec,
    password: Option<Secret>,
    /// Read from the machine for the first link, and for every other.
    tls: OnceLock<Arc<ClientConfig>>,
}

impl Broker {
    pub const fn new(spec: MqttSpec, password: Option<Secret>) -> Broker {
        Broker { spec, password, tls: OnceLock::new() }
    }
    pub const fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }
    fn key(&self) -> (&MqttSpec, Option<&str>) {
        (&self.spec, self.password.as_ref().map(Secret::expose))
    }
}

/// The link as it is kept, by a task of its own.
pub struct Mqtt {
    wanted: watch::Sender<Option<Arc<Broker>>>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Mqtt {
    /// `None`: nobody is told anything, until [`Mqtt::takes`] says otherwise.
    pub fn start(appliance: Appliance, broker: Option<Broker>) -> Mqtt {
        let (wanted, changes) = watch::channel(broker.map(Arc::new));
        let stop = CancellationToken::new();
        let task = tokio::spawn(keep(appliance, changes, stop.clone()));
        Mqtt { wanted, stop, task }
    }

    /// Another broker from now on, another password, or none. The same one goes on as it is.
    pub fn takes(&self, broker: Option<Broker>) {
        let is_other = self.wanted.borrow().as_deref().map(Broker::key) != broker.as_ref().map(Broker::key);
        if is_other {
            self.wanted.send_replace(broker.map(Arc::new));
        }
    }

    /// Says that we are away, if there is anybody to say it to.
    pub async fn stop(self) {
        self.stop.cancel();
        let mut task = self.task;
        if tokio::time::timeout(2 * GOODBYE, &mut task).await.is_err() {
            task.abort();
        }
    }
}

async fn keep(appliance: Appliance, mut wanted: watch::Receiver<Option<Arc<Broker>>>, stop: CancellationToken) {
    let (mut failures, mut told) = (0, Told::default());
    while !stop.is_cancelled() {
        let Some(broker) = wanted.borrow_and_update().clone() else {
            appliance.broker_stands(None);
            tokio::select! {
                () = stop.cancelled() => {}
                // Who could want another is gone.
                changed = wanted.changed() => if changed.is_err() { return },
            }
            continue;
        };
        let ended = stop.child_token();
        let end = {
            let link = link::run(&appliance, &broker, &mut told, &ended);
            tokio::pin!(link);
            tokio::select! {
                end = &mut link => end,
                _ = wanted.changed() => {
                    ended.cancel();
                    link.await
                }
            }
        };
        match end {
            End::Bidden => failures = 0,
            End::Lost { stood, why } => {
                // A broker that takes us and throws us out is asked ever more rarely, too.
                failures = if stood { 1 } else { failures + 1 };
                lost(&appliance, &broker, why);
                tokio::select! {
                    () = stop.cancelled() => {}
                    _ = wanted.changed() => failures = 0,
                    () = tokio::time::sleep(Duration::from_millis(pause(failures).0)) => {}
                }
            }
        }
    }
}

/// Told once, however often it is so.
fn lost(appliance: &Appliance, broker: &Broker, why: String) {
    let before = appliance.broker().filter(|view| view.connected_since.is_none()).and_then(|view| view.trouble);
    let since = match before {
        Some((since, same)) if same == why => since,
        _ => {
            tracing::warn!("{why}");
            When(appliance.now().wall())
        }
    };
    let to = broker.spec.broker.to_string();
    appliance.broker_stands(Some(BrokerView { to, connected_since: None, trouble: Some((since, why)) }));
}

/// Doubles with each failure in a row, up to a minute.
fn pause(failures: u32) -> Span {
    let doublings = failures.saturating_sub(1).min(16);
    Span(FIRST_PAUSE.0.saturating_mul(1 << doublings).min(LONGEST_PAUSE.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Law 8.
    #[test]
    fn a_broker_that_is_away_is_asked_ever_more_rarely() {
        let pauses: Vec<u64> = (0..40).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(pauses[..9], [1, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert!(pauses.windows(2).all(|p| p[0] <= p[1]));
    }
}
