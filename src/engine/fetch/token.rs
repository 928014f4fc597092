//! A credential that renews itself: one renewal at a time for each, paid like any request, its answer durable before its first use.
//! Decides when; what a token is only the door's vault knows.

use super::exchange::{Asking, Exchanged, admit};
use super::{Stopped, holds, learn};
use crate::domain::charge::{Resolution, Settlement};
use crate::domain::connection::{Hold, HoldChange, HoldScope};
use crate::domain::event::NewEvent;
use crate::domain::finding::FindingChange;
use crate::domain::ids::{Caller, ChargeId, CredentialId};
use crate::domain::limit::{Kind, Limit, Scope};
use crate::domain::oauth::{Counted, OAuthSpec};
use crate::domain::outcome::{Outcome, Reach, Verdict, WaitHint};
use crate::domain::reply::Reply;
use crate::domain::spec::endpoint_of;
use crate::domain::time::{Span, Stamp};
use crate::engine::core::{Conn, Core};
use crate::engine::findings::{self, NoToken};
use crate::engine::words::{KEY_FILE, TOKEN_ENDPOINT};
use crate::rules::budget::{Permit, Refusal};
use crate::store::{Commit, StoreError, Swap};
use crate::upstream::tokens::{Renewal, Renewed, Standing, Vault};

/// How long nothing is looked at again while the key is lost: whatever ends that comes with a start.
const WITHHELD: Span = Span::from_secs(24 * 3600);
const KEY_IS_BACK: &str = "The key file opens what is stored again.";

/// The budget of renewals that the provider does not count: a loop is impossible, a working token never meets it.
pub fn own_pace() -> Vec<Limit> {
    let limit = |name: &str, amount, window| Limit {
        name: name.to_owned(),
        amount,
        kind: Kind::Rolling { window },
        scope: Scope::Credential,
        keep: Default::default(),
        reach: Default::default(),
        cap: Default::default(),
    };
    vec![
        limit("token renewals a minute", 6, Span::from_secs(60)),
        limit("token renewals an hour", 30, Span::from_secs(3600)),
    ]
}

/// Whose ledger the renewals are in that the provider does not count.
pub fn apart(credential: CredentialId) -> CredentialId {
    CredentialId(credential.0.map(|byte| byte ^ 0xA5))
}

/// Renewals are counted at the whole address, since it may be another host.
fn asking(oauth: &OAuthSpec, caller: Caller) -> Asking {
    Asking { caller, target: None, endpoint: endpoint_of(&oauth.token_url), cost: 1 }
}

fn count(core: &Core, conn: &Conn, oauth: &OAuthSpec, caller: Caller, resolution: &Resolution) {
    let Asking { endpoint, cost, .. } = asking(oauth, caller);
    let units = if resolution.settlement == Settlement::Voided { 0 } else { cost };
    core.count(&conn.spec.key, (caller, &endpoint), resolution.outcome, units);
}

fn renewing<'a>(core: &'a Core, conn: &'a Conn) -> Option<(&'a OAuthSpec, &'a Vault)> {
    Some((conn.spec.oauth.as_ref()?, core.door.vault()?))
}

/// The version of the tokens that the next request carries; `None` where none travel.
pub fn version(core: &Core, conn: &Conn) -> Option<u64> {
    let (_, vault) = renewing(core, conn)?;
    Some(vault.standing(conn.credential, core.clock.now().steady).version)
}

/// Requests and units that come before the next request, for a token that is to be renewed first.
pub fn due(core: &Core, conn: &Conn) -> (u32, u32) {
    match renewing(core, conn) {
        Some((oauth, vault)) if !vault.standing(conn.credential, core.clock.now().steady).valid => {
            (1, if oauth.counted == Counted::Budget { 1 } else { 0 })
        }
        _ => (0, 0),
    }
}

/// Sees to it that there is an access token whose time is not up. Without one it costs a renewal; with one, nothing.
pub async fn ensure(core: &Core, conn: &Conn, caller: Caller) -> Result<(), Stopped> {
    match renewing(core, conn) {
        Some((_, vault)) if !vault.standing(conn.credential, core.clock.now().steady).valid => {
            renew(core, conn, caller, None).await
        }
        _ => Ok(()),
    }
}

/// New tokens, unless somebody else got them meanwhile. `rejected`: the version that a request was refused with.
pub async fn renew(core: &Core, conn: &Conn, caller: Caller, rejected: Option<u64>) -> Result<(), Stopped> {
    let Some((oauth, vault)) = renewing(core, conn) else { return Ok(()) };
    let Some(alone) = core.renewal(conn.credential) else { return Ok(()) };
    let _alone = alone.lock().await;
    let standing = vault.standing(conn.credential, core.clock.now().steady);
    if standing.valid && rejected.is_none_or(|version| version != standing.version) {
        return Ok(());
    }
    // An answer that the disk did not take is not asked for again: with a rotating token it may be the only way in.
    if let Some(sealed) = vault.pending(conn.credential) {
        return store(core, conn, vault, sealed, standing.version).await;
    }
    vault.doubt(conn.credential);
    if let Some(hold) = held(core, conn) {
        return Err(stopped(Some(hold)));
    }
    if standing.withheld {
        return Err(stopped(withhold(core, conn, oauth, vault, caller).await?));
    }
    let permit = permit(core, conn, oauth, caller).await?;
    let (charge, reserved_at, paid_by) = (permit.id(), permit.charge().reserved_at, permit.charge().credential);
    let renewal = core.door.renew(permit, conn.credential).await;
    let at = renewal.arrived_at;
    let done = Paid { resolve: |r| Some((paid_by, charge, r)), reserved_at, caller };
    match renewal.result {
        Renewed::Granted(sealed) => {
            store(core, conn, vault, sealed, standing.version).await?;
            let settled =
                findings::tokens_again(core, conn, at, &format!("{} gives tokens again.", conn.spec.provider));
            let resolution = resolution(at, Outcome::Data, renewal.status, "token renewed".to_owned(), None);
            count(core, conn, oauth, caller, &resolution);
            let events = core.commit(commit(conn, (done.resolve)(resolution), Vec::new(), Vec::new(), settled)).await?;
            core.publish(events);
            Ok(())
        }
        Renewed::InvalidGrant(_) if follow(core, conn, vault, standing.version)? => {
            let rule = format!("{TOKEN_ENDPOINT}somebody else renewed first");
            let resolution = resolution(at, Outcome::CredentialRejected, renewal.status, rule, None);
            count(core, conn, oauth, caller, &resolution);
            core.commit(commit(conn, (done.resolve)(resolution), Vec::new(), Vec::new(), Vec::new())).await?;
            Ok(())
        }
        _ => Err(failed(core, conn, oauth, renewal, done).await?),
    }
}

/// What a renewal was paid with.
struct Paid<F> {
    resolve: F,
    reserved_at: Stamp,
    caller: Caller,
}

type Resolve = Option<(CredentialId, ChargeId, Resolution)>;

/// What stops every renewal, whatever pays for it.
fn held(core: &Core, conn: &Conn) -> Option<Hold> {
    let now = core.clock.now().steady;
    core.store.holds(conn.credential).into_iter().find(|h| h.scope == HoldScope::Credential && h.is_in_force(now))
}

/// A renewal is charged where the provider counts it, else against a pace of our own.
async fn permit(core: &Core, conn: &Conn, oauth: &OAuthSpec, caller: Caller) -> Result<Permit, Stopped> {
    let asking = asking(oauth, caller);
    let payer = match oauth.counted {
        Counted::Budget => conn.credential,
        Counted::Apart => apart(conn.credential),
    };
    admit(core, conn, payer, &asking, Box::new(|_| Vec::new())).await
}

/// Durable first, used afterwards. Where somebody else was first, theirs is used (A51).
async fn store(core: &Core, conn: &Conn, vault: &Vault, bytes: Vec<u8>, seen: u64) -> Result<(), Stopped> {
    match core.store.swap_sealed(Swap { credential: conn.credential, seen, bytes }).await? {
        Some(version) => vault.adopt(conn.credential, version),
        None => {
            follow(core, conn, vault, seen)?;
        }
    }
    conn.sharing.token_life.learn(vault.standing(conn.credential, core.clock.now().steady).lives);
    Ok(())
}

/// Takes what is stored if it is not what was used: the token that failed is not the one that counts.
fn follow(core: &Core, conn: &Conn, vault: &Vault, seen: u64) -> Result<bool, StoreError> {
    let stored = core.store.sealed(conn.credential)?.filter(|sealed| sealed.version != seen);
    Ok(stored.is_some_and(|sealed| vault.follow(conn.credential, sealed.version, &sealed.bytes)))
}

/// What was heard, or is known without asking, and what it was paid with.
struct Refused {
    verdict: Verdict,
    finding: Option<FindingChange>,
    at: Stamp,
    reserved_at: Stamp,
    resolve: Resolve,
}

/// Holds everything that needs the token, and says so. Nothing that is stored is cleared.
async fn failed(
    core: &Core,
    conn: &Conn,
    oauth: &OAuthSpec,
    renewal: Renewal,
    paid: Paid<impl FnOnce(Resolution) -> Resolve>,
) -> Result<Stopped, Stopped> {
    let (verdict, finding, settlement) = judged(core, conn, oauth, &renewal);
    if let (Outcome::CredentialRejected, Some((_, vault))) = (verdict.outcome, renewing(core, conn)) {
        mark(core, conn, vault, true).await?;
    }
    let (at, reserved_at) = (renewal.arrived_at, paid.reserved_at);
    let resolution = Resolution {
        settlement,
        ..resolution(at, verdict.outcome, renewal.status, verdict.rule.clone(), verdict.said.clone())
    };
    count(core, conn, oauth, paid.caller, &resolution);
    let refused = Refused { verdict, finding, at, reserved_at, resolve: (paid.resolve)(resolution) };
    Ok(stopped(hold(core, conn, &asking(oauth, paid.caller), refused).await?))
}

/// The configured token was replaced by one that only the lost key opens: a person is asked for one of the two, the provider is not asked.
async fn withhold(
    core: &Core,
    conn: &Conn,
    oauth: &OAuthSpec,
    vault: &Vault,
    caller: Caller,
) -> Result<Option<Hold>, StoreError> {
    mark(core, conn, vault, true).await?;
    let at = core.clock.now().stamp();
    let source =
        "the lost key file: nothing is sent until it is back or another refresh token is configured".to_owned();
    let verdict = Verdict {
        wait: Some(WaitHint { wait: WITHHELD, beyond: None, source }),
        ..rejected(format!("{KEY_FILE}it does not open the stored tokens"), None)
    };
    let finding = Some(findings::no_token(conn, NoToken::Withheld, at));
    let refused = Refused { verdict, finding, at, reserved_at: at, resolve: None };
    hold(core, conn, &asking(oauth, caller), refused).await
}

/// The hold of the credential that comes of it, with all that is to be told, in one commit.
async fn hold(core: &Core, conn: &Conn, asked: &Asking, refused: Refused) -> Result<Option<Hold>, StoreError> {
    let Refused { verdict, finding, at, reserved_at, resolve } = refused;
    let now = core.clock.now();
    let paid_with = (ChargeId::default(), reserved_at);
    let exchanged = Exchanged::new(learn::placeholder(), paid_with, asked, asked, asked.endpoint.as_str());
    let changes = holds::changes(core, conn, &exchanged, &verdict, &now);
    let events = holds::events(core, conn, &now, verdict.outcome, &changes);
    let mut findings = holds::findings(core, conn, &exchanged, &verdict, &changes, at);
    findings.extend(finding);
    tracing::warn!(connection = %conn.spec.key, outcome = %verdict.outcome, "no new token: {}", verdict.rule);
    let held = holds::after(core, conn, &changes).into_iter().find(|h| h.scope == HoldScope::Credential);
    let events = core.commit(commit(conn, resolve, changes, events, findings)).await?;
    core.publish(events);
    Ok(held)
}

fn stopped(held: Option<Hold>) -> Stopped {
    match held {
        Some(hold) => Stopped::Refused(Refusal::Held(Box::new(hold))),
        None => Stopped::Unaskable("has no access token".to_owned()),
    }
}

/// Durably, whether the configured credential was rejected, so that no restart tries it again. What is sealed stays as it is.
async fn mark(core: &Core, conn: &Conn, vault: &Vault, rejected: bool) -> Result<(), StoreError> {
    let stored = core.store.sealed(conn.credential)?;
    let (seen, bytes) = stored.as_ref().map_or((0, None), |sealed| (sealed.version, Some(sealed.bytes.as_slice())));
    let Some(bytes) = vault.marked(conn.credential, rejected, bytes) else { return Ok(()) };
    if let Some(version) = core.store.swap_sealed(Swap { credential: conn.credential, seen, bytes }).await? {
        vault.stands_at(conn.credential, version);
    }
    Ok(())
}

fn rejected(rule: String, said: Option<String>) -> Verdict {
    let (outcome, reach) = (Outcome::CredentialRejected, Some(Reach::Credential));
    Verdict { outcome, rule, said, wait: None, reach, limit: None }
}

/// What the token endpoint's answer means for everybody who needs the token.
fn judged(
    core: &Core,
    conn: &Conn,
    oauth: &OAuthSpec,
    renewal: &Renewal,
) -> (Verdict, Option<FindingChange>, Settlement) {
    match &renewal.result {
        Renewed::Granted(_) | Renewed::InvalidGrant(_) => {
            let said = match &renewal.result {
                Renewed::InvalidGrant(said) => said.clone(),
                _ => None,
            };
            let standing = core.door.vault().map(|v| v.standing(conn.credential, core.clock.now().steady));
            let why = match standing {
                Some(standing) if standing.key_lost => NoToken::KeyLost,
                _ => NoToken::Dead(oauth.rotation),
            };
            let finding = findings::no_token(conn, why, renewal.arrived_at);
            (
                rejected(format!("{TOKEN_ENDPOINT}the refresh token is not accepted"), said),
                Some(finding),
                Settlement::Posted,
            )
        }
        Renewed::Refused(code, said) => {
            let finding = findings::no_token(conn, NoToken::Client(code), renewal.arrived_at);
            (rejected(format!("{TOKEN_ENDPOINT}{code}"), said.clone()), Some(finding), Settlement::Posted)
        }
        Renewed::Unclear(reply) => (unclear(core, conn, reply), None, reply.settlement()),
    }
}

/// An answer of no known form, or none: judged as any other, and waited out in any case, since without a token nothing goes.
fn unclear(core: &Core, conn: &Conn, reply: &Reply) -> Verdict {
    let judged = conn.classifier.classify(reply, false, core.clock.now().wall()).verdict;
    let lacks = if judged.outcome.is_good() { " without a token that can be used" } else { "" };
    let rule = match reply.detail.as_str() {
        "" => format!("{TOKEN_ENDPOINT}{}{lacks}", judged.rule),
        detail => format!("{TOKEN_ENDPOINT}{detail}"),
    };
    let reach = Some(Reach::Credential);
    if judged.outcome.is_refusal() && judged.outcome != Outcome::Overloaded {
        return Verdict { rule, reach, ..judged };
    }
    let no_wait = || WaitHint {
        wait: conn.spec.waits.default,
        beyond: None,
        source: "no token, and no wait given: the default".to_owned(),
    };
    // A 200 without a token is no data either.
    let said = judged.said.map(|said| core.door.redact(&said));
    Verdict {
        outcome: Outcome::Overloaded,
        rule,
        said,
        wait: Some(judged.wait.unwrap_or_else(no_wait)),
        reach,
        limit: None,
    }
}

fn resolution(at: Stamp, outcome: Outcome, status: Option<u16>, rule: String, said: Option<String>) -> Resolution {
    Resolution { at, settlement: Settlement::Posted, outcome, status, rule, said, cost: None }
}

fn commit(
    conn: &Conn,
    resolve: Resolve,
    changes: Vec<HoldChange>,
    events: Vec<NewEvent>,
    findings: Vec<FindingChange>,
) -> Commit {
    let hold = (!changes.is_empty()).then_some((conn.credential, changes));
    Commit { resolve, hold, events, findings, ..Commit::default() }
}

/// As [`greet`], of every credential.
pub async fn begin(core: &Core) -> Result<(), StoreError> {
    for conn in core.connections.values() {
        greet(core, &conn).await?;
    }
    Ok(())
}

/// Refusals of an earlier credential mean nothing for the one that the operator gave since, nor for the stored one that can be opened
/// again. Where the key is lost, a person is asked at once.
pub async fn greet(core: &Core, conn: &Conn) -> Result<(), StoreError> {
    let Some((oauth, vault)) = renewing(core, conn) else { return Ok(()) };
    let now = core.clock.now();
    let was_lost = findings::key_was_lost(core, conn)?;
    let because = match vault.standing(conn.credential, now.steady) {
        Standing { withheld: true, .. } => return ask_for_the_key(core, conn, oauth, vault).await,
        Standing { opened: true, .. } if was_lost => KEY_IS_BACK,
        Standing { anew: true, .. } => "Another credential is configured.",
        Standing { key_lost: false, .. } if was_lost => return ask_for_another(core, conn, oauth).await,
        _ => return Ok(()),
    };
    let (lifted, events) = holds::asked_again(core, conn, &now, because);
    let settled = findings::tokens_again(core, conn, now.stamp(), because);
    let events = core.commit(commit(conn, None, lifted, events, settled)).await?;
    core.publish(events);
    mark(core, conn, vault, false).await
}

/// By a hold and a finding; where there is a hold already, by the finding.
async fn ask_for_the_key(core: &Core, conn: &Conn, oauth: &OAuthSpec, vault: &Vault) -> Result<(), StoreError> {
    if held(core, conn).is_none() {
        return withhold(core, conn, oauth, vault, Caller::Poller).await.map(drop);
    }
    let seen = findings::no_token(conn, NoToken::Withheld, core.clock.now().stamp());
    let events = core.commit(commit(conn, None, Vec::new(), Vec::new(), vec![seen])).await?;
    core.publish(events);
    Ok(())
}

/// The key is back and what it opens is another grant's: the credential that is configured was rejected without the key, and stays so.
async fn ask_for_another(core: &Core, conn: &Conn, oauth: &OAuthSpec) -> Result<(), StoreError> {
    let at = core.clock.now().stamp();
    let is_back = findings::key_is_back(conn, at, KEY_IS_BACK);
    let changes = vec![is_back, findings::no_token(conn, NoToken::Dead(oauth.rotation), at)];
    let events = core.commit(commit(conn, None, Vec::new(), Vec::new(), changes)).await?;
    core.publish(events);
    Ok(())
}
