//! A table of models with poses and expected skins, in a folder of its own, as `tests/conformance.c` reads it; and models for it.

use dermis::glam::{DAffine3, DVec3};
use dermis::internals::rig::skeleton::row;
use dermis::internals::rig::{BoneTransforms, Rig};
use dermis::{Examples, Method, Model};
use dermis_testkit::{Arm, ArmPose, Random, some_motion};
use std::path::{Path, PathBuf};

/// A folder of one test, empty.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// An arm that a method was fitted to.
pub fn arm(method: &Method) -> Model {
    let arm = Arm::new(10, 8);
    let rig = facade(arm.rig.clone());
    let poses = ArmPose::exercise(3);
    let skins = poses.iter().map(|pose| arm.skin(pose)).collect();
    let examples = Examples::new(&rig, poses.iter().map(|pose| arm.transforms(pose)).collect(), skins).unwrap();
    dermis::fit(&rig, &examples, method).unwrap_or_else(|error| panic!("{method}: {error}")).into_model()
}

fn facade(rig: Rig) -> dermis::Rig {
    dermis::Rig::new(rig.mesh().clone(), rig.skeleton().clone(), rig.weights().cloned()).unwrap()
}

/// Poses of the arm: at rest, within its limits, moved as a whole, and wild.
pub fn poses(seed: u64) -> Vec<BoneTransforms> {
    let (arm, mut random) = (Arm::new(10, 8), Random::new(seed));
    let mut poses = vec![arm.transforms(&ArmPose::REST)];
    poses.extend((0..3).map(|_| arm.transforms(&ArmPose::random(&mut random))));
    poses.push(poses[1].moved(some_motion(0.7, DVec3::new(3.0, -1.0, 2.0))));
    poses.push(arm.wild(&mut random, 2.0));
    poses
}

/// A table that is being written.
pub struct Table {
    folder: PathBuf,
    lines: String,
}

impl Table {
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.into(), lines: String::new() }
    }

    /// Adds a model whose skins are expected to the bit.
    pub fn add(&mut self, name: &str, model: &Model, poses: &[BoneTransforms], skins: &[Vec<DVec3>]) {
        let file = |kind: &str| format!("{name}.{kind}");
        model.save(self.folder.join(file("dermis"))).unwrap();
        let matrices = poses.iter().flat_map(|pose| pose.iter().flat_map(rows));
        let shape = [poses.len(), model.skeleton().len(), 4, 4];
        write_npy(&self.folder.join(file("transforms.npy")), &shape, matrices);
        let shape = [skins.len(), model.rig().mesh().positions.len(), 3];
        write_npy(&self.folder.join(file("expected.npy")), &shape, skins.iter().flatten().flat_map(DVec3::to_array));
        self.lines += &format!("{name}\t{name}.dermis\t{name}.transforms.npy\t{name}.expected.npy\t0\n");
        std::fs::write(self.folder.join("table.txt"), &self.lines).unwrap();
    }
}

/// The skins that the façade's runner computes.
pub fn skins(model: &Model, poses: &[BoneTransforms]) -> Vec<Vec<DVec3>> {
    let mut runner = model.runner();
    poses.iter().map(|pose| runner.skin(pose).unwrap().iter().map(|p| p.as_dvec3()).collect()).collect()
}

/// The sixteen numbers of a matrix, row after row.
pub fn rows(m: &DAffine3) -> [f64; 16] {
    let [a, b, c] = [0, 1, 2].map(|at| row(m, at));
    let all = [a, b, c, [0.0, 0.0, 0.0, 1.0]];
    std::array::from_fn(|at| all[at / 4][at % 4])
}

/// A file of NumPy, version 1 of its format.
fn write_npy(path: &Path, shape: &[usize], numbers: impl Iterator<Item = f64>) {
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", shape.join(", "));
    header += &" ".repeat((64 - (10 + header.len() + 1) % 64) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers.flat_map(f64::to_le_bytes));
    std::fs::write(path, bytes).unwrap();
}
