//! Posts a connection's events to its webhooks. Not a way to a provider: it has no credential to attach and refuses to go where the door
//! goes. Knows reqwest, the signatures of Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`) and the topics of ntfy; must
//! not know what an event is, nor when it is sent again.

use super::boundary::Secrets;
use super::clients::{plain_client, use_ring};
use super::fault;
use super::redact::{Redactor, Secret};
use crate::clock::Clock;
use crate::domain::ids::{ConnectionKey, WebhookKey};
use crate::domain::spec::ConnectionSpec;
use crate::domain::time::{Span, Wall};
use crate::domain::webhook::{WebhookForm, WebhookSpec, WebhookUrl};
use crate::rules::calendar;
use crate::rules::delivery::Heard;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use ring::hmac;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// In front of a secret that is base64 of the key's bytes; any other is the key itself.
const ENCODED: &str = "whsec_";

const OF_A_PROVIDER: &str = "its address is that of a provider; what is sent there would be counted by nobody";

/// One message, as it is signed and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The same in every attempt: by it a receiver knows what it has seen.
    pub id: String,
    /// Of this attempt.
    pub at: Wall,
    /// JSON. To a server of ntfy goes its topic with it.
    pub body: Map<String, Value>,
}

/// All webhooks of a configuration.
pub struct Messenger {
    ways: RwLock<BTreeMap<WebhookKey, Way>>,
    /// Where nothing may be posted to: it would be counted by nobody.
    providers: RwLock<BTreeMap<ConnectionKey, Url>>,
    plain: Client,
    /// Set up when the first webhook comes that uses https.
    tls: OnceLock<Client>,
    redactor: Redactor,
    clock: Arc<dyn Clock>,
}

/// Where a connection's webhooks are, looked at and not in force yet.
pub struct Addresses(BTreeMap<WebhookKey, Way>);

#[derive(Clone)]
struct Way {
    url: Url,
    proof: Proof,
    /// Of a server of ntfy.
    topic: Option<String>,
    timeout: Span,
}

/// By what a receiver knows that we sent it.
#[derive(Clone)]
enum Proof {
    None,
    Signature(hmac::Key),
    /// `Authorization`, marked as sensitive.
    Token(HeaderValue),
}

impl Messenger {
    /// The error is a sentence about the configuration.
    pub fn new(
        connections: &[ConnectionSpec],
        secrets: &Secrets,
        redactor: Redactor,
        clock: Arc<dyn Clock>,
    ) -> Result<Messenger, String> {
        use_ring();
        let address = |spec: &ConnectionSpec| Some((spec.key.clone(), Url::parse(&spec.base_url).ok()?));
        let providers: BTreeMap<_, _> = connections.iter().filter_map(address).collect();
        let plain = client().tls_certs_only([]).build();
        let plain = plain.map_err(|_| "The HTTP client for webhooks cannot be set up.".to_owned())?;
        let (ways, tls) = (RwLock::default(), OnceLock::new());
        let messenger = Messenger { ways, providers: RwLock::new(providers), plain, tls, redactor, clock };
        for spec in connections {
            let addresses = messenger.look_at(spec, secrets)?;
            messenger.take(spec, addresses);
        }
        Ok(messenger)
    }

    /// The webhooks of a connection that comes, or becomes another. The error is a sentence.
    pub(super) fn look_at(&self, spec: &ConnectionSpec, secrets: &Secrets) -> Result<Addresses, String> {
        let mut providers: Vec<Url> = self.providers().values().cloned().collect();
        providers.extend(Url::parse(&spec.base_url));
        let ways = ways_of(spec, secrets, &providers)?;
        let others = self.ways.read().unwrap_or_else(PoisonError::into_inner);
        let is_hit = |(key, way): &(&WebhookKey, &Way)| {
            key.connection != spec.key && providers.last().is_some_and(|own| own.origin() == way.url.origin())
        };
        if let Some((key, _)) = others.iter().find(is_hit) {
            return Err(format!("Webhook {key}: {OF_A_PROVIDER}."));
        }
        if self.tls.get().is_none() && ways.values().any(|way| way.url.scheme() == "https") {
            let secure = client().https_only(true).build().map_err(|_| {
                "A webhook uses https, but this machine has no certificate authorities to check its receiver with; install the \
                 package ca-certificates, or name a bundle in SSL_CERT_FILE."
                    .to_owned()
            })?;
            // Who comes second throws his away.
            let _ = self.tls.set(secure);
        }
        Ok(Addresses(ways))
    }

    /// They are in force, and no others of this connection.
    pub(super) fn take(&self, spec: &ConnectionSpec, addresses: Addresses) {
        let mut providers = self.providers.write().unwrap_or_else(PoisonError::into_inner);
        providers.extend(Url::parse(&spec.base_url).ok().map(|url| (spec.key.clone(), url)));
        let mut ways = self.ways.write().unwrap_or_else(PoisonError::into_inner);
        ways.retain(|key, _| key.connection != spec.key);
        ways.extend(addresses.0);
    }

    pub(super) fn forget(&self, connection: &ConnectionKey) {
        self.providers.write().unwrap_or_else(PoisonError::into_inner).remove(connection);
        self.ways.write().unwrap_or_else(PoisonError::into_inner).retain(|key, _| key.connection != *connection);
    }

    fn providers(&self) -> RwLockReadGuard<'_, BTreeMap<ConnectionKey, Url>> {
        self.providers.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The secrets of a connection's webhooks are these from now on. The error is a sentence, and nothing is another then.
    pub fn renew(&self, connection: &ConnectionSpec, secrets: &Secrets) -> Result<(), String> {
        secrets.addresses.values().chain(secrets.signing.values()).for_each(|secret| self.redactor.keep(secret));
        let addresses = self.look_at(connection, secrets)?;
        self.take(connection, addresses);
        Ok(())
    }

    fn way(&self, key: &WebhookKey) -> Option<Way> {
        self.ways.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// `scheme://host[:port]`: what may be shown of an address.
    pub fn shown(&self, key: &WebhookKey) -> Option<String> {
        self.way(key).map(|way| way.url.origin().ascii_serialization())
    }

    /// Posts once. Redirects are not followed: what was signed for one receiver is not for another.
    pub async fn deliver(&self, key: &WebhookKey, message: &Message) -> Heard {
        let Some(way) = self.way(key) else {
            return Heard::Nothing("it is not in the configuration".to_owned());
        };
        let client = if way.url.scheme() == "https" { self.tls.get() } else { Some(&self.plain) };
        let Some(client) = client else { return Heard::Nothing("it was set up without TLS".to_owned()) };
        let until = self.clock.now().steady + way.timeout;
        let answer = tokio::select! {
            answer = client.execute(way.request(message)) => answer,
            () = self.clock.sleep_until(until) => {
                return Heard::Nothing(format!("no answer within {}", way.timeout));
            }
        };
        match answer {
            Ok(response) => heard(&response, self.clock.now().wall()),
            Err(error) if error.is_connect() => self.nothing(&fault::connect_words(&error)),
            Err(error) => self.nothing(&fault::before_body(&error).1),
        }
    }

    fn nothing(&self, words: &str) -> Heard {
        Heard::Nothing(self.redactor.text(words.trim_end_matches('.')).into_owned())
    }
}

/// The webhooks of a connection. None leads to a provider.
fn ways_of(spec: &ConnectionSpec, secrets: &Secrets, providers: &[Url]) -> Result<BTreeMap<WebhookKey, Way>, String> {
    let mut ways = BTreeMap::new();
    for hook in &spec.webhooks {
        let key = WebhookKey { connection: spec.key.clone(), webhook: hook.name.clone() };
        let way = way(hook, &key, secrets).map_err(|why| format!("Webhook {key}: {why}."))?;
        if providers.iter().any(|provider| provider.origin() == way.url.origin()) {
            return Err(format!("Webhook {key}: {OF_A_PROVIDER}."));
        }
        ways.insert(key, way);
    }
    Ok(ways)
}

fn way(hook: &WebhookSpec, key: &WebhookKey, secrets: &Secrets) -> Result<Way, String> {
    let text = match &hook.url {
        WebhookUrl::Plain(text) => text.as_str(),
        WebhookUrl::Secret(_) => secrets.addresses.get(key).map(Secret::expose).unwrap_or_default(),
    };
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let mut url = url.ok_or("its address is none that begins with http:// or https:// and a host")?;
    let secret = secrets.signing.get(key);
    let (proof, topic) = match hook.form {
        WebhookForm::Event => (secret.map_or(Ok(Proof::None), |secret| signing(secret).map(Proof::Signature))?, None),
        WebhookForm::Ntfy { .. } => {
            let topic = take_topic(&mut url).ok_or("its address has no topic behind its host")?;
            (secret.map_or(Ok(Proof::None), token)?, Some(topic))
        }
    };
    Ok(Way { url, proof, topic, timeout: hook.timeout })
}

/// The last segment of the address of a topic: what is told goes as JSON to the server, beside it.
fn take_topic(url: &mut Url) -> Option<String> {
    let mut segments: Vec<String> = url.path_segments()?.filter(|s| !s.is_empty()).map(str::to_owned).collect();
    let topic = segments.pop()?;
    segments.push(String::new());
    url.set_path(&segments.join("/"));
    url.set_query(None);
    Some(topic)
}

fn token(secret: &Secret) -> Result<Proof, String> {
    let value = HeaderValue::from_str(&format!("Bearer {}", secret.expose()));
    let mut value = value.map_err(|_| "its token has signs that cannot travel in a header".to_owned())?;
    value.set_sensitive(true);
    Ok(Proof::Token(value))
}

/// The key that a secret stands for.
fn signing(secret: &Secret) -> Result<hmac::Key, String> {
    let text = secret.expose();
    let bytes = match text.strip_prefix(ENCODED) {
        Some(encoded) => {
            STANDARD.decode(encoded).map_err(|_| format!("what follows {ENCODED} in its secret is not base64"))?
        }
        None => text.as_bytes().to_vec(),
    };
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

/// `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`.
fn signature(key: &hmac::Key, id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut signed = hmac::Context::with_key(key);
    signed.update(format!("{id}.{timestamp}.").as_bytes());
    signed.update(body);
    format!("v1,{}", STANDARD.encode(signed.sign()))
}

impl Way {
    fn request(&self, message: &Message) -> reqwest::Request {
        let mut request = reqwest::Request::new(reqwest::Method::POST, self.url.clone());
        let timestamp = message.at.0.div_euclid(1000);
        let mut body = message.body.clone();
        body.extend(self.topic.clone().map(|topic| ("topic".to_owned(), topic.into())));
        let body = Value::Object(body).to_string().into_bytes();
        let signature = match &self.proof {
            Proof::Signature(key) => Some(signature(key, &message.id, timestamp, &body)),
            Proof::None | Proof::Token(_) => None,
        };
        let own = [
            ("webhook-id", Some(message.id.clone())),
            ("webhook-timestamp", Some(timestamp.to_string())),
            ("webhook-signature", signature),
        ];
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in own {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        if let Proof::Token(token) = &self.proof {
            headers.insert(AUTHORIZATION, token.clone());
        }
        *request.body_mut() = Some(body.into());
        request
    }
}

/// The head says it all: the body is not read.
fn heard(response: &Response, now: Wall) -> Heard {
    let told = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()).map(str::trim);
    let retry_after = told.and_then(|text| match text.parse::<u32>() {
        Ok(seconds) => Some(Span::from_secs(u64::from(seconds))),
        Err(_) => u64::try_from(calendar::http_date(text)?.0.checked_sub(now.0)?).ok().map(Span),
    });
    Heard::Status { status: response.status().as_u16(), retry_after }
}

/// One socket is kept for the next event.
fn client() -> reqwest::ClientBuilder {
    plain_client().pool_max_idle_per_host(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification.
    #[test]
    fn a_signature_is_the_one_that_receivers_know() {
        let key = signing(&Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()).unwrap()).unwrap();
        let signed = signature(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn the_topic_is_told_to_the_server_beside_it() {
        for (address, server, topic) in [
            ("https://ntfy.test/larder", "https://ntfy.test/", Some("larder")),
            ("http://[::1]:8080/below/larder/?x=1", "http://[::1]:8080/below/", Some("larder")),
            ("https://ntfy.test/", "https://ntfy.test/", None),
        ] {
            let mut url = Url::parse(address).unwrap();
            assert_eq!((take_topic(&mut url).as_deref(), url.as_str()), (topic, server));
        }
    }

    #[test]
    fn a_secret_that_only_looks_encoded_is_refused() {
        let secret = Secret::new("whsec_not base64!".to_owned()).unwrap();
        assert!(signing(&secret).unwrap_err().contains("not base64"));
        assert!(signing(&Secret::new("correct horse".to_owned()).unwrap()).is_ok());
    }
}
