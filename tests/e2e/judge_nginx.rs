//! A judge that nobody here wrote: nginx with `limit_req` (no burst) and `limit_conn` in front of static JSON. Larder polls at
//! the full pace that the limit allows, with readers and restarts; the judge's access log must not show a single 429.
//! Needs Debian's `nginx-light`. `LARDER_JUDGE_SECONDS` lengthens the trial (45 s by default).

use crate::support::process::{Process, free_port, judge_program};
use crate::support::*;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What nginx is told: requests per second without burst, and open requests at most.
const RATE: u32 = 2;
const OPEN: u32 = 2;

struct Nginx {
    folder: tempfile::TempDir,
    port: u16,
    process: Process,
}

impl Nginx {
    async fn start(program: &Path) -> Nginx {
        let folder = tempfile::Builder::new().prefix("larder-nginx-").tempdir().expect("a temporary folder");
        let port = free_port();
        for sub in ["logs", "html", "tmp"] {
            std::fs::create_dir(folder.path().join(sub)).expect("the test's own folder");
        }
        for name in ["attic", "barn"] {
            std::fs::write(folder.path().join(format!("html/{name}.json")), STATIC).expect("the test's own folder");
        }
        std::fs::write(folder.path().join("nginx.conf"), configuration(port)).expect("the test's own folder");
        let mut command = Command::new(program);
        command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "logs/error.log"]);
        let mut process = Process::start(&mut command, folder.path(), "nginx");
        eventually("nginx listens", SOON, || {
            assert!(process.ended().is_none(), "nginx ended: {}", said(folder.path()));
            async move { tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok() }
        })
        .await;
        Nginx { folder, port, process }
    }

    /// Times (ms) and statuses of everything it was asked for.
    fn log(&self) -> Vec<(u64, u16)> {
        let text = std::fs::read_to_string(self.folder.path().join("logs/access.log")).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(at, status)| Some((at.replace('.', "").parse().ok()?, status.trim().parse().ok()?)))
            .collect()
    }
}

fn said(folder: &Path) -> String {
    ["nginx.err", "logs/error.log"].map(|f| std::fs::read_to_string(folder.join(f)).unwrap_or_default()).concat()
}

const STATIC: &str =
    r#"{"sensors": [{"id": "a", "name": "Attic", "value": 21.5}, {"id": "b", "name": "Barn", "value": 7}]}"#;

/// One process in the foreground, everything inside the folder, keyed by the credential as real providers do.
fn configuration(port: u16) -> String {
    format!(
        r#"
daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
events {{ worker_connections 256; }}
http {{
    log_format judged "$msec $status";
    access_log logs/access.log judged;
    client_body_temp_path tmp/body; proxy_temp_path tmp/proxy; fastcgi_temp_path tmp/fastcgi;
    uwsgi_temp_path tmp/uwsgi; scgi_temp_path tmp/scgi;
    limit_req_zone $arg_api_key zone=pace:1m rate={RATE}r/s;
    limit_conn_zone $arg_api_key zone=open:1m;
    limit_req_status 429;
    limit_conn_status 429;
    default_type application/json;
    server {{
        listen 127.0.0.1:{port};
        root html;
        location / {{
            limit_req zone=pace;
            limit_conn open {OPEN};
        }}
    }}
}}
"#
    )
}

fn larder_config(port: u16, interval: &str) -> Config {
    let mut link = Connection::irrigation("house", &format!("http://127.0.0.1:{port}"))
        .no_limits()
        .limit_text(&format!("name = \"pace\"\nrequests = {RATE}\nwindow = \"1s\"\nkind = \"pace\""))
        .limit_text(&format!("name = \"open\"\nrequests = {OPEN}\nkind = \"concurrent\""))
        .every(interval)
        .min_age("1s")
        .body(SENSORS);
    link.request_timeout = Some("2s".to_owned());
    Config::new().with(link)
}

/// Two questions a round, a round a second: all that two per second allow.
const SENSORS: &str = r#"
[[connection.target]]
name  = "attic"
get   = "/attic.json"
items = "$.sensors[*]"
key   = "$.id"
title = "$.name"
[connection.target.fields]
value = { path = "$.value", as = "number" }

[[connection.target]]
name  = "barn"
get   = "/barn.json"
items = "$.sensors[*]"
key   = "$.id"
"#;

fn trial() -> Duration {
    secs(std::env::var("LARDER_JUDGE_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(45))
}

/// The median gap between two requests in milliseconds, and everything in words.
fn verdict(log: &[(u64, u16)], elapsed: f64, restarts: u32) -> (u64, String) {
    let refused = log.iter().filter(|(_, status)| *status == 429).count();
    let mut gaps: Vec<u64> = log.windows(2).map(|p| p[1].0.saturating_sub(p[0].0)).collect();
    gaps.sort_unstable();
    let (tightest, median, longest) = (gaps[0], gaps[gaps.len() / 2], gaps[gaps.len() - 1]);
    let words = format!(
        "nginx at {RATE}r/s without burst: {} requests in {elapsed:.1} s ({:.2}/s; {:.2}/s between the restarts), {refused} refused, \
         {restarts} restarts; gaps in ms: tightest {tightest}, median {median}, longest {longest}",
        log.len(),
        log.len() as f64 / elapsed,
        1000.0 / median as f64,
    );
    (median, words)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_full_allowed_pace_never_meets_a_429() {
    let Some(program) = judge_program("nginx", "nginx-light") else { return };
    let mut nginx = Nginx::start(&program).await;
    let mut app = TestApp::start(larder_config(nginx.port, "1s")).await;
    let began = Instant::now();
    app.has_polled("house", "barn").await;

    let mut restarts = 0;
    while began.elapsed() < trial() {
        let mut readers = app.readers(20).await;
        let until = began.elapsed() + trial() / 4;
        while began.elapsed() < until.min(trial()) {
            readers.load(&["/", "/c/house", "/api/v1/connections/house/targets/attic"]).await;
            app.operator().refreshes("house", "attic").await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        drop(readers);
        if restarts < 3 {
            if restarts == 1 {
                app.crash().await
            } else {
                app.restart().await
            }
            restarts += 1;
        }
    }
    let elapsed = began.elapsed().as_secs_f64();
    let log = nginx.log();
    let (median, verdict) = verdict(&log, elapsed, restarts);
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("\n{verdict}\n").as_bytes());
    assert!(nginx.process.ended().is_none(), "the judge left: {}", said(nginx.folder.path()));
    assert!(log.iter().all(|(_, status)| *status == 200 || *status == 304), "{verdict}\n{log:?}");
    assert_eq!(restarts, 3);
    // Safe is easy if one hardly asks. A crash costs a pause: what was in flight may be counted until its deadline has passed.
    assert!(median < 2 * 1000 / u64::from(RATE), "{verdict}");
    assert!(log.len() as f64 > elapsed * f64::from(RATE) / 4.0, "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judge_refuses_who_is_too_fast() {
    let Some(program) = judge_program("nginx", "nginx-light") else { return };
    let nginx = Nginx::start(&program).await;
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], nginx.port));
    for _ in 0..3 {
        http::send(address, &Ask::get("/attic.json?api_key=impatient")).await;
    }
    let refused = nginx.log().iter().filter(|(_, status)| *status == 429).count();
    assert!(refused >= 1, "a judge that refuses nobody judges nothing: {:?}", nginx.log());
}
