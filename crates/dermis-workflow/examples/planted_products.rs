//! Skins whose bulges are products of what two neighbouring joints do, or sums: `planted_products EXERCISE WALK FOLDER`.
//!
//! `cargo xtask accuracy` runs this. The rig and its poses are those of two bundles. Training has 60 poses whose joints are each taken
//! from an exercise at random, the held-out motion up to 20 frames of the walk. With s_e and s_f the swings of joints that share a bone,
//! chords of the direction to the next bone, and h(s) = s²/(s² + 1/2), a vertex moves along its normal, carried by its blend, by
//!
//! ```text
//! r w exp(−|p − c|²/(2 r²)) h(s_e) h(s_f)     or, in place of the product, (h(s_e) + h(s_f))/4
//! ```
//!
//! w its weight of the bone that they share, c the middle of that bone's skin, and r the root of its mean squared distance from there. FOLDER gets `products_train.npz`, `products_test.npz`, `sums_train.npz`, `sums_test.npz`.

use dermis_deform::blend;
use dermis_fit::joints::{JointTree, composite::composite_pairs};
use dermis_io::npz::{StoredFloat, write};
use dermis_io::{Contents, Record, Space, to_bytes};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Rig, WorldPose};
use dermis_solve::Random;
use dermis_workflow::load::{LoadedRig, ReadOptions, load_examples, load_rig};
use std::path::{Path, PathBuf};

/// Training poses.
const POSES: usize = 60;
/// Frames of the held-out motion, at most.
const FRAMES: usize = 20;

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let files: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let [exercise, walk, folder] = &files[..] else { return Err("EXERCISE WALK FOLDER are needed".into()) };
    let rig = load_rig(exercise).map_err(|e| e.to_string())?;
    let exercise = mixed(&rig.rig, &poses(&rig, exercise)?);
    let walk = poses(&rig, walk)?;
    let walk: Vec<BoneTransforms> = walk.iter().step_by(walk.len().div_ceil(FRAMES)).cloned().collect();
    let bulges = bulges(&rig.rig)?;
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    for (name, is_product) in [("products", true), ("sums", false)] {
        for (set, poses) in [("train", &exercise), ("test", &walk)] {
            let contents = contents(&rig.rig, poses, &bulges, is_product)?;
            let bytes = to_bytes(|out| write(&contents, StoredFloat::Single, out)).map_err(|e| e.to_string())?;
            std::fs::write(folder.join(format!("{name}_{set}.npz")), bytes).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

fn poses(rig: &LoadedRig, path: &Path) -> Result<Vec<BoneTransforms>, String> {
    let source = path.to_path_buf().into();
    let read = load_examples(&rig.rig, &rig.space, &[source], &ReadOptions::default(), "examples");
    Ok(read.map_err(|e| e.to_string())?.0.examples().iter().map(|example| example.transforms.clone()).collect())
}

/// Poses each of whose joints stands as in some pose of an exercise; roots are at rest.
fn mixed(rig: &Rig, exercise: &[BoneTransforms]) -> Vec<BoneTransforms> {
    let mut random = Random::seeded(7);
    let mut pose = |_| {
        let mut maps = vec![DAffine3::IDENTITY; rig.skeleton().len()];
        for (bone, parent) in rig.skeleton().parents().enumerate() {
            let Some(parent) = *parent else { continue };
            let of = &exercise[random.below(exercise.len())];
            maps[bone.get()] = maps[parent.get()] * of[parent].inverse() * of[bone];
        }
        BoneTransforms::new(maps)
    };
    (0..POSES).map(&mut pose).collect()
}

/// A bulge that two joints raise.
struct Bulge {
    joints: [(BoneIndex, BoneIndex); 2],
    /// The direction from each joint to the next.
    axes: [DVec3; 2],
    /// Metres, along the normal, per vertex that it moves.
    sizes: Vec<(usize, f64)>,
}

fn bulges(rig: &Rig) -> Result<Vec<Bulge>, String> {
    let (skeleton, mesh) = (rig.skeleton(), rig.mesh());
    let weights = rig.weights().ok_or("the rig has no weights")?;
    let tree = JointTree::new(skeleton, weights);
    let head = |bone: BoneIndex| skeleton.bind()[bone].translation;
    let weight =
        |v: usize, bone: BoneIndex| weights.of(v).iter().filter(|(b, _)| *b == bone).map(|(_, w)| w).sum::<f64>();
    let middle = |bone: BoneIndex| {
        let of = |(v, p): (usize, &DVec3)| (*p * weight(v, bone), weight(v, bone));
        let sum = mesh.positions.iter().enumerate().map(of);
        let (sum, total) = sum.fold((DVec3::ZERO, 0.0), |(a, b), (c, d)| (a + c, b + d));
        sum / f64::max(total, 1e-9)
    };
    let radius = |bone: BoneIndex, centre: DVec3| {
        let of = |(v, p): (usize, &DVec3)| (p.distance_squared(centre) * weight(v, bone), weight(v, bone));
        let sum = mesh.positions.iter().enumerate().map(of).fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
        (sum.0 / f64::max(sum.1, 1e-9)).sqrt()
    };
    let mut all = vec![];
    for pair in composite_pairs(&tree.edges) {
        let joints = [tree.edges[pair.joints.0], tree.edges[pair.joints.1]];
        let [(a, b), (c, d)] = joints;
        let shared = if a == c || a == d { a } else { b };
        let centre = middle(shared);
        let radius = radius(shared, centre);
        let size = |(v, p): (usize, &DVec3)| {
            let size = radius * weight(v, shared) * (-p.distance_squared(centre) / (2.0 * radius * radius)).exp();
            (size > 1e-3 * radius).then_some((v, size))
        };
        let sizes = mesh.positions.iter().enumerate().filter_map(size).collect();
        let axes = joints.map(|(_, to)| (middle(to) - head(to)).normalize_or(DVec3::Y));
        all.push(Bulge { joints, axes, sizes });
    }
    Ok(all)
}

fn contents(rig: &Rig, poses: &[BoneTransforms], bulges: &[Bulge], is_product: bool) -> Result<Contents, String> {
    let (mesh, weights) = (rig.mesh(), rig.weights().ok_or("the rig has no weights")?);
    let mut normals = vec![DVec3::ZERO; mesh.positions.len()];
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|v| mesh.positions[v as usize]);
        triangle.iter().for_each(|&v| normals[v as usize] += (b - a).cross(c - a));
    }
    let record = |(s, pose): (usize, &BoneTransforms)| {
        let mut sizes = vec![0.0; normals.len()];
        for bulge in bulges {
            let swing = |at: usize| {
                let (from, to) = bulge.joints[at];
                let turn = (pose[from].inverse() * pose[to]).matrix3;
                let square = (turn * bulge.axes[at]).distance_squared(bulge.axes[at]);
                square / (square + 0.5)
            };
            let (e, f) = (swing(0), swing(1));
            let size = if is_product { e * f } else { 0.25 * (e + f) };
            bulge.sizes.iter().for_each(|&(v, most)| sizes[v] += most * size);
        }
        let skin = |v: usize| {
            let p = mesh.positions[v] + normals[v].normalize_or_zero() * sizes[v];
            blend(weights.of(v), pose).transform_point3(p)
        };
        Record {
            label: format!("pose {s}"),
            time: None,
            pose: Some(WorldPose::new(rig.skeleton().bind().iter().zip(pose.iter()).map(|(b, m)| *m * *b).collect())),
            positions: Some((0..normals.len()).map(skin).collect()),
            importance: 1.0,
            local: None,
        }
    };
    Ok(Contents {
        space: Space::default(),
        mesh: Some(mesh.clone()),
        skeleton: Some(rig.skeleton().clone()),
        weights: Some(weights.clone()),
        records: poses.iter().enumerate().map(record).collect(),
        ..Contents::default()
    })
}
