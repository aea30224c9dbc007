//! Models and sums over examples, both safetensors files: bytes, and files whose header, arrays and descriptions are
//! changed behind right offsets.

use crate::memory::{PLAIN, bounded};
use crate::script::Script;
use crate::{json, seeds, used};
use dermis_io::{ModelFile, model_file, part_file, share_file, to_bytes};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneTransforms, Mesh, Skeleton};
use serde_json::{Value, json};
use std::sync::OnceLock;

pub const WORDS: &[&str] = &[
    "\"dtype\":\"F64\"",
    "\"dtype\":\"F32\"",
    "\"dtype\":\"U32\"",
    "\"shape\"",
    "\"data_offsets\"",
    "__metadata__",
    "format_version",
    "fingerprint",
    "\\\"base\\\":\\\"lbs\\\"",
];

pub fn model_seeds() -> Vec<Vec<u8>> {
    seeds::models()
}

pub fn part_seeds() -> Vec<Vec<u8>> {
    [seeds::parts(), seeds::shares()].concat()
}

/// Takes the bytes as a model file, which then is evaluated, and written again.
pub fn model_bytes(bytes: &[u8]) {
    let Ok(model) = bounded(bytes.len(), PLAIN, || model_file::read(bytes)) else { return };
    evaluate(&model);
    used::stored(&model);
    let written = to_bytes(|out| model_file::write(&model, out)).expect("a model that was read can be written");
    let again = model_file::read(&written).unwrap_or_else(|e| panic!("a model that was written is not read: {e}"));
    let twice = to_bytes(|out| model_file::write(&again, out)).expect("a model that was read can be written");
    assert!(written == twice, "a model changes on its way through a file");
}

/// The model in two poses, with normals and the tools that come with it.
fn evaluate(model: &ModelFile) {
    let bones = model.rig().skeleton().len();
    let bone =
        |b: usize| DAffine3::from_translation(DVec3::splat(0.1 * b as f64)) * DAffine3::from_rotation_x(0.7 + b as f64);
    let posed = BoneTransforms::new((0..bones).map(bone).collect()).with_channels(vec![("flex".into(), -0.5)]);
    let given: Vec<Vec3> = model.baked().rest().to_vec();
    let runner = model.baked().runner().with_normals(&model.rig().mesh().triangles);
    let mut runner = runner.expect("the triangles of a model name its vertices");
    for pose in [&BoneTransforms::identity(bones), &posed] {
        let skin = match model.baked().needs_given() {
            true => runner.skin_over(pose, &given),
            false => runner.skin(pose),
        };
        skin.unwrap_or_else(|e| panic!("a model is evaluated in a pose of its rig: {e}"));
        runner.normals();
    }
    assert!(model.space.is_usable());
    let _ = (model.baseline(), model.weights(), model.baked().bytes());
}

/// Takes the bytes as sums over examples, and as a share of a fit.
pub fn part_bytes(bytes: &[u8]) {
    if let Ok(share) = bounded(bytes.len(), PLAIN, || share_file::read(bytes)) {
        let written = to_bytes(|out| share_file::write(&share, out)).expect("a share that was read can be written");
        let again = share_file::read(&written).unwrap_or_else(|e| panic!("a share that was written is not read: {e}"));
        let twice = to_bytes(|out| share_file::write(&again, out)).expect("a share that was read can be written");
        assert!(written == twice, "a share changes on its way through a file");
    }
    let Ok(part) = bounded(bytes.len(), PLAIN, || part_file::read(bytes)) else { return };
    let written = to_bytes(|out| part_file::write(&part, out)).expect("sums that were read can be written");
    let again = part_file::read(&written).unwrap_or_else(|e| panic!("sums that were written are not read: {e}"));
    let twice = to_bytes(|out| part_file::write(&again, out)).expect("sums that were read can be written");
    assert!(written == twice, "sums change on their way through a file");
}

pub fn model_edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<Parts>> = OnceLock::new();
    let good = GOOD.get_or_init(|| seeds::models().iter().map(|file| Parts::of(file)).collect());
    model_bytes(&edited(good, script));
}

pub fn part_edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<Parts>> = OnceLock::new();
    let good = GOOD.get_or_init(|| part_seeds().iter().map(|file| Parts::of(file)).collect());
    part_bytes(&edited(good, script));
}

/// An array of a safetensors file.
#[derive(Clone)]
struct Tensor {
    name: String,
    dtype: String,
    shape: Vec<u64>,
    values: Vec<u8>,
}

/// A safetensors file taken apart.
#[derive(Clone)]
struct Parts {
    /// What its description is called.
    key: String,
    description: Value,
    tensors: Vec<Tensor>,
}

fn edited(good: &[Parts], script: &[u8]) -> Vec<u8> {
    let mut script = Script::new(script);
    let mut parts = good[script.below(good.len())].clone();
    // A rig that is changed has another fingerprint; without the right one no array is looked at.
    let honest = !script.byte().is_multiple_of(8);
    for _ in 0..12 {
        if script.is_over() || parts.tensors.is_empty() {
            break;
        }
        match script.byte() % 3 {
            0 => json::edit(&mut parts.description, &mut script),
            _ => parts.edit(&mut script),
        }
    }
    if honest {
        parts.take_fingerprint();
    }
    parts.bytes()
}

impl Parts {
    fn of(file: &[u8]) -> Self {
        let length = file[..8].try_into().map_or(0, u64::from_le_bytes) as usize;
        let (mut header, data) = (json::parse(&file[8..8 + length]), &file[8 + length..]);
        let metadata = header.as_object_mut().and_then(|map| map.shift_remove("__metadata__")).expect("a file of ours");
        let (key, text) = metadata.as_object().and_then(|map| map.iter().next()).expect("a file of ours");
        let description = json::parse(text.as_str().unwrap_or_default().as_bytes());
        let tensor = |(name, info): (&String, &Value)| {
            let offset = |at: usize| info["data_offsets"][at].as_u64().unwrap_or(0) as usize;
            Tensor {
                name: name.clone(),
                dtype: info["dtype"].as_str().unwrap_or_default().into(),
                shape: info["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect(),
                values: data[offset(0)..offset(1)].to_vec(),
            }
        };
        let tensors = header.as_object().into_iter().flatten().map(tensor).collect();
        Self { key: key.clone(), description, tensors }
    }

    fn edit(&mut self, script: &mut Script<'_>) {
        let (at, other) = (script.below(self.tensors.len()), script.below(self.tensors.len()));
        let tensor = &mut self.tensors[at];
        match script.byte() % 10 {
            0..=4 => script.overwrite(&mut tensor.values),
            // Other rows than before, and as many values.
            5 => {
                let rows = u64::from(script.byte() % 40);
                let Some(old) = tensor.shape.first_mut() else { return };
                let row = tensor.values.len() / (*old).max(1) as usize;
                *old = rows;
                tensor.values.resize(row * rows as usize, 0);
            }
            6 => tensor.dtype = script.pick(&["F64", "F32", "U32", "I16", "U8", "I64", "BF16"]).into(),
            7 => {
                let dimension = script.below(tensor.shape.len());
                let count = script.number() as u64;
                if let Some(place) = tensor.shape.get_mut(dimension) {
                    *place = count;
                }
            }
            8 => _ = self.tensors.remove(at),
            _ => {
                let name = self.tensors[at].name.clone();
                self.tensors[at] = Tensor { name, ..self.tensors[other].clone() };
            }
        }
    }

    fn values(&self, name: &str) -> &[u8] {
        self.tensors.iter().find(|tensor| tensor.name == name).map_or(&[], |tensor| &tensor.values)
    }

    /// Puts the fingerprint of the rig into a model's description.
    fn take_fingerprint(&mut self) {
        let corners: Vec<u32> =
            self.values("triangles").as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let mesh = Mesh {
            positions: vec![DVec3::ZERO; self.values("rest_vertices").len() / 24],
            triangles: corners.as_chunks::<3>().0.to_vec(),
            ..Mesh::default()
        };
        let names = self.description["bone_names"].as_array().into_iter().flatten();
        let names: Vec<String> = names.map(|name| name.as_str().unwrap_or_default().to_owned()).collect();
        let bones = names.len();
        if let Ok(skeleton) = Skeleton::new(names, vec![None; bones], vec![DAffine3::IDENTITY; bones])
            && self.description.get("fingerprint").is_some()
        {
            self.description["fingerprint"] = json!(model_file::fingerprint(&mesh, &skeleton));
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let description = String::from_utf8(json::text(&self.description)).unwrap_or_default();
        let mut header = json!({ "__metadata__": { self.key.as_str(): description } });
        let mut data = Vec::new();
        for tensor in &self.tensors {
            let start = data.len();
            data.extend(&tensor.values);
            header[&tensor.name] =
                json!({ "dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [start, data.len()] });
        }
        let mut header = json::text(&header);
        header.resize(header.len().next_multiple_of(8), b' ');
        [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
    }
}
