//! glTF: what a file shows by default is kept, and what is not read is named.

mod handmade;

use dermis_io::gltf::{GlbClip, GlbScene, write_glb};
use dermis_io::{Contents, Curve, CurveOf, Flaw, Interpolation, to_bytes};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::{BoneIndex, WorldPose};
use handmade::{Made, alone, count};
use serde_json::{Value, json};

/// Two bones, 0 and 1, a skinned triangle with two morph targets, and what else `change` puts into the file.
fn figure(change: impl Fn(&mut Made, &mut Value)) -> Contents {
    let mut made = Made::default();
    let attributes = made.skinned(DVec3::Y);
    let target = made.floats("VEC3", 3, &[0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.25]);
    let inverse = made.matrices(&[DAffine3::IDENTITY, DAffine3::from_translation(DVec3::NEG_Y)]);
    let targets = json!([{ "POSITION": target }, { "POSITION": target }]);
    let mut root = json!({
        "scene": 0,
        "scenes": [{ "nodes": [0, 2] }],
        "nodes": [
            { "name": "low", "children": [1] }, { "name": "high", "translation": [0, 1, 0] }, { "mesh": 0, "skin": 0 },
        ],
        "meshes": [{ "primitives": [{ "attributes": attributes, "targets": targets }] }],
        "skins": [{ "joints": [0, 1], "inverseBindMatrices": inverse }],
    });
    change(&mut made, &mut root);
    made.read(root)
}

fn again(found: &Contents) -> Contents {
    let scene = GlbScene {
        mesh: found.mesh.as_ref(),
        skeleton: found.skeleton.as_ref(),
        weights: found.weights.as_ref(),
        default_pose: found.default_pose.as_ref(),
        morphs: &found.morphs,
        morph_weights: &found.morph_weights,
        ..GlbScene::default()
    };
    alone(&to_bytes(|out| write_glb(&scene, out)).unwrap()).unwrap()
}

#[test]
fn weights_of_a_mesh_and_of_a_node_are_kept_and_counted() {
    let of_mesh = figure(|_, root| root["meshes"][0]["weights"] = json!([0.0, 0.75]));
    assert_eq!((&of_mesh.morph_weights[..], count(&of_mesh, Flaw::NotAtZero)), (&[0.0, 0.75][..], 1));
    assert_eq!(again(&of_mesh).morph_weights, of_mesh.morph_weights);
    // Those of the node stand for those of its mesh, also where they are fewer or negative.
    let of_node = figure(|_, root| {
        root["meshes"][0]["weights"] = json!([0.0, 0.75]);
        root["nodes"][2]["weights"] = json!([-0.5]);
    });
    assert_eq!(of_node.morph_weights, [-0.5, 0.0]);
    assert_eq!(again(&of_node).morph_weights, [-0.5, 0.0]);
    let plain = figure(|_, root| root["meshes"][0]["weights"] = json!([0.0, 0.0]));
    assert!(plain.morph_weights.is_empty() && count(&plain, Flaw::NotAtZero) == 0);
}

/// A clip that turns node 3, which is outside the skin: below a bone, beside the bones, and as the node of the skinned mesh.
#[test]
fn animated_nodes_outside_the_skeleton_are_named() {
    let animated = |node: usize, change: &dyn Fn(&mut Value)| {
        figure(|made, root| {
            let input = made.floats("SCALAR", 2, &[0.0, 1.0]);
            let output = made.floats("VEC4", 2, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
            let channel = |node| json!({ "sampler": 0, "target": { "node": node, "path": "rotation" } });
            root["animations"] = json!([{ "samplers": [{ "input": input, "output": output }], "channels": [channel(1), channel(node)] }]);
            change(root);
        })
    };
    let below = animated(3, &|root| {
        root["nodes"].as_array_mut().unwrap().push(json!({ "name": "hand" }));
        root["nodes"][1]["children"] = json!([3]);
    });
    assert_eq!(below.unread, ["1 animated node outside the skeleton: hand"]);
    let beside = animated(3, &|root| {
        root["nodes"].as_array_mut().unwrap().push(json!({ "name": "lamp" }));
        root["scenes"][0]["nodes"] = json!([0, 2, 3]);
    });
    assert_eq!(beside.unread, ["1 animated node outside the skeleton: lamp"]);
    // glTF ignores where the node of a skinned mesh is; and a node above the bones moves them.
    assert!(animated(2, &|_| ()).unread.is_empty());
    let above = animated(3, &|root| {
        root["nodes"].as_array_mut().unwrap().push(json!({ "name": "root", "children": [0] }));
        root["scenes"][0]["nodes"] = json!([3, 2]);
    });
    assert!(above.unread.is_empty() && above.clips.len() == 1, "{:?}", above.unread);
}

#[test]
fn meshes_in_no_scene_are_named() {
    let found = figure(|_, root| {
        root["nodes"].as_array_mut().unwrap().push(json!({ "name": "spare", "mesh": 0 }));
    });
    assert_eq!(found.unread, ["1 mesh in no scene that is shown, the first \"spare\""]);
    // A file without scenes shows everything.
    let found = figure(|_, root| {
        root.as_object_mut().unwrap().remove("scenes");
        root.as_object_mut().unwrap().remove("scene");
    });
    assert!(found.unread.is_empty());
}

#[test]
fn instances_are_counted() {
    let found = figure(|made, root| {
        let places = made.floats("VEC3", 3, &[0.0; 9]);
        root["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
        root["nodes"][2]["name"] = json!("tree");
        root["nodes"][2]["extensions"] =
            json!({ "EXT_mesh_gpu_instancing": { "attributes": { "TRANSLATION": places } } });
    });
    let said = "the places of 3 instances of mesh \"tree\", which are shown once (EXT_mesh_gpu_instancing)";
    assert_eq!(found.unread, [said]);
    // An extension that is read is not said to be none.
    let read =
        figure(|_, root| root["extensionsUsed"] = json!(["KHR_draco_mesh_compression", "EXT_meshopt_compression"]));
    assert_eq!(read.unread, Vec::<String>::new());
}

/// The first version listed by name what later ones number, and some of its files give their version as a number or not at all.
#[test]
fn files_of_the_first_version_are_called_so() {
    let asset = [json!({ "version": "1.0" }), json!({ "version": 1 }), json!({})];
    for (asset, version) in asset.into_iter().zip(["1.0", "1", "1"]) {
        let json = json!({ "asset": asset, "meshes": { "box": {} } }).to_string();
        let refused = alone(json.as_bytes()).unwrap_err().to_string();
        assert_eq!(refused, format!("glTF version {version} is not supported"));
    }
}

/// A default pose that shears is shown as it is: by a matrix, and where a clip moves the bone by two nodes.
#[test]
fn a_sheared_default_pose_is_exact() {
    let found = figure(|_, _| ());
    let (mesh, skeleton) = (found.mesh.as_ref().unwrap(), found.skeleton.as_ref().unwrap());
    let moved = GlbClip {
        name: "turn".into(),
        times: vec![0.0, 1.0],
        poses: [0.1, 0.9]
            .map(|angle| {
                let turned = DAffine3::from_translation(DVec3::Y) * DAffine3::from_rotation_z(angle);
                WorldPose::new(vec![DAffine3::IDENTITY, turned])
            })
            .to_vec(),
        ..GlbClip::default()
    };
    let curve = |of, values: &[f64]| Curve {
        of,
        interpolation: Interpolation::Linear,
        times: vec![0.0, 1.0],
        values: values.to_vec(),
    };
    let (bone, half) = (BoneIndex::new(1), std::f64::consts::FRAC_1_SQRT_2);
    let curved = GlbClip {
        curves: vec![
            curve(CurveOf::Translation(bone), &[0.0, 1.0, 0.0, 0.0, 2.0, 0.0]),
            curve(CurveOf::Rotation(bone), &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half]),
        ],
        ..moved.clone()
    };
    for clips in [vec![], vec![moved.clone()], vec![moved, curved]] {
        let turn = DMat3::from_quat(DQuat::from_rotation_z(0.8));
        let own = turn * DMat3::from_cols(DVec3::X, DVec3::new(0.3, 1.0, 0.0), DVec3::Z);
        let pose = WorldPose::new(vec![DAffine3::IDENTITY, DAffine3 { matrix3: own, translation: DVec3::Y }]);
        let scene = GlbScene {
            mesh: Some(mesh),
            skeleton: Some(skeleton),
            weights: found.weights.as_ref(),
            default_pose: Some(&pose),
            clips: &clips,
            ..GlbScene::default()
        };
        assert_eq!(scene.lost_of_default_pose(), None);
        let read = alone(&to_bytes(|out| write_glb(&scene, out)).unwrap()).unwrap();
        let shown = &read.default_pose.as_ref().expect("a default pose").bones[bone];
        assert!(shown.abs_diff_eq(pose.bones[bone], 1e-6), "{} clips: {shown}", clips.len());
        for (clip, made) in read.clips.iter().zip(&clips).take(1) {
            for (time, pose) in made.times.iter().zip(&made.poses) {
                let shown = (clip.sample)(*time).pose.bones[bone];
                assert!(shown.abs_diff_eq(pose.bones[bone], 1e-6), "{time}: {shown}");
            }
        }
        if let Some(clip) = read.clips.get(1) {
            // No scale is told: it stays as the nearest rotation and scale of the default pose have it.
            let shown = (clip.sample)(1.0).pose.bones[bone];
            assert!((shown.translation - 2.0 * DVec3::Y).length() < 1e-6);
            let turned = shown.matrix3.x_axis.normalize();
            assert!(turned.abs_diff_eq(DVec3::Y, 1e-6), "a quarter turn: {turned}");
            assert!(shown.matrix3.x_axis.dot(shown.matrix3.y_axis).abs() < 1e-6, "curves do not shear");
        }
    }
}
