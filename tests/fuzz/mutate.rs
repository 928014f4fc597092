//! Small damage, the same in every run: bytes flipped, cut, doubled, spliced from another input, numbers made odd.

/// What stands where a parser does not look for it.
const ODD: [&str; 16] = [
    "-1",
    "0",
    "18446744073709551616",
    "1e309",
    "NaN",
    "-0.0",
    "\u{feff}",
    "\u{0}",
    "ä",
    "\u{2028}",
    "%",
    "\"",
    "[[[[[[[[",
    "9999-99-99T99:99:99Z",
    ";w=",
    ",,",
];

/// A sequence that depends on the input alone.
pub struct Mutator {
    input: Vec<u8>,
    state: u64,
}

impl Mutator {
    pub fn new(input: &[u8]) -> Mutator {
        let seed =
            input.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3));
        Mutator { input: input.to_vec(), state: seed | 1 }
    }

    /// xorshift64*: no statistics hang on it.
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n.max(1)
    }

    pub fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.input.clone();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len() + 1);
            match self.below(7) {
                0 => bytes.truncate(at),
                1 => flip(&mut bytes, at, 1 << self.below(8)),
                2 => drop(bytes.drain(at..(at + self.below(8)).min(bytes.len()))),
                3 => insert(&mut bytes, at, ODD[self.below(ODD.len())].as_bytes()),
                4 => {
                    let piece = bytes[at..(at + self.below(40)).min(bytes.len())].to_vec();
                    insert(&mut bytes, at, &piece);
                }
                5 => {
                    let other = &corpus[self.below(corpus.len())];
                    let from = self.below(other.len() + 1);
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
                _ => insert(&mut bytes, at, &[self.below(256) as u8]),
            }
        }
        bytes
    }
}

fn flip(bytes: &mut [u8], at: usize, mask: u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= mask;
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
