//! `cargo xtask VERB`: the chores of this workspace. Needs Rust (with rustfmt and clippy) and a C compiler; every other
//! tool is optional, and its absence is told.

mod accuracy;
mod bench;
mod blender;
mod bpy;
mod c;
mod changed;
mod circles;
mod commit;
mod conformance;
mod corpus;
mod deny;
mod deps;
mod engine;
mod fuzz;
mod gpu;
mod page;
#[cfg(test)]
mod papers;
mod python;
mod release;
mod sanitize;
mod source;
mod steps;
mod tools;
mod usage;
mod workspace;

use std::process::ExitCode;
use usage::{USAGE, usage};
use workspace::Build;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["test"] => commit::run(false),
        ["test", "--install-tools"] => commit::run(true),
        // How `test` runs steps side by side.
        ["test", "--lane", name, "--to", file] => commit::run_lane(name, file.as_ref()),
        ["test", "--changed"] => changed::run("HEAD"),
        ["test", "--changed", revision] => changed::run(revision),
        ["oracle", _, ..] => oracle(&arguments[1..]),
        // It lies with what builds the package.
        ["bench", "python", ..] => python::bench(&arguments[2..]),
        ["bench", ..] => bench::run(&arguments[1..]),
        ["blender", ..] => blender::run(&arguments[1..]),
        ["browser", ..] => engine::run(&arguments[1..]),
        ["corpus", ..] => corpus::run(&arguments[1..]),
        ["fuzz", ..] => fuzz::run(&arguments[1..]),
        ["python", ..] => python::run(&arguments[1..]),
        ["release", ..] => release::run(&arguments[1..]),
        ["sanitize"] => sanitize::run(),
        ["c"] => c::run(),
        ["accuracy"] => accuracy::run(None),
        ["accuracy", "--options"] => accuracy::options(None),
        ["accuracy", "--options", folder] => accuracy::options(Some(folder)),
        ["accuracy", "--planted"] => accuracy::planted(None),
        ["accuracy", "--planted", folder] => accuracy::planted(Some(folder)),
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
        ["test" | "deps" | "accuracy" | "sanitize" | "c", extra, ..] => {
            usage(&format!("\"{extra}\" is not understood here"))
        }
        [verb, ..] => usage(&format!("there is no verb \"{verb}\"")),
    }
}

/// The oracle, built with optimisation, in the caller's folder: DIR may be relative to it.
fn oracle(arguments: &[&str]) -> ExitCode {
    let Some(mut oracle) = workspace::oracle(Build::Release) else { return ExitCode::FAILURE };
    match oracle.args(arguments).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("error: the oracle does not start: {error}");
            ExitCode::FAILURE
        }
    }
}
