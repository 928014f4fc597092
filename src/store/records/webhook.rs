//! Records of webhooks: how far each has come, and what it gave up.

use super::misc::{event_record, event_value};
use super::{MOST, READ, V1, down, key_of, unknown_version, up, v1};
use crate::domain::ids::{EventId, WebhookKey, WebhookName};
use crate::domain::webhook::{DeadLetter, DeliveryTrouble, WebhookState};
use crate::store::codec::{self, Damaged};

pub(in crate::store) fn webhook(key: &WebhookKey, state: &WebhookState) -> Result<Vec<u8>, Damaged> {
    let record = v1::Webhook {
        organization: key.connection.organization.0.clone(),
        connection: key.connection.connection.0.clone(),
        webhook: key.webhook.0.clone(),
        done: state.done.0,
        failures: state.failures,
        not_before: state.not_before.map(down),
        trouble: state.trouble.as_ref().map(|t| v1::DeliveryTrouble { since: down(t.since), reason: t.reason.clone() }),
        delivered_last: state.delivered_last.map(|(at, event)| (down(at), event.0)),
        delivered: state.delivered,
        missed: state.missed,
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn webhook_of(bytes: &[u8]) -> Result<(WebhookKey, WebhookState), Damaged> {
    let w: v1::Webhook = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    let key = WebhookKey { connection: key_of(w.organization, w.connection), webhook: WebhookName(w.webhook) };
    let state = WebhookState {
        done: EventId(w.done),
        failures: w.failures,
        not_before: w.not_before.map(up),
        trouble: w.trouble.map(|t| DeliveryTrouble { since: up(t.since), reason: t.reason }),
        delivered_last: w.delivered_last.map(|(at, event)| (up(at), EventId(event))),
        delivered: w.delivered,
        missed: w.missed,
    };
    Ok((key, state))
}

pub(in crate::store) fn dead_letter(letter: &DeadLetter) -> Result<Vec<u8>, Damaged> {
    let record = v1::DeadLetter {
        event: event_record(&letter.event.body),
        given_up_at: down(letter.given_up_at),
        reason: letter.reason.clone(),
        again: letter.again,
    };
    codec::encode(V1, &record, MOST)
}

pub(in crate::store) fn dead_letter_of(id: u64, bytes: &[u8]) -> Result<DeadLetter, Damaged> {
    let letter: v1::DeadLetter = match codec::split(bytes)? {
        (V1, payload) => codec::decode::<_, READ>(payload)?,
        (other, _) => return unknown_version(other),
    };
    Ok(DeadLetter {
        event: event_value(id, letter.event)?,
        given_up_at: up(letter.given_up_at),
        reason: letter.reason,
        again: letter.again,
    })
}
