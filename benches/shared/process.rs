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
        status_kb(self.child.id(), key).expect("a known key of a process that runs")
    }
}

/// In what `/proc` counts a processor's time.
const TICK: Duration = Duration::from_millis(10);

/// A server that has workers, as one.
impl Process {
    /// Time of processors that it and what it started have taken.
    pub fn cpu(&self) -> Duration {
        let ticks: u32 =
            self.family().iter().map(|(_, stat)| stat[13..15].iter().map(|n| number(n)).sum::<u32>()).sum();
        TICK * ticks
    }

    /// Resident, kB, of it and what it started; what they share counts for each.
    pub fn resident_kb(&self) -> u64 {
        self.family().iter().filter_map(|(pid, _)| status_kb(*pid, "VmRSS")).sum()
    }

    /// Each with its fields of `stat`, numbered as proc(5) does, less one.
    fn family(&self) -> Vec<(u32, Vec<String>)> {
        let folders = std::fs::read_dir("/proc").expect("/proc").flatten();
        let all = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok()).filter_map(stat);
        let mut others: Vec<(u32, Vec<String>)> = all.collect();
        let mut found: Vec<(u32, Vec<String>)> = Vec::new();
        loop {
            let is_one = |(pid, stat): &(u32, Vec<String>)| {
                *pid == self.child.id() || found.iter().any(|(parent, _)| *parent == number(&stat[3]))
            };
            let (more, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_one);
            if more.is_empty() {
                return found;
            }
            found.extend(more);
            others = rest;
        }
    }
}

/// `None`: it has ended meanwhile.
fn stat(pid: u32) -> Option<(u32, Vec<String>)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may have anything in it.
    let (_, rest) = text.rsplit_once(')')?;
    let fields = ["", ""].into_iter().chain(rest.split_whitespace()).map(str::to_owned);
    Some((pid, fields.collect()))
}

fn status_kb(pid: u32, key: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find(|line| line.starts_with(key))?.split_whitespace().nth(1)?.parse().ok()
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
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
