//! What must every way to run a model give? Writes models, poses and the positions of the `f64` reference to a folder, and
//! checks the runner of this crate against them.
//!
//! `cargo run -p dermis --example conformance_table -- DIR`
//!
//! The folder holds, for the checks of the Python, C and JavaScript packages:
//!
//! | file | holds |
//! |---|---|
//! | `table.json`, `table.txt` | a model per entry or line: name, the files below, tolerance in metres |
//! | `NAME.dermis` | the model |
//! | `NAME.transforms.npy` | M_k = T_k B_k⁻¹, rest to posed, (poses, bones, 4, 4), column vectors, `[row, column]` |
//! | `NAME.pose_matrices.npy` | T_k, bone to posed world, of the same shape |
//! | `NAME.expected.npy` | positions, (poses, vertices, 3) |
//!
//! Arrays are little-endian `f64` in C order; axes have Y up, lengths are metres.

use dermis::Model;
use dermis::glam::{DAffine3, DVec3, Vec3};
use dermis::internals::deform::{Base, Deformer, RiggedDeformer};
use dermis::internals::io::{ModelFile, Space, model_file::ModelHeader};
use dermis::internals::rig::{BoneTransforms, Mesh, Rig};
use dermis::internals::transfer::{Body, Operator, Settings, carried_model, carried_weights};
use dermis_testkit::models::{models, strip};
use dermis_testkit::{Random, Tree, change_rig, some_motion};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Rounding to 24 bits of sums of some 60 products of numbers about 1, and of matrices that are read in 32 bits.
const TOLERANCE: f64 = 2e-6;

/// Writes the table to the folder that is named.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: conformance_table DIR")?;
    std::fs::create_dir_all(&folder)?;
    let (mut rows, mut lines) = (Vec::new(), String::new());
    let (mut poses, mut worst) = (0, (0.0, String::new()));
    let trees = [Tree::new(6, 40, 5), Tree::new(9, 70, 6).with_many_influences(7)];
    for (rig, mut tree) in trees.into_iter().enumerate() {
        // Rotational regression is stored without the faces that it solves over: they are the mesh's.
        change_rig(&mut tree.rig, |mesh, _, _| mesh.triangles = strip(mesh.positions.len()));
        let all = poses_of(&tree);
        let own = models(&tree, &mut Random::new(31 + rig as u64));
        // Positions of a base that another program computes are no part of a model.
        let own = own.into_iter().filter(|(_, deformer)| !matches!(deformer.base(), Base::Given));
        let own: Vec<_> = own.map(|(name, deformer)| (name, tree.rig.clone(), deformer)).collect();
        let worn = garments(&own)?;
        for (at, (name, rig_of_it, deformer)) in own.into_iter().chain(worn).enumerate() {
            let stem = format!("{rig}_{at:03}");
            let tolerance = TOLERANCE * tree.rig.mesh().diagonal().max(1.0);
            let expected = expected(&deformer, &all)?;
            let model = model(&rig_of_it, &deformer)?;
            write(&folder, &stem, &model, &all, &expected)?;
            let [file, transforms, pose_matrices, skins] =
                ["dermis", "transforms.npy", "pose_matrices.npy", "expected.npy"].map(|kind| format!("{stem}.{kind}"));
            writeln!(lines, "{name}\t{file}\t{transforms}\t{skins}\t{tolerance:e}")?;
            rows.push(format!(
                "  {{\"name\": {name:?}, \"model\": \"{file}\", \"transforms\": \"{transforms}\", \
                 \"pose_matrices\": \"{pose_matrices}\", \"expected\": \"{skins}\", \"tolerance\": {tolerance:e}}}"
            ));
            poses += all.len();
            for (pose, (found, expected)) in run(&folder.join(file), &all)?.iter().zip(&expected).enumerate() {
                for (v, (found, expected)) in found.iter().zip(expected).enumerate() {
                    let off = found.as_dvec3().distance(*expected) / tolerance;
                    if off > worst.0 || off.is_nan() {
                        worst = (off, format!("{name}, pose {pose}, vertex {v}"));
                    }
                }
            }
        }
    }
    std::fs::write(folder.join("table.json"), format!("[\n{}\n]\n", rows.join(",\n")))?;
    std::fs::write(folder.join("table.txt"), lines)?;
    println!("{} models, {poses} poses: largest deviation {:.2} of its tolerance ({})", rows.len(), worst.0, worst.1);
    match worst.0 <= 1.0 {
        true => Ok(()),
        false => Err("a model deviates from the reference".into()),
    }
}

/// What some of the models are on a garment: one model of each kind of base.
fn garments(models: &[(String, Rig, Deformer)]) -> Result<Vec<(String, Rig, Deformer)>, Box<dyn Error>> {
    let mut made: Vec<(String, Rig, Deformer)> = vec![];
    let mut kinds = vec![];
    for (name, rig, deformer) in models.iter().filter(|(_, _, deformer)| !deformer.corrections().is_empty()) {
        let kind = std::mem::discriminant(deformer.base());
        let mesh = rig.mesh();
        // Every second triangle of the body, a little outside of it.
        let triangles: Vec<[u32; 3]> = mesh.triangles.iter().step_by(2).copied().collect();
        let positions = mesh.positions.iter().map(|p| *p + DVec3::new(0.001, 0.002, -0.001)).collect();
        let garment = Mesh { positions, triangles, ..Mesh::default() };
        let (Some(body), Some(weights)) = (Body::new(mesh), rig.weights()) else { continue };
        let operator = Operator::new(&body, &garment, &Settings { stiff: 0.0, ..Settings::default() })?;
        let weights = carried_weights(&operator, weights, usize::MAX)?;
        // Numbers that belong to the vertices of the body are not carried.
        let Ok(carried) = carried_model(deformer, &operator, (&garment, &weights), None, body.unit()) else { continue };
        if !kinds.contains(&kind) {
            kinds.push(kind);
            let rig = Rig::new(garment, rig.skeleton().clone(), Some(weights))?;
            made.push((format!("a garment of {name}"), rig, carried));
        }
    }
    Ok(made)
}

/// The rest pose, bent poses, and bent poses of a character that was moved and turned as a whole.
fn poses_of(tree: &Tree) -> Vec<BoneTransforms> {
    let bent = tree.poses(4, 1.2, 11);
    let moved = some_motion(0.8, DVec3::new(0.4, -0.7, 0.5));
    bent.iter().cloned().chain(bent.iter().skip(1).map(|pose| pose.moved(moved))).collect()
}

/// A skin per pose, by the reference.
fn expected(deformer: &Deformer, poses: &[BoneTransforms]) -> Result<Vec<Vec<DVec3>>, Box<dyn Error>> {
    let mut reference = deformer.clone();
    poses
        .iter()
        .map(|pose| {
            let mut out = vec![DVec3::ZERO; reference.rest().len()];
            reference.evaluate(pose, None, &mut out)?;
            Ok(out)
        })
        .collect()
}

/// The model as it is delivered.
fn model(rig: &Rig, deformer: &Deformer) -> Result<Model, Box<dyn Error>> {
    let model = RiggedDeformer::new(rig.clone(), None, deformer.bake(), None)?;
    let header = ModelHeader { method: "planted".into(), program: "conformance table".into(), ..Default::default() };
    Ok(ModelFile { model, space: Space::default(), header }.into())
}

/// Writes the files of a model.
fn write(
    folder: &Path,
    stem: &str,
    model: &Model,
    poses: &[BoneTransforms],
    expected: &[Vec<DVec3>],
) -> Result<(), Box<dyn Error>> {
    model.save(folder.join(format!("{stem}.dermis")))?;
    let bones = model.skeleton().len();
    let matrices = |of: &dyn Fn(&BoneTransforms) -> Vec<DAffine3>| -> Vec<f64> {
        let rows = |m: DAffine3| {
            let columns = [m.x_axis, m.y_axis, m.z_axis, m.translation].map(DVec3::from);
            let above = (0..3).flat_map(move |r| columns.map(|column| column[r]));
            above.chain([0.0, 0.0, 0.0, 1.0])
        };
        poses.iter().flat_map(|pose| of(pose).into_iter().flat_map(rows)).collect()
    };
    let shape = [poses.len(), bones, 4, 4];
    let transforms = matrices(&|pose| pose.iter().copied().collect());
    let world = matrices(&|pose| model.skeleton().world_pose(pose).bones.iter().copied().collect());
    let skins: Vec<f64> = expected.iter().flatten().flat_map(|p| p.to_array()).collect();
    npy(&folder.join(format!("{stem}.transforms.npy")), &shape, &transforms)?;
    npy(&folder.join(format!("{stem}.pose_matrices.npy")), &shape, &world)?;
    npy(&folder.join(format!("{stem}.expected.npy")), &[poses.len(), expected[0].len(), 3], &skins)?;
    Ok(())
}

/// An array of NumPy, format version 1.0.
fn npy(path: &Path, shape: &[usize], values: &[f64]) -> std::io::Result<()> {
    let shape = shape.iter().map(|n| format!("{n}, ")).collect::<String>();
    let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    // Magic, version and length take ten bytes; values begin at a multiple of 64.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    std::fs::write(path, bytes)
}

/// What the runner of this crate makes of a model's file.
fn run(path: &Path, poses: &[BoneTransforms]) -> Result<Vec<Vec<Vec3>>, Box<dyn Error>> {
    let model = Model::open(path)?;
    let mut runner = model.runner();
    poses.iter().map(|pose| Ok(runner.skin(pose)?.to_vec())).collect()
}
