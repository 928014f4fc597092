//! Somebody else who spends from the same limit, and a provider that says after each of our requests what is left.

use crate::dice::Dice;
use crate::machine::Ms;
use crate::scenario::Scenario;
use larder::domain::limit::Kind;

/// A limit of a window that is aligned to the provider's clock, and everybody who counts in it.
pub struct Shared {
    pub amount: u64,
    window: Ms,
    /// The provider's wall clock when the world began.
    began: Ms,
    counted: Vec<Ms>,
    /// Up to here the neighbour has lived.
    lived: Ms,
    pub foreign: u64,
}

/// What the provider says of one request of ours.
pub struct Told {
    pub over: bool,
    pub left: u64,
    pub reset_s: u64,
}

/// Length of the shared window, and where the provider's clock began.
pub fn window(scenario: &Scenario) -> (Ms, Ms) {
    let length = match scenario.connections[0].limits[0].kind {
        Kind::Fixed { window } => window.0 as Ms,
        _ => 0,
    };
    (length, scenario.began.0 + scenario.skew)
}

impl Shared {
    /// `None`: nobody else is in this world.
    pub fn of(scenario: &Scenario) -> Option<Shared> {
        let (window, began) = scenario.shared.then(|| window(scenario))?;
        let amount = scenario.connections[0].limits[0].amount;
        Some(Shared { amount, window, began, counted: Vec::new(), lived: 0, foreign: 0 })
    }

    pub fn count(&mut self, at: Ms, dice: &mut Dice) -> Told {
        while self.lived < at {
            if dice.chance(250) {
                self.counted.push(self.lived);
                self.foreign += 1;
            }
            self.lived += 15_000;
        }
        let start = at - (self.began + at).rem_euclid(self.window);
        self.counted.push(at);
        let level = self.counted.iter().filter(|t| (start..=at).contains(*t)).count() as u64;
        let reset_s = ((start + self.window - at) as u64).div_ceil(1000);
        Told { over: level > self.amount, left: self.amount.saturating_sub(level), reset_s }
    }
}
