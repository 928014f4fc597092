//! `[[connection.webhook]]`: who is told of a connection's events. Knows keys; what is sent, and when again, is for `crate::rules::delivery`.

use super::place::{Placed, Problems, Slot, suggestion};
use super::section::Section;
use super::{draft, words};
use crate::domain::event::EventKind;
use crate::domain::ids::WebhookName;
use crate::domain::spec::SecretSource;
use crate::domain::time::Span;
use crate::domain::webhook::{WebhookForm, WebhookSpec, WebhookUrl};
use std::path::Path;

pub(super) const WEBHOOK: [&str; 8] = ["name", "kind", "url", "secret", "events", "timeout", "settle", "click"];
pub(super) const REFERENCE: [&str; 2] = ["env", "file"];
const TIMEOUT: Span = Span::from_secs(10);
const LONGEST_TIMEOUT: Span = Span::from_secs(60);
/// Of notifications for people, unless said.
const SETTLE: Span = Span::from_secs(30);
const LONGEST_SETTLE: Span = Span::from_secs(3600);

pub(super) fn read(section: &Section<'_>, folder: &Path, p: &mut Problems) -> Vec<Placed<Option<WebhookSpec>>> {
    let sections = section.tables("webhook", p);
    let read = |hook: Section<'_>| Placed { value: read_one(&hook, folder, p), place: hook.place.clone() };
    sections.into_iter().map(read).collect()
}

fn read_one(section: &Section<'_>, folder: &Path, p: &mut Problems) -> Option<WebhookSpec> {
    section.only(&WEBHOOK, &[], p);
    let at = &section.place;
    let name = section.parsed("name", p, words::name).required(at, "name", "how the webhook is called", p);
    let form = read_form(section, p);
    let url = read_url(section, folder, p);
    check_topic(section, &form, &url, p);
    let secret = match section.has("secret") {
        true => read_reference(section, "secret", folder, p),
        false => Slot::Set(Placed { value: SecretSource::None, place: at.clone() }),
    };
    let events = section.texts("events", p).checked(p, |words| wrong_kind(words)).value();
    let kinds = events.map(|words| words.iter().filter_map(|word| EventKind::from_word(word)).collect());
    let too_long = |span: &Span| (*span > LONGEST_TIMEOUT).then(|| format!("must be at most {LONGEST_TIMEOUT}"));
    let timeout = section.span("timeout", p).checked(p, too_long).unwrap_or(TIMEOUT);
    let (usual, settle) = match form {
        WebhookForm::Event => (WebhookSpec::every_kind(), Span::ZERO),
        WebhookForm::Ntfy { .. } => (vec![EventKind::StateChanged], SETTLE),
    };
    let too_long = |span: &Span| (*span > LONGEST_SETTLE).then(|| format!("must be at most {LONGEST_SETTLE}"));
    let settle = section.span_or_zero("settle", p).checked(p, too_long).unwrap_or(settle);
    Some(WebhookSpec {
        name: WebhookName(name?),
        url: url?,
        form,
        secret: secret.value()?,
        events: kinds.unwrap_or(usual),
        timeout,
        settle,
    })
}

fn read_form(section: &Section<'_>, p: &mut Problems) -> WebhookForm {
    let word = section.parsed("kind", p, |word| match WebhookForm::WORDS.contains(&word) {
        true => Ok(word.to_owned()),
        false => Err(format!("{word:?} is unknown; there is: {}", WebhookForm::WORDS.join(", "))),
    });
    let click = section.parsed("click", p, address);
    match word.value().as_deref() {
        Some("ntfy") => WebhookForm::Ntfy { click: click.value() },
        _ => {
            if section.has("click") {
                p.add(
                    &section.place_of("click"),
                    "means something with kind = \"ntfy\" alone; remove it, or say that kind",
                );
            }
            WebhookForm::Event
        }
    }
}

/// Behind the host of an ntfy server stands the topic that is told.
fn check_topic(section: &Section<'_>, form: &WebhookForm, url: &Option<WebhookUrl>, p: &mut Problems) {
    let (WebhookForm::Ntfy { .. }, Some(WebhookUrl::Plain(text))) = (form, url) else { return };
    let path = url::Url::parse(text).map(|url| url.path().trim_matches('/').to_owned()).unwrap_or_default();
    if path.is_empty() {
        p.add(&section.place_of("url"), "has no topic behind its host, as in \"https://ntfy.example.test/larder\"");
    }
}

/// `"http://127.0.0.1:9000/larder"`, or where it lies: `{ env = "NAME" }`, `{ file = "PATH" }`.
fn read_url(section: &Section<'_>, folder: &Path, p: &mut Problems) -> Option<WebhookUrl> {
    if section.word("url").is_some() {
        return section.parsed("url", p, address).value().map(WebhookUrl::Plain);
    }
    if !section.has("url") {
        p.add(
            &section.place.below("url"),
            "is missing: where the events are posted to, such as \"http://127.0.0.1:9000/larder\"",
        );
        return None;
    }
    read_reference(section, "url", folder, p).value().map(WebhookUrl::Secret)
}

/// An address that can be posted to. Whoever knows it may need no password, but one in front of the host would be shown.
pub(super) fn address(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).map_err(|e| format!("is no address ({e})"))?;
    match url.scheme() {
        "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
            Err("has a name or a password in front of the host; put the whole address into a file or a variable: \
                 url = { env = \"NAME\" }"
                .to_owned())
        }
        "http" | "https" => Ok(text.to_owned()),
        _ => Err("must begin with http:// or https://".to_owned()),
    }
}

fn read_reference(section: &Section<'_>, key: &str, folder: &Path, p: &mut Problems) -> Slot<SecretSource> {
    const BY_REFERENCE: &str = "must not hold the secret itself: put it into an environment variable or a file that only \
                                Larder can read, and name that here: { env = \"NAME\" } or { file = \"PATH\" }";
    if section.word(key).is_some() {
        p.add(&section.place_of(key), BY_REFERENCE);
        return Slot::Bad;
    }
    let Some(table) = section.table(key, p) else { return Slot::Bad };
    table.only(&REFERENCE, &[], p);
    match draft::read_source(&table, folder, p) {
        Slot::Absent => {
            p.add(&table.place, "does not say where it lies: { env = \"NAME\" } or { file = \"PATH\" }");
            Slot::Bad
        }
        source => source,
    }
}

fn wrong_kind(words: &[String]) -> Option<String> {
    let known: Vec<&str> = WebhookSpec::every_kind().into_iter().map(EventKind::word).collect();
    if words.is_empty() {
        return Some("is empty; leave it out to be told of everything".to_owned());
    }
    let unknown = words.iter().find(|word| !known.contains(&word.as_str()))?;
    Some(match EventKind::from_word(unknown) {
        Some(_) => format!("{unknown:?} is not kept, or not of a connection, and so is sent nowhere"),
        None => format!("{unknown:?} is unknown{}", suggestion(unknown, &known)),
    })
}
