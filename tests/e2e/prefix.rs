//! The whole site below a path, as behind a proxy: one that takes the path away and says so, and one that leaves it in place. Every address on every
//! page is followed: none leads out of the prefix, and none leads nowhere. Needs Debian's `nginx-light`.

use crate::support::http::send;
use crate::support::process::{Process, free_port, judge_program};
use crate::support::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::process::Command;

/// More addresses than the site of one yard has.
const MOST: usize = 400;

fn nginx(port: u16, app: SocketAddr, token: &str) -> String {
    let pass = format!("proxy_http_version 1.1; proxy_set_header Authorization \"Bearer {token}\";");
    format!(
        "daemon off; master_process off; worker_processes 1; pid nginx.pid; events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{port};
        location /taken/away/ {{ proxy_pass http://{app}/; proxy_set_header X-Forwarded-Prefix /taken/away; {pass} }}
        location /ingress/ {{ proxy_pass http://{app}/; proxy_set_header X-Ingress-Path /ingress; {pass} }}
        location /left {{ proxy_pass http://{app}; {pass} }}
    }}
}}"
    )
}

/// An address as a browser resolves it (RFC 3986 section 5.2), without what is behind `#`.
fn resolved(page: &str, link: &str) -> String {
    let link = link.split('#').next().unwrap_or_default();
    let path = page.split('?').next().unwrap_or_default();
    let (link, query) = link.split_once('?').map_or((link, String::new()), |(l, q)| (l, format!("?{q}")));
    let whole = match link {
        "" if query.is_empty() => return page.to_owned(),
        "" => path.to_owned(),
        _ if link.starts_with('/') => link.to_owned(),
        _ => format!("{}/{link}", path.rsplit_once('/').map_or("", |(folder, _)| folder)),
    };
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = whole.split('/').skip(1).collect();
    for (at, segment) in segments.iter().enumerate() {
        let last = at + 1 == segments.len();
        match *segment {
            "." => kept.extend(last.then_some("")),
            ".." => {
                kept.pop();
                kept.extend(last.then_some(""));
            }
            other => kept.push(other),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

/// What a page leads to: attribute and address, as written.
fn addresses(html: &str) -> Vec<(&'static str, String)> {
    let of = |name: &'static str| {
        let mark = format!(" {name}=\"");
        let found: Vec<String> =
            html.split(&mark).skip(1).filter_map(|rest| Some(rest.split('"').next()?.replace("&#38;", "&"))).collect();
        found.into_iter().map(move |address| (name, address))
    };
    ["href", "src", "action", "data-link"].into_iter().flat_map(of).collect()
}

#[test]
fn addresses_are_resolved_as_browsers_do() {
    for (page, link, there) in [
        ("/a/", "plan", "/a/plan"),
        ("/a/c/yard", "../", "/a/"),
        ("/a/c/yard", "../plan?x=1", "/a/plan?x=1"),
        ("/a/c/yard", "yard/t/x", "/a/c/yard/t/x"),
        ("/a/c/yard", "./", "/a/c/"),
        ("/a/c/yard?p=1", "?p=2", "/a/c/yard?p=2"),
        ("/a/c/yard?p=1", "#x", "/a/c/yard?p=1"),
        ("/a/b", "../../../x", "/x"),
        ("/a/b", "/x", "/x"),
    ] {
        assert_eq!(resolved(page, link), there, "{link} on {page}");
    }
}

/// Follows everything below `prefix`; the statuses by address.
async fn walk(proxy: SocketAddr, prefix: &str) -> BTreeMap<String, u16> {
    let mut seen: BTreeMap<String, u16> = BTreeMap::new();
    let mut forms = BTreeSet::new();
    let mut next = vec![format!("{prefix}/")];
    while let Some(page) = next.pop() {
        if seen.contains_key(&page) {
            continue;
        }
        assert!(seen.len() < MOST, "the site has no end: {:?}", seen.keys().collect::<Vec<_>>());
        let reply = send(proxy, &Ask::get(&page).header("accept", "text/html, */*")).await;
        seen.insert(page.clone(), reply.status);
        let is_page = reply.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        for (attribute, link) in if is_page { addresses(&reply.body) } else { Vec::new() } {
            if link.starts_with('#') {
                continue;
            }
            let there = resolved(&page, &link);
            assert!(there.starts_with(&format!("{prefix}/")), "{attribute}={link:?} on {page} leads out: {there}");
            // A stream has no end, and a form is not for looking.
            match attribute {
                "action" => drop(forms.insert(there)),
                "data-link" => (),
                _ if there.contains("/t/controller?") || there.contains("/activity?") => (),
                _ => next.push(there),
            }
        }
    }
    assert!(forms.iter().any(|form| form.ends_with("/c/yard/t/controller/refresh")), "{forms:?}");
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_site_works_below_a_path() {
    let Some(program) = judge_program("nginx", "nginx-light") else { return };
    let provider = FakeProvider::unlimited().await;
    let mut config = Config::yard(&provider.base_url()).tuned(|c| c.no_limits().quiet().min_age("1s"));
    config.server.push("base_path = \"/left/in/place/\"".to_owned());
    let app = TestApp::start(config).await;
    app.has_polled("yard", "controller").await;

    let folder = tempfile::Builder::new().prefix("larder-prefix-").tempdir().expect("a temporary folder");
    let proxy = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let text = nginx(proxy.port(), app.address, app.token());
    std::fs::write(folder.path().join("nginx.conf"), text).expect("the test's own folder");
    let mut command = Command::new(program);
    command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "error.log"]);
    let _process = Process::start(&mut command, folder.path(), "nginx");
    eventually("nginx listens", SOON, || async { tokio::net::TcpStream::connect(proxy).await.ok() }).await;

    for prefix in ["/taken/away", "/ingress", "/left/in/place"] {
        let seen = walk(proxy, prefix).await;
        let odd: Vec<_> = seen.iter().filter(|(_, status)| **status != 200).collect();
        assert!(odd.is_empty(), "{prefix}: {odd:?}");
        for page in ["/", "/plan", "/spend", "/activity", "/c/yard", "/c/yard/controls", "/c/yard/t/controller"] {
            assert!(seen.contains_key(&format!("{prefix}{page}")), "nothing leads to {page}: {:?}", seen.keys());
        }
        // The gateway, and where a form leads.
        let passed = send(proxy, &Ask::get(&format!("{prefix}/gateway/yard/statusschedule.php"))).await.expect(200);
        assert!(passed.body.contains("relays"), "{}", passed.body);
        let bare = send(proxy, &Ask::get(&format!("{prefix}/c/yard/"))).await;
        let there = bare.header("location").expect("the way").to_owned();
        assert_eq!(resolved(&format!("{prefix}/c/yard/"), &there), format!("{prefix}/c/yard"));
        let page = send(proxy, &Ask::get(&format!("{prefix}/c/yard")).header("accept", "text/html")).await.body;
        let form = page.split("<form ").find(|form| form.contains("c/yard/polling\"")).expect("the switch");
        let sent = format!("on=true&csrf={}", http::own_field(form));
        let done = send(proxy, &Ask::post(&format!("{prefix}/c/yard/polling")).form(&sent)).await.expect(303);
        let there = resolved(&format!("{prefix}/c/yard/polling"), done.header("location").expect("back"));
        assert_eq!(there, format!("{prefix}/c/yard"));
    }
    let bare = send(proxy, &Ask::get("/left/in/place?a=b")).await.expect(308);
    assert_eq!(resolved("/left/in/place", bare.header("location").expect("the slash")), "/left/in/place/?a=b");
    // Without the path, as a proxy that takes it away asks, it is the same site.
    app.get("/c/yard").await.expect(200);
}
