//! The same question again. A client that polls sends the same octets over the same socket, many times a second, and mostly gets the same ones
//! back. What the HTTP server read and wrote for a hit of the gateway is remembered beside the socket, and while the hit stands the same
//! question is answered with the same octets, before the server reads it. All else goes to it, and each second the question goes there anew.
//! Knows where a request and an answer end, by what the server made of them; parses nothing by itself, and decides nothing.

use crate::engine::gateway::standing::Standing;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use hyper::body::Body as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A longer head is not remembered, of a question or of an answer.
const MOST_HEAD: usize = 8 * 1024;
/// A longer body takes its time anyway, and would be held for as long as its socket is silent.
const MOST_BODY: u64 = 128 * 1024;
const END: &[u8] = b"\r\n\r\n";

/// An answer that stands for a while.
pub trait Stands: Clone + Send + Sync + 'static {
    /// Whether the same question is answered so still.
    fn holds(&self) -> bool;
    /// It was, once more.
    fn counts(&self);
    fn body(&self) -> &Bytes;
}

impl Stands for Standing {
    fn holds(&self) -> bool {
        Standing::holds(self)
    }
    fn counts(&self) {
        Standing::counts(self);
    }
    fn body(&self) -> &Bytes {
        Standing::body(self)
    }
}

/// What the service says of the answer that it hands to the server. One request is under way at a time.
pub struct Noted<T>(Arc<Mutex<Option<Said<T>>>>);

struct Said<T> {
    status: StatusCode,
    /// Exact.
    body: u64,
    standing: Option<T>,
}

impl<T> Clone for Noted<T> {
    fn clone(&self) -> Noted<T> {
        Noted(self.0.clone())
    }
}

impl<T> Default for Noted<T> {
    fn default() -> Noted<T> {
        Noted(Arc::default())
    }
}

impl<T: Stands> Noted<T> {
    /// Takes from the answer what was put there for this.
    pub fn note(&self, response: &mut Response<Body>) {
        let body = response.body().size_hint().exact();
        let is_short = body.is_some_and(|bytes| bytes <= MOST_BODY);
        let standing = response.extensions_mut().remove::<T>().filter(|_| is_short);
        let said = body.map(|body| Said { status: response.status(), body, standing });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = said;
    }

    fn take(&self) -> Option<Said<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A socket, as the server has it.
pub struct Again<S, T = Standing> {
    socket: S,
    noted: Noted<T>,
    phase: Phase<T>,
    known: Option<Known<T>>,
    /// Answers that the socket still owes, and how much of the first is out.
    owed: usize,
    sent: usize,
}

/// What the server is at.
enum Phase<T> {
    /// It waits for the next request: everything that it read is answered.
    Idle,
    /// It read these octets, one request and no more, and wrote these of its answer so far.
    Asked { question: Vec<u8>, wrote: Wrote<T> },
    /// Nobody but the server knows where one ends and the next begins.
    Unknown,
}

enum Wrote<T> {
    Head(Vec<u8>),
    Body { head: Vec<u8>, left: u64, standing: Option<T> },
}

/// A question, and what was written in answer to it.
struct Known<T> {
    question: Vec<u8>,
    head: Vec<u8>,
    body: Bytes,
    standing: T,
}

impl<S, T: Stands> Again<S, T> {
    pub fn over(socket: S, noted: Noted<T>) -> Again<S, T> {
        Again { socket, noted, phase: Phase::Idle, known: None, owed: 0, sent: 0 }
    }

    /// How often these octets ask what is known, and nothing else.
    fn asks_again(&self, octets: &[u8]) -> Option<usize> {
        let known = self.known.as_ref().filter(|_| matches!(self.phase, Phase::Idle))?;
        let repeats = !octets.is_empty() && octets.len().is_multiple_of(known.question.len());
        let same = repeats && octets.chunks_exact(known.question.len()).all(|one| one == known.question);
        (same && known.standing.holds()).then(|| octets.len() / known.question.len())
    }

    /// The server reads these octets; none: the client will send no more.
    fn hands_on(&mut self, octets: &[u8]) {
        let is_one = octets.starts_with(b"GET ") && octets.len() <= MOST_HEAD && end_of(octets) == Some(octets.len());
        self.phase = match self.phase {
            Phase::Idle if is_one => Phase::Asked { question: octets.to_vec(), wrote: Wrote::Head(Vec::new()) },
            _ => Phase::Unknown,
        };
        self.known = None;
    }

    /// The server wrote these.
    fn has_written(&mut self, octets: &[u8]) {
        let Phase::Asked { question, wrote } = std::mem::replace(&mut self.phase, Phase::Unknown) else { return };
        let wrote = match wrote {
            Wrote::Body { head, left, standing } => less(left, octets).map(|left| Wrote::Body { head, left, standing }),
            Wrote::Head(head) => self.of_head(head, octets),
        };
        match wrote {
            None => {}
            Some(Wrote::Body { head, left: 0, standing }) => {
                self.phase = Phase::Idle;
                self.known = standing.map(|standing| {
                    let body = if is_unmodified(&head) { Bytes::new() } else { standing.body().clone() };
                    Known { question, head, body, standing }
                });
            }
            Some(wrote) => self.phase = Phase::Asked { question, wrote },
        }
    }

    /// `None`: it is not known how this answer ends.
    fn of_head(&self, mut head: Vec<u8>, octets: &[u8]) -> Option<Wrote<T>> {
        let from = head.len().saturating_sub(END.len() - 1);
        let before = head.len();
        head.extend_from_slice(&octets[..octets.len().min(MOST_HEAD)]);
        let Some(end) = end_of(&head[from..]).map(|end| from + end) else {
            return (head.len() < MOST_HEAD).then_some(Wrote::Head(head));
        };
        head.truncate(end);
        let said = self.noted.take().filter(|said| is_plain(&head, said.status))?;
        let left = less(said.body, &octets[end - before..])?;
        Some(Wrote::Body { head, left, standing: said.standing })
    }
}

fn less(left: u64, written: &[u8]) -> Option<u64> {
    left.checked_sub(written.len() as u64)
}

/// Behind the first empty line.
fn end_of(octets: &[u8]) -> Option<usize> {
    octets.windows(END.len()).position(|four| four == END).map(|at| at + END.len())
}

/// The answer of that status, over a socket that stays open, with a body that is as long as it is.
fn is_plain(head: &[u8], status: StatusCode) -> bool {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    let mut names = lines.map(|line| line.split(|byte| *byte == b':').next().unwrap_or_default());
    let begins = head.strip_prefix(b"HTTP/1.1 ").is_some_and(|rest| rest.starts_with(status.as_str().as_bytes()));
    begins
        && !names
            .any(|name| name.eq_ignore_ascii_case(b"connection") || name.eq_ignore_ascii_case(b"transfer-encoding"))
}

fn is_unmodified(head: &[u8]) -> bool {
    head.starts_with(b"HTTP/1.1 304")
}

impl<S: AsyncWrite + Unpin, T: Stands> Again<S, T> {
    /// Writes what is owed.
    fn pays(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.owed > 0 {
            // Nothing is owed of what is not known.
            let Some(known) = &self.known else { break };
            let head = known.head.get(self.sent..).unwrap_or_default();
            let body = known.body.get(self.sent.saturating_sub(known.head.len())..).unwrap_or_default();
            let slices = [IoSlice::new(head), IoSlice::new(body)];
            let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(context, &slices))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += written;
            if self.sent == known.head.len() + known.body.len() {
                known.standing.counts();
                self.owed -= 1;
                self.sent = 0;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, T: Stands + Unpin> AsyncRead for Again<S, T> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            ready!(this.pays(context))?;
            let before = buffer.filled().len();
            ready!(Pin::new(&mut this.socket).poll_read(context, buffer))?;
            let octets = &buffer.filled()[before..];
            match this.asks_again(octets) {
                Some(times) => {
                    this.owed = times;
                    buffer.set_filled(before);
                }
                None => {
                    this.hands_on(octets);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, T: Stands + Unpin> AsyncWrite for Again<S, T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(octets)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        // What was answered before stands before it.
        ready!(this.pays(context))?;
        let written = ready!(Pin::new(&mut this.socket).poll_write_vectored(context, slices))?;
        let mut left = written;
        for slice in slices {
            let of_it = left.min(slice.len());
            if of_it > 0 {
                this.has_written(&slice[..of_it]);
            }
            left -= of_it;
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
