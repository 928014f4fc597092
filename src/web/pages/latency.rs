//! How long the last requests took, from their charge to what became of them: a small drawing, and the same in a sentence; request by request it stands
//! in their table. Must not know the rest of the page.

use super::show;
use crate::domain::time::Span;
use crate::engine::view::{ChargeView, Seconds};
use crate::web::svg::spark;
use crate::web::texts;

pub struct Latency {
    pub svg: String,
    pub sentence: String,
}

/// `None`: not known yet, or nothing came.
fn length(charge: &ChargeView) -> Option<Span> {
    let known = charge.resolved_at.filter(|_| charge.settlement == "posted" && charge.status.is_some())?;
    Some(known.0.since(charge.at.0))
}

/// In words: `120 ms`, `1.4 s`, `75 s`.
pub fn took(charge: &ChargeView) -> Option<String> {
    length(charge).map(words)
}

fn words(length: Span) -> String {
    match length.0 {
        ms @ 0..1_000 => format!("{ms}\u{a0}ms"),
        ms @ 1_000..10_000 => show::exact(Seconds(Span(ms / 100 * 100))),
        ms => show::span(ms / 1_000),
    }
}

/// `charges`: oldest first. `None` where no answer is among them.
pub fn latency(charges: &[ChargeView]) -> Option<Latency> {
    let lengths: Vec<Option<Span>> = charges.iter().map(length).collect();
    let known = || lengths.iter().flatten().copied();
    let (least, most) = (known().min()?, known().max()?);
    let width = 1.0 / lengths.len() as f64;
    // What took no millisecond is seen too.
    let bar = |(n, length): (usize, &Option<Span>)| {
        ((n as f64 * width, (n + 1) as f64 * width), length.map_or(0, |length| length.0.max(1)))
    };
    let bars: Vec<spark::Counted> = lengths.iter().enumerate().map(bar).collect();
    let (least, most) = (words(least), words(most));
    let sentence = match known().count() {
        1 => texts::t("latency-the-answer-took").with("most", &most).plain(),
        n if least == most => texts::t("latency-each").with("n", n).with("most", &most).plain(),
        n => texts::t("latency-from-to").with("n", n).with("least", &least).with("most", &most).plain(),
    };
    Some(Latency { svg: spark::bars(&bars, spark::Last::Over), sentence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Wall;
    use crate::engine::view::When;
    use crate::web::sample::Sample;

    fn charges(lengths: &[Option<i64>]) -> Vec<ChargeView> {
        let one = Sample::calm().charges.pop().expect("the sample has requests");
        let of = |ms: &Option<i64>| ChargeView {
            at: When(Wall(0)),
            settlement: "posted",
            status: Some(200),
            resolved_at: ms.map(|ms| When(Wall(ms))),
            ..one.clone()
        };
        lengths.iter().map(of).collect()
    }

    #[test]
    fn the_sentence_says_what_the_bars_draw_and_what_is_not_known_is_neither() {
        assert!(latency(&charges(&[])).is_none() && latency(&charges(&[None])).is_none());
        let of = |lengths: &[Option<i64>]| latency(&charges(lengths)).expect("an answer");
        assert_eq!(of(&[Some(120)]).sentence, "The answer took 120\u{a0}ms.");
        assert_eq!(of(&[Some(120), Some(120)]).sentence, "2 answers took 120\u{a0}ms each.");
        let some = of(&[Some(0), None, Some(1_449), Some(75_000)]);
        assert_eq!(some.sentence, "3 answers took 0\u{a0}ms to 75\u{a0}s.");
        assert_eq!(some.svg.matches("<rect class=\"n\"").count(), 3, "{}", some.svg);
        assert_eq!(took(&charges(&[Some(1_449)])[0]).as_deref(), Some("1.4\u{a0}s"));
        let unsent = ChargeView { settlement: "voided", ..charges(&[Some(5)]).remove(0) };
        assert_eq!(took(&unsent), None, "nothing answered");
    }
}
