//! Texts of others on a page run in the direction of their letters and turn nothing around them: signs that would (overrides, embeddings, isolates of
//! a text's own) are left out of what is read. What stands in attributes stays: nobody reads it, and forms send it back. Knows HTML as this house
//! writes it: every `<` of a text escaped.

/// Unicode's explicit formatting characters (UAX 9 section 2): none of them has a look of its own.
const fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The page without them. What is written in a field for many lines is sent back as it is.
pub fn straightened(html: String) -> String {
    if !html.contains(turns) {
        return html;
    }
    let mut out = String::with_capacity(html.len());
    let mut rest = html.as_str();
    while let Some(begin) = rest.find('<') {
        out.extend(rest[..begin].chars().filter(|c| !turns(*c)));
        let kept = if rest[begin..].starts_with("<textarea") { "</textarea>" } else { ">" };
        let end = rest[begin..].find(kept).map_or(rest.len(), |at| begin + at + kept.len());
        out.push_str(&rest[begin..end]);
        rest = &rest[end..];
    }
    out.extend(rest.chars().filter(|c| !turns(*c)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_others_around_is_left_out_of_texts_alone() {
        for (page, straight) in [
            ("<p>as it is</p>", "<p>as it is</p>"),
            ("<p>a\u{202e}b</p>\u{2066}", "<p>ab</p>"),
            (
                "<p>\u{5e9}\u{5dc} \u{1f469}\u{200d}\u{1f33e}\u{2069}</p>",
                "<p>\u{5e9}\u{5dc} \u{1f469}\u{200d}\u{1f33e}</p>",
            ),
            ("<input value=\"\u{202e}key\">\u{202e}", "<input value=\"\u{202e}key\">"),
            ("<textarea name=\"t\">\u{202e}<b></textarea>\u{202d}z", "<textarea name=\"t\">\u{202e}<b></textarea>z"),
            ("\u{202a}<p", "<p"),
        ] {
            assert_eq!(straightened(page.to_owned()), straight);
        }
    }
}
