//! From a draft to a connection that can run: what has to be there, defaults, and what only shows when everything is seen
//! together. Knows no file and no TOML.

use super::draft::{CredentialDraft, Draft, PollDraft};
use super::place::{Place, Placed, Problems, Slot, suggestion};
use super::rules::CommandDraft;
use super::waits::WaitsDraft;
use super::{Expressions, gateway, limits, quotas};
use crate::domain::credential::NewSecret;
use crate::domain::ids::{Caller, ConnectionKey, TargetName};
use crate::domain::send::SendSpec;
use crate::domain::spec::{
    Carrier, ConnectionSpec, Interval, NetworkSpec, PollSpec, ReadingSpec, SecretSource, TargetSpec, WaitSpec,
};
use crate::domain::time::Span;
use crate::domain::webhook::WebhookUrl;
use std::collections::BTreeSet;

/// I2: a refresh by hand asks the provider only if the answer is at least a minute old.
const REFRESH_MIN_AGE: Span = Span::from_secs(60);

const ADDRESS: &str = "the address of the provider, such as \"https://api.example.test/v1\"";

const NO_PATH: &str = "is missing: the path to ask; a target without one is fed by a [[connection.scan]], and this connection has none, or by who pushes \
     its answers (push = true)";

/// A connection's identity, from its own table alone.
pub(super) struct Identity {
    pub key: ConnectionKey,
    pub recipe: Option<String>,
}

/// The specification, or `None` with the problems told. What is wrong besides is told too.
pub(super) fn finish(
    identity: Option<Identity>,
    draft: Draft,
    expressions: Expressions,
    p: &mut Problems,
) -> Option<ConnectionSpec> {
    let at = draft.place.clone();
    let (secret, carrier, new_secret) = finish_credential(&draft.credential, p);
    let oauth = draft.credential.oauth.clone().and_then(|oauth| oauth.finish(p));
    let (network, reading) = (finish_network(&draft), finish_reading(&draft));
    let (_, limits) = finish_list(draft.limits, |limit| limit.name.clone(), p);
    let quotas = quotas::finish(draft.quotas, &limits, p);
    let (target_places, targets) = finish_targets(draft.targets, draft.complete.value(), p);
    let (scan_places, scans) = finish_list(draft.scans, |scan| scan.question.name.0.clone(), p);
    let (command_places, commands) = finish_list(draft.commands, |command| command.spec.name.clone(), p);
    let (rule_places, rules) = finish_list(draft.rules, |rule| rule.name.clone(), p);
    let (webhook_places, webhooks) = finish_list(draft.webhooks, |hook| hook.name.0.clone(), p);
    check_refreshes(&commands, &targets, p);
    let base_url = draft.base_url.required(&at, "base_url", ADDRESS, p).unwrap_or_default();
    let (waits, poll) = (finish_waits(draft.waits, p), finish_poll(draft.poll));
    let gateway_place = draft.gateway.place().cloned().unwrap_or_else(|| at.below("gateway"));
    let Identity { key, recipe } = identity?;
    let spec = ConnectionSpec {
        key,
        provider: draft.provider.value().or_else(|| recipe.clone()).unwrap_or_else(|| host_of(&base_url)),
        recipe,
        base_url,
        secret,
        carrier,
        new_secret,
        oauth,
        conditional: draft.conditional.unwrap_or_default(),
        limits,
        quotas,
        poll,
        targets,
        scans,
        commands: commands.into_iter().map(|command| command.spec).collect(),
        keep_history: draft.keep_history.value(),
        webhooks,
        rules,
        waits,
        network,
        reading,
        time_zone: draft.time_zone.unwrap_or("UTC".to_owned()),
        refresh_min_age: draft.refresh_min_age.unwrap_or(REFRESH_MIN_AGE),
        gateway: draft.gateway.finish(),
    };
    let places = Places {
        targets: target_places,
        scans: scan_places,
        commands: command_places,
        rules: rule_places,
        webhooks: webhook_places,
        gateway: gateway_place,
        at,
    };
    check_together(&spec, &places, expressions, p);
    Some(spec)
}

/// `complete`: what holds for every target that says nothing of its own.
fn finish_targets(
    targets: Vec<Placed<Option<TargetSpec>>>,
    complete: Option<String>,
    p: &mut Problems,
) -> (Vec<Place>, Vec<TargetSpec>) {
    let (places, mut targets) = finish_list(targets, |target| target.name.0.clone(), p);
    targets.iter_mut().for_each(|target| target.complete = target.complete.take().or_else(|| complete.clone()));
    (places, targets)
}

fn finish_poll(draft: PollDraft) -> PollSpec {
    PollSpec {
        enabled: draft.enabled.unwrap_or(true),
        interval: draft.interval.unwrap_or(Interval::Auto),
        inactivity_ttl: draft.inactivity_ttl.value(),
        completion_grace: draft.completion_grace.unwrap_or(Span::ZERO),
    }
}

fn finish_reading(draft: &Draft) -> ReadingSpec {
    ReadingSpec {
        charset: draft.charset.clone().value(),
        salvage: draft.salvage.clone().unwrap_or_default(),
        format: draft.format.clone().unwrap_or_default(),
    }
}

fn finish_network(draft: &Draft) -> NetworkSpec {
    let defaults = NetworkSpec::default();
    NetworkSpec {
        connect_timeout: draft.connect_timeout.clone().unwrap_or(defaults.connect_timeout),
        read_timeout: draft.read_timeout.clone().unwrap_or(defaults.read_timeout),
        request_timeout: draft.request_timeout.clone().unwrap_or(defaults.request_timeout),
        max_body: draft.max_body.clone().unwrap_or(defaults.max_body),
    }
}

/// Where the members of the lists stand, in their order.
struct Places {
    targets: Vec<Place>,
    scans: Vec<Place>,
    commands: Vec<Place>,
    rules: Vec<Place>,
    webhooks: Vec<Place>,
    gateway: Place,
    at: Place,
}

/// What is sound, with its places. Two of one name are a problem: nobody could say which one is meant.
fn finish_list<T>(list: Vec<Placed<Option<T>>>, name: impl Fn(&T) -> String, p: &mut Problems) -> (Vec<Place>, Vec<T>) {
    let mut seen = BTreeSet::new();
    let sound = list.into_iter().filter_map(|placed| Some((placed.place, placed.value?)));
    sound
        .inspect(|(place, value)| {
            if !seen.insert(name(value)) {
                p.add(place, format!("there is another one named {:?}", name(value)));
            }
        })
        .unzip()
}

fn finish_credential(credential: &CredentialDraft, p: &mut Problems) -> (SecretSource, Carrier, NewSecret) {
    let (secret, carrier) = finish_travel(credential, p);
    (secret, carrier, finish_new_secret(credential, p))
}

fn finish_travel(credential: &CredentialDraft, p: &mut Problems) -> (SecretSource, Carrier) {
    let place = &credential.place;
    match (&credential.source, &credential.carrier) {
        (Slot::Set(source), Slot::Set(carrier)) => return (source.value.clone(), carrier.value.clone()),
        (Slot::Set(source), Slot::Absent) if credential.oauth.is_some() => return (source.value.clone(), bearer()),
        (Slot::Absent, Slot::Absent) if credential.oauth.is_some() => p.add(
            place,
            "does not say where the refresh token lies: add credential = { env = \"NAME\" } or { file = \"PATH\" }",
        ),
        (Slot::Set(_), Slot::Absent) => p.add(
            place,
            "does not say how the secret travels: add query = \"api_key\", or header = \"Authorization\" with \
             scheme = \"Bearer\", or basic = \"user\"",
        ),
        (Slot::Absent, Slot::Set(_)) => p.add(
            place,
            "does not say where the secret lies: add credential = { env = \"NAME\" } or { file = \"PATH\" }",
        ),
        _ => (),
    }
    (SecretSource::None, Carrier::None)
}

fn finish_new_secret(credential: &CredentialDraft, p: &mut Problems) -> NewSecret {
    match credential.same_account.clone().unwrap_or(false) {
        true if credential.oauth.is_some() => {
            let why =
                "has same_account beside oauth2, where the account is named already: oauth2 = { account = \"...\" }";
            p.add(&credential.place, why);
            NewSecret::default()
        }
        true => NewSecret::SameAccount,
        false => NewSecret::OwnBudget,
    }
}

/// How access tokens travel (RFC 6750 section 2.1).
pub(super) fn bearer() -> Carrier {
    Carrier::Header { name: "Authorization".to_owned(), scheme: Some("Bearer".to_owned()) }
}

fn finish_waits(waits: WaitsDraft, p: &mut Problems) -> WaitSpec {
    let defaults = WaitSpec::default();
    let told =
        waits.default.placed().or(waits.ceiling.placed()).or(waits.floor.placed()).map(|placed| placed.place.clone());
    let spec = WaitSpec {
        floor: waits.floor.unwrap_or(defaults.floor),
        ceiling: waits.ceiling.unwrap_or(defaults.ceiling),
        default: waits.default.unwrap_or(defaults.default),
        sources: finish_list(waits.sources, |source| source.name.clone(), p).1,
    };
    if let Some(place) = told
        && !(spec.floor <= spec.default && spec.default <= spec.ceiling)
    {
        let WaitSpec { floor, ceiling, default, .. } = spec;
        p.add(&place, format!("must be in order: floor ({floor}), default ({default}), ceiling ({ceiling})"));
    }
    spec
}

fn check_refreshes(commands: &[CommandDraft], targets: &[TargetSpec], p: &mut Problems) {
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    for command in commands {
        if let Some(wanted) = &command.spec.then_refresh
            && !names.contains(&wanted.as_str())
        {
            let sentence = format!("there is no target {:?}{}", wanted.as_str(), suggestion(wanted.as_str(), &names));
            p.add(&command.then_refresh_at, sentence);
        }
    }
}

fn check_together(spec: &ConnectionSpec, places: &Places, expressions: Expressions, p: &mut Problems) {
    for (scan, place) in spec.scans.iter().zip(&places.scans) {
        check_scan_name(spec, &scan.question.name, place, p);
    }
    let questions = spec.targets.iter().chain(spec.scans.iter().map(|scan| &scan.question));
    for (target, place) in questions.zip(places.targets.iter().chain(&places.scans)) {
        check_question(spec, target, place, p);
    }
    for (command, place) in spec.commands.iter().zip(&places.commands) {
        check_no_literal_key(&spec.carrier, &command.path, &command.send, place, p);
        for limit in &spec.limits {
            limits::never_fits(limit, Caller::Command, command.cost, "the command", place, p);
        }
    }
    check_rules(spec, places, p);
    check_webhooks(spec, places, p);
    check_gateway(spec, places, p);
    for wrong in expressions(spec) {
        let place = match &wrong.of {
            super::ExpressionOf::Target(name) => {
                spec.targets.iter().position(|t| t.name == *name).and_then(|at| places.targets.get(at))
            }
            super::ExpressionOf::Scan(name) => {
                spec.scans.iter().position(|s| s.question.name == *name).and_then(|at| places.scans.get(at))
            }
            super::ExpressionOf::Rules => places.rules.first(),
        };
        p.add(place.unwrap_or(&places.at), wrong.sentence);
    }
}

/// What only shows beside the connection's credential and limits.
pub(super) fn check_question(spec: &ConnectionSpec, target: &TargetSpec, place: &Place, p: &mut Problems) {
    if target.get.is_none() && !target.push && spec.scans.is_empty() {
        p.add(&place.below("get"), NO_PATH);
    }
    check_no_literal_key(&spec.carrier, target.get.as_deref().unwrap_or_default(), &target.send, place, p);
    for limit in spec.limits.iter().filter(|_| spec.poll.enabled) {
        limits::never_fits(limit, Caller::Poller, target.cost, "a poll", place, p);
    }
}

/// The ledger says under one name who asked.
fn check_scan_name(spec: &ConnectionSpec, name: &TargetName, at: &Place, p: &mut Problems) {
    if spec.targets.iter().any(|target| target.name == *name) {
        p.add(at, format!("is named like a target, {:?}; the ledger could not tell who asked", name.as_str()));
    }
}

/// A rule names a limit that is declared, with a window that can end.
fn check_rules(spec: &ConnectionSpec, places: &Places, p: &mut Problems) {
    let windows = spec.limits.iter().filter(|limit| limit.kind.nominal_window().is_some());
    let names: Vec<&str> = windows.map(|limit| limit.name.as_str()).collect();
    for (rule, place) in spec.rules.iter().zip(&places.rules) {
        if let Some(wanted) = rule.limit.as_deref().filter(|wanted| !names.contains(wanted)) {
            let sentence = format!("there is no limit {wanted:?} with a window{}", suggestion(wanted, &names));
            p.add(&place.below("limit"), sentence);
        }
    }
}

/// The provider is asked by the door alone, which counts: no webhook goes there.
fn check_webhooks(spec: &ConnectionSpec, places: &Places, p: &mut Problems) {
    let origin = |text: &str| url::Url::parse(text).ok().map(|url| url.origin());
    let provider = origin(&spec.base_url);
    for (hook, place) in spec.webhooks.iter().zip(&places.webhooks) {
        if let WebhookUrl::Plain(url) = &hook.url
            && provider.is_some()
            && origin(url) == provider
        {
            p.add(
                &place.below("url"),
                "is an address of the provider itself; what is sent there would be counted by nobody",
            );
        }
    }
}

/// Its paths, and whether the limits can ever give what a rule says that a request costs.
fn check_gateway(spec: &ConnectionSpec, places: &Places, p: &mut Problems) {
    gateway::check(spec, &places.gateway, p);
    for cost in spec.gateway.rules.iter().filter_map(|rule| rule.cost) {
        for limit in &spec.limits {
            limits::never_fits(limit, Caller::Gateway, cost, "a request through the gateway", &places.gateway, p);
        }
    }
}

/// `get = "/status?api_key=..."` would put the secret into a file, and into the ledger's endpoint; a header of the same name would
/// be sent beside the credential's own.
fn check_no_literal_key(carrier: &Carrier, path: &str, send: &SendSpec, at: &Place, p: &mut Problems) {
    match carrier {
        Carrier::Query { name } => {
            let query = path.split_once('?').map_or("", |(_, query)| query);
            if query.split('&').any(|pair| pair.split('=').next() == Some(name)) {
                p.add(
                    at,
                    format!("has {name} in its path; the credential is added when the request is sent, take it out"),
                );
            }
        }
        Carrier::Header { name, .. } if send.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) => {
            p.add(at, format!("sets {name}; the credential is added when the request is sent, take it out"));
        }
        _ => (),
    }
}

fn host_of(base_url: &str) -> String {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}
