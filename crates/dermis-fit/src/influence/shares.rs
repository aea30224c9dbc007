//! Shares of subtrees: weights from poses that move one joint each.

use super::{InfluenceSettings, moved_joints};
use crate::training::{FitError, Training};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneVec, Influences};
use rayon::prelude::*;

/// What single-joint poses say.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// ω_b per bone and vertex; `None` for a joint that no pose moves alone. NaN at vertices that its motion does not touch.
    pub omega: BoneVec<Option<Vec<f64>>>,
    /// Weights above the threshold, scaled to sum one. A vertex without any determined weight has none.
    pub weights: Influences,
    /// Bones above the threshold, and those that no example determines.
    pub candidates: Influences,
    /// Examples that move more than one joint, which were not used.
    pub unused: usize,
}

/// Sums |q − p|² below this, in L², say nothing: the vertex is on the axis.
const UNTOUCHED: f64 = 1e-8;

/// ω_b = Σ r² ⟨x − p, q − p⟩ / Σ r² |q − p|² over the poses of joint b alone, then w_b = ω_b − Σ ω_c over the children c.
///
/// The result is exact under linear blending. A joint without a pose cannot be told from the joint above it; both are
/// candidates where their common share is one. The first root's share is one. Examples that move several joints are not used.
///
/// # Errors
/// [`FitError`] for examples that do not go with the skeleton.
pub fn shares(training: &Training<'_>, settings: &InfluenceSettings) -> Result<Shares, FitError> {
    training.check()?;
    let (skeleton, unit) = (training.skeleton, training.unit());
    let mut poses: BoneVec<Vec<usize>> = BoneVec::new(vec![Vec::new(); skeleton.len()]);
    let mut unused = 0;
    for (s, example) in training.examples.iter().enumerate().filter(|(_, e)| e.importance > 0.0) {
        match moved_joints(skeleton, &example.transforms, unit, settings.turned).joints[..] {
            [] => {}
            [bone] => poses[bone].push(s),
            _ => unused += 1,
        }
    }
    let roots = skeleton.parents().iter().filter(|p| p.is_none()).count();
    let root = skeleton.bones().find(|&b| skeleton.parents()[b].is_none());
    // The character may stand anywhere: a lone root's motion is taken off.
    let home = |s: usize| match root.filter(|_| roots == 1) {
        Some(root) => invert(&training.examples[s].transforms[root]).unwrap_or(DAffine3::IDENTITY),
        None => DAffine3::IDENTITY,
    };
    let homes: Vec<DAffine3> = (0..training.examples.len()).map(home).collect();
    let omega_at = |bone: BoneIndex, v: usize| {
        let p = training.rest[v] / unit;
        let (mut along, mut size) = (0.0, 0.0);
        for &s in &poses[bone] {
            let (example, home) = (&training.examples[s], homes[s]);
            let carried = |x: DVec3| home.transform_point3(x) / unit - p;
            let q = carried(example.transforms[bone].transform_point3(training.rest[v]));
            let weight = example.importance * example.importance;
            along += weight * carried(example.positions[v]).dot(q);
            size += weight * q.length_squared();
        }
        if size > UNTOUCHED { along / size } else { f64::NAN }
    };
    let vertices = training.rest.len();
    let share = |bone: BoneIndex| -> Option<Vec<f64>> {
        match poses[bone].is_empty() {
            false => Some((0..vertices).into_par_iter().map(|v| omega_at(bone, v)).collect()),
            true if roots == 1 && Some(bone) == root => Some(vec![1.0; vertices]),
            true => None,
        }
    };
    let omega: BoneVec<Option<Vec<f64>>> = BoneVec::new(skeleton.bones().map(share).collect());

    // Bones without a pose belong to the nearest one above that has one; those with none above stand by themselves.
    let mut head: Vec<usize> = (0..skeleton.len()).collect();
    for bone in skeleton.bones() {
        if let (None, Some(parent)) = (&omega[bone], skeleton.parents()[bone]) {
            head[bone.get()] = head[parent.get()];
        }
    }
    let rows: Vec<(Vec<(BoneIndex, f64)>, Vec<(BoneIndex, f64)>)> = (0..vertices)
        .into_par_iter()
        .map(|v| {
            let mut own: Vec<f64> =
                skeleton.bones().map(|b| omega[b].as_ref().map_or(f64::NAN, |shares| shares[v])).collect();
            for bone in skeleton.bones().filter(|&b| omega[b].is_some()) {
                if let Some(parent) = skeleton.parents()[bone] {
                    let below = omega[bone].as_ref().map_or(f64::NAN, |shares| shares[v]);
                    own[head[parent.get()]] -= below;
                }
            }
            let (mut sure, mut maybe) = (Vec::new(), Vec::new());
            for bone in skeleton.bones() {
                let w = own[head[bone.get()]];
                if w.is_nan() || w.abs() > settings.least {
                    maybe.push((bone, 1.0));
                }
                if w > settings.least && head[bone.get()] == bone.get() {
                    sure.push((bone, w));
                }
            }
            let sum: f64 = sure.iter().map(|e| e.1).sum();
            sure.iter_mut().for_each(|e| e.1 /= sum);
            (sure, maybe)
        })
        .collect();
    let (sure, maybe): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    Ok(Shares {
        omega,
        weights: Influences::from_rows(sure).unwrap_or_default(),
        candidates: Influences::from_rows(maybe).unwrap_or_default(),
        unused,
    })
}
