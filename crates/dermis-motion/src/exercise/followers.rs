//! Bones that a rig moves by constraints which its file does not hold.
//!
//! A foot that hangs on the root, as the target of inverse kinematics, stays on the ground while its leg bends, and the skin between
//! tears. Such a bone shares skin with a bone that does not carry it; here it moves with that bone.

use crate::anatomy::{Anatomy, LimitFrom};
use dermis_rig::{BoneIndex, Rig};

/// The bone that each bone moves with in place of its parent; `None` for those that hang where they belong.
///
/// A bone follows another if it is a helper or its part of the body is not known, of the bones that do not hang on it the other shares most of its skin and does
/// not carry it, and what carries both has no skin or all of it.
pub(super) fn followers(rig: &Rig, anatomy: &Anatomy) -> Vec<Option<BoneIndex>> {
    let skeleton = rig.skeleton();
    let bones = skeleton.len();
    let mut follows = vec![None; bones];
    let Some(weights) = rig.weights() else { return follows };
    let unknown = |bone: BoneIndex| matches!(anatomy.from[bone], LimitFrom::Unknown | LimitFrom::Still);
    let mut own = vec![0.0; bones];
    let mut shared: Vec<Vec<f64>> = skeleton.bones().map(|b| vec![0.0; if unknown(b) { bones } else { 0 }]).collect();
    let mut share = |one: &[(BoneIndex, f64)], two: &[(BoneIndex, f64)]| {
        for (bone, weight) in one.iter().filter(|(bone, _)| unknown(*bone)) {
            for (other, with) in two.iter().filter(|(other, _)| other != bone) {
                shared[bone.get()][other.get()] += weight.min(*with);
            }
        }
    };
    for row in weights.rows() {
        row.iter().for_each(|(bone, weight)| own[bone.get()] += weight);
        share(row, row);
    }
    // Skin that changes hands from one vertex to the next is shared between them.
    for corners in &rig.mesh().triangles {
        for (v, w) in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] {
            let at = |corner: usize| weights.of(corners[corner] as usize);
            share(at(v), at(w));
        }
    }
    let mut carried = own.clone();
    for bone in skeleton.bones().rev() {
        if let Some(parent) = skeleton.parents()[bone] {
            carried[parent.get()] += carried[bone.get()];
        }
    }
    let all: f64 = own.iter().sum();
    let above = |bone: BoneIndex| std::iter::successors(Some(bone), |b| skeleton.parents()[*b]).collect::<Vec<_>>();
    for bone in skeleton.bones().filter(|bone| unknown(*bone)) {
        // What hangs on the bone follows it anyway.
        let most = skeleton.bones().filter(|other| !above(*other).contains(&bone)).max_by(|a, b| {
            let skin = |other: &BoneIndex| shared[bone.get()][other.get()];
            // Of equals the first.
            skin(a).total_cmp(&skin(b)).then(b.cmp(a))
        });
        let Some(other) = most.filter(|other| shared[bone.get()][other.get()] > 0.0) else { continue };
        let (one, two) = (above(bone), above(other));
        if one.contains(&other) {
            continue;
        }
        let apart = match one.iter().find(|carrier| two.contains(carrier)) {
            Some(carrier) => own[carrier.get()] == 0.0 || carried[carrier.get()] >= (1.0 - 1e-9) * all,
            None => true,
        };
        // Nothing is carried in a circle.
        let leads = carriers(rig, &follows, other).contains(&bone);
        if apart && !leads {
            follows[bone.get()] = Some(other);
        }
    }
    follows
}

/// A bone and those that carry it: the bone that it follows, or its parent, and so on. [`followers`] makes no circle.
pub(super) fn carriers(rig: &Rig, follows: &[Option<BoneIndex>], bone: BoneIndex) -> Vec<BoneIndex> {
    let above = |bone: &BoneIndex| follows[bone.get()].or(rig.skeleton().parents()[*bone]);
    std::iter::successors(Some(bone), above).collect()
}
