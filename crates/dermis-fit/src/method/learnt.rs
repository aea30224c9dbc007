//! What a fit is made from, and what it leaves.

use super::base::BaseChoice;
use super::error::Lack;
use super::precision::CoefficientChoice;
use super::{
    Method, MethodError, animation_space, by_example, correctives, joint, mwe, pose_space, rotational, short, weights,
};
use crate::joints::JointReport;
use crate::mwe::MweReport;
use crate::training::{BasePoses, Training};
use dermis_deform::training::{TrainingPoses, moves_skin};
use dermis_deform::{Base, Correction, Deformer, RiggedDeformer, Stack};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, ExampleSet, Influences, Mirror, Rig};
use serde::Serialize;
use std::fmt;

/// What a method is fitted to.
#[derive(Clone, Copy, Debug)]
pub struct FitInput<'a> {
    /// The rig.
    pub rig: &'a Rig,
    /// Examples of its skin.
    pub examples: &'a ExampleSet,
    /// Positions of the base, one list per example, for [`BaseChoice::Given`].
    pub base: Option<&'a [Vec<DVec3>]>,
    /// Influence maps from elsewhere, in the rig's vertex and bone order, for [`MapSource::Table`](super::MapSource::Table).
    pub maps: Option<&'a Influences>,
    /// A bone name per vertex, for [`AnchorChoice::PerVertex`](super::AnchorChoice::PerVertex).
    pub anchors: Option<&'a [String]>,
    /// Deformers one after another, made for the rig, for [`BaseChoice::Stack`].
    pub stack: Option<&'a Stack>,
    /// A model of the rig, for [`BaseChoice::Model`].
    pub model: Option<&'a RiggedDeformer>,
    /// What another character has learnt, on the rig, for the joint model. It is taken where it predicts examples left out better.
    pub prior: Option<&'a RiggedDeformer>,
}

impl<'a> FitInput<'a> {
    /// A rig and examples, with nothing from elsewhere.
    pub fn new(rig: &'a Rig, examples: &'a ExampleSet) -> Self {
        Self { rig, examples, base: None, maps: None, anchors: None, stack: None, model: None, prior: None }
    }

    /// The rig's skinning weights.
    pub(super) fn weights(&self) -> Result<&'a Influences, MethodError> {
        self.rig.weights().ok_or_else(|| self.lacks(Lack::Weights))
    }

    /// The rig's bone of that name.
    pub(super) fn bone(&self, name: &str) -> Result<BoneIndex, MethodError> {
        let missing = || MethodError::NoBone { rig: self.rig.name().to_owned(), bone: name.to_owned() };
        self.rig.skeleton().find(name).ok_or_else(missing)
    }

    pub(super) fn lacks(&self, what: Lack) -> MethodError {
        MethodError::RigLacks { rig: self.rig.name().to_owned(), what }
    }

    /// The numerical side of the input, over a base.
    pub(super) fn training(&self, base: BasePoses<'a>) -> Training<'a> {
        Training {
            skeleton: self.rig.skeleton(),
            rest: &self.rig.mesh().positions,
            length: self.rig.mesh().extent(),
            examples: self.examples.examples(),
            base,
        }
    }
}

/// A fitted model, and what is known about it.
#[derive(Clone, Debug)]
pub struct Learnt {
    /// The model.
    pub deformer: Deformer,
    /// Fitted skinning weights, if the method fits them.
    pub weights: Option<Influences>,
    /// The symmetry by which every example taught both sides, if it did.
    pub mirror: Option<Mirror>,
    /// How the coefficients are to be stored.
    pub coefficients: CoefficientChoice,
    /// The poses that the model beneath was learnt from.
    pub beneath: Option<TrainingPoses>,
    /// What the fit found.
    pub report: FitReport,
    /// What leverages are computed from.
    pub solved: Solved,
}

/// What a fit keeps so that the leverage of unseen poses can be told ([`Method::unseen_leverage`]).
#[derive(Clone, Debug)]
pub struct Solved(pub(super) SolvedBy);

#[derive(Clone, Debug)]
pub(super) enum SolvedBy {
    Other,
    Mwe(MweReport),
    Joint(JointReport),
}

/// What a fit found.
#[derive(Clone, Debug, Serialize)]
pub struct FitReport {
    /// The method's name.
    pub method: &'static str,
    /// Every setting as text, defaults included.
    pub settings: Vec<(String, String)>,
    /// The sweep over λ, ascending; empty if λ was fixed or has no length.
    pub sweep: Vec<RidgePoint>,
    /// λ, if the method has one.
    pub ridge: Option<f64>,
    /// How the sweep was validated.
    pub validated_by: Option<String>,
    /// What became of a prior.
    pub prior: Option<super::PriorFound>,
    /// What the user should know.
    pub warnings: Vec<FitWarning>,
    /// What the method itself found.
    pub details: MethodReport,
}

/// One λ of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RidgePoint {
    /// λ.
    pub ridge: f64,
    /// Training error, rms in metres, where it is known.
    pub train: Option<f64>,
    /// Cross-validated error, rms in metres.
    pub validated: f64,
}

/// What a method found, with bones by name.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum MethodReport {
    /// Nothing was learnt.
    Nothing {},
    /// Of fitted weights.
    Lbs(weights::LbsReport),
    /// Of animation space.
    AnimationSpace(animation_space::AnimationSpaceReport),
    /// Of multi-weight enveloping.
    Mwe(mwe::EnvelopingReport),
    /// Of the joint model.
    Joint(joint::JointModelReport),
    /// Of pose-space deformation and its relatives.
    PoseSpace(Box<pose_space::PoseSpaceReport>),
    /// Of shapes by example.
    ShapeByExample(Box<by_example::ShapeByExampleReport>),
    /// Of correctives.
    Correctives(Box<correctives::CorrectivesModelReport>),
    /// Of rotational regression.
    RotationalRegression(rotational::RotationalModelReport),
}

impl fmt::Display for FitReport {
    /// The method, λ and the warnings, a line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.method)?;
        if let Some(ridge) = self.ridge {
            write!(f, ", s = {}", short(ridge))?;
        }
        if let Some(how) = &self.validated_by {
            write!(f, ", by {how}")?;
        }
        for warning in &self.warnings {
            write!(f, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}

impl Learnt {
    /// A deformer that learns nothing.
    pub(super) fn of_base(method: &Method, base: Base, input: &FitInput<'_>) -> Result<Self, MethodError> {
        let report = FitReport::new(method.name(), MethodReport::Nothing {});
        Self::new(base, None, input, report, SolvedBy::Other)
    }

    pub(super) fn new(
        base: Base,
        correction: Option<Correction>,
        input: &FitInput<'_>,
        report: FitReport,
        solved: SolvedBy,
    ) -> Result<Self, MethodError> {
        Ok(Self {
            deformer: input.deformer(base, correction)?,
            weights: input.model.and_then(RiggedDeformer::fitted_weights).cloned(),
            mirror: None,
            coefficients: CoefficientChoice::Single,
            beneath: input.model.and_then(RiggedDeformer::training).cloned(),
            report,
            solved: Solved(solved),
        })
    }

    /// Bakes the model and ties it to the rig it was fitted on.
    ///
    /// - `poses`: those it was trained on ([`Self::training_poses`])
    /// - result: the model, the report with the cost of 16-bit coefficients among its settings, and what leverages are
    ///   computed from
    ///
    /// # Errors
    /// [`MethodError`]: a deformer that does not belong to the rig.
    pub fn rigged(
        self,
        rig: &Rig,
        poses: &[BoneTransforms],
    ) -> Result<(RiggedDeformer, FitReport, Solved), MethodError> {
        let Self { deformer, weights, coefficients, beneath, mut report, solved, .. } = self;
        let (bones, length) = (rig.skeleton().len(), rig.mesh().extent());
        let moving = weights.as_ref().or(rig.weights()).map_or(vec![true; bones], |w| moves_skin(rig.skeleton(), w));
        let poses: Vec<&BoneTransforms> = poses.iter().collect();
        let training = TrainingPoses::new(rig.skeleton(), &moving, &poses, if length > 0.0 { length } else { 1.0 });
        let training = beneath.iter().fold(training, TrainingPoses::with);
        let baked = deformer.for_bones(bones)?.into_baked();
        let validated = report.sweep.iter().map(|point| point.validated).reduce(f64::min);
        let (baked, cost) = coefficients.stored(baked, validated, &poses)?;
        report.settings.extend(cost.map(|cost| ("coefficients".into(), cost)));
        Ok((RiggedDeformer::new(rig.clone(), weights, baked, Some(training))?, report, solved))
    }

    /// The poses the model was trained on: those of the examples, and their mirror images if those taught, too.
    pub fn training_poses<'p>(&self, own: impl Iterator<Item = &'p BoneTransforms> + Clone) -> Vec<BoneTransforms> {
        let images = self.mirror.iter().flat_map(|mirror| own.clone().map(|pose| mirror.pose(pose)));
        own.clone().cloned().chain(images).collect()
    }
}

impl FitReport {
    /// Whether examples show what others move, so that leaving some out says something of the fit.
    pub fn has_evidence(&self) -> bool {
        !self
            .warnings
            .iter()
            .any(|warning| matches!(warning, FitWarning::NothingToValidate { .. } | FitWarning::CalmDefault { .. }))
    }

    pub(super) fn new(method: &'static str, details: MethodReport) -> Self {
        Self {
            method,
            settings: vec![("method".into(), method.into())],
            sweep: Vec::new(),
            ridge: None,
            validated_by: None,
            prior: None,
            warnings: Vec::new(),
            details,
        }
    }

    pub(super) fn with_base(mut self, base: BaseChoice) -> Self {
        self.settings.push(("base".into(), base.to_string()));
        self
    }
}

/// What the user of a fitted model should know: what it is about, and by how much.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitWarning {
    /// Two examples of one pose, or of nearly one, that say different things of the skin.
    Contradiction {
        /// The label of one.
        first: String,
        /// The label of the other.
        second: String,
        /// How far the poses are apart, degrees; `None` for one pose.
        degrees: Option<f64>,
        /// How far the skins are apart, metres; of different poses their corrections.
        apart: f64,
        /// Where.
        vertex: usize,
    },
    /// Two sculpts of one pose that ask for different skin where both touched it.
    SculptsDisagree {
        /// The label of the earlier.
        earlier: String,
        /// The label of the later.
        later: String,
        /// How far the skins are apart, metres.
        apart: f64,
        /// Where.
        vertex: usize,
    },
    /// Sculpts that ask for different skin in one pose, as the joints that drive them see it.
    SculptsApart {
        /// The name of one.
        first: String,
        /// The name of the other.
        second: String,
        /// How far they are apart, at most, metres.
        apart: f64,
    },
    /// Contradictions that are not listed.
    FurtherContradictions {
        /// How many.
        pairs: usize,
    },
    /// Held-out examples that are training examples too.
    Repeated {
        /// How many.
        repeated: usize,
        /// Of how many.
        held_out: usize,
    },
    /// Held-out examples beside training examples, as neighbouring frames of one clip are.
    Neighbours {
        /// How many.
        near: usize,
        /// Of how many.
        held_out: usize,
    },
    /// Enveloping without welding, limits and the ball.
    EnvelopingUnguarded,
    /// A joint model without limits and the ball.
    JointsUnguarded,
    /// A pose space without the ball.
    PoseSpaceUnguarded,
    /// A ridge that vanishes where training hardly moved.
    VanishingRidge {
        /// Largest leverage of a training pose.
        largest_leverage: f64,
    },
    /// Features or displacements of the world.
    WorldFeatures,
    /// Displacements of the world.
    WorldDisplacements,
    /// A centring that does not keep the bind pose exact.
    BindNotExact,
    /// The chosen λ is the smallest or largest of its grid.
    RidgeAtEdge {
        /// The symbol that the method gives it.
        symbol: &'static str,
        /// λ.
        ridge: f64,
    },
    /// Most of what the examples show moves in one of them alone, so that nothing can be cross-validated: λ is the largest that meets them.
    NothingToValidate {
        /// The symbol that the method gives λ.
        symbol: &'static str,
        /// λ.
        ridge: f64,
    },
    /// Local sculpts that predict each other too little for λ to be chosen by them.
    CalmDefault {
        /// The symbol that the method gives λ.
        symbol: &'static str,
        /// λ.
        ridge: f64,
    },
    /// Patterns of importance that match no label.
    ImportanceUnmatched {
        /// The patterns.
        patterns: Vec<String>,
    },
    /// Masks that a method does not read.
    MasksUnread {
        /// Examples with a mask or a shown skin.
        examples: usize,
    },
    /// No joint turned enough to be learnt.
    NoJointTurned,
    /// Animation space has no bound.
    AnimationSpaceUnbounded,
    /// Rotational regression has no bound around linear blending.
    RotationalUnbounded,
    /// Connected components held by one vertex each.
    BarelyHeld {
        /// How many.
        components: usize,
        /// Of how many.
        all: usize,
        /// How far that vertex's bone misses it at most, rms in metres.
        worst: f64,
    },
    /// Triangles without area, and vertices that belong to none that has.
    Degenerate {
        /// Triangles.
        triangles: usize,
        /// Vertices.
        vertices: usize,
    },
    /// A joint that the examples turn beyond a half turn.
    BeyondHalfTurn {
        /// The joint's bone.
        joint: String,
        /// By how much.
        degrees: f64,
    },
    /// Systems whose smoothing was raised.
    SmoothingRaised {
        /// How many.
        groups: usize,
        /// Of how many.
        all: usize,
        /// The smoothing that was asked for.
        smoothing: f64,
    },
    /// Weights that cancel.
    Cancellation {
        /// The largest weight over the largest displacement.
        factor: f64,
        /// What rounding to `f32` may cost of it.
        cost: f64,
    },
    /// Displacements damped near a singular base.
    Damped {
        /// Pairs of a vertex and an example.
        vertices: usize,
        /// What is left of an example at most, metres.
        remainder: f64,
        /// Whether it is kept beside the displacement.
        kept: bool,
    },
    /// Singular poses as published.
    SingularAsPublished,
    /// A stack that moves the rest mesh at the bind pose.
    StackMovesRest {
        /// How far, at most, metres.
        farthest: f64,
    },
    /// Remainders that a compiled model cannot hold.
    RemaindersDropped {
        /// Vertices.
        vertices: usize,
    },
    /// Sculpts that are what the base shows.
    NothingSculpted {
        /// Their names.
        examples: Vec<String>,
    },
    /// Examples that the model was to meet and does not.
    NotMet {
        /// Vertices.
        vertices: usize,
        /// How far it stays from an example, at most, metres.
        largest: f64,
    },
    /// Examples in one place of the space that differ.
    ExamplesDisagree {
        /// How far the model stays from one of them, at most, metres.
        largest: f64,
    },
    /// Shapes by example whose linear part meets all of them.
    LinearMeetsAll {
        /// Examples.
        examples: usize,
    },
    /// Vertices of which mirrored examples say nothing.
    WithoutPartner {
        /// How many.
        vertices: usize,
    },
    /// Too few examples for a method that regresses.
    FewExamples {
        /// How many.
        examples: usize,
    },
    /// Negative weights.
    NegativeWeights {
        /// Vertices with one.
        vertices: usize,
        /// Of how many.
        all: usize,
    },
    /// Weights that do not sum to one.
    PlainWeights {
        /// Vertices with a negative one.
        negative: usize,
        /// Of how many.
        all: usize,
    },
    /// Vertices whose weights the examples do not determine.
    Undetermined {
        /// Vertices.
        vertices: usize,
        /// Of how many.
        all: usize,
    },
    /// Bones that moved as one.
    MovedAlike {
        /// Groups of names; long ones are cut short.
        groups: Vec<String>,
    },
    /// Smooth weights that had not settled.
    Unsettled {
        /// Sweeps made.
        sweeps: usize,
        /// The last change of a weight.
        change: f64,
    },
    /// A held-out pose that training says nothing about.
    UnseenLeverage {
        /// Its leverage.
        leverage: f64,
    },
    /// Sums over examples cannot merge duplicates.
    DuplicatesCounted,
    /// Sums over examples are solved in double precision.
    SolvedInDouble,
}

impl fmt::Display for FitWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EnvelopingUnguarded => f.write_str("the guard is off: an unseen pose can move skin without limit"),
            Self::JointsUnguarded => f.write_str("the guard is off: an unseen pose can move skin further than any example"),
            Self::PoseSpaceUnguarded => {
                f.write_str("the guard is off: an unseen pose can move skin farther than any example did")
            }
            Self::VanishingRidge { largest_leverage } => write!(
                f,
                "this ridge vanishes where training hardly moved, and the leverage of an unseen pose has no bound; that of a \
                 training pose is at most {largest_leverage:.3}"
            ),
            Self::WorldFeatures => {
                f.write_str("features are those of the world: the skin changes when the whole character turns")
            }
            Self::WorldDisplacements => {
                f.write_str("displacements are those of the world: the skin changes when the whole character turns")
            }
            Self::BindNotExact => f.write_str("this centring does not keep the bind pose exact"),
            Self::RidgeAtEdge { symbol, ridge } => {
                write!(f, "the chosen {symbol} = {} is at the edge of its grid", short(*ridge))
            }
            Self::NothingToValidate { symbol, ridge } => write!(
                f,
                "most of what the examples show moves in one of them alone, so there is nothing to cross-validate it by: the fit meets \
                 the examples ({symbol} = {}); a pose half way to each settles what lies between",
                short(*ridge)
            ),
            Self::CalmDefault { symbol, ridge } => write!(
                f,
                "too few sculpts to choose {symbol} by: the calm default, {}, is taken; sculpts of poses between these settle it",
                short(*ridge)
            ),
            Self::ImportanceUnmatched { patterns } => {
                write!(f, "importance: no example is labelled {}", patterns.join(", "))
            }
            Self::MasksUnread { examples } => write!(
                f,
                "{examples} examples say which vertices were sculpted, which this method does not read: all of their skin counts; the \
                 joint model and multi-weight enveloping read it"
            ),
            Self::NoJointTurned => {
                f.write_str("no joint turned by more than 6 degrees in training: only the shared part was learnt")
            }
            Self::AnimationSpaceUnbounded => {
                f.write_str("animation space has no bound: a pose far from training can move skin without limit")
            }
            Self::RotationalUnbounded => f.write_str(
                "rotational regression bounds how far triangles turn and stretch, but has no ball around linear blending",
            ),
            Self::BarelyHeld { components, all, worst } => write!(
                f,
                "{components} of {all} parts of the surface have no rigid skin and are held by one vertex each, whose bone misses \
                 it by up to {} m rms",
                short(*worst)
            ),
            Self::Degenerate { triangles, vertices } => write!(
                f,
                "{triangles} triangles have no area; {vertices} vertices belong to none that has, and follow linear blending"
            ),
            Self::BeyondHalfTurn { joint, degrees } => write!(
                f,
                "the examples turn the joint of \"{joint}\" by up to {degrees:.0} degrees; poses are taken for the turn nearest to \
                 theirs"
            ),
            Self::SmoothingRaised { groups, all, smoothing } => write!(
                f,
                "{groups} of {all} systems cannot be solved or run with a smoothing of {}; theirs was raised",
                short(*smoothing)
            ),
            Self::Cancellation { factor, cost } => write!(
                f,
                "weights are up to {} times the largest displacement and cancel: in f32 that may cost {} of it; a larger \
                 smoothing or a smaller sigma helps",
                short(*factor),
                short(*cost)
            ),
            Self::Damped { vertices, remainder, kept } => {
                let left = short(*remainder);
                let left = match kept {
                    true => format!("what that leaves, up to {left} m, is kept in the frame of the dominant bone"),
                    false => format!("up to {left} m of an example is not reproduced there"),
                };
                write!(
                    f,
                    "the base is nearly singular at {vertices} vertices in some example; displacements are damped there, and {left}"
                )
            }
            Self::SingularAsPublished => f.write_str("singular poses as published: the examples are not met"),
            Self::StackMovesRest { farthest } => write!(
                f,
                "at the bind pose the stack moves the rest mesh by up to {:.1} mm, and no correction acts there: an example at \
                 the bind pose is met only where it has the stack's shape",
                1e3 * farthest
            ),
            Self::RemaindersDropped { vertices } => write!(
                f,
                "{vertices} vertices keep a part of their examples beside the displacement, which no shape holds: it is dropped"
            ),
            Self::NothingSculpted { examples } => {
                write!(f, "no shape is needed for {}: the base shows it already in its pose", examples.join(", "))
            }
            Self::NotMet { vertices, largest } => write!(
                f,
                "at {vertices} vertices an example is not met, by up to {} m: the joints that count there hardly moved in it, or \
                 another example of their pose says something else; correctives meet every sculpt",
                short(*largest)
            ),
            Self::ExamplesDisagree { largest } => write!(
                f,
                "the model stays up to {} m from an example: others in the same pose, with the same adjectives, say something else, \
                 or a channel that tells them apart is not among the coordinates",
                short(*largest)
            ),
            Self::LinearMeetsAll { examples } => write!(
                f,
                "the pose space has as many directions as the {examples} examples: the linear part meets them all, and radial functions \
                 add nothing"
            ),
            Self::WithoutPartner { vertices } => write!(
                f,
                "{vertices} vertices have no partner on the other side: there the mirrored examples have the shape of the base"
            ),
            Self::FewExamples { examples } => write!(
                f,
                "{examples} examples are few for this method, which learns what examples have in common and meets none of them; the \
                 joint model meets them as sculpts, and so do correctives and a pose space"
            ),
            Self::NegativeWeights { vertices, all } => write!(
                f,
                "{vertices} of {all} vertices have negative weights: engines clamp them and scale the rest, and a GLB cannot hold \
                 them"
            ),
            Self::PlainWeights { negative, all } => write!(
                f,
                "plain weights do not sum to one, so the skin does not move with the character: for comparison only ({negative} of \
                 {all} vertices have negative weights)"
            ),
            Self::Undetermined { vertices, all } => write!(
                f,
                "the examples say nothing about the weights of {vertices} of {all} vertices: their candidate bones moved alike"
            ),
            Self::MovedAlike { groups } => write!(
                f,
                "bones that moved as one in every example share their weight by convention: {}",
                groups.join("; ")
            ),
            Self::Unsettled { sweeps, change } => {
                write!(f, "after {sweeps} sweeps smooth weights still change by {}", short(*change))
            }
            Self::Contradiction { first, second, degrees: None, apart, vertex } => write!(
                f,
                "\"{first}\" and \"{second}\" are of the same pose and up to {} m apart (vertex {vertex}); both are kept",
                short(*apart)
            ),
            Self::Contradiction { first, second, degrees: Some(degrees), apart, vertex } => write!(
                f,
                "\"{first}\" and \"{second}\" are of nearly the same pose ({degrees:.0} degrees apart), but their corrections differ \
                 by up to {} m (vertex {vertex}), more than either moves the skin; both are kept",
                short(*apart)
            ),
            Self::SculptsDisagree { earlier, later, apart, vertex } => write!(
                f,
                "the sculpts \"{earlier}\" and \"{later}\" ask for different skin in one pose: up to {} m apart (vertex {vertex})",
                short(*apart)
            ),
            Self::SculptsApart { first, second, apart } => write!(
                f,
                "the sculpts \"{first}\" and \"{second}\" ask for skin up to {} m apart, but the joints that drive them do not tell their \
                 poses apart; the model keeps the mean",
                short(*apart)
            ),
            Self::FurtherContradictions { pairs } => write!(f, "{pairs} more pairs of examples contradict each other"),
            Self::Repeated { repeated, held_out } => write!(
                f,
                "{repeated} of {held_out} held-out examples are training examples too: there the held-out error is a training error"
            ),
            Self::Neighbours { near, held_out } => write!(
                f,
                "{near} of {held_out} held-out examples are within 6 degrees of a training example in every joint, as neighbouring \
                 frames of one clip are: hold out a motion of its own"
            ),
            Self::UnseenLeverage { leverage } => {
                write!(f, "the largest leverage of a held-out pose is {leverage:.1e}: training says nothing about it")
            }
            Self::DuplicatesCounted => {
                f.write_str("examples that are not held are not merged as duplicates: each counts")
            }
            Self::SolvedInDouble => f.write_str("examples that are not held are solved in double precision"),
        }
    }
}
