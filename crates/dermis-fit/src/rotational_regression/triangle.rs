//! One triangle: its gradients in the examples, the joints it turns with, and how it stretches.

use super::whole_turns::JointTurns;
use crate::FitError;
use dermis_deform::rotational_regression::TurnTerm;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::{from_rotation_vector, nearest_rotation, quat_from_matrix, rotation_vector};
use dermis_rig::{BoneIndex, Example};
use dermis_solve::cross_validation::press;
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::principal_axes;
use dermis_solve::{Fold, SolveError};

/// Squared radians with which a triangle is believed to follow a joint about the joint's own axis, and not at all: it
/// decides where the examples do not. One pose turned by 2 degrees weighs as much.
const PRIOR: f64 = 1e-3;
/// Times the joints are gone through.
const SWEEPS: usize = 3;
/// A joint must explain this share of a triangle's turning.
const SHARE: f64 = 0.02;
/// Entries of S, or radians, that are not worth a term: a thousandth of a triangle's edge.
const NEGLIGIBLE: f64 = 1e-3;

/// The c ≥ 0 and rotation W that bring c W θ closest to `turned` over pairs (θ, turned) with a weight each:
/// H = Σ turned θᵀ, W the rotation nearest to H + prior I, c = tr(Wᵀ H) / (Σ |θ|² + prior).
///
/// `prior` (squared radians) draws W to the identity and c to zero; with 0 it is plain orthogonal Procrustes, whose W
/// is arbitrary about directions that were not seen.
///
/// Source: Wang, Pulli and Popović 2007, equations 5 and 6.
pub fn proportional_rotation(pairs: impl Iterator<Item = (DVec3, DVec3, f64)>, prior: f64) -> (f64, DMat3) {
    let (mut h, mut square) = (DMat3::ZERO, 0.0);
    for (vector, turned, weight) in pairs {
        let turned = turned * weight;
        h += DMat3::from_cols(turned * vector.x, turned * vector.y, turned * vector.z);
        square += weight * vector.length_squared();
    }
    let w = nearest_rotation(&(h + DMat3::from_diagonal(DVec3::splat(prior))));
    let fitted = w.x_axis.dot(h.x_axis) + w.y_axis.dot(h.y_axis) + w.z_axis.dot(h.z_axis);
    (if square + prior > 0.0 { (fitted / (square + prior)).max(0.0) } else { 0.0 }, w)
}

/// What the examples show of a triangle.
pub(super) struct Observed<'a> {
    pub(super) bone: BoneIndex,
    near: &'a [(u32, f64)],
    roots: &'a [f64],
    turns: Vec<DMat3>,
    /// xx, yy, zz and √2 times xy, xz, yz of S − I, times the root of the example's importance (S × 6): a sum of squares is that of
    /// the matrix, whatever its axes.
    stretches: Mat<f64>,
}

/// The terms found, and the summed squared angles between triangle and model, without any and with them.
pub(super) struct Found {
    pub(super) terms: Vec<TurnTerm>,
    pub(super) before: f64,
    pub(super) after: f64,
}

impl<'a> Observed<'a> {
    pub(super) fn new<'e>(
        bone: BoneIndex,
        near: &'a [(u32, f64)],
        rest: &[DVec3],
        triangle: [u32; 3],
        poses: impl Iterator<Item = (&'e Example, &'e DMat3)>,
        roots: &'a [f64],
    ) -> Self {
        let edges = |p: &[DVec3]| {
            let [a, b, c] = triangle.map(|v| p[v as usize]);
            (b - a, c - a)
        };
        let (e, f) = edges(rest);
        let from = DMat3::from_cols(e, f, e.cross(f).normalize()).inverse();
        let (mut turns, mut stretches) = (Vec::with_capacity(roots.len()), Mat::zeros(roots.len(), 6));
        for (s, (example, inverse)) in poses.enumerate() {
            // Seen from the bone; a triangle that collapsed turns as its bone does.
            let (e, f) = edges(&example.positions);
            let (e, f) = (*inverse * e, *inverse * f);
            let normal = e.cross(f);
            let size = e.length() * f.length();
            let gradient = match normal.length() > 1e-9 * size {
                true => DMat3::from_cols(e, f, normal.normalize()) * from,
                false => DMat3::IDENTITY,
            };
            let turn = nearest_rotation(&gradient);
            let m = turn.transpose() * gradient;
            let entries = [
                m.x_axis.x - 1.0,
                m.y_axis.y - 1.0,
                m.z_axis.z - 1.0,
                0.5 * (m.x_axis.y + m.y_axis.x),
                0.5 * (m.x_axis.z + m.z_axis.x),
                0.5 * (m.y_axis.z + m.z_axis.y),
            ];
            (0..6).for_each(|c| stretches[(s, c)] = roots[s] * unit(c) * entries[c]);
            turns.push(turn);
        }
        Self { bone, near, roots, turns, stretches }
    }

    /// Rotation vectors of rotations per example, whole turns counted as the joint's are.
    fn vectors(turns: &JointTurns, rotations: impl Iterator<Item = DMat3>) -> Vec<DVec3> {
        let plain: Vec<DVec3> = rotations.map(|r| rotation_vector(quat_from_matrix(&r))).collect();
        if turns.counts { turns.continued(&plain) } else { plain }
    }

    /// Fits one joint to rotations: A = c W, sign included.
    fn follow(&self, turns: &JointTurns, sign: f64, rotations: impl Iterator<Item = DMat3>) -> DMat3 {
        let turned = Self::vectors(turns, rotations);
        let pairs = turns.vectors.iter().zip(turned).zip(self.roots).map(|((v, t), r)| (*v * sign, t, r * r));
        let (c, w) = proportional_rotation(pairs, PRIOR);
        w * (c * sign)
    }

    /// Summed squared angle that one joint alone leaves.
    pub(super) fn misfit(&self, turns: &JointTurns, sign: f64) -> f64 {
        let a = self.follow(turns, sign, self.turns.iter().copied());
        self.left(&turns.vectors.iter().map(|v| exponential(a, *v)).collect::<Vec<_>>())
    }

    /// Summed squared angles between the triangle and a prediction, by importance.
    fn left(&self, predicted: &[DMat3]) -> f64 {
        let angle =
            |(r, p): (&DMat3, &DMat3)| rotation_vector(quat_from_matrix(&(p.transpose() * *r))).length_squared();
        self.turns.iter().zip(predicted).map(angle).zip(self.roots).map(|(square, r)| r * r * square).sum()
    }

    /// The terms of the triangle.
    pub(super) fn terms(&self, turns: &[JointTurns], ridge: &StretchRidge) -> Found {
        let examples = self.turns.len();
        let still = vec![DMat3::IDENTITY; examples];
        let before = self.left(&still);
        // Rotations of each joint near by, the identity until it is fitted, and A of those that are kept.
        let mut parts: Vec<Vec<DMat3>> = vec![still; self.near.len()];
        let mut fitted: Vec<Option<DMat3>> = vec![None; self.near.len()];
        let product = |parts: &[Vec<DMat3>], s: usize| parts.iter().fold(DMat3::IDENTITY, |all, p| all * p[s]);
        let whole = |parts: &[Vec<DMat3>]| (0..examples).map(|s| product(parts, s)).collect::<Vec<_>>();
        let (mut after, noise) = (before, 8.0 / (3 * examples) as f64);
        for sweep in 0..SWEEPS {
            if before < examples as f64 * NEGLIGIBLE * NEGLIGIBLE {
                break;
            }
            for k in 0..self.near.len() {
                if sweep > 0 && fitted[k].is_none() {
                    continue;
                }
                let (joint, sign) = self.near[k];
                let turns = &turns[joint as usize];
                let rest = (0..examples).map(|s| {
                    product(&parts[..k], s).transpose() * self.turns[s] * product(&parts[k + 1..], s).transpose()
                });
                let a = self.follow(turns, sign, rest);
                let old = std::mem::replace(&mut parts[k], turns.vectors.iter().map(|v| exponential(a, *v)).collect());
                let now = self.left(&whole(&parts));
                let worth = sweep > 0 || after - now > (SHARE * before).max(noise * now);
                if worth && now <= after {
                    (fitted[k], after) = (Some(a), now);
                } else {
                    parts[k] = old;
                }
            }
        }
        let b = &ridge.solution * &self.stretches;
        let mut terms = Vec::new();
        for (k, &(joint, _)) in self.near.iter().enumerate() {
            let turn = fitted[k].unwrap_or(DMat3::ZERO);
            let entries = |i: usize| b[(3 * k + i / 6, i % 6)];
            let largest = (0..18).map(|i| entries(i).powi(2)).sum::<f64>().sqrt() * turns[joint as usize].limit();
            if fitted[k].is_some() || largest > NEGLIGIBLE {
                let stretch = std::array::from_fn(|i| (entries(i) / unit(i % 6)) as f32);
                terms.push(TurnTerm { joint, turn: turn.to_cols_array().map(|x| x as f32), stretch });
            }
        }
        Found { terms, before, after }
    }

    /// Sum of squared entries of S, left out and predicted from the others.
    pub(super) fn press(&self, ridge: &StretchRidge, folds: &[Fold]) -> Result<f64, FitError> {
        let qty = ridge.q.transpose() * &self.stretches;
        press(ridge.q.as_ref(), &ridge.filter, self.stretches.as_ref(), qty.as_ref(), folds).map_err(failed)
    }
}

/// What an entry of a symmetric matrix counts for in a sum of squares.
fn unit(entry: usize) -> f64 {
    if entry < 3 { 1.0 } else { std::f64::consts::SQRT_2 }
}

fn exponential(a: DMat3, v: DVec3) -> DMat3 {
    DMat3::from_quat(from_rotation_vector(a * v))
}

fn failed(source: SolveError) -> FitError {
    FitError::Surface { source }
}

/// Ridge regression on the vectors of the joints near a bone: the same for all its triangles.
pub(super) struct StretchRidge {
    /// The smoother Q diag(filter) Qᵀ.
    q: Mat<f64>,
    filter: Vec<f64>,
    /// (3·joints × S): coefficients from targets.
    solution: Mat<f64>,
}

impl StretchRidge {
    pub(super) fn new(near: &[(u32, f64)], turns: &[JointTurns], roots: &[f64], ridge: f64) -> Result<Self, FitError> {
        let f = Mat::from_fn(roots.len(), 3 * near.len(), |s, i| {
            roots[s] * turns[near[i / 3].0 as usize].vectors[s][i % 3]
        });
        let axes = principal_axes((f.transpose() * &f).as_ref()).map_err(failed)?;
        let largest = axes.values.first().copied().unwrap_or(0.0);
        // An axis along which nothing turned has no coefficient, whatever the ridge.
        let kept = axes.values.iter().take_while(|v| **v > 1e-10 * largest && **v > 0.0).count();
        let vectors = Mat::from_fn(3 * near.len(), kept, |i, h| axes.vectors[(i, h)]);
        let along = &f * &vectors;
        let q = Mat::from_fn(roots.len(), kept, |s, h| along[(s, h)] / axes.values[h].sqrt());
        let filter = axes.values[..kept].iter().map(|v| v / (v + ridge)).collect();
        let scaled = Mat::from_fn(3 * near.len(), kept, |i, h| vectors[(i, h)] / (axes.values[h] + ridge));
        Ok(Self { q, filter, solution: scaled * along.transpose() })
    }
}
