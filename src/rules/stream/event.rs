//! One event of a stream, and how it is written for a reader. Must not know who reads it.

use bytes::Bytes;
use serde_json::json;
use std::sync::Arc;

/// What an event is whose stream names no kind (WHATWG HTML, section 9.2.6).
const UNNAMED: &str = "message";
/// The kind of our own event that says that a reader was not told everything. Readers that do not know it are not disturbed.
pub const GAP: &str = "larder-gap";

/// One event, as its provider sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `message` where the stream names none.
    pub kind: String,
    /// Its lines are separated by LF.
    pub data: String,
    /// The last event id of the stream as it is with this event, also where an earlier one gave it. Empty: it was taken back.
    /// `None`: the stream has had none so far.
    pub id: Option<Arc<str>>,
}

impl Event {
    /// The block that a reader of the stream reads back as this event.
    pub fn written(&self) -> Bytes {
        let mut text = String::with_capacity(self.data.len() + self.kind.len() + 64);
        if let Some(id) = &self.id {
            field(&mut text, "id", id);
        }
        if self.kind != UNNAMED {
            field(&mut text, "event", &self.kind);
        }
        self.data.split('\n').for_each(|line| field(&mut text, "data", line));
        text.push('\n');
        text.into()
    }
}

fn field(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    text.push_str(": ");
    text.push_str(value);
    text.push('\n');
}

/// The block of our own event. It has no id: who comes back stands where it stood. `missed`: how many events, where that is known.
pub fn gap(reason: &str, missed: Option<u64>) -> Bytes {
    let data = json!({ "reason": reason, "missed": missed }).to_string();
    Event { kind: GAP.to_owned(), data, id: None }.written()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_written_line_by_line() {
        let event = |kind: &str, data: &str, id: Option<&str>| Event {
            kind: kind.to_owned(),
            data: data.to_owned(),
            id: id.map(Arc::from),
        };
        let table = [
            (event("message", "hello", None), "data: hello\n\n"),
            (event("message", "", None), "data: \n\n"),
            (event("added", " a\n\nb", Some("7")), "id: 7\nevent: added\ndata:  a\ndata: \ndata: b\n\n"),
            (event("message", "x", Some("")), "id: \ndata: x\n\n"),
        ];
        for (event, text) in table {
            assert_eq!(event.written(), text.as_bytes(), "{event:?}");
        }
    }

    #[test]
    fn a_gap_says_why_and_leaves_the_readers_id_alone() {
        let text = String::from_utf8(gap("the reader was too slow", Some(3)).to_vec()).unwrap();
        assert_eq!(text, "event: larder-gap\ndata: {\"reason\":\"the reader was too slow\",\"missed\":3}\n\n");
        assert!(String::from_utf8(gap("unknown", None).to_vec()).unwrap().contains("\"missed\":null"));
    }
}
