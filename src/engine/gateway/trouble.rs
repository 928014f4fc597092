//! Why a client has no answer, in words: what stopped the request, or what the provider did.

use super::given::{Halt, HaltKind};
use crate::domain::ids::Endpoint;
use crate::domain::outcome::Outcome;
use crate::domain::time::{Now, Steady};
use crate::engine::core::{Conn, Core};
use crate::engine::fetch::Stopped;
use crate::engine::fetch::pass::Heard;
use crate::engine::words::{self, Telling};
use crate::rules::budget::Refusal;

impl Halt {
    fn new(kind: HaltKind, word: &'static str, sentence: String) -> Halt {
        Halt { kind, word, sentence, limit: None, not_before: None, retry_after_s: None }
    }

    pub fn stopping() -> Halt {
        Halt::new(
            HaltKind::Unavailable,
            "stopping",
            "The appliance is stopping. Nothing was lost; ask again.".to_owned(),
        )
    }

    pub fn unanswerable() -> Halt {
        let sentence =
            "Nothing on the shelf would do, and the client wants the provider not to be asked (only-if-cached).";
        Halt::new(HaltKind::Unanswerable, "only_if_cached", sentence.to_owned())
    }

    pub fn crowded() -> Halt {
        let sentence = "So many ask the same that this request could not be answered together with theirs. Ask again.";
        Halt { retry_after_s: Some(1), ..Halt::new(HaltKind::Unavailable, "crowded", sentence.to_owned()) }
    }

    fn by(self, limit: &str) -> Halt {
        Halt { limit: Some(limit.to_owned()), ..self }
    }

    fn until(self, at: Steady, now: &Now) -> Halt {
        if at == Steady::MAX {
            return self;
        }
        let wait = at.since(now.steady).as_secs_ceil().max(1);
        Halt { not_before: Some(now.wall_of(at)), retry_after_s: Some(wait), ..self }
    }

    /// Nothing was sent, or nothing more; or nobody could write down what was.
    pub fn stopped(conn: &Conn, stopped: &Stopped, now: &Now) -> Halt {
        let why = words::why(stopped, now, Telling::Anew);
        if matches!(stopped, Stopped::Unrecorded { .. }) {
            let sentence =
                format!("{}: {} Look what it did before you ask again.", conn.spec.provider, words::ended(&why));
            return Halt::new(HaltKind::Unrecorded, "unrecorded", sentence);
        }
        let sentence = words::ended(&format!("{} is not asked: {why}", conn.spec.provider));
        match (stopped, stopped.refusal()) {
            (Stopped::Paused, _) => Halt::new(HaltKind::Paused, "paused", sentence),
            (Stopped::Store(e), _) => Halt::new(HaltKind::Unavailable, "unavailable", e.to_string()),
            (_, Some(Refusal::NotUntil { at, limit })) => {
                Halt::new(HaltKind::NotYet, "exhausted", sentence).by(limit).until(*at, now)
            }
            (_, Some(Refusal::Held(hold))) => Halt::new(HaltKind::NotYet, "held", sentence).until(hold.until, now),
            (_, Some(Refusal::Probing { at })) => Halt::new(HaltKind::NotYet, "held", sentence).until(*at, now),
            (_, Some(Refusal::NeverFits { limit })) => Halt::new(HaltKind::NotYet, "never_fits", sentence).by(limit),
            (_, None) => Halt::new(HaltKind::Unavailable, "unaskable", sentence),
        }
    }

    /// The provider was asked, and this is no answer for a client.
    pub fn heard(core: &Core, conn: &Conn, endpoint: &Endpoint, heard: &Heard) -> Halt {
        let verdict = &heard.verdict;
        let why = words::reason(verdict.outcome, heard.status, &core.door.redact(&heard.detail));
        Halt::of(core, conn, endpoint, verdict.outcome, &why, verdict.said.as_deref())
    }

    /// The same in words that are there already.
    pub fn of(core: &Core, conn: &Conn, endpoint: &Endpoint, outcome: Outcome, why: &str, said: Option<&str>) -> Halt {
        let said = said.map(|said| format!(" It said: \u{201c}{}\u{201d}", words::ended(said))).unwrap_or_default();
        let sentence = format!("{}: {}{said}", conn.spec.provider, words::ended(why));
        let now = core.clock.now();
        let holds = core.store.holds(conn.credential);
        let until =
            holds.iter().filter(|h| h.scope.covers(endpoint) && h.is_in_force(now.steady)).map(|h| h.until).max();
        let kind = match outcome {
            Outcome::Limited | Outcome::Unpaid => HaltKind::NotYet,
            _ => HaltKind::Provider,
        };
        let halt = Halt::new(kind, outcome.word(), sentence);
        match until {
            Some(at) => halt.until(at, &now),
            None => halt,
        }
    }
}
