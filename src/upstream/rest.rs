//! The part of a long answer that is still to come: read as it comes, taken out of its coding and freed of every known secret, a little at a
//! time. Knows its socket and its time; decides nothing.

use super::fault;
use super::http::Fault;
use super::redact::StreamRedactor;
use super::undoing::Undoing;
use crate::clock::Clock;
use crate::domain::reply::Failure;
use crate::domain::time::{Span, Steady};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Dropping it closes its socket.
pub struct Rest {
    incoming: Incoming,
    clock: Arc<dyn Clock>,
    times: Times,
    got: usize,
    undoing: Option<Undoing>,
    /// Takes known secrets out of what goes on. `None`: nothing went on yet.
    clean: Option<StreamRedactor>,
    over: CancellationToken,
}

/// How long it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// The longest between two pieces.
    pub silence: Span,
    /// Its socket is closed then; `None`: it may take as long as it likes.
    pub until: Option<Steady>,
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rest({} bytes so far)", self.got)
    }
}

impl Rest {
    pub(super) fn new(incoming: Incoming, clock: Arc<dyn Clock>, times: Times, over: CancellationToken) -> Rest {
        Rest { incoming, clock, times, got: 0, undoing: None, clean: None, over }
    }

    /// What goes on behind `beginning`, which is out of its coding; and that without any known secret, as far as it can be told.
    pub(super) fn behind(
        self,
        beginning: &[u8],
        undoing: Option<Undoing>,
        mut clean: StreamRedactor,
    ) -> (Vec<u8>, Rest) {
        let first = clean.push(beginning);
        (first, Rest { undoing, clean: Some(clean), ..self })
    }

    /// Cancelled as soon as the provider cannot have it in hand any more: it is whole or broken, or nobody wants it.
    pub fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    /// The next bytes out of their coding and without any known secret; `None`: it is whole. The error is what a cut answer is.
    pub async fn next(&mut self) -> Option<Result<Bytes, (Failure, String)>> {
        loop {
            let undone = self.undone().await;
            let Some(clean) = &mut self.clean else { return undone };
            let free = match undone {
                Some(Ok(data)) => clean.push(&data),
                Some(Err(fault)) => return Some(Err(fault)),
                None => {
                    let last = clean.end();
                    return (!last.is_empty()).then(|| Ok(Bytes::from(last)));
                }
            };
            if !free.is_empty() {
                return Some(Ok(Bytes::from(free)));
            }
        }
    }

    async fn undone(&mut self) -> Option<Result<Bytes, Fault>> {
        loop {
            if let Some(undoing) = &mut self.undoing {
                match undoing.yields() {
                    Ok(out) if out.is_empty() => {}
                    yielded => return Some(yielded.map(Bytes::from)),
                }
            }
            match (self.read().await, &mut self.undoing) {
                (Some(Ok(data)), Some(undoing)) => undoing.takes(data),
                (None, Some(undoing)) => {
                    let last = undoing.ends();
                    self.undoing = None;
                    return Some(last.map(Bytes::from));
                }
                (read, _) => return read,
            }
        }
    }

    /// As they come.
    pub(super) async fn read(&mut self) -> Option<Result<Bytes, Fault>> {
        loop {
            let silence_ends = self.clock.now().steady + self.times.silence;
            let ends = self.times.until.map_or(silence_ends, |until| until.min(silence_ends));
            let frame = tokio::select! {
                biased;
                frame = self.incoming.frame() => frame?,
                () = self.clock.sleep_until(ends) => return Some(Err(self.late())),
            };
            match frame {
                // Trailers are of this hop.
                Ok(frame) => match frame.into_data() {
                    Ok(data) => {
                        self.got += data.len();
                        return Some(Ok(data));
                    }
                    Err(_) => continue,
                },
                Err(_) if self.is_out_of_time() => return Some(Err(self.late())),
                Err(error) => return Some(Err(fault::in_body(&error, self.got))),
            }
        }
    }

    fn is_out_of_time(&self) -> bool {
        self.times.until.is_some_and(|until| until <= self.clock.now().steady)
    }

    fn late(&self) -> Fault {
        let words = if self.is_out_of_time() {
            "The answer was not whole in the time that a request of this connection may take.".to_owned()
        } else {
            format!("The provider fell silent for {} in its answer.", self.times.silence)
        };
        (Failure::Timeout, words)
    }
}
