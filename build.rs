//! How the binary is linked, and its build id. Where the C library can read them (glibc, from 2.36 on) the relocations are packed into bits:
//! half a megabyte less in the file, and in the memory of an idle appliance, for they are all read when it starts. The id is a digest of what
//! pages are made of: two binaries that have the same one serve pages and scripts that fit each other.

use std::env::var;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a page and its script are made of.
const PAGES: [&str; 4] = ["src/web", "src/engine/view", "static", "templates"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=PAGES_BUILD={:08x}", digest());
    let (host, target) = (var("HOST").unwrap_or_default(), var("TARGET").unwrap_or_default());
    // A binary for another machine may meet another C library than the one here.
    if host == target && target == "x86_64-unknown-linux-gnu" && glibc().is_some_and(|found| found >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Over the names and the contents, in the order of the names.
fn digest() -> u32 {
    let mut hasher = DefaultHasher::new();
    var("CARGO_PKG_VERSION").unwrap_or_default().hash(&mut hasher);
    for folder in PAGES {
        println!("cargo::rerun-if-changed={folder}");
        hash_all(Path::new(folder), &mut hasher);
    }
    let digest = hasher.finish();
    (digest ^ digest >> 32) as u32
}

fn hash_all(folder: &Path, hasher: &mut DefaultHasher) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true => hash_all(&path, hasher),
            false => (path.to_string_lossy(), std::fs::read(&path).unwrap_or_default()).hash(hasher),
        }
    }
}

/// `glibc 2.36`, as this machine says it.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
