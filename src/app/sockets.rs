//! Where the appliance listens: a TCP address, and a unix socket beside the data file that only its owner may use.
//! Binds, hands over to `web`, and ends it. Knows no page.

use crate::cli::Failure;
use crate::config::ServerSpec;
use crate::domain::setting::Setting;
use crate::engine::appliance::Appliance;
use crate::web::{Access, Bounds, Configured, WebState, serve_tcp, serve_unix};
use std::fs::{DirBuilder, Permissions};
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long open requests may take to end. Event streams end at once.
const GRACE: Duration = Duration::from_secs(3);

/// Linux cuts the path of a unix socket at 108 bytes with the closing zero (unix(7)).
const LONGEST_NAME: usize = 107;

/// Bound, and not yet answering.
pub struct Sockets {
    tcp: TcpListener,
    address: SocketAddr,
    unix: UnixListener,
    path: PathBuf,
}

impl Sockets {
    /// To be called with the data file open: its lock says that a socket found beside it belongs to nobody.
    pub fn bind(server: &ServerSpec) -> Result<Sockets, Failure> {
        let (tcp, address) = bind_tcp(server.listen).map_err(|e| Failure::failed(refused(server.listen, &e)))?;
        let unix = bind_unix(&server.socket).map_err(Failure::failed)?;
        Ok(Sockets { tcp, address, unix, path: server.socket.clone() })
    }

    pub fn serve(self, appliance: &Appliance, server: &ServerSpec, settings: Vec<Setting>) -> Serving {
        let configured = Configured::new(settings);
        let stop = CancellationToken::new();
        let own_name = rustix::system::uname().nodename().to_str().ok().map(str::to_owned);
        let access = Access::tcp(self.address, server.hosts.clone()).on_machine(own_name);
        let access = access.behind(server.trusted_proxy.clone()).framed_by(&server.frame_ancestors);
        let network = WebState::stopping_with(appliance.clone(), access, stop.clone()).telling(configured.clone());
        let network = network.below(server.base_path.clone());
        let local = network.behind(Access::local());
        let bounds = Bounds::of_machine();
        let tcp = guarded("TCP", serve_tcp(self.tcp, network, bounds));
        let tasks = [tcp, guarded("unix", serve_unix(self.unix, local, bounds))];
        Serving { tasks, stop, address: self.address, path: self.path, configured }
    }
}

/// The surfaces, answering.
pub struct Serving {
    tasks: [JoinHandle<()>; 2],
    stop: CancellationToken,
    address: SocketAddr,
    path: PathBuf,
    /// What the pages tell of the configuration.
    pub configured: Configured,
}

impl Serving {
    /// What to type into a browser.
    pub fn url(&self) -> String {
        match self.address {
            a if a.ip().is_unspecified() => format!("http://<this machine>:{}/", a.port()),
            a => format!("http://{a}/"),
        }
    }

    /// Open requests get a moment to end.
    pub async fn stop(self) {
        self.stop.cancel();
        for mut task in self.tasks {
            if tokio::time::timeout(GRACE, &mut task).await.is_err() {
                task.abort();
            }
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn guarded(kind: &'static str, serve: impl Future<Output = io::Result<()>> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(e) = serve.await {
            tracing::error!("the {kind} socket stopped answering: {e}");
        }
    })
}

fn bind_tcp(listen: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = std::net::TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((TcpListener::from_std(listener)?, address))
}

fn refused(listen: SocketAddr, e: &io::Error) -> String {
    match e.kind() {
        ErrorKind::AddrInUse => format!(
            "{listen} is taken by another program; end it, or set another `listen` under [server] in the configuration."
        ),
        ErrorKind::AddrNotAvailable => {
            format!("{listen} is not an address of this machine; set another `listen` under [server].")
        }
        ErrorKind::PermissionDenied => {
            format!("{listen} needs more rights than this user has; choose a port above 1023.")
        }
        _ => format!("{listen} cannot be listened on: {e}."),
    }
}

/// Made in a folder that nobody else can enter, and moved to its name when it has mode 0600: at no moment may others use it.
fn bind_unix(path: &Path) -> Result<UnixListener, String> {
    let shown = path.display();
    if path.as_os_str().len() > LONGEST_NAME {
        return Err(format!("{shown} is too long for the name of a socket; choose a shorter `data` under [server]."));
    }
    remove_left_behind(path)?;
    // Never longer than the name itself, and another for each of two that start in one folder.
    let room = path.with_file_name(format!(".s{:02x}", std::process::id() % 256));
    let made = bind_in(&room, path).map_err(|e| format!("The socket {shown} cannot be made: {e}."));
    let _ = std::fs::remove_dir_all(&room);
    made
}

fn bind_in(room: &Path, path: &Path) -> io::Result<UnixListener> {
    let _ = std::fs::remove_dir_all(room);
    DirBuilder::new().mode(0o700).create(room)?;
    let inside = room.join("s");
    let listener = UnixListener::bind(&inside)?;
    std::fs::set_permissions(&inside, Permissions::from_mode(0o600))?;
    std::fs::rename(&inside, path)?;
    Ok(listener)
}

/// A killed process leaves its socket behind. Anything else of that name is not ours to remove.
fn remove_left_behind(path: &Path) -> Result<(), String> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {
            std::fs::remove_file(path).map_err(|e| format!("The old socket {} cannot be removed: {e}.", path.display()))
        }
        Ok(_) => Err(format!("{} is not a socket; move it away, Larder needs the name.", path.display())),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_socket_is_its_owners_alone_and_answers_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("larder.redb.sock");
        let bound = bind_unix(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (asked, heard) = tokio::join!(tokio::net::UnixStream::connect(&path), bound.accept());
        assert!(asked.is_ok() && heard.is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[tokio::test]
    async fn a_socket_that_a_killed_process_left_is_replaced_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("larder.redb.sock");
        drop(bind_unix(&path).unwrap());
        assert!(path.exists(), "dropping leaves the name, as a kill does");
        drop(bind_unix(&path).unwrap());

        let file = folder.path().join("other.sock");
        std::fs::write(&file, "precious").unwrap();
        assert!(bind_unix(&file).unwrap_err().contains("not a socket"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    }

    #[tokio::test]
    async fn a_name_may_be_as_long_as_the_system_lets_it() {
        let folder = tempfile::tempdir().unwrap();
        let long = |bytes: usize| {
            let letters = bytes - folder.path().as_os_str().len() - "/.sock".len();
            folder.path().join(format!("{}.sock", "x".repeat(letters)))
        };
        let bound = bind_unix(&long(107)).unwrap();
        let (asked, heard) = tokio::join!(tokio::net::UnixStream::connect(long(107)), bound.accept());
        assert!(asked.is_ok() && heard.is_ok());
        assert!(bind_unix(&long(108)).unwrap_err().contains("too long"));
    }

    #[tokio::test]
    async fn what_cannot_be_bound_is_a_sentence() {
        let (_held, address) = bind_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = bind_tcp(address).unwrap_err();
        let sentence = refused(address, &error);
        assert!(sentence.starts_with(&format!("{address} is taken")), "{sentence}");
    }
}
