//! `[connection.gateway]`: what unmodified clients may ask through Larder, and how long answers last. Knows keys; what patterns and paths
//! mean is for `crate::rules::gateway`, which compiles them.

use super::place::{Place, Placed, Problems, Slot, suggestion};
use super::section::Section;
use super::words;
use crate::domain::event::EventKind;
use crate::domain::gateway::{Allow, Freshness, GatewaySpec, NarrowSpec, NotReadySpec, PathRule, ShelfSpec, Until};
use crate::domain::spec::ConnectionSpec;
use crate::domain::time::Span;
use crate::rules::gateway::Gate;

pub(super) const GATEWAY: [&str; 6] = ["enabled", "freshness", "fresh_for", "targeted", "allow", "rule"];
pub(super) const ALLOW: [&str; 2] = ["methods", "path"];
pub(super) const GATEWAY_RULE: [&str; 9] =
    ["path", "freshness", "fresh_for", "not_ready", "forgets", "stream", "idempotent", "narrow", "cost"];
pub(super) const NOT_READY: [&str; 3] = ["status", "for", "until"];
pub(super) const NARROW: [&str; 4] = ["parameter", "items", "field", "whole"];

/// Methods that mean something to the gateway and to no provider: a tunnel, and an echo of what is sent.
const NEVER: [&str; 2] = ["CONNECT", "TRACE"];
const KNOWN: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
const WRITE: &str = "write";

/// Every key may be absent.
#[derive(Clone, Debug)]
pub(super) struct GatewayDraft {
    place: Option<Place>,
    enabled: Slot<bool>,
    freshness: Slot<Freshness>,
    fresh_for: Slot<Span>,
    targeted: Slot<Vec<String>>,
    allow: Vec<Placed<Option<Allow>>>,
    rules: Vec<Placed<Option<PathRule>>>,
}

impl GatewayDraft {
    pub fn read(section: &Section<'_>, p: &mut Problems) -> GatewayDraft {
        let Some(gateway) = section.table("gateway", p) else { return GatewayDraft::absent() };
        gateway.only(&GATEWAY, &[], p);
        let allow: Vec<_> =
            gateway.tables("allow", p).iter().map(|allow| placed(allow, read_allow(allow, p))).collect();
        if gateway.has("allow") && allow.is_empty() {
            p.add(&gateway.place_of("allow"), "allows nothing; `enabled = false` switches the gateway off");
        }
        GatewayDraft {
            place: Some(gateway.place.clone()),
            enabled: gateway.flag("enabled", p),
            freshness: gateway.parsed("freshness", p, freshness),
            fresh_for: gateway.span_or_zero("fresh_for", p),
            targeted: gateway.texts("targeted", p).checked(p, |names| wrong_header(names)),
            allow,
            rules: gateway.tables("rule", p).iter().map(|rule| placed(rule, read_rule(rule, p))).collect(),
        }
    }

    fn absent() -> GatewayDraft {
        let enabled = Slot::Absent;
        let (freshness, fresh_for, targeted) = (Slot::Absent, Slot::Absent, Slot::Absent);
        let (allow, rules) = (Vec::new(), Vec::new());
        GatewayDraft { place: None, enabled, freshness, fresh_for, targeted, allow, rules }
    }

    /// What may be asked is said in one place: a connection's own list stands for the whole. Its rules are asked before the recipe's.
    pub fn over(self, recipe: GatewayDraft) -> GatewayDraft {
        GatewayDraft {
            place: self.place.or(recipe.place),
            enabled: self.enabled.or(recipe.enabled),
            freshness: self.freshness.or(recipe.freshness),
            fresh_for: self.fresh_for.or(recipe.fresh_for),
            targeted: self.targeted.or(recipe.targeted),
            allow: if self.allow.is_empty() { recipe.allow } else { self.allow },
            rules: self.rules.into_iter().chain(recipe.rules).collect(),
        }
    }

    pub fn finish(self) -> GatewaySpec {
        let defaults = GatewaySpec::default();
        let allow: Vec<Allow> = self.allow.into_iter().filter_map(|placed| placed.value).collect();
        GatewaySpec {
            enabled: self.enabled.unwrap_or(defaults.enabled),
            freshness: self.freshness.unwrap_or(defaults.freshness),
            fresh_for: self.fresh_for.unwrap_or(defaults.fresh_for),
            targeted: self.targeted.unwrap_or_default().iter().map(|name| name.to_ascii_lowercase()).collect(),
            allow: if allow.is_empty() { defaults.allow } else { allow },
            rules: self.rules.into_iter().filter_map(|placed| placed.value).collect(),
        }
    }

    /// Where the section stands, for what shows only when it is compiled.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }
}

/// What is wrong with its patterns and paths.
pub(super) fn check(spec: &ConnectionSpec, place: &Place, p: &mut Problems) {
    for sentence in Gate::compile(&spec.gateway, &spec.commands).err().unwrap_or_default() {
        let (key, why) = sentence.split_once(": ").unwrap_or(("", &sentence));
        p.add(&place.below(key), why);
    }
}

fn placed<T>(section: &Section<'_>, value: Option<T>) -> Placed<Option<T>> {
    Placed { value, place: section.place.clone() }
}

fn read_allow(section: &Section<'_>, p: &mut Problems) -> Option<Allow> {
    section.only(&ALLOW, &[], p);
    let at = &section.place;
    let methods = section.texts("methods", p).checked(p, |methods| wrong_method(methods));
    let methods = methods.required(at, "methods", "which ones, such as [\"GET\", \"HEAD\"]", p);
    let path = section.text("path", p).required(at, "path", "where, such as \"/tasks/**\"", p);
    Some(Allow { methods: methods?, path: path? })
}

fn wrong_method(methods: &[String]) -> Option<String> {
    if methods.is_empty() {
        return Some("is empty; name the methods that may be asked with, such as [\"GET\", \"HEAD\"]".to_owned());
    }
    let never = methods.iter().find(|method| NEVER.contains(&method.as_str()));
    if let Some(never) = never {
        return Some(format!("{never} goes through no gateway"));
    }
    let unsound = methods.iter().find(|m| !words::is_token(m) || m.bytes().any(|b| b.is_ascii_lowercase()));
    unsound.map(|method| format!("{method:?} is no method in capitals{}", suggestion(method, &KNOWN)))
}

fn wrong_header(names: &[String]) -> Option<String> {
    let wrong = names.iter().find(|name| !words::is_token(name) || name.eq_ignore_ascii_case("cache-control"));
    wrong.map(|name| match words::is_token(name) {
        true => "names Cache-Control, which is said to every cache and counts where none of these is there".to_owned(),
        false => format!("{name:?} is no name of a header, such as \"CDN-Cache-Control\""),
    })
}

fn read_rule(section: &Section<'_>, p: &mut Problems) -> Option<PathRule> {
    section.only(&GATEWAY_RULE, &[], p);
    let at = &section.place;
    let path = section.text("path", p).required(at, "path", "for which paths, such as \"/receipts/*\"", p);
    let rule = PathRule {
        path: String::new(),
        freshness: section.parsed("freshness", p, freshness).value(),
        fresh_for: section.span_or_zero("fresh_for", p).value(),
        not_ready: section.table("not_ready", p).and_then(|table| read_not_ready(&table, p)),
        forgets: section.texts("forgets", p).unwrap_or_default(),
        stream: section.flag("stream", p).value(),
        idempotent: section.flag("idempotent", p).value(),
        narrow: section.table("narrow", p).and_then(|table| read_narrow(&table, p)),
        cost: section.whole("cost", (1, u64::from(u32::MAX)), p).value().and_then(|n| u32::try_from(n).ok()),
    };
    Some(PathRule { path: path?, ..rule })
}

fn freshness(text: &str) -> Result<Freshness, String> {
    let known = Freshness::ALL.map(Freshness::word);
    Freshness::from_word(text).ok_or_else(|| format!("{text:?} is unknown{}", suggestion(text, &known)))
}

fn read_not_ready(section: &Section<'_>, p: &mut Problems) -> Option<NotReadySpec> {
    section.only(&NOT_READY, &[], p);
    let at = &section.place;
    let status = section.numbers("status", (400, 599), p);
    let status = status.required(at, "status", "by which status the provider says so, such as 409", p);
    let lasts = section.span("for", p).required(at, "for", "how long it is not asked again, such as \"10m\"", p);
    let until = section.texts("until", p).checked(p, |words| words.iter().find_map(|word| until(word).err()));
    let until = until.unwrap_or_default().iter().filter_map(|word| until_of(word)).collect();
    Some(NotReadySpec { status: status?, lasts: lasts?, until })
}

fn until_of(word: &str) -> Option<Until> {
    until(word).ok()
}

/// `write`, or the kind of an event of the connection (`target_changed`).
fn until(word: &str) -> Result<Until, String> {
    if word == WRITE {
        return Ok(Until::Write);
    }
    let known: Vec<&str> = [WRITE]
        .into_iter()
        .chain(EventKind::ALL.into_iter().filter(|k| *k != EventKind::Appliance).map(EventKind::word))
        .collect();
    let kind = EventKind::from_word(word).filter(|kind| *kind != EventKind::Appliance);
    kind.map(Until::Event)
        .ok_or_else(|| format!("{word:?} is nothing that happens at a connection{}", suggestion(word, &known)))
}

fn read_narrow(section: &Section<'_>, p: &mut Problems) -> Option<NarrowSpec> {
    section.only(&NARROW, &[], p);
    let at = &section.place;
    let parameter = section.text("parameter", p);
    let parameter =
        parameter.required(at, "parameter", "which query parameter picks from the list, such as \"status\"", p);
    let items = section.text("items", p).required(at, "items", "the members of the list, such as \"$.data[*]\"", p);
    let field = section.text("field", p);
    let field = field.required(at, "field", "what of a member the parameter is compared with, such as \"$.status\"", p);
    Some(NarrowSpec { parameter: parameter?, items: items?, field: field?, whole: section.text("whole", p).value() })
}

/// `[server]`: the bytes of all gateways together. A kilobyte holds nothing.
pub(super) fn read_shelf(section: &Section<'_>, p: &mut Problems) -> ShelfSpec {
    let defaults = ShelfSpec::default();
    let size = |key: &str, p: &mut Problems| match section.whole(key, (1 << 16, 1 << 30), &mut Problems::default()) {
        Slot::Bad => section.parsed(key, p, |text| match words::size(text)? {
            small if small < 1 << 16 => Err("must be at least 64KiB".to_owned()),
            size => Ok(size),
        }),
        slot => slot,
    };
    ShelfSpec {
        memory: size("shelf_memory", p).unwrap_or(defaults.memory),
        disk: size("shelf_disk", p).unwrap_or(defaults.disk),
    }
}
