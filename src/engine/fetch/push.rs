//! An answer that came without being asked for: it walks the path of a poll's answer (classify, extract, reconcile, commit, publish) with an
//! as-of of its own. No charge is resolved and no hold follows: whatever it says of limits was not said to this appliance.

use super::learn::{self, Content, Learned};
use super::{Stopped, doubt, validators};
use crate::domain::observation::{Became, Observation};
use crate::domain::reply::{Answer, Reply};
use crate::domain::target::TargetState;
use crate::domain::time::{Span, Stamp, Steady};
use crate::engine::core::{Conn, Core};
use crate::engine::phases::Completing;
use crate::engine::targets::Target;
use crate::engine::view::Denied;
use crate::rules::intake;
use crate::store::{Commit, Write};

/// How long the id of an observation is remembered. After that its as-of alone keeps it from taking effect again.
pub const REMEMBERED: Span = Span::from_secs(8 * 86_400);
/// Old ids that one observation lets go of: more than come.
const FORGOTTEN: usize = 4;

/// An observation before it is known what becomes of it.
pub struct Pushed {
    pub id: String,
    /// Over all that it says.
    pub digest: [u8; 16],
    pub as_of: Stamp,
    pub received_at: Stamp,
    pub by: String,
    pub answer: Answer,
}

/// What became of it, and whether it had been taken in before.
pub struct Taken {
    pub observation: Observation,
    pub again: bool,
}

/// Takes one in, durably, or says why not. The same again is the same: nothing happens twice.
pub async fn take(core: &Core, conn: &Conn, target: &Target, pushed: Pushed) -> Result<Taken, Denied> {
    // An answer that is under way is older than what it meets, or newer: one after the other.
    let _flight = target.flight.lock().await;
    let _intake = conn.targets.intake.lock().await;
    if let Some(known) = core.store.observation(&conn.spec.key, &pushed.id)? {
        return again(known, target, &pushed);
    }
    let before = core.store.target(&target.key)?.unwrap_or_default();
    let standing = core.store.standing(&target.key)?;
    let shown = standing.as_ref().map(|one| (one.as_of, one.id.as_str()));
    if !intake::is_newer((pushed.as_of, &pushed.id), &before, shown) {
        let observation = pushed.became(target, Became::Older);
        core.commit(Commit { writes: written(core, conn, &observation)?, ..Commit::default() }).await?;
        return Ok(Taken { observation, again: false });
    }
    take_newer(core, conn, target, before, pushed).await
}

fn again(known: Observation, target: &Target, pushed: &Pushed) -> Result<Taken, Denied> {
    if known.digest != pushed.digest || known.target != target.key.target {
        return Err(Denied::OtherContent(format!(
            "the id \"{}\" stands for another observation already; one that says something else needs an id of its own",
            pushed.id
        )));
    }
    Ok(Taken { observation: known, again: true })
}

async fn take_newer(
    core: &Core,
    conn: &Conn,
    target: &Target,
    before: TargetState,
    pushed: Pushed,
) -> Result<Taken, Denied> {
    let reply = Reply { arrived_at: pushed.as_of, result: Ok(pushed.answer.clone()), detail: String::new() };
    let (reply, verdict, body) = learn::classify(core, conn, reply, false);
    let (verdict, content) =
        learn::content(core, conn, target, &before, &reply, verdict, body).map_err(|stopped| failed(&stopped))?;
    let completing = match &content {
        Content::Replaced(result) => Completing::by(core, conn, target, Some(result), pushed.as_of).await?,
        _ => None,
    };
    let (became, learned) = match content {
        Content::Replaced(mut result) => {
            // Validators are of what was asked for: they would confirm another answer than this one.
            (result.state.etag, result.state.last_modified) = (None, None);
            let became = if result.changed { Became::Applied } else { Became::Unchanged };
            (became, learn::replaced(target, &before, *result, pushed.as_of))
        }
        Content::Doubted(since) => {
            let before = validators::unconfirmed(&before, None);
            (Became::Doubted, doubt::doubted(conn, target, &before, since, pushed.as_of))
        }
        _ => {
            let said = verdict.said.map(|said| format!(": \u{201c}{said}\u{201d}")).unwrap_or_default();
            let why = format!(
                "this is no good answer of {} ({}, {}){said}",
                target.key.target,
                verdict.outcome.word(),
                verdict.rule
            );
            return Err(Denied::Invalid(why));
        }
    };
    let observation = pushed.became(target, became);
    let mut writes = written(core, conn, &observation)?;
    let Learned { writes: rows, events, findings, .. } = learned;
    let (phase_row, phase_event) = completing.as_ref().map(|c| (c.row(target), c.event(target))).unzip();
    writes.extend(rows.into_iter().chain(phase_row));
    let events = events.into_iter().chain(phase_event).collect();
    let events = core.commit(Commit { writes, events, findings, ..Commit::default() }).await?;
    if let Some(completing) = completing {
        completing.is_durable(core, conn, target);
    }
    let is_told = !events.is_empty();
    core.publish(events);
    if became.is_shown() && !is_told {
        core.hint_seen(&target.key, observation.as_of, ", unchanged");
    }
    tracing::info!(target = %target.key, by = observation.by, became = became.word(), "an answer was pushed");
    Ok(Taken { observation, again: false })
}

fn failed(stopped: &Stopped) -> Denied {
    match stopped {
        Stopped::Store(error) => Denied::Unavailable(error.to_string()),
        _ => Denied::Unavailable("it could not be taken in; push it again".to_owned()),
    }
}

impl Pushed {
    fn became(&self, target: &Target, became: Became) -> Observation {
        Observation {
            id: self.id.clone(),
            target: target.key.target.clone(),
            digest: self.digest,
            as_of: self.as_of,
            received_at: self.received_at,
            by: self.by.clone(),
            became,
        }
    }
}

/// Its rows, and those of a few that are old enough to be forgotten.
fn written(core: &Core, conn: &Conn, observation: &Observation) -> Result<Vec<Write>, Denied> {
    let key = &conn.spec.key;
    let before = Steady(observation.received_at.steady.0.saturating_sub(REMEMBERED.0));
    let old = core.store.observations_before(key, before, FORGOTTEN)?;
    let forget = |(at, id)| Write::ForgetObservation(key.clone(), at, id);
    Ok(std::iter::once(Write::Observe(key.clone(), observation.clone())).chain(old.into_iter().map(forget)).collect())
}
