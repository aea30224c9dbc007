//! One table of models and poses for every way to run a model: the reference's positions, written by an example of the façade
//! crate, which checks Rust's own runner; then C and Python. JavaScript is held to the models that morph targets express by its
//! own tests (`crates/dermis-workflow/tests/browser`), a graphics card to the same models by those of `dermis-gpu`.

use crate::python::python;
use crate::steps::{Outcome, of};
use crate::tools::answers;
use crate::workspace::{Build, program, root, target};
use std::path::PathBuf;
use std::process::Command;

/// What a static library of Rust needs of the system (`rustc --print native-static-libs`).
const SYSTEM: &[&str] = match cfg!(target_os = "linux") {
    true => &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"],
    false => &["-lm"],
};

/// Writes the table and checks Rust.
pub fn rust() -> Outcome {
    match program("dermis", "examples/conformance_table", Build::Tests) {
        Some(example) => of(Command::new(example).arg(table())),
        None => Outcome::Failed,
    }
}

/// Checks the C library, linked into a program.
pub fn c() -> Outcome {
    if !answers(Command::new("cc").arg("--version")) {
        return Outcome::NotRun("cc".into());
    }
    let (folder, program) = (root().join("crates/dermis-c"), target().join("conformance_c"));
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-O1", "-I"]).arg(folder.join("include")).arg("-o").arg(&program);
    compile.arg(folder.join("tests/conformance.c")).arg(target().join("debug/libdermis_c.a")).args(SYSTEM);
    match of(&mut compile) {
        Outcome::Passed => of(Command::new(program).arg(table())),
        other => other,
    }
}

/// Checks the Python package, which is installed.
pub fn of_python() -> Outcome {
    match answers(Command::new(python()).args(["-c", "import dermis"])) {
        true => of(Command::new(python()).args(["-m", "dermis.conformance"]).arg(table())),
        false => Outcome::NotRun("the Python package, installed by its own step".into()),
    }
}

fn table() -> PathBuf {
    target().join("conformance")
}
