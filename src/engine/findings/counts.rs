//! What the provider's own count has taught, in words, and what settles it. Must not know how it was learned.

use super::settled_for_all;
use crate::domain::finding::{Finding, FindingChange, FindingKind, Matter, Seen};
use crate::domain::limit::Limit;
use crate::domain::quota::LimitKey;
use crate::domain::time::Stamp;
use crate::engine::core::{Conn, Core};
use crate::rules::learn::{Amount, Lesson, Others};
use crate::rules::quota::NAMELESS;

/// Others who spend on the credential, or their absence.
pub fn others(core: &Core, conn: &Conn, lesson: &Lesson, at: Stamp) -> Vec<FindingChange> {
    let learned = &lesson.learned;
    let limit = &learned.about.limit;
    match lesson.others {
        Others::Unknown | Others::None => Vec::new(),
        Others::Gone => {
            let because = format!("{} has not counted anything but our own requests for a while.", conn.spec.provider);
            settled(core, conn, FindingKind::ForeignSpending, &learned.about, at, &because)
        }
        Others::Spend { at_least, of } => vec![FindingChange::Seen(Seen {
            about: matter(conn, FindingKind::ForeignSpending, &learned.about),
            credential: Some(conn.credential),
            at,
            sentence: format!(
                "Somebody else spends on the credential of {}: at least {at_least} of the {of} of limit \"{limit}\" were \
                 not ours, and our own share is smaller by that.",
                conn.spec.provider
            ),
            detail: Some(format!(
                "By the count that the provider states ({}). Give Larder a credential of its own, or stop the other.",
                learned.source
            )),
        })],
    }
}

/// A limit that is not what is declared.
pub fn amount(core: &Core, conn: &Conn, limit: &Limit, lesson: &Lesson, at: Stamp) -> Vec<FindingChange> {
    let (about, provider, name, declared) = (&lesson.learned.about, &conn.spec.provider, &limit.name, limit.amount);
    let settle =
        |kind| settled(core, conn, kind, about, at, &format!("{provider} states the declared {declared} again."));
    let seen = |kind, sentence, detail| {
        let (about, credential) = (matter(conn, kind, about), Some(conn.credential));
        FindingChange::Seen(Seen { about, credential, at, sentence, detail: Some(detail) })
    };
    match lesson.amount {
        Amount::Unknown => Vec::new(),
        Amount::AsDeclared => [settle(FindingKind::LowerLimit), settle(FindingKind::HigherLimitOffered)].concat(),
        Amount::Lower(lower) => {
            let sentence = format!(
                "{provider} keeps to {lower} of limit \"{name}\", where {declared} are declared; we keep to {lower} too."
            );
            let detail = format!(
                "It says so in {}. The declared {declared} are in force again once it says so.",
                lesson.learned.source
            );
            let mut all = vec![seen(FindingKind::LowerLimit, sentence, detail)];
            all.extend(settle(FindingKind::HigherLimitOffered));
            all
        }
        Amount::Higher(higher) => {
            let sentence = format!(
                "{provider} offers {higher} of limit \"{name}\", where {declared} are declared; {declared} stay in force."
            );
            let take = format!(
                "write `requests = {higher}` under the [[connection.limit]] with name = \"{name}\" in larder.toml"
            );
            let source = &lesson.learned.source;
            let detail = match source.ends_with(NAMELESS) {
                true => {
                    format!("It says so in {source}. If it means this one, {take}; if another, declare that one too.")
                }
                false => format!("To take it, {take}."),
            };
            let mut all = vec![seen(FindingKind::HigherLimitOffered, sentence, detail)];
            all.extend(settle(FindingKind::LowerLimit));
            all
        }
    }
}

fn matter(conn: &Conn, kind: FindingKind, about: &LimitKey) -> Matter {
    let subject = match &about.endpoint {
        Some(endpoint) => format!("{} {endpoint}", about.limit),
        None => about.limit.clone(),
    };
    Matter { connection: conn.spec.key.clone(), target: None, kind, subject }
}

fn settled(
    core: &Core,
    conn: &Conn,
    kind: FindingKind,
    about: &LimitKey,
    at: Stamp,
    because: &str,
) -> Vec<FindingChange> {
    settled_for_all(core, conn, at, because, |c| matter(c, kind, about))
}

/// An amount that the provider stated and that is declared since: its answers only repeat what is so, and nothing would settle the finding.
/// The same where the limit is declared no more.
pub(super) fn declared_since(core: &Core, finding: &Finding, at: Stamp) -> Option<FindingChange> {
    let about = &finding.about;
    if !matches!(about.kind, FindingKind::LowerLimit | FindingKind::HigherLimitOffered) {
        return None;
    }
    let conn = core.connections.get(&about.connection)?;
    let settled = |because: String| Some(FindingChange::Settled { about: about.clone(), at, because });
    let Some((limit, key)) = conn.sharing.limits.iter().find_map(|l| Some((l, of_subject(&about.subject, l)?))) else {
        return settled(format!("The limit is not in the configuration any more: {}", finding.sentence));
    };
    let stated = core.store.learned(conn.credential, &key)?.stated;
    let because = || format!("{} of limit \"{}\" are declared now.", limit.amount, limit.name);
    settled(because()).filter(|_| stated == Some(limit.amount))
}

/// What [`matter`] wrote, if it is of this limit.
fn of_subject(subject: &str, limit: &Limit) -> Option<LimitKey> {
    let rest = subject.strip_prefix(limit.name.as_str())?;
    let endpoint = match rest.strip_prefix(' ') {
        Some(endpoint) => Some(endpoint.into()),
        None if rest.is_empty() => None,
        None => return None,
    };
    Some(LimitKey { limit: limit.name.clone(), endpoint })
}
