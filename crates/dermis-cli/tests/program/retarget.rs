//! `dermis retarget` and BVH: a motion goes out as BVH and comes back, onto its own rig and onto another.

use crate::{Desk, number};
use dermis_workflow::io::{Contents, npz};
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
    desk.bad(&format!("retarget rope.bvh {BODY} -o new.glb"), &["too little in common", "rope, knot", "--map"]);
    desk.put("rope.bvh", rope.replace("3 4", "3 x").into_bytes());
    desk.bad(&format!("retarget rope.bvh {BODY} -o new.glb"), &["rope.bvh", "line 16", "\"x\" is no number"]);
}
