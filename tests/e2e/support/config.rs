//! A `larder.toml` for a test, written from a few words. Windows are shortened so that a test takes seconds.

use super::secret::new_secret;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A whole configuration: connections and the secrets in the environment.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub connections: Vec<Connection>,
    pub environment: BTreeMap<String, String>,
    /// Further lines of `[server]`.
    pub server: Vec<String>,
    /// Further tables, word by word: where the text of a connection is the point.
    pub extra: String,
}

impl Config {
    pub fn new() -> Config {
        Config::default()
    }

    /// One connection `yard` with target `controller` and command `run-zone`.
    pub fn yard(base_url: &str) -> Config {
        Config::new().with(Connection::irrigation("yard", base_url))
    }

    /// Nothing is asked but what somebody asks for: the first poll comes at a moment of its own, up to two minutes after the start.
    pub fn by_hand(mut self) -> Config {
        self.environment.insert("LARDER_POLLING_ENABLED".to_owned(), "false".to_owned());
        self
    }

    /// A connection with a new secret of its own, unless its variable is set already.
    pub fn with(mut self, connection: Connection) -> Config {
        if let Some(variable) = &connection.secret {
            self.environment.entry(variable.clone()).or_insert_with(new_secret);
        }
        self.connections.push(connection);
        self
    }

    /// Changes the only connection, or the first.
    pub fn tuned(mut self, tune: impl FnOnce(Connection) -> Connection) -> Config {
        let first = self.connections.remove(0);
        self.connections.insert(0, tune(first));
        self
    }

    pub fn secrets(&self) -> Vec<String> {
        // What begins with LARDER_ is configuration.
        self.environment
            .iter()
            .filter(|(name, _)| !name.starts_with("LARDER_"))
            .map(|(_, value)| value.clone())
            .collect()
    }

    pub fn toml(&self, listen: &str, data: &Path) -> String {
        let mut out = format!("[server]\nlisten = \"{listen}\"\ndata = \"{}\"\n", data.display());
        for line in &self.server {
            let _ = writeln!(out, "{line}");
        }
        self.connections.iter().for_each(|c| c.write(&mut out));
        out.push_str(&self.extra);
        out
    }
}

/// One connection, as text where the text is the point.
#[derive(Clone, Debug)]
pub struct Connection {
    pub name: String,
    pub base_url: String,
    /// The environment variable that holds it.
    pub secret: Option<String>,
    /// `query = "api_key"`.
    pub carrier: String,
    /// Lines of each `[[connection.limit]]`.
    pub limits: Vec<String>,
    pub poll: String,
    pub refresh_min_age: Option<String>,
    pub request_timeout: Option<String>,
    pub conditional: Option<String>,
    pub max_body: Option<String>,
    /// Everything below the tables above: targets, commands, rules.
    pub body: String,
}

impl Connection {
    /// No credential, no limit, polled every hour.
    pub fn plain(name: &str, base_url: &str) -> Connection {
        Connection {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            secret: None,
            carrier: String::new(),
            limits: Vec::new(),
            poll: "enabled = true\ninterval = \"1h\"".to_owned(),
            refresh_min_age: None,
            request_timeout: None,
            conditional: None,
            max_body: None,
            body: String::new(),
        }
    }

    /// The irrigation cloud of CASES I in a shortened window: 5 requests per 10 s and endpoint, the poller at 2.5 s, the
    /// fifth kept for the refresh.
    pub fn irrigation(name: &str, base_url: &str) -> Connection {
        Connection {
            secret: Some("YARD_KEY".to_owned()),
            carrier: "query = \"api_key\"".to_owned(),
            refresh_min_age: Some("2s".to_owned()),
            request_timeout: Some("4s".to_owned()),
            body: IRRIGATION.to_owned(),
            ..Connection::plain(name, base_url)
        }
        .limit("status", 5, "10s", "keep = { refresh = 1 }")
        .every("2500ms")
    }

    /// How long its answer is fresh, instead of six seconds: where a test goes on while a machine is slow.
    pub fn fresh_for(mut self, span: &str) -> Connection {
        self.body = self.body.replace("fresh_for = \"6s\"", &format!("fresh_for = \"{span}\""));
        self
    }

    pub fn secret_in(mut self, variable: &str) -> Connection {
        self.secret = Some(variable.to_owned());
        self
    }
    /// Its credential travels as a bearer token.
    pub fn bearer(mut self) -> Connection {
        self.carrier = "header = \"Authorization\", scheme = \"Bearer\"".to_owned();
        self
    }
    /// A rolling limit per endpoint, with further lines.
    pub fn limit(mut self, name: &str, requests: u32, window: &str, more: &str) -> Connection {
        self.limits.push(format!(
            "name = \"{name}\"\nrequests = {requests}\nwindow = \"{window}\"\nkind = \"rolling\"\nscope = \"endpoint\"\n{more}"
        ));
        self
    }
    pub fn limit_text(mut self, lines: &str) -> Connection {
        self.limits.push(lines.to_owned());
        self
    }
    /// None but [`AMPLE`], unless others follow.
    pub fn no_limits(mut self) -> Connection {
        self.limits.clear();
        self
    }
    pub fn every(mut self, interval: &str) -> Connection {
        self.poll = format!("enabled = true\ninterval = \"{interval}\"");
        self
    }
    /// Polled once, soon (the first poll is spread over a tenth of the interval), and then not while a test looks.
    pub fn quiet(self) -> Connection {
        self.every("60s")
    }
    pub fn not_polled(mut self) -> Connection {
        self.poll = "enabled = false\ninterval = \"1h\"".to_owned();
        self
    }
    pub fn min_age(mut self, age: &str) -> Connection {
        self.refresh_min_age = Some(age.to_owned());
        self
    }
    pub fn timeout(mut self, timeout: &str) -> Connection {
        self.request_timeout = Some(timeout.to_owned());
        self
    }
    /// `free`, `charged` or `off`.
    pub fn conditional(mut self, word: &str) -> Connection {
        self.conditional = Some(word.to_owned());
        self
    }
    pub fn max_body(mut self, size: &str) -> Connection {
        self.max_body = Some(size.to_owned());
        self
    }
    /// Text of tables instead of those of the irrigation cloud.
    pub fn body(mut self, text: &str) -> Connection {
        self.body = text.to_owned();
        self
    }

    fn write(&self, out: &mut String) {
        let _ = writeln!(out, "\n[[connection]]\nname = \"{}\"\nbase_url = \"{}\"", self.name, self.base_url);
        if let Some(variable) = &self.secret {
            let _ = writeln!(out, "credential = {{ env = \"{variable}\", {} }}", self.carrier);
        }
        if let Some(age) = &self.refresh_min_age {
            let _ = writeln!(out, "refresh_min_age = \"{age}\"");
        }
        if let Some(timeout) = &self.request_timeout {
            let _ = writeln!(out, "request_timeout = \"{timeout}\"");
        }
        if let Some(conditional) = &self.conditional {
            let _ = writeln!(out, "conditional = \"{conditional}\"");
        }
        if let Some(size) = &self.max_body {
            let _ = writeln!(out, "max_body = \"{size}\"");
        }
        for limit in self.limits.iter().map(String::as_str).chain(self.limits.is_empty().then_some(AMPLE)) {
            let _ = writeln!(out, "\n[[connection.limit]]\n{limit}");
        }
        let _ = writeln!(out, "\n[connection.poll]\n{}\n{}", self.poll, self.body);
    }
}

/// Every connection must declare a limit; this one is never met in a test.
const AMPLE: &str = "name = \"ample\"\nrequests = 100000\nwindow = \"1h\"\nkind = \"rolling\"";

/// Target, states, command and the one rule of the irrigation cloud.
pub const IRRIGATION: &str = r#"
[[connection.target]]
name = "controller"
get  = "/statusschedule.php"
items = "$.relays[*]"
key   = "$.relay_id"
title = "$.name"
fresh_for = "6s"
[connection.target.fields]
next_run  = { path = "$.time", as = "seconds-until", when = "@.time > 1" }
remaining = { path = "$.run",  as = "seconds-left", when = "@.time == 1" }
[[connection.target.state]]
is    = "running"
when  = "@.time == 1"
until = "remaining"
then  = "idle"
[[connection.target.state]]
is    = "idle"

[[connection.command]]
name = "run-zone"
get  = "/setzone.php?action=run&relay_id={item}&custom={seconds}"
then_refresh = "controller"
retry = "never"

[[connection.rule]]
name    = "lockout sentence"
outcome = "limited"
body    = "rate limit"
"#;
