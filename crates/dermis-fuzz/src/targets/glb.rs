//! glTF: bytes, and a GLB whose JSON and numbers are changed behind right lengths.

use crate::memory::{PACKED, bounded};
use crate::script::Script;
use crate::{json, seeds, used};
use dermis_io::gltf;
use std::sync::OnceLock;

pub const WORDS: &[&str] = &[
    "\"accessors\"",
    "\"animations\"",
    "\"bufferView\"",
    "\"byteOffset\"",
    "\"byteStride\"",
    "\"children\"",
    "\"componentType\"",
    "\"count\"",
    "\"extensionsRequired\"",
    "\"indices\"",
    "\"interpolation\":\"CUBICSPLINE\"",
    "\"inverseBindMatrices\"",
    "\"joints\"",
    "\"matrix\"",
    "\"max\"",
    "\"mode\"",
    "\"normalized\":true",
    "\"skin\"",
    "\"sparse\"",
    "\"targets\"",
    "\"weights\"",
    "5121",
    "5123",
    "5125",
    "5126",
];

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::glbs()
}

/// Takes the bytes as a .gltf or .glb file. A file beside it holds the same bytes.
pub fn bytes(bytes: &[u8]) {
    // JSON may name the file beside it, which is then as much again.
    let beside = |_: &str, most: u64| Ok(bytes.iter().copied().take(most as usize).collect());
    let read = bounded(2 * bytes.len(), PACKED, || gltf::read(bytes, "a.glb", &beside));
    if let Ok(contents) = read {
        used::contents(&contents);
    }
}

/// Changes one of the seeds.
pub fn edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<(serde_json::Value, Vec<u8>)>> = OnceLock::new();
    let good = GOOD.get_or_init(|| seeds::glbs().iter().map(|file| split(file)).collect());
    let mut script = Script::new(script);
    let (mut document, mut binary) = good[script.below(good.len())].clone();
    for _ in 0..16 {
        match script.is_over() {
            true => break,
            false if script.byte().is_multiple_of(4) => script.overwrite(&mut binary),
            false => json::edit(&mut document, &mut script),
        }
    }
    bytes(&join(&document, &binary));
}

/// The JSON and the binary chunk of a GLB of ours.
fn split(file: &[u8]) -> (serde_json::Value, Vec<u8>) {
    let length = |at: usize| {
        file.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, |word| u32::from_le_bytes(word) as usize)
    };
    let json = length(12);
    (json::parse(&file[20..20 + json]), file.get(28 + json..).unwrap_or_default().to_vec())
}

/// A GLB of two chunks.
fn join(document: &serde_json::Value, binary: &[u8]) -> Vec<u8> {
    let mut json = json::text(document);
    json.resize(json.len().next_multiple_of(4), b' ');
    let total = (28 + json.len() + binary.len()) as u32;
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend(total.to_le_bytes());
    for (kind, chunk) in [(b"JSON", json.as_slice()), (b"BIN\0", binary)] {
        file.extend((chunk.len() as u32).to_le_bytes());
        file.extend(kind);
        file.extend(chunk);
    }
    file
}
