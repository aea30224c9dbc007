//! FBX: bytes, and a text whose numbers, words and lines are changed.

use crate::memory::{PACKED, bounded};
use crate::script::Script;
use crate::{seeds, used};
use dermis_io::fbx;
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
