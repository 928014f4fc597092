//! A server on loopback that answers as a test says: one closure from a whole request to the bytes of an answer.

use super::wire::{header_lines, pairs, read_whole};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// Path and query.
    pub location: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// How many came before it.
    pub number: usize,
}

impl Asked {
    pub fn path(&self) -> &str {
        self.location.split('?').next().unwrap_or_default()
    }
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }
    /// The members of a form body.
    pub fn form(&self) -> BTreeMap<String, String> {
        pairs(&self.body).collect()
    }
}

type Answering = dyn Fn(&Asked) -> Vec<u8> + Send + Sync;
type Delay = dyn Fn(&Asked) -> Duration + Send + Sync;

/// How many requests it has in hand: from their last byte to the last of their answer.
#[derive(Default)]
struct Hands {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Hands {
    fn takes(self: &Arc<Hands>) -> InHand {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        InHand(self.clone())
    }
}

struct InHand(Arc<Hands>);

impl Drop for InHand {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Dropping it closes the door.
pub struct Script {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    hands: Arc<Hands>,
    door: tokio::task::JoinHandle<()>,
}

impl Drop for Script {
    fn drop(&mut self) {
        self.door.abort();
    }
}

impl Script {
    /// An empty answer is a socket that is closed without one.
    pub async fn answering(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Script {
        Script::answering_so(1, |_| Duration::ZERO, answer).await
    }

    /// Those that come after the first so many are answered once there are as many of them.
    pub async fn answering_together(
        so_many: usize,
        answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
    ) -> Script {
        Script::answering_so(so_many, |_| Duration::ZERO, answer).await
    }

    /// Each so much later.
    pub async fn answering_after(
        delay: Duration,
        answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
    ) -> Script {
        Script::answering_so(1, move |_| delay, answer).await
    }

    /// Each as much later as `delay` says.
    pub async fn answering_each_after(
        delay: impl Fn(&Asked) -> Duration + Send + Sync + 'static,
        answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
    ) -> Script {
        Script::answering_so(1, delay, answer).await
    }

    async fn answering_so(
        so_many: usize,
        delay: impl Fn(&Asked) -> Duration + Send + Sync + 'static,
        answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
    ) -> Script {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (asked, answer): (Arc<Mutex<Vec<Asked>>>, Arc<Answering>) = (Arc::default(), Arc::new(answer));
        let delay: Arc<Delay> = Arc::new(delay);
        let hands: Arc<Hands> = Arc::default();
        let (seen, all) = ((asked.clone(), hands.clone()), (so_many, Arc::new(Barrier::new(so_many))));
        let door = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, seen.clone(), all.clone(), answer.clone(), delay.clone()));
            }
        });
        Script { address, asked, hands, door }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test panics while it looks").clone()
    }
    /// The most requests that were ever in hand together.
    pub fn most_in_hand(&self) -> usize {
        self.hands.most.load(Ordering::SeqCst)
    }
    /// The requests in hand now. One that its asker left stays in hand until the provider has noticed.
    pub fn in_hand(&self) -> usize {
        self.hands.now.load(Ordering::SeqCst)
    }
    pub fn asked_of(&self, path: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|a| a.path() == path).collect()
    }
}

async fn serve(
    mut socket: TcpStream,
    (seen, hands): (Arc<Mutex<Vec<Asked>>>, Arc<Hands>),
    (so_many, all): (usize, Arc<Barrier>),
    answer: Arc<Answering>,
    delay: Arc<Delay>,
) {
    let Some((head, body)) = read_whole(&mut socket).await else { return };
    let _in_hand = hands.takes();
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, location) = (word(), word());
    let (number, bytes, delay) = {
        let Ok(mut seen) = seen.lock() else { return };
        let asked = Asked { method, location, headers: header_lines(&head).collect(), body, number: seen.len() };
        seen.push(asked.clone());
        (asked.number, answer(&asked), delay(&asked))
    };
    if number >= so_many {
        all.wait().await;
    }
    tokio::time::sleep(delay).await;
    let _ = socket.write_all(&bytes).await;
    let _ = socket.shutdown().await;
}
