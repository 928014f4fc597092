//! A key of the configuration as it is shown: its value, and who said it. Knows no key.

/// What is in force, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As in the file: `server.listen`.
    pub key: String,
    pub value: String,
    pub source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody: it is what Larder takes without being told.
    Usual,
    /// A file and the line in it.
    File { name: String, line: usize },
    /// A variable of the environment.
    Variable(String),
}
