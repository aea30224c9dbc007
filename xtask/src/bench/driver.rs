//! What `bench fit` and `bench evaluate` share: dermis-bench, the rivals' Python, and what the machine allows.

use super::machine;
use crate::tools;
use crate::workspace::{Build, program, root};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Their options.
#[derive(Default)]
pub struct Options {
    /// Where the JSON goes.
    pub json: Option<PathBuf>,
    /// Small sizes: whether it works, not how fast.
    pub quick: bool,
}

impl Options {
    pub fn parse(options: &[&str]) -> Result<Self, String> {
        match options {
            [] => Ok(Self::default()),
            ["--quick", rest @ ..] => Ok(Self { quick: true, ..Self::parse(rest)? }),
            ["--json", path, rest @ ..] => Ok(Self { json: Some(path.into()), ..Self::parse(rest)? }),
            [other, ..] => Err(format!("\"{other}\" is not understood here")),
        }
    }
}

/// What a run of dermis-bench says.
pub fn dermis_bench(arguments: &[&str]) -> Result<Value, String> {
    let build = if arguments.contains(&"--quick") { Build::Tests } else { Build::Release };
    let program = program("dermis-bench", "dermis-bench", build).ok_or("dermis-bench does not build")?;
    json_of(Command::new(program).args(arguments))
}

/// The Python of the rivals. A quick run installs nothing and takes any that has NumPy.
pub fn python(quick: bool) -> Result<PathBuf, String> {
    match quick {
        true => tools::python_with("numpy").ok_or_else(|| "no Python that can import numpy".into()),
        false => tools::rivals(),
    }
}

/// What a script of tools/ says about a folder, on one thread: with more, matrices as small as these take longer.
pub fn script(python: &Path, name: &str, arguments: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(python);
    command.arg(root().join("tools").join(name)).args(arguments);
    json_of(command.env("OPENBLAS_NUM_THREADS", "1").env("OMP_NUM_THREADS", "1"))
}

/// What a program prints.
pub fn json_of(command: &mut Command) -> Result<Value, String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{:?}: {}", command.get_program(), output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{:?}: {error}", command.get_program()))
}

/// Where arrays for the rivals go.
pub fn arrays(name: &str) -> PathBuf {
    root().join("target/xtask/bench").join(name)
}

/// What the machine allows, with what the machine is.
pub struct Limits {
    pub machine: Value,
    pub measured: Value,
}

impl Limits {
    pub fn measure(quick: bool) -> Result<Self, String> {
        let measured = dermis_bench(if quick { &["limits", "--quick"] } else { &["limits"] })?;
        Ok(Self { machine: machine(), measured })
    }

    /// A rate per second for a number of threads.
    pub fn rate(&self, name: &str, threads: &Value) -> f64 {
        let rates = self.measured["rates"].as_array().into_iter().flatten();
        rates.filter(|rate| rate["threads"] == *threads).find_map(|rate| rate[name].as_f64()).unwrap_or(f64::NAN)
    }

    /// All threads.
    pub fn threads(&self) -> &Value {
        &self.machine["threads"]
    }

    pub fn print(&self, quick: bool) {
        if quick {
            println!("A small run: it shows that the bench works, and no figure means anything.\n");
        }
        let (machine, measured) = (&self.machine, &self.measured);
        let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
        let caches: Vec<&str> = machine["caches"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        println!("{}.", super::machine_line(machine));
        println!(
            "{}; memory {:.0} GB; {} {}; vectors {}; {}; {}.\n",
            caches.join(", "),
            machine["memory_bytes"].as_f64().unwrap_or(f64::NAN) / 1e9,
            text(&machine["system"]),
            text(&machine["kernel"]),
            text(&measured["level"]),
            text(&machine["rustc"]),
            text(&machine["date"]),
        );
        let clock = measured["clock_hz"].as_f64().unwrap_or(f64::NAN);
        println!(
            "| what the machine allows | multiply-adds f64, 1e9/s | per cycle and core | f32, 1e9/s | per cycle and core | triad f32, GB/s | reading, GB/s |"
        );
        println!("|---|---|---|---|---|---|---|");
        for rate in measured["rates"].as_array().into_iter().flatten() {
            let of = |name: &str| rate[name].as_f64().unwrap_or(f64::NAN);
            let cycles = clock * of("threads");
            println!(
                "| {} | {:.1} | {:.2} | {:.1} | {:.2} | {:.1} | {:.1} |",
                threads(&rate["threads"]),
                of("fma_f64_per_s") / 1e9,
                of("fma_f64_per_s") / cycles,
                of("fma_f32_per_s") / 1e9,
                of("fma_f32_per_s") / cycles,
                of("triad_bytes_per_s") / 1e9,
                of("read_bytes_per_s") / 1e9,
            );
        }
        println!(
            "\nThe clock ran at {:.2} GHz, by a chain of dependent multiplications. The triad a = b + s c is counted as",
            clock / 1e9
        );
        println!("three arrays of {} MB.\n", measured["array_bytes"].as_u64().unwrap_or(0) >> 20);
    }
}

/// "1 thread", "2 threads".
pub fn threads(count: &Value) -> String {
    format!("{count} thread{}", if *count == 1 { "" } else { "s" })
}

/// Writes the report if it was asked for.
pub fn write(json: Option<&Path>, report: &Value) -> Result<(), String> {
    match json {
        Some(path) => std::fs::write(path, format!("{report:#}\n")).map_err(|e| format!("{}: {e}", path.display())),
        None => Ok(()),
    }
}

/// Three significant digits.
pub fn short(x: f64) -> String {
    let digits = if x == 0.0 || !x.is_finite() { 0 } else { (2 - x.abs().log10().floor() as i32).clamp(0, 4) };
    format!("{x:.*}", digits as usize)
}
