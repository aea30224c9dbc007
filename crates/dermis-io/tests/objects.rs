//! Several meshes stay several: their names, order and visibility through every format that is written.

mod archive;

use archive::{bundle, integers, texts, tiny_rig};
use dermis_deform::{Base, Deformer, RiggedDeformer};
use dermis_io::gltf::{self, GlbClip, GlbScene};
use dermis_io::npz::{self, StoredFloat};
use dermis_io::{Contents, CurveOf, Flaw, ModelFile, ModelHeader, Space, Warning, model_file, obj, to_bytes};
use dermis_rig::glam::{DAffine3, DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{
    BoneIndex, Influences, Mesh, MeshObject, MorphTarget, Polygons, RenderMesh, Rig, Skeleton, WorldPose,
};
use serde_json::{Value, json};

const LONG: &str = "läng\"er \\ als zweihundert Zeichen ist kaum ein Name, doch wer einen hat, behält ihn, Buchstabe für Buchstabe, \
                    auch wenn er sich wiederholt, auch wenn er sich wiederholt, auch wenn er sich wiederholt, bis zum Ende";

/// A quad, a triangle of the same name that is hidden, a quad without a name, three points without a triangle, and a triangle.
fn several() -> Mesh {
    let square = |z: f64| [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].map(|(x, y)| DVec3::new(x, y, z));
    let positions = [&square(0.0)[..], &square(0.5)[..3], &square(1.0), &square(1.5)[1..], &square(2.0)[..3]].concat();
    let quad = |v: u32| [[v, v + 1, v + 2], [v, v + 2, v + 3]];
    let triangles = [&quad(0)[..], &[[4, 5, 6]], &quad(7), &[[14, 15, 16]]].concat();
    let object = |name: &str, vertices, visible| MeshObject { name: name.into(), vertices, visible };
    let objects = [("body", 4, true), ("body", 3, false), ("", 4, true), ("points", 3, false), (LONG, 3, true)];
    Mesh { positions, triangles, objects: objects.map(|(n, v, s)| object(n, v, s)).to_vec(), ..Mesh::default() }
}

/// Its polygons, of which the squares are two triangles.
fn polygons() -> Polygons {
    Polygons { counts: vec![4, 3, 4, 3], indices: vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16] }
}

/// The same as its file draws it: every object but the points, with a seam in the first, and two materials that no object shares.
fn drawn() -> Mesh {
    let mesh = several();
    let source: Vec<u32> = [0, 0, 1, 2, 3].into_iter().chain(4..11).chain(14..17).collect();
    let place = |vertex: u32| source.iter().position(|v| *v == vertex).unwrap() as u32;
    let mut triangles: Vec<[u32; 3]> = mesh.triangles.iter().map(|corners| corners.map(place)).collect();
    triangles[1][0] = 1; // the other side of the seam
    let part = |name: &str, start, count, red| RenderPart {
        name: name.into(),
        start,
        count,
        color: Vec4::new(red, 0.5, 0.25, 1.0),
        material: None,
    };
    let parts =
        vec![part("skin", 0, 2, 0.5), part("cloth", 2, 1, 0.25), part("wool", 3, 2, 0.125), part("skin", 5, 1, 0.5)];
    let uvs = source.iter().enumerate().map(|(at, &v)| DVec2::new(f64::from(v) / 32.0, at as f64 / 32.0)).collect();
    let normals = vec![DVec3::Z; source.len()];
    let render = RenderMesh { source, triangles, uvs, normals, parts, ..RenderMesh::default() };
    Mesh { render: Some(render), ..mesh }
}

fn skeleton() -> Skeleton {
    let bind = vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::Y)];
    Skeleton::new(vec!["root".into(), "tip".into()], vec![None, Some(BoneIndex::new(0))], bind).unwrap()
}

fn weights(vertices: usize) -> Influences {
    let row = |v: usize| vec![(BoneIndex::new(v % 2), 0.75), (BoneIndex::new(1 - v % 2), 0.25)];
    Influences::from_rows((0..vertices).map(row)).unwrap()
}

fn reading(bytes: &[u8]) -> Contents {
    gltf::read(bytes, "several.glb", &|_, _| unreachable!()).unwrap()
}

/// The JSON of a GLB.
fn header(bytes: &[u8]) -> Value {
    let size = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[20..20 + size]).unwrap()
}

/// A GLB with another JSON.
fn edited(bytes: &[u8], change: impl Fn(&mut Value)) -> Vec<u8> {
    let mut json = header(bytes);
    change(&mut json);
    let mut text = json.to_string();
    text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(4) - text.len()));
    let size = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let mut made = bytes[..12].to_vec();
    made.extend((text.len() as u32).to_le_bytes());
    made.extend(b"JSON");
    made.extend(text.as_bytes());
    made.extend(&bytes[20 + size..]);
    let length = made.len() as u32;
    made[8..12].copy_from_slice(&length.to_le_bytes());
    made
}

/// The first two vertices of the quad without a name, and a vertex of the body.
fn morphs(vertices: usize) -> Vec<MorphTarget> {
    let moved = |name: &str, list: &[usize]| {
        let mut deltas = vec![DVec3::ZERO; vertices];
        list.iter().for_each(|&v| deltas[v] = DVec3::new(0.25, -0.5, v as f64));
        MorphTarget { name: name.into(), deltas }
    };
    vec![moved("both", &[1, 7, 8]), moved("one", &[8])]
}

fn scene_bytes(scene: &GlbScene<'_>) -> Vec<u8> {
    to_bytes(|out| gltf::write_glb(scene, out)).unwrap()
}

/// Everything that a GLB holds of several meshes comes back; programs see a node and a mesh for each.
#[test]
fn a_glb_has_a_node_for_every_object() {
    for mesh in [several(), drawn()] {
        let (skeleton, weights, morphs) = (skeleton(), weights(17), morphs(17));
        let pose = |y: f64| WorldPose::new(vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::Y * y)]);
        let clip = GlbClip {
            name: "wave".into(),
            times: vec![0.0, 1.0],
            poses: vec![pose(1.0), pose(2.0)],
            morph_weights: vec![vec![0.0, 0.5], vec![1.0, 0.25]],
            curves: vec![],
        };
        let content = json!({ "drives": 1 });
        let scene = GlbScene {
            name: "several",
            mesh: Some(&mesh),
            skeleton: Some(&skeleton),
            weights: Some(&weights),
            morphs: &morphs,
            clips: &[clip],
            extension: Some(("ACME_drives", &content)),
            ..GlbScene::default()
        };
        let bytes = scene_bytes(&scene);
        let header = header(&bytes);
        let nodes: Vec<&Value> =
            header["nodes"].as_array().unwrap().iter().filter(|node| node.get("mesh").is_some()).collect();
        let names: Vec<&str> = nodes.iter().map(|node| node["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["body", "body", "", "points", LONG]);
        assert!(nodes.iter().all(|node| node["skin"] == 0), "{nodes:?}");
        let hidden: Vec<bool> =
            nodes.iter().map(|node| node["extensions"].get("KHR_node_visibility").is_some()).collect();
        assert_eq!(hidden, [false, true, false, true, false]);
        // What a morph target moves has all of them, its extension and the same keys; the rest has none.
        let targets =
            |mesh: &Value| mesh["primitives"][0].get("targets").map_or(0, |list| list.as_array().unwrap().len());
        let counts: Vec<usize> = header["meshes"].as_array().unwrap().iter().map(targets).collect();
        assert_eq!(counts, [2, 0, 2, 0, 0]);
        let driven: Vec<bool> = nodes.iter().map(|node| node["extensions"].get("ACME_drives").is_some()).collect();
        assert_eq!(driven, counts.iter().map(|count| *count > 0).collect::<Vec<_>>());
        let channels = header["animations"][0]["channels"].as_array().unwrap();
        let weighted: Vec<&Value> = channels.iter().filter(|channel| channel["target"]["path"] == "weights").collect();
        assert_eq!(weighted.len(), 2);
        assert_eq!(weighted[0]["sampler"], weighted[1]["sampler"]);
        // Bounds are those of the object, which engines cull by.
        let positions = &header["meshes"][4]["primitives"][0]["attributes"]["POSITION"];
        assert_eq!(header["accessors"][positions.as_u64().unwrap() as usize]["min"], json!([0.0, 0.0, 2.0]));

        let back = reading(&bytes);
        let read = back.mesh.as_ref().unwrap();
        assert_eq!(read.objects, mesh.objects);
        assert_eq!((&read.positions, &read.triangles), (&mesh.positions, &mesh.triangles));
        assert_eq!(back.weights.as_ref(), Some(&weights));
        assert_eq!(back.morphs, morphs, "targets that move together are one");
        let curve =
            back.clips[0].curves.as_ref().unwrap().iter().find(|curve| curve.of == CurveOf::MorphWeights).unwrap();
        assert_eq!(curve.values, [0.0, 0.5, 1.0, 0.25]);
        let flaws: Vec<Flaw> = back.warnings.iter().map(|warning| warning.flaw).collect();
        assert!(flaws.contains(&Flaw::Hidden) && !flaws.contains(&Flaw::Joined), "{flaws:?}");
        let unread: Vec<&str> = back.unread.iter().map(String::as_str).collect();
        assert_eq!(unread, [""; 0]);
        if let Some(render) = &mesh.render {
            let drawn = read.render.as_ref().unwrap();
            let names: Vec<&str> = drawn.parts.iter().map(|part| part.name.as_str()).collect();
            assert_eq!(names, ["skin", "cloth", "wool", "skin"]);
            assert_eq!(drawn.triangles[..5], render.triangles[..5]);
            assert_eq!(drawn.uvs[..12], render.uvs[..12]);
        }
        // Once more, the file does not change, but that parts without a material got one.
        let again = GlbScene { mesh: Some(read), morphs: &back.morphs, ..scene };
        let twice = reading(&scene_bytes(&again));
        let mut twice_read = twice.mesh.unwrap();
        if mesh.render.is_none() {
            twice_read.render.clone_from(&read.render);
        }
        assert_eq!(&twice_read, read);
        assert_eq!(twice.morphs, morphs);
    }
}

/// What nodes and meshes carry stays with each object, also of two of one name.
#[test]
fn objects_keep_their_extras() {
    let (mesh, skeleton, weights) = (drawn(), skeleton(), weights(17));
    let bare = GlbScene {
        name: "several",
        mesh: Some(&mesh),
        skeleton: Some(&skeleton),
        weights: Some(&weights),
        ..GlbScene::default()
    };
    let dressed = edited(&scene_bytes(&bare), |json| {
        let first = json["nodes"].as_array().unwrap().iter().position(|node| node.get("mesh").is_some()).unwrap();
        json["nodes"][first]["extras"] = json!({ "age": 7 });
        json["nodes"][first]["extensions"] = json!({ "ACME_cloth": { "stiff": 0.5 } });
        json["nodes"][first + 1]["extras"] = json!("worn");
        json["meshes"][1]["extras"] = json!({ "wool": true, "targetNames": [] });
    });
    let contents = reading(&dressed);
    assert!(contents.warnings.iter().all(|warning| warning.flaw != Flaw::Unsupported), "{:?}", contents.warnings);
    let again = header(&scene_bytes(&GlbScene { mesh: contents.mesh.as_ref(), ..bare }));
    let was = header(&dressed);
    for (kind, key) in [("nodes", "extras"), ("nodes", "extensions"), ("meshes", "extras")] {
        let carried = |json: &Value| -> Vec<Value> {
            let list = json[kind].as_array().unwrap().iter();
            list.filter(|one| kind == "meshes" || one.get("mesh").is_some()).map(|one| one[key].clone()).collect()
        };
        let mut expected = carried(&was);
        if kind == "meshes" {
            expected[1].as_object_mut().unwrap().remove("targetNames");
        }
        assert_eq!(carried(&again), expected, "{kind} {key}");
    }
}

/// A mesh with one object, or none, is written as before: called as its file.
#[test]
fn a_lone_object_is_no_several() {
    let plain = Mesh { objects: vec![], ..several() };
    let lone = Mesh { objects: vec![MeshObject { name: "suit".into(), vertices: 17, visible: true }], ..plain.clone() };
    let glb = |mesh: &Mesh| scene_bytes(&GlbScene { name: "file", mesh: Some(mesh), ..GlbScene::default() });
    assert_eq!(glb(&plain), glb(&lone));
    assert_eq!(reading(&glb(&lone)).mesh.unwrap().objects[0].name, "file");
    let text = |mesh: &Mesh| to_bytes(|out| obj::write(mesh, &mesh.positions, &Space::default(), out)).unwrap();
    assert_eq!(text(&plain), text(&lone));
    let bundle = |mesh: &Mesh| {
        let contents = Contents { mesh: Some(mesh.clone()), ..Contents::default() };
        to_bytes(|out| npz::write(&contents, StoredFloat::Double, out)).unwrap()
    };
    assert_eq!(bundle(&plain), bundle(&lone));
}

/// Targets of the same names that do not move together stay apart: other keys, other weights, no names.
#[test]
fn targets_that_move_apart_are_several() {
    let (mesh, morphs) = (several(), morphs(17));
    let clip = GlbClip {
        name: "wave".into(),
        times: vec![0.0, 1.0],
        morph_weights: vec![vec![0.0, 0.5], vec![1.0, 0.25]],
        ..GlbClip::default()
    };
    let scene = GlbScene { name: "a", mesh: Some(&mesh), morphs: &morphs, clips: &[clip], ..GlbScene::default() };
    let bytes = scene_bytes(&scene);
    let changed = |change: &dyn Fn(&mut Value)| reading(&edited(&bytes, change)).morphs.len();
    assert_eq!(changed(&|_| {}), 2);
    assert_eq!(changed(&|json| drop(json["animations"][0]["channels"].as_array_mut().unwrap().pop())), 4);
    assert_eq!(changed(&|json| json["meshes"][2]["weights"][0] = json!(0.5)), 4);
    assert_eq!(changed(&|json| json["meshes"][2]["extras"]["targetNames"][1] = json!("other")), 4);
    assert_eq!(changed(&|json| drop(json["meshes"][2].as_object_mut().unwrap().remove("extras"))), 4);
}

#[test]
fn a_bundle_lists_objects() {
    let mesh = Mesh { polygons: Some(polygons()), ..several() };
    let contents = Contents { mesh: Some(mesh.clone()), ..Contents::default() };
    let bytes = to_bytes(|out| npz::write(&contents, StoredFloat::Single, out)).unwrap();
    let back = npz::read(&bytes, "a.npz").unwrap();
    assert_eq!(back.mesh, Some(mesh));
    assert_eq!(back.unread, [""; 0]);
}

/// Counts that are none, or do not cover the mesh, are refused with their numbers.
#[test]
fn objects_of_a_bundle_that_contradict_it_are_named() {
    let with = |arrays: &[(&'static str, archive::Npy)]| {
        let mut all = tiny_rig();
        all.extend(arrays.iter().cloned());
        npz::read(&bundle(&all), "a.npz")
    };
    let names = |count: usize| ("object_names", texts(&vec!["a"; count].join(" "), &[count as u64]));
    let why = |arrays: &[(&'static str, archive::Npy)]| with(arrays).unwrap_err().to_string();
    let counts = |counts: &[i64]| ("object_counts", integers(counts, &[counts.len() as u64]));
    let hidden = archive::Npy { descr: "|b1".into(), shape: vec![1], data: vec![0] };
    assert!(!with(&[names(1), counts(&[4]), ("object_visible", hidden)]).unwrap().mesh.unwrap().objects[0].visible);
    let read = with(&[names(1), counts(&[4])]).unwrap();
    assert_eq!(read.mesh.unwrap().objects, [MeshObject { name: "a".into(), vertices: 4, visible: true }]);
    assert!(why(&[names(2), counts(&[4, 1])]).contains("5 vertices together, but the mesh has 4"));
    assert!(why(&[names(2), counts(&[2, 1])]).contains("3 vertices together, but the mesh has 4"));
    assert!(why(&[names(2), counts(&[2, 2])]).contains("face 0 joins the objects"));
    assert!(why(&[names(2), counts(&[5, -1])]).contains("object 1 has -1 vertices"));
    assert!(why(&[names(2), counts(&[4, 0])]).contains("object 1 (\"a\") has no vertices"));
    assert!(why(&[names(3), counts(&[2, 2])]).contains("object_names"));
    assert!(why(&[names(1)]).contains("no \"object_counts\""));
    assert!(why(&[counts(&[4])]).contains("no \"object_names\""));
    assert!(why(&[names(1), ("object_counts", archive::floats(&[f64::NAN], &[1]))]).contains("holds no integers"));
    assert!(why(&[names(1), counts(&[1 << 40])]).contains("object 0 has 1099511627776 vertices"));
    let many = vec![1; 1_000_000];
    assert!(why(&[names(many.len()), counts(&many)]).contains("1000000 objects, and 16384 are the most"));
}

fn lines(mesh: &Mesh) -> String {
    let bytes = to_bytes(|out| obj::write(mesh, &mesh.positions, &Space::default(), out)).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn read_obj(text: &[u8]) -> (Mesh, Vec<Warning>) {
    let contents =
        obj::read(text, "a.obj", &Space::default(), &|_, _| Err(std::io::ErrorKind::NotFound.into())).unwrap();
    (contents.mesh.unwrap(), contents.warnings)
}

/// OBJ holds names and order; all is shown.
#[test]
fn an_obj_file_names_objects() {
    // A polygon that is drawn in two ways at a corner has no texture coordinates in an OBJ file: triangles have.
    let triangles = Polygons { counts: vec![3; 6], indices: several().triangles.concat() };
    for (mut mesh, polygons) in [(several(), polygons()), (drawn(), triangles)] {
        mesh.polygons = Some(polygons);
        let text = lines(&mesh);
        let (read, warnings) = read_obj(text.as_bytes());
        mesh.objects.iter_mut().for_each(|object| object.visible = true);
        assert_eq!((&read.objects, &read.positions), (&mesh.objects, &mesh.positions), "{text}");
        assert_eq!((&read.triangles, &read.polygons), (&mesh.triangles, &mesh.polygons));
        assert!(warnings.iter().all(|w| w.flaw == Flaw::UnusedVertex), "{warnings:?}");
        assert_eq!(read.render.as_ref().map(|r| &r.uvs), mesh.render.as_ref().map(|r| &r.uvs));
        assert_eq!(lines(&read), text, "once more it is the same");
    }
    // A name that no line can hold.
    let mut mesh = several();
    mesh.objects[0].name = "two\nlines\\".into();
    assert_eq!(read_obj(lines(&mesh).as_bytes()).0.objects[0].name, "two lines/");
}

/// Objects of other programs: vertices before all objects, faces that join them, groups, names that are no text.
#[test]
fn objects_of_an_obj_file_come_from_their_faces() {
    let vertices = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nv 0 0 1\nv 1 0 1\nv 0 1 1\n";
    let objects = |text: &str| -> Vec<(String, u32)> {
        read_obj(format!("{vertices}{text}").as_bytes()).0.objects.into_iter().map(|o| (o.name, o.vertices)).collect()
    };
    let told = |list: &[(&str, u32)]| list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>();
    // The vertex that no face names belongs to what is before it.
    assert_eq!(objects("o top\nf 5 6 7\no low\nf 1 2 3\n"), told(&[("low", 4), ("top", 3)]));
    assert_eq!(objects("f 1 2 3\no top\nf 5 6 7\n"), told(&[("", 4), ("top", 3)]));
    assert_eq!(objects("o  all of it \nf 1 2 3\nf 5 6 7\n"), told(&[("all of it", 7)]));
    assert_eq!(objects("g a\nf 1 2 3\ng b\nf 5 6 7\ng a\n"), told(&[("a", 4), ("b", 3)]));
    // Groups may be parts of one object, and a lone one is as good as none; objects come before groups.
    assert_eq!(objects("g a\nf 1 2 3\ng b\nf 3 6 7\n"), []);
    assert_eq!(objects("g a\nf 1 2 3\nf 5 6 7\n"), []);
    assert_eq!(objects("g a\nf 1 2 3\no b\nf 5 6 7\n"), told(&[("", 4), ("b", 3)]));
    assert_eq!(objects(""), []);
    // Objects that share a vertex are one, and that is counted.
    let (mesh, warnings) = read_obj(format!("{vertices}o a\nf 1 2 3\no b\nf 3 6 7\n").as_bytes());
    assert_eq!(mesh.objects, []);
    assert!(warnings.iter().any(|w| (w.flaw, w.count) == (Flaw::Joined, 2)), "{warnings:?}");
    let bytes = [format!("{vertices}o a").as_bytes(), b"\xff\nf 1 2 3\no b\nf 5 6 7\n"].concat();
    let (mesh, warnings) = read_obj(&bytes);
    assert_eq!(mesh.objects[0].name, "a\u{fffd}");
    let text = warnings.iter().find(|w| w.flaw == Flaw::Repaired).unwrap().to_string();
    assert!(text.contains("line 8, which is not UTF-8"), "{text}");
    // A million objects are one.
    let many: String =
        (0..20_000).map(|at| format!("o {at}\nv {at} 0 0\nv {at} 1 0\nv {at} 0 1\nf -1 -2 -3\n")).collect();
    let (mesh, warnings) = read_obj(many.as_bytes());
    assert_eq!(mesh.objects, []);
    assert!(warnings.iter().any(|w| (w.flaw, w.count) == (Flaw::Joined, 20_000)), "{warnings:?}");
}

/// The rig of a model keeps its objects, and a file without any has none.
#[test]
fn a_model_keeps_objects() {
    for mesh in [drawn(), Mesh { objects: vec![], ..drawn() }] {
        let rig = Rig::new(mesh.clone(), skeleton(), Some(weights(17))).unwrap();
        let base = Base::Lbs(weights(17));
        let baked = Deformer::new(mesh.positions.clone(), base, None).unwrap().bake();
        let model = RiggedDeformer::new(rig, None, baked, None).unwrap();
        let file = ModelFile { model, space: Space::default(), header: ModelHeader::default() };
        let bytes = to_bytes(|out| model_file::write(&file, out)).unwrap();
        assert_eq!(model_file::read(&bytes).unwrap().rig().mesh().objects, mesh.objects);
        // The header is a text within a text.
        let find = |text: &[u8]| bytes.windows(text.len()).position(|window| window == text);
        assert_eq!(find(b"objects\\\"").is_some(), !mesh.objects.is_empty());
        if let Some(at) = find(b"vertices\\\":4}") {
            let mut damaged = bytes.clone();
            damaged[at + 11] = b'5';
            let why = model_file::read(&damaged).unwrap_err().to_string();
            assert!(why.contains("18 vertices together, but the mesh has 17"), "{why}");
        }
    }
}

/// Every flipped bit of a file of several is an error, or a mesh that can be written.
#[test]
fn damaged_files_are_survived() {
    let (mesh, skeleton, weights, morphs) = (drawn(), skeleton(), weights(17), morphs(17));
    let scene = GlbScene {
        name: "a",
        mesh: Some(&mesh),
        skeleton: Some(&skeleton),
        weights: Some(&weights),
        morphs: &morphs,
        ..GlbScene::default()
    };
    let contents = Contents { mesh: Some(Mesh { render: None, ..mesh.clone() }), ..Contents::default() };
    let files = [
        scene_bytes(&scene),
        to_bytes(|out| npz::write(&contents, StoredFloat::Single, out)).unwrap(),
        lines(&mesh).into_bytes(),
    ];
    let mut written = [0; 3];
    for (kind, whole) in files.iter().enumerate() {
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            let read = match kind {
                0 => gltf::read(&bytes, "a", &|_, _| Err(std::io::ErrorKind::NotFound.into())),
                1 => npz::read(&bytes, "a"),
                _ => obj::read(&bytes, "a", &Space::default(), &|_, _| Err(std::io::ErrorKind::NotFound.into())),
            };
            let Some(mesh) = read.ok().and_then(|contents| contents.mesh) else { continue };
            mesh.check().unwrap_or_else(|e| panic!("byte {at} of file {kind}: {e}"));
            let scene = GlbScene { name: "a", mesh: Some(&mesh), ..GlbScene::default() };
            written[kind] += usize::from(to_bytes(|out| gltf::write_glb(&scene, out)).is_ok());
        }
    }
    assert!(written.iter().all(|count| *count > 100), "{written:?}");
}
