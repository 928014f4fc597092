//! The value of a header as text, and back, octet by octet. What is in UTF-8 is itself; any other octet (obs-text, RFC 9110 section 5.5) is a
//! character of its own, of a plane that nobody writes in. Knows no header.

use std::borrow::Cow;

/// The character of octet 0; those of the others follow.
const FIRST: u32 = 0x10_FF00;

/// As text.
pub fn text(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for chunk in octets.utf8_chunks() {
        for c in chunk.valid().chars() {
            match octet(c) {
                // Whoever writes in that plane all the same is taken octet by octet too.
                Some(_) => text.extend(c.encode_utf8(&mut [0; 4]).bytes().filter_map(character)),
                None => text.push(c),
            }
        }
        text.extend(chunk.invalid().iter().copied().filter_map(character));
    }
    text
}

/// What [`text`] was made of.
pub fn octets(text: &str) -> Cow<'_, [u8]> {
    if !text.chars().any(|c| octet(c).is_some()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut octets = Vec::with_capacity(text.len());
    for c in text.chars() {
        match octet(c) {
            Some(octet) => octets.push(octet),
            None => octets.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(octets)
}

fn character(octet: u8) -> Option<char> {
    char::from_u32(FIRST + u32::from(octet))
}

fn octet(c: char) -> Option<u8> {
    u32::from(c).checked_sub(FIRST).and_then(|octet| u8::try_from(octet).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_in_utf_8_is_itself_and_an_octet_that_is_not_comes_back() {
        assert_eq!(text("\"abcdef\u{fc}\"".as_bytes()), "\"abcdef\u{fc}\"");
        let latin = text(b"\"abcdef\xfc\"");
        assert_eq!((latin.chars().count(), octets(&latin).as_ref()), (9, &b"\"abcdef\xfc\""[..]));
        assert_ne!(latin, "\"abcdef\u{fc}\"", "they are two");
    }

    proptest! {
        #[test]
        fn all_octets_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..40), c in any::<char>()) {
            let bytes = [&bytes[..], c.encode_utf8(&mut [0; 4]).as_bytes()].concat();
            let text = text(&bytes);
            prop_assert_eq!(octets(&text).into_owned(), bytes);
        }
    }
}
