//! What readers did not cost: how clients of the gateways were answered since the start, and how often pages and JSON were read, which never costs
//! a request. Counted in memory: a restart begins anew, and the page says so. Must not know the rest of the page.

use super::Visit;
use super::show::{self, Face, Moment};
use crate::engine::gateway::given::How;
use crate::web::texts::{self, Text};
use crate::web::{WebState, svg};

pub struct Saved {
    pub since: Moment,
    pub sentence: String,
    /// Drawn where clients asked anything.
    pub svg: Option<String>,
    pub rows: Vec<Row>,
}

/// One way to be answered.
pub struct Row {
    pub class: &'static str,
    pub how: Text,
    pub readers: String,
    pub requests: String,
}

/// Of the gateways of the visitor's organization. What was read of pages and JSON is the whole appliance's, so it is told to who may see that.
pub fn saved(web: &WebState, visit: &Visit, face: &Face) -> Saved {
    let mut counts = [0_u64; How::ALL.len()];
    for (key, how, count) in web.shelf().gateway_counts() {
        if key.organization == visit.organization {
            counts[how as usize] = counts[how as usize].saturating_add(count);
        }
    }
    let reads = visit.viewer.sees_all().then(|| web.shared.http.reads());
    Saved {
        since: face.moment(web.shelf().health().started_at),
        sentence: sentence(&counts, reads),
        svg: (counts.iter().any(|n| *n > 0))
            .then(|| svg::shares(&How::ALL.map(|how| (class(how), counts[how as usize])))),
        rows: rows(&counts, reads),
    }
}

/// By what it means for the budget: nothing spent, an older answer, a request, nothing at all.
const fn class(how: How) -> &'static str {
    match how {
        How::Hit => "c-saved",
        How::Collapsed => "c-together",
        How::Stale => "c-older",
        How::Miss => "c-cost",
        How::Refused => "c-none",
    }
}

fn sentence(counts: &[u64; How::ALL.len()], reads: Option<u64>) -> String {
    let of = |how: How| counts[how as usize];
    let free = of(How::Hit).saturating_add(of(How::Collapsed)).saturating_add(of(How::Stale));
    let answered = free.saturating_add(of(How::Miss));
    let times = |n: u64| show::counted(n, show::Noun::Time);
    let clients = match (answered, of(How::Refused)) {
        (0, 0) => texts::t("saved-no-client-has-asked").plain(),
        (0, refused) => texts::t("saved-clients-of-the-gateway").with("refused", times(refused)).plain(),
        _ => {
            let percent = u128::from(free) * 100 / u128::from(answered);
            texts::t("saved-clients-of-the-gateway-were")
                .with("answered", times(answered))
                .with("free", show::count(free))
                .with("percent", percent)
                .plain()
        }
    };
    match reads {
        Some(n) if n > 0 => texts::t("saved-pages-and-json-were").with("clients", &clients).with("n", times(n)).plain(),
        _ => clients,
    }
}

fn rows(counts: &[u64; How::ALL.len()], reads: Option<u64>) -> Vec<Row> {
    let told = [
        (How::Hit, texts::t("saved-from-the-shelf")),
        (How::Collapsed, texts::t("saved-together")),
        (How::Stale, texts::t("saved-older")),
        (How::Miss, texts::t("saved-by-the-provider")),
        (How::Refused, texts::t("saved-refused")),
    ];
    let row = |(how, words): (How, Text)| {
        let count = counts[how as usize];
        let requests = if how == How::Miss { count } else { 0 };
        Row { class: class(how), how: words, readers: show::count(count), requests: show::count(requests) }
    };
    let pages = reads.map(|n| Row {
        class: "c-saved",
        how: texts::t("saved-pages"),
        readers: show::count(n),
        requests: show::count(0),
    });
    let happened = told.into_iter().filter(|(how, _)| counts[*how as usize] > 0);
    happened.map(row).chain(pages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(How, u64)]) -> [u64; How::ALL.len()] {
        let mut counts = [0; How::ALL.len()];
        of.iter().for_each(|(how, n)| counts[*how as usize] = *n);
        counts
    }

    #[test]
    fn what_cost_nothing_is_counted_and_what_was_refused_is_not_among_it() {
        let some = counts(&[(How::Hit, 90), (How::Collapsed, 5), (How::Stale, 2), (How::Miss, 3), (How::Refused, 7)]);
        let told = sentence(&some, Some(1));
        assert!(told.contains("answered 100 times, 97 of them (97\u{a0}%) without"), "{told}");
        assert!(told.ends_with("read 1 time, and that never costs one."), "{told}");
        assert_eq!(sentence(&counts(&[]), None), "No client has asked a gateway yet.");
        assert!(sentence(&counts(&[(How::Refused, 2)]), None).ends_with("asked 2 times, and were refused."));
        assert_eq!(rows(&counts(&[]), None).len(), 0, "what did not happen has no line");
        let costs: Vec<String> = rows(&some, Some(4)).into_iter().map(|row| row.requests).collect();
        assert_eq!(costs, ["0", "0", "0", "3", "0", "0"]);
    }
}
