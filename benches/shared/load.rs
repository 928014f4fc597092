//! `wrk` from Debian: the same client for every server, on the core that no server has.

use super::scratch;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

/// Sockets that it keeps open.
const SOCKETS: &str = "64";

/// What it saw.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub requests: u64,
    pub per_second: f64,
    pub p50: Duration,
    pub p99: Duration,
}

pub fn is_there() -> bool {
    Command::new("wrk").arg("--version").output().is_ok()
}

/// Asks for the paths in turn, for so many seconds. Panics at any answer that is an error.
pub fn ask(address: SocketAddr, paths: &[String], header: Option<&str>, seconds: u64) -> Seen {
    let folder = scratch();
    let path = &paths[0];
    let mut command = Command::new("wrk");
    if paths.len() > 1 {
        let script = folder.path().join("turns.lua");
        std::fs::write(&script, turns(paths)).expect("a script");
        command.arg("-s").arg(script);
    }
    command.args(["-t1", "-c", SOCKETS, "--latency", "-d", &format!("{seconds}s"), "-H", "Accept: */*"]);
    if let Some(header) = header {
        command.args(["-H", header]);
    }
    let output = command.arg(format!("http://{address}{path}")).output().expect("wrk");
    let text = String::from_utf8_lossy(&output.stdout);
    let sound = output.status.success() && !text.contains("Non-2xx") && !text.contains("Socket errors");
    assert!(sound, "{address}{path}: {text}{}", String::from_utf8_lossy(&output.stderr));
    read(&text).filter(|seen| seen.requests > 0).unwrap_or_else(|| panic!("{address}{path}: {text}"))
}

/// The requests are written once, so that the client costs as much as with one path.
fn turns(paths: &[String]) -> String {
    let quoted: Vec<String> = paths.iter().map(|path| format!("{path:?}")).collect();
    format!(
        "local paths = {{ {} }}\nlocal asked, at = {{}}, 0\n\
         init = function() for i, path in ipairs(paths) do asked[i] = wrk.format(nil, path) end end\n\
         request = function() at = at % #asked + 1; return asked[at] end\n",
        quoted.join(", ")
    )
}

fn read(text: &str) -> Option<Seen> {
    let behind = |word: &str| text.lines().find_map(|line| line.trim().strip_prefix(word)).map(str::trim);
    let requests = text.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok())?;
    let per_second = behind("Requests/sec:")?.parse().ok()?;
    Some(Seen { requests, per_second, p50: time(behind("50%")?)?, p99: time(behind("99%")?)? })
}

/// As `wrk` writes it: `310.00us`, `1.20ms`, `2.00s`.
fn time(text: &str) -> Option<Duration> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(at);
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Some(Duration::from_secs_f64(number.parse::<f64>().ok()? * seconds))
}
