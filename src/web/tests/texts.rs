//! Every page in the letters of another language: what is still in Latin ones does not come from the catalogue.

use super::*;
use crate::domain::event::EventKind;
use crate::domain::ids::Caller;
use crate::domain::spend::SpendBy;
use crate::domain::state::State;
use crate::web::texts::{told, wide};
use regex::Regex;
use std::collections::BTreeSet;

/// What is read in a page: text, and the attributes that are told. Without commands, keys and examples, and without drawings.
fn read(page: &str) -> String {
    let cut = |pattern: &str, text: &str| Regex::new(pattern).unwrap().replace_all(text, " ").into_owned();
    let html =
        cut(r"(?s)<(code|pre|svg|script|textarea|noscript)\b.*?</(code|pre|svg|script|textarea|noscript)>", page);
    let told = Regex::new("(?s)\\s(?:title|aria-label|placeholder|alt|data-state|data-then)=\"([^\"]*)\"").unwrap();
    let attributes = told.captures_iter(&html).map(|found| found[1].to_owned()).collect::<Vec<_>>().join("\n");
    format!("{}\n{attributes}", cut("(?s)<[^>]*>", &html))
}

/// The words in Latin letters that are none of these.
fn others(page: &str, known: &[&str]) -> Vec<String> {
    let text = known.iter().fold(read(page), |text, known| text.replace(known, " "));
    Regex::new("[A-Za-z]{2,}").unwrap().find_iter(&text).map(|word| word.as_str().to_owned()).collect()
}

/// Days and months: what writes dates knows English alone.
const CALENDAR: &str = "Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";

/// A field of the sample that is drawn and is not on the shelf any more.
const A_FIELD: &str = "planned";

/// Names, examples of what is written into a field, and zones.
const NAMES: &[&str] = &[
    "XXXX-XXXX-XXXX",
    "Larder",
    "JSON",
    "API",
    "CSV",
    "curl",
    "Grafana",
    "Home Assistant",
    "home-assistant",
    "Europe/Zurich",
    "CEST",
    "CET",
    "\u{a0}min",
    "\u{a0}kB",
    "\u{a0}MB",
];

#[tokio::test]
async fn the_way_in_is_told_in_the_language_of_its_reader() {
    let site = Site::loopback(Sample::calm());
    for path in ["/sign-in", "/claim"] {
        let page = told(wide(), site.page(path)).await;
        let left = words(&others(&page, NAMES).join(" "));
        assert_eq!(left.difference(&words(CALENDAR)).next(), None, "{path}: {left:?}");
        assert!(page.contains("<html lang=\"zu\">"), "{page}");
    }
    assert_eq!(others("<p title=\"Of\">some <b>x</b></p><code>larder</code>", &["so"]), ["me", "Of"]);
}

/// Every page of the sample but the document of the API, which is English as the API is.
const PAGES: &[&str] = &[
    "/",
    "/c/yard",
    "/c/cellar",
    "/c/yard/controls",
    "/c/yard/credential",
    "/c/yard/targets",
    "/c/yard/t/controller",
    "/c/yard/t/controller/history",
    "/polling",
    "/plan",
    "/plan?connection=yard&interval=5m",
    "/spend",
    "/activity",
    "/settings",
    "/settings/operators",
    "/settings/tokens",
    "/o/default/usage",
];

/// What programs are told of the same: names, states, sentences of the engine and of the provider.
const TOLD: &[&str] = &[
    "/api/v1/connections",
    "/api/v1/connections/yard",
    "/api/v1/connections/cellar",
    "/api/v1/connections/yard/targets",
    "/api/v1/connections/yard/targets/controller",
    "/api/v1/connections/yard/targets/controller/history",
    "/api/v1/connections/yard/scans",
    "/api/v1/connections/yard/ledger",
    "/api/v1/connections/yard/jobs",
    "/api/v1/connections/yard/webhooks",
    "/api/v1/activity",
    "/api/v1/findings",
    "/api/v1/plan",
    "/api/v1/spend",
    "/api/v1/polling",
    "/api/v1/tokens",
    "/api/v1/operators",
];

async fn as_admin(site: &Site, path: &str, accept: &str) -> String {
    let headers = [("accept", accept), ("authorization", "Bearer admin-token")];
    text(site.send(ask(Method::GET, path, &headers).body(Body::empty()).unwrap()).await).await
}

fn words(text: &str) -> BTreeSet<String> {
    Regex::new("[A-Za-z]{2,}").unwrap().find_iter(text).map(|word| word.as_str().to_lowercase()).collect()
}

/// Words of the API that pages show as they are: states, kinds of events, callers, and what spending is put together by.
fn of_the_api() -> BTreeSet<String> {
    let states = State::ALL.iter().map(|state| state.word());
    let kinds = EventKind::ALL.iter().map(|kind| kind.word());
    let callers = Caller::ALL.iter().map(|caller| caller.word());
    let by = SpendBy::ALL.iter().map(|by| by.word());
    let all: Vec<&str> =
        states.chain(kinds).chain(callers).chain(by).chain(["hour", "day", A_FIELD, CALENDAR]).collect();
    words(&all.join(" ").replace('_', " "))
}

/// The words of all values of a document.
fn values(document: &Value, found: &mut BTreeSet<String>) {
    match document {
        Value::String(text) => found.extend(words(text)),
        Value::Array(all) => all.iter().for_each(|one| values(one, found)),
        Value::Object(members) => {
            // Fields are called as the configuration calls them.
            if let Some(fields) = members.get("fields").and_then(Value::as_object) {
                fields.keys().for_each(|name| found.extend(words(&name.replace('_', " "))));
            }
            members.values().for_each(|one| values(one, found));
        }
        _ => {}
    }
}

/// What a page says in English is what API, log and broker say in the same words; all else is in the catalogue.
#[tokio::test]
async fn what_no_program_is_told_comes_from_the_catalogue() {
    let mut found = Vec::new();
    for sample in [Sample::calm, Sample::locked_out, Sample::empty] {
        let (site, is_empty) = (Site::loopback(sample()), sample().connections.is_empty());
        let mut told_too = of_the_api();
        for path in TOLD {
            let document = serde_json::from_str(&as_admin(&site, path, "application/json").await).unwrap_or_default();
            values(&document, &mut told_too);
        }
        // Without a connection there is nothing at some of them, and the API says so in the same words.
        for path in PAGES.iter().filter(|path| !is_empty || ["/", "/plan", "/activity", "/settings"].contains(path)) {
            let page = told(wide(), as_admin(&site, path, "text/html")).await;
            let left = words(&others(&page, NAMES).join(" "));
            let left = left.difference(&told_too);
            found.extend(left.map(|word| format!("{path}: {word}")));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}
