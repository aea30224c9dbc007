//! The program as a user meets it: the real binary on small files that the tests make.

mod animate;
mod appearance;
mod beneath;
mod chains;
mod compile;
mod convert;
mod crowd;
mod decompose;
mod exercise;
mod figures;
mod files;
mod fit;
mod headline;
mod inspect;
mod interrupt;
mod invert;
mod invert_program;
mod little_memory;
mod markers;
mod objects;
mod outputs;
mod pages;
mod pass;
mod pose_space;
mod provenance;
mod recipes;
mod refusals;
mod report;
mod retarget;
mod rig;
mod sculpts;
mod secondary;
mod session;
mod snapshots;
mod stacks;
mod stream;
mod studio;
mod suggest;
mod terminal;
mod transfer;
mod tube;
mod verbs;
mod view;
mod viewer;
mod weights;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder of its own to run the program in.
struct Desk {
    folder: TempDir,
}

/// What a run gave.
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
    }
    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
    /// Names in the folder, sorted; temporary files of an interrupted write would show up here.
    fn names(&self, below: &str) -> Vec<String> {
        let list = std::fs::read_dir(self.folder.path().join(below)).unwrap();
        let mut names: Vec<String> = list.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dermis"));
        command.current_dir(self.folder.path()).args(line.split_whitespace());
        command
    }
    /// Runs a command line whose words hold no spaces.
    fn run(&self, line: &str) -> Run {
        self.run_with(line, &[])
    }
    /// Runs a command line followed by words that may hold spaces.
    fn run_with(&self, line: &str, words: &[&str]) -> Run {
        let Output { status, stdout, stderr } = self.command(line).args(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let run = Run { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) };
        assert!(!run.err.contains("panicked"), "dermis {line}\n{}", run.err);
        run
    }
    /// Runs a command line that must succeed.
    fn good(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, 0, "dermis {line}\n{}{}", run.out, run.err);
        run
    }
    /// Runs a command line that must print one JSON value and nothing else on standard output.
    fn json(&self, line: &str) -> Value {
        let run = self.good(line);
        serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("dermis {line}: {e}\n{}", run.out))
    }
    /// Runs a command line that must fail with exit code 2 and a message with all of `says`.
    fn bad(&self, line: &str, says: &[&str]) {
        let run = self.run(line);
        assert_eq!(run.code, 2, "dermis {line}\n{}{}", run.out, run.err);
        assert!(run.out.is_empty(), "dermis {line}: nothing on standard output, but\n{}", run.out);
        let message =
            run.err.lines().find(|l| l.starts_with("error: ")).unwrap_or_else(|| panic!("{line}\n{}", run.err));
        assert!(message.len() < 400, "{message}");
        for word in says {
            assert!(run.err.contains(word), "dermis {line}: \"{word}\" is not in\n{}", run.err);
        }
    }
}

impl Drop for Desk {
    /// What a test wrote is looked at when its desk is put away: pages run their own scripts alone, and nothing names the folder.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            look_through(self.folder.path(), self.folder.path());
        }
    }
}

/// Looks at every file below `folder`, for pages that run what is not their own, and for the path of `desk`.
fn look_through(folder: &Path, desk: &Path) {
    let here = desk.display().to_string();
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        let ending = path.extension().map_or(String::new(), |ending| ending.to_string_lossy().into_owned());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look_through(&path, desk);
            continue;
        }
        // A pipe would be waited for.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(bytes) = std::fs::read(&path) else { continue };
        if ending == "html" && bytes.starts_with(b"<!doctype html>") {
            let faults = dermis_testkit::pages::faults(&String::from_utf8_lossy(&bytes));
            assert!(faults.is_empty(), "{}: {faults:?}", path.display());
        }
        let mut texts = vec![String::from_utf8_lossy(&bytes).into_owned()];
        // A bundle is an archive of arrays. Texts in them have letters of four bytes each.
        if let Ok(mut archive) = zip::ZipArchive::new(std::io::Cursor::new(&bytes)) {
            for at in 0..archive.len() {
                let mut part = Vec::new();
                if archive.by_index(at).is_ok_and(|mut file| std::io::Read::read_to_end(&mut file, &mut part).is_ok()) {
                    texts.push(part.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect());
                }
            }
        }
        assert!(!texts.iter().any(|text| text.contains(&here)), "{} names the folder of the test", path.display());
    }
}

/// A number inside a JSON value: "error.rms".
fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(value, |v, key| &v[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is {found}"))
}

/// Keys of a JSON object, in order.
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Whether the file is there.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
