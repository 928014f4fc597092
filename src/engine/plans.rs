//! Plans as they are shown: the read models of `/plan`, and the sentences. Must not know how a plan is made.

use super::view::{ForecastView, Seconds, StretchView};
use crate::rules::plan::Plan;

/// Both figures, and the limit that binds.
pub fn stretched(plan: &Plan) -> Option<StretchView> {
    let (from, to) = plan.stretched()?;
    let limit = plan.bound_by.clone();
    let binds = limit.as_deref().map(|limit| format!("limit \"{limit}\" ")).unwrap_or_else(|| "the limits ".to_owned());
    let sentence = format!(
        "{} cannot be kept up: {binds}gives pollers no more than a round every {}, so that is how often it polls.",
        from.exact(),
        to.exact()
    );
    Some(StretchView { from_seconds: Seconds(from), to_seconds: Seconds(to), limit, sentence })
}

/// At the interval that is kept.
pub fn forecast(plan: &Plan) -> ForecastView {
    ForecastView {
        requests_per_day: plan.kept.requests_per_day,
        units_per_day: plan.kept.units_per_day,
        ceiling_targets: plan.ceiling_targets,
    }
}
