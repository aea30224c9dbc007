//! FBX against what the text of the file says, by hand.

use dermis_io::gltf::{GlbScene, write_glb};
use dermis_io::{Contents, Flaw, Format, ReadError, UpAxis, fbx, gltf, sniff, to_bytes};
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_testkit::fbx::{BEND, Fbx, ROWS, SLIDE, normal, texture_coordinates};
use dermis_testkit::textured::png;

/// A folder without other files.
fn alone(_: &str, _: u64) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}

fn read(file: Fbx) -> Contents {
    let text = file.text();
    assert_eq!(sniff(text.as_bytes(), "strip.fbx"), Some(Format::Fbx));
    fbx::read(text.as_bytes(), "strip.fbx", &alone).unwrap_or_else(|e| panic!("{e}"))
}

fn assert_near(found: DVec3, expected: DVec3, what: &str) {
    // Angles pass through 32 bits: 4 · 2⁻²⁴ · a few.
    assert!(found.distance(expected) < 2e-6, "{what}: {found} is not {expected}");
}

/// The rest in metres, from the file's rows.
fn rest() -> Vec<DVec3> {
    ROWS.iter().flat_map(|(y, _)| [-0.5, 0.5].map(|x| DVec3::new(x, *y, 0.0))).collect()
}

#[test]
fn mesh_skeleton_and_weights_are_those_of_the_text() {
    let contents = read(Fbx::default());
    let mesh = contents.mesh.as_ref().unwrap();
    assert_eq!(mesh.positions.len(), 10);
    for (found, expected) in mesh.positions.iter().zip(rest()) {
        assert_near(*found, expected, "rest");
    }
    let polygons = mesh.polygons.as_ref().unwrap();
    assert_eq!((polygons.counts.as_slice(), &polygons.indices[..8]), (&[4u32; 4][..], &[0, 1, 3, 2, 2, 3, 5, 4][..]));
    let skeleton = contents.skeleton.as_ref().unwrap();
    assert_eq!(skeleton.names().as_slice(), ["upper", "lower"]);
    assert_eq!(skeleton.parents().as_slice(), [None, Some(BoneIndex::new(0))]);
    for (bone, up) in [(0, 0.0), (1, 2.0)] {
        let bind = skeleton.bind()[BoneIndex::new(bone)];
        assert!(bind.abs_diff_eq(DAffine3::from_translation(DVec3::Y * up), 1e-9), "{bind}");
    }
    let weights = contents.weights.as_ref().unwrap();
    for vertex in 0..10 {
        assert_eq!(weights.value(vertex, BoneIndex::new(1)), ROWS[vertex / 2].1, "vertex {vertex}");
    }
    assert_eq!(contents.frames_per_second, Some(24.0));
    assert_eq!(contents.warnings, []);
}

/// The same file in binary: what a text says by the hand of the testkit, and the format's letters and offsets say again.
#[test]
fn a_binary_file_holds_what_its_text_says() {
    for unit in [1.0, 100.0] {
        let text = Fbx { unit, ..Fbx::default() }.text();
        let bytes = dermis_testkit::fbx_binary::binary(&text);
        assert_eq!(sniff(&bytes, "strip"), Some(Format::Fbx));
        let (from_text, from_bytes) =
            (fbx::read(text.as_bytes(), "a", &alone).unwrap(), fbx::read(&bytes, "a", &alone).unwrap());
        assert_eq!(from_text.mesh, from_bytes.mesh);
        assert_eq!(from_text.skeleton, from_bytes.skeleton);
        assert_eq!(from_text.weights, from_bytes.weights);
        assert_eq!(from_text.morphs, from_bytes.morphs);
        assert_eq!((from_text.space, from_text.warnings), (from_bytes.space, from_bytes.warnings));
        assert_eq!(from_text.clips.len(), from_bytes.clips.len());
        for (one, other) in from_text.clips.iter().zip(&from_bytes.clips) {
            assert_eq!((&one.name, &one.key_times), (&other.name, &other.key_times));
            assert_eq!((one.sample)(0.1), (other.sample)(0.1));
        }
    }
}

#[test]
fn every_take_is_a_clip_with_a_key_per_frame() {
    let contents = read(Fbx::default());
    let names: Vec<(&str, usize)> = contents.clips.iter().map(|c| (c.name.as_str(), c.key_times.len())).collect();
    assert_eq!(names, [("bend", BEND.len()), ("slide", SLIDE.len())]);
    let (bend, slide) = (&contents.clips[0], &contents.clips[1]);
    let joint = DVec3::Y * 2.0;
    for (frame, angle) in BEND.iter().enumerate() {
        let pose = (bend.sample)(bend.key_times[frame]).pose;
        let moved = contents.skeleton.as_ref().unwrap().bone_transforms(&pose);
        let turn = DAffine3::from_translation(joint)
            * DAffine3::from_rotation_z(angle.to_radians())
            * DAffine3::from_translation(-joint);
        assert_near(
            moved[BoneIndex::new(1)].transform_point3(DVec3::Y * 4.0),
            turn.transform_point3(DVec3::Y * 4.0),
            "bend",
        );
        assert!(moved[BoneIndex::new(0)].abs_diff_eq(DAffine3::IDENTITY, 1e-9), "the upper bone stays");
    }
    // Between frames the curve is evaluated, not the nearest key taken: halfway between 20 and 40 degrees.
    let pose = (bend.sample)(1.5 / 24.0).pose;
    let moved = contents.skeleton.as_ref().unwrap().bone_transforms(&pose)[BoneIndex::new(1)];
    assert_near(moved.transform_vector3(DVec3::Y), DMat3::from_rotation_z(30f64.to_radians()) * DVec3::Y, "halfway");
    for (frame, x) in SLIDE.iter().enumerate() {
        let shown = (slide.sample)(slide.key_times[frame]);
        for bone in shown.pose.bones.iter().zip([0.0, 2.0]) {
            assert_near(bone.0.translation, DVec3::new(*x, bone.1, 0.0), "slide");
        }
        assert!((shown.morph_weights[0] - x).abs() < 1e-6, "{:?}", shown.morph_weights);
    }
}

#[test]
fn blend_shapes_are_morph_targets() {
    let contents = read(Fbx::default());
    let [fuller] = &contents.morphs[..] else { panic!("{:?}", contents.morphs.len()) };
    assert_eq!(fuller.name, "fuller");
    for (vertex, delta) in fuller.deltas.iter().enumerate() {
        assert_near(*delta, if vertex >= 8 { DVec3::Z } else { DVec3::ZERO }, "delta");
    }
}

/// The same strip in centimetres, with Z up, and left-handed: positions, joints and bone transforms are conjugated with the
/// file's axes, here written out once more as rows of what lies to the right, up and to the front.
#[test]
fn axes_and_units_of_the_file_are_converted() {
    let bent = |contents: &Contents| {
        let clip = &contents.clips[0];
        let pose = (clip.sample)(clip.key_times[3]).pose;
        contents.skeleton.as_ref().unwrap().bone_transforms(&pose)
    };
    let plain = bent(&read(Fbx::default()));
    // Right, up, front as the file's axes: (file vector) ↦ ours.
    let cases = [
        ([(1, 1), (2, 1), (0, 1)], 1.0, UpAxis::Y, DMat3::IDENTITY),
        ([(2, 1), (1, -1), (0, 1)], 100.0, UpAxis::Z, DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y)),
        ([(1, 1), (2, -1), (0, 1)], 2.54, UpAxis::Y, DMat3::from_diagonal(DVec3::new(1.0, 1.0, -1.0))),
    ];
    for (axes, unit, up, turn) in cases {
        let contents = read(Fbx { axes, unit, ..Fbx::default() });
        assert_eq!(contents.space.up, up, "{axes:?}");
        assert!((contents.space.metres_per_unit - unit / 100.0).abs() < 1e-15, "{axes:?}");
        let world = DAffine3::from_mat3(turn * (unit / 100.0));
        for (found, p) in contents.mesh.as_ref().unwrap().positions.iter().zip(rest()) {
            assert_near(*found, world.transform_point3(p), "rest");
        }
        for (found, expected) in bent(&contents).iter().zip(plain.iter()) {
            assert!(found.abs_diff_eq(world * *expected * world.inverse(), 1e-5), "{axes:?}: {found} {expected}");
        }
        for bind in contents.skeleton.as_ref().unwrap().bind().iter() {
            assert!((bind.matrix3.determinant() - 1.0).abs() < 1e-9, "bones have unit size and are not mirrored");
        }
        // Seen along the strip's normal the corners stay counter-clockwise, also where the axes mirror.
        let mesh = contents.mesh.as_ref().unwrap();
        let [a, b, c] = mesh.triangles[0].map(|corner| mesh.positions[corner as usize]);
        let outside = turn * DVec3::Z;
        assert!((b - a).cross(c - a).dot(outside) > 0.0, "{axes:?}");
    }
}

#[test]
fn weights_that_miss_one_are_scaled_and_counted() {
    let contents = read(Fbx { weight_sum: 0.997, ..Fbx::default() });
    let warning = contents.warnings.iter().find(|w| w.flaw == Flaw::WeightSum).unwrap();
    assert_eq!(warning.count, 10);
    assert!(contents.weights.unwrap().rows().all(|row| (row.iter().map(|w| w.1).sum::<f64>() - 1.0).abs() < 1e-12));
}

#[test]
fn what_is_no_fbx_or_asks_for_too_much_is_refused() {
    let why = |bytes: &[u8]| fbx::read(bytes, "", &alone).map(|_| ()).unwrap_err();
    assert!(matches!(why(b""), ReadError::WrongKind { .. }));
    let text = Fbx::default().text();
    let far = text.replace("Indexes: *2 { a: 8,9 }", "Indexes: *2 { a: 8,99999999 }");
    assert_ne!(far, text);
    assert!(matches!(why(far.as_bytes()), ReadError::Damaged { .. }), "an index out of range");
    let hole = text.replace("{ a: 0,1,3,-3", "{ a: 0,1,3000,-3");
    assert_ne!(hole, text);
    assert!(matches!(why(hole.as_bytes()), ReadError::Damaged { .. }), "a corner out of range");
    let long = text.replace("\"Time\", \"\",", "\"Time\", \"\",9999999");
    let contents = fbx::read(long.as_bytes(), "", &alone).unwrap();
    assert_eq!(contents.clips.len(), 0, "takes of years have no frame per frame");
    assert_eq!(contents.warnings.iter().find(|w| w.flaw == Flaw::Unsupported).map(|w| w.count), Some(2));
}

/// A number that is not finite reaches neither mesh nor skeleton.
#[test]
fn numbers_that_are_not_finite_are_refused() {
    let text = Fbx::default().text();
    for (old, new) in [("a: -0.5,0,0,", "a: nan,0,0,"), ("Transform: *16 { a: 1,", "Transform: *16 { a: 1e999,")] {
        let bad = text.replacen(old, new, 1);
        assert_ne!(bad, text, "{old}");
        if let Ok(contents) = fbx::read(bad.as_bytes(), "", &alone) {
            assert!(contents.mesh.unwrap().positions.iter().all(|p| p.is_finite()), "{old}");
        }
    }
}

/// Texture coordinates, normals, materials and textures are those of the text, and a GLB written from them holds them.
#[test]
fn materials_and_textures_are_read_and_go_on() {
    let (embedded, skin) = (png([127, 127, 255]), png([200, 100, 50]));
    let text = Fbx::default().textured(&embedded);
    let asked = std::cell::RefCell::new(Vec::new());
    let contents = fbx::read(text.as_bytes(), "strip.fbx", &|name, _| {
        asked.borrow_mut().push(name.to_owned());
        if name == "textures/skin.png" { Ok(skin.clone()) } else { Err(std::io::ErrorKind::NotFound.into()) }
    })
    .unwrap();
    assert_eq!(*asked.borrow(), ["skin.png", "textures/skin.png"], "the file's path leaves the folder");
    let material = contents.warnings.iter().find(|w| w.flaw == Flaw::Material).unwrap();
    assert_eq!((material.count, contents.warnings.len()), (1, 1), "the shininess: {:?}", contents.warnings);
    let mesh = contents.mesh.as_ref().unwrap();
    for (found, expected) in mesh.positions.iter().zip(rest()) {
        assert_near(*found, expected, "rest");
    }
    let render = mesh.render.as_ref().unwrap();
    // Rows 1 and 2 are drawn twice: at the hard edge and at the seam.
    assert_eq!(render.source, [0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9]);
    let parts: Vec<_> = render.parts.iter().map(|p| (p.name.as_str(), p.start, p.count, p.material)).collect();
    assert_eq!(parts, [("skin", 0, 4, Some(0)), ("cloth", 4, 4, Some(1))]);
    let polygons = &mesh.polygons.as_ref().unwrap().indices;
    assert_eq!(polygons[..8], [2, 3, 5, 4, 6, 7, 9, 8], "polygons 1 and 3 come first");
    for (triangle, corners) in render.triangles.iter().enumerate() {
        let polygon = [1, 3, 0, 2][triangle / 2];
        for &corner in corners {
            let vertex = render.source[corner as usize] as usize;
            let [u, v] = texture_coordinates(polygon, (vertex / 2, vertex % 2));
            assert_eq!(render.uvs[corner as usize].to_array(), [u, 1.0 - v]);
            assert_near(render.normals[corner as usize], DVec3::from_array(normal(polygon)), "normal");
        }
    }
    let look = render.appearance.as_deref().unwrap();
    assert_eq!(look.images.iter().map(|image| &image.bytes).collect::<Vec<_>>(), [&skin, &embedded]);

    let scene = GlbScene {
        name: "strip",
        mesh: Some(mesh),
        skeleton: contents.skeleton.as_ref(),
        weights: contents.weights.as_ref(),
        ..GlbScene::default()
    };
    let glb = to_bytes(|out| write_glb(&scene, out)).unwrap();
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let json: serde_json::Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
    let texture = |value: &serde_json::Value| value["index"].as_u64().unwrap() as usize;
    let [skin, cloth] = [0, 1].map(|at| &json["materials"][at]);
    assert_eq!(json["textures"][texture(&skin["pbrMetallicRoughness"]["baseColorTexture"])]["source"], 0);
    assert_eq!(json["textures"][texture(&cloth["normalTexture"])]["source"], 1);
    assert_eq!(skin["pbrMetallicRoughness"]["baseColorFactor"], serde_json::json!([1.0, 1.0, 1.0, 1.0]));
    assert_eq!(cloth["pbrMetallicRoughness"]["baseColorFactor"], serde_json::json!([0.5, 0.25, 0.125, 1.0]));
    let again = gltf::read(&glb, "strip.glb", &alone).unwrap();
    let found = again.mesh.as_ref().unwrap();
    assert_eq!(found.positions.len(), 10, "seams are welded again");
    for (a, b) in found.positions.iter().zip(&mesh.positions) {
        assert_near(*a, *b, "in the order of the FBX file");
    }
    // Without the file beside it the material stays, and nothing else is lost.
    let contents = fbx::read(text.as_bytes(), "strip.fbx", &alone).unwrap();
    assert_eq!(contents.warnings.iter().find(|w| w.flaw == Flaw::Image).map(|w| w.count), Some(1));
    assert_eq!(contents.mesh.unwrap().render.unwrap().appearance.as_ref().unwrap().images.len(), 1);
}

/// Colours of corners are those of the text; one that 32 bits do not hold is refused, with its vertex.
#[test]
fn colours_are_read() {
    let text = Fbx::default().colored(|at| 0.25 * (at / 4) as f64);
    let contents = fbx::read(text.as_bytes(), "strip.fbx", &alone).unwrap();
    let mesh = contents.mesh.unwrap();
    let render = mesh.render.as_ref().unwrap();
    assert_eq!(render.colors.len(), render.source.len());
    for (triangle, corners) in render.triangles.iter().enumerate() {
        let red = 0.25 * [1.0, 3.0, 0.0, 2.0][triangle / 2];
        for &corner in corners {
            assert_eq!(render.colors[corner as usize].to_array(), [red, 0.25, 0.5, 0.5], "triangle {triangle}");
        }
    }
    // Corner 5 is not the first of its vertex.
    let text = Fbx::default().colored(|at| if at == 5 { 1e39 } else { 0.5 });
    let error = fbx::read(text.as_bytes(), "strip.fbx", &alone).unwrap_err().to_string();
    assert!(error.contains("the colour of vertex 3 of \"strip\""), "{error}");
}

/// Mirrored axes turn polygons, and their corners with them.
#[test]
fn drawn_corners_follow_their_polygons_in_left_handed_files() {
    let text = Fbx { axes: [(1, 1), (2, 1), (0, -1)], ..Fbx::default() }.textured(&png([0, 0, 0]));
    let mesh = fbx::read(text.as_bytes(), "strip.fbx", &alone).unwrap().mesh.unwrap();
    let render = mesh.render.as_ref().unwrap();
    for (drawn, corners) in render.triangles.iter().zip(&mesh.triangles) {
        assert_eq!(drawn.map(|corner| render.source[corner as usize]), *corners);
        let [a, b, c] = corners.map(|corner| mesh.positions[corner as usize]);
        let facing = (b - a).cross(c - a);
        assert!(drawn.iter().all(|&corner| facing.dot(render.normals[corner as usize]) > 0.0), "counter-clockwise");
    }
    for (&source, uv) in render.source.iter().zip(&render.uvs) {
        assert_eq!(1.0 - uv.y, ROWS[source as usize / 2].0 / 4.0);
    }
}
