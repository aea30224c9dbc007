//! Every way to fit a model as one type: [`Method`] holds the settings of its variant, fits, and says what it promises.
//!
//! Settings are data: they are stored with the model and read back by name, and a name that the method does not know is
//! an error. Whatever depends on the examples (the number of folds, row or full features) is decided when the method is
//! fitted, so that one value serves any character.
//!
//! ```
//! use dermis_fit::method::{JointMethod, Method, RidgeChoice};
//! let default = Method::default();
//! let stiff = Method::Joint(JointMethod { ridge: RidgeChoice::Fixed(0.1), ..JointMethod::default() });
//! assert_eq!((default.name(), stiff.promises().bounded), ("joint", true));
//! ```
//!
//! Adding a method: a module with its settings, its fit and its report, and a variant here; the compiler names every
//! other place.

mod animation_space;
mod base;
mod beneath;
mod by_example;
mod contradictions;
mod coordinates;
mod correctives;
mod error;
mod folds;
mod forms;
mod importance;
mod joint;
mod learnt;
mod maps;
mod mush;
mod mwe;
pub mod passes;
mod pose_space;
mod precision;
mod presets;
mod prior;
mod remembering;
mod ridge;
mod rotational;
mod settings;
pub mod share;
mod slider;
pub mod sums;
pub mod weights;

pub use animation_space::AnimationSpaceMethod;
pub use base::{BaseChoice, SmoothingSteps};
pub use by_example::{ShapeByExampleMethod, ShapeByExampleReport};
pub use contradictions::contradictions;
pub use correctives::{CorrectiveShape, CorrectivesMethod, CorrectivesModelReport, DrivingTurn};
pub use error::{Lack, MethodError};
pub use folds::folds;
pub use forms::{FactorChoice, FormChoice, GravityChoice};
pub use importance::Importance;
pub use joint::{JointMethod, JointModelReport};
pub use learnt::{FitInput, FitReport, FitWarning, Learnt, MethodReport, RidgePoint, Solved};
pub use maps::MapSource;
pub use mush::DeltaMushMethod;
pub use mwe::{AnchorChoice, MweMethod, MweRidge};
pub use pose_space::{EigenSkinMethod, PoseBlendshapesMethod, PoseSpaceSettings, PsdMethod};
pub use precision::CoefficientChoice;
pub use presets::{Preset, preset, presets};
pub use prior::PriorFound;
pub use ridge::{FoldChoice, RidgeChoice};
pub use rotational::RotationalMethod;
pub use settings::{Audience, Setting, SettingError};
pub use slider::RidgeSlider;
pub use weights::LbsMethod;

use crate::mask::over_own_skin;
use crate::training::Progress;
use dermis_deform::{Base, DualQuaternions};
use dermis_rig::{Example, ExampleSet};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A method with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The rig's own weights, linearly blended: nothing is learnt.
    OwnWeights,
    /// Weights that are fitted, linearly blended.
    Lbs(LbsMethod),
    /// The rig's own weights, dual quaternions: nothing is learnt.
    Dqs,
    /// The rig's own weights, direct delta mush: only its smoothing steps are chosen.
    #[serde(rename = "ddm")]
    DirectDeltaMush(DeltaMushMethod),
    /// Animation space.
    AnimationSpace(AnimationSpaceMethod),
    /// Multi-weight enveloping over a base.
    Mwe(MweMethod),
    /// The joint model over a base.
    Joint(JointMethod),
    /// Pose-space deformation over a base.
    Psd(PsdMethod),
    /// EigenSkin over a base.
    #[serde(rename = "eigenskin")]
    EigenSkin(EigenSkinMethod),
    /// Pose blend shapes over a base.
    PoseBlendshapes(PoseBlendshapesMethod),
    /// Shapes by example over a base.
    ShapeByExample(ShapeByExampleMethod),
    /// A shape per sculpt over a base.
    Correctives(CorrectivesMethod),
    /// Triangles that turn with joints.
    RotationalRegression(RotationalMethod),
}

/// What holds for a method whatever it is fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Promises {
    /// In every pose a vertex stays within a known distance of the base, or the model corrects nothing.
    pub bounded: bool,
    /// It needs the rig's skinning weights.
    pub needs_weights: bool,
    /// It needs triangles.
    pub needs_faces: bool,
    /// It can be fitted to sums over examples that nobody holds ([`sums`]).
    pub streams: bool,
    /// An engine can drive its correction as morph targets from a table.
    pub drives_shapes: bool,
    /// What it learns from some examples says something of others, so that leaving examples out validates it.
    pub predicts: bool,
    /// It corrects a base, which may consist of given positions.
    pub corrects_base: bool,
}

impl Default for Method {
    /// The joint model.
    fn default() -> Self {
        Self::joint()
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Method {
    /// The joint model with its defaults.
    pub fn joint() -> Self {
        Self::Joint(JointMethod::default())
    }

    /// Multi-weight enveloping with its defaults.
    pub fn mwe() -> Self {
        Self::Mwe(MweMethod::default())
    }

    /// Fitted skinning weights with their defaults.
    pub fn lbs() -> Self {
        Self::Lbs(LbsMethod::default())
    }

    /// Animation space with its defaults.
    pub fn animation_space() -> Self {
        Self::AnimationSpace(AnimationSpaceMethod::default())
    }

    /// Pose-space deformation with its defaults.
    pub fn psd() -> Self {
        Self::Psd(PsdMethod::default())
    }

    /// EigenSkin with its defaults.
    pub fn eigenskin() -> Self {
        Self::EigenSkin(EigenSkinMethod::default())
    }

    /// Pose blend shapes with their defaults.
    pub fn pose_blendshapes() -> Self {
        Self::PoseBlendshapes(PoseBlendshapesMethod::default())
    }

    /// Shapes by example with their defaults.
    pub fn shape_by_example() -> Self {
        Self::ShapeByExample(ShapeByExampleMethod::default())
    }

    /// Correctives with their defaults.
    pub fn correctives() -> Self {
        Self::Correctives(CorrectivesMethod::default())
    }

    /// Direct delta mush with its defaults.
    pub fn direct_delta_mush() -> Self {
        Self::DirectDeltaMush(DeltaMushMethod::default())
    }

    /// Rotational regression with its defaults.
    pub fn rotational_regression() -> Self {
        Self::RotationalRegression(RotationalMethod::default())
    }

    /// Every method with its defaults, the default first.
    pub fn all() -> Vec<Self> {
        std::iter::successors(Some(Self::joint()), Self::next).collect()
    }

    /// The method after this one, with its defaults.
    fn next(&self) -> Option<Self> {
        Some(match self {
            Self::Joint(_) => Self::OwnWeights,
            Self::OwnWeights => Self::lbs(),
            Self::Lbs(_) => Self::Dqs,
            Self::Dqs => Self::direct_delta_mush(),
            Self::DirectDeltaMush(_) => Self::animation_space(),
            Self::AnimationSpace(_) => Self::mwe(),
            Self::Mwe(_) => Self::psd(),
            Self::Psd(_) => Self::eigenskin(),
            Self::EigenSkin(_) => Self::pose_blendshapes(),
            Self::PoseBlendshapes(_) => Self::shape_by_example(),
            Self::ShapeByExample(_) => Self::correctives(),
            Self::Correctives(_) => Self::rotational_regression(),
            Self::RotationalRegression(_) => return None,
        })
    }

    /// The method's name on the command line and in files.
    pub fn name(&self) -> &'static str {
        self.names().0
    }

    /// The method's name as a class of a program.
    pub fn class(&self) -> &'static str {
        self.names().1
    }

    /// What the method is, in a few words.
    pub fn about(&self) -> &'static str {
        self.names().2
    }

    fn names(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::OwnWeights => ("own-weights", "OwnWeights", "the rig's own weights"),
            Self::Lbs(_) => ("lbs", "Lbs", "weights fitted to the examples"),
            Self::Dqs => ("dqs", "Dqs", "the rig's own weights, dual quaternions"),
            Self::DirectDeltaMush(_) => ("ddm", "DirectDeltaMush", "the rig's own weights, direct delta mush"),
            Self::AnimationSpace(_) => ("animation-space", "AnimationSpace", "coefficients shared by the axes"),
            Self::Mwe(_) => ("mwe", "Mwe", "multi-weight enveloping, default form"),
            Self::Joint(_) => ("joint", "Joint", "the joint model, default form"),
            Self::Psd(_) => ("psd", "Psd", "pose-space deformation, default form"),
            Self::EigenSkin(_) => ("eigenskin", "EigenSkin", "shapes per joint, over its rotation alone"),
            Self::PoseBlendshapes(_) => {
                ("pose-blendshapes", "PoseBlendshapes", "linear in the entries of nearby joints' rotations")
            }
            Self::ShapeByExample(_) => {
                ("shape-by-example", "ShapeByExample", "a shape per example, with weights linear beyond the examples")
            }
            Self::Correctives(_) => ("correctives", "Correctives", "a shape per example, for sculpts"),
            Self::RotationalRegression(_) => {
                ("rotational-regression", "RotationalRegression", "triangles that turn with joints, no ball")
            }
        }
    }

    /// What holds for the method with these settings.
    pub fn promises(&self) -> Promises {
        let bare = Promises {
            bounded: true,
            needs_weights: true,
            needs_faces: false,
            streams: false,
            drives_shapes: false,
            predicts: true,
            corrects_base: false,
        };
        let correction = |guard: bool, base: BaseChoice| Promises {
            bounded: guard,
            needs_weights: base.needs_weights(),
            corrects_base: true,
            ..bare
        };
        match self {
            Self::OwnWeights | Self::Dqs | Self::DirectDeltaMush(_) => bare,
            Self::Lbs(_) => Promises { needs_weights: false, ..bare },
            Self::AnimationSpace(_) => Promises { bounded: false, needs_weights: false, ..bare },
            Self::Mwe(own) => Promises { streams: own.streams(), ..correction(own.guard, own.base) },
            // Joints and their relevance come from the weights, whatever the base is.
            Self::Joint(own) => {
                Promises { drives_shapes: true, needs_weights: true, ..correction(own.guard, own.base) }
            }
            Self::Psd(PsdMethod { pose_space, .. })
            | Self::EigenSkin(EigenSkinMethod { pose_space, .. })
            | Self::PoseBlendshapes(PoseBlendshapesMethod { pose_space, .. }) => {
                Promises { drives_shapes: true, ..correction(pose_space.guard, pose_space.base) }
            }
            Self::ShapeByExample(own) => Promises { drives_shapes: true, ..correction(own.guard, own.base) },
            Self::Correctives(own) => {
                Promises { drives_shapes: true, predicts: false, ..correction(own.guard, own.base) }
            }
            Self::RotationalRegression(_) => Promises { bounded: false, needs_faces: true, ..bare },
        }
    }

    /// Where the positions come from that the method corrects; `None` if it corrects nothing.
    pub fn base(&self) -> Option<BaseChoice> {
        match self {
            Self::Mwe(own) => Some(own.base),
            Self::Joint(own) => Some(own.base),
            Self::ShapeByExample(own) => Some(own.base),
            Self::Correctives(own) => Some(own.base),
            Self::Psd(PsdMethod { pose_space, .. })
            | Self::EigenSkin(EigenSkinMethod { pose_space, .. })
            | Self::PoseBlendshapes(PoseBlendshapesMethod { pose_space, .. }) => Some(pose_space.base),
            Self::OwnWeights
            | Self::Lbs(_)
            | Self::Dqs
            | Self::DirectDeltaMush(_)
            | Self::AnimationSpace(_)
            | Self::RotationalRegression(_) => None,
        }
    }

    /// Where the influence maps come from; `None` if the method takes none.
    pub fn maps(&self) -> Option<&MapSource> {
        match self {
            Self::AnimationSpace(own) => Some(&own.maps),
            Self::Mwe(own) => Some(&own.maps),
            Self::Correctives(own) => Some(&own.maps),
            Self::Psd(PsdMethod { pose_space, .. })
            | Self::EigenSkin(EigenSkinMethod { pose_space, .. })
            | Self::PoseBlendshapes(PoseBlendshapesMethod { pose_space, .. }) => Some(&pose_space.maps),
            Self::OwnWeights
            | Self::Lbs(_)
            | Self::Dqs
            | Self::DirectDeltaMush(_)
            | Self::Joint(_)
            | Self::ShapeByExample(_)
            | Self::RotationalRegression(_) => None,
        }
    }

    /// How much examples count; `None` if the method cannot tell them apart.
    fn importance(&self) -> Option<&Importance> {
        match self {
            Self::Mwe(own) => Some(&own.importance),
            Self::Joint(own) => Some(&own.importance),
            Self::Psd(own) => Some(&own.importance),
            _ => None,
        }
    }

    /// The examples as they count; `None` where nothing changes.
    fn weighed(&self, input: &FitInput<'_>) -> Option<ExampleSet> {
        self.importance()?.weighed(input.examples)
    }

    fn base_mut(&mut self) -> Option<&mut BaseChoice> {
        match self {
            Self::Mwe(own) => Some(&mut own.base),
            Self::Joint(own) => Some(&mut own.base),
            Self::ShapeByExample(own) => Some(&mut own.base),
            Self::Correctives(own) => Some(&mut own.base),
            Self::Psd(PsdMethod { pose_space, .. })
            | Self::EigenSkin(EigenSkinMethod { pose_space, .. })
            | Self::PoseBlendshapes(PoseBlendshapesMethod { pose_space, .. }) => Some(&mut pose_space.base),
            Self::OwnWeights
            | Self::Lbs(_)
            | Self::Dqs
            | Self::DirectDeltaMush(_)
            | Self::AnimationSpace(_)
            | Self::RotationalRegression(_) => None,
        }
    }

    /// Checks the settings, which need no rig for that.
    ///
    /// # Errors
    /// [`MethodError::Setting`] for a number out of range, [`MethodError::Unused`] for a setting that another one makes
    /// void.
    pub fn check(&self) -> Result<(), MethodError> {
        match self {
            Self::OwnWeights | Self::Dqs => Ok(()),
            Self::DirectDeltaMush(own) => own.base().check(self.name()),
            Self::Lbs(own) => own.check(),
            Self::AnimationSpace(own) => own.check(),
            Self::Mwe(own) => own.check(),
            Self::Joint(own) => own.check(),
            Self::Psd(own) => own.check(),
            Self::EigenSkin(own) => own.check(),
            Self::PoseBlendshapes(own) => own.check(),
            Self::ShapeByExample(own) => own.check(),
            Self::Correctives(own) => own.check(),
            Self::RotationalRegression(own) => own.ridge.check(),
        }
    }

    /// Fits a model.
    ///
    /// # Errors
    /// [`MethodError`]: settings that do not suit the rig or the examples, a fit that fails, cancellation.
    pub fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        self.check()?;
        if let Some(prior) = input.prior {
            return self.fit_with_prior(input, prior, progress);
        }
        match (self.base(), input.model) {
            (Some(BaseChoice::Model), _) => drop(input.beneath()?),
            (_, Some(_)) => return Err(MethodError::Unused { setting: "the model", with: "over another base" }),
            (_, None) => {}
        }
        if let Some(open @ (BaseChoice::DirectDeltaMush(None) | BaseChoice::Smooth(None))) = self.base() {
            let shown = over_own_skin(input.rig, input.examples);
            let input = &FitInput { examples: shown.as_ref().unwrap_or(input.examples), ..*input };
            let chosen = mush::stated(open, &mush::Seen::of(input)?)?;
            let mut stated = self.clone();
            stated.base_mut().into_iter().for_each(|base| *base = chosen);
            return stated.fit(input, progress);
        }
        let mut learnt = match self.weighed(input) {
            Some(examples) => self.fitted(&FitInput { examples: &examples, ..*input }, progress)?,
            None => self.fitted(input, progress)?,
        };
        if let Some(importance) = self.importance().filter(|importance| !importance.is_empty()) {
            learnt.report.settings.push(("importance".into(), importance.to_string()));
            let patterns = importance.unmatched(input.examples);
            if !patterns.is_empty() {
                learnt.report.warnings.push(FitWarning::ImportanceUnmatched { patterns });
            }
        }
        let stated = |e: &&Example| e.local.as_ref().is_some_and(|local| local.mask.is_some() || local.shown.is_some());
        let examples = input.examples.examples().iter().filter(stated).count();
        if examples > 0 && !matches!(self, Self::Joint(_) | Self::Mwe(_)) {
            learnt.report.warnings.push(FitWarning::MasksUnread { examples });
        }
        Ok(learnt)
    }

    fn fitted(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let weights = || input.weights().cloned();
        match self {
            Self::OwnWeights => Ok(Learnt::of_base(self, Base::Lbs(weights()?), input)?),
            Self::Dqs => {
                let base = Base::Dqs(weights()?, DualQuaternions::new(input.rig.skeleton()));
                Ok(Learnt::of_base(self, base, input)?)
            }
            Self::DirectDeltaMush(own) => own.fit(input),
            Self::Lbs(own) => own.fit(input, progress),
            Self::AnimationSpace(own) => own.fit(input, progress),
            Self::Mwe(own) => own.fit(input, progress),
            Self::Joint(own) => {
                // A base that the examples choose was shown to nobody: the rig's own skin was.
                let shown = (own.base == BaseChoice::Auto).then(|| over_own_skin(input.rig, input.examples)).flatten();
                match shown {
                    Some(examples) => own.fit(&FitInput { examples: &examples, ..*input }, progress),
                    None => own.fit(input, progress),
                }
            }
            Self::Psd(own) => own.fit(input, progress),
            Self::EigenSkin(own) => own.fit(input, progress),
            Self::PoseBlendshapes(own) => own.fit(input, progress),
            Self::ShapeByExample(own) => own.fit(input, progress),
            Self::Correctives(own) => own.fit(input, progress),
            Self::RotationalRegression(own) => own.fit(input, progress),
        }
    }

    /// The largest leverage that the fitted correction has on poses it never saw, over 400 vertices; `None` for methods
    /// whose leverage is not known.
    ///
    /// A pose of leverage one weighs as much as a training pose that determines its own fit.
    ///
    /// # Errors
    /// As [`Method::fit`].
    pub fn unseen_leverage(
        &self,
        input: &FitInput<'_>,
        solved: &Solved,
        unseen: &ExampleSet,
    ) -> Result<Option<f64>, MethodError> {
        let weighed = self.weighed(input);
        let input = &FitInput { examples: weighed.as_ref().unwrap_or(input.examples), ..*input };
        match self {
            Self::Mwe(own) => own.unseen_leverage(input, solved, unseen).map(Some),
            Self::Joint(own) => {
                let shown = over_own_skin(input.rig, input.examples);
                let input = &FitInput { examples: shown.as_ref().unwrap_or(input.examples), ..*input };
                own.unseen_leverage(input, solved, unseen).map(Some)
            }
            Self::OwnWeights
            | Self::Lbs(_)
            | Self::Dqs
            | Self::DirectDeltaMush(_)
            | Self::AnimationSpace(_)
            | Self::Psd(_)
            | Self::EigenSkin(_)
            | Self::PoseBlendshapes(_)
            | Self::ShapeByExample(_)
            | Self::Correctives(_)
            | Self::RotationalRegression(_) => Ok(None),
        }
    }
}

/// Examples below which a method that regresses on features of the pose leaves a third of the error and more: three random poses
/// of the bundled body leave 0.54 of the error of its weights on the walk, eight 0.30 (`dermis compare` with `--poses 3,8`).
/// Sculpts of single joints, which have little in common, leave nearly all.
const FEW: usize = 8;

/// What is to be said of few examples.
fn few(examples: usize) -> Option<FitWarning> {
    (examples < FEW).then_some(FitWarning::FewExamples { examples })
}

/// Vertices on which leverage is looked at.
const LEVERAGE_VERTICES: usize = 400;

/// A number in at most four digits; reports hold it in full.
fn short(x: f64) -> String {
    let (exact, rounded) = (format!("{x:e}"), format!("{x:.3e}"));
    if exact.len() < rounded.len() { exact } else { rounded }
}

/// What stands behind a number that the fit chose.
fn chosen_by(given: bool) -> &'static str {
    if given { "" } else { " (by cross-validation)" }
}

/// What stands behind λ, which was given, chosen by a sweep, or is the largest that meets the examples.
fn ridge_by(given: bool, swept: bool) -> &'static str {
    if given || swept { chosen_by(given) } else { " (the largest that meets the examples)" }
}
