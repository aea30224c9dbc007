//! I have arrays, not files: how do I fit a model?
//!
//! A tube on two bones whose muscle swells as it bends, made of plain numbers, is learnt from ten angles and scored on angles
//! between them.
//!
//! `cargo run --release -p dermis --example fit_from_arrays`

use dermis::glam::{DQuat, DVec3};
use dermis::internals::rig::{BoneIndex, BoneTransforms, Influences, Mesh, Skeleton};
use dermis::{Examples, Method, Rig};

/// Vertices around the tube, and rings along it.
const SIDES: u32 = 12;
const RINGS: u32 = 25;

/// Prints the errors of the model and of linear blending.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rig = Rig::new(mesh(), skeleton()?, Some(weights()?))?;
    let examples = |angles: &[f64]| -> Result<Examples, Box<dyn std::error::Error>> {
        let poses = angles.iter().map(|angle| pose(&rig, *angle)).collect::<Result<Vec<_>, _>>()?;
        let skins = poses.iter().zip(angles).map(|(pose, angle)| skin(&rig, pose, *angle)).collect();
        Ok(Examples::new(&rig, poses, skins)?)
    };
    let training: Vec<f64> = (0..10).map(|at| f64::from(at) * 0.2).collect();
    let between: Vec<f64> = training.iter().map(|angle| angle + 0.1).take(9).collect();

    let fitted = dermis::fit(&rig, &examples(&training)?, &Method::mwe())?;
    let score = fitted.model().score(&examples(&between)?)?;
    let own = score.baseline.ok_or("the tube has weights")?;
    println!("{:.3} mm; linear blending {:.3} mm", 1e3 * score.error.rms, 1e3 * own.rms);
    assert!(score.error.rms < 0.1 * own.rms);
    Ok(())
}

fn mesh() -> Mesh {
    let point = |ring: u32, side: u32| {
        let turn = f64::from(side) / f64::from(SIDES) * std::f64::consts::TAU;
        DVec3::new(f64::from(ring) / f64::from(RINGS - 1), 0.1 * turn.cos(), 0.1 * turn.sin())
    };
    let positions = (0..RINGS).flat_map(|ring| (0..SIDES).map(move |side| point(ring, side))).collect();
    let quad = |ring: u32, side: u32| {
        let (a, b) = (ring * SIDES + side, ring * SIDES + (side + 1) % SIDES);
        [[a, a + SIDES, b], [b, a + SIDES, b + SIDES]]
    };
    let triangles = (0..RINGS - 1).flat_map(|ring| (0..SIDES).flat_map(move |side| quad(ring, side))).collect();
    Mesh { positions, triangles, ..Mesh::default() }
}

/// Two bones along x, the second from 0.5 on.
fn skeleton() -> Result<Skeleton, dermis::internals::rig::SkeletonError> {
    let bind = [0.0, 0.5].map(|x| dermis::glam::DAffine3::from_translation(DVec3::X * x)).to_vec();
    Skeleton::new(["upper", "lower"].map(String::from).to_vec(), vec![None, Some(BoneIndex::new(0))], bind)
}

/// The second bone takes over within a fifth around the joint.
fn weights() -> Result<Influences, dermis::internals::rig::InfluenceError> {
    Influences::from_rows(mesh().positions.iter().map(|p| {
        let lower = ((p.x - 0.4) / 0.2).clamp(0.0, 1.0);
        vec![(BoneIndex::new(0), 1.0 - lower), (BoneIndex::new(1), lower)]
    }))
}

fn pose(rig: &Rig, angle: f64) -> Result<BoneTransforms, dermis::internals::rig::SkeletonError> {
    Ok(rig.skeleton().pose().turned("lower", DQuat::from_rotation_z(angle))?.transforms().clone())
}

/// Linear blending of a tube whose upper half swells with the angle.
fn skin(rig: &Rig, pose: &BoneTransforms, angle: f64) -> Vec<DVec3> {
    let weights = rig.weights().expect("the tube has weights");
    let blended = |(v, p): (usize, &DVec3)| {
        let swell = 0.03 * (1.0 - angle.cos()) * (-((p.x - 0.25) / 0.1).powi(2)).exp();
        let swollen = *p + DVec3::new(0.0, p.y, p.z).normalize() * swell;
        weights.of(v).iter().map(|(bone, w)| pose[*bone].transform_point3(swollen) * *w).sum()
    };
    rig.mesh().positions.iter().enumerate().map(blended).collect()
}
