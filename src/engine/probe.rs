//! An operator's probe (F2): one question to the provider, to see what it says now. Paid for like every other request, as the caller
//! `probe`; what it costs is said before and after. The shelf and the poll clock are not touched, what it teaches of limits and holds is.

use super::appliance::Appliance;
use super::core::{Conn, Core};
use super::fetch::exchange::{Asking, Exchanged, admit, exchange};
use super::fetch::learn::{consequences, hear};
use super::fetch::{Stopped, first_request, token};
use super::present;
use super::setup::preview::{self, Why};
use super::targets::Target;
use super::view::{Denied, ProbeView, Probed, When};
use super::words::{self, Telling};
use crate::domain::event::{EventKind, NewEvent};
use crate::domain::ids::{Caller, ConnectionKey, TargetName};
use crate::domain::outcome::Outcome;
use crate::domain::time::Stamp;
use crate::store::{Commit, Write};
use std::sync::Arc;

impl Appliance {
    /// What a probe would ask and take, and whether it could go now. Spends nothing. `target`: the cheapest unless one is named.
    pub async fn probe_cost(&self, key: &ConnectionKey, target: Option<&str>) -> Result<ProbeView, Denied> {
        let (conn, target) = self.probed(key, target)?;
        let asking = asking(&target).ok_or_else(|| fed(&target))?;
        let now = self.now();
        let ask = conn.ask(asking.caller, asking.endpoint.clone(), asking.cost);
        let paused = !conn.may_probe(&*conn.state.lock().await);
        let refused = match self.core.store.would_admit(conn.credential, &now, &ask) {
            _ if paused => Some("the connection is paused".to_owned()),
            Err(refusal) => Some(words::why(&Stopped::Refused(refusal), &now, Telling::Anew)),
            Ok(()) => None,
        };
        self.view(&conn, &asking, refused, None)
    }

    /// Asks. Refused at once where the budget does not fund it. Goes on if the caller goes away.
    pub async fn probe(&self, key: &ConnectionKey, target: Option<&str>, by: &str) -> Result<ProbeView, Denied> {
        let (conn, target) = self.probed(key, target)?;
        self.core.begun.cancelled().await;
        if !conn.provenance.is_on_trial() {
            self.refuse_while_paused(&conn).await?;
        }
        tracing::info!(connection = %key, target = %target.key.target, by, "probe by hand");
        let asked = asking(&target).ok_or_else(|| fed(&target))?;
        let (own, line, asking, by) = (self.clone(), conn.clone(), asked.clone(), by.to_owned());
        let probing = async move {
            let probed = ask(&own.core, &line, &target, asking, &by).await;
            probed.map_err(|stopped| own.denied(&stopped, "No probe"))
        };
        let probed = self.to_the_end(probing).await?;
        self.view(&conn, &asked, None, Some(probed))
    }

    fn probed(&self, key: &ConnectionKey, named: Option<&str>) -> Result<(Arc<Conn>, Arc<Target>), Denied> {
        let conn = self.conn(key)?;
        let target = match named {
            Some(name) => conn.target(&TargetName::from(name)),
            None => conn.targets.now().iter().filter(|t| t.endpoint.is_some()).min_by_key(|t| t.cost()).cloned(),
        };
        let missing = || match named {
            Some(name) => format!("{} has no target \"{name}\"", key.connection),
            None => format!("{} has no target that can be asked by itself", key.connection),
        };
        let target = target.ok_or_else(|| Denied::NotFound(missing()))?;
        Ok((conn, target))
    }

    fn view(
        &self,
        conn: &Conn,
        asking: &Asking,
        refused: Option<String>,
        probed: Option<Probed>,
    ) -> Result<ProbeView, Denied> {
        let (renewals, their_units) = if probed.is_none() { token::due(&self.core, conn) } else { (0, 0) };
        let touched = |limit: &super::view::BudgetView| limit.endpoint.iter().all(|e| *e == asking.endpoint.as_str());
        let budget = present::connection(&self.core, conn)?.budget.into_iter().filter(touched).collect();
        Ok(ProbeView {
            connection: conn.spec.key.connection.to_string(),
            target: asking.target.as_ref().map(ToString::to_string).unwrap_or_default(),
            endpoint: asking.endpoint.to_string(),
            caller: Caller::Probe.word(),
            requests: 1 + renewals,
            units: asking.cost + their_units,
            refused,
            budget,
            probed,
        })
    }
}

fn asking(target: &Target) -> Option<Asking> {
    let endpoint = target.endpoint.clone()?;
    Some(Asking { caller: Caller::Probe, target: Some(target.key.target.clone()), endpoint, cost: target.cost() })
}

fn fed(target: &Target) -> Denied {
    Denied::Invalid(format!("{} has no request of its own; probe another target", target.key.target))
}

/// Behind everybody who waits: who comes first and could go now is a reason to say no.
async fn ask(core: &Core, conn: &Conn, target: &Target, asking: Asking, by: &str) -> Result<Probed, Stopped> {
    loop {
        let current = core.connections.get(&conn.spec.key);
        match ask_with(core, current.as_deref().unwrap_or(conn), target, asking.clone(), by).await {
            // What is asked is another question now, which nobody has seen.
            Err(Stopped::Superseded) if !core.asks_still(conn, target) => return Err(Stopped::Superseded),
            Err(Stopped::Superseded) => {}
            done => return done,
        }
    }
}

async fn ask_with(core: &Core, conn: &Conn, target: &Target, asking: Asking, by: &str) -> Result<Probed, Stopped> {
    let request = first_request(core, conn, target)?;
    let line = core.turns(conn.credential);
    let turn = line.as_ref().map(|l| l.enter(conn.ask(asking.caller, asking.endpoint.clone(), asking.cost)));
    for _ in 0..super::turns::COURTESIES {
        let Some(at) = turn.as_ref().and_then(|turn| turn.gives_way(core, conn.credential)) else { break };
        core.clock.sleep_until(at).await;
    }
    token::ensure(core, conn, asking.caller).await?;
    // Somebody may have switched the connection off while it waited in line.
    let state = conn.state.lock().await;
    if !core.may_ask(conn, &state, asking.caller) {
        return Err(Stopped::Paused);
    }
    let permit = admit(core, conn, conn.credential, &asking, Box::new(|_| Vec::new())).await?;
    drop(state);
    turn.iter().for_each(super::turns::Turn::went);
    let exchanged = exchange(core, conn, &asking, permit, request).await?;
    learn(core, conn, target, exchanged, by).await
}

/// The charge is resolved with what the answer says of limits, holds and the breaker, and nothing else.
async fn learn(
    core: &Core,
    conn: &Conn,
    target: &Target,
    mut exchanged: Exchanged,
    by: &str,
) -> Result<Probed, Stopped> {
    let (reply, verdict, _) = hear(core, conn, target.cost_from.as_ref(), &mut exchanged, false);
    let mut state = conn.state.lock().await;
    let after = consequences(core, conn, &exchanged, &reply, verdict, &state);
    let probed = Probed {
        outcome: after.verdict.outcome.word(),
        status: after.status,
        rule: after.verdict.rule.clone(),
        said: after.verdict.said.clone(),
        units: exchanged.charged.max(exchanged.cost.unwrap_or(0)),
        at: When(reply.arrived_at.wall),
    };
    let told = event(target, &probed, by, reply.arrived_at);
    let good = after.verdict.outcome == Outcome::Data || conn.provenance.is_on_trial();
    let body = reply.result.as_ref().ok().filter(|_| good).map(|answer| answer.body.as_slice());
    let sample = body.and_then(|body| preview::sample(conn, target, body, reply.arrived_at, Why::Probed));
    let commit = Commit {
        resolve: after.resolved(core, conn, &exchanged),
        hold: (!after.hold.is_empty()).then_some((conn.credential, after.hold)),
        writes: [Write::Connection(conn.spec.key.clone(), after.state.clone())].into_iter().chain(sample).collect(),
        events: std::iter::once(told).chain(after.events).collect(),
        findings: after.findings,
        learned: after.learned,
        ..Commit::default()
    };
    let events = core.commit(commit).await?;
    *state = after.state;
    drop(state);
    core.publish(events);
    Ok(probed)
}

/// `controller probed by ann: limited (429), 1 unit: "slow down"`.
fn event(target: &Target, probed: &Probed, by: &str, at: Stamp) -> NewEvent {
    let status = probed.status.map(|status| format!(" ({status})")).unwrap_or_default();
    let units = words::counted(probed.units.into(), "unit", "units");
    let said = probed.said.as_ref().map(|said| format!(": \u{201c}{said}\u{201d}")).unwrap_or_default();
    let (name, outcome) = (&target.key.target, probed.outcome.replace('_', " "));
    NewEvent {
        kind: EventKind::Probed,
        at,
        connection: Some(target.key.connection.clone()),
        target: Some(name.clone()),
        message: format!("{name} probed by {by}: {outcome}{status}, {units}{said}"),
    }
}
