//! The data, and what all tables share.

use dermis_deform::{Base, Deformer};
use dermis_io::npz;
use dermis_rig::glam::{DAffine3, DMat3, DMat4, DVec3};
use dermis_rig::{BoneTransforms, Example, Influences, Mesh, Rig};
use dermis_workflow::load::{LoadedRig, ReadOptions, load_examples, load_rig};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// A bundle whose arrays are read by key, and the map from its axes to ours.
pub struct Bundle(Vec<u8>, PathBuf, DMat3);

impl Bundle {
    pub fn open(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(bytes, path.to_path_buf(), DMat3::IDENTITY))
    }

    /// The same, known to have Z up.
    pub fn with_z_up(self) -> Self {
        Self(self.0, self.1, DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y))
    }

    pub fn numbers(&self, key: &str) -> Result<Vec<f64>, String> {
        let found = npz::crowd_numbers(&self.0, key).map_err(|e| format!("{}: {e}", self.1.display()))?;
        found.ok_or_else(|| format!("{}: there is no array {key}", self.1.display()))
    }

    pub fn points(&self, key: &str) -> Result<Vec<DVec3>, String> {
        Ok(self.numbers(key)?.chunks_exact(3).map(|p| self.2 * DVec3::from_slice(p)).collect())
    }

    pub fn mesh(&self) -> Result<Mesh, String> {
        let faces = self.numbers("faces")?;
        let triangles = faces.chunks_exact(3).map(|t| [t[0] as u32, t[1] as u32, t[2] as u32]).collect();
        Ok(Mesh { positions: self.points("rest_vertices")?, triangles, ..Mesh::default() })
    }

    pub fn weights(&self, key: &str, vertices: usize) -> Result<Influences, String> {
        let table = self.numbers(key)?;
        Influences::from_dense(&table, table.len() / vertices.max(1)).map_err(|e| e.to_string())
    }

    /// Maps of bones, pose after pose, of matrices row after row.
    pub fn transforms(&self, key: &str, bones: usize) -> Result<Vec<BoneTransforms>, String> {
        let (turn, back) = (DAffine3::from_mat3(self.2), DAffine3::from_mat3(self.2.transpose()));
        let matrices: Vec<DAffine3> = self.numbers(key)?.chunks_exact(16).map(|m| turn * affine(m) * back).collect();
        Ok(matrices.chunks_exact(bones).map(|pose| BoneTransforms::new(pose.to_vec())).collect())
    }
}

fn affine(row_major: &[f64]) -> DAffine3 {
    let rows: [f64; 16] = std::array::from_fn(|at| row_major[at]);
    let m = DMat4::from_cols_array(&rows).transpose();
    DAffine3::from_mat4(m)
}

/// The bundles below a folder, by name.
pub fn bundles(folder: &Path) -> Result<Vec<(String, Bundle)>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "npz"));
    paths.sort();
    let named = |path: PathBuf| {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok((name, Bundle::open(&path)?))
    };
    paths.into_iter().map(named).collect()
}

/// The bundled body with its true skins.
pub struct TrueBody {
    pub loaded: LoadedRig,
    pub exercise: Vec<Example>,
    pub walk: Vec<Example>,
}

impl TrueBody {
    pub fn open() -> Result<Self, String> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../assets/body");
        let loaded = load_rig(&root.join("body_exercise.npz")).map_err(|e| e.to_string())?;
        let (exercise, walk) = (root.join("body_exercise.npz"), root.join("body_walk.npz"));
        let read = |path: PathBuf| examples(&loaded, &path);
        Ok(Self { exercise: read(exercise)?, walk: read(walk)?, loaded })
    }

    pub fn rig(&self) -> &Rig {
        &self.loaded.rig
    }

    pub fn weights(&self) -> Result<&Influences, String> {
        self.rig().weights().ok_or_else(|| "the body has no weights".into())
    }
}

pub fn examples(rig: &LoadedRig, path: &Path) -> Result<Vec<Example>, String> {
    let source = path.to_path_buf().into();
    let (set, _) = load_examples(&rig.rig, &rig.space, &[source], &ReadOptions::default(), "examples")
        .map_err(|e| e.to_string())?;
    Ok(set.examples().to_vec())
}

/// Linear blending of a mesh in some poses.
pub fn blended(rest: &[DVec3], weights: &Influences, poses: &[BoneTransforms]) -> Result<Vec<Vec<DVec3>>, String> {
    let deformer = Deformer::new(rest.to_vec(), Base::Lbs(weights.clone()), None).map_err(|e| e.to_string())?;
    posed(&deformer, poses)
}

/// A model in some poses.
pub fn posed(deformer: &Deformer, poses: &[BoneTransforms]) -> Result<Vec<Vec<DVec3>>, String> {
    let one = |pose: &BoneTransforms| {
        let mut out = vec![DVec3::ZERO; deformer.rest().len()];
        deformer.clone().evaluate(pose, None, &mut out).map_err(|e| e.to_string())?;
        Ok(out)
    };
    poses.par_iter().map(one).collect()
}

/// rms of distances, metres.
pub fn rms<'a>(pairs: impl IntoIterator<Item = (&'a Vec<DVec3>, &'a Vec<DVec3>)>) -> f64 {
    let (mut squares, mut count) = (0.0, 0.0);
    for (one, other) in pairs {
        squares += one.iter().zip(other).map(|(a, b)| a.distance_squared(*b)).sum::<f64>();
        count += one.len() as f64;
    }
    (squares / f64::max(count, 1.0)).sqrt()
}

/// Geometric mean.
pub fn geometric(numbers: &[f64]) -> f64 {
    (numbers.iter().map(|x| x.max(1e-9).ln()).sum::<f64>() / numbers.len().max(1) as f64).exp()
}
