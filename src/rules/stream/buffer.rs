//! The last events of a stream, by number for those who read it and by id for those who come back. Bounded in events and bytes. Must not
//! know what an event says.

use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;

/// What is kept at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub events: usize,
    pub bytes: usize,
}

/// Blocks of a stream. Numbers grow by one with each, whatever its id.
#[derive(Debug)]
pub struct Buffer {
    bounds: Bounds,
    kept: VecDeque<Kept>,
    bytes: usize,
    /// The number of the oldest that is kept, or of the next where none is.
    first: u64,
    /// The stream's id before the oldest.
    before: Option<Arc<str>>,
    /// Blocks that came after that id and before the oldest are gone.
    torn: bool,
}

#[derive(Debug)]
struct Kept {
    text: Bytes,
    /// The stream's id with it.
    id: Option<Arc<str>>,
}

/// What is at a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    Block(Bytes),
    /// So many are not kept any more; the next that is has this number.
    Gone {
        missed: u64,
        next: u64,
    },
    /// It has not come yet.
    Nothing,
}

impl Buffer {
    pub fn new(bounds: Bounds) -> Buffer {
        Buffer { bounds, kept: VecDeque::new(), bytes: 0, first: 0, before: None, torn: false }
    }

    /// The number of the next block.
    pub fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// The number of the oldest.
    pub fn first(&self) -> u64 {
        self.first
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// `id`: the stream's id with it. The newest is kept whatever its size.
    pub fn push(&mut self, text: Bytes, id: Option<Arc<str>>) {
        self.bytes += text.len();
        self.kept.push_back(Kept { text, id });
        while self.kept.len() > 1 && (self.kept.len() > self.bounds.events || self.bytes > self.bounds.bytes) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.kept.pop_front() else { return };
        self.bytes -= oldest.text.len();
        self.first += 1;
        self.torn = oldest.id == self.before;
        self.before = oldest.id;
    }

    /// Forgets what is kept: what comes next comes right after `id`.
    pub fn begin_after(&mut self, id: Option<Arc<str>>) {
        self.first = self.end();
        self.kept.clear();
        (self.bytes, self.before, self.torn) = (0, id, false);
    }

    /// The number that follows the event which brought `id`, the latest of that id. Who has it may know some of those behind that have
    /// no id of their own, and is told them again; nothing is left out. `None`: the buffer does not reach back to it.
    pub fn after(&self, id: &str) -> Option<u64> {
        let is = |other: &Option<Arc<str>>| other.as_deref() == Some(id);
        let last = self.kept.iter().rposition(|kept| is(&kept.id));
        let run = |last: usize| (0..=last).rev().take_while(|at| is(&self.kept[*at].id)).last();
        match last.and_then(run) {
            // The run goes on from before the oldest.
            None | Some(0) if is(&self.before) => (!self.torn).then_some(self.first),
            Some(at) => Some(self.first + at as u64 + 1),
            None => None,
        }
    }

    pub fn at(&self, number: u64) -> At {
        match number.checked_sub(self.first) {
            None => At::Gone { missed: self.first - number, next: self.first },
            Some(at) => usize::try_from(at)
                .ok()
                .and_then(|at| self.kept.get(at))
                .map_or(At::Nothing, |kept| At::Block(kept.text.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn buffer(events: usize, bytes: usize) -> Buffer {
        Buffer::new(Bounds { events, bytes })
    }

    fn push(buffer: &mut Buffer, ids: &[&str]) {
        for id in ids {
            buffer.push(Bytes::from(format!("{}", buffer.end())), (*id != "-").then(|| Arc::from(*id)));
        }
    }

    #[test]
    fn who_comes_back_goes_on_after_its_id() {
        let mut kept = buffer(4, 100);
        push(&mut kept, &["a", "b", "b", "c"]);
        assert_eq!(["a", "b", "c", "d"].map(|id| kept.after(id)), [Some(1), Some(2), Some(4), None]);
        push(&mut kept, &["d"]);
        assert_eq!(kept.after("a"), Some(1), "the oldest comes right after it");
        push(&mut kept, &["e"]);
        assert_eq!(["a", "b"].map(|id| kept.after(id)), [None, Some(2)]);
        push(&mut kept, &["f"]);
        assert_eq!(kept.after("b"), None, "one that came after it and has no id of its own is gone");
        assert_eq!(kept.after("c"), Some(4));
    }

    #[test]
    fn an_id_that_comes_twice_is_the_later_one() {
        let mut kept = buffer(9, 100);
        push(&mut kept, &["a", "b", "a", "c"]);
        assert_eq!((kept.after("a"), kept.after("b")), (Some(3), Some(2)));
    }

    #[test]
    fn a_new_beginning_is_after_the_id_that_was_asked_for() {
        let mut kept = buffer(9, 100);
        push(&mut kept, &["a", "b"]);
        kept.begin_after(Some("x".into()));
        assert_eq!((kept.after("a"), kept.after("x"), kept.end()), (None, Some(2), 2), "numbers go on");
        push(&mut kept, &["x", "y"]);
        assert_eq!((kept.after("x"), kept.after("y")), (Some(2), Some(4)));
        kept.begin_after(None);
        assert_eq!((kept.after("x"), kept.after(""), kept.is_empty()), (None, None, true));
    }

    #[test]
    fn the_newest_is_kept_whatever_its_size() {
        let mut kept = buffer(9, 3);
        kept.push(Bytes::from("12"), None);
        kept.push(Bytes::from("12345"), None);
        assert_eq!((kept.first(), kept.at(1)), (1, At::Block(Bytes::from("12345"))));
    }

    proptest! {
        /// Whoever reads on from any place is told each block in its order, or how many it was not told; and the bounds hold.
        #[test]
        fn nobody_misses_anything_untold(
            sizes in proptest::collection::vec(1..20usize, 1..60), events in 1..10usize, bytes in 1..60usize,
            reads in proptest::collection::vec(0..4u8, 1..60),
        ) {
            let mut kept = buffer(events, bytes);
            let (mut cursor, mut told) = (0u64, 0u64);
            for (size, reads) in sizes.iter().zip(reads) {
                kept.push(Bytes::from(vec![b'x'; *size]), None);
                prop_assert!(kept.kept.len() <= events && (kept.bytes <= bytes || kept.kept.len() == 1));
                prop_assert_eq!(kept.bytes, kept.kept.iter().map(|k| k.text.len()).sum::<usize>());
                for _ in 0..reads {
                    match kept.at(cursor) {
                        At::Block(text) => {
                            prop_assert_eq!(text.len(), sizes[usize::try_from(cursor).unwrap()]);
                            (cursor, told) = (cursor + 1, told + 1);
                        }
                        At::Gone { missed, next } => {
                            prop_assert_eq!(next, cursor + missed);
                            (cursor, told) = (next, told + missed);
                        }
                        At::Nothing => prop_assert_eq!(cursor, kept.end()),
                    }
                }
            }
            prop_assert_eq!(cursor, told);
        }

        /// However ids repeat: what follows an id is whole, from the event behind the one that brought it.
        #[test]
        fn after_an_id_nothing_is_left_out(ids in proptest::collection::vec(0..4u8, 1..40), events in 1..8usize, asked in 0..4u8) {
            let mut kept = buffer(events, 1000);
            let names: Vec<String> = ids.iter().map(u8::to_string).collect();
            for name in &names {
                kept.push(Bytes::from("x"), Some(name.as_str().into()));
            }
            let asked = asked.to_string();
            let brought = (0..names.len()).rev().find(|at| names[*at] == asked && (*at == 0 || names[at - 1] != asked));
            let expected = brought.map(|at| at as u64 + 1).filter(|next| *next >= kept.first());
            prop_assert_eq!(kept.after(&asked), expected);
        }
    }
}
