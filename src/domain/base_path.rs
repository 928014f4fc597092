//! The path under which readers have the site, where it is not the root of its host. Text in, value out; knows no request.

/// Empty, or `/larder`: plain segments, no slash at its end. It ends up in links, cookies and redirects, so nothing in it needs care there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// The longest, in bytes.
    pub const LONGEST: usize = 256;

    /// `/`, `/larder`, `/api/hassio_ingress/Zm9v/`: segments of RFC 3986 unreserved characters. `None` for anything else.
    pub fn read(text: &str) -> Option<BasePath> {
        let path = text.strip_suffix('/').unwrap_or(text);
        if path.is_empty() {
            return (text == "/").then(BasePath::default);
        }
        let fits = |segment: &str| {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
            !segment.is_empty() && !segment.bytes().all(|b| b == b'.') && segment.bytes().all(plain)
        };
        let is_path =
            path.len() <= Self::LONGEST && path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(fits));
        is_path.then(|| BasePath(path.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// What of this path is below it, with its first slash.
    pub fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.0).filter(|rest| rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_plain_path() {
        for (text, base) in [
            ("/", Some("")),
            ("/larder", Some("/larder")),
            ("/larder/", Some("/larder")),
            ("/api/hassio_ingress/Zm9v-_", Some("/api/hassio_ingress/Zm9v-_")),
            ("", None),
            ("larder", None),
            ("//evil.example", None),
            ("/a//b", None),
            ("/a/../b", None),
            ("/a/.", None),
            ("/a b", None),
            ("/a\"><script>", None),
            ("/a;b", None),
            ("/%2e%2e", None),
        ] {
            assert_eq!(BasePath::read(text).as_ref().map(BasePath::as_str), base, "{text:?}");
        }
        assert_eq!(BasePath::read(&format!("/{}", "a".repeat(300))), None);
    }
}
