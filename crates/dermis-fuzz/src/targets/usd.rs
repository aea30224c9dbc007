//! USD: text layers, binary layers and packages, with other layers beside them.

use crate::memory::{PACKED, bounded};
use crate::used;
use dermis_io::usd;
use dermis_testkit::usd as stages;
use std::io;

pub const WORDS: &[&str] = &[
    "#usda 1.0\\x0a",
    "@parts/asset.usdc@",
    "class",
    "def Mesh \\\"a\\\" {",
    "elementSize = 4",
    "inbetweens:a = [] ( weight = 0.5 )",
    "inherits = </a>",
    "instanceable = true",
    "over",
    "point3f[] points",
    "prepend references",
    "primvars:skel:jointIndices",
    "rel skel:skeleton = </a>",
    "subLayers = [",
    "timeSamples = {",
    "uniform token[] xformOpOrder",
    "variantSet",
];

pub fn text_seeds() -> Vec<Vec<u8>> {
    [stages::ARM_TEXT, stages::SCENE, stages::MOUTH_TEXT].map(<[u8]>::to_vec).to_vec()
}

pub fn binary_seeds() -> Vec<Vec<u8>> {
    [stages::ARM, stages::SHEET, stages::ARM_PACKAGE, stages::MOUTH].map(<[u8]>::to_vec).to_vec()
}

/// Takes the bytes as a file of USD.
pub fn bytes(bytes: &[u8]) {
    let resolve = |path: &str, most: u64| {
        let found = stages::beside(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(found[..found.len().min(most as usize)].to_vec())
    };
    // The layers beside it are read once each.
    let length = bytes.len() + 2 * 2048;
    if let Ok(contents) = bounded(length, PACKED, || usd::read(bytes, "a.usd", &resolve)) {
        used::contents(&contents);
    }
}
