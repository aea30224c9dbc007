//! Random models of every kind, for the tests of what runs.

#![allow(dead_code)] // Every test program uses its share.

use dermis_deform::enveloping::{Pair, Rows};
use dermis_deform::guard::Weld;
use dermis_deform::joints::{Frame, Joint, Joints, SharedTerm, joint_feature};
use dermis_deform::{AnimationSpace, Base, Correction, DualQuaternions, Enveloping};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms};
use dermis_testkit::{Random, Tree, tree};

/// Bases of every kind over a random rig, by name.
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
        ("given", Base::Given),
    ]
}

/// A random correction with every part a fit can give it: anchors and none, limits, welded joints, constants, balls.
pub fn correction(tree: &Tree, rows: Rows, guarded: bool, random: &mut Random) -> Enveloping {
    let (bones, vertices) = (tree.rig.skeleton.len(), tree.rig.mesh.positions.len());
    let mut made = Enveloping {
        rows,
        length: tree.rig.mesh.diagonal(),
        weld: Weld::default(),
        pairs: Vec::new(),
        anchors: Vec::new(),
        offsets: vec![0],
        terms: Vec::new(),
        coefficients: Vec::new(),
        constants: Vec::new(),
        radii: Vec::new(),
    };
    if guarded {
        made.weld = Weld::along(&tree.rig.skeleton, &(0..bones).map(|b| b == bones / 2).collect::<Vec<_>>());
    }
    for anchor in (0..bones).map(|b| Some(BoneIndex::new(b))).chain([None]) {
        for bone in tree.rig.skeleton.bones() {
            let limit = if guarded { random.between(0.5, 2.0) } else { f64::INFINITY };
            made.pairs.push(Pair { anchor, bone, limit });
        }
    }
    for _ in 0..vertices {
        let anchor = random.below(bones + 1);
        made.anchors.push((anchor < bones).then(|| BoneIndex::new(anchor)));
        for _ in 0..random.below(4) {
            made.terms.push((anchor * bones + random.below(bones)) as u32);
            made.coefficients.extend((0..rows.coefficients()).map(|_| 0.02 * random.normal()));
        }
        made.offsets.push(made.terms.len() as u32);
        made.constants.push(random.direction() * 0.01);
        if guarded {
            made.radii.push(random.between(0.0, 0.1));
        }
    }
    made
}

pub const FRAMES: [Frame; 3] = [Frame::Anchor, Frame::Rest, Frame::Blend];

/// A random joint model with every part a fit can give it: joints of one to eight inducing rotations, a shared part, and
/// with the guard a welded joint, limits of both parts and balls.
pub fn joint_model(tree: &Tree, frame: Frame, guarded: bool, random: &mut Random) -> Joints {
    let (skeleton, length, sigma) = (&tree.rig.skeleton, tree.rig.mesh.diagonal(), 1.4);
    let limit = |random: &mut Random, low, high| if guarded { random.between(low, high) } else { f64::INFINITY };
    let mut joints = Vec::new();
    for bone in skeleton.bones() {
        let Some(parent) = skeleton.parents()[bone] else { continue };
        let centre = skeleton.bind()[bone].translation / length + random.direction() * 0.02;
        let inducing = (0..=joints.len() % 8).map(|_| {
            let pose = tree::wild(skeleton, random, 2.0);
            joint_feature(pose.as_slice(), (parent, bone), centre, length)
        });
        let inducing = inducing.collect();
        let limit = limit(random, 0.5, 2.0);
        joints.push(Joint::new((parent, bone), centre, limit, inducing, sigma).expect("random rotations are apart"));
    }
    let bones = skeleton.len();
    let frozen: Vec<bool> = (0..bones).map(|b| guarded && b == bones / 2).collect();
    let mut made = Joints {
        length,
        sigma,
        frame,
        joints,
        weld: Weld::along(skeleton, &frozen),
        weights: tree.weights().clone(),
        offsets: vec![0],
        terms: vec![],
        starts: vec![0],
        coefficients: vec![],
        shared_offsets: vec![0],
        shared: vec![],
        shared_limits: vec![],
        radii: vec![],
    };
    for v in 0..tree.weights().vertices() {
        // A vertex without influences has no frame, and no fit gives it a correction.
        let share = usize::from(!tree.weights().of(v).is_empty());
        for _ in 0..random.below(4) * share {
            let joint = random.below(made.joints.len());
            made.terms.push(joint as u32);
            let count = 3 * made.joints[joint].inducing.len();
            made.coefficients.extend((0..count).map(|_| 0.02 * random.normal()));
        }
        for _ in 0..random.below(5) * share {
            made.shared.push(SharedTerm {
                bone: BoneIndex::new(random.below(bones)),
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
            made.radii.push(random.between(0.0, 0.1));
        }
    }
    made
}

/// Corrections of every kind, by name, with and without the guard.
pub fn corrections(tree: &Tree, random: &mut Random) -> Vec<(String, Correction)> {
    let mut made = Vec::new();
    for guarded in [true, false] {
        for rows in [Rows::Row, Rows::Full] {
            let correction = correction(tree, rows, guarded, random);
            made.push((format!("{rows:?}, guard {guarded}"), correction.into()));
        }
        for frame in FRAMES {
            let correction = joint_model(tree, frame, guarded, random);
            made.push((format!("joints in {frame:?}, guard {guarded}"), correction.into()));
        }
    }
    made
}

/// Anchors every vertex that has none to the root: features of the world see the motion of the character.
pub fn anchored(correction: &mut Correction) {
    if let Correction::Enveloping(correction) = correction {
        let root = BoneIndex::new(0);
        correction.anchors.iter_mut().for_each(|a| *a = Some(a.unwrap_or(root)));
        correction.pairs.iter_mut().for_each(|p| p.anchor = Some(p.anchor.unwrap_or(root)));
    }
}

/// Rigid poses, then poses with bones that stretch along axes of their own.
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

/// Half an ulp of the largest coordinate, rounded up.
pub fn rounding(points: &[DVec3]) -> f64 {
    points.iter().flat_map(|p| p.to_array()).fold(0.0f64, |most, x| most.max(x.abs())) * 2f64.powi(-24)
}
