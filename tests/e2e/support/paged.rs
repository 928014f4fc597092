//! A fake provider of one long list, handed out page by page in every style. It keeps its own truth of the quota.

use super::quota::{CountedBy, Quota};
use super::wire::{header_lines, http, json, pairs, read_request};
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

struct Inner {
    rows: Vec<u64>,
    size: usize,
    quota: Option<Quota>,
    /// Pages, from 0, that are refused with 429.
    refused: Vec<usize>,
    /// The wait that a refusal names.
    retry_after: &'static str,
    /// The page, from 0, that names a next one although it is the first again.
    leads_back: Option<usize>,
    elsewhere: Option<String>,
    /// Whether nothing names a next page: neither key nor header is there.
    silent: bool,
    /// Whether the first page has an entity tag, over all rows.
    tagged: bool,
    conditional: usize,
    /// Rows belong to so many work orders in turn: `S0`, `S1`, and so on. 0: to nobody.
    orders: u64,
    /// What rows say behind their name.
    word: &'static str,
    /// The page, from 0, that is not answered.
    stalls: Option<usize>,
    seen: Vec<(Instant, String)>,
}

/// Dropping it closes the door.
pub struct PagedProvider {
    pub address: SocketAddr,
    inner: Arc<Mutex<Inner>>,
    door: tokio::task::JoinHandle<()>,
}

impl Drop for PagedProvider {
    fn drop(&mut self) {
        self.door.abort();
    }
}

impl PagedProvider {
    /// `rows` rows, numbered from 1, `size` on a page.
    pub async fn of(rows: u64, size: usize) -> PagedProvider {
        let inner = Inner {
            rows: (1..=rows).collect(),
            size,
            quota: None,
            refused: Vec::new(),
            retry_after: "7",
            leads_back: None,
            elsewhere: None,
            silent: false,
            tagged: false,
            conditional: 0,
            orders: 0,
            word: "",
            stalls: None,
            seen: Vec::new(),
        };
        let inner = Arc::new(Mutex::new(inner));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::clone(&inner);
        let door = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&shared), address));
            }
        });
        PagedProvider { address, inner, door }
    }

    pub fn limited(self, amount: usize, window: Duration) -> PagedProvider {
        self.lock().quota = Some(Quota::new(amount, window, CountedBy::Key));
        self
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no test panics while it holds the provider")
    }
    pub fn has(&self, rows: impl IntoIterator<Item = u64>) {
        self.lock().rows = rows.into_iter().collect();
    }
    pub fn refuses(&self, pages: &[usize]) {
        self.lock().refused = pages.to_vec();
    }
    /// Refusals name this wait from now on.
    pub fn says_to_wait(&self, retry_after: &'static str) {
        self.lock().retry_after = retry_after;
    }
    pub fn leads_back_at(&self, page: usize) {
        self.lock().leads_back = Some(page);
    }
    /// Next addresses stand at this origin.
    pub fn leads_to(&self, origin: &str) {
        self.lock().elsewhere = Some(origin.to_owned());
    }
    /// Whether pages have, from now on, neither the key nor the header that would name the next one.
    pub fn is_silent(&self, silent: bool) {
        self.lock().silent = silent;
    }
    /// The first page has an entity tag from now on.
    pub fn tags(&self) {
        self.lock().tagged = true;
    }
    /// Rows belong to so many work orders in turn.
    pub fn belongs_to(&self, orders: u64) {
        self.lock().orders = orders;
    }
    /// Rows say something else from now on.
    pub fn says(&self, word: &'static str) {
        self.lock().word = word;
    }
    /// This page is not answered; `None`: every page is, also those that wait.
    pub fn stalls_at(&self, page: Option<usize>) {
        self.lock().stalls = page;
    }
    /// Requests that asked conditionally.
    pub fn conditional(&self) -> usize {
        self.lock().conditional
    }
    /// Request lines, in the order of their arrival.
    pub fn seen(&self) -> Vec<String> {
        self.lock().seen.iter().map(|(_, line)| line.clone()).collect()
    }
    pub fn count(&self) -> usize {
        self.lock().seen.len()
    }
    /// When a request with this in its line arrived, each time.
    pub fn times_of(&self, part: &str) -> Vec<Instant> {
        self.lock().seen.iter().filter(|(_, line)| line.contains(part)).map(|(at, _)| *at).collect()
    }

    #[track_caller]
    pub fn was_never_over(&self) {
        let inner = self.lock();
        let quota = inner.quota.as_ref().expect("a provider with a quota");
        assert!(quota.is_within(), "over the limit: {:#?}", quota.violations());
    }
}

async fn serve(mut socket: TcpStream, inner: Arc<Mutex<Inner>>, address: SocketAddr) {
    let Some(head) = read_request(&mut socket).await else { return };
    let Some(location) = head.lines().next().and_then(|l| l.split(' ').nth(1)).map(str::to_owned) else { return };
    let headers: BTreeMap<String, String> = header_lines(&head).collect();
    let is_stalled = |inner: &Arc<Mutex<Inner>>| inner.lock().is_ok_and(|inner| inner.is_stalled(&location));
    if is_stalled(&inner) {
        // It was counted, and is answered as it is when the stalling ends.
        if let Ok(mut inner) = inner.lock() {
            inner.seen.push((Instant::now(), format!("{location} stalled")));
        }
        while is_stalled(&inner) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let answer = inner.lock().map(|mut inner| inner.answer(&location, &headers, address)).unwrap_or_default();
    let _ = socket.write_all(&answer).await;
    let _ = socket.shutdown().await;
}

impl Inner {
    fn is_stalled(&self, location: &str) -> bool {
        let (path, query) = location.split_once('?').unwrap_or((location, ""));
        let style = path.trim_start_matches("/v1/");
        style != "own" && self.stalls == Some(from(style, &pairs(query).collect(), self.size) / self.size.max(1))
    }

    /// The rows that are asked for: all, or those of the even (`project=0`) or the odd work orders.
    fn listed(&self, parameters: &BTreeMap<String, String>) -> Vec<u64> {
        let project = parameters.get("project").and_then(|project| project.parse::<u64>().ok());
        let is_asked = |id: &u64| project.is_none_or(|project| *id % self.orders.max(1) % 2 == project);
        self.rows.iter().copied().filter(is_asked).collect()
    }

    fn row(&self, id: u64) -> Value {
        let name = format!("row {id}{}", self.word);
        match self.orders {
            0 => value!({"id": id, "name": name}),
            n => value!({"id": id, "name": name, "order": format!("S{}", id % n)}),
        }
    }

    fn answer(&mut self, location: &str, headers: &BTreeMap<String, String>, address: SocketAddr) -> Vec<u8> {
        let at = Instant::now();
        self.seen.push((at, location.to_owned()));
        let (path, query) = location.split_once('?').unwrap_or((location, ""));
        let parameters: BTreeMap<String, String> = pairs(query).collect();
        let key = headers.get("authorization").cloned().unwrap_or_default();
        if self.quota.as_mut().is_some_and(|quota| !quota.arrives(&key, path, at)) {
            return http(429, &[("retry-after", "7")], b"Too Many Requests");
        }
        let style = path.trim_start_matches("/v1/");
        let size = parameters.get("size").and_then(|n| n.parse().ok()).unwrap_or(self.size).min(self.size);
        let from = from(style, &parameters, size);
        let page = from / size.max(1);
        if self.refused.contains(&page) {
            return http(429, &[("retry-after", self.retry_after)], b"Too Many Requests");
        }
        if style == "own" {
            let own = self.rows.iter().map(|id| self.row(*id));
            let own: Vec<Value> =
                own.filter(|row| row["order"].as_str() == parameters.get("order").map(String::as_str)).collect();
            return json(200, &[], &value!({ "rows": own }).to_string());
        }
        let all = self.listed(&parameters);
        let rows: Vec<Value> = all.iter().skip(from).take(size).map(|id| self.row(*id)).collect();
        self.conditional += usize::from(headers.contains_key("if-none-match"));
        let tag = format!("\"{:?}\"", self.rows).replace(' ', "");
        let tag = (self.tagged && from == 0).then_some(tag.as_str());
        if tag.is_some() && headers.get("if-none-match").map(String::as_str) == tag {
            return http(304, &[("etag", tag.unwrap_or_default())], b"");
        }
        let next = (from + size < all.len()).then_some(from + size);
        let next = if self.leads_back == Some(page) { Some(0) } else { next };
        let origin = self.elsewhere.clone().unwrap_or_else(|| format!("http://{address}"));
        page_of(
            if self.silent { "silent" } else { style },
            (&origin, path),
            (Value::from(rows), tag),
            (next, all.len(), size),
        )
    }
}

/// Where the page begins.
fn from(style: &str, parameters: &BTreeMap<String, String>, size: usize) -> usize {
    let number = |name: &str| parameters.get(name).and_then(|n| n.parse::<usize>().ok());
    match style {
        "number" => number("page").unwrap_or(1).saturating_sub(1) * size,
        "empty" => number("page").unwrap_or(0) * size,
        "offset" => number("offset").unwrap_or(0),
        "relay" => {
            let variables = parameters.get("variables").and_then(|v| serde_json::from_str::<Value>(v).ok());
            let after = variables.and_then(|v| v["after"].as_str().and_then(|a| a.strip_prefix("at ")?.parse().ok()));
            after.unwrap_or(0)
        }
        _ => parameters.get("after").and_then(|a| a.strip_prefix("at ")?.parse().ok()).unwrap_or(0),
    }
}

fn page_of(
    style: &str,
    (origin, path): (&str, &str),
    (rows, tag): (Value, Option<&str>),
    (next, all, size): (Option<usize>, usize, usize),
) -> Vec<u8> {
    let address = |at: usize| format!("{origin}{path}?after=at%20{at}&size={size}");
    let token = next.map(|at| format!("at {at}"));
    let body = match style {
        "next-url" => value!({"rows": rows, "next": next.map(address)}),
        "cursor" => value!({"rows": rows, "cursor": token.clone().unwrap_or_default()}),
        "number" => value!({"rows": rows, "pages": all.div_ceil(size)}),
        "offset" => value!({"rows": rows, "total": all}),
        "relay" => value!({"rows": rows, "data": {"pageInfo": {"hasNextPage": token.is_some(), "endCursor": token}}}),
        _ => value!({ "rows": rows }),
    };
    let link = next.map(|at| format!("<{}>; rel=\"next\", <{}>; rel=\"first\"", address(at), address(0)));
    let link = link.iter().filter(|_| style == "link").map(|l| ("link", l.as_str()));
    let headers: Vec<(&str, &str)> = link.chain(tag.map(|tag| ("etag", tag))).collect();
    json(200, &headers, &body.to_string())
}
