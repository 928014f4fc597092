//! What the owners should know, as it is told.

use super::{FindingKindWord, When};
use crate::domain::finding::Finding;
use crate::domain::ids::FindingId;
use serde::Serialize;
use utoipa::ToSchema;

/// Something that the owners should know.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FindingView {
    #[schema(value_type = u64)]
    pub id: FindingId,
    pub organization: String,
    /// Null: it is about the appliance itself.
    pub connection: Option<String>,
    pub target: Option<String>,
    #[schema(value_type = FindingKindWord)]
    pub kind: &'static str,
    /// Which limit, scan or endpoint, where the kind has several.
    pub subject: Option<String>,
    pub opened_at: When,
    pub last_seen_at: When,
    pub count: u64,
    /// Null while it is so.
    pub closed_at: Option<When>,
    pub sentence: String,
    pub detail: Option<String>,
}

impl From<Finding> for FindingView {
    fn from(f: Finding) -> FindingView {
        FindingView {
            id: f.id,
            connection: f.about.of_connection().map(|key| key.connection.0.clone()),
            organization: f.about.connection.organization.0,
            target: f.about.target.map(|t| t.0),
            kind: f.about.kind.word(),
            subject: Some(f.about.subject).filter(|s| !s.is_empty()),
            opened_at: When(f.opened_at.wall),
            last_seen_at: When(f.last_seen_at.wall),
            count: f.count,
            closed_at: f.closed_at.map(|at| When(at.wall)),
            sentence: f.sentence,
            detail: f.detail,
        }
    }
}
