//! For the tests: where the sources ask for which text with which values, what the catalogue has, and English in other letters.

use super::catalogue::{Catalogue, MARKS};
use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement, Resource};
use fluent_syntax::{parser, serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A key with the names of its values.
pub type Wants = (String, BTreeSet<String>);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "html" || kind == "rs") {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Every text that templates and pages ask for, with the file that does.
pub fn asked() -> Vec<(String, Wants)> {
    let mut sources = Vec::new();
    files(&root().join("templates"), &mut sources);
    files(&root().join("src/web"), &mut sources);
    let own = |path: &str| path.contains("web/texts");
    let calls = |(path, text): &(String, String)| {
        let calls = text.split("texts::t(\"").skip(1).map(|rest| (path.clone(), call(rest)));
        calls.collect::<Vec<_>>()
    };
    sources.iter().filter(|(path, _)| !own(path)).flat_map(calls).collect()
}

/// `key").with("name", value).href("href", a, b)...`
fn call(text: &str) -> Wants {
    let (key, mut rest) = text.split_once("\")").expect("a key ends");
    let mut names = BTreeSet::new();
    loop {
        let next = rest.trim_start();
        let Some(values) = next.strip_prefix(".with(").or_else(|| next.strip_prefix(".href(")) else { break };
        names.insert(values.split('"').nth(1).expect("a value has a name").to_owned());
        rest = &values[closing(values)..];
    }
    (key.to_owned(), names)
}

/// Behind the bracket that closes what is open where `text` begins.
fn closing(text: &str) -> usize {
    let (mut depth, mut quoted) = (1, false);
    for (at, sign) in text.char_indices() {
        match sign {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    panic!("a bracket is open: {text}")
}

/// A file of `templates/texts`.
pub fn source(name: &str) -> String {
    std::fs::read_to_string(root().join("templates/texts").join(name)).unwrap()
}

/// Every file of texts.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("templates/texts")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The texts of a file: every key with the values that its text names. Panics where something cannot be read or is there twice.
pub fn texts(source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let source = MARKS.iter().fold(source.to_owned(), |source, (mark, element)| source.replace(mark, element));
    let resource = parser::parse(source).map_err(|(_, errors)| errors).expect("every text can be read");
    let mut texts = BTreeMap::new();
    for entry in &resource.body {
        let Entry::Message(message) = entry else { continue };
        let mut names = BTreeSet::new();
        variables(message.value.as_ref().expect("a text"), &mut names);
        let twice = texts.insert(message.id.name.clone(), names);
        assert!(twice.is_none(), "{} is there twice", message.id.name);
    }
    texts
}

fn variables(pattern: &Pattern<String>, names: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else { continue };
        let inline = match expression {
            Expression::Inline(inline) => inline,
            Expression::Select { selector, variants } => {
                variants.iter().for_each(|variant| variables(&variant.value, names));
                selector
            }
        };
        if let InlineExpression::VariableReference { id } = inline {
            names.insert(id.name.clone());
        }
    }
}

/// English in wide letters, which nobody writes: what stands in others on a page does not come from the catalogue.
pub fn wide() -> &'static Catalogue {
    let mut resource: Resource<String> = parser::parse(source("en.ftl")).expect("English");
    for entry in &mut resource.body {
        if let Entry::Message(message) = entry {
            widen(message.value.as_mut().expect("a text"));
        }
    }
    let language = "zu".parse().expect("a tag");
    Box::leak(Box::new(Catalogue::read(language, &serializer::serialize(&resource))))
}

fn widen(pattern: &mut Pattern<String>) {
    for element in &mut pattern.elements {
        match element {
            PatternElement::TextElement { value } => *value = widened(value),
            PatternElement::Placeable { expression: Expression::Select { variants, .. } } => {
                variants.iter_mut().for_each(|variant| widen(&mut variant.value));
            }
            PatternElement::Placeable { .. } => {}
        }
    }
}

/// All letters but those of marks.
fn widened(text: &str) -> String {
    let mut inside = false;
    let wide = |sign: char| {
        inside = (inside || sign == '<') && sign != '>';
        match sign {
            'a'..='z' | 'A'..='Z' if !inside => char::from_u32(sign as u32 + 0xFEE0).unwrap_or(sign),
            _ => sign,
        }
    };
    text.chars().map(wide).collect()
}
