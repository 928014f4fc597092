//! Which language a reader is told the texts in: by `Accept-Language` (RFC 9110, 12.5.4), where there is more than English. Must not know
//! the texts.

use super::catalogue::{Catalogue, all};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use fluent_langneg::{NegotiationStrategy, negotiate_languages};
use unic_langid::LanguageIdentifier;

tokio::task_local! {
    /// Of the request that is answered.
    static SPOKEN: &'static Catalogue;
}

/// No browser names more.
const MOST_WISHES: usize = 20;

/// The language of who reads now; none: nobody chose.
pub(super) fn spoken() -> Option<&'static Catalogue> {
    SPOKEN.try_with(|own| *own).ok()
}

/// The tag of the language that the page is in, for `lang`.
pub fn language() -> String {
    spoken().or_else(|| all().first()).map_or_else(|| "en".to_owned(), |own| own.language.to_string())
}

/// Answers in the language of the reader. It stands before the pages too, where an open one is drawn again behind no other layer.
pub async fn read_by(request: Request, next: Next) -> Response {
    match chosen(request.headers(), all()) {
        Some(own) => SPOKEN.scope(own, next.run(request)).await,
        None => next.run(request).await,
    }
}

/// The best of `there` for these headers; with one language alone nothing is chosen.
pub(super) fn chosen(headers: &HeaderMap, there: &'static [Catalogue]) -> Option<&'static Catalogue> {
    if there.len() < 2 {
        return None;
    }
    let wishes = wishes(headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?);
    let languages: Vec<&LanguageIdentifier> = there.iter().map(|one| &one.language).collect();
    let best = negotiate_languages(&wishes, &languages, languages.first(), NegotiationStrategy::Lookup);
    there.iter().find(|one| best.first().is_some_and(|best| **best == &one.language))
}

/// The languages of the header, the dearest first; what has weight 0 is not wanted.
pub(super) fn wishes(header: &str) -> Vec<LanguageIdentifier> {
    let weighed = |part: &str| {
        let (tag, weight) = part.split_once(';').unwrap_or((part, "q=1"));
        let weight: f32 = weight.trim().strip_prefix("q=")?.parse().ok()?;
        Some((tag.trim().parse().ok()?, weight)).filter(|(_, weight)| *weight > 0.0)
    };
    let mut wishes: Vec<(LanguageIdentifier, f32)> = header.split(',').take(MOST_WISHES).filter_map(weighed).collect();
    wishes.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    wishes.into_iter().map(|(tag, _)| tag).collect()
}

/// What `make` makes, told in this language.
#[cfg(test)]
pub async fn told<T>(own: &'static Catalogue, make: impl Future<Output = T>) -> T {
    SPOKEN.scope(own, make).await
}
