//! The key beside the data file, and what is sealed with it: ChaCha20-Poly1305 (RFC 8439), a random nonce, bound to the credential and the
//! purpose. A copied data file without the key tells nothing. Knows files and the cipher; knows nothing of tokens.

use crate::domain::ids::{ConnectionKey, CredentialId};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const KEY_LENGTH: usize = 32;
/// First byte of everything that is sealed.
const FORM: u8 = 1;

/// The key of one data file.
pub struct SealKey(LessSafeKey);

/// What was found beside the data file, where somebody should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Kept,
    Created,
    /// Others could read it; they cannot any more.
    Mended(String),
}

/// `larder.redb` -> `larder.key`
pub fn key_beside(data: &Path) -> PathBuf {
    data.with_extension("key")
}

impl SealKey {
    /// Reads the key, or makes one (0600, whole or not at all). The error is a sentence.
    pub fn beside(data: &Path) -> Result<(SealKey, Found), String> {
        let path = key_beside(data);
        let shown = path.display();
        match File::open(&path) {
            Ok(file) => {
                let found = mend(&file, &path)?;
                let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_LENGTH + 1));
                let read = file.take(KEY_LENGTH as u64 + 1).read_to_end(&mut bytes);
                read.map_err(|e| format!("The key file {shown} cannot be read ({}).", e.kind()))?;
                let key = SealKey::new(&bytes).ok_or_else(|| {
                    format!(
                        "The key file {shown} is damaged: it has to hold {KEY_LENGTH} bytes. Restore it, or move it away; Larder then makes \
                         another one and asks for refresh tokens where renewals have replaced the configured ones."
                    )
                })?;
                Ok((key, found))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                create(&path).map(|key| (key, Found::Created)).map_err(|e| {
                    format!("The key file {shown} cannot be made ({}); let this user write to its folder.", e.kind())
                })
            }
            Err(e) => Err(format!("The key file {shown} cannot be read ({}); let this user read it.", e.kind())),
        }
    }

    fn new(bytes: &[u8]) -> Option<SealKey> {
        UnboundKey::new(&CHACHA20_POLY1305, bytes).ok().map(|key| SealKey(LessSafeKey::new(key)))
    }

    /// `purpose` and credential are bound to it: a row that was moved to another key cannot be opened.
    pub fn seal(&self, credential: CredentialId, purpose: &str, plain: &[u8]) -> Result<Vec<u8>, String> {
        let failed = || "The token could not be sealed; it is not stored.".to_owned();
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| failed())?;
        let mut body = Zeroizing::new(plain.to_vec());
        let aad = Aad::from(bound_to(credential, purpose));
        let unique = Nonce::assume_unique_for_key(nonce);
        let tag = self.0.seal_in_place_separate_tag(unique, aad, body.as_mut_slice()).map_err(|_| failed())?;
        Ok([&[FORM], nonce.as_slice(), body.as_slice(), tag.as_ref()].concat())
    }

    /// `None` where it was sealed with another key, for something else, or damaged.
    pub fn open(&self, credential: CredentialId, purpose: &str, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, body) = sealed.strip_prefix(&[FORM])?.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut body = Zeroizing::new(body.to_vec());
        let length = self.0.open_in_place(nonce, Aad::from(bound_to(credential, purpose)), &mut body).ok()?.len();
        body.truncate(length);
        Some(body)
    }
}

/// What people read where the key file opens nothing of what is stored.
pub(super) fn lost(connection: &ConnectionKey, withheld: bool) -> String {
    let then = if withheld {
        "the configured refresh token was replaced long ago and is not sent again: put the old key file back, or configure a new token"
    } else {
        "Larder begins again with the configured refresh token, and says so if the provider does not accept it any more"
    };
    format!(
        "the stored tokens of connection {connection} cannot be opened with the key file (it is another one, or new); {then}"
    )
}

fn bound_to(credential: CredentialId, purpose: &str) -> Vec<u8> {
    [credential.0.as_slice(), purpose.as_bytes()].concat()
}

/// A key that others can read seals nothing.
fn mend(file: &File, path: &Path) -> Result<Found, String> {
    let shown = path.display();
    let mode = file
        .metadata()
        .map_err(|e| format!("The key file {shown} cannot be read ({}).", e.kind()))?
        .permissions()
        .mode();
    if mode & 0o077 == 0 {
        return Ok(Found::Kept);
    }
    file.set_permissions(Permissions::from_mode(0o600)).map_err(|e| {
        format!(
            "Other users can read the key file {shown}, and that could not be mended ({}); run: chmod 600 {shown}",
            e.kind()
        )
    })?;
    Ok(Found::Mended(format!(
        "other users could read the key file {shown}; that was mended, but a copy of it may be about"
    )))
}

/// Under another name first, so that a crash leaves a whole key or none; never over one that is there.
fn create(path: &Path) -> io::Result<SealKey> {
    let mut key = Zeroizing::new([0; KEY_LENGTH]);
    getrandom::fill(key.as_mut_slice()).map_err(|_| io::Error::other("no random numbers"))?;
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    let _ = std::fs::remove_file(&draft);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(key.as_slice())?;
    file.sync_all()?;
    std::fs::hard_link(&draft, path)?;
    std::fs::remove_file(&draft)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()?;
    SealKey::new(key.as_slice()).ok_or_else(|| io::Error::other("no key"))
}
