//! An answer of any status, headers and body through classification and extraction, with every recipe there is. Input: a status line,
//! header lines, an empty line, the body. The first byte of the status line `?` says that the request was conditional.

use larder::config::{Environment, Recipes, parse, recipe_alone};
use larder::domain::outcome::{Outcome, Verdict};
use larder::domain::reply::{Answer, Reply};
use larder::domain::spec::ConnectionSpec;
use larder::domain::time::{Stamp, Steady, Wall};
use larder::rules::classify::Classifier;
use larder::rules::extract::Extractor;
use std::path::Path;
use std::sync::LazyLock;

/// Characters of the provider's words that are kept.
const SAID: usize = 160;
const ARRIVAL: Stamp = Stamp { steady: Steady(1_000_000), wall: Wall(1_796_007_373_000), era: 0 };

/// A connection of each embedded recipe, and one with nothing but general rules.
static CONNECTIONS: LazyLock<Vec<Compiled>> = LazyLock::new(|| {
    let recipes = Recipes::embedded();
    let plain = "[[connection]]\nname = \"c\"\nbase_url = \"https://api.example.test\"\n[[connection.limit]]\nname = \"day\"\nrequests = 10\nwindow = \"1d\"\n\
                 kind = \"rolling\"\n[[connection.target]]\nname = \"list\"\nget = \"/list\"\nitems = \"$.data[*]\"\nkey = \"$.id\"\n";
    let alone = |name| recipe_alone(&recipes.get(name)?.expect("a recipe that can be read")).ok();
    let named = recipes.names().map(|name| alone(name).unwrap_or_else(|| panic!("recipe {name} is wrong")));
    named.chain([connection(plain, &recipes)]).map(Compiled::new).collect()
});

struct Compiled {
    spec: ConnectionSpec,
    classifier: Classifier,
    extractors: Vec<Extractor>,
}

impl Compiled {
    fn new(spec: ConnectionSpec) -> Compiled {
        let classifier =
            Classifier::compile(&spec.rules, &spec.waits).expect("rules that compile").reading(&spec.reading);
        let extractor = |target| Extractor::compile(target, &spec.time_zone).expect("a target that compiles");
        let extractors = spec.targets.iter().map(extractor).collect();
        Compiled { spec, classifier, extractors }
    }
}

fn connection(text: &str, recipes: &Recipes) -> ConnectionSpec {
    let settings = parse(text, Path::new("larder.toml"), &Environment::new([]), recipes);
    let first = settings.ok().and_then(|settings| settings.connections.into_iter().next());
    first.expect("a connection that can be configured")
}

pub fn check(data: &[u8]) {
    let (conditional, answer) = read(data);
    let reply = Reply { arrived_at: ARRIVAL, result: Ok(answer), detail: String::new() };
    for connection in CONNECTIONS.iter() {
        let classified = connection.classifier.classify(&reply, conditional, ARRIVAL.wall);
        let has_body = classified.body.is_some();
        judge(&connection.spec, &classified.verdict, conditional, has_body);
        if let Some(body) = &classified.body {
            for extractor in &connection.extractors {
                let Ok(sightings) = extractor.extract(body, reply.headers(), ARRIVAL) else { continue };
                let mut keys: Vec<_> = sightings.iter().map(|s| s.key.as_str()).collect();
                keys.sort_unstable();
                keys.dedup();
                assert_eq!(keys.len(), sightings.len(), "two items of one key");
            }
        }
    }
}

fn judge(spec: &ConnectionSpec, verdict: &Verdict, conditional: bool, has_body: bool) {
    let Verdict { outcome, rule, said, wait, .. } = verdict;
    assert!(*outcome != Outcome::Data || has_body, "data without a body that could be read ({rule})");
    assert!(
        *outcome != Outcome::NotModified || conditional || rule.starts_with("recipe"),
        "not modified since when? ({rule})"
    );
    assert!(!rule.is_empty(), "a verdict without a rule");
    assert!(said.as_ref().is_none_or(|s| s.chars().count() <= SAID), "too many words: {said:?}");
    if let Some(hint) = wait {
        assert!(hint.wait >= spec.waits.floor, "{} is shorter than the floor", hint.wait);
        assert!(!hint.source.is_empty(), "a wait from nowhere");
    }
}

/// Never fails: what is no status is 200, what is no header is left out.
fn read(data: &[u8]) -> (bool, Answer) {
    let mut lines = data.split_inclusive(|b| *b == b'\n');
    let first = lines.next().unwrap_or_default();
    let status = String::from_utf8_lossy(first);
    let mut taken = first.len();
    let mut headers = Vec::new();
    for line in lines {
        taken += line.len();
        let line = String::from_utf8_lossy(line);
        match line.trim_end_matches(['\r', '\n']).split_once(':') {
            Some((name, value)) => headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned())),
            None if line.trim().is_empty() => break,
            None => (),
        }
    }
    let digits = status.trim_matches(|c: char| !c.is_ascii_digit());
    let answer = Answer {
        status: digits.parse().ok().filter(|s| (100..600).contains(s)).unwrap_or(200),
        headers,
        body: data.get(taken..).unwrap_or_default().to_vec(),
    };
    (status.starts_with('?'), answer)
}
