//! What is stored of a credential that renews itself: its sealed tokens, and in the clear beside them the digests by which a configured
//! token is known again where the key is not. Knows bytes; knows neither the cipher nor what the digests are of.

/// First byte of what is kept so. Earlier versions kept the sealed tokens alone, and those begin with another one.
const FORM: u8 = 2;
const FROM: u8 = 1;
const REPLACED: u8 = 2;
const REJECTED: u8 = 4;

pub type Digest = [u8; 16];

/// Where the sealed tokens come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Of the configured refresh token.
    pub seed: Digest,
    /// A renewal has brought another one since, so that the configured one is used up.
    pub replaced: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// `None` where there are no tokens, and in what earlier versions kept.
    pub origin: Option<Origin>,
    /// Of the configured credential that the token endpoint did not accept, while none was accepted since.
    pub rejected: Option<Digest>,
    /// Empty before the first grant.
    pub sealed: Vec<u8>,
}

impl Kept {
    /// What is of no known form counts as sealed: it cannot be opened, and that is said.
    pub fn of(bytes: &[u8]) -> Kept {
        Kept::read(bytes).unwrap_or_else(|| Kept { sealed: bytes.to_vec(), ..Kept::default() })
    }

    fn read(bytes: &[u8]) -> Option<Kept> {
        let (&[form, flags], rest) = bytes.split_first_chunk::<2>()?;
        let (&seed, rest) = rest.split_first_chunk()?;
        let (&rejected, sealed) = rest.split_first_chunk()?;
        let origin = Origin { seed, replaced: flags & REPLACED != 0 };
        (form == FORM).then(|| Kept {
            origin: (flags & FROM != 0).then_some(origin),
            rejected: (flags & REJECTED != 0).then_some(rejected),
            sealed: sealed.to_vec(),
        })
    }

    pub fn bytes(&self) -> Vec<u8> {
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let flags = flag(self.origin.is_some(), FROM)
            | flag(self.origin.is_some_and(|origin| origin.replaced), REPLACED)
            | flag(self.rejected.is_some(), REJECTED);
        let seed = self.origin.map_or(Digest::default(), |origin| origin.seed);
        let rejected = self.rejected.unwrap_or_default();
        [&[FORM, flags], seed.as_slice(), rejected.as_slice(), self.sealed.as_slice()].concat()
    }
}
