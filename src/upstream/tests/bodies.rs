//! Every way in which a body can be wrong, sent over a real socket: each a clear outcome with a sentence, none of them data.

use super::provider::{Provider, Step, answers, says};
use super::*;
use crate::domain::outcome::Outcome;
use crate::domain::reply::Failure;
use crate::domain::spec::{ReadingSpec, Salvage};
use crate::domain::time::Wall;
use crate::rules::classify::Classifier;
use std::io::Write;

const BODY: &[u8] = b"{\"zones\":[{\"id\":1,\"name\":\"Lawn\"},{\"id\":2,\"name\":\"Beds\"}]}";

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(body).unwrap();
    packer.finish().unwrap()
}

fn zstd(body: &[u8]) -> Vec<u8> {
    let mut packer = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    packer.include_checksum(true).unwrap();
    packer.write_all(body).unwrap();
    packer.finish().unwrap()
}

/// By hand: one uncompressed meta-block (RFC 7932 section 9.2) and an empty last one.
fn brotli(body: &[u8]) -> Vec<u8> {
    let bits = ((body.len() as u32 - 1) << 4) | (1 << 20);
    let mut bytes = bits.to_le_bytes()[..3].to_vec();
    bytes.extend_from_slice(body);
    bytes.push(3);
    bytes
}

struct Case {
    bench: Bench,
    classifier: Classifier,
}

impl Case {
    async fn of(script: Vec<Step>, reading: ReadingSpec) -> (Case, Provider) {
        let provider = Provider::with(script).await;
        let classifier = Classifier::compile(&[], &WaitSpec::default()).unwrap().reading(&reading);
        let mut spec = spec(&provider.base_url(), Carrier::None, quick());
        spec.reading = reading;
        (Case { bench: Bench::with(spec), classifier }, provider)
    }

    /// The outcome, and what is told: the door's sentence, or the rule.
    async fn judged(&self) -> (Outcome, String, Option<serde_json::Value>) {
        let reply = self.bench.ask(get("/status")).await;
        let classified = self.classifier.classify(&reply, false, Wall(0));
        let words = if reply.detail.is_empty() { classified.verdict.rule } else { reply.detail };
        (classified.verdict.outcome, words, classified.body)
    }
}

async fn judged(script: Vec<Step>, reading: ReadingSpec) -> (Outcome, String, Option<serde_json::Value>) {
    Case::of(script, reading).await.0.judged().await
}

fn coded(coding: &str, bytes: &[u8]) -> Vec<Step> {
    vec![answers(&format!("200 OK\r\nContent-Type: application/json\r\nContent-Encoding: {coding}"), bytes)]
}

#[tokio::test]
async fn a_coded_body_is_whole_or_nothing() {
    let whole: serde_json::Value = serde_json::from_slice(BODY).unwrap();
    for (coding, bytes) in [("gzip", gzip(BODY)), ("br", brotli(BODY)), ("zstd", zstd(BODY))] {
        let (outcome, _, body) = judged(coded(coding, &bytes), ReadingSpec::default()).await;
        assert_eq!((outcome, body.as_ref()), (Outcome::Data, Some(&whole)), "{coding}");
        for end in 1..bytes.len() {
            let (outcome, words, _) = judged(coded(coding, &bytes[..end]), ReadingSpec::default()).await;
            assert_eq!(outcome, Outcome::Undecodable, "{coding} cut at {end} of {}: {words}", bytes.len());
            assert!(words.starts_with("The answer is not what its Content-Encoding promised: as "), "{words}");
        }
        let trailing = [bytes.as_slice(), b"tail"].concat();
        let (outcome, words, _) = judged(coded(coding, &trailing), ReadingSpec::default()).await;
        assert_eq!(outcome, Outcome::Undecodable, "{coding} with a tail: {words}");
    }
}

#[tokio::test]
async fn a_body_of_several_members_is_read_to_its_end() {
    let (front, back) = BODY.split_at(20);
    for (coding, bytes) in [("gzip", [gzip(front), gzip(back)].concat()), ("zstd", [zstd(front), zstd(back)].concat())]
    {
        let (outcome, words, body) = judged(coded(coding, &bytes), ReadingSpec::default()).await;
        assert_eq!((outcome, body), (Outcome::Data, serde_json::from_slice(BODY).ok()), "{coding}: {words}");
    }
}

#[tokio::test]
async fn a_flipped_bit_is_found_where_the_coding_has_a_checksum() {
    for (coding, bytes) in [("gzip", gzip(BODY)), ("zstd", zstd(BODY))] {
        for at in [bytes.len() - 1, bytes.len() - 3, bytes.len() / 2] {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            let (outcome, words, _) = judged(coded(coding, &bytes), ReadingSpec::default()).await;
            assert_eq!(outcome, Outcome::Undecodable, "{coding} at {at}: {words}");
        }
    }
}

#[tokio::test]
async fn a_coding_that_was_not_asked_for_is_told() {
    for coding in ["deflate", "gzip, gzip", "x-secret"] {
        let (outcome, words, _) = judged(coded(coding, &gzip(BODY)), ReadingSpec::default()).await;
        assert_eq!(outcome, Outcome::Undecodable);
        assert!(words.contains(coding) && words.contains("not asked for"), "{words}");
    }
    let (outcome, ..) = judged(coded("identity", BODY), ReadingSpec::default()).await;
    assert_eq!(outcome, Outcome::Data);
}

#[tokio::test]
async fn no_bomb_grows_past_the_cap() {
    let zeros = vec![b' '; 4 << 20];
    // The same 4 MiB as any brotli encoder writes them: one blank, copied over and over.
    let blanks = b"\x9b\xff\xff\x3f\xf8\x25\x40\xe2\xb1\x40\x20\xf7\xfe\x07".to_vec();
    let unpacked = super::super::coding::decode("br", blanks.clone(), 4 << 20);
    assert!(unpacked.fault.is_none() && unpacked.body == zeros, "{:?}", unpacked.fault);
    for (coding, bytes) in [("gzip", gzip(&zeros)), ("zstd", zstd(&zeros)), ("br", blanks)] {
        assert!(bytes.len() < 10_000);
        let (outcome, words, _) = judged(coded(coding, &bytes), ReadingSpec::default()).await;
        assert_eq!(
            (outcome, words.as_str()),
            (Outcome::TooLarge, "The answer grew past 100000 bytes when decompressed.")
        );
    }
    // A frame that claims a window of 3.5 TiB, as RFC 8878 lets it.
    let (outcome, words, _) =
        judged(coded("zstd", b"\x28\xb5\x2f\xfd\x00\xff\x01\x00\x00"), ReadingSpec::default()).await;
    assert_eq!(outcome, Outcome::Undecodable, "{words}");
}

#[tokio::test]
async fn a_length_that_is_not_kept_is_told() {
    let head = |length: usize| format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
    let told = |length| vec![says(&head(length)), Step::Send(BODY.to_vec())];
    let (outcome, words, _) = judged(told(BODY.len() + 1), ReadingSpec::default()).await;
    assert_eq!(
        (outcome, words.starts_with("The answer was cut off after 57 bytes")),
        (Outcome::Undecodable, true),
        "{words}"
    );
    // Shorter: what is beyond is not of this answer (RFC 9112 section 6.2), and the rest is not JSON.
    let (outcome, words, _) = judged(told(BODY.len() - 1), ReadingSpec::default()).await;
    assert_eq!((outcome, words.as_str()), (Outcome::Unexpected, "status 200 with a body that is not JSON"));
}

#[tokio::test]
async fn every_text_has_its_outcome() {
    let plain = |body: &[u8]| vec![answers("200 OK\r\nContent-Type: application/json", body)];
    let of_kind = |kind: &str, body: &[u8]| vec![answers(&format!("200 OK\r\nContent-Type: {kind}"), body)];
    let charset = |label: &str| ReadingSpec { charset: Some(label.to_owned()), ..ReadingSpec::default() };
    let nan = || ReadingSpec { salvage: Salvage::Nan, ..ReadingSpec::default() };
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let deep = format!("{}1{}", "[".repeat(101), "]".repeat(101));
    use Outcome::{Data, Undecodable, Unexpected};
    for (script, reading, outcome, words) in [
        (plain(b"\xef\xbb\xbf{\"a\":1}"), ReadingSpec::default(), Data, "status 200"),
        (plain(b"{\"a\":\"D\xc3\xbcse\"}"), ReadingSpec::default(), Data, "status 200"),
        (
            plain(b"{\"a\":\"D\xfcse\"}"),
            ReadingSpec::default(),
            Undecodable,
            "status 200 with bytes that are not UTF-8",
        ),
        (plain(b"{\"a\":\"D\xfcse\"}"), charset("latin1"), Data, "status 200"),
        (
            of_kind("application/json; charset=iso-8859-1", b"{\"a\":\"D\xfcse\"}"),
            ReadingSpec::default(),
            Data,
            "status 200",
        ),
        (of_kind("text/json; charset=utf-16le", &utf16("{\"a\":1}")), ReadingSpec::default(), Data, "status 200"),
        (
            of_kind("text/json; charset=utf-16le", &utf16("{\"a\":1}")[..13]),
            ReadingSpec::default(),
            Undecodable,
            "The answer is not the UTF-16LE that it is declared to be.",
        ),
        (
            plain(b"{\"a\":NaN}"),
            ReadingSpec::default(),
            Unexpected,
            "status 200 with NaN or Infinity, which is not JSON (salvage = \"nan\" reads it as unknown)",
        ),
        (plain(b"{\"a\":[-nan,Infinity,1]}"), nan(), Data, "status 200"),
        (
            plain(b"{\"a\":1,\"b\":{\"a\":1},\"a\":2}"),
            ReadingSpec::default(),
            Unexpected,
            "status 200 with JSON that has \"a\" twice in one object",
        ),
        (
            plain(deep.as_bytes()),
            ReadingSpec::default(),
            Unexpected,
            "status 200 with JSON that is nested deeper than 100 levels",
        ),
        (
            plain("[".repeat(99_000).as_bytes()),
            ReadingSpec::default(),
            Unexpected,
            "status 200 with JSON that is nested deeper than 100 levels",
        ),
        (plain(b"{\"a\":1"), ReadingSpec::default(), Unexpected, "status 200 with a body that is not JSON"),
        (plain(b""), ReadingSpec::default(), Unexpected, "status 200 with an empty body"),
        (plain(&vec![b'x'; 100_001]), ReadingSpec::default(), Outcome::TooLarge, "The answer grew past 100000 bytes."),
    ] {
        let (got, told, _) = judged(script, reading).await;
        assert_eq!((got, told.as_str()), (outcome, words));
    }
}

#[tokio::test]
async fn a_secret_in_another_spelling_is_taken_out_too() {
    let page: Vec<u8> = format!("\u{feff}\"key {KEY}\"").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for script in [coded("gzip", &gzip(format!("\"key {KEY}\"").as_bytes())), vec![answers("200 OK", &page)]] {
        let provider = Provider::with(script).await;
        let reply = Bench::new(&provider.base_url(), query()).ask(get("/status")).await;
        assert_eq!(String::from_utf8(reply.result.unwrap().body).unwrap(), "\"key ***\"");
    }
}

#[test]
fn no_bytes_panic_in_any_coding() {
    use proptest::prelude::*;
    let coding = prop::sample::select(vec!["gzip", "br", "zstd", "deflate", ""]);
    let bytes = prop::collection::vec(any::<u8>(), 0..300);
    proptest!(|(coding in coding, bytes in bytes, cut in 0usize..80, at in 0usize..80)| {
        let whole = match coding { "gzip" => gzip(BODY), "br" => brotli(BODY), _ => zstd(BODY) };
        let mut bent = whole[..whole.len().min(cut)].to_vec();
        bent.extend_from_slice(&bytes);
        if let Some(byte) = bent.get_mut(at) { *byte ^= 0x55; }
        for input in [bytes, bent] {
            let done = super::super::coding::decode(coding, input, 1000);
            prop_assert!(done.body.len() <= 1001 + 32 * 1024);
            prop_assert!(done.fault.is_none_or(|(f, words)| f != Failure::Dropped && words.ends_with('.')));
        }
    });
}
