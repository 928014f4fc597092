//! What happened: the history of a target by pages, of one item, as a file; the activity.

use super::pages::part;
use super::*;
use crate::domain::ids::EventId;
use crate::engine::view::HistoryView;

/// A sample in which a target has a long history.
fn long(lines: u64) -> Sample {
    let mut sample = Sample::calm();
    let pattern = sample.history[0].clone();
    let keys = ["5143", "=cmd"];
    let line = |seq: u64| HistoryView {
        seq,
        key: keys[(seq % 2) as usize].to_owned(),
        title: format!("Zone \"{seq}\", <b>east</b>"),
        ..pattern.clone()
    };
    sample.history = (1..=lines).map(line).collect();
    sample
}

const TARGET: &str = "/c/yard/t/controller";
const HISTORY: &str = "/api/v1/connections/yard/targets/controller/history";

/// Follows a link of the history's page.
async fn follow(site: &Site, page: &str, name: &str) -> Option<String> {
    let (before, _) = page.split_once(&format!(">{name}</a>"))?;
    let href = before.rsplit_once("href=\"")?.1.trim_end_matches('"').replace("&#38;", "&");
    Some(part(&site.page(&format!("{TARGET}{}", href.trim_end_matches("#history"))).await, "history"))
}

fn lines(page: &str) -> usize {
    page.matches("<li>").count()
}

#[tokio::test]
async fn a_history_is_walked_by_pages_in_both_directions() {
    let site = Site::loopback(long(70));
    let newest = part(&site.page(TARGET).await, "history");
    assert!(newest.contains("Zone &#34;70&#34;") && !newest.contains("Newer"), "{newest}");
    let second = follow(&site, &newest, "Older").await.unwrap();
    assert!(second.contains("&#34;40&#34;") && second.contains("&#34;11&#34;") && lines(&second) == 30);
    let last = follow(&site, &second, "Older").await.unwrap();
    assert!(last.contains("&#34;1&#34;") && !last.contains("Older") && lines(&last) == 10);
    let back = follow(&site, &last, "Newer").await.unwrap();
    assert!(back.contains("&#34;40&#34;") && back.contains("&#34;11&#34;"), "the same page from the other side");
    let first = follow(&site, &back, "Newer").await.unwrap();
    assert!(first.contains("&#34;70&#34;") && !first.contains("Newer"));
}

#[tokio::test]
async fn one_item_has_a_history_of_its_own() {
    let site = Site::loopback(long(70));
    let page = part(&site.page(&format!("{TARGET}?item=%3Dcmd")).await, "history");
    assert!(page.contains("<h2>History of Zone") && page.contains(">All items</a>"), "{page}");
    assert_eq!(lines(&page), 30);
    assert!(page.contains("item=%3Dcmd&#38;before=11") || page.contains("item=%3Dcmd&before=11"), "{page}");
    assert!(page.contains("format=csv&#38;item=%3Dcmd") || page.contains("format=csv&item=%3Dcmd"), "{page}");
    let whole = site.page(TARGET).await;
    assert!(whole.contains("?item=5143#history"), "each item leads to its own");
    let nothing = part(&site.page(&format!("{TARGET}?item=nobody")).await, "history");
    assert!(nothing.contains("Nothing is here."), "{nothing}");
    let page = json(site.get(&format!("{HISTORY}?item=5143&limit=3&before=20")).await).await;
    let seqs: Vec<u64> = page["history"].as_array().unwrap().iter().map(|h| h["seq"].as_u64().unwrap()).collect();
    assert_eq!((seqs.as_slice(), &page["before"], &page["next"]), (&[14, 16, 18][..], &14.into(), &18.into()));
}

#[tokio::test]
async fn a_history_is_a_file_too_whole_and_in_order() {
    let site = Site::loopback(long(1234));
    let csv = site.get(&format!("{HISTORY}?format=csv")).await;
    assert_eq!(head(csv.headers(), "content-type"), "text/csv; charset=utf-8");
    assert_eq!(head(csv.headers(), "content-disposition"), "attachment; filename=\"history.csv\"");
    let csv = text(csv).await;
    let rows: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert_eq!(rows.len(), 1235);
    assert_eq!(rows[0], "seq,at,generation,kind,key,title,state,changes");
    assert!(
        rows[1].starts_with("1,2026-") && rows[1].contains(",\"'=cmd\",\"Zone \"\"1\"\", <b>east</b>\","),
        "{}",
        rows[1]
    );
    let of_item = text(site.get(&format!("{HISTORY}?format=jsonl&item=5143&after=1000")).await).await;
    let seqs: Vec<u64> =
        of_item.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1001..=1234).filter(|n| n % 2 == 0).collect::<Vec<_>>());
    let empty = text(site.get(&format!("{HISTORY}?format=csv&after=9999")).await).await;
    assert_eq!(empty, "seq,at,generation,kind,key,title,state,changes\r\n");
    for wrong in ["format=xml", "format=csv&before=3", "after=1&before=3", "items=3"] {
        assert_eq!(site.get(&format!("{HISTORY}?{wrong}")).await.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
    let other = "/api/v1/connections/yard/targets/nothing/history?format=csv";
    assert_eq!(site.get(other).await.status(), StatusCode::NOT_FOUND, "told before the file begins");
}

#[tokio::test]
async fn the_activity_is_read_by_pages_connection_and_kind() {
    let mut sample = Sample::calm();
    let pattern = sample.events[5].clone();
    let more = (8..=120).map(|id| crate::engine::view::EventView {
        id: EventId(id),
        message: format!("event {id}."),
        ..pattern.clone()
    });
    sample.events.extend(more);
    let site = Site::loopback(sample);
    let newest = site.page("/activity").await;
    assert_eq!(newest.matches("<h1").count(), 1);
    let list = part(&newest, "activity");
    assert!(list.contains("event 120.") && list.contains("?before=71") && lines(&list) == 50, "{list}");
    let last = part(&site.page("/activity?before=21").await, "activity");
    assert!(last.contains("Started;") && last.contains("?after=20") && !last.contains(">Older<"), "{last}");
    let holds = part(&site.page("/activity?kind=hold_started&connection=yard").await, "activity");
    assert_eq!(lines(&holds), 1, "{holds}");
    assert!(holds.contains("c/yard#charges\">its requests</a>"), "the ledger explains a decision: {holds}");
    assert!(!part(&site.page("/activity?kind=target_changed").await, "activity").contains("its requests"));
    insta::assert_snapshot!("activity_form", part(&site.page("/activity?kind=hold_started").await, "ask"));
    assert!(part(&site.page("/activity?connection=cellar").await, "activity").contains("Nothing of that is known."));
    assert_eq!(site.get("/activity?kind=gossip").await.status(), StatusCode::BAD_REQUEST);
    let page = json(site.get("/api/v1/activity?kind=hold_ended&after=0").await).await;
    assert_eq!((page["events"].as_array().unwrap().len(), &page["next"]), (1, &4.into()));
}
