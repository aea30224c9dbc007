//! What a caller sets for the joint model, and what the fit reports.

use crate::mask::UNTOUCHED;
use crate::mwe::powers;
use crate::training::FitError;
use dermis_deform::guard::LIMIT_FACTOR;
use dermis_deform::joints::{CorrectionFrame, Joints, MOST_INDUCING};
use dermis_deform::{Gravity, JointKernel};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Mirror};
use dermis_solve::Folds;

/// σ of the kernel of a joint, as a chord. 2 raises the unseen error on most sets by up to 4 % (the bundled body: 0.191 for
/// 0.183 of the rig's own error) and lowers it on the wolf (0.0733 for 0.0744); docs/joint-model.md has the table.
pub const SIGMA: f64 = 1.4;
/// c, the correlation of left and right. With 1 the sides are one task, which loses on simulations and smoothed skin. With 0
/// mirrored examples teach nothing, which loses up to a sixth where left and right were shown in different poses.
pub const MIRROR_CORRELATION: f64 = 0.97;
/// Vertices that the choice of λ looks at. The sweep is the most expensive part of a fit and chooses one number for the whole
/// model, so a sample of the vertices, each evaluated exactly, is enough.
pub const SWEEP_VERTICES: usize = 500;

/// More poses than this are not left out one by one: they are dealt to [`PARTS`] parts, each of which is left out.
const MOST_SINGLE: usize = 500;
/// Parts to which many poses are dealt.
const PARTS: usize = 20;

/// Poses times vertices that the choice of λ looks at, at most: it looks at fewer vertices in more than 200 poses,
const MOST_ROWS: usize = 100_000;
/// but never at fewer than these.
const LEAST_SWEEP: usize = 250;

/// The default `tolerance` of the choice of λ. It differs from 1.03 on two sets of docs/accuracy.md, both over direct delta mush;
/// on both the mean over vertices of the error left out, which few vertices do not decide, asks for the smaller λ.
pub const JOINT_TOLERANCE: f64 = 1.02;

/// How the joint model is fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct JointSettings {
    /// The frame in which corrections are expressed.
    pub frame: CorrectionFrame,
    /// σ of the Gaussian kernel, in units of the feature: 1.4 is the chord of a turn by 89 degrees.
    pub sigma: f64,
    /// The share of the arc-cosine kernel.
    pub arc_cosine: f64,
    /// The unit vector down, if bones see it.
    pub gravity: Option<DVec3>,
    /// The most inducing rotations of a joint. With zero only the shared part is fitted.
    pub inducing: usize,
    /// The most inducing rotations of a joint that slides by more than 0.02 L.
    pub inducing_sliding: usize,
    /// η, by which the relevance of [composite joints](super::composite) is multiplied; zero leaves them out.
    pub composites: f64,
    /// η of [products](super::composite) of neighbouring joints; zero leaves them out.
    pub products: f64,
    /// Whether joints are read in two parts, swing and twist.
    pub swing_twist: bool,
    /// κ: a feature may exceed its largest norm in training by this factor. Infinite switches limits off. See
    /// [`LIMIT_FACTOR`].
    pub limit: f64,
    /// Whether the shared part is fitted.
    pub shared: bool,
    /// Whether the features of the shared part are limited.
    pub shared_limit: bool,
    /// β: the ridge of the shared part's coefficients is 1/β times that of the free ones.
    pub beta: f64,
    /// c₀: the weight of a row whose vertex a local sculpt did not touch; one that it touched has 1. See [`UNTOUCHED`].
    pub untouched: f64,
    /// Fixed λ; `None` chooses it by cross-validation.
    pub lambda: Option<f64>,
    /// The values of λ that cross-validation tries, ascending.
    pub grid: Vec<f64>,
    /// The poses that cross-validation leaves out together.
    pub folds: Folds,
    /// Cross-validation takes the largest λ whose rms error is within this factor of the best. See [`JOINT_TOLERANCE`].
    pub tolerance: f64,
    /// The rig's left and right. With it, every example may teach both sides.
    pub mirror: Option<Mirror>,
    /// c, the correlation of left and right. See [`MIRROR_CORRELATION`].
    pub mirror_correlation: f64,
    /// The most vertices that the choice of λ looks at, evenly spread. See [`SWEEP_VERTICES`].
    pub sweep_vertices: usize,
    /// √a is rounded to one part in this many, so that vertices share their factors. Zero switches rounding off.
    pub rounding: u32,
    /// Whether the ball bounds every correction ([`BALL_FACTOR`](dermis_deform::guard::BALL_FACTOR)).
    pub ball: bool,
}

impl JointSettings {
    /// Returns the defaults. With `is_clip` the examples are frames of an animation, whose neighbours are nearly the same.
    pub fn new(is_clip: bool) -> Self {
        Self {
            frame: CorrectionFrame::default(),
            sigma: SIGMA,
            arc_cosine: 0.0,
            gravity: None,
            inducing: 8,
            inducing_sliding: 16,
            composites: 0.0,
            products: 0.0,
            swing_twist: false,
            limit: LIMIT_FACTOR,
            shared: true,
            shared_limit: true,
            beta: 10.0,
            untouched: UNTOUCHED,
            lambda: None,
            grid: powers(1e-4, 10.0, 2),
            folds: if is_clip { Folds::Blocks(5) } else { Folds::Single },
            tolerance: JOINT_TOLERANCE,
            mirror: None,
            mirror_correlation: MIRROR_CORRELATION,
            sweep_vertices: SWEEP_VERTICES,
            rounding: 64,
            ball: true,
        }
    }

    /// k.
    pub fn kernel(&self) -> JointKernel {
        JointKernel { sigma: self.sigma, arc_cosine: self.arc_cosine }
    }

    /// The parts to which poses are dealt that are too many to be left out one by one, as cards are: every part sees what the others see.
    pub(super) fn dealt(&self, poses: usize) -> Option<usize> {
        (self.folds == Folds::Single && poses > MOST_SINGLE).then_some(PARTS)
    }

    /// The stride at which vertices take part in the choice of λ, for so many examples.
    pub fn stride(&self, vertices: usize, examples: usize) -> usize {
        let by_rows = (MOST_ROWS / examples.max(1)).max(LEAST_SWEEP);
        vertices.div_ceil(self.sweep_vertices.min(by_rows).max(1)).max(1)
    }

    /// Checks that every number lies in its range.
    pub(super) fn check(&self) -> Result<(), FitError> {
        let rule = |name, value, good: bool, rule| match good {
            true => Ok(()),
            false => Err(FitError::Setting { name, value, rule }),
        };
        rule("sigma", self.sigma, self.sigma > 0.0 && self.sigma.is_finite(), "it must be positive")?;
        let share = self.arc_cosine;
        rule("arc-cosine", share, (0.0..=1.0).contains(&share), "it must lie in 0..1")?;
        let down = self.gravity.map_or(1.0, DVec3::length);
        rule("length of down", down, (down - 1.0).abs() < 1e-9, "it must be one")?;
        for (name, eta) in [("composites", self.composites), ("products", self.products)] {
            rule(name, eta, eta >= 0.0 && eta.is_finite(), "it must be zero or more")?;
        }
        rule("limit", self.limit, self.limit >= 1.0, "it must be one or more")?;
        rule("beta", self.beta, self.beta > 0.0 && self.beta.is_finite(), "it must be positive")?;
        let c0 = self.untouched;
        rule("untouched", c0, (0.0..=1.0).contains(&c0), "it must lie in 0..1")?;
        let ascending = !self.grid.is_empty() && self.grid.windows(2).all(|w| w[0] < w[1]);
        rule("grid", self.grid.len() as f64, ascending, "it needs at least one value, and to ascend")?;
        for &lambda in self.grid.iter().chain(&self.lambda) {
            rule("lambda", lambda, lambda > 0.0 && lambda.is_finite(), "it must be positive")?;
        }
        for count in [self.inducing, self.inducing_sliding] {
            rule("inducing rotations", count as f64, count <= MOST_INDUCING, "they must be at most 256")?;
        }
        let c = self.mirror_correlation;
        rule("mirror correlation", c, (0.0..=1.0).contains(&c), "it must lie in 0..1")?;
        rule("tolerance", self.tolerance, self.tolerance >= 1.0, "it must be one or more")
    }
}

/// What a fit of the joint model found out.
#[derive(Clone, Debug, PartialEq)]
pub struct JointReport {
    /// λ.
    pub lambda: f64,
    /// (λ, rms error on the poses left out, metres) over the grid; empty when λ was given.
    pub sweep: Vec<(f64, f64)>,
    /// The same for the form that was not chosen, with mirrored examples or without. Empty if only one form was fitted.
    pub other_sweep: Vec<(f64, f64)>,
    /// β.
    pub beta: f64,
    /// How λ and β were chosen, if local sculpts chose them.
    pub prior: Option<Prior>,
    /// ϱ: the error on touched vertices of poses left out, over what the base leaves of them, if local sculpts chose.
    pub left_out_share: Option<f64>,
    /// Vertices that an example touched, or its mirror image.
    pub touched: usize,
    /// Whether mirrored examples take part.
    pub mirrored: bool,
    /// Vertices the sweep looked at.
    pub sweep_vertices: usize,
    /// Every joint of the forest.
    pub joints: Vec<JointSummary>,
    /// η.
    pub eta: f64,
    /// k.
    pub kernel: JointKernel,
    /// Down, and the bones that see it.
    pub gravity: Option<Gravity>,
    /// Every composite that has influence.
    pub composites: Vec<CompositeSummary>,
    /// η of products.
    pub products_eta: f64,
    /// Every product that has influence.
    pub products: Vec<CompositeSummary>,
    /// Whether joints are read in two parts, swing and twist.
    pub swing_twist: bool,
    /// The parts to which poses were dealt that were too many to be left out one by one.
    pub dealt: Option<usize>,
    /// Distinct sets of joints and relevances.
    pub groups: usize,
    /// Training error, rms over vertices and poses, metres.
    pub train: f64,
    /// The largest ρ of any vertex, metres. No pose moves a vertex farther from the base than 1.5 times that.
    pub largest_residual: f64,
    /// Largest leverage of a training pose at any vertex.
    pub largest_leverage: f64,
    /// 99th percentile over vertices of the largest leverage.
    pub leverage_p99: f64,
    /// Vertices with at least one coefficient.
    pub corrected: usize,
}

/// By what local sculpts choose λ and β.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prior {
    /// The sculpts predict each other too little: calm defaults.
    Calm,
    /// Between the calm defaults and what poses left out ask for.
    Between,
    /// Poses left out.
    LeftOut,
}

/// A joint in the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointSummary {
    /// The bone seen from.
    pub from: BoneIndex,
    /// The bone seen.
    pub to: BoneIndex,
    /// m, the largest norm of φ in training.
    pub largest: f64,
    /// Whether the joint never moved in training.
    pub frozen: bool,
    /// The number of inducing rotations, of all its parts; zero for a joint that moved too little.
    pub inducing: usize,
}

/// A composite, or a product, in the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompositeSummary {
    /// The joints of [`JointReport::joints`] that it is made of.
    pub joints: (usize, usize),
    /// γ, how much the examples moved both together.
    pub gate: f64,
    /// The number of inducing rotations.
    pub inducing: usize,
}

/// A fitted joint model.
#[derive(Clone, Debug)]
pub struct JointFit {
    /// The correction.
    pub correction: Joints,
    /// What the fit found out.
    pub report: JointReport,
}
