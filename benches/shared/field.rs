//! A task service with a thousand work orders, as CASES of the field know it: pages of rows that belong to work orders, read by one scan. In
//! virtual time behind a counting door, or over HTTP on loopback.

use super::http::next_head;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// What the service has: `orders` work orders of `each` tasks, in pages of `size`.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub orders: usize,
    pub each: usize,
    pub size: usize,
}

impl Work {
    pub fn pages(&self) -> usize {
        (self.orders * self.each).div_ceil(self.size)
    }

    /// The rows of a page; of all rows one in a hundred says another thing in each version, and every work order has its share of them.
    pub fn page(&self, number: usize, version: u64) -> String {
        let all = self.orders * self.each;
        let from = (number - 1) * self.size;
        let mut body = String::from("{\"data\":[");
        for n in from..all.min(from + self.size) {
            let (order, row) = (n % self.orders, n / self.orders);
            let hours = if row % 100 == order % 100 { version } else { 0 };
            let comma = if n == from { "" } else { "," };
            write!(
                body,
                "{comma}{{\"id\":\"T-{n:06}\",\"title\":\"Replace meter at post {n}\",\"order\":\"wo-{order}\",\
                 \"status\":\"in_progress\",\"crew\":\"crew {}\",\"hours\":{hours},\"urgent\":{},\
                 \"starts_at\":\"2027-03-01T06:00:00Z\",\"notes\":\"Call ahead; the gate is locked after four.\"}}",
                n % 40,
                n.is_multiple_of(7),
            )
            .expect("a string");
        }
        let next = if number < self.pages() { (number + 1).to_string() } else { "null".to_owned() };
        write!(body, "],\"next_page\":{next}}}").expect("a string");
        body
    }

    /// A connection with one scan that feeds all work orders, which have no request of their own.
    pub fn config(&self, base_url: &str, rules: &str) -> String {
        let mut text = format!(
            "[[connection]]\nname = \"field\"\nbase_url = \"{base_url}\"\n{rules}\n\
             [[connection.scan]]\nname = \"project\"\nget = \"/tasks\"\nitems = \"$.data[*]\"\nkey = \"$.id\"\n\
             title = \"$.title\"\nfeeds = \"$.order\"\n\
             page = {{ style = \"page-number\", param = \"page\", size_param = \"page_size\", size = {}, next = \"$.next_page\" }}\n\
             [connection.scan.fields]\nstatus = {{ path = \"$.status\" }}\ncrew = {{ path = \"$.crew\" }}\n\
             hours = {{ path = \"$.hours\", as = \"number\" }}\nurgent = {{ path = \"$.urgent\", as = \"bool\" }}\n\
             starts_at = {{ path = \"$.starts_at\", as = \"time\" }}\n",
            self.size
        );
        for n in 0..self.orders {
            writeln!(text, "[[connection.target]]\nname = \"wo-{n}\"").expect("a string");
        }
        text
    }
}

/// `page=` of a query; the first where it says none.
pub fn page_of(location: &str) -> usize {
    let query = location.split_once('?').map_or("", |(_, query)| query);
    query.split('&').find_map(|pair| pair.strip_prefix("page=")?.parse().ok()).unwrap_or(1)
}

/// The service on loopback. Its pages are made before anybody asks for them.
pub struct Service {
    pages: std::sync::RwLock<Vec<Arc<[u8]>>>,
    work: Work,
    thinks_ms: AtomicU64,
    pub asked: AtomicU64,
}

impl Service {
    pub async fn start(work: Work) -> (Arc<Service>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        let service =
            Service { pages: Default::default(), work, thinks_ms: AtomicU64::new(0), asked: AtomicU64::new(0) };
        let service = Arc::new(service);
        service.says(0);
        let serving = Arc::clone(&service);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = Arc::clone(&serving);
                tokio::spawn(async move { service.serve(socket).await });
            }
        });
        (service, base_url)
    }

    pub fn says(&self, version: u64) {
        let pages = (1..=self.work.pages()).map(|number| {
            let body = self.work.page(number, version);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            Arc::from(head.into_bytes())
        });
        *self.pages.write().expect("no panic") = pages.collect();
    }

    pub fn thinks(&self, about_a_page: Duration) {
        self.thinks_ms.store(about_a_page.as_millis() as u64, Ordering::Relaxed);
    }

    /// Until the other side hangs up.
    async fn serve(&self, mut socket: TcpStream) {
        let mut buffer = Vec::new();
        while next_head(&mut socket, &mut buffer).await {
            let head = String::from_utf8_lossy(&buffer);
            let page = page_of(head.split(' ').nth(1).unwrap_or_default());
            self.asked.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(self.thinks_ms.load(Ordering::Relaxed))).await;
            let answer = self.pages.read().expect("no panic").get(page - 1).cloned().expect("a page that there is");
            if socket.write_all(&answer).await.is_err() {
                return;
            }
        }
    }
}
