//! Rotational regression in a model file. The system of its surface is not stored: reading factorises it again.

use super::{Reader, Tensors, damaged};
use crate::contents::ReadError;
use dermis_deform::RotationalRegression;
use dermis_deform::rotational_regression::{TurnParts, TurnTerm, TurningJoint};
use dermis_rig::{BoneIndex, Rig};

/// The arrays of a model.
pub(super) fn write<'a>(t: &mut Tensors<'a>, model: &'a RotationalRegression) {
    let joints = &model.joints;
    let pairs = joints.iter().flat_map(|j| [j.from.get() as u32, j.to.get() as u32]);
    t.u32("regression.joints", &[joints.len(), 2], pairs);
    t.f32("regression.limits", &[joints.len()], joints.iter().map(|j| j.limit));
    t.u32("regression.seen_counts", &[joints.len()], joints.iter().map(|j| j.seen.len() as u32));
    let seen = || joints.iter().flat_map(|j| &j.seen);
    t.f32("regression.seen", &[seen().count(), 3], seen().flatten().copied());
    t.u32("regression.bones", &[model.bones.len()], model.bones.iter().map(|b| b.get() as u32));
    t.u32("regression.offsets", &[model.terms.offsets().len()], model.terms.offsets().iter().copied());
    let terms = model.terms.entries();
    t.u32("regression.terms", &[terms.len()], terms.iter().map(|t| t.joint));
    t.f32("regression.turns", &[terms.len(), 9], terms.iter().flat_map(|t| t.turn));
    t.f32("regression.stretches", &[terms.len(), 18], terms.iter().flat_map(|t| t.stretch));
    let anchors = model.anchors.iter().flat_map(|(v, b)| [*v, b.get() as u32]);
    t.u32("regression.anchors", &[model.anchors.len(), 2], anchors);
}

/// A model from its arrays.
pub(super) fn read(r: &Reader<'_>, rig: &Rig) -> Result<RotationalRegression, ReadError> {
    let (vertices, bones, triangles) = (rig.mesh().positions.len(), rig.skeleton().len(), &rig.mesh().triangles);
    let weights = rig.weights().cloned().ok_or_else(|| damaged("rotational regression needs skinning weights"))?;
    let bone = |b: u32| BoneIndex::new(b as usize);
    let pairs = r.indices("regression.joints", 2, bones)?;
    let (limits, counts) = (r.f32("regression.limits", 1)?, r.u32("regression.seen_counts", 1)?);
    let seen: Vec<[f32; 3]> =
        r.f32("regression.seen", 3)?.chunks_exact(3).map(|v| v.try_into().unwrap_or_default()).collect();
    let count = pairs.len() / 2;
    r.count("regression.limits", limits.len(), count)?;
    r.count("regression.seen_counts", counts.len(), count)?;
    if counts.iter().map(|&n| u64::from(n)).sum::<u64>() != seen.len() as u64 {
        return Err(damaged("the vectors of joints are not as many as the joints say"));
    }
    if limits.iter().any(|l| *l < 0.0) {
        return Err(damaged("a joint has a negative limit"));
    }
    let mut taken = 0;
    let joint = |j: usize| {
        let of_joint = seen[taken..taken + counts[j] as usize].to_vec();
        taken += of_joint.len();
        TurningJoint { from: bone(pairs[2 * j]), to: bone(pairs[2 * j + 1]), limit: limits[j], seen: of_joint }
    };
    let joints: Vec<TurningJoint> = (0..count).map(joint).collect();
    let named = r.indices("regression.terms", 1, count)?;
    let (turns, stretches) = (r.f32("regression.turns", 9)?, r.f32("regression.stretches", 18)?);
    r.count("regression.turns", turns.len() / 9, named.len())?;
    r.count("regression.stretches", stretches.len() / 18, named.len())?;
    let term = |((&joint, turn), stretch): ((&u32, &[f32]), &[f32])| TurnTerm {
        joint,
        turn: turn.try_into().unwrap_or_default(),
        stretch: stretch.try_into().unwrap_or_default(),
    };
    let terms = named.iter().zip(turns.chunks_exact(9)).zip(stretches.chunks_exact(18)).map(term).collect();
    let terms = r.rows("regression.offsets", triangles.len(), terms)?;
    let of_triangles = r.indices("regression.bones", 1, bones)?;
    r.count("regression.bones", of_triangles.len(), triangles.len())?;
    let held = r.u32("regression.anchors", 2)?;
    if held.chunks_exact(2).any(|a| a[0] as usize >= vertices || a[1] as usize >= bones) {
        return Err(damaged("an anchor names a vertex or a bone that does not exist"));
    }
    let anchors = held.chunks_exact(2).map(|a| (a[0], bone(a[1]))).collect();
    let parts = TurnParts { joints, bones: of_triangles.into_iter().map(bone).collect(), terms, anchors };
    RotationalRegression::new(&rig.mesh().positions, triangles, weights, parts)
        .map_err(|e| damaged(format!("the surface cannot be solved for: {e}")))
}
