//! Bases of every kind.

use crate::{Random, Tree};
use dermis_deform::rotational_regression::{RotationalRegression, TurnParts, TurnTerm, TurningJoint};
use dermis_deform::{AnimationSpace, Base, DualQuaternions};
use dermis_rig::BoneIndex;
use dermis_rig::glam::DMat3;

/// Bases of every kind, by name.
pub fn bases(tree: &Tree, random: &mut Random) -> Vec<(&'static str, Base)> {
    let weights = tree.weights();
    vec![
        ("rigid", Base::Rigid(weights.clone())),
        ("lbs", Base::Lbs(weights.clone())),
        ("dqs", Base::Dqs(weights.clone(), DualQuaternions::new(tree.rig.skeleton()))),
        ("animation space", Base::AnimationSpace(animation_space(tree, random))),
        ("rotational regression", Base::RotationalRegression(Box::new(rotational_regression(tree, random)))),
        ("rest", Base::Rest),
        ("given", Base::Given),
    ]
}

/// Coefficients near those of linear blending, their weights summing to one.
fn animation_space(tree: &Tree, random: &mut Random) -> AnimationSpace {
    let (mut offsets, mut terms) = (vec![0], Vec::new());
    for (p, row) in tree.rig.mesh().positions.iter().zip(tree.weights().rows()) {
        terms.extend(row.iter().map(|&(bone, w)| (bone, (*p * w + random.direction() * 0.05).extend(w))));
        offsets.push(terms.len() as u32);
    }
    AnimationSpace { offsets, terms }
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
    let mut parts = TurnParts { offsets: vec![0], ..TurnParts::default() };
    for to in skeleton.bones() {
        let Some(from) = skeleton.parents()[to] else { continue };
        let limit = random.between(0.5, 2.0) as f32;
        let seen = (0..2).map(|_| (random.direction() * 2.0).as_vec3().to_array()).collect();
        parts.joints.push(TurningJoint { from, to, limit, seen });
    }
    for face in &triangles {
        parts.bones.push(bone(face[0]));
        for _ in 0..random.below(4) {
            let turn = DMat3::from_quat(random.rotation(3.0)) * random.between(0.0, 0.5);
            parts.terms.push(TurnTerm {
                joint: random.below(parts.joints.len()) as u32,
                turn: turn.to_cols_array().map(|x| x as f32),
                stretch: [0; 18].map(|_| 0.03 * random.normal() as f32),
            });
        }
        parts.offsets.push(parts.terms.len() as u32);
    }
    parts.anchors = (0..positions.len() as u32).step_by(5).map(|v| (v, bone(v))).collect();
    RotationalRegression::new(positions, &triangles, tree.weights().clone(), parts).expect("every part is held")
}
