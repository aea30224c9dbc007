//! Geometry caches of the strip of [`fbx`](crate::fbx), as Maya writes them.
//!
//! Groups `FOR4` or `FOR8` of chunks, numbers big-endian, as in files of Maya 2022.

use crate::fbx::{ROWS, changed};
use dermis_rig::glam::DVec3;

/// Seconds of the frames of a cache; the second lies between two frames of the scene's clock.
pub const TIMES: [f64; 3] = [0.0, 0.0625, 0.125];

/// Vertices at rest and in frame `frame`.
pub fn points(frame: usize) -> Vec<DVec3> {
    let rest = ROWS.iter().flat_map(|(y, _)| [DVec3::new(-0.5, *y, 0.0), DVec3::new(0.5, *y, 0.0)]);
    rest.enumerate().map(|(vertex, p)| p + DVec3::new(0.0, 0.25, vertex as f64) * frame as f64).collect()
}

/// The strip without its skin, with a cache of its points at `path`, the channel `channel`, and one of its normals; with further changes.
pub fn scene(path: &str, channel: &str, changes: &[(&str, &str)]) -> String {
    let deformer = |id: i32, channel: &str| {
        format!(
            "Deformer: {id}, \"Deformer::\", \"VertexCacheDeformer\" {{ Version: 100\n Properties70: {{\n P: \"ChannelName\", \"KString\", \"\", \"\", \"{channel}\"\n }} }}\n"
        )
    };
    let cache = format!(
        "Cache: 90, \"Cache::cache\", \"\" {{ Version: 100\n Properties70: {{\n P: \"CacheFileName\", \"KString\", \"\", \"\", \"{path}\"\n P: \"CacheAbsoluteFileName\", \"KString\", \"\", \"\", \"C:\\art\\{path}\"\n }} }}\n"
    );
    let objects = deformer(91, channel) + &deformer(92, "strip_normals") + &cache;
    let links = "C: \"OO\",91,10\nC: \"OO\",92,10\nC: \"OO\",90,91\nC: \"OO\",90,92\n";
    let own = [
        ("C: \"OO\",40,10\n", links),
        ("Deformer: 40,", &*format!("{objects}Deformer: 40,")),
        // No bones: "bend" would turn one.
        ("C: \"OP\",52,22,", "C: \"OP\",52,44,"),
        ("C: \"OP\",62,21,", "C: \"OP\",62,44,"),
    ];
    changed(&[&own, changes].concat())
}

/// A chunk of Maya's binary caches.
fn chunk(wide: bool, tag: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut bytes = tag.to_vec();
    if wide {
        bytes.extend([0; 4]);
        bytes.extend((data.len() as u64).to_be_bytes());
    } else {
        bytes.extend((data.len() as u32).to_be_bytes());
    }
    bytes.extend(data);
    if !tag.starts_with(b"FOR") {
        bytes.resize(bytes.len().next_multiple_of(if wide { 8 } else { 4 }), 0);
    }
    bytes
}

/// Frames, by their numbers, in one file: .mcx if `wide`, else .mc; with numbers of 64 bits if `double`.
pub fn maya(wide: bool, double: bool, frames: &[usize]) -> Vec<u8> {
    let group = |kind: &[u8; 4], chunks: &[Vec<u8>]| {
        chunk(wide, if wide { b"FOR8" } else { b"FOR4" }, &[kind, &*chunks.concat()].concat())
    };
    let tick = |frame: usize| ((TIMES[frame] * 6000.0) as u32).to_be_bytes();
    let (first, last) = (tick(frames[0]), tick(frames[frames.len() - 1]));
    let head = [chunk(wide, b"VRSN", b"0.1\0"), chunk(wide, b"STIM", &first), chunk(wide, b"ETIM", &last)];
    let mut bytes = group(b"CACH", &head);
    for &frame in frames {
        let mut chunks = vec![chunk(wide, b"TIME", &tick(frame))];
        for name in [&b"strip\0"[..], b"strip_normals\0"] {
            let numbers = points(frame).into_iter().flat_map(|p| p.to_array());
            let (tag, data): (_, Vec<u8>) = match double {
                true => (b"DVCA", numbers.flat_map(f64::to_be_bytes).collect()),
                false => (b"FVCA", numbers.flat_map(|x| (x as f32).to_be_bytes()).collect()),
            };
            chunks.extend([
                chunk(wide, b"CHNM", name),
                chunk(wide, b"SIZE", &10u32.to_be_bytes()),
                chunk(wide, tag, &data),
            ]);
        }
        bytes.extend(group(b"MYCH", &chunks));
    }
    bytes
}

/// The description of a cache of files of the format `mcx`, or `mcc` for .mc: `OneFile`, or `OneFilePerFrame`.
pub fn description(kind: &str, format: &str) -> String {
    let channel = |at: usize, name: &str, what: &str| {
        format!(
            "<channel{at} ChannelName=\"{name}\" ChannelType=\"FloatVectorArray\" ChannelInterpretation=\"{what}\" SamplingType=\"Regular\" SamplingRate=\"375\" StartTime=\"0\" EndTime=\"750\"/>"
        )
    };
    format!(
        "<?xml version=\"1.0\"?>\n<Autodesk_Cache_File>\n<cacheType Type=\"{kind}\" Format=\"{format}\"/>\n<time Range=\"0-750\"/>\n<cacheTimePerFrame TimePerFrame=\"250\"/>\n<cacheVersion Version=\"2.0\"/>\n<Channels>\n{}\n{}\n</Channels>\n</Autodesk_Cache_File>\n",
        channel(0, "strip", "positions"),
        channel(1, "strip_normals", "normals")
    )
}
