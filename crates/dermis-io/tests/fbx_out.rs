//! FBX that is written, read by the C library ufbx through our reader, whose own tests hold it to files of other programs.

mod character;

use character::{Character, character, face, far, house, of, skin};
use dermis_io::fbx::{self, common_space};
use dermis_io::gltf;
use dermis_io::skinned_scene::{SceneWritten, SkinnedScene, clip_of_frames};
use dermis_io::{Clip, ClipFrame, Contents, MorphTarget, Space, UpAxis, WriteError, to_bytes};
use dermis_rig::glam::{DAffine3, DQuat, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Appearance, BoneIndex, Image, Influences, Mesh, MeshObject, Skeleton, WorldPose};
use dermis_testkit::textured::png;
use std::sync::Arc;

fn alone(_: &str, _: u64) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}

fn metres(up: UpAxis) -> Space {
    Space { up, ..Space::default() }
}

fn written(scene: &SkinnedScene<'_>, space: &Space) -> (Vec<u8>, SceneWritten) {
    let mut done = SceneWritten::default();
    let bytes = to_bytes(|out| {
        done = fbx::write(scene, space, out)?;
        Ok(())
    });
    (bytes.unwrap_or_else(|e| panic!("{e}")), done)
}

fn refused(scene: &SkinnedScene<'_>) -> WriteError {
    fbx::write(scene, &common_space(), &mut Vec::new()).unwrap_err()
}

fn read(bytes: &[u8]) -> Contents {
    fbx::read(bytes, "written.fbx", &alone).unwrap_or_else(|e| panic!("{e}"))
}

fn again(scene: &SkinnedScene<'_>, space: &Space) -> Contents {
    let contents = read(&written(scene, space).0);
    assert_eq!(contents.unread, Vec::<String>::new());
    contents
}

fn skin_of(contents: &Contents, time: f64) -> Vec<DVec3> {
    let (mesh, skeleton) = (contents.mesh.as_ref().unwrap(), contents.skeleton.as_ref().unwrap());
    let frame = (contents.clips[0].sample)(time);
    skin(mesh, skeleton, contents.weights.as_ref().unwrap(), &contents.morphs, &frame)
}

/// In each axis and unit what is written comes back: weights to the bit, positions to a few roundings, the motion as close as is said.
#[test]
fn a_character_comes_back() {
    let column = character(4);
    let clip = of(&column.skeleton, &column.clips[0]);
    for space in
        [metres(UpAxis::Y), metres(UpAxis::Z), common_space(), Space { metres_per_unit: 0.0254, ..metres(UpAxis::Z) }]
    {
        let clips = [&clip];
        let scene = column.skinned(&clips);
        let (bytes, done) = written(&scene, &space);
        assert!(bytes.starts_with(b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0"), "7400");
        assert_eq!(written(&scene, &space).0, bytes, "the same bytes");
        assert_eq!((done.renamed, done.left_out), (vec![], vec![]));
        let again = read(&bytes);
        assert_eq!((again.warnings.as_slice(), again.unread.as_slice()), (&[][..], &[][..]));
        assert_eq!(again.space.up, space.up);
        assert!((again.space.metres_per_unit / space.metres_per_unit - 1.0).abs() < 4e-16); // through centimetres
        let mesh = again.mesh.as_ref().unwrap();
        // A conversion and the binding: a few roundings of 2⁻⁵³ of the mesh's 1.3 m.
        assert!(far(&mesh.positions, &column.mesh.positions) < 4e-15);
        assert_eq!(mesh.triangles, column.mesh.triangles);
        let weights = again.weights.as_ref().unwrap();
        assert!(weights.rows().eq(column.weights.normalised().0.rows()), "weights to the bit");
        for (a, b) in again.morphs.iter().zip(&column.morphs) {
            assert_eq!(a.name, b.name);
            assert!(far(&a.deltas, &b.deltas) < 4e-15);
        }
        let skeleton = again.skeleton.as_ref().unwrap();
        assert_eq!((skeleton.names(), skeleton.parents()), (column.skeleton.names(), column.skeleton.parents()));
        for (a, b) in skeleton.bind().iter().zip(column.skeleton.bind().iter()) {
            assert!(a.abs_diff_eq(*b, 4e-15));
        }
        // What corners show: coordinates to 32 bits, as the reader keeps them.
        let (a, b) = (mesh.render.as_ref().unwrap(), column.mesh.render.as_ref().unwrap());
        for (a_corner, b_corner) in a.triangles.as_flattened().iter().zip(b.triangles.as_flattened()) {
            let (a_at, b_at) = (*a_corner as usize, *b_corner as usize);
            assert_eq!(a.source[a_at], b.source[b_at]);
            assert_eq!(a.uvs[a_at].as_vec2(), b.uvs[b_at].as_vec2());
        }
        let parts: Vec<_> = a.parts.iter().map(|part| (part.name.as_str(), part.start, part.count)).collect();
        assert_eq!(parts, b.parts.iter().map(|part| (part.name.as_str(), part.start, part.count)).collect::<Vec<_>>());
        let read = &again.clips[0];
        assert_eq!((read.name.as_str(), read.duration), ("bend", 1.0));
        // What 32 bits lose at keys: an angle of 2⁻²⁵ · 180 degrees per bone over a metre. Between keys the tolerance besides.
        let tolerance = 1e-4 * column.mesh.diagonal();
        for step in 0..=96 {
            let time = f64::from(step) / 96.0;
            let told = (clip.sample)(time);
            let told = skin(&column.mesh, &column.skeleton, &column.weights, &column.morphs, &told);
            let off = far(&skin_of(&again, time), &told);
            assert!(off < if step % 24 == 0 { 1e-6 } else { tolerance }, "{space:?}, {time}: {off}");
        }
        assert!(done.takes[0].2 <= tolerance, "{:?}", done.takes);
    }
}

/// In metres and under a root that stands in the origin, every double comes back to the bit.
#[test]
fn in_metres_doubles_come_back_to_the_bit() {
    let column = character(3);
    let contents = again(&column.skinned(&[]), &metres(UpAxis::Y));
    assert_eq!(contents.mesh.as_ref().unwrap().positions, column.mesh.positions);
    assert_eq!(contents.morphs, column.morphs);
    assert!(contents.weights.unwrap().rows().eq(column.weights.normalised().0.rows()));
    // The bind matrix of the root is exact, so are those that are made with it.
    assert_eq!(contents.skeleton.unwrap().bind()[BoneIndex::new(0)], column.skeleton.bind()[BoneIndex::new(0)]);
}

/// The bundled body: all of its clips, at moments between keys.
#[test]
fn the_body_comes_back() {
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body.glb")).unwrap();
    let body = gltf::read(&bytes, "body.glb", &alone).unwrap();
    let (mesh, skeleton) = (body.mesh.as_ref().unwrap(), body.skeleton.as_ref().unwrap());
    let weights = body.weights.as_ref().unwrap();
    let poses = [0.0, 0.4, 0.9].map(|turn: f64| {
        let rest = skeleton.local_transforms(&WorldPose::new(skeleton.bind().to_vec())).unwrap();
        let axis = |bone: BoneIndex| DVec3::new(1.0, (bone.get() as f64).sin(), (bone.get() as f64).cos()).normalize();
        let bent = rest.enumerate().map(|(bone, local)| *local * DAffine3::from_axis_angle(axis(bone), turn));
        skeleton.posed(dermis_rig::BoneVec::new(bent.collect())).unwrap().world()
    });
    let clip = clip_of_frames("bend", Some(skeleton), vec![0.0, 0.5, 1.0], &poses, vec![]).unwrap();
    let clips = [&clip];
    let scene = SkinnedScene {
        name: "body",
        mesh: Some(mesh),
        skeleton: Some(skeleton),
        weights: Some(weights),
        clips: &clips,
        ..SkinnedScene::default()
    };
    let contents = again(&scene, &common_space());
    assert!(far(&contents.mesh.as_ref().unwrap().positions, &mesh.positions) < 4e-15);
    assert!(contents.weights.as_ref().unwrap().rows().eq(weights.normalised().0.rows()));
    for time in [0.0, 0.13, 0.5, 0.71, 1.0] {
        let told = skin(mesh, skeleton, weights, &[], &(clip.sample)(time));
        let off = far(&skin_of(&contents, time), &told);
        assert!(off < 1e-4 * mesh.diagonal(), "{time}: {off}");
    }
}

/// A turn about a slanted axis by three rounds, past places where two axes of the angles are one, against its closed form.
#[test]
fn a_turn_of_many_rounds_has_no_jump() {
    let column = character(1);
    for axis in [DVec3::Z, DVec3::new(0.3, -0.8, 0.52).normalize(), DVec3::new(1.0, 1.0, 0.0).normalize()] {
        let turn =
            move |time: f64| DAffine3::from_quat(DQuat::from_axis_angle(axis, 6.0 * std::f64::consts::PI * time));
        let clip = Clip {
            name: "turn".into(),
            duration: 1.0,
            start: 0.0,
            key_times: (0..=24).map(|frame| f64::from(frame) / 24.0).collect(),
            curves: None,
            sample: Box::new(move |time| ClipFrame {
                pose: WorldPose::new(vec![turn(time)]),
                morph_weights: vec![time, 0.0],
            }),
        };
        let clips = [&clip];
        let contents = again(&column.skinned(&clips), &common_space());
        for step in 0..=1000 {
            let time = f64::from(step) / 1000.0;
            let told = skin(&column.mesh, &column.skeleton, &column.weights, &column.morphs, &(clip.sample)(time));
            let off = far(&skin_of(&contents, time), &told);
            // Beside the clip's own keys none is added.
            let is_beside = (24.0 * time - (24.0 * time).round()).abs() < 0.04;
            let limit = if is_beside { 1e-3 } else { 1e-4 };
            assert!(off < limit * column.mesh.diagonal(), "{axis}, {time}: {off}");
        }
    }
}

/// A pose that jumps stays until a fiftieth of a frame before the jump: 0.8 ms.
#[test]
fn a_jump_stays_a_jump() {
    let column = character(2);
    let still = column.skeleton.bind().to_vec();
    let aside: Vec<DAffine3> = still.iter().map(|bone| DAffine3::from_translation(DVec3::X) * *bone).collect();
    let clip = Clip {
        name: "step".into(),
        duration: 1.0,
        start: 0.0,
        key_times: vec![0.0, 0.5, 1.0],
        curves: None,
        sample: Box::new(move |time| ClipFrame {
            pose: WorldPose::new(if time < 0.5 { still.clone() } else { aside.clone() }),
            morph_weights: vec![],
        }),
    };
    let clips = [&clip];
    let scene = SkinnedScene { morphs: &[], ..column.skinned(&clips) };
    let (bytes, done) = written(&scene, &common_space());
    assert_eq!(done.takes, [("step".into(), 4, done.takes[0].2)]);
    let contents = read(&bytes);
    for (time, aside) in [(0.0, 0.0), (0.25, 0.0), (0.499, 0.0), (0.5, 1.0), (0.75, 1.0), (1.0, 1.0)] {
        let moved: Vec<DVec3> = column.mesh.positions.iter().map(|p| *p + DVec3::X * aside).collect();
        assert!(far(&skin_of(&contents, time), &moved) < 1e-6, "{time}");
    }
}

/// A bone that shears at rest and as it moves: exact at every key.
#[test]
fn bones_that_shear_are_two_nodes() {
    let column = character(2);
    let shear =
        |by: f64| DAffine3::from_mat3(dermis_rig::glam::DMat3::from_cols(DVec3::X, DVec3::new(by, 1.0, 0.0), DVec3::Z));
    let poses: Vec<WorldPose> = (0..5)
        .map(|frame| {
            let bind = column.skeleton.bind();
            let moved = bind[BoneIndex::new(1)]
                * DAffine3::from_rotation_x(0.3 * f64::from(frame))
                * shear(0.2 * f64::from(frame));
            WorldPose::new(vec![bind[BoneIndex::new(0)], moved])
        })
        .collect();
    let times = (0..5).map(|frame| f64::from(frame) / 4.0).collect();
    let clip = clip_of_frames("shear", Some(&column.skeleton), times, &poses, vec![]).unwrap();
    let clips = [&clip];
    let shown = poses[2].clone();
    let scene = SkinnedScene { morphs: &[], default_pose: Some(&shown), ..column.skinned(&clips) };
    for space in [common_space(), metres(UpAxis::Z)] {
        let contents = again(&scene, &space);
        assert_eq!(contents.skeleton.as_ref().unwrap().names(), column.skeleton.names());
        for (frame, pose) in poses.iter().enumerate() {
            let told = ClipFrame { pose: pose.clone(), morph_weights: vec![] };
            let told = skin(&column.mesh, &column.skeleton, &column.weights, &[], &told);
            assert!(far(&skin_of(&contents, frame as f64 / 4.0), &told) < 1e-6, "{frame}");
        }
        let default = contents.default_pose.as_ref().unwrap();
        for (a, b) in default.bones.iter().zip(shown.bones.iter()) {
            assert!(a.abs_diff_eq(*b, 1e-14), "the pose without a take is in doubles");
        }
    }
}

/// Bones that were bound in another size, unevenly, or mirrored are rotations in the file; the skin moves as before.
#[test]
fn bones_of_any_size_are_bound_as_rotations() {
    let mut column = character(3);
    let clip = of(&column.skeleton, &column.clips[0]);
    let told = |column: &Character, clip: &Clip, time: f64| {
        skin(&column.mesh, &column.skeleton, &column.weights, &column.morphs, &(clip.sample)(time))
    };
    let times = [0.0, 0.25, 0.6, 1.0];
    let before: Vec<Vec<DVec3>> = times.iter().map(|time| told(&column, &clip, *time)).collect();
    let sizes = [DVec3::splat(100.0), DVec3::new(-1.0, 1.0, 1.0), DVec3::new(2.0, 0.5, 1.0)].map(DAffine3::from_scale);
    let sized = |bones: &[DAffine3]| bones.iter().zip(sizes).map(|(bone, size)| *bone * size).collect::<Vec<_>>();
    let poses: Vec<WorldPose> =
        column.clips[0].poses.iter().map(|pose| WorldPose::new(sized(pose.bones.as_slice()))).collect();
    let (names, parents) = (column.skeleton.names().to_vec(), column.skeleton.parents().to_vec());
    column.skeleton = Skeleton::new(names, parents, sized(column.skeleton.bind().as_slice())).unwrap();
    column.clips[0].poses = poses;
    let clip = of(&column.skeleton, &column.clips[0]);
    let clips = [&clip];
    let contents = again(&column.skinned(&clips), &common_space());
    for bind in contents.skeleton.as_ref().unwrap().bind().iter() {
        let square = bind.matrix3.transpose() * bind.matrix3;
        assert!(square.abs_diff_eq(dermis_rig::glam::DMat3::IDENTITY, 1e-14) && bind.matrix3.determinant() > 0.0);
    }
    for (time, before) in times.iter().zip(&before).filter(|(time, _)| **time != 0.6) {
        assert!(far(&skin_of(&contents, *time), before) < 1e-6, "{time}");
    }
}

#[test]
fn polygons_and_hard_edges_stay() {
    let house = house();
    let scene = SkinnedScene { name: "house", mesh: Some(&house), ..SkinnedScene::default() };
    for space in [metres(UpAxis::Y), metres(UpAxis::Z)] {
        let contents = again(&scene, &space);
        let mesh = contents.mesh.as_ref().unwrap();
        assert_eq!(
            (&mesh.positions, &mesh.polygons, &mesh.triangles),
            (&house.positions, &house.polygons, &house.triangles)
        );
        let (a, b) = (mesh.render.as_ref().unwrap(), house.render.as_ref().unwrap());
        for (a_at, b_at) in a.triangles.as_flattened().iter().zip(b.triangles.as_flattened()) {
            let (a_at, b_at) = (*a_at as usize, *b_at as usize);
            assert!(a.normals[a_at].distance(b.normals[b_at]) < 1e-15);
            assert_eq!(a.uvs[a_at], b.uvs[b_at]);
        }
    }
    // Without drawn vertices, polygons stay all the same.
    let bare = Mesh { render: None, ..house.clone() };
    let contents = again(&SkinnedScene { mesh: Some(&bare), ..scene }, &common_space());
    assert_eq!(contents.mesh.unwrap().polygons, house.polygons);
    // What is drawn otherwise is written as it is drawn, and said.
    let mut other = house.clone();
    other.render.as_mut().unwrap().triangles.pop();
    let (_, done) = written(&SkinnedScene { mesh: Some(&other), ..scene }, &common_space());
    assert_eq!(done.left_out.len(), 1);
    assert!(done.left_out[0].starts_with("polygons"));
}

/// Two objects, one hidden, each with a material of its own, and a shape that moves both.
#[test]
fn objects_stay_apart() {
    let (mesh, morphs, clip) = face();
    let clips = [&clip];
    let scene = SkinnedScene {
        name: "face",
        mesh: Some(&mesh),
        morphs: &morphs,
        morph_weights: &[0.25, 0.0, 1.0],
        clips: &clips,
        ..SkinnedScene::default()
    };
    let contents = again(&scene, &metres(UpAxis::Y));
    let read = contents.mesh.as_ref().unwrap();
    assert_eq!((&read.positions, &read.objects, &read.triangles), (&mesh.positions, &mesh.objects, &mesh.triangles));
    let parts: Vec<&str> = read.render.as_ref().unwrap().parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(parts, ["of_head", "of_teeth"]);
    let place = |name: &str| contents.morphs.iter().position(|morph| morph.name == name).unwrap();
    assert_eq!(contents.morphs.len(), 3);
    let [first, second] = [0.5, 2.0].map(|time| (contents.clips[0].sample)(time).morph_weights);
    for (at, morph) in morphs.iter().enumerate() {
        let own = place(&morph.name);
        assert_eq!(contents.morphs[own].deltas, morph.deltas);
        assert_eq!(contents.morph_weights[own], scene.morph_weights[at]);
        // Percentages that 32 bits hold, and a quarter of the way.
        let (from, to) = ([0.25, 0.0, -0.5][at], [1.0, 0.5, 2.0][at]);
        assert!((second[own] - to).abs() < 1e-15 && (first[own] - (from + 0.25 * (to - from))).abs() < 1e-15, "{at}");
    }
}

/// Names that programs would change are changed here, and said.
#[test]
fn names_are_plain_and_occur_once() {
    let mut column = character(3);
    let names = ["upper arm.L", "mixamorig:Hips", "a\0\u{1}Model"].map(String::from).to_vec();
    let parents = column.skeleton.parents().to_vec();
    column.skeleton = Skeleton::new(names, parents, column.skeleton.bind().to_vec()).unwrap();
    column.mesh.objects =
        vec![MeshObject { name: "upper_arm_L".into(), vertices: column.mesh.positions.len() as u32, visible: true }];
    column.morphs[0].name = "7\"; drop".into();
    column.morphs[1].name = String::new();
    let clip = of(&column.skeleton, &column.clips[0]);
    let other = Clip { name: "a|b".into(), ..of(&column.skeleton, &column.clips[0]) };
    let clips = [&clip, &clip, &other];
    let (bytes, done) = written(&column.skinned(&clips), &common_space());
    let contents = read(&bytes);
    assert_eq!(contents.warnings, []);
    let skeleton = contents.skeleton.as_ref().unwrap();
    assert_eq!(skeleton.names().as_slice(), ["upper_arm_L", "mixamorig:Hips", "a__Model"]);
    assert_eq!(contents.mesh.as_ref().unwrap().objects[0].name, "upper_arm_L_2");
    let morphs: Vec<&str> = contents.morphs.iter().map(|morph| morph.name.as_str()).collect();
    assert_eq!(morphs, ["_7___drop", "shape"]);
    let clips: Vec<&str> = contents.clips.iter().map(|clip| clip.name.as_str()).collect();
    assert_eq!(clips, ["bend", "bend_2", "a|b"]);
    let told: Vec<(&str, &str)> = done.renamed.iter().map(|one| (one.kind, one.to.as_str())).collect();
    let expected = [
        ("bone", "upper_arm_L"),
        ("bone", "a__Model"),
        ("object", "upper_arm_L_2"),
        ("shape", "_7___drop"),
        ("shape", "shape"),
        ("clip", "bend_2"),
    ];
    assert_eq!(told, expected);
}

/// A skeleton alone with a clip that moves nothing; a mesh alone; several roots; another moment at which a clip begins.
#[test]
fn parts_of_a_character_come_back() {
    let column = character(3);
    let still = vec![WorldPose::new(column.skeleton.bind().to_vec()); 2];
    let mut clip = clip_of_frames("still", Some(&column.skeleton), vec![0.0, 1.5], &still, vec![]).unwrap();
    clip.start = 10.0;
    let clips = [&clip];
    let bare =
        SkinnedScene { name: "bones", skeleton: Some(&column.skeleton), clips: &clips, ..SkinnedScene::default() };
    let contents = again(&bare, &common_space());
    assert_eq!(contents.skeleton.as_ref().unwrap().names(), column.skeleton.names());
    assert_eq!((contents.clips[0].duration, contents.clips[0].start), (1.5, 10.0));

    let alone = SkinnedScene { name: "column", mesh: Some(&column.mesh), ..SkinnedScene::default() };
    let contents = again(&alone, &metres(UpAxis::Y));
    assert_eq!(contents.mesh.as_ref().unwrap().positions, column.mesh.positions);
    assert!(contents.skeleton.is_none() && contents.clips.is_empty());

    let apart =
        Skeleton::new(column.skeleton.names().to_vec(), vec![None; 3], column.skeleton.bind().to_vec()).unwrap();
    let contents = again(&SkinnedScene { skeleton: Some(&apart), ..column.skinned(&[]) }, &common_space());
    assert_eq!(contents.skeleton.as_ref().unwrap().parents().as_slice(), [None; 3]);
    assert_eq!(contents.skeleton.as_ref().unwrap().names(), column.skeleton.names());
}

/// Rates have numbers of their own, or are stated.
#[test]
fn the_rate_is_stated() {
    let column = character(1);
    for rate in [24.0, 25.0, 29.97002997002997, 30.0, 60.0, 120.0, 15.0, 23.5] {
        let scene = SkinnedScene { frames_per_second: Some(rate), ..column.skinned(&[]) };
        let found = again(&scene, &common_space()).frames_per_second.unwrap();
        assert!((found - rate).abs() < 2e-6 * rate, "{rate}: {found}"); // the library has 29.97 for 30 / 1.001
    }
}

/// Colour, metalness, roughness, opacity, emission; a picture in the file, and what there is no place for.
#[test]
fn materials_come_back() {
    let mut house = house();
    let picture = png([200, 100, 50]);
    let description = serde_json::json!({
        "materials": [
            { "name": "glass", "pbrMetallicRoughness":
                { "baseColorFactor": [0.25, 0.5, 0.75, 0.5], "metallicFactor": 0.5, "roughnessFactor": 0.25 },
              "emissiveFactor": [0.5, 0.25, 0.125], "alphaMode": "BLEND" },
            { "name": "wall", "pbrMetallicRoughness":
                { "baseColorTexture": { "index": 0 }, "metallicRoughnessTexture": { "index": 0 },
                  "metallicFactor": 0.0, "roughnessFactor": 1.0 },
              "normalTexture": { "index": 0 }, "doubleSided": true },
        ],
        "textures": [{ "source": 0, "sampler": 0 }],
        "samplers": [{ "wrapS": 33071, "wrapT": 10497 }],
        "images": [{ "name": "wall.paint" }],
    });
    let images = vec![Image { media_type: "image/png".into(), bytes: picture.clone() }];
    let render = house.render.as_mut().unwrap();
    render.appearance = Some(Arc::new(Appearance { description: description.to_string(), images }));
    let part = |start, count, material| RenderPart { name: "part".into(), start, count, color: Vec4::ONE, material };
    render.parts = vec![part(0, 6, Some(1)), part(6, 10, Some(0))];
    let scene = SkinnedScene { name: "house", mesh: Some(&house), ..SkinnedScene::default() };
    let (bytes, done) = written(&scene, &common_space());
    assert_eq!(done.left_out, ["1 marks of materials as double-sided", "1 textures of metalness and roughness"]);
    let contents = read(&bytes);
    assert_eq!(contents.warnings, []);
    let render = contents.mesh.as_ref().unwrap().render.as_ref().unwrap();
    let parts: Vec<_> = render.parts.iter().map(|part| (part.name.as_str(), part.start, part.count)).collect();
    assert_eq!(parts, [("wall", 0, 6), ("glass", 6, 10)]);
    let look = render.appearance.as_ref().unwrap();
    assert_eq!(look.images.len(), 1);
    assert_eq!(look.images[0].bytes, picture);
    let read: serde_json::Value = serde_json::from_str(&look.description).unwrap();
    let [glass, wall] = [&read["materials"][0], &read["materials"][1]];
    let near = |found: &serde_json::Value, expected: &[f64]| {
        let found = found.as_array().unwrap();
        // A square and its root.
        found.iter().zip(expected).all(|(a, b)| (a.as_f64().unwrap() - b).abs() < 1e-15)
            && found.len() == expected.len()
    };
    let surface = &glass["pbrMetallicRoughness"];
    assert!(near(&surface["baseColorFactor"], &[0.25, 0.5, 0.75, 0.5]), "{glass}");
    assert!(near(&glass["emissiveFactor"], &[0.5, 0.25, 0.125]), "{glass}");
    assert!((surface["roughnessFactor"].as_f64().unwrap() - 0.25).abs() < 1e-15, "{glass}");
    assert_eq!((&surface["metallicFactor"], &glass["alphaMode"]), (&0.5.into(), &"BLEND".into()));
    let surface = &wall["pbrMetallicRoughness"];
    assert!(surface["baseColorTexture"].is_object() && wall["normalTexture"].is_object(), "{wall}");
    assert_eq!((&surface["metallicFactor"], &surface["roughnessFactor"]), (&0.0.into(), &1.0.into()));
    assert_eq!(wall["alphaMode"], serde_json::Value::Null);
    assert_eq!(read["samplers"][0], serde_json::json!({ "wrapS": 33071, "wrapT": 10497 }));
}

/// What disagrees is named, and nothing is written half.
#[test]
fn what_cannot_be_written_is_refused() {
    let column = character(2);
    let clip = of(&column.skeleton, &column.clips[0]);
    let clips = [&clip];
    let whole = column.skinned(&clips);
    assert!(matches!(refused(&SkinnedScene::default()), WriteError::Nothing { .. }));
    let no_mesh = SkinnedScene { mesh: None, ..whole };
    assert!(matches!(refused(&no_mesh), WriteError::Count { things: "meshes for morph targets or weights", .. }));
    let half = Influences::from_rows((0..column.mesh.positions.len()).map(|_| vec![(BoneIndex::new(0), 0.5)])).unwrap();
    let unsound = SkinnedScene { weights: Some(&half), ..whole };
    assert_eq!(refused(&unsound), WriteError::WeightSum { vertex: 0, sum: 0.5 });
    let short = [MorphTarget { name: "short".into(), deltas: vec![DVec3::ZERO] }];
    assert!(matches!(
        refused(&SkinnedScene { morphs: &short, clips: &[], ..whole }),
        WriteError::Count { things: "vertices", .. }
    ));
    let weights = SkinnedScene { morph_weights: &[f64::NAN, 0.0], clips: &[], ..whole };
    assert!(matches!(refused(&weights), WriteError::NotFinite { .. }));
    let mut flat = column.skeleton.bind().to_vec();
    flat[0] = DAffine3::from_scale(DVec3::ZERO);
    let flat = [WorldPose::new(flat)];
    assert!(matches!(
        clip_of_frames("flat", Some(&column.skeleton), vec![0.0], &flat, vec![]),
        Err(WriteError::Singular { .. })
    ));
    assert!(matches!(
        clip_of_frames("none", None, vec![], &[], vec![]),
        Err(WriteError::Count { things: "times", .. })
    ));
    assert!(matches!(clip_of_frames("back", None, vec![1.0, 0.5], &[], vec![]), Err(WriteError::Times { at: 1, .. })));
    let far = Clip {
        name: "far".into(),
        duration: 0.0,
        start: 0.0,
        key_times: vec![0.0],
        curves: None,
        sample: Box::new(|_| ClipFrame {
            pose: WorldPose::new(vec![DAffine3::from_translation(DVec3::X * 1e300); 2]),
            morph_weights: vec![],
        }),
    };
    let clips = [&far];
    assert!(matches!(refused(&SkinnedScene { clips: &clips, ..whole }), WriteError::NotFinite { .. }));
}
