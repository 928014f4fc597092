//! The rules of operators for how long histories are kept: off unless somebody wrote one. Once a day, a bounded part of each connection
//! after the other, so that none waits for another's million lines. What went is told in the activity.

use super::core::{Conn, Core};
use super::words::{clock_time, counted};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::time::{ClockTrust, Now, Span};
use crate::store::{Forgotten, Place, Retention, StoreError};
use std::collections::VecDeque;
use std::sync::Arc;

const FIRST: Span = Span::from_secs(5);
const EVERY: Span = Span::from_secs(86_400);
/// Between two parts: polls and readers come first.
const PAUSE: Span = Span(200);

/// Runs until the engine stops; sleeps while no connection has a rule.
pub async fn run(core: Arc<Core>) {
    let mut due = core.clock.now().steady + FIRST;
    while !core.stop.is_cancelled() {
        let ruled: Vec<Arc<Conn>> = core.connections.values().filter(|conn| conn.spec.keep_history.is_some()).collect();
        let waits = async {
            match ruled.is_empty() {
                true => std::future::pending().await,
                false => core.clock.sleep_until(due).await,
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => return,
            () = core.changed.notified() => continue,
            () = waits => round(&core, &ruled).await,
        }
        due = core.clock.now().steady + EVERY;
    }
}

async fn round(core: &Core, ruled: &[Arc<Conn>]) {
    let mut waiting: VecDeque<(&Arc<Conn>, Option<Place>)> = ruled.iter().map(|conn| (conn, None)).collect();
    while let Some((conn, from)) = waiting.pop_front() {
        let now = core.clock.now();
        if core.stop.is_cancelled() || now.trust == ClockTrust::Untrusted {
            return;
        }
        match part(core, conn, from, &now).await {
            Ok(on) => waiting.extend(on.map(|on| (conn, Some(on)))),
            Err(e) => {
                tracing::warn!(connection = %conn.spec.key, "what is older than the rule says stays for now: {e}")
            }
        }
        core.clock.sleep_until(now.steady + PAUSE).await;
    }
}

async fn part(core: &Core, conn: &Conn, from: Option<Place>, now: &Now) -> Result<Option<Place>, StoreError> {
    let Some(keep) = conn.spec.keep_history else { return Ok(None) };
    let rule = Retention { keep, now: now.clone() };
    let mut outdated = core.store.outdated(&conn.spec.key, &rule, from.as_ref())?;
    let on = outdated.on.take();
    let (key, at) = (conn.spec.key.clone(), now.stamp());
    let before = clock_time(now.wall() - keep, now.wall());
    let tell = move |forgotten: Forgotten| NewEvent {
        kind: EventKind::Appliance,
        at,
        connection: Some(key),
        target: None,
        message: sentence(keep, &before, forgotten),
    };
    core.publish(core.store.forget(outdated, rule, tell).await?);
    Ok(on)
}

fn sentence(keep: Span, before: &str, Forgotten { lines, items }: Forgotten) -> String {
    let what = match (lines, items) {
        (lines, 0) => counted(lines, "line of history", "lines of history"),
        (0, items) => counted(items, "item that was gone by then", "items that were gone by then"),
        (lines, items) => format!(
            "{} and {}",
            counted(lines, "line of history", "lines of history"),
            counted(items, "item that was gone by then", "items that were gone by then")
        ),
    };
    format!("history.keep is {keep}: of what happened before {before}, {what} went")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_is_told_in_words() {
        let told = |lines, items| sentence(Span::from_secs(400 * 86_400), "26 Oct", Forgotten { lines, items });
        assert_eq!(told(1, 0), "history.keep is 400 d: of what happened before 26 Oct, 1 line of history went");
        assert!(told(0, 2).ends_with(", 2 items that were gone by then went"));
        assert!(told(3, 1).ends_with(", 3 lines of history and 1 item that was gone by then went"));
    }
}
