//! Shares of subtrees: weights from poses that move one joint each.

use super::InfluenceSettings;
use super::joints::SingleJointPoses;
use crate::training::{FitError, Training, table};
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
    let single = SingleJointPoses::of(training, settings.turned);
    let omega_at = |bone: BoneIndex, v: usize| {
        let p = training.rest[v];
        let (mut along, mut size) = (0.0, 0.0);
        for &s in &single.poses[bone] {
            let (alone, skin) = single.places(training, s, bone, v);
            let (q, weight) = ((alone - p) / unit, training.examples[s].importance.powi(2));
            along += weight * ((skin - p) / unit).dot(q);
            size += weight * q.length_squared();
        }
        if size > UNTOUCHED { along / size } else { f64::NAN }
    };
    let vertices = training.rest.len();
    let share = |bone: BoneIndex| -> Option<Vec<f64>> {
        match single.poses[bone].is_empty() {
            false => Some((0..vertices).into_par_iter().map(|v| omega_at(bone, v)).collect()),
            true if single.lone_root == Some(bone) => Some(vec![1.0; vertices]),
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
        weights: table("the shares of the bones", sure)?,
        candidates: table("the candidates of the bones", maybe)?,
        unused: single.unused,
    })
}
