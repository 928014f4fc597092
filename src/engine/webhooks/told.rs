//! As what an event is told: JSON with every member of it for programs, a notification for people. Pure. Must not know where it goes.

use crate::domain::event::{Event, EventKind};
use crate::domain::ids::WebhookKey;
use crate::domain::state::State;
use crate::domain::time::Wall;
use crate::domain::webhook::WebhookForm;
use crate::engine::{present, words};
use crate::rules::calendar::rfc3339;
use serde_json::{Map, Value, json};

/// The type of a message that somebody sent to see whether it arrives.
const TEST: &str = "test";
/// Characters of a notification: more than that a phone does not show.
const LONGEST: usize = 1000;
/// Priorities of ntfy go from 1 to 5, and 3 is the usual.
const USUAL: u8 = 3;

/// Whether somebody should look.
enum Grave {
    Yes,
    Over,
    Unsaid,
}

pub fn event(form: &WebhookForm, event: &Event) -> Map<String, Value> {
    let view = present::event(event);
    let click = match form {
        WebhookForm::Event => {
            return object(json!({ "type": view.kind, "timestamp": rfc3339(event.body.at.wall), "data": view }));
        }
        WebhookForm::Ntfy { click } => click.as_deref(),
    };
    let connection = view.connection.unwrap_or_default();
    let about = view.target.map_or_else(|| connection.clone(), |target| format!("{connection}, {target}"));
    let turned = Some(&event.body).filter(|body| body.kind == EventKind::StateChanged);
    let (_, is) = turned.and_then(|body| words::turned_between(&body.message)).unzip();
    let title = match is {
        Some(state) => format!("{connection} is {}", plain(state.word())),
        None => format!("{about}: {}", plain(view.kind)),
    };
    let grave = match is {
        Some(state) if state.is_trouble() => Grave::Yes,
        Some(State::Fresh | State::Ageing) => Grave::Over,
        _ => Grave::Unsaid,
    };
    let word = is.map_or(view.kind, State::word);
    note(title, &event.body.message, (grave, word), click.map(|site| below(site, &connection)))
}

/// A message that says no more than that somebody wanted to see it arrive.
pub fn test(form: &WebhookForm, hook: &WebhookKey, by: &str, now: Wall) -> Map<String, Value> {
    let connection = &hook.connection.connection;
    match form {
        WebhookForm::Event => {
            let data = json!({ "connection": connection, "webhook": hook.webhook, "by": by });
            object(json!({ "type": TEST, "timestamp": rfc3339(now), "data": data }))
        }
        WebhookForm::Ntfy { click } => {
            let message = format!("Sent by {by} to see whether it arrives.");
            let click = click.as_deref().map(|site| below(site, connection.as_str()));
            note(format!("{connection}: test of {}", hook.webhook), &message, (Grave::Unsaid, TEST), click)
        }
    }
}

/// As ntfy publishes it from JSON; its topic comes to it on the way.
fn note(title: String, message: &str, (grave, word): (Grave, &str), click: Option<String>) -> Map<String, Value> {
    let (priority, sign) = match grave {
        Grave::Yes => (USUAL + 1, Some("warning")),
        Grave::Over => (USUAL - 1, Some("white_check_mark")),
        Grave::Unsaid => (USUAL, None),
    };
    let message: String = message.chars().take(LONGEST).collect();
    let tags: Vec<&str> = sign.into_iter().chain([word]).collect();
    let mut note = object(json!({ "title": title, "message": message, "priority": priority, "tags": tags }));
    note.extend(click.map(|click| ("click".to_owned(), click.into())));
    note
}

/// The page of the connection, on the dashboard at `site`.
fn below(site: &str, connection: &str) -> String {
    let mut url = match url::Url::parse(site) {
        Ok(url) => url,
        Err(_) => return site.to_owned(),
    };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(["c", connection]);
    }
    url.into()
}

fn plain(word: &str) -> String {
    word.replace('_', " ")
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::NewEvent;
    use crate::domain::ids::{ConnectionKey, EventId, Organization};
    use crate::domain::time::{ClockTrust, Now, Stamp, Steady};

    fn told(kind: EventKind, message: &str) -> Value {
        let connection = ConnectionKey { organization: Organization::default(), connection: "front yard".into() };
        let at = Stamp { steady: Steady(1), wall: Wall(1_796_026_800_000), era: 0 };
        let body = NewEvent { kind, at, connection: Some(connection), target: None, message: message.to_owned() };
        let form = WebhookForm::Ntfy { click: Some("https://home.test/larder/?x=1".to_owned()) };
        event(&form, &Event { id: EventId(7), body }).into()
    }

    #[test]
    fn a_notification_says_what_turned_and_how_grave_that_is() {
        let now = Now { steady: Steady(9), era: 0, trust: ClockTrust::Trusted, offsets: vec![1_796_026_800_000] };
        let turn = |was, is| words::turned(was, now.stamp(), is, &now);
        let held = told(EventKind::StateChanged, &turn(State::Fresh, State::Held));
        assert_eq!(held["title"], "front yard is held");
        assert!(held["message"].as_str().is_some_and(|m| m.starts_with("held; it was fresh since")), "{held}");
        assert_eq!((&held["priority"], &held["tags"]), (&4.into(), &json!(["warning", "held"])));
        assert_eq!(held["click"], "https://home.test/larder/c/front%20yard?x=1");
        let well = told(EventKind::StateChanged, &turn(State::Held, State::Fresh));
        assert_eq!((&well["priority"], &well["tags"]), (&2.into(), &json!(["white_check_mark", "fresh"])));
        let other = told(EventKind::FindingOpened, &"x".repeat(5000));
        assert_eq!((&other["title"], &other["priority"]), (&"front yard: finding opened".into(), &3.into()));
        assert_eq!(other["message"].as_str().map(str::len), Some(LONGEST));
    }
}
