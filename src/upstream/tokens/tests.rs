//! The vault by itself: what is sealed and what a copy tells, what an answer means, and that nothing prints a token.

use super::*;
use crate::domain::oauth::{Counted, Rotation};
use crate::domain::spec::SecretSource;
use std::os::unix::fs::PermissionsExt;

const CREDENTIAL: CredentialId = CredentialId([7; 16]);

fn spec(auth: ClientAuth) -> OAuthSpec {
    OAuthSpec {
        token_url: "https://auth.test/token".to_owned(),
        client_id: "client one".to_owned(),
        client_secret: SecretSource::None,
        scope: Some("read write".to_owned()),
        auth,
        rotation: Rotation::Rotates,
        counted: Counted::Apart,
        account: String::new(),
    }
}

fn yard() -> ConnectionKey {
    ConnectionKey { organization: Default::default(), connection: "yard".into() }
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned()).unwrap()
}

struct Bench {
    home: tempfile::TempDir,
    redactor: Redactor,
}

impl Bench {
    fn new() -> Bench {
        Bench { home: tempfile::tempdir().unwrap(), redactor: Redactor::default() }
    }
    fn data(&self) -> std::path::PathBuf {
        self.home.path().join("larder.redb")
    }
    fn vault(&self, refresh: &str, stored: Option<(u64, Vec<u8>)>) -> (Vault, Option<String>) {
        let (key, _) = SealKey::beside(&self.data()).unwrap();
        let vault = Vault::new(key, self.redactor.clone());
        let (refresh, client) = (secret(refresh), secret("client/secret"));
        let spec = spec(ClientAuth::Basic);
        let note = vault.join(Joining {
            connection: yard(),
            credential: CREDENTIAL,
            spec: &spec,
            refresh: &refresh,
            client_secret: Some(&client),
            stored,
        });
        (vault, note)
    }
}

fn at(s: u64) -> Stamp {
    Stamp { steady: Steady(s * 1000), ..Stamp::default() }
}

fn answer(status: u16, body: &str) -> Answer {
    Answer { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
}

fn granted(vault: &Vault, body: &str) -> Vec<u8> {
    match vault.take(CREDENTIAL, at(100), at(101), answer(200, body)).result {
        Renewed::Granted(sealed) => sealed,
        other => panic!("{other:?}"),
    }
}

const TOKENS: &str =
    r#"{"access_token":"access-token-1","refresh_token":"refresh-token-2","expires_in":"3600","token_type":"bearer"}"#;

#[test]
fn a_token_is_used_when_it_is_stored_and_not_before() {
    let bench = Bench::new();
    let (vault, _) = bench.vault("refresh-token-1", None);
    assert_eq!(vault.standing(CREDENTIAL, Steady(100_000)), Standing::default());
    let sealed = granted(&vault, TOKENS);
    assert!(vault.access_token(&yard()).is_none(), "pending is not used");
    assert!(vault.pending(CREDENTIAL).is_some(), "and not lost while the disk is full");
    vault.adopt(CREDENTIAL, 1);
    assert_eq!(vault.access_token(&yard()).unwrap().expose(), "access-token-1");
    let standing = |s: u64| vault.standing(CREDENTIAL, Steady(s * 1000));
    assert_eq!(
        (standing(3_669).valid, standing(3_670).valid),
        (true, false),
        "half a minute early, from when it was asked for"
    );

    // After a restart it is as it was; the configured token is the first one still.
    let (vault, note) = bench.vault("refresh-token-1", Some((1, sealed)));
    assert_eq!((note, vault.standing(CREDENTIAL, Steady(100_000)).valid), (None, true));
    let (form, basic) = vault.asking(CREDENTIAL).unwrap();
    assert_eq!(form.as_str(), "grant_type=refresh_token&refresh_token=refresh-token-2&scope=read%20write");
    assert_eq!(basic.unwrap().as_str(), format!("Basic {}", STANDARD.encode("client%20one:client%2Fsecret")));
}

#[test]
fn a_short_life_has_a_short_leeway() {
    for (expires_in, renewed_at_s) in [("20", 118), ("60", 154), ("300", 370), ("3600", 3670)] {
        let (vault, _) = Bench::new().vault("refresh-token-1", None);
        granted(&vault, &TOKENS.replace("3600", expires_in));
        vault.adopt(CREDENTIAL, 1);
        let valid = |ms: u64| vault.standing(CREDENTIAL, Steady(ms)).valid;
        assert_eq!((valid(renewed_at_s * 1000 - 1), valid(renewed_at_s * 1000)), (true, false), "{expires_in} s");
    }
    let (vault, _) = Bench::new().vault("refresh-token-1", None);
    granted(&vault, &TOKENS.replace("3600", "0"));
    vault.adopt(CREDENTIAL, 1);
    assert!(vault.standing(CREDENTIAL, Steady(1_000_000)).valid, "a zero says nothing of its end");
}

#[test]
fn another_configured_token_begins_anew_and_a_lost_key_says_so() {
    let bench = Bench::new();
    let (vault, _) = bench.vault("refresh-token-1", None);
    let sealed = granted(&vault, TOKENS);
    let (vault, note) = bench.vault("refresh-token-9", Some((4, sealed.clone())));
    let standing = vault.standing(CREDENTIAL, Steady(100_000));
    assert_eq!((note, standing.anew, standing.valid, standing.version), (None, true, false, 4));
    assert!(vault.asking(CREDENTIAL).unwrap().0.contains("refresh_token=refresh-token-9"));

    std::fs::remove_file(key_beside(&bench.data())).unwrap();
    let (vault, note) = bench.vault("refresh-token-1", Some((4, sealed)));
    assert!(note.unwrap().contains("cannot be opened with the key file"));
    let standing = vault.standing(CREDENTIAL, Steady(100_000));
    assert!(standing.key_lost && standing.withheld && !standing.anew, "what was replaced is not sent");
    assert!(vault.asking(CREDENTIAL).unwrap().0.contains("refresh_token=refresh-token-1"));
}

impl Bench {
    fn loses_the_key(&self) {
        std::fs::remove_file(key_beside(&self.data())).unwrap();
    }
    /// (another one is configured, it is not sent) at a start.
    fn starts(&self, refresh: &str, stored: &Option<Vec<u8>>) -> (Vault, (bool, bool)) {
        let (vault, _) = self.vault(refresh, stored.clone().map(|bytes| (1, bytes)));
        let standing = vault.standing(CREDENTIAL, Steady(0));
        (vault, (standing.anew, standing.withheld))
    }
    /// The token endpoint did not accept what is configured.
    fn rejects(&self, refresh: &str, stored: &Option<Vec<u8>>) -> Option<Vec<u8>> {
        let (vault, _) = self.starts(refresh, stored);
        vault.marked(CREDENTIAL, true, stored.as_deref()).or(stored.clone())
    }
}

const ANOTHER: (bool, bool) = (true, false);
const THE_SAME: (bool, bool) = (false, false);
const WITHHELD: (bool, bool) = (false, true);

#[test]
fn what_was_rejected_is_another_one_only_when_it_is() {
    let bench = Bench::new();
    let how = |refresh: &str, stored: &Option<Vec<u8>>| bench.starts(refresh, stored).1;
    // Before anything was granted.
    assert_eq!(how("refresh-token-1", &None), THE_SAME);
    let stored = bench.rejects("refresh-token-1", &None);
    assert!(stored.is_some());
    assert_eq!(how("refresh-token-1", &stored), THE_SAME, "over any number of starts");
    assert_eq!(how("refresh-token-9", &stored), ANOTHER);
    // And after.
    let granted = Some(granted(&bench.starts("refresh-token-9", &stored).0, TOKENS));
    assert_eq!(how("refresh-token-9", &granted), THE_SAME);
    let stored = bench.rejects("refresh-token-5", &granted);
    assert_eq!(how("refresh-token-5", &stored), THE_SAME);
    assert_eq!(how("refresh-token-6", &stored), ANOTHER);
    let (vault, standing) = bench.starts("refresh-token-9", &stored);
    assert_eq!(standing, ANOTHER, "the one that worked is back");
    let standing = vault.standing(CREDENTIAL, Steady(100_000));
    assert!(standing.valid && standing.opened, "and what came of it was kept");
    // Once that is heeded, it is no news any more.
    let heeded = vault.marked(CREDENTIAL, false, stored.as_deref());
    assert_eq!(how("refresh-token-9", &heeded), THE_SAME);
    assert_eq!(heeded, granted, "to the byte what it was");
    assert_eq!(vault.marked(CREDENTIAL, false, heeded.as_deref()), None);
}

#[test]
fn a_client_that_was_mended_is_another_credential() {
    let (seed, other) = ([1; 16], [2; 16]);
    let one = spec(ClientAuth::Basic);
    let scope = |scope: &str| OAuthSpec { scope: Some(scope.to_owned()), ..one.clone() };
    let (secret, mended) = (secret("client/secret"), secret("client/mended"));
    let all = [
        configured(seed, &one, Some(&secret)),
        configured(other, &one, Some(&secret)),
        configured(seed, &one, Some(&mended)),
        configured(seed, &one, None),
        configured(seed, &spec(ClientAuth::Body), Some(&secret)),
        configured(seed, &scope("read"), Some(&secret)),
        configured(seed, &scope(""), Some(&secret)),
    ];
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
    assert_eq!(all[0], configured(seed, &one.clone(), Some(&secret)));
}

#[test]
fn without_the_key_a_replaced_token_is_not_sent_and_another_one_is() {
    let bench = Bench::new();
    let how = |refresh: &str, stored: &Option<Vec<u8>>| bench.starts(refresh, stored).1;
    let replaced = Some(granted(&bench.starts("refresh-token-1", &None).0, TOKENS));
    let kept = TOKENS.replace("refresh-token-2", "refresh-token-1");
    let kept = Some(granted(&bench.starts("refresh-token-1", &None).0, &kept));
    // Of an earlier version: the sealed tokens alone.
    let old = replaced.as_ref().map(|bytes| Kept::of(bytes).sealed);
    assert_eq!(how("refresh-token-1", &old), THE_SAME, "it is still read");
    let key = std::fs::read(key_beside(&bench.data())).unwrap();
    bench.loses_the_key();

    for stored in [&replaced, &old] {
        assert_eq!(how("refresh-token-1", stored), WITHHELD);
        let asked = bench.rejects("refresh-token-1", stored);
        assert_eq!(how("refresh-token-1", &asked), WITHHELD, "however often it starts");
        assert_eq!(how("refresh-token-9", &asked), ANOTHER);
        let rejected = bench.rejects("refresh-token-9", &asked);
        assert_eq!(how("refresh-token-9", &rejected), THE_SAME, "it is not tried again with each start");
        assert_eq!(how("refresh-token-1", &rejected), WITHHELD);
    }
    assert_eq!(how("refresh-token-9", &replaced), ANOTHER, "given before the first start without the key");
    // What was never replaced is the one that lives.
    assert_eq!(how("refresh-token-1", &kept), THE_SAME);
    let rejected = bench.rejects("refresh-token-1", &kept);
    assert_eq!((how("refresh-token-1", &rejected), how("refresh-token-9", &rejected)), (THE_SAME, ANOTHER));

    // The key is back: nothing of what was sealed was touched.
    let asked = bench.rejects("refresh-token-9", &bench.rejects("refresh-token-1", &replaced));
    std::fs::write(key_beside(&bench.data()), key).unwrap();
    let (vault, _) = bench.starts("refresh-token-1", &asked);
    assert!(vault.asking(CREDENTIAL).unwrap().0.contains("refresh_token=refresh-token-2"));
    let standing = |vault: &Vault| vault.standing(CREDENTIAL, Steady(0));
    assert!(standing(&vault).opened && !standing(&vault).key_lost);
    // But it is not what was rejected meanwhile.
    let (vault, how) = bench.starts("refresh-token-9", &asked);
    assert!(how == THE_SAME && !standing(&vault).opened && !standing(&vault).key_lost);
}

#[test]
fn tokens_that_are_stored_with_the_new_key_end_its_loss() {
    let bench = Bench::new();
    let stored = Some(granted(&bench.starts("refresh-token-1", &None).0, TOKENS));
    bench.loses_the_key();
    let (vault, _) = bench.starts("refresh-token-9", &stored);
    let new = granted(&vault, TOKENS);
    vault.adopt(CREDENTIAL, 2);
    let standing = vault.standing(CREDENTIAL, Steady(0));
    assert!(standing.valid && !standing.key_lost && !standing.anew, "{standing:?}");
    assert_eq!(bench.starts("refresh-token-9", &Some(new)).1, THE_SAME);
}

#[test]
fn what_is_kept_is_read_as_it_was_written_and_anything_else_as_sealed() {
    let origin = |replaced| Some(Origin { seed: [3; 16], replaced });
    for origin in [None, origin(false), origin(true)] {
        for rejected in [None, Some([0; 16]), Some([9; 16])] {
            for sealed in [Vec::new(), vec![1, 2, 3]] {
                let kept = Kept { origin, rejected, sealed };
                let bytes = kept.bytes();
                assert_eq!(Kept::of(&bytes), kept);
                assert_eq!(Kept::of(&bytes[..20]).sealed, bytes[..20]);
            }
        }
    }
    let golden = Kept { origin: origin(true), rejected: Some([9; 16]), sealed: vec![1, 255] }.bytes();
    assert_eq!(golden, [&[2, 7][..], &[3; 16], &[9; 16], &[1, 255]].concat());
    for other in [&[][..], &[2], &[1; 40], &[9; 40]] {
        assert_eq!(Kept::of(other), Kept { sealed: other.to_vec(), ..Kept::default() });
    }
}

#[test]
fn a_copied_file_tells_nothing_and_a_moved_row_cannot_be_opened() {
    let bench = Bench::new();
    let (vault, _) = bench.vault("refresh-token-1", None);
    let sealed = granted(&vault, TOKENS);
    let text = String::from_utf8_lossy(&sealed).into_owned();
    assert!(!text.contains("token"), "{text}");
    let (key, found) = SealKey::beside(&bench.data()).unwrap();
    assert_eq!(found, Found::Kept);
    let whole = sealed;
    let sealed = Kept::of(&whole).sealed;
    assert!(key.open(CREDENTIAL, PURPOSE, &sealed).is_some());
    assert!(key.open(CredentialId([8; 16]), PURPOSE, &sealed).is_none());
    assert!(key.open(CREDENTIAL, "another purpose", &sealed).is_none());
    for at in 0..sealed.len() {
        let mut bent = sealed.clone();
        bent[at] ^= 1;
        assert!(key.open(CREDENTIAL, PURPOSE, &bent).is_none(), "byte {at}");
        assert!(key.open(CREDENTIAL, PURPOSE, &sealed[..at]).is_none());
    }
    let again = vault.pending(CREDENTIAL).unwrap();
    assert_ne!(again, whole, "another nonce each time");
    assert_ne!(Kept::of(&again).sealed, sealed, "another nonce each time");
}

#[test]
fn the_key_file_is_its_owners_alone_and_whole_or_refused() {
    let bench = Bench::new();
    assert_eq!(SealKey::beside(&bench.data()).unwrap().1, Found::Created);
    let path = key_beside(&bench.data());
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(), std::fs::read(&path).unwrap().len()), (0o600, 32));
    let names: Vec<_> = std::fs::read_dir(bench.home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["larder.key"], "no draft is left");

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(
        matches!(SealKey::beside(&bench.data()).unwrap().1, Found::Mended(s) if s.contains("other users could read"))
    );
    assert_eq!(mode(), 0o600);
    for wrong in [vec![], vec![1; 31], vec![1; 33]] {
        std::fs::write(&path, &wrong).unwrap();
        let said = SealKey::beside(&bench.data()).err().unwrap();
        assert!(said.contains("is damaged: it has to hold 32 bytes"), "{said}");
        assert_eq!(std::fs::read(&path).unwrap(), wrong, "nothing is written over it");
    }
}

#[test]
fn answers_are_told_apart() {
    let bench = Bench::new();
    let (vault, _) = bench.vault("refresh-token-1", None);
    let take = |status, body: &str| vault.take(CREDENTIAL, at(1), at(2), answer(status, body)).result;
    let dead = r#"{"error":"invalid_grant","error_description":"refresh-token-1 was revoked"}"#;
    assert!(matches!(take(400, dead), Renewed::InvalidGrant(Some(said)) if said == "*** was revoked"));
    assert!(
        matches!(take(401, r#"{"error":"invalid_client"}"#), Renewed::Refused(code, Some(said)) if code == "invalid_client" && said == code)
    );
    let bare = take(400, r#"{"error":"expired_token","error_description":" "}"#);
    assert!(matches!(bare, Renewed::InvalidGrant(Some(said)) if said == "expired_token"), "the code is what it said");
    // A limit is never taken for a dead token, whatever it says.
    for (status, body) in [
        (429, dead),
        (500, dead),
        (503, "busy"),
        (400, r#"{"error":"rate_limited"}"#),
        (400, "<html>"),
        (200, "{}"),
        (200, r#"{"access_token":5}"#),
        (200, r#"{"access_token":"with\nbreak"}"#),
        (200, ""),
    ] {
        assert!(matches!(take(status, body), Renewed::Unclear(_)), "{status} {body}");
    }
    assert!(vault.pending(CREDENTIAL).is_none());
}

#[test]
fn a51_the_winners_tokens_are_followed_and_the_losers_forgotten() {
    let bench = Bench::new();
    let (loser, _) = bench.vault("refresh-token-1", None);
    let (winner, _) = bench.vault("refresh-token-1", None);
    let stored = granted(&winner, TOKENS);
    granted(&loser, &TOKENS.replace("access-token-1", "access-token-x"));
    assert!(loser.follow(CREDENTIAL, 1, &stored));
    assert_eq!(loser.access_token(&yard()).unwrap().expose(), "access-token-1");
    assert!(loser.pending(CREDENTIAL).is_none());
    assert!(!loser.follow(CREDENTIAL, 2, b"nothing of ours"), "and what cannot be opened changes nothing");
    assert_eq!(loser.standing(CREDENTIAL, Steady(0)).version, 1);
}

#[test]
fn a46_a47_tokens_learned_at_run_time_are_in_no_text() {
    let bench = Bench::new();
    let (vault, _) = bench.vault("refresh-token-1", None);
    let long = format!("eyJhbGciOiJSUzI1NiJ9.{}", (1..300).map(|i: u32| format!("{:x}", i * 7919)).collect::<String>());
    granted(&vault, &TOKENS.replace("access-token-1", &long));
    let text = bench
        .redactor
        .text(&format!("GET /x?t={long}&u=refresh-token-2 Bearer {long}; tail {}", &long[500..]))
        .into_owned();
    let inner = &long[600..640];
    assert!(!text.contains(inner) && !text.contains("refresh-token-2"), "{text}");
    assert_eq!(text, "GET /x?t=***&u=*** Bearer ***; tail ***");
    let printed = format!("{:?}", vault.take(CREDENTIAL, at(1), at(2), answer(200, TOKENS)));
    assert!(!printed.contains("token-1"), "{printed}");
}

#[test]
fn the_budget_belongs_to_client_and_account() {
    let id = |spec: &OAuthSpec| identity(&[1; 32], spec);
    let one = spec(ClientAuth::Basic);
    assert_eq!(id(&one), id(&OAuthSpec { scope: None, auth: ClientAuth::Body, ..one.clone() }));
    for other in [
        OAuthSpec { account: "b".to_owned(), ..one.clone() },
        OAuthSpec { client_id: "client two".to_owned(), ..one.clone() },
        OAuthSpec { token_url: "https://other.test/token".to_owned(), ..one.clone() },
    ] {
        assert_ne!(id(&one), id(&other));
    }
}
