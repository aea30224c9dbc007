//! `dermis retarget` and BVH: a motion goes out as BVH and comes back, onto its own rig and onto another.

use crate::{Desk, number};
use dermis_workflow::io::{Contents, npz};
use dermis_workflow::rig::Skeleton;
use dermis_workflow::rig::glam::DAffine3;
use serde_json::json;
use std::path::Path;

const BODY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body.glb");
const WALK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body_walk.npz");

fn bundle(desk: &Desk, name: &str) -> Contents {
    npz::read(&desk.bytes(name), name).unwrap()
}

/// Bone transforms of every record, bones by name.
fn transforms(contents: &Contents) -> Vec<Vec<(String, DAffine3)>> {
    let skeleton = contents.skeleton.as_ref().unwrap();
    let of = |record: &dermis_workflow::io::Record| {
        let moved = skeleton.bone_transforms(record.pose.as_ref().unwrap());
        let mut bones: Vec<_> = skeleton.names().iter().cloned().zip(moved.iter().copied()).collect();
        bones.sort_by(|a, b| a.0.cmp(&b.0));
        bones
    };
    contents.records.iter().map(of).collect()
}

#[test]
fn a_walk_goes_through_bvh_onto_its_own_rig() {
    let desk = Desk::new();
    let written = desk.good(&format!("convert {WALK} -o walk.bvh"));
    assert!(written.out.contains("53 bones, 12 frames") && written.out.contains("Y up"), "{}", written.out);
    let found = desk.json(&format!("retarget walk.bvh {BODY} -o again.npz --json"));
    assert_eq!(
        (found["paired_by"].as_str(), found["without_partner"].as_array().map(Vec::len)),
        (Some("names"), Some(0))
    );
    assert!((number(&found, "scale") - 1.0).abs() < 1e-6 && number(&found, "facing_degrees") == 0.0);
    let original = npz::read(&std::fs::read(Path::new(WALK)).unwrap(), "walk.npz").unwrap();
    let (a, b) = (transforms(&original), transforms(&bundle(&desk, "again.npz")));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
        // Matrices of both bundles are stored in 32 bits, 1e-7 of two metres, and each is a product of a bone and all above it.
        assert!(a.0 == b.0 && a.1.abs_diff_eq(b.1, 1e-5), "{}: {} and {}", a.0, a.1, b.1);
    }
    // Any verb takes it; the rig's joints stand where the file's do.
    desk.good(&format!("convert {BODY} walk.bvh -o again.glb"));
    desk.bad(
        &format!("convert {BODY} walk.bvh -o no.glb --unit 0.01"),
        &["of its joints stand elsewhere than the rig's", "dermis retarget", "--unit"],
    );
}

/// A motion whose head has another name: the rig's head stays at rest against the neck, if that is asked for.
#[test]
fn a_motion_without_all_bones_leaves_the_others_at_rest() {
    let desk = Desk::new();
    let mut walk = npz::read(&std::fs::read(Path::new(WALK)).unwrap(), "walk.npz").unwrap();
    let skeleton = walk.skeleton.take().unwrap();
    // A motion: poses without skins.
    walk.records.iter_mut().for_each(|record| record.positions = None);
    let names = skeleton.names().iter().map(|name| if name == "head" { "caput".into() } else { name.clone() });
    let renamed = Skeleton::new(names.collect(), skeleton.parents().to_vec(), skeleton.bind().to_vec()).unwrap();
    walk.skeleton = Some(renamed);
    let mut bytes = Vec::new();
    npz::write(&walk, npz::StoredFloat::Double, &mut bytes).unwrap();
    desk.put("part.npz", bytes);
    let lacking = ["1 of the rig's 53 bones are missing (first: \"head\")", "--partial"];
    desk.bad(&format!("convert {BODY} part.npz -o no.npz"), &lacking);
    let written = desk.good(&format!("convert {BODY} part.npz -o part_out.npz --partial"));
    assert!(written.err.contains("1 of the rig's 53 bones are not in it, and stay at rest"), "{}", written.err);
    desk.good(&format!("convert {BODY} {WALK} -o whole.npz"));
    let [part, whole] = ["part_out.npz", "whole.npz"].map(|name| transforms(&bundle(&desk, name)));
    for (part, whole) in part.iter().zip(&whole) {
        // A bone at rest against another has its bone transform.
        let neck = part.iter().find(|(name, _)| name == "neck_01").unwrap().1;
        for ((name, a), (_, b)) in part.iter().zip(whole) {
            let expected = if name == "head" { neck } else { *b };
            let is_below = ["jaw", "eye", "head"].iter().any(|part| name.contains(part)) && name != "head";
            assert!(is_below || a.abs_diff_eq(expected, 1e-5), "{name}: {a} and {expected}");
        }
    }
    desk.put("none.npz", {
        let mut bytes = Vec::new();
        let names = (0..skeleton.len()).map(|at| format!("q{at}"));
        let other = Skeleton::new(names.collect(), skeleton.parents().to_vec(), skeleton.bind().to_vec()).unwrap();
        npz::write(&Contents { skeleton: Some(other), ..walk }, npz::StoredFloat::Double, &mut bytes).unwrap();
        bytes
    });
    desk.bad(&format!("convert {BODY} none.npz -o no.npz --partial"), &["none of the rig's bones", "by bone name"]);
}

#[test]
fn contacts_are_a_line_and_a_list_is_said_with_v() {
    let desk = Desk::new();
    let short = desk.good(&format!("retarget {WALK} {BODY} -o short.npz --write-map map.json")).out;
    let long = desk.good(&format!("retarget {WALK} {BODY} -o long.npz -v")).out;
    let listed = |text: &str| text.lines().filter(|line| line.contains("off its place")).count();
    assert!(listed(&short) == 0 && short.contains("(-v lists them)") && listed(&long) > 0, "{short}{long}");
    // The map that is written is one that is read.
    let map: serde_json::Value = serde_json::from_slice(&desk.bytes("map.json")).unwrap();
    assert_eq!((map["head"].as_str(), map.as_object().unwrap().len()), (Some("head"), 53));
    let again = desk.json(&format!("retarget {WALK} {BODY} --map map.json -o again.npz --json"));
    assert_eq!((again["map"] == map, &again["warnings"]), (true, &json!([])));
}

#[test]
fn a_table_pairs_bones_and_its_mistakes_are_named() {
    let desk = Desk::new();
    desk.put("map.json", json!({"head": null, "neck_01": "spine_03"}).to_string().into_bytes());
    let found = desk.json(&format!("retarget {WALK} {BODY} --map map.json -o out.bvh --json"));
    assert_eq!((found["paired_by"].as_str(), &found["map"]["neck_01"]), (Some("table"), &json!("spine_03")));
    assert_eq!(found["without_partner"], json!(["head"]));
    desk.put("map.json", b"{\"head\": 3}");
    desk.bad(&format!("retarget {WALK} {BODY} --map map.json -o new.bvh"), &["map.json", "line 1", "JSON object"]);
    desk.put("map.json", b"{\"tail\": \"head\"}");
    desk.bad(&format!("retarget {WALK} {BODY} --map map.json -o new.bvh"), &["\"tail\"", "--map"]);
    let rope = "HIERARCHY\nROOT rope\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\nJOINT knot\n{\nOFFSET 0 1 0\nCHANNELS 1 Xrotation\n}\n}\n\
                MOTION\nFrames: 2\nFrame Time: 0.1\n1 2\n3 4\n";
    desk.put("rope.bvh", rope);
    let empty = format!("retarget rope.bvh {BODY} -o new.glb --write-map empty.json");
    desk.bad(&empty, &["too little in common", "rope, knot", "--map", "--write-map"]);
    let map: serde_json::Value = serde_json::from_slice(&desk.bytes("empty.json")).unwrap();
    assert!(map.as_object().unwrap().len() == 53 && map.as_object().unwrap().values().all(|name| name == ""));
    desk.put("rope.bvh", rope.replace("3 4", "3 x").into_bytes());
    desk.bad(&format!("retarget rope.bvh {BODY} -o new.glb"), &["rope.bvh", "line 16", "\"x\" is no number"]);
}
