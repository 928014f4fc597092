//! `larder demo`: puts a simulated provider and a real appliance into one process, in a folder that survives a kill.
//! Everything that is said stands in `demo::scene`; the appliance is booted as `serve` boots it, from a file.

use super::logging::Logs;
use super::{Live, signals};
use crate::cli::text::{show, talk};
use crate::cli::{self, DemoArgs, Failure, Outcome};
use crate::clock::{Clock, SystemClock};
use crate::config::Settings;
use crate::demo::irrigation::{Provider, Rules};
use crate::demo::scene::{self, Folder, Scene};
use crate::domain::ids::Organization;
use crate::engine::appliance::Appliance;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where the dashboard is, unless that is taken.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8474);

pub async fn run(args: DemoArgs) -> Outcome {
    let logs = Logs::start("warn")?;
    let signal = signals::listen()?;
    let stage = Stage::set(args.data)?;
    let outcome = play(&stage, args.listen, &logs, signal).await;
    stage.clear();
    outcome
}

async fn play(
    stage: &Stage,
    listen: Option<SocketAddr>,
    logs: &Logs,
    signal: impl Future<Output = &'static str>,
) -> Outcome {
    let provider = provider(stage, listen)?;
    let live = Live::boot(&stage.file("larder.toml"), logs).await?;
    let token = token(stage, &live.appliance).await?;
    let program = std::env::args().next().unwrap_or_else(|| "larder".to_owned());
    let shown = show(&scene::screen(&Scene {
        url: &live.serving.url(),
        control: &provider.control_url(),
        folder: &stage.folder,
        token_file: &stage.file("token"),
        token: &token,
        pid: std::process::id(),
        program: &program,
        folder_is: stage.fate,
    }));
    if shown.is_ok() {
        talk(&format!("{}: stopping.", signal.await));
    }
    let stopped = live.stop().await;
    shown.and(stopped)
}

/// The folder that everything is in.
struct Stage {
    folder: PathBuf,
    fate: Folder,
}

impl Stage {
    /// For the user alone: a key and a token lie in it.
    fn set(wanted: Option<PathBuf>) -> Result<Stage, Failure> {
        let fate = if wanted.is_some() { Folder::Kept } else { Folder::Temporary };
        let folder = match wanted {
            Some(folder) => std::path::absolute(&folder).map_err(cannot(&folder))?,
            None => std::env::temp_dir().join(format!("larder-demo-{}", random()?)),
        };
        DirBuilder::new().recursive(fate == Folder::Kept).mode(0o700).create(&folder).map_err(cannot(&folder))?;
        Ok(Stage { folder, fate })
    }
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
    fn clear(&self) {
        if self.fate == Folder::Temporary {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The provider, by its own port from the first start on, and the configuration that leads to it.
fn provider(stage: &Stage, listen: Option<SocketAddr>) -> Result<Provider, Failure> {
    let config = stage.file("larder.toml");
    let again = config.exists();
    if again && listen.is_some() {
        let shown = config.display();
        return Err(Failure::usage(format!("--listen has no effect here: {shown} is there already; change it there.")));
    }
    let port = if again { port_of(&config, &cli::settings(&config)?)? } else { 0 };
    let clock = SystemClock::start(None, None);
    let rules = Rules {
        port,
        // Comparable over restarts, so that the provider's memory is.
        time: Arc::new(move || Duration::from_millis(clock.now().wall().0.unsigned_abs())),
        book: Some(stage.file("provider.log")),
        ..Rules::quick(scene::WINDOW)
    };
    let provider = Provider::bind(rules).map_err(|e| {
        Failure::failed(format!("The simulated provider cannot start on port {port} of this machine: {e}."))
    })?;
    if !again {
        let key = stage.file("yard.key");
        write_private(&key, provider.key())?;
        let listen = listen.unwrap_or_else(free_address);
        let text = scene::configuration(listen, &stage.file("larder.redb"), &provider.base_url(), &key);
        write_private(&config, &text)?;
    }
    Ok(provider)
}

/// The port that the provider had when the configuration was written.
fn port_of(config: &Path, settings: &Settings) -> Result<u16, Failure> {
    let port = |base_url: &str| base_url.strip_prefix("http://127.0.0.1:")?.split('/').next()?.parse().ok();
    settings.connections.iter().find_map(|c| port(&c.base_url)).ok_or_else(|| {
        let shown = config.display();
        Failure::usage(format!("No connection in {shown} leads to the simulated provider; use another folder."))
    })
}

/// The usual address, or one that is free.
fn free_address() -> SocketAddr {
    let free = |address: SocketAddr| TcpListener::bind(address).and_then(|l| l.local_addr()).ok();
    free(LISTEN).or_else(|| free(SocketAddr::new(LISTEN.ip(), 0))).unwrap_or(LISTEN)
}

/// The token of the last start if it still opens the door, else a new one.
async fn token(stage: &Stage, appliance: &Appliance) -> Result<String, Failure> {
    let file = stage.file("token");
    if let Ok(text) = fs::read_to_string(&file)
        && appliance.check_token(text.trim()).is_some()
    {
        return Ok(text.trim().to_owned());
    }
    let made = appliance.create_token(&format!("demo {}", random()?), "admin", &Organization::default()).await;
    let token = made.map_err(|denied| Failure::failed(format!("The token could not be made: {denied:?}.")))?;
    write_private(&file, &token)?;
    Ok(token)
}

/// Mode 0600 from the first moment.
fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut f| f.write_all(text.as_bytes())).map_err(cannot(path))
}

fn cannot(path: &Path) -> impl Fn(io::Error) -> Failure {
    let shown = path.display().to_string();
    move |e| Failure::failed(format!("{shown} cannot be written: {e}."))
}

fn random() -> Result<String, Failure> {
    let mut bytes = [0u8; 4];
    getrandom::fill(&mut bytes).map_err(|e| Failure::failed(format!("The system has no random numbers: {e}.")))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::spec::Interval;
    use crate::rules::plan::{Demand, Load, Question, plan};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_temporary_stage_is_its_users_alone_and_goes() {
        let stage = Stage::set(None).unwrap();
        assert_eq!(fs::metadata(&stage.folder).unwrap().permissions().mode() & 0o777, 0o700);
        write_private(&stage.file("token"), "x").unwrap();
        assert_eq!(fs::metadata(stage.file("token")).unwrap().permissions().mode() & 0o777, 0o600);
        stage.clear();
        assert!(!stage.folder.exists());
    }

    #[test]
    fn the_configuration_is_one_that_larder_takes_and_can_keep_up() {
        let stage = Stage::set(None).unwrap();
        let config = stage.file("larder.toml");
        let text = scene::configuration(LISTEN, &stage.file("larder.redb"), "http://127.0.0.1:41234/api/v1", &config);
        write_private(&config, &text).unwrap();
        let settings = cli::settings(&config).unwrap();
        assert_eq!(port_of(&config, &settings), Ok(41_234));
        let spec = &settings.connections[0];
        let commands: Vec<&str> = spec.commands.iter().map(|c| c.name.as_str()).collect();
        assert!(commands.contains(&"run-zone"), "the recipe's commands are there: {commands:?}");
        let Interval::Every(every) = spec.poll.interval else { panic!("an interval") };
        let own = Load { demands: spec.targets.iter().filter_map(|t| Demand::of(t, 1, 0)).collect(), every };
        assert!(plan(&Question { limits: &spec.limits, own, ..Question::default() }).sustainable());
        // Its target is the recipe's, but for the freshness.
        let plain = cli::settings(&Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/larder.toml")).unwrap();
        let mut target = plain.connections[0].targets[0].clone();
        target.fresh_for = spec.targets[0].fresh_for;
        assert_eq!(spec.targets, [target]);
        stage.clear();
    }

    #[test]
    fn a_folder_that_was_named_stays() {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::set(Some(folder.path().join("deep/yard"))).unwrap();
        stage.clear();
        assert!(stage.folder.exists());
    }
}
