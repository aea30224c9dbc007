//! The driver table of a joint model: morph weights w = clamp(D z + d0) from its joint coordinates z.

use super::{NamedBone, PoseDriver, TableBone};
use crate::gravity::gravity_feature;
use crate::joint_kernel::JointKernel;
use crate::joints::{JointReading, joint_feature, part_of};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, IndexVec};

/// How weights of morph targets follow from joints.
#[derive(Clone, Debug, PartialEq)]
pub struct JointTable {
    /// The mesh whose morph targets are driven.
    pub mesh: String,
    /// L, metres.
    pub length: f64,
    /// k.
    pub kernel: JointKernel,
    /// The bones that are read.
    pub bones: IndexVec<TableBone, NamedBone>,
    /// The joints, in the order of their coordinates.
    pub joints: Vec<TableJoint>,
    /// The bones that see down, whose three numbers each follow those of the joints.
    pub gravity: Option<TableGravity>,
    /// The morph targets, in the order of the mesh.
    pub shapes: Vec<String>,
    /// D: a row per shape that joint coordinates drive, which come first; a column per coordinate.
    pub matrix: Vec<Vec<f64>>,
    /// What drives the other shapes, those of the sculpts that the model remembers. Its offsets and bounds are those of the table.
    pub sculpts: Option<PoseDriver<TableBone>>,
    /// d0: the weights at the bind pose.
    pub offset: Vec<f64>,
    /// Where weights are clamped.
    pub clamp: [f64; 2],
}

/// A joint of a [`JointTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct TableJoint {
    /// The bone it is seen from.
    pub from: TableBone,
    /// The bone that is seen.
    pub to: TableBone,
    /// c, in units of L; `None` for a composite, of which the rotation alone is read.
    pub centre: Option<[f64; 3]>,
    /// What is read of it.
    pub reading: JointReading,
    /// Largest norm of φ, or of its part, if there is a limit.
    pub limit: Option<f64>,
    /// φ, or its part, of the inducing rotations; of a product that of its first joint.
    pub inducing: Vec<[f64; 12]>,
    /// The same of the second joint of a product; empty otherwise.
    pub second: Vec<[f64; 12]>,
    /// C⁻¹, lower triangular: row i has i + 1 numbers.
    pub inverse_factor: Vec<Vec<f64>>,
}

/// The bones of a [`JointTable`] that see down.
#[derive(Clone, Debug, PartialEq)]
pub struct TableGravity {
    /// ĝ, of length one.
    pub down: [f64; 3],
    /// The bones, each with the largest norm of h, if there is a limit.
    pub bones: Vec<(TableBone, Option<f64>)>,
}

impl JointTable {
    /// z of all joints, then h of the bones that see down, from the bone transforms M_k of [`Self::bones`].
    ///
    /// # Panics
    /// If `transforms` are fewer than the table's bones.
    pub fn coordinates(&self, transforms: &IndexVec<TableBone, DAffine3>) -> Vec<f64> {
        let (mut z, mut features) = (Vec::new(), Vec::new());
        for joint in &self.joints {
            let pair = [transforms[joint.from], transforms[joint.to]];
            let both = (BoneIndex::new(0), BoneIndex::new(1));
            let whole = joint_feature(&pair, both, joint.centre.map(DVec3::from_array), self.length);
            let mut feature = part_of(&whole, joint.reading);
            let norm = feature.iter().map(|x| x * x).sum::<f64>().sqrt();
            if let Some(limit) = joint.limit.filter(|limit| norm > *limit) {
                feature.iter_mut().for_each(|x| *x *= limit / norm);
            }
            features.push(feature);
            let k: Vec<f64> = match joint.reading {
                JointReading::Product([e, f]) => {
                    let [x, y] = [e, f].map(|at| &features[at as usize]);
                    let squared = self.kernel.sigma * self.kernel.sigma;
                    let both = joint.inducing.iter().zip(&joint.second);
                    both.map(|(a, b)| self.kernel.at(x, a) * self.kernel.at(y, b) / squared).collect()
                }
                _ => joint.inducing.iter().map(|at| self.kernel.at(&feature, at)).collect(),
            };
            z.extend(joint.inverse_factor.iter().map(|row| row.iter().zip(&k).map(|(c, k)| c * k).sum::<f64>()));
        }
        if let Some(TableGravity { down, bones }) = &self.gravity {
            for &(bone, limit) in bones {
                let h = gravity_feature(&transforms[bone], DVec3::from_array(*down));
                z.extend(limit.map_or(h, |limit| h.clamp_length_max(limit)).to_array());
            }
        }
        z
    }

    /// D z + d0 of every shape that joint coordinates drive, and whether the clamp would change it.
    pub fn unclamped<'a>(&'a self, z: &'a [f64]) -> impl Iterator<Item = (f64, bool)> + 'a {
        self.matrix.iter().zip(&self.offset).map(move |(row, offset)| {
            let w = offset + row.iter().zip(z).map(|(d, z)| d * z).sum::<f64>();
            (w, !(self.clamp[0]..=self.clamp[1]).contains(&w))
        })
    }

    /// The weights of the shapes that joint coordinates drive, at coordinates z.
    pub fn weights(&self, z: &[f64]) -> Vec<f64> {
        self.unclamped(z).map(|(w, _)| w.clamp(self.clamp[0], self.clamp[1])).collect()
    }

    /// M_k = T_k B_k⁻¹ of [`Self::bones`] from their joint-to-world matrices T_k.
    pub fn bone_transforms(&self, joint_to_world: &IndexVec<TableBone, DAffine3>) -> IndexVec<TableBone, DAffine3> {
        IndexVec::new(joint_to_world.iter().zip(self.bones.iter()).map(|(t, bone)| *t * bone.inverse_bind).collect())
    }
}
