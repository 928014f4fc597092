//! The report on plans that are given: what `rules::plan` finds is tested there.

use super::*;
use crate::domain::ids::ConnectionKey;
use crate::domain::spec::{Carrier, Conditional, NetworkSpec, PollSpec, ReadingSpec, WaitSpec};

fn spec(name: &str, env: &str, interval: Interval) -> ConnectionSpec {
    ConnectionSpec {
        key: ConnectionKey { organization: "default".into(), connection: name.into() },
        provider: "hydrawise".into(),
        recipe: None,
        base_url: "https://api.example.test".into(),
        secret: SecretSource::Env(env.into()),
        carrier: Carrier::None,
        oauth: None,
        conditional: Conditional::default(),
        limits: Vec::new(),
        quotas: Vec::new(),
        poll: PollSpec { enabled: true, interval },
        targets: Vec::new(),
        commands: Vec::new(),
        rules: Vec::new(),
        waits: WaitSpec::default(),
        network: NetworkSpec::default(),
        reading: ReadingSpec::default(),
        time_zone: "UTC".to_owned(),
        refresh_min_age: Span::from_secs(60),
    }
}

/// Five in five minutes with one kept: a round every 75 s.
fn planned(spec: &ConnectionSpec) -> Line<'_> {
    let shortest = Span::from_secs(75);
    let interval = every(spec).unwrap_or(shortest);
    let plan = Plan {
        requests_per_round: 1,
        requests_per_day: 86_400_000 / interval.as_millis(),
        interval,
        shortest_interval: Some(shortest),
        bound_by: Some("status".into()),
        ceiling_targets: Some(interval.as_secs() / 75),
    };
    Line { spec, plan }
}

fn report(specs: &[ConnectionSpec]) -> Report<'_> {
    let lines: Vec<Line> = specs.iter().map(planned).collect();
    let crowds = crowds(&lines);
    Report { lines, crowds, own: Vec::new(), pages: Vec::new() }
}

fn every_s(s: u64) -> Interval {
    Interval::Every(Span::from_secs(s))
}

#[test]
fn a_plan_reads_as_one_aligned_table_and_a_verdict() {
    let specs = [spec("yard", "YARD_KEY", every_s(75)), spec("greenhouse", "OTHER_KEY", Interval::Auto)];
    let expected = "\
larder.toml is valid: 2 connections.

CONNECTION  PROVIDER   INTERVAL     REQUESTS A DAY  BOUND BY  SHORTEST  CEILING   A 304
yard        hydrawise  75 s         1152            status    75 s      1 target  charged
greenhouse  hydrawise  75 s (auto)  1152            status    75 s      1 target  charged

yard: can be kept up for ever; the shortest safe interval is 75 s (limit \"status\").
greenhouse: can be kept up for ever; the shortest safe interval is 75 s (limit \"status\").
";
    assert_eq!(report(&specs).text(Path::new("larder.toml")), expected);
    assert!(report(&specs).is_sustainable());
}

#[test]
fn an_own_recipe_that_wins_over_a_built_in_one_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("larder.toml");
    std::fs::create_dir(dir.path().join("recipes")).unwrap();
    for name in ["hydrawise", "mine"] {
        let recipe = "[[limit]]\nname = \"day\"\nrequests = 100\nkind = \"daily\"\n";
        std::fs::write(dir.path().join(format!("recipes/{name}.toml")), recipe).unwrap();
    }
    let link = |name| format!("[[connection]]\nname = \"{name}\"\nrecipe = \"{name}\"\nbase_url = \"http://x.test\"\n");
    std::fs::write(&config, link("hydrawise") + &link("mine")).unwrap();
    let settings = settings(&config).unwrap();
    let said = Report::of(&settings, &Recipes::beside(&config), &Pages::default()).text(&config);
    let file = dir.path().join("recipes/hydrawise.toml");
    let sentence = format!(
        "hydrawise: its recipe is {}, a file of your own, which wins over the built-in recipe \"hydrawise\".\n",
        file.display()
    );
    assert!(said.ends_with(&sentence), "{said}");
    assert_eq!(said.matches("of your own").count(), 1, "a name of its own is nothing to tell: {said}");
}

#[test]
fn a_plan_that_cannot_be_kept_says_what_would() {
    let specs = [spec("yard", "YARD_KEY", every_s(60))];
    let report = report(&specs);
    assert!(!report.is_sustainable());
    assert_eq!(
        report.lines[0].sentence(),
        "yard: CANNOT be kept up: 1 request every 60 s; the shortest safe interval is 75 s (limit \"status\"). \
         Set poll.interval to \"75s\" or \"auto\"."
    );
    let json = report.json();
    assert_eq!((&json["sustainable"], &json["connections"][0]["interval_seconds"]), (&json!(false), &json!(60.0)));
}

#[test]
fn limits_that_keep_everything_for_others_leave_no_plan() {
    let specs = [spec("yard", "YARD_KEY", Interval::Auto)];
    let mut report = report(&specs);
    report.lines[0].plan.shortest_interval = None;
    report.lines[0].plan.ceiling_targets = None;
    assert!(!report.is_sustainable());
    assert_eq!(report.lines[0].cells()[5..7], ["never".to_owned(), "-".to_owned()]);
    assert!(report.lines[0].sentence().contains("leave its poller nothing (limit \"status\")"));
}

#[test]
fn two_connections_with_one_credential_share_one_budget() {
    for (a, b, percent, kept) in [
        (every_s(75), every_s(75), 200, false),
        (every_s(150), every_s(150), 100, true),
        (every_s(100), every_s(300), 100, true),
        (every_s(75), Interval::Auto, 100, true),
    ] {
        let specs = [spec("front", "KEY", a), spec("back", "KEY", b), spec("alone", "OTHER", every_s(75))];
        let report = report(&specs);
        let shared: Vec<(u64, usize)> = report.crowds.iter().map(|c| (c.percent, c.names.len())).collect();
        assert_eq!((shared, report.is_sustainable()), (vec![(percent, 2)], kept), "{a:?} {b:?}");
    }
}

#[test]
fn what_is_not_polled_burdens_nobody() {
    let mut specs = [spec("front", "KEY", every_s(10)), spec("back", "KEY", every_s(75))];
    specs[0].poll.enabled = false;
    let report = report(&specs);
    assert!(report.is_sustainable());
    assert!(report.crowds.is_empty());
    assert_eq!(report.lines[0].cells()[2..4], ["off".to_owned(), "0".to_owned()]);
}

#[test]
fn the_packaged_example_is_valid_and_can_be_kept_up() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/larder.toml");
    let settings = settings(&example).unwrap();
    assert!(Report::of(&settings, &Recipes::embedded(), &Pages::default()).is_sustainable());
    // Its commented half is an example too.
    let text = std::fs::read_to_string(&example).unwrap();
    let half = text.split("without a recipe:\n").nth(1).unwrap();
    let uncommented: String =
        half.lines().map(|l| l.trim_start_matches("# ").trim_start_matches('#').to_owned() + "\n").collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("larder.toml");
    std::fs::write(&file, uncommented).unwrap();
    let settings = super::settings(&file).unwrap();
    assert!(Report::of(&settings, &Recipes::embedded(), &Pages::default()).is_sustainable());
}
