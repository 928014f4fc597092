//! A wire tap between browser and appliance: passes bytes on and counts what the browser sends. Independent of both.

use crate::support::process::free_port;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Default)]
struct Counts {
    /// Times that the browser sent something: at least one per request.
    sent: AtomicUsize,
    open: AtomicUsize,
    /// Streams of events end right after they began.
    cuts: AtomicBool,
    streams: AtomicUsize,
    /// Nothing goes through, and what was open ends.
    dark: AtomicBool,
    /// Pages that shall seem to be of another build.
    outdated: AtomicUsize,
}

pub struct Tap {
    pub address: SocketAddr,
    counts: Arc<Counts>,
    door: tokio::task::JoinHandle<()>,
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.door.abort();
    }
}

impl Tap {
    pub async fn before(appliance: SocketAddr) -> Tap {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let listener = TcpListener::bind(address).await.expect("a free port");
        let counts = Arc::new(Counts::default());
        let seen = Arc::clone(&counts);
        let door = tokio::spawn(async move {
            while let Ok((browser, _)) = listener.accept().await {
                let counts = Arc::clone(&seen);
                tokio::spawn(async move {
                    counts.open.fetch_add(1, Ordering::SeqCst);
                    pass(browser, appliance, &counts).await;
                    counts.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Tap { address, counts, door }
    }

    pub fn sent(&self) -> usize {
        self.counts.sent.load(Ordering::SeqCst)
    }

    /// From now on every stream of events ends 10 ms after it began.
    pub fn cuts_streams(&self) {
        self.counts.cuts.store(true, Ordering::SeqCst);
    }

    /// From now on nobody is there.
    pub fn goes_dark(&self) {
        self.counts.dark.store(true, Ordering::SeqCst);
    }

    pub fn comes_back(&self) {
        self.counts.dark.store(false, Ordering::SeqCst);
    }

    /// The next so many pages seem to have been made by another build.
    pub fn outdates_pages(&self, pages: usize) {
        self.counts.outdated.store(pages, Ordering::SeqCst);
    }

    /// Pages of those that were not asked for yet.
    pub fn outdated_left(&self) -> usize {
        self.counts.outdated.load(Ordering::SeqCst)
    }

    /// Streams of events that began.
    pub fn streams(&self) -> usize {
        self.counts.streams.load(Ordering::SeqCst)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Until either side ends.
async fn pass(browser: TcpStream, appliance: SocketAddr, counts: &Counts) {
    let Ok(server) = TcpStream::connect(appliance).await else { return };
    let (mut from_browser, mut to_browser) = browser.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async {
        let mut chunk = [0u8; 8192];
        while let Ok(n @ 1..) = from_browser.read(&mut chunk).await {
            counts.sent.fetch_add(1, Ordering::SeqCst);
            // What is to be changed must come as it is.
            replace(&mut chunk[..n], b"Accept-Encoding", b"X-Accept-Coding");
            if to_server.write_all(&chunk[..n]).await.is_err() {
                break;
            }
        }
    };
    let down = async {
        let mut chunk = [0u8; 8192];
        while let Ok(n @ 1..) = from_server.read(&mut chunk).await {
            outdate(&mut chunk[..n], counts);
            let stream = chunk[..n].windows(17).any(|w| w == b"text/event-stream");
            if to_browser.write_all(&chunk[..n]).await.is_err() {
                break;
            }
            counts.streams.fetch_add(usize::from(stream), Ordering::SeqCst);
            if stream && counts.cuts.load(Ordering::SeqCst) {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                break;
            }
        }
    };
    let dark = async {
        while !counts.dark.load(Ordering::SeqCst) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
        () = dark => {}
    }
}

/// Puts another build's id where the page has its own, if it is one of those that shall seem old.
fn outdate(chunk: &mut [u8], counts: &Counts) {
    let mark = b"data-build=\"";
    let Some(at) = chunk.windows(mark.len()).position(|w| w == mark) else { return };
    // A refusal is no page that is loaded; and what the head says is the appliance's own.
    if chunk.starts_with(b"HTTP/1.1 409") {
        return;
    }
    let Some(left) = counts.outdated.load(Ordering::SeqCst).checked_sub(1) else { return };
    counts.outdated.store(left, Ordering::SeqCst);
    let id = chunk[at + mark.len()..].iter().take_while(|b| **b != b'"').count();
    let own = chunk[at + mark.len()..at + mark.len() + id].to_vec();
    replace(&mut chunk[at..], &own, &vec![b'0'; id]);
}

/// By something of the same length, everywhere.
fn replace(chunk: &mut [u8], what: &[u8], by: &[u8]) {
    let all: Vec<usize> = chunk.windows(what.len()).enumerate().filter(|(_, w)| *w == what).map(|(at, _)| at).collect();
    all.into_iter().for_each(|at| chunk[at..at + what.len()].copy_from_slice(by));
}
