//! `dermis export`

use crate::options::ReadArgs;
use crate::ui::Ui;
use dermis_workflow::load::{Source, load_base_cache, load_model, load_motion};
use dermis_workflow::output::reserve_file;
use dermis_workflow::page::Unit;
use dermis_workflow::report::{show_length, unit_of};
use dermis_workflow::{Error, deliver};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile a model for an engine: a GLB with skin, clip, and the correction as morph targets
#[derive(clap::Args)]
pub struct ExportArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// Where it goes (.glb)
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// The motion that becomes the clip, and for which the correction is baked
    #[arg(long, value_name = "FILE")]
    motion: Option<Source>,
    /// Morph targets that carry the correction, at most; 0 exports the skin weights alone
    #[arg(long, default_value_t = 8, value_name = "N")]
    shapes: usize,
    /// Influences per vertex, at most; what pruning costs is printed [default: all of the rig's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    influences: Option<u16>,
    /// Positions of the base in every frame, for a model over a given base
    #[arg(long, value_name = "FILE")]
    base_cache: Option<PathBuf>,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &ExportArgs, ui: &Ui) -> Result<ExitCode, Error> {
    if !deliver::is_glb(&args.out) {
        return Err(Error::Option(format!("\"{}\": only .glb is written so far", args.out.display())));
    }
    let out = reserve_file(&args.out, args.force)?;
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
    let settings = deliver::ExportSettings { shapes: args.shapes, influences: args.influences.map(usize::from) };
    let exported =
        ui.step("export", |p| deliver::export_glb(&model, motion.as_ref(), given.as_deref(), settings, &out, p))?;
    ui.print(&format!("written: {} ({} bytes)", out.path().display(), exported.bytes));
    lines(&exported, &unit_of(&model.space), deliver::corrects(&model)).iter().for_each(|line| ui.print(line));
    Ok(ExitCode::SUCCESS)
}

/// What each step of the export cost.
pub fn lines(exported: &deliver::Exported, unit: &Unit, corrects: bool) -> Vec<String> {
    let show = |(rms, max): (f64, f64)| format!("rms {}, max {}", show_length(rms, unit), show_length(max, unit));
    let mut lines = Vec::new();
    if let Some((pruned, cost)) = &exported.pruned {
        let cost = cost
            .map_or(String::new(), |c| format!("; the skin weights move a vertex by at most {}", show_length(c, unit)));
        lines.push(format!("{} influences dropped at {} vertices{cost}", pruned.dropped, pruned.vertices));
    }
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
