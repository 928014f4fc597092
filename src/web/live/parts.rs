//! The parts of a page: elements with an id and `data-live`, which an open page exchanges one by one. Each has a version of what it says; what moves
//! by itself (ages, countdowns) and what is new each time (the tokens of forms) is no part of that. Knows HTML as this house writes it: every
//! attribute in double quotes, every `<` of a text escaped. Must not know what a part says.

use std::ops::Range;

/// One part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub id: String,
    /// The part around it, by its place among all parts.
    pub parent: Option<usize>,
    /// Of its own text; of parts inside it only which they are.
    pub version: String,
    /// Where the whole element stands.
    pub span: Range<usize>,
    /// Behind the name of its attribute `data-live`.
    mark: usize,
}

/// A part whose end has not come yet.
struct Open<'a> {
    part: Part,
    tag: &'a str,
    /// Elements of the same name that are open in it, itself one of them.
    depth: usize,
    essence: blake3::Hasher,
}

/// The page with the version of each part beside its `data-live`.
pub fn marked(html: &str) -> String {
    let mut marks: Vec<(usize, String)> = parts(html).into_iter().map(|part| (part.mark, part.version)).collect();
    marks.sort_unstable();
    let mut out = String::with_capacity(html.len() + marks.len() * 24);
    let mut from = 0;
    for (mark, version) in marks {
        out.push_str(&html[from..mark]);
        out.push_str(&format!(" data-v=\"{version}\""));
        from = mark;
    }
    out.push_str(&html[from..]);
    out
}

/// In the order of the page: a part comes before those inside it. Of a marked page the same as of the plain one, but for the places.
pub fn parts(html: &str) -> Vec<Part> {
    let mut reading = Reading { html, done: Vec::new(), open: Vec::new(), skips: false };
    let mut at = 0;
    while let Some(tag) = next_tag(html, at) {
        reading.text(&html[at..tag.span.start]);
        at = tag.span.end;
        reading.tag(&tag);
    }
    reading.done.into_iter().flatten().collect()
}

struct Reading<'a> {
    html: &'a str,
    /// In the order of their beginnings.
    done: Vec<Option<Part>>,
    open: Vec<(usize, Open<'a>)>,
    /// Inside a text that moves by itself.
    skips: bool,
}

impl<'a> Reading<'a> {
    fn text(&mut self, text: &str) {
        if !self.skips {
            self.say(text);
        }
    }

    fn say(&mut self, text: &str) {
        if let Some((_, open)) = self.open.last_mut() {
            open.essence.update(text.as_bytes());
        }
    }

    fn tag(&mut self, tag: &Tag<'a>) {
        if tag.closes {
            self.skips &= tag.name != "time";
            self.say("/");
            self.say(tag.name);
            return self.close(tag);
        }
        if let Some(id) = tag.is_live().then(|| tag.value("id")).flatten() {
            self.say(id);
            self.begin(tag, id);
        } else if let Some((_, open)) = self.open.last_mut().filter(|(_, open)| open.tag == tag.name) {
            open.depth += 1;
        }
        self.say("<");
        self.say(tag.name);
        let is_hidden = tag.name == "input" && tag.value("type") == Some("hidden");
        for (name, value) in tag.attributes() {
            // Which version it is follows from the rest.
            if name == "data-v" || (is_hidden && name == "value") {
                continue;
            }
            self.say(" ");
            self.say(name);
            self.say("=");
            self.say(value);
        }
        self.skips |= tag.name == "time" && tag.value("class") == Some("rel");
    }

    fn begin(&mut self, tag: &Tag<'a>, id: &str) {
        let part = Part {
            id: id.to_owned(),
            parent: self.open.last().map(|(place, _)| *place),
            version: String::new(),
            span: tag.span.clone(),
            mark: tag.live_end(self.html),
        };
        let open = Open { part, tag: tag.name, depth: 1, essence: blake3::Hasher::new() };
        self.open.push((self.done.len(), open));
        self.done.push(None);
    }

    fn close(&mut self, tag: &Tag<'a>) {
        let Some((_, open)) = self.open.last_mut().filter(|(_, open)| open.tag == tag.name) else { return };
        open.depth -= 1;
        if open.depth > 0 {
            return;
        }
        if let Some((place, mut open)) = self.open.pop() {
            open.part.span.end = tag.span.end;
            open.part.version = open.essence.finalize().to_hex()[..10].to_owned();
            self.done[place] = Some(open.part);
        }
    }
}

struct Tag<'a> {
    name: &'a str,
    closes: bool,
    /// What stands behind the name.
    rest: &'a str,
    span: Range<usize>,
}

impl<'a> Tag<'a> {
    /// Names and values; an attribute without a value has an empty one.
    fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut rest = self.rest;
        std::iter::from_fn(move || {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=' || c == '/').unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            let quoted = behind.strip_prefix("=\"").and_then(|value| value.split_once('"'));
            let value = match quoted {
                Some((value, behind)) => {
                    rest = behind;
                    value
                }
                None => {
                    rest = behind.trim_start_matches('=');
                    ""
                }
            };
            (!name.is_empty()).then_some((name, value))
        })
    }

    fn value(&self, wanted: &str) -> Option<&'a str> {
        self.attributes().find(|(name, _)| *name == wanted).map(|(_, value)| value)
    }

    fn is_live(&self) -> bool {
        self.value("data-live").is_some()
    }

    /// Behind its attribute `data-live`.
    fn live_end(&self, html: &str) -> usize {
        let name = self.attributes().find(|(name, _)| *name == "data-live").map_or("", |(name, _)| name);
        name.as_ptr() as usize - html.as_ptr() as usize + name.len()
    }
}

/// The next element's tag from `at` on. Comments and the doctype are passed over.
fn next_tag(html: &str, at: usize) -> Option<Tag<'_>> {
    let mut from = at;
    loop {
        let start = from + html.get(from..)?.find('<')?;
        let inside = html.get(start + 1..)?;
        let (closes, named) = inside.strip_prefix('/').map_or((false, inside), |named| (true, named));
        let end = end_of_tag(html, start + 1)?;
        if !named.starts_with(|c: char| c.is_ascii_alphabetic()) {
            from = end;
            continue;
        }
        let body = html.get(start + 1 + usize::from(closes)..end - 1)?;
        let name_end = body.find(|c: char| c.is_ascii_whitespace() || c == '/').unwrap_or(body.len());
        let (name, rest) = body.split_at(name_end);
        return Some(Tag { name, closes, rest, span: start..end });
    }
}

/// Behind the `>` that ends a tag, which may stand inside quotes too.
fn end_of_tag(html: &str, from: usize) -> Option<usize> {
    let mut quoted = false;
    for (place, byte) in html.as_bytes().iter().enumerate().skip(from) {
        match byte {
            b'"' => quoted = !quoted,
            b'>' if !quoted => return Some(place + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!doctype html><title id=\"title\" data-live>Larder</title><main id=\"main\" data-live><h1 title=\"a > data-live\">Yard</h1>\
        <section id=\"one\" class=\"x\" data-live data-state=\"fresh\"><section>in<br/>side</section><time class=\"rel\" datetime=\"D1\">5 s</time></section>\
        <section id=\"two\" data-live><form><input type=\"hidden\" name=\"csrf\" value=\"abc\"><input name=\"n\" value=\"1\"></form></section></main>";

    fn version(html: &str, id: &str) -> String {
        parts(html).into_iter().find(|part| part.id == id).unwrap().version
    }

    #[test]
    fn every_part_is_found_with_what_is_around_it() {
        let parts = parts(PAGE);
        let shape: Vec<_> = parts.iter().map(|part| (part.id.as_str(), part.parent)).collect();
        assert_eq!(shape, [("title", None), ("main", None), ("one", Some(1)), ("two", Some(1))]);
        let html = |n: usize| &PAGE[parts[n].span.clone()];
        assert!(html(1).starts_with("<main") && html(1).ends_with("</main>"));
        assert!(html(2).starts_with("<section id=\"one\"") && html(2).ends_with("</time></section>"), "{}", html(2));
    }

    #[test]
    fn a_version_is_of_what_is_said_and_not_of_what_moves_by_itself() {
        for (from, to, changed) in [
            ("5 s", "9 s", &[][..]),
            ("value=\"abc\"", "value=\"def\"", &[]),
            ("value=\"1\"", "value=\"2\"", &["two"]),
            ("D1", "D2", &["one"]),
            ("side", "wards", &["one"]),
            ("data-state=\"fresh\"", "data-state=\"stale\"", &["one"]),
            ("Yard", "Cellar", &["main"]),
            ("id=\"two\"", "id=\"three\"", &["main", "two"]),
        ] {
            let other = PAGE.replacen(from, to, 1);
            for id in ["title", "main", "one", "two"] {
                let same = parts(&other).iter().find(|part| part.id == id).map(|part| part.version.clone());
                let differs = same.is_none_or(|same| same != version(PAGE, id));
                assert_eq!(differs, changed.contains(&id), "{id}: {from} -> {to}");
            }
        }
    }

    #[test]
    fn marking_says_each_version_and_changes_none() {
        let marked = marked(PAGE);
        assert!(
            marked.contains(&format!("<section id=\"two\" data-live data-v=\"{}\">", version(PAGE, "two"))),
            "{marked}"
        );
        assert_eq!(marked.matches(" data-v=").count(), 4);
        assert!(marked.contains("title=\"a > data-live\">"), "what stands in quotes is text: {marked}");
        for id in ["title", "main", "one", "two"] {
            assert_eq!(version(&marked, id), version(PAGE, id));
        }
    }

    #[test]
    fn what_does_not_end_is_no_part_and_stops_nothing() {
        for broken in [
            "<section id=\"a\" data-live>",
            "<",
            "<section id=\"a",
            "</section>",
            "<!-- <b> -->",
            "<section data-live></section>",
        ] {
            assert_eq!(parts(broken), [], "{broken}");
            assert_eq!(marked(broken), broken);
        }
    }
}
