//! Recipes: what a verb does, as data.
//!
//! A [`Recipe`] names the inputs (with their hashes once they were read), the method with its settings, and the outputs
//! that are wanted. [`Recipe::run`] does the work and says what came of it; the program translates its arguments into a
//! recipe, runs it and shows the [`Outcome`]. Every model holds the recipe that made it, so that the same model can be
//! made again, to the bit.

mod course;
mod input;
mod watch;

pub use crate::output::{Compression, Existing};
pub use crate::provenance::Provenance;
pub use crate::verbs::animate::{AnimateOutcome, AnimateRecipe, BodyOutcome, GoalOutcome};
pub use crate::verbs::compare::recipe::{
    CompareOutcome, CompareRecipe, Curve, Found, Subsets, USUAL, USUAL_FOLDS, bench, compare_held, comparison_steps,
};
pub use crate::verbs::convert::{ConvertOutcome, ConvertRecipe};
pub use crate::verbs::crowd::CrowdColours;
pub use crate::verbs::crowd::recipe::{CrowdOutcome, CrowdPicture, CrowdRecipe, LevelOutcome};
pub use crate::verbs::decompose::recipe::{DecomposeOutcome, DecomposeRecipe};
pub use crate::verbs::demo::recipe::{DemoOutcome, DemoRecipe};
pub use crate::verbs::eval::recipe::{EvalOutcome, EvalRecipe, Held, ScoreRecipe, Scored, StressTest};
pub use crate::verbs::exercise::{ExerciseOutcome, ExerciseRecipe};
pub use crate::verbs::export::recipe::{
    ExportForm, ExportMade, ExportOutcome, ExportRecipe, LinearExport, ShapesExport,
};
pub use crate::verbs::export::shape_count::ShapeCount;
pub use crate::verbs::export::viewer::{ViewerExport, ViewerMade};
#[cfg(feature = "figures")]
pub use crate::verbs::figures::{FigureCharacter, FiguresOutcome, FiguresRecipe};
pub use crate::verbs::fit::Memory;
pub use crate::verbs::fit::held::{Beside, HeldFit};
pub use crate::verbs::fit::recipe::{FitDone, FitExamples, FitOutcome, FitOutputs, FitRecipe};
pub use crate::verbs::inspect::recipe::{InspectOutcome, InspectRecipe, Inspected};
pub use crate::verbs::invert::recipe::{DeformerProgram, InvertOutcome, InvertRecipe, InvertedDeformer};
pub use crate::verbs::markers::{MarkersOutcome, MarkersRecipe, words as trouble_words};
pub use crate::verbs::pose::{PoseOutcome, PoseRecipe, Swing};
pub use crate::verbs::report::{ReportOutcome, ReportRecipe};
pub use crate::verbs::retarget::{RetargetOutcome, RetargetRecipe};
pub use crate::verbs::rig::walk::{Feet, MotionSource, RigMotion};
pub use crate::verbs::rig::{Axis, BoneNames, RigOutcome, RigRecipe};
pub use crate::verbs::session::recipe::{SessionAct, SessionOutcome, SessionRecipe, SessionStatus};
pub use crate::verbs::suggest::recipe::{SuggestOutcome, SuggestRecipe, SuggestedBundle};
pub use crate::verbs::transfer::{
    CarriedIsland, CarriedMesh, CharacterMatch, GainFound, TransferOutcome, TransferRecipe, WornPose,
};
pub use crate::verbs::view::{Shows, ViewOutcome, ViewRecipe};
pub use crate::verbs::weights::recipe::{
    BoneRule, HeatOptions, PlanOptions, ScanOptions, ScanStart, SingleBoneOptions, WeightSource, WeightsFound,
    WeightsOutcome, WeightsRecipe,
};
pub use course::Course;
pub use input::{Input, SculptInput};
pub(crate) use input::{is_page, keep, paths, repeated, reserve, reserve_page, seen, sources, within};
pub use watch::{Silent, Watch, step};

use crate::error::Error;
use crate::load::FileNote;
use crate::report::SetRole;
use dermis_io::ModelFile;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// A verb with everything it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// Learn a model.
    Fit(Box<FitRecipe>),
    /// Score a model.
    Eval(EvalRecipe),
    /// Put methods on the same bench.
    Compare(CompareRecipe),
    /// Run a model on a motion.
    Pose(PoseRecipe),
    /// Carry what a body has to other meshes.
    Transfer(Box<TransferRecipe>),
    /// Say which frames to sculpt next.
    Suggest(SuggestRecipe),
    /// Make the poses to sculpt or to simulate.
    Exercise(ExerciseRecipe),
    /// Compile a model for an engine.
    Export(Box<ExportRecipe>),
    /// Bring a motion onto another rig.
    Retarget(RetargetRecipe),
    /// Embed a skeleton in a bare mesh.
    Rig(Box<RigRecipe>),
    /// Turn markers into the motion of a rig.
    Markers(MarkersRecipe),
    /// Write files in another format.
    Convert(ConvertRecipe),
    /// Make skinning weights.
    Weights(Box<WeightsRecipe>),
    /// Find bones and weights of a mesh sequence.
    Decompose(Box<DecomposeRecipe>),
    /// Bring sculpts back to rest.
    Invert(Box<InvertRecipe>),
    /// Say what files hold.
    Inspect(InspectRecipe),
    /// Run the whole loop on the bundled body.
    Demo(DemoRecipe),
    /// Make the figures of papers.
    #[cfg(feature = "figures")]
    Figures(FiguresRecipe),
    /// Compare two outcomes.
    Report(ReportRecipe),
    /// Play a scene.
    Animate(AnimateRecipe),
    /// Show many instances of a model.
    Crowd(Box<CrowdRecipe>),
    /// Learn a sculpt at a time.
    Session(Box<SessionRecipe>),
    /// Show what a file holds.
    View(ViewRecipe),
}

/// What came of a recipe.
#[derive(Debug)]
pub enum Outcome {
    /// Of a fit.
    Fit(Box<FitDone>),
    /// Of an evaluation.
    Eval(Box<EvalOutcome>),
    /// Of a comparison.
    Compare(Box<CompareOutcome>),
    /// Of a run on a motion.
    Pose(Box<PoseOutcome>),
    /// Of carrying what a body has to other meshes.
    Transfer(Box<TransferOutcome>),
    /// Of a search for poses to sculpt.
    Suggest(Box<SuggestOutcome>),
    /// Of making poses.
    Exercise(Box<ExerciseOutcome>),
    /// Of an export.
    Export(Box<ExportOutcome>),
    /// Of bringing a motion onto another rig.
    Retarget(Box<RetargetOutcome>),
    /// Of a skeleton embedded in a bare mesh.
    Rig(Box<RigOutcome>),
    /// Of a take of markers.
    Markers(Box<MarkersOutcome>),
    /// Of a conversion.
    Convert(ConvertOutcome),
    /// Of making weights.
    Weights(Box<WeightsOutcome>),
    /// Of a decomposition.
    Decompose(Box<DecomposeOutcome>),
    /// Of an inversion.
    Invert(Box<InvertOutcome>),
    /// Of a look into files.
    Inspect(InspectOutcome),
    /// Of the whole loop.
    Demo(Box<DemoOutcome>),
    /// Of drawing.
    #[cfg(feature = "figures")]
    Figures(FiguresOutcome),
    /// Of two outcomes.
    Report(Box<ReportOutcome>),
    /// Of a scene.
    Animate(Box<AnimateOutcome>),
    /// Of a crowd.
    Crowd(Box<CrowdOutcome>),
    /// Of an act on a session.
    Session(Box<SessionOutcome>),
    /// Of a look at a file.
    View(ViewOutcome),
}

impl Recipe {
    /// Does the work.
    ///
    /// # Errors
    /// [`Error`], naming file, thing and numbers.
    pub fn run(&self, watch: &dyn Watch) -> Result<Outcome, Error> {
        Ok(match self {
            Self::Fit(recipe) => Outcome::Fit(Box::new(recipe.run(watch)?)),
            Self::Eval(recipe) => Outcome::Eval(Box::new(recipe.run(watch)?)),
            Self::Compare(recipe) => Outcome::Compare(Box::new(recipe.run(watch)?)),
            Self::Pose(recipe) => Outcome::Pose(Box::new(recipe.run(watch)?)),
            Self::Transfer(recipe) => Outcome::Transfer(Box::new(recipe.run(watch)?)),
            Self::Suggest(recipe) => Outcome::Suggest(Box::new(recipe.run(watch)?)),
            Self::Exercise(recipe) => Outcome::Exercise(Box::new(recipe.run(watch)?)),
            Self::Export(recipe) => Outcome::Export(Box::new(recipe.run(watch)?)),
            Self::Retarget(recipe) => Outcome::Retarget(Box::new(recipe.run(watch)?)),
            Self::Rig(recipe) => Outcome::Rig(Box::new(recipe.run(watch)?)),
            Self::Markers(recipe) => Outcome::Markers(Box::new(recipe.run(watch)?)),
            Self::Convert(recipe) => Outcome::Convert(recipe.run(watch)?),
            Self::Weights(recipe) => Outcome::Weights(Box::new(recipe.run(watch)?)),
            Self::Decompose(recipe) => Outcome::Decompose(Box::new(recipe.run(watch)?)),
            Self::Invert(recipe) => Outcome::Invert(Box::new(recipe.run(watch)?)),
            Self::Inspect(recipe) => Outcome::Inspect(recipe.run(watch)?),
            Self::Demo(recipe) => Outcome::Demo(Box::new(recipe.run(watch)?)),
            #[cfg(feature = "figures")]
            Self::Figures(recipe) => Outcome::Figures(recipe.run(watch)?),
            Self::Report(recipe) => Outcome::Report(Box::new(recipe.run(watch)?)),
            Self::Animate(recipe) => Outcome::Animate(Box::new(recipe.run(watch)?)),
            Self::Crowd(recipe) => Outcome::Crowd(Box::new(recipe.run(watch)?)),
            Self::Session(recipe) => Outcome::Session(Box::new(recipe.run(watch)?)),
            Self::View(recipe) => Outcome::View(recipe.run(watch)?),
        })
    }

    /// The verb's name.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Fit(_) => "fit",
            Self::Eval(_) => "eval",
            Self::Compare(_) => "compare",
            Self::Pose(_) => "pose",
            Self::Transfer(_) => "transfer",
            Self::Suggest(_) => "suggest",
            Self::Exercise(_) => "exercise",
            Self::Export(_) => "export",
            Self::Retarget(_) => "retarget",
            Self::Rig(_) => "rig",
            Self::Markers(_) => "markers",
            Self::Convert(_) => "convert",
            Self::Weights(_) => "weights",
            Self::Decompose(_) => "decompose",
            Self::Invert(_) => "invert",
            Self::Inspect(_) => "inspect",
            Self::Demo(_) => "demo",
            #[cfg(feature = "figures")]
            Self::Figures(_) => "figures",
            Self::Report(_) => "report",
            Self::Animate(_) => "animate",
            Self::Crowd(_) => "crowd",
            Self::Session(_) => "session",
            Self::View(_) => "view",
        }
    }

    /// The recipe as text: JSON with one setting a line.
    ///
    /// # Errors
    /// [`Error::Internal`] if it cannot be said in JSON.
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string_pretty(self).map_err(|e| Error::Internal(e.to_string()))
    }

    /// A recipe from the text of a file.
    ///
    /// # Errors
    /// [`Error::File`], naming the line and what is not understood there.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, Error> {
        serde_json::from_slice(text.as_bytes()).map_err(|e| {
            Error::lacks(path, format!("this is no recipe: {e}"), "dermis recipe MODEL prints the recipe of a model")
        })
    }
}

impl FitRecipe {
    /// The recipe that a model holds.
    ///
    /// # Errors
    /// [`FileError::Lacks`](crate::FileError::Lacks) if it holds none, or one that this program does not understand.
    pub fn of_model(model: &ModelFile, path: &Path) -> Result<Self, Error> {
        let hint = "models of earlier programs hold no recipe: fit it again";
        let Some(value) = &model.header.recipe else {
            return Err(Error::lacks(path, "this model holds no recipe", hint));
        };
        match serde_json::from_slice(value.to_string().as_bytes()) {
            Ok(Recipe::Fit(recipe)) => Ok(*recipe),
            Ok(_) => Err(Error::lacks(path, "the recipe of this model is not one of a fit", hint)),
            Err(e) => Err(Error::lacks(path, format!("the recipe of this model is not understood: {e}"), hint)),
        }
    }

    /// What the fit of a model did with files, by the hashes in its recipe. Single poses that it trained on are found by
    /// [`Scores::unseen`](crate::measure::Scores::unseen), as a copy of a file may hold them.
    pub(crate) fn role_of(model: &ModelFile, inputs: &[Input], notes: &[FileNote]) -> SetRole {
        let Ok(recipe) = Self::of_model(model, Path::new("")) else { return SetRole::Scored };
        let is_in = |known: &[Input]| {
            inputs.iter().all(|input| {
                let hash = input.note(notes).map(|note| &note.hash);
                let same = |known: &Input| known.file.part == input.file.part && known.sha256.as_ref() == hash;
                hash.is_some() && known.iter().any(same)
            })
        };
        match (is_in(&recipe.examples.inputs()), is_in(&recipe.hold_out)) {
            (true, _) => SetRole::Training,
            (false, true) => SetRole::HeldOut,
            (false, false) => SetRole::Scored,
        }
    }
}

impl Outcome {
    /// What the verb prints with `--json`; of verbs without that option what they wrote.
    pub fn json(&self) -> Value {
        match self {
            Self::Fit(done) => done.json(),
            Self::Eval(outcome) => outcome.json(),
            Self::Compare(outcome) => outcome.json(),
            Self::Pose(outcome) => outcome.json(),
            Self::Transfer(outcome) => outcome.json(),
            Self::Suggest(outcome) => outcome.json(),
            Self::Exercise(outcome) => outcome.json(),
            Self::Export(outcome) => outcome.json(),
            Self::Retarget(outcome) => outcome.json(),
            Self::Rig(outcome) => outcome.json(),
            Self::Markers(outcome) => outcome.json(),
            Self::Convert(outcome) => outcome.json(),
            Self::Weights(outcome) => outcome.json(),
            Self::Decompose(outcome) => outcome.json(),
            Self::Invert(outcome) => outcome.json(),
            Self::Inspect(outcome) => outcome.json(),
            Self::Demo(outcome) => {
                json!({"train": outcome.train_scores.model.error, "held_out": outcome.walk_scores.model.error})
            }
            #[cfg(feature = "figures")]
            Self::Figures(outcome) => outcome.json(),
            Self::Report(outcome) => outcome.json(),
            Self::Animate(outcome) => outcome.json(),
            Self::Crowd(outcome) => outcome.json(),
            Self::Session(outcome) => outcome.json(),
            Self::View(outcome) => outcome.json(),
        }
    }
}
