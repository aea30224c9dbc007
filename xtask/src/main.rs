//! `cargo xtask VERB`: the chores of this workspace. Needs Rust (with rustfmt and clippy) and a C compiler; every other
//! tool is optional, and its absence is told.

mod accuracy;
mod bench;
mod commit;
mod deps;
mod gpu;
mod source;
mod tools;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask VERB
  test [--install-tools]  everything a commit must pass
  oracle DIR [--only FILE]
                          compare the toolkit with a folder of expected numbers
  accuracy [DIR]          the tables of docs/accuracy.md: the bundled body, and the characters DIR holds
  bench decompose DIR [--json OUT] [--seeds N]
                          skinning decomposition beside Dem Bones and published figures (docs/decomposition.md)
  bench evaluate [--json OUT] [--quick]
                          vertices per second of every model beside NumPy, SciPy, libigl and memory (docs/performance.md)
  bench fit [--json OUT] [--quick]
                          seconds of multi-weight enveloping beside NumPy and arithmetic (docs/performance.md)
  bench inverse [--json OUT]
                          calls of a deformer that its inverse takes (docs/inverse.md)
  bench suggest [DIR] [--json OUT] [--draws N] [--starts N]
                          poses that dermis suggest names beside poses drawn at random (docs/suggest.md)
  deps                    which crate may use which, and what the sources of a crate must not contain

--install-tools also installs the optional tools it can: Chromium, a graphics adapter in software (lavapipe) and the
checkers spirv-val and glslangValidator (as root, with apt-get), the npm package gltf-validator and a Python environment with numpy (both below target/tools). Checks in Blender run when
DERMIS_BLENDER_PYTHON names a Python interpreter that can import bpy.

Exit 0 all is well, 1 a check failed, 2 the command line is wrong.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["test"] => commit::run(false),
        ["test", "--install-tools"] => commit::run(true),
        ["oracle", _, ..] => oracle(&arguments[1..]),
        ["bench", ..] => bench::run(&arguments[1..]),
        ["accuracy"] => accuracy::run(None),
        ["accuracy", folder] => accuracy::run(Some(folder)),
        ["deps"] => match deps::check() {
            Ok(summary) => {
                println!("{summary}");
                ExitCode::SUCCESS
            }
            Err(findings) => {
                eprintln!("{findings}");
                ExitCode::FAILURE
            }
        },
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        [] => usage("a verb is missing"),
        ["oracle"] => usage("oracle needs a folder"),
        ["test" | "deps" | "accuracy", extra, ..] => usage(&format!("\"{extra}\" is not understood here")),
        [verb, ..] => usage(&format!("there is no verb \"{verb}\"")),
    }
}

fn usage(mistake: &str) -> ExitCode {
    eprintln!("error: {mistake}\n\n{USAGE}");
    ExitCode::from(2)
}

/// The folder that holds the workspace.
fn root() -> PathBuf {
    let mut folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder.pop();
    folder
}

/// The cargo that started this program, with the workspace's manifest: it works from any folder.
fn cargo(verb: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(verb).arg("--manifest-path").arg(root().join("Cargo.toml"));
    command
}

/// The program `dermis`, built with optimisation; `None` if it does not build.
fn program() -> Option<PathBuf> {
    let built = cargo("build").args(["--release", "--package", "dermis-cli"]).status().is_ok_and(|s| s.success());
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    built.then(|| target.join("release").join(format!("dermis{}", std::env::consts::EXE_SUFFIX)))
}

/// The oracle, built with optimisation, in the caller's folder: DIR may be relative to it.
fn oracle(arguments: &[&str]) -> ExitCode {
    let status = oracle_command().args(arguments).status();
    match status {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("error: cargo does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `oracle`, still without its arguments.
fn oracle_command() -> Command {
    let mut command = cargo("run");
    command.args(["--quiet", "--release", "--package", "dermis-oracle", "--bin", "oracle", "--"]);
    command
}
