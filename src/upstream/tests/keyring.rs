//! Secrets that are replaced while requests are under way.

use super::super::boundary::Secrets;
use super::super::keyring::{Change, Keyring};
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
    let set = keyring.consider(&yard(), Change::Set(secret("second-key"))).unwrap();
    assert!(set.differs);
    assert_eq!(carried(&keyring, OLD), "first-key", "considered is not adopted");
    keyring.adopt(set, OLD, NEW);
    assert_eq!((carried(&keyring, OLD), carried(&keyring, NEW)), ("first-key".to_owned(), "second-key".to_owned()));
    let back = keyring.consider(&yard(), Change::Cleared).unwrap();
    keyring.adopt(back, NEW, OLD);
    assert_eq!((carried(&keyring, OLD), carried(&keyring, NEW)), ("first-key".to_owned(), "second-key".to_owned()));
    // Another key of the same account: whatever is admitted for it goes out with the new one.
    let same = keyring.consider(&yard(), Change::Set(secret("third-key"))).unwrap();
    keyring.adopt(same, OLD, OLD);
    assert_eq!(carried(&keyring, OLD), "third-key");
}

#[test]
fn what_an_operator_set_wins_and_is_opened_by_its_own_key_file_alone() {
    let Desk { keyring, folder, .. } = desk("first-key", query());
    let set = keyring.consider(&yard(), Change::Set(secret("second-key"))).unwrap();
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
fn a46_a_secret_is_hidden_before_it_is_used_and_the_old_one_for_good() {
    let Desk { keyring, redactor, folder: _folder } = desk("first-key", query());
    for n in 0..200 {
        let set = keyring.consider(&yard(), Change::Set(secret(&format!("rotated-key-{n}")))).unwrap();
        assert_eq!(redactor.text(&format!("rotated-key-{n}")), "***");
        keyring.adopt(set, OLD, NEW);
    }
    assert_eq!(redactor.text("first-key rotated-key-0"), "*** ***");
}

#[test]
fn what_cannot_travel_is_refused_and_changes_nothing() {
    let Desk { keyring, .. } = desk("first-key", bearer());
    let said = keyring.consider(&yard(), Change::Set(secret("schlüssel"))).err().unwrap();
    assert!(said.contains("the header Authorization cannot carry"), "{said}");
    let said = keyring.consider(&yard(), Change::Configured(None, None)).err().unwrap();
    assert!(said.contains("none was read"), "{said}");
    assert_eq!(carried(&keyring, NEW), "first-key");
    let Desk { keyring, .. } = desk("first-key", Carrier::None);
    let said = keyring.consider(&yard(), Change::Set(secret("second-key"))).err().unwrap();
    assert!(said.contains("sends no credential"), "{said}");
}
