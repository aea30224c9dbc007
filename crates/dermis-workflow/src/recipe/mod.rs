//! Recipes: what a verb does, as data.
//!
//! A [`Recipe`] names the inputs (with their hashes once they were read), the method with its settings, and the outputs
//! that are wanted. [`Recipe::run`] does the work and says what came of it; the program translates its arguments into a
//! recipe, runs it and shows the [`Outcome`]. Every model holds the recipe that made it, so that the same model can be
//! made again, to the bit.

mod course;
mod watch;

pub use crate::output::Existing;
pub use crate::verbs::animate::{AnimateOutcome, AnimateRecipe, BodyOutcome, GoalOutcome};
pub use crate::verbs::compare::recipe::{
    CompareOutcome, CompareRecipe, Curve, Found, Subsets, USUAL, bench, compare_held, comparison_steps,
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
pub use crate::verbs::fit::held::{Beside, HeldFit};
pub use crate::verbs::fit::recipe::{FitDone, FitExamples, FitOutcome, FitOutputs, FitRecipe, Memory};
pub use crate::verbs::inspect::recipe::{InspectOutcome, InspectRecipe, Inspected};
pub use crate::verbs::invert::recipe::{DeformerProgram, InvertOutcome, InvertRecipe, InvertedDeformer};
pub use crate::verbs::markers::{MarkersOutcome, MarkersRecipe, words as trouble_words};
pub use crate::verbs::pose::{PoseOutcome, PoseRecipe, Swing};
pub use crate::verbs::report::{ReportOutcome, ReportRecipe};
pub use crate::verbs::retarget::{RetargetOutcome, RetargetRecipe};
pub use crate::verbs::rig::walk::{Feet, MotionSource, RigMotion};
pub use crate::verbs::rig::{Axis, BoneNames, RigOutcome, RigRecipe, UNSURE};
pub use crate::verbs::suggest::recipe::{SuggestOutcome, SuggestRecipe, SuggestedBundle};
pub use crate::verbs::weights::recipe::{
    BoneRule, HeatOptions, PlanOptions, ScanOptions, ScanStart, SingleBoneOptions, WeightSource, WeightsFound,
    WeightsOutcome, WeightsRecipe,
};
pub use course::Course;
pub use watch::{Silent, Watch, step};

use crate::FileError;
use crate::error::Error;
use crate::load::{FileNote, Source};
use crate::output::{Output, ending, reserve_file, reserve_folder};
use dermis_files::sculpts::SculptSource;
use dermis_fit::method::FitWarning;
use dermis_rig::ExampleSet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
}

/// A file that a recipe reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file or folder, and the part of it that is meant.
    pub file: Source,
    /// SHA-256 of its bytes, the first 16 hexadecimal digits, once it was read. A recipe that has one refuses another file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A file of sculpts that a recipe reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SculptInput {
    /// The file or folder, and the part of it that is meant.
    pub file: Source,
    /// The pose of its sculpt: a frame of the file of poses, counted from zero, or a label. Without it, poses go by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// As that of an [`Input`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl SculptInput {
    pub(crate) fn input(&self) -> Input {
        Input { file: self.file.clone(), sha256: self.sha256.clone() }
    }

    pub(crate) fn source(&self) -> SculptSource {
        SculptSource { file: self.file.clone(), at: self.at.clone() }
    }

    pub(crate) fn stamp(&mut self, notes: &[FileNote]) -> Result<(), Error> {
        let mut input = self.input();
        input.stamp(notes)?;
        self.sha256 = input.sha256;
        Ok(())
    }
}

impl From<SculptSource> for SculptInput {
    fn from(SculptSource { file, at }: SculptSource) -> Self {
        Self { file, at, sha256: None }
    }
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
        })
    }

    /// The verb's name.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Fit(_) => "fit",
            Self::Eval(_) => "eval",
            Self::Compare(_) => "compare",
            Self::Pose(_) => "pose",
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
    /// [`FileError::Lacks`], naming the line and what is not understood there.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|e| {
            Error::lacks(path, format!("this is no recipe: {e}"), "dermis recipe MODEL prints the recipe of a model")
        })
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
        }
    }
}

impl Input {
    /// A file as the user names it.
    pub fn new(file: Source) -> Self {
        Self { file, sha256: None }
    }

    /// A path without a part.
    pub fn of_path(path: &Path) -> Self {
        Self::new(Source { path: path.into(), part: None })
    }

    /// What was noted of this file when it was read.
    pub(crate) fn note<'a>(&self, notes: &'a [FileNote]) -> Option<&'a FileNote> {
        let path = self.file.path.display().to_string();
        notes.iter().find(|note| note.path == path)
    }

    /// Checks the file's hash against the one stated.
    pub(crate) fn check(&self, notes: &[FileNote]) -> Result<(), Error> {
        match (&self.sha256, self.note(notes)) {
            (Some(stated), Some(note)) if *stated != note.hash => Err(Error::lacks(
                &self.file.path,
                format!(
                    "this is another file than the recipe's: its SHA-256 begins with {}, the recipe's with {stated}",
                    note.hash
                ),
                "take \"sha256\" out of the recipe to run it on another file",
            )),
            _ => Ok(()),
        }
    }

    /// Checks the file's hash against the one stated, and states it from now on.
    pub(crate) fn stamp(&mut self, notes: &[FileNote]) -> Result<(), Error> {
        self.check(notes)?;
        if let Some(note) = self.note(notes) {
            self.sha256 = Some(note.hash.clone());
        }
        Ok(())
    }
}

impl From<Source> for Input {
    fn from(file: Source) -> Self {
        Self::new(file)
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Self {
        Self::of_path(&path)
    }
}

/// Shows files that were read, and checks them against the hashes of the inputs.
pub(crate) fn seen<'a>(
    watch: &dyn Watch,
    inputs: impl IntoIterator<Item = &'a Input>,
    notes: &[FileNote],
) -> Result<(), Error> {
    watch.files(notes);
    inputs.into_iter().try_for_each(|input| input.check(notes))
}

/// What is to be said of held-out examples that are training examples too. Of those at the bind pose nothing: every set may
/// have one, and no correction shows there.
///
/// # Errors
/// [`Error::NothingHeldOut`] if all of them are.
pub(crate) fn repeated(train: &ExampleSet, held_out: &ExampleSet) -> Result<Vec<FitWarning>, Error> {
    let posed = held_out.repeated_in(train).filter(|example| !example.is_at_bind()).count();
    match (posed, held_out.repeated_in(train).count(), held_out.len()) {
        (_, repeated, poses) if repeated == poses => Err(Error::NothingHeldOut { poses }),
        (0, ..) => Ok(neighbours(train, held_out).into_iter().collect()),
        (_, repeated, held_out) => Ok(vec![FitWarning::Repeated { repeated, held_out }]),
    }
}

/// What is to be said of held-out examples most of which are neighbours of training examples, as where a clip is cut into odd and
/// even frames.
fn neighbours(train: &ExampleSet, held_out: &ExampleSet) -> Option<FitWarning> {
    /// Degrees that limbs turn between two frames of a walk.
    const ANGLE: f64 = 6.0;
    /// Pairs of bones that are compared in well under a second.
    const MOST: usize = 1 << 28;
    let near = held_out.near(train, ANGLE.to_radians(), MOST).filter(|example| !example.is_at_bind()).count();
    (near > 1 && 2 * near > held_out.len()).then_some(FitWarning::Neighbours { near, held_out: held_out.len() })
}

/// Refuses outputs that are inputs.
pub(crate) fn keep<'a>(inputs: &[&Input], outputs: impl IntoIterator<Item = &'a Output>) -> Result<(), FileError> {
    outputs.into_iter().try_for_each(|output| output.keep(inputs.iter().map(|input| input.file.path.as_path())))
}

/// The sources of inputs.
pub(crate) fn sources(inputs: &[Input]) -> Vec<Source> {
    inputs.iter().map(|input| input.file.clone()).collect()
}

/// Where something was written.
pub(crate) fn paths(outputs: &[&Option<Output>]) -> Vec<PathBuf> {
    outputs.iter().filter_map(|output| output.as_ref().map(|output| output.path().to_path_buf())).collect()
}

/// Refuses a setting that does not lie between `low` and `high`.
pub(crate) fn within(setting: &'static str, value: f64, low: f64, high: f64) -> Result<(), Error> {
    match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(Error::Setting { setting, value, low, high }),
    }
}

/// Reserves a folder or a file.
pub(crate) fn reserve(path: &Path, existing: Existing, is_folder: bool) -> Result<Output, FileError> {
    match is_folder {
        true => reserve_folder(path, existing),
        false => reserve_file(path, existing),
    }
}

/// Whether a name is that of a page, and not of a folder for one.
fn is_page(path: &Path) -> bool {
    ending(path) == "html"
}

/// Reserves a page: a file if its name ends in .html, and else a folder for report.html.
pub(crate) fn reserve_page(path: &Path, existing: Existing) -> Result<Output, FileError> {
    reserve(path, existing, !is_page(path))
}

/// Writes a page that was reserved.
pub(crate) fn write_page(out: &Output, html: &str) -> Result<(), FileError> {
    match is_page(out.path()) {
        true => out.write(html.as_bytes()),
        false => out.folder()?("report.html", html.as_bytes()),
    }
}
