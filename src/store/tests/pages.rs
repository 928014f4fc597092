//! Lists by pages, from either end.

use super::*;
use crate::domain::cursor::{Audience, Cursor, Edge, EventsAsk, Filling, HistoryAsk, ItemsAsk, Paged};
use crate::domain::item::Removed;

/// `lines` of history, every `every`th of them about item `1`.
async fn with_history(lines: u64, every: u64) -> Store {
    let store = Store::open_backend(Disk::default(), INLINE).unwrap().0;
    let line = |seq: u64| {
        let key = if seq.is_multiple_of(every) { "1" } else { "2" };
        Write::History(controller(), HistoryEntry { key: key.into(), ..shelf::entry(seq) })
    };
    store.commit(only((1..=lines).map(line).collect(), Lane::Durable)).await.unwrap();
    store
}

/// Every page from `from` on, in the order in which they are read.
fn walk(store: &Store, mut from: Cursor, item: Option<&str>, limit: usize) -> Vec<Vec<u64>> {
    let mut pages = Vec::new();
    loop {
        let ask = HistoryAsk { from, item: item.map(str::to_owned), limit };
        let page = store.history_page(&controller(), &ask).unwrap();
        pages.push(page.rows.iter().map(|e| e.seq).collect());
        from = match (from, page.on) {
            (_, None) => return pages,
            (Cursor::After(_), Some(on)) => Cursor::After(on),
            (_, Some(on)) => Cursor::Before(on),
        };
    }
}

#[tokio::test]
async fn every_line_is_on_one_page_from_either_end() {
    let store = with_history(25, 3).await;
    for limit in [1, 4, 5, 24, 25, 26] {
        for item in [None, Some("1"), Some("2"), Some("3")] {
            let wanted = |seq: &u64| {
                item.is_none_or(|i| (i == "1" && seq.is_multiple_of(3)) || (i == "2" && !seq.is_multiple_of(3)))
            };
            let all: Vec<u64> = (1..=25).filter(wanted).collect();
            let forth = walk(&store, Cursor::After(0), item, limit);
            assert_eq!(forth.concat(), all, "{item:?} by {limit}");
            let mut back = walk(&store, Cursor::Newest, item, limit);
            assert!(back.iter().all(|page| page.len() <= limit && page.is_sorted()));
            back.reverse();
            assert_eq!(back.concat(), all, "{item:?} by {limit}");
        }
    }
}

/// However rare an item is: a look ends, and says where the next goes on.
#[tokio::test]
async fn a_look_for_something_rare_has_an_end() {
    let store = with_history(45_000, 44_000).await;
    let pages = walk(&store, Cursor::After(0), Some("1"), 10);
    assert_eq!(pages, [vec![], vec![], vec![44_000]]);
    assert_eq!(walk(&store, Cursor::Newest, Some("1"), 10), [vec![44_000], vec![], vec![]]);
}

#[tokio::test]
async fn events_are_found_by_connection_and_kind() {
    let store = Store::open_backend(Disk::default(), INLINE).unwrap().0;
    let of = |organization: &str, connection: &str| {
        Some(ConnectionKey { organization: organization.into(), connection: connection.into() })
    };
    let told = [
        NewEvent { connection: of("default", "yard"), ..event("1") },
        NewEvent { connection: of("north", "yard"), ..event("2") },
        NewEvent { connection: None, kind: EventKind::Appliance, ..event("3") },
        NewEvent { connection: of("default", "cellar"), kind: EventKind::HoldStarted, ..event("4") },
        NewEvent { connection: None, kind: EventKind::AccessChanged, ..event("5") },
    ];
    store.commit(Commit { events: told.into(), ..Commit::default() }).await.unwrap();
    let ids = |ask: EventsAsk| {
        let page = store.events_page(&EventsAsk { limit: 9, ..ask }).unwrap();
        page.rows.iter().map(|e| e.id.0).collect::<Vec<_>>()
    };
    let own = || EventsAsk { organization: Some(Organization::default()), ..EventsAsk::default() };
    assert_eq!(ids(EventsAsk::default()), [1, 2, 3, 4]);
    let of_all = EventsAsk { audience: Audience::Administrators, ..EventsAsk::default() };
    assert_eq!(ids(of_all), [1, 2, 3, 4, 5], "who came in is told to those who administer");
    assert_eq!(ids(own()), [1, 3, 4], "those of the appliance are everybody's");
    assert_eq!(ids(EventsAsk { connection: Some("yard".into()), ..own() }), [1]);
    assert_eq!(ids(EventsAsk { kind: Some(EventKind::Appliance), ..own() }), [3]);
    assert_eq!(ids(EventsAsk { from: Cursor::Before(4), ..own() }), [1, 3]);
    assert_eq!(ids(EventsAsk { from: Cursor::After(1), ..own() }), [3, 4]);
}

/// Twelve items with gaps between their keys, some of them removed, some not in their table yet; and of another target one with a key among theirs.
async fn with_items() -> Store {
    let store = Store::open_backend(Disk::default(), INLINE).unwrap().0;
    let item = |n: u64| Item { removed: (n % 3 == 2).then(|| gone(n)), ..an_item(&format!("{:02}", 2 * n), "t") };
    let writes = |numbers: &[u64]| numbers.iter().map(|n| Write::Item(controller(), item(*n))).collect::<Vec<_>>();
    let other = TargetKey { target: "controller2".into(), ..controller() };
    let others = vec![Write::Item(other, an_item("05", "t"))];
    store.commit(only([writes(&[0, 1, 3, 4, 5, 8, 9, 10]), others].concat(), Lane::Durable)).await.unwrap();
    store.commit(only(writes(&[2, 6, 7, 11]), Lane::Lazy)).await.unwrap();
    store
}

fn gone(n: u64) -> Removed {
    Removed { at: at(n).stamp(), last_seen: at(n).stamp() }
}

fn keys(page: &Paged<Item, String>) -> Vec<String> {
    page.rows.iter().map(|item| item.key.clone()).collect()
}

#[tokio::test]
async fn every_item_is_on_one_page_from_either_end() {
    let store = with_items().await;
    let all: Vec<String> = store.items(&controller()).unwrap().into_iter().map(|item| item.key).collect();
    assert_eq!(all.len(), 12);
    for filling in [Filling::All, Filling::Present] {
        for limit in 1..=13 {
            let (mut forth, mut from) = (Vec::new(), Edge::First);
            loop {
                let page = store.items_page(&controller(), &ItemsAsk { from, filling, limit }).unwrap();
                let counted = page.rows.iter().filter(|i| filling == Filling::All || i.removed.is_none()).count();
                assert!(counted <= limit && (page.on.is_none() || counted == limit), "{filling:?} by {limit}");
                forth.extend(keys(&page));
                match page.on {
                    Some(on) => from = Edge::After(on),
                    None => break,
                }
            }
            assert_eq!(forth, all, "{filling:?} by {limit}");
            let (mut back, mut from) = (Vec::new(), Edge::Before("99".to_owned()));
            loop {
                let page = store.items_page(&controller(), &ItemsAsk { from, filling, limit }).unwrap();
                back.splice(0..0, keys(&page));
                match page.on {
                    Some(on) => from = Edge::Before(on),
                    None => break,
                }
            }
            assert_eq!(back, all, "{filling:?} by {limit}");
        }
    }
}

/// Whoever has a key that went meanwhile goes on where it was.
#[tokio::test]
async fn a_page_begins_where_a_key_would_be() {
    let store = with_items().await;
    let from = |from: Edge| {
        keys(&store.items_page(&controller(), &ItemsAsk { from, limit: 2, ..ItemsAsk::default() }).unwrap())
    };
    assert_eq!(from(Edge::From("06".into())), ["06", "08"]);
    assert_eq!(from(Edge::From("05".into())), ["06", "08"]);
    assert_eq!(from(Edge::After("05".into())), ["06", "08"]);
    assert_eq!(from(Edge::After("06".into())), ["08", "10"]);
    assert_eq!(from(Edge::Before("06".into())), ["02", "04"]);
    assert_eq!(from(Edge::Before("05".into())), ["02", "04"]);
    assert!(from(Edge::After("22".into())).is_empty() && from(Edge::Before("00".into())).is_empty());
    assert!(from(Edge::Before(String::new())).is_empty());
}

/// However many removed ones lie between two that are present.
#[tokio::test]
async fn a_page_of_items_has_an_end() {
    let store = Store::open_backend(Disk::default(), INLINE).unwrap().0;
    let item = |n: u64| Item { removed: (n > 0 && n < 4999).then(|| gone(n)), ..an_item(&format!("{n:04}"), "t") };
    let all = (0..5000).map(|n| Write::Item(controller(), item(n))).collect();
    store.commit(only(all, Lane::Durable)).await.unwrap();
    let page = |from: Edge| {
        let page = store.items_page(&controller(), &ItemsAsk { from, filling: Filling::Present, limit: 25 }).unwrap();
        (page.rows.len(), page.on)
    };
    let first = page(Edge::First);
    assert_eq!(first, (2000, Some("1999".to_owned())));
    assert_eq!(page(Edge::After("3999".to_owned())), (1000, None));
}

/// Whoever reads while readings are written finds state and rows of one reading: else old rows would be told with a young age.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_and_items_of_a_target_are_of_one_moment() {
    const READINGS: u64 = 300;
    let store = Store::open_backend(Disk::default(), THREAD).unwrap().0;
    let writer = store.clone();
    let removed = |key: u64, n: u64| Item { removed: Some(gone(n)), ..an_item(&format!("{key}"), &format!("{n}")) };
    let reading = move |n: u64| {
        let items = (0..n % 5).map(|key| Write::Item(controller(), an_item(&format!("{key}"), &format!("{n}"))));
        let gone = (n % 5..5).map(|key| Write::Item(controller(), removed(key, n)));
        let state = TargetState { item_count: n % 5, generation: n, ..TargetState::default() };
        only(items.chain(gone).chain([Write::Target(controller(), state)]).collect(), Lane::Lazy)
    };
    let writing = tokio::spawn(async move {
        for n in 1..=READINGS {
            writer.commit(reading(n)).await.unwrap();
        }
    });
    let mut last = 0;
    while last < READINGS {
        let (state, page) = store.target_page(&controller(), &ItemsAsk::default()).unwrap();
        let (whole, items) = store.whole_target(&controller(), 3).unwrap();
        let present = page.rows.iter().filter(|item| item.removed.is_none()).count() as u64;
        assert_eq!(present, state.item_count);
        assert!(page.rows.iter().all(|item| item.title == state.generation.to_string()));
        assert_eq!(items.map(|items| items.len() as u64), Some(whole.item_count).filter(|count| *count <= 3));
        last = whole.generation;
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
    store.close().unwrap();
}
