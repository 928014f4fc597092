//! Reads a secret from where the configuration says it lies: an environment variable or a file. Never prints it.

use super::{LONGEST_SECRET, Secret};
use crate::domain::spec::SecretSource;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zeroize::Zeroizing;

/// Most bytes of an environment file that are read.
const MOST_LISTED: usize = 256 * 1024;

/// The secret, or `None` for a connection without credential. The error is a sentence that says what to do.
pub fn read_secret(source: &SecretSource) -> Result<Option<Secret>, String> {
    read_with(source, |name| std::env::var_os(name))
}

pub(super) fn read_with(
    source: &SecretSource,
    variable: impl Fn(&str) -> Option<std::ffi::OsString>,
) -> Result<Option<Secret>, String> {
    match source {
        SecretSource::None | SecretSource::Sealed => Ok(None),
        SecretSource::Env(name) => {
            let value = variable(name).ok_or_else(|| {
                format!(
                    "The environment variable {name} is not set; it should hold the credential. Set it and start again."
                )
            })?;
            let value =
                value.into_string().map_err(|_| format!("The environment variable {name} is not UTF-8 text."))?;
            named(Secret::new(value), || format!("The credential in the environment variable {name} cannot be used"))
        }
        SecretSource::Listed { file, name } => match listed(&read_text(file, MOST_LISTED)?, name) {
            Some(value) => {
                let what =
                    || format!("The credential {name} in the environment file {} cannot be used", file.display());
                named(Secret::new(value), what)
            }
            None if variable(name).is_some() => read_with(&SecretSource::Env(name.clone()), variable),
            None => Err(format!(
                "Neither the environment file {} nor the environment has {name}; it should hold the credential. Add a line {name}=... there.",
                file.display()
            )),
        },
        SecretSource::File(path) => {
            let value = read_file(path)?;
            named(Secret::new(value), || format!("The credential in {} cannot be used", path.display()))
        }
    }
}

fn named(secret: Result<Secret, String>, what: impl Fn() -> String) -> Result<Option<Secret>, String> {
    secret.map(Some).map_err(|why| format!("{}: {why}.", what()))
}

/// The last of its lines that gives the variable a value, as systemd and shells read them: `NAME=value`, in quotes or not, `#` begins a comment
/// line.
fn listed(text: &str, name: &str) -> Option<String> {
    let assigned = |line: &str| {
        let line = line.trim();
        let (found, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let value = value.trim();
        let quoted = ['"', '\''].into_iter().find_map(|q| value.strip_prefix(q)?.strip_suffix(q));
        (found.trim() == name).then(|| quoted.unwrap_or(value).to_owned())
    };
    text.lines().filter(|line| !line.trim_start().starts_with('#')).filter_map(assigned).next_back()
}

fn read_file(path: &Path) -> Result<String, String> {
    // No more than a secret can have and a line break; `Secret::new` refuses what is longer.
    let text = read_text(path, LONGEST_SECRET + 3)?;
    let line = text.strip_suffix('\n').map_or(text.as_str(), |t| t.strip_suffix('\r').unwrap_or(t));
    Ok(line.to_owned())
}

fn read_text(path: &Path, most: usize) -> Result<Zeroizing<String>, String> {
    let shown = path.display();
    let cannot = |e: std::io::Error| {
        format!("The credential file {shown} cannot be read ({}); create it or let this user read it.", e.kind())
    };
    let file = File::open(path).map_err(cannot)?;
    let meta = file.metadata().map_err(cannot)?;
    if meta.is_dir() {
        return Err(format!("The credential file {shown} is a folder; name the file that holds the key alone."));
    }
    if meta.permissions().mode() & 0o077 != 0 {
        tracing::warn!("other users can read the credential file {shown}; run: chmod 600 {shown}");
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(most + 1));
    file.take(most as u64).read_to_end(&mut bytes).map_err(cannot)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| format!("The credential file {shown} is not UTF-8 text."))?;
    Ok(Zeroizing::new(text.to_owned()))
}
