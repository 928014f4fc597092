//! `/settings`: how the installation stands, what is configured and by whom, and how its reader wants times and numbers. All but the last is for looking:
//! what the file or the environment says is changed there.

use super::backups::{self, Backups};
use super::reader::{Clock, Decimal};
use super::show::{self, Face, Moment};
use super::{Frame, Visit, html, segment};
use crate::domain::setting::{Setting, Source};
use crate::domain::time::ClockTrust;
use crate::engine::appliance::Health;
use crate::engine::view::{BrokerView, PollingView};
use crate::web::errors::Problem;
use crate::web::texts::{self, Text};
use crate::web::{WebState, base, health};
use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

/// What a request may call this appliance without being told so.

#[derive(Template)]
#[template(path = "settings.html")]
struct Page {
    frame: Frame,
    well: bool,
    sentence: Text,
    notes: Vec<String>,
    started: Moment,
    facts: Vec<(Text, String)>,
    backups: Option<Backups>,
    own_names: Text,
    /// Of MQTT, for who may read the whole installation.
    broker: Option<Broker>,
    /// `None` for who may not read the whole installation.
    rows: Option<Vec<Row>>,
    usage: String,
    zone: String,
    clocks: [(&'static str, bool); 2],
    /// Word, an example, and whether it is the reader's.
    decimals: [(&'static str, String, bool); 2],
}

struct Broker {
    to: String,
    since: Option<Moment>,
    trouble: Option<(Moment, String)>,
}

struct Row {
    key: String,
    value: String,
    source: String,
    /// What an operator set in its place, and who.
    set: Option<(String, String)>,
}

pub async fn page(State(web): State<WebState>, headers: HeaderMap, visit: Visit) -> Result<Response, Problem> {
    let face = visit.face(&web);
    let health = web.shelf().health();
    let polling = web.shelf().polling().await?;
    let reader = visit.reader();
    let frame = visit.frame(&web, &face, None);
    let page = Page {
        backups: backups::shown(&web, &visit, &face, &frame.root).await,
        well: health::is_ready(&health) && health.clock == ClockTrust::Trusted,
        sentence: sentence(&health),
        facts: facts(&web, &headers, &health),
        started: face.moment(health.started_at),
        notes: health.notes,
        broker: web.shelf().broker().filter(|_| visit.viewer.sees_all()).map(|view| broker(&face, view)),
        own_names: texts::t("settings-own-names"),
        rows: visit.viewer.sees_all().then(|| web.configured().now().iter().map(|s| row(s, &polling)).collect()),
        usage: format!("o/{}/usage", segment(visit.organization.as_str())),
        zone: reader.zone.as_ref().and_then(|zone| zone.iana_name()).unwrap_or_default().to_owned(),
        decimals: Decimal::ALL.map(|of| (of.word(), of.written("21.5"), of == reader.decimal)),
        clocks: Clock::ALL.map(|clock| (clock.word(), clock == reader.clock)),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn broker(face: &Face, view: BrokerView) -> Broker {
    Broker {
        to: view.to,
        since: face.maybe(view.connected_since),
        trouble: view.trouble.map(|(at, why)| (face.moment(at), why)),
    }
}

fn sentence(health: &Health) -> Text {
    match (&health.store, health.poller_alive, health.clock) {
        (Err(_), ..) => texts::t("settings-takes-no-writes"),
        (_, false, _) => texts::t("settings-nothing-is-polled"),
        (_, _, ClockTrust::Untrusted) => texts::t("settings-the-clock-is-not-believed"),
        _ => texts::t("settings-all-is-well"),
    }
}

fn facts(web: &WebState, headers: &HeaderMap, health: &Health) -> Vec<(Text, String)> {
    let up_s = (web.shelf().now().wall().0 - health.started_at.0.0).div_euclid(1000);
    let clock = match health.clock {
        ClockTrust::Trusted => texts::t("settings-clock-believed"),
        ClockTrust::Untrusted => texts::t("settings-clock-not-believed"),
    };
    let path = base::of(web.base(), headers);
    vec![
        (
            texts::t("settings-data-file"),
            health.store.as_ref().map_or_else(Clone::clone, |()| texts::t("settings-takes-writes").plain()),
        ),
        (texts::t("settings-its-size"), show::bytes(health.file_bytes)),
        (texts::t("settings-written-to-it"), written(health.written_bytes, u64::try_from(up_s).unwrap_or(0))),
        (
            texts::t("settings-poller"),
            if health.poller_alive { texts::t("settings-ticks") } else { texts::t("settings-does-not-tick") }.plain(),
        ),
        (texts::t("settings-clock"), clock.plain()),
        (texts::t("settings-path-of-the-site"), format!("{}/", path.as_str())),
        (texts::t("settings-version"), env!("CARGO_PKG_VERSION").to_owned()),
    ]
}

/// What a memory card has to bear; a day's worth once there is enough to go by.
fn written(bytes: u64, up_s: u64) -> String {
    const ENOUGH_S: u64 = 3600;
    let all = texts::t("settings-since-the-start").with("bytes", show::bytes(bytes)).plain();
    match up_s {
        ..ENOUGH_S => all,
        _ => {
            let a_day = u128::from(bytes) * 86_400 / u128::from(up_s);
            texts::t("settings-a-day")
                .with("all", &all)
                .with("a-day", show::bytes(u64::try_from(a_day).unwrap_or(u64::MAX)))
                .plain()
        }
    }
}

fn row(setting: &Setting, polling: &PollingView) -> Row {
    let by = match setting.key.as_str() {
        "polling.enabled" => polling.enabled_set.as_ref().map(|set| (on_off(set.value).to_owned(), set.by.clone())),
        "polling.workers" => polling.workers_set.as_ref().map(|set| (set.value.to_string(), set.by.clone())),
        _ => None,
    };
    let source = match &setting.source {
        Source::Usual => texts::t("settings-as-usual").plain(),
        Source::File { name, line } => texts::t("settings-line").with("name", name).with("line", line).plain(),
        Source::Variable(name) => texts::t("settings-the-variable").with("name", name).plain(),
    };
    Row { key: setting.key.clone(), value: setting.value.clone(), source, set: by }
}

const fn on_off(on: bool) -> &'static str {
    if on { "true" } else { "false" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_told_by_the_day_once_there_is_enough_to_go_by() {
        assert_eq!(written(36_900, 60).replace('\u{a0}', " "), "37 kB since the start");
        assert_eq!(written(11_000_000, 43_200).replace('\u{a0}', " "), "11 MB since the start, 22 MB a day");
        assert!(written(u64::MAX, 3600).contains("a day"));
    }
}
