//! Pages as a browser takes them: which scripts and styles their content policy lets through.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::Command;

/// The beginning of the element that holds a page's policy.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";

/// Returns what a page could run or load that is not its own, a sentence each: a script or style whose hash its policy lacks, an attribute
/// `style` or `on…`, an address, a policy that allows whatever stands in the page.
pub fn faults(html: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let Some((before, rest)) = html.split_once(POLICY) else { return vec!["there is no policy".into()] };
    let policy = rest.split('"').next().unwrap_or_default();
    if before.contains("<style") || before.contains("<script") || rest.contains(POLICY) {
        faults.push("the policy is not the first and only one".into());
    }
    for word in ["unsafe-inline", "unsafe-eval", "unsafe-hashes", "strict-dynamic", "*", "http", "blob:"] {
        if policy.contains(word) {
            faults.push(format!("the policy says {word}"));
        }
    }
    if !policy.starts_with("default-src 'none'; ") {
        faults.push("the policy does not begin with default-src 'none'".into());
    }
    let of = |directive: &str| policy.split("; ").find(|part| part.starts_with(directive)).unwrap_or_default();
    let mut rest = html;
    while let Some((tag, after)) = next_tag(rest) {
        rest = after;
        let name =
            tag.trim_start_matches('/').split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
        for (attribute, value) in attributes(&tag[name.len().min(tag.len())..]) {
            let runs = attribute == "style" || attribute.starts_with("on") || attribute == "srcdoc";
            let script = value.trim_start().to_ascii_lowercase().starts_with("javascript:");
            let loads = ["src", "href", "xlink:href", "action", "data"].contains(&attribute.as_str())
                && !(value.starts_with("data:") || value.starts_with('#') || (name == "a" && !value.contains(':')));
            if runs || script || loads {
                faults.push(format!("<{name} {attribute}=\"{value:.40}\">"));
            }
        }
        if ["base", "object", "embed", "iframe", "form"].contains(&name) {
            faults.push(format!("<{name}>"));
        }
        if name == tag.split_whitespace().next().unwrap_or_default() && ["script", "style"].contains(&name) {
            let Some(end) = rest.find(&format!("</{name}")) else {
                faults.push(format!("<{name}> does not end"));
                break;
            };
            let text = &rest[..end];
            let directive = if name == "script" { of("script-src") } else { of("style-src") };
            let is_data = attributes(tag).iter().any(|(key, value)| key == "type" && value.starts_with("application/"));
            if !is_data && !directive.contains(&hash(text)) {
                faults.push(format!("the policy lacks the hash of <{name}>{:.40}", text.trim_start()));
            }
            rest = &rest[end..];
        }
    }
    faults
}

/// Returns a page with a script before all of its own or after them, which its policy lets through.
///
/// # Panics
/// If the page has no policy or no body.
pub fn with_script(html: &str, at: Place, script: &str) -> String {
    let scripts = "script-src ";
    let (head, rest) = html.split_once(POLICY).expect("a page with a policy");
    assert!(rest.contains(scripts), "a policy of scripts");
    // "'none'" means nothing beside others.
    let rest = rest.replacen(scripts, &format!("{scripts}{} ", hash(script)), 1);
    let page = format!("{head}{POLICY}{rest}");
    let element = format!("<script>{script}</script>");
    match at {
        Place::First => page.replacen("<body>", &format!("<body>{element}"), 1),
        Place::Last => {
            let end = page.rfind("</body>").expect("a page with a body");
            format!("{}{element}{}", &page[..end], &page[end..])
        }
    }
}

/// Opens a page in Chromium, by `tools/screenshot.sh`, and returns what the console says but for the notes of our own scripts and of
/// graphics drivers: what its policy forbids, and errors of its scripts.
///
/// # Panics
/// If there is no Chromium, or if it cannot open the page.
pub fn complaints(page: &Path) -> Vec<String> {
    let log = page.with_extension("log");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/screenshot.sh");
    let run = Command::new("sh").arg(script).arg(page).arg(&log).args(["1200", "1000"]).output().expect("a shell");
    assert!(run.status.success(), "{}: {}", page.display(), String::from_utf8_lossy(&run.stderr));
    let said = std::fs::read_to_string(&log).expect("what the console says");
    let _ = std::fs::remove_file(&log);
    let is_note = |line: &str| line.contains("\"dermis: ") || line.contains("GL Driver Message");
    said.lines().filter(|line| !is_note(line)).map(String::from).collect()
}

/// Where a script stands among those of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before all of them.
    First,
    /// After all of them.
    Last,
}

/// The hash of a script or style as a policy has it.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// The inside of the next tag, and what follows it.
fn next_tag(html: &str) -> Option<(&str, &str)> {
    let start = html.find('<')? + 1;
    let mut quote = None;
    let end = html[start..].find(|c| match quote {
        Some(open) => {
            if c == open {
                quote = None;
            }
            false
        }
        None if c == '"' || c == '\'' => {
            quote = Some(c);
            false
        }
        None => c == '>',
    })?;
    Some((&html[start..start + end], &html[start + end + 1..]))
}

/// Names, in small letters, and values of the attributes in a tag.
fn attributes(tag: &str) -> Vec<(String, String)> {
    let (mut found, mut rest) = (Vec::new(), tag.trim_start());
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '/').unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start();
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            let (text, more) = match after.chars().next() {
                Some(open @ ('"' | '\'')) => after[1..].split_once(open).unwrap_or((&after[1..], "")),
                _ => after.split_once(char::is_whitespace).unwrap_or((after, "")),
            };
            value = text.into();
            rest = more.trim_start();
        } else if let Some(after) = rest.strip_prefix('/') {
            rest = after.trim_start();
        }
        if !name.is_empty() {
            found.push((name, value));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(policy: &str, head: &str, body: &str) -> String {
        format!("<!doctype html><html><head>{POLICY}{policy}\">{head}</head><body>{body}</body></html>")
    }

    /// What a browser would run is found, whatever the case of its letters and its quotes.
    #[test]
    fn what_is_not_the_pages_own_is_found() {
        let policy = format!("default-src 'none'; style-src {}; script-src {}", hash("b{}"), hash("go()"));
        let good = page(
            &policy,
            "<style>b{}</style>",
            "<script>go()</script><script type=\"application/json\">{\"a\": \"<b style='x'>\"}</script><a href=\"#x\">x</a>",
        );
        assert_eq!(faults(&good), [""; 0]);
        for (part, bad) in [
            ("b{}", "b{color:red}"),
            ("go()", "stay()"),
            ("default-src 'none'", "default-src 'self'"),
            ("script-src ", "script-src 'unsafe-inline' "),
            ("<a href=\"#x\">", "<a href=\"#x\" style=\"color:red\">"),
            ("<a href=\"#x\">", "<a href=\"#x\" onClick='go()'>"),
            ("<a href=\"#x\">", "<a href=' JavaScript:go()'>"),
            ("<a href=\"#x\">", "<img src=//x.org/x.png>"),
            ("<a href=\"#x\">", "<iframe></iframe>"),
            ("<a href=\"#x\">", "<script>more()</script>"),
            ("application/json", "module"),
            ("Content-Security-Policy", "Refresh"),
        ] {
            assert!(good.contains(part));
            assert_ne!(faults(&good.replace(part, bad)), [""; 0], "{bad}");
        }
    }

    #[test]
    fn a_page_with_a_script_of_a_test_is_sound() {
        let still = page("default-src 'none'; style-src 'none'; script-src 'none'", "", "<p>x</p>");
        for place in [Place::First, Place::Last] {
            let made = with_script(&still, place, "go()");
            assert_eq!(faults(&made), [""; 0]);
            assert_eq!(made.find("<script>") < made.find("<p>"), place == Place::First);
        }
    }
}
