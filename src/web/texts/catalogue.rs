//! The texts of one language, read once; and which languages there are. Must not know who reads.

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};
use rust_embed::RustEmbed;
use std::borrow::Cow;
use std::sync::LazyLock;
use unic_langid::LanguageIdentifier;

#[derive(RustEmbed)]
#[folder = "templates/texts/"]
struct Files;

/// What the marks of a text stand for.
pub(super) const MARKS: [(&str, &str); 6] = [
    ("<muted>", "<span class=\"muted\">"),
    ("</muted>", "</span>"),
    ("<a>", "<a href=\"{ $href }\">"),
    ("</a>", "</a>"),
    ("<a2>", "<a href=\"{ $href2 }\">"),
    ("</a2>", "</a>"),
];

/// The texts of one language.
pub struct Catalogue {
    pub language: LanguageIdentifier,
    texts: FluentBundle<FluentResource>,
}

/// Every language, English first.
static ALL: LazyLock<Vec<Catalogue>> = LazyLock::new(|| {
    let named = |name: &str| Some((name.strip_suffix(".ftl")?.parse().ok()?, Files::get(name)?.data));
    let read = |(language, text): (LanguageIdentifier, Cow<'static, [u8]>)| {
        Catalogue::read(language, &String::from_utf8_lossy(&text))
    };
    let mut all: Vec<Catalogue> = Files::iter().filter_map(|name| named(&name)).map(read).collect();
    all.sort_by_key(|one| one.language.language.as_str() != "en");
    all
});

impl Catalogue {
    /// A text that cannot be read is left out, and said in English.
    pub fn read(language: LanguageIdentifier, source: &str) -> Catalogue {
        let mut texts = FluentBundle::new_concurrent(vec![language.clone()]);
        // Values are elements and words of their own direction already; the signs around them would be copied with them.
        texts.set_use_isolating(false);
        let source = MARKS.iter().fold(source.to_owned(), |source, (mark, element)| source.replace(mark, element));
        let resource = FluentResource::try_new(source).unwrap_or_else(|(whole, errors)| {
            tracing::warn!(%language, faults = errors.len(), "texts of the pages cannot be read, and are said in English");
            whole
        });
        // The first of two texts with one key counts; the tests know of none.
        let _ = texts.add_resource(resource);
        Catalogue { language, texts }
    }

    /// Its text of this key, if it has one.
    fn text(&self, key: &str, arguments: Option<&FluentArgs<'_>>) -> Option<Cow<'_, str>> {
        let pattern = self.texts.get_message(key)?.value()?;
        let mut errors = Vec::new();
        let text = self.texts.format_pattern(pattern, arguments, &mut errors);
        // A translation that asks for what is not given would show its holes.
        errors.is_empty().then_some(text)
    }
}

pub fn all() -> &'static [Catalogue] {
    &ALL
}

/// The text of this key for who reads now; in English where the language has none.
pub fn said(key: &'static str, arguments: Option<&FluentArgs<'_>>) -> Cow<'static, str> {
    let own = super::choice::spoken().and_then(|own| own.text(key, arguments));
    let text = own.or_else(|| all().first().and_then(|english| english.text(key, arguments)));
    text.unwrap_or(Cow::Borrowed(key))
}
