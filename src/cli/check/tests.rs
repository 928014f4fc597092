//! The report on plans that are given: what `rules::plan` finds is tested there.

use super::*;
use crate::domain::ids::ConnectionKey;
use crate::domain::spec::{Carrier, Conditional, NetworkSpec, PollSpec, ReadingSpec, SecretSource, WaitSpec};

fn spec(name: &str, env: &str, interval: Interval) -> ConnectionSpec {
    ConnectionSpec {
        key: ConnectionKey { organization: "default".into(), connection: name.into() },
        provider: "hydrawise".into(),
        recipe: None,
        base_url: "https://api.example.test".into(),
        secret: SecretSource::Env(env.into()),
        carrier: Carrier::None,
        new_secret: Default::default(),
        oauth: None,
        conditional: Conditional::default(),
        limits: Vec::new(),
        quotas: Vec::new(),
        poll: PollSpec { enabled: true, interval, inactivity_ttl: None, completion_grace: Span::ZERO },
        targets: Vec::new(),
        scans: Vec::new(),
        commands: Vec::new(),
        rules: Vec::new(),
        waits: WaitSpec::default(),
        network: NetworkSpec::default(),
        reading: ReadingSpec::default(),
        time_zone: "UTC".to_owned(),
        keep_history: None,
        webhooks: Vec::new(),
        refresh_min_age: Span::from_secs(60),
        gateway: Default::default(),
    }
}

/// Five in five minutes with one kept: a round every 75 s.
fn planned(spec: &ConnectionSpec) -> Line<'_> {
    let shortest = Span::from_secs(75);
    let interval = match spec.poll.interval {
        Interval::Every(every) => every,
        Interval::Auto => shortest,
    };
    let rate = |interval: Span| Rate {
        interval,
        requests_per_day: 86_400_000 / interval.as_millis(),
        units_per_day: 2 * 86_400_000 / interval.as_millis(),
        shares: Vec::new(),
    };
    let plan = Plan {
        requests_per_round: 1,
        units_per_round: 2,
        wished: rate(interval),
        kept: rate(interval.max(shortest)),
        shortest_interval: Some(shortest),
        is_starved: false,
        bound_by: Some("status".into()),
        ceiling_targets: Some(interval.as_secs() / 75),
    };
    Line { spec, plan }
}

fn report(specs: &[ConnectionSpec]) -> Report<'_> {
    let lines: Vec<Line> = specs.iter().map(planned).collect();
    Report { lines, crowds: Vec::new(), own: Vec::new(), learned: Vec::new(), unreadable: Vec::new() }
}

fn every_s(s: u64) -> Interval {
    Interval::Every(Span::from_secs(s))
}

#[test]
fn a_plan_reads_as_one_aligned_table_and_a_verdict() {
    let specs = [spec("yard", "YARD_KEY", every_s(75)), spec("greenhouse", "OTHER_KEY", Interval::Auto)];
    let expected = "\
larder.toml is valid: 2 connections.

CONNECTION  PROVIDER   INTERVAL     REQUESTS A DAY  UNITS  BOUND BY  SHORTEST  CEILING   A 304
yard        hydrawise  75 s         1152            2304   status    75 s      1 target  charged
greenhouse  hydrawise  75 s (auto)  1152            2304   status    75 s      1 target  charged

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
    let said =
        Report::of(&settings, identified(&settings.connections), &Recipes::beside(&config), &Expected::default())
            .text(&config);
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
        "yard: CANNOT be kept up: 1 request every 60 s; the shortest safe interval is 75 s (limit \"status\"), and that is how \
         often it would poll. Set poll.interval to \"75s\" or \"auto\"."
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
    assert_eq!(report.lines[0].cells()[6..8], ["never".to_owned(), "-".to_owned()]);
    assert!(report.lines[0].sentence().contains("leave its poller nothing (limit \"status\")"));
}

/// As the door would tell them apart: by the secret, without the line break behind it.
fn identified(connections: &[ConnectionSpec]) -> Credentials {
    let mut known = Credentials::default();
    for spec in connections {
        let SecretSource::File(path) = &spec.secret else { continue };
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let mut id = [0; 16];
                id.copy_from_slice(&blake3::hash(text.trim().as_bytes()).as_bytes()[..16]);
                known.of.insert(spec.key.clone(), CredentialId(id));
            }
            Err(e) => known.unreadable.push((spec.key.clone(), format!("{} cannot be read: {e}", path.display()))),
        }
    }
    known
}

/// Connections of one provider that allows 5 in 5 minutes with one kept: a round every 75 s.
fn written(folder: &Path, connections: &[(&str, &str, &str)]) -> std::path::PathBuf {
    let one = |(name, secret, poll): &(&str, &str, &str)| {
        format!(
            "[[connection]]\nname = \"{name}\"\nbase_url = \"https://api.example.test\"\n\
             credential = {{ file = \"{secret}\", query = \"key\" }}\npoll = {{ {poll} }}\n\
             [[connection.limit]]\nname = \"status\"\nrequests = 5\nwindow = \"5m\"\nkind = \"rolling\"\n\
             keep = {{ refresh = 1 }}\n\
             [[connection.target]]\nname = \"t\"\nget = \"/t\"\nitems = \"$[*]\"\nkey = \"$.id\"\n"
        )
    };
    let file = folder.join("larder.toml");
    std::fs::write(&file, connections.iter().map(one).collect::<String>()).unwrap();
    for (name, value) in [("a.key", "SAME-SECRET\n"), ("b.key", "SAME-SECRET"), ("c.key", "ANOTHER-SECRET\n")] {
        std::fs::write(folder.join(name), value).unwrap();
    }
    file
}

#[test]
fn connections_with_one_secret_share_one_budget_wherever_it_lies() {
    let every = |s: u64| format!("interval = \"{s}s\"");
    let auto = || "interval = \"auto\"".to_owned();
    for (a, b, percent, kept, intervals) in [
        (every(75), every(75), 200, false, [75, 75]),
        (every(150), every(150), 100, true, [150, 150]),
        (every(75), auto(), 150, false, [75, 150]),
        (every(300), auto(), 100, true, [300, 100]),
        (auto(), auto(), 100, true, [150, 150]),
    ] {
        for second in ["a.key", "b.key"] {
            let folder = tempfile::tempdir().unwrap();
            let of = [("front", "a.key", a.as_str()), ("back", second, b.as_str()), ("alone", "c.key", &every(75))];
            let settings = settings(&written(folder.path(), &of)).unwrap();
            let report =
                Report::of(&settings, identified(&settings.connections), &Recipes::embedded(), &Expected::default());
            let shared: Vec<(u64, &[String])> = report.crowds.iter().map(|c| (c.percent, c.names.as_slice())).collect();
            let names = ["front".to_owned(), "back".to_owned()];
            assert_eq!((shared, report.is_sustainable()), (vec![(percent, &names[..])], kept), "{a} {b} {second}");
            let planned: Vec<u64> = report.lines.iter().map(|l| l.plan.wished.interval.as_secs()).collect();
            assert_eq!(planned, [intervals[0], intervals[1], 75], "{a} {b} {second}");
        }
    }
}

#[test]
fn what_is_not_polled_burdens_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let of = [("front", "a.key", "enabled = false, interval = \"10s\""), ("back", "a.key", "interval = \"75s\"")];
    let settings = settings(&written(folder.path(), &of)).unwrap();
    let report = Report::of(&settings, identified(&settings.connections), &Recipes::embedded(), &Expected::default());
    assert!(report.is_sustainable());
    assert!(report.crowds.is_empty());
    assert_eq!(report.lines[0].cells()[2..5], ["off".to_owned(), "0".to_owned(), "0".to_owned()]);
}

#[test]
fn a_credential_that_cannot_be_read_is_told_and_is_still_one_budget() {
    let folder = tempfile::tempdir().unwrap();
    let poll = "interval = \"150s\"";
    let of = [("front", "gone.key", poll), ("back", "gone.key", poll), ("alone", "c.key", "interval = \"75s\"")];
    let settings = settings(&written(folder.path(), &of)).unwrap();
    let report = Report::of(&settings, identified(&settings.connections), &Recipes::embedded(), &Expected::default());
    assert_eq!(report.unreadable.len(), 2, "{:?}", report.unreadable);
    assert!(report.unreadable.iter().all(|s| s.contains("gone.key") && s.contains("cannot be read")));
    assert_eq!((report.crowds.len(), report.crowds[0].percent), (1, 100));
}

#[test]
fn the_packaged_example_is_valid_and_can_be_kept_up() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/larder.toml");
    let settings = settings(&example).unwrap();
    assert!(
        Report::of(&settings, identified(&settings.connections), &Recipes::embedded(), &Expected::default())
            .is_sustainable()
    );
    // Its commented half is an example too.
    let text = std::fs::read_to_string(&example).unwrap();
    let half = text.split("without a recipe:\n").nth(1).unwrap();
    let uncommented: String =
        half.lines().map(|l| l.trim_start_matches("# ").trim_start_matches('#').to_owned() + "\n").collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("larder.toml");
    std::fs::write(&file, uncommented).unwrap();
    let settings = super::settings(&file).unwrap();
    assert!(
        Report::of(&settings, identified(&settings.connections), &Recipes::embedded(), &Expected::default())
            .is_sustainable()
    );
}
