//! What may go through a connection's gateway, and what is special about its path. Compiled once from the configuration. Must not know who
//! asks, nor whether the budget has anything left.

use super::location::Location;
use super::narrow::Narrower;
use super::pattern::Pattern;
use crate::domain::gateway::{Freshness, GatewaySpec, Head, Kept, NotReadySpec, PathRule, Reading};
use crate::domain::spec::CommandSpec;
use crate::domain::time::Span;

/// A connection's gateway.
#[derive(Debug)]
pub struct Gate {
    enabled: bool,
    freshness: Freshness,
    fresh_for: Span,
    targeted: Vec<String>,
    allow: Vec<(Vec<String>, Pattern)>,
    rules: Vec<Rule>,
    commands: Vec<Pattern>,
}

#[derive(Debug)]
struct Rule {
    path: Pattern,
    spec: PathRule,
    forgets: Vec<Pattern>,
    narrow: Option<Narrower>,
}

/// How a request goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// From the shelf, or onto it.
    Read(Reading),
    /// It may change something: it needs the right of commands, is never kept and never answered together with another.
    Write,
}

/// Why a request is not passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAllowed {
    /// The connection has no gateway.
    Off,
    /// Nothing may be asked there.
    Path,
    /// These methods may be.
    Method(Vec<String>),
}

/// What holds for a path.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'g> {
    pub freshness: Freshness,
    pub fresh_for: Span,
    /// Headers in which the provider addresses this cache.
    pub targeted: &'g [String],
    pub not_ready: Option<&'g NotReadySpec>,
    pub narrow: Option<&'g Narrower>,
    /// Units of the limits.
    pub cost: u32,
    /// What is read here is a stream of events.
    pub stream: bool,
    idempotent: bool,
}

impl Policy<'_> {
    /// Whether a request that the provider perhaps saw may be sent again: as RFC 9110 section 9.2.2 has it of the method, or as a rule says.
    pub fn may_repeat(&self, method: &str) -> bool {
        self.idempotent || matches!(method, "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE")
    }

    /// Whether this status is an expected "not ready" here.
    pub fn is_not_ready(&self, status: u16) -> bool {
        self.not_ready.is_some_and(|spec| spec.status.contains(&status))
    }

    /// For how long what is kept here is fresh by the connection's own word.
    pub fn lasts(&self, head: &Head) -> Span {
        match (head.kept, self.not_ready) {
            (Kept::NotReady, Some(spec)) => spec.lasts,
            (Kept::NotReady, None) | (Kept::Declared, _) => Span::ZERO,
            (Kept::Data, _) => self.fresh_for,
        }
    }
}

impl Rule {
    fn compile(spec: &PathRule, at: &str, errors: &mut Vec<String>) -> Option<Rule> {
        let path = sound(&format!("{at}.path"), Pattern::compile(&spec.path), errors);
        let forgets = spec.forgets.iter().map(|text| sound(&format!("{at}.forgets"), Pattern::compile(text), errors));
        let forgets = forgets.collect::<Vec<_>>().into_iter().flatten().collect();
        let narrow =
            spec.narrow.as_ref().map(|narrow| sound(&format!("{at}.narrow"), Narrower::compile(narrow), errors));
        Some(Rule { path: path?, spec: spec.clone(), forgets, narrow: narrow.flatten() })
    }
}

fn sound<T>(at: &str, compiled: Result<T, String>, errors: &mut Vec<String>) -> Option<T> {
    compiled.map_err(|why| errors.push(format!("{at}: {why}"))).ok()
}

impl Gate {
    /// The errors are sentences that begin with the place below the gateway's section.
    pub fn compile(spec: &GatewaySpec, commands: &[CommandSpec]) -> Result<Gate, Vec<String>> {
        let mut errors = Vec::new();
        let mut allow = Vec::new();
        for (n, one) in spec.allow.iter().enumerate() {
            let path = sound(&format!("allow[#{}].path", n + 1), Pattern::compile(&one.path), &mut errors);
            allow.extend(path.map(|path| (one.methods.clone(), path)));
        }
        let mut rules = Vec::new();
        for (n, one) in spec.rules.iter().enumerate() {
            rules.extend(Rule::compile(one, &format!("rule[#{}]", n + 1), &mut errors));
        }
        let may_be_read = |command: &&CommandSpec| command.send.is_get() || command.path.contains('?');
        let commands = commands.iter().filter(may_be_read).map(|c| Pattern::of_template(&c.path)).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let (enabled, freshness, fresh_for) = (spec.enabled, spec.freshness, spec.fresh_for);
        Ok(Gate { enabled, freshness, fresh_for, targeted: spec.targeted.clone(), allow, rules, commands })
    }

    /// `method` as it was sent: methods have a case (RFC 9110 section 9.1).
    pub fn passage(&self, method: &str, location: &Location) -> Result<Passage, NotAllowed> {
        if !self.enabled {
            return Err(NotAllowed::Off);
        }
        let mut there: Vec<&String> =
            self.allow.iter().filter(|(_, path)| path.fits(location)).flat_map(|(methods, _)| methods).collect();
        if there.is_empty() {
            return Err(NotAllowed::Path);
        }
        if !there.iter().any(|allowed| *allowed == method) {
            there.sort_unstable();
            there.dedup();
            return Err(NotAllowed::Method(there.into_iter().cloned().collect()));
        }
        // A GET that opens a valve is no reading (Hydrawise, A26).
        let commands = self.commands.iter().any(|command| command.may_fit(location));
        Ok(Reading::of(method).filter(|_| !commands).map_or(Passage::Write, Passage::Read))
    }

    /// The rules that fit a path, by their places: for who asks about one path again and again.
    pub fn rules_of(&self, location: &Location) -> Vec<usize> {
        let fitting = self.rules.iter().enumerate().filter(|(_, rule)| rule.path.fits(location));
        fitting.map(|(place, _)| place).collect()
    }

    pub fn policy(&self, location: &Location) -> Policy<'_> {
        self.policy_by(&self.rules_of(location))
    }

    /// The same, by what [`Gate::rules_of`] said.
    pub fn policy_by(&self, rules: &[usize]) -> Policy<'_> {
        let fitting = || rules.iter().filter_map(|place| self.rules.get(*place));
        let said = |word: fn(&PathRule) -> Option<Span>| fitting().find_map(|rule| word(&rule.spec));
        Policy {
            freshness: fitting().find_map(|rule| rule.spec.freshness).unwrap_or(self.freshness),
            fresh_for: said(|rule| rule.fresh_for).unwrap_or(self.fresh_for),
            targeted: &self.targeted,
            not_ready: fitting().find_map(|rule| rule.spec.not_ready.as_ref()),
            narrow: fitting().find_map(|rule| rule.narrow.as_ref()),
            cost: fitting().find_map(|rule| rule.spec.cost).unwrap_or(1),
            stream: fitting().find_map(|rule| rule.spec.stream).unwrap_or(false),
            idempotent: fitting().find_map(|rule| rule.spec.idempotent).unwrap_or(false),
        }
    }

    /// Whether a write to `written` that succeeded makes this answer one to forget: what was written to, with any query (RFC 9111 section
    /// 4.4), and what the rules of that path name (P1).
    pub fn forgets(&self, written: &Location, head: &Head) -> bool {
        self.forgets_at(written, &head.key.target)
    }

    /// The same of all that is kept or asked for under `target`.
    pub fn forgets_at(&self, written: &Location, target: &str) -> bool {
        let path = |target: &str| target.split('?').next().unwrap_or_default().to_owned();
        let kept = path(target);
        let named = self.rules.iter().filter(|rule| rule.path.fits(written)).flat_map(|rule| &rule.forgets);
        kept == path(&written.target()) || named.into_iter().any(|pattern| pattern.fits_path(&kept))
    }
}
