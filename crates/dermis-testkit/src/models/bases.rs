//! Bases of every kind.

use super::FEW;
use crate::{Random, Tree};
use dermis_deform::rotational_regression::{RotationalRegression, TurnParts, TurnTerm, TurningJoint};
use dermis_deform::{
    AnimationSpace, Base, CorrectiveSmooth, DirectDeltaMush, DualQuaternions, Lattice, Layer, Outside, Stack,
    StackPose, Wire, Wires,
};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneIndex, Mesh, Rows};

/// Bases of every kind, by name.
pub fn bases(tree: &Tree, random: &mut Random) -> Vec<(&'static str, Base)> {
    let weights = tree.weights();
    vec![
        ("rigid", Base::Rigid(weights.clone())),
        ("lbs", Base::Lbs(weights.clone())),
        ("dqs", Base::Dqs(weights.clone(), DualQuaternions::new(tree.rig.skeleton()))),
        ("direct delta mush", Base::DirectDeltaMush(delta_mush(tree))),
        ("corrective smoothing", Base::CorrectiveSmooth(corrective_smooth(tree))),
        ("animation space", Base::AnimationSpace(animation_space(tree, random))),
        ("rotational regression", Base::RotationalRegression(Box::new(rotational_regression(tree, random)))),
        ("a stack", Base::Stack(Box::new(stack(tree, random)), StackPose::default())),
        ("rest", Base::Rest),
        ("given", Base::Given),
    ]
}

/// A wire and a lattice at rest, dual quaternions, and a lattice and a wire that hang on bones. Wires are straight and lattices act
/// on all of space, so that rounding of a point moves the result no farther than the point.
pub fn stack(tree: &Tree, random: &mut Random) -> Stack {
    let (vertices, bones) = (tree.rig.mesh().positions.len(), tree.rig.skeleton().len());
    let mut lattice = |parent| {
        let moves = (0..27).map(|_| random.direction() * 0.05).collect();
        let edges = DVec3::AXES.map(|axis| axis * 2.0);
        let mut lattice = Lattice::new(DVec3::splat(-1.0), edges, [3; 3], moves).expect("the box has an inside");
        (lattice.outside, lattice.parent) = (Outside::Clamped, parent);
        lattice
    };
    let wires = |parent| {
        let ends = vec![DVec3::new(-1.0, 0.1, 0.0), DVec3::new(1.0, -0.1, 0.2)];
        let moved = ends.iter().map(|p| *p + DVec3::new(0.0, 0.05, -0.03) * (1.0 + p.x)).collect();
        let wire = Wire::new(ends, moved, 0.8, 1.1).expect("the wire has a direction");
        let mut wires = Wires::new(vec![wire], 1.0).expect("the exponent is one");
        wires.parent = parent;
        wires
    };
    let (first, last) = (Some(BoneIndex::new(0)), Some(BoneIndex::new(bones - 1)));
    let layers = vec![
        Layer::Wires(wires(None)),
        Layer::Lattice(lattice(None)),
        Layer::Dqs(tree.weights().clone(), DualQuaternions::new(tree.rig.skeleton())),
        Layer::Lattice(lattice(last)),
        Layer::Wires(wires(first)),
    ];
    Stack::new(layers, vertices, bones).expect("the layers are of one rig")
}

/// Of the faces of [`strip`], whose last vertices have no neighbours.
fn delta_mush(tree: &Tree) -> DirectDeltaMush {
    let positions = tree.rig.mesh().positions.clone();
    let mesh = Mesh { triangles: strip(positions.len().saturating_sub(3)), positions, ..Mesh::default() };
    DirectDeltaMush::new(&mesh, tree.weights(), 3)
}

/// Of the same faces.
fn corrective_smooth(tree: &Tree) -> CorrectiveSmooth {
    let positions = tree.rig.mesh().positions.clone();
    let mesh = Mesh { triangles: strip(positions.len().saturating_sub(3)), positions, ..Mesh::default() };
    CorrectiveSmooth::new(&mesh, tree.weights(), 2, 0.5)
}

/// Coefficients near those of linear blending, their weights summing to one.
fn animation_space(tree: &Tree, random: &mut Random) -> AnimationSpace {
    let mut terms = Rows::default();
    for (p, row) in tree.rig.mesh().positions.iter().zip(tree.weights().rows()) {
        let own = row.iter().map(|&(bone, w)| (bone, (*p * w + random.direction() * 0.05).extend(w)));
        terms.push(own).expect("a few terms");
    }
    AnimationSpace { terms }
}

/// Faces of consecutive vertices in two parts and more, and vertices without faces.
pub fn strip(vertices: usize) -> Vec<[u32; 3]> {
    (2..vertices as u32).map(|v| [v - 2, v - 1, v]).filter(|face| face.iter().all(|v| v % 29 != 28)).collect()
}

/// Triangles of the [`strip`] that follow up to three joints; every fifth vertex is held to a bone.
fn rotational_regression(tree: &Tree, random: &mut Random) -> RotationalRegression {
    let (skeleton, positions) = (tree.rig.skeleton(), &tree.rig.mesh().positions);
    let triangles = strip(positions.len());
    let bone = |v: u32| tree.weights().dominant(v as usize).unwrap_or(BoneIndex::new(0));
    let mut parts = TurnParts::default();
    for to in skeleton.bones() {
        let Some(from) = skeleton.parents()[to] else { continue };
        let limit = random.between(0.5, 2.0) as f32;
        let seen = (0..2).map(|_| (random.direction() * 2.0).as_vec3().to_array()).collect();
        parts.joints.push(TurningJoint { from, to, limit, seen });
    }
    for face in &triangles {
        parts.bones.push(bone(face[0]));
        let mut terms = Vec::new();
        for _ in 0..random.below(4) {
            let turn = DMat3::from_quat(random.rotation(3.0)) * random.between(0.0, 0.5);
            terms.push(TurnTerm {
                joint: random.below(parts.joints.len()) as u32,
                turn: turn.to_cols_array().map(|x| x as f32),
                stretch: [0; 18].map(|_| 0.03 * random.normal() as f32),
            });
        }
        parts.terms.push(terms).expect(FEW);
    }
    parts.anchors = (0..positions.len() as u32).step_by(5).map(|v| (v, bone(v))).collect();
    RotationalRegression::new(positions, &triangles, tree.weights().clone(), parts).expect("every part is held")
}
