//! From the bytes of an event stream to its events, wherever the chunks are cut (WHATWG HTML, section 9.2.6). `sse-core` carries the
//! grammar; here stands what we take of it. Must not know where the bytes come from.

use super::event::Event;
use crate::domain::time::Span;
use sse_core::{SseDecoder, SseEvent};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Bytes of an event's data, of its kind, and of its id. A larger event is left out, and that is said.
pub const MOST_BYTES: NonZeroUsize = NonZeroUsize::new(256 * 1024).unwrap();

/// What a stream said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Event(Event),
    /// The last event id became another one without an event.
    Id(Arc<str>),
    /// How long to wait at least before it is opened again.
    Retry(Span),
    /// An event above [`MOST_BYTES`].
    TooLarge,
}

/// Reads one opened stream from its beginning.
pub struct Reader {
    decoder: SseDecoder,
    /// The last event id as the stream was told it, or told us since.
    id: Option<Arc<str>>,
    /// The same with the newest event: what readers know.
    shown: Option<Arc<str>>,
}

impl Reader {
    /// `last`: the id that the stream was asked to go on after.
    pub fn new(last: Option<Arc<str>>) -> Reader {
        let mut decoder = SseDecoder::with_limit(MOST_BYTES);
        decoder.reconnect_with_id(last.clone().filter(|id| !id.is_empty()));
        Reader { decoder, id: last.clone(), shown: last }
    }

    /// What the stream says with these bytes. What is not whole waits for the next ones; at the end of a stream it is nothing.
    pub fn read(&mut self, mut chunk: &[u8]) -> Vec<Heard> {
        let mut heard = Vec::new();
        while let Some(next) = self.decoder.next(&mut chunk) {
            match next {
                Ok(SseEvent::Message(message)) => {
                    self.shown = taken_over(&self.shown, message.last_event_id);
                    self.id = self.shown.clone();
                    let event = Event { kind: message.event.into_owned(), data: message.data, id: self.shown.clone() };
                    heard.push(Heard::Event(event));
                }
                Ok(SseEvent::Retry(ms)) => heard.push(Heard::Retry(Span(u64::from(ms)))),
                Err(_) => heard.push(Heard::TooLarge),
            }
        }
        let id = taken_over(&self.id, self.decoder.last_event_id().cloned());
        if id != self.id {
            heard.extend(id.clone().map(Heard::Id));
            self.id = id;
        }
        heard
    }
}

/// The decoder knows no difference between an id that never was and one that was taken back.
fn taken_over(before: &Option<Arc<str>>, now: Option<Arc<str>>) -> Option<Arc<str>> {
    now.or_else(|| before.as_ref().map(|_| Arc::from("")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8]) -> Vec<Heard> {
        Reader::new(None).read(text)
    }

    fn event(kind: &str, data: &str, id: Option<&str>) -> Heard {
        Heard::Event(Event { kind: kind.to_owned(), data: data.to_owned(), id: id.map(Arc::from) })
    }

    fn said(data: &str) -> Heard {
        event("message", data, None)
    }

    #[test]
    fn the_rules_of_the_standard() {
        let table: &[(&str, &[u8], Vec<Heard>)] = &[
            ("one line", b"data: a\n\n", vec![said("a")]),
            ("no space, or one that is not the data's", b"data:a\n\ndata:  b\n\n", vec![said("a"), said(" b")]),
            ("lines", b"data: a\ndata: b\n\n", vec![said("a\nb")]),
            ("empty data are data", b"data\n\ndata:\ndata:\n\n", vec![said(""), said("\n")]),
            ("CR, and CRLF", b"data: a\r\rdata: b\r\n\r\n", vec![said("a"), said("b")]),
            ("all three in one event", b"data: a\ndata: b\rdata: c\r\n\n", vec![said("a\nb\nc")]),
            ("a mark at the beginning", b"\xef\xbb\xbfdata: a\n\n", vec![said("a")]),
            ("a mark anywhere else is a name", b"data: a\n\n\xef\xbb\xbfdata: b\n\n", vec![said("a")]),
            ("a comment", b": hello\n\n:\ndata: a\n\n", vec![said("a")]),
            ("a kind alone is no event", b"event: x\n\ndata: a\n\n", vec![said("a")]),
            ("a kind", b"event: x\ndata: a\n\ndata: b\n\n", vec![event("x", "a", None), said("b")]),
            ("the last kind counts", b"event: x\nevent: y\ndata: a\n\n", vec![event("y", "a", None)]),
            ("an empty kind is none", b"event: x\nevent\ndata: a\n\n", vec![said("a")]),
            ("an unknown name", b"date: x\ndatas: y\nDATA: z\ndata: a\n\n", vec![said("a")]),
            ("no end, no event", b"data: a\n\ndata: b\n", vec![said("a")]),
            ("not UTF-8", b"data: a\xff\n\n", vec![said("a\u{fffd}")]),
            ("nothing at all", b"\n\n\r\n\r\r", vec![]),
        ];
        for (what, text, heard) in table {
            assert_eq!(read(text), *heard, "{what}");
        }
    }

    #[test]
    fn an_id_stays_until_there_is_another() {
        let text = b"id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\nid\ndata: d\n\n";
        let heard = [("a", "1"), ("b", "1"), ("c", "2"), ("d", "")].map(|(data, id)| event("message", data, Some(id)));
        assert_eq!(read(text), heard);
        assert_eq!(read(b"id: 7\n\n"), [Heard::Id("7".into())], "also without an event");
        assert_eq!(read(b"id: 7\n"), [], "but not before the end of its block");
    }

    #[test]
    fn an_id_with_a_nul_is_ignored() {
        let heard = [event("message", "a", Some("1")), event("message", "b", Some("1"))];
        assert_eq!(read(b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n"), heard);
    }

    #[test]
    fn a_stream_that_goes_on_begins_with_the_id_that_it_was_told() {
        let mut reader = Reader::new(Some("6".into()));
        assert_eq!(
            reader.read(b"data: a\n\nid: 7\ndata: b\n\n"),
            [event("message", "a", Some("6")), event("message", "b", Some("7"))]
        );
    }

    #[test]
    fn only_digits_are_a_time() {
        assert_eq!(read(b"retry: 1500\n"), [Heard::Retry(Span(1500))], "at once, and not at the end of the block");
        for nothing in ["retry\n", "retry:\n", "retry: -1\n", "retry: 1.5\n", "retry: 1s\n", "retry: 99999999999\n"] {
            assert_eq!(read(nothing.as_bytes()), [], "{nothing:?}");
        }
    }

    #[test]
    fn what_is_too_large_is_left_out_and_the_next_is_heard() {
        let large = MOST_BYTES.get() + 1;
        for text in [
            format!("data: {}\n\ndata: b\n\n", "x".repeat(large)),
            format!("{}\ndata: b\n\n", "data: xxxxxxx\n".repeat(large / 7)),
            format!("event: {}\ndata: a\n\ndata: b\n\n", "x".repeat(large)),
            format!("id: {}\ndata: a\n\ndata: b\n\n", "x".repeat(large)),
        ] {
            // Not `assert_eq`, which would print it.
            assert!(read(text.as_bytes()) == [Heard::TooLarge, said("b")], "{}", &text[..8]);
        }
        let most = "x".repeat(MOST_BYTES.get());
        assert!(read(format!("data: {most}\n\n").as_bytes()) == [said(&most)]);
        assert_eq!(read(format!(": {}\ndata: a\n\n", "x".repeat(4 * large)).as_bytes()), [said("a")], "no comment is");
    }

    /// Lines of a stream, the strange ones among them, with any of the three ends.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            Just(String::new()),
            Just("\u{feff}".to_owned()),
            "(data|event|id|retry|dat|)(:| |: |)[a-z0-9 :\u{0}ä€]{0,6}",
        ];
        let ended = (line, proptest::sample::select(vec!["\n", "\r", "\r\n"])).prop_map(|(line, end)| line + end);
        proptest::collection::vec(ended, 0..30).prop_map(|lines| lines.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_chunks_are_cut(text in stream(), cuts in proptest::collection::vec(0..200usize, 0..40)) {
            let mut reader = Reader::new(None);
            let mut at = 0;
            let mut heard = Vec::new();
            for cut in cuts {
                let end = (at + cut % 7).min(text.len());
                heard.extend(reader.read(&text[at..end]));
                at = end;
            }
            heard.extend(reader.read(&text[at..]));
            // An id without an event is told with each chunk, so that of several in one only the last is.
            let events = |heard: Vec<Heard>| heard.into_iter().filter(|h| !matches!(h, Heard::Id(_))).collect::<Vec<_>>();
            prop_assert_eq!(events(heard), events(read(&text)));
        }

        #[test]
        fn what_is_written_is_read_back(
            kind in "[a-zA-Z :ä]{1,8}", data in "[a-z \n:ä\u{feff}]{0,20}", id in proptest::option::of("[a-z0-9 :]{1,5}"),
        ) {
            let event = Event { kind, data, id: id.map(Arc::from) };
            prop_assert_eq!(read(&event.written()), [Heard::Event(event)]);
        }
    }
}
