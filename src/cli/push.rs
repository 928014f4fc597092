//! `larder push`: an agent's hand. An answer is put into the spool first, with its id, and then delivered with everything that waits there; what
//! cannot be delivered now waits for the next time. Knows no HTTP and no token: it is lent the way.

use super::ending::{Ending, Failure, Outcome};
use super::text::{count, talk};
use crate::clock::{Clock, SystemClock};
use crate::domain::time::{Span, Steady, Wall};
use crate::rules::calendar::rfc3339;
use crate::rules::spool::{self, Fate, Heard, Next};
use crate::store::StoreError;
use crate::store::spool::{Settled, Spool};
use clap::Args;
use serde_json::{Map, Value, json};
use std::future::Future;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// Observations of one request, and bytes of it: below what the appliance takes.
const BATCH: usize = 100;
const BATCH_BYTES: usize = 1_000_000;
/// The longest answer that is pushed: with its wrapping it fits into a request.
const LONGEST: u64 = 1_500_000;
/// Refusals that are told one by one.
const TOLD: usize = 10;
/// How long another `larder push` may have the spool: as long as a delivery takes, and a little.
const PATIENCE: Span = Span::from_secs(30);
const LOOK_AGAIN: Span = Span::from_millis(100);

pub const EXAMPLES: &str = "\
Examples:
  larder push --connection cellar --target pump pump.json
  read-the-pump | larder push --connection cellar --target pump -
  larder push                                delivers what waits in the spool: for a timer
  larder push --retry-refused                tries also what was refused once more

The token (role agent) is read from --token-file, else from LARDER_TOKEN. A delivery takes 25 s at most, whatever the appliance says in
Retry-After: what does not fit waits in the spool, and is not sent before that.

Exit codes: 0 all is delivered, 1 something waits or was refused, 2 bad usage.";

#[derive(Clone, Debug, Args)]
pub struct PushArgs {
    /// The file with the provider's answer, `-` for stdin [default: deliver what waits].
    pub answer: Option<PathBuf>,
    /// The connection that the answer is of.
    #[arg(long, requires = "answer")]
    pub connection: Option<String>,
    /// The target that it is an answer to.
    #[arg(long, requires = "answer")]
    pub target: Option<String>,
    /// When the provider gave it, such as 2026-11-30T12:00:00Z [default: when the file was changed last; of stdin now].
    #[arg(long, value_name = "TIME", requires = "answer")]
    pub as_of: Option<String>,
    /// The answer's status.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(100..600))]
    pub status: u16,
    /// The answer's format.
    #[arg(long, value_name = "TYPE", default_value = "application/json")]
    pub content_type: String,
    /// The appliance.
    #[arg(long, env = "LARDER_URL", value_name = "URL", default_value = "http://127.0.0.1:8474")]
    pub to: String,
    /// The file with the token in its first line [default: the variable LARDER_TOKEN].
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// What is not delivered yet; one at a time may use it.
    #[arg(long, env = "LARDER_SPOOL", value_name = "FILE", default_value = "larder-push.redb")]
    pub spool: PathBuf,
    /// Try what the appliance refused once more.
    #[arg(long)]
    pub retry_refused: bool,
}

/// The way to the appliance.
pub trait Post: Send + Sync {
    /// Once, and no longer than `within`.
    fn post(&self, body: String, within: Span) -> Pin<Box<dyn Future<Output = Heard> + Send + '_>>;
}

/// Who lends it. The error is a sentence.
pub type Lend = fn(&PushArgs) -> Result<Box<dyn Post>, String>;

pub async fn run(args: PushArgs, lend: Lend) -> Outcome {
    let clock = SystemClock::start(None, None);
    let post = lend(&args).map_err(Failure::usage)?;
    let observation =
        args.answer.as_deref().map(|answer| observation(&args, answer, clock.now().wall())).transpose()?;
    let spool = open(&args.spool, &clock).await?;
    if let Some(observation) = observation {
        spool.put(&[observation]).map_err(Failure::failed)?;
    }
    if args.retry_refused {
        spool.bring_back().map_err(Failure::failed)?;
    }
    let report = deliver(&spool, &*post, &clock).await.map_err(Failure::failed)?;
    conclude(&report, &spool, &args.spool)
}

/// Waits for who has it open: that one has to end some time.
async fn open(path: &Path, clock: &dyn Clock) -> Result<Spool, Failure> {
    let ends = clock.now().steady + PATIENCE;
    loop {
        match Spool::open(path) {
            Err(StoreError::Locked(_)) if clock.now().steady < ends => {
                clock.sleep_until(clock.now().steady + LOOK_AGAIN).await;
            }
            other => return other.map_err(Failure::failed),
        }
    }
}

/// As it is kept and sent. Its id is made here, before anybody has it.
fn observation(args: &PushArgs, answer: &Path, now: Wall) -> Result<Vec<u8>, Failure> {
    let (Some(connection), Some(target)) = (&args.connection, &args.target) else {
        return Err(Failure::usage("An answer needs --connection and --target."));
    };
    let (text, changed) = read(answer)?;
    let as_of = match &args.as_of {
        Some(text) => {
            let at: Result<jiff::Timestamp, _> = text.parse();
            at.map_err(|_| {
                Failure::usage(format!("--as-of is a moment such as 2026-11-30T12:00:00Z, and not {text:?}."))
            })?
        }
        None => moment(changed.unwrap_or(now).min(now)),
    };
    let mut id = [0; 16];
    getrandom::fill(&mut id)
        .map_err(|e| Failure::failed(format!("The system has no random numbers for an id ({e}).")))?;
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut one = Map::new();
    one.insert("id".to_owned(), id.into());
    one.insert("connection".to_owned(), connection.as_str().into());
    one.insert("target".to_owned(), target.as_str().into());
    one.insert("as_of".to_owned(), as_of.to_string().into());
    one.insert("status".to_owned(), args.status.into());
    one.insert("content_type".to_owned(), args.content_type.as_str().into());
    one.insert("text".to_owned(), text.into());
    Ok(Value::Object(one).to_string().into_bytes())
}

fn moment(wall: Wall) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(wall.0).unwrap_or_default()
}

/// The text, and when its file was changed last.
fn read(answer: &Path) -> Result<(String, Option<Wall>), Failure> {
    let is_stdin = answer.as_os_str() == "-";
    let wrong = |why: String| Failure::failed(format!("The answer cannot be read from {}: {why}.", answer.display()));
    let mut text = String::new();
    let (read, changed) = match is_stdin {
        true => (std::io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text), None),
        false => {
            let file = std::fs::File::open(answer).map_err(|e| wrong(e.to_string()))?;
            let changed = file.metadata().and_then(|data| data.modified()).ok();
            let changed = changed.and_then(|at| jiff::Timestamp::try_from(at).ok()).map(|at| Wall(at.as_millisecond()));
            (file.take(LONGEST + 1).read_to_string(&mut text), changed)
        }
    };
    read.map_err(|e| wrong(e.to_string()))?;
    match text.len() as u64 > LONGEST {
        true => Err(wrong(format!("it is longer than {LONGEST} bytes"))),
        false => Ok((text, changed)),
    }
}

/// How a delivery went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Report {
    delivered: u64,
    /// With what the appliance said of each.
    refused: Vec<String>,
    /// Why there is no more now.
    why: Option<String>,
    not_before: Option<Wall>,
}

/// Delivers what waits, oldest first, until nothing does or what is left has to wait for another time. Each batch has the budget of a delivery.
async fn deliver(spool: &Spool, post: &dyn Post, clock: &dyn Clock) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let (mut most, mut began) = (BATCH, clock.now().steady);
    loop {
        let batch = spool.waiting(most, BATCH_BYTES)?;
        if batch.is_empty() {
            return Ok(Report { why: None, not_before: None, ..report });
        }
        let now = clock.now();
        let not_before =
            spool.not_before()?.and_then(|at| later(Wall(i64::try_from(at).unwrap_or(0)), now.wall(), now.steady));
        report.not_before = not_before.map(|at| now.wall() + at.since(now.steady));
        let within = match spool::next(began, now.steady, not_before) {
            Next::Later => return Ok(report),
            Next::WaitUntil(at) => {
                clock.sleep_until(at).await;
                continue;
            }
            Next::Send(within) => within,
        };
        let heard = post.post(body(&batch, now.wall()), within).await;
        let fate = spool::fate(&heard, batch.len());
        if fate.is_too_much {
            most = 1;
            continue;
        }
        let (is_through, is_told_when) = (fate.why.is_none(), fate.retry_after.is_some() && !fate.is_hopeless);
        settle(spool, &batch, fate, clock.now().wall(), &mut report)?;
        match is_through {
            true => began = clock.now().steady,
            // Who starts this again decides when; what the appliance said is kept to then, too.
            false if !is_told_when => return Ok(report),
            false => {}
        }
    }
}

/// Until when it waits; a deadline that is past, or further than any that is kept to, is none.
fn later(at: Wall, wall: Wall, steady: Steady) -> Option<Steady> {
    let left = at.since(wall);
    (left > Span::ZERO && left <= spool::LONGEST_WAIT).then(|| steady + left)
}

fn body(batch: &[(u64, Vec<u8>)], sent_at: Wall) -> String {
    let observations: Vec<Value> =
        batch.iter().map(|(_, one)| serde_json::from_slice(one).unwrap_or(Value::Null)).collect();
    json!({ "sent_at": moment(sent_at).to_string(), "observations": observations }).to_string()
}

/// What was heard is on the disk before anything else is sent.
fn settle(
    spool: &Spool,
    batch: &[(u64, Vec<u8>)],
    fate: Fate,
    now: Wall,
    report: &mut Report,
) -> Result<(), StoreError> {
    let number = |at: &usize| batch.get(*at).map(|(number, _)| *number);
    let wait = fate.retry_after.filter(|_| fate.why.is_some());
    let settled = Settled {
        delivered: fate.delivered.iter().filter_map(number).collect(),
        refused: fate.refused.iter().map(|(at, _)| at).filter_map(number).collect(),
        not_before: wait.and_then(|wait| u64::try_from((now + wait).0).ok()),
    };
    spool.settle(&settled)?;
    report.delivered += settled.delivered.len() as u64;
    report.refused.extend(fate.refused.into_iter().map(|(_, why)| why));
    report.why = fate.why;
    report.not_before = wait.map(|wait| now + wait);
    Ok(())
}

fn conclude(report: &Report, spool: &Spool, path: &Path) -> Outcome {
    let (waiting, aside) = spool.counts().map_err(Failure::failed)?;
    if report.delivered > 0 {
        talk(&format!("{} delivered.", count(report.delivered, "observation")));
    }
    let mut sentences: Vec<String> =
        report.refused.iter().take(TOLD).map(|why| format!("Refused: {}.", why.trim_end_matches('.'))).collect();
    if aside > 0 {
        let kept = count(aside, "observation");
        sentences.push(format!(
            "{kept} that the appliance refused stay in {}; --retry-refused tries them again.",
            path.display()
        ));
    }
    if waiting > 0 {
        let why = report.why.as_deref().map(|why| format!(": {}", why.trim_end_matches('.'))).unwrap_or_default();
        let when = report.not_before.map(|at| format!(", not before {}", rfc3339(at))).unwrap_or_default();
        sentences.push(format!("{} still in {}{when}{why}.", waits(waiting), path.display()));
    }
    match sentences.is_empty() {
        true => Ok(Ending::Fine),
        false => Err(Failure { ending: Ending::Failed, sentences }),
    }
}

fn waits(n: u64) -> String {
    format!("{} {}", count(n, "observation"), if n == 1 { "waits" } else { "wait" })
}

#[cfg(test)]
mod tests;
