//! What other programs are told to read a target: a command for a shell, sensors for Home Assistant, a job for Prometheus, a query for Grafana. With the
//! address by which the reader has this page, and a place for a token where one is needed. Must not know how a value is read.

use super::show::shorten;
use super::{Visit, segment};
use crate::domain::ids::Organization;
use crate::engine::flat::{flat, slugs};
use crate::engine::view::{ConnectionView, FlatKind, FlatOf, FlatValue, FlatView, TargetView};
use crate::web::access::Listener;
use crate::web::access::hosts::host_of;
use crate::web::access::proxy::Came;
use crate::web::headers::listed;
use crate::web::{WebState, base};
use axum::http::HeaderMap;
use serde_json::{Value, json};

/// Values of items that are written out as sensors; the others are read likewise.
const SENSORS: usize = 24;
/// Characters of an item's title in the name of its sensor.
const LONGEST_NAME: usize = 60;
/// What stands where the reader's own token goes.
const TOKEN: &str = "LARDER_TOKEN";

/// Ready to be copied.
pub struct Snippets {
    pub needs_token: bool,
    pub curl: String,
    pub home_assistant: String,
    pub prometheus: String,
    pub queries: String,
    pub grafana: String,
}

/// Where the reader has the site.
struct Site {
    scheme: &'static str,
    host: String,
    /// Without a slash at its end.
    prefix: String,
    /// `?organization=...`, or nothing.
    suffix: String,
    needs_token: bool,
}

/// The address that a proxy tells is only written down here: nothing is let in by it.
pub fn snippets(
    (web, visit): (&WebState, &Visit),
    (headers, came): (&HeaderMap, &Came),
    owner: &ConnectionView,
    target: &TargetView,
) -> Snippets {
    let told_tls = listed(headers, "x-forwarded-proto").next().is_some_and(|first| first.eq_ignore_ascii_case("https"));
    let site = Site {
        scheme: if told_tls || came.tls { "https" } else { "http" },
        host: host_of(headers).unwrap_or("127.0.0.1:8474").to_owned(),
        prefix: base::of(web.base(), headers).as_str().to_owned(),
        suffix: visit.suffix(),
        needs_token: came.listener == Listener::Network,
    };
    let flat = flat(owner, std::slice::from_ref(target));
    let names = web.shelf().names(&visit.organization);
    let keys = slugs(names.iter().map(String::as_str));
    let connection = names.iter().position(|name| *name == owner.name).and_then(|at| keys.get(at));
    let ours = Ours { connection: connection.map(String::as_str).unwrap_or_default(), target, flat: &flat };
    Snippets {
        needs_token: site.needs_token,
        curl: site.curl(target),
        home_assistant: site.home_assistant(&ours),
        prometheus: site.prometheus(),
        queries: queries(target),
        grafana: site.grafana(target),
    }
}

/// A text in YAML and JSON alike.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A label of Prometheus's query language.
fn label(name: &str, value: &str) -> String {
    format!("{name}={}", quoted(value))
}

impl Site {
    /// Of a path below the root, with the organization.
    fn url(&self, path: &str) -> String {
        format!("{}://{}{}/{path}{}", self.scheme, self.host, self.prefix, self.suffix)
    }

    fn target_url(&self, target: &TargetView) -> String {
        self.url(&format!("api/v1/connections/{}/targets/{}", segment(&target.connection), segment(&target.name)))
    }

    fn curl(&self, target: &TargetView) -> String {
        let token = if self.needs_token { format!("-H \"Authorization: Bearer ${TOKEN}\" ") } else { String::new() };
        // Nothing in it can end the quotes: names are percent-encoded, and a host with a quote is refused.
        format!("curl -sS {token}'{}'", self.target_url(target))
    }

    fn home_assistant(&self, ours: &Ours<'_>) -> String {
        let mut yaml = format!("rest:\n  - resource: {}\n    scan_interval: 30\n", quoted(&self.url("api/v1/ha")));
        if self.needs_token {
            yaml.push_str(&format!("    headers:\n      Authorization: {}\n", quoted(&format!("Bearer {TOKEN}"))));
        }
        yaml.push_str("    sensor:\n");
        let of_target = |v: &&FlatValue| match &v.of {
            FlatOf::Target { .. } => v.name != "available",
            FlatOf::Item { .. } => v.name != "title",
            FlatOf::Connection => false,
        };
        let all: Vec<&FlatValue> = ours.flat.values.iter().filter(of_target).collect();
        all.iter().take(SENSORS).for_each(|value| yaml.push_str(&ours.sensor(value)));
        if let Some(more) = all.len().checked_sub(SENSORS).filter(|more| *more > 0) {
            yaml.push_str(&format!("      # {more} more values are read likewise: their keys are in the document.\n"));
        }
        yaml
    }

    fn prometheus(&self) -> String {
        let mut yaml = "scrape_configs:\n  - job_name: larder\n".to_owned();
        if self.scheme == "https" {
            yaml.push_str("    scheme: https\n");
        }
        yaml.push_str(&format!("    metrics_path: {}\n", quoted(&format!("{}/metrics", self.prefix))));
        if self.needs_token {
            yaml.push_str(&format!("    authorization:\n      credentials: {}\n", quoted(TOKEN)));
        }
        yaml.push_str(&format!("    static_configs:\n      - targets: [{}]\n", quoted(&self.host)));
        yaml
    }

    /// A query of the Infinity data source.
    fn grafana(&self, target: &TargetView) -> String {
        let headers = if self.needs_token {
            json!([{ "key": "Authorization", "value": format!("Bearer {TOKEN}") }])
        } else {
            json!([])
        };
        let column = |selector: &str, kind: &str| json!({ "selector": selector, "text": selector, "type": kind });
        let query = json!({
            "type": "json", "parser": "backend", "source": "url", "format": "table",
            "url": self.target_url(target), "url_options": { "method": "GET", "headers": headers },
            "root_selector": "items",
            "columns": [column("title", "string"), column("state", "string"), column("changed_at", "timestamp")],
        });
        format!("{query:#}")
    }
}

/// The values that are told of.
struct Ours<'a> {
    /// What their keys begin with.
    connection: &'a str,
    target: &'a TargetView,
    flat: &'a FlatView,
}

impl Ours<'_> {
    fn sensor(&self, value: &FlatValue) -> String {
        let whose = match &value.of {
            FlatOf::Item { title, .. } => shorten(title, LONGEST_NAME),
            _ => self.target.name.clone(),
        };
        let name = format!("{} {whose} {}", self.flat.connection, value.name.replace('_', " "));
        let id = format!("larder_{}{}__{}", of_organization(self.flat), self.connection, value.key);
        let mut yaml = format!(
            "      - name: {}\n        unique_id: {}\n        value_template: {}\n",
            quoted(&name),
            quoted(&id),
            self.template(&value.key)
        );
        if let FlatOf::Item { target, .. } = &value.of {
            yaml.push_str(&format!("        availability: {}\n", self.template(&format!("{target}__available"))));
        }
        match value.kind {
            FlatKind::Moment => yaml.push_str("        device_class: timestamp\n"),
            FlatKind::Seconds => yaml.push_str("        device_class: duration\n        unit_of_measurement: \"s\"\n"),
            FlatKind::Text | FlatKind::Number | FlatKind::Flag | FlatKind::Unknown => {}
        }
        yaml
    }

    fn template(&self, key: &str) -> String {
        quoted(&format!("{{{{ value_json['{}__{key}'] }}}}", self.connection))
    }
}

/// Nothing for the default one.
fn of_organization(flat: &FlatView) -> String {
    let named = Some(flat.organization.as_str()).filter(|name| *name != Organization::default().as_str());
    slugs(named.into_iter()).into_iter().map(|slug| slug + "__").collect()
}

/// For Prometheus and what reads it.
fn queries(target: &TargetView) -> String {
    let own = [("organization", &target.organization), ("connection", &target.connection), ("target", &target.name)];
    let own = own.map(|(name, value)| label(name, value));
    let of_connection = own[..2].join(", ");
    format!(
        "larder_target_age_seconds{{{own}}}\nlarder_target_fresh{{{own}}}\nlarder_quota_remaining{{{of_connection}}}\n",
        own = own.join(", ")
    )
}
