//! Setup in the browser: a connection comes of a recipe, is tried with its cost told, and is saved; words are tried on the answer that is kept, which
//! costs nothing; the configuration goes out and in as one text, and no secret with it.

use crate::support::http::Reply;
use crate::support::secret::new_secret;
use crate::support::*;
use serde_json::{Value, json};

/// A provider of irrigation as a recipe of the user's own, and an appliance that has one connection in its file.
async fn ready(provider: &FakeProvider) -> TestApp {
    let quiet = Connection::plain("other", "http://127.0.0.1:9").not_polled();
    let mut app = TestApp::prepared(Config::new().with(quiet));
    app.has_a_recipe(&provider.base_url());
    app.boots().await;
    app.makes_a_token().await;
    app
}

/// The form of this address on a page, filled in.
pub async fn sends(app: &TestApp, page: &str, action: &str, fields: &[(&str, &str)]) -> Reply {
    let body = app.get(page).await.expect(200).body;
    fill(app, &body, action, fields).await
}

async fn fill(app: &TestApp, body: &str, action: &str, fields: &[(&str, &str)]) -> Reply {
    let forms = body.split("<form ").skip(1).filter_map(|form| form.split("</form>").next());
    let resolved = |form: &str| {
        let relative = form.split("action=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        format!("/{}", relative.trim_start_matches("../"))
    };
    let form =
        forms.into_iter().find(|form| resolved(form) == action).unwrap_or_else(|| panic!("no {action} in {body}"));
    let mut pairs = vec![("csrf", http::own_field(form)), ("token", app.token())];
    pairs.extend(fields);
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    app.send(Ask::post(action).form(&body)).await
}

/// The page of the trial, its lengths with plain spaces.
async fn read(app: &TestApp) -> String {
    app.get("/c/pool/setup").await.expect(200).body.replace('\u{a0}', " ")
}

async fn tried(app: &TestApp, fields: &[(&str, &str)]) -> String {
    sends(app, "/c/pool/setup", "/c/pool/setup/test", fields).await.expect(303);
    read(app).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_comes_of_a_recipe_is_tried_with_its_cost_told_and_is_saved() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = ready(&provider).await;
    let key = new_secret();
    app.is_given(&key);
    let page = app.get("/setup").await.expect(200).body;
    assert!(page.contains("Zones of a sprinkler.") && page.contains("in <code>larder.toml</code>"), "{page}");
    assert!(page.len() < 50_000, "{} bytes", page.len());
    let form = [("name", "pool"), ("secret", key.as_str()), ("interval", "")];
    let added = sends(&app, "/setup/sprinkler", "/setup/sprinkler", &form).await.expect(303);
    assert_eq!(added.header("location"), Some("../c/pool/setup"));
    stays("adding sends nothing, and on trial nothing is polled", 0, secs(3), || provider.count()).await;

    let page = read(&app).await;
    assert!(page.contains("Uses 1 of 5 that are left of status, 5 in 10 s."), "{page}");
    assert!(page.contains("Once it is saved it asks every 2 s"), "{page}");
    let page = tried(&app, &[("target", "controller")]).await;
    assert_eq!((provider.count(), provider.seen()[0].key.as_str()), (1, key.as_str()));
    assert!(page.contains("Uses 1 of 4 that are left") && page.contains("3 items") && page.contains("Lawn"), "{page}");
    assert_eq!(app.ledger("pool").await[0]["caller"], "probe", "it was paid for");
    assert!(app.target("pool", "controller").await["as_of"].is_null(), "the shelf is not touched");
    let flat = async |app: &TestApp| app.get("/api/v1/ha").await.expect(200).json();
    let told = flat(&app).await;
    assert!(told.get("other__state").is_some() && told.get("pool__state").is_none(), "on trial it is nobody's: {told}");

    sends(&app, "/c/pool/setup", "/c/pool/setup/save", &[]).await.expect(303);
    app.has_polled("pool", "controller").await;
    assert_eq!(flat(&app).await["pool__state"], "fresh");
    let activity = app.get("/api/v1/activity").await.expect(200).body;
    assert!(activity.contains("connection pool added by tests (page, 127.0.0.1), on trial"), "{activity}");
    assert!(activity.contains("connection pool saved by tests (page, 127.0.0.1)"), "{activity}");

    // The data file has it: over a crash, and a file that is read anew.
    app.crash().await;
    app.rereads();
    let asked = provider.count();
    provider.has_seen(asked + 2, 3 * SOON).await;
    assert!(provider.seen().iter().all(|s| s.key == key));
    provider.was_never_over();
    for path in
        ["/setup", "/setup/larder.toml", "/c/pool/setup", "/c/pool", "/api/v1/connections/pool", "/api/v1/activity"]
    {
        let reply = app.send(Ask::get(path).token(app.token())).await.expect(200);
        let leak = secret::find(format!("{:?}{}", reply.headers, reply.body).as_bytes(), &key);
        assert!(leak.is_none(), "{path}: {leak:?}");
    }

    sends(&app, "/c/pool/setup", "/c/pool/setup/discard", &[]).await.expect(303);
    app.get("/c/pool").await.expect(404);
    stays("what was taken away is not asked", provider.count(), secs(3), || provider.count()).await;
    app.restart().await;
    app.get("/c/pool").await.expect(404);
    // Whoever adds it again has to bring a credential: the old one is forgotten.
    let form = [("name", "pool"), ("secret", "")];
    sends(&app, "/setup/sprinkler", "/setup/sprinkler", &form).await.expect(303);
    let page = app.get("/c/pool/setup").await.expect(200).body;
    assert!(page.contains("It has no credential yet"), "{page}");
    sends(&app, "/c/pool/setup", "/c/pool/setup/save", &[]).await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_tried_on_the_answer_that_is_kept_and_that_costs_nothing() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut app = ready(&provider).await;
    let key = new_secret();
    app.is_given(&key);
    sends(&app, "/setup/sprinkler", "/setup/sprinkler", &[("name", "pool"), ("secret", &key)]).await.expect(303);
    tried(&app, &[("target", "controller")]).await;
    let edit = "/c/pool/t/controller/edit";
    let page = app.get(edit).await.expect(200).body;
    assert!(page.contains("statusschedule.php") && page.contains("Lawn"), "{page}");
    let other =
        "get = \"/statusschedule.php\"\nitems = \"$.relays[*]\"\nkey = \"$.relay_id\"\ntitle = \"$.relay_id\"\n";
    let page = sends(&app, edit, edit, &[("words", other)]).await.expect(200).body;
    assert!(page.contains("3 items") && !page.contains("Lawn <code>"), "{page}");
    let wrong = sends(&app, edit, edit, &[("words", "items = \"$.[\"\nkey = \"$.id\"\n")]).await.expect(200).body;
    assert!(wrong.contains("role=\"alert\""), "{wrong}");
    sends(&app, edit, edit, &[("words", "get = \"x\""), ("save", "true")]).await.expect(422);
    assert_eq!(provider.count(), 1, "trying costs nothing");
    sends(&app, edit, edit, &[("words", other), ("save", "true")]).await.expect(303);
    let page = app.get(edit).await.expect(200).body;
    assert!(page.contains("title = &#34;$.relay_id&#34;") || page.contains("title = &quot;$.relay_id&quot;"), "{page}");
    assert_eq!(provider.count(), 1, "saving costs nothing");
    // What the file says is changed there.
    let refused = app.send(Ask::post("/c/other/setup/discard").token(app.token())).await;
    assert!(refused.status >= 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_goes_out_and_in_as_one_text_without_a_secret() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let mut one = ready(&provider).await;
    let key = new_secret();
    one.is_given(&key);
    sends(&one, "/setup/sprinkler", "/setup/sprinkler", &[("name", "pool"), ("secret", &key)]).await.expect(303);
    sends(&one, "/c/pool/setup", "/c/pool/setup/save", &[]).await.expect(303);
    one.send(Ask::get("/setup/larder.toml")).await.expect(403);
    let text = one.larder_here(&["config", "export"]).await.expect(0).stdout;
    assert!(text.contains("name = \"pool\"") && text.contains("sealed = true") && !text.contains(&key), "{text}");

    let two = ready(&provider).await;
    let file = two.folder().join("other.toml");
    std::fs::write(&file, &text).expect("the test's own folder");
    let file = file.display().to_string();
    let said = two.larder_here(&["config", "import", &file, "--dry-run"]).await.expect(0);
    assert!(
        said.stdout.contains("pool: would be added, on trial") && said.stdout.contains("other: stands in larder.toml"),
        "{said:?}"
    );
    two.get("/c/pool").await.expect(404);
    let said = two.larder_here(&["config", "import", &file]).await.expect(0);
    assert!(said.stderr.contains("[server] is not taken in"), "{said:?}");
    let page = two.get("/c/pool/setup").await.expect(200).body;
    assert!(page.contains("It has no credential yet"), "{page}");
    two.send(Ask::new("PUT", "/api/v1/connections/pool/credential").token(two.token()).json(&json!({ "secret": key })))
        .await
        .expect(200);
    sends(&two, "/c/pool/setup", "/c/pool/setup/save", &[]).await.expect(303);
    two.has_polled("pool", "controller").await;
    let again = two.larder_here(&["config", "export"]).await.expect(0).stdout;
    let connections = |text: &str| text.matches("[[connection]]").count();
    assert_eq!(connections(&again), connections(&text));

    // In the browser: first a look, then in. What names a place to read a secret from does not bring it along.
    let thief = "[[connection]]\nname = \"thief\"\nrecipe = \"sprinkler\"\ncredential = { file = \"/etc/hostname\" }\n";
    let looked = sends(&two, "/setup", "/setup/larder.toml", &[("text", thief)]).await.expect(200).body;
    assert!(looked.contains("a new connection, on trial") && looked.contains("does not come along"), "{looked}");
    two.get("/c/thief").await.expect(404);
    fill(&two, &looked, "/setup/larder.toml", &[("text", thief), ("take", "true")]).await.expect(200);
    let page = two.get("/c/thief/setup").await.expect(200).body;
    assert!(page.contains("It has no credential yet"), "{page}");
    let view: Value = two.connection("thief").await;
    assert_eq!(view["enabled"], false);
}

/// Lines in what a form says become no header, neither of the answer nor of what the provider is asked with, and no words of the configuration.
#[tokio::test(flavor = "multi_thread")]
async fn lines_in_the_fields_of_a_recipe_are_refused() {
    let provider = FakeProvider::limited(5, secs(10)).await;
    let app = ready(&provider).await;
    let lines = "pool\r\nSet-Cookie: evil=1\r\n\r\n[server]\nlisten = \"0.0.0.0:1\"";
    for field in ["name", "secret", "interval"] {
        let value = |name: &str, plain: &'static str| if name == field { lines.to_owned() } else { plain.to_owned() };
        let (name, secret, interval) = (value("name", "pool"), value("secret", "a-plain-key"), value("interval", ""));
        let form = [("name", name.as_str()), ("secret", secret.as_str()), ("interval", interval.as_str())];
        let reply = sends(&app, "/setup/sprinkler", "/setup/sprinkler", &form).await;
        assert!((400..500).contains(&reply.status), "{field}: {} {}", reply.status, reply.body);
        assert_eq!(reply.header("set-cookie"), None, "{field}");
        app.get("/c/pool").await.expect(404);
    }
    assert_eq!(provider.count(), 0);
}
