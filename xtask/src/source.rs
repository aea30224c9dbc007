//! Reading Rust source as far as the rules of [`deps`](crate::deps) need: tokens without comments and strings, the code
//! that is not tests, and a few patterns in it. Not a parser: macros are seen as written, names as spelt.

use std::path::{Path, PathBuf};

/// An identifier, or one character of punctuation.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its text; `"` for a literal.
    pub text: String,
    /// What a literal says, as written; empty for other tokens.
    pub said: String,
    /// Its line, from 1.
    pub line: usize,
}

/// Something found where it must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Ban {
    /// What, as written.
    pub what: String,
    /// Its line, from 1.
    pub line: usize,
}

/// All Rust files below `folder`, sorted, without build outputs and hidden folders.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
            let (path, name) = (entry.path(), entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && name != "target" && !name.to_string_lossy().starts_with('.') {
                waiting.push(path);
            } else if !is_folder && path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a file below `src` holds a test module by its name: `tests.rs`, or anything in a folder `tests`.
pub fn is_test_module(file: &Path) -> bool {
    file.file_stem().is_some_and(|stem| stem == "tests")
        || file.parent().is_some_and(|folder| folder.components().any(|part| part.as_os_str() == "tests"))
}

/// The tokens of `text`. Comments are dropped; a literal is one token `"`, whatever it says.
pub fn tokens(text: &str) -> Vec<Token> {
    let c: Vec<char> = text.chars().collect();
    let at = |i: usize| c.get(i).copied().unwrap_or('\0');
    let is_word = |x: char| x.is_alphanumeric() || x == '_';
    let (mut found, mut i, mut line) = (Vec::new(), 0, 1);
    while i < c.len() {
        let start = i;
        let mut token = None;
        match c[i] {
            '/' if at(i + 1) == '/' => i += c[i..].iter().take_while(|&&x| x != '\n').count(),
            '/' if at(i + 1) == '*' => i = end_of_block_comment(&c, i),
            '"' => {
                i = end_of_string(&c, i + 1);
                token = Some("\"".to_owned());
            }
            // 'a' and '\n' are characters, 'a without a closing quote is a lifetime.
            '\'' if at(i + 1) == '\\' || at(i + 2) == '\'' => {
                i += if at(i + 1) == '\\' { 3 } else { 2 };
                i += c[i.min(c.len())..].iter().take_while(|&&x| x != '\'').count() + 1;
                token = Some("\"".to_owned());
            }
            x if is_word(x) => {
                i += c[i..].iter().take_while(|&&x| is_word(x)).count();
                let word: String = c[start..i].iter().collect();
                let hashes = c[i..].iter().take_while(|&&x| x == '#').count();
                if matches!(word.as_str(), "r" | "br" | "cr") && at(i + hashes) == '"' {
                    i = end_of_raw_string(&c, i + hashes + 1, hashes);
                    token = Some("\"".to_owned());
                } else if matches!(word.as_str(), "b" | "c") && matches!(at(i), '"' | '\'') {
                    // The prefix of a literal: the literal follows.
                } else {
                    token = Some(word);
                }
            }
            x => {
                i += 1;
                token = (!x.is_whitespace()).then(|| x.to_string());
            }
        }
        i = i.min(c.len());
        found.extend(token.map(|text| {
            let said = if text == "\"" { c[start..i].iter().collect() } else { String::new() };
            Token { text, said, line }
        }));
        line += c[start..i].iter().filter(|&&x| x == '\n').count();
    }
    found
}

/// One past a `/* /* */ */` that starts at `i`.
fn end_of_block_comment(c: &[char], mut i: usize) -> usize {
    let mut depth = 0;
    while i < c.len() {
        match c[i..].get(..2) {
            Some(['/', '*']) => (depth, i) = (depth + 1, i + 2),
            Some(['*', '/']) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

/// One past the closing quote of a string whose text starts at `i`.
fn end_of_string(c: &[char], mut i: usize) -> usize {
    while i < c.len() && c[i] != '"' {
        i += if c[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// One past the closing quote and hashes of a raw string whose text starts at `i`.
fn end_of_raw_string(c: &[char], mut i: usize, hashes: usize) -> usize {
    while i < c.len() {
        let closes = c[i] == '"' && c[i + 1..].iter().take(hashes).filter(|&&x| x == '#').count() == hashes;
        i += 1;
        if closes {
            return i + hashes;
        }
    }
    i
}

/// The tokens without the items under `#[cfg(test)]`.
pub fn without_tests(tokens: &[Token]) -> Vec<Token> {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let is_test =
            tokens.len() - i >= ATTRIBUTE.len() && (0..ATTRIBUTE.len()).all(|j| tokens[i + j].text == ATTRIBUTE[j]);
        if is_test {
            i = end_of_item(tokens, i + ATTRIBUTE.len());
        } else {
            kept.push(tokens[i].clone());
            i += 1;
        }
    }
    kept
}

/// One past the item that starts at `i`: past its semicolon, or past its braces.
fn end_of_item(tokens: &[Token], mut i: usize) -> usize {
    let mut depth = 0i32;
    while i < tokens.len() {
        let text = tokens[i].text.as_str();
        i += 1;
        match text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(text, ";" | "}") {
            break;
        }
    }
    i
}

/// Places where one of `names` stands as an identifier.
pub fn identifiers(tokens: &[Token], names: &[&str]) -> Vec<Ban> {
    let named = tokens.iter().filter(|token| names.contains(&token.text.as_str()));
    named.map(|token| Ban { what: format!("`{}`", token.text), line: token.line }).collect()
}

/// Identifiers one of whose words is in `words`: `BoneIndex` and `bone_index` consist of `bone` and `index`.
pub fn words(tokens: &[Token], words: &[&str]) -> Vec<Ban> {
    let has = |token: &&Token| split_words(&token.text).iter().any(|word| words.contains(&word.as_str()));
    tokens.iter().filter(has).map(|token| Ban { what: format!("`{}`", token.text), line: token.line }).collect()
}

fn split_words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_capital = true;
    for x in identifier.chars() {
        if x == '_' || (x.is_uppercase() && !after_capital) {
            words.push(String::new());
        }
        after_capital = x.is_uppercase();
        if x != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(x.to_lowercase());
        }
    }
    words
}

/// Files, environment, network, processes, standard streams, and the choice of a thread pool.
pub fn openings(tokens: &[Token]) -> Vec<Ban> {
    const MODULES: [&str; 4] = ["fs", "env", "net", "process"];
    const STREAMS: [&str; 3] = ["stdin", "stdout", "stderr"];
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let mut bans = identifiers(tokens, &["ThreadPoolBuilder", "build_global"]);
    for (i, token) in tokens.iter().enumerate() {
        let members: &[&str] = match token.text.as_str() {
            "std" => &MODULES,
            "io" => &STREAMS,
            _ => continue,
        };
        if text(i + 1) == ":" && text(i + 2) == ":" {
            let found = first_segments(tokens, i + 3).into_iter().filter(|name| members.contains(&name.text.as_str()));
            bans.extend(found.map(|name| Ban { what: format!("`{}::{}`", token.text, name.text), line: name.line }));
        }
    }
    bans
}

/// What a browser does not have: the clock and the files of the standard library.
pub fn of_a_system(tokens: &[Token]) -> Vec<Ban> {
    const LOOKS: [&str; 8] =
        ["canonicalize", "exists", "is_dir", "is_file", "is_symlink", "read_dir", "symlink_metadata", "try_exists"];
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let mut bans = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let members: &[&str] = match (token.text.as_str(), text(i + 1), text(i + 2)) {
            ("std", ":", ":") => &["fs"],
            ("time", ":", ":") => &["Instant", "SystemTime"],
            (".", looks, "(") if LOOKS.contains(&looks) => {
                bans.push(Ban { what: format!("`.{looks}()`"), line: token.line });
                continue;
            }
            _ => continue,
        };
        let found = first_segments(tokens, i + 3).into_iter().filter(|name| members.contains(&name.text.as_str()));
        bans.extend(found.map(|name| Ban { what: format!("`{}::{}`", token.text, name.text), line: name.line }));
    }
    bans
}

/// Shifts of a plain literal beyond 32 bits, such as `8 << 30`: in a `usize` of 32 bits they are zero. `8u64 << 30` says its size.
pub fn wide_shifts(tokens: &[Token]) -> Vec<Ban> {
    let number = |token: &Token| token.text.replace('_', "").parse::<u32>().ok();
    let wide = |four: &[Token]| {
        let (value, by) = (number(&four[0])?, number(&four[3])?);
        let is_wide = four[1].text == "<" && four[2].text == "<" && value.checked_ilog2().unwrap_or(0) + by >= 32;
        is_wide.then(|| Ban { what: format!("`{value} << {by}`"), line: four[0].line })
    };
    tokens.windows(4).filter_map(wide).collect()
}

/// Macros that print.
pub fn printing(tokens: &[Token]) -> Vec<Ban> {
    const MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
    let calls = tokens.windows(2).filter(|two| MACROS.contains(&two[0].text.as_str()) && two[1].text == "!");
    calls.map(|two| Ban { what: format!("`{}!`", two[0].text), line: two[0].line }).collect()
}

/// Literals that hold a tag of HTML or SVG: `<p>`, `</td>`, `<rect `. `<FILE>` and `a < b` are none.
pub fn markup(tokens: &[Token]) -> Vec<Ban> {
    let tag = |token: &Token| {
        token.said.match_indices('<').find_map(|(at, _)| {
            let rest = &token.said[at + 1..];
            let rest = rest.strip_prefix('/').unwrap_or(rest);
            let name = rest.find(|x: char| !x.is_ascii_lowercase() && !x.is_ascii_digit()).map(|end| &rest[..end])?;
            let closes = rest[name.len()..].starts_with(['>', ' ', '/']);
            (closes && name.starts_with(|x: char| x.is_ascii_lowercase())).then(|| name.to_owned())
        })
    };
    let found = tokens.iter().filter_map(|token| Some((tag(token)?, token.line)));
    found.map(|(name, line)| Ban { what: format!("`<{name}>`"), line }).collect()
}

/// What follows `std::`: one name, or the first name of each path in braces. `std::{fs, io::{self, Read}}` has fs and io.
fn first_segments(tokens: &[Token], start: usize) -> Vec<&Token> {
    if tokens.get(start).is_none_or(|token| token.text != "{") {
        return tokens.get(start).into_iter().collect();
    }
    let (mut found, mut depth, mut expects_name) = (Vec::new(), 0, true);
    for token in &tokens[start..] {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => expects_name = true,
            _ if depth == 1 && expects_name => {
                found.push(token);
                expects_name = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(bans: Vec<Ban>) -> Vec<(String, usize)> {
        bans.into_iter().map(|ban| (ban.what.replace('`', ""), ban.line)).collect()
    }

    #[test]
    fn tags_are_found_in_literals_alone() {
        let text = "let a = \"<p>x</p>\"; let b: Vec<p> = c; // <td>\nlet d = format!(\"<rect x=1/>\");\nlet e = \"dermis fit <FILE>, a <b\";";
        assert_eq!(whats(markup(&tokens(text))), [("<p>".to_owned(), 1), ("<rect>".to_owned(), 2)]);
    }

    #[test]
    fn comments_and_literals_hold_no_code() {
        let text = r####"
            // unsafe
            /* unsafe /* unsafe */ unsafe */
            /// unsafe
            let a = "unsafe \" unsafe"; let b = r#"unsafe " unsafe"#; let c = b"unsafe"; let d = br"unsafe\";
            let e = '"'; let f = '\''; let g = '\\'; let h = b'"'; let i = '\u{41}'; let j: &'static str = "x";
            unsafe {}"####;
        assert_eq!(whats(identifiers(&tokens(text), &["unsafe"])), [("unsafe".into(), 7)]);
        for cut in 0..text.len() {
            tokens(&text[..cut]); // ends, whatever is left open
        }
    }

    #[test]
    fn tests_are_left_out_and_what_follows_is_not() {
        let text = "#[cfg(test)] use std::fs; #[cfg(test)] #[allow(x)] mod tests { fn f() { std::fs::read(); } }
            #[cfg(test)] const A: [u8; 2] = [0; 2];
            fn g() { std::env::var(); }";
        assert_eq!(whats(openings(&without_tests(&tokens(text)))), [("std::env".into(), 3)]);
    }

    #[test]
    fn what_is_opened_is_seen_however_it_is_imported() {
        for (text, expected) in [
            ("use std::fs::File;", "std::fs"),
            ("use std::{collections::HashMap, fs};", "std::fs"),
            ("use std::{io::{self, Read}, env::var};", "std::env"),
            ("let t = ::std::process::id();", "std::process"),
            ("writeln!(std::io::stderr(), \"x\");", "io::stderr"),
            ("rayon::ThreadPoolBuilder::new();", "ThreadPoolBuilder"),
        ] {
            assert_eq!(whats(openings(&tokens(text))), [(expected.into(), 1)], "{text}");
        }
        for fine in ["use std::{fmt, io::Read};", "let env = 3; fs::x;", "use std::io::{self, Cursor};", "env!(\"X\")"]
        {
            assert_eq!(openings(&tokens(fine)), [], "{fine}");
        }
    }

    #[test]
    fn what_a_browser_lacks_is_seen_however_it_is_imported() {
        for (text, expected) in [
            ("use std::time::Instant;", "time::Instant"),
            ("use std::time::{Duration, Instant};", "time::Instant"),
            ("let t = std::time::SystemTime::now();", "time::SystemTime"),
            ("use std::{fs, io};", "std::fs"),
            ("if path.is_dir() {}", ".is_dir()"),
            ("folder.join(a).exists()", ".exists()"),
        ] {
            assert_eq!(whats(of_a_system(&tokens(text))), [(expected.into(), 1)], "{text}");
        }
        for fine in ["use dermis_rig::clock::Instant;", "use std::time::Duration;", "place::is_dir(path)", "a.exists"] {
            assert_eq!(of_a_system(&tokens(fine)), [], "{fine}");
        }
    }

    #[test]
    fn shifts_that_lose_bits_are_seen() {
        for (text, expected) in [("8 << 30", "8 << 30"), ("(1 << 32) - 1", "1 << 32"), ("1_0 << 29", "10 << 29")] {
            assert_eq!(whats(wide_shifts(&tokens(text))), [(expected.into(), 1)], "{text}");
        }
        for fine in ["1 << 31", "8u64 << 30", "a << 40", "7 << 29", "0 << 31", "1 < 40"] {
            assert_eq!(wide_shifts(&tokens(fine)), [], "{fine}");
        }
    }

    #[test]
    fn printing_is_seen() {
        let text =
            "/// println!(1)\n#[cfg(test)] fn f() { println!() }\nfn g() { std::eprint!(); print(1); writeln!(x) }";
        assert_eq!(whats(printing(&without_tests(&tokens(text)))), [("eprint!".into(), 3)]);
    }

    #[test]
    fn identifiers_are_split_into_words() {
        let text = "fn transpose(boneless: u8, BoneIndex, bone_index, principal_axes, FROZEN_BONE, ofBone)";
        let found = whats(words(&tokens(text), &["bone", "pose", "axis"]));
        let found: Vec<_> = found.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(found, ["BoneIndex", "bone_index", "FROZEN_BONE", "ofBone"]);
    }
}
