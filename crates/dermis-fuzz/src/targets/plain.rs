//! Formats of one layer, in which bytes get far: OBJ, BVH, takes of markers and point caches.

use crate::memory::{PLAIN, bounded};
use crate::{seeds, used};
use dermis_io::{Space, UpAxis, bvh as motions, camera_tracks, marker_take, obj as format, point_cache as caches};

pub const OBJ_WORDS: &[&str] =
    &["v ", "vt ", "vn ", "f ", "usemtl ", "\\\\\\x0a", "-1", "1//1", "nan", "inf", "1e309", "2147483648"];

pub fn obj_seeds() -> Vec<Vec<u8>> {
    seeds::obj_files()
}

/// Takes the bytes as OBJ files, of which zeros stand between; several are a sequence. Every file they name has the same bytes.
pub fn obj(bytes: &[u8]) {
    let space = Space::default();
    let files: Vec<&[u8]> = bytes.split(|byte| *byte == 0).take(8).collect();
    let itself = |_: &str, most: u64| Ok(bytes[..bytes.len().min(most as usize)].to_vec());
    let read = bounded(bytes.len(), PLAIN, || match files[..] {
        [one] => format::read(one, "a.obj", &space, &itself),
        _ => {
            let mut sequence = format::Sequence::new("a", &space);
            for (at, file) in files.iter().enumerate() {
                sequence.push(&format!("a.{at}.obj"), file, &itself)?;
            }
            sequence.finish()
        }
    });
    if let Ok(contents) = read {
        used::contents(&contents);
    }
}

pub const BVH_WORDS: &[&str] = &[
    "HIERARCHY\\x0a",
    "ROOT a",
    "JOINT b",
    "End Site",
    "{",
    "}",
    "OFFSET 0 1 0",
    "CHANNELS 3 ",
    "Xposition",
    "Zrotation",
    "MOTION\\x0a",
    "Frames: 2\\x0a",
    "Frame Time: 0.1\\x0a",
    "nan",
    "1e309",
    "99999999999",
];

pub fn bvh_seeds() -> Vec<Vec<u8>> {
    seeds::bvh_files()
}

/// Takes the bytes as a BVH file, and writes what is read again.
pub fn bvh(bytes: &[u8]) {
    let feet = Space { up: UpAxis::Z, metres_per_unit: 0.3048, unit: "m".into() };
    for space in [Space::default(), feet] {
        let Ok(contents) = bounded(bytes.len(), PLAIN, || motions::read(bytes, "a.bvh", &space)) else { continue };
        used::contents(&contents);
        used::written_as_bvh(&contents);
    }
}

pub const TAKE_WORDS: &[&str] = &[
    "PathFileType\\x09",
    "DataRate\\x09",
    "NumFrames\\x09",
    "Units\\x09mm",
    "\\x09nan",
    "POINT",
    "LABELS",
    "\"cameras\"",
    "\"matrix\"",
    "null",
];

pub fn take_seeds() -> Vec<Vec<u8>> {
    seeds::takes()
}

/// Takes the bytes as a C3D or TRC file, and as sights of cameras.
pub fn take(bytes: &[u8]) {
    if let Ok(take) = bounded(bytes.len(), PLAIN, || marker_take::read(bytes, &marker_take::TakeSpace::default())) {
        assert!(take.rate > 0.0 && take.frames.iter().all(|frame| frame.len() == take.names.len()));
        assert!(take.frames.iter().flatten().flatten().all(|place| place.is_finite()));
    }
    if let Ok(tracks) = bounded(bytes.len(), PLAIN, || camera_tracks::read(bytes, &Space::default())) {
        let frames = tracks.cameras.iter().flat_map(|camera| &camera.frames);
        assert!(frames.into_iter().all(|frame| frame.len() == tracks.markers.len()));
    }
}

pub fn point_cache_seeds() -> Vec<Vec<u8>> {
    seeds::point_caches()
}

/// Takes the bytes as a PC2 file if they begin like one, else as an MDD file; in two spaces.
pub fn point_cache(bytes: &[u8]) {
    let feet = Space { up: UpAxis::Z, metres_per_unit: 0.3048, unit: "m".into() };
    for space in [Space::default(), feet] {
        let read = bounded(bytes.len(), PLAIN, || match bytes.starts_with(b"POINTCACHE2") {
            true => caches::read_pc2(bytes, "a.pc2", &space),
            false => caches::read_mdd(bytes, "a.mdd", &space),
        });
        if let Ok(contents) = read {
            used::contents(&contents);
        }
    }
}
