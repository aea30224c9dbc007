//! A glTF document: its JSON, and the buffers it refers to. Nothing in it has been checked against anything else yet.

use super::VISIBILITY;
use super::accessor::Table;
use super::draco;
use super::extensions::{self, Draco, Extensions, Fallback, MeshLook};
use super::meshopt::Folded;
use crate::appearance::links::CHARACTER;
use crate::contents::{Flaw, Format, ReadError, Resolve, Warning};
use serde::Deserialize;
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};
use std::rc::Rc;

/// Numbers a file may ask to be decoded per byte it has. A face with fifty sparse morph targets asks for six, a hundred
/// instances of one mesh for twenty-five; a hostile file that reads one buffer a million times asks for more.
const NUMBERS_PER_BYTE: u64 = 32;

/// The same of a file with Draco streams: a regular surface takes a tenth of a byte a face, a character two bytes and more, and a face
/// with five attributes asks for sixty numbers while it is decoded.
const NUMBERS_PER_STREAMED_BYTE: u64 = 128;

/// How many times its bytes a file may unfold to. Zeros that `KHR_meshopt_compression` holds unfold to a thousand times theirs, and
/// characters to ten.
const MOST_UNFOLDED: u64 = 100;

/// What any file may unfold to.
const FREELY_UNFOLDED: u64 = 1 << 16;

/// JSON and buffers of one file.
pub(super) struct Document {
    pub root: Root,
    pub look: Look,
    buffers: Vec<Buffer>,
    /// The bytes of each buffer view that was compressed.
    unfolded: Vec<Option<Vec<u8>>>,
    /// What accessors read that have no bytes but those of a compressed mesh.
    decoded: HashMap<u32, Decoded>,
    pub warnings: Vec<Warning>,
    numbers_left: Cell<u64>,
    /// Those that may still be glanced at.
    glances_left: Cell<u64>,
    bytes: u64,
}

/// The bytes of one buffer, or the name of the extension that would have to provide them.
enum Buffer {
    Bytes(Rc<Vec<u8>>),
    Missing(String),
}

/// What an accessor reads from a compressed mesh: elements without gaps.
pub(super) struct Decoded {
    /// The buffer view of the mesh.
    view: u32,
    pub count: u64,
    pub bytes: Vec<u8>,
}

const INDICES: &str = "indices";

/// Elements of the indices, or of an attribute, of a compressed mesh.
fn mesh_count(mesh: &draco::Mesh, what: &str) -> usize {
    if what == INDICES { 3 * mesh.triangles.len() } else { mesh.points }
}

pub(super) fn damaged(reason: impl Into<String>) -> ReadError {
    ReadError::Damaged { format: Format::Gltf, reason: reason.into() }
}

fn wrong_kind(reason: impl Into<String>) -> ReadError {
    ReadError::WrongKind { format: Format::Gltf, reason: reason.into() }
}

pub(super) fn unsupported(feature: impl Into<String>) -> ReadError {
    ReadError::Unsupported { feature: feature.into() }
}

/// Why the JSON is none of glTF 2.0: it may be of another version.
fn not_read(json: &[u8], error: &serde_json::Error) -> ReadError {
    let Ok(root) = serde_json::from_slice::<Value>(json) else { return damaged(format!("its JSON: {error}")) };
    match &root["asset"]["version"] {
        Value::String(version) if version.starts_with("2.") => damaged(format!("its JSON: {error}")),
        Value::String(version) => unsupported(format!("glTF version {version:.20}")),
        Value::Number(version) => unsupported(format!("glTF version {version}")),
        // The first version listed by name what later ones number.
        _ if root["meshes"].is_object() => unsupported("glTF version 1"),
        _ => damaged(format!("its JSON: {error}")),
    }
}

impl Document {
    /// Parses the container and the JSON, and loads every buffer.
    pub fn open(bytes: &[u8], resolve: &Resolve<'_>) -> Result<Self, ReadError> {
        let mut warnings = Vec::new();
        let (json, binary) = split(bytes, &mut warnings)?;
        let root: Root = serde_json::from_slice(json).map_err(|e| not_read(json, &e))?;
        let look: Look = serde_json::from_slice(json).map_err(|e| damaged(format!("its JSON: {e}")))?;
        let Some(asset) = &root.asset else {
            return Err(wrong_kind("the JSON has no \"asset\""));
        };
        let needed = asset.min_version.as_ref().unwrap_or(&asset.version);
        if needed != "2.0" && !(asset.min_version.is_none() && needed.starts_with("2.")) {
            return Err(unsupported(format!("glTF version {needed:.20}")));
        }
        if let Some(extension) = root.extensions_required.iter().find(|e| !is_harmless(e)) {
            return Err(unsupported(format!("the glTF extension {extension:.100}")));
        }
        let buffers = load_buffers(&root, binary, resolve)?;
        let buffer_bytes: u64 = buffers.iter().map(Buffer::len).fold(0, u64::saturating_add);
        let bytes = buffer_bytes.saturating_add(json.len() as u64);
        let (unfolded, length) = unfold(&root, &buffers, bytes)?;
        let is_streamed =
            root.meshes.iter().flat_map(|mesh| &mesh.primitives).any(|one| one.extensions.known.is_some());
        let per_byte = if is_streamed { NUMBERS_PER_STREAMED_BYTE } else { NUMBERS_PER_BYTE };
        let numbers = bytes.saturating_mul(per_byte).saturating_add(length).saturating_add(1 << 16);
        let (numbers_left, glances_left) = (Cell::new(numbers), Cell::new(numbers));
        let decoded = HashMap::new();
        let mut document = Self { root, look, buffers, unfolded, decoded, warnings, glances_left, numbers_left, bytes };
        document.decoded = document.decode_meshes()?;
        Ok(document)
    }

    /// The accessors of primitives that are compressed. One that has positions beside is read as if it were not.
    fn decode_meshes(&self) -> Result<HashMap<u32, Decoded>, ReadError> {
        let (mut made, mut meshes) = (HashMap::new(), HashMap::new());
        for primitive in self.root.meshes.iter().flat_map(|mesh| &mesh.primitives) {
            let Some(draco) = &primitive.extensions.known else { continue };
            if primitive.attributes.get("POSITION").is_none_or(|&at| self.has_data(at)) {
                continue;
            }
            let view = draco.buffer_view;
            let place = || format!("the compressed mesh in buffer view {view}");
            if primitive.mode.unwrap_or(4) != 4 {
                return Err(unsupported("KHR_draco_mesh_compression of a strip, a fan, points or lines"));
            }
            let mesh = match meshes.entry(view) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => {
                    let charge = |numbers| match self.charge(numbers, 1, "") {
                        Ok(()) => Ok(()),
                        Err(_) => Err("it asks for more numbers than a file of this size may"),
                    };
                    let stream = self.view_bytes(view, "a compressed mesh")?;
                    let mesh = draco::decode(stream, &charge);
                    free.insert(mesh.map_err(|why| damaged(format!("{}: {why}", place())))?)
                }
            };
            let mut add = |at: u32, what: &str, values: &mut dyn FnMut(&Accessor) -> Result<Vec<u8>, ReadError>| {
                let known: Option<&Decoded> = made.get(&at);
                if known.is_some_and(|known| known.view != view) {
                    return Err(damaged(format!("accessor {at} is {what} of two compressed meshes")));
                }
                if known.is_none() {
                    let (accessor, count) = (self.accessor(at, what)?, mesh_count(mesh, what));
                    made.insert(at, Decoded { view, count: count as u64, bytes: values(accessor)? });
                }
                Ok(())
            };
            let Some(indices) = primitive.indices else {
                return Err(damaged(format!("{} has no indices", place())));
            };
            let corners = mesh.triangles.as_flattened();
            self.charge(corners.len() as u64, 1, "indices")?;
            add(indices, INDICES, &mut |accessor| {
                accessor.pack(INDICES, 1, corners.iter().map(|&corner| f64::from(corner)))
            })?;
            for (semantic, id) in &draco.attributes {
                let attribute = mesh.attributes.iter().find(|attribute| attribute.id == *id);
                let found = attribute.zip(primitive.attributes.get(semantic));
                let (attribute, &at) =
                    found.ok_or_else(|| damaged(format!("{} has no attribute {id} for {semantic:.40}", place())))?;
                self.charge(mesh.points as u64, attribute.width as u64, semantic)?;
                let rows = || (0..mesh.points).flat_map(|point| attribute.row(point));
                add(at, semantic, &mut |accessor| accessor.pack(semantic, attribute.width, rows()))?;
            }
        }
        Ok(made)
    }

    /// What a compressed mesh holds of accessor `at`.
    pub fn decoded(&self, at: u32) -> Option<&Decoded> {
        self.decoded.get(&at)
    }

    /// An accessor of any width that nothing depends on; `None` where it cannot be read, or enough was glanced at.
    pub fn glance(&self, at: u32) -> Option<Table> {
        self.numbers_left.swap(&self.glances_left);
        let table = self.table(at, "an attribute", &[1, 2, 3, 4, 16]).ok();
        self.numbers_left.swap(&self.glances_left);
        table
    }

    /// Counts numbers about to be decoded against what a file of this size may ask for.
    pub fn charge(&self, count: u64, width: u64, what: &str) -> Result<(), ReadError> {
        let asked = count.saturating_mul(width);
        let left = self.numbers_left.get();
        if asked > left {
            return Err(damaged(format!("{what} asks for {asked} numbers from a file of {} bytes", self.bytes)));
        }
        self.numbers_left.set(left - asked);
        Ok(())
    }

    /// Bytes of the JSON and the buffers.
    pub fn length(&self) -> u64 {
        self.bytes
    }

    /// The bytes of a buffer view.
    pub fn view(&self, at: u64) -> Option<&[u8]> {
        self.view_bytes(u32::try_from(at).ok()?, "an image").ok()
    }

    /// The bytes of buffer view `view`, which holds `what`.
    pub fn view_bytes(&self, view: u32, what: &str) -> Result<&[u8], ReadError> {
        let views = &self.root.buffer_views;
        let info = views
            .get(view as usize)
            .ok_or_else(|| damaged(format!("{what} names buffer view {view}, but there are {}", views.len())))?;
        if let Some(Some(bytes)) = self.unfolded.get(view as usize) {
            return Ok(bytes);
        }
        let place = || format!("buffer view {view}");
        match self.buffers.get(info.buffer as usize) {
            Some(Buffer::Missing(why)) => {
                let why = info.extensions.other.as_ref().unwrap_or(why);
                Err(unsupported(format!("{why:.100}, which holds {what},")))
            }
            _ => part(&self.buffers, info.buffer, info.byte_offset, info.byte_length, place),
        }
    }
}

/// So many bytes from the offset in a buffer; `place` is who asks for them.
fn part(
    buffers: &[Buffer],
    buffer: u32,
    offset: u64,
    length: u64,
    place: impl Fn() -> String,
) -> Result<&[u8], ReadError> {
    let bytes = match buffers.get(buffer as usize) {
        Some(Buffer::Bytes(bytes)) => bytes.as_slice(),
        Some(Buffer::Missing(_)) => return Err(damaged(format!("{} is in buffer {buffer}, which is empty", place()))),
        None => {
            let there = buffers.len();
            return Err(damaged(format!("{} names buffer {buffer}, but there are {there}", place())));
        }
    };
    let end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
    let range = usize::try_from(offset).ok().zip(end);
    range.and_then(|(start, end)| bytes.get(start..end)).ok_or_else(|| {
        let has = bytes.len();
        damaged(format!("{} has {length} bytes from {offset}, which goes beyond buffer {buffer} of {has}", place()))
    })
}

/// The buffer views that are compressed, and their bytes together. A view whose buffer is there as well is read from the stream all
/// the same. `bytes` are those of the file.
fn unfold(root: &Root, buffers: &[Buffer], bytes: u64) -> Result<(Vec<Option<Vec<u8>>>, u64), ReadError> {
    let most = bytes.saturating_mul(MOST_UNFOLDED).saturating_add(FREELY_UNFOLDED);
    let folded = || {
        let views = root.buffer_views.iter().enumerate();
        views.filter_map(|(at, view)| Some((at, view, view.extensions.known.as_deref()?)))
    };
    let place = |at: usize| format!("the compressed buffer view {at}");
    let mut length = 0u64;
    for (at, view, folded) in folded() {
        if folded.unfolded() != Some(view.byte_length) {
            let (count, stride, of) = (folded.count, folded.byte_stride, view.byte_length);
            return Err(damaged(format!("{} has {count} × {stride} bytes, and should have {of}", place(at))));
        }
        length = length.saturating_add(view.byte_length);
        if length > most {
            let reason = format!("{} unfolds to {length} bytes with those before it", place(at));
            let rule = format!("a file of {bytes} bytes may unfold to {MOST_UNFOLDED} times its length");
            return Err(damaged(format!("{reason}; {rule}")));
        }
    }
    let mut views = Vec::new();
    for (at, _, folded) in folded() {
        let stream = part(buffers, folded.buffer, folded.byte_offset, folded.byte_length, || place(at))?;
        let made = folded.unfold(stream).map_err(|why| damaged(format!("{}: {why}", place(at))))?;
        views.resize_with(at, || None);
        views.push(Some(made));
    }
    Ok((views, length))
}

impl Buffer {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Missing(_) => 0,
        }
    }
}

/// Extensions that a reader of shapes and motions may ignore although a file requires them, and those it supports.
fn is_harmless(extension: &str) -> bool {
    let appearance = ["KHR_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_", "KHR_lights_", CHARACTER];
    [VISIBILITY, "KHR_mesh_quantization"].contains(&extension)
        || extensions::is_read(extension)
        || appearance.iter().any(|start| extension.starts_with(start))
}

/// JSON and binary chunk of a .glb, or the JSON of a .gltf.
fn split<'a>(bytes: &'a [u8], warnings: &mut Vec<Warning>) -> Result<(&'a [u8], Option<&'a [u8]>), ReadError> {
    if !bytes.starts_with(b"glTF") {
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        return match text.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'{') => Ok((text, None)),
            Some(_) => Err(wrong_kind("it starts neither with \"glTF\" nor with a JSON object")),
            None => Err(wrong_kind("it is empty")),
        };
    }
    let word =
        |at: usize| -> Option<u32> { Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?)) };
    let (Some(version), Some(length)) = (word(4), word(8)) else {
        return Err(damaged(format!("it ends after {} bytes, inside the header", bytes.len())));
    };
    if version != 2 {
        return Err(unsupported(format!("GLB container version {version}")));
    }
    let length = length as usize;
    if length > bytes.len() {
        return Err(damaged(format!("the header promises {length} bytes, the file has {}", bytes.len())));
    }
    if length < bytes.len() {
        warnings.push(Warning {
            flaw: Flaw::CountMismatch,
            count: bytes.len() - length,
            first: Some("bytes after the end".into()),
        });
    }
    let chunk = |at: usize| -> Result<(&'a [u8], u32, usize), ReadError> {
        let cut = || damaged(format!("a chunk at byte {at} goes beyond the end at {length}"));
        let (size, kind) = word(at).zip(word(at + 4)).ok_or_else(cut)?;
        let start = at + 8;
        let end = start.checked_add(size as usize).filter(|&end| end <= length).ok_or_else(cut)?;
        Ok((bytes.get(start..end).ok_or_else(cut)?, kind, end))
    };
    let (json, kind, mut at) = chunk(12)?;
    if kind != 0x4E4F_534A {
        return Err(damaged("the first chunk is not JSON"));
    }
    let mut binary = None;
    while at < length && binary.is_none() {
        let (data, kind, end) = chunk(at)?;
        binary = (kind == 0x004E_4942).then_some(data); // other kinds are for later versions
        at = end;
    }
    Ok((json, binary))
}

fn load_buffers(root: &Root, binary: Option<&[u8]>, resolve: &Resolve<'_>) -> Result<Vec<Buffer>, ReadError> {
    // Of a file beside this one no more is read than its buffers hold.
    let mut most: HashMap<&str, u64> = HashMap::new();
    for buffer in &root.buffers {
        let most = most.entry(buffer.uri.as_deref().unwrap_or_default()).or_default();
        *most = (*most).max(buffer.byte_length);
    }
    let mut files: HashMap<&str, Rc<Vec<u8>>> = HashMap::new();
    let mut loaded = Vec::new();
    for (at, buffer) in root.buffers.iter().enumerate() {
        let is_fallback = buffer.extensions.known.as_ref().is_some_and(|known| known.fallback);
        let bytes = match &buffer.uri {
            _ if is_fallback => {
                loaded.push(Buffer::Missing(format!("a buffer in place of compressed ones (buffer {at})")));
                continue;
            }
            Some(uri) => match files.get(uri.as_str()) {
                Some(known) => known.clone(),
                None => {
                    let bytes = Rc::new(load_uri(uri, most[uri.as_str()], resolve)?);
                    files.insert(uri, bytes.clone());
                    bytes
                }
            },
            None => match binary.filter(|_| at == 0) {
                Some(binary) => Rc::new(binary.to_vec()),
                None => {
                    let by = buffer.extensions.other.clone();
                    let why = by.unwrap_or_else(|| format!("a buffer without data (buffer {at})"));
                    loaded.push(Buffer::Missing(why));
                    continue;
                }
            },
        };
        if (bytes.len() as u64) < buffer.byte_length {
            return Err(damaged(format!("buffer {at} promises {} bytes but has {}", buffer.byte_length, bytes.len())));
        }
        loaded.push(Buffer::Bytes(bytes));
    }
    Ok(loaded)
}

/// The bytes that a reference leads to, within it or in a file beside this one, `most` of them at most.
pub(super) fn load_uri(uri: &str, most: u64, resolve: &Resolve<'_>) -> Result<Vec<u8>, ReadError> {
    let refuse = |reason: &str| ReadError::Reference { uri: uri.chars().take(200).collect(), reason: reason.into() };
    if let Some(data) = uri.strip_prefix("data:") {
        let (head, payload) = data.split_once(',').ok_or_else(|| refuse("a data URI without a comma"))?;
        return if head.ends_with(";base64") {
            base64(payload).ok_or_else(|| refuse("its base64 is damaged"))
        } else {
            percent_decoded(payload).ok_or_else(|| refuse("its percent signs are damaged"))
        };
    }
    let path =
        percent_decoded(uri).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| refuse("it is no text"))?;
    if path.is_empty() || path.contains('\0') {
        return Err(refuse("it is no file name"));
    }
    if path.contains(':') {
        return Err(refuse("only files beside this one are read, not addresses or drives"));
    }
    let mut depth = 0i64;
    for (at, part) in path.split(['/', '\\']).enumerate() {
        depth += match part {
            "" if at == 0 => return Err(refuse("it is an absolute path")),
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        if depth < 0 {
            return Err(refuse("it climbs out of the file's folder"));
        }
    }
    resolve(&path, most).map_err(|e| refuse(&e.to_string()))
}

/// `%41` becomes `A`; `None` for a percent sign without two hexadecimal digits.
fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            (digit()? * 16 + digit()?) as u8
        } else {
            byte
        });
    }
    Some(decoded)
}

/// Base64 with the standard or the URL alphabet; white space is skipped, padding ends it.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut word, mut bits) = (0u32, 0u32);
    for byte in text.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ if byte.is_ascii_whitespace() => continue,
            _ => return None,
        };
        word = (word << 6 | u32::from(six)) & 0xFF_FFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            decoded.push((word >> bits) as u8);
        }
    }
    Some(decoded)
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Root {
    pub asset: Option<Asset>,
    pub extensions_required: Vec<String>,
    pub extensions_used: Vec<String>,
    pub scene: Option<u32>,
    pub scenes: Vec<Scene>,
    pub nodes: Vec<Node>,
    pub meshes: Vec<Mesh>,
    pub skins: Vec<Skin>,
    pub accessors: Vec<Accessor>,
    pub buffer_views: Vec<BufferView>,
    pub buffers: Vec<BufferInfo>,
    pub animations: Vec<Animation>,
    pub materials: Vec<Material>,
}

/// What is carried through as it stands; of whatever type it is, so that a reader of shapes need not refuse it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Look {
    pub asset: Value,
    pub scene: Value,
    pub scenes: Value,
    pub materials: Value,
    pub textures: Value,
    pub samplers: Value,
    pub images: Value,
    pub cameras: Value,
    pub extras: Value,
    pub extensions: Value,
    pub meshes: Vec<MeshLook>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Asset {
    pub version: String,
    pub min_version: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Scene {
    pub nodes: Vec<u32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Node {
    pub name: Option<String>,
    pub children: Vec<u32>,
    pub mesh: Option<u32>,
    pub skin: Option<u32>,
    pub weights: Vec<f64>,
    pub matrix: Option<Box<[f64; 16]>>,
    pub translation: Option<Box<[f64; 3]>>,
    pub rotation: Option<Box<[f64; 4]>>,
    pub scale: Option<Box<[f64; 3]>>,
    pub camera: Option<Box<Value>>,
    pub extras: Option<Box<Value>>,
    pub extensions: Option<Box<Value>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Mesh {
    pub name: Option<String>,
    pub primitives: Vec<Primitive>,
    pub weights: Vec<f64>,
    pub extras: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Primitive {
    pub attributes: BTreeMap<String, u32>,
    pub indices: Option<u32>,
    pub material: Option<u32>,
    pub mode: Option<u32>,
    pub targets: Vec<BTreeMap<String, u32>>,
    pub extensions: Extensions<Draco>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Skin {
    pub inverse_bind_matrices: Option<u32>,
    pub joints: Vec<u32>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Accessor {
    pub buffer_view: Option<u32>,
    pub byte_offset: u64,
    pub component_type: u32,
    pub normalized: bool,
    pub count: u64,
    #[serde(rename = "type")]
    pub shape: String,
    pub sparse: Option<Box<Sparse>>,
}

#[derive(Deserialize)]
pub(super) struct Sparse {
    pub count: u64,
    pub indices: SparseIndices,
    pub values: SparseValues,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseIndices {
    pub buffer_view: u32,
    #[serde(default)]
    pub byte_offset: u64,
    pub component_type: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseValues {
    pub buffer_view: u32,
    #[serde(default)]
    pub byte_offset: u64,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BufferView {
    pub buffer: u32,
    pub byte_offset: u64,
    pub byte_length: u64,
    pub byte_stride: Option<u64>,
    pub extensions: Extensions<Folded>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BufferInfo {
    pub uri: Option<String>,
    pub byte_length: u64,
    pub extensions: Extensions<Fallback>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Animation {
    pub name: Option<String>,
    pub channels: Vec<Channel>,
    pub samplers: Vec<Sampler>,
}

#[derive(Deserialize)]
pub(super) struct Channel {
    pub sampler: u32,
    pub target: Target,
}

#[derive(Deserialize)]
pub(super) struct Target {
    pub node: Option<u32>,
    pub path: String,
}

#[derive(Deserialize)]
pub(super) struct Sampler {
    pub input: u32,
    pub output: u32,
    pub interpolation: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Material {
    pub name: Option<String>,
    pub pbr_metallic_roughness: Option<Pbr>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Pbr {
    pub base_color_factor: Option<[f32; 4]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_and_percent_signs_decode() {
        // RFC 4648, section 10.
        for (text, plain) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")] {
            assert_eq!(base64(text).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(base64("Zm9v!"), None);
        assert_eq!(percent_decoded("a%20b").as_deref(), Some(&b"a b"[..]));
        assert_eq!(percent_decoded("a%2"), None);
    }

    #[test]
    fn references_stay_inside_the_folder() {
        let ask = |uri: &str| load_uri(uri, 9, &|path, _| Ok(path.as_bytes().to_vec()));
        assert_eq!(ask("data/a%20b.bin").unwrap(), b"data/a b.bin");
        assert_eq!(ask("data/../b.bin").unwrap(), b"data/../b.bin");
        for bad in
            ["/etc/passwd", "../b.bin", "a/../../b.bin", "http://x/y", "c:\\x", "\\\\host\\x", "..%2fb", "%00", ""]
        {
            assert!(matches!(ask(bad), Err(ReadError::Reference { .. })), "{bad}");
        }
    }
}
