//! `fuzz-seeds DIR` writes what the fuzzer starts from: `DIR/TARGET/NUMBER`, and the words of its format, `DIR/TARGET.dict`.

use dermis_fuzz::{seeds, targets};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).ok_or_else(|| Error::new(ErrorKind::InvalidInput, "name a folder"))?;
    let folder = PathBuf::from(folder);
    for target in targets::ALL {
        let place = folder.join(target.name);
        std::fs::create_dir_all(&place)?;
        for (at, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(place.join(format!("seed-{at}")), seed)?;
        }
        write_words(&folder, target.name, target.words)?;
    }
    for (target, name, bytes) in seeds::known() {
        std::fs::write(folder.join(target).join(name.replace(' ', "-")), bytes)?;
    }
    Ok(())
}

/// A dictionary as libFuzzer reads it. Words are written as it takes them, with their escapes.
fn write_words(folder: &Path, name: &str, words: &[&str]) -> std::io::Result<()> {
    let quoted = |word: &&str| {
        // Quotes that the table does not escape itself.
        let mut text = String::new();
        for c in word.chars() {
            if c == '"' && !text.ends_with('\\') {
                text.push('\\');
            }
            text.push(c);
        }
        format!("\"{text}\"\n")
    };
    // An empty dictionary is an error to libFuzzer, a comment is none.
    let text = format!("# Words of {name}.\n{}", words.iter().map(quoted).collect::<String>());
    std::fs::write(folder.join(format!("{name}.dict")), text)
}
