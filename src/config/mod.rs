//! `larder.toml`, recipes and `LARDER_*` environment -> validated settings. Knows the specs of `domain` and compiles every
//! expression with `rules`, so that a wrong path is told at start and not at the first answer. Reads no secret.
//!
//! A file is read table by table (`section`), each table into a draft where every key may be absent (`draft`), a recipe into
//! the same draft below it; then the whole is checked together (`finish`). Nothing stops at the first error.

mod backup;
mod door;
mod draft;
mod environment;
mod finish;
mod gateway;
mod limits;
mod mqtt;
mod oauth;
mod organizations;
mod pages;
mod place;
mod put;
mod quotas;
mod recipe;
mod rules;
mod scans;
mod section;
mod send;
mod server;
pub mod stored;
mod targets;
#[cfg(test)]
mod tests;
mod value;
mod waits;
mod webhooks;
mod words;

pub use environment::{Environment, PLAIN_VARIABLES};
pub use put::Puttable;
pub use recipe::{Recipe, Recipes, is_built_in};

use crate::domain::backup::BackupSpec;
use crate::domain::base_path::BasePath;
use crate::domain::gateway::ShelfSpec;
use crate::domain::ids::{ConnectionKey, Organization, TargetName};
use crate::domain::mqtt::MqttSpec;
use crate::domain::part::PartsByOrganization;
use crate::domain::polling::PollingSpec;
use crate::domain::proxy::TrustedProxy;
use crate::domain::setting::Setting;
use crate::domain::spec::{ConnectionSpec, SecretSource, TargetSpec};
use crate::rules::classify::Classifier;
use crate::rules::extract::Extractor;
use crate::rules::paging::Pager;
use draft::{CredentialDraft, Draft, Origin};
use finish::Identity;
use place::{Place, Placed, Problems, Slot};
use put::Patterns;
use section::{Document, Section};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub server: ServerSpec,
    pub polling: PollingSpec,
    /// `None`: none is made without anybody asking.
    pub backup: Option<BackupSpec>,
    /// The broker that is told how everything stands; `None`: none is.
    pub mqtt: Option<MqttSpec>,
    /// What organizations have of the credentials that they share.
    pub organizations: PartsByOrganization,
    pub connections: Vec<ConnectionSpec>,
    /// For targets that are put while the appliance runs.
    pub puttable: Puttable,
    /// The keys of `[server]`, `[polling]`, `[backup]` and `[mqtt]`, as they are shown.
    pub shown: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    pub listen: SocketAddr,
    pub data: PathBuf,
    /// The unix socket of the running appliance: beside `data`, `<data>.sock`.
    pub socket: PathBuf,
    /// Host names, beside loopback and IP literals, that a request may carry.
    pub hosts: Vec<String>,
    /// Under which path a proxy in front leaves the site.
    pub base_path: BasePath,
    /// A proxy in front that is believed; `None`: none is.
    pub trusted_proxy: Option<TrustedProxy>,
    /// Which sites may show the pages inside their own, as `frame-ancestors` of CSP lists them; empty: this one.
    pub frame_ancestors: Vec<String>,
    /// What the answers of all gateways may take.
    pub shelf: ShelfSpec,
    /// Where the variables that secrets are read from are looked up first.
    pub environment_file: Option<PathBuf>,
}

/// The variables of the environment that decide for a connection of the file.
pub fn variables_of(environment: &Environment, connection: &str) -> Vec<String> {
    environment.of_connection(connection).names()
}

/// One thing wrong, as a sentence that names file, line and key, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads and validates; all errors of a file are told at once.
pub fn load(path: &Path) -> Result<Settings, Vec<ConfigError>> {
    let text = std::fs::read(path).map_err(|e| {
        let what = "write one, or name another with --config";
        vec![ConfigError(format!("{}: cannot be read ({}); {what}", path.display(), e.kind()))]
    })?;
    let text =
        String::from_utf8(text).map_err(|_| vec![ConfigError(format!("{}: is not UTF-8 text", path.display()))])?;
    read(&text, path, &Environment::of_process(), &Recipes::beside(path), compile_expressions)
}

/// As [`load`], from values: `file` names the text in errors, and relative paths begin in its folder. Does not look into
/// expressions (JSONPath, filters, patterns).
pub fn parse(
    text: &str,
    file: &Path,
    environment: &Environment,
    recipes: &Recipes,
) -> Result<Settings, Vec<ConfigError>> {
    read(text, file, environment, recipes, |_| Vec::new())
}

/// A recipe by itself, with every expression compiled: as a connection of its name that has no secret, and whose targets are the
/// recipe's own and its patterns. What a recipe leaves to the connection (an address, limits) may be missing.
pub fn recipe_alone(recipe: &Recipe) -> Result<ConnectionSpec, Vec<ConfigError>> {
    let mut p = Problems::default();
    let document = Document::new(0, &recipe.place(), &recipe.text);
    let Some(table) = document.tables(&recipe.text, &mut p) else { return Err(p.into_errors()) };
    let section = Section::root(&document, table.get_ref());
    let mut draft = Draft::read(&section, Origin::Recipe, &[], Path::new(""), &mut p);
    draft.targets.extend(targets::read_patterns(&section, &mut p));
    let place = section.place.clone();
    if draft.base_url.is_absent() {
        draft.base_url = Slot::Set(Placed { value: "https://provider.invalid".to_owned(), place: place.clone() });
    }
    if !draft.credential.carrier.is_absent() || draft.credential.oauth.is_some() {
        let source = Slot::Set(Placed { value: SecretSource::None, place: place.clone() });
        let carrier = draft.credential.carrier.or(Slot::Set(Placed { value: finish::bearer(), place }));
        draft.credential = CredentialDraft { source, carrier, oauth: None, ..draft.credential };
    }
    let key = ConnectionKey { organization: Organization::default(), connection: recipe.name.as_str().into() };
    let identity = Identity { key, recipe: Some(recipe.name.clone()) };
    let spec = finish::finish(Some(identity), draft, compile_expressions, &mut p);
    spec.filter(|_| p.is_empty()).ok_or_else(|| p.into_errors())
}

const NO_LIMIT: &str = "declares no limit. Larder keeps a budget: say what the provider allows, as in \
                        [[connection.limit]] with name = \"day\", requests = 1000, window = \"24h\", kind = \"rolling\"; \
                        where it names none, what you are willing to send";

/// Compiles what a connection has of expressions; what is wrong with them.
type Expressions = fn(&ConnectionSpec) -> Vec<WrongExpression>;

/// Which part of a connection an expression belongs to.
enum ExpressionOf {
    Target(TargetName),
    Scan(TargetName),
    Rules,
}

/// `sentence` names the key below that part.
struct WrongExpression {
    of: ExpressionOf,
    sentence: String,
}

/// What is wrong with the expressions of a question.
fn compile_question(question: &TargetSpec, time_zone: &str) -> Vec<String> {
    let mut sentences = Extractor::compile(question, time_zone).err().unwrap_or_default();
    let pages = question.page.as_ref().map(Pager::compile);
    sentences.extend(pages.and_then(Result::err).unwrap_or_default());
    sentences
}

fn compile_expressions(spec: &ConnectionSpec) -> Vec<WrongExpression> {
    let wrong = |question: &TargetSpec, of: fn(TargetName) -> ExpressionOf| {
        let name = question.name.clone();
        let sentences = compile_question(question, &spec.time_zone);
        sentences.into_iter().map(move |sentence| WrongExpression { of: of(name.clone()), sentence })
    };
    let of_targets = spec.targets.iter().flat_map(|target| wrong(target, ExpressionOf::Target));
    let of_scans = spec.scans.iter().flat_map(|scan| wrong(&scan.question, ExpressionOf::Scan));
    let of_rules = Classifier::compile(&spec.rules, &spec.waits).err().unwrap_or_default();
    let of_rules = of_rules.into_iter().map(|sentence| WrongExpression { of: ExpressionOf::Rules, sentence });
    of_targets.chain(of_scans).chain(of_rules).collect()
}

fn read(
    text: &str,
    file: &Path,
    environment: &Environment,
    recipes: &Recipes,
    expressions: Expressions,
) -> Result<Settings, Vec<ConfigError>> {
    let mut problems = Problems::default();
    let document = Document::new(0, &file.display().to_string(), text);
    let Some(table) = document.tables(text, &mut problems) else { return Err(problems.into_errors()) };
    let root = Section::root(&document, table.get_ref());
    root.only(&["server", "polling", "backup", "mqtt", "organization", "connection"], &[], &mut problems);
    let folder = file.parent().unwrap_or(Path::new(""));
    let section = root.clone().with_variables(environment.of_server().under("server")).table("server", &mut problems);
    let server = server::read(section.as_ref(), folder, &mut problems);
    let mut shown: Vec<_> = server::shown(section.as_ref(), &server).into_iter().collect();
    let section =
        root.clone().with_variables(environment.of_polling().under("polling")).table("polling", &mut problems);
    let polling = server::read_polling(section.as_ref(), &mut problems);
    shown.extend(server::shown_polling(section.as_ref(), &polling));
    let section = root.clone().with_variables(environment.of_backup().under("backup")).table("backup", &mut problems);
    let backup = backup::read(section.as_ref(), folder, &mut problems);
    shown.extend(server::shown_backup(section.as_ref(), backup.as_ref()));
    let section = root.clone().with_variables(environment.of_mqtt().under("mqtt")).table("mqtt", &mut problems);
    let mut mqtt = mqtt::read(section.as_ref(), folder, &mut problems);
    shown.extend(mqtt::shown(section.as_ref(), mqtt.as_ref()));
    let organizations = organizations::read(root.tables("organization", &mut problems), &mut problems);
    let mut reader = Reader::new(folder, environment, recipes, expressions);
    let sections = root.tables("connection", &mut problems);
    let mut connections: Vec<_> = sections.into_iter().filter_map(|s| reader.connection(s, &mut problems)).collect();
    if let Some(SecretSource::Env(variable)) = mqtt.as_ref().map(|mqtt| &mqtt.password) {
        reader.credentials.insert(variable.clone());
    }
    environment.check(&reader.names, &reader.credentials, &mut problems);
    let puttable = reader.puttable;
    if let Some(file) = &server.environment_file {
        server::list_variables(file, &mut connections, mqtt.as_mut());
    }
    if problems.is_empty() {
        Ok(Settings { server, polling, backup, mqtt, organizations, connections, puttable, shown })
    } else {
        Err(problems.into_errors())
    }
}

/// Reads connections one after the other and remembers what they named.
struct Reader<'a> {
    folder: &'a Path,
    environment: &'a Environment,
    recipes: &'a Recipes,
    expressions: Expressions,
    names: Vec<String>,
    taken: BTreeSet<ConnectionKey>,
    /// Variables that hold secrets.
    credentials: BTreeSet<String>,
    /// Token address, client and account: who had them first, and where its refresh token lies.
    accounts: BTreeMap<(String, String, String), (ConnectionKey, SecretSource)>,
    puttable: Puttable,
}

impl<'a> Reader<'a> {
    fn new(
        folder: &'a Path,
        environment: &'a Environment,
        recipes: &'a Recipes,
        expressions: Expressions,
    ) -> Reader<'a> {
        let (names, taken, credentials, accounts, puttable) = Default::default();
        Reader { folder, environment, recipes, expressions, names, taken, credentials, accounts, puttable }
    }

    fn connection(&mut self, section: Section<'_>, p: &mut Problems) -> Option<ConnectionSpec> {
        let name = section.parsed("name", p, words::name).required(
            &section.place,
            "name",
            "how the connection is called in addresses and pages",
            p,
        );
        let organization = section.parsed("organization", p, words::name);
        let organization = organization.value().map_or_else(Organization::default, Organization);
        let variables = name.as_deref().map(|name| self.environment.of_connection(name)).unwrap_or_default();
        let section = section.with_variables(variables);
        let key = name.map(|name| ConnectionKey { organization, connection: name.as_str().into() });
        if let Some(key) = &key {
            self.names.push(key.connection.0.clone());
            if !self.taken.insert(key.clone()) {
                p.add(&section.place, format!("there is another connection named {:?}", key.connection.as_str()));
            }
        }
        let recipe = section.text("recipe", p);
        let (draft, patterns) = self.draft(&section, recipe.placed(), p)?;
        let complete = draft.complete.clone().value();
        if draft.limits.is_empty() {
            p.add(&draft.place, NO_LIMIT);
        }
        let identity = key.map(|key| Identity { key, recipe: recipe.value() });
        let spec = finish::finish(identity, draft, self.expressions, p)?;
        self.check_account(&spec, &section.place, p);
        self.puttable.add(&spec, patterns, complete);
        Some(spec)
    }

    /// Connections of one client and account share tokens and budget, so they must mean the same refresh token.
    fn check_account(&mut self, spec: &ConnectionSpec, at: &Place, p: &mut Problems) {
        let Some(oauth) = &spec.oauth else { return };
        let id = (oauth.token_url.clone(), oauth.client_id.clone(), oauth.account.clone());
        let first = self.accounts.entry(id).or_insert_with(|| (spec.key.clone(), spec.secret.clone()));
        if first.1 != spec.secret {
            let other = &first.0.connection;
            p.add(at, format!("has the client of connection {other:?} and another refresh token; if they are two accounts, give each \
                               a name: oauth2 = {{ account = \"...\" }}", other = other.as_str()));
        }
    }

    /// The connection's own keys, laid over its recipe's. `None` where there is no such recipe, or where it cannot be read:
    /// whatever else is missing then may be in it.
    fn draft(
        &mut self,
        section: &Section<'_>,
        recipe: Option<&Placed<String>>,
        p: &mut Problems,
    ) -> Option<(Draft, Patterns)> {
        let opened = recipe.and_then(|name| self.open(name, p));
        let document = opened.as_ref().map(|(order, recipe)| Document::new(*order, &recipe.place(), &recipe.text));
        let table = match (&document, &opened) {
            (Some(document), Some((_, recipe))) => document.tables(&recipe.text, p),
            _ => None,
        };
        let below = document.as_ref().zip(table.as_ref()).map(|(d, table)| Section::root(d, table.get_ref()));
        // Its own stand before those of its recipe.
        let mut patterns = targets::patterns(section, p);
        patterns.extend(below.as_ref().map(|below| targets::patterns(below, p)).unwrap_or_default());
        let written = patterns.iter().filter_map(|pattern| Some((pattern.word("name")?, pattern.as_json()))).collect();
        let draft = Draft::read(section, Origin::Connection, &patterns, self.folder, p);
        let own = draft.credential.source.placed().map(|placed| &placed.value);
        for source in
            own.into_iter().chain(draft.webhooks.iter().flat_map(|hook| &hook.value).flat_map(|h| h.sources()))
        {
            if let SecretSource::Env(variable) = source {
                self.credentials.insert(variable.clone());
            }
        }
        if recipe.is_none() {
            return Some((draft, written));
        }
        Some((draft.over(Draft::read(&below?, Origin::Recipe, &[], self.folder, p)), written))
    }

    /// The recipe of this name, and its place among the files that were read.
    fn open(&self, name: &Placed<String>, p: &mut Problems) -> Option<(usize, Recipe)> {
        let sentence = match self.recipes.get(&name.value) {
            Some(Ok(recipe)) => {
                let order = self.recipes.names().position(|known| known == name.value);
                return Some((1 + order.unwrap_or_default(), recipe));
            }
            Some(Err(sentence)) => sentence,
            None => self.recipes.no_such(&name.value),
        };
        p.add(&name.place, sentence);
        None
    }
}
