//! Lends the command line the way of an agent to its appliance: the token is read here, and stays in `upstream`.

use crate::cli::{Post, PushArgs};
use crate::clock::{Clock, SystemClock};
use crate::domain::time::Span;
use crate::rules::spool::Heard;
use crate::upstream::agent::Agent;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// The variable with the token, where no file is named.
const TOKEN: &str = "LARDER_TOKEN";

struct Courier(Agent);

impl Post for Courier {
    fn post(&self, body: String, within: Span) -> Pin<Box<dyn Future<Output = Heard> + Send + '_>> {
        Box::pin(self.0.post(body, within))
    }
}

/// The error is a sentence.
pub fn courier(args: &PushArgs) -> Result<Box<dyn Post>, String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start(None, None));
    let agent = Agent::new(&args.to, std::env::var(TOKEN).ok(), args.token_file.as_deref(), clock)?;
    Ok(Box::new(Courier(agent)))
}
