//! The layer of a joint model by closed form: one hinge, one vertex.

use dermis_deform::guard::Weld;
use dermis_deform::joints::{CorrectionFrame, Joint, JointPose, Joints, joint_feature};
use dermis_deform::pose_space::{self, Carrier, CompiledShapes, JointPart, Kernel, Window, coordinate};
use dermis_deform::{Base, Deformer, JointKernel, Scratch};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Rows};

const REST: DVec3 = DVec3::new(0.5, 0.2, -0.1);
const U: DVec3 = DVec3::new(0.3, -0.2, 0.5);
const E: DVec3 = DVec3::new(0.0, 0.07, 0.02);

fn bent(degrees: f64) -> BoneTransforms {
    BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_z(degrees.to_radians())])
}

fn chord(degrees: f64) -> f64 {
    2.0 * (degrees.to_radians() / 2.0).sin()
}

/// A hinge with one inducing rotation at 60° and a sculpt at each of some angles, which all moved the vertex.
fn model(sculpts: &[f64], radius: f64) -> Joints {
    let (from, to) = (BoneIndex::new(0), BoneIndex::new(1));
    let inducing = joint_feature(bent(60.0).as_slice(), (from, to), Some(DVec3::ZERO), 1.0);
    let joint =
        Joint::new((from, to), Some(DVec3::ZERO), f64::INFINITY, vec![inducing], JointKernel::gaussian(1.4)).unwrap();
    let mut made =
        Joints::empty(1.0, JointKernel::gaussian(1.4), CorrectionFrame::Anchor, vec![joint], Weld::default());
    made.weights = Influences::from_rows([vec![(to, 1.0)]]).unwrap();
    made.terms.push([0]).unwrap();
    made.coefficients.push([U.x, U.y, U.z]).unwrap();
    made.shared.push([]).unwrap();
    made.radii = vec![radius];
    let joint =
        pose_space::Joint { parent: from, bone: to, limit: f64::INFINITY, axis: DVec3::Z, part: JointPart::Whole };
    let examples = sculpts.iter().map(|&a| coordinate(&DAffine3::IDENTITY, &bent(a)[to])).collect();
    let mut kernel = Kernel::new(1.0, Weld::default(), vec![joint], examples);
    let mut regions = vec![0];
    for s in 0..sculpts.len() as u32 {
        kernel.push(&[(0, 1.0)], &[s]).unwrap();
        regions.push(s + 1);
    }
    let at = |degrees: f64| 1.0 - (-2.0 * chord(degrees).powi(2)).exp();
    made.layer = Some(CompiledShapes {
        kernel,
        regions,
        coefficients: sculpts.iter().map(|&a| 1.0 / at(a)).collect(),
        carrier: Carrier::World,
        terms: Rows::by_row(1, (0..sculpts.len() as u32).map(|shape| (0, shape)).collect()),
        displacements: vec![E; sculpts.len()],
        radii: vec![],
        names: sculpts.iter().map(|a| format!("at {a}")).collect(),
        clamp: Some([0.0, 1.0]),
        windows: sculpts.iter().map(|a| Window { centre: 0, relevance: vec![chord(*a).powi(-2)] }).collect(),
    });
    made
}

/// 1 − smoothstep from `start` over a quarter.
fn closes(r: f64, start: f64) -> f64 {
    let t = ((r - start) / 0.25).clamp(0.0, 1.0);
    1.0 - t * t * (3.0 - 2.0 * t)
}

/// The model written a second time, from angles.
fn written(sculpts: &[f64], radius: f64, angle: f64) -> DVec3 {
    let g = |a: f64, b: f64| (-chord(a - b).powi(2) / 1.96).exp();
    let k = |a: f64, b: f64| 0.98 * (g(a, b) - g(a, 0.0) - g(0.0, b) + 1.0);
    let z = k(angle, 60.0) / k(60.0, 60.0).sqrt();
    let phi = |a: f64| (-chord(a).powi(2)).exp();
    let (mut none, mut layer, mut sum) = (1.0, DVec3::ZERO, 0.0);
    for &s in sculpts {
        let r = (chord(angle - s) / chord(s)).abs();
        none *= 1.0 - closes(r, 1.0);
        let w = (phi(angle - s) - phi(angle) * phi(s)) / (1.0 - phi(s).powi(2));
        let w = w.clamp(0.0, 1.0) * closes(r, 0.75);
        (layer, sum) = (layer + E * w, sum + w);
    }
    let layer = layer / f64::max(sum, 1.0);
    let delta = bent(angle)[BoneIndex::new(1)].matrix3 * (U * z * (1.0 - none) + layer);
    if delta.length() > radius { delta * (radius / delta.length()) } else { delta }
}

#[test]
fn gate_layer_and_ball_are_those_of_the_equations() {
    for (sculpts, radius) in [(&[90.0][..], 10.0), (&[40.0, 110.0], 10.0), (&[90.0, 45.0], 0.2)] {
        let model = model(sculpts, radius);
        let (mut held, mut pose) = (0, JointPose::default());
        for step in -170..=170 {
            let angle = f64::from(step);
            pose.prepare(&model, &bent(angle));
            let (found, acted) = model.at(0, REST, &pose);
            let off = found.distance(written(sculpts, radius, angle));
            assert!(off < 1e-12, "{sculpts:?} at {angle}: {off}");
            assert!(found.length() <= radius * (1.0 + 1e-12));
            held += usize::from(acted);
        }
        assert_eq!(held > 0, radius < 1.0);
    }
}

/// Farther from every sculpt than the bind pose is, by a quarter: nothing, to the last bit.
#[test]
fn the_other_side_of_the_bind_pose_keeps_its_base() {
    let (sculpts, mut pose) = ([90.0, 60.0], JointPose::default());
    let model = model(&sculpts, 10.0);
    for step in -180..=180 {
        let angle = f64::from(step);
        let far = sculpts.iter().all(|&s| chord(angle - s).abs() >= 1.25 * chord(s) + 1e-9);
        pose.prepare(&model, &bent(angle));
        let found = model.at(0, REST, &pose).0;
        assert_eq!(found == DVec3::ZERO, far || step == 0, "{angle}: {found}");
    }
    pose.prepare(&model, &bent(-45.0));
    assert_eq!(model.at(0, REST, &pose).0, DVec3::ZERO);
}

#[test]
fn a_vertex_that_no_sculpt_moved_has_its_free_part_everywhere() {
    let mut without = model(&[90.0], 10.0);
    without.layer = None;
    let mut untouched = model(&[90.0], 10.0);
    if let Some(layer) = &mut untouched.layer {
        (layer.terms, layer.displacements) = (Rows::by_row(1, vec![]), vec![]);
    }
    let mut poses = [JointPose::default(), JointPose::default()];
    for step in -18..=18 {
        let angle = bent(10.0 * f64::from(step));
        poses[0].prepare(&without, &angle);
        poses[1].prepare(&untouched, &angle);
        assert_eq!(without.at(0, REST, &poses[0]), untouched.at(0, REST, &poses[1]));
    }
}

/// A layer whose shapes lack windows has no gate, and is refused.
#[test]
fn a_layer_without_windows_is_refused() {
    let base = Base::Lbs(Influences::from_rows([vec![(BoneIndex::new(1), 1.0)]]).unwrap());
    let whole = model(&[90.0], 10.0);
    let mut broken = whole.clone();
    broken.layer.iter_mut().for_each(|layer| layer.windows.clear());
    assert!(Deformer::new(vec![REST], base.clone(), Some(broken.into())).is_err());
    let mut skin = [Vec3::NAN];
    let baked = Deformer::new(vec![REST], base, Some(whole.into())).unwrap().bake();
    baked.evaluate(&bent(70.0), None, &mut Scratch::default(), &mut skin).unwrap();
    let expected = bent(70.0)[BoneIndex::new(1)].transform_point3(REST) + written(&[90.0], 10.0, 70.0);
    assert!(skin[0].as_dvec3().distance(expected) < 1e-6);
}
