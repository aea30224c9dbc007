//! Compressed glTF: streams of other encoders against the geometry they were made from, our own there and back, and streams that lie.

mod character;
mod handmade;

use character::character;
use dermis_io::gltf::{compress_glb, read};
use dermis_io::{Contents, ReadError};
use dermis_rig::glam::{DQuat, DVec2, DVec3};
use dermis_testkit::compressed::{self, bytes};
use handmade::alone;
use serde_json::{Value, json};

#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// The most memory that the tests of this file ever held. Each works on files of a few kilobytes.
fn assert_little_memory() {
    let most = MEMORY.peak_usage();
    assert!(most < 200 << 20, "{most} bytes");
}

/// A sheet of 4 × 3 points on a paraboloid, cut along its third column for texture coordinates.
struct Sheet {
    positions: Vec<DVec3>,
    normals: Vec<DVec3>,
    uvs: Vec<DVec2>,
    /// Two joints, of weights 3/4 and 1/4.
    joints: Vec<[u8; 2]>,
    triangles: Vec<[u32; 3]>,
}

impl Sheet {
    fn new() -> Self {
        let (mut positions, mut normals, mut uvs, mut joints) = (vec![], vec![], vec![], vec![]);
        let mut add = |i: u8, j: u8, u: f64| {
            let (x, y) = (f64::from(i), f64::from(j));
            positions.push(DVec3::new(x, y, (x * x + y) / 8.0));
            normals.push(DVec3::new(-x / 4.0, -1.0 / 8.0, 1.0).normalize());
            uvs.push(DVec2::new(u, y / 4.0));
            joints.push([i, j]);
        };
        for j in 0..3 {
            (0..4).for_each(|i| add(i, j, f64::from(i) / 4.0));
        }
        (0..3).for_each(|j| add(2, j, 0.875));
        let vertex = |i: u32, j: u32, right: bool| if i == 2 && right { 12 + j } else { 4 * j + i };
        let mut triangles = vec![];
        for (j, i) in (0..2).flat_map(|j| (0..3).map(move |i| (j, i))) {
            let right = i >= 2;
            let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| vertex(i, j, right));
            triangles.extend([[a, b, c], [a, c, d]]);
        }
        Self { positions, normals, uvs, joints, triangles }
    }

    /// Checks a file of the sheet, whatever order its vertices and triangles have: how far each component may be off.
    fn check(&self, contents: &Contents, position: f64, normal: f64, uv: f64, weight: f64) {
        let mesh = contents.mesh.as_ref().unwrap();
        let render = mesh.render.as_ref().unwrap();
        assert_eq!((render.source.len(), mesh.triangles.len()), (15, 12));
        let mut own = vec![];
        for (at, &source) in render.source.iter().enumerate() {
            let place = mesh.positions[source as usize];
            let near = |&known: &usize| {
                (place - self.positions[known]).abs().max_element() <= position
                    && (render.uvs[at] - self.uvs[known]).abs().max_element() <= uv
            };
            let known = (0..15).find(near).unwrap_or_else(|| panic!("{place} {}", render.uvs[at]));
            let off = (render.normals[at] - self.normals[known]).length();
            assert!(off <= normal, "{} for {}", render.normals[at], self.normals[known]);
            if let Some(weights) = &contents.weights {
                let mut row = [0.0f64; 4];
                weights
                    .rows()
                    .nth(source as usize)
                    .unwrap()
                    .iter()
                    .for_each(|(bone, weight)| row[bone.get()] += weight);
                let [a, b] = self.joints[known].map(usize::from);
                row[a] -= 0.75;
                row[b] -= 0.25;
                assert!(row.iter().all(|off| off.abs() <= weight), "{row:?}");
            }
            own.push(known as u32);
        }
        assert_eq!(
            turned(render.triangles.iter().map(|corners| corners.map(|c| own[c as usize]))),
            turned(self.triangles.iter().copied())
        );
    }
}

/// Triangles in order, each from its least corner on.
fn turned(triangles: impl Iterator<Item = [u32; 3]>) -> Vec<[u32; 3]> {
    let mut all: Vec<_> =
        triangles.map(|[a, b, c]| [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap()).collect();
    all.sort_unstable();
    all
}

/// A file whose only buffer is `stream`.
fn file(mut root: Value, stream: &[u8]) -> Vec<u8> {
    let encoded: String = stream.iter().map(|byte| format!("%{byte:02x}")).collect();
    let buffer = json!({ "byteLength": stream.len(), "uri": format!("data:application/octet-stream,{encoded}") });
    root["asset"] = json!({ "version": "2.0" });
    match root.get_mut("buffers").and_then(Value::as_array_mut) {
        Some(buffers) => buffers.insert(0, buffer),
        None => root["buffers"] = json!([buffer]),
    }
    root.to_string().into_bytes()
}

/// The sheet as a Draco stream; its attributes are 0 to 4.
fn draco(stream: &[u8]) -> Vec<u8> {
    file(serde_json::from_str(&compressed::draco_document(stream.len())).unwrap(), stream)
}

const DRACO: [&str; 4] =
    [compressed::EDGEBREAKER_SLOW, compressed::EDGEBREAKER, compressed::EDGEBREAKER_FAST, compressed::SEQUENTIAL];

#[test]
fn draco_streams_hold_the_sheet() {
    // Half a step each: of 3 in 14 bits, and 0.875 in 12. Normals have 10 bits along two axes, and weights of 8 sum to one again.
    let sheet = Sheet::new();
    for stream in DRACO {
        let contents = alone(&draco(&bytes(stream))).unwrap();
        sheet.check(&contents, 1.0001 * 3.0 / 2.0 / 16383.0, 4e-3, 1.0001 * 0.875 / 2.0 / 4095.0, 4e-3);
    }
}

#[test]
fn draco_streams_that_lie_are_refused() {
    for stream in DRACO {
        let stream = bytes(stream);
        for end in 0..stream.len() {
            let refused = alone(&draco(&stream[..end])).map(|_| ());
            assert!(matches!(refused, Err(ReadError::Damaged { .. })), "{end}: {refused:?}");
        }
        for bit in 0..8 * stream.len() {
            let mut flipped = stream.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = alone(&draco(&flipped));
            flipped[(bit * 7919 / 8) % stream.len()] ^= 0xff;
            let _ = alone(&draco(&flipped));
        }
    }
    // Triangles without end, which cost an edgebreaker by valence nothing: it would foretell every symbol.
    let mut many = bytes(compressed::EDGEBREAKER_SLOW);
    many.splice(12..14, [0x80, 0x80, 0x80, 0x80, 0x01, 0x80, 0x80, 0x80, 0x80, 0x01]);
    let refused = alone(&draco(&many)).unwrap_err().to_string();
    assert!(refused.contains("the compressed mesh in buffer view 0"), "{refused}");
    assert_little_memory();
}

#[test]
fn what_draco_streams_of_primitives_disagree_on_is_named() {
    let whole = bytes(compressed::EDGEBREAKER);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut root: Value = serde_json::from_slice(&draco(&whole)).unwrap();
        change(&mut root);
        alone(root.to_string().as_bytes())
    };
    let says = |change: &dyn Fn(&mut Value), what: &str| {
        let refused = changed(change).unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    };
    let primitive = "/meshes/0/primitives/0";
    says(&|root| root.pointer_mut(primitive).unwrap()["mode"] = json!(5), "of a strip");
    says(&|root| drop(root.pointer_mut(primitive).unwrap().as_object_mut().unwrap().remove("indices")), "no indices");
    says(
        &|root| {
            root.pointer_mut(&format!("{primitive}/extensions/KHR_draco_mesh_compression/attributes")).unwrap()["NORMAL"] =
                json!(77);
        },
        "has no attribute 77 for NORMAL",
    );
    says(&|root| root["accessors"][1]["type"] = json!("VEC4"), "NORMAL has the type VEC4 for 3 components");
    says(&|root| root["accessors"][2]["componentType"] = json!(5121), "which is none of its components'");
    says(&|root| root["bufferViews"] = json!([]), "names buffer view 0, but there are 0");
    // Counts of files that were compressed may be those of vertices before.
    assert!(changed(&|root| root["accessors"][0]["count"] = json!(12)).is_ok());
}

/// The sheet as meshopt streams: positions, normals, colours, and corners.
fn meshopt(extension: &str, positions: (&str, Value), corners: (&str, &str)) -> Vec<u8> {
    let sheet = Sheet::new();
    let mut buffer = vec![];
    let mut views = vec![];
    let mut fallback = 0;
    let mut view = |stream: Vec<u8>, mut said: Value| {
        buffer.resize(usize::next_multiple_of(buffer.len(), 4), 0);
        let length = said["count"].as_u64().unwrap() * said["byteStride"].as_u64().unwrap();
        said["buffer"] = json!(0);
        said["byteOffset"] = json!(buffer.len());
        said["byteLength"] = json!(stream.len());
        let mut made =
            json!({ "buffer": 1, "byteOffset": fallback, "byteLength": length, "extensions": { extension: said } });
        if said["mode"] == "ATTRIBUTES" {
            made["byteStride"] = said["byteStride"].clone();
        }
        views.push(made);
        fallback += length;
        buffer.extend(stream);
    };
    let attributes = |stride: u64, more: Value| {
        let mut said = json!({ "count": 15, "byteStride": stride, "mode": "ATTRIBUTES" });
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        said
    };
    view(bytes(positions.0), attributes(12, positions.1));
    view(bytes(compressed::NORMALS), attributes(8, json!({ "filter": "OCTAHEDRAL" })));
    view(bytes(compressed::COLOURS), attributes(4, json!({ "filter": "COLOR" })));
    view(bytes(corners.0), json!({ "count": 36, "byteStride": 2, "mode": corners.1 }));
    let uvs: Vec<u8> = sheet.uvs.iter().flat_map(|uv| uv.to_array()).flat_map(|x| (x as f32).to_le_bytes()).collect();
    views.push(json!({ "buffer": 0, "byteOffset": buffer.len().next_multiple_of(4), "byteLength": uvs.len() }));
    buffer.resize(buffer.len().next_multiple_of(4), 0);
    buffer.extend(uvs);
    let accessor = |view: usize, component: u32, shape: &str, count: usize| {
        json!({ "bufferView": view, "componentType": component, "normalized": component != 5126 && shape != "SCALAR",
            "type": shape, "count": count })
    };
    let root = json!({
        "extensionsRequired": [extension, "KHR_mesh_quantization"],
        "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "indices": 3,
            "attributes": { "POSITION": 0, "NORMAL": 1, "COLOR_0": 2, "TEXCOORD_0": 4 } }] }],
        "accessors": [accessor(0, 5126, "VEC3", 15), accessor(1, 5122, "VEC3", 15), accessor(2, 5121, "VEC4", 15),
            accessor(3, 5123, "SCALAR", 36), accessor(4, 5126, "VEC2", 15)],
        "bufferViews": views,
        "buffers": [{ "byteLength": fallback, "extensions": { extension: { "fallback": true } } }],
    });
    file(root, &buffer)
}

#[test]
fn meshopt_streams_hold_the_sheet() {
    let sheet = Sheet::new();
    let corners = [(compressed::TRIANGLES, "TRIANGLES"), (compressed::INDICES, "INDICES")];
    for (extension, positions, off, corners) in [
        ("EXT_meshopt_compression", (compressed::POSITIONS_0, json!({})), 0.0, corners[0]),
        ("KHR_meshopt_compression", (compressed::POSITIONS_1, json!({ "filter": "NONE" })), 0.0, corners[1]),
        // A sign and fourteen bits of at most 3, rounded.
        (
            "EXT_meshopt_compression",
            (compressed::EXPONENTIAL, json!({ "filter": "EXPONENTIAL" })),
            2.0 / 16384.0,
            corners[0],
        ),
    ] {
        let contents = alone(&meshopt(extension, positions, corners)).unwrap();
        // An octahedron of eleven bits and a sign.
        sheet.check(&contents, off, 1e-3, 0.0, 0.0);
        let mesh = contents.mesh.as_ref().unwrap();
        let colors = &mesh.render.as_ref().unwrap().colors;
        for (at, color) in colors.iter().enumerate() {
            let expected = [at as f32 / 16.0, 1.0 - at as f32 / 16.0, (at % 4) as f32 / 4.0, 1.0];
            let off = color.to_array().iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            // Three steps of eight bits: luma and two differences are rounded.
            assert!(off <= 3.0 / 255.0, "{color} for {expected:?}");
        }
        assert_eq!(colors.len(), 15);
    }
}

/// Keys of a node's rotation: quaternions about one axis.
#[test]
fn meshopt_quaternions_turn_a_node() {
    let mut stream = bytes(compressed::QUATERNIONS);
    let length = stream.len();
    stream.extend((0..15).flat_map(|at| (at as f32).to_le_bytes()));
    let extension = json!({ "EXT_meshopt_compression": { "buffer": 0, "byteLength": length, "byteStride": 8, "count": 15,
        "mode": "ATTRIBUTES", "filter": "QUATERNION" } });
    let root = json!({
        "nodes": [{ "name": "arm" }],
        "animations": [{ "channels": [{ "sampler": 0, "target": { "node": 0, "path": "rotation" } }],
            "samplers": [{ "input": 0, "output": 1 }] }],
        "accessors": [{ "bufferView": 0, "componentType": 5126, "type": "SCALAR", "count": 15 },
            { "bufferView": 1, "componentType": 5122, "normalized": true, "type": "VEC4", "count": 15 }],
        "bufferViews": [{ "buffer": 0, "byteOffset": length, "byteLength": 60 },
            { "buffer": 1, "byteLength": 120, "extensions": extension }],
        "buffers": [{ "byteLength": 120 }],
    });
    let contents = alone(&file(root, &stream)).unwrap();
    for key in 0..15 {
        let pose = (contents.clips[0].sample)(f64::from(key)).pose;
        let turned = DQuat::from_mat3(&pose.bones.iter().next().unwrap().matrix3);
        let expected = DQuat::from_axis_angle(DVec3::new(0.6, 0.8, 0.0), 2.0 * (0.1 + 0.2 * f64::from(key)));
        // Components of a sign and eleven bits of 1/√2.
        assert!(turned.dot(expected).abs() > 1.0 - 1e-6, "{turned} for {expected}");
    }
}

#[test]
fn meshopt_streams_that_lie_are_refused() {
    let whole =
        meshopt("KHR_meshopt_compression", (compressed::POSITIONS_1, json!({})), (compressed::TRIANGLES, "TRIANGLES"));
    let root: Value = serde_json::from_slice(&whole).unwrap();
    for view in 0..4 {
        let path = format!("/bufferViews/{view}/extensions/KHR_meshopt_compression");
        let changed = |key: &str, value: Value| {
            let mut root = root.clone();
            root.pointer_mut(&path).unwrap()[key] = value;
            alone(root.to_string().as_bytes()).map(|_| ())
        };
        let length = root.pointer(&path).unwrap()["byteLength"].as_u64().unwrap();
        for end in 0..length {
            let refused = changed("byteLength", json!(end));
            assert!(matches!(refused, Err(ReadError::Damaged { .. })), "view {view}, {end} bytes: {refused:?}");
        }
        for (key, value) in [
            ("count", json!(u64::MAX)),
            ("count", json!(1u64 << 40)),
            ("count", json!(0)),
            ("byteStride", json!(0)),
            ("byteStride", json!(u64::MAX)),
            ("byteStride", json!(6)),
            ("buffer", json!(1)),
            ("buffer", json!(9)),
            ("byteOffset", json!(u64::MAX)),
            ("mode", json!("SOMETHING")),
            ("filter", json!("SOMETHING")),
        ] {
            let refused = changed(key, value.clone());
            assert!(matches!(refused, Err(ReadError::Damaged { .. })), "view {view}, {key} {value}: {refused:?}");
        }
    }
    // Flipped bits anywhere in the streams, which stand in the data URI.
    let uri = root["buffers"][0]["uri"].as_str().unwrap().to_owned();
    let start = uri.find(',').unwrap() + 1;
    for bit in 0..(uri.len() - start) / 3 * 8 {
        let mut changed = uri.clone().into_bytes();
        let at = start + bit / 8 * 3 + 1;
        let byte = u8::from_str_radix(&uri[at..at + 2], 16).unwrap() ^ 1 << (bit % 8);
        changed[at..at + 2].copy_from_slice(format!("{byte:02x}").as_bytes());
        let mut root = root.clone();
        root["buffers"][0]["uri"] = json!(String::from_utf8(changed).unwrap());
        let _ = alone(root.to_string().as_bytes());
    }
    assert_little_memory();
}

/// A hundred thousand blocks of zeros, of which each byte stands for a thousand.
#[test]
fn a_bomb_is_refused_by_its_number() {
    let (stride, blocks) = (256, 10_000);
    let rows = 8192 / stride;
    let mut stream = vec![0xa1];
    stream.resize(1 + blocks * stride / 4, 0b1010_1010);
    stream.resize(stream.len() + stride + stride / 4, 0);
    let count = rows * blocks;
    let said =
        json!({ "buffer": 0, "byteLength": stream.len(), "byteStride": stride, "count": count, "mode": "ATTRIBUTES" });
    let view = json!({ "buffer": 1, "byteLength": stride * count, "extensions": { "KHR_meshopt_compression": said } });
    let views = vec![view; 200];
    let root = json!({ "nodes": [], "bufferViews": views, "buffers": [{ "byteLength": 0 }] });
    let refused = alone(&file(root, &stream)).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("may unfold to 100 times its length"), "{refused}");
    assert_little_memory();
}

/// Targets that move one vertex, none, and all: the first two take few bytes, and each comes back.
#[test]
fn targets_that_move_little_are_sparse() {
    let mut made = character(60);
    let count = made.mesh.positions.len();
    let target = |name: &str, moved: std::ops::Range<usize>| dermis_io::MorphTarget {
        name: name.into(),
        deltas: (0..count)
            .map(|at| if moved.contains(&at) { DVec3::new(0.0, 0.25, -0.5) } else { DVec3::ZERO })
            .collect(),
    };
    made.clips.clear();
    made.morphs.clear();
    let bare = made.glb().len();
    made.morphs = vec![target("one", 7..8), target("none", 0..0)];
    let few = made.glb().len();
    made.morphs.push(target("all", 0..count));
    let glb = made.glb();
    // A target and its normals in full take 24 bytes per vertex, beside its text.
    assert!(few - bare < 24 * count / 2, "{} bytes for {count} vertices", few - bare);
    assert!(glb.len() - few > 12 * count);
    let root: Value =
        serde_json::from_slice(&glb[20..20 + u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize]).unwrap();
    let targets = root["meshes"][0]["primitives"][0]["targets"].as_array().unwrap();
    let of = |target: usize| &root["accessors"][targets[target]["POSITION"].as_u64().unwrap() as usize];
    // Vertex 7 is drawn once, as each that is not on the seam.
    assert_eq!((of(0)["sparse"]["count"].as_u64(), &of(0)["min"]), (Some(1), &json!([0.0, 0.0, -0.5])));
    assert!(of(1).get("bufferView").is_none() && of(1).get("sparse").is_none());
    assert!(of(2).get("bufferView").is_some());
    for bytes in [compress_glb(&glb).unwrap(), glb] {
        let contents = alone(&bytes).unwrap();
        for (read, made) in contents.morphs.iter().zip(&made.morphs) {
            assert_eq!((&read.name, &read.deltas), (&made.name, &made.deltas));
        }
        assert_eq!(contents.morphs.len(), 3);
    }
}

#[test]
fn what_we_compress_is_read_again() {
    for bones in [2, 60] {
        let plain = character(bones).glb();
        let folded = compress_glb(&plain).unwrap();
        assert!(bones == 2 || folded.len() < plain.len(), "{} of {} bytes", folded.len(), plain.len());
        let read = |bytes: &[u8]| read(bytes, "hero", &|_, _| Err(std::io::ErrorKind::NotFound.into())).unwrap();
        let (a, b) = (read(&plain), read(&folded));
        let (one, other) = (a.mesh.as_ref().unwrap(), b.mesh.as_ref().unwrap());
        assert_eq!(one.positions, other.positions);
        assert_eq!(turned(one.triangles.iter().copied()), turned(other.triangles.iter().copied()));
        let (drawn, again) = (one.render.as_ref().unwrap(), other.render.as_ref().unwrap());
        assert_eq!((&drawn.source, &drawn.uvs, &drawn.normals), (&again.source, &again.uvs, &again.normals));
        assert!(a.weights.as_ref().unwrap().rows().eq(b.weights.as_ref().unwrap().rows()));
        for (one, other) in a.morphs.iter().zip(&b.morphs) {
            assert_eq!((&one.name, &one.deltas), (&other.name, &other.deltas));
        }
        for (one, other) in a.clips.iter().zip(&b.clips) {
            let (one, other) = ((one.sample)(0.3), (other.sample)(0.3));
            assert_eq!(
                (one.pose.bones.as_slice(), one.morph_weights),
                (other.pose.bones.as_slice(), other.morph_weights)
            );
        }
        assert_eq!((a.morphs.len(), a.clips.len()), (b.morphs.len(), b.clips.len()));
        // What is compressed already stays as it is.
        assert!(compress_glb(&folded).unwrap() == folded);
    }
    for bad in [&b""[..], b"glTF", b"{}", &[0; 64]] {
        assert!(compress_glb(bad).is_err());
    }
}
