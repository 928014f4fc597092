//! Gaps of every kind, filled where days are odd, and values that try to be more than values.

use super::*;
use crate::domain::time::Wall;
use proptest::prelude::*;

/// 2026-11-30T02:56:13Z
const NOW: Wall = Wall(1_796_007_373_000);

fn at(text: &str, now: Wall, zone: &str) -> String {
    let template = Template::parse(text, Gaps::MomentsOnly).unwrap();
    template.fill(Place::Plain, &When::new(now, zone), &BTreeMap::new()).unwrap()
}

fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

#[test]
fn moments_are_those_of_the_providers_calendar() {
    for (text, zone, expected) in [
        ("{today}", "UTC", "2026-11-30"),
        ("{today}", "America/Los_Angeles", "2026-11-29"),
        ("{today+1d}", "Pacific/Kiritimati", "2026-12-01"),
        ("{today-7d:%Y%m%d}", "UTC", "20261123"),
        ("{today-1mo}", "UTC", "2026-10-30"),
        ("{today+3mo}", "UTC", "2027-02-28"),
        ("{today-1y:%d.%m.%y}", "UTC", "30.11.25"),
        ("{today:epoch-s}", "Europe/Berlin", "1795993200"),
        ("{today:rfc3339}", "Europe/Berlin", "2026-11-29T23:00:00Z"),
        ("{now}", "Europe/Berlin", "2026-11-30T02:56:13Z"),
        ("{now-1h}", "UTC", "2026-11-30T01:56:13Z"),
        ("{now+90m:%H:%M}", "Asia/Kolkata", "09:56"),
        ("{now-1w:epoch-ms}", "UTC", "1795402573000"),
        ("{now:%Y-%m-%dT%H:%M:%S%:z}", "Europe/Berlin", "2026-11-30T03:56:13+01:00"),
        ("a{today}b{now:epoch-s}c", "UTC", "a2026-11-30b1796007373c"),
        ("{{today}}", "UTC", "{today}"),
        ("{} { today } {\"a\":1}", "UTC", "{} { today } {\"a\":1}"),
    ] {
        assert_eq!(at(text, NOW, zone), expected, "{text} in {zone}");
    }
}

#[test]
fn days_that_are_odd_are_days() {
    // 2026-03-29, Berlin: 23 hours. 2011-12-30 was left out in Samoa, the next day was the 31st; midnight of 2018-11-04 did not exist in São Paulo.
    let spring = Wall(1_774_738_800_000);
    assert_eq!(at("{today} {today+1d:epoch-s}", spring, "Europe/Berlin"), "2026-03-29 1774821600");
    assert_eq!(1_774_821_600 - 1_774_738_800, 23 * 3600);
    assert_eq!(at("{today+1d}", Wall(1_325_152_800_000), "Pacific/Apia"), "2011-12-31");
    assert_eq!(at("{today:rfc3339}", Wall(1_541_332_800_000), "America/Sao_Paulo"), "2018-11-04T03:00:00Z");
}

#[test]
fn what_is_no_gap_is_told_where_there_can_be_no_brace() {
    for (text, says) in [
        ("/{tody}", "{tody} is none of {today}, {now} and {target}"),
        ("/{today+1h}", "{today+1h} has no offset of days"),
        ("/{today+d}", "{today+d} has no number before its unit"),
        ("/{now-1mo}", "{now-1mo} has no offset; write"),
        ("/{today:iso}", "{today:iso} has no form that is known"),
        ("/{today:%!}", "{today:%!} has a form that cannot be written"),
        ("/{today+99999999999d}", "{today+99999999999d} has no number before its unit"),
        ("/{today+99999y}", "{today+99999y} is further away than any calendar"),
    ] {
        let said = Template::parse(text, Gaps::MomentsOnly).unwrap_err();
        assert!(said.contains(says), "{said}");
    }
    let graphql = "{viewer{id name(at:\"{today}\") {x}}}";
    let template = Template::parse(graphql, Gaps::Moments).unwrap();
    let filled = template.fill(Place::Plain, &When::new(NOW, "UTC"), &BTreeMap::new()).unwrap();
    assert_eq!(filled, "{viewer{id name(at:\"2026-11-30\") {x}}}", "a query keeps its braces");
}

#[test]
fn a_value_stays_a_value() {
    let when = When::new(NOW, "UTC");
    let fill = |text: &str, place, values: &[(&str, &str)]| {
        Template::parse(text, Gaps::Parameters).unwrap().fill(place, &when, &given(values))
    };
    let path = fill("/set?r={item}&s={seconds}&{item}", Place::Location, &[("item", "3&key=x"), ("seconds", "60")]);
    assert_eq!(path.unwrap(), "/set?r=3%26key%3Dx&s=60&3%26key%3Dx");
    let body = "{\"id\":\"{item}\",\"n\":{seconds},\"on\":\"{today}\"}";
    let filled = fill(body, Place::Json, &[("item", "a\"b\\\n"), ("seconds", "60")]).unwrap();
    assert_eq!(filled, "{\"id\":\"a\\\"b\\\\\\n\",\"n\":60,\"on\":\"2026-11-30\"}");
    for bad in ["1,\"admin\":true", "{}", "[1]", "\"x\"", "x", "1 2"] {
        let said = fill(body, Place::Json, &[("item", "a"), ("seconds", bad)]).unwrap_err();
        assert!(said.starts_with("the parameter \"seconds\" stands outside quotes"), "{bad}: {said}");
    }
    assert!(fill("{item}", Place::Plain, &[("item", "a\r\nX: 1")]).unwrap_err().contains("control character"));
    assert!(fill("{item}", Place::Plain, &[]).unwrap_err().contains("needs the parameter \"item\""));
}

proptest! {
    #[test]
    fn no_value_ever_leaves_its_json_string(value in "\\PC{1,60}|[\\x00-\\x1f\"\\\\{}]{1,20}") {
        let template = Template::parse("{\"a\":\"<{v}>\",\"b\":1}", Gaps::Parameters).unwrap();
        let filled = template.fill(Place::Json, &When::new(NOW, "UTC"), &given(&[("v", &value)])).unwrap();
        let json: serde_json::Value = serde_json::from_str(&filled).unwrap();
        prop_assert_eq!(json, serde_json::json!({"a": format!("<{value}>"), "b": 1}));
    }

    #[test]
    fn no_template_and_no_moment_panics(text in "[{}a-z:%+\\-0-9]{0,40}|\\PC{0,40}", now: i64, zone in "UTC|Europe/Berlin|Nowhere") {
        for gaps in [Gaps::Moments, Gaps::MomentsOnly, Gaps::Parameters] {
            if let Ok(template) = Template::parse(&text, gaps) {
                for place in [Place::Location, Place::Form, Place::Json, Place::Plain] {
                    let _ = template.fill(place, &When::new(Wall(now), &zone), &BTreeMap::new());
                }
            }
        }
    }

    #[test]
    fn the_same_moment_is_the_same_text(seconds in -4_000_000_000i64..8_000_000_000) {
        let now = Wall(seconds * 1000);
        let day = at("{today}", now, "Europe/Berlin");
        prop_assert_eq!(&day, &at("{today}", now, "Europe/Berlin"));
        let epoch = |text| at(text, now, "Europe/Berlin").parse::<i64>().unwrap();
        let (begins, ends) = (epoch("{today:epoch-s}"), epoch("{today+1d:epoch-s}"));
        prop_assert!(begins <= seconds && seconds < ends);
    }
}
