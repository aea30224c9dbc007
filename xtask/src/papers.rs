//! Whether docs/papers.md speaks of what is there: files, tests, verbs and options.
//!
//! Between backquotes, `crate/path.rs` is a file below `crates/`, `crate/path.rs::name` a function in it, and `dermis VERB --option`
//! a line of the program's stored help. Other words between backquotes are not looked at.

use std::collections::BTreeSet;
use std::path::Path;

/// The page.
const PAGE: &str = "docs/papers.md";
/// The folder of the stored help.
const HELP: &str = "crates/dermis-cli/tests/snapshots";

/// Returns what a page names and the workspace below `root` does not have, a sentence each.
///
/// # Errors
/// The page cannot be read.
pub fn findings(root: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        // A pair of backquotes is every second piece.
        let quoted = line.split('`').skip(1).step_by(2);
        found.extend(quoted.filter_map(|words| missing(root, words)).map(|what| format!("{PAGE}:{}: {what}", at + 1)));
        found.extend(links(line).filter_map(|link| dead(root, link)).map(|what| format!("{PAGE}:{}: {what}", at + 1)));
    }
    Ok(found)
}

/// What is missing of words between backquotes.
fn missing(root: &Path, words: &str) -> Option<String> {
    if let Some(line) = words.strip_prefix("dermis ") {
        return missing_of_program(root, line);
    }
    let (path, name) = words.split_once("::").map_or((words, None), |(path, name)| (path, Some(name)));
    if !path.ends_with(".rs") {
        return None;
    }
    // "file.rs" stands for any file where the page explains itself.
    if path == "file.rs" {
        return None;
    }
    let Ok(text) = std::fs::read_to_string(root.join("crates").join(path)) else {
        return Some(format!("there is no crates/{path}"));
    };
    let name = name?;
    let known = text.contains(&format!("fn {name}("));
    (!known).then(|| format!("crates/{path} has no function {name}"))
}

/// What the program does not know of a line: its verb, or an option.
fn missing_of_program(root: &Path, line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let verb = words.next()?;
    let Ok(help) = std::fs::read_to_string(root.join(HELP).join(format!("help_{verb}.txt"))) else {
        return Some(format!("there is no verb {verb}"));
    };
    let known: BTreeSet<&str> = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).collect();
    if let Some(name) = line.split_once("--set ").and_then(|(_, said)| said.split([' ', '=']).next()) {
        let settings = std::fs::read_to_string(root.join("docs/methods.md")).unwrap_or_default();
        if verb == "fit" && !settings.contains(&format!("`--set {name}=")) {
            return Some(format!("no method has a setting {name}"));
        }
    }
    let option = words.find(|word| word.starts_with("--") && !known.contains(word))?;
    Some(format!("dermis {verb} has no option {option}"))
}

/// The targets of Markdown links of a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link))
}

/// What is missing of a link to a file beside the page.
fn dead(root: &Path, link: &str) -> Option<String> {
    let file = link.split('#').next()?;
    let there = file.is_empty() || root.join("docs").join(file).exists();
    (!there).then(|| format!("the link {link} leads nowhere"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    #[test]
    fn the_page_speaks_of_what_is_there() {
        let found = findings(root()).unwrap();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (words, said) in [
            ("dermis-fit/src/nothing.rs", "no crates/dermis-fit/src/nothing.rs"),
            ("dermis-fit/tests/published.rs::no_such_test", "no function no_such_test"),
            ("dermis conjure", "no verb conjure"),
            ("dermis fit --no-such-option", "no option --no-such-option"),
            ("dermis fit --set nothing=1", "has a setting nothing"),
        ] {
            assert!(missing(root(), words).is_some_and(|what| what.contains(said)), "{words}");
        }
        for words in ["dermis fit --method mwe", "dermis-fit/src/heat.rs", "p' = M p", "pose_weights"] {
            assert_eq!(missing(root(), words), None);
        }
        assert!(dead(root(), "nowhere.md").is_some() && dead(root(), "methods.md#x").is_none());
    }
}
