//! What is compiled without the feature `formats` names nothing that is not: `cargo xtask c` compiles it so, the tests do not.

use std::path::{Path, PathBuf};

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn what_stays_names_no_format() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let library = std::fs::read_to_string(source.join("lib.rs")).unwrap();
    let lines: Vec<&str> = library.lines().collect();
    let gated: Vec<&str> = lines
        .windows(2)
        .filter(|pair| pair[0] == "#[cfg(feature = \"formats\")]")
        .map(|pair| pair[1].rsplit(' ').next().unwrap().trim_end_matches(';'))
        .collect();
    assert!(gated.contains(&"gltf") && gated.contains(&"surface"), "{gated:?}");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let mut checked = 0;
    for file in files {
        let module = file.strip_prefix(&source).unwrap().components().next().unwrap();
        let module = Path::new(&module).file_stem().unwrap().to_str().unwrap();
        if module == "lib" || gated.contains(&module) {
            continue;
        }
        checked += 1;
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            // A path, or one of several names that are taken from the crate at once.
            let several = line.trim_start().starts_with("use crate::{");
            let words = || line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let named = gated.iter().find(|gated| {
                line.contains(&format!("crate::{gated}")) || (several && words().any(|word| word == **gated))
            });
            assert!(named.is_none(), "{}:{}: {} is there with the feature formats alone", file.display(), at + 1, line);
        }
    }
    assert!(checked > 15, "{checked} files");
}
