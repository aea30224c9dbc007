//! Tables of driven shapes and helper bones as JSON; docs/drivers.md and docs/compile.md define every field.
//!
//! The structs below are the files: the order of their fields is the order in the text.

use crate::Format;
use crate::contents::ReadError;
use crate::model_file::damaged;
use crate::writing::WriteError;
use dermis_deform::JointKernel;
use dermis_deform::gravity::NUMBERS;
use dermis_deform::joints::JointReading;
use dermis_deform::pose_space::{Coordinates, Family, JointPart, Window};
use dermis_deform::tables::{
    DrivenHelper, DrivingJoint, HelperTable, JointTable, NamedBone, PoseDriver, TableBone, TableGravity, TableJoint,
};
use dermis_rig::glam::DVec3;
use dermis_rig::index::TypedIndex;
use dermis_rig::skeleton::{from_rows, row};
use dermis_rig::{BoneIndex, IndexVec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write;

/// What files of driven shapes call themselves.
pub const DRIVERS: &str = "dermis-drivers";
/// What files of helper bones call themselves.
pub const HELPERS: &str = "dermis-helpers";
/// The name of the glTF extension that holds the driver of a pose space.
pub const POSE_SPACE_EXTENSION: &str = "DERMIS_pose_space";
/// The name of the glTF extension that holds the drivers of a joint model.
pub const JOINT_EXTENSION: &str = "DERMIS_joint_drivers";
/// The version of both extensions, but for pose spaces with windows or with parts of rotations, and for joint models with shapes of
/// remembered sculpts, which are of the next one, for joint models with other kernels or bones that see down, which are of the one
/// after it, and for those with parts of rotations or products, which are of the fourth.
pub const EXTENSION_VERSION: u32 = 1;

/// A table that can be written.
#[derive(Clone, Copy, Debug)]
pub enum Table<'a> {
    /// Shapes of a joint model: `dermis-drivers`, version 1; with shapes of remembered sculpts version 4; with another kernel or bones
    /// that see down version 5; with parts of rotations or products version 6.
    Joints(&'a JointTable),
    /// Shapes of a pose space: `dermis-drivers`, version 2; with windows or parts of rotations version 3.
    PoseSpace(&'a PoseSpaceTable),
    /// Helper bones: `dermis-helpers`, version 1.
    Helpers(&'a HelperTable),
}

/// The driver of a pose space with the names that a file of its own needs.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseSpaceTable {
    /// The mesh whose morph targets are driven.
    pub mesh: String,
    /// The bones that are read.
    pub bones: IndexVec<TableBone, NamedBone>,
    /// The morph targets, in the order of the mesh.
    pub shapes: Vec<String>,
    /// What is computed.
    pub driver: PoseDriver<TableBone>,
}

/// Writes a table; `generator` is the program that does.
///
/// # Errors
/// [`WriteError::CannotHold`] if JSON cannot hold the table, [`WriteError::Output`].
pub fn write(table: Table<'_>, generator: &str, out: &mut dyn Write) -> Result<(), WriteError> {
    let written = match table {
        Table::Joints(table) => serde_json::to_writer(out, &JointFile::of(table, generator)),
        Table::PoseSpace(table) => serde_json::to_writer(out, &PoseSpaceFile::of(table, generator)),
        Table::Helpers(table) => serde_json::to_writer(out, &HelperFile::of(table, generator)),
    };
    written.map_err(|error| if error.is_io() { std::io::Error::from(error).into() } else { cannot_hold(error) })
}

/// The content of the glTF extension [`POSE_SPACE_EXTENSION`]. The node of a bone has the bone's number.
///
/// # Errors
/// [`WriteError::CannotHold`] if JSON cannot hold the driver.
pub fn pose_space_extension(driver: &PoseDriver<BoneIndex>) -> Result<Value, WriteError> {
    extension(&DriverFile::of(driver), EXTENSION_VERSION + u32::from(is_extended(driver)))
}

/// Whether a driver has windows, or joints of whose rotation a part is read: readers of version 2 would pass over them.
fn is_extended<B>(driver: &PoseDriver<B>) -> bool {
    driver.regions.iter().any(|region| !region.windows.is_empty())
        || driver.joints.iter().any(|joint| joint.part != JointPart::Whole)
}

/// The content of the glTF extension [`JOINT_EXTENSION`]: the fields of the table, with nodes for its bones.
///
/// - `bones`: the rig's bone for each bone of the table; the node of a bone has the bone's number
///
/// # Errors
/// [`WriteError::CannotHold`] if JSON cannot hold the table.
pub fn joint_extension(table: &JointTable, bones: &IndexVec<TableBone, BoneIndex>) -> Result<Value, WriteError> {
    let version = EXTENSION_VERSION + kind_of(table) as u32;
    extension(&JointDriverFile::of(table, |bone| bones[bone].get()), version)
}

fn extension(driver: &impl Serialize, version: u32) -> Result<Value, WriteError> {
    let mut content = serde_json::to_value(driver).map_err(cannot_hold)?;
    content["version"] = version.into();
    Ok(content)
}

fn cannot_hold(error: serde_json::Error) -> WriteError {
    WriteError::CannotHold { format: Format::Gltf, what: format!("a driver table: {error}") }
}

/// Reads the table of a joint model that remembers no sculpts.
///
/// # Errors
/// [`ReadError::Damaged`] if the text is no such table, if a joint names a bone that the table lacks, or if its counts or
/// limits contradict each other; [`ReadError::Unsupported`] for another format or version.
pub fn read_joints(bytes: &[u8]) -> Result<JointTable, ReadError> {
    let file: JointFile = serde_json::from_slice(bytes).map_err(|e| damaged(format!("driver table: {e}")))?;
    if !matches!(file.version, 5 | 6) {
        expect((&file.format, file.version), DRIVERS)?;
    }
    file.check().map_err(|what| damaged(format!("driver table: {what}")))?;
    let bones = file.bones.len();
    if let Some(joint) = file.joints.iter().find(|joint| joint.from.max(joint.to) >= bones) {
        return Err(damaged(format!("driver table: a joint of bones {} and {} of {bones}", joint.from, joint.to)));
    }
    if let Some(entry) = file.gravity.iter().flat_map(|gravity| &gravity.bones).find(|entry| entry.bone >= bones) {
        return Err(damaged(format!("driver table: bone {} of {bones} sees down", entry.bone)));
    }
    let joint = |joint: JointEntry| TableJoint {
        reading: joint.reading(),
        second: joint.second,
        from: TableBone::new(joint.from),
        to: TableBone::new(joint.to),
        centre: joint.centre,
        limit: joint.limit,
        inducing: joint.inducing,
        inverse_factor: joint.inverse_factor,
    };
    let bone = |bone: BoneEntry| NamedBone { name: bone.name, inverse_bind: from_rows(bone.inverse_bind) };
    Ok(JointTable {
        mesh: file.mesh,
        length: file.length,
        kernel: JointKernel { sigma: file.sigma, arc_cosine: file.arc_cosine.unwrap_or(0.0) },
        bones: IndexVec::new(file.bones.into_iter().map(bone).collect()),
        joints: file.joints.into_iter().map(joint).collect(),
        gravity: file.gravity.map(GravityEntry::table),
        shapes: file.shapes,
        matrix: file.matrix,
        sculpts: None,
        offset: file.offset,
        clamp: file.clamp,
    })
}

/// Reads the table of helper bones.
///
/// # Errors
/// [`ReadError::Damaged`] if the text is no such table; [`ReadError::Unsupported`] for another format or version.
pub fn read_helpers(bytes: &[u8]) -> Result<HelperTable, ReadError> {
    let file: HelperFile = serde_json::from_slice(bytes).map_err(|e| damaged(format!("helper table: {e}")))?;
    expect((&file.format, file.version), HELPERS)?;
    let joint = |j: HelperJointEntry| DrivingJoint { from: j.from, to: j.to, limit: j.limit };
    let helper = |helper: HelperEntry| DrivenHelper {
        name: helper.name,
        parent: helper.parent,
        centre: helper.centre,
        joints: helper.joints.into_iter().map(joint).collect(),
        matrix: helper.matrix,
    };
    Ok(HelperTable { length: file.length, helpers: file.helpers.into_iter().map(helper).collect() })
}

/// Refuses a table of another kind or version than 1, which is the one that is read.
fn expect((format, version): (&str, u32), expected: &str) -> Result<(), ReadError> {
    match format == expected && version == 1 {
        true => Ok(()),
        false => {
            let feature =
                format!("a table \"{format:.40}\" of version {version} (\"{expected}\" of version 1 is read)");
            Err(ReadError::Unsupported { feature })
        }
    }
}

#[derive(Serialize, Deserialize)]
struct BoneEntry {
    name: String,
    inverse_bind: [[f64; 4]; 3],
}

impl BoneEntry {
    fn of(bone: &NamedBone) -> Self {
        Self { name: bone.name.clone(), inverse_bind: [0, 1, 2].map(|j| row(&bone.inverse_bind, j)) }
    }
}

#[derive(Serialize, Deserialize)]
struct JointFile {
    format: String,
    version: u32,
    generator: String,
    mesh: String,
    length: f64,
    sigma: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arc_cosine: Option<f64>,
    bones: Vec<BoneEntry>,
    joints: Vec<JointEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gravity: Option<GravityEntry>,
    shapes: Vec<String>,
    matrix: Vec<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    sculpts: Option<SpaceEntry>,
    offset: Vec<f64>,
    clamp: [f64; 2],
}

/// What the glTF extension of a joint model holds.
#[derive(Serialize)]
struct JointDriverFile {
    length: f64,
    sigma: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    arc_cosine: Option<f64>,
    joints: Vec<JointEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gravity: Option<GravityEntry>,
    matrix: Vec<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sculpts: Option<SpaceEntry>,
    offset: Vec<f64>,
    clamp: [f64; 2],
}

impl JointDriverFile {
    /// `number` is what the file calls a bone.
    fn of(table: &JointTable, number: impl Fn(TableBone) -> usize) -> Self {
        Self {
            length: table.length,
            sigma: table.kernel.sigma,
            arc_cosine: arc_cosine(table),
            joints: table.joints.iter().map(|joint| JointEntry::of(joint, &number)).collect(),
            gravity: table.gravity.as_ref().map(|gravity| GravityEntry::of(gravity, &number)),
            matrix: table.matrix.clone(),
            sculpts: table.sculpts.as_ref().map(|sculpts| SpaceEntry::of(sculpts, &number)),
            offset: table.offset.clone(),
            clamp: table.clamp,
        }
    }
}

/// What readers of a joint table must know: joints (0), shapes of remembered sculpts (1), other kernels and bones that see down (2),
/// parts of rotations and products (3).
fn kind_of(table: &JointTable) -> usize {
    if table.joints.iter().any(|joint| joint.reading != JointReading::Whole) {
        return 3;
    }
    match arc_cosine(table).is_some() || table.gravity.is_some() {
        true => 2,
        false => usize::from(table.sculpts.is_some()),
    }
}

/// The share of the arc-cosine kernel, if there is one.
fn arc_cosine(table: &JointTable) -> Option<f64> {
    Some(table.kernel.arc_cosine).filter(|share| *share > 0.0)
}

#[derive(Serialize, Deserialize)]
struct GravityEntry {
    down: [f64; 3],
    bones: Vec<SaggingEntry>,
}

#[derive(Serialize, Deserialize)]
struct SaggingEntry {
    bone: usize,
    limit: Option<f64>,
}

impl GravityEntry {
    fn of(gravity: &TableGravity, number: impl Fn(TableBone) -> usize) -> Self {
        let entry = |&(bone, limit): &(TableBone, Option<f64>)| SaggingEntry { bone: number(bone), limit };
        Self { down: gravity.down, bones: gravity.bones.iter().map(entry).collect() }
    }

    fn table(self) -> TableGravity {
        let bone = |entry: SaggingEntry| (TableBone::new(entry.bone), entry.limit);
        TableGravity { down: self.down, bones: self.bones.into_iter().map(bone).collect() }
    }
}

#[derive(Serialize, Deserialize)]
struct JointEntry {
    from: usize,
    to: usize,
    centre: Option<[f64; 3]>,
    /// The axis, if where it goes is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    swing: Option<[f64; 3]>,
    /// The axis, if the turn about it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    twist: Option<[f64; 3]>,
    /// Two joints before it, if it is their product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    product: Option<[u32; 2]>,
    limit: Option<f64>,
    inducing: Vec<[f64; 12]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    second: Vec<[f64; 12]>,
    inverse_factor: Vec<Vec<f64>>,
}

impl JointEntry {
    fn reading(&self) -> JointReading {
        match (self.swing, self.twist, self.product) {
            (Some(axis), ..) => JointReading::Swing(DVec3::from_array(axis)),
            (_, Some(axis), _) => JointReading::Twist(DVec3::from_array(axis)),
            (.., Some(both)) => JointReading::Product(both),
            _ => JointReading::Whole,
        }
    }

    fn of(joint: &TableJoint, number: impl Fn(TableBone) -> usize) -> Self {
        Self {
            from: number(joint.from),
            to: number(joint.to),
            centre: joint.centre,
            swing: if let JointReading::Swing(axis) = joint.reading { Some(axis.to_array()) } else { None },
            twist: if let JointReading::Twist(axis) = joint.reading { Some(axis.to_array()) } else { None },
            product: if let JointReading::Product(both) = joint.reading { Some(both) } else { None },
            limit: joint.limit,
            inducing: joint.inducing.clone(),
            second: joint.second.clone(),
            inverse_factor: joint.inverse_factor.clone(),
        }
    }
}

impl JointFile {
    /// What contradicts itself.
    fn check(&self) -> Result<(), String> {
        let (shapes, rows, offsets) = (self.shapes.len(), self.matrix.len(), self.offset.len());
        if (rows, offsets) != (shapes, shapes) {
            return Err(format!("{shapes} shapes, but {rows} rows of the matrix and {offsets} offsets"));
        }
        for (at, joint) in self.joints.iter().enumerate() {
            let (factor, inducing) = (joint.inverse_factor.len(), joint.inducing.len());
            if factor != inducing || joint.inverse_factor.iter().any(|row| row.len() > inducing) {
                return Err(format!("joint {at} has {inducing} inducing rotations, but a factor of another size"));
            }
            let both = joint.product.unwrap_or_default().map(|of| of as usize);
            let stands = |of: &usize| *of < at && self.joints[*of].product.is_none();
            if joint.product.is_some() && !both.iter().all(stands) {
                return Err(format!("joint {at} is a product of joints that do not stand before it"));
            }
            let seconds = if joint.product.is_some() { inducing } else { 0 };
            if joint.second.len() != seconds {
                return Err(format!("joint {at} has {} features of a second joint", joint.second.len()));
            }
        }
        let sagging = self.gravity.as_ref().map_or(0, |gravity| gravity.bones.len());
        let coordinates = self.joints.iter().map(|joint| joint.inducing.len()).sum::<usize>() + NUMBERS * sagging;
        if let Some(row) = self.matrix.iter().position(|row| row.len() != coordinates) {
            let found = self.matrix[row].len();
            return Err(format!("row {row} of the matrix has {found} numbers for {coordinates} coordinates"));
        }
        let [low, high] = self.clamp;
        if low > high {
            return Err(format!("weights are to lie between {low} and {high}"));
        }
        Ok(())
    }

    fn of(table: &JointTable, generator: &str) -> Self {
        Self {
            format: DRIVERS.into(),
            version: [1, 4, 5, 6][kind_of(table)],
            generator: generator.into(),
            mesh: table.mesh.clone(),
            length: table.length,
            sigma: table.kernel.sigma,
            arc_cosine: arc_cosine(table),
            bones: table.bones.iter().map(BoneEntry::of).collect(),
            joints: table.joints.iter().map(|joint| JointEntry::of(joint, TableBone::get)).collect(),
            gravity: table.gravity.as_ref().map(|gravity| GravityEntry::of(gravity, TableBone::get)),
            shapes: table.shapes.clone(),
            matrix: table.matrix.clone(),
            sculpts: table.sculpts.as_ref().map(|sculpts| SpaceEntry::of(sculpts, TableBone::get)),
            offset: table.offset.clone(),
            clamp: table.clamp,
        }
    }
}

#[derive(Serialize)]
struct PoseSpaceFile {
    format: String,
    version: u32,
    kind: String,
    generator: String,
    mesh: String,
    bones: Vec<BoneEntry>,
    shapes: Vec<String>,
    #[serde(flatten)]
    driver: DriverFile,
}

impl PoseSpaceFile {
    fn of(table: &PoseSpaceTable, generator: &str) -> Self {
        Self {
            format: DRIVERS.into(),
            version: 2 + u32::from(is_extended(&table.driver)),
            kind: "pose-space".into(),
            generator: generator.into(),
            mesh: table.mesh.clone(),
            bones: table.bones.iter().map(BoneEntry::of).collect(),
            shapes: table.shapes.clone(),
            driver: DriverFile::of(&table.driver),
        }
    }
}

/// What the table of a pose space and the glTF extension have in common.
#[derive(Serialize)]
struct DriverFile {
    #[serde(flatten)]
    space: SpaceEntry,
    offset: Vec<f64>,
    clamp: [f64; 2],
}

/// What drives shapes by the kernels of a pose space.
#[derive(Serialize)]
struct SpaceEntry {
    coordinates: CoordinatesEntry,
    kernel: KernelEntry,
    linear: bool,
    joints: Vec<PoseJointEntry>,
    channels: Vec<ChannelEntry>,
    regions: Vec<RegionEntry>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum CoordinatesEntry {
    Chord,
    RotationVector,
    Euler,
    SwingTwist { swing: f64, twist: f64 },
}

#[derive(Serialize)]
struct KernelEntry {
    kind: KernelKind,
    sigma: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum KernelKind {
    Gaussian,
    Wendland,
    Polyharmonic,
}

#[derive(Serialize)]
struct PoseJointEntry {
    path: Vec<[usize; 2]>,
    axis: [f64; 3],
    limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<PartEntry>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum PartEntry {
    Swing,
    Twist,
}

#[derive(Serialize)]
struct ChannelEntry {
    name: String,
    scale: f64,
    limit: Option<f64>,
}

#[derive(Serialize)]
struct RegionEntry {
    relevance: Vec<(usize, f64)>,
    centres: Vec<Vec<f64>>,
    shapes: Vec<usize>,
    matrix: Vec<Vec<f64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    windows: Vec<WindowEntry>,
}

#[derive(Serialize)]
struct WindowEntry {
    centre: u32,
    relevance: Vec<f64>,
}

impl DriverFile {
    fn of<B: TypedIndex>(driver: &PoseDriver<B>) -> Self {
        let space = SpaceEntry::of(driver, TypedIndex::get);
        Self { space, offset: driver.offset.clone(), clamp: driver.clamp }
    }
}

impl SpaceEntry {
    /// `number` is what the file calls a bone.
    fn of<B: TypedIndex>(driver: &PoseDriver<B>, number: impl Fn(B) -> usize) -> Self {
        let coordinates = match driver.coordinates {
            Coordinates::Chord => CoordinatesEntry::Chord,
            Coordinates::RotationVector => CoordinatesEntry::RotationVector,
            Coordinates::Euler => CoordinatesEntry::Euler,
            Coordinates::SwingTwist { swing, twist } => CoordinatesEntry::SwingTwist { swing, twist },
        };
        let kind = match driver.family {
            Family::Gaussian => KernelKind::Gaussian,
            Family::Wendland => KernelKind::Wendland,
            Family::Polyharmonic => KernelKind::Polyharmonic,
        };
        let joints = driver.joints.iter().map(|joint| PoseJointEntry {
            path: joint.path.iter().map(|pair| pair.map(&number)).collect(),
            axis: joint.axis,
            limit: joint.limit,
            part: match joint.part {
                JointPart::Whole => None,
                JointPart::Swing => Some(PartEntry::Swing),
                JointPart::Twist => Some(PartEntry::Twist),
            },
        });
        let window = |w: &Window| WindowEntry { centre: w.centre, relevance: w.relevance.clone() };
        let channels = driver.channels.iter().map(|channel| ChannelEntry {
            name: channel.name.clone(),
            scale: channel.scale,
            limit: channel.limit,
        });
        let regions = driver.regions.iter().map(|region| RegionEntry {
            relevance: region.relevance.iter().map(|&(j, a)| (j.get(), a)).collect(),
            centres: region.centres.clone(),
            shapes: region.shapes.clone(),
            matrix: region.matrix.clone(),
            windows: region.windows.iter().map(window).collect(),
        });
        Self {
            coordinates,
            kernel: KernelEntry { kind, sigma: driver.sigma },
            linear: driver.linear,
            joints: joints.collect(),
            channels: channels.collect(),
            regions: regions.collect(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct HelperFile {
    format: String,
    version: u32,
    generator: String,
    length: f64,
    helpers: Vec<HelperEntry>,
}

#[derive(Serialize, Deserialize)]
struct HelperEntry {
    name: String,
    parent: String,
    centre: [f64; 3],
    joints: Vec<HelperJointEntry>,
    matrix: Vec<Vec<f64>>,
}

#[derive(Serialize, Deserialize)]
struct HelperJointEntry {
    from: String,
    to: String,
    limit: f64,
}

impl HelperFile {
    fn of(table: &HelperTable, generator: &str) -> Self {
        let joint = |j: &DrivingJoint| HelperJointEntry { from: j.from.clone(), to: j.to.clone(), limit: j.limit };
        let helper = |helper: &DrivenHelper| HelperEntry {
            name: helper.name.clone(),
            parent: helper.parent.clone(),
            centre: helper.centre,
            joints: helper.joints.iter().map(joint).collect(),
            matrix: helper.matrix.clone(),
        };
        Self {
            format: HELPERS.into(),
            version: 1,
            generator: generator.into(),
            length: table.length,
            helpers: table.helpers.iter().map(helper).collect(),
        }
    }
}
