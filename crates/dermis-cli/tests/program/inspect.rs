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

/// Three markers over seven frames, 50 a second; the second is not seen in frames 2 and 3, the third in none.
#[test]
fn a_take_shows_its_markers_and_their_gaps() {
    let desk = Desk::new();
    let mut text = String::from(
        "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n50\t50\t7\t3\tmm\n\
         Frame#\tTime\tLKNE\t\t\tRKNE\t\t\tHEAD\n\t\tX1\tY1\tZ1\n\n",
    );
    for frame in 0..7 {
        let second = if frame == 2 || frame == 3 { "\t\t" } else { "4\t5\t6" };
        text += &format!("{}\t{:.2}\t1\t2\t3\t{second}\t\t\t\n", frame + 1, f64::from(frame) / 50.0);
    }
    desk.put("walk.trc", &text);
    let said = desk.good("inspect walk.trc").out;
    for line in [
        "walk.trc  (C3D or TRC, ",
        "  take        3 markers, 7 frames at 50 per second, 0.120 s\n",
        "  markers     LKNE, RKNE, HEAD\n",
        "  gap         \"RKNE\": 2 frames, 2 to 3\n",
        "  gap         \"HEAD\" is seen in no frame\n",
        "  flaws       none found\n",
    ] {
        assert!(said.contains(line), "{line:?} is not in\n{said}");
    }
    let value = &desk.json("inspect walk.trc --json")[0];
    let names: Vec<_> =
        value["take"]["markers"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["LKNE", "RKNE", "HEAD"]);
    assert_eq!(value["take"]["markers"][1]["gaps"], serde_json::json!([{ "from": 2, "to": 3 }]));
    assert_eq!(
        (number(value, "take.frames"), number(value, "take.rate"), number(value, "frames_per_second")),
        (7.0, 50.0, 50.0)
    );
    assert_eq!((number(value, "metres_per_unit"), value["up_axis"].as_str()), (1e-3, Some("Y")));
    // Known by its first bytes as well; a page has nothing to show.
    desk.put("walk.txt", &text);
    assert_eq!(desk.json("inspect walk.txt --json")[0]["take"], value["take"]);
    desk.bad("inspect walk.trc --report walk.html", &["\"walk.trc\"", "no mesh"]);
    // Columns parted by spaces, some of them empty: the reason is said.
    desk.put("spaces.trc", text.replace('\t', " "));
    desk.bad("inspect spaces.trc", &["\"spaces.trc\"", "parted by spaces, not tabs", "need 11"]);
}
