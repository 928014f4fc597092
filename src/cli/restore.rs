//! `larder restore`: a copy takes the place of the data file while no appliance runs.

use super::ending::{Ending, Failure, Outcome};
use super::text::show;
use crate::clock::{Clock, SystemClock};
use crate::config::ServerSpec;
use crate::store::{self, Newer};
use std::path::Path;

pub fn run(server: &ServerSpec, copy: &Path, force: bool) -> Outcome {
    let newer = if force { Newer::GivesWay } else { Newer::Stays };
    // Only for a name: no timeline is continued.
    let now = SystemClock::start(None, None).now();
    let sentence = store::restore(copy, &server.data, newer, now.wall()).map_err(Failure::failed)?;
    show(&format!("{sentence}\n"))?;
    Ok(Ending::Fine)
}
