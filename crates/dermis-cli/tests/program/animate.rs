//! `dermis animate`.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, keys, number};

const SCENE: &str = r#"{
  "rig": "tube.npz",
  "time": {"to": 1, "rate": 10},
  "controls": {"bend": {"keys": [[0, 0], [1, 40]]}},
  "bones": {"*": {"turn": [0, 0, "bend * i"]}}
}"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("shots/tube.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    desk.put("shots/bend.json", SCENE);
    desk
}

#[test]
fn a_scene_becomes_a_motion_in_every_format() {
    let desk = desk();
    let told = desk.json("animate shots/bend.json -o bend.glb --json");
    assert_eq!(keys(&told)[..5], ["name", "rig", "seconds", "goals", "bodies"]);
    assert_eq!((told["name"].as_str(), number(&told, "frames"), number(&told, "seconds")), (Some("bend"), 11.0, 1.0));
    for out in ["bend.npz", "bend.bvh", "bend.pc2", "bend.mdd", "bend"] {
        let text = desk.good(&format!("animate shots/bend.json -o {out}")).out;
        assert!(text.contains("\"bend\": 11 frames, 1.00 s") && text.contains(&format!("written: {out}")), "{text}");
    }
    // Between its frames the motion of an FBX or USD file is that of the others.
    for out in ["bend.fbx", "bend.usda"] {
        let said = desk.good(&format!("animate shots/bend.json -o {out}")).out;
        let off =
            said.split("at most ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse::<f64>().unwrap();
        assert!(off < 2e-4, "{said}");
    }
    let file = &desk.json("inspect bend.npz --json")[0];
    assert_eq!(file["poses"].as_u64(), Some(11));
    // What comes out is a motion like any other.
    desk.good("fit shots/tube.npz --examples shots/tube.npz --folds 0 -o tube.dermis");
    for motion in ["bend.glb", "bend.npz", "bend.bvh"] {
        desk.good(&format!("pose tube.dermis --motion {motion} -o skins-{motion}.npz"));
    }
    desk.bad("animate shots/bend.json -o bend.glb", &["\"bend.glb\" exists already", "--force"]);
    desk.good("animate shots/bend.json -o bend.glb --force");
    desk.bad("animate shots/bend.json -o shots/tube.npz --force", &["is read and would be replaced"]);
    desk.put("recipe.json", r#"{"animate": {"scene": {"file": "shots/bend.json"}, "out": "again.glb"}}"#);
    desk.good("run recipe.json --json");
    assert_eq!(desk.bytes("again.glb"), desk.bytes("bend.glb"));
}

#[test]
fn clips_of_layers_lie_beside_the_scene() {
    let desk = desk();
    desk.good("animate shots/bend.json -o shots/bend.npz");
    let layers = r#""layers": [{"clip": "bend.npz", "start": 0.5, "speed": 2, "before": "cycle", "after": "mirror"}]"#;
    let over = SCENE.replace("\"controls\": {\"bend\": {\"keys\": [[0, 0], [1, 40]]}},", &format!("{layers},"));
    desk.put("shots/over.json", over.replace("bend * i", "0"));
    assert_eq!(number(&desk.json("animate shots/over.json -o over.glb --json"), "frames"), 11.0);
    desk.bad("animate shots/over.json -o over.npz --fps 24", &["--fps"]);
}

/// Three bones of a tube fall as bodies; what is wrong with them is told by line and key.
#[test]
fn bones_fall_as_bodies() {
    let desk = desk();
    let bodies = r#""dynamics": {"ground": -9, "bodies": [{"bones": ["*"], "density": 500}]},"#;
    let falls = SCENE.replace("\"controls\"", &format!("{bodies}\n  \"controls\""));
    desk.put("shots/fall.json", &falls);
    let told = desk.json("animate shots/fall.json -o fall.glb --json");
    let bodies = told["bodies"].as_array().unwrap();
    assert!(!bodies.is_empty() && bodies.iter().all(|body| number(body, "mass") > 0.0), "{told}");
    let text = desk.good("animate shots/fall.json -o fall.npz").out;
    assert!(text.contains(&format!("{} bones moved as bodies, ", bodies.len())), "{text}");
    desk.good("animate shots/fall.json -o again.glb");
    assert_eq!(desk.bytes("again.glb"), desk.bytes("fall.glb"));
    for (from, to, says) in [
        ("\"density\": 500", "\"density\": -5", "line 4, dynamics.bodies[0].density: -5; a density in kg/m³"),
        (
            "[\"*\"], \"density\"",
            "[\"tail\"], \"density\"",
            "line 4, dynamics.bodies[0].bones[0]: the rig has no bone \"tail\"",
        ),
        ("\"ground\": -9", "\"steps\": 1e9", "line 4, dynamics.steps: 1000000000; a number of steps per second"),
        ("\"ground\": -9", "\"gravity\": [0, 5000, 0]", "dynamics.gravity: 5000; an acceleration in m/s²"),
    ] {
        assert_eq!(falls.matches(from).count(), 1, "{from}");
        desk.put("shots/bad.json", falls.replace(from, to));
        desk.bad("animate shots/bad.json -o bad.glb", &["\"shots/bad.json\": line 4, dynamics", says]);
    }
}

#[test]
fn bad_scenes_are_told_by_file_line_key_and_what_was_expected() {
    let desk = desk();
    for (from, to, says) in [
        ("\"tube.npz\"", "\"gone.npz\"", &["\"shots/bad.json\": line 2, rig: ", "gone.npz"][..]),
        ("\"to\": 1,", "\"to\": -1,", &["line 3, time.to: -1 s; a time not before 0 s is expected"]),
        ("bend * i\"", "bned * i\"", &["line 5, bones.*.turn: nothing is called \"bned\" here; there are t, bend"]),
        ("\"*\"", "\"knee\"", &["line 5, bones.knee: the rig has no bone \"knee\"; it has \"root\""]),
        ("bend * i\"", "1 / (bend - bend)\"", &["line 5, bones.*.turn: it is inf at 0 s; a finite number is expected"]),
        ("[1, 40]", "[0, 40]", &["line 4, controls.bend.keys[1]: key 1 is at 0 s"]),
        ("\"bones\"", "\"bnoes\"", &["line 5, bnoes: unknown field `bnoes`", "`bones`"]),
        (
            "\"controls\"",
            "\"shapes\": {\"smile\": 1}, \"controls\"",
            &["line 4, shapes.smile: the rig has no shape \"smile\"; it has none"],
        ),
        (
            "\"controls\"",
            "\"layers\": [{\"clip\": \"tube.npz\"}], \"controls\"",
            &["line 4, layers[0]: the frames of", "no times"],
        ),
        (
            "\"controls\"",
            "\"goals\": [{\"bone\": \"x\", \"keep\": true}], \"controls\"",
            &["line 4, goals[0].bone: the rig has no bone \"x\""],
        ),
    ] {
        assert_eq!(SCENE.matches(from).count(), 1, "{from}");
        desk.put("shots/bad.json", SCENE.replace(from, to));
        desk.bad("animate shots/bad.json -o bad.glb", says);
    }
    desk.bad("animate shots/gone.json -o bad.glb", &["\"shots/gone.json\""]);
    desk.bad("animate shots/bend.json -o bad.usd", &["bad.usd"]);
    assert!(!exists(&desk.path("bad.glb")));
    for end in [0, 1, 20, 90, SCENE.len() - 1] {
        desk.put("shots/bad.json", &SCENE[..end]);
        desk.bad("animate shots/bad.json -o bad.glb", &["\"shots/bad.json\": line", "--schema"]);
    }
}

#[test]
fn the_schema_comes_with_the_program() {
    let desk = Desk::new();
    let schema = desk.json("animate --schema");
    assert_eq!(schema["title"].as_str(), Some("A scene of dermis animate"));
    assert!(
        schema["properties"]["controls"].is_object() && schema["required"].as_array().unwrap().len() == 2,
        "{schema}"
    );
    assert_eq!(desk.run("animate --schema --json").code, 2);
    assert_eq!(desk.run("animate scene.json").code, 2, "an output is needed");
}
