//! A connection as one file says it: every key may be absent. A recipe is read into the same draft, and the connection's
//! own is laid over it. Knows keys and precedence; what has to be there in the end is for `finish`.

use super::gateway::GatewayDraft;
use super::oauth::{self, OAuthDraft};
use super::place::{Place, Placed, Problems, Slot, suggestion};
use super::rules::{self, CommandDraft};
use super::section::Section;
use super::waits::{self, WaitsDraft};
use super::{limits, quotas, scans, targets, webhooks, words};
use crate::domain::limit::Limit;
use crate::domain::quota::QuotaSpec;
use crate::domain::scan::ScanSpec;
use crate::domain::spec::{Carrier, Conditional, Format, Interval, RuleSpec, Salvage, SecretSource, TargetSpec};
use crate::domain::time::Span;
use crate::domain::webhook::WebhookSpec;
use std::path::Path;

/// Keys that a connection and a recipe share.
pub(super) const SHARED: [&str; 24] = [
    "provider",
    "base_url",
    "credential",
    "conditional",
    "limit",
    "quota",
    "poll",
    "target",
    "scan",
    "command",
    "rule",
    "waits",
    "wait",
    "refresh_min_age",
    "time_zone",
    "connect_timeout",
    "read_timeout",
    "request_timeout",
    "max_body",
    "charset",
    "salvage",
    "complete",
    "format",
    "gateway",
];

/// Of a connection alone.
pub(super) const HISTORY: [&str; 1] = ["keep"];
pub(super) const POLL: [&str; 4] = ["enabled", "interval", "inactivity_ttl", "completion_grace"];
/// Where the secret lies, which only a connection says, and how it travels.
pub(super) const CREDENTIAL: [&str; 9] =
    ["env", "file", "sealed", "query", "header", "scheme", "basic", "oauth2", "same_account"];
pub(super) const FACT: [&str; 3] = ["text", "source", "date"];

/// Where a draft comes from, and so which keys it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Connection,
    Recipe,
}

#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub place: Place,
    pub provider: Slot<String>,
    pub base_url: Slot<String>,
    pub credential: CredentialDraft,
    pub conditional: Slot<Conditional>,
    pub limits: Vec<Placed<Option<Limit>>>,
    pub quotas: Vec<Placed<Option<QuotaSpec>>>,
    pub poll: PollDraft,
    pub targets: Vec<Placed<Option<TargetSpec>>>,
    pub scans: Vec<Placed<Option<ScanSpec>>>,
    pub commands: Vec<Placed<Option<CommandDraft>>>,
    /// A connection's alone, and nobody's unless it is said.
    pub keep_history: Slot<Span>,
    /// A connection's alone: a recipe knows nobody to tell.
    pub webhooks: Vec<Placed<Option<WebhookSpec>>>,
    pub rules: Vec<Placed<Option<RuleSpec>>>,
    pub waits: WaitsDraft,
    pub refresh_min_age: Slot<Span>,
    pub time_zone: Slot<String>,
    pub connect_timeout: Slot<Span>,
    pub read_timeout: Slot<Span>,
    pub request_timeout: Slot<Span>,
    pub max_body: Slot<u64>,
    pub charset: Slot<String>,
    pub salvage: Slot<Salvage>,
    /// Of the targets that say nothing themselves.
    pub complete: Slot<String>,
    pub format: Slot<Format>,
    pub gateway: GatewayDraft,
}

/// `[connection.poll]`.
#[derive(Clone, Debug)]
pub(super) struct PollDraft {
    pub enabled: Slot<bool>,
    pub interval: Slot<Interval>,
    pub inactivity_ttl: Slot<Span>,
    pub completion_grace: Slot<Span>,
}

/// Where the secret lies is the user's; how it travels may come from the recipe.
#[derive(Clone, Debug)]
pub(super) struct CredentialDraft {
    pub place: Place,
    pub source: Slot<SecretSource>,
    pub carrier: Slot<Carrier>,
    pub same_account: Slot<bool>,
    pub oauth: Option<OAuthDraft>,
}

impl Draft {
    /// `folder`: relative credential files lie beside the file that names them.
    /// `patterns`: the recipe's, for a connection that has one.
    pub fn read<'a>(
        section: &Section<'a>,
        origin: Origin,
        patterns: &[Section<'a>],
        folder: &Path,
        p: &mut Problems,
    ) -> Draft {
        let own: &[&str] = match origin {
            Origin::Connection => &["name", "organization", "recipe", "pattern", "webhook", "history"],
            Origin::Recipe => &["about", "pattern", "fact"],
        };
        section.only(&[own, &SHARED].concat(), &[], p);
        if origin == Origin::Recipe {
            check_facts(section, p);
            // For people alone.
            _ = section.text("about", p);
        }
        targets::read_patterns(section, p);
        Draft {
            place: section.place.clone(),
            provider: section.text("provider", p),
            base_url: section.parsed("base_url", p, words::base_url),
            credential: read_credential(section, origin, folder, p),
            conditional: section.parsed("conditional", p, conditional),
            limits: limits::read(section, p),
            quotas: quotas::read(section, p),
            poll: read_poll(section, p),
            targets: targets::read(section, patterns, p),
            scans: scans::read(section, p),
            commands: rules::read_commands(section, p),
            keep_history: match origin {
                Origin::Connection => read_history(section, p),
                Origin::Recipe => Slot::Absent,
            },
            webhooks: match origin {
                Origin::Connection => webhooks::read(section, folder, p),
                Origin::Recipe => Vec::new(),
            },
            rules: rules::read_rules(section, p),
            waits: waits::read(section, p),
            refresh_min_age: section.span_or_zero("refresh_min_age", p),
            time_zone: section.parsed("time_zone", p, words::time_zone),
            connect_timeout: section.span("connect_timeout", p),
            read_timeout: section.span("read_timeout", p),
            request_timeout: section.span("request_timeout", p),
            max_body: read_size(section, p),
            charset: section.parsed("charset", p, words::charset),
            salvage: section.parsed("salvage", p, words::salvage),
            complete: section.parsed("complete", p, targets::complete),
            format: section.parsed("format", p, words::format),
            gateway: GatewayDraft::read(section, p),
        }
    }

    /// This draft, and what the recipe says where this one is silent. Limits, targets, commands and rules of the same name
    /// are replaced whole, others are added behind: own rules are asked first.
    pub fn over(self, recipe: Draft) -> Draft {
        Draft {
            place: self.place,
            provider: self.provider.or(recipe.provider),
            base_url: self.base_url.or(recipe.base_url),
            credential: CredentialDraft {
                place: self.credential.place,
                source: self.credential.source,
                carrier: self.credential.carrier.or(recipe.credential.carrier),
                same_account: self.credential.same_account.or(recipe.credential.same_account),
                oauth: match (self.credential.oauth, recipe.credential.oauth) {
                    (Some(own), Some(recipe)) => Some(own.over(recipe)),
                    (own, recipe) => own.or(recipe),
                },
            },
            conditional: self.conditional.or(recipe.conditional),
            limits: overlay(self.limits, recipe.limits, |limit| limit.name.clone()),
            quotas: overlay(self.quotas, recipe.quotas, |quota| quota.limit.clone()),
            poll: PollDraft {
                enabled: self.poll.enabled.or(recipe.poll.enabled),
                interval: self.poll.interval.or(recipe.poll.interval),
                inactivity_ttl: self.poll.inactivity_ttl.or(recipe.poll.inactivity_ttl),
                completion_grace: self.poll.completion_grace.or(recipe.poll.completion_grace),
            },
            targets: overlay(self.targets, recipe.targets, |target| target.name.0.clone()),
            scans: overlay(self.scans, recipe.scans, |scan| scan.question.name.0.clone()),
            commands: overlay(self.commands, recipe.commands, |command| command.spec.name.clone()),
            webhooks: self.webhooks,
            keep_history: self.keep_history,
            rules: overlay(self.rules, recipe.rules, |rule| rule.name.clone()),
            waits: self.waits.over(recipe.waits),
            refresh_min_age: self.refresh_min_age.or(recipe.refresh_min_age),
            time_zone: self.time_zone.or(recipe.time_zone),
            connect_timeout: self.connect_timeout.or(recipe.connect_timeout),
            read_timeout: self.read_timeout.or(recipe.read_timeout),
            request_timeout: self.request_timeout.or(recipe.request_timeout),
            max_body: self.max_body.or(recipe.max_body),
            charset: self.charset.or(recipe.charset),
            salvage: self.salvage.or(recipe.salvage),
            complete: self.complete.or(recipe.complete),
            format: self.format.or(recipe.format),
            gateway: self.gateway.over(recipe.gateway),
        }
    }
}

pub(super) fn overlay<T>(
    own: Vec<Placed<Option<T>>>,
    recipe: Vec<Placed<Option<T>>>,
    name: impl Fn(&T) -> String,
) -> Vec<Placed<Option<T>>> {
    let taken: Vec<String> = own.iter().filter_map(|placed| placed.value.as_ref().map(&name)).collect();
    let added = recipe.into_iter().filter(|r| r.value.as_ref().is_none_or(|value| !taken.contains(&name(value))));
    own.into_iter().chain(added).collect()
}

fn read_history(section: &Section<'_>, p: &mut Problems) -> Slot<Span> {
    let Some(history) = section.table("history", p) else { return Slot::Absent };
    history.only(&HISTORY, &[], p);
    history.span("keep", p)
}

fn read_poll(section: &Section<'_>, p: &mut Problems) -> PollDraft {
    let Some(poll) = section.table("poll", p) else {
        let (enabled, interval) = (Slot::Absent, Slot::Absent);
        return PollDraft { enabled, interval, inactivity_ttl: Slot::Absent, completion_grace: Slot::Absent };
    };
    poll.only(&POLL, &[], p);
    let interval = poll.parsed("interval", p, |text| match text {
        "auto" => Ok(Interval::Auto),
        _ => match words::span(text).map_err(|wrong| format!("{wrong}, or \"auto\""))? {
            short if short < Span::from_secs(1) => {
                Err("is shorter than one second; no provider is polled faster".to_owned())
            }
            span => Ok(Interval::Every(span)),
        },
    });
    PollDraft {
        enabled: poll.flag("enabled", p),
        interval,
        inactivity_ttl: poll.span("inactivity_ttl", p),
        completion_grace: poll.span_or_zero("completion_grace", p),
    }
}

fn conditional(text: &str) -> Result<Conditional, String> {
    let found = Conditional::ALL.into_iter().find(|conditional| conditional.word() == text);
    found.ok_or_else(|| format!("{text:?} is unknown{}", suggestion(text, &Conditional::ALL.map(Conditional::word))))
}

fn read_size(section: &Section<'_>, p: &mut Problems) -> Slot<u64> {
    let mut as_number = Problems::default();
    match section.whole("max_body", (1, 1 << 30), &mut as_number) {
        Slot::Bad => section.parsed("max_body", p, words::size),
        slot => slot,
    }
}

/// `{ env = "NAME", query = "api_key" }` or `{ file = "...", header = "Authorization", scheme = "Bearer" }`. A value in
/// the file itself is refused, and not one word of it is repeated.
fn read_credential(section: &Section<'_>, origin: Origin, folder: &Path, p: &mut Problems) -> CredentialDraft {
    const BY_REFERENCE: &str = "must not hold the secret itself: put it into an environment variable or a file that only \
                                Larder can read, and name that here: credential = { env = \"NAME\" } or { file = \"PATH\" }";
    let place = section.place_of("credential");
    let nothing = |source| {
        let (carrier, same_account) = (Slot::Absent, Slot::Absent);
        CredentialDraft { place: place.clone(), source, carrier, same_account, oauth: None }
    };
    if section.word("credential").is_some() {
        p.add(&place, BY_REFERENCE);
        return nothing(Slot::Bad);
    }
    let Some(table) = section.table("credential", p) else {
        return nothing(if section.has("credential") { Slot::Bad } else { Slot::Absent });
    };
    let mut known = CREDENTIAL.to_vec();
    for literal in ["value", "secret", "key", "token", "password", "api_key"].into_iter().filter(|k| table.has(k)) {
        p.add(&table.place_of(literal), BY_REFERENCE);
        known.push(literal);
    }
    table.only(&known, &[], p);
    if origin == Origin::Recipe {
        for key in ["env", "file", "sealed"].into_iter().filter(|k| table.has(k)) {
            p.add(&table.place_of(key), "is not for a recipe: where the secret lies is for the connection to say");
        }
    }
    let oauth = oauth::read(&table, origin, folder, p);
    let same_account = table.flag("same_account", p);
    let (source, carrier) = (read_source(&table, folder, p), read_carrier(&table, p));
    CredentialDraft { source, carrier, same_account, oauth, place }
}

pub(super) fn read_source(table: &Section<'_>, folder: &Path, p: &mut Problems) -> Slot<SecretSource> {
    let variable = |name: &str| match name.is_empty() || name.contains(['=', '\0', ' ', '$']) {
        true => Err("must be the name of an environment variable, without $".to_owned()),
        false => Ok(SecretSource::Env(name.to_owned())),
    };
    let env = table.parsed("env", p, variable);
    let file = table.parsed("file", p, |path| match path.is_empty() {
        true => Err("must be the path of a file that holds the secret alone".to_owned()),
        false => Ok(SecretSource::File(folder.join(path))),
    });
    let sealed = table.flag("sealed", p).checked(p, |sealed| {
        (!sealed).then(|| "must be true, or be left out where the secret lies elsewhere".to_owned())
    });
    let lies_elsewhere = !env.is_absent() || !file.is_absent();
    if lies_elsewhere && !sealed.is_absent() {
        p.add(&table.place, "has `sealed` beside `env` or `file`; the secret lies in one of them");
        return Slot::Bad;
    }
    match (env, file) {
        (Slot::Absent, Slot::Absent) => sealed.map(|_| SecretSource::Sealed),
        (Slot::Absent, other) | (other, Slot::Absent) => other,
        // Where one of them comes from the environment, it is meant to win over the file's other one.
        (Slot::Set(env), Slot::Set(file)) if env.place.is_variable() != file.place.is_variable() => {
            Slot::Set(if env.place.is_variable() { env } else { file })
        }
        _ => {
            p.add(&table.place, "has both `env` and `file`; the secret lies in one of them");
            Slot::Bad
        }
    }
}

fn read_carrier(table: &Section<'_>, p: &mut Problems) -> Slot<Carrier> {
    let token = |text: &str| match words::is_token(text) {
        true => Ok(text.to_owned()),
        false => Err("has characters that HTTP does not allow there".to_owned()),
    };
    let scheme = table.parsed("scheme", p, token);
    let header = table.parsed("header", p, token);
    let (query, basic) = (table.text("query", p), read_basic(table, p));
    if table.has("scheme") && !table.has("header") {
        p.add(&table.place_of("scheme"), "belongs to `header`: it stands in front of the secret there");
    }
    if ["query", "header", "basic"].iter().filter(|way| table.has(way)).count() > 1 {
        p.add(&table.place, "has more than one of `query`, `header` and `basic`; the secret travels in one of them");
        return Slot::Bad;
    }
    match (query, header, basic) {
        (Slot::Absent, Slot::Absent, basic) => basic,
        (Slot::Set(q), ..) => Slot::Set(Placed { value: Carrier::Query { name: q.value }, place: q.place }),
        (_, Slot::Set(h), _) if !matches!(scheme, Slot::Bad) => {
            Slot::Set(Placed { value: Carrier::Header { name: h.value, scheme: scheme.value() }, place: h.place })
        }
        _ => Slot::Bad,
    }
}

/// `basic = "user"`, or `basic = true` where the secret is `user:password` (RFC 7617: no colon in a user name).
fn read_basic(table: &Section<'_>, p: &mut Problems) -> Slot<Carrier> {
    let mut as_flag = Problems::default();
    let place = table.place_of("basic");
    match table.flag("basic", &mut as_flag) {
        Slot::Absent => Slot::Absent,
        Slot::Set(Placed { value: true, place }) => Slot::Set(Placed { value: Carrier::Basic { user: None }, place }),
        Slot::Set(_) => {
            p.add(&place, "must be the user name, or true where the secret itself is user:password");
            Slot::Bad
        }
        Slot::Bad => match table.text("basic", p) {
            Slot::Set(user) if user.value.contains(':') || !user.value.is_ascii() => {
                p.add(&place, "must be a user name without a colon and in ASCII; the password is the secret");
                Slot::Bad
            }
            Slot::Set(user) => {
                Slot::Set(Placed { value: Carrier::Basic { user: Some(user.value) }, place: user.place })
            }
            _ => Slot::Bad,
        },
    }
}

/// `[[fact]]`: what the recipe claims and who says so. Read by people; checked so that none lacks its source.
fn check_facts(section: &Section<'_>, p: &mut Problems) {
    for fact in section.tables("fact", p) {
        fact.only(&FACT, &[], p);
        for key in FACT {
            if fact.word(key).is_none_or(|word| word.trim().is_empty()) {
                p.add(&fact.place.below(key), "is missing: a fact has a text, a source and the date when it was read");
            }
        }
    }
}
