//! A secret in every spelling, taken out of every text.

use super::source::read_with;
use super::*;
use crate::domain::spec::SecretSource;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use std::io::Write;
use std::sync::{LazyLock, Mutex};
use tracing_subscriber::fmt::MakeWriter;

const KEY: &str = "a1B2/c3+d4=e5 f6\"g7";

fn secret(value: &str) -> Secret {
    Secret::new(value.to_owned()).expect("a usable secret")
}

fn redactor(values: &[&str]) -> Redactor {
    let secrets: Vec<Secret> = values.iter().map(|v| secret(v)).collect();
    Redactor::new(&secrets)
}

fn percent(value: &str) -> String {
    value.bytes().map(|b| format!("%{b:02x}")).collect()
}

#[test]
fn a_secret_prints_as_stars() {
    assert_eq!(format!("{:?}", secret("do-not-print-me")), "Secret(***)");
    assert_eq!(format!("{:?}", redactor(&["do-not-print-me"])), "Redactor");
}

#[test]
fn every_spelling_of_a_secret_is_removed() {
    let r = redactor(&[KEY]);
    let spellings = [
        KEY.to_owned(),
        percent(KEY),
        percent(KEY).to_uppercase(),
        percent(KEY).replace('%', "%25"),
        KEY.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D").replace(' ', "+").replace('"', "%22"),
        serde_json::to_string(KEY).unwrap().trim_matches('"').to_owned(),
        KEY.replace('/', "\\/"),
        KEY.replace('"', "\\u0022").replace('+', "\\u002b"),
        format!("{KEY:?}").trim_matches('"').to_owned(),
        STANDARD.encode(KEY).trim_end_matches('=').to_owned(),
    ];
    for spelled in spellings {
        let line = format!("GET /status?api_key={spelled}&x=1 failed");
        let clean = r.text(&line);
        assert!(clean.contains(MASK) && clean.contains("&x=1"), "{clean}");
        assert!(!clean.contains(&spelled), "{clean} still has {spelled}");
    }
}

#[test]
fn letters_beyond_ascii_and_quotes_are_removed_in_the_spelling_of_json_and_of_hex() {
    let value = "k\u{fc}ss\"mich\u{1f511}8";
    let redactor = redactor(&[value]);
    let json = serde_json::to_string(value).unwrap();
    let escaped: String =
        value
            .encode_utf16()
            .map(|unit| {
                if unit < 0x80 && unit != 0x22 { char::from(unit as u8).to_string() } else { format!("\\u{unit:04X}") }
            })
            .collect();
    let hex: String = value.bytes().map(|b| format!("{b:02x}")).collect();
    for told in [value, json.as_str(), escaped.as_str(), hex.as_str(), hex.to_uppercase().as_str()] {
        let clean = redactor.text(told).into_owned();
        assert!(clean.contains(MASK) && !clean.contains("mich"), "{told} became {clean}");
        assert!(clean.len() < 8, "{told} became {clean}");
    }
}

#[test]
fn basic_credentials_are_removed_at_any_alignment() {
    let r = redactor(&["hunter2-hunter2"]);
    for user in ["", "u", "us", "use", "user"] {
        for text in [format!("{user}:hunter2-hunter2"), format!("{user}:hunter2-hunter2:more")] {
            for encoded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let clean = r.text(&encoded).into_owned();
                assert!(clean.contains(MASK), "{text} as {encoded} came out as {clean}");
            }
        }
    }
}

#[test]
fn a_secret_that_is_itself_basic_hides_its_password_too() {
    let r = redactor(&[&STANDARD.encode("anna:opensesame")]);
    assert_eq!(r.text("sign-in anna:opensesame failed, tried opensesame"), "sign-in *** failed, tried ***");
}

#[test]
fn of_two_secrets_the_longer_is_removed_whole() {
    let r = redactor(&["abcd", "abcd-efgh"]);
    assert_eq!(r.text("abcd-efgh abcd"), "*** ***");
}

#[test]
fn without_secrets_nothing_is_touched() {
    assert_eq!(Redactor::default().text("all as it was"), "all as it was");
    assert_eq!(redactor(&["hunter2hunter2"]).text("all as it was – ünïcode"), "all as it was – ünïcode");
}

#[test]
fn bodies_lose_secrets_but_never_their_numbers() {
    assert_eq!(redactor(&["hunter2-hunter2"]).body(b"{\"key\":\"hunter2-hunter2\"}".to_vec()), b"{\"key\":\"***\"}");
    assert_eq!(redactor(&["12345678"]).body(b"{\"at\":12345678}".to_vec()), b"{\"at\":12345678}");
    assert_eq!(redactor(&["idle"]).body(b"{\"s\":\"idle\"}".to_vec()), b"{\"s\":\"idle\"}");
}

#[test]
fn a_long_token_is_still_found() {
    let token = token();
    assert_eq!(redactor(&[&token]).text(&format!("Bearer {token}!")), "Bearer ***!");
}

#[test]
fn unusable_secrets_are_refused_without_being_told() {
    for (value, says) in [
        ("", "it is empty"),
        ("abc", "it has only 3 characters"),
        ("two\nlines-here", "line break"),
        (&"x".repeat(LONGEST_SECRET + 1), "longer than"),
    ] {
        let said = Secret::new(value.to_owned()).expect_err("refused");
        assert!(said.contains(says), "{said}");
        assert!(value.is_empty() || !said.contains(value), "{said}");
    }
}

#[test]
fn a_missing_variable_says_what_to_do() {
    let said = read_with(&SecretSource::Env("YARD_KEY".to_owned()), |_| None).expect_err("not set");
    assert_eq!(
        said,
        "The environment variable YARD_KEY is not set; it should hold the credential. Set it and start again."
    );
    let said = read_with(&SecretSource::Env("YARD_KEY".to_owned()), |_| Some("abc".into())).expect_err("too short");
    assert!(
        said.starts_with("The credential in the environment variable YARD_KEY cannot be used: it has only 3"),
        "{said}"
    );
}

#[test]
fn a_file_loses_one_line_break_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    for (content, value) in
        [("key-1234", "key-1234"), ("key-1234\n", "key-1234"), ("key-1234\r\n", "key-1234"), (" key ", " key ")]
    {
        let path = dir.path().join("key");
        std::fs::write(&path, content).unwrap();
        let read = read_secret(&SecretSource::File(path)).unwrap().unwrap();
        assert_eq!(read.expose(), value);
    }
    let said = read_secret(&SecretSource::File(dir.path().join("none"))).expect_err("no file");
    assert!(said.contains("cannot be read") && said.contains("none"), "{said}");
    let said = read_secret(&SecretSource::File(dir.path().to_owned())).expect_err("a folder");
    assert!(said.contains("is a folder"), "{said}");
    assert!(read_secret(&SecretSource::None).unwrap().is_none());
}

#[test]
fn an_environment_file_is_read_as_services_read_it_and_wins_over_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("keys.env");
    let read = |text: &str, own: Option<&'static str>| {
        std::fs::write(&file, text).unwrap();
        let source = SecretSource::Listed { file: file.clone(), name: "YARD_KEY".to_owned() };
        read_with(&source, |_| own.map(Into::into)).map(|secret| secret.unwrap().expose().to_owned())
    };
    for (text, value) in [
        ("YARD_KEY=key-1234\n", "key-1234"),
        ("# YARD_KEY=no\nexport YARD_KEY = 'key 1234'\nYARD_KEY_2=other\n", "key 1234"),
        ("YARD_KEY=old-one\r\nYARD_KEY=\"new=one\"\r\n", "new=one"),
    ] {
        assert_eq!(read(text, Some("of the environment")).as_deref(), Ok(value), "{text:?}");
    }
    assert_eq!(read("OTHER=1", Some("of the environment")).as_deref(), Ok("of the environment"));
    let said = read("OTHER=1", None).unwrap_err();
    assert!(said.starts_with("Neither the environment file") && said.contains("YARD_KEY=..."), "{said}");
    let said = read("YARD_KEY=abc", None).unwrap_err();
    assert!(said.contains("has only 3") && !said.contains("abc"), "{said}");
}

#[test]
fn one_secret_is_one_budget_and_no_secret_is_bounded_by_its_origin() {
    let (here, there) = ([1; 32], [2; 32]);
    let key = secret("shared-key");
    let id = fingerprint(&here, Some(&key), "https://a.test");
    assert_eq!(id, fingerprint(&here, Some(&secret("shared-key")), "https://b.test"));
    assert_ne!(id, fingerprint(&here, Some(&secret("rotated-key")), "https://a.test"));
    assert_ne!(id, fingerprint(&there, Some(&key), "https://a.test"), "another installation cannot compare");
    let open = fingerprint(&here, None, "http://cellar:9090");
    assert_eq!(open, fingerprint(&here, None, "http://CELLAR:9090"));
    assert_ne!(open, fingerprint(&here, None, "http://attic:9090"));
    assert_ne!(fingerprint(&here, None, "shared-key"), id);
}

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn log_lines_are_clean_even_when_written_in_pieces() {
    let paper = Paper::default();
    let writer = Redacting::new(
        {
            let p = paper.clone();
            move || p.clone()
        },
        redactor(&["hunter2-hunter2"]),
    );
    let mut line = writer.make_writer();
    line.write_all(b"calling /x?key=hunter2-").unwrap();
    line.write_all(b"hunter2 now\n").unwrap();
    line.write_all(b"no line break hunter2-hunter2").unwrap();
    drop(line);
    assert_eq!(String::from_utf8_lossy(&paper.0.lock().unwrap()), "calling /x?key=*** now\nno line break ***");
}

#[test]
fn events_of_any_crate_pass_through_the_redacting_writer() {
    let paper = Paper::default();
    let writer = Redacting::new(
        {
            let p = paper.clone();
            move || p.clone()
        },
        redactor(&["hunter2-hunter2"]),
    );
    let subscriber = tracing_subscriber::fmt().with_writer(writer).finish();
    tracing::subscriber::with_default(subscriber, || tracing::error!(url = "http://x/?k=hunter2-hunter2", "could not"));
    let log = String::from_utf8_lossy(&paper.0.lock().unwrap()).into_owned();
    assert!(log.contains("could not") && log.contains("k=***") && !log.contains("hunter2"), "{log}");
}

fn token() -> String {
    (0..LONGEST_SECRET).map(|i| char::from(b'a' + (i * 7 % 26) as u8)).collect()
}

/// One that knows a key, and one that knows a long token too.
static KNOWING: LazyLock<[Redactor; 2]> = LazyLock::new(|| [redactor(&[KEY]), redactor(&[KEY, &token()])]);

/// The spellings that a body may have a key in.
fn spelled(which: u8) -> String {
    match which {
        0 => KEY.to_owned(),
        1 => percent(KEY),
        2 => serde_json::to_string(KEY).unwrap().trim_matches('"').to_owned(),
        3 => KEY.replace('"', "\\u0022").replace('+', "\\u002b"),
        4 => STANDARD.encode(KEY).trim_end_matches('=').to_owned(),
        5 => KEY[..KEY.len() - 1].to_owned(),
        6 => "%".to_owned(),
        _ => "a1B2 and more of what is no key, ".to_owned(),
    }
}

proptest::proptest! {
    #[test]
    fn a_body_in_pieces_loses_what_a_whole_one_loses(
        parts in proptest::collection::vec(0..8u8, 0..60),
        cuts in proptest::collection::vec(1..400usize, 0..60),
        long in proptest::bool::ANY,
    ) {
        let redactor = KNOWING[usize::from(long)].clone();
        let mut body: String = parts.iter().map(|which| spelled(*which)).collect();
        if long {
            body.insert_str(0, &format!("Bearer {}! ", token()));
        }
        let whole = replaced(&redactor, body.as_bytes());
        let (mut stream, mut left, mut got) = (StreamRedactor::new(redactor), body.as_bytes(), Vec::new());
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (piece, rest) = left.split_at(cut.min(left.len()));
            got.extend(stream.push(piece));
            left = rest;
        }
        got.extend(stream.end());
        proptest::prop_assert_eq!(String::from_utf8(got), String::from_utf8(whole));
    }
}

/// A whole body with a star for each byte of a secret.
fn replaced(redactor: &Redactor, body: &[u8]) -> Vec<u8> {
    let (pattern, _) = redactor.for_bodies().expect("secrets");
    let stars = |found: &regex::bytes::Captures<'_>| vec![b'*'; found[0].len()];
    pattern.replace_all(body, stars).into_owned()
}

#[test]
fn what_is_held_of_a_stream_is_bounded() {
    let redactor = redactor(&[KEY]);
    let mut stream = StreamRedactor::new(redactor.clone());
    let (_, reach) = redactor.for_bodies().unwrap();
    for _ in 0..100 {
        stream.push(&[b'x'; 1000]);
        assert!(stream.end().len() <= reach.max(1000));
    }
    let mut given = 0;
    for _ in 0..1000 {
        given += stream.push(&[b'x'; 1000]).len();
    }
    assert!(given + reach >= 1_000_000, "{given}");
}
