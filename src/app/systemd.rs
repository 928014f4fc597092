//! What the service manager is told: ready, alive, stopping. Without `NOTIFY_SOCKET` nobody is told anything.

use sd_notify::NotifyState;

/// Ready. Where the unit has a watchdog it is fed at half its time, as long as `alive`.
pub fn ready(status: &str, alive: impl Fn() -> bool + Send + 'static) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    tokio::spawn(async move {
        loop {
            if alive() {
                tell(&[NotifyState::Watchdog]);
            }
            tokio::time::sleep(patience / 2).await;
        }
    });
}

pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// A manager that does not listen is not a reason to fail.
fn tell(states: &[NotifyState]) {
    if let Err(e) = sd_notify::notify(states) {
        tracing::warn!("the service manager could not be told: {e}");
    }
}
