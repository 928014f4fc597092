//! Organizations that spend with one credential: whatever their weights and floors, whatever each asks. Time goes in steps; who waits asks
//! first in each, as in the line before the budget.

use crate::book::CREDENTIAL;
use crate::liveness::{answered, limit, request};
use larder::domain::charge::{Resolution, Settlement};
use larder::domain::ids::{Caller, ChargeId, Organization};
use larder::domain::limit::Kind;
use larder::domain::part::{Part, PartsByOrganization};
use larder::domain::time::{ClockTrust, Now, Span, Steady};
use larder::rules::budget::parts::{Entitled, Parts};
use larder::rules::budget::{Ledger, PartUsage, Refusal, Request};
use proptest::prelude::*;

const WINDOW: u64 = 60_000;
const STEP: u64 = 3_000;

fn at(steady: u64) -> Now {
    // The provider's windows are aligned to a clock that began long before.
    Now { steady: Steady(steady), era: 0, trust: ClockTrust::Trusted, offsets: vec![1_811_808_000_000] }
}

fn kinds() -> impl Strategy<Value = Kind> {
    let window = Span(WINDOW);
    prop_oneof![Just(Kind::Rolling { window }), Just(Kind::Fixed { window }), Just(Kind::Anchored { window })]
}

struct World {
    ledger: Ledger,
    names: Vec<Organization>,
    entitled: Vec<Entitled>,
    amount: u64,
    id: u64,
}

impl World {
    fn new(kind: Kind, amount: u64, parts: &[(u32, u8)]) -> World {
        let names: Vec<Organization> = (0..parts.len()).map(|n| Organization(format!("o{n}"))).collect();
        let part = |(weight, floor): &(u32, u8)| Part { weight: *weight, floor: *floor };
        let configured: PartsByOrganization = names.iter().cloned().zip(parts.iter().map(part)).collect();
        let parts = Parts::of(&names, &configured).unwrap();
        let mut ledger = Ledger::new(CREDENTIAL, vec![limit(amount, kind)]);
        ledger.divide(Some(parts.clone()));
        World { ledger, names, entitled: parts.entitled(amount), amount, id: 0 }
    }

    fn request(&self, who: usize) -> Request {
        let mut request = request(Caller::Poller, 1);
        request.connection.organization = self.names[who].clone();
        request.ask.organization = Some(self.names[who].clone());
        request
    }

    /// Answered at once.
    fn ask(&mut self, who: usize, now: u64) -> Result<(), Refusal> {
        self.id += 1;
        let id = ChargeId(self.id);
        let reserved = self.ledger.admit(&at(now), id, &self.request(who))?;
        drop(reserved);
        self.ledger.resolve(id, &answered(at(now).stamp()));
        Ok(())
    }

    fn standing(&self, who: usize, now: u64) -> PartUsage {
        self.ledger.usage(&at(now), &[])[0].parts[who].clone()
    }

    fn used(&self, now: u64) -> u64 {
        self.ledger.usage(&at(now), &[])[0].used
    }
}

/// How much each asks in each step.
fn demands(organizations: usize) -> impl Strategy<Value = Vec<Vec<u64>>> {
    let one = prop_oneof![3 => Just(0u64), 2 => 1u64..3, 1 => 3u64..30];
    prop::collection::vec(prop::collection::vec(one, organizations), 20..80)
}

fn parts(organizations: usize) -> impl Strategy<Value = Vec<(u32, u8)>> {
    let floor = u8::try_from(100 / organizations).unwrap();
    prop::collection::vec((1u32..6, prop_oneof![Just(0u8), 0..=floor]), organizations)
}

/// Kind and amount of the limit, weight and floor of each organization, and what each asks in each step.
type Drawn = (Kind, u64, Vec<(u32, u8)>, Vec<Vec<u64>>);

fn worlds() -> impl Strategy<Value = Drawn> {
    (2usize..5).prop_flat_map(|n| (kinds(), 1u64..24, parts(n), demands(n)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Never over; a floor is always there; who is below its share waits for no more than a window; and where nobody else asked for two
    /// windows, nothing but floors lies idle while somebody is refused.
    #[test]
    fn t_law_organizations_divide_a_limit((kind, amount, parts, trace) in worlds()) {
        let mut world = World::new(kind, amount, &parts);
        let (mut waits, mut asked): (Vec<Option<u64>>, Vec<Option<u64>>) = (vec![None; parts.len()], vec![None; parts.len()]);
        for (n, wanted) in trace.iter().enumerate() {
            let now = n as u64 * STEP;
            // Below its share and refused first: since when. They ask before all others.
            let mut order: Vec<usize> = (0..parts.len()).collect();
            order.sort_by_key(|who| (waits[*who].is_none(), waits[*who]));
            for who in order {
                let wanted = wanted[who].max(u64::from(waits[who].is_some()));
                let mut refused = None;
                asked[who] = if wanted > 0 { Some(now) } else { asked[who] };
                for _ in 0..wanted {
                    if let Err(refusal) = world.ask(who, now) {
                        refused = Some(refusal);
                        break;
                    }
                    waits[who] = None;
                }
                prop_assert!(world.used(now) <= world.amount);
                let Some(refusal) = refused else { continue };
                let own = world.standing(who, now);
                prop_assert!(own.used >= own.floor, "refused with {} of a floor of {}", own.used, own.floor);
                let floors: u64 = (0..parts.len()).filter(|o| *o != who).map(|o| world.entitled[o].floor).sum();
                let silent = (0..parts.len()).all(|o| o == who || asked[o].is_none_or(|at| now - at > 2 * WINDOW));
                let idle = world.amount - world.used(now);
                prop_assert!(!silent || idle <= floors, "{idle} lie idle, and nobody else asks");
                exact(&world, who, now, &refusal)?;
                if own.used >= world.entitled[who].share {
                    waits[who] = None;
                    continue;
                }
                let since = *waits[who].get_or_insert(now);
                prop_assert!(now - since <= WINDOW + 2 * STEP, "{} of {} and waits since {since}", own.used, own.share);
            }
            if n % 7 == 0 {
                world.ledger.sweep(&at(now));
            }
        }
    }

    /// Who asks again and again as often as its share lets it is never refused, from its third window on, whatever the others ask.
    #[test]
    fn t_law_a_flood_takes_nobody_its_times(
        kind in kinds(), amount in 4u64..24, parts in (2usize..5).prop_flat_map(parts), flood in prop::collection::vec(1u64..40, 160), stretch in 0u64..9,
    ) {
        let mut world = World::new(kind, amount, &parts);
        let share = world.entitled[0].share;
        // At most its share in any window, and at least one: at moments of its own, which no step is.
        let every = WINDOW / share.max(1) + 7 + stretch * WINDOW / 10 / share.max(1);
        let (mut due, mut waits, mut asked) = (11, false, 0);
        for (n, wanted) in flood.iter().enumerate() {
            let now = n as u64 * STEP;
            while due <= now {
                // Who was refused is first in line when something comes free.
                let moment = if waits { now } else { due };
                let answer = world.ask(0, moment);
                prop_assert!(due < 3 * WINDOW || answer.is_ok(), "refused at {due}: {answer:?}, every {every} of {share}");
                waits = answer.is_err();
                if waits {
                    break;
                }
                (due, asked) = (moment + every, asked + 1);
            }
            // All the others at once.
            for _ in 0..*wanted {
                let taken = (1..parts.len()).filter(|other| world.ask(*other, now).is_ok()).count();
                if taken == 0 {
                    break;
                }
            }
        }
        prop_assert!(asked >= 3);
    }
}

/// Not a moment earlier would it have been admitted, and then it is.
fn exact(world: &World, who: usize, now: u64, refusal: &Refusal) -> Result<(), TestCaseError> {
    let ask = world.request(who).ask;
    match refusal {
        Refusal::NotUntil { at: moment, .. } => {
            prop_assert!(moment.0 > now);
            prop_assert!(
                world.ledger.would_admit(&at(moment.0), &ask).is_ok(),
                "refused at {moment:?}, which was told"
            );
            prop_assert!(
                world.ledger.would_admit(&at(moment.0 - 1), &ask).is_err(),
                "would have been let through before"
            );
        }
        Refusal::NeverFits { .. } => {
            let floors: u64 = world.entitled.iter().enumerate().filter(|(o, _)| *o != who).map(|(_, e)| e.floor).sum();
            prop_assert_eq!(floors, world.amount, "nothing but floors leaves nothing");
        }
        other => prop_assert!(false, "{other:?}"),
    }
    Ok(())
}

#[test]
fn t_what_was_lent_comes_back_and_what_nobody_uses_is_lent_again() {
    let mut world = World::new(Kind::Rolling { window: Span(WINDOW) }, 6, &[(1, 0), (1, 0)]);
    let flood = |world: &mut World, now: u64| (0..10).filter(|_| world.ask(1, now).is_ok()).count();
    assert_eq!(flood(&mut world, 0), 6, "nobody else asks: all of it");
    let Err(Refusal::NotUntil { at: back, .. }) = world.ask(0, 1_000) else { panic!("it is lent") };
    assert_eq!(back, Steady(WINDOW));
    assert!((0..3).all(|_| world.ask(0, WINDOW).is_ok()));
    assert_eq!(flood(&mut world, WINDOW), 3);
    assert_eq!(flood(&mut world, 2 * WINDOW), 3, "it was in use within a window: held");
    assert_eq!(flood(&mut world, 3 * WINDOW), 6, "and now for a window nobody used it");
}

#[test]
fn t_a_restart_remembers_what_is_held() {
    let mut world = World::new(Kind::Rolling { window: Span(WINDOW) }, 6, &[(1, 0), (1, 0)]);
    let mut charges = Vec::new();
    for id in 1..=3u64 {
        let reserved = world.ledger.admit(&at(0), ChargeId(id), &world.request(0)).unwrap();
        let resolution = Resolution { settlement: Settlement::Posted, ..answered(at(0).stamp()) };
        charges.push(reserved.charge().clone().resolved(resolution));
    }
    let mut anew = World::new(Kind::Rolling { window: Span(WINDOW) }, 6, &[(1, 0), (1, 0)]);
    charges.iter().for_each(|charge| anew.ledger.restore(charge));
    anew.id = 100;
    assert_eq!((0..10).filter(|_| anew.ask(1, WINDOW).is_ok()).count(), 3);
    assert_eq!(anew.standing(0, WINDOW).held, 3);
}
