//! glTF: what a file shows by default is kept, and what is not read is named.

mod handmade;

use dermis_io::gltf::{GlbScene, write_glb};
use dermis_io::{Contents, Flaw, to_bytes};
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

/// A default pose that shears is written as the nearest rotation and scale, and the loss is said; one that does not is exact.
#[test]
fn a_sheared_default_pose_is_the_nearest_one_and_said() {
    let found = figure(|_, _| ());
    let (mesh, skeleton) = (found.mesh.as_ref().unwrap(), found.skeleton.as_ref().unwrap());
    for (shear, lost) in [(0.0, false), (0.02, true)] {
        let turn = DMat3::from_quat(DQuat::from_rotation_z(0.8));
        let own = turn * DMat3::from_cols(DVec3::X, DVec3::new(shear, 1.0, 0.0), DVec3::Z);
        let pose = WorldPose::new(vec![DAffine3::IDENTITY, DAffine3 { matrix3: own, translation: DVec3::Y }]);
        let scene = GlbScene {
            mesh: Some(mesh),
            skeleton: Some(skeleton),
            weights: found.weights.as_ref(),
            default_pose: Some(&pose),
            ..GlbScene::default()
        };
        assert_eq!(scene.lost_of_default_pose().is_some(), lost, "{shear}");
        let read = alone(&to_bytes(|out| write_glb(&scene, out)).unwrap()).unwrap();
        let shown = read.default_pose.as_ref().expect("a default pose").bones[BoneIndex::new(1)].matrix3;
        // The polar factor of a shear is within half of it, and so is what is left. Columns at right angles do not shear.
        let apart = (shown - own).to_cols_array().into_iter().map(f64::abs).fold(0.0, f64::max);
        assert!(apart < if lost { shear } else { 1e-6 }, "{shear}: {apart}");
        assert!(shown.x_axis.dot(shown.y_axis).abs() < 1e-6, "{shear}: {shown}");
    }
}
