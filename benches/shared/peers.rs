//! Servers that keep a provider's answers, each on a port and in a folder of its own and on one core: Larder, and its peers from Debian as
//! their manuals have them for speed. Nothing is logged, sockets stay open, one worker each.

use super::process::{Process, free_port, until};
use super::scratch;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

/// The core of the servers, and that of who asks.
const SERVERS: &str = "0";
const CLIENTS: &str = "1";

pub struct Peer {
    pub name: &'static str,
    /// What stands before the provider's path.
    pub prefix: &'static str,
    pub address: SocketAddr,
    pub process: Process,
    folder: tempfile::TempDir,
}

/// From here on this process, and what it starts but for servers, is on the core of the clients. `false`: there is none.
pub fn stand_aside() -> bool {
    let own = std::process::id().to_string();
    let moved = Command::new("taskset").args(["-a", "-c", "-p", CLIENTS, &own]).output();
    moved.is_ok_and(|output| output.status.success())
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program.contains('/') || std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

impl Peer {
    /// `program`: its path, or a name; with its configuration written into its folder. `None`: it is not installed, which is said.
    fn start(
        name: &'static str,
        program: &str,
        args: &[&str],
        file: (&str, &str),
        address: SocketAddr,
    ) -> Option<Peer> {
        if !is_installed(program) {
            eprintln!("{program} is not installed: {name} is missing below");
            return None;
        }
        let folder = scratch();
        let place = folder.path().display().to_string();
        std::fs::write(folder.path().join(file.0), file.1.replace("{folder}", &place)).expect("a configuration");
        let args: Vec<String> = args.iter().map(|arg| arg.replace("{folder}", &place)).collect();
        let mut all = vec!["-c", SERVERS, program];
        all.extend(args.iter().map(String::as_str));
        let mut process = Process::start("taskset", &all, folder.path());
        until(|| {
            process.assert_alive(folder.path());
            TcpStream::connect(address).ok()
        });
        Some(Peer { name, prefix: "", address, process, folder })
    }

    pub fn larder(binary: &str, origin: SocketAddr) -> Peer {
        let address = free_port();
        let config = format!(
            "[server]\nlisten = \"{address}\"\ndata = \"larder.redb\"\n\n\
             [[connection]]\nname = \"hub\"\nbase_url = \"http://{origin}\"\n\n\
             [[connection.limit]]\nname = \"hour\"\nrequests = 1000000\nwindow = \"1h\"\nkind = \"rolling\"\n\n\
             [connection.gateway]\nfresh_for = \"1h\"\n"
        );
        let args = ["serve", "--config", "{folder}/larder.toml"];
        let mut peer = Peer::start("Larder", binary, &args, ("larder.toml", &config), address).expect("the binary");
        peer.prefix = "/gateway/hub";
        peer
    }

    /// hyper with an answer that is ready: no shelf, no decision. `binary`: of the benchmark itself.
    pub fn floor(binary: &Path) -> Peer {
        let address = free_port();
        let args = [super::floor::WORD, &address.to_string()];
        let binary = binary.display().to_string();
        Peer::start(super::floor::NAME, &binary, &args, ("none", ""), address).expect("the benchmark")
    }

    pub fn nginx(origin: SocketAddr) -> Option<Peer> {
        let address = free_port();
        let config = format!(
            "daemon off;\nworker_processes 1;\nuser root;\npid {{folder}}/pid;\nerror_log {{folder}}/errors crit;\n\
             events {{ worker_connections 4096; use epoll; multi_accept on; }}\n\
             http {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  tcp_nodelay on;\n  server_tokens off;\n\
             \x20 keepalive_timeout 300s;\n  keepalive_requests 1000000000;\n  reset_timedout_connection on;\n\
             \x20 open_file_cache max=1000 inactive=300s;\n  open_file_cache_valid 300s;\n  open_file_cache_min_uses 1;\n\
             \x20 client_body_temp_path {{folder}}/body;\n  proxy_temp_path {{folder}}/proxy;\n\
             \x20 fastcgi_temp_path {{folder}}/f;\n  uwsgi_temp_path {{folder}}/u;\n  scgi_temp_path {{folder}}/s;\n\
             \x20 proxy_cache_path {{folder}}/cache levels=1:2 keys_zone=shelf:10m inactive=1h use_temp_path=off;\n\
             \x20 upstream provider {{ server {origin}; keepalive 16; }}\n\
             \x20 server {{\n    listen {address} backlog=4096;\n    location / {{\n      proxy_pass http://provider;\n\
             \x20     proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n      proxy_cache shelf;\n\
             \x20     proxy_cache_lock on;\n      add_header Cache-Status \"nginx; $upstream_cache_status\";\n    }}\n  }}\n}}\n"
        );
        let args = ["-p", "{folder}", "-e", "{folder}/errors", "-c", "{folder}/nginx.conf"];
        Peer::start("nginx proxy_cache", "nginx", &args, ("nginx.conf", &config), address)
    }

    pub fn varnish(origin: SocketAddr) -> Option<Peer> {
        let address = free_port();
        let (listen, behind) = (address.to_string(), origin.to_string());
        let args = ["-j", "none", "-F", "-n", "{folder}", "-a", &listen, "-b", &behind, "-s", "malloc,64m"];
        let more = ["-p", "thread_pools=1", "-p", "thread_pool_min=200"];
        let rest = ["-p", "thread_queue_limit=4000", "-p", "timeout_idle=300"];
        let args = [&args[..], &more[..], &rest[..]].concat();
        Peer::start("Varnish", "varnishd", &args, ("none", ""), address)
    }

    /// `wrk` waits for as many bytes as a 304 says that there would be, so HAProxy has to leave that out.
    pub fn haproxy(origin: SocketAddr) -> Option<Peer> {
        let address = free_port();
        let config = format!(
            "global\n  nbthread 1\n  maxconn 4096\n\n\
             defaults\n  mode http\n  timeout connect 5s\n  timeout client 300s\n  timeout server 60s\n\n\
             cache shelf\n  total-max-size 64\n  max-object-size 1000000\n  max-age 3600\n\n\
             listen gateway\n  bind {address} backlog 4096\n  http-request cache-use shelf\n  http-response cache-store shelf\n\
             \x20 http-after-response del-header Content-Length if {{ status 304 }}\n  server provider {origin}\n"
        );
        let args = ["-db", "-q", "-f", "{folder}/haproxy.cfg"];
        Peer::start("HAProxy cache", "haproxy", &args, ("haproxy.cfg", &config), address)
    }

    pub fn assert_alive(&mut self) {
        self.process.assert_alive(self.folder.path());
    }
}

impl Drop for Peer {
    /// A server with workers takes them along only where it is asked to.
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.process.child.wait();
    }
}
