//! The poses of scans: meshes of their own of a limb whose pose is known.

use dermis_deform::lbs;
use dermis_fit::register::{JointRanges, Pose, RegisterSettings, Registration, ScanSurface, register};
use dermis_fit::{HeatSettings, bone_segments, heat_weights, silent};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, rotation_vector};
use dermis_rig::{BoneTransforms, BoneVec, Influences, Rig};
use dermis_testkit::{Arm, ArmPose, Random, change_rig};

/// Mean radius of the arm, metres.
const RADIUS: f64 = 0.045;

/// An arm that is twice as wide as it is thick, so that a scan shows how it turns about its own length.
fn flat(rings: usize, sides: usize) -> Arm {
    let mut arm = Arm::new(rings, sides);
    change_rig(&mut arm.rig, |mesh, _, _| mesh.positions.iter_mut().for_each(|p| p.z *= 0.5));
    arm
}

fn skin(arm: &Arm, transforms: &BoneTransforms) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; arm.rig.mesh().positions.len()];
    lbs(&arm.rig.mesh().positions, arm.weights(), transforms, &mut out);
    out
}

fn scan(pose: &ArmPose, noise: f64, missing: f64, random: &mut Random) -> (ScanSurface, BoneTransforms) {
    let sides = 24 + random.below(12);
    let other = flat(2 * sides + random.below(9), sides);
    let transforms = other.transforms(pose);
    let mut positions = skin(&other, &transforms);
    positions.iter_mut().for_each(|p| *p += DVec3::new(random.normal(), random.normal(), random.normal()) * noise);
    let mut triangles = other.rig.mesh().triangles.clone();
    let whole = triangles.len() as f64;
    while (triangles.len() as f64) > (1.0 - missing) * whole {
        let centre = positions[triangles[random.below(triangles.len())][0] as usize];
        triangles.retain(|t| positions[t[0] as usize].distance(centre) > 0.04);
    }
    (ScanSurface { label: "scan".into(), positions, triangles, near: None }, transforms)
}

fn found(rig: &Rig, weights: &Influences, scans: &[ScanSurface]) -> Vec<Registration> {
    let moves = BoneVec::new(vec![true; rig.skeleton().len()]);
    let free = |_, q: DQuat| q;
    let ranges = JointRanges { moves, nearest: &free };
    register(rig.mesh(), rig.skeleton(), weights, &ranges, scans, &RegisterSettings::default(), &silent).unwrap()
}

/// The angles between the joints of two poses, degrees: the root's, then those of the others against their parents.
fn angles(rig: &Rig, a: &BoneTransforms, b: &BoneTransforms) -> Vec<f64> {
    let rotation = |m: &DAffine3| quat_from_matrix(&nearest_rotation(&m.matrix3));
    let own = |pose: &BoneTransforms, bone: dermis_rig::BoneIndex| match rig.skeleton().parents()[bone] {
        Some(parent) => rotation(&pose[parent]).conjugate() * rotation(&pose[bone]),
        None => rotation(&pose[bone]),
    };
    let apart = |bone| rotation_vector(own(a, bone).conjugate() * own(b, bone)).length().to_degrees();
    rig.skeleton().bones().map(apart).collect()
}

fn pose(registration: &Registration) -> &Pose {
    registration.found.as_ref().unwrap_or_else(|e| panic!("{}: {e}", registration.label))
}

#[test]
fn planted_angles_are_found_from_bone_heat() {
    let arm = flat(30, 14);
    let segments = bone_segments(arm.rig.skeleton(), |_| false);
    let heat = heat_weights(arm.rig.mesh(), &segments, &HeatSettings::default(), &silent).unwrap().0;
    let mut random = Random::new(5);
    let (scans, truth): (Vec<_>, Vec<_>) =
        ArmPose::some(12, 3).iter().map(|pose| scan(pose, 0.01 * RADIUS, 0.2, &mut random)).unzip();
    for (weights, name) in [(&heat, "heat"), (arm.weights(), "own")] {
        let start = std::time::Instant::now();
        let registered = found(&arm.rig, weights, &scans);
        eprintln!("{name} {:?}", start.elapsed());
        for (one, truth) in registered.iter().zip(&truth) {
            let pose = pose(one);
            eprintln!(
                "{:?} rms {:.5} scan {:.3} skin {:.3} {:.2?} {:?}",
                pose.began,
                pose.rms,
                pose.of_scan,
                pose.of_skin,
                angles(&arm.rig, &pose.transforms, truth),
                pose.vague
            );
        }
    }
}
