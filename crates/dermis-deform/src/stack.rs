//! Deformers one after another over a rig, as one map per pose.
//!
//! Every layer takes the points that the one before it leaves. Skinning layers take any points, not only the rest points: a
//! displacement d before them, p + d, is what pose-space corrections are made of. Lattices and wires before skinning act at rest,
//! after it in the world; a lattice with a parent bone belongs after it.

use crate::deform::Deform;
use crate::{DualQuaternions, Lattice, Wires, lbs};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneTransforms, Influences};
use std::convert::Infallible;

/// One deformer of a stack.
#[derive(Clone, Debug)]
pub enum Layer {
    /// Every vertex follows its dominant bone.
    Rigid(Influences),
    /// Linear blend skinning.
    Lbs(Influences),
    /// Dual quaternion skinning.
    Dqs(Influences, DualQuaternions),
    /// Free-form deformation.
    Lattice(Lattice),
    /// Wires.
    Wires(Wires),
}

/// Deformers in the order in which they act.
#[derive(Clone, Debug)]
pub struct Stack {
    layers: Vec<Layer>,
    vertices: usize,
    bones: usize,
}

/// Why layers are no stack over a rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StackError {
    /// Weights of another mesh.
    #[error("layer {layer} has weights for {found} vertices; the mesh has {expected}")]
    Vertices {
        /// The layer, from 0.
        layer: usize,
        /// Rows of its weights.
        found: usize,
        /// Vertices of the mesh.
        expected: usize,
    },
    /// A bone that the rig lacks.
    #[error("layer {layer} names bone {bone}; the rig has {bones}")]
    Bones {
        /// The layer, from 0.
        layer: usize,
        /// The largest bone it names.
        bone: usize,
        /// Bones of the rig.
        bones: usize,
    },
    /// Dual quaternions of another skeleton.
    #[error("layer {layer} has dual quaternions for {found} bones; the rig has {bones}")]
    Pivots {
        /// The layer, from 0.
        layer: usize,
        /// Bones of the dual quaternions.
        found: usize,
        /// Bones of the rig.
        bones: usize,
    },
}

impl Stack {
    /// A stack for a mesh of `vertices` on a rig of `bones`.
    ///
    /// # Errors
    /// [`StackError`] if a layer does not fit them.
    pub fn new(layers: Vec<Layer>, vertices: usize, bones: usize) -> Result<Self, StackError> {
        for (layer, one) in layers.iter().enumerate() {
            let named = match one {
                Layer::Rigid(weights) | Layer::Lbs(weights) | Layer::Dqs(weights, _) => weights.bones_named(),
                Layer::Lattice(lattice) => lattice.parent.map_or(0, |bone| bone.get() + 1),
                Layer::Wires(_) => 0,
            };
            if named > bones {
                return Err(StackError::Bones { layer, bone: named - 1, bones });
            }
            if let Layer::Dqs(_, blend) = one
                && blend.pivots().len() != bones
            {
                return Err(StackError::Pivots { layer, found: blend.pivots().len(), bones });
            }
            if let Layer::Rigid(weights) | Layer::Lbs(weights) | Layer::Dqs(weights, _) = one
                && weights.vertices() != vertices
            {
                return Err(StackError::Vertices { layer, found: weights.vertices(), expected: vertices });
            }
        }
        Ok(Self { layers, vertices, bones })
    }

    /// The layers, in the order in which they act.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The stack in a pose.
    ///
    /// # Panics
    /// If the pose has another number of bones.
    pub fn posed<'a>(&'a self, transforms: &'a BoneTransforms) -> Posed<'a> {
        assert_eq!(transforms.len(), self.bones, "the pose has another number of bones");
        let prepared = self.layers.iter().map(|layer| match layer {
            Layer::Dqs(_, blend) => {
                let mut blend = blend.clone();
                blend.prepare(transforms);
                Some(blend)
            }
            _ => None,
        });
        Posed { stack: self, transforms, prepared: prepared.collect(), between: Vec::new() }
    }
}

/// A stack in one pose: a map of the whole mesh.
#[derive(Clone, Debug)]
pub struct Posed<'a> {
    stack: &'a Stack,
    transforms: &'a BoneTransforms,
    /// Bones of this pose, for the layers that need them prepared.
    prepared: Vec<Option<DualQuaternions>>,
    between: Vec<DVec3>,
}

impl Deform for Posed<'_> {
    type Error = Infallible;

    /// # Panics
    /// If `points` or `out` are not one per vertex.
    fn deform(&mut self, points: &[DVec3], out: &mut [DVec3]) -> Result<(), Infallible> {
        assert_eq!(points.len(), self.stack.vertices, "the points are not one per vertex");
        out.copy_from_slice(points);
        for (layer, prepared) in self.stack.layers.iter().zip(&self.prepared) {
            self.between.clear();
            self.between.extend_from_slice(out);
            let points = &self.between;
            match (layer, prepared) {
                (Layer::Rigid(weights), _) => lbs::rigid(points, weights, self.transforms, out),
                (Layer::Lbs(weights), _) => lbs::lbs(points, weights, self.transforms, out),
                (Layer::Dqs(weights, _), Some(blend)) | (Layer::Dqs(weights, blend), None) => {
                    blend.deform(points, weights, out);
                }
                (Layer::Lattice(lattice), _) => {
                    let parent = lattice.parent.map_or(DAffine3::IDENTITY, |bone| self.transforms[bone]);
                    lattice.deform(&parent, points, out);
                }
                (Layer::Wires(wires), _) => wires.deform(points, out),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outside, Wire};
    use dermis_rig::BoneIndex;
    use dermis_testkit::{Arm, ArmPose, Random};

    fn lattice(parent: Option<BoneIndex>) -> Lattice {
        let mut random = Random::new(9);
        let moves = (0..27).map(|_| random.direction() * 0.02).collect();
        let edges = DVec3::AXES.map(|e| e * 2.0);
        let mut lattice = Lattice::new(DVec3::splat(-1.0), edges, [3; 3], moves).unwrap();
        lattice.parent = parent;
        lattice
    }

    #[test]
    fn layers_act_one_after_another_on_any_points() {
        let arm = Arm::new(9, 6);
        let pose = arm.transforms(&ArmPose::random(&mut Random::new(1)));
        let n = arm.rig.mesh().positions.len();
        let blend = DualQuaternions::new(arm.rig.skeleton());
        let wire = Wire::new(vec![DVec3::ZERO, DVec3::X], vec![DVec3::Y * 0.1, DVec3::X], 0.1, 1.2).unwrap();
        let wires = Wires::new(vec![wire], 1.0).unwrap();
        let layers = vec![
            Layer::Wires(wires.clone()),
            Layer::Lattice(lattice(None)),
            Layer::Dqs(arm.weights().clone(), blend.clone()),
            Layer::Lattice(lattice(Some(BoneIndex::new(2)))),
        ];
        let stack = Stack::new(layers, n, 4).unwrap();
        let points: Vec<DVec3> = arm.rig.mesh().positions.iter().map(|p| *p + DVec3::splat(0.01)).collect();
        let mut got = vec![DVec3::ZERO; n];
        let Ok(()) = stack.posed(&pose).deform(&points, &mut got);
        let mut blend = blend;
        blend.prepare(&pose);
        let forearm = pose[BoneIndex::new(2)];
        for (v, &p) in points.iter().enumerate() {
            let p = p + wires.displacement(p);
            let p = p + lattice(None).displacement(p);
            let p = blend.map(arm.weights().of(v)).transform_point3(p);
            let at_bone = forearm.inverse().transform_point3(p);
            let p = forearm.transform_point3(at_bone + lattice(None).displacement(at_bone));
            assert!(got[v].abs_diff_eq(p, 1e-14));
        }
    }

    /// Symmetry: moving all bones moves the result, when what acts in the world hangs on a bone.
    #[test]
    fn a_stack_moves_with_its_character() {
        let arm = Arm::new(9, 6);
        let g = dermis_testkit::some_motion(1.3, DVec3::new(2.0, -1.0, 0.5));
        let pose = arm.transforms(&ArmPose::random(&mut Random::new(2)));
        let n = arm.rig.mesh().positions.len();
        for skin in [Layer::Lbs(arm.weights().clone()), Layer::Rigid(arm.weights().clone())] {
            let mut after = lattice(Some(BoneIndex::new(1)));
            after.outside = Outside::Clamped;
            let layers = vec![Layer::Lattice(lattice(None)), skin, Layer::Lattice(after)];
            let stack = Stack::new(layers, n, 4).unwrap();
            let of = |pose: &BoneTransforms| {
                let mut out = vec![DVec3::ZERO; n];
                let Ok(()) = stack.posed(pose).deform(&arm.rig.mesh().positions, &mut out);
                out
            };
            let expected: Vec<DVec3> = of(&pose).iter().map(|p| g.transform_point3(*p)).collect();
            assert!(dermis_testkit::largest_distance(&of(&pose.moved(g)), &expected) < 1e-13);
        }
    }

    #[test]
    fn layers_of_another_rig_are_refused() {
        let weights = || Influences::from_dense(&[0.5, 0.5, 1.0, 0.0], 2).unwrap();
        let made = |layer, vertices, bones| Stack::new(vec![layer], vertices, bones).map(|_| ());
        assert_eq!(made(Layer::Lbs(weights()), 2, 2), Ok(()));
        let vertices = StackError::Vertices { layer: 0, found: 2, expected: 3 };
        assert_eq!(made(Layer::Lbs(weights()), 3, 2), Err(vertices));
        let bones = |bone, bones| Err(StackError::Bones { layer: 0, bone, bones });
        assert_eq!(made(Layer::Rigid(weights()), 2, 1), bones(1, 1));
        assert_eq!(made(Layer::Lattice(lattice(Some(BoneIndex::new(7)))), 2, 2), bones(7, 2));
        let pivots = StackError::Pivots { layer: 0, found: 2, bones: 3 };
        assert_eq!(made(Layer::Dqs(weights(), DualQuaternions::at_origin(2)), 2, 3), Err(pivots));
    }
}
