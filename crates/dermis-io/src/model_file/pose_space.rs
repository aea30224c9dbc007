//! Pose-space deformation in a model file.

use super::{Reader, Tensors, damaged, positive};
use crate::contents::ReadError;
use dermis_deform::baked::BakedPoseSpace;
use dermis_deform::guard::Weld;
use dermis_deform::pose_space::{Carrier, Joint, Kernel, NO_GROUP};
use dermis_rig::glam::Vec3;
use dermis_rig::{BoneIndex, Rig};
use serde::{Deserialize, Serialize};

/// What a pose space holds beside arrays.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPoseSpace {
    sigma: f64,
    /// "base", "bones" or "world".
    carrier: String,
}

/// The arrays of a correction, and what it holds beside them.
pub(super) fn write(t: &mut Tensors, c: &BakedPoseSpace, rig: &Rig) -> StoredPoseSpace {
    let k = &c.kernel;
    let joints = k.joints.iter().flat_map(|j| [j.parent.get() as u32, j.bone.get() as u32]);
    t.u32("pose_space.joints", &[k.joints.len(), 2], joints);
    t.f64("pose_space.limits", &[k.joints.len()], k.joints.iter().map(|j| j.limit));
    let mut frozen = vec![0; rig.skeleton.len()];
    k.weld.frozen().for_each(|bone| frozen[bone.get()] = 1);
    t.u32("pose_space.frozen", &[frozen.len()], frozen.into_iter());
    t.f64("pose_space.examples", &[k.examples.len(), 9], k.examples.iter().flatten().copied());
    t.u32("pose_space.joint_offsets", &[k.joint_offsets.len()], k.joint_offsets.iter().copied());
    t.u32("pose_space.group_joints", &[k.relevance.len()], k.relevance.iter().map(|r| r.0));
    t.f64("pose_space.relevance", &[k.relevance.len()], k.relevance.iter().map(|r| r.1));
    t.u32("pose_space.centre_offsets", &[k.offsets.len()], k.offsets.iter().copied());
    t.u32("pose_space.centres", &[k.centres.len()], k.centres.iter().copied());
    t.u32("pose_space.groups", &[c.groups.len()], c.groups.iter().copied());
    t.f32("pose_space.weights", &[c.weights.len(), 3], c.weights.iter().flat_map(|w| w.to_array()));
    t.f32("pose_space.radii", &[c.radii.len()], c.radii.iter().copied());
    let carrier = match &c.carrier {
        Carrier::Base => "base",
        Carrier::World => "world",
        Carrier::Bones(bones) => {
            t.u32("pose_space.bones", &[bones.len()], bones.iter().map(|b| b.get() as u32));
            "bones"
        }
    };
    StoredPoseSpace { sigma: k.sigma, carrier: carrier.into() }
}

/// A correction from its arrays.
pub(super) fn read(r: &Reader<'_>, rig: &Rig, stored: &StoredPoseSpace) -> Result<BakedPoseSpace, ReadError> {
    let (vertices, bones) = (rig.mesh.positions.len(), rig.skeleton.len());
    let bone = |b: u32| BoneIndex::new(b as usize);
    if !(stored.sigma > 0.0 && positive(stored.sigma * stored.sigma)) {
        return Err(damaged("the width of the kernel is not positive"));
    }
    let carrier = match stored.carrier.as_str() {
        "base" => Carrier::Base,
        "world" => Carrier::World,
        "bones" => {
            let list = r.indices("pose_space.bones", 1, bones)?;
            r.count("pose_space.bones", list.len(), vertices)?;
            Carrier::Bones(list.into_iter().map(bone).collect())
        }
        other => return Err(ReadError::Unsupported { feature: format!("carrier \"{other}\"") }),
    };
    let ends = r.indices("pose_space.joints", 2, bones)?;
    let limits = r.f64("pose_space.limits", 1)?;
    r.count("pose_space.limits", limits.len(), ends.len() / 2)?;
    if limits.iter().any(|limit| limit.is_nan() || *limit < 0.0) {
        return Err(damaged("a joint has no limit"));
    }
    let joints = ends.chunks_exact(2).zip(limits);
    let joints: Vec<Joint> =
        joints.map(|(ends, limit)| Joint { parent: bone(ends[0]), bone: bone(ends[1]), limit }).collect();
    let frozen: Vec<bool> = r.indices("pose_space.frozen", 1, 2)?.into_iter().map(|f| f == 1).collect();
    r.count("pose_space.frozen", frozen.len(), bones)?;
    let finite = |name: &str, columns: usize| match r.f64(name, columns)? {
        all if all.iter().all(|x| x.is_finite()) => Ok(all),
        _ => Err(damaged(format!("array \"{name}\" holds numbers that are not finite"))),
    };
    let examples = finite("pose_space.examples", 9)?;
    let examples: Vec<[f64; 9]> = examples.chunks_exact(9).map(|x| x.try_into().unwrap_or_default()).collect();
    if !examples.len().is_multiple_of(joints.len().max(1)) {
        return Err(damaged("the examples of the pose space are not joints × poses"));
    }
    let count = examples.len() / joints.len().max(1);
    let relevance = finite("pose_space.relevance", 1)?;
    let group_joints = r.indices("pose_space.group_joints", 1, joints.len())?;
    r.count("pose_space.relevance", relevance.len(), group_joints.len())?;
    if relevance.iter().any(|a| *a < 0.0) {
        return Err(damaged("a joint of the pose space has negative relevance"));
    }
    let relevance: Vec<(u32, f64)> = group_joints.into_iter().zip(relevance).collect();
    let centres = r.indices("pose_space.centres", 1, count)?;
    let groups = r.u32("pose_space.centre_offsets", 1)?.len().saturating_sub(1);
    let offsets = r.offsets("pose_space.centre_offsets", groups, centres.len())?;
    let joint_offsets = r.offsets("pose_space.joint_offsets", groups, relevance.len())?;
    let mut kernel = Kernel::new(stored.sigma, Weld::along(&rig.skeleton, &frozen), joints, examples);
    let slice = |offsets: &[u32], g: usize| offsets[g] as usize..offsets[g + 1] as usize;
    for g in 0..groups {
        kernel.push(&relevance[slice(&joint_offsets, g)], &centres[slice(&offsets, g)]);
    }
    let of_vertices = r.u32("pose_space.groups", 1)?;
    r.count("pose_space.groups", of_vertices.len(), vertices)?;
    let weights: Vec<Vec3> = r.f32("pose_space.weights", 3)?.chunks_exact(3).map(Vec3::from_slice).collect();
    let mut starts = vec![0u32];
    let mut total = 0usize;
    for &g in &of_vertices {
        total += match g {
            NO_GROUP => 0,
            g if (g as usize) < groups => kernel.range(g as usize).len(),
            g => return Err(damaged(format!("a vertex is of group {g}, but there are {groups}"))),
        };
        // More than the file holds is refused before it can overflow.
        if total > weights.len() {
            break;
        }
        starts.push(total as u32);
    }
    r.count("pose_space.weights", weights.len(), total)?;
    let radii = r.f32("pose_space.radii", 1)?;
    if !radii.is_empty() {
        r.count("pose_space.radii", radii.len(), vertices)?;
    }
    if radii.iter().any(|r| *r < 0.0) {
        return Err(damaged("a radius of the guard is negative"));
    }
    Ok(BakedPoseSpace { kernel, carrier, groups: of_vertices, offsets: starts, weights, radii })
}
