//! `cargo xtask corpus`: files that others made, held against an independent reading by `tools/corpus.py`; and the same on a
//! miniature of each kind of file, which `tools/corpus_miniature.py` writes.

use crate::bpy;
use crate::steps::{Outcome, of};
use crate::tools::{python_with, three};
use crate::usage::usage;
use crate::workspace::{Build, dermis, target};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What is missing without NumPy.
const MISSING: &str = "a Python that can import numpy";

/// What is wanted of a run.
#[derive(Debug, PartialEq)]
struct Options<'a> {
    folder: &'a str,
    /// `inspect` and `convert` alone.
    quick: bool,
    /// Where the table goes.
    out: Option<&'a str>,
}

impl<'a> Options<'a> {
    fn of(arguments: &[&'a str]) -> Result<Self, String> {
        let (mut folder, mut quick, mut out) = (None, false, None);
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            match argument {
                "--quick" => quick = true,
                "--out" => out = Some(*rest.next().ok_or("--out needs a file")?),
                option if option.starts_with('-') => return Err(format!("\"{option}\" is not understood here")),
                name if folder.is_none() => folder = Some(name),
                extra => return Err(format!("\"{extra}\" is one folder too many")),
            }
        }
        Ok(Self { folder: folder.ok_or("corpus needs a folder")?, quick, out })
    }
}

/// Compares the files of a folder; fails if one of them is wrong.
pub fn run(arguments: &[&str]) -> ExitCode {
    let options = match Options::of(arguments) {
        Ok(options) => options,
        Err(mistake) => return usage(&mistake),
    };
    let (Some(program), Some(python)) = (dermis(Build::Tests), python_with("numpy")) else {
        eprintln!("error: needs the program, which is built, and {MISSING}");
        return ExitCode::FAILURE;
    };
    // Paths are the caller's, and the comparison runs in the folder of the workspace.
    let Ok(here) = std::env::current_dir() else {
        eprintln!("error: the current folder is gone");
        return ExitCode::FAILURE;
    };
    let mut compare = compare(&python, &program, &here.join(options.folder));
    if options.quick {
        compare.arg("--quick");
    } else {
        compare.args(three().into_iter().flat_map(|three| ["--three".into(), three]));
        compare.args(bpy::pythons().into_iter().flat_map(|python| ["--blender".into(), python]));
    }
    if let Some(out) = options.out {
        compare.arg("--out").arg(here.join(out));
    }
    match of(&mut compare) {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Failed | Outcome::NotRun(_) => ExitCode::FAILURE,
    }
}

/// The step of `test`: a miniature of each kind of file.
pub fn step(program: Option<&PathBuf>) -> Outcome {
    let Some(program) = program else { return Outcome::Failed };
    let Some(python) = python_with("numpy") else { return Outcome::NotRun(MISSING.into()) };
    let folder = target().join("xtask/corpus");
    match of(Command::new(&python).arg("tools/corpus_miniature.py").arg(&folder)) {
        Outcome::Passed => of(&mut compare(&python, program, &folder)),
        other => other,
    }
}

fn compare(python: &Path, program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg("tools/corpus.py").arg(program).arg(folder);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_mistakes_are_told() {
        let read = Options { folder: "models", quick: true, out: Some("corpus.md") };
        assert_eq!(Options::of(&["--quick", "models", "--out", "corpus.md"]), Ok(read));
        for wrong in [&[][..], &["a", "b"], &["a", "--out"], &["a", "--fast"]] {
            assert!(Options::of(wrong).is_err(), "{wrong:?}");
        }
    }
}
