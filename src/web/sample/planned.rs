//! Plans of the sample: the garden at its usual interval, and thirty-five work orders that are too many for theirs.

use super::ago;
use crate::domain::ids::ConnectionKey;
use crate::domain::spec::Interval;
use crate::domain::time::Span;
use crate::engine::plans::WhatIf;
use crate::engine::view::*;

pub fn plans() -> Vec<PlanView> {
    vec![
        PlanView {
            name: "yard".to_owned(),
            organization: "default".to_owned(),
            provider: "hydrawise".to_owned(),
            enabled: true,
            auto: false,
            until: None,
            figures: PlanFigures {
                interval_seconds: Seconds::whole(75),
                effective_interval_seconds: Seconds::whole(75),
                stretched: None,
                shortest_interval_seconds: Some(Seconds::whole(75)),
                bound_by: Some("status".to_owned()),
                targets: 1,
                requests_per_round: 1,
                units_per_round: 1,
                requests_per_day: 1152,
                units_per_day: 1152,
                wished_requests_per_day: 1152,
                wished_units_per_day: 1152,
                requests_meanwhile: None,
                ceiling_targets: Some(1),
                limits: vec![share("status", Some("/statusschedule.php"), 4, 100), share("account", None, 1960, 59)],
                sentence:
                    "A round every 75 s can be kept up for ever; the shortest interval is 75 s (limit \"status\")."
                        .to_owned(),
            },
            renewals_per_day: 0,
        },
        PlanView {
            name: "field".to_owned(),
            organization: "default".to_owned(),
            provider: "tasks.example.test".to_owned(),
            enabled: true,
            auto: false,
            until: Some(ago(-7200)),
            figures: too_many(),
            renewals_per_day: 24,
        },
    ]
}

fn share(limit: &str, endpoint: Option<&str>, available: u64, percent: u64) -> ShareView {
    let endpoint = endpoint.map(str::to_owned);
    ShareView { limit: limit.to_owned(), endpoint, available, percent, own_percent: percent }
}

fn too_many() -> PlanFigures {
    let (from, to) = (Seconds::whole(300), Seconds(Span(302_400)));
    let sentence = "A round every 5 min cannot be kept up: limit \"day\" gives pollers no more than one every 302.4 s, so that \
                    is how often it polls.";
    PlanFigures {
        interval_seconds: from,
        effective_interval_seconds: to,
        stretched: Some(StretchView {
            from_seconds: from,
            to_seconds: to,
            limit: Some("day".to_owned()),
            sentence: sentence.to_owned(),
        }),
        shortest_interval_seconds: Some(to),
        bound_by: Some("day".to_owned()),
        targets: 35,
        requests_per_round: 35,
        units_per_round: 70,
        requests_per_day: 10_000,
        units_per_day: 20_000,
        wished_requests_per_day: 10_080,
        wished_units_per_day: 20_160,
        requests_meanwhile: Some(2_160),
        ceiling_targets: Some(34),
        limits: vec![ShareView { own_percent: 71, ..share("day", None, 20_000, 101) }],
        sentence: sentence.to_owned(),
    }
}

/// The engine's plans are tested there: this one shows what was asked.
pub fn what_if(key: &ConnectionKey, asked: &WhatIf) -> WhatIfView {
    let targets = asked.targets.unwrap_or(35);
    let interval = match asked.interval {
        Some(Interval::Every(every)) => Seconds(every),
        _ => Seconds::whole(300),
    };
    let single = CostView { requests: targets, units: targets };
    WhatIfView {
        connection: key.connection.to_string(),
        targets,
        rows: asked.rows,
        page_size: asked.page_size,
        way: if asked.page_size.is_some() { "scan" } else { "single" },
        single,
        scan: asked.page_size.map(|_| CostView { requests: 2, units: 2 }),
        figures: PlanFigures { interval_seconds: interval, targets, ..too_many() },
    }
}
