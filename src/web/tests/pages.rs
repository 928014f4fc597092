//! The pages as they read.

use super::*;
use crate::engine::view::{FieldShown, HistoryView, HoldView, ItemView, TargetView};
use crate::web::sample::live;

/// A page without what differs from run to run.
fn settled(page: &str) -> String {
    let mut out = page.to_owned();
    for name in ["csrf", "once"] {
        let mark = format!("name=\"{name}\" value=\"");
        let parts: Vec<&str> = out.split(&mark).collect();
        let rest = parts[1..].iter().map(|p| p.split_once('"').map_or(*p, |(_, rest)| rest));
        out = std::iter::once(parts[0].to_owned()).chain(rest.map(|r| format!("{mark}…\"{r}"))).collect();
    }
    out
}

/// The element with this id, without drawings.
pub fn part(page: &str, id: &str) -> String {
    let at = page.find(&format!("id=\"{id}\"")).expect("the part is there");
    let start = page[..at].rfind('<').unwrap();
    let end = page[at..].find("</section>").unwrap() + at;
    let mut rest = page[start..end].split(" data-v=\"");
    // Which version a part is follows from what it says.
    let first = rest.next().unwrap_or_default().to_owned();
    rest.fold(first, |part, rest| part + rest.split_once('"').map_or(rest, |(_, behind)| behind))
}

#[tokio::test]
async fn the_overview_reads() {
    let calm = Site::loopback(Sample::calm()).page("/").await;
    insta::assert_snapshot!("overview_headline", part(&calm, "headline"));
    insta::assert_snapshot!("overview_cards", part(&calm, "cards"));
    let locked = Site::loopback(Sample::locked_out()).page("/").await;
    insta::assert_snapshot!("overview_headline_locked_out", part(&locked, "headline"));
    let told = "Somebody else spends on this credential";
    assert!(
        locked.contains(told)
            && locked.contains("seen 12 times")
            && locked.contains("38 by others")
            && !calm.contains("class=\"findings\"")
    );
    let empty = Site::loopback(Sample::empty()).page("/").await;
    assert!(empty.contains("The shelf is empty.") && empty.contains("No connection yet"));
}

#[tokio::test]
async fn a_connection_reads() {
    let page = settled(&Site::loopback(Sample::locked_out()).page("/c/yard").await);
    for id in ["banner", "findings", "targets", "commands", "jobs"] {
        insta::assert_snapshot!(format!("connection_{id}"), part(&page, id));
    }
    let charges = part(&page, "charges").replace('\u{a0}', " ");
    assert!(
        charges.contains("6 answers took 1 s each.") && charges.contains("304</span> <span class=\"muted\">1 s</span>"),
        "{charges}"
    );
    let never = Site::loopback(Sample::calm()).page("/c/cellar").await;
    assert!(!never.contains("Worth knowing"), "nothing is shown where nothing was found");
    assert!(never.contains("First request at <time datetime=\"2026-11-30T08:25:00Z\""), "says what will happen");
}

/// Since, until, rule and words of every hold, also of one whose time is up.
#[tokio::test]
async fn a_hold_whose_time_is_up_is_shown_until_it_is_over() {
    let mut sample = Sample::locked_out();
    let yard = &mut sample.connections[0];
    let mut own = yard.hold.take().expect("it is held");
    own.until = crate::web::sample::ago(30);
    let alone = HoldView { endpoint: Some("/zones".to_owned()), scope: "endpoint", ..own.clone() };
    yard.passing_holds = vec![own, alone];
    let banner = part(&Site::loopback(sample).page("/c/yard").await, "banner");
    for told in ["Was on hold", "<code>/zones</code> alone was on hold"] {
        let line = banner.split("<p class=\"muted\">").find(|line| line.contains(told)).expect(told);
        for fact in
            ["(rate limited) from", "2026-11-30T08:14:30Z", "2026-11-30T08:19:30Z", "by rule “lockout sentence”"]
        {
            assert!(line.contains(fact), "{fact}: {line}");
        }
    }
    assert_eq!(banner.matches("Please wait 5 minutes").count(), 2, "in the provider's words: {banner}");
    assert!(!banner.contains("nothing is asked before"), "{banner}");
}

#[tokio::test]
async fn a_page_tells_the_age_of_the_reading_from_that_of_the_answer() {
    let with = async |tune: fn(&mut crate::engine::view::TargetView)| {
        let mut sample = Sample::calm();
        tune(&mut sample.targets[0]);
        Site::loopback(sample).page("/c/yard/t/controller").await
    };
    let dated = with(|target| {
        (target.age_seconds, target.reading_age_seconds) = (Some(18_041), Some(18_041));
        target.aged_since = Some(crate::web::sample::ago(18_041));
        target.items[0].observed_at = target.as_of;
    });
    let dated = dated.await;
    let banner = part(&dated, "banner").replace('\u{a0}', " ");
    assert!(banner.contains("5 h</time></b> old by the provider’s clock"), "{banner}");
    assert!(banner.contains("41 s ago"), "and when it was answered: {banner}");
    assert!(part(&dated, "items").contains("measured "), "each item by itself");
    let undated = part(&with(|target| target.is_undated = true).await, "banner");
    assert!(undated.contains(crate::engine::words::UNDATED) && !undated.contains("clock"), "{undated}");
}

#[tokio::test]
async fn p6_an_old_page_is_told_so_and_every_answer_says_which_build_serves() {
    let site = Site::loopback(Sample::calm());
    let build = build::BUILD;
    for path in ["/", "/c/yard", "/api/v1/connections", "/livez", "/nowhere", "/static/app.js"] {
        let reply = site.get(path).await;
        assert_eq!(reply.headers()["larder-build"], build, "{path}");
    }
    let page = site.page("/c/yard").await;
    assert!(page.contains(&format!("data-build=\"{build}\"")) && page.contains(&format!("build={build}")), "{page}");
    let asked = |path: &'static str, stated: &'static str| {
        site.send(ask(Method::GET, path, &[("larder-build", stated)]).body(Body::empty()).unwrap())
    };
    assert_eq!(asked("/c/yard", build).await.status(), StatusCode::OK);
    for path in ["/c/yard", "/api/v1/connections"] {
        let refused = asked(path, "00000000").await;
        assert_eq!(
            (refused.status(), &refused.headers()["larder-build"]),
            (StatusCode::CONFLICT, &build.parse().unwrap())
        );
        assert!(text(refused).await.contains("urn:larder:problem:stale_client"), "{path}");
    }
    assert_eq!(site.get("/api/v1/events?after=1&build=00000000").await.status(), StatusCode::CONFLICT);
    assert_eq!(site.get(&format!("/api/v1/events?after=1&build={build}")).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_credential_is_replaced_on_the_page_and_not_shown_again() {
    let site = Site::loopback(Sample::calm());
    assert!(site.page("/c/yard").await.contains("href=\"yard/credential\""));
    let page = site.page("/c/yard/credential").await;
    assert!(part(&page, "credential").contains("<dd>the file /etc/larder/yard.key</dd>"), "{page}");
    let secret = ("secret", " new-key-of-the-yard ");
    let done = site.fill("/c/yard/credential", "c/yard/credential", &[("token", "owner-token"), secret]).await;
    assert_eq!((done.status(), &done.headers()["location"]), (StatusCode::SEE_OTHER, &"credential".parse().unwrap()));
    let noted = site.sample.asked().join("\n");
    assert!(
        noted.contains("owner of default (page, this machine) gives default/yard a credential of Some(19)"),
        "{noted}"
    );
    assert!(!noted.contains("new-key"), "{noted}");
    for (values, status) in [
        (vec![("token", "owner-token")], StatusCode::BAD_REQUEST),
        (vec![("token", "reader-token"), secret], StatusCode::FORBIDDEN),
        (vec![("token", "north-token"), secret], StatusCode::FORBIDDEN),
        (vec![secret], StatusCode::UNAUTHORIZED),
    ] {
        assert_eq!(site.fill("/c/yard/credential", "c/yard/credential", &values).await.status(), status, "{values:?}");
    }
}

#[tokio::test]
async fn a_stale_target_hedges() {
    let stale = Site::loopback(Sample::locked_out()).page("/c/yard/t/controller").await;
    insta::assert_snapshot!("target_banner_stale", part(&stale, "banner"));
    let fresh = Site::loopback(Sample::calm()).page("/c/yard/t/controller").await;
    assert!(!fresh.contains("was last seen"), "a fresh answer says what is");
    insta::assert_snapshot!("target_items", part(&fresh, "items"));
}

#[tokio::test]
async fn what_others_said_is_text_and_nothing_else() {
    let site = Site::loopback(Sample::locked_out());
    for path in [
        "/",
        "/c/yard",
        "/c/yard/controls",
        "/c/yard/credential",
        "/polling",
        "/settings",
        "/o/default/usage",
        "/c/yard/t/controller",
        "/spend?by=endpoint",
        "/plan?connection=yard",
    ] {
        let page = site.page(path).await;
        for tag in ["<script>", "<b>trying", "<i>soon", "<relay>"] {
            assert!(!page.contains(tag), "{path} lets {tag} through");
        }
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "nothing inline: {path}");
        assert_eq!(page.matches("<h1").count(), 1, "{path}");
    }
    let page = site.page("/c/%3Cscript%3E").await;
    assert!(page.contains("&#60;script&#62;") && !page.contains("<script>"), "{page}");
}

#[tokio::test]
async fn a_long_list_is_paged_and_every_page_is_small() {
    let mut sample = Sample::calm();
    let pattern = sample.targets[0].items[1].clone();
    sample.targets[0].item_count = 10_000;
    let zone = |i: u32| ItemView { key: format!("{i:05}"), title: format!("Zone {i}"), ..pattern.clone() };
    sample.targets[0].items = (0..10_000).map(zone).collect();
    let target = sample.targets[0].clone();
    let another =
        |n: usize| TargetView { name: format!("ECO-{n}"), items: Vec::new(), item_count: 0, ..target.clone() };
    sample.targets.extend((0..1000).map(another));
    let site = Site::loopback(sample);
    for path in [
        "/",
        "/c/yard",
        "/c/yard/targets",
        "/c/yard/targets?page=2",
        "/c/yard/t/controller",
        "/c/yard/t/controller?behind=01974",
        "/c/yard/t/controller?from=09999",
        "/c/yard/t/controller?until=00030",
        "/c/yard/t/controller/history",
        "/spend?range=400d",
        "/activity",
        "/settings",
        "/o/default/usage",
        "/c/yard/controls?interval=30s",
        "/plan?connection=yard&page_size=100",
        "/spend?by=target&per=hour&range=30d",
    ] {
        let page = site.page(path).await;
        assert!(page.len() <= 50_000, "{path} has {} bytes", page.len());
    }
    // Kept for ever by who looked once.
    let shared = include_str!("../../../static/app.css").len() + include_str!("../../../static/app.js").len();
    assert!(shared <= 50_000, "style and script have {shared} bytes");
    assert!(site.page("/c/yard/targets?page=21").await.contains("ECO-999"));
}

/// Ten thousand of them, without a script: on and back again, and to any key.
#[tokio::test]
async fn a_long_list_is_walked_by_its_links() {
    let mut sample = Sample::calm();
    let pattern = sample.targets[0].items[1].clone();
    sample.targets[0].item_count = 10_000;
    let zone = |i: u32| ItemView { key: format!("zone/{i:05}"), title: format!("Zone {i}."), ..pattern.clone() };
    sample.targets[0].items = (0..10_000).map(zone).collect();
    let site = Site::loopback(sample);
    let titles = |page: &str| {
        let items = page.split("<ul class=\"items\"").nth(1).and_then(|rest| rest.split("</ul>").next()).unwrap();
        items.split("<h3>").skip(1).filter_map(|rest| rest.split('<').next()).map(str::to_owned).collect::<Vec<_>>()
    };
    let link = |page: &str, name: &str| {
        let nav = page.split("aria-label=\"Pages of items\"").nth(1).and_then(|rest| rest.split("</nav>").next())?;
        let before = nav.split(&format!("\">{name}</a>")).next().filter(|before| before.len() < nav.len())?;
        before.rsplit("href=\"").next().map(|to| to.trim_end_matches("#items").to_owned())
    };
    let path = "/c/yard/t/controller";
    let first = site.page(path).await;
    assert!(first.contains("25 of 10\u{202f}000 in the order of their keys: zone/00000 to zone/00024"), "{first}");
    assert_eq!((link(&first, "Back"), link(&first, "First")), (None, None));
    let second = site.page(&format!("{path}{}", link(&first, "On").unwrap())).await;
    assert_eq!((titles(&second).first().unwrap().as_str(), titles(&second).len()), ("Zone 25.", 25));
    let back = site.page(&format!("{path}{}", link(&second, "Back").unwrap())).await;
    assert_eq!(titles(&back), titles(&first), "back is where it came from");
    assert_eq!(link(&back, "Back"), None);
    let again = site.page(&format!("{path}{}", link(&back, "On").unwrap())).await;
    assert_eq!(titles(&again), titles(&second));
    let last = site.page(&format!("{path}?from=zone%2F09990")).await;
    assert_eq!((titles(&last).len(), link(&last, "On")), (10, None));
    assert!(last.contains("name=\"from\" value=\"zone/09990\""));
    let before = site.page(&format!("{path}{}", link(&last, "Back").unwrap())).await;
    assert_eq!(titles(&before).last().map(String::as_str), Some("Zone 9989."));
    assert_eq!(titles(&site.page(&format!("{path}{}", link(&last, "First").unwrap())).await), titles(&first));
    let nothing = site.page(&format!("{path}?from=zz")).await;
    assert!(nothing.contains("0 of 10\u{202f}000") && link(&nothing, "Back").is_some(), "{nothing}");
    assert_eq!(site.get(&format!("{path}?from=a&until=b")).await.status(), StatusCode::BAD_REQUEST);
}

/// Right to left, of many bytes a character, and HTML; five megabytes of it, wherever a provider has a say.
#[tokio::test]
async fn what_is_too_long_is_cut_and_what_is_strange_is_text() {
    let long = "\u{202e}<b>\u{5e9}\u{1f469}\u{200d}\u{1f33e}".repeat(300_000);
    let mut sample = Sample::locked_out();
    let pattern = sample.targets[0].items[0].clone();
    let hostile = |n: usize| {
        let mut item = ItemView { key: format!("{n}{long}"), title: long.clone(), ..pattern.clone() };
        item.state = Some(long.clone());
        item.decays.iter_mut().for_each(|decay| decay.seen.clone_from(&long));
        item.fields = vec![("words".to_owned(), FieldShown::Text(long.clone()))];
        item
    };
    sample.targets[0].items = (0..3).map(hostile).collect();
    let entry = |h: HistoryView| HistoryView { key: long.clone(), title: long.clone(), state: Some(long.clone()), ..h };
    sample.history = sample.history.into_iter().map(entry).collect();
    sample.events.iter_mut().for_each(|event| event.message.clone_from(&long));
    sample.jobs.iter_mut().for_each(|job| job.message = Some(long.clone()));
    sample.connections[0].findings.iter_mut().for_each(|f| f.detail = Some(long.clone()));
    let site = Site::loopback(sample);
    for path in ["/", "/c/yard", "/c/yard/t/controller", "/c/yard/targets", "/activity", "/o/default/usage"] {
        let page = site.page(path).await;
        assert!(page.len() <= 100_000 && page.contains("</html>"), "{path} has {} bytes", page.len());
        assert!(!page.contains("<b>\u{5e9}"), "{path} lets HTML through");
    }
}

/// Writes the sample pages for the eye: `LARDER_PAGES=/tmp/pages cargo test --lib web::tests::pages_for_the_eye`.
#[tokio::test]
async fn pages_for_the_eye() {
    let Some(folder) = std::env::var_os("LARDER_PAGES").map(std::path::PathBuf::from) else { return };
    let scenes = [("calm", Sample::calm()), ("locked", Sample::locked_out()), ("empty", Sample::empty())];
    for (scene, sample) in scenes {
        let site = Site::loopback(sample);
        let pages = [
            ("", "index"),
            ("c/yard", "c/yard"),
            ("c/cellar", "c/cellar"),
            ("c/yard/t/controller", "c/yard/t/controller"),
            ("spend", "spend"),
            ("activity", "activity"),
            ("settings", "settings"),
            ("plan", "plan"),
            ("plan?connection=yard&page_size=2000&targets=35", "plan-asked"),
        ];
        for (path, file) in pages {
            let file = folder.join(scene).join(format!("{file}.html"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, site.page(&format!("/{path}")).await).unwrap();
        }
        for name in ["app.css", "app.js", "icon.svg"] {
            let address = assets::address(name);
            let file = folder.join(scene).join(&address);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text(site.get(&format!("/{address}")).await).await).unwrap();
        }
    }
}

/// Serves the sample until stopped, to try the script: `LARDER_SAMPLE=127.0.0.1:8475 cargo test --lib sample_site -- --ignored`.
#[tokio::test]
#[ignore = "a site to look at, not a check"]
async fn sample_site() {
    let address = std::env::var("LARDER_SAMPLE").unwrap_or_else(|_| "127.0.0.1:8475".to_owned());
    let site = Site::loopback(Sample::locked_out());
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let beat = Arc::clone(&site.sample);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let kind = crate::domain::event::EventKind::TargetSeen;
            let _ = beat.live.send(live(8, kind, Some(("default", "yard"))));
        }
    });
    serve_tcp(listener, site.state.clone(), Bounds::of_machine()).await.unwrap();
}

#[test]
fn the_sample_morning_is_the_one_of_the_snapshots() {
    assert_eq!(crate::rules::calendar::rfc3339(NOW), "2026-11-30T08:20:00Z");
}
