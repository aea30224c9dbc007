//! FBX: bytes, a text whose numbers, words and lines are changed, and bytes as the cache of a good file.

use crate::memory::{PACKED, bounded};
use crate::script::Script;
use crate::{seeds, used};
use dermis_io::fbx;
use dermis_testkit::fbx_cache;
use std::sync::OnceLock;

pub const WORDS: &[&str] = &[
    "Kaydara FBX Binary  \\x00\\x1a\\x00",
    "; FBX 7.4.0 project file",
    "AnimationCurve:",
    "BlendShapeChannel",
    "C: \\\"OO\\\",",
    "Connections:",
    "DeformPercent:",
    "Deformer:",
    "FullWeights:",
    "Geometry:",
    "KeyTime:",
    "LimbNode",
    "Model:",
    "PolygonVertexIndex:",
    "Properties70:",
    "SkinningType: \\\"DualQuaternion\\\"",
    "TransformLink:",
    "Vertices:",
    "Weights:",
];

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::fbx_files()
}

/// Takes the bytes as an FBX file.
pub fn bytes(bytes: &[u8]) {
    if let Ok(contents) = bounded(bytes.len(), PACKED, || fbx::read(bytes, "a.fbx", &used::no_file)) {
        used::contents(&contents);
    }
}

/// Takes the bytes as the geometry cache of a good file: a description, then the file of points, as far as it has each.
pub fn cache(bytes: &[u8]) {
    static SCENE: OnceLock<String> = OnceLock::new();
    let scene = SCENE.get_or_init(|| fbx_cache::scene("c.xml", "strip", &[]));
    let begins = |four: &[u8]| four == b"FOR4" || four == b"FOR8";
    let begin = bytes.windows(4).position(begins).unwrap_or(bytes.len());
    let beside = |path: &str, most: u64| {
        let (first, rest) = if begin == 0 { (bytes, bytes) } else { bytes.split_at(begin) };
        let own = if path == "c.xml" { first } else { rest };
        Ok(own[..own.len().min(most as usize)].to_vec())
    };
    let read = || fbx::read(scene.as_bytes(), "a.fbx", &beside);
    if let Ok(contents) = bounded(scene.len() + bytes.len(), PACKED, read) {
        used::contents(&contents);
    }
}

pub fn cache_seeds() -> Vec<Vec<u8>> {
    let with =
        |kind: &str, format: &str, file: Vec<u8>| [fbx_cache::description(kind, format).into_bytes(), file].concat();
    let frames = [0, 1, 2];
    let alone = seeds::point_caches().into_iter().filter(|file| file.starts_with(b"POINTCACHE2"));
    let described = [
        with("OneFile", "mcx", fbx_cache::maya(true, false, &frames)),
        with("OneFile", "mcc", fbx_cache::maya(false, true, &frames)),
        with("OneFilePerFrame", "mcx", fbx_cache::maya(true, true, &frames)),
    ];
    described.into_iter().chain(alone).collect()
}

pub const CACHE_WORDS: &[&str] = &[
    "ChannelName=\\\"strip\\\"",
    "CHNM",
    "DVCA",
    "EndTime=",
    "FOR4",
    "FOR8",
    "FVCA",
    "MYCH",
    "POINTCACHE2",
    "SIZE",
    "TIME",
];

/// Changes one of the seeds.
pub fn edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    let good = GOOD.get_or_init(|| {
        let texts = seeds::fbx_files().into_iter().filter(|file| file.starts_with(b";"));
        texts.map(|text| String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()).collect()
    });
    let mut script = Script::new(script);
    let mut lines = good[script.below(good.len())].clone();
    for _ in 0..16 {
        if script.is_over() || lines.is_empty() {
            break;
        }
        let (at, other) = (script.below(lines.len()), script.below(lines.len()));
        match script.byte() % 8 {
            0..=3 => {
                let new = script.number().to_string();
                lines[at] = with_number(&lines[at], script.below(16), &new);
            }
            4 => lines[at] = lines[other].clone(),
            5 => _ = lines.remove(at),
            6 => lines.insert(at, lines[other].clone()),
            // A number that stands elsewhere: the name of another object.
            _ => {
                let new = numbers(&lines[other]).next().map(|range| lines[other][range].to_owned());
                lines[at] = with_number(&lines[at], script.below(4), &new.unwrap_or_default());
            }
        }
    }
    bytes(lines.join("\n").as_bytes());
}

/// Where numbers stand in a line.
fn numbers(line: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.');
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].find(is_part)?;
        at = start + line[start..].find(|c| !is_part(c)).unwrap_or(line.len() - start);
        Some(start..at)
    })
}

/// The line with another number in one place.
fn with_number(line: &str, place: usize, new: &str) -> String {
    let found: Vec<_> = numbers(line).collect();
    match found.get(place % found.len().max(1)) {
        Some(range) => format!("{}{new}{}", &line[..range.start], &line[range.end..]),
        None => line.to_owned(),
    }
}
