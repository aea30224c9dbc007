//! `oracle DIR [--only FILE]`: runs a folder of expected numbers. Exit 0 if all that ran passed, 1 if a case failed or
//! none ran, 2 if the folder cannot be used.

use clap::Parser;
use dermis_oracle::{Bits, CaseResult, Verdict, run_folder};
use dermis_solve::simd;
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
    /// Threads to use; all cores by default
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Ok(name) = std::env::var("DERMIS_SIMD")
        && let Err(error) = name.parse().and_then(simd::set_level)
    {
        eprintln!("error: DERMIS_SIMD: {error}");
        return ExitCode::from(2);
    }
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build_global();
    if let Err(error) = threads {
        eprintln!("error: --threads: {error}");
        return ExitCode::from(2);
    }
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
    let bits = results.iter().fold(Bits::default(), |bits, result| match result.verdict {
        Verdict::Compared { bits: own, .. } => bits.with(own),
        _ => bits,
    });
    println!("{}, {} threads: bits of all answers {:016x}", simd::level(), rayon::current_num_threads(), bits.0);
    println!("{passed} passed, {failed} failed, {waiting} not run yet");
    if passed + failed == 0 {
        println!("nothing ran");
    }
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
