//! Secrets that are replaced while requests are under way.

use super::super::boundary::Secrets;
use super::super::keyring::{Change, Keyring, Pasted};
use super::super::redact::Redactor;
use super::*;
use crate::domain::ids::CredentialId;

const OLD: CredentialId = CredentialId([1; 16]);
const NEW: CredentialId = CredentialId([2; 16]);

struct Desk {
    keyring: Keyring,
    redactor: Redactor,
    folder: tempfile::TempDir,
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned()).unwrap()
}

fn desk(configured: &str, carrier: Carrier) -> Desk {
    let folder = tempfile::tempdir().unwrap();
    desk_in(folder, configured, carrier)
}

fn desk_in(folder: tempfile::TempDir, configured: &str, carrier: Carrier) -> Desk {
    let secrets = Secrets { own: BTreeMap::from([(yard(), secret(configured))]), ..Secrets::default() };
    let redactor = Redactor::new(secrets.all());
    let specs = [spec("https://api.test/v1", carrier, quick())];
    let data = folder.path().join("larder.redb");
    Desk { keyring: Keyring::new([7; 32], data, &specs, &secrets, redactor.clone()), redactor, folder }
}

fn carried(keyring: &Keyring, payer: CredentialId) -> String {
    keyring.secret(&yard(), Some(payer)).unwrap().expose().to_owned()
}

#[test]
fn each_request_goes_out_with_the_secret_that_paid_for_it() {
    let Desk { keyring, folder: _folder, .. } = desk("first-key", query());
    let set = keyring.consider(&yard(), Change::Set(secret("second-key").into())).unwrap();
    assert!(set.differs);
    assert_eq!(carried(&keyring, OLD), "first-key", "considered is not adopted");
    keyring.adopt(set, OLD, NEW);
    assert_eq!((carried(&keyring, OLD), carried(&keyring, NEW)), ("first-key".to_owned(), "second-key".to_owned()));
    let back = keyring.consider(&yard(), Change::Cleared).unwrap();
    keyring.adopt(back, NEW, OLD);
    assert_eq!((carried(&keyring, OLD), carried(&keyring, NEW)), ("first-key".to_owned(), "second-key".to_owned()));
    // Another key of the same account: whatever is admitted for it goes out with the new one.
    let same = keyring.consider(&yard(), Change::Set(secret("third-key").into())).unwrap();
    keyring.adopt(same, OLD, OLD);
    assert_eq!(carried(&keyring, OLD), "third-key");
}

#[test]
fn what_an_operator_set_wins_and_is_opened_by_its_own_key_file_alone() {
    let Desk { keyring, folder, .. } = desk("first-key", query());
    let set = keyring.consider(&yard(), Change::Set(secret("second-key").into())).unwrap();
    let (sealed, print) = (set.sealed.clone().unwrap(), set.fingerprint);
    assert!(!sealed.windows(10).any(|w| w == b"second-key"));
    keyring.adopt(set, OLD, NEW);
    let reread = keyring.consider(&yard(), Change::Configured(Some(secret("other-key")), None)).unwrap();
    assert_eq!((reread.differs, reread.fingerprint, reread.sealed.as_ref()), (false, print, Some(&sealed)));

    let again = desk_in(folder, "first-key", query());
    again.keyring.restore(&yard(), sealed.clone()).unwrap();
    assert_eq!((again.keyring.fingerprint(&yard(), None), again.keyring.is_set(&yard())), (Some(print), true));
    assert_eq!(again.redactor.text("it was second-key"), "it was ***");
    let other = desk("first-key", query());
    let said = other.keyring.restore(&yard(), sealed).unwrap_err();
    assert!(said.contains("uses the configured one") && !other.keyring.is_set(&yard()), "{said}");
}

#[test]
fn a_client_secret_is_sealed_beside_the_refresh_token_and_outlives_another_one() {
    let Desk { keyring, folder, .. } = desk("configured-token", bearer());
    let pasted = Pasted { secret: secret("first-token"), client: Some(secret("client-word")) };
    let set = keyring.consider(&yard(), Change::Set(pasted)).unwrap();
    assert!(set.sealed.as_ref().is_some_and(|sealed| !sealed.windows(11).any(|w| w == b"client-word")));
    keyring.adopt(set, OLD, OLD);
    let another = keyring.consider(&yard(), Change::Set(secret("second-token").into())).unwrap();
    let sealed = another.sealed.clone().unwrap();
    keyring.adopt(another, OLD, OLD);
    let told = |keyring: &Keyring| {
        let (own, client) = keyring.in_force(&yard());
        (own.unwrap().expose().to_owned(), client.map(|client| client.expose().to_owned()))
    };
    let expected = ("second-token".to_owned(), Some("client-word".to_owned()));
    assert_eq!(told(&keyring), expected);
    let again = desk_in(folder, "configured-token", bearer());
    again.keyring.restore(&yard(), sealed).unwrap();
    assert_eq!(told(&again.keyring), expected);
    assert_eq!(again.redactor.text("it was client-word"), "it was ***");
    let cleared = again.keyring.consider(&yard(), Change::Cleared).unwrap();
    again.keyring.adopt(cleared, OLD, OLD);
    assert_eq!(told(&again.keyring), ("configured-token".to_owned(), None));
}

#[test]
fn a46_a_secret_is_hidden_before_it_is_used_and_the_old_one_for_good() {
    let Desk { keyring, redactor, folder: _folder } = desk("first-key", query());
    for n in 0..200 {
        let set = keyring.consider(&yard(), Change::Set(secret(&format!("rotated-key-{n}")).into())).unwrap();
        assert_eq!(redactor.text(&format!("rotated-key-{n}")), "***");
        keyring.adopt(set, OLD, NEW);
    }
    assert_eq!(redactor.text("first-key rotated-key-0"), "*** ***");
}

#[test]
fn what_cannot_travel_is_refused_and_changes_nothing() {
    let Desk { keyring, .. } = desk("first-key", bearer());
    let said = keyring.consider(&yard(), Change::Set(secret("schlüssel").into())).err().unwrap();
    assert!(said.contains("the header Authorization cannot carry"), "{said}");
    let said = keyring.consider(&yard(), Change::Configured(None, None)).err().unwrap();
    assert!(said.contains("none was read"), "{said}");
    assert_eq!(carried(&keyring, NEW), "first-key");
    let Desk { keyring, .. } = desk("first-key", Carrier::None);
    let said = keyring.consider(&yard(), Change::Set(secret("second-key").into())).err().unwrap();
    assert!(said.contains("sends no credential"), "{said}");
}
