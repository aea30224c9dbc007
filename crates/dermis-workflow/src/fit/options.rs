//! What the user chooses.

use super::{PoseSpaceOptions, WeightOptions};
use dermis_deform::baked::Precision;
use dermis_deform::joints::Frame;
use dermis_fit::Folds;
use dermis_fit::maps::MapSettings;
use dermis_fit::mwe::{Centring, RidgeMode, RowChoice, SolvePrecision};
use dermis_rig::Influences;
use std::fmt;

/// Every method, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The rig's own weights, linearly blended: nothing is learnt.
    OwnWeights,
    /// Weights that are fitted, linearly blended.
    Lbs,
    /// The rig's own weights, dual quaternions.
    Dqs,
    /// Animation space.
    AnimationSpace,
    /// Multi-weight enveloping over a base.
    Mwe,
    /// The joint model over a base.
    Joint,
    /// Pose-space deformation over a base.
    Psd,
    /// EigenSkin over a base.
    EigenSkin,
    /// Pose blend shapes over a base.
    PoseBlendshapes,
    /// Triangles that turn with joints.
    RotationalRegression,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OwnWeights => "own-weights",
            Self::Lbs => "lbs",
            Self::Dqs => "dqs",
            Self::AnimationSpace => "animation-space",
            Self::Mwe => "mwe",
            Self::Joint => "joint",
            Self::Psd => "psd",
            Self::EigenSkin => "eigenskin",
            Self::PoseBlendshapes => "pose-blendshapes",
            Self::RotationalRegression => "rotational-regression",
        })
    }
}

/// The deformer a correction is learnt over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseChoice {
    /// Every vertex follows its dominant bone.
    Rigid,
    /// Linear blend skinning with the rig's weights.
    #[default]
    Lbs,
    /// Dual quaternion skinning with the rig's weights.
    Dqs,
    /// The rest pose itself: rest shapes are learnt, for another program to deform.
    Rest,
    /// Positions supplied with every pose.
    Given,
}

/// Where influence maps come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum MapSource {
    /// The file's maps if it has any, else from the weights.
    #[default]
    Auto,
    /// Derived from the rig's weights.
    Weights,
    /// The rig file's maps.
    File,
    /// Vertex colours: the bone each channel (red, green, blue, alpha) stands for.
    Colors([Option<String>; 4]),
    /// Derived from influences that the examples show.
    Examples,
    /// A table read from elsewhere, already in the rig's vertex and bone order.
    Table(Influences),
}

/// How vertices are anchored.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AnchorChoice {
    /// The world.
    World,
    /// The first root bone.
    Root,
    /// The bone of largest influence.
    #[default]
    Dominant,
    /// A bone by name.
    Bone(String),
    /// A bone name per vertex.
    PerVertex(Vec<String>),
}

/// What a caller sets; `None` is the method's own default.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// The method.
    pub method: Method,
    /// The published form instead of the default one; the settings below still override it.
    pub published: bool,
    /// The base of a correction.
    pub base: BaseChoice,
    /// Influence maps.
    pub maps: MapSource,
    /// How maps are derived from weights.
    pub map_settings: MapSettings,
    /// Anchor.
    pub anchor: Option<AnchorChoice>,
    /// Row or full features.
    pub rows: Option<RowChoice>,
    /// Centring.
    pub centring: Option<Centring>,
    /// How the ridge depends on s.
    pub ridge: Option<RidgeMode>,
    /// What the joint model's corrections are seen from.
    pub frame: Option<Frame>,
    /// Width of the kernel of the joint model, or of a pose-space deformation instead of choosing it.
    pub sigma: Option<f64>,
    /// Whether the joint model may learn from mirrored examples on a symmetric rig; yes by default.
    pub mirror: Option<bool>,
    /// Inducing rotations per joint, at most.
    pub inducing: Option<usize>,
    /// The ridge itself, s or λ, instead of choosing it.
    pub s: Option<f64>,
    /// Choose s by generalised cross-validation.
    pub gcv: bool,
    /// What is left out at a time when s is chosen; single poses, or blocks for a clip.
    pub folds: Option<Folds>,
    /// Cross-validation takes the largest s within this factor of the best.
    pub tolerance: Option<f64>,
    /// Principal axes below this fraction of the largest variance are dropped.
    pub eig_tol: Option<f64>,
    /// Singular values below this fraction are dropped in the published solve.
    pub svd_tol: Option<f64>,
    /// Precision in which multi-weight enveloping solves the vertices.
    pub solve_in: Option<SolvePrecision>,
    /// Poses closer than this around a vertex are merged; negative: never.
    pub duplicates: Option<f64>,
    /// Welding, limits and the ball.
    pub guard: Option<bool>,
    /// How the model's coefficients are stored.
    pub precision: Precision,
    /// Pose-space deformation and its relatives.
    pub pose_space: PoseSpaceOptions,
    /// Fitted weights.
    pub weights: WeightOptions,
}

impl FitOptions {
    /// The defaults of a method.
    pub fn new(method: Method) -> Self {
        Self {
            method,
            published: false,
            base: BaseChoice::default(),
            maps: MapSource::default(),
            map_settings: MapSettings::default(),
            anchor: None,
            rows: None,
            centring: None,
            ridge: None,
            frame: None,
            sigma: None,
            mirror: None,
            inducing: None,
            s: None,
            gcv: false,
            folds: None,
            tolerance: None,
            eig_tol: None,
            svd_tol: None,
            solve_in: None,
            duplicates: None,
            guard: None,
            precision: Precision::Single,
            pose_space: PoseSpaceOptions::default(),
            weights: WeightOptions::default(),
        }
    }
}
