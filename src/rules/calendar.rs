//! Provider calendars: windows aligned to the clock, days and months in a time zone. And RFC 3339.

use crate::domain::time::Wall;

/// RFC 3339 in UTC with whole seconds: `2026-11-30T02:56:13Z`.
pub fn rfc3339(wall: Wall) -> String {
    match jiff::Timestamp::from_millisecond(wall.0 - wall.0.rem_euclid(1000)) {
        Ok(t) => t.to_string(),
        Err(_) => "9999-12-31T23:59:59Z".to_owned(),
    }
}
