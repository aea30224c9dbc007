//! The bones of a tube along x: three, 0.35 apart.

use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_testkit::Random;

/// Skinning weights that blend two bones halfway between their joints.
pub fn weights(positions: &[DVec3]) -> Influences {
    let rows = positions.iter().map(|p| {
        let along = (p.x / 0.35).clamp(0.0, 1.999);
        let (first, part) = (along.floor(), ((along.fract() - 0.25) * 2.0).clamp(0.0, 1.0));
        let row = [(first, 1.0 - part), (first + 1.0, part)].map(|(bone, w)| (BoneIndex::new(bone as usize), w));
        row.into_iter().filter(|(_, w)| *w > 0.0).collect()
    });
    Influences::from_rows(rows).unwrap()
}

/// Every bone turned about its joint, the root about the origin.
pub fn posed(random: &mut Random, most: f64) -> BoneTransforms {
    let mut all = Vec::new();
    let mut above = DAffine3::IDENTITY;
    for bone in 0..3 {
        let joint = DAffine3::from_translation(DVec3::X * 0.35 * bone as f64);
        above = above * joint * DAffine3::from_quat(random.rotation(most)) * joint.inverse();
        all.push(above);
    }
    BoneTransforms::new(all)
}
