//! Files that lie: nothing may panic, hang, or ask for much more memory than the file has bytes.

mod character;

use character::character;
use dermis_io::gltf::read;
use dermis_io::{Contents, ReadError};
use dermis_rig::{MeshError, SkeletonError};
use serde_json::{Value, json};

#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// Reads, and uses whatever was read as the rest of the program would.
fn survive(bytes: &[u8]) -> Result<Contents, ReadError> {
    let contents = read(bytes, "hostile", &|_, _| Err(std::io::ErrorKind::NotFound.into()))?;
    let vertices = contents.mesh.as_ref().map_or(0, |mesh| {
        mesh.check().unwrap();
        let render = mesh.render.as_ref().unwrap();
        assert!(render.source.iter().all(|&v| (v as usize) < mesh.positions.len()));
        assert!(render.triangles.iter().flatten().all(|&c| (c as usize) < render.source.len()));
        mesh.positions.len()
    });
    if let Some(weights) = &contents.weights {
        assert_eq!(weights.vertices(), vertices);
        assert!(weights.bones_named() <= contents.skeleton.as_ref().unwrap().len());
        assert!(weights.rows().all(|row| (row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-12));
    }
    assert!(contents.morphs.iter().all(|morph| morph.deltas.len() == vertices));
    for clip in &contents.clips {
        for time in [f64::NEG_INFINITY, 0.0, 0.1, clip.duration, f64::NAN] {
            let frame = (clip.sample)(time);
            assert_eq!(frame.pose.bones.len(), contents.skeleton.as_ref().map_or(0, |skeleton| skeleton.len()));
            assert_eq!(frame.morph_weights.len(), contents.morphs.len());
        }
    }
    Ok(contents)
}

/// JSON and binary chunk of a file that [`container`] or the writer made.
fn split(glb: &[u8]) -> (Value, Vec<u8>) {
    let size = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    (serde_json::from_slice(&glb[20..20 + size]).unwrap(), glb[28 + size..].to_vec())
}

fn container(json: &Value, binary: &[u8]) -> Vec<u8> {
    let mut json = json.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let word = |size: usize| (size as u32).to_le_bytes();
    let mut glb = [*b"glTF", word(2), word(28 + json.len() + binary.len()), word(json.len()), *b"JSON"].concat();
    glb.extend(json);
    glb.extend([word(binary.len()), *b"BIN\0"].concat());
    glb.extend(binary);
    glb
}

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Where the bytes of accessor `at` start in the binary chunk.
fn start(json: &Value, at: &Value) -> usize {
    let view = json["accessors"][at.as_u64().unwrap() as usize]["bufferView"].as_u64().unwrap() as usize;
    json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize
}

#[test]
fn every_truncation_is_an_error() {
    let glb = character(2).glb();
    for length in 0..glb.len() {
        assert!(survive(&glb[..length]).is_err(), "{length} of {} bytes", glb.len());
    }
    // The same with a header that admits it.
    for length in 20..glb.len() {
        let mut cut = glb[..length].to_vec();
        cut[8..12].copy_from_slice(&(length as u32).to_le_bytes());
        assert!(survive(&cut).is_err(), "{length} of {} bytes", glb.len());
    }
}

#[test]
fn flipped_bits_are_survived() {
    let glb = character(2).glb();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..6000 {
        let mut flipped = glb.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(glb.len());
            flipped[at] ^= 1 << random.below(8);
        }
        let _ = survive(&flipped);
    }
}

/// Paths to everything in `value`, parents first.
fn paths(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(at, v)| paths(v, &format!("{here}/{at}"), found)),
        Value::Object(map) => map.iter().for_each(|(key, v)| paths(v, &format!("{here}/{key}"), found)),
        _ => {}
    }
}

#[test]
fn any_value_may_be_replaced_by_any_other() {
    let (json, binary) = split(&character(2).glb());
    let mut all = Vec::new();
    paths(&json, "", &mut all);
    let replacements = [
        json!(0),
        json!(1),
        json!(7),
        json!(-1),
        json!(255),
        json!(5125),
        json!(u32::MAX),
        json!(4_000_000_000u64),
        json!(u64::MAX),
        json!(1e308),
        json!(0.5),
        json!("VEC3"),
        json!("CUBICSPLINE"),
        json!([]),
        json!({}),
        Value::Null,
    ];
    for path in &all {
        for replacement in &replacements {
            let mut changed = json.clone();
            *changed.pointer_mut(path).unwrap() = replacement.clone();
            let _ = survive(&container(&changed, &binary));
        }
    }
    assert!(all.len() > 300);
    assert_little_memory();
}

/// The most memory that the tests of this file ever held. Each works on files of a few kilobytes or megabytes.
fn assert_little_memory() {
    let most = MEMORY.peak_usage();
    assert!(most < 600 << 20, "{most} bytes");
}

/// Primitives without indices share their vertices, so corners are all that they ask for; a strip asks for three of each.
#[test]
fn corners_that_no_index_pays_for_are_refused_by_their_number() {
    for (mode, primitives, nodes, vertices) in [(5, 600, 10, 2001), (6, 600, 10, 2001), (4, 4000, 40, 9999)] {
        let json = json!({
            "asset": { "version": "2.0" },
            "scenes": [{ "nodes": (0..nodes).collect::<Vec<_>>() }],
            "nodes": vec![json!({ "mesh": 0 }); nodes],
            "meshes": [{ "primitives": vec![json!({ "attributes": { "POSITION": 0 }, "mode": mode }); primitives] }],
            "accessors": [{ "count": vertices, "type": "VEC3", "componentType": 5126, "bufferView": 0 }],
            "bufferViews": [{ "buffer": 0, "byteLength": 12 * vertices }],
            "buffers": [{ "byteLength": 12 * vertices }],
        });
        let positions: Vec<u8> = (0..3 * vertices).flat_map(|i| (i as f32).sin().to_le_bytes()).collect();
        let refused = survive(&container(&json, &positions)).unwrap_err().to_string();
        assert!(refused.contains("asks for") && refused.contains("numbers from a file of"), "{refused}");
    }
    assert_little_memory();
}

/// Lists that cost a file two or three bytes an entry, and a long chain of nodes above many.
#[test]
fn long_lists_of_nothing_take_little_memory_and_time() {
    let (json, binary) = split(&character(2).glb());
    for (key, entry) in [
        ("materials", json!({})),
        ("textures", json!(1)),
        ("samplers", json!([])),
        ("images", json!({})),
        ("cameras", json!(0)),
        ("extras", json!([])),
    ] {
        let mut changed = json.clone();
        changed[key] = json!(vec![entry; 30_000]);
        let _ = survive(&container(&changed, &binary));
    }
    let mut changed = json.clone();
    let root = changed["skins"][0]["joints"][0].clone();
    let nodes = changed["nodes"].as_array_mut().unwrap();
    let (first, chain) = (nodes.len(), 20_000);
    // The root joint at the end of the chain makes every node above it one that is passed through; leaves hang beside it.
    nodes.extend((1..chain).map(|at| json!({ "children": [first + at], "translation": [0, 0, 1e-3] })));
    let mut below = vec![root.clone()];
    below.extend((first + chain..first + 2 * chain).map(|at| json!(at)));
    nodes.push(json!({ "children": below }));
    nodes.extend((0..chain).map(|at| json!({ "extras": at })));
    let roots = changed["scenes"][0]["nodes"].as_array_mut().unwrap();
    roots.retain(|node| *node != root);
    roots.push(json!(first));
    let contents = survive(&container(&changed, &binary)).unwrap();
    let render = contents.mesh.unwrap().render.unwrap();
    assert!(render.appearance.unwrap().description.len() > chain);
    assert_little_memory();
}

#[test]
fn a_gigabyte_promised_by_a_few_bytes_is_refused() {
    let (json, binary) = split(&character(2).glb());
    let mut absurd = Vec::new();
    for (path, value) in [
        ("/accessors/0/count", json!(4_000_000_000u64)),
        ("/bufferViews/0/byteLength", json!(1u64 << 40)),
        ("/bufferViews/0/byteOffset", json!(u64::MAX)),
        ("/buffers/0/byteLength", json!(1u64 << 33)),
    ] {
        let mut changed = json.clone();
        *changed.pointer_mut(path).unwrap() = value;
        absurd.push(changed);
    }
    let sparse = |count: u64| {
        let mut changed = json.clone();
        let accessor = &mut changed["accessors"][0];
        accessor.as_object_mut().unwrap().remove("bufferView");
        accessor["sparse"] = json!({ "count": count, "indices": { "bufferView": 0, "componentType": 5121 }, "values": { "bufferView": 0 } });
        changed
    };
    absurd.push(sparse(4_000_000_000));
    // Zeros cost the file nothing: so many of them are refused by their number.
    let mut zeros = sparse(0);
    zeros["accessors"][0]["count"] = json!(1_000_000_000);
    absurd.push(zeros);
    for changed in absurd {
        let refused = survive(&container(&changed, &binary)).map(|_| ());
        assert!(matches!(refused, Err(ReadError::Damaged { .. })), "{refused:?}");
    }
    // One buffer of 12 kB read through twenty thousand primitives, each with attributes of its own.
    let (mut repeated, binary) = split(&character(100).glb());
    let primitive = |at| json!({ "attributes": { "POSITION": 0, (format!("_{at}")): 0 } });
    repeated["meshes"][0]["primitives"] = (0..20_000).map(primitive).collect();
    let refused = survive(&container(&repeated, &binary)).map(|_| ());
    assert!(matches!(refused, Err(ReadError::Damaged { .. })), "{refused:?}");
    let mut header = b"glTF".to_vec();
    header.extend([2u32, 0xFFFF_FFFF, 0xFFFF_FFF0].map(u32::to_le_bytes).concat());
    header.extend(b"JSON{}");
    assert!(matches!(survive(&header), Err(ReadError::Damaged { .. })));
    assert_little_memory();
}

#[test]
fn node_trees_that_are_none_are_refused_and_deep_ones_read() {
    let (mut json, binary) = split(&character(2).glb());
    for children in [json!([0]), json!([1, 1]), json!([99])] {
        let mut changed = json.clone();
        changed["nodes"][1]["children"] = children;
        assert!(matches!(survive(&container(&changed, &binary)), Err(ReadError::Damaged { .. })));
    }
    // A chain of nodes far deeper than any stack, with the skeleton at its end.
    let depth = 200_000;
    let nodes = json["nodes"].as_array_mut().unwrap();
    let end = nodes.len() + depth;
    for at in nodes.len()..end {
        let child = if at + 1 < end { at + 1 } else { 0 };
        nodes.push(json!({ "children": [child] }));
    }
    json["scenes"][0]["nodes"] = json!([end - depth, 2]);
    let read = survive(&container(&json, &binary)).unwrap();
    assert_eq!(read.skeleton.unwrap().len(), 2);
    // As many joints as nodes.
    json["skins"][0] = json!({ "joints": (0..end).filter(|&at| at != 2).collect::<Vec<_>>() });
    assert!(survive(&container(&json, &binary)).is_ok());
}

#[test]
fn numbers_that_are_none_are_named() {
    let (json, binary) = split(&character(2).glb());
    let attributes = &json["meshes"][0]["primitives"][0]["attributes"];
    let patched = |at: usize, bytes: &[u8]| {
        let mut binary = binary.clone();
        binary[at..at + bytes.len()].copy_from_slice(bytes);
        survive(&container(&json, &binary))
    };
    let nan = f32::NAN.to_le_bytes();
    let position = start(&json, &attributes["POSITION"]);
    assert!(matches!(patched(position + 24, &nan), Err(ReadError::Mesh(MeshError::NotFinite { vertex: 2 }))));
    let weight = start(&json, &attributes["WEIGHTS_0"]);
    assert!(matches!(patched(weight, &nan), Err(ReadError::Influences(_))));
    let joint = start(&json, &attributes["JOINTS_0"]);
    let beyond = patched(joint, &[9]).unwrap_err().to_string();
    assert!(beyond.contains("names joint 9, but its skin has 2"), "{beyond}");
    let inverse = start(&json, &json["skins"][0]["inverseBindMatrices"]);
    assert!(matches!(patched(inverse, &[0; 12]), Err(ReadError::Skeleton(SkeletonError::SingularBind { .. }))));
    assert!(matches!(patched(inverse, &nan), Err(ReadError::Skeleton(SkeletonError::NotFinite { .. }))));
    assert!(matches!(patched(inverse + 12, &[0, 0, 128, 63]), Err(ReadError::Damaged { .. })), "projective");
    let index = start(&json, &json["meshes"][0]["primitives"][0]["indices"]);
    assert!(matches!(patched(index, &[255, 254]), Err(ReadError::Mesh(MeshError::IndexOutOfRange { .. }))));
    let delta = start(&json, &json["meshes"][0]["primitives"][0]["targets"][0]["POSITION"]);
    assert!(matches!(patched(delta, &nan), Err(ReadError::Damaged { .. })));
}

#[test]
fn other_kinds_of_files_are_told_apart() {
    let wrong = |bytes: &[u8]| matches!(survive(bytes), Err(ReadError::WrongKind { .. }));
    assert!(wrong(b"") && wrong(b" \n"));
    assert!(wrong(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
    assert!(wrong(b"o thing\nv 0 0 0\n"));
    assert!(wrong(br#"{"name": "a package", "version": "2.0"}"#));
    assert!(matches!(survive(br#"{"asset": {"version": "1.0"}}"#), Err(ReadError::Unsupported { .. })));
    assert!(matches!(survive(br#"{"asset": {"version": "2.0"}"#), Err(ReadError::Damaged { .. })));
    assert!(matches!(survive(b"glTF\x01\0\0\0\x14\0\0\0"), Err(ReadError::Unsupported { .. })));
    let empty = survive(br#"{"asset": {"version": "2.0"}}"#).unwrap();
    assert!(empty.mesh.is_none() && empty.skeleton.is_none());
    let nested = [b"{\"asset\":".to_vec(), b"[".repeat(1_000_000)].concat();
    assert!(survive(&nested).is_err());
}
