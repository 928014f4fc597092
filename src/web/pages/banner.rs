//! The banner of a page: the parts of a state, and the one thing to do as a link to where it is done. Must not know how a state came about.

use super::show::{Face, Moment};
use super::{Visit, segment, show};
use crate::engine::view::{ActionKind, ActionView, BannerView};
use crate::web::texts;

pub struct Banner {
    pub what: String,
    pub since: Option<Moment>,
    pub works: String,
    pub change: String,
    pub changes: Option<Moment>,
    pub act: Option<Act>,
}

pub struct Act {
    pub label: &'static str,
    /// What it costs, in words.
    pub cost: String,
    /// `None`: it is not done here.
    pub href: Option<String>,
}

/// `root`: from the page to the root of the site.
pub fn banner(face: &Face, visit: &Visit, root: &str, connection: &str, banner: &BannerView) -> Banner {
    Banner {
        what: face.told(&banner.what),
        since: face.maybe(banner.since),
        works: face.told(&banner.works),
        change: face.told(&banner.change),
        changes: face.maybe(banner.changes_at),
        act: banner.action.as_ref().map(|action| act(visit, root, connection, action)),
    }
}

fn act(visit: &Visit, root: &str, connection: &str, action: &ActionView) -> Act {
    let (suffix, name) = (visit.suffix(), segment(connection));
    let href = match action.kind {
        ActionKind::SetClock => None,
        ActionKind::Resume => Some(format!("{root}c/{name}{suffix}#polling")),
        ActionKind::ResumeAll => Some(format!("{root}polling{suffix}")),
        ActionKind::ReplaceCredential => Some(format!("{root}c/{name}/credential{suffix}")),
        ActionKind::SeeSpending => Some(format!("{root}spend?by=caller&connection={name}{}", visit.suffix_more())),
        ActionKind::SeeRequests => Some(format!("{root}c/{name}{suffix}#charges")),
        ActionKind::Probe => Some(format!("{root}c/{name}/controls{suffix}#probe")),
        ActionKind::Refresh => {
            action.target.as_ref().map(|target| format!("{root}c/{name}/t/{}{suffix}#refresh", segment(target)))
        }
    };
    let cost = match action.requests {
        0 => texts::t("banner-no-request").plain(),
        1 => texts::t("banner-1-request").plain(),
        n => texts::t("banner-about-requests").with("n", show::count(n)).plain(),
    };
    Act { label: action.label, cost, href }
}
