//! What a provider says of its own count, where a recipe says it stands, and what was learned from it. `rules::quota` reads,
//! `rules::learn` decides, `rules::budget` keeps to it. Must not know answers.

use super::ids::Endpoint;
use super::time::{Span, Stamp, Steady};

/// Where a figure stands in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountPlace {
    /// Lower-case name.
    Header(String),
    /// RFC 9535; the first node counts.
    Json(String),
}

/// `[[quota]]`: where a provider states its count of one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaSpec {
    /// The name of a declared limit.
    pub limit: String,
    pub total: Option<CountPlace>,
    pub remaining: Option<CountPlace>,
    pub used: Option<CountPlace>,
    /// Seconds or an instant, told apart by magnitude.
    pub reset: Option<CountPlace>,
}

/// The provider's own figures of one limit, in one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// The header family or the recipe's table that said it.
    pub source: String,
    /// The policy's own name, where it has one.
    pub name: Option<String>,
    pub total: Option<u64>,
    /// Rounded up where it is a fraction: some say it approximately.
    pub remaining: Option<u64>,
    pub used: Option<u64>,
    pub window: Option<Span>,
    /// From the arrival of the answer.
    pub reset: Option<Span>,
}

/// One declared limit, for one endpoint where it is scoped so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitKey {
    pub limit: String,
    pub endpoint: Option<Endpoint>,
}

/// Units that the provider counted and we did not spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    pub units: u64,
    /// Arrival of the answer that showed them: they were counted by then.
    pub at: Steady,
    /// They count no longer than this, if that is before the window of the limit has passed over them.
    pub until: Option<Steady>,
}

/// What the provider's count has taught about one limit. Durable: a restart must not spend what somebody else took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    pub about: LimitKey,
    /// Who spoke last.
    pub source: String,
    /// Reservation of the newest request whose answer taught: answers that were asked for earlier come too late.
    pub asked_at: Stamp,
    /// Already taken by others; our share is smaller by it.
    pub foreign: Option<Foreign>,
    /// Answers in a row that showed foreign spending, as far as they are counted.
    pub foreign_streak: u32,
    /// When as much was shown last: what is shown less is not less before the window has passed.
    pub foreign_seen_at: Option<Stamp>,
    /// Whether the last answer said that nothing is left.
    pub nothing_left: bool,
    /// The amount stated last.
    pub stated: Option<u64>,
    /// Answers in a row on the same side of what is declared, as far as they are counted.
    pub stated_streak: u32,
    /// In force instead of the declared amount; always lower.
    pub adopted: Option<u64>,
}

impl Learned {
    pub fn nothing(about: LimitKey) -> Learned {
        Learned {
            about,
            source: String::new(),
            asked_at: Stamp::default(),
            foreign: None,
            foreign_streak: 0,
            foreign_seen_at: None,
            nothing_left: false,
            stated: None,
            stated_streak: 0,
            adopted: None,
        }
    }
}
