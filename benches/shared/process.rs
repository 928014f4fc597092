//! Child processes of the benchmarks: started on a port of their own, killed when dropped, and looked at through `/proc`.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Process {
    pub child: Child,
}

impl Process {
    pub fn start(program: &str, args: &[&str], folder: &Path) -> Process {
        let log = std::fs::File::create(folder.join("log")).expect("a log");
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Process { child: command.spawn().unwrap_or_else(|e| panic!("{program}: {e}")) }
    }

    /// Panics with its log if it has ended.
    pub fn assert_alive(&mut self, folder: &Path) {
        if let Some(status) = self.child.try_wait().expect("a child") {
            let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            panic!("ended with {status}: {log}");
        }
    }

    /// Asks it to stop and waits; panics if it does not end well.
    pub fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a running child");
        let status = self.child.wait().expect("a child");
        assert!(status.success(), "ended with {status}");
    }

    /// As a power cut would.
    pub fn kill(mut self) {
        self.child.kill().expect("a running child");
        self.child.wait().expect("a child");
    }

    /// `VmRSS`, `VmHWM` and the like, in kB.
    pub fn memory_kb(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("/proc");
        let line = status.lines().find(|l| l.starts_with(key)).expect("a known key");
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
    }
}

impl Process {
    /// From here on `VmHWM` is the highest since now.
    pub fn forget_highest(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").expect("/proc");
    }

    /// Bytes that it caused to be written to the disk. What it handed to write calls is also what it sent to its readers.
    pub fn written_to_disk(&self) -> u64 {
        writes(&self.child.id().to_string()).1
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port")
}

/// Tries until it works; panics after 60 s.
pub fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(done) = attempt() {
            return done;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "nothing for a minute");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// `(wchar, write_bytes)` of this process: bytes handed to write calls, and bytes that caused writes to the disk.
pub fn own_writes() -> (u64, u64) {
    writes("self")
}

fn writes(process: &str) -> (u64, u64) {
    let io = std::fs::read_to_string(format!("/proc/{process}/io")).expect("/proc");
    let value = |key: &str| {
        let line = io.lines().find(|l| l.starts_with(key)).expect("a known key");
        line.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number")
    };
    (value("wchar:"), value("write_bytes:"))
}
