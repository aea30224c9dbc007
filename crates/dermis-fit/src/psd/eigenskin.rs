//! EigenSkin: per joint a few shapes, whose weights are interpolated over that joint's rotation alone.
//!
//! The correction is a sum over joints. Examples that move one joint determine its part directly, as published. An additive
//! kernel divides the other examples among their joints,
//!
//! ```text
//! f_v(x) = Σ_j f_jv(x_j),    f_jv(x_j) = a_vj Σ_s W_sv k(x_j, x_sj),    W = (Σ_j a_vj K_j + ρ)⁻¹ D,
//! ```
//!
//! which agrees with the published rule where only one joint moves at a time, as k(x_j, 0) = 0. Per joint the values F_j of f_jv in the
//! examples (N × 3V_j) are truncated to their first singular vectors, F_j ≈ C U, and the columns of C interpolated over
//! x_j: c_l(x_j) = Σ_s A_ls k(x_j, x_sj).
//!
//! Source: Kry, James & Pai 2002, "EigenSkin". Departures: the additive kernel; chords in place of joint angles; shapes per joint
//! by energy.

use super::regress::{self, Regressor};
use super::space::{Group, STEPS, Space};
use super::{Prepared, PsdReport, PsdSettings, Regressed, check, regressed};
use crate::training::{FitError, Progress, Training, filled, of_table};
use dermis_deform::Base;
use dermis_deform::pose_space::{CompiledShapes, Family};
use dermis_rig::VertexIndex;
use dermis_rig::glam::DVec3;
use dermis_rig::{Influences, Rows};
use dermis_solve::Interpolation;
use dermis_solve::faer::{Mat, MatRef, Scale};
use dermis_solve::symmetric::principal_axes;
use rayon::prelude::*;

/// The most examples at which a joint is sampled. They are chosen farthest from each other.
const MOST_SAMPLES: usize = 96;

/// How many shapes a joint gets.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// As many as hold this fraction of the squared displacements.
    Energy(f64),
    /// This many, or all if there are fewer.
    Count(usize),
}

impl Default for Kept {
    fn default() -> Self {
        Self::Energy(0.999)
    }
}

/// What a caller learns: the kernel, and the shapes of every joint.
#[derive(Clone, Debug, PartialEq)]
pub struct EigenSkinReport {
    /// The kernel, σ, ρ.
    pub psd: PsdReport,
    /// Shapes of each joint: from bone, to bone, shapes, fraction of the squared displacements that they hold.
    pub joints: Vec<(usize, usize, usize, f64)>,
}

/// The rows of `f` (N × n) in their first `kept` left singular vectors: C (N × k) with orthonormal columns, CᵀF (k × n), and the
/// fraction of |F|² held. Zero singular values are never kept.
pub fn truncated(f: MatRef<'_, f64>, kept: Kept) -> Result<(Mat<f64>, Mat<f64>, f64), dermis_solve::SolveError> {
    let gram = f * f.transpose();
    let axes = principal_axes(gram.as_ref())?;
    let total: f64 = axes.values.iter().sum();
    let positive = axes.values.iter().take_while(|v| **v > 1e-14 * axes.values[0]).count();
    let count = match kept {
        Kept::Count(count) => count.min(positive),
        Kept::Energy(energy) => {
            let mut sum = 0.0;
            let enough = axes.values[..positive].iter().position(|v| {
                sum += v;
                sum >= energy * total
            });
            enough.map_or(positive, |last| last + 1)
        }
    };
    let c = axes.vectors.subcols(0, count).to_owned();
    let held = if total > 0.0 { axes.values[..count].iter().sum::<f64>() / total } else { 1.0 };
    let u = c.transpose() * f;
    Ok((c, u, held))
}

/// Fits EigenSkin to what the examples ask of the base.
///
/// # Errors
/// As [`super::fit_psd`].
pub fn fit_eigenskin(
    training: &Training<'_>,
    base: &Base,
    maps: &[Influences],
    settings: &PsdSettings,
    kept: Kept,
    progress: Progress<'_>,
) -> Result<(CompiledShapes, EigenSkinReport), FitError> {
    check(training, maps, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let Regressed { prepared, solved, report, .. } =
        regressed(training, base, maps, settings, &[Regressor::Additive], progress)?;
    let Prepared { space, carrier, groups, radii, .. } = prepared;
    let (sigma, smoothing) = (report.sigma, report.smoothing);
    let parts: Vec<Option<Part>> = (0..space.width())
        .into_par_iter()
        .map(|j| part(&space, j as u32, &groups, &solved, sigma, smoothing, settings.duplicates, kept))
        .collect::<Result<_, FitError>>()?;

    let ends = |j: usize| space.joints.get(j).map_or((usize::MAX, usize::MAX), |e| (e.parent.get(), e.bone.get()));
    let of_joint = |(j, part): (usize, &Option<Part>)| {
        let (from, to) = ends(j);
        part.as_ref().map(|part| (from, to, part.shapes, part.held))
    };
    let report = PsdReport { remainders: 0, ..report };
    let mut report = EigenSkinReport { psd: report, joints: parts.iter().enumerate().filter_map(of_joint).collect() };

    let count = training.rest.len();
    let mut kernel = space.kernel(sigma, Family::Gaussian, false);
    let (mut regions, mut coefficients) = (vec![0], Vec::new());
    let mut of_vertex: Vec<Vec<(u32, DVec3)>> = vec![Vec::new(); count];
    for (j, part) in parts.into_iter().enumerate() {
        let Some(part) = part else { continue };
        kernel.push(&[(j as u32, 1.0)], &part.centres).map_err(of_table("the kernel"))?;
        let first = regions[regions.len() - 1];
        regions.push(first + part.shapes as u32);
        coefficients.extend(part.coefficients);
        for (v, shapes) in part.displacements {
            of_vertex[v as usize].extend((first..).zip(shapes));
        }
    }
    (report.psd.kernel_values, report.psd.groups) = (kernel.values(), kernel.groups());
    let (terms, displacements) = terms_of(of_vertex)?;
    let (names, clamp) = (vec![], None);
    Ok((
        CompiledShapes {
            kernel,
            regions,
            coefficients,
            carrier,
            terms,
            displacements,
            radii,
            names,
            clamp,
            windows: vec![],
        },
        report,
    ))
}

/// The shapes of every vertex, and its displacement in each.
///
/// # Errors
/// [`FitError::Table`] for more than 32 bits can count.
pub(super) fn terms_of(vertices: Vec<Vec<(u32, DVec3)>>) -> Result<(Rows<u32>, Vec<DVec3>), FitError> {
    let both = filled("the shapes of each vertex", vertices)?;
    Ok((both.map(|t| t.0), both.entries().iter().map(|t| t.1).collect()))
}

/// What one joint adds.
struct Part {
    centres: Vec<u32>,
    shapes: usize,
    held: f64,
    /// A, a row per shape.
    coefficients: Vec<f64>,
    /// u per vertex, a displacement per shape.
    displacements: Vec<(u32, Vec<DVec3>)>,
}

#[expect(clippy::too_many_arguments, reason = "one step of the fit, cut out for its length")]
fn part(
    space: &Space<'_>,
    j: u32,
    groups: &[Group],
    solved: &[regress::Solved],
    sigma: f64,
    smoothing: f64,
    duplicates: f64,
    kept: Kept,
) -> Result<Option<Part>, FitError> {
    let alone = [(j, 1.0)];
    let samples = space.merge(&alone, &[], duplicates.max(0.0)).0;
    let samples = space.spread(&alone, samples, MOST_SAMPLES);
    let with: Vec<(usize, f64)> = groups
        .iter()
        .enumerate()
        .filter_map(|(g, group)| Some((g, group.relevance.iter().find(|r| r.0 == j)?.1)))
        .filter(|(_, a)| *a >= 1.0 / STEPS)
        .collect();
    if samples.is_empty() || with.is_empty() {
        return Ok(None);
    }
    // Values of f_j in the samples, 3 columns per vertex.
    let blocks: Vec<Mat<f64>> = with
        .iter()
        .map(|&(g, a)| {
            let k = space.joint_kernel(j, &samples, &groups[g].centres, sigma);
            k * &solved[g].weights * Scale(a)
        })
        .collect();
    let columns: usize = blocks.iter().map(Mat::ncols).sum();
    let mut f = Mat::zeros(samples.len(), columns);
    let mut at = 0;
    for block in &blocks {
        f.subcols_mut(at, block.ncols()).copy_from(block);
        at += block.ncols();
    }
    let vertex = groups[with[0].0].vertices[0] as usize;
    let failed = |source| FitError::Solve { vertex: VertexIndex::new(vertex), source };
    let (c, u, held) = truncated(f.as_ref(), kept).map_err(failed)?;
    if c.ncols() == 0 {
        return Ok(None);
    }
    let kernel = space.joint_kernel(j, &samples, &samples, sigma);
    let solved = Interpolation::new(kernel.as_ref(), &vec![smoothing.min(1e-6); samples.len()]).map_err(failed)?;
    let a = solved.weights(c.as_ref());
    let vertices = with.iter().flat_map(|&(g, _)| groups[g].vertices.iter().copied());
    let displacement = |at: usize, l: usize| DVec3::new(u[(l, at)], u[(l, at + 1)], u[(l, at + 2)]);
    Ok(Some(Part {
        shapes: c.ncols(),
        held,
        coefficients: (0..a.ncols())
            .flat_map(|l| (0..a.nrows()).map(move |s| (s, l)))
            .map(|(s, l)| a[(s, l)])
            .collect(),
        displacements: vertices
            .enumerate()
            .map(|(at, v)| (v, (0..c.ncols()).map(|l| displacement(3 * at, l)).collect()))
            .collect(),
        centres: samples,
    }))
}

impl Space<'_> {
    /// Number of coordinates of a pose.
    fn width(&self) -> usize {
        self.joints.len() + self.channels.len()
    }

    /// At most `most` of some examples: each next one the farthest from those taken and from the bind pose.
    pub(super) fn spread(&self, relevance: &[(u32, f64)], examples: Vec<u32>, most: usize) -> Vec<u32> {
        if examples.len() <= most {
            return examples;
        }
        let mut nearest: Vec<f64> = examples.iter().map(|&s| self.distance_squared(relevance, s, None)).collect();
        let mut taken: Vec<u32> = Vec::with_capacity(most);
        for _ in 0..most {
            let farthest = (0..examples.len()).fold(0, |best, i| if nearest[i] > nearest[best] { i } else { best });
            taken.push(examples[farthest]);
            for (near, &s) in nearest.iter_mut().zip(&examples) {
                *near = near.min(self.distance_squared(relevance, s, Some(examples[farthest])));
            }
        }
        taken.sort_unstable();
        taken
    }

    /// k(x_j, y_j) between two lists of examples, of one joint alone with a = 1.
    fn joint_kernel(&self, j: u32, rows: &[u32], columns: &[u32], sigma: f64) -> Mat<f64> {
        let phi = |square: f64| (-square / (sigma * sigma)).exp();
        let at_rest = |list: &[u32]| list.iter().map(|&s| phi(self.square_of(j as usize, s, None))).collect::<Vec<_>>();
        let (x, y) = (at_rest(rows), at_rest(columns));
        Mat::from_fn(rows.len(), columns.len(), |i, k| {
            let between = phi(self.square_of(j as usize, rows[i], Some(columns[k])));
            Family::Gaussian.conditioned(between, x[i], y[k])
        })
    }
}
