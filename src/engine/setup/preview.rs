//! What an answer that is kept, or that a trial has just brought, becomes by these words. Asks nobody but for the trial, which is a probe.

use crate::domain::ids::{TargetKey, TargetName};
use crate::domain::item::{Item, Sighting};
use crate::domain::reply::{Answer, Reply};
use crate::domain::setup::Sample;
use crate::domain::spec::{ConnectionSpec, TargetSpec};
use crate::domain::target::TargetState;
use crate::domain::time::{Now, Span, Stamp};
use crate::engine::appliance::Appliance;
use crate::engine::core::Conn;
use crate::engine::items;
use crate::engine::targets::Target;
use crate::engine::view::{Denied, ItemView, ProbeView, When};
use crate::rules::trial::trial;
use crate::store::Write;

/// Bytes of an answer that are kept to try words on; a longer one is not.
const MOST_SAMPLE: usize = 256 * 1024;
/// A poll keeps an answer at most so often: it is to try words on, and the card that it is written to wears.
const SAMPLED_EVERY: Span = Span::from_secs(24 * 3600);
/// Nor where a connection has more targets: then one pattern made most of them.
const MOST_SAMPLED: usize = 50;
/// Of an answer that is shown.
const MOST_SHOWN: usize = 16 * 1024;
/// Items that are shown.
const MOST_ITEMS: usize = 20;

/// What words make of an answer.
#[derive(Clone, Debug)]
pub struct PreviewView {
    /// When the answer came that they were tried on; `None`: none is kept.
    pub at: Option<When>,
    /// Its beginning, without secrets.
    pub body: String,
    pub is_cut: bool,
    /// What Larder takes it for: `data`, `limited`, ...
    pub outcome: &'static str,
    pub rule: String,
    pub said: Option<String>,
    pub item_count: u64,
    /// The first of them.
    pub items: Vec<ItemView>,
    /// What is wrong with the words.
    pub wrong: Vec<String>,
    /// Requests of one round, in units of the limits.
    pub units: u32,
}

/// What came of a trial.
#[derive(Clone, Debug)]
pub struct TrialView {
    pub probe: ProbeView,
    pub preview: PreviewView,
}

impl Appliance {
    /// Asks once for a target, and says what the answer becomes. Costs what a probe costs.
    pub async fn try_out(&self, key: &TargetKey, by: &str) -> Result<TrialView, Denied> {
        let probe = self.probe(&key.connection, Some(key.target.as_str()), by).await?;
        Ok(TrialView { probe, preview: self.preview(key, None)? })
    }

    /// What the answer that is kept becomes by these words; `None`: by those in force. Costs nothing.
    pub fn preview(&self, key: &TargetKey, words: Option<&str>) -> Result<PreviewView, Denied> {
        let (conn, target) = self.target_of(key)?;
        let sample = self.core.store.sample(key)?;
        let spec = match words {
            None => Ok(target.spec.clone()),
            Some(words) => self.read_words(&conn, &key.target, words)?,
        };
        Ok(match spec {
            Ok(spec) => self.tried(&conn.spec, &spec, sample),
            Err(wrong) => PreviewView { wrong, ..nothing(&target.spec) },
        })
    }

    /// The words as a target, or what is wrong with them.
    fn read_words(
        &self,
        conn: &Conn,
        name: &TargetName,
        words: &str,
    ) -> Result<Result<TargetSpec, Vec<String>>, Denied> {
        let body = match self.scribe()?.as_put(words) {
            Ok(body) => body,
            Err(why) => return Ok(Err(vec![why])),
        };
        Ok((conn.putting.read)(&conn.spec.key, name, &body))
    }

    fn tried(&self, connection: &ConnectionSpec, target: &TargetSpec, sample: Option<Sample>) -> PreviewView {
        let Some(sample) = sample else { return nothing(target) };
        let shown = String::from_utf8_lossy(&sample.body[..sample.body.len().min(MOST_SHOWN)]).into_owned();
        let (body, is_cut, at) = (shown, sample.body.len() > MOST_SHOWN, Some(When(sample.at.wall)));
        let answer = Answer { status: 200, headers: Vec::new(), body: sample.body };
        match trial(connection, Some(target), answer, sample.at.wall) {
            Ok(tried) => {
                let found = tried.items.unwrap_or_default();
                let view = |sighting: &Sighting| item(&tried.now, target, sighting);
                PreviewView {
                    at,
                    body,
                    is_cut,
                    outcome: tried.verdict.outcome.word(),
                    rule: tried.verdict.rule.clone(),
                    said: tried.verdict.said.clone(),
                    item_count: found.len() as u64,
                    items: found.iter().take(MOST_ITEMS).map(view).collect(),
                    ..nothing(target)
                }
            }
            Err(wrong) => PreviewView { at, body, is_cut, wrong, ..nothing(target) },
        }
    }
}

/// Where no answer is kept, or the words cannot be tried.
fn nothing(target: &TargetSpec) -> PreviewView {
    PreviewView {
        at: None,
        body: String::new(),
        is_cut: false,
        outcome: "",
        rule: String::new(),
        said: None,
        item_count: 0,
        items: Vec::new(),
        wrong: Vec::new(),
        units: target.cost,
    }
}

/// As it would be shown at the moment of its answer.
fn item(now: &Now, target: &TargetSpec, sighting: &Sighting) -> ItemView {
    let at = now.stamp();
    let item = Item {
        key: sighting.key.clone(),
        title: sighting.title.clone(),
        state: sighting.state.clone(),
        fields: sighting.fields.clone(),
        fingerprint: sighting.fingerprint,
        first_seen: at,
        changed: at,
        removed: None,
    };
    items::item(now, target, &TargetState { as_of: Some(at), ..TargetState::default() }, &item)
}

/// Why an answer is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Polled,
    /// Somebody asked to see it.
    Probed,
}

/// Of an answer that a poll brought, if it replaces the one before.
pub fn of_poll(conn: &Conn, target: &Target, replaces: bool, reply: &Reply) -> Option<Write> {
    let answer = reply.result.as_ref().ok().filter(|_| replaces)?;
    sample(conn, target, &answer.body, reply.arrived_at, Why::Polled)
}

/// What is kept of an answer to try words on: of a probe always, of a poll now and then, and of neither where it is long.
pub fn sample(conn: &Conn, target: &Target, body: &[u8], at: Stamp, why: Why) -> Option<Write> {
    let is_due = match why {
        Why::Probed => true,
        Why::Polled => conn.targets.now().len() <= MOST_SAMPLED && target.is_sample_due(at.steady, SAMPLED_EVERY),
    };
    if !is_due || body.is_empty() || body.len() > MOST_SAMPLE {
        return None;
    }
    target.is_sampled(at.steady);
    Some(Write::Sample(target.key.clone(), Sample { at, body: body.to_vec() }))
}
