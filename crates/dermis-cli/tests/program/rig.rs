//! `dermis rig`: the bundled body without its skeleton.

use crate::{Desk, number};
use dermis_workflow::autorig::confidence::{Limb, SURE, UNSURE};
use dermis_workflow::io::npz;
use dermis_workflow::rig::glam::DVec3;
use serde_json::{Value, json};
use std::path::Path;

const BODY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body_exercise.npz");
const WALK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body_walk.npz");

/// From a bare mesh to a rig that is exercised, walks, and is near the one that an artist made.
#[test]
fn a_bare_body_is_rigged_exercised_and_walks() {
    let desk = Desk::new();
    // The skeleton in the file is left out.
    let line =
        format!("rig {BODY} -o hero.npz --report rig.html --write-joints joints.json --write-exercise poses.npz");
    let told = desk.json(&format!("{line} --json"));
    assert_eq!((number(&told, "bones"), number(&told, "outside.share") < 0.02), (22.0, true), "{told}");
    let made = npz::read(&desk.bytes("hero.npz"), "hero.npz").unwrap();
    let truth = npz::read(&std::fs::read(Path::new(BODY)).unwrap(), "body.npz").unwrap();
    let (found, own) = (made.skeleton.unwrap(), truth.skeleton.unwrap());
    let head = |skeleton: &dermis_workflow::rig::Skeleton, name: &str| -> DVec3 {
        skeleton.bind()[skeleton.find(name).unwrap()].translation
    };
    let leg = head(&own, "thigh_l").distance(head(&own, "foot_l"));
    let names = ["pelvis", "neck_01", "head", "upperarm_l", "lowerarm_l", "hand_l", "thigh_r", "calf_r", "foot_r"];
    let error = names.map(|name| head(&found, name).distance(head(&own, name)) / leg).iter().sum::<f64>() / 9.0;
    assert!(error < 0.05, "the mean error is {error} of a leg");
    // Joints that are called sure are within a tenth of their limb; text, JSON and page say the same of each.
    let mut sure = 0;
    for (name, joint) in told["joints"].as_object().unwrap() {
        let limb = Limb::of(name).unwrap();
        let side = if name.ends_with("_r") { 'r' } else { 'l' };
        let length = limb.length(side, &|name| Some(head(&own, name))).unwrap();
        let off = head(&found, name).distance(head(&own, name)) / length;
        let confidence = number(joint, "confidence");
        let expected = if confidence >= SURE {
            "sure"
        } else if confidence >= UNSURE {
            "likely"
        } else {
            "unsure"
        };
        assert_eq!(joint["verdict"], expected, "{name}: {joint}");
        assert!(expected != "sure" || off < 0.1, "{name} is called sure, and is off by {off} of its limb");
        sure += usize::from(expected == "sure");
        let is_named = told["unsure"].as_array().unwrap().contains(&json!(name));
        assert_eq!(is_named, expected == "unsure", "{name}");
    }
    assert_eq!(told["sure"], json!(sure), "{told}");
    assert!((6..22).contains(&sure), "{sure} joints are sure");
    let text = desk.good(&format!("rig {BODY} -o again.npz")).out;
    assert!(text.contains(&format!("{sure} of 22 joints are sure")), "{text}");
    let page = String::from_utf8(desk.bytes("rig.html")).unwrap();
    assert!(page.contains(&format!("{sure} of 22 joints are sure")) && page.matches("<td>sure</td>").count() == sure);
    assert!(page.contains("<svg") && page.contains("upperarm_l") && page.contains("id=\"page-glb\""));
    // The page walks: feet slide no more than those of the source, and the skin stays near the ground.
    assert_eq!((&told["motion"]["source"], &told["motion"]["refusal"]), (&json!("body"), &Value::Null), "{told}");
    let feet = |key: &str| number(&told, &format!("motion.feet.{key}"));
    assert!(feet("contacts") >= 2.0 && feet("slide_mm") <= feet("source_slide_mm") + 0.1, "{told}");
    assert!(feet("sunk_mm") < 0.02 * feet("leg_mm") && feet("lifted_mm") < 0.02 * feet("leg_mm"), "{told}");
    assert!(page.contains("\"ground\":0.") || page.contains("\"ground\":-"), "a walk has a ground");
    assert!(page.contains("[\"ball_l\",") && page.contains("\"sure\":[[") && page.contains("skin of the new rig"));
    assert!(number(&desk.json("inspect poses.npz --json")[0], "poses") > 20.0);
    let walk = desk.json(&format!("retarget {WALK} hero.npz -o walk.glb --json"));
    assert_eq!(walk["paired_by"], "names", "{walk}");
}

/// A rig in a file is the template of a bare mesh, and the hand has a template of its own; both go through their exercise.
#[test]
fn a_file_is_a_template_and_a_hand_is_rigged() {
    let desk = Desk::new();
    let told = desk.json(&format!("rig {BODY} --template {BODY} -o own.npz --write-exercise own_poses.npz --json"));
    assert_eq!((number(&told, "bones"), &told["missing"]), (52.0, &json!([])), "{told}");
    assert!(told["joints"]["index_03_r"]["place"].is_array() && number(&told, "outside.share") < 0.02, "{told}");
    let planted = dermis_testkit::bodies::hand(1.0, 8.0, 8.0);
    let vertices = planted.mesh.positions.iter().map(|p| format!("v {} {} {}\n", p.x, p.y, p.z));
    let faces = planted.mesh.triangles.iter().map(|t| format!("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1));
    desk.put("hand.obj", vertices.chain(faces).collect::<String>());
    let told =
        desk.json("rig hand.obj --template hand -o hand.glb --report hand.html --write-exercise poses.npz --json");
    assert_eq!((number(&told, "bones"), &told["missing"]), (17.0, &json!([])), "{told}");
    for (name, place) in &planted.joints {
        let found = told["joints"][name.as_str()]["place"].as_array().unwrap();
        let found = DVec3::from_array(std::array::from_fn(|k| found[k].as_f64().unwrap()));
        assert!(found.distance(*place) < 0.02, "{name}: {found} for {place}");
    }
    assert!(number(&desk.json("inspect poses.npz --json")[0], "poses") > 10.0);
}

/// Oracle: 65° of twist to each side, shared by neck and head; the back has 40°, shared by its three bones.
#[test]
fn neck_and_head_of_rigify_names_have_their_own_limits() {
    let desk = Desk::new();
    desk.good(&format!("rig {BODY} --names rigify -o hero.npz"));
    let told = desk.json("exercise hero.npz --count 8 -o poses.npz --write-limits limits.json --json");
    let recognised = &told["bones_recognised"];
    // A shoulder is a collar bone or an upper arm: the bones around it decide.
    let by_place = json!(["DEF-shoulder.L", "DEF-shoulder.R"]);
    assert_eq!(recognised, &json!({"by_name": 20, "by_place": by_place, "unknown": []}));
    let limits: Value = serde_json::from_slice(&desk.bytes("limits.json")).unwrap();
    for (bone, twist) in [("DEF-spine.003", 40.0 / 3.0), ("DEF-spine.004", 32.5), ("DEF-spine.006", 32.5)] {
        let found = limits["joints"][bone]["twist"][1].as_f64().unwrap();
        assert!((found - twist).abs() < 0.01, "{bone} twists by {found}°, not {twist}°");
    }
}

#[test]
fn pins_come_back_and_what_cannot_be_rigged_is_named() {
    let desk = Desk::new();
    desk.put("pins.json", json!({"joints": {"hand_l": [0.5, -0.2, 1.08]}}).to_string());
    let told = desk.json(&format!("rig {BODY} -o a.glb --names mixamo --joints pins.json --json"));
    let hand = &told["joints"]["mixamorig:LeftHand"];
    assert!(hand["pinned"] == Value::Bool(true) && (number(hand, "confidence") - 1.0).abs() < 1e-12, "{told}");
    desk.put("wing.json", json!({"joints": {"wing": [0, 0, 0]}}).to_string());
    desk.put("torn.json", "{\"joints\": {");
    desk.put("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    for (line, says) in [
        ("rig flat.obj -o f.glb", &["encloses no volume"][..]),
        ("rig missing.obj -o f.glb", &["missing.obj"]),
        ("rig flat.obj --template dragon -o f.glb", &["dragon", "biped"]),
        ("rig flat.obj -o f.fbx", &["f.fbx"]),
        ("rig flat.obj --joints wing.json -o f.glb", &["wing"]),
        ("rig flat.obj --joints torn.json -o f.glb", &["torn.json"]),
        ("rig flat.obj --influences 0 -o f.glb", &["--influences 0"]),
        ("rig flat.obj -o f.glb --report f.glb", &["f.glb"]),
    ] {
        desk.bad(line, says);
        assert!(!crate::exists(&desk.path("f.glb")), "{line}");
    }
}
