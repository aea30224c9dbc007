//! `dermis run`

use crate::ui::{Stop, Ui};
use crate::{
    animate, compare, convert, crowd, decompose, demo, eval, exercise, export, figures, fit, inspect, invert, markers,
    pose, report, retarget, rig, session, suggest, transfer, view, weights,
};
use dermis_workflow::Error;
use dermis_workflow::load::read_bytes;
use dermis_workflow::output::folder_of;
use dermis_workflow::recipe::Recipe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a recipe: a verb with its inputs, settings and outputs, from a file
#[derive(clap::Args)]
pub struct RunArgs {
    /// The recipe (.json)
    recipe: PathBuf,
    /// Print one JSON value and nothing else, where the verb has one
    #[arg(long)]
    json: bool,
}

/// The recipe in a file.
///
/// # Errors
/// [`Error`] for a file that cannot be read, or is no recipe.
pub fn stored_recipe(path: &Path) -> Result<Recipe, Error> {
    Ok(match Recipe::from_json(&String::from_utf8_lossy(&read_bytes(path)?), path)? {
        // A recipe of a fit came out of a model, and may lie elsewhere than its files.
        Recipe::Fit(recipe) => Recipe::Fit(Box::new(recipe.found_from(folder_of(path))?)),
        other => other,
    })
}

/// Runs the verb.
pub fn run(args: &RunArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let json = args.json;
    Ok(match stored_recipe(&args.recipe)? {
        Recipe::Fit(recipe) => fit::show(&recipe.run(ui)?, ui, json),
        Recipe::Eval(recipe) => eval::show(&recipe.run(ui)?, ui, json),
        Recipe::Compare(recipe) => compare::show(&recipe.run(ui)?, ui, json)?,
        Recipe::Pose(recipe) => {
            let asked = recipe.swing.as_ref().map_or(String::new(), |s| format!("{},{}", s.frequency, s.damping));
            pose::show(&recipe, &recipe.run(ui)?, &asked, ui)
        }
        Recipe::Suggest(recipe) => suggest::show(&recipe.run(ui)?, ui, json),
        Recipe::Transfer(recipe) => transfer::show(&recipe.run(ui)?, ui, json),
        Recipe::Exercise(recipe) => exercise::show(&recipe.run(ui)?, ui, json),
        Recipe::Retarget(recipe) => retarget::show(&recipe.run(ui)?, ui, json),
        Recipe::Rig(recipe) => rig::show(&recipe.run(ui)?, ui, json),
        Recipe::Markers(recipe) => markers::show(&recipe.run(ui)?, ui, json),
        Recipe::Export(recipe) => export::show(&recipe.run(ui)?, ui, json),
        Recipe::Convert(recipe) => convert::show(&recipe.run(ui)?, ui, json),
        Recipe::Weights(recipe) => weights::show(&recipe.run(ui)?, ui, json),
        Recipe::Decompose(recipe) => decompose::show(&recipe.run(ui)?, ui, json),
        Recipe::Invert(recipe) => invert::show(&recipe.run(ui)?, ui, json),
        Recipe::Inspect(recipe) => inspect::show(&recipe.run(ui)?, ui, json),
        Recipe::Demo(recipe) => demo::show(&recipe.run(ui)?, &recipe.out, ui)?,
        Recipe::Figures(recipe) => figures::show(&recipe.run(ui)?, ui, json),
        Recipe::Report(recipe) => report::show(&recipe.run(ui)?, ui, json),
        Recipe::Animate(recipe) => animate::show(&recipe.run(ui)?, ui, json),
        Recipe::Crowd(recipe) => crowd::show(&recipe.run(ui)?, ui, json),
        Recipe::View(recipe) => view::show(&recipe.run(ui)?, ui, json),
        Recipe::Session(recipe) => session::show(&recipe, &recipe.run(ui)?, ui, json),
    })
}
