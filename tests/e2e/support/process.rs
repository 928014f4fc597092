//! Child processes of the tests: found, started with a folder of their own, ended by their own pid, never by name.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// A running child with its output in two files. Killed and reaped on drop.
pub struct Process {
    child: Child,
    name: String,
}

impl Process {
    /// Output is appended, so that a program that starts again keeps what it said before.
    pub fn start(command: &mut Command, folder: &Path, name: &str) -> Process {
        let append = |ending: &str| -> File {
            let path = folder.join(format!("{name}.{ending}"));
            File::options().create(true).append(true).open(path).expect("a log file in the test's own folder")
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(append("out"))
            .stderr(append("err"))
            .spawn()
            .unwrap_or_else(|e| panic!("{name} does not start: {e}"));
        Process { child, name: name.to_owned() }
    }

    /// `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of ours")
    }

    pub fn kill_9(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn terminate(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }

    /// What a daemon takes as "read your configuration again".
    pub fn hangup(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::HUP);
    }

    /// Waits for its end; panics after `within` (the child is killed by the drop then).
    pub async fn wait(&mut self, within: Duration) -> ExitStatus {
        let end = Instant::now() + within;
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(Instant::now() < end, "{} did not end within {within:?}", self.name);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.child.id())).map(Iterator::count).unwrap_or_default()
    }

    /// Resident memory in kilobytes.
    pub fn resident_kb(&self) -> Option<u64> {
        self.status_kb("VmRSS:")
    }

    /// The most that was ever resident, in kilobytes.
    pub fn peak_kb(&self) -> Option<u64> {
        self.status_kb("VmHWM:")
    }

    fn status_kb(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|l| l.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_9();
    }
}

/// A port that nobody listens on. Taken from below the range that the kernel hands out to outgoing sockets, and never twice
/// in one run, so that an appliance finds its port free again after a restart.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 20_000 + (std::process::id() % 600) as u16 * 20;
    for _ in 0..2_000 {
        let port = 20_000 + (base - 20_000 + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between 20000 and 32000");
}

/// Looks for a program on the PATH and in the sbin folders, where Debian puts servers.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin", "/usr/local/sbin", "/sbin"])
        .map(|folder| Path::new(folder).join(name))
        .find(|candidate| candidate.is_file())
}

/// A program that a judge needs. Missing, the test is skipped loudly; under `CI=true` that is a failure, because a
/// judge that never sat has not judged.
pub fn judge_program(name: &str, package: &str) -> Option<PathBuf> {
    let found = find_program(name);
    if found.is_none() {
        let words = format!("SKIPPED: {name} is not installed (apt-get install -y {package}); nothing was judged");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{words}");
        // Past the harness's capture, so that it is seen in a run that passes.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("\n{words}\n").as_bytes());
    }
    found
}
