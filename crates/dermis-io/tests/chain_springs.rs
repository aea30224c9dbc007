//! Springs of bone chains: in a GLB as `VRMC_springBone`, in a table, in a model file.

mod headers;

use dermis_deform::{Base, Deformer, RiggedDeformer};
use dermis_io::gltf::{GlbScene, GlbWritten, read};
use dermis_io::{
    ChainSprings, Contents, ModelFile, ModelHeader, ReadError, Space, chain_springs, model_file, to_bytes,
};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, Influences, Mesh, Rig, Skeleton};
use dermis_testkit::vrm::avatar;
use headers::changed;
use serde_json::{Value, json};
use std::io::ErrorKind;

/// A hip below a root, with a tail of two bones behind it; every bone is turned by a quarter about X, so that its Y points along Z.
fn rig() -> Rig {
    let turn = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let heads = [DVec3::ZERO, DVec3::Y, DVec3::new(0.0, 1.0, -0.25), DVec3::new(0.0, 1.0, -0.5)];
    let skeleton = Skeleton::new(
        ["root", "hip", "tail.0", "tail.1"].map(String::from).to_vec(),
        vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(1)), Some(BoneIndex::new(2))],
        heads.iter().map(|head| DAffine3::from_rotation_translation(turn, *head)).collect(),
    );
    let mesh = Mesh {
        positions: vec![DVec3::new(0.1, 1.0, -0.6), DVec3::new(-0.1, 1.0, -0.6), DVec3::new(0.0, 1.1, -0.6)],
        triangles: vec![[0, 1, 2]],
        ..Mesh::default()
    };
    let weights = Influences::from_rows(vec![vec![(BoneIndex::new(3), 1.0)]; 3]).unwrap();
    Rig::new(mesh, skeleton.unwrap(), Some(weights)).unwrap()
}

fn tail() -> ChainSprings {
    ChainSprings {
        bones: vec!["tail.0".into(), "tail.1".into()],
        tip: Some([0.0, 1.0, -0.75]),
        radius: 0.0625,
        stiffness: 1.5,
        drag: 0.375,
        gravity: 0.125,
    }
}

fn written(rig: &Rig, springs: &[ChainSprings]) -> (Vec<u8>, GlbWritten) {
    let scene = GlbScene {
        name: "animal",
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: rig.weights(),
        springs,
        ..GlbScene::default()
    };
    writing(&scene)
}

fn writing(scene: &GlbScene<'_>) -> (Vec<u8>, GlbWritten) {
    let mut told = GlbWritten::default();
    let bytes = to_bytes(|out| {
        told = scene.write(out)?;
        Ok(())
    });
    (bytes.unwrap(), told)
}

fn json_of(glb: &[u8]) -> Value {
    let size = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&glb[20..20 + size]).unwrap()
}

fn reading(bytes: &[u8]) -> Contents {
    read(bytes, "animal.glb", &|_, _| Err(ErrorKind::NotFound.into())).unwrap()
}

/// Nodes: the four bones, the mesh, and the tip below the last bone, 0.25 along −Z in the world, which is −Y of the bone.
#[test]
fn a_glb_has_the_springs_that_the_specification_describes() {
    let (bytes, told) = written(&rig(), &[tail()]);
    assert_eq!(told, GlbWritten::default());
    let json = json_of(&bytes);
    let joint = |node: usize| json!({ "node": node, "hitRadius": 0.0625, "stiffness": 1.5, "gravityPower": 0.125, "gravityDir": [0.0, -1.0, 0.0], "dragForce": 0.375 });
    let spring = json!({ "name": "tail.0", "joints": [joint(2), joint(3), { "node": 5 }] });
    assert_eq!(json["extensions"], json!({ "VRMC_springBone": { "specVersion": "1.0", "springs": [spring] } }));
    assert_eq!(json["extensionsUsed"], json!(["VRMC_springBone"]));
    assert_eq!(json["extensionsRequired"], Value::Null);
    let names: Vec<&str> = json["nodes"].as_array().unwrap().iter().map(|n| n["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["root", "hip", "tail.0", "tail.1", "animal", "tail.1_end"]);
    assert_eq!(json["nodes"][3]["children"], json!([5]));
    let at: Vec<f64> =
        json["nodes"][5]["translation"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert!(DVec3::from_slice(&at).distance(DVec3::NEG_Y * 0.25) < 1e-12, "{at:?}");
    assert_eq!(json["skins"][0]["joints"], json!([0, 1, 2, 3]), "a tip is no joint of the skin");
    // Without a tip the last bone is only the end of the one before.
    let (bytes, _) = written(&rig(), &[ChainSprings { tip: None, ..tail() }]);
    let json = json_of(&bytes);
    assert_eq!(json["extensions"]["VRMC_springBone"]["springs"][0]["joints"], json!([joint(2), { "node": 3 }]));
    assert_eq!(json["nodes"].as_array().unwrap().len(), 5);
    // Without springs there is no extension.
    assert_eq!(json_of(&written(&rig(), &[]).0)["extensions"], Value::Null);
}

/// The extension is one of those that are carried, so the same springs come out of a second file, with its numbers.
#[test]
fn springs_that_were_written_are_carried() {
    let contents = reading(&written(&rig(), &[tail()]).0);
    let skeleton = contents.skeleton.as_ref().unwrap();
    assert_eq!(skeleton.len(), 4, "a tip becomes no bone");
    let scene = GlbScene {
        name: "again",
        mesh: contents.mesh.as_ref(),
        skeleton: Some(skeleton),
        weights: contents.weights.as_ref(),
        ..GlbScene::default()
    };
    let (bytes, told) = writing(&scene);
    assert_eq!(told, GlbWritten::default());
    let json = json_of(&bytes);
    let joints = json["extensions"]["VRMC_springBone"]["springs"][0]["joints"].as_array().unwrap();
    let named: Vec<&Value> =
        joints.iter().map(|joint| &json["nodes"][joint["node"].as_u64().unwrap() as usize]["name"]).collect();
    assert_eq!(named, ["tail.0", "tail.1", "tail.1_end"]);
    // Learnt ones stand for them.
    let (bytes, told) = writing(&GlbScene { springs: &[ChainSprings { stiffness: 9.0, ..tail() }], ..scene });
    assert_eq!(told.left_out, ["1 springs of VRMC_springBone: learnt ones stand for them"]);
    let springs = &json_of(&bytes)["extensions"]["VRMC_springBone"]["springs"];
    assert_eq!((springs.as_array().unwrap().len(), &springs[0]["joints"][0]["stiffness"]), (1, &json!(9.0)));
    // The new tip has a name of its own.
    let ends = json_of(&bytes)["nodes"].as_array().unwrap().iter().filter(|n| n["name"] == "tail.1_end_1").count();
    assert_eq!(ends, 1);
}

#[test]
fn an_avatar_keeps_its_colliders() {
    let contents = reading(&avatar(1));
    let springs = [ChainSprings { bones: vec!["hair".into()], tip: Some([0.0, 2.0, 0.0]), ..tail() }];
    let scene = GlbScene {
        name: "avatar",
        mesh: contents.mesh.as_ref(),
        skeleton: contents.skeleton.as_ref(),
        weights: contents.weights.as_ref(),
        morphs: &contents.morphs,
        springs: &springs,
        ..GlbScene::default()
    };
    let (bytes, told) = writing(&scene);
    assert!(told.is_vrm);
    assert_eq!(told.left_out, ["1 springs of VRMC_springBone: learnt ones stand for them"]);
    let own = &json_of(&bytes)["extensions"]["VRMC_springBone"];
    assert_eq!(own["colliders"].as_array().unwrap().len(), 1);
    assert_eq!(own["springs"].as_array().unwrap().len(), 1);
    assert_eq!(own["springs"][0]["joints"][0]["stiffness"], 1.5);
}

#[test]
fn chains_that_a_skeleton_does_not_have_are_left_out_in_words() {
    let other = |bones: &[&str]| ChainSprings { bones: bones.iter().map(|b| (*b).into()).collect(), ..tail() };
    let (bytes, told) = written(&rig(), &[other(&["ear"]), other(&["tail.1", "tail.0"]), tail(), other(&["tail.1"])]);
    assert_eq!(told.left_out.len(), 3, "{told:?}");
    assert!(told.left_out.iter().any(|line| line.contains("\"ear\"") && line.contains("no longer")));
    assert!(told.left_out.iter().any(|line| line.contains("\"tail.1\"") && line.contains("others")));
    assert_eq!(json_of(&bytes)["extensions"]["VRMC_springBone"]["springs"].as_array().unwrap().len(), 1);
    let rig = rig();
    let infinite = [ChainSprings { stiffness: f64::INFINITY, ..tail() }];
    let scene = GlbScene { skeleton: Some(rig.skeleton()), springs: &infinite, ..GlbScene::default() };
    assert!(to_bytes(|out| scene.write(out).map(drop)).is_err());
}

#[test]
fn a_table_has_the_end_in_the_axes_of_its_bone() {
    let table = |chains: &[ChainSprings]| -> Value {
        let bytes = to_bytes(|out| chain_springs::write(chains, rig().skeleton(), "a test", out)).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let made = table(&[tail()]);
    let end: Vec<f64> = made["chains"][0]["end"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert!(DVec3::from_slice(&end).distance(DVec3::NEG_Y * 0.25) < 1e-12);
    assert_eq!((&made["format"], &made["version"]), (&json!("dermis-springs"), &json!(1)));
    assert_eq!(made["step"], 1.0 / 60.0);
    assert_eq!(made["chains"][0]["bones"], json!(["tail.0", "tail.1"]));
    let numbers = ["radius", "stiffness", "drag", "gravity"].map(|key| made["chains"][0][key].as_f64().unwrap());
    assert_eq!(numbers, [0.0625, 1.5, 0.375, 0.125]);
    assert_eq!(made["chains"][0]["gravity_direction"], json!([0.0, -1.0, 0.0]));
    assert_eq!(table(&[ChainSprings { tip: None, ..tail() }])["chains"][0]["end"], Value::Null);
}

#[test]
fn a_model_file_holds_them() {
    let rig = rig();
    let base = Base::Lbs(rig.weights().unwrap().clone());
    let deformer = Deformer::new(rig.mesh().positions.clone(), base, None).unwrap();
    let model = RiggedDeformer::new(rig, None, deformer.bake(), None).unwrap();
    let header = ModelHeader { chains: vec![tail()], ..ModelHeader::default() };
    let file = ModelFile { model, space: Space::default(), header };
    let bytes = to_bytes(|out| model_file::write(&file, out)).unwrap();
    assert_eq!(model_file::read(&bytes).unwrap().header.chains, [tail()]);
    for (key, value) in [
        ("drag", json!(1.5)),
        ("stiffness", json!(-1.0)),
        ("gravity", json!(1e300)),
        ("radius", json!("wide")),
        ("bones", json!(["tail.1", "tail.0"])),
        ("bones", json!([])),
        ("tip", json!([0.0, 1.0])),
    ] {
        let hostile = changed(&bytes, |header| header["chains"][0][key] = value.clone());
        assert!(matches!(model_file::read(&hostile), Err(ReadError::Damaged { .. })), "{key} {value}");
    }
}
