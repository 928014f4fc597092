//! The two walks over a syntax tree that collect the facts of a file: first what each `use` calls its target, then everything else.
//! What `syn` leaves as tokens (macros, attributes) is read flat.

use crate::reading::{Function, Mention, Place, Source, Word, is_test};
use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};
use std::collections::HashMap;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

pub fn read_source(path: &str, text: &str, module: Vec<String>, file: &syn::File, test: bool) -> Source {
    let mut aliases = Aliases { module: module.clone(), names: HashMap::new() };
    aliases.visit_file(file);
    let source = Source {
        path: path.to_owned(),
        text: text.to_owned(),
        module: module.clone(),
        mentions: Vec::new(),
        methods: Vec::new(),
        macros: Vec::new(),
        asyncs: Vec::new(),
        built: Vec::new(),
        derives: Vec::new(),
        functions: Vec::new(),
        declared: Vec::new(),
        test_lines: Vec::new(),
        test,
    };
    let mut reader = Reader {
        source,
        module,
        aliases: aliases.names,
        inside: Vec::new(),
        tests: usize::from(test),
        constant: false,
    };
    reader.visit_file(file);
    reader.source
}

/// An absolute path from one as written in `module`.
fn absolute(module: &[String], aliases: &HashMap<String, Vec<String>>, written: &[String]) -> Vec<String> {
    let root = || vec!["crate".to_owned()];
    let rest = |n: usize| written[n..].iter().cloned();
    match written.first().map(String::as_str) {
        Some("crate" | "larder") => root().into_iter().chain(rest(1)).collect(),
        Some("self") => root().into_iter().chain(module.iter().cloned()).chain(rest(1)).collect(),
        Some("super") => {
            let ups = written.iter().take_while(|s| *s == "super").count();
            let kept = module.len().saturating_sub(ups);
            root().into_iter().chain(module[..kept].iter().cloned()).chain(rest(ups)).collect()
        }
        Some(first) => match aliases.get(first) {
            Some(target) => target.iter().cloned().chain(rest(1)).collect(),
            None => written.to_vec(),
        },
        None => Vec::new(),
    }
}

/// First pass: what each `use` calls its target.
struct Aliases {
    module: Vec<String>,
    names: HashMap<String, Vec<String>>,
}

impl<'a> Visit<'a> for Aliases {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        for leaf in use_leaves(&item.tree) {
            let path = absolute(&self.module, &HashMap::new(), &leaf.path);
            self.names.entry(leaf.name).or_insert(path);
        }
    }
}

struct UseLeaf {
    path: Vec<String>,
    name: String,
    span: Span,
}

/// `a::{b, c as d, e::{self, *}}` leaf by leaf. A glob's path ends in `*`.
fn use_leaves(tree: &syn::UseTree) -> Vec<UseLeaf> {
    fn walk(tree: &syn::UseTree, before: &[String], into: &mut Vec<UseLeaf>) {
        let with = |last: String| [before, &[last]].concat();
        match tree {
            syn::UseTree::Path(p) => walk(&p.tree, &with(p.ident.to_string()), into),
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| walk(t, before, into)),
            syn::UseTree::Glob(g) => into.push(UseLeaf { path: with("*".into()), name: "*".into(), span: g.span() }),
            syn::UseTree::Name(n) if n.ident == "self" && !before.is_empty() => into.push(UseLeaf {
                path: before.to_vec(),
                name: before.last().cloned().unwrap_or_default(),
                span: n.span(),
            }),
            syn::UseTree::Name(n) => {
                into.push(UseLeaf { path: with(n.ident.to_string()), name: n.ident.to_string(), span: n.span() });
            }
            syn::UseTree::Rename(r) => {
                let path = if r.ident == "self" { before.to_vec() } else { with(r.ident.to_string()) };
                into.push(UseLeaf { path, name: r.rename.to_string(), span: r.span() });
            }
        }
    }
    let mut leaves = Vec::new();
    walk(tree, &[], &mut leaves);
    leaves
}

/// Second pass: the facts.
struct Reader {
    source: Source,
    module: Vec<String>,
    aliases: HashMap<String, Vec<String>>,
    inside: Vec<String>,
    tests: usize,
    constant: bool,
}

impl Reader {
    fn place(&self, span: Span) -> Place {
        Place {
            line: span.start().line,
            test: self.tests > 0,
            constant: self.constant,
            inside: self.inside.last().cloned().unwrap_or_default(),
        }
    }
    fn word(&self, word: impl ToString, span: Span) -> Word {
        Word { word: word.to_string(), on: String::new(), place: self.place(span) }
    }
    fn mention(&mut self, written: &[String], span: Span) {
        let path = absolute(&self.module, &self.aliases, written);
        let place = self.place(span);
        self.source.mentions.push(Mention { path, place });
    }
    fn named(&mut self, name: impl ToString, then: impl FnOnce(&mut Self)) {
        self.inside.push(name.to_string());
        then(self);
        self.inside.pop();
    }
    fn evaluated(&mut self, constant: bool, then: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.constant, constant);
        then(self);
        self.constant = before;
    }
    /// Runs `then` as test code if the attributes say so, and takes the lines down.
    fn scoped(&mut self, attrs: &[syn::Attribute], span: Span, then: impl FnOnce(&mut Self)) {
        let test = is_test(attrs);
        if test && self.tests == 0 {
            self.source.test_lines.push(span.start().line..=span.end().line);
        }
        self.tests += usize::from(test);
        then(self);
        self.tests -= usize::from(test);
    }
    fn function(&mut self, sig: &syn::Signature, block: &syn::Block) {
        let lines = block.brace_token.span.close().end().line + 1 - sig.fn_token.span.start().line;
        let place = self.place(sig.fn_token.span);
        self.source.functions.push(Function { name: sig.ident.to_string(), lines, place });
    }

    /// Macros and attributes are not parsed: their tokens are read flat.
    fn tokens(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut i = 0;
        while i < tokens.len() {
            match &tokens[i] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(_) => {
                    i = self.token_path(&tokens, i);
                    continue;
                }
                _ => {}
            }
            i += 1;
        }
    }

    /// Takes `a`, `a::b::c`, `.method(`, `.await`, `name!`, `async`; returns where it ends.
    fn token_path(&mut self, tokens: &[TokenTree], start: usize) -> usize {
        let punct = |i: usize, c: char| matches!(tokens.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
        let joint = |i: usize| matches!(tokens.get(i), Some(TokenTree::Punct(p)) if p.spacing() == Spacing::Joint);
        let mut path = vec![tokens[start].to_string()];
        let mut end = start + 1;
        while punct(end, ':') && joint(end) && punct(end + 1, ':') {
            let Some(TokenTree::Ident(next)) = tokens.get(end + 2) else { break };
            path.push(next.to_string());
            end += 3;
        }
        let span = tokens[start].span();
        let called = matches!(tokens.get(end), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis);
        let turbofish = punct(end, ':') && punct(end + 2, '<');
        let after_dot = start > 0 && punct(start - 1, '.') && !(start > 1 && punct(start - 2, '.'));
        let first = path[0].clone();
        if first == "async" || (after_dot && first == "await") {
            let word = self.word(first, span);
            self.source.asyncs.push(word);
        } else if after_dot {
            if called || turbofish {
                let on = if start > 1 { tokens[start - 2].to_string() } else { String::new() };
                let word = self.word(first, span);
                self.source.methods.push(Word { on, ..word });
            }
        } else {
            if punct(end, '!') && !punct(end + 1, '=') {
                let word = self.word(path.last().expect("not empty"), span);
                self.source.macros.push(word);
            }
            self.mention(&path, span);
        }
        end
    }
}

/// The last name of a receiver: a variable, a field, a method that hands something out.
fn name_of(receiver: &syn::Expr) -> String {
    match receiver {
        syn::Expr::Path(p) => p.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default(),
        syn::Expr::Field(f) => match &f.member {
            syn::Member::Named(name) => name.to_string(),
            syn::Member::Unnamed(_) => String::new(),
        },
        syn::Expr::MethodCall(m) => m.method.to_string(),
        syn::Expr::Reference(r) => name_of(&r.expr),
        syn::Expr::Paren(p) => name_of(&p.expr),
        syn::Expr::Await(a) => name_of(&a.base),
        syn::Expr::Try(t) => name_of(&t.expr),
        _ => String::new(),
    }
}

fn attrs_of(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(i) => &i.attrs,
        syn::Item::Enum(i) => &i.attrs,
        syn::Item::Fn(i) => &i.attrs,
        syn::Item::Impl(i) => &i.attrs,
        syn::Item::Macro(i) => &i.attrs,
        syn::Item::Mod(i) => &i.attrs,
        syn::Item::Static(i) => &i.attrs,
        syn::Item::Struct(i) => &i.attrs,
        syn::Item::Trait(i) => &i.attrs,
        syn::Item::Type(i) => &i.attrs,
        syn::Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_item(&mut self, item: &'a syn::Item) {
        self.scoped(attrs_of(item), item.span(), |me| visit::visit_item(me, item));
    }
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if item.content.is_none() {
            self.source.declared.push(item.ident.to_string());
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        for leaf in use_leaves(&item.tree) {
            // Not through the aliases: a `use` is what makes them.
            let path = absolute(&self.module, &HashMap::new(), &leaf.path);
            let place = self.place(leaf.span);
            self.source.mentions.push(Mention { path, place });
        }
    }
    fn visit_item_extern_crate(&mut self, item: &'a syn::ItemExternCrate) {
        self.mention(&[item.ident.to_string()], item.span());
    }
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        let derived = item.attrs.iter().filter(|a| a.path().is_ident("derive")).filter_map(|a| match &a.meta {
            syn::Meta::List(list) => Some(list.tokens.to_string()),
            _ => None,
        });
        let traits = derived.flat_map(|t| t.split(',').map(|s| s.trim().to_owned()).collect::<Vec<_>>()).collect();
        let word = self.word(&item.ident, item.ident.span());
        self.source.derives.push((word, traits));
        visit::visit_item_struct(self, item);
    }
    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.named(&item.ident, |me| me.evaluated(true, |me| visit::visit_item_const(me, item)));
    }
    fn visit_impl_item_const(&mut self, item: &'a syn::ImplItemConst) {
        self.named(&item.ident, |me| me.evaluated(true, |me| visit::visit_impl_item_const(me, item)));
    }
    fn visit_item_static(&mut self, item: &'a syn::ItemStatic) {
        self.named(&item.ident, |me| me.evaluated(true, |me| visit::visit_item_static(me, item)));
    }
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.function(&item.sig, &item.block);
        self.named(&item.sig.ident, |me| visit::visit_item_fn(me, item));
    }
    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.scoped(&item.attrs, item.span(), |me| {
            me.function(&item.sig, &item.block);
            me.named(&item.sig.ident, |me| visit::visit_impl_item_fn(me, item));
        });
    }
    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        self.named(&item.sig.ident, |me| visit::visit_trait_item_fn(me, item));
    }
    fn visit_signature(&mut self, sig: &'a syn::Signature) {
        if let Some(token) = &sig.asyncness {
            let word = self.word("async", token.span());
            self.source.asyncs.push(word);
        }
        visit::visit_signature(self, sig);
    }
    fn visit_expr_async(&mut self, expr: &'a syn::ExprAsync) {
        let word = self.word("async", expr.span());
        self.source.asyncs.push(word);
        visit::visit_expr_async(self, expr);
    }
    fn visit_expr_await(&mut self, expr: &'a syn::ExprAwait) {
        let word = self.word("await", expr.await_token.span());
        self.source.asyncs.push(word);
        visit::visit_expr_await(self, expr);
    }
    fn visit_expr_closure(&mut self, expr: &'a syn::ExprClosure) {
        if let Some(token) = &expr.asyncness {
            let word = self.word("async", token.span());
            self.source.asyncs.push(word);
        }
        self.evaluated(false, |me| visit::visit_expr_closure(me, expr));
    }
    fn visit_expr_method_call(&mut self, expr: &'a syn::ExprMethodCall) {
        let word = self.word(&expr.method, expr.method.span());
        self.source.methods.push(Word { on: name_of(&expr.receiver), ..word });
        visit::visit_expr_method_call(self, expr);
    }
    fn visit_expr_struct(&mut self, expr: &'a syn::ExprStruct) {
        if let Some(last) = expr.path.segments.last() {
            let word = self.word(&last.ident, last.ident.span());
            self.source.built.push(word);
        }
        visit::visit_expr_struct(self, expr);
    }
    fn visit_path(&mut self, path: &'a syn::Path) {
        let written: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if path.leading_colon.is_some() {
            let place = self.place(path.span());
            self.source.mentions.push(Mention { path: written, place });
        } else {
            self.mention(&written, path.span());
        }
        visit::visit_path(self, path);
    }
    fn visit_visibility(&mut self, _: &'a syn::Visibility) {
        // `pub(in crate::store)` names a room and uses nothing of it.
    }
    fn visit_macro(&mut self, mac: &'a syn::Macro) {
        if let Some(last) = mac.path.segments.last() {
            let word = self.word(&last.ident, last.ident.span());
            self.source.macros.push(word);
        }
        visit::visit_macro(self, mac);
        self.tokens(mac.tokens.clone());
    }
    fn visit_meta_list(&mut self, list: &'a syn::MetaList) {
        visit::visit_meta_list(self, list);
        self.tokens(list.tokens.clone());
    }
}
