//! The pins: moments of the file that are held readable, so that whoever copies it from front to back still finds every page of the moment at
//! which he began. Decides which of them is held for how long; must not know what a moment is, who copies, or what time it is.
//!
//! Why a copy that is made under one of them is whole. redb writes no page in place: a commit takes free pages, and a page that a commit lets go
//! of is free only once no reader is left that began at or before the commit before it. The header names two commits, the newest and the one
//! before; while a commit is written, one that may be half there and the newest that is whole. A copier takes the header first. Whichever whole
//! commit he finds in it is the newest of that moment, so it is not older than the newest pin: none of its pages is used again while that is held.
//! What of a half-written commit he finds is found out by its checksums, and the commit before it is taken. See `header` for how it is opened.

use std::collections::VecDeque;

/// Ticks that a pin is held: with a tick every 30 s a plain copy of the file that takes up to 120 s is whole.
const TICKS: u64 = 5;
/// Pages that are pinned cannot be used again, so the file grows by them. What is written while the oldest pin is held is
/// bounded to a quarter of the file, and within these: by its pins alone a file becomes no more than twice of what it has to
/// be (redb doubles it), once it is larger than a few megabytes. Under heavier writing the window becomes shorter, and a plain
/// copy has to be as quick as that (or is refused when it is opened); a commit writes some 40 kB, so one every second still
/// leaves the window whole.
const BYTES: (u64, u64) = (8 << 20, 128 << 20);

/// While another process has the file open, the moment at which it opened it is held for so many ticks: half an hour.
const COPY_TICKS: u64 = 60;
/// And while no more than this is written: as much as the file is large, within these, and a quarter of what is free on its disk.
const COPY_BYTES: (u64, u64) = (64 << 20, 1 << 30);

/// How large the file is, and what was written to it since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub written: u64,
    pub file: u64,
    /// Free on its disk; `None`: not known.
    pub free: Option<u64>,
}

/// How often others have opened and closed the file since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub opened: u32,
    pub closed: u32,
}

/// What somebody should be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It was open elsewhere for so many ticks, longer than a pin is held anyway, and its old pages were kept.
    Kept { ticks: u64 },
    /// It is open elsewhere still; nothing is kept for that any longer.
    GivenUp { ticks: u64, written: u64 },
}

struct Pin<T> {
    _moment: T,
    number: u64,
    tick: u64,
    written: u64,
}

/// Somebody else has the file open.
#[derive(Clone, Copy)]
struct Copying {
    open: u32,
    /// The newest pin that is certainly older than his opening.
    needs: u64,
    tick: u64,
    written: u64,
    most: u64,
}

pub(super) struct Pins<T> {
    held: VecDeque<Pin<T>>,
    tick: u64,
    made: u64,
    /// The newest pin at the last look.
    looked: u64,
    copying: Option<Copying>,
}

impl<T> Default for Pins<T> {
    fn default() -> Pins<T> {
        Pins { held: VecDeque::new(), tick: 0, made: 0, looked: 0, copying: None }
    }
}

impl<T> Pins<T> {
    /// Time goes on.
    pub fn tick(&mut self) {
        self.tick += 1;
    }

    /// Whether so much was written that another pin is due before its time.
    pub fn is_due(&self, sizes: Sizes) -> bool {
        self.held.back().is_some_and(|pin| sizes.written > pin.written + bound(sizes) / 4)
    }

    pub fn hold(&mut self, moment: T, written: u64) {
        self.made += 1;
        self.held.push_back(Pin { _moment: moment, number: self.made, tick: self.tick, written });
    }

    /// What others did since the last look. Comes after a new pin and before any is let go: who opens the file later than
    /// this finds the new one.
    pub fn look(&mut self, seen: Seen, sizes: Sizes) -> Option<Told> {
        let before = std::mem::replace(&mut self.looked, self.made);
        let begun = Copying { open: 0, needs: before, tick: self.tick, written: sizes.written, most: most(sizes) };
        let known = self.copying.or((seen.opened > 0).then_some(begun))?;
        let copying = Copying { open: (known.open + seen.opened).saturating_sub(seen.closed), ..known };
        let ticks = self.tick - copying.tick;
        let written = sizes.written.saturating_sub(copying.written);
        if copying.open == 0 {
            self.copying = None;
            return (ticks >= TICKS).then_some(Told::Kept { ticks });
        }
        if ticks >= COPY_TICKS || written > copying.most {
            self.copying = None;
            return Some(Told::GivenUp { ticks, written });
        }
        self.copying = Some(copying);
        None
    }

    /// Lets go of what is held long enough, and of what is too far behind. The newest stays.
    pub fn let_go(&mut self, sizes: Sizes) {
        let newest = self.made;
        let needed = |pin: &Pin<T>| self.copying.is_some_and(|copying| pin.number >= copying.needs);
        let is_over = |pin: &Pin<T>| pin.tick + TICKS <= self.tick || sizes.written > pin.written + bound(sizes);
        self.held.retain(|pin| pin.number == newest || needed(pin) || !is_over(pin));
    }

    pub fn clear(&mut self) {
        self.held.clear();
        (self.copying, self.looked) = (None, self.made);
    }

    #[cfg(test)]
    fn moments(&self) -> Vec<T>
    where
        T: Copy,
    {
        self.held.iter().map(|pin| pin._moment).collect()
    }
}

fn bound(sizes: Sizes) -> u64 {
    (sizes.file / 4).clamp(BYTES.0, BYTES.1)
}

fn most(sizes: Sizes) -> u64 {
    let room = sizes.free.map_or(u64::MAX, |free| free / 4);
    sizes.file.clamp(COPY_BYTES.0, COPY_BYTES.1).min(room).max(bound(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;
    const NOBODY: Seen = Seen { opened: 0, closed: 0 };
    const OPENED: Seen = Seen { opened: 1, closed: 0 };
    const CLOSED: Seen = Seen { opened: 0, closed: 1 };

    fn sizes(written: u64) -> Sizes {
        Sizes { written, file: 4 * MIB, free: None }
    }

    /// As a tick of the store.
    fn tick(pins: &mut Pins<u64>, seen: Seen, written: u64) -> Option<Told> {
        pins.tick();
        pins.hold(pins.tick, written);
        let told = pins.look(seen, sizes(written));
        pins.let_go(sizes(written));
        told
    }

    #[test]
    fn a_pin_is_held_for_five_ticks() {
        let mut pins = Pins::default();
        for _ in 0..8 {
            assert_eq!(tick(&mut pins, NOBODY, 0), None);
        }
        assert_eq!(pins.moments(), [4, 5, 6, 7, 8], "whoever began within four ticks finds a pin that is older");
    }

    #[test]
    fn under_heavy_writing_pins_are_closer_and_held_for_less() {
        let mut pins = Pins::default();
        tick(&mut pins, NOBODY, 0);
        assert!(!pins.is_due(sizes(2 * MIB)) && pins.is_due(sizes(2 * MIB + 1)));
        for n in 1..=20 {
            pins.hold(100 + n, n * 3 * MIB);
            pins.look(NOBODY, sizes(n * 3 * MIB));
            pins.let_go(sizes(n * 3 * MIB));
        }
        assert_eq!(pins.moments(), [118, 119, 120], "8 MiB are held, and the newest in any case");
    }

    #[test]
    fn while_somebody_else_has_it_open_his_moment_is_held() {
        let mut pins = Pins::default();
        (0..3).for_each(|_| assert_eq!(tick(&mut pins, NOBODY, 0), None));
        // He came between the third tick and the fourth: the third pin is older than he is.
        for n in 0..30 {
            assert_eq!(tick(&mut pins, if n == 0 { OPENED } else { NOBODY }, n * MIB), None);
        }
        assert_eq!(pins.moments()[0], 3);
        assert_eq!(tick(&mut pins, CLOSED, 30 * MIB), Some(Told::Kept { ticks: 30 }));
        assert_eq!(pins.moments()[0], 30, "as ever");
    }

    #[test]
    fn who_never_closes_it_is_given_up() {
        let mut pins = Pins::default();
        let told: Vec<Told> =
            (0..100).filter_map(|n| tick(&mut pins, if n == 2 { OPENED } else { NOBODY }, 0)).collect();
        assert_eq!(told, [Told::GivenUp { ticks: COPY_TICKS, written: 0 }]);
        assert_eq!(pins.moments().len(), 5);
        tick(&mut pins, OPENED, 0);
        (0..20).for_each(|_| assert_eq!(tick(&mut pins, NOBODY, 0), None));
        assert_eq!(pins.moments().len(), 22, "the next one is as good as the first");
    }

    #[test]
    fn what_is_written_meanwhile_is_bounded_by_file_and_disk() {
        let mut pins = Pins::default();
        tick(&mut pins, OPENED, 0);
        assert_eq!(tick(&mut pins, NOBODY, 64 * MIB), None);
        assert!(
            matches!(tick(&mut pins, NOBODY, 65 * MIB), Some(Told::GivenUp { written, .. }) if written == 65 * MIB)
        );
        let of = |file, free| most(Sizes { written: 0, file, free });
        assert_eq!(of(200 * MIB, None), 200 * MIB);
        assert_eq!(of(9_000 * MIB, None), 1_024 * MIB);
        assert_eq!(of(200 * MIB, Some(400 * MIB)), 100 * MIB);
        assert_eq!(of(4 * MIB, Some(0)), 8 * MIB, "never less than without anybody");
    }

    #[test]
    fn closings_that_nobody_opened_are_nothing() {
        let mut pins = Pins::default();
        tick(&mut pins, CLOSED, 0);
        tick(&mut pins, Seen { opened: 2, closed: 3 }, 0);
        assert!(pins.copying.is_none());
        tick(&mut pins, OPENED, 0);
        assert!(pins.copying.is_some());
        pins.clear();
        assert!(pins.copying.is_none() && pins.held.is_empty());
    }

    proptest! {
        /// Whoever opens the file at any moment, and reads for as long as is promised, finds a pin all the while that is not younger than he is.
        #[test]
        fn there_is_always_a_pin_for_who_keeps_within_the_bounds(
            steps in proptest::collection::vec((0..5_u64, any::<bool>()), 10..80),
            came in 2..9_usize,
            stays in 1..40_usize,
        ) {
            let mut pins = Pins::default();
            tick(&mut pins, NOBODY, 0);
            let (mut written, mut his) = (0, None);
            for (n, (mib, ticks)) in steps.into_iter().enumerate() {
                let seen = match n {
                    n if n == came => OPENED,
                    n if n == came + stays => CLOSED,
                    _ => NOBODY,
                };
                if n == came {
                    his = Some((pins.made, written));
                }
                written += mib * MIB;
                if ticks {
                    pins.tick();
                }
                if ticks || pins.is_due(sizes(written)) {
                    pins.hold(n as u64, written);
                    pins.look(seen, sizes(written));
                    pins.let_go(sizes(written));
                } else if seen != NOBODY {
                    pins.look(seen, sizes(written));
                }
                if n < came + stays && let Some((newest, at)) = his && written - at <= 60 * MIB {
                    prop_assert!(pins.held.iter().any(|pin| pin.number <= newest), "step {}", n);
                }
            }
        }
    }
}
