//! A provider of one event stream: it counts its openings, keeps the events that it can go on from, and cuts, refuses or babbles as a test
//! says. Knows nothing of Larder.

use super::wire::{header_lines, http, pairs, read_request};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How the next openings are answered.
#[derive(Clone, Debug, Default)]
pub enum Mood {
    #[default]
    Streams,
    /// 429, with this `Retry-After` if any.
    TooMany(Option<&'static str>),
    /// The head of a stream, these bytes, and the end.
    Babbles(&'static str),
    /// Another status and text.
    Answers(u16, &'static str),
}

/// An opening as it arrived.
#[derive(Clone, Debug)]
pub struct Opening {
    pub at: Instant,
    pub last: Option<String>,
    pub accept: String,
    pub key: String,
}

#[derive(Default)]
struct Inner {
    mood: Mood,
    openings: Vec<Opening>,
    /// Requests for anything else.
    polls: Vec<Instant>,
    /// Id and data.
    events: Vec<(u64, String)>,
    /// Without ids nobody can go on.
    without_ids: bool,
    open: usize,
}

/// Dropping it closes the door.
pub struct Feed {
    pub address: SocketAddr,
    inner: Arc<Mutex<Inner>>,
    /// Counts the cuts.
    cut: watch::Sender<u64>,
    /// Counts the events.
    news: watch::Sender<u64>,
    door: tokio::task::JoinHandle<()>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.door.abort();
        self.cut.send_modify(|cuts| *cuts += 1);
    }
}

impl Feed {
    pub async fn start() -> Feed {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (inner, cut, news) = (Arc::<Mutex<Inner>>::default(), watch::Sender::new(0), watch::Sender::new(0));
        let (within, cuts, told) = (inner.clone(), cut.subscribe(), news.subscribe());
        let door = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (mut cuts, mut told) = (cuts.clone(), told.clone());
                cuts.mark_unchanged();
                told.mark_unchanged();
                tokio::spawn(serve(socket, within.clone(), cuts, told));
            }
        });
        Feed { address, inner, cut, news, door }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no test panics while it looks")
    }

    /// From now on.
    pub fn is(&self, mood: Mood) {
        self.lock().mood = mood;
    }
    pub fn gives_no_ids(&self) {
        self.lock().without_ids = true;
    }

    /// Something happened: told to all who are connected, and to those who come back. Returns its id.
    pub fn says(&self, data: &str) -> u64 {
        let mut inner = self.lock();
        let id = inner.events.len() as u64 + 1;
        inner.events.push((id, data.to_owned()));
        drop(inner);
        self.news.send_modify(|news| *news += 1);
        id
    }

    /// Every open stream ends.
    pub fn cuts(&self) {
        self.cut.send_modify(|cuts| *cuts += 1);
    }

    pub fn openings(&self) -> Vec<Opening> {
        self.lock().openings.clone()
    }
    pub fn polls(&self) -> Vec<Instant> {
        self.lock().polls.clone()
    }
    /// Streams that are open now.
    pub fn open(&self) -> usize {
        self.lock().open
    }

    /// Waits until so many openings have arrived in all, and returns them.
    pub async fn was_opened(&self, times: usize) -> Vec<Opening> {
        let what = format!("the stream was opened {times} times");
        super::wait::eventually(&what, super::wait::SOON, || async {
            Some(self.openings()).filter(|openings| openings.len() >= times)
        })
        .await
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

async fn serve(
    mut socket: TcpStream,
    inner: Arc<Mutex<Inner>>,
    mut cuts: watch::Receiver<u64>,
    mut news: watch::Receiver<u64>,
) {
    let Some(head) = read_request(&mut socket).await else { return };
    let header = |name: &str| header_lines(&head).find(|(n, _)| n == name).map(|(_, value)| value);
    let (mood, mut next) = {
        let Ok(mut inner) = inner.lock() else { return };
        if head.starts_with("GET /events") {
            let last = header("last-event-id");
            let line = head.lines().next().unwrap_or_default();
            let query =
                line.split(' ').nth(1).and_then(|location| location.split_once('?')).map_or("", |(_, query)| query);
            let key = pairs(query).find(|(name, _)| name == "api_key").map(|(_, key)| key).unwrap_or_default();
            let accept = header("accept").unwrap_or_default();
            let next = last.as_ref().and_then(|id| id.parse().ok()).unwrap_or(inner.events.len());
            inner.openings.push(Opening { at: Instant::now(), last, accept, key });
            (inner.mood.clone(), next)
        } else {
            inner.polls.push(Instant::now());
            (Mood::Answers(200, "{\"zones\":[{\"id\":1}]}"), 0)
        }
    };
    let whole = match mood {
        Mood::TooMany(None) => http(429, &[], b"Too Many Requests"),
        Mood::TooMany(Some(wait)) => http(429, &[("retry-after", wait)], b"Too Many Requests"),
        Mood::Answers(status, text) => http(status, &[("content-type", "application/json")], text.as_bytes()),
        Mood::Babbles(text) => [HEAD.as_bytes(), text.as_bytes()].concat(),
        Mood::Streams => {
            if let Ok(mut inner) = inner.lock() {
                inner.open += 1;
            }
            let _ = stream(&mut socket, &inner, (&mut cuts, &mut news), &mut next).await;
            if let Ok(mut inner) = inner.lock() {
                inner.open -= 1;
            }
            return;
        }
    };
    let _ = socket.write_all(&whole).await;
    let _ = socket.shutdown().await;
}

/// Until it is cut or the other end goes away.
async fn stream(
    socket: &mut TcpStream,
    inner: &Mutex<Inner>,
    (cuts, news): (&mut watch::Receiver<u64>, &mut watch::Receiver<u64>),
    next: &mut usize,
) -> std::io::Result<()> {
    socket.write_all(HEAD.as_bytes()).await?;
    let mut nothing = [0u8; 1];
    loop {
        let text = {
            let Ok(inner) = inner.lock() else { return Ok(()) };
            let block = |(id, data): &(u64, String)| match inner.without_ids {
                true => format!("data: {data}\n\n"),
                false => format!("id: {id}\ndata: {data}\n\n"),
            };
            let text: String = inner.events[(*next).min(inner.events.len())..].iter().map(block).collect();
            *next = inner.events.len();
            text
        };
        socket.write_all(text.as_bytes()).await?;
        tokio::select! {
            // What is said after a cut is not told before it.
            biased;
            _ = cuts.changed() => return socket.shutdown().await,
            changed = news.changed() => if changed.is_err() { return Ok(()) },
            read = socket.read(&mut nothing) => if read? == 0 { return Ok(()) },
        }
    }
}
