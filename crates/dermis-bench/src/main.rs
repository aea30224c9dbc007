//! What `cargo xtask bench fit`, `evaluate`, `viewer` and `loop` run. Each call prints one JSON value; every workload gets a process
//! of its own, so that its peak of memory is its own.
//!
//! ```text
//! dermis-bench limits [--quick]
//! dermis-bench fit A|B [--quick] [--arrays FOLDER]
//! dermis-bench sweep [--quick]
//! dermis-bench resolve [--quick]
//! dermis-bench evaluate VERTICES [--large] [--quick] [--arrays FOLDER]
//! dermis-bench viewer VERTICES BODY FOLDER
//! dermis-bench artist RIG LOOK HELD|between STEPS METHOD
//! ```

mod artist;
mod character;
mod evaluate;
mod fit;
mod limits;
mod npy;
mod timing;
mod viewer;

use dermis_solve::simd;
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Ok(name) = std::env::var("DERMIS_SIMD")
        && let Err(error) = name.parse().and_then(simd::set_level)
    {
        eprintln!("error: DERMIS_SIMD: {error}");
        return ExitCode::from(2);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(value) => {
            println!("{value}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[&str]) -> Result<Value, String> {
    let quick = arguments.contains(&"--quick");
    let arrays = arguments.iter().position(|a| *a == "--arrays").and_then(|at| arguments.get(at + 1)).map(Path::new);
    let written = |result: std::io::Result<Value>| result.map_err(|error| format!("the arrays: {error}"));
    match *arguments {
        ["limits", ..] => Ok(limits::measure(quick)),
        ["fit", name, ..] => {
            let size = fit::workload(name, quick).ok_or_else(|| format!("there is no workload {name}"))?;
            written(fit::measure(name, size, arrays))
        }
        ["sweep", ..] => Ok(fit::sweep(quick)),
        ["resolve", ..] => Ok(fit::resolve(quick)),
        ["evaluate", vertices, ..] => {
            let vertices = vertices.parse().map_err(|_| format!("{vertices} is no number of vertices"))?;
            written(evaluate::measure(vertices, arguments.contains(&"--large"), quick, arrays))
        }
        ["viewer", vertices, body, folder, ..] => {
            let vertices = vertices.parse().map_err(|_| format!("{vertices} is no number of vertices"))?;
            viewer::make(vertices, Path::new(body), Path::new(folder)).map(|()| Value::Null)
        }
        ["artist", rig, look, held, steps, method] => {
            let steps = steps.parse().map_err(|_| format!("{steps} is no number of steps"))?;
            artist::measure(rig, look, (held != "between").then_some(held), steps, method)
        }
        _ => Err("limits, fit, sweep, resolve, evaluate, viewer or artist".into()),
    }
}
