//! The workspace: its folder, its cargo, and the programs built from it.

use std::path::PathBuf;
use std::process::Command;

/// The folder that holds the workspace.
pub fn root() -> PathBuf {
    let mut folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder.pop();
    folder
}

/// The cargo that started this program, with the workspace's manifest: it works from any folder.
pub fn cargo(verb: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(verb).arg("--manifest-path").arg(root().join("Cargo.toml"));
    command
}

/// How a program is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// As the tests are, together with them, so that nothing is compiled twice: to see whether it works.
    Tests,
    /// Optimised: to see how fast it is, and to use it.
    Release,
}

/// A program of the workspace; `None` if it does not build.
pub fn program(package: &str, name: &str, build: Build) -> Option<PathBuf> {
    let (arguments, folder): (&[&str], _) = match build {
        Build::Tests => (&["--workspace", "--all-targets"], "debug"),
        Build::Release => (&["--release", "--package", package], "release"),
    };
    let built = cargo("build").arg("--quiet").args(arguments).status().is_ok_and(|s| s.success());
    built.then(|| target().join(folder).join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// The folder that cargo builds into.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The program `dermis`.
pub fn dermis(build: Build) -> Option<PathBuf> {
    program("dermis-cli", "dermis", build)
}

/// `oracle`, still without its arguments.
pub fn oracle(build: Build) -> Option<Command> {
    program("dermis-oracle", "oracle", build).map(Command::new)
}

/// The machine that rustc compiles for, as it names it.
pub fn machine() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}
