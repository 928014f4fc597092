//! The one file, when something is wrong with it: a plain sentence, exit code 1, and nothing destroyed.

use crate::support::*;
use std::path::Path;

/// An appliance that has run and stopped: its folder and its good file.
async fn used_file(provider: &FakeProvider) -> TestApp {
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.quiet())).await;
    app.has_polled("yard", "controller").await;
    app.stop().await;
    app
}

/// Serving it fails with a sentence, spends nothing, and leaves every byte as it was.
async fn is_refused_unharmed(app: &mut TestApp, provider: &FakeProvider, words: &[&str]) {
    let before = std::fs::read(app.data()).expect("the file");
    let asked = provider.count();
    let said_before = app.log().len();
    app.spawns();
    let status = app.ends(SOON).await;
    let log = app.log().split_off(said_before);
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    for word in words {
        assert!(log.to_lowercase().contains(word), "{word:?} is not in the sentence:\n{log}");
    }
    assert!(log.contains("larder.redb"), "the sentence names the file:\n{log}");
    assert!(std::fs::read(app.data()).expect("the file") == before, "the file was changed");
    assert_eq!(provider.count(), asked);
    let place = app.data().display().to_string();
    app.larder(&["verify", &place]).await.expect(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_file_is_left_to_its_owner() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = TestApp::start(Config::yard(&provider.base_url())).await;
    app.has_polled("yard", "controller").await;
    // A second appliance on the same file, at another address.
    let config = std::fs::read_to_string(app.config_path()).expect("our own file");
    let other = config.replace(&app.address.to_string(), &format!("127.0.0.1:{}", process::free_port()));
    std::fs::write(app.folder().join("second.toml"), other).expect("our own file");
    let said = app.larder(&["serve", "--config", "second.toml"]).await.expect(1);
    assert!(said.stderr.contains("larder.redb"), "{said:?}");
    let words = said.all().to_lowercase();
    assert!(words.contains("use") || words.contains("lock") || words.contains("running"), "{said:?}");
    // The first goes on, and its socket still answers.
    provider.has_seen(provider.count() + 1, SOON).await;
    app.larder_here(&["status"]).await.expect(0);
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_newer_larder_is_refused_unharmed() {
    let provider = FakeProvider::unlimited().await;
    let mut app = used_file(&provider).await;
    write_format(&app.data(), u64::from(u32::MAX));
    is_refused_unharmed(&mut app, &provider, &["newer"]).await;
}

/// As a later version would: `meta` / `format`, 8 bytes big-endian (`store/tables.rs`).
fn write_format(path: &Path, version: u64) {
    let table: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("meta");
    let file = redb::Database::open(path).expect("a file that was closed cleanly");
    let write = file.begin_write().expect("nobody else has it");
    {
        let mut meta = write.open_table(table).expect("the table of the format");
        let old = meta.insert(b"format".as_slice(), version.to_be_bytes().as_slice()).expect("a row");
        assert!(old.is_some(), "the format lives elsewhere now; this test must follow it");
    }
    write.commit().expect("a commit");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrupt_file_is_refused_unharmed() {
    let provider = FakeProvider::unlimited().await;
    let mut app = used_file(&provider).await;
    let good = std::fs::read(app.data()).expect("the file");
    // Every page but the first few is noise: nothing in it can be believed.
    let mut bad = good.clone();
    let from = 4096.min(bad.len() / 4);
    bad[from..].iter_mut().enumerate().for_each(|(i, b)| *b = b.wrapping_mul(31) ^ (i as u8) ^ 0x5A);
    std::fs::write(app.data(), &bad).expect("our own file");
    is_refused_unharmed(&mut app, &provider, &["damaged"]).await;

    // Its owner brings back a copy, and everything is there.
    std::fs::write(app.data(), &good).expect("our own file");
    app.boots().await;
    assert_eq!(app.history("yard", "controller").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_file_is_refused_unharmed() {
    let provider = FakeProvider::unlimited().await;
    let mut app = used_file(&provider).await;
    let good = std::fs::read(app.data()).expect("the file");
    std::fs::write(app.data(), &good[..good.len() / 3]).expect("our own file");
    is_refused_unharmed(&mut app, &provider, &["damaged"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_another_kind_is_refused_unharmed() {
    let provider = FakeProvider::unlimited().await;
    for content in ["my shopping list\n".repeat(1000), "short".to_owned()] {
        let mut app = TestApp::prepared(Config::yard(&provider.base_url()));
        std::fs::write(app.data(), content).expect("our own file");
        is_refused_unharmed(&mut app, &provider, &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_repaired_and_told() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"))).await;
    app.has_polled("yard", "controller").await;
    for _ in 0..3 {
        provider.has_seen(provider.count() + 1, SOON).await;
        app.crash().await;
    }
    assert!(app.log().to_lowercase().contains("repair") || app.log().contains("not closed"), "{}", app.log());
    assert_eq!(app.history("yard", "controller").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_there_is_a_sentence() {
    let mut app = TestApp::prepared(Config::yard("http://127.0.0.1:9"));
    let text = std::fs::read_to_string(app.config_path()).expect("our own file");
    std::fs::write(app.config_path(), text.replace("larder.redb", "no/such/folder/larder.redb")).expect("our own file");
    app.spawns();
    let status = app.ends(SOON).await;
    assert!(matches!(status.code(), Some(1 | 2)), "{status}\n{}", app.log());
    assert!(app.log().contains("no/such/folder") && !app.log().contains("panicked"), "{}", app.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_address_is_a_sentence() {
    let provider = FakeProvider::unlimited().await;
    let mut app = TestApp::prepared(Config::yard(&provider.base_url()));
    let _taken = std::net::TcpListener::bind(app.address).expect("our own port");
    app.spawns();
    let status = app.ends(SOON).await;
    assert_eq!(status.code(), Some(1), "{}", app.log());
    assert!(app.log().contains(&app.address.to_string()), "names the address:\n{}", app.log());
    assert_eq!(provider.count(), 0, "an appliance that nobody can read does not spend");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_goes_away_stops_the_sending_until_it_is_back() {
    let provider = FakeProvider::limited(20, secs(10)).await;
    let app = TestApp::start(Config::yard(&provider.base_url()).tuned(|c| c.no_limits().every("1s"))).await;
    app.has_polled("yard", "controller").await;
    let away = app.folder().join("away.redb");
    std::fs::rename(app.data(), &away).expect("the file moves away");
    let ready = app.get("/readyz").await.expect(503).json();
    assert!(ready["store"].as_str().is_some_and(|s| s.contains("moved or deleted")), "{ready}");
    tokio::time::sleep(secs(1)).await;
    let asked = provider.count();
    stays("nothing is sent", asked, secs(3), || provider.count()).await;
    assert!(app.get("/").await.expect(200).body.contains("moved or deleted"), "the page says so");
    assert!(app.log().contains("moved or deleted"), "the log says so: {}", app.log());
    std::fs::rename(&away, app.data()).expect("the file comes back");
    app.get("/readyz").await.expect(200);
    provider.has_seen(asked + 1, 2 * SOON).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_put_back_takes_as_sent_what_it_cannot_know() {
    let provider = FakeProvider::limited(4, secs(10)).await;
    let tuned = |c: Connection| c.no_limits().limit("status", 4, "10s", "").every("1h").timeout("1s");
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(tuned)).await;
    let backup = app.folder().join("backup.redb");
    let first = app.operator().runs_zone(1).await;
    app.operator().sees_job(first, "done").await;
    app.larder_here(&["backup", &backup.display().to_string()]).await.expect(0);
    for zone in [2, 3, 1] {
        let job = app.operator().runs_zone(zone).await;
        app.operator().sees_job(job, "done").await;
    }
    let place = backup.display().to_string();
    let refused = app.larder_here(&["restore", "--force", &place]).await.expect(1);
    assert!(refused.stderr.contains("in use by another larder"), "{refused:?}");
    app.kill_9();
    let refused = app.larder_here(&["restore", &place]).await.expect(1);
    assert!(refused.stderr.contains("is newer than") && refused.stderr.contains("--force"), "{refused:?}");
    let said = app.larder_here(&["restore", "--force", &place]).await.expect(0).stdout;
    let kept = std::fs::read_dir(app.folder()).expect("the folder").map(|file| file.expect("a file").path());
    let kept = kept.map(|path| path.display().to_string()).find(|path| path.contains("before-restore"));
    let kept = kept.expect("the file that was there");
    assert!(said.contains(&kept), "{said}");
    app.larder(&["verify", &kept]).await.expect(0);
    app.boots().await;
    let notes = app.get("/readyz").await.json()["notes"].to_string();
    assert!(notes.contains("is a backup that was made"), "it is said: {notes}");
    for zone in [1, 2, 3, 1] {
        app.operator().runs_zone(zone).await;
    }
    eventually("the commands are sent", 5 * SOON, || async { (provider.count_of(SET_ZONE) == 8).then_some(()) }).await;
    provider.was_never_over();
    app.restart().await;
    let notes = app.get("/readyz").await.json()["notes"].to_string();
    assert!(!notes.contains("backup"), "once: {notes}");
}

/// As `cp` of the running appliance's file, and `cp` back when it was killed.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_waited_in_a_plain_copy_is_not_sent_again() {
    let provider = FakeProvider::limited(1, secs(8)).await;
    let tuned = |c: Connection| c.no_limits().limit("status", 1, "8s", "").every("1h").timeout("1s");
    let mut app = TestApp::start(Config::yard(&provider.base_url()).tuned(tuned)).await;
    let copy = app.folder().join("copy.redb");
    app.operator().runs_zone(1).await;
    let waiting = app.operator().runs_zone(2).await;
    std::fs::copy(app.data(), &copy).expect("cp");
    assert_eq!(app.job(waiting).await["state"], "queued", "the copy was too late for this test");
    app.operator().sees_job(waiting, "done").await;
    app.kill_9();
    std::fs::rename(app.data(), app.folder().join("after-the-copy.redb")).expect("the old file moves away");
    std::fs::copy(&copy, app.data()).expect("the copy takes its place");
    app.boots().await;
    let notes = app.get("/readyz").await.json()["notes"].to_string();
    assert!(notes.contains("was opened from a copy taken while Larder was running, at most"), "it is said: {notes}");
    let job = app.operator().sees_job(waiting, "unknown").await;
    assert!(job["message"].as_str().is_some_and(|m| m.contains("restored backup or another copy")), "{job}");
    stays("zone 2 is not run again", 2, secs(9), || provider.count_of(SET_ZONE)).await;
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_are_made_by_themselves_and_one_that_fails_is_told_until_one_succeeds() {
    let provider = FakeProvider::unlimited().await;
    let extra = "[backup]\nfolder = \"kept\"\nevery = \"1s\"\nkeep = 2\n".to_owned();
    let config = Config { extra, ..Config::yard(&provider.base_url()) };
    let app = TestApp::start(config).await;
    let says = |words: &'static str| {
        let app = &app;
        async move { app.get("/").await.expect(200).body.contains(words).then_some(()) }
    };
    // Its folder is not there.
    eventually("the page says so", SOON, || says("was not made")).await;
    let open = || async { app.get("/api/v1/findings?open=true").await.expect(200).json().to_string() };
    let told = open().await;
    assert!(told.contains("backup_failing") && told.contains("does not exist"), "{told}");
    let kept = app.folder().join("kept");
    std::fs::create_dir(&kept).expect("the test's own folder");
    let names = || {
        let files = std::fs::read_dir(&kept).expect("the folder").map(|file| file.expect("a file").file_name());
        let mut names: Vec<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
        names.retain(|name| name.ends_with(".redb"));
        names.sort();
        names
    };
    let first = eventually("a backup", SOON, || async { names().first().cloned() }).await;
    eventually("the oldest goes", SOON, || async { (!names().contains(&first)).then_some(()) }).await;
    assert!(names().len() <= 3, "two stay, and one more for a moment: {:?}", names());
    eventually("the page says nothing of it any more", SOON, || async {
        (says("was not made").await).is_none().then_some(())
    })
    .await;
    let told = open().await;
    assert!(!told.contains("backup_failing"), "{told}");
    let newest = kept.join(names().pop().expect("a backup"));
    app.larder(&["verify", &newest.display().to_string()]).await.expect(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_by_the_button_makes_up_for_one_that_failed_by_itself() {
    let provider = FakeProvider::unlimited().await;
    let extra = "[backup]\nfolder = \"kept\"\nevery = \"24h\"\n".to_owned();
    let app = TestApp::start(Config { extra, ..Config::yard(&provider.base_url()) }).await;
    let open = || async { app.get("/api/v1/findings?open=true").await.expect(200).json().to_string() };
    let told = || async { Some(open().await).filter(|told| told.contains("backup_failing")) };
    let told = eventually("its folder is not there", SOON, told).await;
    assert!(told.contains("\"count\":1,"), "it is not tried again at once: {told}");
    let noted = || async { app.get("/").await.expect(200).body.contains("<p class=\"note\">The backup of ") };
    assert!(noted().await, "the overview says so");
    std::fs::create_dir(app.folder().join("kept")).expect("the test's own folder");
    let page = app.get("/settings").await.expect(200).body;
    let (_, form) = page.split_once("settings/backup\"").expect("the button");
    let fields = format!("csrf={}&token={}", http::own_field(form), app.token());
    app.send(Ask::post("/settings/backup").form(&fields)).await.expect(303);
    let told = open().await;
    assert!(!told.contains("backup_failing"), "{told}");
    assert!(!noted().await, "and says nothing of it any more");
}
