//! Names as people write several at once: `*` stands for any text.

/// Whether a label matches a pattern in which `*` stands for any text.
pub fn matches(pattern: &str, label: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == label };
    let Some(mut label) = label.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = label.find(piece) else { return false };
        label = &label[at + piece.len()..];
    }
    label.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_labels() {
        for (pattern, label, expected) in [
            ("Walk*", "Walk#3", true),
            ("Walk*", "A Walk", false),
            ("*lk*", "Walk#3", true),
            ("rest", "rest", true),
            ("rest", "resting", false),
            ("*a*a", "banana", true),
            ("*a*a", "banan", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, label), expected, "{pattern} {label}");
        }
    }
}
