//! The model file (`.dermis`): a safetensors file with the baked arrays, the rig they belong to, and a JSON header.
//!
//! The header is the metadata entry `dermis`: format version, method, settings, report, recipe, the rig's names and its
//! fingerprint (SHA-256 over topology, bone names and order). Arrays are little-endian. Positions of the rig are `f64`,
//! what evaluation reads is `f32` or, on request, coefficients of 16 bits.
//!
//! The file holds the rig, so posing and exporting a model need no other file. The fingerprint ties the arrays to the rig.
//!
//! Arrays and header fields of the corrections that precede the last one have the same names within `corrections.N.`, and in the
//! header's list `corrections`.
//!
//! A reader accepts every version up to its own, refuses newer ones by number, and ignores header fields that it does not
//! know. From version 4 on the format changes only together with a migration test: `tests/stored_models.rs` reads files of
//! every version and compares the skins that they evaluate to with those that their own program printed.

mod corrective_smooth;
mod delta_mush;
mod drawn;
mod enveloping;
mod evidence;
mod joints;
mod morphs;
mod pose_space;
mod rotational_regression;
mod springs;

pub use evidence::{Evidence, Validation};

use crate::chain_springs::ChainSprings;
use crate::contents::{Format, ReadError, Space, UpAxis};
use crate::stack_file::StackFile;
pub(crate) use crate::tensors::{Reader, Tensors, damaged};
use crate::writing::WriteError;
use dermis_deform::baked::{BakedBase, BakedCorrection, Coefficients};
use dermis_deform::{Base, Deformer, DualQuaternions, RiggedDeformer, StackPose, TrainingPoses};
use dermis_rig::glam::{DAffine3, DVec3, Vec4};
use dermis_rig::skeleton::{from_rows, row};
use dermis_rig::{BoneIndex, Influences, Mesh, Polygons, Rig, Skeleton};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::io::{Cursor, Read, Seek, Write};

/// The version this program writes.
///
/// 1: bases and multi-weight enveloping. 2: joint models and pose-space deformation. 3: other kernels, remainders and
/// channels of pose-space deformation; shapes; rotational regression. 4: coefficients of 16 bits. 5: a base of stacked deformers.
/// 6: shapes with names and bounded weights. 7: a base of direct delta
/// mush; features of enveloping seen from a point.
/// 9: windows of shapes; joints of whose rotation a part is read. 10: joint models that remember sculpts. 11: corrections one after
/// another. 12: a base of corrective smoothing. 13: springs of secondary motion.
/// 14: parts of the rotations of a joint model, and products of its joints.
/// Programs that know nothing of materials, of objects or of morph targets, pass over the arrays and header fields that carry them.
pub const VERSION: u32 = 14;

/// What a model file holds: a deformer with its rig, and where both come from.
///
/// The deformer's accessors are those of the file: `file.rig()`, `file.baked()`.
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// The deformer and the rig it moves.
    pub model: RiggedDeformer,
    /// The rig file's own axes and unit.
    pub space: Space,
    /// Method, settings, report.
    pub header: ModelHeader,
}

impl std::ops::Deref for ModelFile {
    type Target = RiggedDeformer;
    fn deref(&self) -> &RiggedDeformer {
        &self.model
    }
}

/// What the header is called among the texts of a safetensors file.
const KEY: &str = "dermis";

/// What fitted weights and a base of them are called in a file.
const FITTED: &str = "fitted-weights";

/// What a base of rotational regression is called in a file.
const ROTATIONAL: &str = "rotational-regression";

/// What a base of direct delta mush is called in a file.
const DELTA_MUSH: &str = "direct-delta-mush";

/// What a base of corrective smoothing is called in a file.
const CORRECTIVE_SMOOTH: &str = "corrective-smooth";

/// What a base of deformers one after another is called in a file.
const STACK: &str = "stack";

/// What the model says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelHeader {
    /// The method, by its name on the command line.
    pub method: String,
    /// The program that wrote it.
    pub program: String,
    /// Every setting by name, defaults included.
    pub settings: Vec<(String, String)>,
    /// The report of the fit.
    pub report: Value,
    /// The recipe that made the model, as data, with paths as its provenance states them: from the model's own folder, or names alone;
    /// absent in files of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Value>,
    /// What the fit found out on poses that it did not see; absent if it validated nothing, and in files of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Springs of bone chains that were learnt; none in files of earlier programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ChainSprings>,
}

impl ModelHeader {
    /// Returns the header of a fit that `program` made.
    ///
    /// # Errors
    /// What serde says of a report that is no JSON.
    pub fn of_fit(
        program: &str,
        method: &str,
        settings: &[(String, String)],
        report: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            method: method.to_owned(),
            program: program.to_owned(),
            settings: settings.to_vec(),
            report: serde_json::to_value(report)?,
            recipe: None,
            evidence: None,
            chains: Vec::new(),
        })
    }
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
    /// The deformers of a base that is a stack, in metres, Y up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stack: Option<StackFile>,
    /// The last correction.
    #[serde(flatten)]
    correction: StoredCorrection,
    /// Those before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    corrections: Vec<StoredCorrection>,
    #[serde(default)]
    training_length: Option<f64>,
    #[serde(default)]
    parts: Vec<drawn::StoredPart>,
    /// The objects of the mesh, if it is several; absent in files of earlier programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    objects: Vec<drawn::StoredObject>,
    /// Whether drawn vertices come from corners of polygons.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_corner: bool,
    /// κ of springs of secondary motion, 1/s²; absent without springs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spring_coupling: Option<f64>,
    /// The morph targets that the rig came with; absent in files of earlier programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    morphs: Vec<morphs::StoredMorph>,
}

/// A correction as stored.
#[derive(Default, Serialize, Deserialize)]
struct StoredCorrection {
    #[serde(default)]
    rows: Option<String>,
    /// What features of multi-weight enveloping are seen from; the origin if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<[f64; 3]>,
    #[serde(default)]
    joints: Option<joints::StoredJoints>,
    #[serde(default)]
    pose_space: Option<pose_space::StoredPoseSpace>,
    #[serde(default)]
    shapes: Option<pose_space::StoredPoseSpace>,
    #[serde(default)]
    length: Option<f64>,
}

/// What the arrays of a correction are called that others follow.
fn prefix(at: usize) -> String {
    format!("corrections.{at}.")
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

/// A correction's coefficients: `f32`, or `i16` and beside them what each vertex measures them in.
fn write_coefficients<'a>(t: &mut Tensors<'a>, columns: &[usize], coefficients: Cow<'a, Coefficients>) {
    let shape: Vec<usize> = std::iter::once(coefficients.len() / columns.iter().product::<usize>().max(1))
        .chain(columns.iter().copied())
        .collect();
    let name = "correction.coefficients";
    match coefficients {
        Cow::Owned(Coefficients::Single(values)) => t.f32(name, &shape, values),
        Cow::Borrowed(Coefficients::Single(values)) => t.f32(name, &shape, values.iter().copied()),
        Cow::Owned(Coefficients::Sixteen { values, units }) => {
            t.i16(name, &shape, values);
            t.f32("correction.units", &[units.len()], units);
        }
        Cow::Borrowed(Coefficients::Sixteen { values, units }) => {
            t.i16(name, &shape, values.iter().copied());
            t.f32("correction.units", &[units.len()], units.iter().copied());
        }
    }
}

/// A correction's coefficients, `columns` a row, of some vertices.
fn read_coefficients(r: &Reader<'_>, columns: usize, vertices: usize) -> Result<Coefficients, ReadError> {
    let name = "correction.coefficients";
    if !r.has("correction.units") {
        return Ok(Coefficients::Single(r.f32(name, columns)?));
    }
    let units = r.f32("correction.units", 1)?;
    r.count("correction.units", units.len(), vertices)?;
    Ok(Coefficients::Sixteen { values: r.i16(name, columns)?, units })
}

fn write_influences<'a>(t: &mut Tensors<'a>, name: &str, influences: &'a Influences) {
    let mut offset = 0u32;
    let offsets = std::iter::once(0).chain(influences.rows().map(move |row| {
        offset += row.len() as u32;
        offset
    }));
    t.u32(&format!("{name}.offsets"), &[influences.vertices() + 1], offsets);
    let entries = || influences.rows().flatten();
    t.u32(&format!("{name}.bones"), &[influences.count()], entries().map(|e| e.0.get() as u32));
    t.f64(&format!("{name}.values"), &[influences.count()], entries().map(|e| e.1));
}

fn read_influences(r: &Reader<'_>, name: &str, vertices: usize, bones: usize) -> Result<Option<Influences>, ReadError> {
    if !r.has(&format!("{name}.offsets")) {
        return Ok(None);
    }
    let named = r.indices(&format!("{name}.bones"), 1, bones)?;
    let values = r.f64(&format!("{name}.values"), 1)?;
    r.count(&format!("{name}.values"), values.len(), named.len())?;
    let entries = named.iter().zip(values).map(|(&b, x)| (BoneIndex::new(b as usize), x)).collect();
    let rows = r.rows(&format!("{name}.offsets"), vertices, entries)?;
    Ok(Some(Influences::from_rows(rows.iter().map(<[_]>::to_vec))?))
}

/// Writes a model file, array after array: the file is never held.
///
/// # Errors
/// [`WriteError::CannotHold`] if the arrays cannot be stored, [`WriteError::Output`] if `out` takes no more.
pub fn write(model: &ModelFile, out: &mut dyn Write) -> Result<(), WriteError> {
    let (rig, baked) = (model.rig(), model.baked());
    let mut t = Tensors::default();
    let vertices = rig.mesh().positions.len();
    t.f64("rest_vertices", &[vertices, 3], rig.mesh().positions.iter().flat_map(|p| p.to_array()));
    t.u32("triangles", &[rig.mesh().triangles.len(), 3], rig.mesh().triangles.iter().flatten().copied());
    if let Some(polygons) = &rig.mesh().polygons {
        t.u32("polygons.counts", &[polygons.counts.len()], polygons.counts.iter().copied());
        t.u32("polygons.indices", &[polygons.indices.len()], polygons.indices.iter().copied());
    }
    drawn::write(&mut t, rig.mesh());
    morphs::write(&mut t, rig.mesh());
    let bind = rig.skeleton().bind().iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j))).flatten();
    t.f64("bind_matrices", &[rig.skeleton().len(), 3, 4], bind);
    for (name, influences) in
        [("weights", rig.weights()), ("influence_maps", rig.influence_maps()), (FITTED, model.fitted_weights())]
    {
        if let Some(influences) = influences {
            write_influences(&mut t, name, influences);
        }
    }
    let cannot = |what: String| WriteError::CannotHold { format: Format::Model, what };
    let mut stack = None;
    let base = match baked.base() {
        BakedBase::Stack(layers) => {
            let described = StackFile::of(layers, rig, &Space::default());
            stack = Some(described.map_err(|e| cannot(e.to_string()))?);
            STACK
        }
        BakedBase::Rigid(_) => "rigid",
        // A name of its own: a program that does not know fitted weights must not run the rig's instead.
        BakedBase::Lbs(_) if model.fitted_weights().is_some() => FITTED,
        BakedBase::Lbs(_) => "lbs",
        BakedBase::Dqs(..) => "dqs",
        BakedBase::DirectDeltaMush(mush) => {
            delta_mush::write(&mut t, mush);
            DELTA_MUSH
        }
        BakedBase::CorrectiveSmooth(smooth) => {
            corrective_smooth::write(&mut t, smooth);
            CORRECTIVE_SMOOTH
        }
        BakedBase::Rest => "rest",
        BakedBase::Given => "given",
        BakedBase::RotationalRegression(model) => {
            rotational_regression::write(&mut t, model);
            ROTATIONAL
        }
        BakedBase::AnimationSpace { bones, a } => {
            t.rows(("animation_space.offsets", "animation_space.bones"), bones);
            t.f32("animation_space.a", &[a.len(), 4], a.iter().flat_map(|a| a.to_array()));
            "animation-space"
        }
    };
    let (mut corrections, mut correction) = (Vec::new(), StoredCorrection::default());
    if let [before @ .., last] = baked.corrections() {
        for (at, correction) in before.iter().enumerate() {
            t.begin(prefix(at));
            corrections.push(StoredCorrection::write(&mut t, correction, rig));
        }
        t.begin(String::new());
        correction = StoredCorrection::write(&mut t, last, rig);
    }
    if let Some(training) = model.training() {
        let joints = training.joints.iter().flat_map(|(p, b)| [p.get() as u32, b.get() as u32]);
        t.u32("training.joints", &[training.joints.len(), 2], joints);
        t.f32("training.features", &[training.features.len(), 12], training.features.iter().flatten().copied());
    }
    if let Some(springs) = model.springs() {
        springs::write(&mut t, springs);
    }
    let stored = Stored {
        format_version: VERSION,
        header: model.header.clone(),
        rig: rig.name().to_owned(),
        fingerprint: fingerprint(rig.mesh(), rig.skeleton()),
        bone_names: rig.skeleton().names().to_vec(),
        bone_parents: rig.skeleton().parents().iter().map(|p| p.map_or(-1, |b| b.get() as i64)).collect(),
        up_axis: if model.space.up == UpAxis::Y { "Y".into() } else { "Z".into() },
        metres_per_unit: model.space.metres_per_unit,
        unit: model.space.unit.clone(),
        base: base.into(),
        stack,
        correction,
        corrections,
        training_length: model.training().map(|t| t.length),
        parts: drawn::parts(rig.mesh()),
        objects: drawn::objects(rig.mesh()),
        by_corner: rig.mesh().render.as_ref().is_some_and(|render| render.by_corner),
        spring_coupling: model.springs().map(dermis_deform::secondary::Springs::coupling),
        morphs: morphs::stored(rig.mesh()),
    };
    let json = serde_json::to_string(&stored).map_err(|e| cannot(e.to_string()))?;
    t.write(KEY, json, out)
}

/// Reads a model file.
///
/// # Errors
/// [`ReadError`]: wrong kind, damaged, or written by a newer program.
pub fn read(bytes: &[u8]) -> Result<ModelFile, ReadError> {
    read_from(Cursor::new(bytes), bytes.len() as u64)
}

/// Reads a model file of `length` bytes, array after array: the file is never held.
///
/// # Errors
/// As [`read`].
pub fn read_from(mut source: impl Read + Seek, length: u64) -> Result<ModelFile, ReadError> {
    let wrong = |reason: String| ReadError::WrongKind { format: Format::Model, reason };
    let r = Reader::open(&mut source, length).map_err(wrong)?;
    let json = r.text(KEY).ok_or_else(|| wrong("it has no Dermis header".into()))?;
    let version = serde_json::from_slice::<Value>(json.as_bytes()).ok().and_then(|v| v.get("format_version")?.as_u64());
    match version {
        Some(version) if version > u64::from(VERSION) => {
            return Err(ReadError::Unsupported {
                feature: format!("model format version {version} (this program reads up to {VERSION})"),
            });
        }
        Some(_) => {}
        None => return Err(damaged("the header has no format version")),
    }
    let stored: Stored = serde_json::from_slice(json.as_bytes()).map_err(|e| damaged(format!("header: {e}")))?;
    let rig = read_rig(&r, &stored)?;
    let found = fingerprint(rig.mesh(), rig.skeleton());
    if found != stored.fingerprint {
        return Err(damaged("the rig in the file is not the one its fingerprint was taken of"));
    }
    let weights = read_influences(&r, FITTED, rig.mesh().positions.len(), rig.skeleton().len())?;
    let deformer = Deformer::new(rig.mesh().positions.clone(), read_base(&rig, weights.as_ref(), &stored)?, None)
        .map_err(|e| damaged(e.to_string()))?;
    let mut baked = deformer.bake();
    if stored.base == "animation-space" {
        let bones = r.indices("animation_space.bones", 1, rig.skeleton().len())?;
        let a = r.f32("animation_space.a", 4)?;
        r.count("animation_space.a", a.len() / 4, bones.len())?;
        let bones = r.rows("animation_space.offsets", rig.mesh().positions.len(), bones)?;
        let a = a.chunks_exact(4).map(Vec4::from_slice).collect();
        let base = BakedBase::AnimationSpace { bones, a };
        baked = baked.with_base(base).map_err(|e| damaged(e.to_string()))?;
    }
    if stored.base == DELTA_MUSH {
        let base = BakedBase::DirectDeltaMush(delta_mush::read(&r, &rig)?);
        baked = baked.with_base(base).map_err(|e| damaged(e.to_string()))?;
    }
    if stored.base == CORRECTIVE_SMOOTH {
        let base = BakedBase::CorrectiveSmooth(Box::new(corrective_smooth::read(&r, &rig)?));
        baked = baked.with_base(base).map_err(|e| damaged(e.to_string()))?;
    }
    if stored.base == ROTATIONAL {
        let base = BakedBase::RotationalRegression(Box::new(rotational_regression::read(&r, &rig)?));
        baked = baked.with_base(base).map_err(|e| damaged(e.to_string()))?;
    }
    let mut corrections = Vec::new();
    for (at, correction) in stored.corrections.iter().enumerate() {
        r.begin(prefix(at));
        let read = correction.read(&r, &rig)?;
        corrections.push(read.ok_or_else(|| damaged(format!("correction {at} has no form")))?);
    }
    r.begin(String::new());
    corrections.extend(stored.correction.read(&r, &rig)?);
    let baked = baked.with_corrections(corrections).and_then(|baked| baked.for_bones(rig.skeleton().len()));
    let baked = baked.map_err(|e| damaged(e.to_string()))?;
    let training = match stored.training_length {
        Some(length) if r.has("training.joints") => {
            let joints = r.indices("training.joints", 2, rig.skeleton().len())?;
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
    if let Some(chain) = stored.header.chains.iter().find(|chain| !(chain.is_usable() && chain.serves(rig.skeleton())))
    {
        return Err(damaged(format!(
            "the springs of the chain \"{:.60}\" are out of range, or not its bones'",
            chain.name()
        )));
    }
    let springs = stored.spring_coupling.map(|coupling| springs::read(&r, coupling)).transpose()?;
    let model = RiggedDeformer::new(rig, weights, baked, training).and_then(|model| model.with_springs(springs));
    let model = model.map_err(|e| damaged(e.to_string()))?;
    Ok(ModelFile { model, space, header: stored.header })
}

impl StoredCorrection {
    /// Writes the arrays of a correction.
    fn write<'a>(t: &mut Tensors<'a>, correction: &'a BakedCorrection, rig: &Rig) -> Self {
        let mut stored = Self { length: Some(correction.length()), ..Self::default() };
        match correction {
            BakedCorrection::Enveloping(c) => {
                stored.rows = Some(enveloping::write(t, c, rig));
                stored.origin = Some(c.shared.origin.to_array()).filter(|o| *o != [0.0; 3]);
            }
            BakedCorrection::Joints(c) => stored.joints = Some(joints::write(t, c, rig)),
            BakedCorrection::PoseSpace(c) => stored.pose_space = Some(pose_space::write(t, c, rig)),
            BakedCorrection::Shapes(c) => stored.shapes = Some(pose_space::write_shapes(t, c, rig)),
        }
        stored
    }

    /// The correction, if there is one.
    fn read(&self, r: &Reader<'_>, rig: &Rig) -> Result<Option<BakedCorrection>, ReadError> {
        let enveloping = |rows| enveloping::read(r, rig, self, rows).map(|c| BakedCorrection::Enveloping(Box::new(c)));
        Ok(match (&self.joints, &self.pose_space, &self.shapes) {
            (Some(joints), _, _) => Some(BakedCorrection::Joints(Box::new(joints::read(r, rig, self, joints)?))),
            (None, Some(form), _) => Some(BakedCorrection::PoseSpace(Box::new(pose_space::read(r, rig, form)?))),
            (None, None, Some(form)) => Some(BakedCorrection::Shapes(Box::new(pose_space::read_shapes(r, rig, form)?))),
            (None, None, None) => self.rows.as_deref().map(enveloping).transpose()?,
        })
    }
}

fn positive(length: f64) -> bool {
    length > 0.0 && length.is_finite()
}

fn read_rig(r: &Reader<'_>, stored: &Stored) -> Result<Rig, ReadError> {
    let positions: Vec<DVec3> = r.f64("rest_vertices", 3)?.chunks_exact(3).map(DVec3::from_slice).collect();
    let vertices = positions.len();
    let triangles = drawn::threes(&r.indices("triangles", 3, vertices)?);
    let mut mesh = Mesh { positions, triangles, ..Mesh::default() };
    if r.has("polygons.counts") {
        let indices = r.indices("polygons.indices", 1, vertices)?;
        mesh.polygons = Some(Polygons { counts: r.u32("polygons.counts", 1)?, indices });
    }
    drawn::read(r, stored, &mut mesh)?;
    mesh.morphs = morphs::read(r, &stored.morphs, vertices)?;
    let rows = r.f64("bind_matrices", 12)?;
    let take = |m: &[f64], at: usize| [m[at], m[at + 1], m[at + 2], m[at + 3]];
    let bind: Vec<DAffine3> = rows.chunks_exact(12).map(|m| from_rows([take(m, 0), take(m, 4), take(m, 8)])).collect();
    let (skeleton, order) = Skeleton::sorted(stored.bone_names.clone(), &stored.bone_parents, &bind)?;
    if order.windows(2).any(|w| w[0] > w[1]) {
        return Err(damaged("a bone comes before its parent"));
    }
    let bones = skeleton.len();
    let weights = read_influences(r, "weights", vertices, bones)?;
    let influence_maps = read_influences(r, "influence_maps", vertices, bones)?;
    let rig = Rig::new(mesh, skeleton, weights)?.with_influence_maps(influence_maps)?;
    Ok(rig.named(&*stored.rig))
}

fn read_base(rig: &Rig, fitted: Option<&Influences>, stored: &Stored) -> Result<Base, ReadError> {
    let weights = || rig.weights().cloned().ok_or_else(|| damaged(format!("base \"{}\" needs weights", stored.base)));
    Ok(match stored.base.as_str() {
        "rigid" => Base::Rigid(weights()?),
        "lbs" => Base::Lbs(weights()?),
        FITTED => Base::Lbs(fitted.cloned().ok_or_else(|| damaged("fitted weights are missing"))?),
        "dqs" => Base::Dqs(weights()?, DualQuaternions::new(rig.skeleton())),
        "rest" => Base::Rest,
        "given" | "animation-space" | ROTATIONAL | DELTA_MUSH | CORRECTIVE_SMOOTH => Base::Given,
        STACK => {
            let file = stored.stack.as_ref().ok_or_else(|| damaged("the deformers of the stack are missing"))?;
            let stack = file.stack(rig, &Space::default()).map_err(|e| damaged(e.to_string()))?;
            Base::Stack(Box::new(stack), StackPose::default())
        }
        other => return Err(ReadError::Unsupported { feature: format!("base \"{other}\"") }),
    })
}
