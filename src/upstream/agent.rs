//! The way of an agent to its appliance: posts observations with its token. No way to a provider. Knows reqwest and the token; must not know what
//! it posts, nor when it is sent again.

use super::clients::{plain_client, use_ring};
use super::fault;
use crate::clock::Clock;
use crate::domain::time::Span;
use crate::rules::calendar::http_date;
use crate::rules::spool::Heard;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use std::path::Path;
use std::sync::Arc;

/// Below the address of an appliance.
const OBSERVATIONS: &str = "api/v1/intake/observations";
/// Nobody's results are longer.
const LONGEST_ANSWER: usize = 4 << 20;

pub struct Agent {
    client: Client,
    url: Url,
    /// Marked as sensitive.
    token: HeaderValue,
    clock: Arc<dyn Clock>,
}

impl Agent {
    /// `token_file`: its first line; else `token`. The error is a sentence, without the token.
    pub fn new(
        url: &str,
        token: Option<String>,
        token_file: Option<&Path>,
        clock: Arc<dyn Clock>,
    ) -> Result<Agent, String> {
        use_ring();
        let base = if url.ends_with('/') { url.to_owned() } else { format!("{url}/") };
        let base = Url::parse(&base).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let base =
            base.ok_or_else(|| format!("{url:?} is no address of an appliance, such as http://larder.local:8474"))?;
        let url = base.join(OBSERVATIONS).map_err(|_| format!("{url:?} is no address of an appliance"))?;
        let text = match token_file {
            Some(file) => std::fs::read_to_string(file)
                .map_err(|e| format!("The token cannot be read from {}: {e}.", file.display()))?,
            None => token.ok_or("There is no token; name its file with --token-file, or set LARDER_TOKEN.")?,
        };
        let line = text.lines().next().unwrap_or_default().trim();
        let token = HeaderValue::from_str(&format!("Bearer {line}")).ok().filter(|_| !line.is_empty());
        let mut token = token.ok_or("The token is empty, or has characters that no token has.")?;
        token.set_sensitive(true);
        let client =
            if url.scheme() == "https" { plain_client().https_only(true) } else { plain_client().tls_certs_only([]) };
        let client = client.build().map_err(|_| {
            "This machine has no certificate authorities to check the appliance with; install the package ca-certificates, or name a \
             bundle in SSL_CERT_FILE."
                .to_owned()
        })?;
        Ok(Agent { client, url, token, clock })
    }

    /// Posts once, and waits so long for all of the answer.
    pub async fn post(&self, body: String, within: Span) -> Heard {
        let until = self.clock.now().steady + within;
        let request = self.client.post(self.url.clone()).header(AUTHORIZATION, self.token.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let talk = async {
            match request.send().await {
                Ok(response) => self.heard(response).await,
                Err(error) if error.is_connect() => {
                    let origin = self.url.origin().ascii_serialization();
                    Heard::Nothing(format!("no connection to {origin}: {}", fault::connect_words(&error)))
                }
                Err(error) => Heard::Nothing(fault::before_body(&error).1),
            }
        };
        tokio::select! {
            heard = talk => heard,
            () = self.clock.sleep_until(until) => Heard::Nothing(format!("no answer within {within}")),
        }
    }

    async fn heard(&self, mut response: Response) -> Heard {
        let status = response.status().as_u16();
        let told = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()).map(str::trim);
        let now = self.clock.now().wall();
        let retry_after = told.and_then(|text| match text.parse::<u32>() {
            Ok(seconds) => Some(Span::from_secs(u64::from(seconds))),
            Err(_) => http_date(text).map(|at| at.since(now)),
        });
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= LONGEST_ANSWER => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Ok(Some(_)) => return Heard::Nothing("the answer is longer than any of Larder's".to_owned()),
                Err(_) => return Heard::Nothing("the answer broke off".to_owned()),
            }
        }
        Heard::Answer { status, retry_after, body: String::from_utf8_lossy(&body).into_owned() }
    }
}
