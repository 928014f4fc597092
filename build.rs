//! How the binary is linked. Where the C library can read them (glibc, from 2.36 on) the relocations are packed into bits: half a megabyte
//! less in the file, and in the memory of an idle appliance, for they are all read when it starts.

use std::env::var;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let (host, target) = (var("HOST").unwrap_or_default(), var("TARGET").unwrap_or_default());
    // A binary for another machine may meet another C library than the one here.
    if host == target && target == "x86_64-unknown-linux-gnu" && glibc().is_some_and(|found| found >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// `glibc 2.36`, as this machine says it.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
