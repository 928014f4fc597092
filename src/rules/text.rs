//! Bytes of an answer as UTF-8: by its byte order mark, by what the recipe declares, by `Content-Type`, by an XML declaration, else as they are. Knows character
//! sets; must not know what the text means.

use encoding_rs::{Encoding, UTF_8};

/// Whether a character set of this name is known (`iso-8859-1`, `utf-16le`; labels of the WHATWG Encoding Standard).
pub fn knows_charset(label: &str) -> bool {
    Encoding::for_label(label.as_bytes()).is_some()
}

/// The text in UTF-8, without byte order mark. `declared` (the recipe's word) wins over `content_type`, a mark over both. Bytes that
/// nobody declared come back as they are, for classification to judge. The error is a sentence.
pub fn utf8(bytes: Vec<u8>, content_type: Option<&str>, declared: Option<&str>) -> Result<Vec<u8>, String> {
    let named = declared.or_else(|| content_type.and_then(charset_of)).or_else(|| declared_by_xml(&bytes));
    let marked = Encoding::for_bom(&bytes);
    let encoding = marked.map(|(encoding, _)| encoding).or_else(|| Encoding::for_label(named?.as_bytes()));
    let mark = marked.map_or(0, |(_, length)| length);
    let encoding = encoding.unwrap_or(UTF_8);
    if encoding == UTF_8 {
        return Ok(if mark > 0 { bytes[mark..].to_vec() } else { bytes });
    }
    match encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark..]) {
        Some(text) => Ok(text.into_owned().into_bytes()),
        None => Err(format!("The answer is not the {} that it is declared to be.", encoding.name())),
    }
}

/// `charset` of a `Content-Type`, in quotes or not.
fn charset_of(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|part| part.split_once('='));
    let charset = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    charset.map(|(_, value)| value.trim().trim_matches('"'))
}

/// `<?xml version="1.0" encoding="iso-8859-1"?>`, in a document that can be read so far as ASCII.
fn declared_by_xml(bytes: &[u8]) -> Option<&str> {
    let end = bytes.strip_prefix(b"<?xml")?.iter().take(200).position(|b| *b == b'>')?;
    let declaration = std::str::from_utf8(bytes.get(5..5 + end)?).ok()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8], content_type: &str, declared: Option<&str>) -> Result<String, String> {
        utf8(bytes.to_vec(), Some(content_type), declared).map(|b| String::from_utf8(b).expect("UTF-8"))
    }

    #[test]
    fn a_text_is_read_as_it_is_declared() {
        let le: Vec<u8> = "\"Düse\"".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = "\"Düse\"".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = |mark: &[u8], text: &[u8]| [mark, text].concat();
        let latin = b"\"D\xfcse\"".to_vec();
        for (bytes, content_type, declared) in [
            ("\"Düse\"".as_bytes().to_vec(), "application/json", None),
            (marked(b"\xef\xbb\xbf", "\"Düse\"".as_bytes()), "application/json", None),
            (marked(b"\xef\xbb\xbf", "\"Düse\"".as_bytes()), "application/json; charset=iso-8859-1", None),
            (latin.clone(), "application/json; charset=ISO-8859-1", None),
            (latin.clone(), "text/plain;Charset = \"windows-1252\"", None),
            (latin.clone(), "application/json", Some("latin1")),
            (latin, "application/json; charset=utf-8", Some("windows-1252")),
            (le.clone(), "application/json; charset=utf-16le", None),
            (be.clone(), "application/json", Some("utf-16be")),
            (marked(b"\xff\xfe", &le), "application/json", None),
            (marked(b"\xfe\xff", &be), "application/json; charset=utf-16", None),
        ] {
            assert_eq!(read(&bytes, content_type, declared).as_deref(), Ok("\"Düse\""), "{content_type} {declared:?}");
        }
    }

    #[test]
    fn what_is_not_what_it_says_is_told_and_what_says_nothing_is_left_alone() {
        let said = read(b"\"\0a", "application/json; charset=utf-16le", None).unwrap_err();
        assert_eq!(said, "The answer is not the UTF-16LE that it is declared to be.");
        assert!(read(&[0x22, 0, 0x00, 0xd8, 0x22, 0], "", Some("utf-16le")).is_err(), "half a surrogate pair");
        assert_eq!(utf8(vec![0xff, 0x22], None, None), Ok(vec![0xff, 0x22]));
        assert_eq!(
            utf8(vec![0xfc], Some("text/x; charset=klingon"), None),
            Ok(vec![0xfc]),
            "an unknown name is no word"
        );
        assert!(knows_charset("latin1") && knows_charset("UTF-16LE") && !knows_charset("klingon"));
    }

    #[test]
    fn xml_may_declare_its_own_characters() {
        for (declaration, content_type) in [
            ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>", "text/xml"),
            ("<?xml version='1.0' encoding = 'latin1' ?>", "application/xml"),
            ("<?xml version='1.0' encoding='utf-8'?>", "text/xml; charset=iso-8859-1"),
        ] {
            let bytes = [declaration.as_bytes(), b"<a>D\xfcse</a>"].concat();
            assert_eq!(read(&bytes, content_type, None), Ok(format!("{declaration}<a>Düse</a>")));
        }
        assert_eq!(read("<?xml?><a>ü</a>".as_bytes(), "text/xml", None).as_deref(), Ok("<?xml?><a>ü</a>"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), declared in "utf-16le|utf-16be|latin1|gbk|iso-2022-jp|x") {
            let _ = utf8(bytes.clone(), Some("a/b; charset=utf-8"), Some(&declared));
            let _ = utf8(bytes, Some(&format!("a/b; charset={declared}")), None);
        }
    }
}
