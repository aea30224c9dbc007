//! `inspect`: what is seen of a rig, and its page.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, number};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(9, 8, 0.0, Flesh::Bulge).bundle());
    desk
}

#[test]
fn the_rig_is_in_the_json_and_on_the_page() {
    let desk = desk();
    let value = &desk.json("inspect train.npz --json")[0];
    // The tube is one closed piece, its weights a partition of one.
    assert_eq!(number(value, "rig.islands.count"), 1.0);
    let bones = value["rig"]["bones"].as_array().unwrap();
    let dominates: u64 = bones.iter().map(|bone| bone["dominates"].as_u64().unwrap()).sum();
    assert_eq!(dominates as f64, number(value, "mesh.vertices"));
    assert!(bones.iter().all(|bone| bone["limits"].is_object() && bone["name"].is_string()));

    let run = desk.good("inspect train.npz --report rig.html");
    assert!(run.out.contains("  islands     1") && run.out.contains("written: rig"), "{}", run.out);
    let page = String::from_utf8(desk.bytes("rig.html")).unwrap();
    for word in ["rig-host", "Rig in 3D", "\"weights\":{\"counts\"", "Bones</h2>", "dermis inspect train.npz"] {
        assert!(page.contains(word), "{word}");
    }
    // A page that is there is kept.
    desk.bad("inspect train.npz --report rig.html", &["\"rig.html\"", "--force"]);
    desk.good("inspect train.npz --report rig.html --force --json");
}

#[test]
fn a_page_shows_one_file_with_a_mesh() {
    let desk = desk();
    desk.bad("inspect train.npz train.npz --report rig.html", &["one file, not of 2"]);
    desk.bad("inspect train.npz --report train.npz", &["say train.npz.html"]);
    desk.put("bones.bvh", "HIERARCHY\nROOT hip\n{\n OFFSET 0 0 0\n CHANNELS 3 Zrotation Xrotation Yrotation\n End Site\n {\n  OFFSET 0 1 0\n }\n}\nMOTION\nFrames: 1\nFrame Time: 0.04\n0 0 0\n");
    desk.bad("inspect bones.bvh --report rig.html", &["\"bones.bvh\"", "no mesh"]);
    assert!(!exists(&desk.path("rig.html")));
}

/// A model holds its rig.
#[test]
fn a_model_s_rig_is_that_of_its_file() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --method lbs -o m.dermis");
    let (rig, model) = (desk.json("inspect train.npz --json"), desk.json("inspect m.dermis --report m.html --json"));
    assert_eq!(rig[0]["rig"]["islands"], model[0]["rig"]["islands"]);
    assert_eq!(rig[0]["rig"]["bones"][1]["limits"], model[0]["rig"]["bones"][1]["limits"]);
}
