//! What happened, as nobody inside the appliance saw it: the only thing that the laws read. A doctored record is a planted bug.

use crate::laws::field::Seen;
use crate::machine::Ms;
use crate::provider::MOVED;
use larder::domain::ids::{Caller, CredentialId};

/// Numbers the requests of a world.
pub type RequestNo = usize;
/// A target by the names of its connection and itself.
pub type TargetAt = (String, String);

/// A request that the door let out.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub request: RequestNo,
    /// The number of its charge.
    pub charge: u64,
    pub connection: String,
    pub target: Option<String>,
    pub caller: Caller,
    pub endpoint: String,
    pub cost: u32,
    /// `tag` of a command.
    pub tag: Option<String>,
    /// When the provider counts it, and when it is done with it. `None`: it never sees it.
    pub counted: Option<(Ms, Ms)>,
}

impl Sent {
    /// It follows a redirect.
    pub fn is_hop(&self) -> bool {
        self.endpoint.starts_with(MOVED)
    }
}

/// What the door handed back, as the provider meant it.
#[derive(Clone, Debug, PartialEq)]
pub enum Meant {
    /// A complete good answer with this content, or the word that it still stands.
    Good(String),
    /// One page of a list with this content: the first, the last, or one in between.
    Page { content: String, first: bool, last: bool },
    /// A refusal by a limit; nobody may call for this long.
    Refused { wait: Ms },
    /// A complete answer that there is nothing; whether to believe it is another matter.
    Hollow,
    /// What was asked is elsewhere on the same host.
    Moved,
    /// Nothing that says anything about content.
    Nothing,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Stopped,
    Killed,
    PowerCut,
}

/// What a reader saw of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub target: TargetAt,
    /// Canonical; `None` if it was never answered.
    pub content: Option<String>,
    pub age_s: Option<u64>,
    pub fresh: bool,
    pub clock_untrusted: bool,
    pub generation: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Started,
    Ended(End),
    /// Power is back after so long; the wall clock stands wrong by so much.
    Rebooted {
        dark: Ms,
        wall_error: Ms,
    },
    /// The wall clock was set; it is now wrong by so much.
    ClockSet {
        wall_error: Ms,
    },
    /// From now on the disk takes nothing more, or takes everything again.
    Disk {
        full: bool,
    },
    /// Whether the appliance says that it can write.
    Health {
        ok: bool,
    },
    /// The appliance refused to start: what it said.
    StartFailed(String),
    Sent(Sent),
    /// Whose budget paid for a request, and which secret it carried.
    Paid {
        request: RequestNo,
        by: CredentialId,
        with: CredentialId,
    },
    Delivered {
        request: RequestNo,
        meant: Meant,
    },
    Shown(Shown),
    Budget {
        connection: String,
        limit: String,
        endpoint: Option<String>,
        used: u64,
    },
    /// The whole history of a target: sequence numbers with what they say.
    History {
        target: TargetAt,
        entries: Vec<(u64, String)>,
    },
    /// The book of a connection: charges with how they stand.
    Ledger {
        connection: String,
        lines: Vec<(u64, &'static str)>,
    },
    /// An operator asks for a refresh.
    RefreshAsked {
        target: TargetAt,
    },
    /// An operator's command was accepted: the appliance promised a job.
    Accepted {
        tag: String,
        job: u64,
    },
    /// What a job's page said; `None`: there is no such job.
    Job {
        job: u64,
        tag: String,
        state: Option<&'static str>,
    },
    /// An operator asks for a switch. Unanswered, it may be in force or not.
    SwitchAsked {
        connection: String,
        on: bool,
    },
    /// The operator's switch is in force.
    Switched {
        connection: String,
        on: bool,
    },
    /// An answer arrived in which the provider says what is left of the shared limit.
    Told {
        request: RequestNo,
        left: u64,
    },
    /// A refresh token is shown to the token endpoint; the request itself is in [`What::Sent`].
    Presented {
        request: RequestNo,
        refresh: u64,
        /// The provider has seen a newer one in use.
        dead: bool,
    },
    /// A renewal is over, and what it brought.
    Renewed {
        request: RequestNo,
        granted: Option<u64>,
    },
    /// A request arrived with this access token.
    Carried {
        token: u64,
        accepted: bool,
    },
    Panicked(String),
    /// In a field of work orders.
    Field(Seen),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// True time.
    pub at: Ms,
    pub what: What,
}

/// In the order in which it happened.
pub type Record = Vec<Fact>;
