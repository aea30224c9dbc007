//! Random skeletons under random points with random weights: shapes that no one would draw, but every fit must take.

use crate::Random;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, Influences, Mesh, Rig, Skeleton};

/// A random rig.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Points (no triangles), skeleton, weights of up to three bones a vertex.
    pub rig: Rig,
}

impl Tree {
    /// `bones` bones, each a child of a random earlier one, and `vertices` points near them in a box about 1 m wide.
    pub fn new(bones: usize, vertices: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut point = || DVec3::from_array([0; 3].map(|_| random.between(-0.5, 0.5)));
        let bind: Vec<DAffine3> = (0..bones).map(|_| DAffine3::from_translation(point())).collect();
        let positions: Vec<DVec3> = (0..vertices).map(|_| point()).collect();
        let parents = (0..bones).map(|b| (b > 0).then(|| BoneIndex::new(random.below(b)))).collect();
        let names = (0..bones).map(|b| format!("bone {b}")).collect();
        let rows = (0..vertices).map(|_| {
            let picked = [0; 3].map(|_| (BoneIndex::new(random.below(bones)), random.between(0.05, 1.0)));
            let sum: f64 = picked.iter().map(|e| e.1).sum();
            picked.map(|(bone, w)| (bone, w / sum)).to_vec()
        });
        let weights = Influences::from_rows(rows).expect("weights are finite");
        let skeleton = Skeleton::new(names, parents, bind).expect("parents come first");
        let mesh = Mesh { positions, ..Mesh::default() };
        Self { rig: Rig::new(mesh, skeleton, Some(weights)).expect("its parts belong together").named("tree") }
    }

    /// The tree with up to twelve influences a vertex, and with vertices that have none.
    #[must_use]
    pub fn with_many_influences(self, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let bones = self.rig.skeleton().len();
        let rows = (0..self.rig.mesh().positions.len()).map(|v| {
            let mut order = random.order(bones);
            order.truncate((v % 14).min(12));
            order.sort();
            let picked: Vec<_> = order.into_iter().map(|b| (BoneIndex::new(b), random.between(0.05, 1.0))).collect();
            let sum: f64 = picked.iter().map(|e| e.1).sum();
            picked.into_iter().map(|(bone, w)| (bone, w / sum)).collect()
        });
        let weights = Influences::from_rows(rows).expect("weights are finite");
        Self { rig: self.rig.with_weights(Some(weights)).expect("as many vertices and bones as before") }
    }

    /// The skinning weights.
    pub fn weights(&self) -> &Influences {
        self.rig.weights().expect("the tree has weights")
    }

    /// `count` poses: the rest pose, then every joint turned about any axis by up to `most` radians.
    pub fn poses(&self, count: usize, most: f64, seed: u64) -> Vec<BoneTransforms> {
        let mut random = Random::new(seed);
        let bones = self.rig.skeleton().len();
        (0..count)
            .map(
                |s| if s == 0 { BoneTransforms::identity(bones) } else { wild(self.rig.skeleton(), &mut random, most) },
            )
            .collect()
    }
}

/// Every joint turned about its place at rest, any axis, by up to `most` radians; roots included.
pub fn wild(skeleton: &Skeleton, random: &mut Random, most: f64) -> BoneTransforms {
    jointed(skeleton, |_| DAffine3::from_quat(random.rotation(most)))
}

/// The pose in which every joint adds `turn(bone)` in the joint's own frame.
pub fn jointed(skeleton: &Skeleton, mut turn: impl FnMut(BoneIndex) -> DAffine3) -> BoneTransforms {
    let local = skeleton
        .bones()
        .map(|bone| {
            let above = skeleton.parents()[bone].map_or(DAffine3::IDENTITY, |p| skeleton.inverse_bind()[p]);
            above * skeleton.bind()[bone] * turn(bone)
        })
        .collect();
    skeleton.posed(BoneVec::new(local)).expect("a transform per bone").transforms().clone()
}
