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
use crate::web::{WebState, base, health};
use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

/// What a request may call this appliance without being told so.
const OWN_NAMES: &str = "every IP address, localhost, *.localhost, *.local, *.home.arpa";

#[derive(Template)]
#[template(path = "settings.html")]
struct Page {
    frame: Frame,
    well: bool,
    sentence: &'static str,
    notes: Vec<String>,
    started: Moment,
    facts: Vec<(&'static str, String)>,
    backups: Option<Backups>,
    own_names: &'static str,
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
        own_names: OWN_NAMES,
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

fn sentence(health: &Health) -> &'static str {
    match (&health.store, health.poller_alive, health.clock) {
        (Err(_), ..) => "The data file takes no writes, so nothing is asked.",
        (_, false, _) => "Nothing is polled: the poller does not tick.",
        (_, _, ClockTrust::Untrusted) => "The clock is not believed, so nothing is asked that depends on it.",
        _ => "The data file takes writes, the poller ticks, the clock is believed.",
    }
}

fn facts(web: &WebState, headers: &HeaderMap, health: &Health) -> Vec<(&'static str, String)> {
    let up_s = (web.shelf().now().wall().0 - health.started_at.0.0).div_euclid(1000);
    let clock = match health.clock {
        ClockTrust::Trusted => "the system’s, believed",
        ClockTrust::Untrusted => "the system’s, not believed: it is behind the data file",
    };
    let path = base::of(web.base(), headers);
    vec![
        ("Data file", health.store.as_ref().map_or_else(Clone::clone, |()| "takes writes".to_owned())),
        ("Its size", show::bytes(health.file_bytes)),
        ("Written to it", written(health.written_bytes, u64::try_from(up_s).unwrap_or(0))),
        ("Poller", if health.poller_alive { "ticks" } else { "does not tick" }.to_owned()),
        ("Clock", clock.to_owned()),
        ("Path of the site", format!("{}/", path.as_str())),
        ("Version", env!("CARGO_PKG_VERSION").to_owned()),
    ]
}

/// What a memory card has to bear; a day's worth once there is enough to go by.
fn written(bytes: u64, up_s: u64) -> String {
    const ENOUGH_S: u64 = 3600;
    let all = format!("{} since the start", show::bytes(bytes));
    match up_s {
        ..ENOUGH_S => all,
        _ => {
            let a_day = u128::from(bytes) * 86_400 / u128::from(up_s);
            format!("{all}, {} a day", show::bytes(u64::try_from(a_day).unwrap_or(u64::MAX)))
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
        Source::Usual => "as usual".to_owned(),
        Source::File { name, line } => format!("{name}, line {line}"),
        Source::Variable(name) => format!("the variable {name}"),
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
