//! `dermis recipe`

use crate::ui::{Stop, Ui};
use dermis_workflow::load::load_model;
use dermis_workflow::output::folder_of;
use dermis_workflow::recipe::{FitRecipe, Recipe};
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the recipe of a model, for dermis fit --recipe to make the same model again, to the bit
#[derive(clap::Args)]
pub struct RecipeArgs {
    /// The model (.dermis)
    model: PathBuf,
}

/// Runs the verb.
pub fn run(args: &RecipeArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let (model, _) = ui.step("read model", |_| load_model(&args.model))?;
    let recipe = FitRecipe::of_model(&model, &args.model)?.seen_from_here(folder_of(&args.model));
    ui.print_json_text(&Recipe::Fit(Box::new(recipe)).to_json()?);
    Ok(ExitCode::SUCCESS)
}
