//! A finding: something the owners should know and that does not pass by itself: somebody else spends on the key, a limit is not
//! what was declared. While it is so it is one finding that counts its sightings. Must not know who finds or who shows.

use super::ids::{ConnectionKey, ConnectionName, CredentialId, FindingId, Organization, TargetName};
use super::time::Stamp;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// The provider's count falls faster than our charges: somebody else spends on this credential (A31).
    ForeignSpending,
    /// The provider states a lower limit than was declared; it is kept.
    LowerLimit,
    /// The provider states a higher limit than was declared; it is offered, not taken.
    HigherLimitOffered,
    /// A set that had members is answered as empty; the last good answer stays until it is confirmed.
    SuddenEmptiness,
    /// The provider asked for a longer wait than is credible.
    WaitAboveCeiling,
    /// A scan ended without evidence that it was complete.
    ScanIncomplete,
    /// The credential has to be granted anew by a person.
    CredentialReauthorize,
    /// The provider announces that what is asked will end.
    Deprecated,
    /// The receiver of a connection's events does not take them.
    WebhookFailing,
    /// The configuration names a credential that cannot be read; the one of before stays in force.
    CredentialUnreadable,
    /// `larder.toml` was to be read anew and cannot be; what it said before stays in force. Of the appliance, and of no connection.
    ConfigurationUnreadable,
    /// `[backup]` wants backups, and the last one was not made. Of the appliance, and of no connection.
    BackupFailing,
}

impl FindingKind {
    pub const ALL: [FindingKind; 12] = [
        FindingKind::ForeignSpending,
        FindingKind::LowerLimit,
        FindingKind::HigherLimitOffered,
        FindingKind::SuddenEmptiness,
        FindingKind::WaitAboveCeiling,
        FindingKind::ScanIncomplete,
        FindingKind::CredentialReauthorize,
        FindingKind::Deprecated,
        FindingKind::WebhookFailing,
        FindingKind::CredentialUnreadable,
        FindingKind::ConfigurationUnreadable,
        FindingKind::BackupFailing,
    ];

    /// Whether it is about a connection, and not about the appliance itself.
    pub const fn is_of_a_connection(self) -> bool {
        !matches!(self, FindingKind::ConfigurationUnreadable | FindingKind::BackupFailing)
    }

    /// The one word for it, in API, metrics and pages.
    pub const fn word(self) -> &'static str {
        match self {
            FindingKind::ForeignSpending => "foreign_spending",
            FindingKind::LowerLimit => "lower_limit",
            FindingKind::HigherLimitOffered => "higher_limit_offered",
            FindingKind::SuddenEmptiness => "sudden_emptiness",
            FindingKind::WaitAboveCeiling => "wait_above_ceiling",
            FindingKind::ScanIncomplete => "scan_incomplete",
            FindingKind::CredentialReauthorize => "credential_reauthorize",
            FindingKind::Deprecated => "deprecated",
            FindingKind::WebhookFailing => "webhook_failing",
            FindingKind::CredentialUnreadable => "credential_unreadable",
            FindingKind::ConfigurationUnreadable => "configuration_unreadable",
            FindingKind::BackupFailing => "backup_failing",
        }
    }
}

/// What a finding is about. At most one is open for each matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Matter {
    pub connection: ConnectionKey,
    pub target: Option<TargetName>,
    pub kind: FindingKind,
    /// Tells apart what one kind can find: the name of a limit, of a scan, of an endpoint; empty where there is nothing to tell
    /// apart. From the configuration, never a text of the provider: there must not be more than a handful.
    pub subject: String,
}

impl Matter {
    /// Of the appliance itself: under a name that no connection can have.
    pub fn of_the_appliance(kind: FindingKind) -> Matter {
        let connection = ConnectionKey { organization: Organization::default(), connection: ConnectionName::from("") };
        Matter { connection, target: None, kind, subject: String::new() }
    }

    /// `None`: it is of the appliance itself.
    pub fn of_connection(&self) -> Option<&ConnectionKey> {
        Some(&self.connection).filter(|key| !key.connection.as_str().is_empty())
    }
}

/// A finding, open or closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub id: FindingId,
    pub about: Matter,
    pub credential: Option<CredentialId>,
    pub opened_at: Stamp,
    pub last_seen_at: Stamp,
    /// Sightings, the first included.
    pub count: u64,
    /// Kept for a while; the same matter seen again opens a new finding.
    pub closed_at: Option<Stamp>,
    /// For people, without secrets: as it was seen last.
    pub sentence: String,
    /// What to do about it, or the figures behind it.
    pub detail: Option<String>,
}

/// A matter as it is seen now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub about: Matter,
    pub credential: Option<CredentialId>,
    pub at: Stamp,
    pub sentence: String,
    pub detail: Option<String>,
}

/// What is learned of a matter. Commits carry it, so that it stands with what it was learned from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingChange {
    /// Opens a finding, or counts one more sighting of the one that is open.
    Seen(Seen),
    /// Closes what is open of this matter; nothing if nothing is. `because` is a sentence for people.
    Settled { about: Matter, at: Stamp, because: String },
}

impl FindingChange {
    pub fn about(&self) -> &Matter {
        match self {
            FindingChange::Seen(seen) => &seen.about,
            FindingChange::Settled { about, .. } => about,
        }
    }
}

impl Finding {
    pub fn opened(id: FindingId, seen: Seen) -> Finding {
        let Seen { about, credential, at, sentence, detail } = seen;
        Finding { id, about, credential, opened_at: at, last_seen_at: at, count: 1, closed_at: None, sentence, detail }
    }

    pub const fn is_open(&self) -> bool {
        self.closed_at.is_none()
    }

    /// The same matter once more: the newest words stand.
    pub fn seen_again(self, seen: Seen) -> Finding {
        Finding {
            last_seen_at: seen.at,
            count: self.count.saturating_add(1),
            sentence: seen.sentence,
            detail: seen.detail,
            credential: seen.credential.or(self.credential),
            ..self
        }
    }

    pub fn closed(self, at: Stamp) -> Finding {
        Finding { closed_at: Some(at), ..self }
    }
}

/// Which findings a reader wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `None`: of every organization.
    pub organization: Option<Organization>,
    /// `None`: of every connection.
    pub connection: Option<ConnectionName>,
    pub which: Which,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    #[default]
    All,
    Open,
}

impl Wanted {
    pub fn is(&self, finding: &Finding) -> bool {
        let of = &finding.about.connection;
        self.organization.as_ref().is_none_or(|o| *o == of.organization)
            && self.connection.as_ref().is_none_or(|c| *c == of.connection)
            && (self.which == Which::All || finding.is_open())
    }
}
