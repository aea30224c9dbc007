//! The model file (`.dermis`): a safetensors file with the baked arrays, the rig they belong to, and a JSON header.
//!
//! The header is the metadata entry `dermis`: format version, method, settings, report, the rig's names and its
//! fingerprint (SHA-256 over topology, bone names and order). Arrays are little-endian; positions of the rig are `f64`,
//! what evaluation reads is `f32`. A reader accepts every version up to its own.

use crate::contents::{Format, ReadError, Space, UpAxis, WriteError};
use dermis_deform::baked::{
    Baked, BakedBase, BakedCorrection, BakedEnveloping, BakedJoints, BakedPoseSpace, BakedSharedTerm, padded,
};
use dermis_deform::enveloping::{Enveloping, Pair, Rows};
use dermis_deform::guard::{Link, Weld};
use dermis_deform::joints::{Frame, Joint, Joints};
use dermis_deform::pose_space::{self, Carrier, Kernel, NO_GROUP};
use dermis_deform::{Base, Deformer, DualQuaternions, TrainingPoses};
use dermis_rig::glam::{DAffine3, DVec2, DVec3, Vec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::skeleton::{from_rows, row};
use dermis_rig::{BoneIndex, Influences, Mesh, Polygons, RenderMesh, Rig, Skeleton};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The version this program writes.
///
/// 1: bases and multi-weight enveloping. 2: joint models and pose-space deformation.
pub const VERSION: u32 = 2;

/// A fitted deformer with everything it needs to run and to say where it comes from.
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// The rig it was fitted on.
    pub rig: Rig,
    /// The rig file's own axes and unit.
    pub space: Space,
    /// The deformer.
    pub baked: Baked,
    /// The poses it was trained on, for distances to them; none for models that were not trained.
    pub training: Option<TrainingPoses>,
    /// Method, settings, report.
    pub header: ModelHeader,
}

/// What the model says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelHeader {
    /// The method's name on the command line.
    pub method: String,
    /// The program that wrote it.
    pub program: String,
    /// Every setting, defaults included.
    pub settings: Vec<(String, String)>,
    /// The fit's report.
    pub report: Value,
}

/// The header as stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    format_version: u32,
    #[serde(flatten)]
    header: ModelHeader,
    rig: String,
    fingerprint: String,
    bone_names: Vec<String>,
    bone_parents: Vec<i64>,
    up_axis: String,
    metres_per_unit: f64,
    unit: String,
    base: String,
    #[serde(default)]
    rows: Option<String>,
    #[serde(default)]
    joints: Option<StoredJoints>,
    #[serde(default)]
    pose_space: Option<StoredPoseSpace>,
    #[serde(default)]
    length: Option<f64>,
    #[serde(default)]
    training_length: Option<f64>,
    #[serde(default)]
    parts: Vec<StoredPart>,
}

/// What a joint model holds beside arrays.
#[derive(Serialize, Deserialize)]
struct StoredJoints {
    sigma: f64,
    frame: String,
}

#[derive(Serialize, Deserialize)]
struct StoredPoseSpace {
    sigma: f64,
    /// "base", "bones" or "world".
    carrier: String,
}

#[derive(Serialize, Deserialize)]
struct StoredPart {
    name: String,
    start: u32,
    count: u32,
    color: [f32; 4],
}

/// SHA-256 over what a model depends on: vertex count, triangles, bone names and their order, in hexadecimal.
pub fn fingerprint(mesh: &Mesh, skeleton: &Skeleton) -> String {
    let mut hash = Sha256::new();
    hash.update((mesh.positions.len() as u64).to_le_bytes());
    for corner in mesh.triangles.iter().flatten() {
        hash.update(corner.to_le_bytes());
    }
    for name in skeleton.names().iter() {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Arrays on their way into a file.
#[derive(Default)]
struct Tensors {
    list: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
}

impl Tensors {
    fn f64(&mut self, name: &str, shape: &[usize], data: impl Iterator<Item = f64>) {
        self.push(name, Dtype::F64, shape, data.flat_map(f64::to_le_bytes).collect());
    }
    fn f32(&mut self, name: &str, shape: &[usize], data: impl Iterator<Item = f32>) {
        self.push(name, Dtype::F32, shape, data.flat_map(f32::to_le_bytes).collect());
    }
    fn u32(&mut self, name: &str, shape: &[usize], data: impl Iterator<Item = u32>) {
        self.push(name, Dtype::U32, shape, data.flat_map(u32::to_le_bytes).collect());
    }
    fn push(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: Vec<u8>) {
        self.list.push((name.into(), dtype, shape.to_vec(), bytes));
    }

    fn influences(&mut self, name: &str, influences: &Influences) {
        let mut offset = 0u32;
        let offsets = std::iter::once(0).chain(influences.rows().map(|row| {
            offset += row.len() as u32;
            offset
        }));
        let offsets: Vec<u32> = offsets.collect();
        self.u32(&format!("{name}.offsets"), &[offsets.len()], offsets.into_iter());
        let entries = || influences.rows().flatten();
        self.u32(&format!("{name}.bones"), &[influences.count()], entries().map(|e| e.0.get() as u32));
        self.f64(&format!("{name}.values"), &[influences.count()], entries().map(|e| e.1));
    }

    fn enveloping(&mut self, c: &BakedEnveloping, rig: &Rig) {
        let pairs = &c.shared.pairs;
        let anchor = |p: &Pair| p.anchor.map_or(dermis_deform::baked::NO_ANCHOR, |a| a.get() as u32);
        self.u32("correction.pairs", &[pairs.len(), 2], pairs.iter().flat_map(|p| [anchor(p), p.bone.get() as u32]));
        self.f64("correction.limits", &[pairs.len()], pairs.iter().map(|p| p.limit));
        let mut frozen = vec![0; rig.skeleton.len()];
        c.shared.weld.frozen().for_each(|bone| frozen[bone.get()] = 1);
        self.u32("correction.frozen", &[frozen.len()], frozen.into_iter());
        self.u32("correction.anchors", &[c.anchors.len()], c.anchors.iter().copied());
        self.u32("correction.offsets", &[c.offsets.len()], c.offsets.iter().copied());
        self.u32("correction.terms", &[c.terms.len()], c.terms.iter().copied());
        let size = c.shared.rows.coefficients();
        self.f32("correction.coefficients", &[c.terms.len(), size], c.coefficients.iter().copied());
        self.f32("correction.constants", &[c.constants.len(), 3], c.constants.iter().flat_map(|x| x.to_array()));
        self.f32("correction.radii", &[c.radii.len()], c.radii.iter().copied());
    }

    fn joints(&mut self, c: &BakedJoints) {
        let joints = &c.model.joints;
        let bones = joints.iter().flat_map(|j| [j.from.get() as u32, j.to.get() as u32]);
        self.u32("joints.bones", &[joints.len(), 2], bones);
        self.f64("joints.centres", &[joints.len(), 3], joints.iter().flat_map(|j| j.centre.to_array()));
        self.f64("joints.limits", &[joints.len()], joints.iter().map(|j| j.limit));
        self.u32("joints.inducing_counts", &[joints.len()], joints.iter().map(|j| j.inducing.len() as u32));
        let inducing = || joints.iter().flat_map(|j| &j.inducing);
        self.f64("joints.inducing", &[inducing().count(), 12], inducing().flatten().copied());
        let links = &c.model.weld.links;
        let link = |l: &Link| [l.from.get() as u32, l.to.get() as u32, u32::from(l.frozen)];
        self.u32("joints.links", &[links.len(), 3], links.iter().flat_map(link));
        self.u32("correction.offsets", &[c.offsets.len()], c.offsets.iter().copied());
        self.u32("correction.terms", &[c.terms.len()], c.terms.iter().copied());
        self.f32("correction.coefficients", &[c.coefficients.len()], c.coefficients.iter().copied());
        self.u32("shared.offsets", &[c.shared_offsets.len()], c.shared_offsets.iter().copied());
        self.u32("shared.bones", &[c.shared.len()], c.shared.iter().map(|t| t.bone));
        let numbers = |t: &BakedSharedTerm| [t.relevance, t.offset.x, t.offset.y, t.offset.z, t.weight];
        self.f32("shared.coefficients", &[c.shared.len(), 5], c.shared.iter().flat_map(numbers));
        self.f32("shared.limits", &[c.limits.len()], c.limits.iter().copied());
        self.f32("correction.radii", &[c.radii.len()], c.radii.iter().copied());
    }

    fn pose_space(&mut self, c: &BakedPoseSpace, rig: &Rig) -> StoredPoseSpace {
        let k = &c.kernel;
        let joints = k.joints.iter().flat_map(|j| [j.parent.get() as u32, j.bone.get() as u32]);
        self.u32("pose_space.joints", &[k.joints.len(), 2], joints);
        self.f64("pose_space.limits", &[k.joints.len()], k.joints.iter().map(|j| j.limit));
        let mut frozen = vec![0; rig.skeleton.len()];
        k.weld.frozen().for_each(|bone| frozen[bone.get()] = 1);
        self.u32("pose_space.frozen", &[frozen.len()], frozen.into_iter());
        self.f64("pose_space.examples", &[k.examples.len(), 9], k.examples.iter().flatten().copied());
        self.u32("pose_space.joint_offsets", &[k.joint_offsets.len()], k.joint_offsets.iter().copied());
        self.u32("pose_space.group_joints", &[k.relevance.len()], k.relevance.iter().map(|r| r.0));
        self.f64("pose_space.relevance", &[k.relevance.len()], k.relevance.iter().map(|r| r.1));
        self.u32("pose_space.centre_offsets", &[k.offsets.len()], k.offsets.iter().copied());
        self.u32("pose_space.centres", &[k.centres.len()], k.centres.iter().copied());
        self.u32("pose_space.groups", &[c.groups.len()], c.groups.iter().copied());
        self.f32("pose_space.weights", &[c.weights.len(), 3], c.weights.iter().flat_map(|w| w.to_array()));
        self.f32("pose_space.radii", &[c.radii.len()], c.radii.iter().copied());
        let carrier = match &c.carrier {
            Carrier::Base => "base",
            Carrier::World => "world",
            Carrier::Bones(bones) => {
                self.u32("pose_space.bones", &[bones.len()], bones.iter().map(|b| b.get() as u32));
                "bones"
            }
        };
        StoredPoseSpace { sigma: k.sigma, carrier: carrier.into() }
    }
}

/// The bytes of a model file.
///
/// # Errors
/// [`WriteError::CannotHold`] if the arrays cannot be stored.
pub fn write(model: &ModelFile) -> Result<Vec<u8>, WriteError> {
    let (rig, baked) = (&model.rig, &model.baked);
    let mut t = Tensors::default();
    let vertices = rig.mesh.positions.len();
    t.f64("rest_vertices", &[vertices, 3], rig.mesh.positions.iter().flat_map(|p| p.to_array()));
    t.u32("triangles", &[rig.mesh.triangles.len(), 3], rig.mesh.triangles.iter().flatten().copied());
    if let Some(polygons) = &rig.mesh.polygons {
        t.u32("polygons.counts", &[polygons.counts.len()], polygons.counts.iter().copied());
        t.u32("polygons.indices", &[polygons.indices.len()], polygons.indices.iter().copied());
    }
    if let Some(render) = &rig.mesh.render {
        t.u32("render.source", &[render.source.len()], render.source.iter().copied());
        t.u32("render.triangles", &[render.triangles.len(), 3], render.triangles.iter().flatten().copied());
        let uvs = render.uvs.iter().flat_map(|uv| uv.to_array().map(|x| x as f32));
        t.f32("render.uvs", &[render.uvs.len(), 2], uvs);
        let normals = render.normals.iter().flat_map(|n| n.to_array().map(|x| x as f32));
        t.f32("render.normals", &[render.normals.len(), 3], normals);
    }
    let bind = rig.skeleton.bind().iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j))).flatten();
    t.f64("bind_matrices", &[rig.skeleton.len(), 3, 4], bind);
    for (name, influences) in [("weights", &rig.weights), ("influence_maps", &rig.influence_maps)] {
        if let Some(influences) = influences {
            t.influences(name, influences);
        }
    }
    let base = match &baked.base {
        BakedBase::Rigid(_) => "rigid",
        BakedBase::Lbs(_) => "lbs",
        BakedBase::Dqs(..) => "dqs",
        BakedBase::Given => "given",
        BakedBase::AnimationSpace { offsets, bones, a } => {
            t.u32("animation_space.offsets", &[offsets.len()], offsets.iter().copied());
            t.u32("animation_space.bones", &[bones.len()], bones.iter().copied());
            t.f32("animation_space.a", &[a.len(), 4], a.iter().flat_map(|a| a.to_array()));
            "animation-space"
        }
    };
    let (mut rows, mut joints, mut pose_space) = (None, None, None);
    match &baked.correction {
        Some(BakedCorrection::Enveloping(c)) => {
            t.enveloping(c, rig);
            rows = Some(match c.shared.rows {
                Rows::Row => "row".into(),
                Rows::Full => "full".into(),
            });
        }
        Some(BakedCorrection::Joints(c)) => {
            t.joints(c);
            let frame = FRAMES.iter().find(|(_, frame)| *frame == c.model.frame).map_or("", |(name, _)| name);
            joints = Some(StoredJoints { sigma: c.model.sigma, frame: frame.into() });
        }
        Some(BakedCorrection::PoseSpace(c)) => pose_space = Some(t.pose_space(c, rig)),
        None => {}
    }
    if let Some(training) = &model.training {
        let joints = training.joints.iter().flat_map(|(p, b)| [p.get() as u32, b.get() as u32]);
        t.u32("training.joints", &[training.joints.len(), 2], joints);
        t.f32("training.features", &[training.features.len(), 12], training.features.iter().flatten().copied());
    }
    let stored = Stored {
        format_version: VERSION,
        header: model.header.clone(),
        rig: rig.name.clone(),
        fingerprint: fingerprint(&rig.mesh, &rig.skeleton),
        bone_names: rig.skeleton.names().to_vec(),
        bone_parents: rig.skeleton.parents().iter().map(|p| p.map_or(-1, |b| b.get() as i64)).collect(),
        up_axis: if model.space.up == UpAxis::Y { "Y".into() } else { "Z".into() },
        metres_per_unit: model.space.metres_per_unit,
        unit: model.space.unit.clone(),
        base: base.into(),
        rows,
        joints,
        pose_space,
        length: baked.correction.as_ref().map(BakedCorrection::length),
        training_length: model.training.as_ref().map(|t| t.length),
        parts: rig.mesh.render.iter().flat_map(|r| &r.parts).map(StoredPart::of).collect(),
    };
    let cannot = |what: String| WriteError::CannotHold { format: Format::Model, what };
    let json = serde_json::to_string(&stored).map_err(|e| cannot(e.to_string()))?;
    let views = t
        .list
        .iter()
        .map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.clone(), bytes).map_err(|e| cannot(format!("\"{name}\": {e}")))?;
            Ok((name.clone(), view))
        })
        .collect::<Result<Vec<_>, WriteError>>()?;
    safetensors::serialize(views, Some(HashMap::from([("dermis".into(), json)]))).map_err(|e| cannot(e.to_string()))
}

/// Frames of the joint model by name.
const FRAMES: [(&str, Frame); 3] = [("anchor", Frame::Anchor), ("rest", Frame::Rest), ("blend", Frame::Blend)];

impl StoredPart {
    fn of(part: &RenderPart) -> Self {
        Self { name: part.name.clone(), start: part.start, count: part.count, color: part.color.to_array() }
    }
}

fn damaged(reason: impl Into<String>) -> ReadError {
    ReadError::Damaged { format: Format::Model, reason: reason.into() }
}

/// Arrays of a file, checked as they are taken.
struct Reader<'a> {
    tensors: SafeTensors<'a>,
}

impl Reader<'_> {
    fn bytes(&self, name: &str, dtype: Dtype, columns: usize) -> Result<&[u8], ReadError> {
        let tensor = self.tensors.tensor(name).map_err(|_| damaged(format!("array \"{name}\" is missing")))?;
        // No bytes at all may come with any number of columns, so their product need not fit.
        let found = tensor.shape().iter().skip(1).try_fold(1usize, |all, &n| all.checked_mul(n));
        if tensor.dtype() != dtype || found != Some(columns) {
            let shape = tensor.shape();
            return Err(damaged(format!(
                "array \"{name}\" is {:?} {shape:?}, not {dtype:?} with {columns} columns",
                tensor.dtype()
            )));
        }
        Ok(tensor.data())
    }
    fn has(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }
    fn f64(&self, name: &str, columns: usize) -> Result<Vec<f64>, ReadError> {
        let bytes = self.bytes(name, Dtype::F64, columns)?;
        Ok(bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default())).collect())
    }
    fn f32(&self, name: &str, columns: usize) -> Result<Vec<f32>, ReadError> {
        let bytes = self.bytes(name, Dtype::F32, columns)?;
        let all: Vec<f32> =
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap_or_default())).collect();
        match all.iter().position(|x| !x.is_finite()) {
            Some(at) => Err(damaged(format!("array \"{name}\": number {at} is not finite"))),
            None => Ok(all),
        }
    }
    fn u32(&self, name: &str, columns: usize) -> Result<Vec<u32>, ReadError> {
        let bytes = self.bytes(name, Dtype::U32, columns)?;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap_or_default())).collect())
    }
    /// Indices below `limit`.
    fn indices(&self, name: &str, columns: usize, limit: usize) -> Result<Vec<u32>, ReadError> {
        let all = self.u32(name, columns)?;
        match all.iter().find(|&&i| i as usize >= limit) {
            Some(bad) => Err(damaged(format!("array \"{name}\" names {bad}, but there are {limit}"))),
            None => Ok(all),
        }
    }
    /// Row starts of `rows` rows over `entries` entries.
    fn offsets(&self, name: &str, rows: usize, entries: usize) -> Result<Vec<u32>, ReadError> {
        let all = self.u32(name, 1)?;
        let good = all.len() == rows + 1
            && all[0] == 0
            && all[rows] as usize == entries
            && all.windows(2).all(|w| w[0] <= w[1]);
        if good {
            Ok(all)
        } else {
            Err(damaged(format!("array \"{name}\" does not divide {entries} entries into {rows} rows")))
        }
    }
    fn count(&self, name: &str, found: usize, expected: usize) -> Result<(), ReadError> {
        match found == expected {
            true => Ok(()),
            false => Err(damaged(format!("array \"{name}\" has {found} rows, not {expected}"))),
        }
    }
    fn influences(&self, name: &str, vertices: usize, bones: usize) -> Result<Option<Influences>, ReadError> {
        if !self.has(&format!("{name}.offsets")) {
            return Ok(None);
        }
        let named = self.indices(&format!("{name}.bones"), 1, bones)?;
        let values = self.f64(&format!("{name}.values"), 1)?;
        self.count(&format!("{name}.values"), values.len(), named.len())?;
        let offsets = self.offsets(&format!("{name}.offsets"), vertices, named.len())?;
        let rows = offsets.windows(2).map(|w| {
            let range = w[0] as usize..w[1] as usize;
            named[range.clone()].iter().zip(&values[range]).map(|(&b, &x)| (BoneIndex::new(b as usize), x)).collect()
        });
        Ok(Some(Influences::from_rows(rows)?))
    }
}

/// Reads a model file.
///
/// # Errors
/// [`ReadError`]: wrong kind, damaged, or written by a newer program.
pub fn read(bytes: &[u8]) -> Result<ModelFile, ReadError> {
    let wrong = |reason: String| ReadError::WrongKind { format: Format::Model, reason };
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| wrong(e.to_string()))?;
    let json = metadata.metadata().as_ref().and_then(|m| m.get("dermis")).cloned();
    let json = json.ok_or_else(|| wrong("it has no Dermis header".into()))?;
    let version = serde_json::from_str::<Value>(&json).ok().and_then(|v| v.get("format_version")?.as_u64());
    match version {
        Some(version) if version > u64::from(VERSION) => {
            return Err(ReadError::Unsupported {
                feature: format!("model format version {version} (this program reads up to {VERSION})"),
            });
        }
        Some(_) => {}
        None => return Err(damaged("the header has no format version")),
    }
    let stored: Stored = serde_json::from_str(&json).map_err(|e| damaged(format!("header: {e}")))?;
    let r = Reader { tensors: SafeTensors::deserialize(bytes).map_err(|e| damaged(e.to_string()))? };
    let rig = read_rig(&r, &stored)?;
    let found = fingerprint(&rig.mesh, &rig.skeleton);
    if found != stored.fingerprint {
        return Err(damaged("the rig in the file is not the one its fingerprint was taken of"));
    }
    let deformer = Deformer { rest: rig.mesh.positions.clone(), base: read_base(&rig, &stored)?, correction: None };
    let mut baked = deformer.bake();
    if stored.base == "animation-space" {
        let bones = r.indices("animation_space.bones", 1, rig.skeleton.len())?;
        let a = r.f32("animation_space.a", 4)?;
        r.count("animation_space.a", a.len() / 4, bones.len())?;
        let offsets = r.offsets("animation_space.offsets", rig.mesh.positions.len(), bones.len())?;
        baked.base = BakedBase::AnimationSpace { offsets, bones, a: a.chunks_exact(4).map(Vec4::from_slice).collect() };
    }
    let enveloping = |rows| read_enveloping(&r, &rig, &stored, rows).map(|c| BakedCorrection::Enveloping(Box::new(c)));
    baked.correction = match (&stored.joints, &stored.pose_space) {
        (Some(joints), _) => Some(BakedCorrection::Joints(Box::new(read_joints(&r, &rig, &stored, joints)?))),
        (None, Some(form)) => Some(BakedCorrection::PoseSpace(Box::new(read_pose_space(&r, &rig, form)?))),
        (None, None) => stored.rows.as_deref().map(enveloping).transpose()?,
    };
    let training = match stored.training_length {
        Some(length) if r.has("training.joints") => {
            let joints = r.indices("training.joints", 2, rig.skeleton.len())?;
            let features = r.f32("training.features", 12)?;
            let bone = |b: u32| BoneIndex::new(b as usize);
            let joints: Vec<_> = joints.chunks_exact(2).map(|j| (bone(j[0]), bone(j[1]))).collect();
            let features: Vec<[f32; 12]> =
                features.chunks_exact(12).map(|f| f.try_into().unwrap_or_default()).collect();
            if !positive(length)
                || (!features.is_empty() && (joints.is_empty() || !features.len().is_multiple_of(joints.len())))
            {
                return Err(damaged("the training poses are not joints × poses"));
            }
            Some(TrainingPoses { joints, features, length })
        }
        _ => None,
    };
    let space = Space {
        up: if stored.up_axis == "Z" { UpAxis::Z } else { UpAxis::Y },
        metres_per_unit: stored.metres_per_unit,
        unit: stored.unit,
    };
    if !space.is_usable() {
        return Err(damaged("the unit is not a positive length"));
    }
    Ok(ModelFile { rig, space, baked, training, header: stored.header })
}

fn positive(length: f64) -> bool {
    length > 0.0 && length.is_finite()
}

fn read_rig(r: &Reader<'_>, stored: &Stored) -> Result<Rig, ReadError> {
    let positions: Vec<DVec3> = r.f64("rest_vertices", 3)?.chunks_exact(3).map(DVec3::from_slice).collect();
    let vertices = positions.len();
    let three = |list: Vec<u32>| -> Vec<[u32; 3]> { list.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect() };
    let mut mesh = Mesh { positions, triangles: three(r.indices("triangles", 3, vertices)?), ..Mesh::default() };
    if r.has("polygons.counts") {
        let indices = r.indices("polygons.indices", 1, vertices)?;
        mesh.polygons = Some(Polygons { counts: r.u32("polygons.counts", 1)?, indices });
    }
    if r.has("render.source") {
        let source = r.indices("render.source", 1, vertices)?;
        let triangles = three(r.indices("render.triangles", 3, source.len())?);
        let pick = |list: Vec<f32>, n: usize| -> Vec<Vec<f64>> {
            list.chunks_exact(n).map(|x| x.iter().map(|&x| f64::from(x)).collect()).collect()
        };
        let uvs: Vec<DVec2> = pick(r.f32("render.uvs", 2)?, 2).iter().map(|x| DVec2::from_slice(x)).collect();
        let normals: Vec<DVec3> = pick(r.f32("render.normals", 3)?, 3).iter().map(|x| DVec3::from_slice(x)).collect();
        for (name, count) in [("render.uvs", uvs.len()), ("render.normals", normals.len())] {
            if count != 0 {
                r.count(name, count, source.len())?;
            }
        }
        let parts = stored.parts.iter().map(|p| RenderPart {
            name: p.name.clone(),
            start: p.start,
            count: p.count,
            color: Vec4::from_array(p.color),
        });
        let parts: Vec<RenderPart> = parts.collect();
        if parts.iter().any(|p| u64::from(p.start) + u64::from(p.count) > triangles.len() as u64) {
            return Err(damaged("a material covers triangles that do not exist"));
        }
        mesh.render = Some(RenderMesh { source, triangles, uvs, normals, parts });
    }
    mesh.check()?;
    let rows = r.f64("bind_matrices", 12)?;
    let take = |m: &[f64], at: usize| [m[at], m[at + 1], m[at + 2], m[at + 3]];
    let bind: Vec<DAffine3> = rows.chunks_exact(12).map(|m| from_rows([take(m, 0), take(m, 4), take(m, 8)])).collect();
    let (skeleton, order) = Skeleton::sorted(stored.bone_names.clone(), &stored.bone_parents, &bind)?;
    if order.windows(2).any(|w| w[0] > w[1]) {
        return Err(damaged("a bone comes before its parent"));
    }
    let bones = skeleton.len();
    let weights = r.influences("weights", vertices, bones)?;
    let influence_maps = r.influences("influence_maps", vertices, bones)?;
    Ok(Rig { name: stored.rig.clone(), mesh, skeleton, weights, influence_maps })
}

fn read_base(rig: &Rig, stored: &Stored) -> Result<Base, ReadError> {
    let weights = || rig.weights.clone().ok_or_else(|| damaged(format!("base \"{}\" needs weights", stored.base)));
    Ok(match stored.base.as_str() {
        "rigid" => Base::Rigid(weights()?),
        "lbs" => Base::Lbs(weights()?),
        "dqs" => Base::Dqs(weights()?, DualQuaternions::new(&rig.skeleton)),
        "given" | "animation-space" => Base::Given,
        other => return Err(ReadError::Unsupported { feature: format!("base \"{other}\"") }),
    })
}

fn read_enveloping(r: &Reader<'_>, rig: &Rig, stored: &Stored, rows: &str) -> Result<BakedEnveloping, ReadError> {
    let (vertices, bones) = (rig.mesh.positions.len(), rig.skeleton.len());
    let rows = match rows {
        "row" => Rows::Row,
        "full" => Rows::Full,
        other => return Err(ReadError::Unsupported { feature: format!("rows \"{other}\"") }),
    };
    let length = stored.length.filter(|l| positive(*l)).ok_or_else(|| damaged("the correction has no length"))?;
    let anchor = |a: u32| -> Result<Option<BoneIndex>, ReadError> {
        match a {
            dermis_deform::baked::NO_ANCHOR => Ok(None),
            a if (a as usize) < bones => Ok(Some(BoneIndex::new(a as usize))),
            a => Err(damaged(format!("an anchor is bone {a}, but there are {bones}"))),
        }
    };
    let limits = r.f64("correction.limits", 1)?;
    let pairs = r.u32("correction.pairs", 2)?;
    r.count("correction.limits", limits.len(), pairs.len() / 2)?;
    let pairs = pairs
        .chunks_exact(2)
        .zip(limits)
        .map(|(pair, limit)| match (pair[1] as usize) < bones && limit >= 0.0 {
            true => Ok(Pair { anchor: anchor(pair[0])?, bone: BoneIndex::new(pair[1] as usize), limit }),
            false => Err(damaged("a pair of bones names a bone that does not exist, or has no limit")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let frozen: Vec<bool> = r.indices("correction.frozen", 1, 2)?.into_iter().map(|f| f == 1).collect();
    r.count("correction.frozen", frozen.len(), bones)?;
    let anchors = r.u32("correction.anchors", 1)?;
    r.count("correction.anchors", anchors.len(), vertices)?;
    anchors.iter().try_for_each(|&a| anchor(a).map(|_| ()))?;
    let terms = r.indices("correction.terms", 1, pairs.len())?;
    let offsets = r.offsets("correction.offsets", vertices, terms.len())?;
    let coefficients = r.f32("correction.coefficients", rows.coefficients())?;
    r.count("correction.coefficients", coefficients.len() / rows.coefficients(), terms.len())?;
    let constants: Vec<Vec3> = r.f32("correction.constants", 3)?.chunks_exact(3).map(Vec3::from_slice).collect();
    let radii = r.f32("correction.radii", 1)?;
    for (name, count) in [("correction.constants", constants.len()), ("correction.radii", radii.len())] {
        if count != 0 {
            r.count(name, count, vertices)?;
        }
    }
    if radii.iter().any(|r| *r < 0.0) {
        return Err(damaged("a radius of the guard is negative"));
    }
    let shared = Enveloping { weld: Weld::along(&rig.skeleton, &frozen), pairs, ..Enveloping::empty(rows, length) };
    Ok(BakedEnveloping { shared, anchors, offsets, terms, coefficients, constants, radii })
}

fn read_joints(r: &Reader<'_>, rig: &Rig, stored: &Stored, joints: &StoredJoints) -> Result<BakedJoints, ReadError> {
    let (vertices, bones) = (rig.mesh.positions.len(), rig.skeleton.len());
    let weights = rig.weights.as_ref().ok_or_else(|| damaged("a joint model needs skinning weights"))?;
    let length = stored.length.filter(|l| positive(*l)).ok_or_else(|| damaged("the correction has no length"))?;
    if !positive(joints.sigma) {
        return Err(damaged("the width of the kernel is not positive"));
    }
    let frame = FRAMES.iter().find(|(name, _)| *name == joints.frame).map(|(_, frame)| *frame);
    let frame = frame
        .ok_or_else(|| ReadError::Unsupported { feature: format!("corrections in the frame \"{}\"", joints.frame) })?;
    let bone = |b: u32| BoneIndex::new(b as usize);
    let pairs = r.indices("joints.bones", 2, bones)?;
    let count = pairs.len() / 2;
    let centres: Vec<DVec3> = r.f64("joints.centres", 3)?.chunks_exact(3).map(DVec3::from_slice).collect();
    let limits = r.f64("joints.limits", 1)?;
    let counts = r.u32("joints.inducing_counts", 1)?;
    let inducing: Vec<[f64; 12]> =
        r.f64("joints.inducing", 12)?.chunks_exact(12).map(|f| f.try_into().unwrap_or_default()).collect();
    for (name, found) in
        [("joints.centres", centres.len()), ("joints.limits", limits.len()), ("joints.inducing_counts", counts.len())]
    {
        r.count(name, found, count)?;
    }
    let total = counts.iter().map(|&n| u64::from(n)).sum::<u64>();
    if total != inducing.len() as u64 {
        return Err(damaged("the inducing rotations are not as many as the joints say"));
    }
    let mut taken = 0;
    let mut all = Vec::with_capacity(count);
    for joint in 0..count {
        let of_joint = inducing[taken..taken + counts[joint] as usize].to_vec();
        taken += of_joint.len();
        let pair = (bone(pairs[2 * joint]), bone(pairs[2 * joint + 1]));
        let made = Joint::new(pair, centres[joint], limits[joint], of_joint, joints.sigma)
            .filter(|j| j.centre.is_finite() && j.limit >= 0.0 && !j.inducing.is_empty());
        all.push(made.ok_or_else(|| damaged(format!("joint {joint} cannot be evaluated")))?);
    }
    let links = r.u32("joints.links", 3)?;
    if links.chunks_exact(3).any(|l| l[0] as usize >= bones || l[1] as usize >= bones) {
        return Err(damaged("a link between bones names a bone that does not exist"));
    }
    let link = |l: &[u32]| Link { from: bone(l[0]), to: bone(l[1]), frozen: l[2] != 0 };
    let model = Joints {
        length,
        sigma: joints.sigma,
        frame,
        joints: all,
        weld: Weld { links: links.chunks_exact(3).map(link).collect() },
        weights: Influences::default(),
        offsets: vec![],
        terms: vec![],
        starts: vec![],
        coefficients: vec![],
        shared_offsets: vec![],
        shared: vec![],
        shared_limits: vec![],
        radii: vec![],
    };
    let mut made = BakedJoints::empty(model, weights);
    made.terms = r.indices("correction.terms", 1, count)?;
    made.offsets = r.offsets("correction.offsets", vertices, made.terms.len())?;
    made.coefficients = r.f32("correction.coefficients", 1)?;
    let mut start = 0usize;
    for row in made.offsets.windows(2) {
        let terms = &made.terms[row[0] as usize..row[1] as usize];
        start += terms.iter().map(|&joint| 3 * padded(counts[joint as usize] as usize)).sum::<usize>();
        made.starts.push(u32::try_from(start).map_err(|_| damaged("too many coefficients"))?);
    }
    r.count("correction.coefficients", made.coefficients.len(), start)?;
    let named = r.indices("shared.bones", 1, bones)?;
    let numbers = r.f32("shared.coefficients", 5)?;
    r.count("shared.coefficients", numbers.len() / 5, named.len())?;
    made.shared_offsets = r.offsets("shared.offsets", vertices, named.len())?;
    let term = |(&bone, n): (&u32, &[f32])| BakedSharedTerm {
        bone,
        relevance: n[0],
        offset: Vec3::from_slice(&n[1..4]),
        weight: n[4],
    };
    made.shared = named.iter().zip(numbers.chunks_exact(5)).map(term).collect();
    (made.limits, made.radii) = (r.f32("shared.limits", 1)?, r.f32("correction.radii", 1)?);
    for (name, list) in [("shared.limits", &made.limits), ("correction.radii", &made.radii)] {
        if !list.is_empty() {
            r.count(name, list.len(), vertices)?;
        }
        if list.iter().any(|x| *x < 0.0) {
            return Err(damaged(format!("array \"{name}\" holds a negative length")));
        }
    }
    Ok(made)
}

fn read_pose_space(r: &Reader<'_>, rig: &Rig, stored: &StoredPoseSpace) -> Result<BakedPoseSpace, ReadError> {
    let (vertices, bones) = (rig.mesh.positions.len(), rig.skeleton.len());
    let bone = |b: u32| BoneIndex::new(b as usize);
    if !(stored.sigma > 0.0 && positive(stored.sigma * stored.sigma)) {
        return Err(damaged("the width of the kernel is not positive"));
    }
    let carrier = match stored.carrier.as_str() {
        "base" => Carrier::Base,
        "world" => Carrier::World,
        "bones" => {
            let list = r.indices("pose_space.bones", 1, bones)?;
            r.count("pose_space.bones", list.len(), vertices)?;
            Carrier::Bones(list.into_iter().map(bone).collect())
        }
        other => return Err(ReadError::Unsupported { feature: format!("carrier \"{other}\"") }),
    };
    let ends = r.indices("pose_space.joints", 2, bones)?;
    let limits = r.f64("pose_space.limits", 1)?;
    r.count("pose_space.limits", limits.len(), ends.len() / 2)?;
    if limits.iter().any(|limit| limit.is_nan() || *limit < 0.0) {
        return Err(damaged("a joint has no limit"));
    }
    let joints = ends.chunks_exact(2).zip(limits);
    let joints: Vec<pose_space::Joint> =
        joints.map(|(ends, limit)| pose_space::Joint { parent: bone(ends[0]), bone: bone(ends[1]), limit }).collect();
    let frozen: Vec<bool> = r.indices("pose_space.frozen", 1, 2)?.into_iter().map(|f| f == 1).collect();
    r.count("pose_space.frozen", frozen.len(), bones)?;
    let finite = |name: &str, columns: usize| match r.f64(name, columns)? {
        all if all.iter().all(|x| x.is_finite()) => Ok(all),
        _ => Err(damaged(format!("array \"{name}\" holds numbers that are not finite"))),
    };
    let examples = finite("pose_space.examples", 9)?;
    let examples: Vec<[f64; 9]> = examples.chunks_exact(9).map(|x| x.try_into().unwrap_or_default()).collect();
    if !examples.len().is_multiple_of(joints.len().max(1)) {
        return Err(damaged("the examples of the pose space are not joints × poses"));
    }
    let count = examples.len() / joints.len().max(1);
    let relevance = finite("pose_space.relevance", 1)?;
    let group_joints = r.indices("pose_space.group_joints", 1, joints.len())?;
    r.count("pose_space.relevance", relevance.len(), group_joints.len())?;
    if relevance.iter().any(|a| *a < 0.0) {
        return Err(damaged("a joint of the pose space has negative relevance"));
    }
    let relevance: Vec<(u32, f64)> = group_joints.into_iter().zip(relevance).collect();
    let centres = r.indices("pose_space.centres", 1, count)?;
    let groups = r.u32("pose_space.centre_offsets", 1)?.len().saturating_sub(1);
    let offsets = r.offsets("pose_space.centre_offsets", groups, centres.len())?;
    let joint_offsets = r.offsets("pose_space.joint_offsets", groups, relevance.len())?;
    let mut kernel = Kernel::new(stored.sigma, Weld::along(&rig.skeleton, &frozen), joints, examples);
    let slice = |offsets: &[u32], g: usize| offsets[g] as usize..offsets[g + 1] as usize;
    for g in 0..groups {
        kernel.push(&relevance[slice(&joint_offsets, g)], &centres[slice(&offsets, g)]);
    }
    let of_vertices = r.u32("pose_space.groups", 1)?;
    r.count("pose_space.groups", of_vertices.len(), vertices)?;
    let weights: Vec<Vec3> = r.f32("pose_space.weights", 3)?.chunks_exact(3).map(Vec3::from_slice).collect();
    let mut starts = vec![0u32];
    let mut total = 0usize;
    for &g in &of_vertices {
        total += match g {
            NO_GROUP => 0,
            g if (g as usize) < groups => kernel.range(g as usize).len(),
            g => return Err(damaged(format!("a vertex is of group {g}, but there are {groups}"))),
        };
        // More than the file holds is refused before it can overflow.
        if total > weights.len() {
            break;
        }
        starts.push(total as u32);
    }
    r.count("pose_space.weights", weights.len(), total)?;
    let radii = r.f32("pose_space.radii", 1)?;
    if !radii.is_empty() {
        r.count("pose_space.radii", radii.len(), vertices)?;
    }
    if radii.iter().any(|r| *r < 0.0) {
        return Err(damaged("a radius of the guard is negative"));
    }
    Ok(BakedPoseSpace { kernel, carrier, groups: of_vertices, offsets: starts, weights, radii })
}
