//! Deformers one after another over a rig, as one map per pose.
//!
//! Every layer takes the points that the one before it leaves. Skinning layers take any points, not only the rest points: a
//! displacement d before them, p + d, is what pose-space corrections are made of. Lattices and wires before skinning act at rest,
//! after it in the world. After the skinning they may hang on a parent bone, which carries them along; before it the points
//! are at rest and a parent is refused.
//!
//! Every layer moves a vertex by its own position and weights alone. The map of one vertex in a pose is therefore a function of
//! its point, [`Stack::at`], with a derivative, [`Stack::linear`].

use crate::attached::Attached;
use crate::deform::Deform;
use crate::{DualQuaternions, Lattice, Wires, lbs};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
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
    /// A lattice or wires that hang on a bone, although what follows them is still to pose the points.
    #[error("layer {layer} hangs on a bone, but the points are still at rest there: a skinning layer follows")]
    ParentAtRest {
        /// The layer, from 0.
        layer: usize,
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
        let last_skinning = layers.iter().rposition(|layer| layer.weights().is_some());
        for (layer, one) in layers.iter().enumerate() {
            let named = match one.weights() {
                Some(weights) => weights.bones_named(),
                None => one.parent().map_or(0, |bone| bone.get() + 1),
            };
            if named > bones {
                return Err(StackError::Bones { layer, bone: named - 1, bones });
            }
            if one.parent().is_some() && last_skinning.is_some_and(|last| layer < last) {
                return Err(StackError::ParentAtRest { layer });
            }
            if let Layer::Dqs(_, blend) = one
                && blend.pivots().len() != bones
            {
                return Err(StackError::Pivots { layer, found: blend.pivots().len(), bones });
            }
            if let Some(found) = one.weights().map(Influences::vertices).filter(|found| *found != vertices) {
                return Err(StackError::Vertices { layer, found, expected: vertices });
            }
        }
        Ok(Self { layers, vertices, bones })
    }

    /// The layers, in the order in which they act.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Vertices of the mesh.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Bones of the rig: a pose has as many.
    pub fn bones(&self) -> usize {
        self.bones
    }

    /// The weights of the last skinning layer; `None` if no layer poses the points.
    pub fn weights(&self) -> Option<&Influences> {
        self.layers.iter().rev().find_map(Layer::weights)
    }

    /// Returns S(p) of vertex `v` in a prepared pose, posed world, metres.
    ///
    /// - `p`: its position at rest, or one near it, rest world, metres
    ///
    /// # Panics
    /// If `pose` was prepared for another stack, or `v` is no vertex.
    pub fn at(&self, pose: &StackPose, v: usize, p: DVec3) -> DVec3 {
        self.layers.iter().zip(&pose.layers).fold(p, |p, (layer, posed)| layer.at(posed, &pose.bones, v, p))
    }

    /// Returns ∂S/∂p of vertex `v` at `p` in a prepared pose: the product of the derivatives of the layers, each where the layers
    /// before it leave the point. In closed form but for wires, whose derivative is a central difference.
    ///
    /// # Panics
    /// As [`at`](Self::at).
    pub fn linear(&self, pose: &StackPose, v: usize, p: DVec3) -> DMat3 {
        let mut p = p;
        let mut product = DMat3::IDENTITY;
        for (layer, posed) in self.layers.iter().zip(&pose.layers) {
            product = layer.linear(posed, &pose.bones, v, p) * product;
            p = layer.at(posed, &pose.bones, v, p);
        }
        product
    }

    /// The stack in a pose.
    ///
    /// # Panics
    /// If the pose has another number of bones.
    pub fn posed(&self, transforms: &BoneTransforms) -> Posed<'_> {
        let mut pose = StackPose::default();
        pose.prepare(self, transforms);
        Posed { stack: self, pose }
    }

    /// Bytes of the arrays that evaluation reads.
    pub fn bytes(&self) -> usize {
        let of = |layer: &Layer| match layer {
            Layer::Rigid(weights) | Layer::Lbs(weights) | Layer::Dqs(weights, _) => 12 * weights.count(),
            Layer::Lattice(lattice) => 24 * lattice.parts().3.len(),
            Layer::Wires(wires) => wires.wires().iter().map(|wire| 48 * wire.reference().len()).sum(),
        };
        self.layers.iter().map(of).sum()
    }
}

impl Layer {
    /// The weights of a skinning layer; `None` for a lattice and for wires.
    pub fn weights(&self) -> Option<&Influences> {
        match self {
            Self::Rigid(weights) | Self::Lbs(weights) | Self::Dqs(weights, _) => Some(weights),
            Self::Lattice(_) | Self::Wires(_) => None,
        }
    }

    /// The bone that a lattice or wires hang on.
    pub fn parent(&self) -> Option<BoneIndex> {
        match self {
            Self::Rigid(_) | Self::Lbs(_) | Self::Dqs(..) => None,
            Self::Lattice(lattice) => lattice.parent,
            Self::Wires(wires) => wires.parent,
        }
    }

    fn at(&self, posed: &PosedLayer, bones: &[DAffine3], v: usize, p: DVec3) -> DVec3 {
        match (self, posed) {
            (Self::Rigid(weights), _) => weights.dominant(v).map_or(p, |bone| bones[bone.get()].transform_point3(p)),
            (Self::Lbs(weights), _) => lbs::blend_of(weights.of(v), |bone| &bones[bone.get()]).transform_point3(p),
            (Self::Dqs(weights, _), PosedLayer::Blend(blend)) | (Self::Dqs(weights, blend), _) => {
                blend.map(weights.of(v)).transform_point3(p)
            }
            (Self::Lattice(lattice), _) => p + posed.attached().displacement(p, |p| lattice.displacement(p)),
            (Self::Wires(wires), _) => p + posed.attached().displacement(p, |p| wires.displacement(p)),
        }
    }

    fn linear(&self, posed: &PosedLayer, bones: &[DAffine3], v: usize, p: DVec3) -> DMat3 {
        match (self, posed) {
            (Self::Rigid(weights), _) => weights.dominant(v).map_or(DMat3::IDENTITY, |bone| bones[bone.get()].matrix3),
            (Self::Lbs(weights), _) => lbs::blend_of(weights.of(v), |bone| &bones[bone.get()]).matrix3,
            (Self::Dqs(weights, _), PosedLayer::Blend(blend)) | (Self::Dqs(weights, blend), _) => {
                blend.map(weights.of(v)).matrix3
            }
            (Self::Lattice(lattice), _) => DMat3::IDENTITY + posed.attached().gradient(p, |p| lattice.gradient(p)),
            (Self::Wires(wires), _) => DMat3::IDENTITY + posed.attached().gradient(p, |p| wires.gradient(p)),
        }
    }
}

/// What a pose gives to the layers of a stack. Its memory is reused from pose to pose, for any stack.
#[derive(Clone, Debug, Default)]
pub struct StackPose {
    bones: Vec<DAffine3>,
    layers: Vec<PosedLayer>,
}

/// What a pose gives to one layer.
#[derive(Clone, Debug)]
enum PosedLayer {
    /// Nothing beside the bones.
    Bones,
    /// Dual quaternions.
    Blend(DualQuaternions),
    /// Where a lattice or wires are.
    Attached(Attached),
}

impl PosedLayer {
    fn attached(&self) -> &Attached {
        if let Self::Attached(attached) = self { attached } else { &Attached::Still }
    }
}

impl StackPose {
    /// Takes a pose; after the first of a stack it allocates nothing.
    ///
    /// # Panics
    /// If the pose has another number of bones than the stack.
    pub fn prepare(&mut self, stack: &Stack, transforms: &BoneTransforms) {
        assert_eq!(transforms.len(), stack.bones, "the pose has another number of bones");
        self.bones.clear();
        self.bones.extend(transforms.iter());
        self.layers.resize(stack.layers.len(), PosedLayer::Bones);
        for (posed, layer) in self.layers.iter_mut().zip(&stack.layers) {
            match (layer, &mut *posed) {
                (Layer::Dqs(_, blend), PosedLayer::Blend(kept)) if kept.pivots() == blend.pivots() => {
                    kept.prepare(transforms);
                }
                (Layer::Dqs(_, blend), _) => {
                    let mut blend = blend.clone();
                    blend.prepare(transforms);
                    *posed = PosedLayer::Blend(blend);
                }
                (Layer::Lattice(_) | Layer::Wires(_), _) => {
                    let parent = layer.parent().map_or(DAffine3::IDENTITY, |bone| transforms[bone]);
                    *posed = PosedLayer::Attached(Attached::to(&parent));
                }
                (Layer::Rigid(_) | Layer::Lbs(_), _) => *posed = PosedLayer::Bones,
            }
        }
    }
}

/// A stack in one pose: a map of the whole mesh.
#[derive(Clone, Debug)]
pub struct Posed<'a> {
    stack: &'a Stack,
    pose: StackPose,
}

impl Deform for Posed<'_> {
    type Error = Infallible;

    /// # Panics
    /// If `points` or `out` are not one per vertex.
    fn deform(&mut self, points: &[DVec3], out: &mut [DVec3]) -> Result<(), Infallible> {
        assert_eq!(points.len(), self.stack.vertices, "the points are not one per vertex");
        crate::for_each_vertex(points, out, |v, p| self.stack.at(&self.pose, v, p));
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
            let wire = Wire::new(vec![DVec3::ZERO, DVec3::X], vec![DVec3::Y * 0.1, DVec3::X], 0.4, 1.2).unwrap();
            let mut carried = Wires::new(vec![wire], 1.0).unwrap();
            carried.parent = Some(BoneIndex::new(3));
            let layers = vec![Layer::Lattice(lattice(None)), skin, Layer::Lattice(after), Layer::Wires(carried)];
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

    /// Closed form: control points moved by an affine function of their places make an affine map of the box, p + A p + b, and its
    /// derivative is 1 + A in every pose of what follows.
    #[test]
    fn a_lattice_that_shears_is_affine() {
        let shear =
            DMat3::from_cols(DVec3::new(0.1, 0.02, 0.0), DVec3::new(0.3, -0.1, 0.05), DVec3::new(0.0, 0.2, 0.1));
        let moved = DVec3::new(0.4, -0.3, 0.2);
        let at = |i: i32| f64::from(i) * 2.0 - 2.0;
        let places =
            (0..3).flat_map(|i| (0..3).flat_map(move |j| (0..3).map(move |k| DVec3::new(at(i), at(j), at(k)))));
        let moves = places.map(|p| shear * p + moved).collect();
        let lattice = Lattice::new(DVec3::splat(-2.0), DVec3::AXES.map(|e| e * 4.0), [3; 3], moves).unwrap();
        let arm = Arm::new(9, 6);
        let pose = arm.transforms(&ArmPose::random(&mut Random::new(5)));
        let n = arm.rig.mesh().positions.len();
        let stack = Stack::new(vec![Layer::Lattice(lattice), Layer::Lbs(arm.weights().clone())], n, 4).unwrap();
        let mut posed = StackPose::default();
        posed.prepare(&stack, &pose);
        for (v, &p) in arm.rig.mesh().positions.iter().enumerate() {
            let blend = lbs::blend(arm.weights().of(v), &pose);
            let expected = blend.transform_point3(p + shear * p + moved);
            assert!(stack.at(&posed, v, p).abs_diff_eq(expected, 1e-13));
            let linear = blend.matrix3 * (DMat3::IDENTITY + shear);
            assert!(stack.linear(&posed, v, p).abs_diff_eq(linear, 1e-13));
        }
    }

    #[test]
    fn layers_of_another_rig_are_refused() {
        let weights = || Influences::from_dense(&[0.5, 0.5, 1.0, 0.0], 2).unwrap();
        let made = |layer, vertices, bones| Stack::new(vec![layer], vertices, bones).map(|_| ());
        assert_eq!(made(Layer::Lbs(weights()), 2, 2), Ok(()));
        let vertices = StackError::Vertices { layer: 0, found: 2, expected: 3 };
        assert_eq!(made(Layer::Lbs(weights()), 3, 2), Err(vertices));
        let hangs = |layers| Stack::new(layers, 2, 2).map(|_| ());
        let on = |bone| {
            let mut wires = Wires::new(vec![], 1.0).unwrap();
            wires.parent = Some(BoneIndex::new(bone));
            Layer::Wires(wires)
        };
        let at_rest = Err(StackError::ParentAtRest { layer: 1 });
        assert_eq!(hangs(vec![Layer::Rigid(weights()), on(1), Layer::Lbs(weights())]), at_rest);
        assert_eq!(hangs(vec![Layer::Lbs(weights()), on(1)]), Ok(()));
        assert_eq!(hangs(vec![on(1)]), Ok(()), "nothing poses the points: they may be posed already");
        let bones = |bone, bones| Err(StackError::Bones { layer: 0, bone, bones });
        assert_eq!(made(on(5), 2, 2), bones(5, 2));
        assert_eq!(made(Layer::Rigid(weights()), 2, 1), bones(1, 1));
        assert_eq!(made(Layer::Lattice(lattice(Some(BoneIndex::new(7)))), 2, 2), bones(7, 2));
        let pivots = StackError::Pivots { layer: 0, found: 2, bones: 3 };
        assert_eq!(made(Layer::Dqs(weights(), DualQuaternions::at_origin(2)), 2, 3), Err(pivots));
    }
}
