//! The laws of the house as data and as checks: what each room may know. Every check takes a tree and returns its
//! violations as sentences; none is the passing answer.

use crate::reading::{Mention, Place, Source, Tree, Word};

/// A room and the rooms that it may name. `lib` (the map) and `main` are files, `app` and `clock` too.
pub struct Room {
    pub name: &'static str,
    pub may_use: &'static [&'static str],
}

const fn room(name: &'static str, may_use: &'static [&'static str]) -> Room {
    Room { name, may_use }
}

/// main > app > cli, web, mqtt > engine > store, upstream > rules > domain; no arrow back, no circle.
pub const ROOMS: &[Room] = &[
    room("lib", &[]),
    room("main", &["app", "cli"]),
    room("app", &["cli", "web", "mqtt", "engine", "store", "upstream", "config", "rules", "domain", "demo", "clock"]),
    room("cli", &["engine", "store", "config", "rules", "domain", "clock"]),
    room("web", &["engine", "rules", "domain"]),
    room("mqtt", &["engine", "upstream", "domain"]),
    room("engine", &["store", "upstream", "rules", "domain", "clock"]),
    room("store", &["rules", "domain", "clock"]),
    room("upstream", &["rules", "domain", "clock"]),
    room("config", &["rules", "domain"]),
    room("demo", &["domain"]),
    room("clock", &["domain"]),
    room("rules", &["domain"]),
    room("domain", &[]),
];

/// Crates that one room, or a few, keep to themselves.
pub const CRATES: &[(&str, &[&str])] = &[
    ("redb", &["store"]),
    ("bincode", &["store"]),
    ("reqwest", &["upstream"]),
    ("axum", &["web"]),
    ("askama", &["web"]),
    ("fluent_bundle", &["web"]),
    ("fluent_langneg", &["web"]),
    ("unic_langid", &["web"]),
    ("tower_http", &["web"]),
    ("utoipa", &["web", "engine"]),
    ("utoipa_axum", &["web"]),
    ("rust_embed", &["web", "config"]),
    ("clap", &["cli", "main"]),
    ("rumqttc", &["mqtt"]),
];

/// Rooms of pure decisions and nouns: `now` is an argument, nothing is awaited, nothing is read or written.
pub const PURE: &[&str] = &["domain", "rules"];
const IMPURE: &[&str] =
    &["std::fs", "std::net", "std::io", "std::env", "std::process", "std::thread", "tokio", "rustix", "getrandom"];

/// All that `domain` may know beside the crate's own nouns.
const DOMAIN_KNOWS: &[&str] = &["std", "core", "alloc", "serde", "crate"];

/// Calls that read a clock.
const CLOCKS: &[&str] = &[
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "clock_gettime",
    "SystemTime::elapsed",
    "Instant::elapsed",
];
const CLOCK_METHODS: &[&str] = &["elapsed"];
/// Files that read a clock: the clock, and the simulated provider, which keeps time of its own as a real one would.
pub const CLOCK_FILES: &[&str] = &["src/clock.rs", "src/clock/", "src/demo/irrigation/mod.rs"];

const TIMERS: &[&str] = &["sleep", "sleep_until", "interval", "interval_at", "timeout", "timeout_at", "*"];
/// Rooms that may wait by themselves: for sockets, for ticks. `store` and below never do.
pub const WAITERS: &[&str] = &["engine", "web", "mqtt", "upstream", "app", "cli", "demo", "clock"];

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 60;

/// An exception, with its reason. One that nothing needs any more is a violation itself.
pub struct Allowed {
    pub file: &'static str,
    /// The function, constant or static; empty for a whole file.
    pub inside: &'static str,
    pub why: &'static str,
}

fn told(source: &Source, place: &Place, what: &str) -> String {
    let inside = if place.inside.is_empty() { String::new() } else { format!(" (in `{}`)", place.inside) };
    format!("{}:{}: {what}{inside}", source.path, place.line)
}

fn rooms() -> impl Iterator<Item = &'static str> {
    ROOMS.iter().map(|r| r.name)
}

/// Every mention outside tests, with its file.
fn mentions(tree: &Tree) -> impl Iterator<Item = (&Source, &Mention)> {
    tree.sources.iter().flat_map(|s| s.mentions.iter().map(move |m| (s, m))).filter(|(_, m)| !m.place.test)
}

fn words(tree: &Tree, of: fn(&Source) -> &Vec<Word>) -> impl Iterator<Item = (&Source, &Word)> {
    tree.sources.iter().flat_map(move |s| of(s).iter().map(move |w| (s, w)))
}

/// The room of the crate that a mention leads into.
fn leads_to(source: &Source, mention: &Mention) -> Option<String> {
    let mut path = mention.path.iter();
    let first = path.next()?;
    let at_root = source.module.is_empty() && mention.path.len() > 1 && rooms().any(|r| r == first);
    let target = if first == "crate" {
        path.next()?
    } else if at_root {
        first
    } else {
        return None;
    };
    (target == "*" || rooms().any(|r| r == target)).then(|| target.clone())
}

/// Law: directions between rooms.
pub fn directions(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, mention) in mentions(tree) {
        let Some(target) = leads_to(source, mention) else { continue };
        let own = source.room();
        if target == own {
            continue;
        }
        let may = ROOMS.iter().find(|r| r.name == own).map_or(&[][..], |r| r.may_use);
        if !may.contains(&target.as_str()) {
            let what = format!("{own} must not know {target}, and names `{}`", mention.text());
            found.push(told(source, &mention.place, &what));
        }
    }
    found
}

/// Law: the table of directions itself has no circle: every room uses only rooms that stand below it.
pub fn table_is_ordered(rooms: &[Room]) -> Vec<String> {
    let position = |name: &str| rooms.iter().position(|r| r.name == name);
    let mut found = Vec::new();
    for (i, room) in rooms.iter().enumerate() {
        for used in room.may_use {
            if position(used).is_none_or(|at| at <= i) {
                found.push(format!("{} uses {used}, which does not stand below it", room.name));
            }
        }
    }
    found
}

/// Law 2: only `engine/fetch` sends through the door. Who else may name `upstream` at all is a matter of the directions.
pub fn one_path(tree: &Tree) -> Vec<String> {
    let fetch = |s: &Source| s.path.starts_with("src/engine/fetch") || s.room() == "upstream";
    let called = words(tree, |s| &s.methods)
        .filter(|(_, w)| ["send", "pass", "open", "renew"].contains(&w.word.as_str()) && w.on.ends_with("door"));
    let called = called.map(|(s, w)| (s, &w.place, format!("`{}.{}()`", w.on, w.word)));
    let named = mentions(tree).filter(|(_, m)| m.ends_with("Door::send")).map(|(s, m)| (s, &m.place, m.text()));
    let all = called.chain(named).filter(|(s, place, _)| !fetch(s) && !place.test);
    all.map(|(s, place, what)| told(s, place, &format!("only engine/fetch sends through the door: {what}"))).collect()
}

/// Law: foreign crates have their rooms.
pub fn crates(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, mention) in mentions(tree) {
        for (name, homes) in CRATES {
            // One segment alone is a local of that name.
            if mention.path.len() > 1 && mention.starts_with(name) && !homes.contains(&source.room()) {
                let what = format!("{name} belongs to {}, and is named in {}", homes.join(", "), source.room());
                found.push(told(source, &mention.place, &what));
            }
        }
    }
    found
}

/// Law: `domain` and `rules` are pure.
pub fn purity(tree: &Tree) -> Vec<String> {
    let pure = |s: &Source| PURE.contains(&s.room());
    let io = mentions(tree).filter(|(s, m)| pure(s) && IMPURE.iter().any(|i| m.starts_with(i)));
    let mut found: Vec<String> =
        io.map(|(s, m)| told(s, &m.place, &format!("{} is pure, and names `{}`", s.room(), m.text()))).collect();
    let asyncs = words(tree, |s| &s.asyncs).filter(|(s, w)| pure(s) && !w.place.test);
    found.extend(asyncs.map(|(s, w)| told(s, &w.place, &format!("{} is pure, and has `{}`", s.room(), w.word))));
    found
}

/// Law: `domain` knows std and serde only. Judged by its `use` lines and by paths that begin with a crate we depend on.
pub fn domain_knows_little(tree: &Tree, dependencies: &[String]) -> Vec<String> {
    let foreign = |m: &Mention| {
        m.path.first().is_some_and(|f| {
            !DOMAIN_KNOWS.contains(&f.as_str()) && m.path.len() > 1 && dependencies.iter().any(|d| d == f)
        })
    };
    mentions(tree)
        .filter(|(s, m)| s.room() == "domain" && foreign(m))
        .map(|(s, m)| told(s, &m.place, &format!("domain knows std and serde only, and names `{}`", m.text())))
        .collect()
}

/// Law: one file reads clocks.
pub fn clocks(tree: &Tree) -> Vec<String> {
    let may = |s: &Source| CLOCK_FILES.iter().any(|f| s.path == *f || (f.ends_with('/') && s.path.starts_with(f)));
    let named = mentions(tree).filter(|(s, m)| !may(s) && CLOCKS.iter().any(|c| m.ends_with(c)));
    let mut found: Vec<String> =
        named.map(|(s, m)| told(s, &m.place, &format!("reads a clock: `{}`", m.text()))).collect();
    let called = words(tree, |s| &s.methods)
        .filter(|(s, w)| !may(s) && !w.place.test && CLOCK_METHODS.contains(&w.word.as_str()));
    found.extend(called.map(|(s, w)| told(s, &w.place, &format!("reads a clock: `.{}()`", w.word))));
    found
}

/// Law: who may wait by a timer of its own.
pub fn timers(tree: &Tree) -> Vec<String> {
    let timer =
        |m: &Mention| m.starts_with("tokio::time") && m.path.get(2).is_some_and(|t| TIMERS.contains(&t.as_str()));
    mentions(tree)
        .filter(|(s, m)| timer(m) && !WAITERS.contains(&s.room()))
        .map(|(s, m)| told(s, &m.place, &format!("{} must not wait by itself: `{}`", s.room(), m.text())))
        .collect()
}

/// Law 2: only the store turns a reservation into a permit, only the budget builds either, and neither can be doubled.
pub fn permits(tree: &Tree) -> Vec<String> {
    let budget = |s: &Source| s.path.starts_with("src/rules/budget");
    let mut found = Vec::new();
    for (s, w) in words(tree, |s| &s.methods) {
        if w.word == "durable" && s.room() != "store" && !budget(s) {
            found.push(told(s, &w.place, "only the store mints a permit, after its commit: `.durable()`"));
        }
    }
    for source in &tree.sources {
        for m in source.mentions.iter().filter(|m| m.ends_with("Reserved::durable")) {
            if source.room() != "store" {
                found.push(told(source, &m.place, "only the store mints a permit: `Reserved::durable`"));
            }
        }
        for w in source.built.iter().filter(|w| ["Permit", "Reserved"].contains(&w.word.as_str())) {
            if !budget(source) {
                found.push(told(source, &w.place, &format!("only rules/budget builds a `{}`", w.word)));
            }
        }
        for (name, traits) in source.derives.iter().filter(|(n, _)| ["Permit", "Reserved"].contains(&n.word.as_str())) {
            for t in traits.iter().filter(|t| t.as_str() != "Debug") {
                found.push(told(source, &name.place, &format!("a `{}` must not derive {t}", name.word)));
            }
        }
    }
    found
}

/// Law: each file says at its top what it is for.
pub fn headers(tree: &Tree) -> Vec<String> {
    let opens = |s: &Source| s.text.lines().next().is_some_and(|l| l.starts_with("//! ") && l.len() > 12);
    tree.sources.iter().filter(|s| !opens(s)).map(|s| format!("{}:1: does not open with `//!`", s.path)).collect()
}

/// Law: small files and functions.
pub fn sizes(tree: &Tree, allowed: &[Allowed]) -> Vec<String> {
    let mut exceptions = Exceptions::new(allowed);
    let mut found = Vec::new();
    for source in &tree.sources {
        let lines = source.product_lines();
        if lines > FILE_LINES && !exceptions.cover(&source.path, "") {
            found.push(format!("{}: {lines} lines outside tests, at most {FILE_LINES}", source.path));
        }
        for f in source.functions.iter().filter(|f| !f.place.test && f.lines > FUNCTION_LINES) {
            if !exceptions.cover(&source.path, &f.name) {
                let what = format!("`{}` has {} lines, at most {FUNCTION_LINES}", f.name, f.lines);
                found.push(told(source, &f.place, &what));
            }
        }
    }
    found.extend(exceptions.idle());
    found
}

/// Law: nothing is left for later.
pub fn unfinished(tree: &Tree) -> Vec<String> {
    let mut found: Vec<String> = words(tree, |s| &s.macros)
        .filter(|(_, w)| ["todo", "unimplemented", "dbg"].contains(&w.word.as_str()))
        .map(|(s, w)| told(s, &w.place, &format!("`{}!`", w.word)))
        .collect();
    for source in &tree.sources {
        for (i, line) in source.text.lines().enumerate() {
            let marks = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if marks.into_iter().any(|w| ["TODO", "FIXME", "XXX"].contains(&w)) {
                found.push(format!("{}:{}: left for later: {}", source.path, i + 1, line.trim()));
            }
        }
    }
    found
}

/// Law: what can fail says how. What the compiler evaluates may unwrap: it fails before there is a binary.
pub fn panics(tree: &Tree, allowed: &[Allowed]) -> Vec<String> {
    const METHODS: &[&str] = &["unwrap", "expect", "unwrap_err", "expect_err"];
    const PATHS: &[&str] = &["Option::unwrap", "Option::expect", "Result::unwrap", "Result::expect"];
    let mut exceptions = Exceptions::new(allowed);
    let mut found = Vec::new();
    for source in &tree.sources {
        let called = source.methods.iter().filter(|w| METHODS.contains(&w.word.as_str()));
        let called = called.map(|w| (&w.place, format!("`.{}()`", w.word)));
        let named = source.mentions.iter().filter(|m| PATHS.iter().any(|p| m.ends_with(p)));
        let named = named.map(|m| (&m.place, format!("`{}`", m.text())));
        for (place, what) in called.chain(named) {
            if !place.test && !place.constant && !exceptions.cover(&source.path, &place.inside) {
                found.push(told(source, place, &what));
            }
        }
    }
    found.extend(exceptions.idle());
    found
}

/// Exceptions, and which of them were needed.
struct Exceptions<'a> {
    allowed: &'a [Allowed],
    used: Vec<bool>,
}

impl<'a> Exceptions<'a> {
    fn new(allowed: &'a [Allowed]) -> Self {
        Exceptions { allowed, used: vec![false; allowed.len()] }
    }
    fn cover(&mut self, file: &str, inside: &str) -> bool {
        let at = self.allowed.iter().position(|a| a.file == file && a.inside == inside);
        at.inspect(|i| self.used[*i] = true).is_some()
    }
    fn idle(&self) -> Vec<String> {
        let idle = self.allowed.iter().zip(&self.used).filter(|(_, used)| !**used);
        let told = |a: &Allowed| format!("nothing needs the exception for {} `{}` ({})", a.file, a.inside, a.why);
        idle.map(|(a, _)| told(a)).chain(self.unreasoned()).collect()
    }
    fn unreasoned(&self) -> impl Iterator<Item = String> {
        let bare = self.allowed.iter().filter(|a| a.why.split_whitespace().count() < 4);
        bare.map(|a| format!("the exception for {} `{}` has no reason", a.file, a.inside))
    }
}

/// Law: the map in the crate comment of `lib.rs` names every room, and no room that is not there. `folder` is what stands in `src`.
pub fn map(tree: &Tree, folder: &[String]) -> Vec<String> {
    let Some(lib) = tree.find("src/lib.rs") else { return vec!["there is no src/lib.rs".to_owned()] };
    let mapped = mapped(&lib.text);
    let missing = folder.iter().filter(|f| !mapped.contains(f)).map(|f| format!("src/{f} is not on the map in lib.rs"));
    let gone =
        mapped.iter().filter(|m| !folder.contains(m)).map(|m| format!("the map names src/{m}, which is not there"));
    let rooms = folder.iter().filter_map(|f| f.strip_suffix('/').or(f.strip_suffix(".rs")));
    let unruled = rooms
        .filter(|r| *r != "recipes" && !ROOMS.iter().any(|room| room.name == *r))
        .map(|r| format!("no direction is fixed for {r}"));
    missing.chain(gone).chain(unruled).collect()
}

/// Names in the first fenced block of the crate comment, one a line: `store/`, `clock.rs`.
fn mapped(lib: &str) -> Vec<String> {
    let comment = lib.lines().map_while(|l| l.strip_prefix("//!"));
    let block =
        comment.map(str::trim).skip_while(|l| !l.starts_with("```")).skip(1).take_while(|l| !l.starts_with("```"));
    let first = block.filter_map(|l| l.split_whitespace().next());
    first.filter(|w| w.ends_with('/') || w.ends_with(".rs")).map(str::to_owned).collect()
}
