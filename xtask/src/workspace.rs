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

/// The program `dermis`, built with optimisation; `None` if it does not build.
pub fn program() -> Option<PathBuf> {
    let built = cargo("build").args(["--release", "--package", "dermis-cli"]).status().is_ok_and(|s| s.success());
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    built.then(|| target.join("release").join(format!("dermis{}", std::env::consts::EXE_SUFFIX)))
}

/// `oracle`, still without its arguments.
pub fn oracle_command() -> Command {
    let mut command = cargo("run");
    command.args(["--quiet", "--release", "--package", "dermis-oracle", "--bin", "oracle", "--"]);
    command
}
