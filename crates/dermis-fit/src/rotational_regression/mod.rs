//! Rotational regression, fitting: how far every triangle turns and stretches with the joints near its bone.
//!
//! [`dermis_deform::rotational_regression`] defines the model. For each triangle, seen from its bone, the examples give a
//! deformation gradient D = R S.
//!
//! **Rotations** are regressed on rotation vectors, θ_t ≈ c W θ_j with c ≥ 0 and W a rotation
//! ([`proportional_rotation`]). The joints follow each other in the order of the skeleton, each fitted to what the others leave.
//! Three passes are made. A joint is left out if it explains less than 2 % of a triangle's rotation, or less than four numbers
//! explain of noise.
//!
//! **Stretch.** S − I is regressed on the limited vectors of the same joints, by a ridge without constant, so that the bind pose
//! stays exact. Exact leave-one-out over triangles spread over the mesh chooses one λ for the model.
//!
//! What it does well: twist, spread over a limb by any amount; few examples, since a triangle's turn takes four numbers
//! a joint. What it does badly: bulges that are not linear in a joint's angle, and skin far from anything rigid, where
//! errors of gradients add up.
//!
//! Source: Wang, Pulli and Popović, *Real-time enveloping with rotational regression*, 2007, sections 3 and 4.

mod triangle;
mod whole_turns;

pub use triangle::proportional_rotation;

use crate::training::{Ticker, of_table};
use crate::{FitError, Folds, Progress, Training};
use dermis_deform::poisson::{components, triangle_weight};
use dermis_deform::rotational_regression::{RotationalRegression, TurnParts, TurningJoint, rotations};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, Influences, Skeleton};
use rayon::prelude::*;
use triangle::{Observed, StretchRidge};
use whole_turns::JointTurns;

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct RotationalSettings {
    /// Fixed λ of the regression of S, in squared radians summed over the examples; `None` chooses it by cross-validation.
    pub lambda: Option<f64>,
    /// The values of λ that cross-validation tries, ascending.
    pub grid: Vec<f64>,
    /// The poses that cross-validation leaves out together.
    pub folds: Folds,
    /// Cross-validation takes the largest λ whose error is within this factor of the best.
    pub tolerance: f64,
    /// Joints so many steps along the skeleton from a triangle's bone count as near; 1: the bone's own and its children's.
    /// With 2 a sculpted body fits its examples better and unseen motion worse.
    pub rings: u32,
    /// Skin whose rms distance from its bone's rigid motion over the examples is at most this, in rest diagonals, is
    /// held to the bone. On a sculpted body 1e-3 holds three quarters of the skin, and 3.3 mm of unseen error remain; holding
    /// only what is never farther than 5e-4 in any example lets errors of gradients add up along limbs, to 4.3 mm.
    pub rigid: f64,
}

impl RotationalSettings {
    /// The defaults: λ 1e-4 to 100 in half decades, single poses left out, blocks of a clip.
    pub fn new(is_clip: bool) -> Self {
        Self {
            lambda: None,
            grid: crate::mwe::powers(1e-4, 100.0, 2),
            folds: if is_clip { Folds::Blocks(5) } else { Folds::Single },
            tolerance: dermis_solve::cross_validation::TOLERANCE,
            rings: 1,
            rigid: 1e-3,
        }
    }
}

/// What the fit found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RotationalReport {
    /// The λ used.
    pub lambda: f64,
    /// (λ, rms of an entry of S left out).
    pub sweep: Vec<(f64, f64)>,
    /// Triangles without area, which carry nothing.
    pub degenerate: usize,
    /// Triangles that follow their bone alone.
    pub rigid_triangles: usize,
    /// Triangles that follow some joint.
    pub turning_triangles: usize,
    /// Pairs of a triangle and a joint that it follows.
    pub terms: usize,
    /// Vertices held to a bone.
    pub anchors: usize,
    /// Connected components of the surface.
    pub components: usize,
    /// Components without rigid skin, each held by its most rigid vertex, and the rms distance of that vertex, metres.
    pub barely_held: Vec<(u32, f64)>,
    /// Vertices outside every usable triangle, which follow linear blending.
    pub lonely: usize,
    /// Joints whose training turns beyond a half turn, (parent, child), and the largest angle, radians.
    pub beyond_half_turn: Vec<((BoneIndex, BoneIndex), f64)>,
    /// rms angle between triangles and their rotations in training, radians: before (rigid with the bone) and after.
    pub rms_angle: (f64, f64),
}

/// A fitted model and its report.
#[derive(Clone, Debug)]
pub struct Rotational {
    /// The model.
    pub model: RotationalRegression,
    /// What the fit found.
    pub report: RotationalReport,
}

/// Triangles on which λ is chosen.
const SCORED: usize = 1500;

/// Fits rotational regression. `training.base` is not read.
///
/// - `triangles` of the rest mesh; `weights` (V): the skinning weights, whose dominant bones triangles belong to
///
/// # Errors
/// [`FitError`]: inputs that disagree, a singular bone in an example, a mesh that is no surface, cancellation.
pub fn fit_rotational_regression(
    training: &Training<'_>,
    triangles: &[[u32; 3]],
    weights: &Influences,
    settings: &RotationalSettings,
    progress: Progress<'_>,
) -> Result<Rotational, FitError> {
    training.check()?;
    let included = training.included();
    let training = &training.with(&included);
    if weights.vertices() != training.rest.len() {
        let (found, expected) = (weights.vertices(), training.rest.len());
        return Err(FitError::Counts { what: "vertices of the weights", found, expected });
    }
    let bad = |name, value, rule| Err(FitError::Setting { name, value, rule });
    if let Some(value) = settings.lambda.iter().chain(&settings.grid).find(|r| !(**r >= 0.0 && r.is_finite())) {
        return bad("ridge", *value, "it must be 0 or more, and finite");
    }
    if !(settings.rigid >= 0.0 && settings.rigid.is_finite()) {
        return bad("rigid", settings.rigid, "it must be 0 or more, and finite");
    }
    let fit = Fit::new(training, triangles, weights, settings)?;
    let scored: Vec<usize> = fit.usable.iter().copied().step_by(fit.usable.len().div_ceil(SCORED).max(1)).collect();
    let ticker = Ticker::new((fit.usable.len() + scored.len()) as u64, progress);
    let mut report = RotationalReport::default();
    (report.lambda, report.sweep) = fit.choose_ridge(settings, &scored, &ticker)?;
    let solved = fit.ridges(report.lambda)?;
    let fitted: Vec<_> = (0..triangles.len())
        .into_par_iter()
        .map(|t| {
            let observed = fit.observed(t);
            let terms = observed.map(|o| o.terms(&fit.turns, &solved[o.bone.get()]));
            if terms.is_some() {
                ticker.tick(1)?;
            }
            Ok(terms)
        })
        .collect::<Result<_, FitError>>()?;
    let mut parts = TurnParts { bones: fit.bones.clone(), ..TurnParts::default() };
    let mut angles = (0.0, 0.0, 0.0);
    for found in fitted {
        let mut terms = Vec::new();
        match found {
            None => report.degenerate += 1,
            Some(found) => {
                match found.terms.len() {
                    0 => report.rigid_triangles += 1,
                    _ => report.turning_triangles += 1,
                }
                angles = (angles.0 + found.before, angles.1 + found.after, angles.2 + training.examples.len() as f64);
                terms = found.terms;
            }
        }
        parts.terms.push(terms).map_err(of_table("turns of triangles"))?;
    }
    if angles.2 > 0.0 {
        report.rms_angle = ((angles.0 / angles.2).sqrt(), (angles.1 / angles.2).sqrt());
    }
    report.terms = parts.terms.entries().len();
    parts.joints = fit.turns.iter().map(JointTurns::kept).collect();
    let beyond = |turns: &JointTurns| {
        let most = turns.vectors.iter().map(|v| v.length()).fold(0.0, f64::max);
        (most > std::f64::consts::PI).then_some(((turns.from, turns.to), most))
    };
    report.beyond_half_turn = fit.turns.iter().filter_map(beyond).collect();
    parts.anchors = anchors(training, triangles, weights, settings.rigid * training.unit(), &mut report);
    let model = RotationalRegression::new(training.rest, triangles, weights.clone(), parts)
        .map_err(|source| FitError::Surface { source })?;
    Ok(Rotational { model, report })
}

/// What all triangles share.
struct Fit<'a> {
    training: &'a Training<'a>,
    triangles: &'a [[u32; 3]],
    /// Square roots of the examples' importance.
    roots: Vec<f64>,
    /// Per triangle its bone, and of every bone the inverse of its linear part per example.
    bones: Vec<BoneIndex>,
    inverses: Vec<Vec<DMat3>>,
    usable: Vec<usize>,
    turns: Vec<JointTurns>,
    /// Per bone the joints near it, in the order of the skeleton, and whether they are seen from their far side.
    near: Vec<Vec<(u32, f64)>>,
}

impl<'a> Fit<'a> {
    fn new(
        training: &'a Training<'a>,
        triangles: &'a [[u32; 3]],
        weights: &Influences,
        settings: &RotationalSettings,
    ) -> Result<Self, FitError> {
        let skeleton = training.skeleton;
        let bones: Vec<BoneIndex> = triangles.iter().map(|&t| triangle_bone(weights, t)).collect();
        let usable: Vec<usize> =
            (0..triangles.len()).filter(|&t| triangle_weight(training.rest, triangles[t]).is_some()).collect();
        let mut inverses = vec![Vec::new(); skeleton.len()];
        for bone in skeleton.bones().filter(|b| bones.contains(b)) {
            for example in training.examples {
                let inverse = invert(&example.transforms[bone]).ok_or_else(|| FitError::SingularAnchor {
                    bone: skeleton.names()[bone].clone(),
                    example: example.label.clone(),
                })?;
                inverses[bone.get()].push(inverse.matrix3);
            }
        }
        let mut rotated = vec![Vec::new(); training.examples.len()];
        for (example, out) in training.examples.iter().zip(&mut rotated) {
            rotations(&example.transforms, out);
        }
        let roots = training.examples.iter().map(|e| e.importance.sqrt()).collect();
        let mut fit = Self { training, triangles, roots, bones, inverses, usable, turns: vec![], near: vec![] };
        for bone in skeleton.bones() {
            if let Some(parent) = skeleton.parents()[bone] {
                fit.turns.extend(JointTurns::new(parent, bone, &rotated));
            }
        }
        fit.near = skeleton.bones().map(|b| near_joints(skeleton, b, &fit.turns, settings.rings)).collect();
        fit.count_whole_turns();
        Ok(fit)
    }

    /// Takes the vectors past a half turn for each joint whose triangles say that it went there.
    fn count_whole_turns(&mut self) {
        for j in 0..self.turns.len() {
            let Some(further) = self.turns[j].counted() else { continue };
            let (from, to) = (self.turns[j].from, self.turns[j].to);
            let beside: Vec<usize> =
                self.usable.iter().copied().filter(|&t| self.bones[t] == from || self.bones[t] == to).collect();
            let sample = beside.iter().step_by(beside.len().div_ceil(256).max(1));
            let observed: Vec<_> = sample.filter_map(|&t| Some((self.observed(t)?, self.bones[t] == to))).collect();
            let misfit = |turns: &JointTurns| {
                let of = |(o, reversed): &(Observed, bool)| o.misfit(turns, if *reversed { -1.0 } else { 1.0 });
                observed.iter().map(of).sum::<f64>()
            };
            if misfit(&further) < misfit(&self.turns[j]) {
                self.turns[j] = further;
            }
        }
    }

    /// Gradients of a triangle seen from its bone in all examples; `None` for one without area.
    fn observed(&self, t: usize) -> Option<Observed<'_>> {
        let triangle = self.triangles[t];
        triangle_weight(self.training.rest, triangle)?;
        let bone = self.bones[t];
        let poses = self.training.examples.iter().zip(&self.inverses[bone.get()]);
        Some(Observed::new(bone, &self.near[bone.get()], self.training.rest, triangle, poses, &self.roots))
    }

    /// The ridge systems of all bones.
    fn ridges(&self, lambda: f64) -> Result<Vec<StretchRidge>, FitError> {
        let of = |near: &Vec<(u32, f64)>| StretchRidge::new(near, &self.turns, &self.roots, lambda);
        self.near.iter().map(of).collect()
    }

    fn choose_ridge(
        &self,
        settings: &RotationalSettings,
        scored: &[usize],
        ticker: &Ticker<'_>,
    ) -> Result<(f64, Vec<(f64, f64)>), FitError> {
        if let Some(lambda) = settings.lambda {
            return Ok((lambda, vec![]));
        }
        let folds = settings.folds.ranges(self.training.examples.len());
        let systems: Vec<_> = settings.grid.iter().map(|&lambda| self.ridges(lambda)).collect::<Result<_, _>>()?;
        let errors: Vec<Vec<f64>> = scored
            .par_iter()
            .map(|&t| {
                ticker.tick(1)?;
                let Some(observed) = self.observed(t) else { return Ok(vec![0.0; systems.len()]) };
                let press = |all: &Vec<StretchRidge>| observed.press(&all[observed.bone.get()], &folds);
                systems.iter().map(press).collect()
            })
            .collect::<Result<_, FitError>>()?;
        let count = (scored.len() * self.training.examples.len() * 6).max(1) as f64;
        let rms = |g: usize| (errors.iter().map(|e| e[g]).sum::<f64>() / count).sqrt();
        let sweep: Vec<_> = settings.grid.iter().enumerate().map(|(g, &lambda)| (lambda, rms(g))).collect();
        let least = sweep.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
        let best = sweep.iter().rev().find(|p| p.1 <= settings.tolerance.max(1.0) * least);
        Ok((best.map_or(0.0, |p| p.0), sweep))
    }
}

/// The bone of largest weight summed over a triangle's corners; of equals, the lowest.
fn triangle_bone(weights: &Influences, triangle: [u32; 3]) -> BoneIndex {
    let mut sums: Vec<(BoneIndex, f64)> = Vec::new();
    for &(bone, w) in triangle.iter().flat_map(|&v| weights.of(v as usize)) {
        match sums.iter_mut().find(|s| s.0 == bone) {
            Some(sum) => sum.1 += w,
            None => sums.push((bone, w)),
        }
    }
    sums.sort_by_key(|s| s.0);
    let best = sums.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
    best.map_or(BoneIndex::new(0), |s| s.0)
}

/// The joints at most `rings` steps from a bone, in the order of the skeleton, with −1 where the bone is on the far side.
fn near_joints(skeleton: &Skeleton, bone: BoneIndex, turns: &[JointTurns], rings: u32) -> Vec<(u32, f64)> {
    let parents = skeleton.parents();
    let mut steps = vec![u32::MAX; skeleton.len()];
    steps[bone.get()] = 0;
    // Up from the bone, then down from everything known: parents come first.
    let (mut at, mut below) = (bone, vec![bone]);
    while let Some(parent) = parents[at] {
        steps[parent.get()] = steps[at.get()] + 1;
        below.push(parent);
        at = parent;
    }
    for b in skeleton.bones() {
        if let Some(parent) = parents[b].filter(|p| steps[p.get()] < u32::MAX && steps[b.get()] == u32::MAX) {
            steps[b.get()] = steps[parent.get()] + 1;
        }
    }
    let joint = |(j, turns): (usize, &JointTurns)| {
        let distance = steps[turns.from.get()].max(steps[turns.to.get()]);
        let sign = if below.contains(&turns.to) { -1.0 } else { 1.0 };
        (distance <= rings).then_some((j as u32, sign))
    };
    turns.iter().enumerate().filter_map(joint).collect()
}

/// Skin that moves with its bone, and the most rigid vertex of every connected component that has none.
fn anchors(
    training: &Training<'_>,
    triangles: &[[u32; 3]],
    weights: &Influences,
    tolerance: f64,
    report: &mut RotationalReport,
) -> Vec<(u32, BoneIndex)> {
    let total: f64 = training.examples.iter().map(|e| e.importance).sum();
    let bone_of = |v: usize| weights.dominant(v).unwrap_or(BoneIndex::new(0));
    let distances: Vec<f64> = (0..training.rest.len())
        .into_par_iter()
        .map(|v| {
            let (bone, p) = (bone_of(v), training.rest[v]);
            let square = |e: &dermis_rig::Example| {
                e.importance * e.positions[v].distance_squared(e.transforms[bone].transform_point3(p))
            };
            (training.examples.iter().map(square).sum::<f64>() / total).sqrt()
        })
        .collect();
    let parts = components(training.rest, triangles);
    let mut best: std::collections::BTreeMap<u32, (f64, usize)> = Default::default();
    let mut held = Vec::new();
    for (v, part) in parts.iter().enumerate() {
        let Some(part) = part else {
            report.lonely += 1;
            continue;
        };
        let entry = best.entry(*part).or_insert((f64::INFINITY, v));
        if distances[v] < entry.0 {
            *entry = (distances[v], v);
        }
        if distances[v] <= tolerance {
            held.push((v as u32, bone_of(v)));
        }
    }
    report.components = best.len();
    for (distance, v) in best.into_values().filter(|b| b.0 > tolerance) {
        held.push((v as u32, bone_of(v)));
        report.barely_held.push((v as u32, distance));
    }
    held.sort_by_key(|a| a.0);
    report.anchors = held.len();
    held
}

/// Vectors that are kept for a model: what a pose's vector should be near to.
impl JointTurns {
    fn kept(&self) -> TurningJoint {
        // At 15 degrees apart a pose is nearer to its own side than to the other, a whole turn away.
        const APART: f64 = 0.26;
        const MOST: usize = 64;
        let mut seen = vec![DVec3::ZERO];
        for v in &self.vectors {
            if seen.len() < MOST && seen.iter().all(|s| s.distance(*v) > APART) {
                seen.push(*v);
            }
        }
        let seen = seen.iter().map(|v| v.to_array().map(|x| x as f32)).collect();
        TurningJoint { from: self.from, to: self.to, limit: self.limit() as f32, seen }
    }
}
