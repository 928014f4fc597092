//! A log writer that lets no secret through: every line of every crate passes it, also what libraries print by themselves
//! at debug level (A47). Knows `tracing-subscriber`; the application installs it once.

use super::Redactor;
use std::io::{self, Write};
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

/// Wraps any log writer: `fmt().with_writer(Redacting::new(std::io::stderr, redactor))`.
#[derive(Clone, Debug)]
pub struct Redacting<M> {
    inner: M,
    redactor: Redactor,
}

impl<M> Redacting<M> {
    pub fn new(inner: M, redactor: Redactor) -> Redacting<M> {
        Redacting { inner, redactor }
    }
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Redacting<M> {
    type Writer = Line<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Line { inner: self.inner.make_writer(), redactor: self.redactor.clone(), held: Vec::new() }
    }
    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Self::Writer {
        Line { inner: self.inner.make_writer_for(meta), redactor: self.redactor.clone(), held: Vec::new() }
    }
}

/// One event on its way to the log. Held back until it is whole: a secret may arrive in two writes.
#[derive(Debug)]
pub struct Line<W: Write> {
    inner: W,
    redactor: Redactor,
    held: Vec<u8>,
}

impl<W: Write> Line<W> {
    fn let_go(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        self.inner.write_all(&self.redactor.bytes(&held))
    }
}

impl<W: Write> Write for Line<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.ends_with(b"\n") {
            self.let_go()?;
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.let_go()?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for Line<W> {
    fn drop(&mut self) {
        // Nobody is left to be told that the log cannot be written.
        let _ = self.let_go();
    }
}
