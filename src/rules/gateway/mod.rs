//! The gateway's decisions: what may be asked through it, what an answer is kept under and for how long, whether the shelf answers or the
//! provider is asked, and what the answer says of itself. Pure, as all of `rules`: `now` is an argument. Must not know sockets, flights or
//! files.
//!
//! A request's way: [`Location::read`] -> [`Gate::passage`] and [`Gate::policy`] -> [`key()`] and [`select`] -> [`decide()`] -> where the provider
//! answered [`may_keep`] and [`shelve`], or [`confirmed`] -> [`standing`], [`CacheStatus`], [`is_unmodified`].

mod answer;
mod changed;
mod decide;
mod directives;
mod eviction;
mod freshness;
mod gate;
mod keeping;
mod key;
mod location;
mod moment;
mod narrow;
mod part;
mod passed;
mod pattern;
mod ready;
mod targeted;
#[cfg(test)]
mod tests;
mod validation;

pub use answer::{CacheStatus, age, cache_status, larder_stale, rate_limit, standing, standing_304};
pub use changed::also_changed;
pub use decide::{Decision, Fallback, Forward, decide, stands};
pub use directives::{Wishes, is_token};
pub use eviction::{Worth, surplus};
pub use freshness::{Life, life};
pub use gate::{Gate, NotAllowed, Passage, Policy};
pub use keeping::{Answered, Asked, NotKept, Times, has_own_fields, largest, may_keep, shelve};
pub use key::{EntryId, digest, fits, key, select, variant};
pub use location::{Location, Unsafe};
pub use narrow::Narrower;
pub use part::{Part, part};
pub use passed::{Seen, as_passed};
pub use pattern::Pattern;
pub use ready::Happened;
pub use targeted::{CAPABILITY, announces};
pub use validation::{
    ByHead, as_tags, by_head, confirmed, confirms, etag, is_conditional, is_revalidating, is_unmodified, last_modified,
    validators,
};
