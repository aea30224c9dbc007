//! Procedural rigs, planted models and distances for the tests of the other crates. Unpublished.
//!
//! - [`arm`]: a limb of four bones under a smooth skin that no linear model reproduces, with poses, exercises, a clip
//! - [`tree`]: random skeletons with random weights, for orders, permutations and stress
//! - [`planted`]: corrections that are linear in the anchored features, which a fit must find again
//! - [`models`]: random models of every kind over a random rig
//! - [`conformance`]: the suite that every way of evaluating models passes
//! - [`modifier`]: the modifier Corrective Smooth, step by step
//! - [`textured`]: a small glTF character with materials, images, cameras, lights and extras
//! - [`compressed`]: streams of Draco and meshopt by the encoders of others
//! - [`ogawa`], [`fbx`], [`fbx_binary`]: small files by a writer apart from that of the library
//! - [`scanner`]: scans of posed surfaces, with vertices of their own, noise and holes
//! - [`pages`]: whether a page runs nothing but its own scripts, and a page with a script of a test
//! - [`random`]: the generator; every function takes its seed, so that a failure can be repeated
//! - [`snapshot`]: texts stored beside the tests
//!
//! Nothing here shares code with what it tests: planted corrections and features are written out a second time.

pub mod arm;
pub mod bodies;
pub mod compressed;
pub mod conformance;
pub mod fbx;
pub mod fbx_binary;
pub mod fbx_cache;
pub mod models;
pub mod modifier;
pub mod ogawa;
pub mod pages;
pub mod planted;
pub mod random;
pub mod scanner;
pub mod snapshot;
pub mod textured;
pub mod tree;
pub mod usd;
pub mod vrm;

pub use arm::{Arm, ArmPose};
pub use modifier::SmoothingModifier;
pub use planted::Planted;
pub use random::Random;
pub use scanner::Scanner;
pub use tree::Tree;

use dermis_deform::Deformer;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneTransforms, Example, Influences, LocalSculpt, Mesh, Rig, Skeleton, WorldPose};

/// The largest distance between corresponding points; infinite if one is not finite.
///
/// # Panics
/// If the counts differ.
pub fn largest_distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len(), "two skins of different sizes");
    let distances = a.iter().zip(b).map(|(a, b)| a.distance(*b));
    distances.fold(0.0, |most, d| if d.is_finite() { most.max(d) } else { f64::INFINITY })
}

/// The root mean square distance of a model from examples.
///
/// # Panics
/// If the model cannot be posed as an example is.
pub fn rms_of(model: &mut Deformer, examples: &[Example]) -> f64 {
    let skin = |example: &Example| {
        let mut out = vec![DVec3::ZERO; model.rest().len()];
        model.evaluate(&example.transforms, None, &mut out).expect("an example of its rig");
        out
    };
    let skins: Vec<Vec<DVec3>> = examples.iter().map(skin).collect();
    let expected: Vec<Vec<DVec3>> = examples.iter().map(|example| example.positions.clone()).collect();
    rms(&skins, &expected)
}

/// The root mean square distance of corresponding points over several skins.
///
/// # Panics
/// If the counts differ, or there is no point.
pub fn rms(a: &[Vec<DVec3>], b: &[Vec<DVec3>]) -> f64 {
    assert_eq!(a.len(), b.len(), "different numbers of skins");
    let squares: Vec<f64> = a
        .iter()
        .zip(b)
        .flat_map(|(a, b)| {
            assert_eq!(a.len(), b.len(), "two skins of different sizes");
            a.iter().zip(b).map(|(a, b)| a.distance_squared(*b))
        })
        .collect();
    assert!(!squares.is_empty(), "no point to compare");
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

/// A rigid motion of the whole character: turned about an oblique axis and moved.
pub fn some_motion(angle: f64, shift: DVec3) -> DAffine3 {
    let axis = DVec3::new(0.4, -0.7, 0.59).normalize();
    DAffine3 {
        matrix3: dermis_rig::glam::DMat3::from_quat(dermis_rig::glam::DQuat::from_axis_angle(axis, angle)),
        translation: shift,
    }
}

/// The example with the whole character moved: G M_k and G x.
pub fn moved(example: &Example, g: DAffine3) -> Example {
    Example {
        transforms: example.transforms.moved(g),
        positions: example.positions.iter().map(|p| g.transform_point3(*p)).collect(),
        local: local(example, |p| g.transform_point3(p)),
        ..example.clone()
    }
}

/// What was sculpted of the example, with the shown skin taken along.
fn local(example: &Example, of: impl Fn(DVec3) -> DVec3) -> Option<LocalSculpt> {
    let taken = |local: LocalSculpt| LocalSculpt {
        shown: local.shown.map(|skin| skin.into_iter().map(&of).collect()),
        ..local
    };
    example.local.clone().map(taken)
}

/// The pose in other units, lengths times `factor`.
pub fn scaled_pose(pose: &BoneTransforms, factor: f64) -> BoneTransforms {
    let scaled = |m: &DAffine3| DAffine3 { matrix3: m.matrix3, translation: m.translation * factor };
    BoneTransforms::new(pose.iter().map(scaled).collect())
}

/// The example in other units, lengths times `factor`.
pub fn scaled(example: &Example, factor: f64) -> Example {
    Example {
        transforms: scaled_pose(&example.transforms, factor),
        positions: example.positions.iter().map(|p| *p * factor).collect(),
        local: local(example, |p| p * factor),
        ..example.clone()
    }
}

/// Examples whose positions carry normal noise of `deviation` in each coordinate. Poses stay exact.
pub fn noisy(examples: &[Example], deviation: f64, seed: u64) -> Vec<Example> {
    let mut random = Random::new(seed);
    let mut made = examples.to_vec();
    for p in made.iter_mut().flat_map(|e| &mut e.positions) {
        *p += DVec3::new(random.normal(), random.normal(), random.normal()) * deviation;
    }
    made
}

/// The pose with normal noise of deviation `size` in every matrix entry, translations times `length`: rounding as files
/// carry it.
pub fn rounded_pose(pose: &BoneTransforms, size: f64, length: f64, random: &mut Random) -> BoneTransforms {
    let mut noise = || DVec3::from_array([0; 3].map(|_| size * random.normal()));
    BoneTransforms::new(
        pose.iter()
            .map(|m| {
                let mut m = *m;
                m.matrix3.x_axis += noise();
                m.matrix3.y_axis += noise();
                m.matrix3.z_axis += noise();
                m.translation += noise() * length;
                m
            })
            .collect(),
    )
}

/// The pose as it comes back from joint-to-world matrices stored in `f32`.
pub fn stored_in_f32(skeleton: &Skeleton, pose: &BoneTransforms) -> BoneTransforms {
    let stored = skeleton.bones().map(|bone| (pose[bone] * skeleton.bind()[bone]).as_affine3().as_daffine3());
    skeleton.bone_transforms(&WorldPose::new(stored.collect()))
}

/// Changes a rig's mesh, skeleton and weights at once; its influence maps stay.
pub fn change_rig(rig: &mut Rig, change: impl FnOnce(&mut Mesh, &mut Skeleton, &mut Option<Influences>)) {
    let (mut mesh, mut skeleton, mut weights) = (rig.mesh().clone(), rig.skeleton().clone(), rig.weights().cloned());
    change(&mut mesh, &mut skeleton, &mut weights);
    let changed =
        Rig::new(mesh, skeleton, weights).and_then(|new| new.with_influence_maps(rig.influence_maps().cloned()));
    *rig = changed.expect("the changed parts belong together").named(rig.name());
}
