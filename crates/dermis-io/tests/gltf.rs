//! glTF: what is written is read back, and what the specification says is what is read.

mod character;
mod handmade;

use character::character;
use dermis_io::WriteError;
use dermis_io::gltf::{GlbClip, GlbScene, read, write_glb};
use dermis_io::to_bytes;
use dermis_io::{Contents, Flaw, ReadError};
use dermis_rig::glam::{DAffine3, DMat4, DQuat, DVec3};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{BoneIndex, Skeleton, WorldPose};
use handmade::{Made, alone, bone, count};
use serde_json::{Value, json};

/// Two roundings to single precision of numbers up to one, and a product of a few such matrices.
const FLOAT: f64 = 1e-6;

#[test]
fn a_written_character_is_read_back() {
    for bones in [2, 7] {
        let made = character(bones);
        let found = alone(&made.glb()).unwrap();
        let (mesh, skeleton, weights) = (found.mesh.unwrap(), found.skeleton.unwrap(), found.weights.unwrap());
        assert_eq!(mesh.triangles, made.mesh.triangles);
        let (render, drawn) = (mesh.render.unwrap(), made.mesh.render.as_ref().unwrap());
        assert_eq!((&render.source, &render.triangles), (&drawn.source, &drawn.triangles));
        // A part without a material of its own is given one of its name and colour.
        let numbered = drawn.parts.iter().zip(0..).map(|(part, at)| RenderPart { material: Some(at), ..part.clone() });
        assert_eq!(render.parts, numbered.collect::<Vec<_>>());
        assert_eq!((render.uvs.len(), mesh.positions.len()), (drawn.uvs.len(), made.mesh.positions.len()));
        assert!(render.uvs.iter().zip(&drawn.uvs).all(|(a, b)| a.abs_diff_eq(*b, FLOAT)));
        assert!(mesh.positions.iter().zip(&made.mesh.positions).all(|(a, b)| a.abs_diff_eq(*b, FLOAT)));
        assert_eq!(skeleton.names(), made.skeleton.names());
        assert_eq!(skeleton.parents(), made.skeleton.parents());
        for bone in skeleton.bones() {
            assert!(skeleton.bind()[bone].abs_diff_eq(made.skeleton.bind()[bone], FLOAT));
        }
        assert_eq!(weights.largest_count(), bones, "no influence is dropped");
        for vertex in 0..weights.vertices() {
            for bone in skeleton.bones() {
                assert!((weights.value(vertex, bone) - made.weights.value(vertex, bone)).abs() < FLOAT);
            }
        }
        assert_eq!(weights.vertices(), made.weights.vertices());
        assert_eq!((found.morphs.len(), made.morphs.len()), (2, 2));
        for (morph, made) in found.morphs.iter().zip(&made.morphs) {
            assert_eq!((&morph.name, morph.deltas.len()), (&made.name, made.deltas.len()));
            assert!(made.deltas.iter().any(|d| d.length() > 0.01), "a target that moves nothing proves nothing");
            assert!(morph.deltas.iter().zip(&made.deltas).all(|(a, b)| a.abs_diff_eq(*b, FLOAT)));
        }
        let (clip, frames) = (&found.clips[0], &made.clips[0]);
        assert_eq!((clip.name.as_str(), clip.duration, clip.key_times.len()), ("bend", 1.0, 5));
        for (at, &time) in frames.times.iter().enumerate() {
            let frame = (clip.sample)(time);
            for bone in skeleton.bones() {
                assert!(frame.pose.bones[bone].abs_diff_eq(frames.poses[at].bones[bone], FLOAT), "{at} {bone:?}");
            }
            assert_eq!(frame.morph_weights.len(), 2);
            for (shown, made) in frame.morph_weights.iter().zip(&frames.morph_weights[at]) {
                assert!((shown - made).abs() < FLOAT, "{at}: {:?}", frame.morph_weights);
            }
        }
        assert_eq!(
            count(&Contents { warnings: found.warnings.clone(), ..Contents::default() }, Flaw::Welded),
            2 * bones + 1
        );
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    }
}

#[test]
fn a_bone_turns_at_constant_speed_between_frames() {
    let made = character(2);
    let found = alone(&made.glb()).unwrap();
    // Between frames 1 and 2 bone 1 turns about x from 0.5 to 1 in its own frame, scaled along y from 1.05 to 1.1.
    let (skeleton, at) = (&made.skeleton, 0.25 + 0.25 * 0.3);
    let local = skeleton.bind()[BoneIndex::new(0)].inverse() * skeleton.bind()[BoneIndex::new(1)];
    let root = DAffine3::from_translation(DVec3::X * 0.065);
    let turned = root * local * DAffine3::from_rotation_x(0.65) * DAffine3::from_scale(DVec3::new(1.0, 1.065, 1.0));
    let pose = (found.clips[0].sample)(at).pose;
    assert!(pose.bones[BoneIndex::new(1)].abs_diff_eq(turned, FLOAT));
}

#[test]
fn what_gltf_cannot_say_is_refused() {
    let mut made = character(2);
    made.clips[0].poses[3].bones[BoneIndex::new(0)].matrix3.y_axis = DVec3::ZERO;
    let flat = to_bytes(|out| write_glb(&made.scene(), out));
    assert!(
        matches!(&flat, Err(WriteError::Singular { bone, place }) if bone == "bone0" && place == "clip \"bend\", frame 3"),
        "{flat:?}"
    );
    assert_eq!(made.scene().refusal(&made.clips[0]), flat.err());

    let mut made = character(2);
    made.clips[0].times[2] = 0.0;
    assert_eq!(to_bytes(|out| write_glb(&made.scene(), out)), Err(WriteError::Times { clip: "bend".into(), at: 2 }));
    made.clips[0].times.pop();
    assert!(matches!(
        to_bytes(|out| write_glb(&made.scene(), out)),
        Err(WriteError::Times { .. } | WriteError::Count { .. })
    ));

    let mut made = character(2);
    made.mesh.positions[3].y = f64::NAN;
    assert!(matches!(to_bytes(|out| write_glb(&made.scene(), out)), Err(WriteError::Mesh(_))));
}

/// A bone that shears is two nodes: every frame is exact, bones keep their numbers, and those below it are where they were.
#[test]
fn a_bone_that_shears_in_one_frame_is_exact_in_all() {
    let mut made = character(3);
    for bone in 1..3 {
        let bone = &mut made.clips[0].poses[3].bones[BoneIndex::new(bone)];
        bone.matrix3.y_axis += DVec3::new(0.2, 0.05, -0.1);
    }
    let bytes = made.glb();
    let found = alone(&bytes).unwrap();
    assert_eq!(found.skeleton.as_ref().unwrap().names(), made.skeleton.names());
    for (at, time) in made.clips[0].times.iter().enumerate() {
        let pose = (found.clips[0].sample)(*time).pose;
        for bone in made.skeleton.bones() {
            let told = made.clips[0].poses[at].bones[bone];
            assert!(pose.bones[bone].abs_diff_eq(told, 2.0 * FLOAT), "{at} {bone:?}: {} {told}", pose.bones[bone]);
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains("\"bone1_stretch\"") && !text.contains("\"bone0_stretch\""));
}

/// Names of bones, clips and morph targets that occur twice get numbers which nothing else has.
#[test]
fn no_name_is_written_twice() {
    let mut made = character(2);
    let clip = made.clips[0].clone();
    made.clips = ["walk_2", "walk", "walk"].map(|name| GlbClip { name: name.into(), ..clip.clone() }).to_vec();
    made.morphs.iter_mut().for_each(|morph| morph.name = "smile".into());
    let skeleton =
        Skeleton::new(vec!["arm".into(); 2], made.skeleton.parents().to_vec(), made.skeleton.bind().to_vec()).unwrap();
    let scene = GlbScene { skeleton: Some(&skeleton), ..made.scene() };
    let found = alone(&to_bytes(|out| write_glb(&scene, out)).unwrap()).unwrap();
    assert_eq!(found.clips.iter().map(|clip| clip.name.as_str()).collect::<Vec<_>>(), ["walk_2", "walk", "walk_3"]);
    assert_eq!(found.morphs.iter().map(|morph| morph.name.as_str()).collect::<Vec<_>>(), ["smile", "smile_2"]);
    assert_eq!(found.skeleton.unwrap().names().to_vec(), ["arm", "arm_2"]);
    assert!(found.warnings.iter().all(|w| w.flaw != Flaw::DuplicateName), "{:?}", found.warnings);
}

#[test]
fn a_still_clip_keeps_its_length_and_a_flat_skeleton_its_poses() {
    let mut made = character(3);
    let bind = WorldPose::new(made.skeleton.bind().to_vec());
    made.clips[0].poses = vec![bind; 5];
    made.clips[0].morph_weights.clear();
    let found = alone(&made.glb()).unwrap();
    assert_eq!(found.clips[0].duration, 1.0);
    let names = made.skeleton.names().to_vec();
    made.skeleton = dermis_rig::Skeleton::new(names, vec![None; 3], made.skeleton.bind().to_vec()).unwrap();
    let found = alone(&made.glb()).unwrap();
    assert_eq!(found.skeleton.unwrap().parents(), made.skeleton.parents());
}

#[test]
fn a_bare_mesh_is_written_and_read() {
    let made = character(2);
    let scene = GlbScene { skeleton: None, weights: None, morphs: &[], clips: &[], ..made.scene() };
    let found = alone(&to_bytes(|out| write_glb(&scene, out)).unwrap()).unwrap();
    assert_eq!(found.mesh.unwrap().positions.len(), made.mesh.positions.len());
    assert!(found.skeleton.is_none() && found.weights.is_none() && found.clips.is_empty());
}

#[test]
fn morph_weights_at_rest_are_the_meshs_own_and_a_clip_that_keeps_them_says_nothing() {
    let mut made = character(2);
    let own = [0.25, 0.75];
    made.clips[0].morph_weights = vec![own.to_vec(); 5];
    let bytes = to_bytes(|out| write_glb(&GlbScene { morph_weights: &own, ..made.scene() }, out)).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    assert_eq!(header["meshes"][0]["weights"], json!(own));
    let channels = header["animations"][0]["channels"].as_array().unwrap();
    assert!(channels.iter().all(|channel| channel["target"]["path"] != "weights"));
    assert_eq!((alone(&bytes).unwrap().clips[0].sample)(0.5).morph_weights, own);
    for bad in [&[0.25][..], &[0.25, f64::NAN]] {
        let scene = GlbScene { morph_weights: bad, ..made.scene() };
        assert!(matches!(
            to_bytes(|out| write_glb(&scene, out)),
            Err(WriteError::Count { .. } | WriteError::NotFinite { .. })
        ));
    }
}

#[test]
fn sparse_strided_and_normalised_numbers_are_read() {
    let mut made = Made::default();
    // Positions as normalised 16-bit integers, 8 bytes apart.
    let corners: Vec<u8> = [[32767i16, 0, 0, 9], [0, -32768, 0, 9], [0, 0, 16384, 9]]
        .concat()
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let view = made.view(&corners[..22]); // the last element needs no padding
    made.views[view]["byteStride"] = json!(8);
    let positions =
        json!({ "bufferView": view, "componentType": 5122, "normalized": true, "type": "VEC3", "count": 3 });
    let positions = made.accessor(positions);
    // A morph target that is zero but for vertex 2.
    let (index, value) = (made.view(&[2]), made.view(&[1.0f32, 2.0, 3.0].map(f32::to_le_bytes).concat()));
    let sparse = json!({ "count": 1, "indices": { "bufferView": index, "componentType": 5121 }, "values": { "bufferView": value } });
    let target = made.accessor(json!({ "componentType": 5126, "type": "VEC3", "count": 3, "sparse": sparse }));
    let found = made.read(json!({
        "extensionsRequired": ["KHR_mesh_quantization"],
        "nodes": [{ "mesh": 0, "scale": [2, 2, 2] }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": positions }, "targets": [{ "POSITION": target }] }],
                     "extras": { "targetNames": ["smile"] } }],
    }));
    let mesh = found.mesh.unwrap();
    assert_eq!(mesh.positions[0], DVec3::X * 2.0);
    assert_eq!(mesh.positions[1], DVec3::NEG_Y * 2.0, "−32768 is −1 too");
    assert_eq!(mesh.positions[2], DVec3::Z * 2.0 * 16384.0 / 32767.0);
    assert_eq!(found.morphs[0].name, "smile");
    assert_eq!(found.morphs[0].deltas, [DVec3::ZERO, DVec3::ZERO, DVec3::new(2.0, 4.0, 6.0)]);
}

#[test]
fn strips_and_fans_keep_their_winding_and_lines_are_left_out() {
    let mut made = Made::default();
    let positions = made.floats("VEC3", 5, &(0..15).map(|x| f64::from(x * x)).collect::<Vec<_>>());
    let ask = |mode: u32| {
        let primitive = json!({ "attributes": { "POSITION": positions }, "mode": mode });
        made.read(json!({ "nodes": [{ "mesh": 0 }], "meshes": [{ "primitives": [primitive] }] }))
    };
    assert_eq!(ask(5).mesh.unwrap().triangles, [[0, 1, 2], [1, 3, 2], [2, 3, 4]]);
    assert_eq!(ask(6).mesh.unwrap().triangles, [[1, 2, 0], [2, 3, 0], [3, 4, 0]]);
    let lines = ask(1);
    assert!(lines.mesh.is_none());
    assert_eq!(count(&lines, Flaw::Unsupported), 1);
}

#[test]
fn an_armature_in_centimetres_rests_in_metres() {
    // The mesh and the bones are in centimetres, Z up; a node above the skeleton turns and scales them.
    let world = DAffine3::from_scale_rotation_translation(
        DVec3::splat(0.01),
        DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2),
        DVec3::new(0.0, 0.5, 0.0),
    );
    let binds = [DAffine3::from_rotation_z(0.3), DAffine3::from_translation(DVec3::Z * 100.0)];
    let mut made = Made::default();
    let attributes = made.skinned(DVec3::Z * 150.0);
    let inverse = made.matrices(&binds.map(|b| b.inverse()));
    let child = binds[0].inverse() * binds[1];
    let column = |m: DAffine3| json!(DMat4::from(m).to_cols_array());
    let root = |first: DAffine3| {
        json!({
            "nodes": [
                { "mesh": 0, "skin": 0 },
                { "name": "armature", "children": [2], "matrix": column(world) },
                { "name": "low", "children": [3], "matrix": column(first) },
                { "name": "high", "matrix": column(child) },
            ],
            "meshes": [{ "primitives": [{ "attributes": attributes }] }],
            "skins": [{ "joints": [2, 3], "inverseBindMatrices": inverse }],
        })
    };
    let found = made.read(root(binds[0]));
    let (mesh, skeleton) = (found.mesh.unwrap(), found.skeleton.unwrap());
    assert!(mesh.positions[0].abs_diff_eq(DVec3::new(0.0, 2.0, 0.0), 1e-7), "{}", mesh.positions[0]);
    for (at, bind) in binds.iter().enumerate() {
        assert!(skeleton.bind()[bone(at)].abs_diff_eq(world * *bind, 1e-7));
    }
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);

    // Off its bind pose by default: the scale is still that of the world.
    let posed = binds[0] * DAffine3::from_rotation_x(0.5);
    let mut json = root(posed);
    json["nodes"][3]["matrix"] = column(child * DAffine3::from_rotation_x(0.2));
    let found = made.read(json);
    let (mesh, skeleton) = (found.mesh.as_ref().unwrap(), found.skeleton.as_ref().unwrap());
    assert!((mesh.positions[1].distance(mesh.positions[0]) - 0.01).abs() < 1e-8);
    // Skinning the moved rest gives what the file says: p' = Σ w T I p.
    let worlds = [world * posed, world * posed * child * DAffine3::from_rotation_x(0.2)];
    let told: DVec3 =
        (0..2).map(|at| (worlds[at] * binds[at].inverse()).transform_point3(DVec3::Z * 150.0) * 0.5).sum();
    let pose = WorldPose::new(worlds.to_vec());
    let moved = skeleton.bone_transforms(&pose);
    let ours: DVec3 = (0..2).map(|at| moved[bone(at)].transform_point3(mesh.positions[0]) * 0.5).sum();
    assert!(ours.abs_diff_eq(told, FLOAT), "{ours} {told}");
    assert_eq!(count(&found, Flaw::NotAtBind), 1, "the root is where its similarity put it, its child is not");
}

/// Two skinned meshes on the same two joints; the second has the inverse bind matrices `second`.
fn two_skins(second: [DAffine3; 2], moved: DVec3) -> (Contents, [DAffine3; 2]) {
    // The default pose is not the bind pose, so that only the skins themselves can tell.
    let first = [DAffine3::from_translation(DVec3::NEG_Y), DAffine3::from_rotation_x(0.4)];
    let mut made = Made::default();
    let (one, two) = (made.skinned(DVec3::ZERO), made.skinned(moved));
    let (a, b) = (made.matrices(&first), made.matrices(&second));
    let found = made.read(json!({
        "nodes": [
            { "mesh": 0, "skin": 0 }, { "mesh": 1, "skin": 1 },
            { "name": "low", "children": [3] }, { "name": "high", "translation": [0, 1, 0] },
        ],
        "meshes": [{ "primitives": [{ "attributes": one }] }, { "primitives": [{ "attributes": two }] }],
        "skins": [{ "joints": [2, 3], "inverseBindMatrices": a }, { "joints": [2, 3], "inverseBindMatrices": b }],
    }));
    (found, first)
}

#[test]
fn skins_that_differ_by_a_move_share_their_bones() {
    let first = [DAffine3::from_translation(DVec3::NEG_Y), DAffine3::from_rotation_x(0.4)];
    let g = DAffine3::from_rotation_z(0.5) * DAffine3::from_translation(DVec3::new(3.0, 0.0, 1.0));
    let (found, _) = two_skins(first.map(|i| i * g), DVec3::X);
    assert_eq!(found.skeleton.as_ref().unwrap().len(), 2);
    assert_eq!(count(&found, Flaw::BindDisagrees), 0);
    assert!(found.mesh.unwrap().positions[3].abs_diff_eq(g.transform_point3(DVec3::X), FLOAT));
}

#[test]
fn skins_that_disagree_get_bones_of_their_own() {
    let first = [DAffine3::from_translation(DVec3::NEG_Y), DAffine3::from_rotation_x(0.4)];
    let (found, _) = two_skins([first[0], DAffine3::from_rotation_x(0.9)], DVec3::X);
    let skeleton = found.skeleton.as_ref().unwrap();
    assert_eq!(count(&found, Flaw::BindDisagrees), 1);
    assert_eq!(skeleton.names().to_vec(), ["low", "high", "high_2"]);
    assert_eq!(skeleton.parents().to_vec(), [None, Some(bone(0)), Some(bone(0))]);
    assert_eq!(found.weights.unwrap().of(3), [(bone(0), 0.5), (bone(2), 0.5)]);
    let shared = found.mesh.unwrap().positions[3];
    assert!(shared.abs_diff_eq(DVec3::X, FLOAT), "one bone agrees, so the mesh stays");
}

#[test]
fn a_mesh_under_a_joint_hangs_on_it_and_one_elsewhere_is_left_out() {
    let mut made = Made::default();
    let attributes = made.skinned(DVec3::ZERO);
    let hat = made.floats("VEC3", 3, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let binds = [DAffine3::IDENTITY, DAffine3::from_translation(DVec3::Y)];
    let inverse = made.matrices(&binds.map(|b| b.inverse()));
    let found = made.read(json!({
        "nodes": [
            { "mesh": 0, "skin": 0 }, { "children": [2] }, { "name": "head", "translation": [0, 1, 0], "children": [3] },
            { "name": "hat", "mesh": 1, "translation": [0, 0.5, 0] }, { "name": "chair", "mesh": 1 },
        ],
        "meshes": [{ "primitives": [{ "attributes": attributes }] }, { "primitives": [{ "attributes": { "POSITION": hat } }] }],
        "skins": [{ "joints": [1, 2], "inverseBindMatrices": inverse }],
    }));
    assert_eq!(count(&found, Flaw::Unskinned), 2);
    let mesh = found.mesh.unwrap();
    assert_eq!(mesh.positions.len(), 6);
    assert_eq!(mesh.positions[3], DVec3::Y * 1.5);
    assert_eq!(found.weights.unwrap().of(3), [(bone(1), 1.0)]);
}

/// Two bones below a node; samplers and channels of one animation.
fn animated(made: &mut Made, animation: Value) -> Vec<u8> {
    let inverse = made.matrices(&[DAffine3::IDENTITY, DAffine3::from_translation(DVec3::NEG_Y)]);
    made.gltf(json!({
        "nodes": [
            { "name": "above", "children": [1] }, { "name": "low", "children": [2] },
            { "name": "between", "children": [3], "matrix": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,1,0,1] }, { "name": "high" },
        ],
        "skins": [{ "joints": [1, 3], "inverseBindMatrices": inverse }],
        "animations": [animation],
    }))
}

#[test]
fn nodes_between_and_above_bones_move_them() {
    let mut made = Made::default();
    let times = made.floats("SCALAR", 2, &[0.0, 2.0]);
    let late = made.floats("SCALAR", 2, &[0.5, 1.0]);
    let sine = std::f64::consts::FRAC_1_SQRT_2;
    let turn = made.floats("VEC4", 2, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -sine, -sine]); // a quarter turn, the long way round
    let step = made.floats("VEC3", 2, &[0.0, 1.0, 0.0, 0.0, 3.0, 0.0]);
    // x(t) = t² on 0..2 as one cubic: slopes 0 and 4.
    let cubic = made.floats(
        "VEC3",
        6,
        &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 4.0, 0.0, 0.0, 9.0, 9.0, 9.0],
    );
    let bytes = animated(
        &mut made,
        json!({
            "name": "all",
            "samplers": [
                { "input": times, "output": turn }, { "input": late, "output": step, "interpolation": "STEP" },
                { "input": times, "output": cubic, "interpolation": "CUBICSPLINE" },
            ],
            "channels": [
                { "sampler": 0, "target": { "node": 0, "path": "rotation" } },
                { "sampler": 1, "target": { "node": 2, "path": "translation" } },
                { "sampler": 2, "target": { "node": 1, "path": "translation" } },
            ],
        }),
    );
    let found = alone(&bytes).unwrap();
    let clip = &found.clips[0];
    assert_eq!((clip.duration, clip.key_times.as_slice()), (2.0, &[0.0, 0.5, 1.0, 2.0][..]));
    for (time, up) in [(0.0, 1.0), (0.9, 1.0), (1.0, 3.0), (1.5, 3.0), (2.0, 3.0), (7.0, 3.0)] {
        let pose = (clip.sample)(time).pose;
        let time = time.min(2.0);
        let low = DAffine3::from_rotation_z(std::f64::consts::FRAC_PI_4 * time)
            * DAffine3::from_translation(DVec3::X * time * time);
        let high = low * DAffine3::from_translation(DVec3::Y * up);
        assert!(pose.bones[bone(0)].abs_diff_eq(low, FLOAT), "{time}");
        assert!(pose.bones[bone(1)].abs_diff_eq(high, FLOAT), "{time}");
    }
}

#[test]
fn unusable_keys_are_counted_and_left_out() {
    let mut made = Made::default();
    let times = made.floats("SCALAR", 5, &[0.0, 1.0, 0.5, f64::NAN, 2.0]);
    let moves = made.floats("VEC3", 5, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 2.0, 0.0, 0.0]);
    let bytes = animated(
        &mut made,
        json!({
            "samplers": [{ "input": times, "output": moves }],
            "channels": [{ "sampler": 0, "target": { "node": 1, "path": "translation" } }],
        }),
    );
    let found = alone(&bytes).unwrap();
    assert_eq!(count(&found, Flaw::BadKeys), 2);
    assert_eq!(found.clips[0].key_times, [0.0, 1.0, 2.0]);
    let at = |time: f64| (found.clips[0].sample)(time).pose.bones[bone(0)].translation.x;
    assert_eq!([at(0.5), at(1.5), at(f64::NAN)], [0.5, 1.5, 0.0]);
}

#[test]
fn buffers_beside_the_file_are_asked_for_by_name() {
    let mut made = Made::default();
    let positions = made.floats("VEC3", 3, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let root = json!({ "nodes": [{ "mesh": 0 }], "meshes": [{ "primitives": [{ "attributes": { "POSITION": positions } }] }] });
    let mut json: Value = serde_json::from_slice(&made.gltf(root)).unwrap();
    json["buffers"][0]["uri"] = json!("my%20buffer.bin");
    let resolve = |name: &str, _: u64| match name {
        "my buffer.bin" => Ok(made.bytes.clone()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    assert_eq!(read(json.to_string().as_bytes(), "x", &resolve).unwrap().mesh.unwrap().positions.len(), 3);
    for bad in ["other.bin", "../my%20buffer.bin", "https://example.org/a.bin", "/a.bin"] {
        json["buffers"][0]["uri"] = json!(bad);
        let refused = read(json.to_string().as_bytes(), "x", &resolve);
        assert!(matches!(&refused, Err(ReadError::Reference { uri, .. }) if uri == bad), "{refused:?}");
    }
}

/// A file that says ten bytes gets ten, however large its neighbour is.
#[test]
fn no_more_of_a_file_beside_is_read_than_its_buffers_hold() {
    let asked = std::cell::RefCell::new(Vec::new());
    let resolve = |name: &str, most: u64| {
        asked.borrow_mut().push((name.to_owned(), most));
        Ok(vec![0; most as usize])
    };
    let buffers = json!([{"uri": "a.bin", "byteLength": 10}, {"uri": "b.bin", "byteLength": 3}, {"uri": "a.bin", "byteLength": 7}]);
    let root = json!({"asset": {"version": "2.0"}, "buffers": buffers});
    let _ = read(root.to_string().as_bytes(), "x", &resolve);
    assert_eq!(*asked.borrow(), [("a.bin".to_owned(), 10), ("b.bin".to_owned(), 3)]);
}

#[test]
fn a_colour_beyond_32_bits_is_refused() {
    let mut made = Made::default();
    let positions = made.floats("VEC3", 3, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let root = json!({
        "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": positions }, "material": 0 }] }],
        "materials": [{ "pbrMetallicRoughness": { "baseColorFactor": [1e39, 0.0, 0.0, 1.0] } }],
    });
    let refused = alone(&made.gltf(root)).unwrap_err().to_string();
    assert!(refused.contains("number out of range"), "{refused}");
}

#[test]
fn what_a_file_requires_and_we_do_not_know_is_refused_by_name() {
    let mut made = Made::default();
    let empty = made.accessor(json!({ "componentType": 5126, "type": "VEC3", "count": 3 }));
    let other = json!({ "ACME_mesh_compression": { "bufferView": 0 } });
    let primitive = json!({ "attributes": { "POSITION": empty }, "extensions": other });
    let root = json!({ "nodes": [{ "mesh": 0 }], "meshes": [{ "primitives": [primitive] }] });
    for extension in ["EXT_mesh_gpu_instancing", "ACME_surprise"] {
        let mut required = root.clone();
        required["extensionsRequired"] = json!([extension]);
        let refused = alone(&made.gltf(required)).unwrap_err().to_string();
        assert!(refused.contains(extension), "{refused}");
    }
    assert!(alone(&made.gltf(root)).unwrap_err().to_string().contains("ACME_mesh_compression"));
}

/// What the Khronos validator says. `cargo xtask test` runs these where it is installed.
mod with_gltf_validator {
    use super::*;

    #[test]
    fn the_khronos_validator_finds_nothing() {
        let folder = std::env::temp_dir().join(format!("dermis-gltf-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut files = Vec::new();
        for bones in [2, 7, 300] {
            let file = folder.join(format!("column{bones}.glb"));
            std::fs::write(&file, character(bones).glb()).unwrap();
            files.push(file);
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/validate_gltf.mjs");
        let run = std::process::Command::new("node").arg(script).args(&files).output();
        std::fs::remove_dir_all(&folder).unwrap();
        let run = run.unwrap();
        let said = [run.stdout, run.stderr].concat();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}
