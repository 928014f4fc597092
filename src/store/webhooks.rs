//! How far each webhook has come, and what it had to give up. The events themselves are in the log. Part of the facade.

use super::read::{ALL, Order, Snapshot, below, numbered};
use super::tables::{self, Table};
use super::{Store, StoreError, records};
use crate::domain::event::Event;
use crate::domain::ids::{ConnectionKey, EventId, WebhookKey};
use crate::domain::webhook::{DeadLetter, WebhookState};
use std::ops::ControlFlow;

impl Store {
    pub fn webhook(&self, key: &WebhookKey) -> Result<Option<WebhookState>, StoreError> {
        let state = |bytes: &[u8]| records::webhook_of(bytes).map(|(_, state)| state);
        self.core().read(|s| s.get(Table::Webhooks, &tables::webhook(key), state))
    }

    /// Those of which anything is known, configured or not.
    pub fn webhook_keys(&self) -> Result<Vec<WebhookKey>, StoreError> {
        self.core().read(|snapshot| {
            let mut keys = Vec::new();
            snapshot.visit(Table::Webhooks, ALL, Order::Forth, |_, value| {
                keys.push(records::webhook_of(value)?.0);
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(keys)
        })
    }

    /// Events that were given up, the oldest first, at most `limit`.
    pub fn dead_letters(&self, key: &WebhookKey, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
        self.core().read(|s| dead_letters(s, key, limit))
    }

    /// The first event after `after` for which `wanted` holds, and the number of the last one that was looked at; of at most `looks`
    /// events. Where the log begins later than `after`, so many events are missing in between.
    pub fn next_event(
        &self,
        connection: &ConnectionKey,
        after: EventId,
        looks: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Looked, StoreError> {
        let events = self.events_after(after, looks)?;
        let missed = events.first().map_or(0, |first| first.id.0.saturating_sub(after.0 + 1));
        let last = events.last().map_or(after, |event| event.id);
        let ours = |e: &Event| e.body.connection.as_ref() == Some(connection) && wanted(e);
        match events.into_iter().find(ours) {
            Some(event) => Ok(Looked { up_to: event.id, missed, found: Some(event) }),
            None => Ok(Looked { up_to: last, missed, found: None }),
        }
    }
}

/// What a look into the log brought.
#[derive(Debug, PartialEq)]
pub struct Looked {
    pub up_to: EventId,
    /// Events that have left the log unseen.
    pub missed: u64,
    pub found: Option<Event>,
}

fn dead_letters(snapshot: &Snapshot<'_>, key: &WebhookKey, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
    let prefix = tables::webhook(key);
    let end = tables::after_prefix(&prefix);
    let mut letters = Vec::new();
    snapshot.visit(Table::DeadLetters, below(&prefix, end.as_deref()), Order::Forth, |key, value| {
        if letters.len() >= limit {
            return Ok(ControlFlow::Break(()));
        }
        letters.push(records::dead_letter_of(numbered(&key[prefix.len()..])?, value)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(letters)
}
