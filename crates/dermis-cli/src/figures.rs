//! `dermis figures`

use crate::options::existing;
use crate::ui::{Stop, Ui};
use dermis_workflow::recipe::{Figure, FiguresOutcome, FiguresRecipe};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw published figures again, with their numbers
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub struct FiguresArgs {
    #[command(subcommand)]
    figure: FigureArgs,
}

/// What can be drawn.
#[derive(clap::Subcommand)]
enum FigureArgs {
    /// Pose-space deformation: a thumb, a twisted arm, directions of corrections
    PoseSpace {
        /// Folder for the page
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Write into a folder that holds files, and replace a page there
        #[arg(long)]
        force: bool,
    },
}

/// Runs the verb.
pub fn run(args: &FiguresArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = match &args.figure {
        FigureArgs::PoseSpace { out, force } => {
            FiguresRecipe { figure: Figure::PoseSpace, out: out.clone(), existing: existing(*force) }
        }
    };
    Ok(show(&recipe.run(ui)?, ui))
}

/// Shows the outcome.
pub fn show(outcome: &FiguresOutcome, ui: &Ui) -> ExitCode {
    outcome.table.iter().for_each(|line| ui.print(line));
    ui.print(&format!("\nwritten: {}", outcome.written.display()));
    ExitCode::SUCCESS
}
