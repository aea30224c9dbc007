//! `dermis crowd`.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, number};
use dermis_workflow::io::npz::crowd_numbers;
use dermis_workflow::rig::glam::{DMat3, DVec3};

/// A model of the tube, and two motions of it.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 8, 0.0, Flesh::Bulge).bundle());
    desk.put("b.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    desk
}

const BARE: &str = "crowd m.dermis --motion a.npz b.npz --fps 24";
const CROWD: &str = "crowd m.dermis --motion a.npz b.npz --fps 24 --instances 60";

fn array(desk: &Desk, name: &str, key: &str) -> Vec<f64> {
    crowd_numbers(&desk.bytes(name), key).unwrap().unwrap_or_else(|| panic!("{name} has no {key}"))
}

#[test]
fn a_crowd_is_told_and_written_and_the_same_for_any_number_of_threads() {
    let desk = desk();
    let told = desk.json(&format!("{CROWD} --full-within 5 --blended-within 8 -o one.npz --picture one.png --json"));
    let of = |at: usize, key: &str| number(&told["levels"][at], key);
    assert_eq!((0..3).map(|at| of(at, "instances")).sum::<f64>(), 60.0);
    assert!((0..3).all(|at| of(at, "instances") > 0.0), "{told}");
    // One skin each, but for poses that are shared: 8 and 5 frames at 24 a second, four frames a pose.
    assert_eq!((of(0, "skins"), of(1, "skins")), (of(0, "instances"), of(1, "instances")));
    assert!(of(2, "skins") <= 3.0 && told["levels"][0]["from_full_model"].is_null(), "{told}");
    let cost = |at: usize| number(&told["levels"][at], "from_full_model.rms");
    assert!(cost(1) > 0.0 && cost(2) > cost(1), "a shared pose is late as well: {told}");
    assert_eq!(number(&told, "skins_held"), 60.0);
    let (levels, transforms) = (array(&desk, "one.npz", "levels"), array(&desk, "one.npz", "transforms"));
    assert_eq!((levels.len(), transforms.len(), array(&desk, "one.npz", "clip_times").len()), (60, 60 * 16, 60));
    for (at, m) in transforms.chunks_exact(16).enumerate() {
        let axes = DMat3::from_cols_array(&std::array::from_fn(|k| m[4 * (k % 3) + k / 3]));
        let scale = array(&desk, "one.npz", "scales")[at];
        assert!((axes.determinant() - scale.powi(3)).abs() < 1e-5, "a turn, times its size");
    }
    desk.good(&format!("--threads 1 {CROWD} --full-within 5 --blended-within 8 -o two.npz --picture two.png"));
    assert!(desk.bytes("one.npz") == desk.bytes("two.npz") && desk.bytes("one.png") == desk.bytes("two.png"));
    let text = desk.good(&format!("{CROWD} --seed 1 -o three.npz")).out;
    assert!(text.contains("played by") && text.contains("written: three.npz (60 instances, 1 frames)"), "{text}");
    assert!(desk.bytes("one.npz") != desk.bytes("three.npz"));
}

/// The skin of an instance is what `dermis pose` gives at the time of its clip, moved by its transform.
#[test]
fn stored_skins_are_those_of_the_clip_moved_by_the_transform() {
    let desk = desk();
    let line = "crowd m.dermis --motion a.npz --fps 24 --instances 9 --frames 3 --full-within 1e9 --skins 4,0 -o c.npz";
    desk.good(line);
    // The tube's clip at many times between its frames, by another way: keys of a scene.
    let (times, transforms) = (array(&desk, "c.npz", "clip_times"), array(&desk, "c.npz", "transforms"));
    let skins = array(&desk, "c.npz", "skins");
    let count = Tube::new(9, 8, 0.0, Flesh::Bulge).mesh.positions.len();
    assert_eq!(skins.len(), 3 * 2 * count * 3);
    desk.good("convert a.npz --fps 24 -o timed.glb");
    for frame in 0..3 {
        for (place, instance) in [4usize, 0].into_iter().enumerate() {
            let at = 9 * frame + instance;
            let time = times[at];
            if time > 7.0 / 24.0 {
                continue; // in the step that closes the cycle, which the file does not have
            }
            let scene = format!(
                r#"{{"rig": "a.npz", "time": {{"to": 0, "rate": 24}}, "layers": [{{"clip": "timed.glb", "start": 0, "time": {time:.9}}}]}}"#
            );
            desk.put("scene.json", scene);
            desk.good("animate scene.json -o at.npz --force");
            desk.good("pose m.dermis --motion at.npz -o skin.npz --force");
            let skin = array(&desk, "skin.npz", "vertices");
            let m = &transforms[16 * at..];
            for v in 0..count {
                let p = DVec3::from_slice(&skin[3 * v..]);
                let found = &skins[3 * ((2 * frame + place) * count + v)..];
                for axis in 0..3 {
                    let r = &m[4 * axis..];
                    let expected = r[0] * p.x + r[1] * p.y + r[2] * p.z + r[3];
                    // Positions, matrices and times of 32 bits, some metres from the middle of the crowd.
                    assert!(
                        (found[axis] - expected).abs() < 2e-5,
                        "{frame} {instance} {v}: {} {expected}",
                        found[axis]
                    );
                }
            }
        }
    }
}

#[test]
fn several_frames_become_a_folder_of_pictures() {
    let desk = desk();
    desk.good(&format!("{CROWD} --frames 2 -o c.npz --picture frames --size 64,36 --colours levels"));
    assert_eq!(desk.names("frames"), ["frame_00000.png", "frame_00001.png"]);
    let recipe = r#"{"crowd": {"model": {"file": "m.dermis"}, "motions": [{"file": "a.npz"}], "instances": 5,
        "read": {"fps": 24}, "out": "again.npz"}}"#;
    desk.put("recipe.json", recipe);
    desk.good("run recipe.json --json");
    assert_eq!(array(&desk, "again.npz", "scales").len(), 5);
}

#[test]
fn what_makes_no_crowd_is_refused_by_its_option() {
    let desk = desk();
    for (line, says) in [
        ("--instances 0", &["--instances 0: it must lie in 1..1000000"][..]),
        ("--instances 1000000000000", &["--instances 1000000000000: "]),
        ("--instances 900000 --frames 90000", &["--instances 900000: it must lie in 1..111"]),
        ("--scale nan,1", &["--scale NaN: it must lie in 0.001..1000"]),
        ("--scale 1,0.5", &["--scale 0.5: it must lie in 1..1000"]),
        ("--scale 1", &["2 numbers with commas"]),
        ("--spacing inf", &["--spacing inf: "]),
        ("--spread -1", &["--spread -1: it must lie in 0..180"]),
        ("--rate 0", &["--rate 0: "]),
        ("--shared-every 0", &["--shared-every 0: "]),
        ("--frames 0", &["--frames 0: "]),
        ("--skins 60", &["--skins 60: it must lie in 0..59"]),
        ("--full-within nan", &["--full-within NaN: "]),
        ("--picture p.jpg", &["\"p.jpg\"", "name it .png"]),
        ("--picture p.png --frames 2", &["\"p.png\"", "name it without an ending"]),
        ("--picture p.png --size 0,9", &["--size 0,9"]),
        ("--picture p.png --size 9000,9000", &["9000 by 9000 pixels"]),
        ("--picture p.png --camera 0,9,0 --look-at 0,0,0", &["straight above or below", "--camera"]),
        ("--picture p.png --field 180", &["180 degrees"]),
    ] {
        let crowd = if line.starts_with("--instances") { BARE } else { CROWD };
        desk.bad(&format!("{crowd} -o c.npz {line}"), says);
    }
    let crowd = "crowd m.dermis -o c.npz --instances 9 --motion";
    desk.bad(&format!("{crowd} a.npz"), &["\"a.npz\"", "its frames have no times", "--fps"]);
    desk.bad(&format!("{crowd} gone.npz"), &["gone.npz"]);
    desk.bad("crowd m.dermis --motion a.npz --fps 24 -o c.glb", &["\"c.glb\": a crowd is written as a bundle"]);
    desk.bad("crowd m.dermis --motion a.npz --fps 24 -o a.npz --force", &["is read and would be replaced"]);
    // A clip of another skeleton.
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body.glb");
    desk.bad(&format!("{crowd} {other}#walk"), &["3 of the rig's 3 bones are missing"]);
    // Positions of another program, which a crowd does not have.
    desk.good("convert a.npz -o a.pc2");
    desk.good("fit a.npz --examples a.npz --method mwe --base given --base-cache a.pc2 --folds 0 -o given.dermis");
    desk.bad(
        "crowd given.dermis --motion a.npz --fps 24 -o c.npz",
        &["\"given.dermis\": ", "given positions", "a base of its own"],
    );
    assert!(!exists(&desk.path("c.npz")));
}
