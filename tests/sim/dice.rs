//! Chance that replays: xoshiro256++ (Blackman and Vigna, public domain), seeded by splitmix64. Its numbers must never change:
//! a seed is a story.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Dice {
    state: [u64; 4],
}

impl Dice {
    pub fn new(seed: u64) -> Dice {
        let mut x = seed;
        let mut next = || {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Dice { state: [next(), next(), next(), next()] }
    }

    /// A stream of its own, so that what one part draws does not move another.
    pub fn fork(&mut self) -> Dice {
        Dice::new(self.draw())
    }

    pub fn draw(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Below `n`, which is not zero.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n
    }
    /// From `low` to `high`, both possible.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
    /// True `permille` times in a thousand.
    pub fn chance(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_story_for_ever() {
        let mut dice = Dice::new(1);
        let first: Vec<u64> = (0..3).map(|_| dice.draw()).collect();
        assert_eq!(first, FIRST);
    }

    const FIRST: [u64; 3] = [14_971_601_782_005_023_387, 13_781_649_495_232_077_965, 1_847_458_086_238_483_744];
}
