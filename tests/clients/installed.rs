//! Programs from the registries of Python and Node, each set in a folder of its own below `target/`, installed once. Node itself comes as a
//! wheel of Python's: of Debian's packages only `python3-venv` is needed.
//! Shared by the `clients` and `browser` targets, neither of which uses all of it.
#![allow(dead_code)]

use crate::support::process::find_program;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// What the clients in Python are made of, whole: a client that fails does so because of what changed here.
const PYTHON: &str = include_str!("requirements.txt");
/// What asks an API by its document.
const SCHEMATHESIS: &str = include_str!("schemathesis.txt");
/// The public suite of HTTP caches, with the client that its own command line uses.
const SUITE: [&str; 2] = ["http-cache-tests@0.4.5", "node-fetch@2.7.0"];

/// What judges whether a page can be used by everybody (MPL-2.0); it runs in the page and is part of no binary.
const AXE: &str = "axe-core@4.14.1";

/// How installers say that nobody answers, or that nobody is there to ask.
const UNREACHABLE: [&str; 12] = [
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "ProxyError",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
];

/// The interpreter of an environment that has all of [`PYTHON`].
pub fn python() -> Option<PathBuf> {
    environment().map(|folder| folder.join("bin/python"))
}

/// In an environment of its own: it and the clients need not agree on anything.
pub fn schemathesis() -> Option<PathBuf> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let place = PLACE.get_or_init(|| environment_of("schemathesis", SCHEMATHESIS));
    place.as_deref().map(|folder| folder.join("bin/schemathesis"))
}

fn environment() -> Option<&'static Path> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    PLACE.get_or_init(|| environment_of("python", PYTHON)).as_deref()
}

fn environment_of(name: &str, packages: &str) -> Option<PathBuf> {
    let python = program("python3", "python3-venv")?;
    made(name, packages, |folder| {
        ran(Command::new(&python).args(["-m", "venv"]).arg(folder))?;
        let list = folder.join("requirements.txt");
        std::fs::write(&list, packages).expect("a folder of ours");
        let pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--retries", "2", "-r"];
        ran(Command::new(folder.join("bin/python")).args(pip).arg(list))
    })
}

/// The script of [`AXE`].
pub fn axe() -> Option<PathBuf> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let place = PLACE.get_or_init(|| packages("axe", &[AXE]));
    place.as_ref().map(|folder| folder.join("node_modules/axe-core/axe.min.js"))
}

/// A folder with these of Node's registry.
fn packages(name: &str, wanted: &[&str]) -> Option<PathBuf> {
    let programs = environment()?.join("bin");
    made(name, &wanted.join(" "), |folder| {
        let quietly = ["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--fetch-retries=1"];
        ran(Command::new(programs.join("npm")).args(quietly).arg("--prefix").arg(folder).args(wanted))
    })
}

/// Node, and the folder of the suite.
pub fn suite() -> Option<(PathBuf, PathBuf)> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let programs = environment()?.join("bin");
    let place = PLACE.get_or_init(|| packages("suite", &SUITE));
    place.as_ref().map(|folder| (programs.join("node"), folder.join("node_modules/http-cache-tests")))
}

fn program(name: &str, package: &str) -> Option<PathBuf> {
    let found = find_program(name);
    if found.is_none() {
        skipped(&format!("{name} is not installed (apt-get install -y {package})"));
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{name} is not installed");
    }
    found
}

/// A folder that is there whole or not at all; another for other contents. `None`: its registry cannot be reached.
fn made(name: &str, contents: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Option<PathBuf> {
    let digest = &blake3::hash(contents.as_bytes()).to_hex()[..12];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clients-{name}-{digest}"));
    let whole = folder.join("whole");
    if whole.is_file() {
        return Some(folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder below target/");
    match make(&folder) {
        Ok(()) => {
            std::fs::write(whole, "").expect("a folder of ours");
            Some(folder)
        }
        Err(said) => {
            assert!(UNREACHABLE.iter().any(|words| said.contains(words)), "{name} was not installed: {said}");
            skipped(&format!("the registry of {name} cannot be reached from here"));
            None
        }
    }
}

/// To its end, in bounded time; the error is what it said.
fn ran(command: &mut Command) -> Result<(), String> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = child.spawn().map_err(|e| e.to_string())?;
    let end = std::time::Instant::now() + Duration::from_secs(300);
    let said = std::thread::scope(|scope| {
        let (out, err) = (running.stdout.take(), running.stderr.take());
        let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
            let mut text = Vec::new();
            pipe.map(|mut pipe| std::io::Read::read_to_end(&mut pipe, &mut text));
            String::from_utf8_lossy(&text).into_owned()
        };
        let out = scope.spawn(move || read(out.map(|pipe| Box::new(pipe) as _)));
        let err = scope.spawn(move || read(err.map(|pipe| Box::new(pipe) as _)));
        while running.try_wait().is_ok_and(|ended| ended.is_none()) && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = running.kill();
        format!("{}{}", out.join().unwrap_or_default(), err.join().unwrap_or_default())
    });
    match running.wait() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("{other:?}: {said}")),
    }
}

/// Past the harness's capture, so that it is seen in a run that passes.
fn skipped(why: &str) {
    let words = format!("\nSKIPPED: {why}; nothing was tried with those clients\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes());
}
