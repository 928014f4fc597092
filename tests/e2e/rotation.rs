//! A new credential while everything runs: never over on either key, each request with the key that paid for it, nothing of the old one's
//! readings taken for the new one's, and no key in sight (CASES F1, P1).

use crate::support::provider::Seen;
use crate::support::quota::{CountedBy, Quota};
use crate::support::secret::new_secret;
use crate::support::*;
use serde_json::{Value, json};

/// Four per 10 s.
const FOUR: &str = "name = \"account\"\nrequests = 4\nwindow = \"10s\"\nkind = \"rolling\"\nkeep = { refresh = 1 }";
const API: &str = "/api/v1/connections/yard/credential";

async fn counting(by: CountedBy) -> FakeProvider {
    FakeProvider::with(Some(Quota::new(4, secs(10), by))).await
}

/// A yard whose key lies in an environment file, outside of the appliance's folder.
struct Yard {
    app: TestApp,
    keys: tempfile::TempDir,
    /// The key that it begins with.
    first: String,
}

impl Yard {
    async fn before(provider: &FakeProvider, more: &str) -> Yard {
        let keys = tempfile::tempdir().expect("a temporary folder");
        let link = Connection::irrigation("yard", &provider.base_url()).no_limits().limit_text(FOUR).every("1s");
        let mut link = link.min_age("0s");
        link.carrier.push_str(more);
        let mut config = Config::new().with(link);
        config.server.push(format!("environment_file = \"{}\"", keys.path().join("keys.env").display()));
        config.environment.insert("LARDER_LOG".to_owned(), "debug".to_owned());
        let first = config.environment["YARD_KEY"].clone();
        let yard = Yard { app: TestApp::prepared(config), keys, first: first.clone() };
        yard.writes(&first);
        Yard { app: begun(yard.app).await, ..yard }
    }

    fn writes(&self, key: &str) {
        let text = format!("# keys\nOTHER=1\nYARD_KEY=\"{key}\"\n");
        std::fs::write(self.keys.path().join("keys.env"), text).expect("the test's own folder");
    }

    /// A new key in the file, and SIGHUP.
    fn rotates(&mut self) -> String {
        let key = new_secret();
        self.app.is_given(&key);
        self.writes(&key);
        self.app.rereads();
        key
    }

    fn is_set(&self, secret: &str) -> Ask {
        Ask::new("PUT", API).token(self.app.token()).json(&json!({ "secret": secret }))
    }
}

async fn begun(mut app: TestApp) -> TestApp {
    app.boots().await;
    app.makes_a_token().await;
    app
}

/// What people should know of the configuration.
async fn notes(app: &TestApp) -> String {
    app.get("/readyz").await.json()["notes"].to_string()
}

fn used(connection: &Value) -> u64 {
    connection["budget"][0]["used"].as_u64().unwrap_or_else(|| panic!("no budget in {connection}"))
}

async fn arrives(provider: &FakeProvider, key: &str) {
    eventually("the new key is used", SOON, || async { provider.seen().iter().any(|s| s.key == key).then_some(()) })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_another_in_its_file_counts_by_itself_from_sighup_on() {
    let provider = counting(CountedBy::Key).await;
    let mut yard = Yard::before(&provider, "").await;
    provider.has_seen(3, SOON).await;
    let old = yard.first.clone();
    let new = yard.rotates();
    arrives(&provider, &new).await;
    assert!(used(&yard.app.connection("yard").await) <= 2, "what the old key spent is not the new one's");
    yard.app.tells("another credential was read from YARD_KEY in the environment file").await;
    provider.has_seen(6, SOON).await;
    let keys: Vec<String> = provider.seen().into_iter().map(|s| s.key).collect();
    let first = keys.iter().position(|key| *key == new).expect("it arrived");
    assert!(keys[..first].iter().all(|key| *key == old) && keys[first..].iter().all(|key| *key == new), "{keys:?}");
    assert_eq!(yard.app.history("yard", "controller").await.len(), 3, "a new key forgets nothing of the items");

    // A restart knows it too, and what each has spent.
    yard.app.crash().await;
    yard.writes(&old);
    yard.app.rereads();
    provider.has_seen(9, 2 * SOON).await;
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn law_1_another_key_of_the_same_account_counts_on_however_often_it_comes() {
    let provider = counting(CountedBy::Account).await;
    let mut yard = Yard::before(&provider, ", same_account = true").await;
    provider.has_seen(2, SOON).await;
    for n in 0..6 {
        yard.rotates();
        yard.app.tells("go on spending from the same budget").await;
        if n == 3 {
            // Rotated while it is down: the file remembers whose key the old one was.
            yard.app.kill_9();
            let key = new_secret();
            yard.app.is_given(&key);
            yard.writes(&key);
            yard.app.boots().await;
        }
        yard.app.operator().refreshes("yard", "controller").await;
        tokio::time::sleep(secs(1)).await;
    }
    provider.has_seen(6, 2 * SOON).await;
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn law_1_each_request_goes_out_with_the_key_that_paid_for_it() {
    let provider = counting(CountedBy::Key).await;
    provider.is(Mode::Slow(Duration::from_millis(400)));
    let mut yard = Yard::before(&provider, "").await;
    provider.has_seen(1, SOON).await;
    // More than any key may, asked for all the time, over rotations back and forth.
    let (one, mut two) = (yard.first.clone(), String::new());
    for n in 0..12 {
        match n % 3 {
            0 => two = yard.rotates(),
            1 => {
                yard.writes(&one);
                yard.app.rereads();
            }
            _ => {
                yard.writes(&two);
                yard.app.rereads();
            }
        }
        let refreshes = (0..3).map(|_| async {
            yard.app.operator().refreshes("yard", "controller").await;
        });
        futures_util::future::join_all(refreshes).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    provider.was_never_over();
    // Law 1, seen from our side: every charge was counted by the provider, and no request was sent without one.
    let answered = yard.app.ledger("yard").await.iter().filter(|c| c["settlement"] != "voided").count();
    assert_eq!(answered, provider.count());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_ends_with_the_key_that_it_began_with() {
    let provider = counting(CountedBy::Key).await;
    let mut yard = Yard::before(&provider, "").await;
    provider.has_seen(1, SOON).await;
    let old = yard.first.clone();
    provider.is(Mode::Slow(secs(2)));
    let asked = provider.count();
    let operator = yard.app.operator();
    let (refreshed, new) = tokio::join!(operator.refreshes("yard", "controller"), async {
        provider.has_seen(asked + 1, SOON).await;
        let key = new_secret();
        yard.writes(&key);
        yard.app.rereads();
        key
    });
    yard.app.is_given(&new);
    refreshed.expect(200);
    let charge = yard.app.ledger("yard").await.into_iter().find(|c| c["caller"] == "refresh").expect("its charge");
    assert_eq!(charge["outcome"], "data", "{charge}");
    assert_eq!(provider.seen()[asked].key, old);
    arrives(&provider, &new).await;
    provider.was_never_over();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_cannot_be_read_changes_nothing_and_is_told() {
    let provider = FakeProvider::unlimited().await;
    let mut yard = Yard::before(&provider, "").await;
    provider.has_seen(1, SOON).await;
    let old = yard.first.clone();
    yard.writes("x");
    yard.app.rereads();
    let finding = eventually("it is a finding", SOON, || async {
        yard.app.findings("?open=true").await.into_iter().find(|f| f["kind"] == "credential_unreadable")
    })
    .await;
    assert!(finding["sentence"].as_str().is_some_and(|s| s.contains("only 1 characters")), "{finding}");
    let overview = yard.app.get("/").await.expect(200).body;
    assert!(overview.contains("the credential of connection yard stays as it was"), "{overview}");
    provider.has_seen(provider.count() + 2, SOON).await;
    assert!(provider.seen().iter().all(|s| s.key == old));

    let new = yard.rotates();
    arrives(&provider, &new).await;
    eventually("the finding is settled", SOON, || async {
        yard.app.findings("?open=true").await.is_empty().then_some(())
    })
    .await;
    assert!(!notes(&yard.app).await.contains("stays as it was"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_is_wrong_or_another_is_told_and_the_running_one_goes_on() {
    let provider = FakeProvider::unlimited().await;
    let mut yard = Yard::before(&provider, "").await;
    provider.has_seen(1, SOON).await;
    let whole = std::fs::read_to_string(yard.app.config_path()).expect("its configuration");
    let shown = async |app: &TestApp, part: &str| {
        eventually(&format!("the overview says {part:?}"), SOON, || async {
            app.get("/").await.expect(200).body.contains(part).then_some(())
        })
        .await
    };
    std::fs::write(yard.app.config_path(), format!("{whole}\nnonsense = 1\n")).expect("written");
    yard.app.rereads();
    shown(&yard.app, "could not be read anew, and the one of before stays in force").await;
    std::fs::write(yard.app.config_path(), whole.replace("interval = \"1s\"", "interval = \"2s\"")).expect("written");
    yard.app.rereads();
    yard.app.connection_when("yard", "the other interval is in force", |c| c["poll"]["interval_seconds"] == 2.0).await;
    std::fs::write(yard.app.config_path(), whole.replace("[server]\n", "[server]\nhosts = [\"larder.test\"]\n"))
        .expect("written");
    yard.app.rereads();
    shown(&yard.app, "waits for a restart as far as it concerns [server]").await;
    std::fs::write(yard.app.config_path(), whole).expect("written");
    yard.app.rereads();
    eventually("nothing is left to say", SOON, || async {
        (!notes(&yard.app).await.contains("waits for a restart")).then_some(())
    })
    .await;
    assert!(yard.app.is_running());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_an_operator_sets_wins_until_it_is_cleared_and_is_shown_to_nobody() {
    let provider = counting(CountedBy::Key).await;
    let mut yard = Yard::before(&provider, "").await;
    provider.has_seen(1, SOON).await;
    let (old, set) = (yard.first.clone(), new_secret());
    yard.app.is_given(&set);
    yard.app.send(Ask::new("PUT", API).json(&json!({ "secret": set }))).await.expect(401);
    let answer = yard.app.send(yard.is_set(&set)).await.expect(200);
    let told = &answer.json()["credential"]["set"]["by"];
    assert_eq!(told, "tests (API, 127.0.0.1)");
    arrives(&provider, &set).await;
    yard.app.tells("yard: credential replaced by tests (API, 127.0.0.1)").await;

    // It wins over the file, over a crash, and over another one in the file.
    yard.rotates();
    yard.app.crash().await;
    let asked = provider.count();
    provider.has_seen(asked + 2, 2 * SOON).await;
    assert!(provider.seen()[asked..].iter().all(|s| s.key == set));
    let page = yard.app.get("/c/yard/credential").await.expect(200).body;
    assert!(
        page.contains("by tests (API, 127.0.0.1) at") && page.contains("YARD_KEY in the environment file"),
        "{page}"
    );

    yard.writes(&old);
    yard.app.rereads();
    yard.app.send(Ask::new("DELETE", API).token(yard.app.token())).await.expect(200);
    let asked = provider.count();
    provider.has_seen(asked + 1, 2 * SOON).await;
    assert_eq!(provider.seen().last().map(|s| s.key.clone()), Some(old));
    assert!(yard.app.connection("yard").await["credential"]["set"].is_null());
    provider.was_never_over();
    for path in ["/", "/c/yard", "/c/yard/credential", "/api/v1/connections/yard", "/api/v1/activity", "/metrics"] {
        let reply = yard.app.get(path).await;
        let leak = secret::find(format!("{:?}{}", reply.headers, reply.body).as_bytes(), &set);
        assert!(leak.is_none(), "{path}: {leak:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_credential_is_lifted_by_another_one_and_not_by_itself() {
    let provider = FakeProvider::unlimited().await;
    let mut yard = Yard::before(&provider, ", same_account = true").await;
    provider.has_seen(1, SOON).await;
    provider.is(Mode::Unauthorized);
    yard.app.connection_when("yard", "it is held", |c| c["hold"]["reason"] == "credential_rejected").await;
    provider.is(Mode::Normal);
    let asked = provider.count();
    let old = yard.first.clone();
    yard.app.send(yard.is_set(&old)).await.expect(200);
    yard.app.rereads();
    stays("the same key again lifts nothing", asked, secs(2), || provider.count()).await;
    assert_eq!(yard.app.connection("yard").await["hold"]["reason"], "credential_rejected");

    let new = new_secret();
    yard.app.is_given(&new);
    yard.app.send(yard.is_set(&new)).await.expect(200);
    arrives(&provider, &new).await;
    yard.app.connection_when("yard", "it is held no more", |c| c["hold"].is_null()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_what_the_old_key_read_is_nothing_to_ask_the_new_one_about() {
    let provider = FakeProvider::unlimited().await;
    provider.is(Mode::Etag);
    let mut yard = Yard::before(&provider, "").await;
    let conditional = |s: &Seen| s.headers.contains_key("if-none-match");
    eventually("it asks conditionally", SOON, || async { provider.seen().iter().any(conditional).then_some(()) }).await;
    let new = yard.rotates();
    arrives(&provider, &new).await;
    let first = provider.seen().into_iter().find(|s| s.key == new).expect("it arrived");
    assert!(!conditional(&first), "another account may have another list under the same tag");
    eventually("with its own readings it does", SOON, || async {
        provider.seen().iter().any(|s| s.key == new && conditional(s)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f1_two_connections_that_come_to_one_key_share_its_budget() {
    let provider = counting(CountedBy::Key).await;
    let link = |name: &str, variable: &str| {
        let link = Connection::irrigation(name, &provider.base_url()).no_limits().limit_text(FOUR).every("1s");
        link.min_age("0s").secret_in(variable)
    };
    let config = Config::new().with(link("yard", "YARD_KEY")).with(link("back", "BACK_KEY"));
    let shared = config.environment["BACK_KEY"].clone();
    let app = begun(TestApp::prepared(config)).await;
    app.has_polled("yard", "controller").await;
    app.has_polled("back", "controller").await;
    app.send(Ask::new("PUT", API).token(app.token()).json(&json!({ "secret": shared }))).await.expect(200);
    let before = provider.seen().iter().filter(|s| s.key == shared).count();
    eventually("both go on with it", 2 * SOON, || async {
        let of = provider.seen().iter().filter(|s| s.key == shared).count();
        (of >= before + 5).then_some(())
    })
    .await;
    provider.was_never_over();
    let (yard, back) = (used(&app.connection("yard").await), used(&app.connection("back").await));
    assert!(yard.abs_diff(back) <= 1, "one budget: {yard} and {back}");
}
