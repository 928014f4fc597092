//! `credential = { ..., oauth2 = { ... } }`: which keys belong to the recipe, which to the connection, and what has to be there.

use super::draft::Origin;
use super::place::{Place, Problems, Slot, suggestion};
use super::section::Section;
use super::words;
use crate::domain::oauth::{ClientAuth, Counted, OAuthSpec, Rotation};
use crate::domain::spec::SecretSource;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

pub(super) const OAUTH: [&str; 8] =
    ["token_url", "client_id", "client_secret", "scope", "auth", "rotates", "charged", "account"];
pub(super) const CLIENT_SECRET: [&str; 3] = ["env", "file", "sealed"];

/// Every key may be absent: some are the recipe's.
#[derive(Clone, Debug)]
pub(super) struct OAuthDraft {
    place: Place,
    token_url: Slot<String>,
    client_id: Slot<String>,
    client_secret: Slot<SecretSource>,
    scope: Slot<String>,
    auth: Slot<ClientAuth>,
    rotation: Slot<Rotation>,
    counted: Slot<Counted>,
    account: Slot<String>,
}

pub(super) fn read(table: &Section<'_>, origin: Origin, folder: &Path, p: &mut Problems) -> Option<OAuthDraft> {
    let section = table.table("oauth2", p)?;
    section.only(&OAUTH, &[], p);
    if origin == Origin::Recipe {
        for key in ["client_id", "client_secret", "account"].into_iter().filter(|key| section.has(key)) {
            p.add(&section.place_of(key), "is not for a recipe: it is the connection's own");
        }
    }
    Some(OAuthDraft {
        place: section.place.clone(),
        token_url: section.parsed("token_url", p, token_url),
        client_id: section.text("client_id", p),
        client_secret: read_client_secret(&section, folder, p),
        scope: section.text("scope", p),
        auth: section.parsed("auth", p, |text| match text {
            "basic" => Ok(ClientAuth::Basic),
            "body" => Ok(ClientAuth::Body),
            _ => Err(format!("{text:?} is unknown{}", suggestion(text, &["basic", "body"]))),
        }),
        rotation: flag(section.flag("rotates", p), Rotation::Rotates, Rotation::Keeps),
        counted: flag(section.flag("charged", p), Counted::Budget, Counted::Apart),
        account: section.parsed("account", p, words::name),
    })
}

fn read_client_secret(section: &Section<'_>, folder: &Path, p: &mut Problems) -> Slot<SecretSource> {
    if section.word("client_secret").is_some() {
        let by_reference =
            "must not hold the secret itself: write client_secret = { env = \"NAME\" } or { file = \"PATH\" }";
        p.add(&section.place_of("client_secret"), by_reference);
        return Slot::Bad;
    }
    let Some(secret) = section.table("client_secret", p) else { return Slot::Absent };
    secret.only(&CLIENT_SECRET, &[], p);
    super::draft::read_source(&secret, folder, p)
}

fn flag<T>(slot: Slot<bool>, yes: T, no: T) -> Slot<T> {
    slot.map(|is| if is { yes } else { no })
}

/// Tokens do not travel in the clear, except inside this machine.
fn token_url(text: &str) -> Result<String, String> {
    let url = words::base_url(text)?;
    let parsed = url::Url::parse(&url).map_err(|e| format!("is no address ({e})"))?;
    let stays_here = match parsed.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
        Some(url::Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
        None => false,
    };
    match parsed.scheme() == "https" || stays_here {
        true => Ok(url),
        false => Err("must begin with https://; a refresh token does not travel in the clear".to_owned()),
    }
}

impl OAuthDraft {
    pub fn over(self, recipe: OAuthDraft) -> OAuthDraft {
        OAuthDraft {
            place: self.place,
            token_url: self.token_url.or(recipe.token_url),
            client_id: self.client_id,
            client_secret: self.client_secret,
            scope: self.scope.or(recipe.scope),
            auth: self.auth.or(recipe.auth),
            rotation: self.rotation.or(recipe.rotation),
            counted: self.counted.or(recipe.counted),
            account: self.account,
        }
    }

    pub fn finish(self, p: &mut Problems) -> Option<OAuthSpec> {
        let at = &self.place;
        let token_url = self.token_url.required(
            at,
            "token_url",
            "where tokens are refreshed, such as \"https://auth.example.test/token\"",
            p,
        );
        let client_id = self.client_id.required(at, "client_id", "what the provider calls this client", p);
        Some(OAuthSpec {
            token_url: token_url?,
            client_id: client_id?,
            client_secret: self.client_secret.unwrap_or(SecretSource::None),
            scope: self.scope.value(),
            auth: self.auth.unwrap_or_default(),
            rotation: self.rotation.unwrap_or_default(),
            counted: self.counted.unwrap_or_default(),
            account: self.account.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::token_url;

    #[test]
    fn only_this_machine_may_be_asked_for_tokens_in_the_clear() {
        for url in ["https://a.test/t", "http://localhost:80/t", "http://127.0.0.1:8080/t", "http://[::1]:8080/t"] {
            assert!(token_url(url).is_ok(), "{url}");
        }
        for url in [
            "http://a.test/t",
            "http://[::ffff:8.8.8.8]/t",
            "http://[::2]/t",
            "http://localhost.a.test/t",
            "http://localhost:x@a.test/t",
        ] {
            assert!(token_url(url).is_err(), "{url}");
        }
    }
}
