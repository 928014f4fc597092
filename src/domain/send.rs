//! How a request goes out, beside where to: method, body, headers. As configured; templates are filled by `rules`.

/// What one target or command sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendSpec {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The text of the body, a template (see `rules::template`).
    pub body: Option<String>,
    /// Media type of the body; only sent with one.
    pub content_type: String,
    /// Name (lower case) and value, a template. None of them is a credential's, the door's or a hop's.
    pub headers: Vec<(String, String)>,
    /// RFC 9535: where an answer says what the request really cost, in units of the limits.
    pub cost_from: Option<String>,
}

pub const JSON: &str = "application/json";
pub const FORM: &str = "application/x-www-form-urlencoded";

impl Default for SendSpec {
    fn default() -> Self {
        SendSpec { method: "GET", body: None, content_type: JSON.to_owned(), headers: Vec::new(), cost_from: None }
    }
}

impl SendSpec {
    /// All templates but the path.
    pub fn templates(&self) -> impl Iterator<Item = &str> {
        self.body.iter().map(String::as_str).chain(self.headers.iter().map(|(_, value)| value.as_str()))
    }
    /// Whether the answer can be asked for conditionally: validators belong to GET (RFC 9110 section 13.1).
    pub fn is_get(&self) -> bool {
        self.method == "GET"
    }
}
