//! The closed sets of words in the read models, as the document of the API lists them: taken from the enums that say them, so that it lists what
//! is said. Knows words; must not know who says which.

use crate::domain::connection::HoldReason;
use crate::domain::event::EventKind;
use crate::domain::finding::FindingKind;
use crate::domain::ids::Caller;
use crate::domain::item::ChangeKind;
use crate::domain::job::JobState;
use crate::domain::observation::Became;
use crate::domain::outcome::Outcome;
use crate::domain::spend::SpendBy;
use crate::domain::state::State;
use crate::domain::target::Phase;
use crate::domain::webhook::WebhookForm;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

macro_rules! words {
    ($($doc:literal $name:ident = $words:expr;)*) => {$(
        #[doc = $doc]
        pub struct $name;

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                listed($doc, $words.as_slice())
            }
        }

        impl utoipa::ToSchema for $name {}
    )*};
}

words! {
    "How a connection or a target stands: the first of these that is true." StateWord = State::ALL.map(State::word);
    "Where a target stands in its life." PhaseWord = Phase::ALL.map(Phase::word);
    "Who spends." CallerWord = Caller::ALL.map(Caller::word);
    "What became of a request." OutcomeWord = Outcome::ALL.map(Outcome::word);
    "What became of a request; `pending` until that is known." ChargeOutcomeWord = charge_outcomes();
    "Whether the units of a request are counted." SettlementWord = ["pending", "posted", "voided"];
    "Why a connection is held." HoldReasonWord = HoldReason::ALL.map(HoldReason::word);
    "Whom a hold stops: everybody with the credential, or who asks one endpoint." HoldScopeWord = ["credential", "endpoint"];
    "The way back after a hold: one request alone, then some slower polls." RecoveryWord = ["probing", "ramp"];
    "Whether the connection is asked: `open` after failures in a row, `half_open` while one request tries." BreakerWord =
        ["closed", "open", "half_open"];
    "How a limit counts." LimitKindWord =
        ["rolling", "fixed", "daily", "weekly", "monthly", "anchored", "pace", "concurrent"];
    "What a finding is about." FindingKindWord = FindingKind::ALL.map(FindingKind::word);
    "What an event tells of." EventKindWord = EventKind::ALL.map(EventKind::word);
    "What happened to an item." ChangeWord =
        [ChangeKind::Appeared, ChangeKind::Changed, ChangeKind::Removed, ChangeKind::Reappeared].map(ChangeKind::word);
    "How far a job is." JobWord =
        [JobState::Queued, JobState::Sent, JobState::Done, JobState::Failed, JobState::Unknown].map(JobState::word);
    "What became of a pushed answer." BecameWord = Became::ALL.map(Became::word);
    "Where a target comes from: the configuration, or somebody put it." OriginWord = ["configured", "put"];
    "Whether a command is sent again where its fate is unknown." RetryWord = ["never", "idempotent"];
    "A request for each target, or one reading that feeds them all." WayWord = ["single", "scan"];
    "Whether a webhook's receiver takes what it is told." WebhookWord = ["delivering", "failing"];
    "As what events are told: JSON for programs, notifications for people." WebhookKindWord = WebhookForm::WORDS;
    "By what spending is told apart." SpendByWord = SpendBy::ALL.map(SpendBy::word);
    "The slices of an answer." PerWord = ["hour", "day"];
}

fn charge_outcomes() -> Vec<&'static str> {
    std::iter::once("pending").chain(Outcome::ALL.map(Outcome::word)).collect()
}

fn listed(doc: &str, words: &[&'static str]) -> RefOr<Schema> {
    let words = words.iter().copied();
    ObjectBuilder::new().schema_type(Type::String).description(Some(doc)).enum_values(Some(words)).into()
}
