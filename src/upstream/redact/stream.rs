//! Taking secrets out of what is passed on as it comes, also where one straddles two pieces. Knows nothing of where the bytes come from.

use super::Redactor;

/// Above this a stretch that is still taken for a secret is let go, masked: no credential is longer, in any spelling.
const MOST_HELD: usize = 128 * 1024;

/// The removal of secrets from a body that is never there as a whole. Each is hidden behind as many stars as it has bytes, so that a length
/// that was announced stays true.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    /// The end of what came: a secret may have begun in it.
    held: Vec<u8>,
}

impl StreamRedactor {
    /// Removes what `redactor` removes from bodies.
    pub fn new(redactor: Redactor) -> StreamRedactor {
        StreamRedactor { redactor, held: Vec::new() }
    }

    /// Takes the next bytes, and returns those that may go on.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        self.let_go(false)
    }

    /// No more comes: all that is left.
    pub fn end(&mut self) -> Vec<u8> {
        self.let_go(true)
    }

    fn let_go(&mut self, is_last: bool) -> Vec<u8> {
        let known = self.redactor.for_bodies();
        let Some((pattern, reach)) = known else { return std::mem::take(&mut self.held) };
        let all = self.held.len();
        // What begins before this has room to be seen whole.
        let border = if is_last { all } else { all.saturating_sub(reach) };
        let mut found = Vec::new();
        let mut keep_from = border;
        for secret in pattern.find_iter(&self.held).map(|m| m.range()).take_while(|secret| secret.start < border) {
            // A token of any length may go on in the next piece.
            if secret.end == all && !is_last && secret.len() < MOST_HELD {
                keep_from = secret.start;
                break;
            }
            keep_from = keep_from.max(secret.end);
            found.push(secret);
        }
        let kept = self.held.split_off(keep_from);
        let mut free = std::mem::replace(&mut self.held, kept);
        found.into_iter().for_each(|secret| free[secret].fill(b'*'));
        free
    }
}
