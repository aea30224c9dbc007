//! A binary glTF in fewer bytes: its buffer views as streams of `EXT_meshopt_compression`.

use super::meshopt::{encode_attributes, encode_sequence, encode_triangles};
use super::write::container;
use crate::contents::Format;
use crate::{WriteError, to_bytes};
use serde_json::{Map, Value, json};

const EXTENSION: &str = "EXT_meshopt_compression";

/// Bytes of text that a compressed view takes more than another.
const TEXT: usize = 180;

/// Compresses what [`write_glb`](super::write_glb) wrote. No number changes; a triangle may begin with another of its corners.
///
/// Readers need the extension. A file that has it already, views that would not become shorter and images stay as they are.
///
/// # Errors
/// [`WriteError`] for what is no such file.
pub fn compress_glb(glb: &[u8]) -> Result<Vec<u8>, WriteError> {
    let cannot =
        || WriteError::CannotHold { format: Format::Gltf, what: "what is no binary glTF of this program".into() };
    let (mut root, binary) = parts(glb).ok_or_else(cannot)?;
    if root["extensionsUsed"].as_array().is_some_and(|names| names.contains(&json!(EXTENSION))) {
        return Ok(glb.to_vec());
    }
    let uses = uses(&root);
    let mut made = Vec::new();
    let mut unfolded = 0;
    let views = root.get_mut("bufferViews").and_then(Value::as_array_mut);
    let mut is_compressed = false;
    for (view, used) in views.into_iter().flatten().zip(uses) {
        let number = |key: &str| view.get(key).and_then(Value::as_u64).unwrap_or(0) as usize;
        let (start, length) = (number("byteOffset"), number("byteLength"));
        let bytes = start.checked_add(length).and_then(|end| binary.get(start..end)).ok_or_else(cannot)?;
        made.resize(usize::next_multiple_of(made.len(), 4), 0);
        let place = made.len();
        match used.and_then(|used| used.stream(bytes)).filter(|(_, stream)| stream.len() + TEXT < bytes.len()) {
            Some((mut said, stream)) => {
                is_compressed = true;
                said.insert("buffer".into(), json!(0));
                said.insert("byteOffset".into(), json!(place));
                said.insert("byteLength".into(), json!(stream.len()));
                made.extend(stream);
                view["buffer"] = json!(1);
                view["byteOffset"] = json!(unfolded);
                view["extensions"] = json!({ EXTENSION: said });
                unfolded += length.next_multiple_of(4);
            }
            None => {
                made.extend(bytes);
                view["byteOffset"] = json!(place);
            }
        }
    }
    if !is_compressed {
        return Ok(glb.to_vec());
    }
    // The second buffer is where the views would be; it has no bytes.
    root["buffers"] = json!([
        { "byteLength": made.len() },
        { "byteLength": unfolded, "extensions": { EXTENSION: { "fallback": true } } },
    ]);
    for key in ["extensionsUsed", "extensionsRequired"] {
        match root.get_mut(key).and_then(Value::as_array_mut) {
            Some(names) => names.push(json!(EXTENSION)),
            None => root[key] = json!([EXTENSION]),
        }
    }
    to_bytes(|out| container(&root.to_string(), made, out))
}

/// JSON and binary chunk.
fn parts(glb: &[u8]) -> Option<(Value, &[u8])> {
    let word = |at: usize| Some(u32::from_le_bytes(glb.get(at..at + 4)?.try_into().ok()?) as usize);
    let end = word(12)?.checked_add(20)?;
    let root: Value = serde_json::from_slice(glb.get(20..end)?).ok()?;
    let binary = glb.get(end.checked_add(8)?..).unwrap_or(&[]);
    root.is_object().then_some((root, binary))
}

/// What reads a buffer view.
#[derive(Clone, Copy, PartialEq)]
enum Used {
    /// Elements of so many bytes.
    Rows(usize),
    /// Corners of triangles, and other indices, of so many bytes.
    Triangles(usize),
    Indices(usize),
}

/// What reads each buffer view; nothing where it is an image, or several things.
fn uses(root: &Value) -> Vec<Option<Used>> {
    let list = |key: &str| root.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut uses: Vec<Option<Used>> = vec![None; list("bufferViews").len()];
    let mut set = |view: &Value, used: Option<Used>| {
        let view = view.as_u64().and_then(|view| uses.get_mut(view as usize));
        if let (Some(known), Some(used)) = (view, used) {
            *known = Some(used);
        }
    };
    for accessor in list("accessors") {
        let size = match accessor["componentType"].as_u64() {
            Some(5120 | 5121) => 1,
            Some(5122 | 5123) => 2,
            _ => 4,
        };
        let width = match accessor["type"].as_str() {
            Some("SCALAR") => 1,
            Some("VEC2") => 2,
            Some("VEC3") => 3,
            Some("VEC4") => 4,
            _ => 16,
        };
        let target = list("bufferViews").get(accessor["bufferView"].as_u64().unwrap_or(u64::MAX) as usize);
        let is_corners = target.is_some_and(|view| view["target"] == json!(34963));
        let whole = [2, 4].contains(&size);
        set(
            &accessor["bufferView"],
            match is_corners {
                true => whole.then_some(Used::Triangles(size)),
                false => Some(Used::Rows(size * width)),
            },
        );
        let sparse = &accessor["sparse"];
        set(&sparse["values"]["bufferView"], Some(Used::Rows(size * width)));
        let size = match sparse["indices"]["componentType"].as_u64() {
            Some(5123) => Some(2),
            Some(5125) => Some(4),
            _ => None,
        };
        set(&sparse["indices"]["bufferView"], size.map(Used::Indices));
    }
    uses
}

impl Used {
    /// What the extension says of a view of these bytes, and their stream; nothing where no stream holds them.
    fn stream(self, bytes: &[u8]) -> Option<(Map<String, Value>, Vec<u8>)> {
        let (mode, size, stream) = match self {
            Self::Rows(size) => ("ATTRIBUTES", size, encode_attributes(bytes, size).ok()?),
            Self::Triangles(size) => ("TRIANGLES", size, encode_triangles(&numbers(bytes, size)).ok()?),
            Self::Indices(size) => ("INDICES", size, encode_sequence(&numbers(bytes, size)).ok()?),
        };
        let said = json!({ "byteStride": size, "count": bytes.len() / size, "mode": mode });
        Some((said.as_object()?.clone(), stream))
    }
}

/// Numbers of two or four bytes.
fn numbers(bytes: &[u8], size: usize) -> Vec<u32> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
    bytes.chunks_exact(size).map(number).collect()
}
