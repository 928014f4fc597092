//! How an answer is read: its bytes, and the time that it gives its reading. As configured.

/// How the bytes of an answer are read, where they do not speak for themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadingSpec {
    /// A label of the WHATWG Encoding Standard; wins over `Content-Type`.
    pub charset: Option<String>,
    pub salvage: Salvage,
    pub format: Format,
}

/// What answers are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Json,
    /// What begins with `<` is read as XML (see `rules::xml`), everything else as JSON.
    Xml,
}

/// What is made of an answer that is nearly JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Salvage {
    #[default]
    Nothing,
    /// `NaN` and `Infinity` are read as `null`: unknown.
    Nan,
}

/// The time that the provider gives its reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedSpec {
    pub place: ObservedPlace,
    pub kind: ObservedKind,
    /// Of a time without an offset; an IANA name. `None`: the connection's.
    pub time_zone: Option<String>,
}

/// Where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedPlace {
    /// RFC 9535, from the item.
    Item(String),
    /// RFC 9535, from the answer: one time for all items in it.
    Answer(String),
    /// Header name, lower case: one time for all items in the answer.
    Header(String),
}

/// How it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObservedKind {
    /// RFC 3339 text, or a date in another spelling; without an offset it is read in a time zone.
    #[default]
    Time,
    /// RFC 9110 section 5.6.7, in its three forms.
    HttpDate,
    EpochS,
    EpochMs,
    EpochUs,
    EpochNs,
    /// How old it was when it was sent.
    SecondsAgo,
}

impl ObservedKind {
    pub const ALL: [ObservedKind; 7] = [
        ObservedKind::Time,
        ObservedKind::HttpDate,
        ObservedKind::EpochS,
        ObservedKind::EpochMs,
        ObservedKind::EpochUs,
        ObservedKind::EpochNs,
        ObservedKind::SecondsAgo,
    ];

    /// The word in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            ObservedKind::Time => "time",
            ObservedKind::HttpDate => "http-date",
            ObservedKind::EpochS => "epoch-s",
            ObservedKind::EpochMs => "epoch-ms",
            ObservedKind::EpochUs => "epoch-us",
            ObservedKind::EpochNs => "epoch-ns",
            ObservedKind::SecondsAgo => "seconds-ago",
        }
    }
}
