//! How many of what, in singular and plural. Must not know what is counted.

use super::show::count;
use crate::web::texts;

/// What is counted on pages.
#[derive(Clone, Copy, Debug)]
pub enum Noun {
    Item,
    Page,
    Request,
    Row,
    Target,
    Time,
    Unit,
}

/// `1 request`, `2 requests`.
pub fn counted(n: u64, noun: Noun) -> String {
    let counted = count(n);
    let text = match noun {
        Noun::Item => texts::t("counted-items").with("n", n).with("count", counted),
        Noun::Page => texts::t("counted-pages").with("n", n).with("count", counted),
        Noun::Request => texts::t("counted-requests").with("n", n).with("count", counted),
        Noun::Row => texts::t("counted-rows").with("n", n).with("count", counted),
        Noun::Target => texts::t("counted-targets").with("n", n).with("count", counted),
        Noun::Time => texts::t("counted-times").with("n", n).with("count", counted),
        Noun::Unit => texts::t("counted-units").with("n", n).with("count", counted),
    };
    text.plain()
}
