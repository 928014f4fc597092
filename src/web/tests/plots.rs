//! Plots: each with a sentence and a table of the same figures, and nothing of a provider's in it that is not text.

use super::pages::part;
use super::*;

fn plain(html: &str) -> String {
    html.replace(['\u{202f}', '\u{a0}'], " ")
}

#[tokio::test]
async fn a_limit_is_drawn_with_what_is_planned_left_and_kept() {
    let site = Site::loopback(Sample::calm());
    let burn = plain(&part(&site.page("/c/yard").await, "burn"));
    assert!(
        burn.contains("At the pace of the last 6 h it lasts: 796 to spare when it resets at 1 Dec, 01:00."),
        "{burn}"
    );
    for class in ["class=\"actual\"", "class=\"planned\"", "class=\"projected\"", "class=\"keep\"", "class=\"under\""] {
        assert_eq!(burn.matches(class).count(), 1, "{class}: {burn}");
    }
    assert!(burn.contains("<td>1 588</td>") && burn.contains("at this pace</span> 836"), "the table: {burn}");
    assert!(!burn.contains(" style="), "{burn}");
    let other = "?limit=status&#38;endpoint=%2Fstatusschedule.php#burn";
    assert!(burn.contains(other), "the way to the other limit: {burn}");
    let other = part(&site.page("/c/yard?limit=status&endpoint=%2Fstatusschedule.php").await, "burn");
    assert!(other.contains("<span class=\"muted\">status <code>/statusschedule.php</code>"), "{other}");
    assert!(!site.page("/c/cellar").await.contains("id=\"burn\""), "nothing is used up there");
}

#[tokio::test]
async fn a_day_is_a_strip_a_sentence_and_a_table() {
    let site = Site::loopback(Sample::calm());
    let stood = plain(&part(&site.page("/c/yard").await, "stood"));
    assert!(stood.contains("Last 24 h: not running 15 min, held 10 min."), "{stood}");
    assert_eq!(stood.matches("<tr><th scope=\"row\">").count(), 5, "{stood}");
    assert!(stood.contains("<span class=\"muted\">not running</span>") && stood.contains("st s-held"), "{stood}");
    assert!(site.page("/").await.contains("held 10\u{a0}min"), "the overview has it too");
}

#[tokio::test]
async fn a_field_is_drawn_with_its_gaps() {
    let site = Site::loopback(Sample::calm());
    let page = site.page("/c/yard/t/controller/history").await;
    assert_eq!(page.matches("<h1").count(), 1);
    let series = plain(&part(&page, "series"));
    // Of the fields the first that is a number and moved.
    assert!(series.contains("<span class=\"muted\">planned seconds</span>"), "{series}");
    assert!(series.contains("Between 300 and 900, now 300."), "{series}");
    assert_eq!(series.matches("<path class=\"actual").count(), 4, "a gap, and a time in which nobody knew: {series}");
    assert_eq!(series.matches("class=\"old-ground\"").count(), 1, "{series}");
    assert!(
        series.contains("no answer young enough until") && series.contains("nothing</span>"),
        "the table: {series}"
    );
    let words = plain(&part(&site.page("/c/yard/t/controller/history?item=5143&field=state&range=7d").await, "series"));
    assert!(words.contains(">running</text>") || words.contains("word w1"), "{words}");
    assert!(words.contains("idle 22 h"), "how long: {words}");
    assert!(page.contains("id=\"history\"") && page.contains(">CSV</a>"), "the lines are there too");
    let target = part(&site.page("/c/yard/t/controller").await, "history");
    assert!(target.contains("c/yard/t/controller/history?\">As a plot</a>"), "{target}");
    assert_eq!(site.get("/c/yard/t/controller/history?item=nothing").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(site.get("/c/yard/t/controller/history?range=5y").await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(site.get("/c/yard/t/nothing/history").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_a_provider_calls_its_things_is_text() {
    let mut sample = Sample::calm();
    sample.targets[0].items[0].title = "<script>alert(1)</script>\" onload=\"x \u{202e}🌹".to_owned();
    let site = Site::loopback(sample);
    let page = site.page("/c/yard/t/controller/history").await;
    assert!(page.contains("&#60;script&#62;alert(1)") && !page.contains("<script>alert"), "{page}");
}
