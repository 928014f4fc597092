//! Undoes a `Content-Encoding` as its bytes come, for answers that may be too long to be held: a little comes out at a time, however much is
//! packed into few bytes, and the end of what comes must be the end of what was packed. Knows the codings; knows nothing of sockets.

use super::coding::{ZSTD_WINDOW_LOG, broken};
use super::http::Fault;
use crate::domain::reply::Failure;
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use bytes::{Buf, Bytes};
use flate2::write::MultiGzDecoder;
use std::io::{self, Write};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// Bytes that one step yields, about.
const STEP: usize = 32 * 1024;

/// What is still to be undone, and by which coding.
pub(super) struct Undoing {
    coding: Coding,
    input: Bytes,
    /// More may come out although all that came was taken in.
    holds_more: bool,
}

enum Coding {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Zstd { decoder: Decoder<'static>, is_between_frames: bool },
    Brotli { state: Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>, is_over: bool },
}

/// What becomes of bytes that are all there.
pub(super) enum Undone {
    Whole(Vec<u8>),
    /// It is longer than it may be: its beginning, and what goes on.
    Longer(Vec<u8>, Undoing),
    /// As far as it goes; a refusal's page is worth reading.
    Broken(Vec<u8>, Fault),
}

/// Undoes the codings of `bytes`, until more than `most` have come out.
pub(super) fn undone(codings: &str, bytes: Bytes, most: u64) -> Undone {
    let mut undoing = match Undoing::of(codings, bytes.clone()) {
        Ok(Some(undoing)) => undoing,
        Ok(None) => return Undone::Whole(bytes.into()),
        Err(fault) => return Undone::Broken(Vec::new(), fault),
    };
    let mut all = Vec::new();
    loop {
        match undoing.yields() {
            Ok(out) if out.is_empty() => break,
            Ok(out) => all.extend(out),
            Err(fault) => return Undone::Broken(all, fault),
        }
        if all.len() as u64 > most {
            return Undone::Longer(all, undoing);
        }
    }
    match undoing.ends() {
        Ok(last) => {
            all.extend(last);
            Undone::Whole(all)
        }
        Err(fault) => Undone::Broken(all, fault),
    }
}

impl Undoing {
    /// `codings`: the values of `Content-Encoding`. `None`: nothing is to be undone.
    pub(super) fn of(codings: &str, beginning: Bytes) -> Result<Option<Undoing>, Fault> {
        let named = codings.split(',').map(|c| c.trim().to_ascii_lowercase());
        let named: Vec<String> = named.filter(|c| !c.is_empty() && c != "identity").collect();
        let coding = match &named.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => return Ok(None),
            ["gzip" | "x-gzip"] => Coding::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            ["zstd"] => {
                let mut decoder = Decoder::new().map_err(|e| broken("zstd", &e))?;
                let bounded = decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG));
                bounded.map_err(|e| broken("zstd", &e))?;
                Coding::Zstd { decoder, is_between_frames: false }
            }
            ["br"] => {
                let alloc = StandardAlloc::default;
                Coding::Brotli { state: Box::new(BrotliState::new(alloc(), alloc(), alloc())), is_over: false }
            }
            _ => {
                let words = format!("The answer is encoded as {codings:.60}, which was not asked for.");
                return Err((Failure::Undecodable, words));
            }
        };
        Ok(Some(Undoing { coding, input: beginning, holds_more: false }))
    }

    /// Takes in what came next. Everything that it yields must have been taken out before.
    pub(super) fn takes(&mut self, bytes: Bytes) {
        self.input = bytes;
    }

    /// What comes out next; empty: nothing does before more comes in.
    pub(super) fn yields(&mut self) -> Result<Vec<u8>, Fault> {
        while !self.input.is_empty() || self.holds_more {
            let (taken, out) = self.coding.step(&self.input).map_err(|e| broken(self.coding.name(), &e))?;
            self.input.advance(taken);
            // A step that fills its room may have more to say, and one that takes nothing in and says nothing never will.
            self.holds_more = out.len() >= STEP;
            if !out.is_empty() {
                return Ok(out);
            }
        }
        Ok(Vec::new())
    }

    /// Nothing more comes: the rest of it, if that is the end of what was packed.
    pub(super) fn ends(&mut self) -> Result<Vec<u8>, Fault> {
        self.coding.ends().map_err(|e| broken(self.coding.name(), &e))
    }
}

impl Coding {
    const fn name(&self) -> &'static str {
        match self {
            Coding::Gzip(_) => "gzip",
            Coding::Zstd { .. } => "zstd",
            Coding::Brotli { .. } => "br",
        }
    }

    /// How much of `input` it took in, and what came out.
    fn step(&mut self, input: &[u8]) -> io::Result<(usize, Vec<u8>)> {
        match self {
            Coding::Gzip(decoder) => {
                // Each writing is one step of the library's, through a buffer of its own of this size.
                let taken = if input.is_empty() { 0 } else { decoder.write(input)? };
                if taken == 0 && !input.is_empty() {
                    return Err(io::Error::other("its stream is damaged"));
                }
                Ok((taken, std::mem::take(decoder.get_mut())))
            }
            // Nothing is left of a frame that is whole, and the next has not begun.
            Coding::Zstd { is_between_frames: true, .. } if input.is_empty() => Ok((0, Vec::new())),
            Coding::Zstd { decoder, is_between_frames } => {
                let mut out = vec![0; STEP];
                let (mut from, mut room) = (InBuffer::around(input), OutBuffer::around(&mut out[..]));
                *is_between_frames = decoder.run(&mut from, &mut room)? == 0;
                let (taken, written) = (from.pos(), room.pos());
                out.truncate(written);
                Ok((taken, out))
            }
            Coding::Brotli { is_over: true, .. } if !input.is_empty() => {
                Err(io::Error::other("something follows its end"))
            }
            Coding::Brotli { state, is_over } => {
                let (mut left, mut taken, mut room, mut written, mut total) = (input.len(), 0, STEP, 0, 0);
                let mut out = vec![0; STEP];
                let result = BrotliDecompressStream(
                    &mut left,
                    &mut taken,
                    input,
                    &mut room,
                    &mut written,
                    &mut out,
                    &mut total,
                    state,
                );
                match result {
                    BrotliResult::ResultSuccess => *is_over = true,
                    BrotliResult::ResultFailure => return Err(io::Error::other("its stream is damaged")),
                    BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
                }
                out.truncate(written);
                Ok((taken, out))
            }
        }
    }

    fn ends(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Coding::Gzip(decoder) => {
                // A trailer that is not there or says otherwise is an error of its own kind: both mean that this is not all.
                decoder.try_finish().map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Coding::Zstd { is_between_frames: true, .. } | Coding::Brotli { is_over: true, .. } => Ok(Vec::new()),
            Coding::Zstd { .. } | Coding::Brotli { .. } => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    fn packed(coding: &str, body: &[u8]) -> Vec<u8> {
        match coding {
            "gzip" => gzip(body),
            _ => zstd::encode_all(body, 1).unwrap(),
        }
    }

    /// All of it, in pieces of this size; and the longest that came out at once.
    fn undone(coding: &str, packed: &[u8], piece: usize) -> Result<(Vec<u8>, usize), String> {
        let mut undoing = Undoing::of(coding, Bytes::new()).map_err(|(_, words)| words)?.expect("a coding");
        let (mut all, mut longest) = (Vec::new(), 0);
        for piece in packed.chunks(piece) {
            undoing.takes(Bytes::copy_from_slice(piece));
            loop {
                let out = undoing.yields().map_err(|(_, words)| words)?;
                if out.is_empty() {
                    break;
                }
                longest = longest.max(out.len());
                all.extend(out);
            }
        }
        all.extend(undoing.ends().map_err(|(_, words)| words)?);
        Ok((all, longest))
    }

    #[test]
    fn a_little_comes_out_at_a_time_however_much_is_packed() {
        let body = vec![b' '; 8 << 20];
        for coding in ["gzip", "zstd"] {
            let packed = packed(coding, &body);
            let (all, longest) = undone(coding, &packed, packed.len()).unwrap();
            assert!(all == body && longest <= 2 * STEP, "{coding}: {} bytes, {longest} at once", all.len());
        }
    }

    #[test]
    fn the_end_of_what_comes_is_the_end_of_what_was_packed() {
        for coding in ["gzip", "zstd"] {
            let whole = packed(coding, b"all of it");
            let twice = [whole.clone(), whole.clone()].concat();
            assert_eq!(undone(coding, &twice, 7).unwrap().0, b"all of itall of it", "{coding}: one behind the other");
            for cut in [1, 4, 9] {
                let said = undone(coding, &whole[..whole.len() - cut], 5).unwrap_err();
                assert!(said.contains("cut off"), "{coding} less {cut}: {said}");
            }
            assert!(undone(coding, &[&whole[..], b"junk"].concat(), 5).is_err(), "{coding}");
        }
        assert!(undone("gzip", b"{\"plain\":1}", 4).is_err());
        assert!(undone("br", b"\xff\xff\xff\xff", 4).is_err());
    }

    #[test]
    fn what_is_in_no_coding_is_left_alone_and_an_unknown_one_is_refused() {
        for none in ["", "identity", " , identity"] {
            assert!(Undoing::of(none, Bytes::new()).unwrap().is_none(), "{none:?}");
        }
        for unknown in ["deflate", "gzip, br", "x"] {
            assert!(Undoing::of(unknown, Bytes::new()).is_err(), "{unknown:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_out_whatever_the_pieces(body in proptest::collection::vec(0u8..4, 0..20_000), piece in 1usize..5_000) {
            for coding in ["gzip", "zstd"] {
                prop_assert_eq!(&undone(coding, &packed(coding, &body), piece).unwrap().0, &body);
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300), piece in 1usize..50) {
            for coding in ["gzip", "zstd", "br"] {
                _ = undone(coding, &bytes, piece);
            }
        }
    }
}
