//! From a target or a command to the request that goes out: templates filled, cost read from the answer. Pure; knows no socket and no
//! credential.

use super::extract::path::Path;
use super::template::{Gaps, Place, Template, When};
use crate::domain::send::{FORM, JSON, SendSpec};
use serde_json::Value;
use std::collections::BTreeMap;

/// A request without its host and its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub method: &'static str,
    pub location: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Who fills the gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A target: moments, and its own name.
    Target,
    /// A command: moments and its parameters.
    Command,
}

impl Asker {
    fn outside_bodies(self) -> Gaps {
        if self == Asker::Target { Gaps::MomentsOnly } else { Gaps::ParametersOnly }
    }
    fn in_bodies(self) -> Gaps {
        if self == Asker::Target { Gaps::Moments } else { Gaps::Parameters }
    }
}

/// How values are written into a body of this media type.
fn place_of(content_type: &str) -> Place {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media.as_str() {
        FORM => Place::Form,
        JSON => Place::Json,
        other if other.ends_with("+json") => Place::Json,
        _ => Place::Plain,
    }
}

/// Whether a body of this media type is JSON.
pub fn is_json(content_type: &str) -> bool {
    place_of(content_type) == Place::Json
}

/// The only gap of a target that is no moment.
pub const TARGET_NAME: &str = "target";

/// The request at this moment with these values: a target has its name alone, under [`TARGET_NAME`]. The error is a sentence.
pub fn outgoing(
    path: &str,
    send: &SendSpec,
    asker: Asker,
    when: &When,
    values: &BTreeMap<String, String>,
) -> Result<Outgoing, String> {
    if asker == Asker::Command && !values.is_empty() {
        let names = parameters(path, send);
        if let Some(extra) = values.keys().find(|k| !names.contains(k)) {
            return Err(format!("has no parameter \"{extra}\"; it takes: {}", names.join(", ")));
        }
    }
    if let Some((name, _)) = values.iter().find(|(_, v)| v.chars().any(char::is_control)) {
        return Err(format!("takes no control character, and the parameter \"{name}\" has one"));
    }
    let fill = |text: &str, gaps, place| Template::parse(text, gaps)?.fill(place, when, values);
    let location = fill(path, asker.outside_bodies(), Place::Location)?;
    let header =
        |(name, value): &(String, String)| Ok((name.clone(), fill(value, asker.outside_bodies(), Place::Plain)?));
    let mut headers = send.headers.iter().map(header).collect::<Result<Vec<_>, String>>()?;
    let mut body = Vec::new();
    if let Some(text) = &send.body {
        body = fill(text, asker.in_bodies(), place_of(&send.content_type))?.into_bytes();
        headers.push(("content-type".to_owned(), send.content_type.clone()));
    }
    Ok(Outgoing { method: send.method, location, headers, body })
}

/// Names of the parameters of a command, each once, in order.
pub fn parameters(path: &str, send: &SendSpec) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for text in std::iter::once(path).chain(send.templates()) {
        // What cannot be read has none; configuration refuses it.
        let Ok(template) = Template::parse(text, Gaps::Parameters) else { continue };
        for name in template.parameters() {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// What is wrong with a path or a header, as a sentence.
pub fn check_text(text: &str, asker: Asker) -> Result<(), String> {
    Template::parse(text, asker.outside_bodies()).map(|_| ())
}

/// What is wrong with a body, as a sentence: its gaps, and whether it is JSON where it says so.
pub fn check_body(body: &str, content_type: &str, asker: Asker) -> Result<(), String> {
    let template = Template::parse(body, asker.in_bodies())?;
    let place = place_of(content_type);
    if place == Place::Plain && !template.parameters().is_empty() {
        return Err(format!("has parameters; they are only written into JSON and into {FORM}"));
    }
    if place == Place::Json {
        let tried = template.parameters().into_iter().map(|name| (name.to_owned(), "0".to_owned())).collect();
        let filled = template.fill(place, &When::new(crate::domain::time::Wall(0), "UTC"), &tried);
        let filled = filled.map_err(|why| format!("cannot be filled: {why}"))?;
        serde_json::from_str::<serde::de::IgnoredAny>(&filled)
            .map_err(|e| format!("is not JSON ({e}); name another content_type, or write a table"))?;
    }
    Ok(())
}

/// Where an answer says what its request cost.
#[derive(Debug)]
pub struct CostFrom(Path);

impl CostFrom {
    pub fn parse(path: &str) -> Result<CostFrom, String> {
        Path::parse(path).map(CostFrom)
    }

    /// In units of the limits, a started one whole. `None` where the answer does not say it in a number that can be believed.
    pub fn read(&self, body: &Value) -> Option<u32> {
        let cost = match self.0.one(body)? {
            Value::Number(n) => n.as_f64()?,
            Value::String(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        (cost.is_finite() && cost >= 0.0 && cost <= f64::from(u32::MAX)).then(|| cost.ceil() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Wall;
    use serde_json::json;

    const NOW: Wall = Wall(1_796_007_373_000);

    #[test]
    fn a_graphql_question_about_today_goes_out_whole() {
        let send = SendSpec {
            method: "POST",
            body: Some(r#"{"query":"{viewer{homes{id}}}","variables":{"from":"{today-1d}"}}"#.to_owned()),
            headers: vec![("x-day".to_owned(), "{today:%j}".to_owned())],
            ..SendSpec::default()
        };
        let when = When::new(NOW, "UTC");
        let out = outgoing("/gql?d={today}", &send, Asker::Target, &when, &BTreeMap::new()).unwrap();
        assert_eq!((out.method, out.location.as_str()), ("POST", "/gql?d=2026-11-30"));
        let body = r#"{"query":"{viewer{homes{id}}}","variables":{"from":"2026-11-29"}}"#;
        assert_eq!(String::from_utf8(out.body).unwrap(), body);
        let headers = [("x-day", "334"), ("content-type", "application/json")];
        assert_eq!(out.headers, headers.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }

    #[test]
    fn one_question_serves_every_target_by_its_name() {
        let when = When::new(NOW, "UTC");
        let send = SendSpec {
            method: "POST",
            body: Some(r#"{"job":"{target}","q":"{jobs{id}}"}"#.to_owned()),
            headers: vec![("x-job".to_owned(), "{target}".to_owned())],
            ..SendSpec::default()
        };
        let name = BTreeMap::from([(TARGET_NAME.to_owned(), "ECO 7&x=\"1\"".to_owned())]);
        let out = outgoing("/jobs/{target}?job={target}&at={today}", &send, Asker::Target, &when, &name).unwrap();
        assert_eq!(out.location, "/jobs/ECO%207%26x%3D%221%22?job=ECO%207%26x%3D%221%22&at=2026-11-30");
        let body = r#"{"job":"ECO 7&x=\"1\"","q":"{jobs{id}}"}"#;
        assert_eq!(String::from_utf8(out.body).unwrap(), body);
        assert_eq!(out.headers[0], ("x-job".to_owned(), "ECO 7&x=\"1\"".to_owned()));
        assert_eq!(check_text("/jobs/{target}", Asker::Target), Ok(()));
        assert!(
            check_text("/jobs/{target+1d}", Asker::Target).unwrap_err().contains("none of {today}, {now} and {target}")
        );
        assert!(outgoing("/jobs", &SendSpec::default(), Asker::Target, &when, &name).is_ok(), "it need not be named");
    }

    #[test]
    fn parameters_are_collected_from_everywhere() {
        let send = SendSpec {
            method: "POST",
            body: Some(r#"{"id":"{item}","n":{seconds},"at":"{now}"}"#.to_owned()),
            headers: vec![("x-tag".to_owned(), "{tag}".to_owned())],
            ..SendSpec::default()
        };
        assert_eq!(parameters("/run/{item}", &send), ["item", "seconds", "tag"]);
        assert_eq!(check_body(r#"{"n":{seconds}}"#, "application/json", Asker::Command), Ok(()));
        let said = check_body(r#"{"n":{seconds}"#, "application/json", Asker::Command).unwrap_err();
        assert!(said.starts_with("is not JSON (EOF"), "{said}");
        let said = check_body("<n>{seconds}</n>", "text/xml", Asker::Command).unwrap_err();
        assert!(said.starts_with("has parameters; they are only written into JSON"), "{said}");
        assert_eq!(check_body("<n>{today}</n>", "text/xml", Asker::Target), Ok(()));
    }

    #[test]
    fn a_command_takes_its_parameters_encoded_and_nothing_else() {
        let when = When::new(NOW, "UTC");
        let ask = |pairs: &[(&str, &str)]| {
            let values = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            outgoing("/set?relay={item}&s={seconds}", &SendSpec::default(), Asker::Command, &when, &values)
        };
        let filled = ask(&[("item", "3&api_key=x"), ("seconds", "60")]).unwrap();
        assert_eq!(filled.location, "/set?relay=3%26api_key%3Dx&s=60");
        assert!(ask(&[("item", "3")]).is_err_and(|e| e.contains("needs the parameter \"seconds\"")));
        let said = ask(&[("item", "3"), ("seconds", "1"), ("zone", "2")]).unwrap_err();
        assert_eq!(said, "has no parameter \"zone\"; it takes: item, seconds");
    }

    #[test]
    fn a_cost_is_a_number_or_nothing() {
        let cost = CostFrom::parse("$.extensions.cost.actualQueryCost").unwrap();
        let answer = |cost: Value| json!({"extensions": {"cost": {"actualQueryCost": cost}}});
        for (said, read) in [
            (json!(42), Some(42)),
            (json!(0.2), Some(1)),
            (json!("12.5"), Some(13)),
            (json!(0), Some(0)),
            (json!(-1), None),
            (json!(1e12), None),
            (json!("NaN"), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(cost.read(&answer(said.clone())), read, "{said}");
        }
        assert_eq!(cost.read(&json!({})), None);
    }
}
