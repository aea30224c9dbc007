//! `dermis export`

use crate::options::ReadArgs;
use crate::ui::Ui;
use dermis_workflow::drivers::{self, Driven, DriverSettings};
use dermis_workflow::load::{Source, load_base_cache, load_model, load_motion};
use dermis_workflow::output::reserve_file;
use dermis_workflow::page::Unit;
use dermis_workflow::report::{show_length, unit_of};
use dermis_workflow::{Error, deliver};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// Compile a model for an engine: a GLB with skin, clip, and the correction as morph targets
#[derive(clap::Args)]
pub struct ExportArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// Where it goes (.glb)
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// The motion that becomes the clip; without --drivers the correction is baked for it
    #[arg(long, value_name = "FILE")]
    motion: Option<Source>,
    /// Write a driver table: the morph targets are made for any pose, and it says how an engine computes their weights from
    /// its joints (for a joint model; docs/drivers.md)
    #[arg(long, value_name = "FILE")]
    drivers: Option<PathBuf>,
    /// Morph targets that carry the correction, at most; 0 exports the skin weights alone, "all" compresses nothing (with
    /// --drivers) [default: 8, or 32 with --drivers]
    #[arg(long, value_name = "N|all")]
    shapes: Option<Shapes>,
    /// Influences per vertex, at most; what pruning costs is printed [default: all of the rig's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    influences: Option<u16>,
    /// Positions of the base in every frame, for a model over a given base
    #[arg(long, value_name = "FILE")]
    base_cache: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// How many morph targets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shapes {
    Most(usize),
    All,
}

impl FromStr for Shapes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            number => number.parse().map(Self::Most).map_err(|_| "a number or \"all\" is needed".into()),
        }
    }
}

/// Runs the verb.
pub fn run(args: &ExportArgs, ui: &Ui) -> Result<ExitCode, Error> {
    if !deliver::is_glb(&args.out) {
        return Err(Error::Option(format!("\"{}\": only .glb is written so far", args.out.display())));
    }
    let out = reserve_file(&args.out, args.force)?;
    let drivers = args.drivers.as_deref().map(|path| reserve_file(path, args.force)).transpose()?;
    if args.drivers.as_ref() == Some(&args.out) {
        return Err(Error::Option(format!("\"{}\": the table needs a file of its own", args.out.display())));
    }
    if drivers.is_some() && args.base_cache.is_some() {
        return Err(Error::Option(
            "--drivers needs no --base-cache: a model over given positions cannot be driven".into(),
        ));
    }
    let read = args.read.options()?;
    let (model, _) = ui.step("read model", |_| load_model(&args.model))?;
    let motion = match &args.motion {
        None => None,
        Some(source) => Some(ui.step("read motion", |_| load_motion(&model.rig, source, &read))?.0),
    };
    let frames = motion.as_ref().map_or(0, |m| m.frames.len());
    let given = match &args.base_cache {
        None => None,
        Some(path) => Some(load_base_cache(&model.rig, &model.space, path, frames, &read)?.0),
    };
    let influences = args.influences.map(usize::from);
    if let Some(table) = &drivers {
        let shapes = match args.shapes {
            None => DriverSettings::default().shapes,
            Some(Shapes::Most(most)) => Some(most),
            Some(Shapes::All) => None,
        };
        let settings = DriverSettings { shapes, influences };
        let driven =
            ui.step("export", |p| drivers::export_driven(&model, motion.as_ref(), settings, (&out, table), p))?;
        if args.json {
            ui.print(&driven.json().to_string());
            return Ok(ExitCode::SUCCESS);
        }
        ui.print(&format!("written: {} ({} bytes)", out.path().display(), driven.bytes));
        ui.print(&format!("written: {}", table.path().display()));
        driven_lines(&driven, &unit_of(&model.space)).iter().for_each(|line| ui.print(line));
        return Ok(ExitCode::SUCCESS);
    }
    let shapes = match args.shapes {
        None => 8,
        Some(Shapes::Most(most)) => most,
        Some(Shapes::All) => return Err(Error::Option("--shapes all needs --drivers".into())),
    };
    let settings = deliver::ExportSettings { shapes, influences };
    let exported =
        ui.step("export", |p| deliver::export_glb(&model, motion.as_ref(), given.as_deref(), settings, &out, p))?;
    if args.json {
        ui.print(&exported.json().to_string());
        return Ok(ExitCode::SUCCESS);
    }
    ui.print(&format!("written: {} ({} bytes)", out.path().display(), exported.bytes));
    lines(&exported, &unit_of(&model.space), deliver::corrects(&model)).iter().for_each(|line| ui.print(line));
    Ok(ExitCode::SUCCESS)
}

fn pruning(pruned: Option<&deliver::PruneCost>, unit: &Unit) -> Option<String> {
    let (pruned, cost) = pruned?;
    let cost =
        cost.map_or(String::new(), |c| format!("; the skin weights move a vertex by at most {}", show_length(c, unit)));
    Some(format!("{} influences dropped at {} vertices{cost}", pruned.dropped, pruned.vertices))
}

/// What the driven shapes cost, against the model.
fn driven_lines(driven: &Driven, unit: &Unit) -> Vec<String> {
    let mut lines: Vec<String> = pruning(driven.pruned.as_ref(), unit).into_iter().collect();
    let (coordinates, joints) = (driven.coordinates, driven.joints);
    lines.push(format!(
        "{} shapes driven by {coordinates} coordinates of {joints} joints, made from {} poses",
        driven.shapes, driven.samples
    ));
    let sets = [Some(("training poses", &driven.training)), driven.motion.as_ref().map(|cost| ("frames", cost))];
    for (name, cost) in sets.into_iter().flatten() {
        lines.push(format!("distance to the model over {} {name}:", cost.poses));
        for (what, (rms, max)) in [
            ("skin weights alone".to_owned(), cost.weights_alone),
            (format!("with {} shapes", driven.shapes), cost.shapes),
            (format!("with all {} shapes", coordinates + 1), cost.all_shapes),
        ] {
            lines.push(format!("  {what:<22} rms {}, max {}", show_length(rms, unit), show_length(max, unit)));
        }
    }
    if driven.clamped > 0.0 {
        lines.push(format!("{:.1} % of the motion's weights are clamped to 0..1", 100.0 * driven.clamped));
    }
    lines.extend(driven.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

/// What each step of the export cost.
pub fn lines(exported: &deliver::Exported, unit: &Unit, corrects: bool) -> Vec<String> {
    let show = |(rms, max): (f64, f64)| format!("rms {}, max {}", show_length(rms, unit), show_length(max, unit));
    let mut lines: Vec<String> = pruning(exported.pruned.as_ref(), unit).into_iter().collect();
    lines.extend(match (exported.against_model, exported.weights_alone) {
        (Some(against), Some(alone)) if corrects => vec![
            format!("skin weights alone differ from the model by {}", show(alone)),
            format!("with {} morph targets over {} frames by {}", exported.shapes, exported.frames, show(against)),
        ],
        (None, _) if corrects => {
            vec!["without --motion the file holds the skin weights alone: the learnt correction is not in it".into()]
        }
        _ => vec![],
    });
    lines
}
