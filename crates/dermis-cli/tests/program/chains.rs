//! Springs of bone chains from `fit --secondary-from` to the files of `export`: a planted tail.

use crate::Desk;
use dermis_workflow::deform::lbs;
use dermis_workflow::deform::secondary::{Anchor, ChainMotion, ChainSpring, STEP};
use dermis_workflow::io::npz::{StoredFloat, write};
use dermis_workflow::io::{Contents, Record, to_bytes};
use dermis_workflow::rig::glam::{DAffine3, DQuat, DVec3};
use dermis_workflow::rig::{BoneIndex, Influences, Mesh, Skeleton};
use serde_json::{Value, json};

/// Bones of the tail, the first of them number 2.
const TAIL: [&str; 3] = ["tail_0", "tail_1", "tail_2"];

/// A pelvis with a tail behind it, and what hangs on each: a square tube with 20 rings of the tail's.
fn animal() -> Contents {
    let heads = [0.0, 0.0, -0.1, -0.3, -0.5].map(|z| DVec3::new(0.0, 1.0, z));
    let skeleton = Skeleton::new(
        ["root", "pelvis"].into_iter().chain(TAIL).map(String::from).collect(),
        (0..5).map(|bone: usize| bone.checked_sub(1).map(BoneIndex::new)).collect(),
        heads.iter().map(|head| DAffine3::from_translation(*head)).collect(),
    );
    let (mut positions, mut rows, mut triangles) = (Vec::new(), Vec::new(), Vec::<[u32; 3]>::new());
    for ring in 0..=14u32 {
        let along = f64::from(ring) * 0.05;
        let bone = [0.1, 0.3, 0.5].into_iter().filter(|from| along > from + 1e-9).count() + 1;
        for (side, (x, y)) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].into_iter().enumerate() {
            positions.push(DVec3::new(0.03 * x, 1.0 + 0.03 * y, -along));
            rows.push(vec![(BoneIndex::new(bone), 1.0)]);
            if ring > 0 {
                let at = |side: usize| 4 * (ring - 1) + (side as u32) % 4;
                let (a, b) = (at(side), at(side + 1));
                triangles.extend([[a, b, a + 4], [b, b + 4, a + 4]]);
            }
        }
    }
    Contents {
        name: "animal".into(),
        mesh: Some(Mesh { positions, triangles, ..Mesh::default() }),
        skeleton: Some(skeleton.unwrap()),
        weights: Some(Influences::from_rows(rows).unwrap()),
        ..Contents::default()
    }
}

/// A bundle of a clip: the pelvis goes about and turns, and the tail swings if it has springs.
fn clip(spring: Option<ChainSpring>, rate: f64) -> Vec<u8> {
    let animal = animal();
    let (mesh, skeleton) = (animal.mesh.as_ref().unwrap(), animal.skeleton.as_ref().unwrap());
    let weights = animal.weights.as_ref().unwrap();
    let heads: Vec<DVec3> = (2..5).map(|bone| skeleton.bind()[BoneIndex::new(bone)].translation).collect();
    // The skin of the last bone ends at z = −0.7.
    let mut motion = ChainMotion::new(vec![DVec3::NEG_Z * 0.2; 3]);
    let mut records = Vec::new();
    for n in 0..180 {
        let time = f64::from(n) * STEP;
        let turn =
            DQuat::from_rotation_y(0.6 * (rate * time).sin()) * DQuat::from_rotation_x(0.4 * (1.7 * rate * time).sin());
        let way = DVec3::new((1.3 * rate * time).cos(), (0.7 * rate * time).sin(), 0.0) * 0.1;
        let posed = skeleton.pose().moved("root", way).unwrap().turned("pelvis", turn).unwrap();
        let pelvis = posed.transforms()[BoneIndex::new(1)];
        let anchor = Anchor { head: pelvis.transform_point3(heads[0]), rotation: turn };
        if n == 0 {
            motion.rest(&anchor);
        }
        let mut swung = posed.transforms().clone();
        if let Some(spring) = spring {
            if n > 0 {
                motion.step(&spring, STEP, &anchor);
            }
            let tails: Vec<DVec3> = motion.tails().collect();
            for (k, placed) in motion.placed(&anchor, tails.into_iter()).enumerate() {
                let at = DAffine3::from_rotation_translation(placed.rotation, placed.head);
                swung.set(BoneIndex::new(k + 2), at * DAffine3::from_translation(-heads[k]));
            }
        }
        let mut skin = vec![DVec3::ZERO; mesh.positions.len()];
        lbs(&mesh.positions, weights, &swung, &mut skin);
        records.push(Record {
            label: format!("frame {n}"),
            time: Some(time),
            pose: Some(posed.world()),
            positions: Some(skin),
            importance: 1.0,
            local: None,
        });
    }
    to_bytes(|out| write(&Contents { records, ..animal }, StoredFloat::Double, out)).unwrap()
}

fn json_of(glb: &[u8]) -> Value {
    let size = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&glb[20..20 + size]).unwrap()
}

#[test]
fn a_planted_tail_reaches_the_files_of_engines() {
    let desk = Desk::new();
    let spring = ChainSpring::new(1.25, 0.25, 0.0).unwrap();
    desk.put("wag.npz", clip(Some(spring), 5.0));
    desk.put("nod.npz", clip(Some(spring), 7.0));
    let fit = "fit wag.npz --examples wag.npz --method own-weights --folds 0 --force --secondary-from";
    let said = desk.json(&format!("{fit} wag.npz nod.npz -o m.dermis --json"));
    let chain = &said["secondary"]["chains"][0];
    assert_eq!(said["secondary"]["chains"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!((&chain["bones"], &chain["kept"]), (&json!(TAIL), &json!(true)));
    let near = |key: &str, wanted: f64| (chain[key].as_f64().unwrap() / wanted - 1.0).abs() < 0.05;
    assert!(near("stiffness", 1.25) && near("drag", 0.25), "{chain}");
    assert!(chain["left_out"].as_f64().unwrap() < 0.1, "{chain}");
    let said = desk.good(&format!("{fit} wag.npz nod.npz -o m.dermis")).out;
    assert!(
        said.contains("springs of the chain \"tail_0\" and 2 bones below") && said.contains("stiffness 1.2"),
        "{said}"
    );

    let said = desk.good("export shapes m.dermis -o m.glb --shapes 0 --springs m.json").out;
    assert!(said.contains("written: m.json"), "{said}");
    let json = json_of(&desk.bytes("m.glb"));
    let joints = json["extensions"]["VRMC_springBone"]["springs"][0]["joints"].as_array().unwrap();
    let names: Vec<&Value> =
        joints.iter().map(|joint| &json["nodes"][joint["node"].as_u64().unwrap() as usize]["name"]).collect();
    assert_eq!(names, ["tail_0", "tail_1", "tail_2", "tail_2_end"]);
    assert_eq!(joints[0]["stiffness"], chain["stiffness"]);
    let table: Value = serde_json::from_slice(&desk.bytes("m.json")).unwrap();
    assert_eq!((&table["format"], &table["chains"][0]["bones"]), (&json!("dermis-springs"), &json!(TAIL)));
    assert_eq!(table["chains"][0]["drag"], chain["drag"]);
    // What is written is read again, and compiled bones swing as well.
    desk.good("convert m.glb -o again.glb");
    assert_eq!(
        json_of(&desk.bytes("again.glb"))["extensions"]["VRMC_springBone"]["springs"][0]["joints"][0]["stiffness"],
        chain["stiffness"]
    );
    desk.good("export bones m.dermis --motion wag.npz --helpers 0 -o bones.glb");
    assert!(json_of(&desk.bytes("bones.glb"))["extensions"]["VRMC_springBone"].is_object());
    let said = desk.good("export shapes m.dermis -o m.fbx --shapes 0").out;
    assert!(said.contains("left out: springs of bone chains: a GLB holds them"), "{said}");
    desk.bad("export shapes m.dermis -o n.glb --springs n.glb", &["n.glb"]);
}

#[test]
fn a_tail_that_does_not_swing_gets_no_springs() {
    let desk = Desk::new();
    desk.put("still.npz", clip(None, 5.0));
    desk.put("calm.npz", clip(None, 7.0));
    let fit = "fit still.npz --examples still.npz --method own-weights --folds 0 -o m.dermis --secondary-from still.npz calm.npz";
    let said = desk.json(&format!("{fit} --json"));
    assert_eq!(said["secondary"]["chains"][0]["kept"], false, "{said}");
    desk.good("export shapes m.dermis -o m.glb --shapes 0");
    assert_eq!(json_of(&desk.bytes("m.glb"))["extensions"], Value::Null);
    desk.bad(
        "export shapes m.dermis -o n.glb --shapes 0 --springs n.json",
        &["the model has no springs of bone chains", "--secondary-from"],
    );
}
