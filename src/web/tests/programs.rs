//! What other programs read, and what they are told to read it by.

use super::*;
use crate::engine::items::withheld;
use crate::engine::view::FieldShown;

#[tokio::test]
async fn one_flat_document_has_every_value_by_its_name() {
    let site = Site::loopback(Sample::calm());
    let flat = json(site.get("/api/v1/ha").await).await;
    let values = flat.as_object().unwrap();
    assert!(values.values().all(|v| !v.is_object() && !v.is_array()), "flat: {flat}");
    assert!(
        values.keys().all(|k| k.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')),
        "{flat}"
    );
    assert_eq!((&flat["yard__state"], &flat["yard__problem"]), (&"fresh".into(), &false.into()));
    let view = json(site.get("/api/v1/connections/yard").await).await;
    assert_eq!(flat["yard__remaining"], view["budget"][0]["remaining"]);
    assert!(flat["yard__resets_at"].is_string(), "{flat}");
    let target = json(site.get("/api/v1/connections/yard/targets/controller").await).await;
    for word in ["state", "age_seconds", "as_of", "available"] {
        assert_eq!(flat[format!("yard__controller__{word}")], target[word], "{word}");
    }
    assert_eq!(flat["yard__controller__count"], target["item_count"]);
    let item = &target["items"][0];
    let at = |word: &str| &flat[format!("yard__controller__{}__{word}", item["key"].as_str().unwrap())];
    assert_eq!((at("title"), at("state")), (&item["title"], &item["state"]));
    assert_eq!(at("next_run"), &item["fields"]["next_run"]);
}

/// A number that is too old is worse than none: it is null, under the key that it always has.
#[tokio::test]
async fn what_is_too_old_has_its_key_and_no_value() {
    let fresh = json(Site::loopback(Sample::calm()).get("/api/v1/ha").await).await;
    let mut sample = Sample::calm();
    let controller = &mut sample.targets[0];
    controller.available = false;
    controller.items = std::mem::take(&mut controller.items).into_iter().map(withheld).collect();
    assert!(controller.items.iter().any(|i| i.fields.iter().any(|(_, v)| *v == FieldShown::Unknown)));
    let expired = json(Site::loopback(sample).get("/api/v1/ha").await).await;
    let keys = |flat: &Value| flat.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&expired), keys(&fresh), "keys stay");
    let of_items = |k: &&String| k.starts_with("yard__controller__") && k.matches("__").count() == 3;
    let keys = keys(&expired);
    let told: Vec<&String> = keys.iter().filter(of_items).filter(|k| !k.ends_with("__title")).collect();
    assert!(!told.is_empty() && told.iter().all(|k| expired[k.as_str()].is_null()), "{expired}");
    assert_eq!(
        (&expired["yard__controller__available"], &expired["yard__controller__count"]),
        (&false.into(), &Value::Null)
    );
    assert!(expired["yard__controller__as_of"].is_string(), "when it was is no secret");
}

#[tokio::test]
async fn an_organization_reads_its_own_values_alone() {
    let site = Site::at(Listener::Network, Sample::two_organizations());
    let read = |path: &'static str| {
        let request = ask(Method::GET, path, &[("authorization", "Bearer north-token")]).body(Body::empty()).unwrap();
        site.send(request)
    };
    let own = json(read("/api/v1/ha").await).await;
    assert!(
        own.as_object().unwrap().keys().all(|k| k.starts_with("cellar__")) && own["cellar__state"].is_string(),
        "{own}"
    );
    assert_eq!(read("/api/v1/ha?organization=default").await.status(), StatusCode::FORBIDDEN);
}

/// What stands in one of the boxes, as it is copied.
fn snippets(page: &str) -> Vec<String> {
    let boxes = page.split("<pre class=\"snippet\" tabindex=\"0\"><code>").skip(1);
    let texts = boxes.filter_map(|rest| rest.split("</code>").next());
    let plain =
        |text: &str| text.replace("&#34;", "\"").replace("&#39;", "'").replace("&#60;", "<").replace("&#38;", "&");
    texts.map(plain).collect()
}

#[tokio::test]
async fn a_target_says_how_other_programs_read_it() {
    let site = Site::loopback(Sample::calm());
    let told = snippets(&site.page("/c/yard/t/controller").await);
    let [curl, home_assistant, prometheus, queries, grafana] = told.as_slice() else { panic!("{told:#?}") };
    assert_eq!(curl, "curl -sS 'http://127.0.0.1:8474/api/v1/connections/yard/targets/controller'");
    assert!(home_assistant.contains("resource: \"http://127.0.0.1:8474/api/v1/ha\""), "{home_assistant}");
    let flat = json(site.get("/api/v1/ha").await).await;
    let keys = home_assistant.split("value_json['").skip(1).filter_map(|rest| rest.split('\'').next());
    let unknown: Vec<&str> = keys.filter(|key| flat.get(key).is_none()).collect();
    assert!(unknown.is_empty() && home_assistant.matches("unique_id").count() > 5, "{unknown:?}");
    assert!(
        prometheus.contains("metrics_path: \"/metrics\"") && prometheus.contains("[\"127.0.0.1:8474\"]"),
        "{prometheus}"
    );
    let metrics = site.page("/metrics").await;
    for query in queries.lines() {
        let labels = query.split_once('{').unwrap();
        let label = labels.1.trim_end_matches('}').replace(", ", ",");
        assert!(metrics.lines().any(|l| l.starts_with(labels.0) && l.contains(&label)), "{query}");
    }
    let grafana: Value = serde_json::from_str(grafana).unwrap();
    assert_eq!(grafana["url"], curl.split('\'').nth(1).unwrap());
    assert!(!told.iter().any(|text| text.contains("LARDER_TOKEN")), "reading is open here: {told:#?}");
}

/// The address is the reader's own: behind a prefix, of an organization, by TLS, and with a place for a token.
#[tokio::test]
async fn snippets_have_the_address_that_the_reader_uses() {
    let site = Site::at(Listener::Network, Sample::two_organizations());
    let headers = [
        ("accept", "text/html"),
        ("authorization", "Bearer north-token"),
        ("x-forwarded-prefix", "/larder"),
        ("x-forwarded-proto", "https"),
    ];
    let request = ask(Method::GET, "/c/cellar/t/up?organization=north", &headers).body(Body::empty()).unwrap();
    let told = snippets(&text(site.send(request).await).await);
    let url = "https://127.0.0.1:8474/larder/api/v1/connections/cellar/targets/up?organization=north";
    assert_eq!(told[0], format!("curl -sS -H \"Authorization: Bearer $LARDER_TOKEN\" '{url}'"));
    assert!(
        told[1].contains("resource: \"https://127.0.0.1:8474/larder/api/v1/ha?organization=north\""),
        "{}",
        told[1]
    );
    assert!(told[1].contains("Authorization: \"Bearer LARDER_TOKEN\""), "{}", told[1]);
    assert!(told[2].contains("scheme: https") && told[2].contains("\"/larder/metrics\""), "{}", told[2]);
    assert!(told[4].contains("Bearer LARDER_TOKEN"), "{}", told[4]);
}
