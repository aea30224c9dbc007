//! The character of `cargo xtask bench viewer`: the creature with its examples and a motion, as files that `dermis` reads.

use crate::character::{Creature, Size};
use dermis_io::npz::{StoredFloat, write};
use dermis_io::{Contents, Format, Record, to_bytes};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneTransforms, Influences};
use dermis_testkit::Random;
use dermis_testkit::tree::jointed;
use std::path::Path;

/// Bones, poses and influences of the character.
const CHARACTER: Size = Size { points: 0, bones: 55, poses: 24, most: 8, reach: 3.0 };
/// Influences per vertex of the skin weights.
const INFLUENCES: usize = 4;
/// Frames of the motion, a second of it, and the largest turn of a joint in it, radians.
const FRAMES: usize = 120;
const FRAMES_PER_SECOND: f64 = 30.0;
const SWING: f64 = 0.5;

/// Writes `character.npz`, examples with skins, and `motion.npz`, poses alone, into a folder that is there.
pub fn make(vertices: usize, folder: &Path) -> Result<(), String> {
    let creature = Creature::new(Size { points: vertices, ..CHARACTER });
    let (weights, maps) = (creature.nearest(INFLUENCES), creature.maps(CHARACTER.most));
    let examples = creature.examples(&weights, &maps, &creature.poses(CHARACTER.poses));
    let shown = examples.into_iter().map(|example| Record {
        label: example.label,
        time: None,
        pose: Some(creature.skeleton.world_pose(&example.transforms)),
        positions: Some(example.positions),
        importance: 1.0,
    });
    save(&creature, &weights, shown.collect(), &folder.join("character.npz"))?;
    let played = (0..FRAMES).map(|at| Record {
        label: format!("frame {at}"),
        time: Some(at as f64 / FRAMES_PER_SECOND),
        pose: Some(creature.skeleton.world_pose(&swing(&creature, at))),
        positions: None,
        importance: 1.0,
    });
    save(&creature, &weights, played.collect(), &folder.join("motion.npz"))
}

/// Every joint swings about an axis of its own.
fn swing(creature: &Creature, at: usize) -> BoneTransforms {
    let mut random = Random::new(5);
    let phase = std::f64::consts::TAU * at as f64 / FRAMES as f64;
    jointed(&creature.skeleton, |_| {
        let (axis, ahead): (DVec3, f64) = (random.direction(), random.between(0.0, std::f64::consts::TAU));
        DAffine3::from_quat(DQuat::from_axis_angle(axis, SWING * (phase + ahead).sin()))
    })
}

fn save(creature: &Creature, weights: &Influences, records: Vec<Record>, path: &Path) -> Result<(), String> {
    let contents = Contents {
        name: "creature".into(),
        format: Format::Npz,
        mesh: Some(creature.mesh()),
        skeleton: Some(creature.skeleton.clone()),
        weights: Some(weights.clone()),
        records,
        ..Contents::default()
    };
    let bytes = to_bytes(|out| write(&contents, StoredFloat::Single, out)).map_err(|error| error.to_string())?;
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}
