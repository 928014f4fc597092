//! Answers that others push: agents that stand where a provider can be reached, and who else has a token for it. Says how old one is and
//! whose; `fetch::push` walks the path of an answer with it. Must not know how it came in.

use super::appliance::Appliance;
use super::fetch::push::{self, Pushed, Taken};
use super::targets::Target;
use super::view::{Denied, ObservationView, PushedView, TargetView, When};
use crate::domain::ids::{ConnectionKey, TargetKey};
use crate::domain::observation::Became;
use crate::domain::reply::Answer;
use crate::domain::time::{Stamp, Wall};
use crate::rules::intake::{self, Undated};
use std::sync::PoisonError;

/// The longest id.
pub const LONGEST_ID: usize = 128;

/// An answer as it is pushed. `answer` says in its digest all that the sender said of it.
#[derive(Clone, Debug)]
pub struct Observed {
    pub id: String,
    /// By the clock of the sender.
    pub as_of: Wall,
    /// What that clock showed when it was sent, where the sender says so.
    pub sent_at: Option<Wall>,
    pub answer: Answer,
}

impl Appliance {
    /// Takes a pushed answer in. Once it says so, it is durable; what was taken in before is not taken in again. Goes on if the caller goes
    /// away.
    pub async fn observe(&self, key: &TargetKey, observed: Observed, by: &str) -> Result<ObservationView, Denied> {
        let (own, key, by) = (self.clone(), key.clone(), by.to_owned());
        self.to_the_end(async move { own.taken_in(&key, observed, by).await }).await
    }

    async fn taken_in(&self, key: &TargetKey, observed: Observed, by: String) -> Result<ObservationView, Denied> {
        let (conn, target) = self.target_of(key)?;
        if !target.spec.push {
            return Err(Denied::Invalid(format!(
                "{} takes no pushed answers; `push = true` at its [[connection.target]] lets it",
                key.target
            )));
        }
        is_id(&observed.id)?;
        let now = self.now();
        let as_of = intake::dated(observed.as_of, observed.sent_at, &now).map_err(undated)?;
        let pushed = Pushed {
            digest: digest(&observed),
            id: observed.id,
            as_of,
            received_at: now.stamp(),
            by,
            answer: observed.answer,
        };
        let Taken { observation, again } = push::take(&self.core, &conn, &target, pushed).await?;
        if !again {
            let mut counts = conn.targets.pushed.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry(observation.became).or_default() += 1;
        }
        Ok(ObservationView {
            id: observation.id,
            became: observation.became.word(),
            again,
            as_of: When(observation.as_of.wall),
            received_at: When(observation.received_at.wall),
        })
    }

    /// Observations that were taken in since the start, by connection and what became of them.
    pub fn intake_counts(&self) -> Vec<(ConnectionKey, Became, u64)> {
        let mut counts = Vec::new();
        for conn in self.core.connections.values() {
            let pushed = conn.targets.pushed.lock().unwrap_or_else(PoisonError::into_inner);
            let takes = conn.targets.now().iter().any(|target| target.spec.push);
            let words = Became::ALL.into_iter().filter(|_| takes || !pushed.is_empty());
            let count = |became| (conn.spec.key.clone(), became, pushed.get(&became).copied().unwrap_or(0));
            counts.extend(words.map(count));
        }
        counts
    }

    /// The view of an answer of that moment, with where it came from if it was pushed.
    pub(super) fn sourced(
        &self,
        target: &Target,
        as_of: Option<Stamp>,
        view: TargetView,
    ) -> Result<TargetView, Denied> {
        if !target.spec.push {
            return Ok(view);
        }
        let standing = self.core.store.standing(&target.key)?;
        let pushed = standing.filter(|one| Some(one.as_of) == as_of).map(|one| PushedView {
            id: one.id,
            by: one.by,
            received_at: When(one.received_at.wall),
        });
        Ok(TargetView { pushed, ..view })
    }
}

fn is_id(id: &str) -> Result<(), Denied> {
    if (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Denied::Invalid(format!("\"id\" has 1 to {LONGEST_ID} letters, digits and signs of ASCII, without spaces")))
}

fn undated(why: Undated) -> Denied {
    match why {
        Undated::OwnClock => Denied::Unavailable(
            "the clock of this machine is in doubt, so that nobody could say how old this is; push it again later"
                .to_owned(),
        ),
        Undated::Ahead(by) => Denied::Invalid(format!(
            "\"as_of\" is {} ahead of this appliance's clock; put the sender's clock right, or say in \"sent_at\" what it shows",
            by.exact()
        )),
        Undated::AfterSent => {
            Denied::Invalid("\"as_of\" is later than \"sent_at\": nothing is sent before it is made".to_owned())
        }
        Undated::BeforeTime => {
            Denied::Invalid("\"as_of\" is before anything that this appliance can tell the age of".to_owned())
        }
    }
}

/// Not the moment at which it is sent: that is another each time.
fn digest(observed: &Observed) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(&observed.as_of.0.to_le_bytes());
    part(&observed.answer.status.to_le_bytes());
    for (name, value) in &observed.answer.headers {
        part(name.as_bytes());
        part(value.as_bytes());
    }
    part(&observed.answer.body);
    let mut short = [0; 16];
    short.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    short
}
