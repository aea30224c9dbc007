//! Names from files as they are safe to show.
//!
//! A bone, a pose or a file can be called anything. A line end in a name would forge a line of the terminal, a control would steer it, and
//! a mark of direction would reorder what stands beside the name.

use std::borrow::Cow;

/// Returns whether a character could end a line, steer a terminal, or hide or reorder what stands beside it: controls (with the
/// line ends, and the escape that begins a terminal's commands), the separators of lines and paragraphs, and the marks, embeddings,
/// overrides and isolates of direction of Unicode's bidirectional algorithm.
pub fn is_unsafe(c: char) -> bool {
    let is_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_direction || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns a text as one line whose every character is seen as it is: unsafe ones become their escapes, such as `\n` and `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    match text.contains(is_unsafe) {
        false => text.into(),
        true => text.chars().fold(String::with_capacity(text.len() + 8), escaped).into(),
    }
}

fn escaped(mut out: String, c: char) -> String {
    match is_unsafe(c) {
        // \n, \r and \t have names; escape_debug knows what is not printed, but not every mark of direction.
        true if matches!(c, '\n' | '\r' | '\t') => out.extend(c.escape_default()),
        true => out.extend(c.escape_unicode()),
        false => out.push(c),
    }
    out
}

/// Returns JSON text with every unsafe character escaped as JSON escapes it, so that it reads back as it was. Line ends between values stay.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    let changes = |c: char| is_unsafe(c) && c != '\n';
    match text.contains(changes) {
        false => text.into(),
        // All of them lie in the basic plane, so that one escape of four digits is enough.
        true => text
            .chars()
            .fold(String::with_capacity(text.len() + 8), |mut out, c| {
                match changes(c) {
                    true => out += &format!("\\u{:04x}", u32::from(c)),
                    false => out.push(c),
                }
                out
            })
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_seen_and_everything_else_stays() {
        let plain = "Ellenbogen links – ελ 肘 'x' \"y\" \\n 😀";
        assert_eq!(visible(plain), plain);
        assert_eq!(visible("a\nwritten: b"), "a\\nwritten: b");
        assert_eq!(visible("\u{1b}[2K\u{9b}31m\r\t"), "\\u{1b}[2K\\u{9b}31m\\r\\t");
        assert_eq!(visible("\u{202e}gro\u{2069}\u{2028}\u{7f}\u{0}"), "\\u{202e}gro\\u{2069}\\u{2028}\\u{7f}\\u{0}");
    }

    /// Oracle: the reader of JSON.
    #[test]
    fn json_reads_back_as_it_was() {
        let value = serde_json::json!({"a\u{202e}": ["\u{9b}\u{7f}\n\u{2029}", "x"], "b": 1.5});
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = visible_json(&text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            assert!(!shown.contains(|c| is_unsafe(c) && c != '\n'), "{shown}");
            assert_eq!(shown.lines().count(), text.lines().count());
        }
    }
}
