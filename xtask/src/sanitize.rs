//! `cargo xtask sanitize`: the FBX tests with ufbx, the one part written in C, under the compiler's sanitizers for
//! addresses and undefined behaviour. Everything is built in a folder of its own, so nothing else is compiled again.

use crate::workspace::{cargo, machine, root};
use std::process::{ExitCode, Stdio};

/// What the C compiler checks, where a finding ends the test.
const CHECKS: &str = "-fsanitize=address,undefined,bounds -fno-sanitize-recover=all -fno-omit-frame-pointer -g1";
/// What the linker must add for it. Its default libraries are what brings the sanitizers' runtime.
const RUNTIME: &str = "-Clink-arg=-fsanitize=address,undefined -Cdefault-linker-libraries=yes";

/// Runs the tests that read FBX files.
pub fn run() -> ExitCode {
    let Some(machine) = machine() else {
        eprintln!("error: rustc does not say for which machine it compiles");
        return ExitCode::FAILURE;
    };
    let mut tests = cargo("test");
    // With a machine named, flags are for what runs there, not for what runs in the compiler.
    tests.args([
        "--target",
        &machine,
        "--package",
        "dermis-io",
        "--test",
        "fbx",
        "--test",
        "hostile",
        "--no-fail-fast",
    ]);
    tests.env("CARGO_TARGET_DIR", root().join("target/sanitized"));
    tests.env("CFLAGS", CHECKS).env("RUSTFLAGS", RUNTIME);
    // Threads of the pool still hold memory when a test ends.
    tests.env("ASAN_OPTIONS", "detect_leaks=0").env("UBSAN_OPTIONS", "print_stacktrace=1");
    match tests.current_dir(root()).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => {
            println!("cargo xtask sanitize: all is well");
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo does not start: {error}");
            ExitCode::FAILURE
        }
    }
}
