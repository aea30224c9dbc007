//! `oracle DIR [--only FILE]`: runs a folder of expected numbers. Exit 0 if all that ran passed, 1 if a case failed or
//! none ran, 2 if the folder cannot be used.

use clap::Parser;
use dermis_oracle::{CaseResult, run_folder};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compare the toolkit with expected numbers from an independent program
#[derive(Parser)]
struct Args {
    /// Folder of *.json files
    dir: PathBuf,
    /// Run only this file
    #[arg(long, value_name = "FILE")]
    only: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let results = match run_folder(&args.dir, args.only.as_deref()) {
        Ok(results) => results,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    for result in &results {
        println!("{result}");
    }
    let passed = results.iter().filter(|result| result.passed()).count();
    let waiting = results.iter().filter(|result| CaseResult::not_run(result)).count();
    let failed = results.len() - passed - waiting;
    println!("{passed} passed, {failed} failed, {waiting} not run yet");
    if passed + failed == 0 {
        println!("nothing ran");
    }
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
