//! The bundle: rig, examples and mesh sequences as named NumPy arrays in one zip archive (`numpy.savez`).
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `rest_vertices` | (V, 3) | rest mesh |
//! | `faces` | (F, 3) integers | its triangles |
//! | `face_counts`, `face_indices` | integers | its polygons; `faces` is their fan triangulation |
//! | `bone_names`, `bone_parents` | (B) text, integers | −1 for a root |
//! | `bind_matrices` | (B, 4, 4) | joint to world at rest |
//! | `pose_matrices` | (P, B, 4, 4) | joint to world, posed |
//! | `vertices` | (P, V, 3) | the skin in each pose |
//! | `lbs_weights`, `influence_maps` | (V, B) | skinning weights; where a bone matters |
//! | `pose_labels`, `pose_weights`, `frame_times` | (P) text, numbers, seconds | per pose |
//! | `channels`, `channel_names` | (P, C) numbers, (C) text | what a pose is beside its joints, zero at rest |
//! | `fps`, `units`, `up_axis` | one value | frames per second; "metres", …; "Y" or "Z" |
//!
//! Any of them may be absent: a bundle is a rig, examples, a bare mesh sequence, a motion, or several of these. Matrices
//! are `[row, col]` for column vectors. Numbers are of any integer or of 32 or 64 bit floating type, in either byte
//! order, C or Fortran order, stored or deflated. Python objects (pickles) are never unpacked.
//!
//! Without `up_axis` Y is up; a file that does not say so is given a warning ([`Flaw::UnknownSpace`]).

use crate::npy::{self, Array, Header, NpyError, Shape};
use crate::surface;
use crate::{Contents, Flaw, Format, ReadError, Record, Space, UpAxis, Warning, WriteError};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::{from_rows, row};
use dermis_rig::{BoneIndex, Channels, Influences, Mesh, Polygons, Skeleton, WorldPose};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{Cursor, Read, Seek, Write};
use std::sync::Arc;
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

/// How many bytes of arrays a byte of a file may unfold to, beyond [`ALLOWANCE`]. Deflate itself reaches 1032. A dense
/// table of weights for 300 bones with four influences per vertex, packed with little else, reaches 60.
const INFLATION: u64 = 100;
/// Bytes any file may unfold to: a small rig is mostly zeros.
const ALLOWANCE: u64 = 32 << 20;
/// The most that one byte of a deflate stream can stand for.
const DEFLATE_LIMIT: u64 = 1032;

/// Reads a bundle. `name` is the file's name, for messages.
///
/// The arrays read take at most 100 bytes per byte of the file, plus 32 MiB; as 64-bit numbers at most twice that. What
/// was read must be finite, except that frames with NaN or infinity are left out and counted.
///
/// # Errors
/// [`ReadError`], naming array and numbers.
pub fn read(bytes: &[u8], name: &str) -> Result<Contents, ReadError> {
    let mut bundle = Bundle::open(Cursor::new(bytes), bytes.len() as u64)?;
    let found = bundle.members.len();
    let (mut contents, order) = bundle.rig(name)?;
    (contents.records, contents.left_out) = bundle.records(&mut contents, order.as_deref())?;
    if bundle.members.len() == found {
        let names: Vec<_> = bundle.members.keys().take(5).map(String::as_str).collect();
        let reason = format!("it holds none of a bundle's arrays, but {found} others ({})", names.join(", "));
        return Err(ReadError::WrongKind { format: Format::Npz, reason });
    }
    contents.unread = bundle.members.into_keys().collect();
    Ok(contents)
}

/// Reads a bundle of poses and skins (`pose_matrices` and `vertices`) without ever holding all of its skins: `take` gets
/// the contents again and again, each time with the next few records, at most `most` bytes of positions or one record.
/// The result are the contents without records; `None` if the bundle holds not both, or its skins in Fortran order, whose
/// poses lie apart: [`read`] takes those.
///
/// Bounds are those of [`read`]. `length` is the file's, in bytes.
///
/// # Errors
/// [`ReadError`], naming array and numbers, and those of `take`.
pub fn stream<R: Read + Seek, E: From<ReadError>>(
    reader: R,
    length: u64,
    name: &str,
    most: usize,
    mut take: impl FnMut(&mut Contents) -> Result<(), E>,
) -> Result<Option<Contents>, E> {
    let mut bundle = Bundle::open(reader, length)?;
    if !["pose_matrices", "vertices"].iter().all(|key| bundle.members.contains_key(*key)) {
        return Ok(None);
    }
    let (mut contents, order) = bundle.rig(name)?;
    let vertices = contents.mesh.as_ref().map(|mesh| mesh.positions.len());
    let parts = bundle.parts(&contents, order.as_deref())?;
    contents.unread = bundle.members.keys().filter(|key| *key != "vertices").cloned().collect();
    let key = "vertices";
    let Some((header, mut member)) = bundle.member(key)? else { return Ok(None) };
    let Some(row) = header.row() else { return Ok(None) };
    let [count, vertices, _] = extents(key, &header.shape, [None, vertices, Some(3)])?;
    if !header.is_number() {
        return Err(damaged(format!("array \"{key}\" holds text where numbers are expected")).into());
    }
    if let Some((_, [posed, ..])) = &parts.poses
        && *posed != count
    {
        return Err(damaged(format!("\"pose_matrices\" holds {posed} poses, but \"vertices\" {count}")).into());
    }
    let batch = (most / (24 * vertices.max(1))).max(1);
    let mut left_out = Vec::new();
    for at in 0..count {
        let mut data = vec![0; row.data_length];
        member.read_exact(&mut data).map_err(|e| damaged(format!("array \"{key}\", pose {at}: {e}")))?;
        let shape = Array::new(row.clone(), data).ok_or_else(|| damaged(format!("array \"{key}\": its rows")))?;
        let positions = (0..vertices).map(|v| DVec3::from([0, 1, 2].map(|c| shape.number([v, c]))));
        match parts.record(at, Some(positions.collect()))? {
            Ok(record) => contents.records.push(record),
            Err(label) => left_out.push(label),
        }
        if contents.records.len() == batch || (at + 1 == count && !contents.records.is_empty()) {
            take(&mut contents)?;
            contents.records.clear();
        }
    }
    // The checksum is compared when the end is met.
    if member.read(&mut [0]).map_err(|e| damaged(format!("array \"{key}\": {e}")))? != 0 {
        return Err(damaged(format!("array \"{key}\": more bytes than its shape promises")).into());
    }
    surface::count(&mut contents.warnings, Flaw::NonFiniteFrame, left_out.clone());
    contents.left_out = left_out;
    Ok(Some(contents))
}

/// A row of numbers by its name, for arrays that are no part of a rig; `None` if there is none of that name.
///
/// # Errors
/// [`ReadError`]: no bundle, or an array that is not a row of numbers.
pub fn numbers(bytes: &[u8], key: &str) -> Result<Option<Vec<f64>>, ReadError> {
    let found = Bundle::open(Cursor::new(bytes), bytes.len() as u64)?.numbers(key, [None])?;
    Ok(found.map(|(array, [count])| (0..count).map(|at| array.number([at])).collect()))
}

fn damaged(reason: String) -> ReadError {
    ReadError::Damaged { format: Format::Npz, reason }
}

/// An archive of arrays, each taken out once.
struct Bundle<R> {
    archive: ZipArchive<R>,
    file_length: u64,
    /// Arrays not taken yet: name without `.npy`, place in the archive.
    members: BTreeMap<String, usize>,
    /// Bytes of arrays that may still be unfolded.
    allowance: u64,
}

impl<R: Read + Seek> Bundle<R> {
    fn open(mut reader: R, file_length: u64) -> Result<Self, ReadError> {
        let wrong = |reason: &str| Err(ReadError::WrongKind { format: Format::Npz, reason: reason.into() });
        let mut start = Vec::new();
        let begun = reader.by_ref().take(6).read_to_end(&mut start).and_then(|_| reader.rewind());
        begun.map_err(|e| damaged(format!("the archive: {e}")))?;
        if start == b"\x93NUMPY" {
            return wrong("it is a single array (.npy), not an archive of named arrays (numpy.savez)");
        }
        if !start.starts_with(b"PK") {
            return wrong(if start.is_empty() { "it is empty" } else { "it does not start like a zip archive" });
        }
        let archive = ZipArchive::new(reader).map_err(|e| damaged(format!("the archive: {e}")))?;
        if archive.has_duplicate_names() {
            return Err(damaged("the archive holds two arrays of the same name".into()));
        }
        let mut members = BTreeMap::new();
        for (at, name) in archive.file_names_raw().enumerate() {
            let name = String::from_utf8_lossy(name);
            members.insert(name.strip_suffix(".npy").unwrap_or(&name).to_owned(), at);
        }
        Ok(Self { archive, file_length, members, allowance: INFLATION * file_length + ALLOWANCE })
    }

    /// What a bundle holds beside records, and the bones' order: `order[new] = old`.
    fn rig(&mut self, name: &str) -> Result<(Contents, Option<Vec<usize>>), ReadError> {
        let mut warnings = Vec::new();
        let space = self.space(&mut warnings)?;
        let mesh = self.mesh(&space, &mut warnings)?;
        let vertices = mesh.as_ref().map(|mesh| mesh.positions.len());
        let (skeleton, order) = self.skeleton(&space, &mut warnings)?.unzip();
        let order_of = order.as_deref();
        let weights = self.influences("lbs_weights", vertices, order_of)?;
        let weights = weights.map(|table| normalised(&table, &mut warnings));
        let influence_maps = self.influences("influence_maps", vertices, order_of)?;
        let frames_per_second = self.frames_per_second()?;
        let bone_names = match &skeleton {
            None if self.members.contains_key("pose_matrices") => self.texts("bone_names", None)?.unwrap_or_default(),
            _ => Vec::new(),
        };
        let contents = Contents {
            name: name.to_owned(),
            format: Format::Npz,
            space,
            mesh,
            skeleton,
            bone_names,
            weights,
            influence_maps,
            frames_per_second,
            warnings,
            ..Contents::default()
        };
        Ok((contents, order))
    }

    /// Takes an array out of the archive; `None` if there is none of that name.
    fn take(&mut self, key: &str) -> Result<Option<Array>, ReadError> {
        let Some((header, member)) = self.member(key)? else { return Ok(None) };
        let promised = header.data_length as u64;
        let mut data = Vec::with_capacity(header.data_length);
        member.take(promised + 1).read_to_end(&mut data).map_err(|e| damaged(format!("array \"{key}\": {e}")))?;
        let length = data.len();
        let array = Array::new(header, data)
            .ok_or_else(|| damaged(format!("array \"{key}\": {promised} bytes are promised, but it has {length}")))?;
        Ok(Some(array))
    }

    /// The header of an array, and its values to be read; `None` if there is none of that name.
    ///
    /// Nothing is unfolded before the header's promise agrees with the archive's directory, and with what its packed
    /// bytes can stand for.
    fn member(&mut self, key: &str) -> Result<Option<(Header, impl Read + use<'_, R>)>, ReadError> {
        use zip::result::ZipError::{CompressionMethodNotSupported, UnsupportedArchive};
        let Some(index) = self.members.remove(key) else { return Ok(None) };
        let file_length = self.file_length;
        let mut member = self.archive.by_index(index).map_err(|e| match e {
            UnsupportedArchive(_) | CompressionMethodNotSupported(_) => {
                ReadError::Unsupported { feature: format!("array \"{key}\": {e}") }
            }
            _ => damaged(format!("array \"{key}\": {e}")),
        })?;
        let (directory, packed) = (member.size(), member.compressed_size().min(file_length));
        let header = Header::read(&mut member).map_err(|e| match e {
            NpyError::Damaged(reason) => damaged(format!("array \"{key}\": {reason}")),
            NpyError::Unsupported(what) => ReadError::Unsupported { feature: format!("array \"{key}\": {what}") },
        })?;
        let promised = header.data_length as u64;
        let held = directory.saturating_sub(header.length as u64);
        let shape = Shape(&header.shape);
        if promised != held || header.length as u64 > directory {
            return Err(damaged(format!(
                "array \"{key}\": its shape {shape} promises {promised} bytes, but the archive lists {held}"
            )));
        }
        if promised > DEFLATE_LIMIT.saturating_mul(packed) {
            return Err(damaged(format!(
                "array \"{key}\": its shape {shape} promises {promised} bytes, but it is packed into {packed}"
            )));
        }
        self.allowance = self.allowance.checked_sub(promised).ok_or_else(|| {
            damaged(format!(
                "array \"{key}\": its shape {shape} promises {promised} bytes; a file of {file_length} bytes may unfold \
                 to {INFLATION} times its length"
            ))
        })?;
        Ok(Some((header, member)))
    }

    /// Takes an array of numbers of the given shape, `None` standing for any extent; returns the extents found.
    fn numbers<const N: usize>(
        &mut self,
        key: &str,
        shape: [Option<usize>; N],
    ) -> Result<Option<(Array, [usize; N])>, ReadError> {
        let Some(array) = self.take(key)? else { return Ok(None) };
        let extents = extents(key, array.shape(), shape)?;
        if !array.is_number() {
            return Err(damaged(format!("array \"{key}\" holds text where numbers are expected")));
        }
        Ok(Some((array, extents)))
    }

    /// Takes an array of integers, as [`Bundle::numbers`].
    fn integers<const N: usize>(
        &mut self,
        key: &str,
        shape: [Option<usize>; N],
    ) -> Result<Option<(Array, [usize; N])>, ReadError> {
        let found = self.numbers(key, shape)?;
        if found.as_ref().is_some_and(|(array, _)| !array.is_integer()) {
            return Err(damaged(format!("array \"{key}\" holds no integers")));
        }
        Ok(found)
    }

    /// Takes a row of texts.
    fn texts(&mut self, key: &str, count: Option<usize>) -> Result<Option<Vec<String>>, ReadError> {
        let Some(array) = self.take(key)? else { return Ok(None) };
        let [count] = extents(key, array.shape(), [count])?;
        (0..count).map(|at| text(key, &array, [at])).collect::<Result<_, _>>().map(Some)
    }

    /// Takes a single text.
    fn single_text(&mut self, key: &str) -> Result<Option<String>, ReadError> {
        let Some(array) = self.take(key)? else { return Ok(None) };
        match array.shape() {
            [] => text(key, &array, []),
            [1] => text(key, &array, [0]),
            shape => Err(damaged(format!("array \"{key}\" has shape {}; a single text is expected", Shape(shape)))),
        }
        .map(Some)
    }

    fn space(&mut self, warnings: &mut Vec<Warning>) -> Result<Space, ReadError> {
        let mut space = Space::default();
        let mut unknown = Vec::new();
        match self.single_text("up_axis")?.as_deref() {
            Some("Y" | "y") => {}
            Some("Z" | "z") => space.up = UpAxis::Z,
            Some(other) => return Err(damaged(format!("\"up_axis\" is \"{other}\"; \"Y\" or \"Z\" is expected"))),
            None => unknown.push("up_axis".to_owned()),
        }
        match self.single_text("units")? {
            Some(text) => (space.metres_per_unit, space.unit) = unit(&text),
            None => unknown.push("units".to_owned()),
        }
        surface::count(warnings, Flaw::UnknownSpace, unknown);
        Ok(space)
    }

    fn mesh(&mut self, space: &Space, warnings: &mut Vec<Warning>) -> Result<Option<Mesh>, ReadError> {
        let Some((rest, [vertices, _])) = self.numbers("rest_vertices", [None, Some(3)])? else { return Ok(None) };
        let to_ours = space.to_ours();
        let positions =
            (0..vertices).map(|v| to_ours.transform_point3(DVec3::from([0, 1, 2].map(|c| rest.number([v, c])))));
        let mut mesh = Mesh { positions: positions.collect(), ..Mesh::default() };
        drop(rest);
        let corner = |key: &str, face: usize, vertex: Option<i64>| {
            let vertex = vertex.unwrap_or(i64::MAX); // beyond 63 bits
            u32::try_from(vertex).ok().filter(|&v| (v as usize) < vertices).ok_or_else(|| {
                damaged(format!(
                    "array \"{key}\": entry {face} names vertex {vertex}, but there are {vertices} vertices"
                ))
            })
        };
        let (counts, indices) = (self.integers("face_counts", [None])?, self.integers("face_indices", [None])?);
        mesh.polygons = match (counts, indices) {
            (Some((counts, [faces])), Some((indices, [corners]))) => {
                let count = |face| {
                    let count = counts.integer([face]).unwrap_or(i64::MAX);
                    u32::try_from(count)
                        .ok()
                        .filter(|&c| c >= 3)
                        .ok_or_else(|| damaged(format!("array \"face_counts\": polygon {face} has {count} corners")))
                };
                Some(Polygons {
                    counts: (0..faces).map(count).collect::<Result<_, _>>()?,
                    indices: (0..corners)
                        .map(|at| corner("face_indices", at, indices.integer([at])))
                        .collect::<Result<_, _>>()?,
                })
            }
            (None, None) => None,
            (Some(_), None) => return Err(damaged("there is \"face_counts\", but no \"face_indices\"".into())),
            (None, Some(_)) => return Err(damaged("there is \"face_indices\", but no \"face_counts\"".into())),
        };
        if let Some((array, [faces, _])) = self.integers("faces", [None, Some(3)])? {
            mesh.triangles.reserve_exact(faces);
            for face in 0..faces {
                let at = |c| corner("faces", face, array.integer([face, c]));
                mesh.triangles.push([at(0)?, at(1)?, at(2)?]);
            }
        } else if let Some(polygons) = &mesh.polygons {
            mesh.triangles = surface::fan(polygons);
        }
        mesh.check()?;
        if let Some(polygons) = &mesh.polygons {
            let expected = polygons.indices.len() - 2 * polygons.counts.len(); // no polygon has less than three
            let found = mesh.triangles.len();
            let differs = format!("{found} triangles in \"faces\", {expected} by \"face_counts\"");
            surface::count(warnings, Flaw::CountMismatch, (found != expected).then_some(differs));
        }
        warnings.extend(surface::flaws(&mesh));
        Ok(Some(mesh))
    }

    /// The skeleton, parents first, and its order: `order[new] = old`.
    fn skeleton(
        &mut self,
        space: &Space,
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<(Skeleton, Vec<usize>)>, ReadError> {
        let Some((matrices, [bones, ..])) = self.numbers("bind_matrices", [None, Some(4), Some(4)])? else {
            return Ok(None);
        };
        let missing = |key: &str| damaged(format!("there is \"bind_matrices\", but no \"{key}\""));
        let mut names = self.texts("bone_names", Some(bones))?.ok_or_else(|| missing("bone_names"))?;
        let (parents, _) = self.integers("bone_parents", [Some(bones)])?.ok_or_else(|| missing("bone_parents"))?;
        make_unique(&mut names, warnings);
        let parents: Vec<i64> = (0..bones).map(|b| parents.integer([b]).unwrap_or(i64::MAX)).collect();
        if let Some(bone) = parents.iter().position(|p| *p < -1) {
            let (name, parent) = (&names[bone], parents[bone]);
            return Err(damaged(format!("array \"bone_parents\": bone \"{name}\" has parent {parent}; a root has -1")));
        }
        let mut bind = Vec::with_capacity(bones);
        for bone in 0..bones {
            let matrix = matrix(|row, column| matrices.number([bone, row, column]))
                .map_err(|reason| damaged(format!("array \"bind_matrices\", bone \"{}\": {reason}", names[bone])))?;
            bind.push(space.joint_to_ours(matrix));
        }
        let (skeleton, order) = Skeleton::sorted(names, &parents, &bind)?;
        let moved = skeleton.names().iter().zip(&order).enumerate().filter(|(new, (_, old))| new != *old);
        surface::count(warnings, Flaw::BonesReordered, moved.map(|(_, (name, _))| name.clone()));
        Ok(Some((skeleton, order)))
    }

    /// Takes a (vertices, bones) table, its columns brought into the skeleton's order.
    fn influences(
        &mut self,
        key: &str,
        vertices: Option<usize>,
        order: Option<&[usize]>,
    ) -> Result<Option<Influences>, ReadError> {
        let Some((table, [vertices, bones])) = self.numbers(key, [vertices, order.map(<[_]>::len)])? else {
            return Ok(None);
        };
        let column = |bone: usize| order.map_or(bone, |order| order[bone]);
        let rows = (0..vertices).map(|v| {
            let values = (0..bones).map(|b| (BoneIndex::new(b), table.number([v, column(b)])));
            values.filter(|(_, value)| *value != 0.0).collect()
        });
        Influences::from_rows(rows).map(Some).map_err(|e| damaged(format!("array \"{key}\": {e}")))
    }

    fn frames_per_second(&mut self) -> Result<Option<f64>, ReadError> {
        let Some(array) = self.take("fps")? else { return Ok(None) };
        let rate = match array.shape() {
            [] => array.number([]),
            [1] => array.number([0]),
            shape => return Err(damaged(format!("array \"fps\" has shape {}; one number is expected", Shape(shape)))),
        };
        if !rate.is_finite() || rate <= 0.0 {
            return Err(damaged(format!("\"fps\" is {rate}; it must be positive")));
        }
        Ok(Some(rate))
    }

    /// Names of channels and their values in each of `count` poses.
    fn channels(&mut self, count: usize) -> Result<(Vec<Arc<str>>, Option<Array>), ReadError> {
        let missing = |key: &str, there: &str| Err(damaged(format!("there is \"{there}\", but no \"{key}\"")));
        match (self.members.contains_key("channel_names"), self.members.contains_key("channels")) {
            (false, false) => return Ok(Default::default()),
            // Names alone would cost a value for each of them and each pose, which the file does not hold.
            (true, false) => return missing("channels", "channel_names"),
            (false, true) => return missing("channel_names", "channels"),
            (true, true) => {}
        }
        let names: Vec<Arc<str>> =
            self.texts("channel_names", None)?.unwrap_or_default().into_iter().map(Arc::from).collect();
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(damaged(format!("array \"channel_names\" holds \"{twice}\" twice")));
        }
        let values = self.numbers("channels", [Some(count), Some(names.len())])?;
        Ok((names, values.map(|(array, _)| array)))
    }

    fn records(
        &mut self,
        contents: &mut Contents,
        order: Option<&[usize]>,
    ) -> Result<(Vec<Record>, Vec<String>), ReadError> {
        let vertices = contents.mesh.as_ref().map(|mesh| mesh.positions.len());
        let mut parts = self.parts(contents, order)?;
        let shapes = self.numbers("vertices", [None, vertices, Some(3)])?;
        let count = match (&parts.poses, &shapes) {
            (Some((_, [posed, ..])), Some((_, [shaped, ..]))) if posed != shaped => {
                return Err(damaged(format!("\"pose_matrices\" holds {posed} poses, but \"vertices\" {shaped}")));
            }
            (Some((_, [count, ..])), _) => *count,
            (None, Some((_, [count, ..]))) => {
                parts.beside(self, *count)?;
                *count
            }
            (None, None) => return Ok((Vec::new(), Vec::new())),
        };
        let mut records = Vec::with_capacity(count);
        let mut left_out = Vec::new();
        for at in 0..count {
            let positions = shapes.as_ref().map(|(array, [_, vertices, _])| {
                (0..*vertices).map(|v| DVec3::from([0, 1, 2].map(|c| array.number([at, v, c])))).collect()
            });
            match parts.record(at, positions)? {
                Ok(record) => records.push(record),
                Err(label) => left_out.push(label),
            }
        }
        surface::count(&mut contents.warnings, Flaw::NonFiniteFrame, left_out.clone());
        Ok((records, left_out))
    }

    /// What records are made of, but their skins.
    fn parts<'a>(&mut self, contents: &Contents, order: Option<&'a [usize]>) -> Result<Parts<'a>, ReadError> {
        let bones = contents.skeleton.as_ref().map(Skeleton::len);
        let bones = bones.or((!contents.bone_names.is_empty()).then_some(contents.bone_names.len()));
        let mut parts = Parts {
            space: contents.space.clone(),
            order,
            frames_per_second: contents.frames_per_second,
            poses: self.numbers("pose_matrices", [None, bones, Some(4), Some(4)])?,
            labels: None,
            importances: None,
            times: None,
            channel_names: vec![],
            channels: None,
        };
        if let Some((_, [count, ..])) = parts.poses {
            parts.beside(self, count)?;
            (parts.channel_names, parts.channels) = self.channels(count)?;
        }
        Ok(parts)
    }
}

/// What records are made of, but their skins.
struct Parts<'a> {
    space: Space,
    order: Option<&'a [usize]>,
    frames_per_second: Option<f64>,
    poses: Option<(Array, [usize; 4])>,
    labels: Option<Vec<String>>,
    importances: Option<Array>,
    times: Option<Array>,
    channel_names: Vec<Arc<str>>,
    channels: Option<Array>,
}

impl Parts<'_> {
    /// Takes what goes with each of `count` records.
    fn beside<R: Read + Seek>(&mut self, bundle: &mut Bundle<R>, count: usize) -> Result<(), ReadError> {
        self.labels = bundle.texts("pose_labels", Some(count))?;
        self.importances = bundle.numbers("pose_weights", [Some(count)])?.map(|(array, _)| array);
        self.times = bundle.numbers("frame_times", [Some(count)])?.map(|(array, _)| array);
        Ok(())
    }

    /// A record from its positions in the file's own axes and unit; of one that is not finite the label.
    fn record(&self, at: usize, positions: Option<Vec<DVec3>>) -> Result<Result<Record, String>, ReadError> {
        let label = self.labels.as_ref().map_or_else(|| at.to_string(), |labels| labels[at].clone());
        let mut finite = true;
        let mut pose = None;
        if let Some((array, [_, bones, ..])) = &self.poses {
            let mut world = Vec::with_capacity(*bones);
            for new in 0..*bones {
                let bone = self.order.map_or(new, |order| order[new]);
                let matrix = matrix(|row, column| array.number([at, bone, row, column]))
                    .map_err(|e| damaged(format!("array \"pose_matrices\", pose \"{label}\", bone {bone}: {e}")))?;
                world.push(self.space.joint_to_ours(matrix));
            }
            finite &= world.iter().all(DAffine3::is_finite);
            let value = |c: usize| self.channels.as_ref().map_or(0.0, |array| array.number([at, c]));
            let channels: Channels =
                self.channel_names.iter().cloned().enumerate().map(|(c, name)| (name, value(c))).collect();
            finite &= channels.iter().all(|(_, value)| value.is_finite());
            pose = Some(WorldPose { channels, ..WorldPose::new(world) });
        }
        let to_ours = self.space.to_ours();
        let positions: Option<Vec<DVec3>> =
            positions.map(|list| list.into_iter().map(|p| to_ours.transform_point3(p)).collect());
        finite &= positions.iter().flatten().all(|p| p.is_finite());
        let importance = self.importances.as_ref().map_or(1.0, |array| array.number([at]));
        if !importance.is_finite() || importance < 0.0 {
            return Err(damaged(format!("array \"pose_weights\": pose \"{label}\" has weight {importance}")));
        }
        let time = match &self.times {
            Some(array) => Some(array.number([at])),
            None => self.frames_per_second.map(|rate| at as f64 / rate),
        };
        if time.is_some_and(|t| !t.is_finite()) {
            return Err(damaged(format!("array \"frame_times\": the time of pose \"{label}\" is not finite")));
        }
        Ok(if finite { Ok(Record { label, time, pose, positions, importance }) } else { Err(label) })
    }
}

/// Checks a shape, `None` standing for any extent, and returns the extents found.
fn extents<const N: usize>(key: &str, shape: &[usize], expected: [Option<usize>; N]) -> Result<[usize; N], ReadError> {
    let found: Option<[usize; N]> = shape.try_into().ok();
    let agrees = |found: &[usize; N]| found.iter().zip(&expected).all(|(f, e)| e.is_none_or(|e| e == *f));
    let found = found.filter(agrees).ok_or_else(|| {
        let expected: Vec<_> = expected.iter().map(|e| e.map_or("any".to_owned(), |e| e.to_string())).collect();
        let comma = if N == 1 { "," } else { "" };
        let (shape, expected) = (Shape(shape), expected.join(", "));
        damaged(format!("array \"{key}\" has shape {shape}, but ({expected}{comma}) is expected"))
    })?;
    // An empty array costs no bytes, so that its other extents could be anything: only "none of them" makes sense.
    let hollow = found.contains(&0) && found.first() != Some(&0);
    if hollow || found.iter().any(|&extent| extent >= u32::MAX as usize) {
        return Err(damaged(format!("array \"{key}\" has the unusable shape {}", Shape(shape))));
    }
    Ok(found)
}

fn text<const N: usize>(key: &str, array: &Array, index: [usize; N]) -> Result<String, ReadError> {
    if !array.is_text() {
        return Err(damaged(format!("array \"{key}\" holds numbers where text is expected")));
    }
    array.text(index).ok_or_else(|| damaged(format!("array \"{key}\", entry {index:?} is no valid text")))
}

/// An affine map from a 4x4 matrix, NaN where its last row is not finite.
fn matrix(entry: impl Fn(usize, usize) -> f64) -> Result<DAffine3, String> {
    let last = [0, 1, 2, 3].map(|column| entry(3, column));
    if last.iter().any(|x| !x.is_finite()) {
        return Ok(DAffine3::NAN);
    }
    // Products of 32-bit matrices leave 1e-7 behind; a row-vector matrix has its translation here.
    if last.iter().zip([0.0, 0.0, 0.0, 1.0]).any(|(x, expected)| (x - expected).abs() > 1e-5) {
        return Err(format!("the last row is {last:?}, not [0, 0, 0, 1]; matrices are [row, col] for column vectors"));
    }
    Ok(from_rows([0, 1, 2].map(|row| [0, 1, 2, 3].map(|column| entry(row, column)))))
}

/// Gives bones that share a name a number: "arm", "arm.2", "arm.3".
fn make_unique(names: &mut [String], warnings: &mut Vec<Warning>) {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    if taken.len() == names.len() {
        return;
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut renamed = Vec::new();
    for name in names {
        let times = seen.entry(name.clone()).or_insert(0);
        *times += 1;
        if *times > 1 {
            renamed.push(name.clone());
            let mut unique = format!("{name}.{times}");
            while !taken.insert(unique.clone()) {
                *times += 1;
                unique = format!("{name}.{times}");
            }
            *name = unique;
        }
    }
    surface::count(warnings, Flaw::DuplicateName, renamed);
}

/// Weights that sum to one, with a warning for each kind of flaw mended.
fn normalised(table: &Influences, warnings: &mut Vec<Warning>) -> Influences {
    let (weights, mended) = table.normalised();
    let sum = |row: &[(BoneIndex, f64)]| row.iter().fold(0.0, |sum, (_, w)| sum + w.max(0.0));
    let mut warn = |flaw, count: usize, is_flawed: &dyn Fn(&[(BoneIndex, f64)]) -> bool| {
        if count > 0 {
            let first = table.rows().enumerate().find(|(_, row)| is_flawed(row));
            let first = first.map(|(vertex, row)| format!("vertex {vertex}, sum {}", sum(row)));
            warnings.push(Warning { flaw, count, first });
        }
    };
    warn(Flaw::WeightSum, mended.rescaled, &|row| sum(row) > 0.0 && (sum(row) - 1.0).abs() > 1e-6);
    warn(Flaw::NegativeWeight, mended.negative, &|row| row.iter().any(|(_, w)| *w < 0.0));
    warn(Flaw::Unbound, mended.unbound, &|row| sum(row) <= 0.0 || !sum(row).is_finite());
    weights
}

/// Units that convert to metres: the word written, metres, other words understood.
const UNITS: [(&str, f64, &[&str]); 5] = [
    ("metres", 1.0, &["m", "metre", "meter", "meters"]),
    ("centimetres", 0.01, &["cm", "centimetre", "centimeter", "centimeters"]),
    ("millimetres", 0.001, &["mm", "millimetre", "millimeter", "millimeters"]),
    ("inches", 0.0254, &["in", "inch"]),
    ("feet", 0.3048, &["ft", "foot"]),
];

/// Metres per unit and the unit's name in reports, from the text of `units`. An unknown unit is kept in its own words.
fn unit(text: &str) -> (f64, String) {
    let word = text.trim().to_lowercase();
    match UNITS.iter().find(|(name, _, others)| *name == word || others.contains(&word.as_str())) {
        Some((_, metres, _)) => (*metres, "m".into()),
        None => (1.0, text.to_owned()),
    }
}

/// How numbers are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    #[default]
    Single,
    /// 64 bits.
    Double,
}

/// Writes a bundle, deflated: mesh, skeleton, weights, influence maps and records, in the axes and unit of
/// [`Contents::space`] (in metres, if its unit is none that bundles name).
///
/// Clips, morph targets, colours and drawn vertices have no place in a bundle. The same contents give the same bytes.
///
/// # Errors
/// [`WriteError`]: nothing to write, counts that disagree, numbers that are not finite in 32 bits, records of which only
/// some have a pose or a shape.
pub fn write(contents: &Contents, precision: Precision) -> Result<Vec<u8>, WriteError> {
    write_with(contents, precision, &[])
}

/// As [`write()`], with arrays of directed lengths per record and vertex (P, V, 3) besides, by name: displacements, turned
/// and scaled as positions are. They are no part of a bundle, and are not read back.
///
/// # Errors
/// As [`write()`].
pub fn write_with(
    contents: &Contents,
    precision: Precision,
    displacements: &[(&str, &[Vec<DVec3>])],
) -> Result<Vec<u8>, WriteError> {
    let mut out = Writer { zip: ZipWriter::new(Cursor::new(Vec::new())), precision, arrays: 0 };
    let (space, unit) = space_written(&contents.space);
    let from_ours = space.to_ours().inverse();
    let position = |p: &DVec3| from_ours.transform_point3(*p).to_array();
    let joint = |m: &DAffine3| {
        let m = space.joint_from_ours(*m);
        [row(&m, 0), row(&m, 1), row(&m, 2), [0.0, 0.0, 0.0, 1.0]].into_iter().flatten()
    };
    let vertices = contents.mesh.as_ref().map(|mesh| mesh.positions.len());
    if let Some(mesh) = &contents.mesh {
        out.numbers("rest_vertices", &[mesh.positions.len(), 3], mesh.positions.iter().flat_map(position))?;
        out.integers("faces", &[mesh.triangles.len(), 3], mesh.triangles.as_flattened())?;
        if let Some(polygons) = &mesh.polygons {
            out.integers("face_counts", &[polygons.counts.len()], &polygons.counts)?;
            out.integers("face_indices", &[polygons.indices.len()], &polygons.indices)?;
        }
    }
    let bones = contents.skeleton.as_ref().map(Skeleton::len);
    if let Some(skeleton) = &contents.skeleton {
        out.texts("bone_names", skeleton.names())?;
        let parents = skeleton.parents().iter().map(|p| p.map_or(-1, |p| p.get() as i32));
        out.array("bone_parents", "<i4", &[skeleton.len()], parents.flat_map(i32::to_le_bytes).collect())?;
        out.numbers("bind_matrices", &[skeleton.len(), 4, 4], skeleton.bind().iter().flat_map(joint))?;
    } else if !contents.bone_names.is_empty() {
        out.texts("bone_names", &contents.bone_names)?;
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
        out.numbers(key, &[table.vertices(), bones], dense)?;
    }
    write_records(&mut out, contents, vertices, bones, &position, &joint)?;
    for (key, rows) in displacements {
        let vertices = vertices.or(rows.first().map(Vec::len));
        expect(key, "records", rows.len(), Some(contents.records.len()))?;
        rows.iter().try_for_each(|row| expect(key, "vertices", row.len(), vertices))?;
        let values = rows.iter().flatten().flat_map(|d| from_ours.transform_vector3(*d).to_array());
        out.numbers(key, &[rows.len(), vertices.unwrap_or(0), 3], values)?;
    }
    if out.arrays == 0 {
        return Err(WriteError::Nothing { format: Format::Npz, needs: "a mesh, a skeleton, weights or records" });
    }
    out.text("units", &unit)?;
    out.text("up_axis", if space.up == UpAxis::Z { "Z" } else { "Y" })?;
    out.zip.finish().map(Cursor::into_inner).map_err(|e| refused(format!("the archive: {e}")))
}

fn write_records<J: Iterator<Item = f64>>(
    out: &mut Writer,
    contents: &Contents,
    vertices: Option<usize>,
    bones: Option<usize>,
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
    if !posed && !shaped {
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
    if shaped {
        let shapes = || records.iter().filter_map(|r| r.positions.as_deref());
        let vertices = vertices.or(shapes().next().map(<[_]>::len));
        for (record, shape) in records.iter().zip(shapes()) {
            expect(&what(record), "vertices", shape.len(), vertices)?;
        }
        let values = shapes().flatten().flat_map(position);
        out.numbers("vertices", &[records.len(), vertices.unwrap_or(0), 3], values)?;
    }
    let labels: Vec<String> = records.iter().map(|r| r.label.clone()).collect();
    out.texts("pose_labels", &labels)?;
    if records.iter().any(|r| r.importance != 1.0) {
        out.numbers("pose_weights", &[records.len()], records.iter().map(|r| r.importance))?;
    }
    if let Some(times) = records.iter().map(|r| r.time).collect::<Option<Vec<f64>>>() {
        out.numbers("frame_times", &[times.len()], times)?;
    }
    if let Some(rate) = contents.frames_per_second {
        out.numbers("fps", &[], [rate])?;
    }
    Ok(())
}

fn refused(what: String) -> WriteError {
    WriteError::CannotHold { format: Format::Npz, what }
}

fn expect(what: &str, things: &'static str, found: usize, expected: Option<usize>) -> Result<(), WriteError> {
    match expected {
        Some(expected) if expected != found => Err(WriteError::Count { what: what.into(), things, found, expected }),
        _ => Ok(()),
    }
}

/// The space a bundle can name, and the text of its `units`.
fn space_written(space: &Space) -> (Space, String) {
    let known = UNITS.iter().find(|(_, metres, _)| space.unit == "m" && *metres == space.metres_per_unit);
    match known {
        Some((word, _, _)) => (space.clone(), (*word).into()),
        None if unit(&space.unit) == (space.metres_per_unit, space.unit.clone()) => (space.clone(), space.unit.clone()),
        None => (Space { up: space.up, ..Space::default() }, "metres".into()),
    }
}

/// An archive in the making.
struct Writer {
    zip: ZipWriter<Cursor<Vec<u8>>>,
    precision: Precision,
    arrays: usize,
}

impl Writer {
    fn numbers(&mut self, key: &str, shape: &[usize], values: impl IntoIterator<Item = f64>) -> Result<(), WriteError> {
        let not_finite = |at: usize| WriteError::NotFinite { what: format!("value {at} of \"{key}\"") };
        let mut data = Vec::new();
        for (at, value) in values.into_iter().enumerate() {
            let stored = value as f32;
            match self.precision {
                Precision::Single if stored.is_finite() => data.extend(stored.to_le_bytes()),
                Precision::Double if value.is_finite() => data.extend(value.to_le_bytes()),
                _ => return Err(not_finite(at)),
            }
        }
        self.array(key, if self.precision == Precision::Single { "<f4" } else { "<f8" }, shape, data)
    }

    fn integers(&mut self, key: &str, shape: &[usize], values: &[u32]) -> Result<(), WriteError> {
        let mut data = Vec::with_capacity(values.len() * 4);
        for &value in values {
            let stored = i32::try_from(value).map_err(|_| refused(format!("{value} in \"{key}\"")))?;
            data.extend(stored.to_le_bytes());
        }
        self.array(key, "<i4", shape, data)
    }

    fn texts(&mut self, key: &str, texts: &[String]) -> Result<(), WriteError> {
        let width = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0).max(1);
        let padded = texts.iter().flat_map(|t| t.chars().chain(std::iter::repeat('\0')).take(width));
        let data = padded.flat_map(|c| u32::from(c).to_le_bytes()).collect();
        self.array(key, &format!("<U{width}"), &[texts.len()], data)
    }

    fn text(&mut self, key: &str, text: &str) -> Result<(), WriteError> {
        let characters = text.chars().count().max(1);
        let padded = text.chars().chain(std::iter::repeat('\0')).take(characters);
        self.array(key, &format!("<U{characters}"), &[], padded.flat_map(|c| u32::from(c).to_le_bytes()).collect())
    }

    fn array(&mut self, key: &str, descr: &str, shape: &[usize], data: Vec<u8>) -> Result<(), WriteError> {
        self.arrays += 1;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(data.len() > 1 << 31); // sizes of 64 bits, as NumPy writes always
        let start = self.zip.start_file(format!("{key}.npy"), options).map_err(|e| refused(format!("\"{key}\": {e}")));
        start?;
        let head = npy::head(descr, shape);
        let written = self.zip.write_all(&head).and_then(|()| self.zip.write_all(&data));
        written.map_err(|e| refused(format!("\"{key}\": {e}")))
    }
}
