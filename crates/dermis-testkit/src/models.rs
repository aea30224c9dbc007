//! Random models of every kind over a random rig, with every part that a fit can give them.

use crate::{Random, Tree, tree};
use dermis_deform::enveloping::{Pair, Rows};
use dermis_deform::guard::Weld;
use dermis_deform::joints::{Frame, Joint, Joints, SharedTerm, joint_feature};
use dermis_deform::pose_space::{self, Carrier, Coordinates, Kernel, Shapes};
use dermis_deform::{AnimationSpace, Base, Correction, DualQuaternions, Enveloping, PoseSpace};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms};

/// Bases of every kind but rotational regression, by name.
pub fn bases(tree: &Tree, random: &mut Random) -> Vec<(&'static str, Base)> {
    let weights = tree.weights();
    let (mut offsets, mut terms) = (vec![0], Vec::new());
    for (v, row) in weights.rows().enumerate() {
        // Near the weights, and summing to one.
        let place = |w: f64, random: &mut Random| tree.rig.mesh.positions[v] * w + random.direction() * 0.05;
        terms.extend(row.iter().map(|&(bone, w)| (bone, place(w, random).extend(w))));
        offsets.push(terms.len() as u32);
    }
    vec![
        ("rigid", Base::Rigid(weights.clone())),
        ("lbs", Base::Lbs(weights.clone())),
        ("dqs", Base::Dqs(weights.clone(), DualQuaternions::new(&tree.rig.skeleton))),
        ("animation space", Base::AnimationSpace(AnimationSpace { offsets, terms })),
        ("rest", Base::Rest),
        ("given", Base::Given),
    ]
}

/// Corrections of every kind but uncompiled pose spaces, by name, with and without the guard.
pub fn corrections(tree: &Tree, random: &mut Random) -> Vec<(String, Correction)> {
    let mut made = Vec::new();
    for guarded in [true, false] {
        for rows in [Rows::Row, Rows::Full] {
            made.push((format!("{rows:?}, guard {guarded}"), enveloping(tree, rows, guarded, random).into()));
        }
        for frame in [Frame::Anchor, Frame::Rest, Frame::Blend] {
            made.push((format!("joints in {frame:?}, guard {guarded}"), joints(tree, frame, guarded, random).into()));
        }
        let bone = |random: &mut Random| BoneIndex::new(random.below(tree.rig.skeleton.len()));
        let bones = tree.rig.mesh.positions.iter().map(|_| bone(random)).collect();
        for (name, carrier) in [("base", Carrier::Base), ("bones", Carrier::Bones(bones)), ("world", Carrier::World)] {
            made.push((format!("shapes by {name}, guard {guarded}"), shapes(tree, carrier, guarded, random).into()));
        }
    }
    made
}

/// The weld of a skeleton whose middle joint is frozen, where the guard is on.
fn weld(tree: &Tree, guarded: bool) -> Weld {
    let bones = tree.rig.skeleton.len();
    match guarded {
        true => Weld::along(&tree.rig.skeleton, &(0..bones).map(|b| b == bones / 2).collect::<Vec<_>>()),
        false => Weld::default(),
    }
}

/// L: the rest diagonal, where there is one.
fn length(tree: &Tree) -> f64 {
    Some(tree.rig.mesh.diagonal()).filter(|&d| d > 0.0).unwrap_or(1.0)
}

fn limit(guarded: bool, random: &mut Random) -> f64 {
    if guarded { random.between(0.5, 2.0) } else { f64::INFINITY }
}

/// Radii of the guard, some of them zero.
fn radii(tree: &Tree, guarded: bool, random: &mut Random) -> Vec<f64> {
    let count = if guarded { tree.rig.mesh.positions.len() } else { 0 };
    (0..count).map(|v| if v % 10 == 9 { 0.0 } else { random.between(0.0, 0.1) }).collect()
}

/// Multi-weight enveloping with anchors and without, limits, welded joints, constants, balls.
pub fn enveloping(tree: &Tree, rows: Rows, guarded: bool, random: &mut Random) -> Enveloping {
    let bones = tree.rig.skeleton.len();
    let mut made = Enveloping { weld: weld(tree, guarded), ..Enveloping::empty(rows, length(tree)) };
    made.offsets = vec![0];
    for anchor in (0..bones).map(|b| Some(BoneIndex::new(b))).chain([None]) {
        for bone in tree.rig.skeleton.bones() {
            made.pairs.push(Pair { anchor, bone, limit: limit(guarded, random) });
        }
    }
    for _ in &tree.rig.mesh.positions {
        let anchor = random.below(bones + 1);
        made.anchors.push((anchor < bones).then(|| BoneIndex::new(anchor)));
        for _ in 0..random.below(4) {
            made.terms.push((anchor * bones + random.below(bones)) as u32);
            made.coefficients.extend((0..rows.coefficients()).map(|_| 0.02 * random.normal()));
        }
        made.offsets.push(made.terms.len() as u32);
        made.constants.push(random.direction() * 0.01);
    }
    made.radii = radii(tree, guarded, random);
    made
}

/// A joint model: joints of one to eight inducing rotations, a shared part, and with the guard a welded joint, limits of both
/// parts and balls.
pub fn joints(tree: &Tree, frame: Frame, guarded: bool, random: &mut Random) -> Joints {
    let (skeleton, length, sigma) = (&tree.rig.skeleton, length(tree), 1.4);
    let mut joints = Vec::new();
    for bone in skeleton.bones() {
        let Some(parent) = skeleton.parents()[bone] else { continue };
        let centre = skeleton.bind()[bone].translation / length + random.direction() * 0.02;
        let inducing = (0..=joints.len() % 8).map(|_| {
            let pose = tree::wild(skeleton, random, 2.0);
            joint_feature(pose.as_slice(), (parent, bone), centre, length)
        });
        let inducing = inducing.collect();
        let limit = limit(guarded, random);
        joints.push(Joint::new((parent, bone), centre, limit, inducing, sigma).expect("random rotations are apart"));
    }
    let mut made = Joints::empty(length, sigma, frame, joints, weld(tree, guarded));
    made.weights = tree.weights().clone();
    for _ in &tree.rig.mesh.positions {
        for _ in 0..random.below(4) {
            let joint = random.below(made.joints.len());
            made.terms.push(joint as u32);
            let count = 3 * made.joints[joint].inducing.len();
            made.coefficients.extend((0..count).map(|_| 0.02 * random.normal()));
        }
        for _ in 0..random.below(5) {
            made.shared.push(SharedTerm {
                bone: BoneIndex::new(random.below(skeleton.len())),
                relevance: random.between(0.1, 1.0),
                offset: random.direction() * 0.02,
                weight: 0.02 * random.normal(),
            });
        }
        made.offsets.push(made.terms.len() as u32);
        made.starts.push(made.coefficients.len() as u32);
        made.shared_offsets.push(made.shared.len() as u32);
        if guarded {
            made.shared_limits.push(random.between(0.2, 8.0));
        }
    }
    made.radii = radii(tree, guarded, random);
    made
}

/// Shapes of two regions over all joints, driven by kernels of three examples and by the coordinates themselves.
pub fn shapes(tree: &Tree, carrier: Carrier, guarded: bool, random: &mut Random) -> Shapes {
    let skeleton = &tree.rig.skeleton;
    let joints: Vec<_> = skeleton
        .bones()
        .filter_map(|bone| Some((skeleton.parents()[bone]?, bone)))
        .map(|(parent, bone)| pose_space::Joint { parent, bone, limit: limit(guarded, random), axis: DVec3::X })
        .collect();
    let mut examples = Vec::new();
    for _ in 0..3 {
        let pose = tree::wild(skeleton, random, 2.0);
        examples.extend(joints.iter().map(|j| pose_space::unlimited(Coordinates::Chord, pose.as_slice(), j)));
    }
    let all: Vec<(u32, f64)> = (0..joints.len() as u32).map(|j| (j, 1.0 / (1.0 + f64::from(j)))).collect();
    let mut kernel = Kernel::new(2.0, weld(tree, guarded), joints, examples);
    kernel.linear = true;
    kernel.push(&all, &[0, 2]);
    kernel.push(&all[..all.len() / 2], &[1]);
    let regions = vec![0, 4, 7];
    let values = |g: usize| kernel.range(g).len();
    let count = 4 * values(0) + 3 * values(1);
    let (mut offsets, mut terms, mut displacements) = (vec![0], vec![], vec![]);
    for _ in &tree.rig.mesh.positions {
        for _ in 0..random.below(6) {
            terms.push(random.below(7) as u32);
            displacements.push(random.direction() * 0.05);
        }
        offsets.push(terms.len() as u32);
    }
    Shapes {
        kernel,
        regions,
        coefficients: (0..count).map(|_| 0.3 * random.normal()).collect(),
        carrier,
        offsets,
        terms,
        displacements,
        radii: radii(tree, guarded, random),
    }
}

/// Anchors every vertex that has none to the root: features of the world see the motion of the character.
pub fn anchor(correction: &mut Correction) {
    if let Correction::Enveloping(correction) = correction {
        let root = BoneIndex::new(0);
        correction.anchors.iter_mut().for_each(|a| *a = Some(a.unwrap_or(root)));
        correction.pairs.iter_mut().for_each(|p| p.anchor = Some(p.anchor.unwrap_or(root)));
    }
}

/// Rigid poses, then a pose whose bones stretch along axes of their own.
pub fn poses(tree: &Tree, random: &mut Random) -> Vec<BoneTransforms> {
    let stretch = |random: &mut Random| {
        let r = random.rotation(3.0);
        let scale = DVec3::from_array([0; 3].map(|_| random.between(0.6, 1.6)));
        DAffine3::from_mat3(DMat3::from_quat(r) * DMat3::from_diagonal(scale) * DMat3::from_quat(r.inverse()))
    };
    let mut made: Vec<_> = (0..3).map(|_| tree::wild(&tree.rig.skeleton, random, 2.0)).collect();
    made.push(tree::jointed(&tree.rig.skeleton, |_| DAffine3::from_quat(random.rotation(1.0)) * stretch(random)));
    made
}

/// An uncompiled pose space that moves nothing.
pub fn pose_space(tree: &Tree, random: &mut Random) -> PoseSpace {
    let Shapes { kernel, carrier, .. } = shapes(tree, Carrier::World, false, random);
    let vertices = tree.rig.mesh.positions.len();
    PoseSpace {
        kernel,
        carrier,
        groups: vec![pose_space::NO_GROUP; vertices],
        offsets: vec![0; vertices + 1],
        weights: vec![],
        remainders: Default::default(),
        radii: vec![],
    }
}
