//! Templates hold no English of their own: what a page says comes by key from `templates/texts`.

use regex::Regex;
use std::path::Path;

/// Names that are the same in every language, and examples of what is written into a field.
const NAMES: &[&str] = &[
    "API",
    "CSV",
    "Grafana",
    "Home Assistant",
    "JSON",
    "Larder",
    "MQTT",
    "Prometheus",
    "curl",
    "1000",
    "24h",
    "30m",
    "XXXX-XXXX-XXXX",
    "default",
    "home-assistant",
    "https://api.example.test/v1",
];

/// Attributes that are read, or told by the script.
const READ: &str = "title|aria-label|placeholder|alt|data-state|data-then";

/// What a template says in words of its own.
pub fn bare(template: &str) -> Vec<String> {
    let cut = |pattern: &str, text: &str| Regex::new(pattern).expect("a pattern").replace_all(text, " ").into_owned();
    let html = cut(r"(?s)\{%.*?%\}|\{\{.*?\}\}|<!--.*?-->|·\s*Larder\b", template);
    // Commands, file names and keys are not translated.
    let html = cut(r"(?s)<(code|pre)\b.*?</(code|pre)>", &html);
    let read = Regex::new(&format!("(?s)\\s(?:{READ})=\"([^\"]*)\"")).expect("a pattern");
    let attributes = read.captures_iter(&html).map(|found| found[1].to_owned()).collect::<Vec<_>>();
    let nodes = cut("(?s)<[^>]*>", &html.replace('<', "\n<").replace('>', ">\n"));
    let said = attributes.into_iter().chain(nodes.lines().map(str::to_owned));
    said.map(|text| text.trim().to_owned())
        .filter(|text| text.contains(|sign: char| sign.is_alphabetic()) && !NAMES.contains(&text.as_str()))
        .collect()
}

/// Of every template.
pub fn in_templates(root: &Path) -> Vec<String> {
    let entries =
        std::fs::read_dir(root.join("templates")).expect("templates").map(|entry| entry.expect("a file").path());
    let templates = entries.filter(|path| path.is_file());
    let told = templates.flat_map(|path| {
        let text = std::fs::read_to_string(&path).expect("text");
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        bare(&text)
            .into_iter()
            .map(move |said| format!("templates/{name} says “{said}” itself: put it into templates/texts/en.ftl"))
    });
    told.collect()
}
