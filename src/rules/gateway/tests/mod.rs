//! The gateway's decisions held against RFC 9111 and RFC 9211, row by row, and against what must hold whatever comes.
//!
//! | section               | row                                                              | test                  |
//! |-----------------------|------------------------------------------------------------------|-----------------------|
//! | RFC 9111 2, 4         | method, target and credential are the key; a GET answers a HEAD  | [`vary`]              |
//! | RFC 9111 3            | what is stored: `no-store`, `private`, status, explicit freshness | [`keeping`]          |
//! | RFC 9111 3, 4         | an error or a redirect stands while it is fresh, and not after   | [`keeping`], [`deciding`] |
//! | RFC 9111 3.1          | hop-by-hop headers are not stored                                | [`keeping`]           |
//! | RFC 9111 3.3, 3.4     | no part is stored                                                | [`keeping`]           |
//! | RFC 9111 3.5          | `Authorization`                                                  | [`keeping`]           |
//! | RFC 9111 3.2, 4.3.4   | a 304 renews what is stored                                      | [`validating`]        |
//! | RFC 9111 4.1          | `Vary`                                                           | [`vary`]              |
//! | RFC 9111 4.2.1        | lifetime: `s-maxage`, `max-age`, `Expires`; unsound and repeated values | [`ages`]       |
//! | RFC 9110 5.6.7        | dates that can mean one moment alone are read                    | [`super::moment`]     |
//! | RFC 9111 4.2.2        | heuristics are off                                               | [`ages`]              |
//! | RFC 9111 4.2.3        | age: `Age`, `Date`, the delay of the answer, resident time       | [`ages`]              |
//! | RFC 9111 4.2.4        | stale answers, and who forbids them                              | [`deciding`]          |
//! | RFC 5861 3            | served while it is asked for anew                                | [`deciding`]          |
//! | RFC 9111 4.3.1        | validators                                                       | [`validating`]        |
//! | RFC 9111 4.3.5        | a HEAD renews a GET, or makes it old                             | [`validating`]        |
//! | RFC 9111 4.4          | writes make old                                                  | [`other`]             |
//! | RFC 9111 5.2.1        | what clients ask for                                             | [`deciding`]          |
//! | RFC 9111 5.2.2.4, .7  | `no-cache` and `private` of single fields keep those off         | [`keeping`]           |
//! | RFC 9213 2            | headers that address this cache                                  | [`super::targeted`]   |
//! | RFC 9111 5.2.2.3      | `must-understand` and `no-store`                                 | [`keeping`]           |
//! | RFC 9110 13           | a client's own validators                                        | [`validating`]        |
//! | RFC 9211 2            | `hit`, `fwd`, `fwd-status`, `ttl`, `stored`, `collapsed`, `detail` | [`told`]            |

mod ages;
mod deciding;
mod gate;
mod keeping;
mod other;
mod suite;
mod told;
mod validating;
mod vary;

use super::*;
use crate::domain::gateway::*;
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::time::{ClockTrust, Now, Span, Stamp, Steady};

/// Monday, 30 Nov 2026 15:00:00 GMT, when the steady timeline stands at `START`.
const NOON: i64 = 1_796_050_800_000;
const START: u64 = 1_000_000_000;

/// So many seconds later.
fn at(seconds: u64) -> Now {
    let steady = Steady(START + seconds * 1000);
    Now { steady, era: 1, trust: ClockTrust::Trusted, offsets: vec![NOON - START as i64] }
}

/// The date of HTTP so many seconds later, or before.
fn http_date(seconds: i64) -> String {
    let moment = std::time::UNIX_EPOCH + std::time::Duration::from_millis((NOON + seconds * 1000) as u64);
    httpdate::fmt_http_date(moment)
}

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn yard() -> ConnectionKey {
    ConnectionKey { organization: "default".into(), connection: "yard".into() }
}

fn key_of(reading: Reading, target: &str) -> ShelfKey {
    ShelfKey { connection: yard(), credential: CredentialId([9; 16]), reading, target: target.to_owned() }
}

/// An answer that was asked for and arrived at second 0.
fn head(headers: &[(&str, &str)]) -> Head {
    head_at(headers, at(0).stamp(), at(0).stamp())
}

fn head_at(headers: &[(&str, &str)], asked_at: Stamp, as_of: Stamp) -> Head {
    Head {
        key: key_of(Reading::Get, "/tasks"),
        variant: Vec::new(),
        kept: Kept::Data,
        status: 200,
        headers: pairs(headers),
        asked_at,
        as_of,
        changed_at: as_of,
        digest: digest(b"[1]"),
        body_bytes: 3,
        cost: 1,
    }
}

fn gate_of(spec: GatewaySpec) -> Gate {
    Gate::compile(&spec, &[]).unwrap()
}

fn http_gate() -> Gate {
    gate_of(GatewaySpec { freshness: Freshness::Http, ..GatewaySpec::default() })
}

fn life(head: &Head, freshness: Freshness, fresh_for: Span, now: &Now) -> Life {
    let gate = gate_of(GatewaySpec { freshness, fresh_for, ..GatewaySpec::default() });
    super::life(head, &gate.policy(&location("/tasks")), now)
}

fn location(raw: &str) -> Location {
    Location::read(raw).unwrap()
}
