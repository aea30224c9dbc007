//! `cargo xtask fuzz`: searches every reader for bytes that break a promise (docs/fuzzing.md), with limits on memory and
//! time per input. The programs are those of `fuzz/`, which need a nightly compiler and cargo-fuzz.

use crate::tools::answers;
use crate::workspace::{cargo, machine, root};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Minutes for all targets together, unless the caller says otherwise.
const MINUTES: f64 = 20.0;

/// Limits of one input, as libFuzzer takes them: memory of the process and of one allocation, in MB, and seconds. Inputs
/// are at most 64 KiB long, and no reader may need a gigabyte for one.
const LIMITS: [&str; 4] = ["-rss_limit_mb=2048", "-malloc_limit_mb=1024", "-timeout=20", "-max_len=65536"];

/// What is wanted of a run.
#[derive(Debug, PartialEq)]
struct Options {
    minutes: f64,
    target: Option<String>,
}

impl Options {
    fn of(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self { minutes: MINUTES, target: None };
        let mut rest = arguments;
        while let Some((name, after)) = rest.split_first() {
            let (value, after) = after.split_first().ok_or_else(|| format!("{name} needs a value"))?;
            match *name {
                "--minutes" => {
                    let minutes = value.parse().ok().filter(|minutes: &f64| *minutes > 0.0 && minutes.is_finite());
                    options.minutes = minutes.ok_or_else(|| format!("\"{value}\" is no number of minutes"))?;
                }
                "--target" => options.target = Some((*value).to_owned()),
                other => return Err(format!("\"{other}\" is not understood here")),
            }
            rest = after;
        }
        Ok(options)
    }
}

/// What came of a target.
#[derive(Debug, Default, PartialEq)]
struct Found {
    /// Inputs that were tried.
    executions: u64,
    /// Edges of the program that were reached, and how many it has.
    edges: u64,
    all_edges: u64,
    /// Edges with the orders of how often, and compared values.
    features: u64,
    /// Inputs kept because they reach something.
    corpus: u64,
    /// Bytes that break a promise.
    artifacts: Vec<PathBuf>,
    /// Whether the program ended otherwise than it should, without leaving such bytes.
    failed: bool,
}

/// Runs the targets, or the one that is named.
pub fn run(arguments: &[&str]) -> ExitCode {
    let options = match Options::of(arguments) {
        Ok(options) => options,
        Err(mistake) => return crate::usage::usage(&mistake),
    };
    match search(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether nothing was found.
fn search(options: &Options) -> Result<bool, String> {
    if !answers(nightly().arg("--version")) {
        return Err("the fuzzer needs a nightly compiler: rustup toolchain install nightly --profile minimal".into());
    }
    if !answers(nightly().args(["fuzz", "--version"])) {
        return Err("the fuzzer needs cargo-fuzz: cargo install cargo-fuzz --locked".into());
    }
    let mut targets = targets()?;
    if let Some(name) = &options.target {
        targets.retain(|target| target == name);
        if targets.is_empty() {
            return Err(format!("there is no target \"{name}\" in fuzz/fuzz_targets"));
        }
    }
    let corpus = root().join("fuzz/corpus");
    succeed(cargo("run").args(["--quiet", "--package", "dermis-fuzz", "--bin", "fuzz-seeds", "--"]).arg(&corpus))?;
    succeed(fuzz("build").args(&options.target))?;
    let seconds = (options.minutes * 60.0 / targets.len() as f64).ceil().max(1.0);
    println!("{} targets, {seconds} s each", targets.len());
    let start = Instant::now();
    let mut all = Vec::new();
    for target in targets {
        let found = one(&target, seconds as u64)?;
        println!("{}", row(&target, &found));
        all.push((target, found));
    }
    println!("\nafter {:.1} minutes:\n\n{HEAD}", start.elapsed().as_secs_f64() / 60.0);
    all.iter().for_each(|(target, found)| println!("{}", row(target, found)));
    let broken: Vec<_> = all.iter().filter(|(_, found)| found.failed || !found.artifacts.is_empty()).collect();
    for (target, found) in &broken {
        for artifact in &found.artifacts {
            println!("FINDING in {target}: {}", artifact.display());
        }
        println!("what {target} said: {}", log_of(target).display());
    }
    Ok(broken.is_empty())
}

const HEAD: &str = "| target | executions | edges | of | features | corpus | findings |\n|---|---|---|---|---|---|---|";

fn row(target: &str, found: &Found) -> String {
    let Found { executions, edges, all_edges, features, corpus, artifacts, failed } = found;
    let findings = artifacts.len().max(usize::from(*failed));
    format!("| `{target}` | {executions} | {edges} | {all_edges} | {features} | {corpus} | {findings} |")
}

/// Names of the programs, sorted.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// The nightly cargo, whatever toolchain runs this program.
fn nightly() -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly").env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command
}

/// A verb of cargo-fuzz. ufbx, the one part written in C, is built so that undefined behaviour stops it.
fn fuzz(verb: &str) -> Command {
    let mut command = nightly();
    command.args(["fuzz", verb, "--fuzz-dir"]).arg(root().join("fuzz")).current_dir(root().join("fuzz"));
    command.env("CFLAGS", "-fsanitize=undefined -fsanitize-undefined-trap-on-error");
    command
}

/// Where a target writes what it says.
fn log_of(target: &str) -> PathBuf {
    root().join("target/xtask/fuzz").join(format!("{target}.log"))
}

/// Searches one target for some seconds.
fn one(target: &str, seconds: u64) -> Result<Found, String> {
    let (log, corpus) = (log_of(target), root().join("fuzz/corpus"));
    let artifacts = root().join("fuzz/artifacts").join(target);
    let told = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    for folder in [log.parent().unwrap_or(Path::new(".")), &artifacts] {
        std::fs::create_dir_all(folder).map_err(|error| told(folder, error))?;
    }
    let before = files(&artifacts);
    let said = File::create(&log).map_err(|error| told(&log, error))?;
    let machine = machine().ok_or("rustc does not say what it compiles for")?;
    // The program itself: `cargo fuzz run` would build it again if a source has changed meanwhile.
    let mut command = Command::new(root().join("fuzz/target").join(machine).join("release").join(target));
    command.arg(corpus.join(target)).args(LIMITS).arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.current_dir(root().join("fuzz")).env("ASAN_OPTIONS", "detect_odr_violation=0");
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-dict={}", corpus.join(target).display()) + ".dict");
    command.args(["-print_final_stats=1", "-verbosity=1"]);
    // One thread, so that the same bytes reach the same edges.
    command.env("RAYON_NUM_THREADS", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    let status = command.status().map_err(|error| format!("the program of {target} does not start: {error}"))?;
    let text = std::fs::read(&log).map_err(|error| told(&log, error))?;
    let mut found = counted(&String::from_utf8_lossy(&text));
    found.artifacts = files(&artifacts).into_iter().filter(|file| !before.contains(file)).collect();
    found.failed = !status.success();
    Ok(found)
}

/// The figures in what libFuzzer says.
fn counted(log: &str) -> Found {
    let mut found = Found::default();
    let after = |line: &str, word: &str| -> Option<u64> {
        let (_, rest) = line.split_once(word)?;
        rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    for line in log.lines() {
        if line.contains("cov: ") {
            found.edges = after(line, "cov: ").unwrap_or(found.edges);
            found.features = after(line, "ft: ").unwrap_or(found.features);
            found.corpus = after(line, "corp: ").unwrap_or(found.corpus);
            found.executions = after(line, "#").unwrap_or(found.executions);
        }
        found.executions = after(line, "stat::number_of_executed_units:").unwrap_or(found.executions);
        if line.contains("INFO: Loaded") && line.contains("counters") {
            found.all_edges = after(line, "(").unwrap_or(found.all_edges);
        }
    }
    found
}

/// The files of a folder; none if there is no folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let line = format!("{command:?}");
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{line}: {status}")),
        Err(error) => Err(format!("{line} does not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood() {
        assert_eq!(Options::of(&[]), Ok(Options { minutes: MINUTES, target: None }));
        let both = Options { minutes: 0.5, target: Some("npz".into()) };
        assert_eq!(Options::of(&["--minutes", "0.5", "--target", "npz"]), Ok(both));
        for wrong in [&["--minutes"][..], &["--minutes", "-1"], &["--minutes", "nan"], &["npz", "1"]] {
            assert!(Options::of(wrong).is_err(), "{wrong:?}");
        }
    }

    /// Lines as libFuzzer prints them.
    #[test]
    fn figures_are_found_in_the_log() {
        let log = "INFO: Loaded 1 modules   (180232 inline 8-bit counters): 180232 [0x1, 0x2),\n\
                   #2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 50Mb\n\
                   #9000\tNEW    cov: 2345 ft: 6789 corp: 321/12Kb lim: 4096 exec/s: 900 rss: 80Mb L: 3/9 MS: 1 CMP-\n\
                   Done 12345 runs in 11 second(s)\nstat::number_of_executed_units: 12345\n";
        let expected = Found {
            executions: 12_345,
            edges: 2345,
            all_edges: 180_232,
            features: 6789,
            corpus: 321,
            ..Found::default()
        };
        assert_eq!(counted(log), expected);
    }
}
