//! How a provider hands out a long list page by page, and how a reading of it went.

use super::time::Stamp;

/// Where a value of an answer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// RFC 9535, from the body.
    Json(String),
    /// Header name, lower case.
    Header(String),
}

/// Where the token or the number of the next page is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placing {
    /// A query parameter.
    Query(String),
    /// A variable of a GraphQL request: in `variables` of its body; of a GET in the query parameter of that name.
    Variable(String),
    /// A member of a JSON body (RFC 6901, `/cursor`). Objects on the way that are not there are made.
    Member(String),
}

/// What a numbered page is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Pages,
    Rows,
}

/// How the next page is found, and what says that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStyle {
    /// RFC 8288: `Link: <...>; rel="next"`. The end: links without such a one, or silence.
    ///
    /// Silence is an answer without the header or the key at all: the end where something else that is known of the list says so too.
    Link,
    /// An address in the body. The end: it is empty or null, or silence.
    NextUrl { next: ValueSource },
    /// A token that is sent back. The end: it is empty or null, or silence, or `more` says no.
    Cursor { next: ValueSource, placing: Placing, more: Option<ValueSource> },
    /// Pages, or rows, are counted from `first`.
    Numbered { placing: Placing, first: u64, step: Step, ends: Ends },
    /// GraphQL connections: `hasNextPage` and `endCursor` inside `page_info` (RFC 9535, from the body).
    Relay { page_info: String, placing: Placing },
}

/// What says of numbered pages that there is no other. At least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// How many pages there are.
    pub total_pages: Option<ValueSource>,
    /// Empty, null or false: no other page; or silence.
    pub next: Option<ValueSource>,
    /// The provider fills every page but the last.
    pub short_page: bool,
    /// Behind the last page the provider answers with an empty list.
    pub empty_page: bool,
}

/// Rows that are asked for on one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSize {
    /// The query parameter that says so; `None`: the provider's own size, said for the arithmetic alone.
    pub param: Option<String>,
    pub rows: u64,
}

/// `page` of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSpec {
    pub style: PageStyle,
    pub size: Option<PageSize>,
    /// How many rows there are. Where it is told, no reading with fewer is complete.
    pub total: Option<ValueSource>,
    /// The provider says of itself that its last page is silent: a first reading may end so.
    pub absent_ends: bool,
    /// A 304 to the first page says that no page has changed. Else the first page is asked without validators.
    pub first_confirms_all: bool,
    pub max_pages: u32,
    pub max_items: u64,
    /// Bytes of all bodies together.
    pub max_bytes: u64,
}

/// One request of a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Below the base URL (`/tasks?page=2`), or whole and on its origin.
    pub location: String,
    /// Of a POST; else empty.
    pub body: Vec<u8>,
}

/// How the last reading of a paged target went. Durable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// Good pages that were read.
    pub pages: u32,
    /// Pages of which the provider spoke.
    pub of: Option<u64>,
    /// Why it is not complete; `None`: it is.
    pub incomplete: Option<String>,
    /// Arrival of its last answer.
    pub at: Stamp,
    /// Pages of the last complete reading: what the next is expected to cost. 0 before the first.
    pub usual_pages: u32,
}
