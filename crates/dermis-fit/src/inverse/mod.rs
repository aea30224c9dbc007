//! The inverse of a deformer seen from outside: which displacement at rest makes a sculpted shape in a pose.
//!
//! Given rest points p, a target t and a deformer S in one fixed pose ([`Deform`]: a map of the whole mesh), finds per
//! vertex the displacement d that minimises
//!
//! ```text
//! |t − S(p + d)|² + e |d|²
//! ```
//!
//! and keeps the remainder `w = t − S(p + d)`, so that the target is met exactly by S(p + d) + w.
//!
//! **No vertex waits for another.** Each vertex is a state machine that says where it wants the deformer next. One call of the
//! deformer, for the whole mesh, answers all of them. The slowest vertex sets the number of calls, which does not grow with
//! the mesh. This needs a vertex's result to depend on this vertex alone, which is probed first.
//!
//! ```
//! use dermis_fit::inverse::{InverseSettings, invert};
//! use dermis_rig::glam::DVec3;
//! use std::convert::Infallible;
//! // Your own deformer: here a bend of the x axis into a parabola.
//! let mut bend = |points: &[DVec3], out: &mut [DVec3]| {
//!     for (p, out) in points.iter().zip(out) {
//!         *out = *p + DVec3::Y * (0.3 * p.x * p.x);
//!     }
//!     Ok::<(), Infallible>(())
//! };
//! let rest = [DVec3::X, DVec3::ZERO, DVec3::new(-1.0, 0.2, 0.0)];
//! let sculpted = [DVec3::new(1.1, 0.4, 0.0), DVec3::Z * 0.05, DVec3::new(-1.0, 0.6, 0.1)];
//! let found = invert(&mut bend, &rest, &sculpted, &InverseSettings::new(2.0))?;
//! assert_eq!(found.unresolved, 0);
//! assert!((found.displacements[0].y - (0.4 - 0.3 * 1.1 * 1.1)).abs() < 1e-10);
//! # Ok::<(), dermis_fit::inverse::InverseError<Infallible>>(())
//! ```
//!
//! Source: Xiao et al. 2006 (the inverse through any deformer as a black box, by Powell's direction sets).
//! Departures: all vertices share the calls; Gauss-Newton steps first; the remainder is exact.

mod coupled;
mod driver;

use dermis_deform::Deform;
use dermis_rig::glam::{DMat3, DVec3};
use driver::Driver;

/// The default of [`InverseSettings::max_correction`]. Corrections of a smooth bulge through Blender's corrective smooth are 2.3 times
/// as long as the bulge, those of noise grow without bound and gain nothing.
pub const MAX_CORRECTION: f64 = 3.0;

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct InverseSettings {
    /// L, the rest diagonal, in the units of the points: every step scales with it.
    pub length: f64,
    /// How a vertex is searched.
    pub method: InverseMethod,
    /// e in parts of the mean squared singular value of the vertex's Jacobian. It acts only where the smallest singular
    /// value is below about a tenth of the mean one, as in [`pull_back`](crate::psd::pull_back): elsewhere the target is met exactly.
    pub epsilon: f64,
    /// A vertex is done once |t − S(p + d)|² ≤ ftol L², and unresolved if it ends above.
    pub ftol: f64,
    /// The most calls of the deformer.
    pub max_calls: usize,
    /// What to do with a deformer that moves vertices because others moved.
    pub coupled: Coupled,
    /// With [`Coupled::Iterate`]: no correction is longer than this many times the longest that the vertices ask for one by one,
    /// A⁻¹ (t − S(p)).
    pub max_correction: f64,
    /// Seed of the probe.
    pub seed: u64,
}

impl InverseSettings {
    /// The settings to use for a mesh of rest diagonal `length`.
    pub fn new(length: f64) -> Self {
        Self {
            length,
            method: InverseMethod::Auto,
            epsilon: 1e-4,
            ftol: 1e-22,
            max_calls: 2000,
            coupled: Coupled::Refuse,
            max_correction: MAX_CORRECTION,
            seed: 0,
        }
    }
}

/// How the displacement of a vertex is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InverseMethod {
    /// Gauss-Newton, then direction sets for the vertices that it leaves above the tolerance.
    #[default]
    Auto,
    /// Gauss-Newton alone.
    GaussNewton,
    /// Direction sets alone: many more calls, no derivatives.
    DirectionSet,
}

/// What to do with a deformer that moves vertices because others moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coupled {
    /// [`InverseError::Coupled`].
    #[default]
    Refuse,
    /// Iterate on the whole mesh. The iteration may miss the target; the residuals then say by how much.
    Iterate,
}

/// What the probe found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dependence {
    /// No vertex moved because others did.
    Independent,
    /// Vertices moved that the probe held still.
    Coupled {
        /// How many.
        moved: usize,
        /// The largest distance in rest diagonals.
        farthest: f64,
    },
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// Every vertex is within the tolerance.
    Reached,
    /// More calls gain nothing, or so little that they are not worth the longer corrections.
    NoGain,
    /// [`InverseSettings::max_calls`].
    Calls,
}

/// Calls of the deformer, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// At rest, the probe, the first Jacobian, and the final check of the whole mesh.
    pub measuring: usize,
    /// Gauss-Newton steps.
    pub gauss_newton: usize,
    /// Direction sets.
    pub direction_set: usize,
    /// Iterations of the whole mesh.
    pub coupled: usize,
}

impl Calls {
    /// All of them.
    pub fn all(&self) -> usize {
        self.measuring + self.gauss_newton + self.direction_set + self.coupled
    }
}

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub struct Inverse {
    /// d per vertex, rest world.
    pub displacements: Vec<DVec3>,
    /// w = t − S(p + d) per vertex, posed world, as measured with all vertices at their d.
    pub remainders: Vec<DVec3>,
    /// |w| per vertex.
    pub residuals: Vec<f64>,
    /// Calls of the deformer.
    pub calls: Calls,
    /// Vertices whose residual is above the tolerance.
    pub unresolved: usize,
    /// Vertices whose Jacobian is nearly singular, so that e acted.
    pub damped: usize,
    /// Vertices that Gauss-Newton brought to the tolerance.
    pub by_gauss_newton: usize,
    /// Vertices that direction sets brought to the tolerance.
    pub by_direction_set: usize,
    /// The tolerance on |w|, in the units of the points: √ftol L, or more where the deformer's rounding is coarser.
    pub tolerance: f64,
    /// The longest correction allowed; infinite where vertices do not depend on each other.
    pub limit: f64,
    /// Vertices whose correction is as long as that.
    pub limited: usize,
    /// Why the search ended.
    pub stopped: Stopped,
    /// Whether the deformer's results are single-precision numbers.
    pub single_precision: bool,
    /// What the probe found.
    pub probe: Dependence,
}

impl Inverse {
    /// The largest residual; zero without vertices.
    pub fn largest_residual(&self) -> f64 {
        self.residuals.iter().copied().fold(0.0, f64::max)
    }
}

/// Why a deformer was not inverted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InverseError<E> {
    /// Rest and target differ.
    #[error("{rest} rest points, but {target} target points")]
    Counts {
        /// Rest points.
        rest: usize,
        /// Target points.
        target: usize,
    },
    /// An input holds NaN or infinity.
    #[error("{what} of vertex {vertex} is not finite")]
    Input {
        /// Which.
        what: &'static str,
        /// The vertex.
        vertex: usize,
    },
    /// A setting out of range.
    #[error("{setting} is {value}; it must be {range}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        range: &'static str,
    },
    /// The deformer failed.
    #[error("call {call} of the deformer failed: {source}")]
    Deformer {
        /// The call, from 1.
        call: usize,
        /// Its error.
        source: E,
    },
    /// The deformer left a point without a number.
    #[error("call {call} of the deformer gave no number for vertex {vertex}{}", others(*.count))]
    Output {
        /// The call, from 1.
        call: usize,
        /// The first such vertex.
        vertex: usize,
        /// How many such vertices.
        count: usize,
    },
    /// A vertex's result depends on others.
    #[error(
        "the deformer moves vertices because others moved: of those held still {moved} moved, the farthest by {farthest:.1e} of the diagonal"
    )]
    Coupled {
        /// How many.
        moved: usize,
        /// The largest distance in rest diagonals.
        farthest: f64,
    },
}

/// "and 3 others".
fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        2 => " and 1 other".into(),
        _ => format!(" and {} others", count - 1),
    }
}

/// Finds the displacements at rest that make `target` in the deformer's pose.
///
/// - `rest`: p, rest world
/// - `target`: t, posed world, one per rest point
///
/// # Errors
/// [`InverseError`]. A vertex whose target cannot be reached is no error; its residual is reported.
pub fn invert<D: Deform>(
    deformer: &mut D,
    rest: &[DVec3],
    target: &[DVec3],
    settings: &InverseSettings,
) -> Result<Inverse, InverseError<D::Error>> {
    check(rest, target, settings)?;
    Driver::new(deformer, rest, target, settings).run()
}

fn check<E>(rest: &[DVec3], target: &[DVec3], settings: &InverseSettings) -> Result<(), InverseError<E>> {
    if rest.len() != target.len() {
        return Err(InverseError::Counts { rest: rest.len(), target: target.len() });
    }
    for (what, points) in [("the rest position", rest), ("the target", target)] {
        if let Some(vertex) = points.iter().position(|p| !p.is_finite()) {
            return Err(InverseError::Input { what, vertex });
        }
    }
    let setting = |setting, value: f64, range, good: bool| match good && value.is_finite() {
        true => Ok(()),
        false => Err(InverseError::Setting { setting, value, range }),
    };
    setting("length", settings.length, "positive", settings.length > 0.0)?;
    setting("epsilon", settings.epsilon, "0 or more", settings.epsilon >= 0.0)?;
    setting("ftol", settings.ftol, "positive", settings.ftol > 0.0)?;
    setting("max_correction", settings.max_correction, "positive", settings.max_correction > 0.0)?;
    setting("max_calls", settings.max_calls as f64, "8 or more", settings.max_calls >= 8)
}

/// Returns the displacement d and the remainder w = r − A d for a map that is affine at the vertex, in closed form.
///
/// d minimises |r − A d|² + e |d|², with r = t − S(p) and A the linear part. With e = 0 it is the pseudo-inverse.
///
/// With e > 0, |d| stays below |r| / (2√e) however singular A is, and the example is still met exactly by A d + w.
pub fn damped_inverse(a: DMat3, r: DVec3, epsilon: f64) -> (DVec3, DVec3) {
    let normal = a.transpose() * a + DMat3::from_diagonal(DVec3::splat(epsilon));
    let d = dermis_solve::gauss_newton::pseudo_solve(normal.to_cols_array_2d(), (a.transpose() * r).to_array());
    let d = DVec3::from_array(d);
    (d, r - a * d)
}
