//! `dermis compare`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::Ui;
use dermis_workflow::compare::{METHODS, Row, json, options_of, row};
use dermis_workflow::curve::Draws;
use dermis_workflow::load::{Source, load_examples, load_rig};
use dermis_workflow::report::unit_of;
use dermis_workflow::rig::ExampleSet;
use dermis_workflow::{Error, load::LoadedRig};
use std::path::PathBuf;
use std::process::ExitCode;

/// Put every method on the same bench, or ask how many examples each needs
#[derive(clap::Args)]
pub struct CompareArgs {
    /// Rest mesh and skeleton (.glb, .gltf, .fbx, .npz)
    rig: PathBuf,
    /// Training examples, as for fit
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    examples: Vec<Source>,
    /// Held-out examples
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    hold_out: Vec<Source>,
    /// Methods by name, separated by commas; all by default
    #[arg(long, value_delimiter = ',', value_name = "M,M,...")]
    methods: Vec<String>,
    /// Learn from random subsets of this many examples and show the held-out error over their number
    #[arg(long, value_delimiter = ',', value_name = "N,N,...")]
    poses: Vec<usize>,
    /// Random subsets of each size, whose errors are averaged
    #[arg(long, default_value_t = 3, requires = "poses", value_parser = clap::value_parser!(u16).range(1..))]
    draws: u16,
    /// Where the random choice of --poses starts
    #[arg(long, default_value_t = 1, requires = "poses")]
    seed: u64,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &CompareArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let names: Vec<String> = match args.methods.is_empty() {
        true => METHODS.iter().map(|m| m.0.to_owned()).collect(),
        false => args.methods.clone(),
    };
    names.iter().try_for_each(|name| options_of(name).map(|_| ()))?;
    let read = args.read.options()?;
    let loaded = ui.step("read rig", |_| load_rig(&args.rig))?;
    let set = |sources: &[Source], role: &str| {
        ui.step(&format!("read {role}"), |_| load_examples(&loaded.rig, &loaded.space, sources, &read, role))
    };
    let (train, mut notes) = set(&args.examples, "examples")?;
    let (held_out, more) = set(&args.hold_out, "hold-out")?;
    notes.extend(more);
    show::files(ui, &notes);
    if !args.poses.is_empty() {
        return learning_curve(args, ui, &loaded, &train, &held_out, &names);
    }
    let (rows, stopped) = bench(ui, &loaded, &train, &held_out, &names)?;
    if args.json {
        ui.print(&json(&rows).to_string());
    } else if let Some(first) = rows.first() {
        show::rows(ui, &rows, &unit_of(&first.fitted.model.space));
    }
    match stopped {
        true => Err(Error::Cancelled),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// `compare --poses`: the points finished before the user stopped are shown all the same.
fn learning_curve(
    args: &CompareArgs,
    ui: &Ui,
    loaded: &LoadedRig,
    train: &ExampleSet,
    held_out: &ExampleSet,
    names: &[String],
) -> Result<ExitCode, Error> {
    let draws = Draws::new(loaded, train, usize::from(args.draws), args.seed);
    let mut points = Vec::new();
    let mut stopped = false;
    let all = draws.counts(&args.poses)?.into_iter().flat_map(|count| names.iter().map(move |name| (count, name)));
    for (count, name) in all {
        match ui.step(&format!("{name}, {count} poses"), |p| draws.point(held_out, name, count, p)) {
            Ok(point) => points.push(point),
            Err(Error::Cancelled) => {
                stopped = true;
                break;
            }
            Err(other) => return Err(other),
        }
    }
    match args.json {
        true => ui.print(&draws.json(&points, held_out).to_string()),
        false => show::curve(ui, &draws, &points, &unit_of(&loaded.space)),
    }
    match stopped {
        true => Err(Error::Cancelled),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// The finished rows, and whether the user stopped before the last.
pub fn bench(
    ui: &Ui,
    loaded: &LoadedRig,
    train: &ExampleSet,
    held_out: &ExampleSet,
    names: &[String],
) -> Result<(Vec<Row>, bool), Error> {
    let mut rows = Vec::new();
    for name in names {
        match ui.step(name, |p| row(loaded, train, held_out, name, p)) {
            Ok(row) => rows.push(row),
            Err(Error::Cancelled) => return Ok((rows, true)),
            Err(other) => return Err(other),
        }
    }
    Ok((rows, false))
}
