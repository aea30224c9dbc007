//! The program `dermis`.

use std::process::ExitCode;

fn main() -> ExitCode {
    dermis_cli::main_with(std::env::args_os())
}
