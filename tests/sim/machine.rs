//! The machine that the appliance runs on: true time is tokio's paused clock; the boot clock and the wall clock are what the machine
//! makes of it. The arithmetic in between is the product's own (`larder::clock::Timeline`).

use larder::clock::{Clock, ClockMark, Timeline};
use larder::domain::time::{Now, Span, Stamp, Steady, Wall};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// True milliseconds since the world began.
pub type Ms = i64;

#[derive(Debug)]
struct State {
    boot: u32,
    /// When the boot clock was zero.
    booted_at: Ms,
    /// Wall clock minus true wall time.
    wall_error: Ms,
}

/// Survives processes; a power cut gives it a new boot.
#[derive(Clone, Debug)]
pub struct Machine {
    epoch: Instant,
    /// True wall time at the beginning of the world.
    began: Wall,
    state: Arc<Mutex<State>>,
}

impl Machine {
    pub fn new(began: Wall) -> Machine {
        let state = State { boot: 0, booted_at: -60_000, wall_error: 0 };
        Machine { epoch: Instant::now(), began, state: Arc::new(Mutex::new(state)) }
    }

    pub fn true_ms(&self) -> Ms {
        self.epoch.elapsed().as_millis() as Ms
    }

    pub fn instant(&self, at: Ms) -> Instant {
        self.epoch + std::time::Duration::from_millis(at.max(0) as u64)
    }

    pub fn wall_error(&self) -> Ms {
        self.state().wall_error
    }

    /// Somebody, or a time service, sets the wall clock.
    pub fn set_wall_error(&self, error: Ms) {
        self.state().wall_error = error;
    }

    /// The machine has been up for `uptime` after a darkness, and its wall clock stands wrong by `wall_error`.
    pub fn reboot(&self, uptime: Ms, wall_error: Ms) {
        let now = self.true_ms();
        let mut state = self.state();
        state.boot += 1;
        state.booted_at = now - uptime;
        state.wall_error = wall_error;
    }

    fn readings(&self) -> (String, u64, Wall) {
        let now = self.true_ms();
        let state = self.state();
        let wall = Wall(self.began.0 + now + state.wall_error);
        (format!("boot-{}", state.boot), (now - state.booted_at) as u64, wall)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clock of one process.
pub struct FakeClock {
    machine: Machine,
    timeline: Mutex<Timeline>,
    /// Planted: how fast it runs, in permille. A good one runs at 1000.
    rate: u64,
    started: u64,
}

impl FakeClock {
    pub fn start(machine: &Machine, mark: Option<ClockMark>, high_water: Option<Stamp>, rate: u64) -> FakeClock {
        let (boot, boottime, wall) = machine.readings();
        let timeline = Timeline::resume(mark, high_water, &boot, boottime, wall);
        FakeClock { machine: machine.clone(), timeline: Mutex::new(timeline), rate, started: boottime }
    }

    fn read(&self) -> (u64, Wall) {
        let (_, boottime, wall) = self.machine.readings();
        let ran = (boottime - self.started) as Ms;
        let gone = ran * self.rate as Ms / 1000;
        (self.started + gone as u64, Wall(wall.0 + gone - ran))
    }

    fn timeline(&self) -> MutexGuard<'_, Timeline> {
        self.timeline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Now {
        let (boottime, wall) = self.read();
        self.timeline().read(boottime, wall)
    }

    fn mark(&self) -> ClockMark {
        let (boottime, wall) = self.read();
        self.timeline().mark(boottime, wall)
    }

    fn sleep_until(&self, at: Steady) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            loop {
                let left = at.since(self.now().steady);
                if left == Span::ZERO {
                    return;
                }
                tokio::time::sleep(left.min(Span::from_secs(3600)).to_std()).await;
            }
        })
    }
}
