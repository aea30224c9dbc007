//! The settings of multi-weight enveloping.

use crate::mask::UNTOUCHED;
use dermis_rig::BoneIndex;
use dermis_rig::glam::DVec3;
use dermis_solve::Folds;

/// The frame a vertex's features and correction are seen from.
#[derive(Clone, Debug, PartialEq)]
pub enum Anchor {
    /// The world: published, and not equivariant.
    World,
    /// The skeleton's first root.
    Root,
    /// The bone of largest μ at the vertex, ties to the lowest index.
    Dominant,
    /// One bone for all vertices.
    Bone(BoneIndex),
    /// A bone for every vertex.
    PerVertex(Vec<BoneIndex>),
}

/// Which rows of the transforms an axis reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowChoice {
    /// Axis j reads row j.
    Row,
    /// Every axis reads all rows.
    Full,
    /// Both are fitted, and the one with the smaller cross-validated error is kept.
    Auto,
}

/// What is subtracted from the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Centring {
    /// The bind pose's features: the correction vanishes there by construction.
    Rest,
    /// The weighted mean, with an unpenalised intercept.
    Mean,
    /// Nothing, and no intercept.
    Raw,
    /// Published: principal axes of the centred features, regression on the uncentred ones, no intercept.
    Paper,
}

/// How the ridge λ_h of principal axis h depends on s. v_h is the variance along the axis, m the sum of pose weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RidgeMode {
    /// λ = s on unnormalised sums of squares: a ridge in joint angle, one number for every direction.
    Absolute,
    /// λ = s / v_h (published).
    Paper,
    /// λ = s m / v_h.
    Unit,
    /// λ = s m v_ref² / v_h, v_ref the largest variance before μ is multiplied in.
    Relative,
}

/// How the strength s of the ridge is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strength {
    /// Given.
    Given(f64),
    /// By exact cross-validation over the grid.
    CrossValidated(Folds),
    /// By generalised cross-validation over the grid.
    Gcv,
}

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct MweSettings {
    /// Frame of features and correction.
    pub anchor: Anchor,
    /// Row or full features.
    pub rows: RowChoice,
    /// What is subtracted from the features.
    pub centring: Centring,
    /// How λ depends on s.
    pub ridge: RidgeMode,
    /// How s is chosen.
    pub strength: Strength,
    /// The values of s that cross-validation tries, ascending.
    pub grid: Vec<f64>,
    /// Cross-validation takes the largest s whose rms is within this factor of the best; 1 takes the best.
    pub tolerance: f64,
    /// Principal axes with a variance at or below this times the largest are dropped (not in `Absolute`).
    pub eig_tol: f64,
    /// Singular values at or below this times the largest are dropped (`Paper` centring only).
    pub svd_tol: f64,
    /// Poses whose features around a vertex agree within this are merged. A negative value switches merging off.
    pub duplicates: f64,
    /// c₀: the weight of a row whose vertex a local sculpt did not touch; one that it touched has 1. See
    /// [`UNTOUCHED`](crate::joints::UNTOUCHED).
    pub untouched: f64,
    /// Whether the guard acts: welding, limits and the ball. Off only in the published form.
    pub guard: bool,
    /// What translations are seen from, rest world, metres. The middle of the rest mesh makes the fit independent of where the
    /// character stands.
    pub origin: DVec3,
    /// The most vertices that the choice of s looks at, evenly spread.
    pub sweep_vertices: usize,
    /// How vertices are solved.
    pub solver: Solver,
    /// In what precision [`Solver::Batched`] solves them.
    pub solve_in: SolvePrecision,
}

/// How vertices are solved, once s is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// Without principal axes, one vertex in every lane of the vector registers ([`dermis_solve::batched`]). Vertices whose
    /// ridge is too small for it, and forms with a cut-off that matters, take the principal axes.
    Batched,
    /// By principal axes, a vertex at a time: the reference.
    Axes,
}

/// In what precision vertices are solved, once s is known. The choice of s and the Gram matrices are always in `f64`, and
/// so is the solve of an [`Accumulator`](super::Accumulator).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SolvePrecision {
    /// `f64`.
    Double,
    /// `f32`, twice as many vertices at once: Gram matrices, maps and residuals are rounded once, right-hand sides and
    /// systems are in `f32`.
    ///
    /// **Accuracy**, against `Double`: positions agree within 5e-5 of the character's length in any pose like those of training,
    /// coefficients within 5 % of the largest of their vertex. Usual are 1e-6 and 1e-4. Errors of coefficients grow with the
    /// trace over the ridge, but along directions that the examples hardly show. A vertex is solved in `f64` if its trace over
    /// its ridge exceeds 10⁶ (absolute), or lies outside 10⁻³ to 10⁵ (ridges over variance);
    /// [`MweReport::in_single`](super::MweReport::in_single) counts the others.
    Single,
}

impl MweSettings {
    /// Returns the form to use: guarded, with one absolute ridge by leave-one-out (by five blocks of frames for a clip).
    ///
    /// Steps of the grid are a quarter of a decade, and the least error decides: with half decades and a tolerance of 3 %, one pose
    /// more could move λ by a factor of three.
    ///
    /// Features are full, seen from the dominant bone and measured from the bind pose. Below 16 poses cross-validation chooses
    /// between row and full features.
    pub fn for_poses(poses: usize, is_clip: bool) -> Self {
        Self {
            anchor: Anchor::Dominant,
            rows: if poses < 16 { RowChoice::Auto } else { RowChoice::Full },
            centring: Centring::Rest,
            ridge: RidgeMode::Absolute,
            strength: Strength::CrossValidated(if is_clip { Folds::Blocks(5) } else { Folds::Single }),
            grid: powers(1e-4, 10.0, 4),
            tolerance: 1.0,
            eig_tol: 1e-10,
            svd_tol: 1e-12,
            duplicates: 1e-6,
            untouched: UNTOUCHED,
            guard: true,
            origin: DVec3::ZERO,
            sweep_vertices: 6000,
            solver: Solver::Batched,
            solve_in: SolvePrecision::Double,
        }
    }

    /// Returns the published form to the letter, with its ridge scale s_f.
    pub fn published(s_f: f64) -> Self {
        Self {
            anchor: Anchor::World,
            rows: RowChoice::Row,
            centring: Centring::Paper,
            ridge: RidgeMode::Paper,
            strength: Strength::Given(s_f),
            grid: powers(1e-10, 10.0, 2),
            tolerance: 1.0,
            eig_tol: 1e-10,
            svd_tol: 1e-12,
            duplicates: 1e-6,
            untouched: UNTOUCHED,
            guard: false,
            origin: DVec3::ZERO,
            sweep_vertices: 6000,
            solver: Solver::Batched,
            solve_in: SolvePrecision::Double,
        }
    }
}

/// Returns powers of ten from `low` to `high`, `per_decade` of them in each decade.
pub fn powers(low: f64, high: f64, per_decade: i32) -> Vec<f64> {
    let [low, high] = [low, high].map(|end| (end.log10() * f64::from(per_decade)).round() as i32);
    (low..=high).map(|at| 10f64.powf(f64::from(at) / f64::from(per_decade))).collect()
}
