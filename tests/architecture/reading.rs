//! Reads Rust sources into the few facts that the laws of the house ask about: which names a file mentions (resolved to
//! absolute paths), which methods and macros it calls, where it is async, how long it is. Comments and strings are not
//! facts. Knows no law.

use crate::visitor::read_source;
use std::ops::RangeInclusive;
use std::path::Path;

/// Where a fact stands.
#[derive(Clone, Debug)]
pub struct Place {
    pub line: usize,
    /// Inside `#[cfg(test)]` or `#[test]`, or in a file that only tests see.
    pub test: bool,
    /// Evaluated by the compiler: in a `const` or a `static`, outside closures.
    pub constant: bool,
    /// The innermost function, constant or static around it; empty at the top level.
    pub inside: String,
}

/// A path that the file mentions, in a `use`, a type, an expression, an attribute or a macro.
/// `crate::`, `self::`, `super::`, `larder::` and names brought in by `use` are resolved: paths into the crate begin with `crate`.
#[derive(Clone, Debug)]
pub struct Mention {
    pub path: Vec<String>,
    pub place: Place,
}

impl Mention {
    pub fn text(&self) -> String {
        self.path.join("::")
    }
    pub fn starts_with(&self, prefix: &str) -> bool {
        let mut own = self.path.iter();
        prefix.split("::").all(|p| own.next().is_some_and(|s| s == p))
    }
    pub fn ends_with(&self, suffix: &str) -> bool {
        let mut own = self.path.iter().rev();
        suffix.rsplit("::").all(|p| own.next().is_some_and(|s| s == p))
    }
}

/// A word with its place: a method that is called, a macro, a keyword, a struct that is built.
#[derive(Clone, Debug)]
pub struct Word {
    pub word: String,
    /// For a method: the name of what it is called on (`core.door.send()` is `send` on `door`); empty where that has none.
    pub on: String,
    pub place: Place,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    /// Lines from `fn` to the closing brace.
    pub lines: usize,
    pub place: Place,
}

#[derive(Clone, Debug)]
pub struct Source {
    /// `src/store/mod.rs`
    pub path: String,
    pub text: String,
    pub module: Vec<String>,
    pub mentions: Vec<Mention>,
    pub methods: Vec<Word>,
    pub macros: Vec<Word>,
    /// `async` and `await`.
    pub asyncs: Vec<Word>,
    /// Struct literals: the last segment of their path.
    pub built: Vec<Word>,
    /// Structs with the traits that they derive.
    pub derives: Vec<(Word, Vec<String>)>,
    pub functions: Vec<Function>,
    /// Modules declared here (`mod x;`).
    pub declared: Vec<String>,
    /// Lines that only tests see.
    pub test_lines: Vec<RangeInclusive<usize>>,
    pub test: bool,
}

impl Source {
    /// The first segment of the module path: `store`, `main`, `lib`.
    pub fn room(&self) -> &str {
        match (self.module.first(), self.path.as_str()) {
            (Some(room), _) => room,
            (None, "src/main.rs") => "main",
            (None, _) => "lib",
        }
    }
    /// Lines outside tests.
    pub fn product_lines(&self) -> usize {
        let all = self.text.lines().count();
        if self.test {
            return 0;
        }
        all - self.test_lines.iter().map(|r| r.end() + 1 - r.start()).sum::<usize>()
    }
}

/// All sources of the crate.
pub struct Tree {
    pub sources: Vec<Source>,
}

impl Tree {
    /// Every `.rs` file below `root/src`.
    pub fn read(root: &Path) -> Tree {
        let mut files = Vec::new();
        collect(root, &root.join("src"), &mut files);
        files.sort();
        assert!(files.len() > 10, "only {} sources found below {}", files.len(), root.display());
        Tree::of(&files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect::<Vec<_>>())
    }

    /// From paths and texts, for planted violations.
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let parsed: Vec<_> = files
            .iter()
            .map(|(path, text)| {
                let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}:{}: {e}", e.span().start().line));
                (*path, *text, module_of(path), file)
            })
            .collect();
        let test_files: Vec<String> = parsed.iter().flat_map(|(path, _, _, file)| test_files(path, file)).collect();
        let sources = parsed
            .into_iter()
            .map(|(path, text, module, file)| {
                let test = test_files.iter().any(|t| path == *t || t.ends_with('/') && path.starts_with(t));
                read_source(path, text, module, &file, test)
            })
            .collect();
        Tree { sources }
    }

    pub fn find(&self, path: &str) -> Option<&Source> {
        self.sources.iter().find(|s| s.path == path)
    }
}

fn collect(root: &Path, folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect(root, &path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let name = path.strip_prefix(root).expect("below root").to_string_lossy().replace('\\', "/");
            into.push((name, std::fs::read_to_string(&path).expect("UTF-8 source")));
        }
    }
}

/// `src/engine/view.rs` is `[engine, view]`; `src/lib.rs` and `src/main.rs` are the root.
fn module_of(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let mut segments: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if segments.last().is_some_and(|l| l == "mod") {
        segments.pop();
    }
    if segments.len() == 1 && (segments[0] == "lib" || segments[0] == "main") { Vec::new() } else { segments }
}

/// Files, and folders with a slash, that only exist for tests: `#[cfg(test)] mod tests;`, with or without a `#[path]`.
fn test_files(path: &str, file: &syn::File) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let stem = name.trim_end_matches(".rs");
    let below = if ["mod", "lib", "main"].contains(&stem) { folder.to_owned() } else { format!("{folder}/{stem}") };
    let mut files = Vec::new();
    for item in &file.items {
        let syn::Item::Mod(m) = item else { continue };
        if m.content.is_none() && is_test(&m.attrs) {
            match path_attribute(&m.attrs) {
                Some(given) => files.push(format!("{folder}/{given}")),
                None => files.extend([format!("{below}/{}.rs", m.ident), format!("{below}/{}/", m.ident)]),
            }
        }
    }
    files
}

fn path_attribute(attrs: &[syn::Attribute]) -> Option<String> {
    attrs.iter().find_map(|attr| match &attr.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

pub fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        if attr.path().segments.last().is_some_and(|s| s.ident == "test") {
            return true;
        }
        let syn::Meta::List(list) = &attr.meta else { return false };
        let condition = list.tokens.to_string();
        attr.path().is_ident("cfg")
            && (condition == "test" || condition.starts_with("all") && condition.contains("test"))
    })
}
