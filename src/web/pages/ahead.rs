//! What the plans will do next, on `/plan`: for each connection that is polled how the limit with its longest window goes on from now, and the polls that come.
//! Must not know the rest of the page.

use super::burn::{self, Burned};
use super::show::{self, Face, Moment};
use super::{Visit, segment};
use crate::engine::view::PlanView;
use crate::web::WebState;
use crate::web::errors::Problem;
use crate::web::texts;

/// Connections that are drawn; each has the same on its own page.
const MOST: usize = 12;

pub struct Ahead {
    pub name: String,
    pub href: String,
    pub burned: Burned,
    pub next: Option<Moment>,
    /// `then every 5 min, 288 requests a day`
    pub then: String,
}

/// What is used up before it comes back first, the others in the order of the plans. Beside it, how many are left out.
pub fn ahead(web: &WebState, visit: &Visit, face: &Face, plans: &[PlanView]) -> Result<(Vec<Ahead>, usize), Problem> {
    let mut all = Vec::new();
    for plan in plans.iter().filter(|plan| plan.enabled) {
        let key = visit.connection(&plan.name);
        // One that went since the plans were read has nothing to come.
        let Ok(connection) = web.shelf().connection(&key) else { continue };
        let Some(burned) = burn::burned(web, visit, face, &key)? else { continue };
        let figures = &plan.figures;
        all.push(Ahead {
            href: format!("c/{}{}#burn", segment(&plan.name), visit.suffix()),
            name: plan.name.clone(),
            burned,
            next: face.maybe(connection.poll.next_poll_at),
            then: texts::t("ahead-then-every-a-day")
                .with("interval", show::exact(figures.effective_interval_seconds))
                .with("cost", super::plan::cost_of(figures.requests_per_day, figures.units_per_day))
                .plain(),
        });
    }
    all.sort_by_key(|ahead| !ahead.burned.runs_out);
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    Ok((all, more))
}
