//! Pose spaces, compiled and not.

use super::{FEW, limit, radii, weld};
use crate::{Random, Tree, tree};
use dermis_deform::PoseSpace;
use dermis_deform::pose_space::{
    Carrier, Channel, CompiledShapes, Coordinates, Family, Joint, JointPart, Kernel, NO_GROUP, Remainders, Window,
    unlimited,
};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Rows};

/// The numeric channel that pose spaces read.
pub const FLEX: &str = "flex";

/// Two groups over all joints and over half of them with a channel: kernels of two examples and of one, and the coordinates.
/// Family and coordinates go with the carrier, so that all of them occur.
fn kernel(tree: &Tree, carrier: &Carrier, guarded: bool, random: &mut Random) -> Kernel {
    let skeleton = tree.rig.skeleton();
    let (family, coordinates) = match carrier {
        Carrier::Base => (Family::Gaussian, Coordinates::Chord),
        Carrier::Bones(_) => (Family::Wendland, Coordinates::SwingTwist { swing: 1.0, twist: 0.5 }),
        Carrier::World => (Family::Polyharmonic, Coordinates::Euler),
    };
    // Where coordinates have parts some joints read the swing alone, some the twist, some both.
    let part = |bone: BoneIndex| match (coordinates, bone.get() % 3) {
        (Coordinates::SwingTwist { .. }, 1) => JointPart::Swing,
        (Coordinates::SwingTwist { .. }, 2) => JointPart::Twist,
        _ => JointPart::Whole,
    };
    let joints: Vec<_> = skeleton
        .bones()
        .filter_map(|bone| Some((skeleton.parents()[bone]?, bone)))
        .map(|(parent, bone)| Joint {
            parent,
            bone,
            limit: limit(guarded, random),
            axis: random.direction(),
            part: part(bone),
        })
        .collect();
    let channels = vec![Channel { name: FLEX.into(), scale: 0.5, limit: limit(guarded, random) }];
    let mut examples = Vec::new();
    for _ in 0..3 {
        let pose = tree::wild(skeleton, random, 2.0);
        examples.extend(joints.iter().map(|joint| unlimited(coordinates, pose.as_slice(), joint)));
        examples.push([random.unit(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
    let width = joints.len() as u32 + 1;
    let all: Vec<(u32, f64)> = (0..width).map(|j| (j, 1.0 / (1.0 + f64::from(j)))).collect();
    let sigma = if family == Family::Wendland { 5.0 } else { 2.0 };
    let mut kernel = Kernel::new(sigma, weld(tree, guarded), joints, examples);
    (kernel.coordinates, kernel.family, kernel.linear, kernel.channels) = (coordinates, family, true, channels);
    kernel.push(&all, &[0, 2]).expect(FEW);
    kernel.push(&all[all.len() / 2..], &[1]).expect(FEW);
    kernel
}

/// Displacements of `count` numbers.
fn displacements(count: usize, random: &mut Random) -> impl Iterator<Item = DVec3> {
    (0..count).map(|_| random.direction() * 0.02)
}

/// An uncompiled pose space: vertices of two groups and of none, some with what the base cannot produce.
pub fn pose_space(tree: &Tree, carrier: Carrier, guarded: bool, random: &mut Random) -> PoseSpace {
    let kernel = kernel(tree, &carrier, guarded, random);
    let (mut groups, mut weights, mut remainders) = (vec![], Rows::default(), Remainders::default());
    for v in 0..tree.rig.mesh().positions.len() {
        let group = [0, 1, NO_GROUP][random.below(3)];
        groups.push(group);
        let mut of_vertex = Vec::new();
        if group != NO_GROUP {
            let count = kernel.range(group as usize).len();
            of_vertex.extend(displacements(count, random));
            if v % 7 == 3 {
                remainders.vertices.push(v as u32);
                remainders.bones.push(BoneIndex::new(random.below(tree.rig.skeleton().len())));
                remainders.weights.push(displacements(count, random)).expect(FEW);
            }
        }
        weights.push(of_vertex).expect(FEW);
    }
    PoseSpace { kernel, carrier, groups, weights, remainders, radii: radii(tree, guarded, random) }
}

/// A joint model's layer: shapes with windows on vertices that have influences.
pub fn layer(tree: &Tree, random: &mut Random) -> CompiledShapes {
    let mut made = shapes(tree, Carrier::Base, true, random);
    made.carrier = Carrier::World;
    made.radii.clear();
    let (mut terms, mut displacements) = (Rows::default(), vec![]);
    for (v, row) in tree.weights().rows().enumerate() {
        let own = if row.is_empty() { 0..0 } else { made.terms.range(v) };
        terms.push(made.terms.entries()[own.clone()].iter().copied()).expect(FEW);
        displacements.extend_from_slice(&made.displacements[own]);
    }
    (made.terms, made.displacements) = (terms, displacements);
    made
}

/// Shapes of two regions.
pub fn shapes(tree: &Tree, carrier: Carrier, guarded: bool, random: &mut Random) -> CompiledShapes {
    let kernel = kernel(tree, &carrier, guarded, random);
    let regions = vec![0, 4, 7];
    // Half of the models have windows, about the last centre of each region, that close within the poses they are tried on.
    let window = |l: usize| {
        let g = usize::from(l >= 4);
        let relevance = (0..kernel.relevance_of(g).len()).map(|j| 0.05 / (1.0 + j as f64)).collect();
        Window { centre: kernel.centres(g).len() as u32 - 1, relevance }
    };
    let windows = if guarded { (0..7).map(window).collect() } else { vec![] };
    let values = |g: usize| kernel.range(g).len();
    let count = 4 * values(0) + 3 * values(1);
    let (mut terms, mut displacements) = (Rows::default(), vec![]);
    for _ in &tree.rig.mesh().positions {
        let mut of_vertex = Vec::new();
        for _ in 0..random.below(6) {
            of_vertex.push(random.below(7) as u32);
            displacements.push(random.direction() * 0.05);
        }
        terms.push(of_vertex).expect(FEW);
    }
    CompiledShapes {
        kernel,
        regions,
        coefficients: (0..count).map(|_| 0.3 * random.normal()).collect(),
        carrier,
        terms,
        displacements,
        radii: radii(tree, guarded, random),
        names: vec![],
        // Half of the models hold their weights, the other half leave them free.
        clamp: guarded.then_some([0.0, 0.4]),
        windows,
    }
}
