//! An answer that is silent about other pages: it has not even the key that would name the next one. Many providers end their lists so, and
//! one that dropped or renamed the key looks the same (A33), as does one whose key was never the one that is asked for. So silence alone is no
//! end, however often it is repeated: what else is known of the list says which it is, or the provider's word and time.
//! Must not know where the key stands.

use super::{Page, Pager, Trail};
use crate::domain::page::Scan;
use crate::domain::target::TargetState;
use crate::domain::time::{Span, Stamp};
use crate::rules::reconcile::unbelieved;

/// What is known of a list before it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usual {
    /// Of the last complete reading; 0 before the first.
    pub pages: u32,
    /// On the shelf.
    pub items: u64,
}

impl Usual {
    pub fn of(state: &TargetState) -> Usual {
        Usual { pages: state.scan.as_ref().map_or(0, |scan| scan.usual_pages), items: state.item_count }
    }

    /// Whether pages of so many rows can have been what the last reading came in: many providers give fewer than they are asked for.
    fn came_in(self, size: u64) -> bool {
        u64::from(self.pages) <= self.items.div_ceil(size.max(1))
    }
}

impl Pager {
    /// Whether silence on this page is the end: something that is known says so beside it. Asked where the provider's count of rows, if it
    /// states one, is reached.
    pub(super) fn ends_in_silence(&self, usual: Usual, trail: &Trail, page: &Page<'_>) -> bool {
        let size = self.spec.size.as_ref().map(|size| size.rows);
        let is_short = size.is_some_and(|size| page.rows < size && usual.came_in(size));
        let is_usual = match usual.pages {
            0 => self.spec.absent_ends,
            pages => pages <= trail.pages,
        };
        // The page before had the key; or this one is shorter than any size, and emptiness is doubted as such.
        trail.pages > 1 || page.rows == 0 || self.total.is_some() || is_short || is_usual
    }

    /// Since when a list ends in silence that is not believed. Where the provider says that its lists end so, it is believed once it was
    /// said again late enough; where it does not, never: a key that was renamed stays away.
    pub fn doubts(
        &self,
        before: Option<&Scan>,
        why: &str,
        since: Option<Stamp>,
        at: Stamp,
        interval: Span,
    ) -> Option<Stamp> {
        let doubted = doubted(before, why, since, at, interval);
        doubted.or_else(|| (!self.spec.absent_ends).then(|| since.unwrap_or(at)))
    }
}

/// Since when a list ends in silence where it had more pages, if that is not believed yet: `why` is the reason of this reading. One that
/// ended so right before is what confirms it, if this one is late enough after the first of them, at `since`.
pub(super) fn doubted(
    before: Option<&Scan>,
    why: &str,
    since: Option<Stamp>,
    at: Stamp,
    interval: Span,
) -> Option<Stamp> {
    let in_a_row = before.is_some_and(|scan| scan.incomplete.as_deref() == Some(why));
    unbelieved(in_a_row, since, at, interval)
}
