//! Characters and their parts in every format that is written, and in those that `dermis-testkit` can write.

use dermis_deform::{Deformer, RiggedDeformer, TrainingPoses};
use dermis_io::gltf::{GlbClip, GlbScene, compress_glb, write_glb};
use dermis_io::npz::{self, StoredFloat};
use dermis_io::part_file::{self, PartHeader};
use dermis_io::share_file::{self, ShareHeader};
use dermis_io::{
    Contents, ModelFile, ModelHeader, MorphTarget, PartFile, Record, ShareFile, Space, UpAxis, model_file, point_cache,
    to_bytes,
};
use dermis_rig::glam::{DAffine3, DMat4, DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{BoneIndex, Mesh, Polygons, RenderMesh, Rows, WorldPose};
use dermis_testkit::compressed::{self, bytes};
use dermis_testkit::fbx::Fbx;
use dermis_testkit::fbx_binary::binary;
use dermis_testkit::ogawa::{self, Archive};
use dermis_testkit::{Arm, ArmPose, Random, Tree, models, vrm};
use serde_json::{Value, json};

const WRITTEN: &str = "a seed can be written";

fn arm() -> Arm {
    Arm::new(3, 4)
}

/// The arm and a sleeve, which is hidden.
fn dressed() -> Arm {
    let mut arm = Arm::layered(&[("arm", 3, 1.0), ("sleeve", 2, 1.25)], 4);
    dermis_testkit::change_rig(&mut arm.rig, |mesh, _, _| mesh.objects[1].visible = false);
    arm
}

/// The arm's mesh as a file draws it: a seam along one side, two parts, texture coordinates and normals.
fn drawn(mesh: &Mesh) -> Mesh {
    let vertices = mesh.positions.len() as u32;
    let mut render = RenderMesh { source: (0..vertices).chain([0, 4, 8]).collect(), ..RenderMesh::default() };
    render.triangles.clone_from(&mesh.triangles);
    render.triangles[0] = render.triangles[0].map(|corner| if corner == 0 { vertices } else { corner });
    render.uvs = (0..render.source.len()).map(|at| DVec2::new(at as f64 / 16.0, 0.5)).collect();
    render.normals = render.source.iter().map(|&v| if v % 2 == 0 { DVec3::Y } else { DVec3::Z }).collect();
    let part = |name: &str, start, count| RenderPart {
        name: name.into(),
        start,
        count,
        color: Vec4::new(0.5, 1.0, 0.0, 1.0),
        material: None,
    };
    render.parts = vec![part("upper", 0, 4), part("lower", 4, render.triangles.len() as u32 - 4)];
    Mesh { render: Some(render), ..mesh.clone() }
}

fn morphs(vertices: usize) -> Vec<MorphTarget> {
    let deltas = |axis: DVec3| (0..vertices).map(|v| axis * (v as f64).sin() * 0.02).collect();
    vec![
        MorphTarget { name: "wide".into(), deltas: deltas(DVec3::X) },
        MorphTarget { name: "deep".into(), deltas: deltas(DVec3::Z) },
    ]
}

/// Poses of the arm, joint to world.
fn world(arm: &Arm, frames: usize) -> (Vec<f64>, Vec<WorldPose>) {
    let posed = |pose: &ArmPose| {
        let transforms = arm.transforms(pose);
        arm.rig.skeleton().world_pose(&transforms)
    };
    ArmPose::swing(frames).iter().map(|(time, pose)| (*time, posed(pose))).unzip()
}

/// Binary glTF files: a character with everything, its parts alone, and one of the kinds of data that we do not write.
pub fn glbs() -> Vec<Vec<u8>> {
    let arm = arm();
    let (mesh, morphs) = (drawn(arm.rig.mesh()), morphs(arm.rig.mesh().positions.len()));
    let (times, poses) = world(&arm, 3);
    let morph_weights = vec![vec![0.0, 1.0], vec![0.5, 0.0], vec![0.25, 0.25]];
    let moves = GlbClip { name: "move".into(), times: times.clone(), poses: poses.clone(), ..GlbClip::default() };
    let bulges = GlbClip {
        name: "bulge".into(),
        times: times.clone(),
        morph_weights: morph_weights.clone(),
        ..GlbClip::default()
    };
    let mut shears = GlbClip { name: "shear".into(), ..moves.clone() };
    shears.poses[1].bones[BoneIndex::new(1)].matrix3.y_axis += DVec3::X * 0.3;
    let both = GlbClip { name: "both".into(), times, poses, morph_weights, curves: vec![] };
    let all = [both, moves.clone()];
    let (mesh, skeleton) = (Some(&mesh), Some(arm.rig.skeleton()));
    let dressed = dressed();
    let scene = GlbScene { name: "arm", ..GlbScene::default() };
    let mut files: Vec<Vec<u8>> = [
        GlbScene { mesh, skeleton, weights: arm.rig.weights(), morphs: &morphs, clips: &all, ..scene },
        GlbScene { mesh: Some(arm.rig.mesh()), skeleton, weights: arm.rig.weights(), ..scene },
        GlbScene { mesh, morphs: &morphs, clips: &[bulges], ..scene },
        GlbScene { skeleton, clips: &all[1..], ..scene },
        GlbScene { skeleton, clips: &[shears, moves], ..scene },
        GlbScene { mesh: Some(arm.rig.mesh()), ..scene },
        GlbScene { mesh: Some(dressed.rig.mesh()), skeleton, weights: dressed.rig.weights(), ..scene },
    ]
    .iter()
    .map(|scene| to_bytes(|out| write_glb(scene, out)).expect(WRITTEN))
    .collect();
    let compressed = compress_glb(&files[0]).expect(WRITTEN);
    files.extend([odd_glb(), compressed, draco_glb(), packed_glb(), vrm::avatar(0), vrm::avatar(1)]);
    files.extend(DRACO.map(|stream| draco_sheet(&bytes(stream))));
    files
}

/// A triangle as a Draco stream of a list: by hand, so that its numbers stand in the bytes.
fn draco_glb() -> Vec<u8> {
    // Header, one triangle of three points as bytes, one attribute of three plain floats.
    let mut data = b"DRACO\x02\x02\x01\0\0\0\x01\x03\x01\0\x01\x02".to_vec();
    data.extend([1, 1, 0, 9, 3, 0, 0, 0]);
    data.extend([0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].map(f32::to_le_bytes).concat());
    let length = data.len();
    let attributes = json!({ "POSITION": 0 });
    let json = json!({
        "asset": { "version": "2.0" },
        "nodes": [{ "mesh": 0 }],
        "scenes": [{ "nodes": [0] }],
        "meshes": [{ "primitives": [{ "attributes": attributes, "indices": 1,
            "extensions": { "KHR_draco_mesh_compression": { "bufferView": 0, "attributes": { "POSITION": 0 } } } }] }],
        "accessors": [{ "componentType": 5126, "type": "VEC3", "count": 3 }, { "componentType": 5123, "type": "SCALAR", "count": 3 }],
        "bufferViews": [{ "buffer": 0, "byteLength": length }],
        "buffers": [{ "byteLength": length }],
    });
    glb(&json, &data)
}

/// The sheet of the testkit by every method of connectivity that Draco has.
const DRACO: [&str; 4] =
    [compressed::EDGEBREAKER_SLOW, compressed::EDGEBREAKER, compressed::EDGEBREAKER_FAST, compressed::SEQUENTIAL];

/// The sheet as a Draco stream.
fn draco_sheet(stream: &[u8]) -> Vec<u8> {
    let mut json: Value =
        serde_json::from_str(&compressed::draco_document(stream.len())).expect("the testkit writes JSON");
    json["asset"] = json!({ "version": "2.0" });
    json["buffers"] = json!([{ "byteLength": stream.len() }]);
    glb(&json, stream)
}

/// The sheet and a turning node by every filter and mode of meshopt.
fn packed_glb() -> Vec<u8> {
    let (mut data, mut views, mut unfolded) = (Vec::new(), Vec::new(), 0);
    let mut view = |stream: &str, count: usize, stride: usize, mode: &str, filter: &str| {
        let stream = bytes(stream);
        let packed = json!({ "buffer": 0, "byteOffset": data.len(), "byteLength": stream.len(), "byteStride": stride,
            "count": count, "mode": mode, "filter": filter });
        let length = count * stride;
        let mut made = json!({ "buffer": 1, "byteOffset": unfolded, "byteLength": length,
            "extensions": { "KHR_meshopt_compression": packed } });
        if mode == "ATTRIBUTES" {
            made["byteStride"] = json!(stride);
        }
        views.push(made);
        unfolded += length;
        data.extend(stream);
        data.resize(data.len().next_multiple_of(4), 0);
    };
    view(compressed::EXPONENTIAL, 15, 12, "ATTRIBUTES", "EXPONENTIAL");
    view(compressed::NORMALS, 15, 8, "ATTRIBUTES", "OCTAHEDRAL");
    view(compressed::COLOURS, 15, 4, "ATTRIBUTES", "COLOR");
    view(compressed::TRIANGLES, 36, 2, "TRIANGLES", "NONE");
    view(compressed::QUATERNIONS, 15, 8, "ATTRIBUTES", "QUATERNION");
    view(compressed::POSITIONS_1, 15, 12, "ATTRIBUTES", "NONE");
    view(compressed::INDICES, 36, 2, "INDICES", "NONE");
    let times = data.len();
    data.extend((0..15).flat_map(|at| (at as f32).to_le_bytes()));
    views.push(json!({ "buffer": 0, "byteOffset": times, "byteLength": 60 }));
    let accessor = |view: usize, component: u32, shape: &str, count: usize| {
        json!({ "bufferView": view, "componentType": component, "normalized": component != 5126 && shape != "SCALAR",
            "type": shape, "count": count })
    };
    let fallback = json!({ "KHR_meshopt_compression": { "fallback": true } });
    let json = json!({
        "asset": { "version": "2.0" },
        "nodes": [{ "name": "arm", "children": [1] }, { "mesh": 0 }],
        "meshes": [{ "primitives": [
            { "indices": 3, "attributes": { "POSITION": 0, "NORMAL": 1, "COLOR_0": 2 } },
            { "indices": 6, "attributes": { "POSITION": 5 } },
        ] }],
        "animations": [{ "channels": [{ "sampler": 0, "target": { "node": 0, "path": "rotation" } }],
            "samplers": [{ "input": 7, "output": 4 }] }],
        "accessors": [accessor(0, 5126, "VEC3", 15), accessor(1, 5122, "VEC3", 15), accessor(2, 5121, "VEC4", 15),
            accessor(3, 5123, "SCALAR", 36), accessor(4, 5122, "VEC4", 15), accessor(5, 5126, "VEC3", 15),
            accessor(6, 5123, "SCALAR", 36), accessor(7, 5126, "SCALAR", 15)],
        "bufferViews": views,
        "buffers": [{ "byteLength": data.len() }, { "byteLength": unfolded, "extensions": fallback }],
    });
    glb(&json, &data)
}

/// A GLB by hand: two skins, quantised and sparse accessors, strides, every interpolation, node matrices, colours.
fn odd_glb() -> Vec<u8> {
    let mut data: Vec<u8> = Vec::new();
    let mut views: Vec<Value> = Vec::new();
    let mut view = |bytes: &[u8], stride: Option<u32>| {
        let mut view = json!({ "buffer": 0, "byteOffset": data.len(), "byteLength": bytes.len() });
        if let Some(stride) = stride {
            view["byteStride"] = json!(stride);
        }
        data.extend(bytes);
        data.resize(data.len().next_multiple_of(4), 0);
        views.push(view);
        views.len() - 1
    };
    let floats = |numbers: &[f32]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let positions =
        view(&[0i16, 0, 0, 0, 100, 0, 0, 0, 0, 100, 0, 0, 0, 0, 100, 0].map(i16::to_le_bytes).concat(), Some(8));
    let joints = view(&[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0], Some(4));
    let weights = view(&[128, 127, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 200, 55, 0, 0], Some(4));
    let indices = view(&[0, 1, 2, 0, 2, 3], None);
    let colors = view(&[255; 16], None);
    let identity = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0f32];
    let binds = view(&floats(&[identity, identity].concat()), None);
    let times = view(&floats(&[0.0, 0.5]), None);
    let turns = view(&floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.6, 0.0, 0.8]), None);
    let spline = view(&floats(&[0.0; 18]), None);
    let (sparse_at, sparse) = (view(&[1, 3], None), view(&floats(&[0.0, 0.1, 0.0, 0.2, 0.0, 0.0]), None));
    let accessor = |view: usize, component: u32, count: u32, kind: &str| json!({ "bufferView": view, "componentType": component, "count": count, "type": kind });
    let normalised = |mut accessor: Value| {
        accessor["normalized"] = json!(true);
        accessor
    };
    let accessors = json!([
        normalised(accessor(positions, 5122, 4, "VEC3")),
        accessor(joints, 5121, 4, "VEC4"),
        normalised(accessor(weights, 5121, 4, "VEC4")),
        accessor(indices, 5121, 6, "SCALAR"),
        normalised(accessor(colors, 5121, 4, "VEC4")),
        accessor(binds, 5126, 2, "MAT4"),
        accessor(times, 5126, 2, "SCALAR"),
        accessor(turns, 5126, 2, "VEC4"),
        accessor(spline, 5126, 6, "VEC3"),
        { "componentType": 5126, "count": 4, "type": "VEC3", "sparse": { "count": 2,
            "indices": { "bufferView": sparse_at, "componentType": 5121 }, "values": { "bufferView": sparse } } },
    ]);
    let primitive = |mode: u32| {
        json!({ "attributes": { "POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2, "COLOR_0": 4 },
        "indices": 3, "mode": mode, "targets": [{ "POSITION": 9 }], "material": 0 })
    };
    let document = json!({
        "asset": { "version": "2.0", "minVersion": "2.0" },
        "extensionsRequired": ["KHR_mesh_quantization"],
        "buffers": [{ "byteLength": data.len() }], "bufferViews": views, "accessors": accessors,
        "materials": [{ "name": "skin", "pbrMetallicRoughness": { "baseColorFactor": [0.5, 0.5, 0.5, 1.0] } }],
        "meshes": [{ "name": "one", "primitives": [primitive(4), primitive(5)], "weights": [0.5],
            "extras": { "targetNames": ["bulge"] } }],
        "nodes": [
            { "name": "armature", "children": [1, 3, 4], "scale": [0.01, 0.01, 0.01] },
            { "name": "root", "children": [2], "translation": [0.0, 1.0, 0.0] },
            { "name": "tip", "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0.5, 0, 1] },
            { "mesh": 0, "skin": 0 },
            { "mesh": 0, "skin": 1, "weights": [1.0] }
        ],
        "skins": [{ "joints": [1, 2], "inverseBindMatrices": 5, "skeleton": 1 }, { "joints": [2, 1] }],
        "animations": [{ "name": "turn", "channels": [
                { "sampler": 0, "target": { "node": 2, "path": "rotation" } },
                { "sampler": 1, "target": { "node": 1, "path": "translation" } },
                { "sampler": 2, "target": { "node": 1, "path": "rotation" } },
                { "sampler": 3, "target": { "node": 3, "path": "weights" } }],
            "samplers": [{ "input": 6, "output": 7 }, { "input": 6, "output": 8, "interpolation": "CUBICSPLINE" },
                { "input": 6, "output": 7, "interpolation": "STEP" }, { "input": 6, "output": 6 }] }],
        "scenes": [{ "nodes": [0] }], "scene": 0
    });
    glb(&document, &data)
}

/// A GLB of two chunks.
fn glb(document: &Value, data: &[u8]) -> Vec<u8> {
    let mut text = crate::json::text(document);
    text.resize(text.len().next_multiple_of(4), b' ');
    let total = (28 + text.len() + data.len()) as u32;
    let head = [b"glTF\x02\0\0\0", &total.to_le_bytes()[..]].concat();
    let chunk = |kind: &[u8], bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), kind, bytes].concat();
    [head, chunk(b"JSON", &text), chunk(b"BIN\0", data)].concat()
}

/// The arm with examples: rig, poses, skins, and everything else that a bundle has a place for.
fn arm_contents() -> Contents {
    let arm = arm();
    let (times, poses) = world(&arm, 3);
    let skins = ArmPose::swing(3).into_iter().map(|(_, pose)| arm.skin(&pose));
    let record = |((time, mut pose), skin): ((f64, WorldPose), Vec<DVec3>)| {
        pose.channels = vec![("flex".into(), time)];
        Record {
            label: format!("frame {time}"),
            time: Some(time),
            pose: Some(pose),
            positions: Some(skin),
            importance: 1.0 + time,
            local: None,
        }
    };
    let counts = vec![3; arm.rig.mesh().triangles.len()];
    let polygons = Polygons { counts, indices: arm.rig.mesh().triangles.as_flattened().to_vec() };
    Contents {
        mesh: Some(Mesh { polygons: Some(polygons), ..arm.rig.mesh().clone() }),
        skeleton: Some(arm.rig.skeleton().clone()),
        weights: arm.rig.weights().cloned(),
        influence_maps: arm.rig.weights().cloned(),
        records: times.into_iter().zip(poses).zip(skins).map(record).collect(),
        frames_per_second: Some(30.0),
        space: Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() },
        ..Contents::default()
    }
}

/// NumPy bundles: everything, and each kind of bundle alone.
pub fn bundles() -> Vec<Vec<u8>> {
    let all = arm_contents;
    let motion = Contents { mesh: None, weights: None, influence_maps: None, ..all() };
    let without_skins = |record: Record| Record { positions: None, ..record };
    let motion = Contents { records: motion.records.into_iter().map(without_skins).collect(), ..motion };
    let shapes = Contents { skeleton: None, weights: None, influence_maps: None, records: vec![], ..all() };
    let dressed = Contents { mesh: Some(dressed().rig.mesh().clone()), ..Contents::default() };
    let kinds = [all(), Contents { records: vec![], ..all() }, motion, shapes, dressed];
    let mut files = Vec::new();
    for float in [StoredFloat::Single, StoredFloat::Double] {
        files.extend(kinds.iter().map(|kind| to_bytes(|out| npz::write(kind, float, out)).expect(WRITTEN)));
    }
    files
}

/// Models of every base, and of every correction over one.
pub fn models() -> Vec<Vec<u8>> {
    let mut random = Random::new(11);
    let mut tree = Tree::new(3, 6, 5);
    // The triangles that rotational regression turns.
    dermis_testkit::change_rig(&mut tree.rig, |mesh, _, _| mesh.triangles = models::strip(6));
    let kept = |name: &str| name.starts_with("nothing over") || name.ends_with("over lbs");
    let made = models::models(&tree, &mut random).into_iter().filter(|(name, _)| kept(name));
    let store = |model: RiggedDeformer| {
        let space = Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "cm".into() };
        let settings = vec![("s".into(), "1e-3".into())];
        let report = json!({ "s": 1e-3, "held": ["a"], "none": null });
        let header =
            ModelHeader { method: "joint".into(), program: "seed".into(), settings, report, ..ModelHeader::default() };
        to_bytes(|out| model_file::write(&ModelFile { model, space, header }, out)).expect(WRITTEN)
    };
    let over_tree = |deformer: Deformer| {
        let poses = tree.poses(2, 1.0, 3);
        let poses: Vec<_> = poses.iter().collect();
        let training = TrainingPoses::new(tree.rig.skeleton(), &[true; 3], &poses, 0.8);
        let baked = deformer.for_bones(3).expect("a model of this tree").into_baked();
        store(RiggedDeformer::new(tree.rig.clone(), None, baked, Some(training)).expect("a model of this tree"))
    };
    let mut files: Vec<Vec<u8>> = made.map(|(_, deformer)| over_tree(deformer)).collect();
    let arm = arm();
    let rig = dermis_rig::Rig::new(drawn(arm.rig.mesh()), arm.rig.skeleton().clone(), arm.rig.weights().cloned());
    let rig = rig.expect("the drawn arm is a rig");
    let base = dermis_deform::Base::Lbs(arm.weights().clone());
    let baked = Deformer::new(rig.mesh().positions.clone(), base, None).expect("the arm's own weights").bake();
    files.push(store(
        RiggedDeformer::new(rig, Some(arm.weights().clone()), baked, None).expect("the arm's own weights"),
    ));
    files
}

/// Sums over examples.
pub fn parts() -> Vec<Vec<u8>> {
    let header = PartHeader {
        format_version: part_file::VERSION,
        program: "seed".into(),
        fingerprint: "00".into(),
        settings: vec![("s".into(), "1".into())],
        row: true,
        is_clip: false,
        stride: 2,
    };
    let part = PartFile {
        header: header.clone(),
        moments: vec![0.5; 6],
        squares: vec![1.0; 2],
        largest: vec![2.0; 2],
        grams: vec![0.25; 8],
        transforms: vec![DAffine3::from_rotation_x(0.3); 2],
        importance: vec![1.0],
        residuals: vec![0.125; 6],
    };
    let empty = PartFile {
        header,
        moments: vec![],
        squares: vec![],
        largest: vec![],
        grams: vec![],
        transforms: vec![],
        importance: vec![],
        residuals: vec![],
    };
    [part, empty].iter().map(|part| to_bytes(|out| part_file::write(part, out)).expect(WRITTEN)).collect()
}

/// A share of a fit.
pub fn shares() -> Vec<Vec<u8>> {
    let share = ShareFile {
        header: ShareHeader {
            format_version: share_file::VERSION,
            program: "seed".into(),
            fingerprint: "00".into(),
            settings: vec![("method".into(), "\"joint\"".into())],
            share: "1/2".into(),
            form: serde_json::json!({"base": "lbs", "eta": 0.0}),
            is_clip: true,
        },
        transforms: vec![DAffine3::from_rotation_x(0.3); 2],
        importance: vec![1.0],
        vertices: vec![0, 3],
        free: Rows::new(vec![0, 3, 9], vec![0.5; 9]).expect("two rows"),
        shared: Rows::new(vec![0, 4, 4], vec![0.25; 4]).expect("two rows"),
        of_vertices: vec![[1.0, -1.0, 0.5, 0.25]; 2],
    };
    vec![to_bytes(|out| share_file::write(&share, out)).expect(WRITTEN)]
}

/// FBX files in three spaces, one with a shape limited per vertex, shown by default, on vertices without weights, one with a shape in
/// between, and one without a skin; each as text and in binary.
pub fn fbx_files() -> Vec<Vec<u8>> {
    let z_up = Fbx { axes: [(2, 1), (1, -1), (0, 1)], unit: 1.0, weight_sum: 2.0 };
    let odd = Fbx { axes: [(0, -1), (1, 1), (2, 1)], unit: 2.54, weight_sum: 0.5 };
    let [plain, z_up, odd] = [Fbx::default(), z_up, odd].map(|fbx| fbx.text());
    let limited = plain.replacen(
        "DeformPercent: 0\n FullWeights: *1 { a: 100 }",
        "DeformPercent: 40\n FullWeights: *2 { a: 25,75 }",
        1,
    );
    let limited = limited.replacen("a: 0.5,0.5,1,1,1,1 }", "a: 0.5,0.5,1,1,0,0 }", 1);
    // A second shape on the way to the first.
    let between = plain.replacen("FullWeights: *1 { a: 100 }", "FullWeights: *2 { a: 100,25 }", 1);
    let half = "Geometry: 12, \"Geometry::half\", \"Shape\" { Version: 100\n Indexes: *1 { a: 8 }\n Vertices: *3 { a: 1,0,0 }\n Normals: *3 { a: 0,0,0 } }\nDeformer: 40,";
    let between = between.replacen("Deformer: 40,", half, 1).replacen(
        "C: \"OO\",11,44\n",
        "C: \"OO\",11,44\nC: \"OO\",12,44\n",
        1,
    );
    // No skin: the strip hangs on the bone that a take turns.
    let rigid = plain.replacen("C: \"OO\",20,0\n", "C: \"OO\",20,22\n", 1).replacen("C: \"OO\",40,10\n", "", 1);
    let texts = [plain, z_up, odd, limited, between, rigid];
    texts.iter().map(|text| text.clone().into_bytes()).chain(texts.iter().map(|text| binary(text))).collect()
}

/// Alembic archives: a mesh that moves below a transform that moves, two meshes, a still one, one with all that is drawn of it.
pub fn archives() -> Vec<Archive> {
    let frames = [0.0, 1.0, 1.0].map(|z| vec![[0.0, 0.0, z], [1.0, 0.0, z], [1.0, 1.0, z], [0.0, 1.0, z]]);
    let square = || ogawa::mesh("square", &[4], &[3, 2, 1, 0], 1, &frames);
    let moves = [[0.0, 1.0, 2.0, 0.0, 0.0, 1.0, 30.0], [3.0, 4.0, 5.0, 0.0, 0.0, 1.0, 60.0]].map(Vec::from);
    let moved = ogawa::transform("moved", true, &[1, 2], 1, &moves, square());
    let scaled = ogawa::transform("scaled", false, &[0], 0, &[vec![1.0, 2.0, 0.5]], moved.clone());
    let matrix = ogawa::transform("matrix", true, &[3], 0, &[DMat4::IDENTITY.to_cols_array().to_vec()], square());
    let still = ogawa::mesh("still", &[3, 3], &[0, 1, 2, 0, 2, 3], 0, &frames[..1]);
    let acyclic = vec![(0.04, vec![0.0]), (1.0, vec![0.0, 0.1, 0.5])];
    let empty = ogawa::mesh("empty", &[4], &[3, 2, 1, 0], 1, &[]);
    [vec![moved], vec![still.clone()], vec![scaled, still.clone()], vec![matrix], vec![empty, still], vec![painted()]]
        .into_iter()
        .map(|objects| Archive { objects, samplings: acyclic.clone() })
        .collect()
}

/// A square that is hidden, with normals, texture coordinates, colours and a face set.
fn painted() -> ogawa::Object {
    let square = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mut object = ogawa::mesh("painted", &[4], &[3, 2, 1, 0], 0, &[square]);
    let ogawa::Property::Compound(_, geometry) = &mut object.properties[0] else { unreachable!() };
    geometry.push(ogawa::param("N", "vtx", "normal", 3, &[0.0, 0.0, 1.0].repeat(4)));
    geometry.push(ogawa::indexed("uv", "fvr", "vector", 2, &[0.0, 0.0, 1.0, 0.5], &[0, 1, 0, 1]));
    let more = vec![ogawa::param("Cd", "uni", "rgb", 3, &[0.1, 0.2, 0.3])];
    geometry.push(ogawa::Property::Compound(".arbGeomParams".into(), more));
    object.properties.push(ogawa::visible(0, &[0]));
    object.children.push(ogawa::face_set("red", &[0]));
    object
}

/// PC2 and MDD files.
pub fn point_caches() -> Vec<Vec<u8>> {
    let shapes: Vec<Vec<DVec3>> =
        (0..3).map(|f| (0..4).map(|v| DVec3::new(v.into(), f.into(), 0.3)).collect()).collect();
    let (frames, space): (Vec<&[DVec3]>, _) = (shapes.iter().map(Vec::as_slice).collect(), Space::default());
    vec![
        to_bytes(|out| point_cache::write_pc2(&frames, 1.0, &space, out)).expect(WRITTEN),
        to_bytes(|out| point_cache::write_mdd(&frames, &[0.0, 0.5, 0.75], &space, out)).expect(WRITTEN),
    ]
}

/// Files that once broke something, with their target and name.
pub fn known() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    // Meshes without indices, which made as many corners as the accessor promised, uncharged, in every node.
    let unindexed = |vertices: usize, primitives: usize, nodes: usize, mode: u32| {
        let primitive = json!({ "attributes": { "POSITION": 0 }, "mode": mode });
        let document = json!({
            "asset": { "version": "2.0" },
            "nodes": vec![json!({ "mesh": 0 }); nodes],
            "meshes": [{ "primitives": vec![primitive; primitives] }],
            "accessors": [{ "count": vertices, "type": "VEC3", "componentType": 5126, "bufferView": 0 }],
            "bufferViews": [{ "buffer": 0, "byteLength": 12 * vertices }],
            "buffers": [{ "byteLength": 12 * vertices }],
            "scenes": [{ "nodes": (0..nodes).collect::<Vec<_>>() }],
        });
        glb(&document, &vec![0; 12 * vertices])
    };
    vec![
        ("gltf", "strips without indices in ten nodes", unindexed(2001, 600, 10, 5)),
        ("gltf", "triangles without indices in forty nodes", unindexed(9999, 3000, 40, 4)),
        ("model", "a part's colour beyond 32 bits", colour_beyond_32_bits()),
        ("fbx", "a vertex's colour beyond 32 bits", Fbx::default().colored(|_| 1e39).into_bytes()),
        ("alembic", "faces of fewer than three corners", small_faces()),
    ]
}

/// An archive with faces that are no surface, which a bundle has no place for.
fn small_faces() -> Vec<u8> {
    let corners = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let mesh = ogawa::mesh("small", &[3, 0, 2, 1], &[0, 1, 2, 0, 1, 2], 0, &[corners]);
    Archive { objects: vec![mesh], samplings: vec![] }.bytes()
}

/// A model whose part has a colour that a text holds and 32 bits do not.
fn colour_beyond_32_bits() -> Vec<u8> {
    let file = models().pop().unwrap_or_default();
    // As long as the text that it replaces, so that every length stays right.
    let (old, new) = (br#"\"color\":[0.5,1.0,0.0,1.0]"#, br#"\"color\":[0.5,1.0,0,1e039]"#);
    let at = file.windows(old.len()).position(|bytes| bytes == old).expect("the arm's part has this colour");
    [&file[..at], new, &file[at + old.len()..]].concat()
}
