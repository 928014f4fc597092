//! A webhook of the sample.

use super::ago;
use crate::domain::ids::EventId;
use crate::engine::view::{DeadLetterView, WebhookView};

/// A webhook whose receiver is away.
pub(super) fn dispatch() -> WebhookView {
    WebhookView {
        name: "dispatch".to_owned(),
        kind: "webhook",
        to: "http://127.0.0.1:9000".to_owned(),
        signed: true,
        events: vec!["target_changed", "hold_started"],
        state: "failing",
        sentence: "Not delivered since 09:10: the receiver answered 503; 2 events waiting, next attempt in 40 s. 1 event given up."
            .into(),
        waiting: 2,
        delivered: 12,
        delivered_at: Some(ago(900)),
        missed: 0,
        failures: 3,
        failing_since: Some(ago(600)),
        next_attempt_at: Some(ago(-40)),
        reason: Some("the receiver answered 503".to_owned()),
        dead_letters: vec![DeadLetterView {
            event: EventId(3),
            kind: "target_changed",
            at: ago(1200),
            message: "Roses <b>began</b> to run".to_owned(),
            given_up_at: ago(1190),
            reason: "the receiver answered 422".to_owned(),
            again: false,
        }],
    }
}
