//! Opening a stream of events for the gateway: admitted and charged as every other request, and what the head of its answer says of limits,
//! holds and the breaker is heeded as of every other answer. Whether it is worth asking again, and when, is for who wants the stream.

use super::exchange::{Asking, Exchanged, Whose, is_rejected, once_more};
use super::in_turn::MOMENT;
use super::learn::{consequences, hear, placeholder};
use super::pass::in_turn;
use super::{Stopped, lessons, token};
use crate::domain::ids::{Caller, ChargeId, CredentialId, Endpoint};
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::reply::{Answer, Reply};
use crate::engine::core::{Conn, Core};
use crate::rules::budget::Permit;
use crate::rules::budget::open::Held;
use crate::store::{Commit, Write};
use crate::upstream::{EventFlow, Opened, Request};
use std::sync::Arc;

/// Which stream.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Path and query below the base URL.
    pub location: String,
    /// Where it is counted.
    pub endpoint: Endpoint,
    /// Units of the limits that an opening takes.
    pub cost: u32,
}

/// What came of it.
pub enum Opening {
    Stream(EventFlow, Option<Place>),
    /// The provider answered something that is no stream.
    Answer(Answer, Verdict),
    /// There is no answer, and this is why.
    Nothing(String),
}

/// A stream's place among the requests that the provider has in hand at one moment. Dropping it gives it up: to be done behind the stream.
pub struct Place {
    core: Arc<Core>,
    credential: CredentialId,
    charge: ChargeId,
}

impl Place {
    fn take(core: &Arc<Core>, conn: &Conn, exchanged: &Exchanged) -> Place {
        let (core, credential, charge) = (core.clone(), conn.credential, exchanged.charge);
        let (caller, endpoint) = (exchanged.caller, exchanged.endpoint.clone());
        let held = Held { caller, endpoint, organization: conn.spec.key.organization.clone() };
        core.store.keep_open(credential, charge, held);
        Place { core, credential, charge }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.core.store.let_go(self.credential, self.charge);
        if let Some(turns) = self.core.turns(self.credential) {
            turns.ring();
        }
    }
}

/// Asks for the stream, to go on after the event `last`. Where the provider counts what it has in hand, only if others are left a place.
pub async fn open(core: &Arc<Core>, conn: &Conn, wanted: &Wanted, last: Option<Arc<str>>) -> Result<Opening, Stopped> {
    let asking = Asking { caller: Caller::Gateway, target: None, endpoint: wanted.endpoint.clone(), cost: wanted.cost };
    let organization = &conn.spec.key.organization;
    core.store.may_stay_open(conn.credential, &asking.endpoint, organization).map_err(Stopped::Refused)?;
    let ends = core.clock.now().steady + MOMENT;
    let permit = in_turn(core, conn, &asking, ends, (&core.stop, &[])).await?;
    let carried = token::version(core, conn);
    let (mut exchanged, mut events) = send(core, conn, (&asking, wanted), permit, last.clone()).await;
    let refused = events.is_none() && is_rejected(core, conn, &exchanged.reply);
    if let Some(version) = carried.filter(|_| refused) {
        let permit = once_more(core, conn, &asking, &exchanged, version).await?;
        (exchanged, events) = send(core, conn, (&asking, wanted), permit, last).await;
    }
    learn(core, conn, exchanged, events).await
}

async fn send(
    core: &Core,
    conn: &Conn,
    (asking, wanted): (&Asking, &Wanted),
    permit: Permit,
    last: Option<Arc<str>>,
) -> (Exchanged, Option<EventFlow>) {
    let (charge, reserved_at) = (permit.id(), permit.charge().reserved_at);
    let (location, headers, body) = (wanted.location.clone(), Vec::new(), Vec::new());
    let request = Request { connection: conn.spec.key.clone(), method: "GET", location, headers, body };
    let Opened { reply, events } = core.door.open(permit, &request, last).await;
    let exchanged = Exchanged::new(reply, (charge, reserved_at), asking, asking, &request.location);
    (Exchanged { whose: Whose::Clients, ..exchanged }, events)
}

/// Write 2. A stream is a good answer as soon as the provider accepts: what it brings, and whether, is no matter of the account.
async fn learn(
    core: &Arc<Core>,
    conn: &Conn,
    mut exchanged: Exchanged,
    events: Option<EventFlow>,
) -> Result<Opening, Stopped> {
    let (reply, verdict) = match &events {
        Some(_) => {
            let reply = std::mem::replace(&mut exchanged.reply, placeholder());
            exchanged.claims = lessons::claims(core, conn, &exchanged, &reply, None);
            (reply, Verdict::new(Outcome::Data, "status 200, an event stream"))
        }
        None => {
            let (reply, verdict, _) = hear(core, conn, None, &mut exchanged, false);
            (reply, verdict)
        }
    };
    // Before its charge is resolved: in between it would count nowhere.
    let is_counted = events.is_some() && conn.sharing.counts_in_flight();
    let place = is_counted.then(|| Place::take(core, conn, &exchanged));
    let mut state = conn.state.lock().await;
    let after = consequences(core, conn, &exchanged, &reply, verdict.clone(), &state);
    let commit = Commit {
        resolve: after.resolved(core, conn, &exchanged),
        hold: (!after.hold.is_empty()).then_some((conn.credential, after.hold)),
        writes: vec![Write::Connection(conn.spec.key.clone(), after.state.clone())],
        events: after.events,
        findings: after.findings,
        learned: after.learned,
        ..Commit::default()
    };
    let told = core.commit(commit).await.map_err(Stopped::unrecorded(after.status))?;
    *state = after.state;
    drop(state);
    core.publish(told);
    Ok(match (events, reply) {
        (Some(events), _) => Opening::Stream(events, place),
        (None, Reply { result: Ok(answer), .. }) => Opening::Answer(answer, verdict),
        (None, Reply { detail, .. }) => Opening::Nothing(detail),
    })
}
