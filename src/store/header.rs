//! The first 320 bytes of a redb file (format 3): was it closed, and how a copy made while it was open is made readable.
//! Knows redb's header layout and nothing of its pages. Guarded by the magic and the format version; redb is pinned.
//!
//! A file that was not closed (a crash, or a plain copy of a live file) carries two commit slots, each with a root of
//! the data and a root of redb's own book-keeping. The book-keeping pages of a live file are reused at once, so a copy
//! almost never has them whole, and redb would refuse it. They only say which pages are free and are rebuilt from the
//! data tree, every page of which is verified by checksum: so they are cut off, the newest whole slot becomes the
//! first to be tried, and redb's own repair does the rest, falling back to the other slot. Doing it twice is harmless.

use xxhash_rust::xxh3::xxh3_128;

pub(super) const LENGTH: usize = 320;
/// redb pages; the file's length is a multiple.
pub(super) const PAGE: u64 = 4096;

const MAGIC: [u8; 9] = [b'r', b'e', b'd', b'b', 0x1A, 0x0A, 0xA9, 0x0D, 0x0A];
/// Bit 0: which slot is primary; bit 1: not closed.
const GOD_BYTE: usize = 9;
const UNCLEAN: u8 = 2;
const SLOTS: [usize; 2] = [64, 192];
const SLOT_LENGTH: usize = 128;
const FORMAT: u8 = 3;

/// What the header says, before anything is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// Not a redb file.
    Foreign,
    /// All zero where the magic belongs: redb writes that last when it creates a file.
    Unborn,
    Clean,
    Unclean,
    /// A whole slot names another format of redb.
    Format(u8),
}

pub(super) fn read(header: &[u8; LENGTH]) -> Header {
    if header[..MAGIC.len()] == [0; MAGIC.len()] {
        return Header::Unborn;
    }
    if header[..MAGIC.len()] != MAGIC {
        return Header::Foreign;
    }
    let other = SLOTS.iter().map(|at| slot(header, *at)).find(|s| is_whole(s) && s[0] != FORMAT);
    match other {
        Some(s) => Header::Format(s[0]),
        None if header[GOD_BYTE] & UNCLEAN != 0 => Header::Unclean,
        None => Header::Clean,
    }
}

fn slot(header: &[u8; LENGTH], at: usize) -> &[u8] {
    &header[at..at + SLOT_LENGTH]
}

fn is_whole(slot: &[u8]) -> bool {
    slot[112..128] == xxh3_128(&slot[..112]).to_le_bytes()
}

/// Makes the header of an unclean file one that redb's repair can begin with. `false`: no slot is whole, the file is
/// beyond this.
pub(super) fn prepare_unclean(header: &mut [u8; LENGTH]) -> bool {
    let mut best: Option<(u64, u8)> = None;
    for (index, at) in [0u8, 1].into_iter().zip(SLOTS) {
        let slot = &mut header[at..at + SLOT_LENGTH];
        if slot[0] != FORMAT || !is_whole(slot) {
            continue;
        }
        slot[2] = 0;
        slot[40..72].fill(0);
        let sum = xxh3_128(&slot[..112]);
        slot[112..128].copy_from_slice(&sum.to_le_bytes());
        let transaction = slot[104..112].iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        if best.is_none_or(|(newest, _)| transaction > newest) {
            best = Some((transaction, index));
        }
    }
    match best {
        Some((_, primary)) => {
            header[GOD_BYTE] = primary | UNCLEAN;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(slots: [(u8, u64); 2]) -> [u8; LENGTH] {
        let mut h = [0u8; LENGTH];
        h[..9].copy_from_slice(&MAGIC);
        h[GOD_BYTE] = UNCLEAN;
        for (at, (format, transaction)) in SLOTS.into_iter().zip(slots) {
            let slot = &mut h[at..at + SLOT_LENGTH];
            slot[0] = format;
            slot[1..3].fill(1);
            slot[40..72].fill(9);
            slot[104..112].copy_from_slice(&transaction.to_le_bytes());
            let sum = xxh3_128(&slot[..112]);
            slot[112..128].copy_from_slice(&sum.to_le_bytes());
        }
        h
    }

    #[test]
    fn the_newest_whole_slot_comes_first_and_its_free_lists_go() {
        let mut h = header([(3, 7), (3, 6)]);
        assert!(prepare_unclean(&mut h));
        assert_eq!(h[GOD_BYTE], UNCLEAN);
        assert!(SLOTS.iter().all(|at| is_whole(slot(&h, *at)) && slot(&h, *at)[2] == 0));
        let once = h;
        assert!(prepare_unclean(&mut h));
        assert_eq!(h, once, "doing it twice changes nothing");
    }

    #[test]
    fn a_torn_slot_is_left_alone() {
        let mut h = header([(3, 7), (3, 9)]);
        h[192 + 50] ^= 1;
        let torn = h[192..320].to_vec();
        assert!(prepare_unclean(&mut h));
        assert_eq!(h[GOD_BYTE], UNCLEAN, "slot 0 although slot 1 was newer");
        assert_eq!(h[192..320], torn);
        h[64 + 50] ^= 1;
        assert!(!prepare_unclean(&mut h));
    }

    #[test]
    fn what_the_header_says() {
        let mut h = header([(3, 1), (3, 2)]);
        assert_eq!(read(&h), Header::Unclean);
        h[GOD_BYTE] = 1;
        assert_eq!(read(&h), Header::Clean);
        assert_eq!(read(&header([(3, 1), (4, 2)])), Header::Format(4));
        assert_eq!(read(&[0; LENGTH]), Header::Unborn);
        assert_eq!(read(&[b'x'; LENGTH]), Header::Foreign);
    }
}
