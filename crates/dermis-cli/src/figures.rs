//! `dermis figures`

use crate::options::{ReadArgs, existing};
use crate::ui::{Stop, Ui};
use dermis_workflow::figures::Document;
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{FigureCharacter, FiguresOutcome, FiguresRecipe, Input};
use std::path::PathBuf;
use std::process::ExitCode;

/// Reproduce the figures of papers, with measured values beside published ones
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub struct FiguresArgs {
    /// Which paper's
    #[arg(value_enum)]
    document: DocumentArg,
    /// Folder for the pages
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// A character with weights in place of the bundled body
    #[arg(long, value_name = "FILE", requires_all = ["examples", "hold_out"])]
    rig: Option<PathBuf>,
    /// Its examples, as for fit
    #[arg(long, requires = "rig", num_args = 1.., value_name = "FILE")]
    examples: Vec<Source>,
    /// Its examples that no fit may see
    #[arg(long, requires = "rig", num_args = 1.., value_name = "FILE")]
    hold_out: Vec<Source>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Write into a folder that holds files, and replace pages there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// What can be drawn.
#[derive(Clone, Copy, clap::ValueEnum)]
enum DocumentArg {
    /// Multi-weight enveloping (Wang & Phillips 2002)
    Envelope,
    /// A text on skinning: rigid, smooth, dual quaternions, pose blend shapes
    Skinning,
    /// The lecture on animation and skinning of MIT 6.837
    Course,
    /// Influences and weights from scans (Hopkins & Owen)
    Scans,
    /// Pose-space deformation (Lewis et al. 2000, Sloan et al. 2001, Xiao et al. 2006)
    PoseSpace,
    /// Every paper, with an index
    All,
}

impl DocumentArg {
    fn documents(self) -> Vec<Document> {
        match self {
            Self::Envelope => vec![Document::Envelope],
            Self::Skinning => vec![Document::Skinning],
            Self::Course => vec![Document::Course],
            Self::Scans => vec![Document::Scans],
            Self::PoseSpace => vec![Document::PoseSpace],
            Self::All => Document::ALL.to_vec(),
        }
    }
}

impl FiguresArgs {
    fn recipe(&self) -> Result<FiguresRecipe, Stop> {
        let inputs = |sources: &[Source]| sources.iter().cloned().map(Input::new).collect();
        let character = |rig: &PathBuf| {
            Ok::<_, Stop>(FigureCharacter {
                rig: Input::of_path(rig),
                examples: inputs(&self.examples),
                hold_out: inputs(&self.hold_out),
                read: self.read.options()?,
            })
        };
        Ok(FiguresRecipe {
            documents: self.document.documents(),
            character: self.rig.as_ref().map(character).transpose()?,
            out: self.out.clone(),
            existing: existing(self.force),
        })
    }
}

/// Runs the verb.
pub fn run(args: &FiguresArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    Ok(show(&args.recipe()?.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &FiguresOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    for (_, page) in &outcome.pages {
        page.lines().iter().for_each(|line| ui.print(line));
        ui.print("");
    }
    for path in &outcome.written {
        ui.print(&format!("written: {}", path.display()));
    }
    ExitCode::SUCCESS
}
