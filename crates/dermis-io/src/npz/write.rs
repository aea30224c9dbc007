//! Writing a bundle.

use super::space::space_written;
use crate::npy;
use crate::{Contents, Fill, Format, Record, Space, UpAxis, WriteError};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::row;
use dermis_rig::{MeshObject, Skeleton, WorldPose};
use std::collections::BTreeSet;
use std::io::{Cursor, Seek, Write};
use std::sync::Arc;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// The type in which a bundle stores its numbers that are no integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoredFloat {
    /// 32 bits.
    #[default]
    Single,
    /// 64 bits.
    Double,
}

/// Writes a bundle, deflated: mesh, skeleton, weights, influence maps and records, in the axes and unit of
/// [`Contents::space`], or in metres if bundles have no name for that unit.
///
/// A bundle has no place for clips, morph targets, colours and drawn vertices.
///
/// # Errors
/// [`WriteError`]: nothing to write, counts that disagree, numbers that are not finite in 32 bits, records of which only
/// some have a pose or a shape.
pub fn write(contents: &Contents, float: StoredFloat, out: &mut dyn Write) -> Result<(), WriteError> {
    write_with(contents, float, &[], out)
}

/// Writes a bundle and beside it arrays of displacements (P, V, 3) by name, one per record and vertex.
///
/// Displacements are turned and scaled as positions are. They are no part of a bundle, and [`read`](super::read) does not
/// read them.
///
/// # Errors
/// As [`write()`].
pub fn write_with(
    contents: &Contents,
    float: StoredFloat,
    displacements: &[(&str, &[Vec<DVec3>])],
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    write_beside(contents, float, displacements, |_, _| Ok(()), out)
}

/// Writes a bundle whose shapes are not held: the records of `contents` have poses alone, and `fill` gives the shape of each.
///
/// The bytes are those of [`write()`]. Lengths are filled in afterwards, so that `out` must be able to go back.
///
/// # Errors
/// As [`write()`], and those of `fill`.
pub fn write_streamed<W: Write + Seek>(
    contents: &Contents,
    float: StoredFloat,
    fill: Fill<'_>,
    out: &mut W,
) -> Result<(), WriteError> {
    bundle(contents, float, &[], Some(fill), |_, _| Ok(()), out)?;
    Ok(())
}

/// [`write_with`], and what `texts` writes, which gets the bundle's space.
pub(super) fn write_beside(
    contents: &Contents,
    float: StoredFloat,
    displacements: &[(&str, &[Vec<DVec3>])],
    texts: impl FnOnce(&mut Writer<Cursor<Vec<u8>>>, &Space) -> Result<(), WriteError>,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    // An archive is written with its lengths filled in afterwards, which `out` does not allow: it is made in memory.
    let bytes = bundle(contents, float, displacements, None, texts, Cursor::new(Vec::new()))?;
    Ok(out.write_all(bytes.get_ref())?)
}

fn bundle<W: Write + Seek>(
    contents: &Contents,
    float: StoredFloat,
    displacements: &[(&str, &[Vec<DVec3>])],
    fill: Option<Fill<'_>>,
    texts: impl FnOnce(&mut Writer<W>, &Space) -> Result<(), WriteError>,
    out: W,
) -> Result<W, WriteError> {
    let mut bundle = Writer::new(float, out);
    let (space, unit) = space_written(&contents.space);
    let from_ours = space.to_ours().inverse();
    let position = |p: &DVec3| from_ours.transform_point3(*p).to_array();
    let joint = |m: &DAffine3| {
        let m = space.joint_from_ours(*m);
        [row(&m, 0), row(&m, 1), row(&m, 2), [0.0, 0.0, 0.0, 1.0]].into_iter().flatten()
    };
    let vertices = contents.mesh.as_ref().map(|mesh| mesh.positions.len());
    if let Some(mesh) = &contents.mesh {
        bundle.numbers("rest_vertices", &[mesh.positions.len(), 3], mesh.positions.iter().flat_map(position))?;
        bundle.integers("faces", &[mesh.triangles.len(), 3], mesh.triangles.as_flattened())?;
        if let Some(polygons) = &mesh.polygons {
            bundle.integers("face_counts", &[polygons.counts.len()], &polygons.counts)?;
            bundle.integers("face_indices", &[polygons.indices.len()], &polygons.indices)?;
        }
        if mesh.has_several_objects() {
            let objects = &mesh.objects;
            bundle.texts("object_names", &objects.iter().map(|object| object.name.clone()).collect::<Vec<_>>())?;
            let numbers = |of: fn(&MeshObject) -> u32| objects.iter().map(of).collect::<Vec<u32>>();
            bundle.integers("object_counts", &[objects.len()], &numbers(|object| object.vertices))?;
            if objects.iter().any(|object| !object.visible) {
                bundle.integers("object_visible", &[objects.len()], &numbers(|object| object.visible.into()))?;
            }
        }
    }
    let bones = contents.skeleton.as_ref().map(Skeleton::len);
    if let Some(skeleton) = &contents.skeleton {
        bundle.texts("bone_names", skeleton.names())?;
        let parents = skeleton.parents().iter().map(|p| p.map_or(-1, |p| p.get() as i32));
        bundle.array("bone_parents", "<i4", &[skeleton.len()], parents.flat_map(i32::to_le_bytes).collect())?;
        bundle.numbers("bind_matrices", &[skeleton.len(), 4, 4], skeleton.bind().iter().flat_map(joint))?;
    } else if !contents.bone_names.is_empty() {
        bundle.texts("bone_names", &contents.bone_names)?;
    }
    let tables = [("lbs_weights", &contents.weights), ("influence_maps", &contents.influence_maps)];
    for (key, table) in tables {
        let Some(table) = table else { continue };
        let bones = bones.unwrap_or_else(|| table.bones_named()).max(table.bones_named());
        expect(key, "vertices", table.vertices(), vertices)?;
        expect(key, "bones", bones, contents.skeleton.as_ref().map(Skeleton::len))?;
        let mut dense = vec![0.0; table.vertices() * bones];
        for (row, values) in table.rows().zip(dense.chunks_exact_mut(bones.max(1))) {
            for (bone, value) in row {
                values[bone.get()] = *value;
            }
        }
        bundle.numbers(key, &[table.vertices(), bones], dense)?;
    }
    write_records(&mut bundle, contents, vertices, bones, fill, &position, &joint)?;
    for (key, rows) in displacements {
        let vertices = vertices.or(rows.first().map(Vec::len));
        expect(key, "records", rows.len(), Some(contents.records.len()))?;
        rows.iter().try_for_each(|row| expect(key, "vertices", row.len(), vertices))?;
        let values = rows.iter().flatten().flat_map(|d| from_ours.transform_vector3(*d).to_array());
        bundle.numbers(key, &[rows.len(), vertices.unwrap_or(0), 3], values)?;
    }
    if bundle.arrays == 0 {
        return Err(WriteError::Nothing { format: Format::Npz, needs: "a mesh, a skeleton, weights or records" });
    }
    texts(&mut bundle, &space)?;
    bundle.text("units", &unit)?;
    bundle.text("up_axis", if space.up == UpAxis::Z { "Z" } else { "Y" })?;
    bundle.finish().map_err(|e| refused(format!("the archive: {e}")))
}

fn write_records<W: Write + Seek, J: Iterator<Item = f64>>(
    out: &mut Writer<W>,
    contents: &Contents,
    vertices: Option<usize>,
    bones: Option<usize>,
    fill: Option<Fill<'_>>,
    position: &dyn Fn(&DVec3) -> [f64; 3],
    joint: &dyn Fn(&DAffine3) -> J,
) -> Result<(), WriteError> {
    let records = &contents.records;
    let what = |record: &Record| format!("record \"{}\"", record.label);
    let all_or_none = |has: &dyn Fn(&Record) -> bool, thing: &str| {
        let with = records.iter().filter(|r| has(r)).count();
        match records.iter().find(|r| !has(r)) {
            Some(without) if with > 0 => {
                Err(refused(format!("{} without {thing}, as {with} others have", what(without))))
            }
            _ => Ok(with > 0),
        }
    };
    let posed = all_or_none(&|r| r.pose.is_some(), "a pose")?;
    let shaped = all_or_none(&|r| r.positions.is_some(), "a shape")?;
    if !posed && !shaped && fill.is_none() {
        return Ok(());
    }
    if posed {
        let poses = || records.iter().filter_map(|r| r.pose.as_ref());
        let bones = bones.or(poses().next().map(|pose| pose.bones.len()));
        for (record, pose) in records.iter().zip(poses()) {
            expect(&what(record), "bones", pose.bones.len(), bones)?;
        }
        let values = poses().flat_map(|pose| pose.bones.iter()).flat_map(joint);
        out.numbers("pose_matrices", &[records.len(), bones.unwrap_or(0), 4, 4], values)?;
        let names: BTreeSet<&Arc<str>> = poses().flat_map(|pose| &pose.channels).map(|(name, _)| name).collect();
        if !names.is_empty() {
            let value = |pose: &WorldPose, name: &Arc<str>| {
                pose.channels.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
            };
            let values = poses().flat_map(|pose| names.iter().map(move |name| value(pose, name)));
            out.numbers("channels", &[records.len(), names.len()], values)?;
            out.texts("channel_names", &names.iter().map(|name| name.to_string()).collect::<Vec<_>>())?;
        }
    }
    if let Some(fill) = fill {
        let mut shape = Vec::new();
        fill(0, &mut shape)?;
        let vertices = vertices.unwrap_or(shape.len());
        let mut array = out.begin("vertices", &[records.len(), vertices, 3])?;
        for (at, record) in records.iter().enumerate() {
            if at > 0 {
                fill(at, &mut shape)?;
            }
            expect(&what(record), "vertices", shape.len(), Some(vertices))?;
            shape.iter().flat_map(position).try_for_each(|value| array.put(value))?;
        }
        array.end()?;
    } else if shaped {
        let shapes = || records.iter().filter_map(|r| r.positions.as_deref());
        let vertices = vertices.or(shapes().next().map(<[_]>::len));
        for (record, shape) in records.iter().zip(shapes()) {
            expect(&what(record), "vertices", shape.len(), vertices)?;
        }
        let values = shapes().flatten().flat_map(position);
        out.numbers("vertices", &[records.len(), vertices.unwrap_or(0), 3], values)?;
    }
    write_local(out, records, position)?;
    let labels: Vec<String> = records.iter().map(|r| r.label.clone()).collect();
    out.texts("pose_labels", &labels)?;
    if records.iter().any(|r| r.importance != 1.0) {
        out.numbers("pose_weights", &[records.len()], records.iter().map(|r| r.importance))?;
    }
    if let Some(times) = records.iter().map(|r| r.time).collect::<Option<Vec<f64>>>() {
        out.exact("frame_times", &[times.len()], &times, |stored| {
            times.windows(2).zip(stored.windows(2)).all(|(two, stored)| two[0] >= two[1] || stored[0] < stored[1])
        })?;
    }
    if let Some(rate) = contents.frames_per_second {
        out.exact("fps", &[], &[rate], |stored| stored[0] > 0.0)?;
    }
    Ok(())
}

/// Writes which parts of records were sculpted, if any are local.
fn write_local<W: Write + Seek>(
    out: &mut Writer<W>,
    records: &[Record],
    position: &dyn Fn(&DVec3) -> [f64; 3],
) -> Result<(), WriteError> {
    if records.iter().all(|r| r.local.is_none()) {
        return Ok(());
    }
    let of = |r: &Record| (r.positions.clone().unwrap_or_default(), r.local.clone().unwrap_or_default());
    let what = |r: &Record| format!("record \"{}\"", r.label);
    let masked = records.iter().any(|r| r.local.as_ref().is_none_or(|local| local.mask.is_some()));
    let shown = records.iter().any(|r| r.local.as_ref().is_some_and(|local| local.shown.is_some()));
    let vertices = records.iter().find_map(|r| r.positions.as_ref()).map_or(0, Vec::len);
    let (mut bits, mut skins) = (Vec::new(), Vec::new());
    for record in records {
        let (positions, local) = of(record);
        match (&local.mask, &record.local) {
            (Some(mask), _) => bits.extend(mask.iter().map(|touched| f64::from(u8::from(*touched)))),
            (None, None) => bits.extend(std::iter::repeat_n(1.0, vertices)),
            (None, Some(_)) if masked || !shown => {
                return Err(refused(format!("{}, a local sculpt without a mask", what(record))));
            }
            (None, Some(_)) => {}
        }
        if shown {
            match (local.shown, &record.local) {
                (Some(skin), _) => skins.push(skin),
                (None, None) => skins.push(positions),
                (None, Some(_)) => {
                    return Err(refused(format!("{} without a shown skin, as others have", what(record))));
                }
            }
        }
    }
    let count = records.len();
    if masked {
        expect("mask", "entries", bits.len(), Some(count * vertices))?;
        out.numbers("mask", &[count, vertices], bits)?;
    }
    if shown {
        skins.iter().try_for_each(|skin| expect("shown", "vertices", skin.len(), Some(vertices)))?;
        out.numbers("shown", &[count, vertices, 3], skins.iter().flatten().flat_map(position))?;
    }
    Ok(())
}

pub(super) fn refused(what: String) -> WriteError {
    WriteError::CannotHold { format: Format::Npz, what }
}

fn expect(what: &str, things: &'static str, found: usize, expected: Option<usize>) -> Result<(), WriteError> {
    match expected {
        Some(expected) if expected != found => Err(WriteError::Count { what: what.into(), things, found, expected }),
        _ => Ok(()),
    }
}

/// An archive in the making.
pub(super) struct Writer<W: Write + Seek> {
    zip: ZipWriter<W>,
    float: StoredFloat,
    arrays: usize,
}

/// Bytes that the compressor always has before it, but at the end of an array. It stops for every 32 KiB that it has packed, so that pieces make the same
/// bytes as a whole array unless that is packed more than 256 times smaller.
const AHEAD: usize = 8 << 20;

/// An array of numbers in the making.
struct Numbers<'a, W: Write + Seek> {
    writer: &'a mut Writer<W>,
    key: &'a str,
    held: Vec<u8>,
    count: usize,
}

impl<W: Write + Seek> Numbers<'_, W> {
    fn put(&mut self, value: f64) -> Result<(), WriteError> {
        let (float, count) = (self.writer.float, self.count);
        if !float.put(value, &mut self.held) {
            return Err(not_finite(self.key, count));
        }
        self.count += 1;
        if self.held.len() >= 2 * AHEAD { self.pack() } else { Ok(()) }
    }

    /// Hands bytes on until those ahead are left.
    fn pack(&mut self) -> Result<(), WriteError> {
        let mut packed = 0;
        while self.held.len() - packed > AHEAD {
            let taken = self.writer.zip.write(&self.held[packed..]);
            packed += taken.map_err(|e| refused(format!("\"{}\": {e}", self.key)))?;
        }
        self.held.drain(..packed);
        Ok(())
    }

    fn end(self) -> Result<(), WriteError> {
        self.writer.put(self.key, &self.held)
    }
}

impl StoredFloat {
    /// Appends a number; `false` if it is not finite once it is stored.
    fn put(self, value: f64, to: &mut Vec<u8>) -> bool {
        let stored = value as f32;
        match self {
            Self::Single if stored.is_finite() => to.extend(stored.to_le_bytes()),
            Self::Double if value.is_finite() => to.extend(value.to_le_bytes()),
            _ => return false,
        }
        true
    }

    /// The type as NumPy writes it, and its bytes.
    fn descr(self) -> (&'static str, usize) {
        match self {
            Self::Single => ("<f4", 4),
            Self::Double => ("<f8", 8),
        }
    }
}

fn not_finite(key: &str, at: usize) -> WriteError {
    WriteError::NotFinite { what: format!("value {at} of \"{key}\"") }
}

impl<W: Write + Seek> Writer<W> {
    pub(super) fn new(float: StoredFloat, out: W) -> Self {
        Self { zip: ZipWriter::new(out), float, arrays: 0 }
    }

    /// Where the whole archive went.
    pub(super) fn finish(self) -> Result<W, zip::result::ZipError> {
        self.zip.finish()
    }

    pub(super) fn numbers(
        &mut self,
        key: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = f64>,
    ) -> Result<(), WriteError> {
        let mut data = Vec::new();
        for (at, value) in values.into_iter().enumerate() {
            if !self.float.put(value, &mut data) {
                return Err(not_finite(key, at));
            }
        }
        self.array(key, self.float.descr().0, shape, data)
    }

    /// Numbers in 64 bits where `holds` says that 32 are too few.
    fn exact(
        &mut self,
        key: &str,
        shape: &[usize],
        values: &[f64],
        holds: impl Fn(&[f32]) -> bool,
    ) -> Result<(), WriteError> {
        let stored: Vec<f32> = values.iter().map(|value| *value as f32).collect();
        let float = self.float;
        if !(stored.iter().all(|value| value.is_finite()) && holds(&stored)) {
            self.float = StoredFloat::Double;
        }
        let written = self.numbers(key, shape, values.iter().copied());
        self.float = float;
        written
    }

    /// Begins an array of numbers that are not held.
    fn begin<'a>(&'a mut self, key: &'a str, shape: &[usize]) -> Result<Numbers<'a, W>, WriteError> {
        let (descr, size) = self.float.descr();
        self.start(key, descr, shape, size * shape.iter().product::<usize>())?;
        Ok(Numbers { writer: self, key, held: Vec::new(), count: 0 })
    }

    pub(super) fn integers(&mut self, key: &str, shape: &[usize], values: &[u32]) -> Result<(), WriteError> {
        let mut data = Vec::with_capacity(values.len() * 4);
        for &value in values {
            let stored = i32::try_from(value).map_err(|_| refused(format!("{value} in \"{key}\"")))?;
            data.extend(stored.to_le_bytes());
        }
        self.array(key, "<i4", shape, data)
    }

    pub(super) fn texts(&mut self, key: &str, texts: &[String]) -> Result<(), WriteError> {
        let width = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0).max(1);
        let padded = texts.iter().flat_map(|t| t.chars().chain(std::iter::repeat('\0')).take(width));
        let data = padded.flat_map(|c| u32::from(c).to_le_bytes()).collect();
        self.array(key, &format!("<U{width}"), &[texts.len()], data)
    }

    pub(super) fn text(&mut self, key: &str, text: &str) -> Result<(), WriteError> {
        let characters = text.chars().count().max(1);
        let padded = text.chars().chain(std::iter::repeat('\0')).take(characters);
        self.array(key, &format!("<U{characters}"), &[], padded.flat_map(|c| u32::from(c).to_le_bytes()).collect())
    }

    fn array(&mut self, key: &str, descr: &str, shape: &[usize], data: Vec<u8>) -> Result<(), WriteError> {
        self.start(key, descr, shape, data.len())?;
        self.put(key, &data)
    }

    /// Begins an array of that many bytes.
    fn start(&mut self, key: &str, descr: &str, shape: &[usize], bytes: usize) -> Result<(), WriteError> {
        self.arrays += 1;
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(bytes > 1 << 31); // sizes of 64 bits, as NumPy writes always
        let start = self.zip.start_file(format!("{key}.npy"), options).map_err(|e| refused(format!("\"{key}\": {e}")));
        start?;
        self.put(key, &npy::head(descr, shape))
    }

    fn put(&mut self, key: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.zip.write_all(bytes).map_err(|e| refused(format!("\"{key}\": {e}")))
    }
}
