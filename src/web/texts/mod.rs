//! What the pages say, by key. The texts stand in `templates/texts/`, one file of Fluent for each language; `en.ftl` is whole, and what
//! another one lacks is said in English. **A new language is a new file there**, named by its tag (`de.ftl`): once it stands beside the
//! English one the reader's `Accept-Language` chooses. Must not know what a page is about.
//!
//! A template says `texts::t("some-key").with("name", value)`; every value is escaped as askama would, but for those that are elements
//! themselves. In a text `<b>`, `<code>`, `<bdi>`, `<muted>` and `<a>` stand for elements; where the link goes says [`Text::href`].
//! What the engine tells (events, states, findings, problems of the API) is kept text that log, API and pages say in the same words: it
//! stands in `engine::words`, and is not translated.

mod catalogue;
mod choice;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod tests;

use crate::web::pages::show::{Age, Chip, Due, Left, Moment, Number, Relative};
use askama::filters::HtmlSafe;
#[cfg(test)]
pub use choice::told;
pub use choice::{language, read_by};
use fluent_bundle::{FluentArgs, FluentValue};
#[cfg(test)]
pub use sources::wide;
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// What is put into a text.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Somebody's words: escaped wherever they are put into a page.
    Words(String),
    /// An element of the page, whole and escaped.
    Element(String),
    /// Another text of the catalogue.
    Text(Text),
    /// Decides between singular and plural.
    Number(u64),
}

/// What can be put into a text.
pub trait Value {
    fn piece(&self) -> Piece;
}

impl<T: Value + ?Sized> Value for &T {
    fn piece(&self) -> Piece {
        (**self).piece()
    }
}

macro_rules! pieces {
    ($($kind:ty => $piece:expr),* $(,)?) => { $(impl Value for $kind {
        fn piece(&self) -> Piece {
            let piece: fn(&$kind) -> Piece = $piece;
            piece(self)
        }
    })* };
}

pieces! {
    str => |text| Piece::Words(text.to_owned()),
    String => |text| Piece::Words(text.clone()),
    Cow<'_, str> => |text| Piece::Words(text.clone().into_owned()),
    Text => |text| Piece::Text(text.clone()),
    u8 => |n| Piece::Number(u64::from(*n)),
    u16 => |n| Piece::Number(u64::from(*n)),
    u32 => |n| Piece::Number(u64::from(*n)),
    u64 => |n| Piece::Number(*n),
    u128 => |n| Piece::Words(n.to_string()),
    usize => |n| Piece::Number(*n as u64),
    Age => |element| Piece::Element(element.to_string()),
    Chip => |element| Piece::Element(element.to_string()),
    Due => |element| Piece::Element(element.to_string()),
    Left => |element| Piece::Element(element.to_string()),
    Moment => |element| Piece::Element(element.to_string()),
    Number => |element| Piece::Element(element.to_string()),
    Relative => |element| Piece::Element(element.to_string()),
}

/// One text of the catalogue with what is put into it. In a template it is escaped already.
#[derive(Clone, Debug)]
pub struct Text {
    key: &'static str,
    values: Vec<(&'static str, Piece)>,
}

/// The text of this key.
pub const fn t(key: &'static str) -> Text {
    Text { key, values: Vec::new() }
}

impl Text {
    /// With `value` where the text says `{ $name }`.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Value) -> Text {
        self.values.push((name, value.piece()));
        self
    }
    /// With an address of two parts behind the link of the text: `href` that of `<a>`, `href2` that of `<a2>`.
    #[must_use]
    pub fn href(self, name: &'static str, first: impl Display, second: impl Display) -> Text {
        self.with(name, format!("{first}{second}"))
    }
    /// For what is escaped later, as every `String` in a template is.
    pub fn plain(&self) -> String {
        self.said(str::to_owned, Text::plain).into_owned()
    }
    fn said(&self, words: fn(&str) -> String, inner: fn(&Text) -> String) -> Cow<'static, str> {
        if self.values.is_empty() {
            return catalogue::said(self.key, None);
        }
        let mut arguments = FluentArgs::with_capacity(self.values.len());
        for (name, piece) in &self.values {
            let value: FluentValue<'_> = match piece {
                Piece::Words(text) => FluentValue::from(words(text)),
                Piece::Text(text) => FluentValue::from(inner(text)),
                Piece::Element(text) => FluentValue::from(text.as_str()),
                Piece::Number(n) => FluentValue::from(*n),
            };
            arguments.set(*name, value);
        }
        Cow::Owned(catalogue::said(self.key, Some(&arguments)).into_owned())
    }
}

impl HtmlSafe for Text {}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said(escaped, Text::to_string))
    }
}

/// As askama escapes.
fn escaped(text: &str) -> String {
    askama::filters::escape(text, askama::filters::Html).map(|safe| safe.to_string()).unwrap_or_default()
}
