//! The words of the demo: the configuration that it writes, and its one screen. Text from facts; does nothing.

use super::fieldwork::tasks::Projects;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// The provider's window: the real one is five minutes, here everything is ten times faster.
pub const WINDOW: Duration = Duration::from_secs(30);

/// Two projects with twenty work orders each, and a dozen tasks in each of those.
pub const PROJECTS: Projects = Projects { projects: 2, orders: 20, tasks: 12 };

/// The recipe of the task service, for a file `recipes/fieldwork.toml` beside the configuration.
pub const RECIPE: &str = include_str!("fieldwork.toml");
pub const RECIPE_NAME: &str = "fieldwork";

/// Where a provider is, and where its key lies.
pub struct Way<'a> {
    pub base_url: &'a str,
    pub key_file: &'a Path,
}

/// A `larder.toml` as for real providers; only the times of the irrigation are shorter.
pub fn configuration(listen: SocketAddr, data: &Path, yard: &Way<'_>, field: &Way<'_>) -> String {
    let mut text = include_str!("scene.toml").to_owned();
    for (place, value) in [
        ("@listen@", listen.to_string().as_str()),
        ("@data@", &data.to_string_lossy()),
        ("@yard_url@", yard.base_url),
        ("@yard_key@", &yard.key_file.to_string_lossy()),
        ("@field_url@", field.base_url),
        ("@field_key@", &field.key_file.to_string_lossy()),
    ] {
        text = text.replace(place, &quoted(value));
    }
    for order in (1..=PROJECTS.projects).flat_map(|project| PROJECTS.orders_of(project)) {
        text.push_str(&work_order(&order));
    }
    text
}

fn work_order(name: &str) -> String {
    let own = name.to_ascii_lowercase();
    format!("\n[[connection.target]]\nname = \"{own}\"\nlike = \"work-order\"\nget  = \"/tasks?subsector={name}\"\n")
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What the screen tells.
pub struct Scene<'a> {
    /// The dashboard, with a slash at its end.
    pub url: &'a str,
    /// The irrigation provider's control page.
    pub control: &'a str,
    /// The task service's.
    pub field_control: &'a str,
    pub folder: &'a Path,
    pub token_file: &'a Path,
    pub token: &'a str,
    pub pid: u32,
    /// How this program is called.
    pub program: &'a str,
    pub folder_is: Folder,
}

/// What becomes of the folder at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    Kept,
    Temporary,
}

/// One screen: 100 columns, and no scrolling in a window of 32 lines.
pub fn screen(scene: &Scene) -> String {
    let Scene { url, control, field_control, token, pid, program, .. } = scene;
    let folder = scene.folder.display();
    let token_file = scene.token_file.display();
    let end = match scene.folder_is {
        Folder::Kept => "its folder stays",
        Folder::Temporary => "its folder is removed then",
    };
    format!(
        r#"Larder, and two simulated providers, in one process.

  Dashboard   {url}
  Folder      {folder}   (larder.toml, larder.redb)
  "yard"      irrigation: 5 requests in 30 s per endpoint (a real one: in 5 min); one more locks you
              out for 30 s. Polled every 7.5 s: 4 of the 5; the fifth is kept for a refresh by hand
  "field"     40 work orders in 2 projects: 10,000 requests a day, 2 a second, 5 at once. A scan of
              each project feeds its work orders: 6 pages a minute in place of 40 requests

LOOK AT  the budget of "yard": four spent, one kept; the age beside every reading; "Greenhouse drip",
         which runs every 90 s; and the provider's own count, where "over_limit" stays 0:
           curl -s {control}

TRY, in another terminal
  Run a zone. The fifth request shows it at once:
    curl -s -X POST -H "Authorization: Bearer $(cat {token_file})" \
      -H 'Content-Type: application/json' -d '{{"item":"5103","seconds":"45"}}' \
      {url}api/v1/connections/yard/commands/run-zone
  Ask as a program that knows nothing of Larder, without the provider's key:
    curl -si {url}gateway/yard/statusschedule.php
  Lock the account out (or /stop the provider, and /start it). Larder says how old its readings are:
    curl -s {control}/lockout
  Take the rest of the day from the work orders:
    curl -s {field_control}/exhaust
  Kill Larder, and start it where it was. Nothing is asked twice, nothing is forgotten:
    kill -9 {pid}
    {program} demo --data {folder}

Token for changes: {token}
End with Ctrl-C; {end}.
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(folder_is: Folder) -> Scene<'static> {
        Scene {
            url: "http://127.0.0.1:8474/",
            control: "http://127.0.0.1:41234/control",
            field_control: "http://127.0.0.1:41235/control",
            folder: Path::new("/tmp/larder-demo-1a2b3c4d"),
            token_file: Path::new("/tmp/larder-demo-1a2b3c4d/token"),
            token: "larder_000000000000000000000000000000000000000000000000",
            pid: 1_234_567,
            program: "target/debug/larder",
            folder_is,
        }
    }

    #[test]
    fn the_screen_is_one_screen() {
        let text = screen(&scene(Folder::Temporary));
        assert!(text.lines().count() <= 32, "{} lines", text.lines().count());
        let widest = text.lines().map(|l| l.chars().count()).max().unwrap_or(0);
        assert!(widest <= 104, "{widest} columns");
        assert!(text.ends_with("its folder is removed then.\n"));
        assert!(screen(&scene(Folder::Kept)).ends_with("its folder stays.\n"));
    }

    #[test]
    fn the_configuration_is_toml_whatever_the_folder_is_called() {
        let folder = Path::new("/tmp/a \"quoted\" \\ folder");
        let text = configuration(
            SocketAddr::from(([127, 0, 0, 1], 8474)),
            &folder.join("larder.redb"),
            &Way { base_url: "http://127.0.0.1:41234/api/v1", key_file: &folder.join("yard.key") },
            &Way { base_url: "http://127.0.0.1:41235/v2", key_file: &folder.join("field.key") },
        );
        let parsed: toml::Table = text.parse().unwrap();
        let connection = &parsed["connection"][0];
        assert_eq!(parsed["connection"][1]["target"].as_array().map(Vec::len), Some(40));
        assert_eq!(connection["credential"]["file"].as_str(), folder.join("yard.key").to_str());
        assert_eq!(connection["limit"][0]["window"].as_str(), Some("30s"));
        assert_eq!(parsed["server"]["listen"].as_str(), Some("127.0.0.1:8474"));
    }

    /// The sum on the screen: four polls in a window, whatever their phase, and one request is left.
    #[test]
    fn the_arithmetic_holds() {
        assert_eq!(WINDOW.as_millis() / 7_500, 4);
        assert_eq!(Duration::from_secs(300).as_millis() / 75_000, 4);
    }
}
