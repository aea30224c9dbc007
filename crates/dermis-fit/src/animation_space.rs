//! Animation space, fitting: p' = Σ_k M_k a_k with four coefficients per vertex and bone, shared by the three axes.
//!
//! Linear in the bone transforms, equivariant because Σ_k a_k.w = 1, and it contains linear blend skinning
//! (a_k = w_k [p; 1]). Per vertex
//!
//! ```text
//! min Σ_s r_s² | Σ_k M_sk a_k − X_s |² + λ Σ_k ( |a_k.xyz − a⁰_k.xyz|² + L² (a_k.w − a⁰_k.w)² ),    Σ_k a_k.w = 1.
//! ```
//!
//! The constraint is eliminated with an orthonormal basis of its null space. The matrix does not depend on the rest
//! position: vertices with the same bones share one factorisation, and one λ serves the model.
//!
//! The model has no bound. Two bones that always moved together share their coefficients as the prior does, and a pose that turns
//! one of them alone moves the skin by that share. With weights as the prior, linear blend skinning does the same there.
//!
//! Source: Merry, Marais & Gain 2006, "Animation space: a truly linear framework for character animation". Departures:
//! the ridge is towards the rig's weights where there are any, instead of towards equal shares.

use crate::training::{FitError, Progress, Training};
use dermis_deform::AnimationSpace;
use dermis_deform::features::about;
use dermis_rig::glam::{DVec3, DVec4};
use dermis_rig::skeleton::row;
use dermis_rig::{BoneIndex, Influences, Rows, VertexIndex};
use dermis_solve::Folds;
use dermis_solve::cross_validation::{Fold, TOLERANCE, choose, press};
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::principal_axes;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct AnimationSpaceSettings {
    /// Fixed λ; `None` chooses it by cross-validation over `grid`.
    pub lambda: Option<f64>,
    /// The poses that cross-validation leaves out together.
    pub folds: Folds,
    /// The values of λ that cross-validation tries, ascending.
    pub grid: Vec<f64>,
    /// Cross-validation takes the largest λ whose rms error is within this factor of the best.
    pub tolerance: f64,
    /// What positions and translations are seen from, rest world, metres. The middle of the rest mesh makes the ridge independent of
    /// where the character stands.
    pub origin: DVec3,
}

impl AnimationSpaceSettings {
    /// Returns the defaults: λ by leave-one-pose-out, or by five blocks of frames for a clip.
    pub fn for_poses(is_clip: bool) -> Self {
        Self {
            lambda: None,
            folds: if is_clip { Folds::Blocks(5) } else { Folds::Single },
            grid: crate::mwe::powers(1e-4, 10.0, 2),
            tolerance: TOLERANCE,
            origin: DVec3::ZERO,
        }
    }
}

/// A fit with the λ it used.
#[derive(Clone, Debug)]
pub struct AnimationSpaceFit {
    /// The deformer.
    pub space: AnimationSpace,
    /// λ.
    pub lambda: f64,
    /// (λ, cross-validated rms in metres) over the grid; empty if λ was given.
    pub sweep: Vec<(f64, f64)>,
}

/// Fits animation space on the bones of `maps`, with `prior` weights or equal shares.
///
/// `training.base` is not read and may be empty.
///
/// # Errors
/// [`FitError`]: counts that disagree, numbers that are not finite, λ that is not positive, cancellation.
pub fn fit_animation_space(
    training: &Training<'_>,
    maps: &Influences,
    prior: Option<&Influences>,
    settings: &AnimationSpaceSettings,
    progress: Progress<'_>,
) -> Result<AnimationSpaceFit, FitError> {
    training.check()?;
    for (what, influences) in [("vertices of the influence maps", Some(maps)), ("vertices of the weights", prior)] {
        let found = influences.map_or(training.rest.len(), Influences::vertices);
        if found != training.rest.len() {
            return Err(FitError::Counts { what, found, expected: training.rest.len() });
        }
    }
    for (what, influences) in [("bones of the influence maps", Some(maps)), ("bones of the weights", prior)] {
        let (found, expected) = (influences.map_or(0, Influences::bones_named), training.skeleton.len());
        if found > expected {
            return Err(FitError::Counts { what, found, expected });
        }
    }
    if settings.lambda.is_none() && settings.grid.is_empty() {
        return Err(FitError::Setting { name: "grid", value: 0.0, rule: "it needs at least one value" });
    }
    let bad = settings.lambda.iter().chain(&settings.grid).find(|l| !(**l > 0.0 && l.is_finite()));
    if let Some(&value) = bad {
        return Err(FitError::Setting { name: "ridge", value, rule: "it must be positive and finite" });
    }
    let included = training.included();
    let training = &training.with(&included);
    let groups =
        groups(training, maps, prior).into_par_iter().map(|(b, v)| Group::new(training, settings.origin, b, v));
    let groups = groups.collect::<Result<Vec<_>, FitError>>()?;
    let pairs = (training.rest.len() * training.examples.len()).max(1) as f64;
    let (lambda, sweep) = match settings.lambda {
        Some(lambda) => (lambda, Vec::new()),
        None => {
            let scores = sweep(training, &groups, prior, settings, progress)?;
            let chosen = choose(&scores, settings.tolerance).unwrap_or(settings.grid.len() - 1);
            let points = settings.grid.iter().zip(&scores).map(|(&l, &score)| (l, (score / pairs).sqrt()));
            (settings.grid[chosen], points.collect())
        }
    };
    let mut rows: Vec<Vec<(BoneIndex, DVec4)>> = vec![Vec::new(); training.rest.len()];
    let solved: Vec<_> = groups.par_iter().map(|group| group.solve(training, prior, lambda)).collect();
    for (group, coefficients) in groups.iter().zip(solved) {
        for (&v, a) in group.vertices.iter().zip(coefficients) {
            rows[v as usize] = group.bones.iter().copied().zip(a).collect();
        }
    }
    let mut terms = Rows::default();
    for row in rows {
        terms.push(row).map_err(|source| FitError::Table { table: "animation space", source: source.into() })?;
    }
    Ok(AnimationSpaceFit { space: AnimationSpace { terms }, lambda, sweep })
}

/// Vertices by the bones they may use: those of their map and of their prior; bone 0 where there are none.
fn groups(training: &Training<'_>, maps: &Influences, prior: Option<&Influences>) -> Vec<(Vec<BoneIndex>, Vec<u32>)> {
    let mut members: BTreeMap<Vec<BoneIndex>, Vec<u32>> = BTreeMap::new();
    for v in 0..training.rest.len() {
        let mapped = maps.of(v).iter().filter(|e| e.1 > 0.0);
        let weighted = prior.map_or(&[][..], |w| w.of(v)).iter();
        let mut bones: Vec<BoneIndex> = mapped.chain(weighted).map(|e| e.0).collect();
        bones.sort_unstable();
        bones.dedup();
        if bones.is_empty() {
            bones.push(BoneIndex::new(0));
        }
        members.entry(bones).or_default().push(v as u32);
    }
    members.into_iter().collect()
}

/// Vertices with the same bones, and the common decomposition of their features.
struct Group {
    bones: Vec<BoneIndex>,
    vertices: Vec<u32>,
    /// What positions and translations are seen from.
    origin: DVec3,
    /// 3·poses × 4·bones, rows scaled by r: [M, translation over L], the poses' common translation taken out.
    features: Mat<f64>,
    /// What was taken out of each pose.
    shift: Vec<DVec3>,
    /// Z E: from components to coefficients, with the constraint eliminated.
    axes: Mat<f64>,
    /// Eigenvalues of Zᵀ CᵀC Z.
    values: Vec<f64>,
    /// C Z E, each column divided by the root of its eigenvalue.
    q: Mat<f64>,
}

/// Vertices per block of right-hand sides.
const CHUNK: usize = 256;

impl Group {
    fn new(
        training: &Training<'_>,
        origin: DVec3,
        bones: Vec<BoneIndex>,
        vertices: Vec<u32>,
    ) -> Result<Self, FitError> {
        let (n, poses, unit) = (bones.len(), training.examples.len(), training.unit());
        // Σ a.w = 1, so a translation common to a pose's bones and its target changes nothing but the rounding.
        let shift: Vec<DVec3> = training
            .examples
            .iter()
            .map(|e| bones.iter().map(|&b| about(&e.transforms[b], origin).translation).sum::<DVec3>() / n as f64)
            .collect();
        let mut features = Mat::zeros(3 * poses, 4 * n);
        for (s, example) in training.examples.iter().enumerate() {
            for (k, &bone) in bones.iter().enumerate() {
                for j in 0..3 {
                    let m = row(&about(&example.transforms[bone], origin), j);
                    let moved = [m[0], m[1], m[2], (m[3] - shift[s][j]) / unit];
                    for c in 0..4 {
                        features[(3 * s + j, 4 * k + c)] = example.importance * moved[c];
                    }
                }
            }
        }
        let z = zero_sum_basis(n);
        let reduced = &features * &z;
        let found = principal_axes((reduced.transpose() * &reduced).as_ref())
            .map_err(|source| FitError::Solve { vertex: VertexIndex::new(vertices[0] as usize), source })?;
        let largest = found.values.first().copied().unwrap_or(0.0);
        let kept = found.values.iter().filter(|g| **g > 1e-12 * largest && **g > 0.0).count();
        let e = found.vectors.get(.., ..kept);
        let mut q = &reduced * e;
        for h in 0..kept {
            let sigma = found.values[h].sqrt();
            for i in 0..q.nrows() {
                q[(i, h)] /= sigma;
            }
        }
        Ok(Self { bones, vertices, origin, features, shift, axes: &z * e, values: found.values[..kept].to_vec(), q })
    }

    /// a⁰ of a vertex in solver units: positions and L·w, 4 per bone.
    fn prior(&self, training: &Training<'_>, prior: Option<&Influences>, v: usize) -> Vec<f64> {
        let share = |bone| prior.map_or(1.0 / self.bones.len() as f64, |w| w.value(v, bone));
        let p = training.rest[v] - self.origin;
        let of = |&bone: &BoneIndex| [p.x, p.y, p.z, training.unit()].map(|x| x * share(bone));
        self.bones.iter().flat_map(of).collect()
    }

    /// r (X − C a⁰) for some vertices: 3·poses × vertices.
    fn residuals(&self, training: &Training<'_>, vertices: &[u32], start: &Mat<f64>) -> Mat<f64> {
        let mut y = Mat::zeros(3 * training.examples.len(), vertices.len());
        for (s, example) in training.examples.iter().enumerate() {
            for (at, &v) in vertices.iter().enumerate() {
                let x = (example.positions[v as usize] - self.origin - self.shift[s]) * example.importance;
                for j in 0..3 {
                    y[(3 * s + j, at)] = x[j];
                }
            }
        }
        y - &self.features * start
    }

    fn start(&self, training: &Training<'_>, prior: Option<&Influences>, vertices: &[u32]) -> Mat<f64> {
        let columns: Vec<Vec<f64>> = vertices.iter().map(|&v| self.prior(training, prior, v as usize)).collect();
        Mat::from_fn(4 * self.bones.len(), vertices.len(), |i, at| columns[at][i])
    }

    fn solve(&self, training: &Training<'_>, prior: Option<&Influences>, lambda: f64) -> Vec<Vec<DVec4>> {
        let mut solved = Vec::with_capacity(self.vertices.len());
        for vertices in self.vertices.chunks(CHUNK) {
            let start = self.start(training, prior, vertices);
            let mut w = self.q.transpose() * self.residuals(training, vertices, &start);
            for h in 0..w.nrows() {
                let g = self.values[h];
                for at in 0..w.ncols() {
                    w[(h, at)] *= g.sqrt() / (g + lambda);
                }
            }
            let a = start + &self.axes * w;
            for at in 0..vertices.len() {
                let of = |k: usize| {
                    let (p, w) =
                        (DVec3::new(a[(4 * k, at)], a[(4 * k + 1, at)], a[(4 * k + 2, at)]), a[(4 * k + 3, at)]);
                    let w = w / training.unit();
                    (p + self.origin * w).extend(w)
                };
                solved.push((0..self.bones.len()).map(of).collect());
            }
        }
        solved
    }
}

/// Cross-validated sums of squares over the grid.
fn sweep(
    training: &Training<'_>,
    groups: &[Group],
    prior: Option<&Influences>,
    settings: &AnimationSpaceSettings,
    progress: Progress<'_>,
) -> Result<Vec<f64>, FitError> {
    let three = |f: Fold| Fold { start: 3 * f.start, end: 3 * f.end };
    let folds: Vec<Fold> = settings.folds.ranges(training.examples.len()).into_iter().map(three).collect();
    let chunks: Vec<(&Group, &[u32])> =
        groups.iter().flat_map(|g| g.vertices.chunks(CHUNK).map(move |chunk| (g, chunk))).collect();
    let total = chunks.len() as u64;
    let parts = chunks
        .into_par_iter()
        .enumerate()
        .map(|(at, (group, vertices))| {
            if let ControlFlow::Break(_) = progress(at as u64, total) {
                return Err(FitError::Cancelled);
            }
            let y = group.residuals(training, vertices, &group.start(training, prior, vertices));
            let qty = group.q.transpose() * &y;
            let score = |ridge: f64| {
                let filter: Vec<f64> = group.values.iter().map(|g| g / (g + ridge)).collect();
                press(group.q.as_ref(), &filter, y.as_ref(), qty.as_ref(), &folds)
            };
            let scores = settings.grid.iter().map(|&ridge| score(ridge)).collect::<Result<Vec<_>, _>>();
            scores.map_err(|source| FitError::Solve { vertex: VertexIndex::new(vertices[0] as usize), source })
        })
        .collect::<Result<Vec<_>, FitError>>()?;
    let mut sums = vec![0.0; settings.grid.len()];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, score)| *sum += score);
    }
    Ok(sums)
}

/// Orthonormal basis (4n × 4n−1) of the coefficients whose weights sum to zero: Helmert columns for the weights.
fn zero_sum_basis(bones: usize) -> Mat<f64> {
    let mut z = Mat::zeros(4 * bones, 4 * bones - 1);
    for k in 0..bones {
        for c in 0..3 {
            z[(4 * k + c, 3 * k + c)] = 1.0;
        }
    }
    for h in 1..bones {
        let size = ((h * (h + 1)) as f64).sqrt();
        for k in 0..h {
            z[(4 * k + 3, 3 * bones + h - 1)] = 1.0 / size;
        }
        z[(4 * h + 3, 3 * bones + h - 1)] = -(h as f64) / size;
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_basis_is_orthonormal_and_sums_to_zero() {
        for n in 1..5 {
            let z = zero_sum_basis(n);
            let gram = z.transpose() * &z;
            assert!((gram - Mat::<f64>::identity(4 * n - 1, 4 * n - 1)).norm_max() < 1e-15);
            for column in 0..z.ncols() {
                assert!((0..n).map(|k| z[(4 * k + 3, column)]).sum::<f64>().abs() < 1e-15);
            }
        }
    }
}
