//! `cargo xtask test`: everything a commit must pass. A step that fails does not hide the ones after it; a check whose
//! tool is missing is told at the end, and does not count as passed.

use crate::{cargo, deps, oracle_command, root, tools};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How a step ended.
enum Outcome {
    Passed,
    Failed,
    /// What is missing.
    NotRun(String),
}

/// A program's exit code for "the tool I need is not here", as in `tools/screenshot.sh`.
const TOOL_IS_MISSING: i32 = 3;

/// Runs all steps, in the order in which a mistake is found soonest, on the whole workspace: its tools are code, too.
pub fn run(install_tools: bool) -> ExitCode {
    let mut steps = Steps { done: Vec::new(), start: Instant::now() };
    let mut notes = Vec::new();
    if install_tools {
        headline("optional tools");
        notes = tools::install();
    }
    steps.run("format", || of(cargo("fmt").args(["--all", "--check"])));
    steps.run("deps", || match deps::check() {
        Ok(summary) => {
            println!("{summary}");
            Outcome::Passed
        }
        Err(findings) => {
            println!("{findings}");
            Outcome::Failed
        }
    });
    steps.run("clippy", || of(cargo("clippy").args(["--workspace", "--all-targets", "--", "-D", "warnings"])));
    steps.run("tests", || match tools::answers(cargo("nextest").arg("--version")) {
        true => of(cargo("nextest").args(["run", "--workspace", "--no-fail-fast"])),
        false => of(cargo("test").args(["--workspace", "--tests", "--no-fail-fast"])),
    });
    steps.run("documentation tests", || of(cargo("test").args(["--workspace", "--doc", "--no-fail-fast"])));
    // Libraries alone: the program would overwrite the pages of the library of its name.
    let documentation = ["--workspace", "--lib", "--no-deps", "--keep-going"];
    steps.run("documentation", || of(cargo("doc").args(documentation).env("RUSTDOCFLAGS", "-D warnings")));
    steps.run("oracle", || of(oracle_command().arg(root().join("crates/dermis-oracle/cases"))));
    steps.run("report page in a browser", browser);
    steps.run("bundled body in the glTF validator", || {
        // Blender hangs a skinned mesh below its armature. That node is at the origin, so nothing is lost.
        let ignored = ["--ignore", "NODE_SKINNED_MESH_NON_ROOT"];
        of(Command::new("node").arg("tools/validate_gltf.mjs").args(ignored).arg("assets/body/body.glb"))
    });
    steps.run("bundled body", || match tools::python_with("numpy") {
        Some(python) => of(Command::new(python).args(["tools/make_body.py", "--check", "assets/body"])),
        None => Outcome::NotRun("a Python that can import numpy".into()),
    });
    steps.run("bundled walk in Blender", || match std::env::var_os("DERMIS_BLENDER_PYTHON") {
        Some(python) => {
            let files = ["assets/body/body.glb", "assets/body/body_walk.npz"];
            of(Command::new(python).arg("tools/check_blender.py").args(files).args(["--clip", "walk", "--linear"]))
        }
        None => Outcome::NotRun("DERMIS_BLENDER_PYTHON, a Python that can import bpy".into()),
    });
    steps.summary(&notes)
}

/// What ran, in order.
struct Steps {
    done: Vec<(&'static str, Outcome, Duration)>,
    start: Instant,
}

impl Steps {
    fn run(&mut self, name: &'static str, step: impl FnOnce() -> Outcome) {
        headline(name);
        let start = Instant::now();
        let outcome = step();
        self.done.push((name, outcome, start.elapsed()));
    }

    fn summary(&self, notes: &[String]) -> ExitCode {
        headline("summary");
        for (name, outcome, time) in &self.done {
            let outcome = match outcome {
                Outcome::Passed => "passed",
                Outcome::Failed => "FAILED",
                Outcome::NotRun(_) => "not run",
            };
            println!("{outcome:>8} {:>7.1} s  {name}", time.as_secs_f64());
        }
        for note in notes {
            println!("{note}");
        }
        for (name, outcome, _) in &self.done {
            if let Outcome::NotRun(missing) = outcome {
                println!("NOT RUN: {name}: needs {missing}");
            }
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let failed: Vec<_> = self.done.iter().filter(|(_, o, _)| matches!(o, Outcome::Failed)).map(|s| s.0).collect();
        if failed.is_empty() {
            println!("cargo xtask test: all is well after {seconds:.0} s");
            ExitCode::SUCCESS
        } else {
            println!("cargo xtask test: FAILED after {seconds:.0} s: {}", failed.join(", "));
            ExitCode::FAILURE
        }
    }
}

fn headline(name: &str) {
    println!("\n==== {name} ====");
}

/// Runs a command in the workspace's folder. What it says goes where ours goes; it is asked nothing.
fn of(command: &mut Command) -> Outcome {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.current_dir(root()).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) if status.code() == Some(TOOL_IS_MISSING) => Outcome::NotRun("a tool, named above".into()),
        Ok(status) => {
            println!("{program}: {status}");
            Outcome::Failed
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Outcome::NotRun(program),
        Err(error) => {
            println!("{program} does not start: {error}");
            Outcome::Failed
        }
    }
}

/// The tests of the report page pass without a browser; whether one is here is asked in the way they ask.
fn browser() -> Outcome {
    let folder = root().join("target/xtask");
    let page = folder.join("page.html");
    let text = "<!doctype html><title>Is there a browser?</title><p>Yes.";
    if let Err(error) = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&page, text)) {
        println!("{}: {error}", page.display());
        return Outcome::Failed;
    }
    let outcome = of(Command::new("sh").arg("tools/screenshot.sh").arg(&page).arg(folder.join("page.png")));
    if matches!(outcome, Outcome::Passed) {
        println!("a browser is here: the tests of the report page, above, have drawn in it");
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_neither_passed_nor_failed() {
        let exits = |code: &str| of(Command::new("sh").args(["-c", &format!("exit {code}")]));
        assert!(matches!(exits("0"), Outcome::Passed));
        assert!(matches!(exits("1"), Outcome::Failed));
        assert!(matches!(exits("3"), Outcome::NotRun(_)));
        let missing = of(&mut Command::new("dermis-tool-that-nobody-has"));
        assert!(matches!(missing, Outcome::NotRun(what) if what == "dermis-tool-that-nobody-has"));
    }
}
