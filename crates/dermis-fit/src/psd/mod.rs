//! Pose-space deformation, fitting: displacements of the examples, interpolated over the pose by a Gaussian kernel.
//!
//! [`dermis_deform::pose_space`] defines the model. Example s asks vertex v for the displacement
//!
//! ```text
//! d_s = A_sv⁻¹ (X_sv − base_sv)       (inverse form, A_sv the linear part of the base at v in pose s).
//! ```
//!
//! Vertices with the same pose space form a group, with W = (K + ρ)⁻¹ D and K_st = k(x_s, x_t). As ρ → 0 the model meets
//! every example exactly; a larger ρ smooths over noise. σ and ρ are two numbers for the whole model. Unless they are given,
//! the fit chooses them together by exact leave-one-out (contiguous blocks of frames for a clip).
//!
//! Through a [stack](dermis_deform::stack) of deformers, whose map is not affine, d_s and what it leaves, w_s = X_sv − S(p_v + d_s),
//! come from [`crate::inverse`], and the model is p' = S(p + d) + R w.
//!
//! **Three models, one code.** Pose-space deformation, EigenSkin ([`eigenskin`]) and pose blend shapes
//! ([`fit_blend_shapes`]) share displacements, pose spaces and leave-one-out. They differ in what the displacements are
//! regressed on: kernels over all joints, a sum of kernels per joint, or the coordinates themselves. The ridge regression of
//! the last goes through its dual, W = (X Xᵀ + ρ)⁻¹ D and B = Xᵀ W, so that Rippa's rule serves all three. Shapes by example
//! ([`by_example`]) share displacements and kernels, and interpolate the examples' weights in place of their displacements.
//!
//! **Pose spaces per vertex.** Two bones that share vertices have a joint. A joint counts by the squared influence maps of its
//! two bones, a_j = max μ², rounded to 1/64 so that vertices form groups. Joints that never moved do not count. Examples that
//! agree in all joints that count are merged. An example that agrees with the bind pose is dropped: the correction is zero
//! there.
//!
//! **Linear term.** Optionally the coordinates √a x are regressed first, by least squares of minimum norm, and kernels
//! interpolate what is left (Sloan, Rose & Cohen 2001). There is no constant, so that the bind pose stays. σ and ρ are then
//! judged with K + τ X Xᵀ, τ large, in place of K.
//!
//! This is the most accurate model where examples are many and clean, and it meets sculpted poses exactly. Memory and time
//! grow with the examples, and far from all of them the model returns to the base.
//!
//! Source: Lewis, Cordner & Fong 2000; inverse form Sloan, Rose & Cohen 2001; inverse through any deformer Xiao et al. 2006; leave-one-out Rippa 1999. Departures: see
//! [`dermis_deform::pose_space`]. Where A is nearly singular its inverse is damped. The fit interpolates what then remains of the
//! example separately, with the sign that meets the example ([`Singular`]).

pub mod by_example;
pub mod compile;
pub mod correctives;
mod displacements;
pub mod eigenskin;
pub mod remember;

mod regress;
mod space;

pub use displacements::{Singular, published, pull_back};

use crate::training::{FitError, Progress, Ticker, Training};
use dermis_deform::Base;
use dermis_deform::guard::BALL_FACTOR;
use dermis_deform::pose_space::{Carrier, Coordinates, Family, JointPart, KernelValues, PoseSpace, ROOM};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mirror};
use dermis_solve::Folds;
use displacements::Displacements;
use rayon::prelude::*;
use regress::{Choice, Regressor, Solved, assemble};
use space::{Group, Space};

/// Smoothing that interpolates: examples are met to about 1e-9 of their size.
pub const EXACT: f64 = 1e-9;
/// Displacements below this, in rest diagonals, are rounding: a vertex without larger ones is left out of the model.
const UNMOVED: f64 = 1e-9;
/// The most that weights may exceed the largest displacement of their group. Beyond, they cancel too far for `f32`, whose
/// rounding is 6e-8 of them, and smoothing is raised. It takes examples that nearly agree in pose but not in shape, and no
/// smoothing.
const CANCELLATION: f64 = 1e5;
/// The cost that leave-one-out may spend per point of its grid, in cubed examples. Groups beyond are skipped, evenly.
const SCORED: f64 = 1e8;
/// A displacement that a model may leave and still meet its examples, in rest diagonals.
const MET: f64 = 1e-4;
/// A sparse example does not count at a vertex that it leaves this near to the base, in rest diagonals.
const UNTOUCHED: f64 = 1e-6;

/// The space of the displacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// In the rest pose, before the base: the correction turns with the skin.
    Inverse,
    /// In the world, after the base, as first published: the correction does not turn with the character.
    Forward,
}

/// Which joints make up the pose space of a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// The joints near the vertex, by its influence maps.
    #[default]
    Local,
    /// All joints, with equal relevance, as first published.
    Global,
}

/// A channel of the poses that counts as a coordinate, for every vertex.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelSetting {
    /// Its name.
    pub name: String,
    /// Factor that makes it comparable with angles in radians. `None` takes one over its largest value in training.
    pub scale: Option<f64>,
}

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct PsdSettings {
    /// The space of the displacements.
    pub form: Form,
    /// The coordinates of a rotation when poses are compared.
    pub coordinates: Coordinates,
    /// What of a joint's rotation is a coordinate: all of it, or parts of it, a coordinate each. Parts need [`Coordinates::SwingTwist`].
    pub parts: Vec<JointPart>,
    /// Channels of the poses that are coordinates, too.
    pub channels: Vec<ChannelSetting>,
    /// Which joints count for a vertex.
    pub reach: Reach,
    /// The kernel. `None` chooses between the Gaussian and the one of compact support, by leave-one-out.
    pub family: Option<Family>,
    /// Whether the coordinates are regressed before kernels interpolate.
    pub linear: bool,
    /// Whether examples do not count at vertices that they leave where the base has them. For sculpts of a part of the skin.
    pub sparse: bool,
    /// The symmetry by which every example also teaches the other side, if any.
    pub mirror: Option<Mirror>,
    /// What happens where the base is nearly singular.
    pub singular: Singular,
    /// Fixed σ, in chords; `None` chooses it by cross-validation.
    pub sigma: Option<f64>,
    /// Fixed ρ; `None` chooses it by cross-validation. [`EXACT`] interpolates. An example of importance r has ρ / r².
    pub smoothing: Option<f64>,
    /// The examples that cross-validation leaves out together.
    pub folds: Folds,
    /// The values of σ that cross-validation tries, in mean distances between nearest examples.
    pub widths: Vec<f64>,
    /// The values of ρ that cross-validation tries, ascending.
    pub grid: Vec<f64>,
    /// Examples closer than this in a vertex's pose space are merged. A negative value merges none.
    pub duplicates: f64,
    /// Whether the guard acts: welding, limits and the ball.
    pub guard: bool,
}

impl PsdSettings {
    /// Returns the defaults: the inverse form, guarded, with σ and ρ by leave-one-out (by five blocks of frames for a clip).
    pub fn new(is_clip: bool) -> Self {
        Self {
            form: Form::Inverse,
            coordinates: Coordinates::Chord,
            parts: vec![JointPart::Whole],
            channels: Vec::new(),
            reach: Reach::Local,
            family: None,
            linear: false,
            sparse: false,
            mirror: None,
            singular: Singular::Remainder,
            sigma: None,
            smoothing: None,
            folds: if is_clip { Folds::Blocks(5) } else { Folds::Single },
            widths: (-2..=10).map(|half| 2f64.powf(f64::from(half) / 2.0)).collect(),
            grid: (-9..=0).map(|decade| 10f64.powi(decade)).collect(),
            duplicates: 1e-6,
            guard: true,
        }
    }
}

/// One point of the sweep over σ and ρ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PsdPoint {
    /// Width of the kernel.
    pub sigma: f64,
    /// Smoothing.
    pub smoothing: f64,
    /// Cross-validated error: rms distance in metres over the groups looked at.
    pub validated: f64,
    /// Sum of squared held-out residuals, which the choice minimises.
    pub score: f64,
}

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub struct PsdReport {
    /// Kernel used.
    pub family: Family,
    /// σ used.
    pub sigma: f64,
    /// ρ used.
    pub smoothing: f64,
    /// The sweep, σ after σ. Empty if nothing was chosen.
    pub sweep: Vec<PsdPoint>,
    /// Vertices that leave-one-out looked at.
    pub scored: usize,
    /// Mean distance between nearest examples in the pose spaces of the vertices.
    pub spacing: f64,
    /// Joints that never moved in training and were welded.
    pub welded: Vec<BoneIndex>,
    /// The index of the influence maps that the fit chose.
    pub maps: usize,
    /// Distinct pose spaces.
    pub groups: usize,
    /// Kernel values per pose: the sum over groups of their examples.
    pub kernel_values: usize,
    /// Vertices with a correction.
    pub corrected: usize,
    /// Groups whose smoothing had to be raised to be solvable in `f64` and to run in `f32`.
    pub raised: usize,
    /// The worst reciprocal condition of a system solved.
    pub reciprocal_condition: f64,
    /// (vertex, example) pairs where the base's linear part is nearly singular, so that its inverse was damped; through a stack,
    /// those where a remainder is left.
    pub damped: usize,
    /// The largest remainder of an example that damping leaves, metres. The model stores it next to the displacement.
    pub largest_remainder: f64,
    /// Vertices with such a remainder.
    pub remainders: usize,
    /// Of a fit that interpolates: vertices at which the model stays more than 1e-4 rest diagonals from an example, and by how
    /// much at most, metres. Up to 400 examples and 1e9 kernel values are looked at.
    pub unmet: (usize, f64),
    /// The largest |W| over the largest displacement: how far kernel values cancel, and with them digits of `f32`.
    pub cancellation: f64,
}

/// A fitted correction with its report.
#[derive(Clone, Debug)]
pub struct Psd {
    /// The correction.
    pub correction: PoseSpace,
    /// What the fit found out.
    pub report: PsdReport,
}

/// Fits the correction X − base.
///
/// - `base`: the deformer that made the training's base positions
/// - `maps`: influence maps μ, one row per vertex; of several, the fit takes the maps with the lowest cross-validation error
///
/// # Errors
/// [`FitError`]: counts that disagree, numbers that are not finite, settings out of range, cancellation.
pub fn fit_psd(
    training: &Training<'_>,
    base: &Base,
    maps: &[Influences],
    settings: &PsdSettings,
    progress: Progress<'_>,
) -> Result<Psd, FitError> {
    let families = settings.family.map_or(vec![Family::Gaussian, Family::Wendland], |family| vec![family]);
    let kernels = |family| Regressor::Kernels { family, linear: settings.linear };
    let regressors: Vec<Regressor> = families.into_iter().map(kernels).collect();
    fit_with(training, base, maps, settings, &regressors, progress)
}

/// Fits pose blend shapes: displacements at rest that are linear in the coordinates of the joints, by default the entries
/// of their rotations minus the identity, B = (XᵀX + ρ)⁻¹ Xᵀ D.
///
/// Unless ρ is given, leave-one-out chooses it. `settings.reach` says whether every joint drives every vertex, as published,
/// or only the joints near it do.
///
/// Source: Loper et al. 2015, "SMPL", equation 9. Departures: ridge chosen, local joints by default, the guard.
///
/// # Errors
/// As [`fit_psd`].
pub fn fit_blend_shapes(
    training: &Training<'_>,
    base: &Base,
    maps: &[Influences],
    settings: &PsdSettings,
    progress: Progress<'_>,
) -> Result<Psd, FitError> {
    fit_with(training, base, maps, settings, &[Regressor::Coordinates], progress)
}

/// The examples' displacements and the pose spaces of the vertices that they displace.
struct Prepared<'a> {
    space: Space<'a>,
    carrier: Carrier,
    asked: Displacements,
    groups: Vec<Group>,
    radii: Vec<f64>,
    maps: usize,
}

/// What [`fit_psd`] and its relatives have in common before they solve. Of several influence maps, the fit keeps those with
/// the lowest cross-validation error.
fn prepare<'a>(
    training: &'a Training<'a>,
    base: &Base,
    candidates: &[Influences],
    settings: &PsdSettings,
    regressor: Regressor,
    progress: Progress<'_>,
) -> Result<Prepared<'a>, FitError> {
    let maps = &candidates[0];
    let carrier = match (settings.form, base) {
        (Form::Forward, _) => Carrier::World,
        (Form::Inverse, Base::Given) => {
            let dominant = |v| maps.dominant(v).unwrap_or(BoneIndex::new(0));
            Carrier::Bones((0..training.rest.len()).map(dominant).collect())
        }
        (Form::Inverse, _) => Carrier::Base,
    };
    let weights = match base {
        Base::Rigid(weights) | Base::Lbs(weights) | Base::Dqs(weights, _) => weights,
        Base::Stack(stack, _) => stack.weights().unwrap_or(maps),
        Base::DirectDeltaMush(_)
        | Base::CorrectiveSmooth(_)
        | Base::AnimationSpace(_)
        | Base::RotationalRegression(_)
        | Base::Rest
        | Base::Given => maps,
    };
    let mirror = settings.mirror.as_ref();
    let sparse = settings.sparse.then_some(UNTOUCHED * training.unit());
    let asked = Displacements::new(training, base, &carrier, weights, settings.singular, sparse, mirror, progress)?;
    let own = || training.examples.iter().map(|e| &e.transforms);
    let images: Vec<BoneTransforms> = mirror.iter().flat_map(|mirror| own().map(|pose| mirror.pose(pose))).collect();
    let poses: Vec<&BoneTransforms> = own().chain(&images).collect();
    let in_maps = |maps: &Influences| {
        let space = Space::new(training, &poses, maps, weights, settings);
        let groups = space.groups(&asked, settings);
        (space, groups)
    };
    let (mut chosen, (mut space, mut groups)) = (0, in_maps(maps));
    if candidates.len() > 1 {
        let stride = regress::stride(&groups, training.rest.len());
        let ticker = Ticker::new(candidates.len() as u64, progress);
        let mut least = regress::validated(&space, regressor, &groups, &asked, settings, stride)?;
        // A model that is to meet its examples does not give any of them up for a lower error on others.
        let interpolates = settings.smoothing == Some(EXACT);
        let given_up = |groups: &[Group]| if interpolates { unmet(groups, &asked, training.unit()).1 } else { 0.0 };
        let most = given_up(&groups).max(MET * training.unit());
        for (at, maps) in candidates.iter().enumerate().skip(1) {
            ticker.tick(1)?;
            let (other, its_groups) = in_maps(maps);
            let score = regress::validated(&other, regressor, &its_groups, &asked, settings, stride)?;
            if score < least && given_up(&its_groups) <= most {
                (chosen, space, groups, least) = (at, other, its_groups, score);
            }
        }
    }
    let radii = match settings.guard {
        true => radii(training, mirror),
        false => Vec::new(),
    };
    Ok(Prepared { space, carrier, asked, groups, radii, maps: chosen })
}

/// Vertices that some example displaces although it is among the rows of no group of theirs, and by how much at most, metres.
fn unmet(groups: &[Group], asked: &Displacements, unit: f64) -> (usize, f64) {
    let vertices = asked.all.first().map_or(0, Vec::len);
    let mut group_of = vec![usize::MAX; vertices];
    let mut told = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        group.vertices.iter().for_each(|&v| group_of[v as usize] = g);
        let mut known = vec![false; asked.all.len()];
        group.merged.iter().flatten().for_each(|&s| known[s as usize] = true);
        told.push(known);
    }
    let left = |v: usize| {
        let known = told.get(group_of[v]);
        let lengths = asked.all.iter().enumerate().filter(|(s, _)| known.is_none_or(|known| !known[*s]));
        lengths.map(|(_, d)| d[v].length()).fold(0.0, f64::max)
    };
    let left = (0..vertices).map(left).filter(|left| *left >= UNTOUCHED * unit);
    left.fold((0, 0.0), |(count, largest), left| (count + 1, largest.max(left)))
}

/// Vertices at which a model stays farther than `least` from what some example asks, and by how much at most.
fn stays_from(correction: &PoseSpace, asked: &Displacements, least: f64) -> (usize, f64) {
    /// Examples, and products of kernel values and displacements, that are looked at.
    const LOOKED_AT: (usize, usize) = (400, 1 << 30);
    let width = correction.kernel.width().max(1);
    let rows: Vec<&[[f64; ROOM]]> = correction.kernel.examples.chunks_exact(width).collect();
    let step = rows.len().div_ceil(LOOKED_AT.0).max(1);
    let examples: Vec<usize> = (0..rows.len().min(asked.all.len())).step_by(step).collect();
    let stride = (examples.len() * correction.weights.entries().len()).div_ceil(LOOKED_AT.1).max(1);
    let values: Vec<Vec<f64>> = (examples.iter())
        .map(|&s| {
            let mut values = vec![0.0; correction.kernel.values()];
            correction.kernel.values_at(rows[s], &mut KernelValues::default(), &mut values, |k| k);
            values
        })
        .collect();
    let left = |v: usize| {
        let of = |(&s, values): (&usize, &Vec<f64>)| (asked.all[s][v] - correction.displacement(v, values)).length();
        examples.iter().zip(&values).map(of).filter(|left| !left.is_nan()).fold(0.0, f64::max)
    };
    let vertices: Vec<usize> = (0..correction.groups.len()).step_by(stride).collect();
    let left: Vec<f64> = vertices.par_iter().map(|&v| left(v)).filter(|left| *left > least).collect();
    (left.len() * stride, left.iter().copied().fold(0.0, f64::max))
}

/// Radii of the ball; with mirrored examples a vertex may move as far as its partner.
fn radii(training: &Training<'_>, mirror: Option<&Mirror>) -> Vec<f64> {
    let own = training.largest_residuals();
    let partner = |v: usize| mirror.and_then(|m| m.vertices[v]).map_or(0.0, |partner| own[partner as usize]);
    (0..own.len()).map(|v| BALL_FACTOR * own[v].max(partner(v))).collect()
}

/// Everything but the form that the answers are put into.
struct Regressed<'a> {
    prepared: Prepared<'a>,
    regressor: Regressor,
    /// W of each group.
    solved: Vec<Solved>,
    report: PsdReport,
}

/// Chooses and solves. Of several regressors, the fit keeps the one with the lowest cross-validation error.
fn regressed<'a>(
    training: &'a Training<'a>,
    base: &Base,
    maps: &[Influences],
    settings: &PsdSettings,
    regressors: &[Regressor],
    progress: Progress<'_>,
) -> Result<Regressed<'a>, FitError> {
    let prepared = prepare(training, base, maps, settings, regressors[0], progress)?;
    let Prepared { space, asked, groups, .. } = &prepared;
    let vertices: u64 = groups.iter().map(|g| g.vertices.len() as u64).sum();
    let ticker = Ticker::new((1 + regressors.len() as u64) * vertices, progress);

    let spacing = space.spacing(groups);
    let choose = |&regressor: &Regressor| -> Result<_, FitError> {
        Ok((regressor, regress::choose(space, regressor, groups, asked, settings, spacing, &ticker)?))
    };
    let choices = regressors.iter().map(choose).collect::<Result<Vec<_>, FitError>>()?;
    let best = choices.into_iter().reduce(|best, other| if other.1.score() < best.1.score() { other } else { best });
    let Some((regressor, Choice { sigma, smoothing, sweep, scored })) = best else {
        return Err(FitError::Counts { what: "kernels", found: 0, expected: 1 });
    };
    let solved = groups
        .par_iter()
        .map(|group| {
            let solved = regress::solve(space, regressor, group, asked, sigma, smoothing)?;
            ticker.tick(group.vertices.len() as u64)?;
            Ok(solved)
        })
        .collect::<Result<Vec<_>, FitError>>()?;
    let report = PsdReport {
        family: regressor.family(),
        sigma,
        smoothing,
        sweep,
        scored,
        spacing,
        welded: space.weld.frozen().collect(),
        maps: prepared.maps,
        groups: groups.len(),
        kernel_values: 0,
        corrected: vertices as usize,
        raised: solved.iter().filter(|s| s.raised).count(),
        reciprocal_condition: solved.iter().map(|s| s.reciprocal_condition).fold(1.0, f64::min),
        damped: asked.damped,
        largest_remainder: asked.largest_remainder,
        remainders: asked.remainders.len(),
        unmet: (0, 0.0),
        cancellation: 0.0,
    };
    Ok(Regressed { prepared, regressor, solved, report })
}

fn fit_with(
    training: &Training<'_>,
    base: &Base,
    maps: &[Influences],
    settings: &PsdSettings,
    regressors: &[Regressor],
    progress: Progress<'_>,
) -> Result<Psd, FitError> {
    check(training, maps, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let Regressed { prepared, regressor, solved, mut report } =
        regressed(training, base, maps, settings, regressors, progress)?;
    let Prepared { space, carrier, asked, groups, radii, .. } = prepared;
    let largest =
        |list: &mut dyn Iterator<Item = &DVec3>| list.filter(|d| !d.is_nan()).map(|d| d.length()).fold(0.0, f64::max);
    let displacement = largest(&mut asked.all.iter().flatten());
    let correction = assemble(space, regressor, carrier, &groups, &solved, &asked, report.sigma, radii)?;
    report.kernel_values = correction.kernel.values();
    if settings.smoothing == Some(EXACT) {
        report.unmet = stays_from(&correction, &asked, MET * training.unit());
    }
    if displacement > 0.0 {
        report.cancellation = largest(&mut correction.weights.entries().iter()) / displacement;
    }
    Ok(Psd { correction, report })
}

/// Counts and ranges.
fn check(training: &Training<'_>, maps: &[Influences], settings: &PsdSettings) -> Result<(), FitError> {
    training.check()?;
    training.check_base()?;
    let counts = |what, found, expected, good: bool| match good {
        true => Ok(()),
        false => Err(FitError::Counts { what, found, expected }),
    };
    let (vertices, bones) = (training.rest.len(), training.skeleton.len());
    counts("influence maps", maps.len(), 1, !maps.is_empty())?;
    for maps in maps {
        counts("vertices of the influence maps", maps.vertices(), vertices, maps.vertices() == vertices)?;
        counts("bones of the influence maps", maps.bones_named(), bones, maps.bones_named() <= bones)?;
    }
    let positive = |name, value: f64| match value > 0.0 && value.is_finite() {
        true => Ok(()),
        false => Err(FitError::Setting { name, value, rule: "it must be positive and finite" }),
    };
    settings.sigma.map_or(Ok(()), |sigma| positive("sigma", sigma))?;
    settings.smoothing.map_or(Ok(()), |rho| positive("smoothing", rho))?;
    let channels = settings.channels.iter().filter_map(|c| c.scale);
    channels.into_iter().try_for_each(|scale| positive("channel scale", scale))?;
    if let Coordinates::SwingTwist { swing, twist } = settings.coordinates {
        let scale = |name, value: f64| match value >= 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(FitError::Setting { name, value, rule: "it must be 0 or more, and finite" }),
        };
        scale("swing", swing)?;
        scale("twist", twist)?;
        positive("the larger of swing and twist", swing.max(twist))?;
    }
    if let Singular::Published { lambda, epsilon } = settings.singular {
        positive("lambda", lambda)?;
        positive("epsilon", epsilon)?;
    }
    settings.widths.iter().try_for_each(|&width| positive("width", width))?;
    settings.grid.iter().try_for_each(|&rho| positive("smoothing", rho))?;
    let empty = (settings.sigma.is_none() && settings.widths.is_empty())
        || (settings.smoothing.is_none() && settings.grid.is_empty());
    if let Some(mirror) = &settings.mirror {
        counts("vertices of the mirror", mirror.vertices.len(), vertices, mirror.vertices.len() == vertices)?;
        counts("bones of the mirror", mirror.bones.len(), bones, mirror.bones.len() == bones)?;
    }
    match empty {
        true => Err(FitError::Setting { name: "grid", value: 0.0, rule: "it needs at least one value" }),
        false => Ok(()),
    }
}
