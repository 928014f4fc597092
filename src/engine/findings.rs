//! What the engine finds and what settles it, in words. Decides nothing about the data: it tells what the rules decided.

mod counts;
mod pages;

pub use counts::{amount, others};
pub use pages::{scan_incomplete, scan_is_whole, silent_since};

use super::core::{Conn, Core};
use super::targets::Target;
use super::words::{calendar_day, clock_time, counted};
use crate::domain::finding::{Finding, FindingChange, FindingKind, Matter, Seen, Wanted, Which};
use crate::domain::ids::{Endpoint, WebhookKey};
use crate::domain::oauth::Rotation;
use crate::domain::outcome::Outcome;
use crate::domain::reply::Reply;
use crate::domain::target::TargetState;
use crate::domain::time::{Now, Span, Stamp};
use crate::domain::webhook::{DeliveryTrouble, WebhookState};
use crate::rules::ending;
use crate::rules::reconcile::believed_after;
use crate::store::StoreError;

/// Open findings that one page, answer or clean-up looks at.
pub const MOST_OPEN: usize = 200;
/// A webhook that fails for so long is worth knowing of.
const UNDELIVERED: Span = Span::from_secs(600);

/// A set that had members was answered as empty; what it was stays on the shelf until it is said again (A10).
pub fn suddenly_empty(
    conn: &Conn,
    target: &Target,
    before: &TargetState,
    (since, at): (Stamp, Stamp),
) -> FindingChange {
    let earliest = since.wall + believed_after(conn.base_interval());
    let items = counted(before.item_count, "item", "items");
    let as_of = before.as_of.map_or_else(|| "before".to_owned(), |s| format!("at {}", clock_time(s.wall, at.wall)));
    FindingChange::Seen(Seen {
        about: emptiness(target, ""),
        credential: Some(conn.credential),
        at,
        sentence: format!(
            "{} answered {} with nothing, where {items} were {as_of}; those stay until it says so again, not before {}.",
            conn.spec.provider,
            target.key.target,
            clock_time(earliest, at.wall)
        ),
        detail: None,
    })
}

/// An answer without the list that had members: missing, or something else in its place. It is never believed; what was stays.
pub fn lost_its_shape(conn: &Conn, target: &Target, before: &TargetState, why: &str, at: Stamp) -> FindingChange {
    FindingChange::Seen(Seen {
        about: emptiness(target, SHAPE),
        credential: Some(conn.credential),
        at,
        sentence: format!(
            "{} answers {} in another shape ({why}); the {} of before {} until the list is there again.",
            conn.spec.provider,
            target.key.target,
            counted(before.item_count, "item", "items"),
            if before.item_count == 1 { "stays" } else { "stay" }
        ),
        detail: None,
    })
}

/// The provider asked for a longer wait than is credible: the hold is as long as the ceiling allows.
pub fn wait_above_ceiling(conn: &Conn, told: Span, at: Stamp) -> FindingChange {
    FindingChange::Seen(Seen {
        about: ceiling(conn),
        credential: Some(conn.credential),
        at,
        sentence: format!(
            "{} asks us to wait {told}; that is above the ceiling, so the hold is {} long.",
            conn.spec.provider, conn.spec.waits.ceiling
        ),
        detail: Some(
            "If the wait is meant, raise `ceiling` in [connection.waits]; else read the provider's words.".to_owned(),
        ),
    })
}

/// The provider announces the end of what was asked, or does so no more. Only good answers speak of it: others may come from elsewhere.
pub fn ending(conn: &Conn, asked: &Endpoint, reply: &Reply, outcome: Outcome) -> Option<FindingChange> {
    let answer = reply.result.as_ref().ok().filter(|_| outcome.is_good())?;
    let (at, provider) = (reply.arrived_at, &conn.spec.provider);
    let subject = asked.to_string();
    let about = Matter { connection: conn.spec.key.clone(), target: None, kind: FindingKind::Deprecated, subject };
    let Some(ending) = ending::announced(answer) else {
        // A confirmation need not repeat what the answer said.
        let because = format!("{provider} announces no end of {asked} any more.");
        return (outcome == Outcome::Data).then_some(FindingChange::Settled { about, at, because });
    };
    let sunset = ending.sunset.map(|end| format!("{provider} announces the end of {asked} for {}.", calendar_day(end)));
    let deprecated = ending.deprecated.map(|from| {
        let verb = if from > at.wall { "will be" } else { "is" };
        format!("{provider} says that {asked} {verb} deprecated from {} on.", calendar_day(from))
    });
    let sentence: Vec<String> = sunset.into_iter().chain(deprecated).collect();
    Some(FindingChange::Seen(Seen {
        about,
        credential: Some(conn.credential),
        at,
        sentence: sentence.join(" "),
        detail: Some("Look for its successor in the provider's documentation, and name it in larder.toml.".to_owned()),
    }))
}

/// The hold that was as long as the ceiling is over.
pub fn ceiling_is_past(core: &Core, conn: &Conn, at: Stamp) -> Vec<FindingChange> {
    settled_for_all(core, conn, at, &format!("{} answers again.", conn.spec.provider), ceiling)
}

fn ceiling(conn: &Conn) -> Matter {
    let (kind, subject) = (FindingKind::WaitAboveCeiling, String::new());
    Matter { connection: conn.spec.key.clone(), target: None, kind, subject }
}

/// The target was answered: emptiness was confirmed, or was none.
pub fn answered_again(target: &Target, item_count: u64, at: Stamp) -> [FindingChange; 2] {
    let because = match item_count {
        0 => format!("{} is really empty: the provider said so again.", target.key.target),
        _ => format!("{} has its items again.", target.key.target),
    };
    ["", SHAPE].map(|what| FindingChange::Settled { about: emptiness(target, what), at, because: because.clone() })
}

/// Since when the target is answered as empty, if that is not settled.
pub fn empty_since(core: &Core, target: &Target) -> Result<Option<Stamp>, StoreError> {
    Ok(core.store.open_finding(&emptiness(target, ""))?.map(|f| f.opened_at))
}

/// What tells a list that is not there from one that is empty.
const SHAPE: &str = "shape";

fn emptiness(target: &Target, what: &str) -> Matter {
    Matter {
        connection: target.key.connection.clone(),
        target: Some(target.key.target.clone()),
        kind: FindingKind::SuddenEmptiness,
        subject: what.to_owned(),
    }
}

/// Why there is no token.
#[derive(Clone, Copy, Debug)]
pub enum NoToken<'a> {
    /// The refresh token is not accepted any more.
    Dead(Rotation),
    /// And those that are stored cannot be opened with the key file.
    KeyLost,
    /// The newer one cannot be opened with the key file, and the one that it replaced is not sent again.
    Withheld,
    /// The client is not accepted: a code of RFC 6749 section 5.2.
    Client(&'a str),
}

/// What tells the lost key apart: once it is back, nothing has to be granted anew.
const KEY: &str = "larder.key";

/// A person has to grant access anew, or to put the key back.
pub fn no_token(conn: &Conn, why: NoToken<'_>, at: Stamp) -> FindingChange {
    let (provider, connection) = (&conn.spec.provider, &conn.spec.key.connection);
    let dead =
        |why: &str| format!("{provider} does not accept the refresh token of connection {connection} any more: {why}");
    let sentence = match why {
        NoToken::KeyLost => format!(
            "{provider} does not accept the refresh token of connection {connection}, and the key file beside the data file (larder.key) does \
             not open the tokens that are sealed in it. Put the old key file back, and with it the refresh token of that time; without it a \
             token has to be granted anew."
        ),
        NoToken::Withheld => format!(
            "The tokens of connection {connection} are sealed in the data file, and the key file beside it (larder.key) does not open them. \
             {provider} replaced the configured refresh token long ago: it is not sent again, since that could end the one that is sealed. \
             Put the old key file back; without it a token has to be granted anew."
        ),
        NoToken::Dead(Rotation::Keeps) => dead("it was revoked, or its time is up. It has to be granted anew."),
        NoToken::Dead(Rotation::Rotates) => dead(
            "it was revoked, its time is up, or the answer that replaced it was lost when Larder was stopped in the middle of a \
             renewal. It has to be granted anew.",
        ),
        NoToken::Client(code) => format!(
            "{provider} does not accept this client ({code}): check client_id, client_secret, auth and scope of connection {connection}."
        ),
    };
    let subject = if matches!(why, NoToken::KeyLost | NoToken::Withheld) { KEY } else { "" };
    let detail = "Put a new refresh token where the connection's credential lies and send SIGHUP, or set it on the connection's page; items, history and budget stay.";
    let (about, credential) = (tokens(conn, subject), Some(conn.credential));
    FindingChange::Seen(Seen { about, credential, at, sentence, detail: Some(detail.to_owned()) })
}

/// There are tokens, whatever it was that there were none.
pub fn tokens_again(core: &Core, conn: &Conn, at: Stamp, because: &str) -> Vec<FindingChange> {
    let settled = |subject| settled_for_all(core, conn, at, because, |c| tokens(c, subject));
    ["", KEY].map(settled).concat()
}

/// The key is not what is lacking.
pub fn key_is_back(conn: &Conn, at: Stamp, because: &str) -> FindingChange {
    FindingChange::Settled { about: tokens(conn, KEY), at, because: because.to_owned() }
}

/// Whether the key file did not open what was stored, and nothing has settled that since.
pub fn key_was_lost(core: &Core, conn: &Conn) -> Result<bool, StoreError> {
    Ok(core.store.open_finding(&tokens(conn, KEY))?.is_some())
}

fn tokens(conn: &Conn, subject: &str) -> Matter {
    let (connection, kind) = (conn.spec.key.clone(), FindingKind::CredentialReauthorize);
    Matter { connection, target: None, kind, subject: subject.to_owned() }
}

/// For every connection of the credential: whichever saw it, it is over for all.
fn settled_for_all(
    core: &Core,
    conn: &Conn,
    at: Stamp,
    because: &str,
    about: impl Fn(&Conn) -> Matter,
) -> Vec<FindingChange> {
    let sharing = core.connections.values().filter(|c| c.credential == conn.credential);
    sharing.map(|c| FindingChange::Settled { about: about(&c), at, because: because.to_owned() }).collect()
}

/// A webhook that has not been delivered for a while, or is delivered again. `before`: what the trouble was until now.
pub fn webhook(
    key: &WebhookKey,
    before: Option<&DeliveryTrouble>,
    state: &WebhookState,
    now: &Now,
) -> Option<FindingChange> {
    let (connection, subject) = (key.connection.clone(), key.webhook.to_string());
    let about = Matter { connection, target: None, kind: FindingKind::WebhookFailing, subject };
    let at = now.stamp();
    let Some(trouble) = &state.trouble else {
        let because = format!("Webhook \"{}\" is delivered again.", key.webhook);
        return before.map(|_| FindingChange::Settled { about, at, because });
    };
    (now.age_of(trouble.since) >= UNDELIVERED).then(|| {
        FindingChange::Seen(Seen {
            about,
            credential: None,
            at,
            sentence: format!(
                "Webhook \"{}\" has not been delivered since {}: {}.",
                key.webhook,
                clock_time(trouble.since.wall, at.wall),
                trouble.reason
            ),
            detail: Some(
                "Events wait and are sent again, those of a day ago are given up; see the connection's page for them."
                    .to_owned(),
            ),
        })
    })
}

/// `larder.toml` was to be read anew and cannot be: `why`, in sentences.
pub fn configuration_unreadable(why: &str, at: Stamp) -> FindingChange {
    FindingChange::Seen(Seen {
        about: Matter::of_the_appliance(FindingKind::ConfigurationUnreadable),
        credential: None,
        at,
        sentence: format!("The configuration was to be read anew, and cannot be: {why}"),
        detail: Some(
            "The one of before stays in force. A start would fail: put the file right, and have it read anew (SIGHUP)."
                .to_owned(),
        ),
    })
}

/// It was read.
pub fn configuration_read(at: Stamp) -> FindingChange {
    let about = Matter::of_the_appliance(FindingKind::ConfigurationUnreadable);
    FindingChange::Settled { about, at, because: "The configuration can be read again.".to_owned() }
}

/// Findings of what is not in the configuration any more, or is in it as they asked for: nothing will ever settle them.
pub fn orphans(core: &Core, now: &Now) -> Result<Vec<FindingChange>, StoreError> {
    let open = core.store.findings(&Wanted { which: Which::Open, ..Wanted::default() }, None, MOST_OPEN)?;
    let declared = open.iter().filter_map(|f| counts::declared_since(core, f, now.stamp())).collect::<Vec<_>>();
    let is_orphan = |f: &Finding| match (core.connections.get(&f.about.connection), &f.about.target) {
        (None, _) => true,
        (Some(conn), Some(target)) => conn.target(target).is_none() && conn.scan(target).is_none(),
        (Some(_), None) => false,
    };
    let settled = |f: Finding| {
        let because = match f.about.kind {
            // A start has read it.
            FindingKind::ConfigurationUnreadable => return configuration_read(now.stamp()),
            FindingKind::BackupFailing => "Larder was started anew; a backup that is due is tried again.".to_owned(),
            _ => format!("What this was about is not in the configuration any more: {}", f.sentence),
        };
        FindingChange::Settled { about: f.about, at: now.stamp(), because }
    };
    Ok(open.into_iter().filter(is_orphan).map(settled).chain(declared).collect())
}
