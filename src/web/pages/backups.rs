//! The part of `/settings` that makes a backup of the data file now, says what came of it, and what lies where backups lie. For who administers.

use super::actions::{Sent, back};
use super::show::{self, Face, Moment};
use super::{Action, Visit};
use crate::engine::backups::{BackupView, BackupsView};
use crate::web::WebState;
use crate::web::errors::{Kind, Problem};
use crate::web::texts;
use axum::extract::State;
use axum::response::Response;

pub struct Backups {
    pub folder: String,
    pub lie_there: Option<Newest>,
    /// How many lie there, in words.
    pub files: String,
    /// The last of this run.
    pub last: Option<Made>,
    pub make: Action,
}

pub struct Newest {
    pub name: String,
    pub size: String,
    pub at: Moment,
}

pub struct Made {
    pub at: Moment,
    pub by: String,
    pub path: String,
    pub size: String,
    pub took: String,
}

/// `None` for who may not know where the file lies.
pub async fn shown(web: &WebState, visit: &Visit, face: &Face, root: &str) -> Option<Backups> {
    if !visit.viewer.sees_all() {
        return None;
    }
    let BackupsView { folder, files, newest, last } = web.shelf().backups().await.ok()?;
    let make = visit.action(web, root, "settings/backup");
    Some(Backups {
        folder,
        lie_there: newest.map(|n| Newest { size: show::bytes(n.bytes), at: face.moment(n.made), name: n.name }),
        files: match files {
            0 => texts::t("any-none").plain(),
            1 => texts::t("any-one").plain(),
            n => show::count(n),
        },
        last: last.map(|made| told(face, made)),
        make: Action { needs_token: !visit.viewer.may_administer(), ..make },
    })
}

fn told(face: &Face, made: BackupView) -> Made {
    let BackupView { at, by, path, bytes, took } = made;
    Made { at: face.moment(at), by, path, size: show::bytes(bytes), took: show::exact(took) }
}

/// Copies the file; the page says what came of it.
pub async fn make(State(web): State<WebState>, sent: Sent) -> Result<Response, Problem> {
    if !sent.viewer.may_administer() {
        let detail =
            "A backup holds the data of every organization: it needs an operator, or a token with the role admin.";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    web.shelf().back_up(sent.by()).await?;
    Ok(back("../settings", &sent.organization, "#backup"))
}
