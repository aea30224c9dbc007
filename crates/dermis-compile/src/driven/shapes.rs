//! Shapes scaled to weights in 0..1, and the table that drives them.

use super::regression::Unscaled;
use super::sculpts::Sculpts;
use crate::pose_space::table_bones;
use crate::samples::named_bones;
use crate::scale::{Scaled, range, scaled};
use dermis_deform::baked::BakedJoints;
use dermis_deform::joints::Joint;
use dermis_deform::tables::{JointTable, TableBone, TableGravity, TableJoint};
use dermis_rig::glam::DAffine3;
use dermis_rig::{BoneIndex, BoneTransforms, IndexVec, MorphTarget, Rig, Skeleton};
use dermis_solve::faer::Mat;

/// Morph targets with their table.
pub(super) struct Shapes {
    pub table: JointTable,
    /// The rig's bone for each bone of the table.
    pub bones: IndexVec<TableBone, BoneIndex>,
    pub morphs: Vec<MorphTarget>,
    /// Range of every coordinate of z, for what all shapes would show.
    pub ranges: Vec<(f64, f64)>,
}

/// Scales shapes to weights in 0..1 and adds the constant one. Shapes that never displace more than `unseen` are left out.
pub(super) fn shapes(rig: &Rig, joints: &BakedJoints, z: &Mat<f64>, driven: Unscaled, unseen: f64) -> Shapes {
    let count = z.ncols();
    let over_samples = |value: &dyn Fn(usize) -> f64| range((0..z.nrows()).map(value));
    let of_row = |row: &Vec<f64>| over_samples(&|s| (0..count).map(|i| z[(s, i)] * row[i]).sum());
    let ranges: Vec<(f64, f64)> = driven.rows.iter().map(of_row).collect();
    let named = driven.names.into_iter().zip(driven.shapes);
    let Scaled { morphs, kept, offset } = scaled(rig.mesh().positions.len(), named, &ranges, unseen);
    let mut matrix = vec![vec![0.0; count]];
    matrix.extend(kept.iter().map(|&(shape, factor)| driven.rows[shape].iter().map(|x| x * factor).collect()));
    let skeleton = rig.skeleton();
    let sagging = joints.model.gravity.iter().flat_map(|gravity| &gravity.bones);
    let mut bones: Vec<BoneIndex> = joints.model.joints.iter().flat_map(|j| [j.from, j.to]).collect();
    bones.extend(sagging.clone().map(|sagging| sagging.bone));
    bones.sort_unstable();
    bones.dedup();
    let number = |bone: BoneIndex| TableBone::new(bones.partition_point(|b| *b < bone));
    let driver = |joint: &Joint| TableJoint {
        from: number(joint.from),
        to: number(joint.to),
        centre: joint.centre.map(|c| c.to_array()),
        limit: Some(joint.limit).filter(|limit| limit.is_finite()),
        reading: joint.reading,
        inducing: joint.inducing.clone(),
        second: joint.second.clone(),
        inverse_factor: joint.inverse_factor(),
    };
    let table = JointTable {
        mesh: rig.name().to_owned(),
        length: joints.model.length,
        kernel: joints.model.kernel,
        bones: named_bones(skeleton, &bones),
        joints: joints.model.joints.iter().map(driver).collect(),
        gravity: joints.model.gravity.as_ref().map(|gravity| TableGravity {
            down: gravity.down.to_array(),
            bones: sagging.map(|s| (number(s.bone), Some(s.limit).filter(|limit| limit.is_finite()))).collect(),
        }),
        shapes: morphs.iter().map(|m| m.name.clone()).collect(),
        matrix,
        sculpts: None,
        offset,
        clamp: [0.0, 1.0],
    };
    let ranges = (0..count).map(|i| over_samples(&|s| z[(s, i)])).collect();
    Shapes { table, bones: IndexVec::new(bones), morphs, ranges }
}

impl Shapes {
    /// Puts the shapes of remembered sculpts after the others.
    pub fn remember(&mut self, skeleton: &Skeleton, sculpts: Sculpts) {
        let mut bones: Vec<BoneIndex> =
            self.bones.iter().copied().chain(table_bones(&sculpts.driver).iter().copied()).collect();
        bones.sort_unstable();
        bones.dedup();
        let number = |bone: BoneIndex| TableBone::new(bones.partition_point(|b| *b < bone));
        for joint in &mut self.table.joints {
            (joint.from, joint.to) = (number(self.bones[joint.from]), number(self.bones[joint.to]));
        }
        for (bone, _) in self.table.gravity.iter_mut().flat_map(|gravity| &mut gravity.bones) {
            *bone = number(self.bones[*bone]);
        }
        self.table.shapes.extend(sculpts.morphs.iter().map(|morph| morph.name.clone()));
        dermis_rig::make_unique(&mut self.table.shapes, "."); // a sculpt may be called as a driven shape is
        self.table.offset.extend(sculpts.morphs.iter().map(|_| 0.0));
        self.table.bones = named_bones(skeleton, &bones);
        self.table.sculpts = Some(sculpts.driver.renumbered(number));
        self.morphs.extend(sculpts.morphs);
        self.morphs.iter_mut().zip(&self.table.shapes).for_each(|(morph, name)| morph.name.clone_from(name));
        self.bones = IndexVec::new(bones);
    }

    /// M_k of the table's bones.
    pub fn bones_of(&self, pose: &BoneTransforms) -> IndexVec<TableBone, DAffine3> {
        IndexVec::new(self.bones.iter().map(|bone| pose[*bone]).collect())
    }
}
