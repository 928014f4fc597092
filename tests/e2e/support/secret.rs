//! Secrets that can be recognised wherever they leak.

use std::sync::atomic::{AtomicU32, Ordering};

/// A new text that occurs nowhere else. It has characters that a query must encode, so that both spellings are looked for.
pub fn new_secret() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("hush/{:x}+{:04x} zq7", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How a secret may be spelt: as it is, percent-encoded in either habit, escaped in JSON or HTML, without its encoded tail.
pub fn spellings(secret: &str) -> Vec<String> {
    let encoded = |space: &str| -> String {
        secret
            .bytes()
            .map(|b| match b {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => (b as char).to_string(),
                b' ' => space.to_owned(),
                _ => format!("%{b:02X}"),
            })
            .collect()
    };
    let mut all = vec![secret.to_owned(), encoded("%20"), encoded("+")];
    all.push(encoded("%20").to_lowercase());
    all.push(secret.replace(' ', "%20"));
    all.push(secret.replace('/', "\\/"));
    all.push(secret.replace('+', "&#43;").replace('/', "&#x2f;"));
    all.dedup();
    all
}

/// The first spelling of the secret that is in `bytes`, with a few characters of what stands around it.
pub fn find(bytes: &[u8], secret: &str) -> Option<String> {
    // The spellings are ASCII, so what is not text may turn into anything; and `str::find` is fast in unoptimised tests.
    let text = String::from_utf8_lossy(bytes);
    spellings(secret).iter().filter(|s| !s.is_empty()).find_map(|spelling| {
        let at = text.find(spelling.as_str())?;
        let before: String = text[..at].chars().rev().take(60).collect();
        Some(format!("...{}{spelling}", before.chars().rev().collect::<String>()))
    })
}
