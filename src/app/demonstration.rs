//! `larder demo`: puts a simulated provider and a real appliance into one process, in a folder that survives a kill.
//! Everything that is said stands in `demo::scene`; the appliance is booted as `serve` boots it, from a file.

use super::Live;
use super::logging::Logs;
use super::signals::Signals;
use crate::cli::text::{show, talk};
use crate::cli::{self, DemoArgs, Failure, Outcome};
use crate::clock::{Clock, SystemClock};
use crate::config::Settings;
use crate::demo::scene::{self, Folder, Scene, Way};
use crate::demo::serving::TimeSource;
use crate::demo::{fieldwork, irrigation};
use crate::domain::ids::Organization;
use crate::engine::access::tokens::NewToken;
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
    let mut signals = Signals::listen()?;
    let stage = Stage::set(args.data)?;
    let outcome = play(&stage, args.listen, &logs, signals.end()).await;
    stage.clear();
    outcome
}

async fn play(
    stage: &Stage,
    listen: Option<SocketAddr>,
    logs: &Logs,
    signal: impl Future<Output = &'static str>,
) -> Outcome {
    let providers = Providers::start(stage, listen)?;
    let live = Live::boot(&stage.file("larder.toml"), logs).await?;
    let token = token(stage, &live.appliance).await?;
    let program = std::env::args().next().unwrap_or_else(|| "larder".to_owned());
    let shown = show(&scene::screen(&Scene {
        url: &live.serving.url(),
        control: &providers.yard.control_url(),
        field_control: &providers.field.control_url(),
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

/// What Larder asks, each by its own port from the first start on.
struct Providers {
    yard: irrigation::Provider,
    field: fieldwork::Provider,
}

impl Providers {
    /// And the configuration that leads to them.
    fn start(stage: &Stage, listen: Option<SocketAddr>) -> Result<Providers, Failure> {
        let config = stage.file("larder.toml");
        let again = config.exists();
        if again && listen.is_some() {
            let shown = config.display();
            return Err(Failure::usage(format!(
                "--listen has no effect here: {shown} is there already; change it there."
            )));
        }
        let settings = again.then(|| cli::settings(&config)).transpose()?;
        let port = |name| settings.as_ref().map_or(Ok(0), |settings| port_of(&config, settings, name));
        let clock = SystemClock::start(None, None);
        // Comparable over restarts, so that the providers' memory is.
        let time: TimeSource = Arc::new(move || Duration::from_millis(clock.now().wall().0.unsigned_abs()));
        let cannot = |e| Failure::failed(format!("A simulated provider cannot start on this machine: {e}."));
        let yard = irrigation::Provider::bind(irrigation::Rules {
            port: port("yard")?,
            time: time.clone(),
            book: Some(stage.file("provider.log")),
            ..irrigation::Rules::quick(scene::WINDOW)
        });
        let field = fieldwork::Provider::bind(fieldwork::Rules {
            port: port("field")?,
            book: Some(stage.file("field.log")),
            ..fieldwork::Rules::real(scene::PROJECTS, time)
        });
        let providers = Providers { yard: yard.map_err(cannot)?, field: field.map_err(cannot)? };
        if !again {
            providers.configure(stage, &config, listen.unwrap_or_else(free_address))?;
        }
        Ok(providers)
    }

    fn configure(&self, stage: &Stage, config: &Path, listen: SocketAddr) -> Result<(), Failure> {
        let (yard_key, field_key) = (stage.file("yard.key"), stage.file("field.key"));
        write_private(&yard_key, self.yard.key())?;
        write_private(&field_key, self.field.key())?;
        let recipes = stage.file("recipes");
        fs::create_dir_all(&recipes).map_err(cannot(&recipes))?;
        write_private(&recipes.join(format!("{}.toml", scene::RECIPE_NAME)), scene::RECIPE)?;
        let yard = Way { base_url: &self.yard.base_url(), key_file: &yard_key };
        let field = Way { base_url: &self.field.base_url(), key_file: &field_key };
        write_private(config, &scene::configuration(listen, &stage.file("larder.redb"), &yard, &field))
    }
}

/// The port that the provider of a connection had when the configuration was written.
fn port_of(config: &Path, settings: &Settings, name: &str) -> Result<u16, Failure> {
    let port = |base_url: &str| base_url.strip_prefix("http://127.0.0.1:")?.split('/').next()?.parse().ok();
    let connection = settings.connections.iter().find(|c| c.key.connection.as_str() == name);
    connection.and_then(|c| port(&c.base_url)).ok_or_else(|| {
        let shown = config.display();
        Failure::usage(format!(
            "No connection \"{name}\" in {shown} leads to a simulated provider; use another folder."
        ))
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
    let (name, organization) = (format!("demo {}", random()?), Organization::default());
    let wanted = NewToken { name, role: "admin".to_owned(), organization, lasts: None };
    let made = appliance.create_token(wanted, "the demo").await;
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
        let folder = stage.file("recipes");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("fieldwork.toml"), scene::RECIPE).unwrap();
        let yard = Way { base_url: "http://127.0.0.1:41234/api/v1", key_file: &config };
        let field = Way { base_url: "http://127.0.0.1:41235/v2", key_file: &config };
        let text = scene::configuration(LISTEN, &stage.file("larder.redb"), &yard, &field);
        write_private(&config, &text).unwrap();
        let settings = cli::settings(&config).unwrap();
        assert_eq!(port_of(&config, &settings, "yard"), Ok(41_234));
        assert_eq!(port_of(&config, &settings, "field"), Ok(41_235));
        let field = &settings.connections[1];
        assert_eq!((field.targets.len(), field.scans.len()), (40, 2));
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
