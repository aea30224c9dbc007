//! `dermis fit` without holding the examples: `--stream`, `--accumulate`, `--merge`.

use crate::fit::{FitArgs, options_of};
use crate::options::within;
use crate::show;
use crate::ui::{Ui, command_line};
use dermis_workflow::fit::Summing;
use dermis_workflow::io::{ModelFile, model_file, part_file};
use dermis_workflow::load::{FileNote, load_rig, open_file, stream_examples};
use dermis_workflow::measure::measure_streamed;
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::report::{Outcome, unit_of};
use dermis_workflow::rig::ExampleSet;
use dermis_workflow::{Error, memory, page};
use serde_json::{Value, json};
use std::fmt;
use std::process::ExitCode;

/// What a fit took.
pub struct Memory {
    peak: Option<u64>,
    examples: u64,
    model: u64,
}

impl Memory {
    /// Of the process so far, for a model and this many poses of its mesh in 32 bits.
    pub fn of(model: &ModelFile, poses: usize) -> Self {
        let examples = 12 * (poses * model.rig.mesh.positions.len()) as u64;
        Self { peak: memory::peak(), examples, model: model.baked.bytes() as u64 }
    }

    pub fn json(&self) -> Value {
        json!({"peak_bytes": self.peak, "example_bytes": self.examples, "model_bytes": self.model})
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        let peak = self.peak.map_or_else(|| "unknown".into(), mib);
        write!(f, "memory: peak {peak}; examples {} in 32 bits, model {}", mib(self.examples), mib(self.model))
    }
}

/// Runs the verb without holding examples.
pub fn run(args: &FitArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let out = args.out.as_deref().map(|path| reserve_file(path, args.force)).transpose()?;
    let part_out = args.accumulate.as_deref().map(|path| reserve_file(path, args.force)).transpose()?;
    let report_dir = args.report.as_deref().map(|path| reserve_folder(path, args.force)).transpose()?;
    let read = args.read.options()?;
    let limit = args.fail_above.map(|limit| within("--fail-above", limit, 0.0, f64::MAX)).transpose()?;
    let loaded = ui.step("read rig", |_| load_rig(&args.rig))?;
    let options = options_of(args, &loaded)?;
    let mut files: Vec<FileNote> = loaded.notes.clone();
    let mut sums = Summing::new(&loaded, &options)?;
    for path in &args.merge {
        let (file, length) = open_file(path)?;
        let part = part_file::read_from(file, length).map_err(|source| Error::Read { path: path.clone(), source })?;
        sums.merge(part, path)?;
    }
    if !args.examples.is_empty() {
        let streamed = ui.step("sum over examples", |_| {
            stream_examples(&loaded.rig, &loaded.space, &args.examples, &read, "examples", |some| sums.add(some))
        })?;
        files.extend(streamed.notes);
        sums.of_clip(streamed.is_clip);
    }
    show::files(ui, &files);
    let poses = sums.poses();
    if let Some(out) = &part_out {
        let part = sums.part()?;
        out.write_with(|to| part_file::write_to(&part, to))?;
        match args.json {
            true => ui.print(&json!({"poses": poses, "memory": {"peak_bytes": memory::peak()}}).to_string()),
            false => ui.print(&format!("{poses} poses summed\nwritten: {}", out.path().display())),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let fitted = ui.step("fit", |p| sums.finish(p))?;
    if let Some(out) = &out {
        out.write_with(|to| model_file::write_to(&fitted.model, to))?;
    }
    let nothing = ExampleSet::default();
    let mut scores = Vec::new();
    for (name, sources, role) in [("training", &args.examples, "examples"), ("held out", &args.hold_out, "hold-out")] {
        if !sources.is_empty() {
            let (measured, notes) =
                ui.step(&format!("measure {name}"), |_| measure_streamed(&fitted.model, sources, &read, role))?;
            files.extend(notes.into_iter().filter(|_| role == "hold-out"));
            scores.push((name, measured));
        }
    }
    let outcome = Outcome {
        model: &fitted.model,
        fitted: Some(&fitted),
        sets: scores.iter().map(|(name, scores)| (*name, scores, &nothing)).collect(),
        cross_validated: None,
        comparison: &[],
        files: &files,
        command: Some(command_line()),
    };
    if let Some(dir) = &report_dir {
        dir.folder()?("report.html", page::render(&outcome.page()).as_bytes())?;
    }
    let held_out = scores.iter().find(|s| s.0 == "held out").map_or(0, |s| s.1.frames.len());
    let memory = Memory::of(&fitted.model, poses + held_out);
    if args.json {
        let mut value = match scores.is_empty() {
            false => outcome.json(),
            true => json!({
                "method": fitted.model.header.method, "poses": poses, "seconds": fitted.seconds,
                "report": fitted.model.header.report,
            }),
        };
        value["memory"] = memory.json();
        ui.print(&value.to_string());
    } else {
        let (unit, rig) = (unit_of(&fitted.model.space), &loaded.rig);
        ui.print(&format!(
            "{}: {} vertices, {} bones; {} fitted to sums over {poses} poses in {:.2} s",
            rig.name,
            rig.mesh.positions.len(),
            rig.skeleton.len(),
            options.method,
            fitted.seconds
        ));
        let header = &fitted.model.header;
        let settings: Vec<String> = header.settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
        show::wrapped(ui, "settings", &settings);
        let shown: Vec<_> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
        show::errors(ui, &shown, &unit);
        ui.print(&memory.to_string());
        for warning in outcome.warnings() {
            ui.print(&format!("warning: {warning}"));
        }
        for written in [&out, &report_dir].into_iter().flatten() {
            ui.print(&format!("written: {}", written.path().display()));
        }
    }
    let failed = limit.zip(scores.last()).is_some_and(|(limit, (_, scores))| scores.model.error.rms > limit);
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
