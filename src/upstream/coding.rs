//! Undoes a `Content-Encoding`, to the last byte: checksum and length of the trailer are verified, what follows the stream is refused, and
//! nothing grows past the cap. Knows the codings; knows nothing of sockets or of what is inside.
//!
//! A client library decodes as the bytes come, and stops where the stream ends: a second gzip member, or half of an answer behind the
//! first, would pass for a whole one. So the coded bytes are read first (they are bounded too), then decoded here.

use crate::domain::reply::Failure;
use std::io::{self, Read};

/// What is asked for; anything else was not asked for.
pub(super) const ACCEPTED: &str = "gzip, br, zstd";

/// RFC 9659: a zstd window on the web is at most 8 MiB. A frame may claim 3.5 TiB.
pub(super) const ZSTD_WINDOW_LOG: u32 = 23;
/// Bytes that one step of decoding yields at most.
const STEP: usize = 32 * 1024;

/// What came out, and what went wrong, if anything did: a refusal's page is worth reading as far as it goes.
#[derive(Debug)]
pub(super) struct Decoded {
    pub body: Vec<u8>,
    pub fault: Option<(Failure, String)>,
}

/// Codings are undone from the last one named (RFC 9110 section 8.4).
pub(super) fn decode(codings: &str, bytes: Vec<u8>, most: u64) -> Decoded {
    let mut done = Decoded { body: bytes, fault: None };
    let named = codings.split(',').map(|c| c.trim().to_ascii_lowercase()).filter(|c| !c.is_empty() && c != "identity");
    let mut named: Vec<String> = named.collect();
    if named.len() > 1 {
        let words = format!("The answer is encoded {} times ({codings:.60}), which was not asked for.", named.len());
        return Decoded { body: Vec::new(), fault: Some((Failure::Undecodable, words)) };
    }
    // An answer without content has nothing to be decoded (a 204, a 304, an empty page).
    if let Some(coding) = named.pop().filter(|_| !done.body.is_empty()) {
        let mut body = Vec::new();
        done.fault = one(&coding, &done.body, most, &mut body).err();
        done.body = body;
    }
    done
}

fn one(coding: &str, bytes: &[u8], most: u64, out: &mut Vec<u8>) -> Result<(), (Failure, String)> {
    let broken = |e: io::Error| broken(coding, &e);
    match coding {
        "gzip" | "x-gzip" => drain(flate2::bufread::MultiGzDecoder::new(bytes), most, out).map_err(broken)?,
        "zstd" => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(broken)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(broken)?;
            drain(decoder, most, out).map_err(broken)?
        }
        "br" => brotli(bytes, most, out).map_err(broken)?,
        other => {
            return Err((
                Failure::Undecodable,
                format!("The answer is encoded as {other:.40}, which was not asked for."),
            ));
        }
    };
    if out.len() as u64 > most {
        return Err((Failure::TooLarge, format!("The answer grew past {most} bytes when decompressed.")));
    }
    Ok(())
}

pub(super) fn broken(coding: &str, error: &io::Error) -> (Failure, String) {
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it was cut off".to_owned(),
        _ => error.to_string().chars().take(100).collect(),
    };
    (Failure::Undecodable, format!("The answer is not what its Content-Encoding promised: as {coding}, {why}."))
}

/// Reads one byte more than `most` at the most: the caller sees that it was too much.
fn drain(decoder: impl Read, most: u64, out: &mut Vec<u8>) -> io::Result<()> {
    decoder.take(most.saturating_add(1)).read_to_end(out).map(|_| ())
}

/// By hand, since the library's reader says nothing of what stands behind the stream. Brotli has no checksum.
fn brotli(bytes: &[u8], most: u64, out: &mut Vec<u8>) -> io::Result<()> {
    use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
    let mut state = BrotliState::new(StandardAlloc::default(), StandardAlloc::default(), StandardAlloc::default());
    let (mut left, mut read, mut total) = (bytes.len(), 0, 0);
    let mut step = vec![0; STEP];
    loop {
        let (mut room, mut written) = (STEP, 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            bytes,
            &mut room,
            &mut written,
            &mut step,
            &mut total,
            &mut state,
        );
        out.extend_from_slice(&step[..written]);
        match result {
            _ if out.len() as u64 > most => return Ok(()),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Err(io::ErrorKind::UnexpectedEof.into()),
            BrotliResult::ResultSuccess if left == 0 => return Ok(()),
            BrotliResult::ResultSuccess => return Err(io::Error::other("something follows its end")),
            BrotliResult::ResultFailure => return Err(io::Error::other("its stream is damaged")),
        }
    }
}
