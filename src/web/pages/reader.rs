//! How somebody reads times and numbers: in which zone, by which clock, with which decimal sign. One cookie says it, which the page's script writes from what the browser knows and
//! `/reader` from what its user chose; without it the installation's zone counts. Nothing in it is trusted, and nobody is told apart by it.

use super::{Asked, suffix};
use crate::domain::ids::Organization;
use crate::web::access::hosts;
use crate::web::errors::{Kind, Problem};
use crate::web::headers::cookies;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;

/// `Europe/Zurich~24~comma`, and `~auto` behind it where the script wrote it, which then follows the browser. The script knows name and form.
pub const COOKIE: &str = "larder-reader";
/// Browsers keep no cookie for longer than 400 days.
const KEPT_S: u32 = 400 * 86_400;
/// Longer than any name of the time zone database.
const LONGEST: usize = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    #[default]
    Hours24,
    Hours12,
}

impl Clock {
    pub const ALL: [Clock; 2] = [Clock::Hours24, Clock::Hours12];

    pub const fn word(self) -> &'static str {
        match self {
            Clock::Hours24 => "24",
            Clock::Hours12 => "12",
        }
    }
    fn from_word(word: &str) -> Option<Clock> {
        Clock::ALL.into_iter().find(|clock| clock.word() == word)
    }
}

/// What stands before the fraction of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decimal {
    #[default]
    Point,
    Comma,
}

impl Decimal {
    pub const ALL: [Decimal; 2] = [Decimal::Point, Decimal::Comma];

    pub const fn word(self) -> &'static str {
        match self {
            Decimal::Point => "point",
            Decimal::Comma => "comma",
        }
    }
    fn from_word(word: &str) -> Option<Decimal> {
        Decimal::ALL.into_iter().find(|decimal| decimal.word() == word)
    }
    /// A number that is written with a point, as this reader writes it.
    pub fn written(self, number: &str) -> String {
        match self {
            Decimal::Point => number.to_owned(),
            Decimal::Comma => number.replace('.', ","),
        }
    }
}

/// What is known of who reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// `None`: the installation's.
    pub zone: Option<TimeZone>,
    pub clock: Clock,
    pub decimal: Decimal,
}

impl Reader {
    /// By the cookie, as far as it can be read.
    pub fn of(headers: &HeaderMap) -> Reader {
        let value = cookies(headers).find_map(|(name, value)| (name == COOKIE).then_some(value));
        let mut parts = value.unwrap_or_default().split('~');
        let zone = parts.next().and_then(zone_of);
        let clock = parts.next().and_then(Clock::from_word).unwrap_or_default();
        Reader { zone, clock, decimal: parts.find_map(Decimal::from_word).unwrap_or_default() }
    }
}

/// A name of the time zone database that is built in.
fn zone_of(name: &str) -> Option<TimeZone> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/_+-".contains(&b);
    let fits = !name.is_empty() && name.len() <= LONGEST && name.bytes().all(plain);
    fits.then(|| jiff::tz::db().get(name).ok()).flatten()
}

/// What the form of `/settings` sends.
#[derive(serde::Deserialize)]
pub struct Wish {
    organization: Option<String>,
    #[serde(default)]
    zone: String,
    #[serde(default)]
    clock: String,
    #[serde(default)]
    decimal: String,
}

/// `GET /reader?zone=&clock=&decimal=` keeps the wish in the asking browser and leads back. It changes nothing here, so it needs no right; another site's
/// page may not ask for it all the same. A blank zone is the installation's again.
///
/// The cookie names no path: the browser takes the folder of this address, which is the root of the site behind whatever prefix
/// (RFC 6265 section 5.1.4).
pub async fn keep(headers: HeaderMap, Asked(wish): Asked<Wish>) -> Result<Response, Problem> {
    if hosts::is_foreign(&headers) {
        return Err(Problem::new(
            Kind::ForeignOrigin,
            "The request was caused by a page of another site. Nothing was kept.",
        ));
    }
    let zone = wish.zone.trim();
    if !zone.is_empty() && zone_of(zone).is_none() {
        let detail = "That is no name of a time zone. Write it as \"Europe/Zurich\" or \"America/New_York\", or leave it blank for the \
                      installation's.";
        return Err(Problem::new(Kind::Invalid, detail));
    }
    let clock = Clock::from_word(&wish.clock).unwrap_or_default();
    let decimal = Decimal::from_word(&wish.decimal).unwrap_or_default();
    let said = format!("{zone}~{}~{}", clock.word(), decimal.word());
    let cookie = format!("{COOKIE}={said}; Max-Age={KEPT_S}; SameSite=Lax");
    let organization = wish.organization.as_deref().map(Organization::from).unwrap_or_default();
    let there = format!("settings{}#reader", suffix(&organization));
    let value =
        |text: String| HeaderValue::from_str(&text).map_err(|_| Problem::bad_request("The address cannot be read."));
    let headers = [(header::SET_COOKIE, value(cookie)?), (header::LOCATION, value(there)?)];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cookie: &str) -> Reader {
        Reader::of(&HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(cookie).unwrap())]))
    }

    #[test]
    fn a_cookie_is_read_as_far_as_it_can_be() {
        let tokyo = TimeZone::get("Asia/Tokyo").ok();
        assert_eq!(
            of("a=b; larder-reader=Asia/Tokyo~12; c=d"),
            Reader { zone: tokyo.clone(), clock: Clock::Hours12, ..Reader::default() }
        );
        assert_eq!(of("larder-reader=Asia/Tokyo~24~auto").zone, tokyo);
        assert_eq!(of("larder-reader=Asia/Tokyo").zone, tokyo);
        assert_eq!(of("larder-reader=~12"), Reader { clock: Clock::Hours12, ..Reader::default() });
        for (cookie, decimal) in
            [("~24~comma", Decimal::Comma), ("~24~comma~auto", Decimal::Comma), ("~24~auto", Decimal::Point)]
        {
            assert_eq!(of(&format!("larder-reader={cookie}")).decimal, decimal, "{cookie}");
        }
        for nonsense in ["", "larder-reader", "larder-reader=", "larder-reader=../../etc/passwd~24", "x=y"] {
            assert_eq!(of(nonsense), Reader::default(), "{nonsense}");
        }
        assert_eq!(of(&format!("larder-reader={}~24", "A".repeat(5000))), Reader::default());
    }
}
