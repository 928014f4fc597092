//! The office that has the tasks: what it answers, what it counts, when it refuses, and the door to it. Knows nothing of how it is asked.

use super::scene::{Field, Kind, key};
use crate::dice::Dice;
use crate::disk::Disk;
use crate::laws::field::{Line, Seen};
use crate::machine::{FakeClock, Machine, Ms};
use crate::provider::Leak;
use crate::record::{Fact, Meant, Record, Sent, What};
use larder::clock::Clock;
use larder::domain::reply::{Answer, Failure, Reply};
use larder::domain::spec::endpoint_of;
use larder::rules::budget::Permit;
use larder::upstream::{Door, Request};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct Inner {
    dice: Dice,
    record: Record,
    requests: usize,
    /// What a project's pages are of: its tasks as they were when its first page was asked last.
    readings: BTreeMap<usize, Ms>,
}

/// Survives the processes that ask it.
#[derive(Clone)]
pub struct Office {
    machine: Machine,
    field: Arc<Field>,
    disk: Disk,
    leak: Leak,
    inner: Arc<Mutex<Inner>>,
}

/// What becomes of one request.
struct Fate {
    counted_at: Ms,
    ends_at: Ms,
    result: Result<Answer, Failure>,
    meant: Meant,
    seen: Option<Seen>,
}

impl Office {
    pub fn new(machine: &Machine, field: Arc<Field>, disk: &Disk, dice: Dice, leak: Leak) -> Office {
        let inner = Inner { dice, record: Vec::new(), requests: 0, readings: BTreeMap::new() };
        Office { machine: machine.clone(), field, disk: disk.clone(), leak, inner: Arc::new(Mutex::new(inner)) }
    }

    pub fn note(&self, what: What) {
        self.inner().record.push(Fact { at: self.machine.true_ms(), what });
    }

    pub fn record(&self) -> Record {
        std::mem::take(&mut self.inner().record)
    }

    pub fn door(&self, clock: Arc<FakeClock>, alive: Arc<AtomicBool>) -> OfficeDoor {
        OfficeDoor { office: self.clone(), clock, alive }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self, inner: &mut Inner, request: &Request, number: usize, now: Ms, deadline: Ms) -> Fate {
        let counted_at = (now + inner.dice.between(1, 300) as Ms).min(deadline);
        let ends_at = (counted_at + inner.dice.between(1, 500) as Ms).min(deadline);
        let nothing = Fate { counted_at, ends_at, result: Err(Failure::Dropped), meant: Meant::Nothing, seen: None };
        if inner.dice.chance(2) {
            return nothing;
        }
        let trouble = self.field.troubles.iter().find(|t| (t.from..t.until).contains(&counted_at));
        let refused = trouble.is_some_and(|t| t.kind == Kind::Exhausted || inner.dice.chance(700));
        if refused {
            let meant = Meant::Refused { wait: 5_000 };
            return Fate { result: Ok(answer(429, "{\"error\":\"too many requests\"}")), meant, ..nothing };
        }
        let (body, seen) = self.tasks(inner, request, number, counted_at);
        Fate { result: Ok(answer(200, &body)), meant: Meant::Good(String::new()), seen, ..nothing }
    }

    /// Now and then the world ends with a page: before the next one, or while the reading is put in force.
    fn strike(&self, last: bool) {
        let mut inner = self.inner();
        if inner.dice.chance(self.field.size.kills) {
            let operations = *inner.dice.pick(if last { &[12, 60, 400] } else { &[2, 12, 30] });
            let takes_effect = inner.dice.chance(500);
            self.disk.fail_after(inner.dice.between(1, operations), takes_effect);
        }
    }

    /// One order's tasks, or a page of a project's.
    fn tasks(&self, inner: &mut Inner, request: &Request, number: usize, at: Ms) -> (String, Option<Seen>) {
        let asked = |name: &str| {
            let query = request.location.split_once('?').map_or("", |(_, query)| query);
            query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse::<usize>().ok())
        };
        let field = &self.field;
        if let Some(order) = asked("order") {
            let rows = lines(order, field.rows(order, at));
            return (body(&rows, None), Some(Seen::Answer { request: number, order, rows }));
        }
        let (Some(project), page) = (asked("project"), asked("page").unwrap_or(1)) else {
            return ("{}".to_owned(), None);
        };
        if page == 1 {
            inner.readings.insert(project, at);
        }
        let read_at = inner.readings.get(&project).copied().unwrap_or(at);
        let orders = (0..field.size.orders).filter(|order| field.project(*order) == Some(project));
        let mut all: Vec<Line> = orders.flat_map(|order| lines(order, field.rows(order, read_at))).collect();
        // Each order's tasks lie on several pages.
        all.sort_unstable_by_key(|line| (line.row, line.order));
        let size = asked("page_size").unwrap_or(field.size.page).min(2_000);
        let rows: Vec<Line> = all.iter().skip((page - 1) * size).take(size).copied().collect();
        let last = page * size >= all.len();
        let told_last = last || self.leak == Leak::EndsEarly;
        let body = body(&rows, (!told_last).then_some(page + 1));
        (body, Some(Seen::Page { request: number, project, page, last, rows }))
    }
}

fn lines(order: usize, rows: &BTreeMap<u8, u32>) -> Vec<Line> {
    rows.iter().map(|(row, level)| Line { order: order as u16, row: *row, level: *level }).collect()
}

fn body(rows: &[Line], next: Option<usize>) -> String {
    let row = |line: &Line| {
        let Line { order, row, level } = line;
        format!("{{\"id\":\"w{order}-{row}\",\"order\":\"w{order}\",\"level\":{level}}}")
    };
    let next = next.map_or("null".to_owned(), |page| page.to_string());
    format!("{{\"rows\":[{}],\"next_page\":{next}}}", rows.iter().map(row).collect::<Vec<_>>().join(","))
}

fn answer(status: u16, body: &str) -> Answer {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Answer { status, headers, body: body.as_bytes().to_vec() }
}

/// The door of one process.
pub struct OfficeDoor {
    office: Office,
    clock: Arc<FakeClock>,
    /// The dead send and hear nothing.
    alive: Arc<AtomicBool>,
}

impl OfficeDoor {
    async fn go(&self, permit: Permit, request: Request) -> Reply {
        let office = &self.office;
        self.stand_still_if_dead().await;
        if self.clock.now().steady > permit.send_by() {
            return self.reply(Err(Failure::NotSent));
        }
        let (number, fate) = self.send(&permit, &request);
        if office.leak == Leak::SendsTwice {
            self.send(&permit, &request);
        }
        tokio::time::sleep_until(office.machine.instant(fate.ends_at)).await;
        self.stand_still_if_dead().await;
        self.hand_over(number, fate)
    }

    fn send(&self, permit: &Permit, request: &Request) -> (usize, Fate) {
        let (office, now) = (&self.office, self.office.machine.true_ms());
        let left = permit.deadline().since(self.clock.now().steady);
        let mut inner = office.inner();
        inner.requests += 1;
        let (number, charge) = (inner.requests, permit.charge());
        let fate = office.fate(&mut inner, request, number, now, now + left.0 as Ms);
        let sent = Sent {
            request: number,
            charge: charge.id.0,
            connection: key().connection.to_string(),
            target: charge.target.as_ref().map(ToString::to_string),
            caller: charge.caller,
            endpoint: endpoint_of(&request.location).to_string(),
            cost: charge.cost,
            tag: None,
            counted: Some((fate.counted_at, fate.ends_at)),
        };
        inner.record.push(Fact { at: now, what: What::Sent(sent) });
        (number, fate)
    }

    /// The record keeps what was meant.
    fn hand_over(&self, request: usize, fate: Fate) -> Reply {
        let office = &self.office;
        let Fate { mut result, meant, seen, .. } = fate;
        let refused = matches!(meant, Meant::Refused { .. });
        office.note(What::Delivered { request, meant });
        let page = match &seen {
            Some(Seen::Page { last, .. }) => Some(*last),
            _ => None,
        };
        if let Some(seen) = seen {
            office.note(What::Field(seen));
        }
        if let Some(last) = page {
            office.strike(last);
        }
        if refused && office.leak == Leak::HidesRefusals {
            result = Ok(answer(200, "<html>one moment</html>"));
        }
        self.reply(result)
    }

    async fn stand_still_if_dead(&self) {
        if !self.alive.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    fn reply(&self, result: Result<Answer, Failure>) -> Reply {
        let detail = result.as_ref().err().map(|f| format!("{f:?}")).unwrap_or_default();
        Reply { arrived_at: self.clock.now().stamp(), result, detail }
    }
}

impl Door for OfficeDoor {
    fn send(&self, permit: Permit, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(self.go(permit, request))
    }
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}
