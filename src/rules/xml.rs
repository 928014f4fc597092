//! XML as the JSON that paths and conditions read. Text in, value or flaw out; bounded in depth and in nodes, and without a DTD, so that
//! nothing in it grows or leads anywhere. Must not know what a document means.
//!
//! The mapping: the answer is an object with the root element under its name. An element is an object: attributes under `@name`, and under the
//! name of its child elements a list of them in their order, also where there is one, so that one and several have one shape; its own text
//! under `#text`. An element with neither attributes nor children is its text. Prefixes of namespaces are left out, white space around texts
//! is not content, and every value is a text.

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Map, Value};
use std::fmt;

/// Elements inside each other, as of JSON.
const DEEPEST: usize = 100;

/// Elements, texts and comments in one answer: with the tree and the value some 200 MB in memory.
const MOST_NODES: u32 = 1_000_000;

/// Why a text is no XML that can be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    NotXml,
    /// Entities of its own may grow without end, or name files.
    Dtd,
    TooDeep,
    TooMany,
    /// A page for people.
    Html,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::NotXml => f.write_str("with a body that is not XML"),
            Flaw::Dtd => f.write_str("with XML that has a document type declaration"),
            Flaw::TooDeep => write!(f, "with XML that is nested deeper than {DEEPEST} levels"),
            Flaw::TooMany => write!(f, "with XML of more than {MOST_NODES} nodes"),
            Flaw::Html => f.write_str("with a page for people"),
        }
    }
}

/// Whether a text can be nothing else.
pub fn is_markup(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// Reads a whole document.
pub fn parse(text: &str) -> Result<Value, Flaw> {
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text.trim_start(), options).map_err(|error| match error {
        roxmltree::Error::DtdDetected => Flaw::Dtd,
        roxmltree::Error::NodesLimitReached => Flaw::TooMany,
        _ => Flaw::NotXml,
    })?;
    let root = document.root_element();
    let name = root.tag_name().name();
    if name.eq_ignore_ascii_case("html") {
        return Err(Flaw::Html);
    }
    Ok(Value::Object(Map::from_iter([(name.to_owned(), element(root, 1)?)])))
}

fn element(node: Node<'_, '_>, depth: usize) -> Result<Value, Flaw> {
    if depth > DEEPEST {
        return Err(Flaw::TooDeep);
    }
    let attribute = |a: roxmltree::Attribute<'_, '_>| (format!("@{}", a.name()), Value::from(a.value().trim()));
    let mut members: Map<String, Value> = node.attributes().map(attribute).collect();
    let mut texts = String::new();
    for child in node.children() {
        if let Some(text) = child.text().filter(|_| child.is_text()) {
            texts.push_str(text);
        } else if child.is_element() {
            let value = element(child, depth + 1)?;
            match members.entry(child.tag_name().name()).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(all) => all.push(value),
                // An attribute's name begins with a mark that no element's does.
                _ => return Err(Flaw::NotXml),
            }
        }
    }
    let text = texts.trim();
    if members.is_empty() {
        return Ok(text.into());
    }
    if !text.is_empty() {
        members.insert("#text".to_owned(), text.into());
    }
    Ok(Value::Object(members))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn one_and_several_have_one_shape() {
        for (text, value) in [
            ("<a/>", json!({"a": ""})),
            ("<a> x\n</a>", json!({"a": "x"})),
            ("<a><b>1</b></a>", json!({"a": {"b": ["1"]}})),
            ("<a><b>1</b><c/><b>2</b></a>", json!({"a": {"b": ["1", "2"], "c": [""]}})),
            (r#"<a n=" 7 "><b u="EUR">1.5</b></a>"#, json!({"a": {"@n": "7", "b": [{"@u": "EUR", "#text": "1.5"}]}})),
            ("<a>x<b/>y</a>", json!({"a": {"b": [""], "#text": "xy"}})),
            (r#"<p:a xmlns:p="urn:x"><p:b.c>1</p:b.c></p:a>"#, json!({"a": {"b.c": ["1"]}})),
            ("<?xml version=\"1.0\"?>\n<!-- c --><a><![CDATA[<&]]>&lt;&#228;</a>", json!({"a": "<&<ä"})),
        ] {
            assert_eq!(parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_grows_leads_away_or_is_no_document_is_a_flaw() {
        let laughs = "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        for (text, flaw) in [
            (laughs, Flaw::Dtd),
            ("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", Flaw::Dtd),
            ("<a>&b;</a>", Flaw::NotXml),
            ("<a><b></a>", Flaw::NotXml),
            ("<a/><b/>", Flaw::NotXml),
            ("<a x='1' x='2'/>", Flaw::NotXml),
            ("Too many requests", Flaw::NotXml),
            ("", Flaw::NotXml),
            ("<html><body>Down</body></html>", Flaw::Html),
        ] {
            assert_eq!(parse(text), Err(flaw), "{text}");
        }
        let nested = |n: usize| "<a>".repeat(n) + &"</a>".repeat(n);
        assert!(parse(&nested(DEEPEST)).is_ok());
        assert_eq!(parse(&nested(DEEPEST + 1)), Err(Flaw::TooDeep));
        assert_eq!(parse(&nested(200_000)), Err(Flaw::TooDeep), "and no stack ends there");
        let many = format!("<a>{}</a>", "<b/>".repeat(MOST_NODES as usize));
        assert_eq!(parse(&many), Err(Flaw::TooMany));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}|(<[a-c/!?]{0,3}[ a='\"\\]\\[]{0,4}>|&[a-z#0-9]{0,4};|[a-c ]){0,20}") {
            if let Ok(value) = parse(&text) {
                prop_assert_eq!(value.as_object().map(Map::len), Some(1));
            }
        }
    }
}
