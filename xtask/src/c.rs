//! The C library as it is given away, and how large it is: the table of docs/c.md.

use crate::workspace::{cargo, root};
use std::process::ExitCode;

/// The profile of the workspace's manifest.
const PROFILE: &str = "release-small";

/// Builds the library and prints the sizes of its files.
pub fn run() -> ExitCode {
    let built = cargo("build").args(["--profile", PROFILE, "--package", "dermis-c"]).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("error: the library does not build");
        return ExitCode::FAILURE;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let shared = format!("{}dermis_c{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    for (name, what) in [(shared.as_str(), "to load"), ("libdermis_c.a", "to link"), ("dermis_c.lib", "to link")] {
        // Systems name the library to link differently; one of the two is there.
        if let Ok(file) = std::fs::metadata(target.join(PROFILE).join(name)) {
            println!("{name}, {what}: {:.2} MB", file.len() as f64 * 1e-6);
        }
    }
    ExitCode::SUCCESS
}
