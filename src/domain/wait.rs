//! A provider's own way of saying how long to wait, as a recipe describes it. What it says is read by `rules::classify`.

/// How a recipe's own wait is written (`VENDORS` section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitForm {
    Seconds,
    Milliseconds,
    Minutes,
    Hours,
    EpochS,
    EpochMs,
    EpochUs,
    EpochNs,
    /// An instant as text: RFC 3339 with or without seconds, an RFC 1123 date, the text of a JavaScript `Date`; a naive one is
    /// read in `time_zone`.
    Time,
    /// RFC 9110 section 5.6.7, in its three forms.
    HttpDate,
    /// `6m0s`, `1h30m`, `PT15M`, `00:46:40`.
    Duration,
    /// By magnitude, else as a date or a duration.
    Auto,
}

impl WaitForm {
    pub const ALL: [WaitForm; 12] = [
        WaitForm::Seconds,
        WaitForm::Milliseconds,
        WaitForm::Minutes,
        WaitForm::Hours,
        WaitForm::EpochS,
        WaitForm::EpochMs,
        WaitForm::EpochUs,
        WaitForm::EpochNs,
        WaitForm::Time,
        WaitForm::HttpDate,
        WaitForm::Duration,
        WaitForm::Auto,
    ];

    /// The word in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            WaitForm::Seconds => "seconds",
            WaitForm::Milliseconds => "milliseconds",
            WaitForm::Minutes => "minutes",
            WaitForm::Hours => "hours",
            WaitForm::EpochS => "epoch-s",
            WaitForm::EpochMs => "epoch-ms",
            WaitForm::EpochUs => "epoch-us",
            WaitForm::EpochNs => "epoch-ns",
            WaitForm::Time => "time",
            WaitForm::HttpDate => "http-date",
            WaitForm::Duration => "duration",
            WaitForm::Auto => "auto",
        }
    }
    pub fn from_word(word: &str) -> Option<WaitForm> {
        WaitForm::ALL.into_iter().find(|f| f.word() == word)
    }
}

/// Where a recipe's own wait stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitPlace {
    /// Lower-case name.
    Header(String),
    /// RFC 9535; the longest of its nodes counts.
    Json(String),
    /// Case-insensitive regular expression with one group, for the body as text.
    Text(String),
}

/// `[[wait]]`: a source of waits that the provider has beside the general ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitSource {
    pub name: String,
    pub place: WaitPlace,
    pub form: WaitForm,
    /// Only in answers with one of these; empty: in any refusal.
    pub status: Vec<u16>,
    /// IANA name, for naive times. `None`: UTC.
    pub time_zone: Option<String>,
}
